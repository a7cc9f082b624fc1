"""Witnesses of how long: a job that only waited, and a time that is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analysis.datasets.witnesses import hearing
from analysis.datasets.witnesses.durations import shares_of_time, waits_of_jobs
from analysis.schema import registry

# Seconds of the result and of the job: nine tenths of each job, then one job of 250 s.
REPEATS = [(90.0, 100.0), (91.0, 101.0), (89.0, 99.0), (90.5, 100.0)]


def told(result: float, job: float, end: str) -> tuple[list[str], list[str]]:
    """Return what the two witnesses say of a run with these times, by the source of its end."""
    levels: dict[str, Any] = dict.fromkeys(registry.declared("runs"), "")
    runs = [
        hearing.Testimony(
            {**levels, "run": f"r{at}", "exit_code": 0, "benchmark_time": took, "elapsed": whole},
            {"imported": {"factors": {"end": end}}} if end else {},
        )
        for at, (took, whole) in enumerate([*REPEATS, (result, job)])
    ]
    case = hearing.Hearing(Path("c"), "c", runs)
    return [str(one) for one in shares_of_time(case)], [str(one) for one in waits_of_jobs(case)]


@pytest.mark.parametrize("end", ["lsf: Terminated at", "accounting"])
def test_shares_of_time__an_imported_job_that_waited_is_a_note(end: str) -> None:
    faults, notes = told(90.0, 250.0, end)
    assert faults == []
    (note,) = notes
    assert "its result took 90 s, 36 % of its run; those of its 4 repeats 90 %" in note
    assert "did the job wait" in note


@pytest.mark.parametrize(
    ("result", "job", "end"),
    [
        pytest.param(90.0, 250.0, "", id="measured here: its shell did not wait"),
        pytest.param(90.0, 250.0, "output", id="its end stands in its output"),
        pytest.param(45.0, 100.0, "lsf", id="its result, not its job, differs"),
        pytest.param(200.0, 210.0 * 2, "lsf", id="both differ"),
    ],
)
def test_shares_of_time__all_else_is_a_fault(result: float, job: float, end: str) -> None:
    faults, notes = told(result, job, end)
    assert len(faults) == 1
    assert notes == []
