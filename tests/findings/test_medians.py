"""The findings of vm-hpcg against medians of the raw files, read by code that shares nothing with ours."""

from __future__ import annotations

import json
import re
import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from analysis.estimates.campaign import load_campaign
from analysis.findings.conclusion import DIFFERS, EQUAL, Conclusion
from analysis.findings.search import conclusions

RAW = Path(__file__).parents[2] / "data" / "raw" / "vm-hpcg" / "runs"
RATING = re.compile(r"result is VALID with a GFLOP/s rating of=([0-9.]+)")

pytestmark = pytest.mark.datasets("vm-hpcg")


@pytest.fixture(scope="module")
def found() -> list[Conclusion]:
    return conclusions(load_campaign("vm-hpcg"))


@pytest.fixture(scope="module")
def raw() -> list[dict[str, Any]]:
    """Records of the valid HPCG runs that ended well, with the rating that each output states."""
    rows = []
    for record in sorted(RAW.glob("*/run.json")):
        run = json.loads(record.read_text(encoding="utf-8"))
        outputs = list(record.parent.glob("HPCG-Benchmark*.txt"))
        if run["application"] != "hpcg" or run["exit_code"] != 0 or len(outputs) != 1:
            continue
        rated = RATING.search(outputs[0].read_text(encoding="utf-8"))
        if rated:
            rows.append({**run, "rate": float(rated[1]), "target_time": run["target_seconds"]})
    return rows


def sides(one: Conclusion, raw: list[dict[str, Any]]) -> list[tuple[list[float], list[float]]]:
    """Split the raw rates by hand: a pair of lists for each stratum that the question selects."""
    compare, select = one.question.compare, dict(one.question.select or {})
    assert compare is not None
    fixed = {"nodes", "interconnect", "mpi", "build", "case", "target_time", "ranks", "ranks_per_node"}
    fixed -= {compare.factor, *compare.varying}
    strata: dict[tuple[Any, ...], tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
    for run in raw:
        own = {**run, "profiler": run["profiler"] or "none"}
        listed = {name: level if isinstance(level, list) else [level] for name, level in select.items()}
        there = all(own[name] in levels for name, levels in listed.items())
        if there and own[compare.factor] in compare.levels:
            side = compare.levels.index(own[compare.factor])
            if compare.where and any(own[name] != level for name, level in compare.where[side].items()):
                continue
            strata[tuple(own[name] for name in sorted(fixed))][side].append(own["rate"])
    return [pair for pair in strata.values() if all(pair)]


def test_medians__every_ratio_of_hpcg_is_that_of_the_raw_medians(
    found: list[Conclusion], raw: list[dict[str, Any]]
) -> None:
    checked = 0
    for one in found:
        if one.word not in (DIFFERS, EQUAL) or one.question.variable != "figure_of_merit":
            continue
        ratios = [statistics.median(a) / statistics.median(b) for a, b in sides(one, raw)]
        assert min(abs(ratio - one.finding.estimate.value) for ratio in ratios) < 1e-12, one.sentence
        base = [statistics.median(b) for _, b in sides(one, raw)]
        assert one.finding.base is not None
        assert one.finding.base[0] in [pytest.approx(value) for value in base]
        said = re.search(r"([0-9.]+)(?: to ([0-9.]+))? times", one.sentence)
        assert said is not None
        ends = [float(said[1]), float(said[2] or said[1])]
        assert ends == pytest.approx([min(ratios), max(ratios)], abs=0.006), one.sentence
        checked += 1
    assert checked >= 9


def test_medians__values_known_by_hand(found: list[Conclusion]) -> None:
    """With grep and sort, Gflop/s in the middle of six: tuned flags 6.35838 6.50343, -O3 8.81975 8.8377."""
    (one,) = (each for each in found if each.topic == "compiler flags" and each.word == DIFFERS)
    assert one.finding.base is not None
    assert one.finding.base[0] == pytest.approx((6.35838 + 6.50343) / 2, abs=1e-9)
    assert one.finding.estimate.value == pytest.approx((8.81975 + 8.8377) / (6.35838 + 6.50343), abs=1e-9)
    assert (one.finding.estimate.n, one.finding.estimate.n_baseline) == (6, 6)


def test_medians__no_run_that_failed_is_behind_a_finding(
    found: list[Conclusion], raw: list[dict[str, Any]]
) -> None:
    failed = {
        json.loads(path.read_text(encoding="utf-8"))["run"]
        for path in RAW.glob("*/run.json")
        if json.loads(path.read_text(encoding="utf-8"))["exit_code"] != 0
    }
    assert failed
    assert not failed & {run for one in found for run in one.finding.runs}
