"""Jobs that wait: Slurm's reason for each, in plain words, and the next step."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.measure import books, progress, resume, waiting, workflow

from .conftest import squeue, stand_in


def rows(base: Path, *reasons: str) -> str:
    """Write squeue's rows of jobs 11, 12 and so on, one for each of the first runs."""
    runs = [run.name for run in workflow.plan("c", base).runs]
    begin = "2026-11-26T19:38:58"
    lines = (
        f"{job}|{reason}|{begin}|rule_run_wildcards_c_{run}|{base}\n"
        for job, (reason, run) in enumerate(zip(reasons, runs, strict=False), 11)
    )
    return (
        "".join(lines) + f"99|Priority|N/A|rule_run_wildcards_d_{runs[0]}|{base}\n88|Priority|N/A|(null)|/\n"
    )


def test_waiting__each_job_has_slurms_reason_and_the_next_step(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [run.name for run in workflow.plan("c", base).runs]
    held = "launch_failed_requeued_held"
    nodes = "ReqNodeNotAvail, UnavailableNodes:n[1-2]"
    squeue(tmp_path, monkeypatch, rows(base, "JobHeldAdmin", held, held, nodes, "BeginTime", "Sunspots"))
    found = waiting.jobs("c", base)
    assert found is not None
    assert [(one.job, one.run) for one in found] == list(
        zip(["11", "12", "13", "14", "15", "16"], runs, strict=False)
    )
    lines = waiting.lines(found)
    assert lines == [
        f"  job 11 of {runs[0]} waits: Slurm says JobHeldAdmin: an administrator holds it; "
        "ask why; an administrator can release it",
        "  2 jobs wait (12, 13): Slurm says launch failed requeued held: Slurm could not start it, or "
        "started it too often, and holds it; scontrol release 12,13, or scancel 12,13 and give the same "
        "command again",
        f"  job 14 of {runs[3]} waits: Slurm says {nodes}: the nodes that it may use are down, drained or "
        "reserved; sinfo -R shows which nodes and why; an administrator can resume them",
        f"  job 15 of {runs[4]} waits: Slurm says BeginTime: it starts at 2026-11-26 19:38:58 or "
        "later: Slurm pauses before it starts a job again",
        f"  job 16 of {runs[5]} waits: Slurm says Sunspots: see REASON in man squeue; "
        "scontrol show job 16 shows more",
    ]
    assert waiting.lines(found, stuck=True) == [*lines[:3], lines[4]]
    monkeypatch.chdir(base)
    capsys.readouterr()
    assert progress.print_progress("c") == 0
    assert capsys.readouterr().out.splitlines()[1:] == lines


@pytest.mark.parametrize(
    ("reason", "stuck"),
    [
        ("Priority", False),
        ("Resources", False),
        ("None", False),
        ("Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions", True),
        ("ReqNodeNotAvail, Reserved for maintenance", False),
        ("NodeDown", True),
        ("JobHeldUser", True),
        ("JobHoldMaxRequeue", True),
        ("job requeued in held state", True),
        ("QOSMaxJobsPerUserLimit", True),
        ("AssocGrpCPUMinutesLimit", True),
        ("BadConstraints", True),
        ("PartitionTimeLimit", True),
        ("PartitionDown", True),
        ("Dependency", False),
        ("DependencyNeverSatisfied", True),
    ],
)
def test_waiting__what_does_not_start_by_itself_is_known(reason: str, *, stuck: bool) -> None:
    (line,) = waiting.lines([waiting.Waiting("a", "7", reason, "N/A")])
    assert f"Slurm says {reason}: " in line
    assert "man squeue" not in line
    assert bool(waiting.lines([waiting.Waiting("a", "7", reason, "N/A")], stuck=True)) is stuck


def test_waiting__silent_slurm_names_no_reason(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(tmp_path, monkeypatch, "squeue", "#!/bin/sh\nexit 1\n")
    assert waiting.jobs("c", base) is None


def test_books__a_job_that_somebody_has_to_release_is_named_once(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    squeue(tmp_path, monkeypatch, rows(base, "JobHeldUser", "Priority"))
    stand_in(tmp_path, monkeypatch, "sacct", "#!/bin/sh\n")
    monkeypatch.setattr(books, "_LOOK", -1.0)
    keeper = books.Books("c", base)
    keeper.keep()
    keeper.keep()
    (said,) = capsys.readouterr().err.splitlines()
    assert "Slurm says JobHeldUser" in said
    assert "scontrol release 11" in said


def test_resume__who_waits_for_earlier_jobs_is_told_why_they_wait(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """At the second look both are gone."""
    run = workflow.plan("c", base).runs[0].name
    there = tmp_path / "there"
    there.write_text(rows(base, "JobHeldUser"), encoding="utf-8")
    tell = f"""#!/bin/sh
case "$*" in
*%r*) cat {there}; rm {there};;
*) [ ! -e {there} ] || echo "11|rule_run_wildcards_c_{run}|{base}";;
esac
"""
    stand_in(tmp_path, monkeypatch, "squeue", tell)
    monkeypatch.chdir(base)
    monkeypatch.setattr(resume, "_INTERVAL", 0.0)
    assert resume.main(["c"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "c: waiting for 1 runs that an earlier start has submitted: 11"
    assert "Slurm says JobHeldUser" in said[1]
    assert len(said) == 2
