"""Every outcome of every rule, each reached by an estimate made by hand."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from analysis.claims.model import Claim
from analysis.claims.verdicts import judge, words
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


def found(value: float, low: float, high: float) -> Finding:
    return Finding(Estimate(value, low, high, 6, 7), "", "", ("r",))


@pytest.mark.parametrize(
    ("quantity", "expect", "interval", "word"),
    [
        ("speedup", "about, value: 5, tolerance: 10%", (4.6, 5.4), "holds"),
        ("speedup", "about, value: 5, tolerance: 10%", (4.5, 5.5), "holds"),  # the ends belong to it
        ("speedup", "about, value: 5, tolerance: 10%", (4.4, 5.4), "holds in direction"),
        ("speedup", "about, value: 5, tolerance: 10%", (6.0, 7.0), "holds in direction"),
        ("speedup", "about, value: 5, tolerance: 10%", (0.9, 5.0), "cannot tell"),
        ("speedup", "about, value: 5, tolerance: 10%", (0.9, 1.1), "does not hold"),
        ("speedup", "about, value: 5, tolerance: 10%", (0.8, 0.9), "does not hold"),
        ("speedup", "at-least, value: 1", (1.0, 1.2), "holds"),
        ("speedup", "at-least, value: 1", (0.99, 1.2), "cannot tell"),
        ("speedup", "at-least, value: 1", (0.8, 0.99), "does not hold"),
        ("speedup", "at-least, value: 7", (3.0, 4.0), "holds in direction"),
        ("gain", "range, low: 9, high: 27", (9.0, 27.0), "holds"),
        ("gain", "range, low: 9, high: 27", (8.0, 10.0), "holds in direction"),
        ("gain", "about, value: 20, tolerance: 10%", (-5.0, -1.0), "does not hold"),
        ("reduction", "about, value: 60, tolerance: 10%", (55.0, 65.0), "holds"),
        ("reduction", "about, value: 60, tolerance: 10%", (10.0, 20.0), "holds in direction"),
        ("reduction", "about, value: 60, tolerance: 10%", (-10.0, -2.0), "does not hold"),
        ("reduction", "about, value: 60, tolerance: 10%", (-1.0, 60.0), "cannot tell"),
        ("cost", "about, value: 3200, tolerance: 10%", (3000.0, 3400.0), "holds"),
        ("cost", "about, value: 3200, tolerance: 10%", (100.0, 200.0), "holds in direction"),
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


@pytest.mark.parametrize("quantity", ["speedup", "level", "trend"])
def test_verdicts__no_interval_cannot_tell(tmp_path: Path, quantity: str) -> None:
    expect = "rising" if quantity == "trend" else "at-least, value: 1"
    word, why = judge(one(tmp_path, quantity, expect), found(5.0, math.nan, math.nan))
    assert (word, why) == ("cannot tell", "too few runs for an interval: 6 and 7, 6 are needed")


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
