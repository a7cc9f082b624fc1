from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analysis.provenance import records

LABEL = "data/raw/x"


def add(folder: Path, run: str, **changes: Any) -> None:
    """Write the record of a run; by default each is an hour after the one before."""
    number = len(list((folder / "runs").glob("*"))) if (folder / "runs").exists() else 0
    record = {
        "run": run,
        "campaign": "x",
        "evidence": "measured",
        "application": "hpcg",
        "case": "nx16",
        "cluster": "c",
        "interconnect": "fdr",
        "concurrent_jobs": 1,
        "repeat": number + 1,
        "job_id": 100 + number,
        "nodelist": ["n1", "n2"],
        "start": 1795220000.0 + 3600 * number,
        "end": 1795220010.0 + 3600 * number,
        "exit_code": 0,
    } | changes
    path = folder / "runs" / run / "run.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(record, indent=1))


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    folder = tmp_path / "x"
    add(folder, "001")
    return folder


def check(folder: Path) -> tuple[list[str], list[str]]:
    found = records.check(folder, LABEL, evidence="measured")
    assert found.runs == len(list((folder / "runs").iterdir()))
    return [str(fault) for fault in found.faults], [str(note) for note in found.notes]


def test_runs__different_executions_have_no_fault(campaign: Path) -> None:
    add(campaign, "002")
    assert check(campaign) == ([], [])


def test_runs__a_folder_without_its_record_is_named(campaign: Path) -> None:
    (campaign / "runs/002").mkdir()
    assert check(campaign)[0] == [
        f"{LABEL}/runs/002/run.json: is missing; a run without its record is in no statistic"
    ]


def test_runs__a_damaged_record_is_named_with_its_line(campaign: Path) -> None:
    path = campaign / "runs/001/run.json"
    path.write_text(path.read_text().replace('"exit_code": 0', '"exit_code": "zero"'))
    assert check(campaign)[0] == [
        f"{LABEL}/runs/001/run.json:18: 'exit_code' is \"zero\", not a whole number of 32 bits; left blank"
    ]
    path.write_text("[]")
    assert check(campaign)[0] == [
        f"{LABEL}/runs/001/run.json:1: not a JSON object; give the run.json of a run"
    ]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"run": "003"}, "says run '003', but its folder is called '002'"),
        ({"campaign": "y"}, "says campaign 'y', but it lies in the campaign 'x'"),
        ({"evidence": "synthetic"}, "says evidence 'synthetic', but the campaign declares 'measured'"),
    ],
)
def test_runs__a_record_that_belongs_elsewhere_is_named(
    campaign: Path, change: dict[str, str], said: str
) -> None:
    add(campaign, "002")
    path = campaign / "runs/002/run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    assert check(campaign)[0] == [f"{LABEL}/runs/002/run.json: {said}; put the run where it belongs"]


@pytest.mark.parametrize("reason", ["", "its job was suspended for 6 s"])
def test_runs__a_failed_attempt_gives_a_reason(campaign: Path, reason: str) -> None:
    add(campaign, "002.failed-1", reason=reason)
    what = "is a failed attempt by its name, and its record gives no reason"
    said = f"{LABEL}/runs/002.failed-1/run.json: {what}; put the reason back: without one the run counts"
    assert check(campaign)[0] == [said] * (not reason)


def test_runs__two_runs_of_one_job_are_a_fault(campaign: Path) -> None:
    add(campaign, "002", job_id=100)
    assert check(campaign)[0] == [
        f"{LABEL}/runs/002/run.json: has job 100, like run 001; remove the copy: a job counts once"
    ]


def test_runs__a_job_number_of_another_cluster_is_another_job(campaign: Path) -> None:
    add(campaign, "002", job_id=100, cluster="d")
    assert check(campaign) == ([], [])


def test_runs__runs_at_once_may_share_a_job_as_many_as_there_were(campaign: Path) -> None:
    both = {"concurrent_jobs": 2, "job_id": 7, "repeat": 1, "start": 1795300000.0, "end": 1795300010.0}
    add(campaign, "002a", **both)
    add(campaign, "002b", **both)
    assert check(campaign) == ([], [])
    add(campaign, "002c", **both)
    faults, notes = check(campaign)
    assert [line.split(": ", 1)[1].split(";")[0] for line in faults] == [
        "has job 7, like run 002a",
        "has the factors and the repetition (1) of run 002a",
    ]
    assert notes == []


def test_runs__a_copied_run_without_a_job_is_a_fault(campaign: Path) -> None:
    same = {"job_id": None, "repeat": 9, "start": 1795300000.0, "end": 1795300010.0, "nodelist": []}
    add(campaign, "002", **same)
    add(campaign, "003", **same)
    assert [line.split(": ", 1)[1] for line in check(campaign)[0]] == [
        "has the factors and the repetition (9) of run 002; remove one: it may be a copy"
    ]


def test_runs__a_repetition_that_was_executed_twice_is_noted(campaign: Path) -> None:
    add(campaign, "002", repeat=1)
    assert check(campaign) == (
        [],
        [
            f"{LABEL}/runs/002/run.json: has the factors and the repetition (1) of run 001; "
            "both count: they began at different times"
        ],
    )


