"""Every outcome of every rule, each reached by an estimate made by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from analysis.claims.model import Claim
from analysis.claims.rules import estimate_text, judge, p_value
from analysis.claims.verdicts import RANKING, words
from analysis.estimates import stats
from analysis.estimates.finding import Finding
from analysis.estimates.stats import Equivalence, Estimate
from tests.estimates.hand import claim

HEADS = {
    "speedup": "compare: { factor: mpi, treatment: a, baseline: b }",
    "ordering": "compare: { factor: mpi, order: [a, b] }",
    "level": "variable: elapsed",
    "set": "variable: message_sizes",
    "cost": "variable: energy\ntariff: { price: 0.2 }\ncompare: { factor: mpi, treatment: a, baseline: b }",
}
HEADS |= dict.fromkeys(("gain", "reduction", "equality"), HEADS["speedup"])
HEADS["trend"] = HEADS["ordering"]


def one(folder: Path, quantity: str, expect: str) -> Claim:
    return claim(folder, f"quantity: {quantity}\n{HEADS[quantity]}\nexpect: {{ relation: {expect} }}")


def found(value: float, low: float, high: float, level: float = 0.95) -> Finding:
    return Finding(Estimate(value, low, high, 6, 7, level), "", "", ("r",), chance=0.01)


@pytest.mark.parametrize(
    ("quantity", "expect", "interval", "word"),
    [
        ("speedup", "about, value: 5, tolerance: 10%", (4.6, 5.4), "holds"),
        ("speedup", "about, value: 5, tolerance: 10%", (4.5, 5.5), "holds"),  # the ends belong to it
        ("speedup", "about, value: 5, tolerance: 10%", (4.4, 5.4), "holds in direction, size open"),
        ("speedup", "about, value: 5, tolerance: 10%", (6.0, 7.0), "holds in direction, larger"),
        ("speedup", "about, value: 5, tolerance: 10%", (1.1, 4.4), "holds in direction, smaller"),
        ("speedup", "about, value: 5, tolerance: 10%", (0.9, 5.0), "cannot tell"),
        ("speedup", "about, value: 5, tolerance: 10%", (0.9, 1.1), "does not hold"),
        ("speedup", "about, value: 5, tolerance: 10%", (0.8, 0.9), "does not hold"),
        ("speedup", "at-least, value: 1", (1.01, 1.2), "holds"),
        ("speedup", "at-least, value: 1", (1.0, 1.2), "cannot tell"),  # rounded figures tie
        ("speedup", "at-least, value: 1", (0.99, 1.2), "cannot tell"),
        ("speedup", "at-least, value: 1", (0.8, 0.99), "does not hold"),
        ("speedup", "at-least, value: 7", (3.0, 4.0), "holds in direction, smaller"),
        ("gain", "range, low: 9, high: 27", (9.0, 27.0), "holds"),
        ("gain", "range, low: 9, high: 27", (8.0, 10.0), "holds in direction, size open"),
        ("gain", "about, value: 20, tolerance: 10%", (-5.0, -1.0), "does not hold"),
        ("reduction", "about, value: 60, tolerance: 10%", (55.0, 65.0), "holds"),
        ("reduction", "about, value: 60, tolerance: 10%", (10.0, 20.0), "holds in direction, smaller"),
        ("reduction", "about, value: -20, tolerance: 10%", (-10.0, -5.0), "holds in direction, smaller"),
        ("reduction", "about, value: -20, tolerance: 10%", (-30.0, -25.0), "holds in direction, larger"),
        ("reduction", "about, value: 60, tolerance: 10%", (-10.0, -2.0), "does not hold"),
        ("reduction", "about, value: 60, tolerance: 10%", (-1.0, 60.0), "cannot tell"),
        # No effect at all would agree too, so that an effect in itself is no direction of the claim.
        ("reduction", "at-most, value: 9.5", (1.8, 9.0), "holds"),
        ("reduction", "at-most, value: 9.5", (1.8, 15.2), "cannot tell"),
        ("reduction", "at-most, value: 9.5", (10.0, 15.2), "does not hold"),
        ("cost", "about, value: 3200, tolerance: 10%", (3000.0, 3400.0), "holds"),
        ("cost", "about, value: 3200, tolerance: 10%", (100.0, 200.0), "holds in direction, smaller"),
        ("cost", "about, value: 3200, tolerance: 10%", (-200.0, -100.0), "does not hold"),
        ("level", "about, value: 50, tolerance: 10%", (45.0, 55.0), "holds"),
        ("level", "about, value: 50, tolerance: 10%", (44.0, 55.0), "cannot tell"),
        ("level", "about, value: 50, tolerance: 10%", (20.0, 44.9), "does not hold"),
        ("level", "about, value: 50, tolerance: 10%", (55.1, 60.0), "does not hold"),
        ("level", "at-most, value: 50", (50.1, 60.0), "does not hold"),
        ("trend", "rising", (0.1, 0.9), "holds"),
        ("trend", "rising", (-0.9, -0.1), "does not hold"),
        ("trend", "rising", (-0.1, 0.9), "cannot tell"),
        ("trend", "falling", (-0.9, -0.1), "holds"),
        ("trend", "falling", (0.1, 0.9), "does not hold"),
    ],
)
def test_verdicts__where_the_interval_lies(
    tmp_path: Path, quantity: str, expect: str, interval: tuple[float, float], word: str
) -> None:
    low, high = interval
    assert judge(one(tmp_path, quantity, expect), found((low + high) / 2, low, high))[0] == word


def test_verdicts__an_interval_that_ends_at_no_effect_shows_no_lead(tmp_path: Path) -> None:
    claimed = one(tmp_path, "speedup", "at-least, value: 1")
    assert judge(claimed, found(1.001, 1.0, 1.05)) == ("cannot tell", "the interval ends at no effect")
    assert judge(claimed, found(1.01, 1.001, 1.05))[0] == "holds"
    twice = one(tmp_path, "speedup", "at-least, value: 2")
    assert judge(twice, found(2.5, 2.0, 3.0))[0] == "holds"  # its bound is no neutral value


@pytest.mark.parametrize("quantity", ["speedup", "level", "trend"])
def test_verdicts__no_interval_cannot_tell(tmp_path: Path, quantity: str) -> None:
    expect = "rising" if quantity == "trend" else "at-least, value: 1"
    word, why = judge(one(tmp_path, quantity, expect), found(5.0, math.nan, math.nan, 0.0))
    assert (word, why) == ("cannot tell", "too few runs for an interval: 6 and 7")
    single = Finding(stats.Estimate(5.0, math.nan, math.nan, 1, level=0.0), "", "", ("r",))
    word, why = judge(one(tmp_path, quantity, expect), single)
    assert (word, why) == ("cannot tell", "too few runs for an interval: 1, 4 are needed")


def test_verdicts__a_word_says_the_level_of_its_interval(tmp_path: Path) -> None:
    claimed = one(tmp_path, "speedup", "at-least, value: 10")
    five = Finding(stats.ratio_of_medians([22.0, 23, 24, 25, 26], [1.0] * 5), "", "", ("r",))
    assert judge(claimed, five) == ("holds", "the whole interval agrees with the claim, at 94 %")
    assert estimate_text(claimed, five) == "24× (22 to 26, 94 % interval)"
    three = Finding(stats.ratio_of_medians([22.0, 24, 26], [1.0] * 5), "", "", ("r",))
    why = "too few runs: 3 and 5; their range holds the truth at 75 %, 85 % are needed"
    assert judge(claimed, three) == ("cannot tell", why)


def test_verdicts__sides_of_two_different_days_cannot_tell(tmp_path: Path) -> None:
    apart = stats.ratio_of_medians([24.0] * 6, [1.0] * 6, ([1] * 6, [2] * 6))
    word, why = judge(one(tmp_path, "speedup", "at-least, value: 10"), Finding(apart, "", "", ("r",)))
    assert word == "cannot tell"
    assert why == "the sides ran on different days (1 and 1): too few, 4 each are needed"


def test_verdicts__a_trend_that_chance_gives_as_often_is_none(tmp_path: Path) -> None:
    finding = replace(found(0.7, 0.3, 0.9), chance=0.07)
    word, why = judge(one(tmp_path, "trend", "rising"), finding)
    assert (word, why) == (
        "cannot tell", "no clear trend: runs in another order give one as clear (p = 0.07)",
    )  # fmt: skip


def test_verdicts__one_value_far_off_is_not_equal(tmp_path: Path) -> None:
    """The tests on ranks pass, the interval does not: the one value may be the truth."""
    x, y = [1.001, 0.999, 1.0005, 0.9995, 1.0002, 0.18], [1.0] * 6
    test = stats.equivalence(x, y, 0.05)
    assert test.equivalent
    finding = Finding(stats.ratio_of_medians(x, y), "", "", ("r",), equivalence=test)
    assert judge(one(tmp_path, "equality", "equal, tolerance: 5%"), finding)[0] == "cannot tell"


@pytest.mark.parametrize(
    ("p", "interval", "equal", "different"),
    [
        (0.001, (0.99, 1.01), "holds", "does not hold"),
        (0.2, (1.06, 1.2), "does not hold", "holds"),
        (0.2, (0.8, 0.95), "does not hold", "holds"),
        (0.2, (0.98, 1.2), "cannot tell", "cannot tell"),
    ],
)
def test_verdicts__equal_and_different_are_opposites(
    tmp_path: Path, p: float, interval: tuple[float, float], equal: str, different: str
) -> None:
    finding = Finding(Estimate(1.0, *interval, 6, 6), "", "", ("r",), equivalence=Equivalence(0.05, p, p / 2))
    for relation, word in (("equal", equal), ("different", different)):
        assert judge(one(tmp_path, "equality", f"{relation}, tolerance: 5%"), finding)[0] == word


@pytest.mark.parametrize(
    ("steps", "word"),
    [
        (((1.1, 1.3), (2.0, 3.0)), "holds"),
        (((1.1, 1.3), (0.9, 3.0)), "cannot tell"),
        (((1.1, 1.3), (0.5, 0.9)), "does not hold"),
    ],
)
def test_verdicts__an_order_stands_with_its_weakest_step(
    tmp_path: Path, steps: tuple[tuple[float, float], ...], word: str
) -> None:
    estimates = tuple(Estimate((low + high) / 2, low, high, 6, 6) for low, high in steps)
    finding = Finding(estimates[0], "", "", ("r",), steps=estimates)
    assert judge(one(tmp_path, "ordering", "at-least, value: 1"), finding)[0] == word


def test_verdicts__a_set_is_the_same_in_every_run(tmp_path: Path) -> None:
    two = one(tmp_path, "set", "equal, members: [8, 16]")
    same = Finding(Estimate(2, 2, 2, 1), "", "", ("r",), members=frozenset({8, 16}))
    assert judge(two, same) == ("holds", "exactly the claimed set in each of 1 runs")
    other = Finding(Estimate(2, 2, 2, 1), "", "", ("r",), members=frozenset({8, 32}), unequal=("r",))
    assert judge(two, other) == (
        "does not hold", "in addition: 32; missing: 16; other than claimed in 1 runs",
    )  # fmt: skip


def test_verdicts__a_synthetic_campaign_only_recovers() -> None:
    assert words("synthetic", "holds") == "recovered"
    assert words("synthetic", "holds in direction") == "not recovered"
    assert words("synthetic", "cannot tell") == "not recovered"
    assert words("synthetic", "not tested") == "not tested"
    assert words("measured", "holds in direction") == "holds in direction"


def test_verdicts__p_values_are_those_of_the_side_that_speaks(tmp_path: Path) -> None:
    """Six alike on each side: a range of six fails with 2^-6, whatever is claimed beside it."""
    six = Finding(stats.ratio_of_medians([2.0, 2, 2, 2, 2, 2.1], [1.0] * 6), "", "", ("r",))
    for expect, word in (
        ("at-least, value: 1.5", "holds"),
        ("at-least, value: 3", "holds in direction, smaller"),
        ("at-most, value: 1.5", "does not hold"),
    ):
        claimed = one(tmp_path, "speedup", expect)
        assert judge(claimed, six)[0] == word
        assert p_value(claimed, six, word) == pytest.approx(2**-6, rel=1e-4)
    assert p_value(claimed, six, "cannot tell") == 1.0
    alone = Finding(stats.ratio_of_medians([2.0], [1.0]), "", "", ("r",))
    assert p_value(claimed, alone, "cannot tell") is None


def test_verdicts__p_value_of_a_size_that_is_ruled_out_is_of_the_claimed_size(tmp_path: Path) -> None:
    """The same on both sides but for a scatter of 5 %: no clear effect, and 1.5 times is far away."""
    sides = ([0.95, 0.97, 1.0, 1.0, 1.03, 1.05], [1.0] * 6)
    equal = Finding(stats.ratio_of_medians(*sides), "", "", ("r",))
    for expect, bound in (("at-least, value: 1.5", 1.5), ("at-most, value: 0.5", 0.5)):
        claimed = one(tmp_path, "speedup", expect)
        assert judge(claimed, equal)[0] == "does not hold"
        found = p_value(claimed, equal, "does not hold")
        # Six of six on one side of the bound: 2^-6.
        assert found == pytest.approx(2**-6, rel=1e-4)
        assert found == (equal.estimate.p_below if bound > 1 else equal.estimate.p_above)(bound)


def test_verdicts__a_size_ruled_out_is_weaker_than_one_left_open() -> None:
    assert [word.removeprefix("holds in direction, ") for word in RANKING] == [
        "does not hold",
        "not in that session", "not in that order of runs", "not in runs at the same time",
        "not at those times of day",
        "disagrees, order of runs not known", "disagrees, systems differ",
        "cannot tell",
        *(
            f"direction {limit}{size}"
            for size in (", smaller", ", larger", "")
            for limit in (
                "in that session only", "in that order of runs only", "in runs at the same time only",
                "at those times of day only",
                "agrees, order of runs not known", "agrees, systems differ",
            )
        ),
        "in that session only", "in that order of runs only", "in runs at the same time only",
        "at those times of day only",
        "agrees, order of runs not known", "agrees, systems differ",
        "smaller", "larger", "size open", "holds",
    ]  # fmt: skip
