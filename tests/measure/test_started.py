"""Jobs that have started: each has a note from its first moment, and a record whatever became of it."""

from __future__ import annotations

import contextlib
import json
import logging
import math
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from analysis import readers
from analysis.base import files, project, slurm
from analysis.measure import (
    accounting,
    attempts,
    books,
    causes,
    executor,
    finish,
    folders,
    launch,
    progress,
    record,
    workflow,
)
from analysis.measure.executor import patch_executor, start_command
from analysis.provenance import manifest

from .conftest import Changed, squeue, stand_in
from .test_workflow_rules import put

JOB = {
    "SLURM_JOB_ID": "7",
    "SLURM_JOB_NAME": "5f3a",
    "SLURM_CLUSTER_NAME": "testbed",
    "SLURM_JOB_NODELIST": "n[1-2]",
    "SLURM_JOB_START_TIME": "1000",
}


def begin(base: Path, run: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Start a job as Slurm does, whose Python is killed at once."""
    killer = base.parent / "bin/killer"
    killer.parent.mkdir(exist_ok=True)
    killer.write_text("#!/bin/sh\necho out of breath\nkill -KILL $$\n", encoding="utf-8")
    killer.chmod(0o755)
    log = f"results/logs/run/c/{run}.log"
    words = shlex.split(start_command(base, "c", run, log))
    words[words.index(sys.executable)] = str(killer)
    environ = {"PATH": os.environ["PATH"], **JOB, **more}
    return subprocess.run(words, capture_output=True, text=True, env=environ, check=False)


def test_started__a_job_that_is_killed_at_once_has_a_record_with_its_reason(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = workflow.plan("c", base).runs[0]
    assert begin(base, run.name).returncode == -9
    note = folders.running(base, "c") / ".started/7.0.1000.json"
    found = files.read_json(note)
    assert (found["state"], found["run"], found["node_list"]) == ("started", run.name, "n[1-2]")
    assert found["slurm"]["comment"] == f"rule_run_wildcards_c_{run.name}"
    # While it is in the queue nothing is known; what tidies leaves the note alone.
    squeue(tmp_path, monkeypatch, "7|RUNNING\n")
    attempts.tidy(base, "c")
    assert attempts.started(base, "c") == []
    assert note.exists()
    squeue(tmp_path, monkeypatch, "7|CANCELLED\n")
    rows = f"CANCELLED by 0|rule_run_wildcards_c_{run.name}|5f3a|testbed"
    foreign = "FAILED|rule_run_wildcards_c_another|77aa|testbed"
    stand_in(tmp_path, monkeypatch, "sacct", f"#!/bin/sh\necho '{rows}'; echo '{foreign}'\n")
    (line,) = attempts.started(base, "c")
    why = "it ended before it had the run: Slurm says CANCELLED by 0 (root): out of breath"
    assert line == f"{run.name}.failed-1: failed: {why}"
    kept = files.read_json(folders.finished(base, "c") / f"{run.name}.failed-1" / "run.json")
    assert (kept["job_id"], kept["state"], kept["exit_code"]) == ("7", "failed", None)
    path = folders.finished(base, "c") / f"{run.name}.failed-1" / "run.json"
    assert readers.open(path).attrs["warnings"] == []  # `verify` has nothing to say of its keys
    assert (kept["attempt_at"], kept["node_list"], kept["ranks"]) == (
        run.name,
        ["n1", "n2"],
        run.ranks_per_node * run.nodes,
    )
    assert kept["slurm"]["job_name"] == "5f3a"
    assert not note.exists()


def test_started__what_outlives_a_job_that_is_recorded_as_ended_begins_no_run(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Slurm had forgotten the job, or killed its shell alone; its Python came to the run seconds later."""
    run = workflow.plan("c", base).runs[0].name
    begin(base, run)
    squeue(tmp_path, monkeypatch, "7|FAILED\n")
    stand_in(tmp_path, monkeypatch, "sacct", "#!/bin/sh\n")
    (line,) = attempts.started(base, "c")
    assert line.startswith(f"{run}.failed-1: failed: ")
    assert attempts.started(base, "c") == []
    for number, again in (("7", "0"), ("7:1", "0"), ("7", "1"), ("8", "0")):
        names = {"start": 1000.0, "restarts": again}
        monkeypatch.setattr(launch, "lay_out", lambda work, *_: (work / "1").mkdir())
        monkeypatch.setattr(os, "execvp", lambda *_: 0)
        begun = launch.start(base, "c", run, launch._Slurm(number, "n1", names)) == 0
        assert begun == (number == "8" or again == "1")
        said = f"{run}: not begun: this start of job {number} is recorded as ended\n"
        assert capsys.readouterr().err == ("" if begun else said)
        work = folders.running(base, "c") / run
        assert work.exists() == begun
        shutil.rmtree(work, ignore_errors=True)
    assert folders.recorded(base, "c") == {f"{run}.failed-1"}


def test_launch__no_run_begins_after_the_shell_of_its_job_was_killed(
    base: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A purge had taken the accounting's row, and the run of a job that had ended stayed good."""
    run = workflow.plan("c", base).runs[0].name
    monkeypatch.setattr(launch, "lay_out", lambda work, *_: (work / "1").mkdir())
    monkeypatch.setattr(os, "execvp", lambda *_: 0)
    for shell, begun in ((os.getppid(), True), (os.getpid(), False)):
        monkeypatch.setenv("BENCHBOOK_SHELL", str(shell))
        assert launch.start(base, "c", run, launch._Slurm("7", "n1", {"start": 1.0})) == (0 if begun else 1)
        assert "BENCHBOOK_SHELL" not in os.environ  # no word of it for the program
        said = f"{run}: not begun: the shell of this job was killed\n"
        assert capsys.readouterr().err == ("" if begun else said)
        assert (folders.running(base, "c") / run).exists() == begun
        shutil.rmtree(folders.running(base, "c") / run, ignore_errors=True)


@pytest.mark.parametrize("others", [[], ["r2"]])
def test_start__tells_python_the_shell_of_the_job(tmp_path: Path, others: list[str]) -> None:
    program = tmp_path / "python"
    program.write_text('#!/bin/sh\necho "told $BENCHBOOK_SHELL, is $PPID"\n', encoding="utf-8")
    program.chmod(0o755)
    log = tmp_path / "log"
    words = ["sh", str(executor.START), str(tmp_path), str(program), "c", "r1", "c_r1", str(log), *others]
    script = f"{shlex.join(words)}\n: not the last command, which a shell may become\n"
    environment = {**os.environ, "SLURM_JOB_ID": "7", "SLURM_JOB_START_TIME": "1000"}
    subprocess.run(["sh", "-c", script], check=True, env=environment)
    told, parent = re.findall(r"\d+", log.read_text(encoding="utf-8").splitlines()[1])
    assert told == parent


def test_started__a_start_that_has_its_run_by_now_is_not_recorded_as_ended(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes the run while Slurm is asked why the job has ended; the next look finds what it has left."""
    run = workflow.plan("c", base).runs[0].name
    begin(base, run)
    squeue(tmp_path, monkeypatch, "7|FAILED\n")
    plain = attempts._why

    def meanwhile(*given: Any, **more: Any) -> str:
        monkeypatch.setenv("SLURM_JOB_ID", "7")
        folders.reserve(base, "c", run)
        monkeypatch.delenv("SLURM_JOB_ID")
        return plain(*given, **more)

    stand_in(tmp_path, monkeypatch, "sacct", "#!/bin/sh\n")
    monkeypatch.setattr(attempts, "_why", meanwhile)
    assert attempts.started(base, "c") == []
    assert folders.recorded(base, "c") == set()
    (note,) = folders.noted(base, "c")
    assert note.name == "7.0.1000.json"


def test_launch__makes_no_folder_anew_that_was_removed_as_that_of_a_job_that_is_gone(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = workflow.plan("c", base).runs[0]
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    work = folders.reserve(base, "c", run.name)
    shutil.rmtree(work)
    with pytest.raises(FileNotFoundError):
        launch.lay_out(work, base, "c", run.name, launch._Slurm("7", f"n[1-{run.nodes}]"))
    assert not work.exists()


def test_started__the_reason_quotes_no_other_attempt_at_the_run(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log is of the last job that has written there: job 7 has said nothing there that is left."""
    run = workflow.plan("c", base).runs[0].name
    begin(base, run)
    begin(base, run, SLURM_JOB_ID="8")
    log = base / f"results/logs/run/c/{run}.log"
    assert log.read_text(encoding="utf-8") == "8.0.1000: the job has started\nout of breath\n"
    squeue(tmp_path, monkeypatch, "7|FAILED\n8|FAILED\n")
    stand_in(tmp_path, monkeypatch, "sacct", "#!/bin/sh\n")
    why = "failed: it ended before it had the run: Slurm says FAILED"
    assert attempts.started(base, "c") == [
        f"{run}.failed-1: {why}",
        f"{run}.failed-2: {why}: out of breath",
    ]


def test_started__each_start_of_a_job_is_an_attempt_and_a_recorded_one_is_none(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slurm lost a node and started the job again, which has measured the run."""
    run = workflow.plan("c", base).runs[0].name
    begin(base, run)
    begin(base, run, SLURM_RESTART_COUNT="1", SLURM_JOB_START_TIME="2000")
    put(base, run, job_id="7", reason="", slurm={"restarts": "1", "start": 2000.0})
    squeue(tmp_path, monkeypatch, "7|RUNNING\n")
    (folders.running(base, "c") / ".started/7.1.2000.json").touch()
    notes = folders.noted(base, "c")
    assert len(notes) == 2
    # The first start is over once there is a second one, whatever Slurm says of the job.
    stand_in(tmp_path, monkeypatch, "sacct", "#!/bin/sh\n")
    (line,) = attempts.started(base, "c")
    said = "it ended before it had the run: Slurm says it was started again"
    assert line == f"{run}.failed-1: failed: {said}"
    assert folders.noted(base, "c") == {}
    assert folders.measured(base, "c", run)


def test_started__a_number_that_was_given_again_is_no_later_start(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A controller was killed as it started job 7, and gave its number to another run's, which it restarted.

    What it had started went on, and its start had two records.
    """
    first, second = [run.name for run in workflow.plan("c", base).runs][:2]
    begin(base, first)
    begin(base, second, SLURM_JOB_NAME="77aa", SLURM_JOB_START_TIME="2000", SLURM_RESTART_COUNT="1")
    stand_in(tmp_path, monkeypatch, "sacct", "#!/bin/sh\n")
    squeue(tmp_path, monkeypatch, "7|RUNNING\n")
    assert attempts.started(base, "c") == []
    laid_out(base, first, "7")
    squeue(tmp_path, monkeypatch, "7|COMPLETED\n")
    attempts.started(base, "c")
    there = [folders.record_of(base, "c", name) for name in sorted(folders.recorded(base, "c"))]
    starts = [record["slurm"]["start"] for record in there if record["attempt_at"] == first]
    assert starts == [1000.0]


def test_started__a_clock_that_was_set_back_makes_no_later_start_an_earlier_one(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Job 7 runs again, on a node whose clock is two hours behind; its first start has its record."""
    run = workflow.plan("c", base).runs[0].name
    put(base, f"{run}.failed-1", job_id="7", reason="a lost node", slurm={"start": 9000.0, "restarts": "1"})
    begin(base, run, SLURM_RESTART_COUNT="2", SLURM_JOB_START_TIME="1800")
    squeue(tmp_path, monkeypatch, "7|RUNNING\n")
    stand_in(tmp_path, monkeypatch, "sacct", "#!/bin/sh\n")
    assert attempts.started(base, "c") == []
    assert folders.recorded(base, "c") == {f"{run}.failed-1"}
    assert len(folders.noted(base, "c")) == 1


def test_started__of_two_starts_with_one_count_none_is_over_while_the_job_runs(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crashed controller has started job 7 twice, the second time on a node whose clock is behind."""
    run = workflow.plan("c", base).runs[0].name
    put(base, run, job_id="7", reason="", slurm={"start": 9000.0, "restarts": ""})
    begin(base, run, SLURM_JOB_START_TIME="1800")
    stand_in(tmp_path, monkeypatch, "sacct", "#!/bin/sh\n")
    squeue(tmp_path, monkeypatch, "7|RUNNING\n")
    assert attempts.started(base, "c") == []
    assert folders.recorded(base, "c") == {run}
    # Once it has ended, the start without a record is an attempt.
    squeue(tmp_path, monkeypatch, "7|FAILED\n")
    (line,) = attempts.started(base, "c")
    assert line.startswith(f"{run}.failed-1: failed: it ended before it had the run")


def test_started__that_its_job_ended_well_is_no_reason_of_an_earlier_start(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a crashed controller's count, not by the clock, the start that measured the run was the first."""
    run = workflow.plan("c", base).runs[0].name
    put(base, run, job_id="7", reason="", slurm={"start": 1800.0, "restarts": ""})
    begin(base, run, SLURM_RESTART_COUNT="1")
    squeue(tmp_path, monkeypatch, "7|COMPLETED\n")
    stand_in(tmp_path, monkeypatch, "sacct", "#!/bin/sh\necho 'COMPLETED||5f3a|testbed'\n")
    (line,) = attempts.started(base, "c")
    why = "it ended before it had the run: Slurm says it was started again"
    assert line == f"{run}.failed-1: failed: {why}"
    assert folders.recorded(base, "c") == {run, f"{run}.failed-1"}


def test_started__a_start_that_a_crashed_controller_has_forgotten_keeps_its_record(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The controller was killed before it had written that job 7 was started again: both are start 0."""
    run = workflow.plan("c", base).runs[0].name
    begin(base, run)
    begin(base, run, SLURM_JOB_START_TIME="2000")
    assert len(folders.noted(base, "c")) == 2
    squeue(tmp_path, monkeypatch, "7|FAILED\n")
    stand_in(tmp_path, monkeypatch, "sacct", "#!/bin/sh\n")
    first, second = attempts.started(base, "c")
    assert first.endswith("Slurm says it was started again")
    assert "Slurm says FAILED" in second
    starts = [folders.record_of(base, "c", f"{run}.failed-{number}")["slurm"]["start"] for number in (1, 2)]
    assert starts == [1000, 2000]


def test_started__what_an_earlier_start_has_left_is_recorded_once(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Job 7 was killed as it ran; its next start has noted itself, and finds the folder soon."""
    run = workflow.plan("c", base).runs[0].name
    begin(base, run)
    laid_out(base, run, "7")
    begin(base, run, SLURM_RESTART_COUNT="1", SLURM_JOB_START_TIME="2000")
    stand_in(tmp_path, monkeypatch, "sacct", "#!/bin/sh\n")
    squeue(tmp_path, monkeypatch, "7|RUNNING\n")
    assert attempts.started(base, "c") == []
    assert folders.recorded(base, "c") == set()
    # That start was killed before it had looked.
    squeue(tmp_path, monkeypatch, "7|FAILED\n")
    (line,) = attempts.started(base, "c")
    assert line.startswith(f"{run}.failed-2: failed: it ended before it had the run: Slurm says FAILED")
    kept = [folders.record_of(base, "c", f"{run}.failed-{number}") for number in (1, 2)]
    assert [record["slurm"]["start"] for record in kept] == [1000.0, 2000]
    assert kept[0]["reason"].startswith("it ended without a record")
    assert folders.noted(base, "c") == {}


def test_seen__a_run_that_is_measured_again_under_its_name_is_read_again(base: Path) -> None:
    run = workflow.plan("c", base).runs[0].name
    put(base, run, job_id="7", slurm={"start": 1000.0})
    seen = attempts.Seen()
    assert seen.starts(base, "c") == {attempts.Start("7", 1000.0, 0)}
    place = folders.finished(base, "c")
    (place / run).rename(place / f"{run}.failed-1")
    put(base, run, job_id="7", slurm={"start": 2000.0, "restarts": "1"})
    assert seen.starts(base, "c") == {attempts.Start("7", 1000.0, 0), attempts.Start("7", 2000.0, 1)}


def test_lost__a_job_without_its_first_line_has_a_record_and_one_that_never_started_has_none(
    base: Path,
) -> None:
    """Both were cancelled; the node of job 8 had died before it executed a line."""
    run = workflow.plan("c", base).runs[0].name
    states = {"8": "CANCELLED by 0", "9": "CANCELLED by 0"}
    rows = {
        job: [{"JobID": job, "State": states[job], "Start": start}]
        for job, start in (("8", "2026-11-26T19:57:31"), ("9", "None"))
    }
    found = accounting.Account("c", dict.fromkeys(states, run), states, states, rows)
    (line,) = attempts.lost(base, found)
    why = "it ended before it had the run: Slurm says CANCELLED by 0 (root)"
    assert line == f"{run}.failed-1: failed: {why}"
    kept = folders.record_of(base, "c", f"{run}.failed-1")
    began = datetime(2026, 11, 26, 19, 57, 31).timestamp()
    assert (kept["job_id"], kept["slurm"]) == ("8", {"start": began})


def test_executor__each_submitted_job_has_a_log_whatever_becomes_of_its_node(base: Path) -> None:
    reported = list[str]()

    class Slurm:
        def report_job_submission(self, job_info: SimpleNamespace) -> None:
            reported.append(job_info.external_jobid)

    async def query_job_status() -> None: ...

    plugin = SimpleNamespace(Executor=Slurm, query_job_status=query_job_status)
    Slurm.check_active_jobs = query_job_status  # type: ignore[attr-defined]
    patch_executor(plugin)
    run = workflow.plan("c", base).runs[0].name
    log = base / folders.LOGS / f"c_{run}" / "8.log"
    Slurm().report_job_submission(SimpleNamespace(external_jobid="8", aux={"slurm_logfile": log}))
    assert reported == ["8"]
    assert accounting.submitted(base, "c") == {"8": run}


def test_started__the_controller_is_believed_while_the_accounting_is_late(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(base, workflow.plan("c", base).runs[0].name)
    squeue(tmp_path, monkeypatch, "7|NODE_FAIL\n")
    stand_in(tmp_path, monkeypatch, "sacct", "#!/bin/sh\n")
    (line,) = attempts.started(base, "c")
    assert "it ended before it had the run: Slurm says NODE_FAIL: " in line


def test_started__silent_slurm_decides_nothing(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(base, workflow.plan("c", base).runs[0].name)
    stand_in(tmp_path, monkeypatch, "squeue", "#!/bin/sh\nexit 1\n")
    why = "Slurm does not answer (no answer): 1 job has started without a record yet"
    assert attempts.started(base, "c") == [f"c: {why}; give the same command again once it does"]
    assert len(folders.noted(base, "c")) == 1
    # Without a job that waits for its record nothing is asked, and nothing is said.
    (folders.running(base, "c") / ".started/7.0.1000.json").unlink()
    assert attempts.started(base, "c") == []


def test_started__a_job_that_records_its_run_before_slurm_answers_is_no_failed_attempt(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The records were read, then job 7 ended well, then Slurm said so."""
    run = workflow.plan("c", base).runs[0].name
    begin(base, run)
    put(base, run, job_id="7", reason="", slurm={"start": 1000.0})
    ready, place = tmp_path / "ready", folders.finished(base, "c") / run
    place.rename(ready)
    stand_in(tmp_path, monkeypatch, "squeue", f"#!/bin/sh\nmv '{ready}' '{place}'\necho '7|COMPLETED'\n")
    stand_in(tmp_path, monkeypatch, "sacct", "#!/bin/sh\n")
    assert attempts.started(base, "c") == []
    assert folders.recorded(base, "c") == {run}
    assert folders.noted(base, "c") == {}


def test_started__a_run_that_another_job_measured_is_no_failed_attempt(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Job 7 ended well and could not write that it had nothing to do; job 8 was cancelled."""
    run = workflow.plan("c", base).runs[0].name
    put(base, run, job_id="5", reason="")
    begin(base, run)
    begin(base, run, SLURM_JOB_ID="8")
    squeue(tmp_path, monkeypatch, "7|COMPLETED\n8|CANCELLED\n")
    stand_in(tmp_path, monkeypatch, "sacct", "#!/bin/sh\n")
    (line,) = attempts.started(base, "c")
    assert line.startswith(f"{run}.failed-1: failed: it ended before it had the run: Slurm says CANCELLED")
    assert attempts.started(base, "c") == [f"c: job 7 measured nothing: {run} was measured already, by job 5"]
    assert folders.recorded(base, "c") == {run, f"{run}.failed-1"}


def test_started__a_job_that_finds_its_run_in_other_hands_is_no_failed_attempt(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Job 7 ends with 75, which Slurm calls FAILED, because job 5 measures the run."""
    run = workflow.plan("c", base).runs[0].name
    laid_out(base, run, "5")
    begin(base, run)
    squeue(tmp_path, monkeypatch, "5|RUNNING\n7|FAILED\n")
    stand_in(tmp_path, monkeypatch, "sacct", "#!/bin/sh\n")
    monkeypatch.chdir(base)
    for name, value in {**JOB, "BENCHBOOK_STARTED": "1000"}.items():
        monkeypatch.setenv(name, value)
    assert launch.main(["c", run]) == launch.BUSY == 75
    assert "another job measures it" in capsys.readouterr().err
    assert attempts.started(base, "c") == [f"c: job 7 measured nothing: {run} was being measured, by job 5"]
    # Nor does what Slurm's accounting says of it make one, when the campaign ends.
    states = {"7": "FAILED"}
    rows = {"7": [{"JobID": "7", "State": "FAILED", "Start": "2026-11-26T19:57:31"}]}
    found = accounting.Account("c", {"7": run}, states, states, rows)
    assert attempts.lost(base, found) == []
    assert folders.recorded(base, "c") == set()


@pytest.fixture
def full(base: Path) -> Iterator[Path]:
    """Mount a file system of a few pages for the raw data, and fill it; return the file that fills it."""
    raw = base / "data/raw"
    raw.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(raw)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no small file system can be mounted: {done.stderr.strip()}")
    try:
        with contextlib.suppress(OSError), (raw / "filling").open("wb", buffering=0) as file:
            while file.write(b"x" * 4096):
                pass
        yield raw / "filling"
    finally:
        subprocess.run(["umount", "--lazy", str(raw)], check=True)


def test_started__a_note_that_a_full_disk_has_cut_is_named_and_has_a_record(
    base: Path,
    full: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Slurm's log names the run of job 7, its accounting that of job 8; nothing that of job 9."""
    names = [run.name for run in workflow.plan("c", base).runs]
    for job, name in zip("789", names[:3], strict=True):
        begin(base, name, SLURM_JOB_ID=job)
    log = base / f"results/logs/slurm/rule_run/c_{names[0]}/7.log"
    log.parent.mkdir(parents=True)
    log.touch()
    notes = folders.running(base, "c") / ".started"
    assert {path.name: path.stat().st_size for path in notes.iterdir()} == {
        f"{job}.0.1000.part": 0 for job in "789"
    }
    squeue(tmp_path, monkeypatch, "7|FAILED\n8|FAILED\n9|FAILED\n")
    tell = f'case "$*" in *jobs=8) echo "rule_run_wildcards_c_{names[1]}";; esac'
    stand_in(tmp_path, monkeypatch, "sacct", f"#!/bin/sh\n{tell}\n")

    monkeypatch.chdir(base)
    # While the disk is full nothing is lost, and each command says why nothing is written.
    lines = attempts.started(base, "c")
    cut = [f"{notes}/{job}.0.1000.part: the note that job {job} has started is cut" for job in "789"]
    assert [line for line in lines if " is cut" in line] == [
        f"{one}; make room, then measure again" for one in cut
    ]
    assert sum("none can be written (No space left on device); make room" in line for line in lines) == 2
    assert finish.main(["c"]) == 1
    assert "make room, then give the same command again" in capsys.readouterr().err
    assert len(list(notes.iterdir())) == 3
    monkeypatch.setenv("SLURM_JOB_ID", "11")
    assert launch.start(base, "c", names[4], launch._Slurm.of_this_job()) == 1
    assert "(No space left on device); make room, then measure again" in capsys.readouterr().err

    full.unlink()
    lines = attempts.started(base, "c")
    assert folders.recorded(base, "c") == {f"{name}.failed-1" for name in names[:2]}
    assert [path.name for path in folders.noted(base, "c")] == ["9.0.1000.part"]
    assert any(line.startswith(f"{notes}/9.0.1000.part: job 9 has no record: ") for line in lines)


def laid_out(base: Path, run: str, job: str) -> None:
    """Lay the folder of a run out as a job of Slurm does, which is killed then."""
    work = folders.reserve(base, "c", run)
    folders.write_json(work / folders.OWNER, {"job_id": job, "host": "n1", "pid": 1, "started": 1})
    (work / "1").mkdir()
    head = {"run": run, "job_id": job, "command": ["x"], "environment": {}, "slurm": {"start": 1000.0}}
    folders.write_json(work / "1" / folders.HEAD, {**head, "result": {"file": "stdout.txt", "text": "x"}})


def test_books__a_job_that_was_killed_has_a_record_while_the_campaign_runs(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two are killed at their start, one as it runs, one runs: the three have records at the next look."""
    names = [run.name for run in workflow.plan("c", base).runs]
    for number, name in enumerate(names[:4], 7):
        begin(base, name, SLURM_JOB_ID=str(number))
    laid_out(base, names[2], "9")
    laid_out(base, names[3], "10")
    squeue(tmp_path, monkeypatch, "7|FAILED\n9|NODE_FAIL\n10|RUNNING\n")  # and 8 is forgotten
    stand_in(tmp_path, monkeypatch, "sacct", "#!/bin/sh\n")
    keeper = books.Books("c", base, sure=0)
    keeper.keep()
    assert folders.recorded(base, "c") == {f"{name}.failed-1" for name in names[:3]}
    assert [path.name for path in folders.noted(base, "c")] == ["10.0.1000.json"]
    said = capsys.readouterr().err.splitlines()
    assert {line.partition(": ")[0] for line in said} == {f"{name}.failed-1" for name in names[:3]}
    # The next look finds nothing new.
    keeper.keep()
    assert len(folders.recorded(base, "c")) == 3
    assert manifest.check(project.raw("c", base), "data/raw/c")[0] == 3


def test_books__a_job_counts_as_gone_after_a_while_and_waits_by_name(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its record may be on its way: another node's folder is seen late."""
    begin(base, workflow.plan("c", base).runs[0].name)
    squeue(tmp_path, monkeypatch, "7|FAILED\n")
    books.Books("c", base).keep()
    assert folders.recorded(base, "c") == set()
    plan = workflow.plan("c", base)
    state = progress.Observer(plan, plan.runs).look(0.0)
    assert state.note == "1 job has started and ended without a record yet"
    stand_in(tmp_path, monkeypatch, "squeue", "#!/bin/sh\nexit 1\n")
    keeper = books.Books("c", base)
    keeper.keep()
    keeper.keep()
    assert capsys.readouterr().err.count("Slurm does not answer (no answer): 1 job has started") == 1
    state = progress.Observer(plan, plan.runs).look(0.0)
    assert state.note == "Slurm does not answer; 1 job has started without a record yet"


def test_executor__a_run_starts_without_a_second_snakemake(base: Path) -> None:
    class Mended:
        def format_job_exec(self, job: object) -> str:
            return "python -m snakemake"

    async def query_job_status() -> None: ...

    plugin = SimpleNamespace(Executor=Mended, query_job_status=query_job_status)
    Mended.check_active_jobs = query_job_status  # type: ignore[attr-defined]
    patch_executor(plugin, base)
    run = workflow.plan("c", base).runs[0].name
    job = SimpleNamespace(
        is_group=lambda: False,
        rule=SimpleNamespace(name="run"),
        wildcards=SimpleNamespace(campaign="c", run=run),
        log=["a log"],
    )
    words = shlex.split(Mended().format_job_exec(job))
    assert words[:3] == ["sh", str(executor.START), str(base)]
    assert words[3:] == [sys.executable, "c", run, f"rule_run_wildcards_c_{run}", "a log"]
    job.rule.name = "page"
    assert Mended().format_job_exec(job) == "python -m snakemake"


def test_job__imports_no_tables_and_no_snakemake() -> None:
    """What runs inside the exclusive allocation: a library of tables takes 300 MB and seconds."""
    script = "import json, sys; import analysis.measure.launch, analysis.measure.record; "
    script += "print(json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in json.loads(done.stdout)}
    assert "analysis" in loaded
    assert loaded & {"pandas", "xarray", "numpy", "scipy", "snakemake", "matplotlib", "netCDF4"} == set()


def test_launch__programs_that_start_ranks_get_no_defaults_of_the_batch_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = {
        **JOB,
        "SLURM_NTASKS_PER_NODE": "2",
        "SRUN_DEBUG": "3",
        "SBATCH_X": "1",
        "SLURM_MEM_PER_CPU": "9",
    }
    for name in [name for name in os.environ if name.startswith(("SLURM_", "SRUN_", "SBATCH_"))]:
        monkeypatch.delenv(name)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    job = launch._Slurm.of_this_job()
    assert (job.number, job.nodes, job.names["job_name"]) == ("7", "n[1-2]", "5f3a")
    left = {name for name in os.environ if name.startswith(("SLURM_", "SRUN_", "SBATCH_"))}
    assert left == {"SLURM_JOB_ID", "SLURM_CLUSTER_NAME"}


@pytest.mark.parametrize(
    ("clock", "start", "end", "known"),
    [
        ("10.50\n16.75\n0m0.001s 0m0.002s\n1m2.500s 0m0.250s\n", 100.0, 106.25, (6.25, 0.0, 62.5, 0.25)),
        ("10.50\n16.75\n0m0.001s 0m0.002s\n1m2,500s 0m0,250s\n", 100.0, 3706.25, (6.25, 3600.0, 62.5, 0.25)),
        ("10.50\n", 100.0, None, (None, None, None, None)),
        ("", 100.0, 106.25, (None, None, None, None)),
    ],
)
def test_record__accounts_for_itself_by_a_clock_that_nobody_sets(
    tmp_path: Path,
    clock: str,
    start: float,
    end: float | None,
    known: tuple[float | None, ...],
) -> None:
    (tmp_path / ".clock").write_text(clock, encoding="ascii")
    found = record._accounting(tmp_path / ".clock", start, end)
    assert tuple(found[name] for name in ("elapsed", "clock_step", "user", "system")) == known


def test_slurm__who_cancelled_a_job_has_a_name() -> None:
    assert slurm.named_user("CANCELLED by 0") == "CANCELLED by 0 (root)"
    assert slurm.named_user("CANCELLED by 999999999") == "CANCELLED by 999999999"
    assert slurm.named_user("NODE_FAIL") == "NODE_FAIL"


def test_shared_job__runs_that_ask_for_the_same_share_one_in_their_order(
    base: Path, changed: Changed
) -> None:
    declared = changed(("  minutes: 10\n", "  minutes: 10\n  runs_per_job: 6\n"), file="clusters/paper")
    workflow.plan.cache_clear()
    workflow.resources.cache_clear()
    workflow.common.cache_clear()
    assert declared.launch.runs_per_job == 6
    runs = list(workflow.plan("c", base).runs)
    first = workflow.leaders("c", runs, base)
    shared = {run.name: [run.name, *workflow.share_job("c", run.name, base)] for run in first}
    assert sorted(name for names in shared.values() for name in names) == sorted(run.name for run in runs)
    assert max(map(len, shared.values())) == 6
    # A repeat of all cells is parted only if one job is too short for it, so that its runs are pairs.
    asks = {run.name: (json.dumps(workflow.requested(declared, run)), run.repeat) for run in runs}
    rounds = Counter(asks.values())
    jobs_of = Counter(one for names in shared.values() for one in {asks[name] for name in names})
    assert {jobs_of[one] for one, count in rounds.items() if count <= 6} == {1}
    order = {run.name: run.order for run in runs}
    by_name = {run.name: run for run in runs}
    for name, names in shared.items():
        assert [order[one] for one in names] == sorted(order[one] for one in names)
        asked = [workflow.requested(declared, by_name[one]) for one in names]
        assert all(one == asked[0] for one in asked)
        # One limit, and twice what the others are expected to take: 10 s or 100 s, and 4 s to start.
        seconds = sum((100 if "large" in one else 10) + 4 for one in names[1:])
        assert workflow.resources("c", name, base)["runtime"] == 10 + math.ceil(2 * seconds / 60)
        assert workflow.sharing("c", name, base) == names[1:]
    assert "runtime" not in workflow.common("c", base)
    # Without the option each has its own, and a note of an earlier start is taken away.
    workflow._shared.clear()
    assert workflow.share_job("c", first[0].name, base) == []
    assert workflow.sharing("c", first[0].name, base) == []
    workflow.resources.cache_clear()
    workflow.common.cache_clear()


def arrive(base: Path, name: str, reason: str, mpi: str = "ompi") -> None:
    put(base, name, reason=reason, application="alpha", mpi=mpi)


def test_books__three_equal_failures_of_a_program_that_never_ran_stop_a_campaign(base: Path) -> None:
    names = [run.name for run in workflow.plan("c", base).runs]
    arrive(base, f"{names[0]}.failed-1", "exit code 5")
    failures = books.EqualFailures("c", base)
    for name in names[1:3]:
        arrive(base, f"{name}.failed-1", "exit code 5")
    arrive(base, f"{names[3]}.failed-1", "exit code 6")
    # What somebody has cancelled, and a lost node, say nothing of the program.
    for name in names[4:8]:
        arrive(base, f"{name}.failed-1", "the job was ended by TERM (cancelled, or out of time)")
    assert failures.look(folders.recorded(base, "c")) == ""
    arrive(base, f"{names[8]}.failed-1", "exit code 5")
    assert failures.look(folders.recorded(base, "c")) == "alpha with ompi: exit code 5"
    arrive(base, names[9], "", mpi="mpich")
    assert failures.look(folders.recorded(base, "c")) == "alpha with ompi: exit code 5"
    arrive(base, names[10], "")
    assert failures.look(folders.recorded(base, "c")) == ""


def test_books__each_record_is_read_once(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read, record_of = list[str](), folders.record_of
    monkeypatch.setattr(folders, "record_of", lambda *which: read.append(which[2]) or record_of(*which))
    names = [run.name for run in workflow.plan("c", base).runs][:6]
    failures = books.EqualFailures("c", base)
    for number, name in enumerate(names):
        arrive(base, f"{name}.failed-1", f"exit code {number + 2}")
        assert failures.look(folders.recorded(base, "c")) == ""
    assert read == [f"{name}.failed-1" for name in names]


def test_finish__without_its_books_it_says_who_has_them_and_changes_nothing(
    base: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(base)
    for run in workflow.plan("c", base).runs:
        put(base, run.name)
    monkeypatch.setattr(finish, "_PATIENCE", 0.3)
    monkeypatch.setattr(books, "_SILENT", 0.0)
    own = f"process {os.getpid()} on {socket.gethostname()}"
    with books.kept(base, "c", 0) as mine:
        assert mine
        assert finish.main(["c"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        f"c: waiting for {own}, which keeps its books, at most 0.3 s",
        f"c: {own} still keeps its books after 0.3 s; give the same command again",
    ]
    assert not (project.raw("c", base) / manifest.NAME).exists()


def test_books__what_arrives_is_in_the_manifest_before_the_campaign_ends(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [run.name for run in workflow.plan("c", base).runs]
    ended: list[int] = []
    monkeypatch.setattr(books.os, "kill", lambda pid, number: ended.append(number))
    monkeypatch.setenv("PATH", "/nowhere")
    keeper = books.Books("c", base)
    arrive(base, names[0], "")
    keeper.keep()
    raw = project.raw("c", base)
    assert manifest.check(raw, "data/raw/c") == (1, [])
    with books.kept(base, "c", 0) as mine:
        assert mine
        arrive(base, f"{names[1]}.failed-1", "exit code 5", mpi="mpich")
        keeper.keep()  # another process has them: nothing is written, nothing waits
    assert len(manifest.check(raw, "data/raw/c")[1]) == 1
    for name in names[2:4]:
        arrive(base, f"{name}.failed-1", "exit code 5", mpi="mpich")
    keeper.keep()
    keeper.keep()
    assert manifest.check(raw, "data/raw/c") == (4, [])
    assert ended == [signal.SIGTERM]
    (said,) = books.stopped(base, "c")
    assert said.startswith(
        "c: stopped after 3 equal failures: alpha with mpich: exit code 5; put it right, or "
    )
    # The next start is a new one, and may go on all the same.
    ended.clear()
    keeper = books.Books("c", base, go_on=True)
    assert books.stopped(base, "c") == []
    for name in names[4:8]:
        arrive(base, f"{name}.failed-1", "exit code 5", mpi="mpich")
    keeper.keep()
    assert ended == []


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (
            "proxy: cannot write proxy.dat: No space left on device\n",
            ": the disk is full: proxy: cannot write proxy.dat: No space left on device",
        ),
        (
            "./x: symbol lookup error: ./x: undefined symbol: MPI_Foo\n",
            ": a symbol is missing: ./x: symbol lookup error: ./x: undefined symbol: MPI_Foo",
        ),
        (
            "x: error while loading shared libraries: libmpi.so.12: cannot open shared object file\n",
            ": a library is missing: x: error while loading shared libraries: "
            "libmpi.so.12: cannot open shared object file",
        ),
        (
            "slurmstepd: error: Detected 1 oom_kill event in StepId=7.0.\n",
            ": out of memory: slurmstepd: error: Detected 1 oom_kill event in StepId=7.0.",
        ),
        (
            "mpirun has detected an attempt to run as root.\n",
            ": the launcher refuses root: mpirun has detected an attempt to run as root.",
        ),
        (  # of LAMMPS in Debian 12
            "ERROR: Using suffix omp without OPENMP package installed (src/lammps.cpp:862)\n",
            ": the program's own error: ERROR: Using suffix omp without OPENMP package installed "
            "(src/lammps.cpp:862)",
        ),
        ("a residual of 1e-3\n", ""),
        ("ORTE_ERROR_LOG: Error in file\nERRORS: 0\n", ""),
    ],
)
def test_record__a_failure_has_the_cause_that_the_program_printed(
    tmp_path: Path, text: str, cause: str
) -> None:
    (tmp_path / "stderr.txt").write_text("x" * 100_000 + "\n" + text, encoding="utf-8")
    assert causes.of(tmp_path, 0) == cause


def test_finish__what_only_slurm_has_seen_stands_behind_the_reason(base: Path) -> None:
    name = workflow.plan("c", base).runs[0].name
    put(base, f"{name}.failed-1", job_id="7", reason="exit code 137 (signal KILL)")
    (line,) = workflow.failures("c", base, {"7": "OUT_OF_MEMORY"})
    assert line.endswith("exit code 137 (signal KILL); Slurm says OUT_OF_MEMORY")
    (line,) = workflow.failures("c", base, {"7": "FAILED"})
    assert line.endswith("exit code 137 (signal KILL)")


def test_executor__says_once_why_a_run_failed() -> None:
    logger = logging.getLogger("test of Snakemake's noise")
    executor.quieten(logger)
    said: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda entry: said.append(entry.getMessage())  # type: ignore[method-assign]
    logger.addHandler(handler)
    logger.warning("Cannot restore data/raw/c/runs/a/run.json: no backup found.")
    logger.warning("another warning")
    assert said == ["another warning"]
