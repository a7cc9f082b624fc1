"""Single runs of many cells: the median of the ratios of cells, by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from analysis.base.models import load
from analysis.estimates.campaign import unknown_factors
from analysis.estimates.finding import UNKNOWN_ORDER, Finding
from analysis.estimates.matched import matched
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
        (7, "direction agrees, order of runs not known"),
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
    assert "median of 4 cells, which differ in nodes, ranks" in found.compared
    assert found.arithmetic == "of each cell: 1.25, 1.5, 1.6, 2"
    assert UNKNOWN_ORDER in found.reason


def test_matched__the_median_of_cells_is_not_called_the_most(tmp_path: Path) -> None:
    text = CLAIM.format(quantity="speedup", value=1.4) + "aggregate: max\n"
    part = replace(campaign(cells(2, 4, 8, 16)), matched=("nodes", "ranks"))
    found = verdict(claim(tmp_path, text), part)
    assert found.estimate == pytest.approx(1.55)
    assert "is 1.55 times as fast as b" in found.sentence
    assert "up to" not in found.sentence


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
    (one,) = matched("trend", curves, ("cluster",))
    assert one.chance == pytest.approx(2 * 0.00891, abs=1e-4)
    assert (one.estimate.low, one.estimate.high, one.estimate.n) == (1, 1, 6)
    falling = [replace(curves[0], estimate=replace(curves[0].estimate, value=-1.0)), *curves[1:]]
    (other,) = matched("trend", falling, ("cluster",))
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
