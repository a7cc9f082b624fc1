"""Single runs of many cells: the median of the ratios of cells, by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from analysis.base.models import load
from analysis.estimates.campaign import unknown_factors
from analysis.estimates.finding import UNKNOWN_ORDER, Finding
from analysis.estimates.matched import matched
from analysis.estimates.question import Question
from analysis.estimates.ratios import inverse, side
from analysis.estimates.stats import Estimate
from analysis.schema.campaigns import CampaignFile
from tests.estimates.hand import campaign, claim, repeats, verdict

CLAIM = """quantity: {quantity}
variable: elapsed
compare: {{ factor: interconnect, treatment: a, baseline: b }}
expect: {{ relation: at-least, value: {value} }}
"""
# Seconds over a and b on 2, 4, 8 and 16 nodes, one run of each: times as fast 1.25, 1.5, 1.6 and 2.
TIMES = {2: (80.0, 100.0), 4: (40.0, 60.0), 8: (25.0, 40.0), 16: (15.0, 30.0)}


def cells(*nodes: int) -> list[dict[str, object]]:
    rows = [
        row
        for n in nodes
        for link, seconds in zip("ab", TIMES[n], strict=True)
        for row in repeats([seconds], "elapsed", interconnect=link, nodes=n, ranks=n, order=-1)
    ]
    # A run that counts in no statistic keeps `campaign` from making an order.
    return [*rows, *repeats([1.0], valid=False, order=99)]


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (1, "agrees, order of runs not known"),
        (1.4, "direction agrees, order of runs not known"),
        (7, "direction agrees, order of runs not known, smaller"),
    ],
)
def test_matched__four_cells_have_a_word_that_is_never_full(tmp_path: Path, value: float, word: str) -> None:
    text = CLAIM.format(quantity="speedup", value=value)
    part = replace(campaign(cells(2, 4, 8, 16)), matched=("nodes", "ranks"))
    found = verdict(claim(tmp_path, text), part)
    assert found.estimate == pytest.approx((1.5 + 1.6) / 2)
    # All four lie between the ends; the median does so at 1 - 2 / 2^4.
    assert (found.low, found.high) == pytest.approx((1.25, 2))
    assert (found.level, found.n) == (pytest.approx(0.875), 4)
    assert (found.verdict, len(found.runs)) == (word, 8)
    assert found.compared == "a against b; median of 4 cells, which differ in nodes, ranks"
    assert found.arithmetic == "of each cell: 1.25, 1.5, 1.6, 2"
    assert UNKNOWN_ORDER in found.reason


def test_matched__up_to_rests_on_the_largest_cell_with_a_bound_on_one_side(tmp_path: Path) -> None:
    """The largest of 1.25, 1.5, 1.6 and 2; were it 1.25 or less, all four are above it once in 16 cases."""
    text = CLAIM.format(quantity="speedup", value=1.4) + "aggregate: max\n"
    part = replace(campaign(cells(2, 4, 8, 16)), matched=("nodes", "ranks"))
    found = verdict(claim(tmp_path, text), part)
    assert (found.estimate, found.low, found.high) == (2, pytest.approx(1.25), None)
    assert found.estimate_text == "2.00× (at least 1.25, 88 % interval)"
    assert found.verdict == "direction agrees, order of runs not known"
    assert "is up to 2.00 times as fast as b" in found.sentence
    assert "largest of 4 cells" in found.compared


@pytest.mark.parametrize("aggregate", ["all", "max", "min"])
def test_matched__cells_that_share_a_run_are_refused(tmp_path: Path, aggregate: str) -> None:
    """One slow run of b makes a, c, d and e all look faster: four cells, and one run that varies."""
    rows = [
        row
        for link, seconds in (("b", 150.0), ("a", 100.0), ("c", 101.0), ("d", 99.0), ("e", 100.5))
        for row in repeats([seconds], "elapsed", interconnect=link, order=-1)
    ]
    text = CLAIM.format(quantity="speedup", value=1).replace("treatment: a", "treatment: [a, c, d, e]")
    part = replace(campaign([*rows, *repeats([1.0], valid=False, order=99)]), matched=("interconnect",))
    found = verdict(claim(tmp_path, f"{text}aggregate: {aggregate}\n"), part)
    assert found.verdict == "not tested"
    assert "4 of them share the run" in found.reason


def test_matched__each_of_several_baselines_has_cells_of_its_own(tmp_path: Path) -> None:
    """Cells of b and of c would share the runs of a; no number of nodes has runs of both b and c."""
    rows = [
        row
        for n, (fast, slow) in TIMES.items()
        for nodes, links in ((n, {"a": fast, "b": slow}), (n + 1, {"a": fast, "c": 3 * slow}))
        for link, seconds in links.items()
        for row in repeats([seconds], "elapsed", interconnect=link, nodes=nodes, ranks=nodes, order=-1)
    ]
    text = CLAIM.format(quantity="speedup", value=1).replace("baseline: b", "baseline: [b, c]")
    part = replace(campaign([*rows, *repeats([1.0], valid=False, order=99)]), matched=("nodes", "ranks"))
    found = verdict(claim(tmp_path, text), part)
    assert found.compared.split(" | ") == [
        "a against b; median of 4 cells, which differ in nodes, ranks",
        "a against c; median of 4 cells, which differ in nodes, ranks",
    ]
    assert found.arithmetic == "of each cell: 1.25, 1.5, 1.6, 2 | of each cell: 3.75, 4.5, 4.8, 6"


def test_matched__at_worst_rests_on_the_least_cell(tmp_path: Path) -> None:
    text = CLAIM.format(quantity="speedup", value=1) + "aggregate: min\n"
    part = replace(campaign(cells(2, 4, 8, 16)), matched=("nodes", "ranks"))
    found = verdict(claim(tmp_path, text), part)
    assert (found.estimate, found.low, found.high) == (1.25, None, 2)
    # Nothing bounds the least cell from below: one where b is ahead may be among them.
    assert found.verdict == "cannot tell"


@pytest.mark.parametrize(
    ("ratios", "word"),
    [
        # All within 2 %; the sign test needs five: 1/32 on each side, of four 1/16.
        ((0.99, 1.0, 1.0, 1.01, 1.015), "agrees, order of runs not known"),
        ((0.99, 1.0, 1.0, 1.01), "cannot tell"),
        # The median is within 2 %, one cell is not.
        ((0.99, 1.0, 1.0, 1.0, 1.0, 1.0, 1.01, 1.2), "cannot tell"),
        ((1.05, 1.06, 1.07, 1.1), "disagrees, order of runs not known"),
    ],
)
def test_matched__cells_are_equal_if_each_is(tmp_path: Path, ratios: tuple[float, ...], word: str) -> None:
    text = CLAIM.format(quantity="equality", value=1).replace(
        "relation: at-least, value: 1", "relation: equal, tolerance: 2%"
    )
    rows = [
        row
        for n, ratio in enumerate(ratios, start=1)
        for link, seconds in (("a", 100 * ratio), ("b", 100.0))
        for row in repeats([seconds], "elapsed", interconnect=link, nodes=n, ranks=n, order=-1)
    ]
    part = campaign([*rows, *repeats([1.0], valid=False, order=99)])
    found = verdict(claim(tmp_path, text), replace(part, matched=("nodes", "ranks")))
    assert found.verdict == word


@pytest.mark.parametrize(
    ("turned", "word"),
    [(False, "direction in that order of runs only, smaller"), (True, "holds in direction, smaller")],
)
def test_matched__runs_of_one_job_are_a_pair(tmp_path: Path, turned: bool, word: str) -> None:
    """Jobs of 64 to 112 s are unlike, and a is ahead by a quarter in each."""
    rows = []
    for job in range(5):
        links = "ba" if turned and job % 2 else "ab"
        for place, link in enumerate(links):
            seconds = (64.0, 72.0, 80.0, 96.0, 112.0)[job] * (1.25 if link == "b" else 1)
            rows += repeats([seconds], "elapsed", interconnect=link, job_id=100 + job, order=2 * job + place)
    text = CLAIM.format(quantity="speedup", value=2)
    found = verdict(claim(tmp_path, text), campaign(rows))
    assert (found.estimate, found.low, found.high, found.n) == (1.25, 1.25, 1.25, 5)
    assert found.level == pytest.approx(1 - 2 / 2**5)
    assert found.verdict == word
    assert "by pairs of one job 1.25" in found.arithmetic
    # A job without its other side, and nothing is paired.
    assert "by pairs" not in verdict(claim(tmp_path, text), campaign(rows[:-1])).arithmetic


def test_inverse__of_at_most_a_half_is_at_least_two() -> None:
    """An interval that is open below is open above from the other side."""
    found = inverse(Estimate(0.25, -math.inf, 0.5, 6, half_open=True))
    assert (found.value, found.low, found.high) == (4.0, 2.0, math.inf)


@pytest.mark.parametrize(
    ("low", "high", "expected"), [(1.01, 1.2, 1), (0.8, 0.99, -1), (1, 1.2, 0), (0.8, 1, 0)]
)
def test_side__of_an_interval_that_reaches_one_is_none(low: float, high: float, expected: int) -> None:
    assert side(Estimate((low + high) / 2, low, high, 6)) == expected


def test_matched__three_cells_cannot_tell(tmp_path: Path) -> None:
    part = replace(campaign(cells(2, 4, 8)), matched=("nodes", "ranks"))
    found = verdict(claim(tmp_path, CLAIM.format(quantity="speedup", value=1)), part)
    assert found.verdict == "cannot tell"


def test_matched__other_factors_keep_cells_separate(tmp_path: Path) -> None:
    part = replace(campaign(cells(2, 4, 8, 16)), matched=("case",))
    found = verdict(claim(tmp_path, CLAIM.format(quantity="speedup", value=1)), part)
    assert (found.verdict, found.n) == ("cannot tell", 1)


def test_matched__trends_of_curves_are_combined() -> None:
    """Six curves that rise, each with p = 1/3 by itself: Stouffer's z is 6 × 0.967 / √6 = 2.37."""
    flat = Estimate(1.0, float("nan"), float("nan"), 3)
    curves = [
        Finding(flat, "along", "", (name,), stratum={"cluster": name}, chance=1 / 3) for name in "abcdef"
    ]
    asked = Question("trend", "elapsed")
    (one,) = matched(asked, curves, ("cluster",))
    assert one.chance == pytest.approx(2 * 0.00891, abs=1e-4)
    assert (one.estimate.low, one.estimate.high, one.estimate.n) == (1, 1, 6)
    repeated = [replace(curves[0], estimate=replace(flat, value=0.8), middle=1.0), *curves[1:]]
    assert matched(asked, repeated, ("cluster",))[0].estimate.low == 1
    falling = [replace(curves[0], estimate=replace(curves[0].estimate, value=-1.0)), *curves[1:]]
    (other,) = matched(asked, falling, ("cluster",))
    assert other.chance is not None
    assert other.chance > one.chance


def test_views__never_pool_unlike_problems(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(
        "title: x\nevidence: published\nhardware: none\nviews:\n  - report: hpcg2014\n    topics: [links]\n"
        "    select: { cluster: a }\n    alike: { factors: [mpi, local_size], why: they are much alike }\n"
    )
    (fault,) = unknown_factors(load(CampaignFile, path), path, "x.yaml")
    assert (fault.line, fault.found) == (8, "local_size is pooled")
    assert "unlike problems" in fault.remedy
