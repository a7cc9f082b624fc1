"""Times that are printed in whole seconds: what the rounding adds to an interval, by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from analysis import pages
from analysis.estimates import stats, uncertainty
from tests.estimates.hand import campaign, claim, repeats, verdict

PRINTED = {"figure_of_merit_unit": "s", "figure_of_merit_resolution": 1.0, "elapsed": 103.2}
# Half a second to either side, uniform: 1 / sqrt(12) = 0.28867513 s; times 1.96.
REACH = 0.56580326

SPEEDUP = """quantity: speedup
variable: application_time
compare: { factor: cpu, treatment: new, baseline: old }
expect: { relation: about, value: 2, tolerance: 1% }"""
LEVEL = """quantity: level
variable: VARIABLE
expect: { relation: range, low: 99, high: 101, unit: s }"""


def times(values: Sequence[float], cpu: str, **factors: Any) -> list[dict[str, Any]]:
    return repeats(values, "figure_of_merit", cpu=cpu, **{**PRINTED, **factors})


def test_rounding__a_ratio_of_whole_seconds(tmp_path: Path) -> None:
    rows = [*times([50.0] * 6, "new"), *times([100.0] * 6, "old")]
    found = verdict(claim(tmp_path, SPEEDUP), campaign(rows))
    # 0.28868 / 50 = 0.0057735 and 100 / 50.28868 - 2 = -0.0114807: together 0.0128507, times 1.96 0.0251873
    assert found.estimate == 2.0
    assert (found.low, found.high) == (pytest.approx(1.9748127, abs=1e-7), pytest.approx(2.0251873, abs=1e-7))
    assert found.estimate_text == "2.000× (1.975 to 2.025)"
    # 1.98 to 2.02 is less than whole seconds can tell
    assert found.verdict == "holds in direction, size open"
    assert found.arithmetic == "100 (n 6) / 50 (n 6) = 2; the interval holds the rounding to 1 s"
    exact = [{**row, "figure_of_merit_resolution": float("nan")} for row in rows]
    found = verdict(claim(tmp_path, SPEEDUP), campaign(exact))
    assert (found.low, found.high, found.verdict) == (2.0, 2.0, "holds")
    assert "rounding" not in found.arithmetic


def test_rounding__stands_on_pages_as_in_verdicts() -> None:
    rows = [*times([50.0] * 6, "new"), *times([100.0] * 6, "old")]
    (part,) = pages.compare(campaign(rows), "cpu", "old").parts
    (ratio,) = part.ratios.to_dict("records")
    assert (ratio["ratio"], ratio["base"]) == (2.0, 100.0)
    assert (ratio["low"], ratio["high"]) == pytest.approx((1.9748127, 2.0251873), abs=1e-7)
    medians = part.medians.set_index("cpu")
    for cpu, middle in (("new", 50.0), ("old", 100.0)):
        ends = (medians.loc[cpu, "low"], medians.loc[cpu, "high"])
        assert ends == pytest.approx((middle - REACH, middle + REACH), abs=1e-6)


def test_rounding__stands_on_a_scaling_page_too() -> None:
    one, two = ({"nodes": nodes, "ranks": 8 * nodes} for nodes in (1, 2))
    rows = [*times([100.0] * 6, "new", **one), *times([50.0] * 6, "new", **two)]
    row = pages.scaling(campaign(rows), factor="cpu").set_index("nodes").loc[2]
    assert (row["speedup"], row["efficiency"], row["stops"]) == (2.0, 100.0, "not before 2 nodes")
    assert (row["low"], row["high"]) == pytest.approx((1.9748127, 2.0251873), abs=1e-7)
    # the same halved, for twice the ranks
    ends = (row["efficiency_low"], row["efficiency_high"])
    assert ends == pytest.approx((98.740635, 101.259365), abs=1e-5)
    table = pages.series(campaign(rows), {"time": "application_time"}).set_index("nodes")
    assert table.loc[1, "high"] == pytest.approx(100 + REACH, abs=1e-6)


def test_rounding__adds_to_the_scatter_in_squares(tmp_path: Path) -> None:
    values = [96.0, 98.0, 100.0, 100.0, 102.0, 104.0]
    found = verdict(
        claim(tmp_path, LEVEL.replace("VARIABLE", "application_time")), campaign(times(values, ""))
    )
    alone = stats.median(values)
    assert found.low == pytest.approx(100 - ((100 - alone.low) ** 2 + REACH**2) ** 0.5, abs=1e-6)
    assert found.high == pytest.approx(100 + ((alone.high - 100) ** 2 + REACH**2) ** 0.5, abs=1e-6)


def test_rounding__follows_the_scale_of_a_claim(tmp_path: Path) -> None:
    text = LEVEL.replace("VARIABLE", "application_time") + "\nscale: 0.5"
    found = verdict(claim(tmp_path, text), campaign(times([200.0] * 6, "")))
    assert (found.low, found.high) == (
        pytest.approx(100 - REACH / 2, abs=1e-6),
        pytest.approx(100 + REACH / 2, abs=1e-6),
    )


def test_rounding__is_that_of_the_figure_of_merit_alone(tmp_path: Path) -> None:
    rows = times([100.0] * 6, "", figure_of_merit_unit="GFLOP/s", elapsed=100.0)
    found = verdict(claim(tmp_path, LEVEL.replace("VARIABLE", "application_time")), campaign(rows))
    assert (found.low, found.high) == (100.0, 100.0)  # from launch to exit, which nobody has rounded
    found = verdict(claim(tmp_path, LEVEL.replace("VARIABLE", "figure_of_merit")), campaign(rows))
    assert found.high == pytest.approx(100 + REACH, abs=1e-6)
    assert found.arithmetic.endswith("; the interval holds the rounding to 1 GFLOP/s")


def test_rounding__takes_its_part_of_a_margin() -> None:
    runs = [campaign(times([100.0] * 6, "")).runs.assign(value=100.0) for _ in range(2)]
    # 0.0028868 and 1 - 1 / 1.0028868 = 0.0028784, together 0.0040766; 1.05 / 1.0079901 - 1
    assert uncertainty.margin_left("application_time", 0.05, *runs) == pytest.approx(0.0416769, abs=1e-6)
    assert uncertainty.margin_left("elapsed", 0.05, *runs) == 0.05
    assert uncertainty.margin_left("application_time", 0.004, *runs) == 0  # nothing is left
    zero = runs[1].assign(value=0.0)  # which has no ratio that readings could move
    assert uncertainty.margin_left("application_time", 0.05, runs[0], zero) == 0.05
    assert uncertainty.margin_left("application_time", 0.05, zero, runs[0]) == 0.05
    half = runs[1].assign(value=50.0, figure_of_merit=50.0)
    # 0.0028868 of 100 s and 1 - 50 / 50.288675 = 0.0057404 of 50 s, together 0.0064253 of their ratio;
    # 1.959964 times that is 0.0125935: 1.05 / 1.0125935 - 1
    left = uncertainty.margin_left("application_time", 0.05, runs[0], half)
    assert left == pytest.approx(0.0369413, abs=1e-6)


def test_rounding__is_not_said_of_an_interval_that_is_not_there(tmp_path: Path) -> None:
    rows = [*times([50.0], "new"), *times([100.0, 101.0], "old")]
    found = verdict(claim(tmp_path, SPEEDUP), campaign(rows))
    assert (found.low, found.verdict) == (None, "cannot tell")
    assert "interval" not in found.arithmetic


def test_rounding__stands_behind_the_whole_of_a_gain(tmp_path: Path) -> None:
    rows = [*times([50.0] * 6, "new"), *times([100.0] * 6, "old")]
    text = SPEEDUP.replace("speedup", "gain").replace("value: 2", "value: 100")
    found = verdict(claim(tmp_path, text), campaign(rows))
    assert found.arithmetic.endswith("= 2, a gain of 100 %; the interval holds the rounding to 1 s")
    assert (found.low, found.high) == (pytest.approx(97.48127, abs=1e-5), pytest.approx(102.51873, abs=1e-5))