@pytest.mark.parametrize("change", [{"interconnect": "edr"}, {"profiler": "ipm"}, {"repeat": 2}])
def test_runs__another_factor_or_repetition_is_no_double(campaign: Path, change: dict[str, Any]) -> None:
    add(campaign, "002", **({"repeat": 1} | change))
    assert check(campaign) == ([], [])


@pytest.mark.parametrize("change", [{"exit_code": 1}, {"exit_code": 0, "reason": "left no result"}])
def test_runs__a_failed_attempt_of_the_same_job_is_no_double(campaign: Path, change: dict[str, Any]) -> None:
    add(campaign, "001.failed-1", repeat=1, job_id=100, **change)
    assert check(campaign) == ([], [])


BESIDE = {"start": 1795220005.0, "end": 1795220100.0}  # 5 s of run 001


def test_runs__two_runs_on_one_node_that_say_alone_are_a_fault(campaign: Path) -> None:
    add(campaign, "002", nodelist=["n2", "n3"], **BESIDE)
    assert check(campaign)[0] == [
        f"{LABEL}/runs/002/run.json: ran on n2 for 5.0 s together with run 001; one of them says alone; "
        "set timing to false in both, or correct concurrent_jobs"
    ]


@pytest.mark.parametrize(
    "change",
    [
        {"nodelist": ["n3"]},
        {"cluster": "d"},
        {"start": 1795220010.0},  # begins as the other ends
        {"start": 1795220009.6},  # clocks of two nodes may differ so much
        {"end": None},
    ],
)
def test_runs__other_nodes_clusters_and_times_do_not_overlap(campaign: Path, change: dict[str, Any]) -> None:
    add(campaign, "002", **(BESIDE | change))
    assert check(campaign) == ([], [])


@pytest.mark.parametrize(
    ("start", "reason", "faults"), [(5.0, "killed", 0), (5.0, "", 1), (2.0, "killed", 1)]
)
def test_runs__the_end_of_a_killed_run_is_noted_late(
    campaign: Path, start: float, reason: str, faults: int
) -> None:
    """It ended at 7 s by its shell, which a busy node let wait for 2 s, and no longer."""
    at = 1795300000.0
    add(campaign, "002.failed-1" if reason else "002", start=at, end=at + 7.0, reason=reason)
    add(campaign, "003", start=at + start, end=at + 20.0)
    assert len(check(campaign)[0]) == faults


def test_runs__a_short_run_in_the_middle_of_a_killed_one_overlaps(campaign: Path) -> None:
    """It takes 2 s, and the other one was killed half a minute later."""
    at = 1795300000.0
    add(campaign, "002.failed-1", start=at, end=at + 60.0, reason="killed")
    add(campaign, "003", start=at + 30.0, end=at + 32.0)
    (fault,) = check(campaign)[0]
    assert "for 2.0 s together with run" in fault


def test_runs__an_untimed_run_spoils_a_timed_one_but_not_its_like(campaign: Path) -> None:
    add(campaign, "002", timing=False, **BESIDE)
    assert len(check(campaign)[0]) == 1
    add(campaign, "003", timing=False, start=1795220050.0, end=1795220060.0)
    assert len(check(campaign)[0]) == 1  # 003 lies within 002 only


def test_runs__a_short_run_within_a_long_one_is_found_behind_others(campaign: Path) -> None:
    add(campaign, "002", concurrent_jobs=2, start=1795300000.0, end=1795309999.0)
    add(campaign, "003", concurrent_jobs=2, start=1795300001.0, end=1795300002.0)
    add(campaign, "004", start=1795300050.0, end=1795300051.0)
    assert [line.split(": ", 1)[1].split(";")[0] for line in check(campaign)[0]] == [
        "ran on n1 for 1.0 s together with run 002"
    ]


def test_runs__another_input_file_within_a_case_is_a_fault(campaign: Path) -> None:
    inputs = [{"/data/3cars.k": {"sha256": digit * 64}} for digit in "aab"]
    for number, files in enumerate(inputs, 2):
        add(campaign, f"00{number}", application="ls-dyna", case="3cars", input_files=files)
    add(campaign, "005", application="ls-dyna", case="3cars", input_files=inputs[2], reason="failed")
    add(campaign, "006", application="ls-dyna", case="neon", input_files=inputs[2])
    said = f"its input 3cars.k has SHA-256 {'b' * 64}, that of run 002 {'a' * 64}"
    remedy = "they did not compute the same: measure one of them again"
    assert check(campaign)[0] == [f"{LABEL}/runs/004/run.json: {said}; {remedy}"]


def test_runs__program_built_anew_within_a_case_is_a_fault(campaign: Path) -> None:
    for number, digit in enumerate("aab", 2):
        program = {"path": "/opt/x/prog", "sha256": digit * 64}
        add(campaign, f"00{number}", application="x", case="y", build="-O2", binary=program)
    add(campaign, "005", application="x", case="y", build="-O3", binary=program)
    add(campaign, "006", application="x", case="y", build="-O2", binary=program, reason="failed")
    add(campaign, "007", application="x", case="y", build="-O2", binary=None)
    said = f"its program prog has SHA-256 {'b' * 64}, that of run 002 {'a' * 64}"
    remedy = "it was built anew: measure one of them again, or give each its own 'variant'"
    assert check(campaign)[0] == [f"{LABEL}/runs/004/run.json: {said}; {remedy}"]
