"""Repeats until the median is known: how many more are asked for, by numbers worked out by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from analysis.base import project
from analysis.cli.verify import against_matrix, declaration
from analysis.estimates import stats
from analysis.measure import folders
from analysis.measure.matrix import expand
from analysis.measure.rounds import figures, more, wanted

from .conftest import Changed

SIX = [10.0, 10.0, 10.0, 10.0, 10.0, 10.0]


def test_rounds__known_median_needs_no_more() -> None:
    assert wanted(SIX, 0.05, 30, 6) == 6


def test_rounds__wide_interval_needs_more_by_the_square_of_its_width() -> None:
    values = [9.0, 9.2, 10.0, 10.0, 10.4, 11.0]
    estimate = stats.median(values)
    width = max(estimate.high - estimate.value, estimate.value - estimate.low) / estimate.value
    assert 0.05 < width < 0.11
    expected = math.ceil(6 * (width / 0.08) ** 2)
    assert wanted(values, 0.08, 30, 6) == min(12, max(7, expected))
    # Never more than twice as many at a time, nor than the most.
    assert wanted([5.0, 7.0, 9.0, 11.0, 13.0, 15.0], 0.01, 30, 6) == 12
    assert wanted([5.0, 7.0, 9.0, 11.0, 13.0, 15.0], 0.01, 8, 6) == 8


def test_rounds__invalid_runs_are_made_up_for() -> None:
    # Four valid ones of six: two more make the six that an interval needs.
    assert wanted([10.0, math.nan, 10.1, 10.2, math.nan, 10.3], 0.05, 30, 6) == 8


def record(base: Path, name: str, time: float) -> None:
    folder = folders.finished(base, "c") / name
    folder.mkdir(parents=True)
    head = {"run": name, "campaign": "c", "application": "alpha", "evidence": "measured", "ranks": 16}
    text = json.dumps({**head, "start": 1.7e9, "end": 1.7e9 + time, "exit_code": 0})
    (folder / "run.json").write_text(text, encoding="utf-8")
    line = (
        f"proxy result: version=1 pattern=halo ranks=16 bytes=8 count=1 work=0 time={time} time_min={time} "
    )
    (folder / "stdout.txt").write_text(line + "io_time=0 checksum=0 errors=0\n", encoding="utf-8")


def test_rounds__second_round_is_asked_for_where_it_is_needed(
    changed: Changed, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(base)
    changes = (("repeats: 3", "repeats: {within: 5%}"), ("[small, large]", "small"))
    changes += (("nodes: [1, 2, 4]", "nodes: [1, 2]"), ("case: large, nodes: 1", "mpi: mpich"))
    plan = expand(changed(*changes))
    assert len(plan.runs) == 2 * 6
    quiet, noisy = sorted({run.cell for run in plan.runs})
    for repeat in range(1, 7):
        record(base, f"{quiet}-r{repeat:02d}", 10 + repeat / 100)
    assert more(plan) == []  # the other cell has not been measured
    for repeat in range(1, 7):
        record(base, f"{noisy}-r{repeat:02d}", 10 + repeat)
    added = more(plan)
    assert [run.name for run in added] == [f"{noisy}-r{repeat:02d}" for repeat in range(7, 13)]
    assert figures([folders.finished(base, "c") / f"{quiet}-r02"]) == [10.02]
    # `verify` asks for what `measure` asks for, and no more once it is there.
    declared, folder = declaration("c"), project.raw("c", base)
    assert [fault.source for fault in against_matrix("c", declared, folder)[0]] == [
        f"data/raw/c/runs/{noisy}-r{repeat:02d}" for repeat in range(7, 13)
    ]
    for repeat in range(7, 13):
        record(base, f"{noisy}-r{repeat:02d}", 13.5)
    assert [run.name for run in more(plan)] == [run.name for run in added]
    assert against_matrix("c", declared, folder) == ([], [])
