"""Slurm's records at the end of a campaign: what was kept stays, and the wait for the rest is said."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from analysis.base import files, project
from analysis.measure import accounting, books, finish, folders, progress, workflow
from analysis.measure.accounting import SACCT, account, merged
from analysis.provenance import manifest

from .conftest import stand_in
from .test_workflow_rules import put

HEAD = "JobID|JobName|Comment|State|Submit|Start|End|MaxRSS|ConsumedEnergyRaw"
SEVEN = """\
7|5f3a|run_one|COMPLETED|2026-11-21T00:27:30|2026-11-21T00:27:31|2026-11-21T00:27:37||6021
7.batch|batch||COMPLETED|2026-11-21T00:27:31|2026-11-21T00:27:31|2026-11-21T00:27:37|52064K|2944
7.0|orted||COMPLETED|2026-11-21T00:27:31|2026-11-21T00:27:31|2026-11-21T00:27:37|39280K|2988
"""
# Of a run that has another name now: nobody asks for it any more.
FIVE = "5|11c0|run_old|COMPLETED|2026-11-20T00:27:30|2026-11-20T00:27:31|2026-11-20T00:27:37||77\n"
FIRST, *STEPS = SEVEN.splitlines()


def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, base: Path, kept: str, *answer: str) -> str:
    """Return sacct.txt, which had some rows, after Slurm has answered with others."""
    put(base, "one", job_id="7")
    path = project.raw("c", base) / SACCT
    path.write_text(f"{HEAD}\n{kept}", encoding="utf-8")
    os.utime(path, (0, 0))
    (tmp_path / "rows").write_text("\n".join([HEAD, *answer, ""]), encoding="utf-8")
    stand_in(tmp_path, monkeypatch, "sacct", f"#!/bin/sh\ncat {tmp_path}/rows\n")
    began = time.monotonic()
    found = account(base, "c", patience=60, interval=0.01)
    assert time.monotonic() - began < 30
    assert found.states == {"7": "COMPLETED"}
    return path.read_text(encoding="utf-8").removeprefix(f"{HEAD}\n")


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param([], id="purged, or another database"),
        pytest.param([FIRST], id="steps purged"),
        pytest.param([FIRST.removesuffix("6021"), STEPS[0]], id="energy no longer said"),
        pytest.param(
            [FIRST.replace("COMPLETED", "RUNNING").replace("2026-11-21T00:27:37", "Unknown")],
            id="restored from a copy of the database made meanwhile",
        ),
        pytest.param(
            ["7|payroll||FAILED|2026-12-24T10:00:00|2026-12-24T10:00:01|2026-12-24T10:00:02||1"],
            id="number given anew by another database",
        ),
    ],
)
def test_accounting__what_was_kept_stays(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: list[str]
) -> None:
    """Byte by byte; and what Slurm has forgotten nobody waits for."""
    assert asked(tmp_path, monkeypatch, base, FIVE + SEVEN, *answer) == FIVE + SEVEN


@pytest.mark.parametrize("answer", [SEVEN.splitlines(), [FIRST]], ids=["all known", "steps purged"])
def test_accounting__half_a_row_is_named_and_does_not_stay(
    base: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    answer: list[str],
) -> None:
    """The file was cut within its last row: the rest of that row stayed blank, whatever Slurm said."""
    cut = (FIVE + SEVEN).rpartition("7:31|")[0]
    assert cut.endswith("|2026-11-21T00:2")
    found = asked(tmp_path, monkeypatch, base, cut, *answer)
    assert found == FIVE + (SEVEN if len(answer) == 3 else f"{FIRST}\n{STEPS[0]}\n")
    path = project.raw("c", base) / SACCT
    said = capsys.readouterr().err
    assert f"{path}:5: the file is cut here; Slurm is asked for this row" in said


def test_accounting__what_slurm_says_more_comes_in(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step and an energy came late; the job's row was that of a running one."""
    running = FIRST.replace("COMPLETED", "RUNNING").replace("2026-11-21T00:27:37||6021", "Unknown||")
    found = asked(tmp_path, monkeypatch, base, f"{FIVE}{running}\n{STEPS[0]}\n", *SEVEN.splitlines())
    assert found == FIVE + SEVEN


def test_accounting__a_job_that_was_started_again_keeps_both_starts() -> None:
    """As in Slurm's own table of duplicates; the last start comes first, whichever was read first."""
    first = [{"JobID": "7", "JobName": "a", "Submit": "2026-11-21T00:27:30", "State": "NODE_FAIL"}]
    again = [{"JobID": "7", "JobName": "a", "Submit": "2026-11-21T00:31:02", "State": "RUNNING"}]
    assert merged(first, again) == [*again, *first]
    assert merged(again, first) == [*again, *first]
    ended = [{**again[0], "State": "COMPLETED"}]
    assert merged([*again, *first], ended) == [*ended, *first]


def test_accounting__separator_in_a_name_shifts_a_row_and_breaks_nothing(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = SEVEN.replace("7.0|orted", "7.0|a|b")
    assert asked(tmp_path, monkeypatch, base, "", *odd.splitlines()) == odd


def test_accounting__a_cell_of_any_length_is_kept(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = SEVEN.replace("7.0|orted", f"7.0|{'x' * 200_000}")
    assert asked(tmp_path, monkeypatch, base, "", *long.splitlines()) == long


def test_accounting__a_file_of_another_form_is_left_alone_and_named(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    put(base, "one", job_id="7")
    path = project.raw("c", base) / SACCT
    path.write_text('{"jobs": []}\n', encoding="ascii")
    stand_in(tmp_path, monkeypatch, "sacct", f"#!/bin/sh\necho '{HEAD}'\necho '{FIRST}'\n")
    assert account(base, "c", patience=5, interval=0.01).states == {"7": "COMPLETED"}
    assert path.read_text(encoding="ascii") == '{"jobs": []}\n'
    assert "sacct.txt:1: is no table of sacct and stays as it is" in capsys.readouterr().err


@pytest.mark.slow
def test_finish__killed_while_it_waits_for_slurm_it_has_lost_nothing(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The manifest has all 30 runs and what Slurm has said so far; the screen says what is waited for."""
    for name in [run.name for run in workflow.plan("c", base).runs]:
        put(base, name, job_id="7", reason="")
    running = FIRST.replace("COMPLETED", "RUNNING")
    stand_in(tmp_path, monkeypatch, "sacct", f"#!/bin/sh\necho '{HEAD}'\necho '{running}'\n")
    command = [sys.executable, "-m", "analysis.measure.finish", "c"]
    with subprocess.Popen(command, cwd=base, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        now = time.time()
        left = accounting.waiting(base, "c", now)
        observed = progress.Observer(workflow.plan("c", base), workflow.plan("c", base).runs).look(now)
        process.send_signal(signal.SIGKILL)
    assert said.startswith("c: waiting for Slurm's last word on 1 job, at most 30")
    assert left.startswith("waiting for Slurm's last word on 1 job, at most ")
    assert 280 < int(left.split()[-2]) <= 300
    assert progress.sentence(observed, now).endswith(f"; {left}")
    assert manifest.check(project.raw("c", base), "data/raw/c") == (31, [])
    # A note that outlives its writer ends by itself.
    assert accounting.waiting(base, "c", now + 301) == ""


def test_accounting__every_question_says_the_seconds_left_and_the_note_goes(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    put(base, "one", job_id="7")
    put(base, "two", job_id="8")
    note = folders.running(base, "c") / accounting.WAITING
    stand_in(tmp_path, monkeypatch, "sacct", f"#!/bin/sh\necho '{HEAD}'\ncat {note} >>{tmp_path}/notes\n")
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    clock = SimpleNamespace(monotonic=lambda: now[0], time=lambda: now[0], sleep=sleep)
    monkeypatch.setattr(accounting, "time", clock)
    account(base, "c")
    seconds = [int(line.split()[-2]) for line in capsys.readouterr().err.splitlines()]
    assert seconds == [300, 270, 240, 210, 180, 150, 120, 90, 60, 30]
    assert "waiting for Slurm's last word on 2 jobs" in (tmp_path / "notes").read_text(encoding="utf-8")
    assert not note.exists()


@pytest.mark.parametrize(("later", "seconds"), [(301, [300]), (299, [300, 270, 240])])
def test_accounting__nobody_waits_for_a_job_that_slurm_has_forgotten(
    base: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    later: float,
    seconds: list[int],
) -> None:
    """Job 7 was purged. Job 8, which began later by more than clocks differ, is there; so 7 comes no more."""
    put(base, "one", job_id="7", slurm={"start": 1795220851.0})
    put(base, "two", job_id="8", slurm={"start": 1795220851.0 + later})
    begin = clock(1795220851 + later)
    rows = f"JobID|State|Submit|Start|End\n8|COMPLETED|{begin}|{begin}|{begin}\n"
    (tmp_path / "rows").write_text(rows, encoding="utf-8")
    stand_in(tmp_path, monkeypatch, "sacct", f"#!/bin/sh\ncat {tmp_path}/rows\n")
    now = [0.0]

    def sleep(seconds_: float) -> None:
        now[0] += seconds_

    stopped = SimpleNamespace(monotonic=lambda: now[0], time=lambda: now[0], sleep=sleep)
    monkeypatch.setattr(accounting, "time", stopped)
    found = account(base, "c")
    said = [int(line.split()[-2]) for line in capsys.readouterr().err.splitlines()]
    assert said[: len(seconds)] == seconds
    assert (len(said) == 1) == (later > 300)
    assert found.states == {"8": "COMPLETED"}


@pytest.mark.parametrize(
    ("squeue", "sdiag", "waits"),
    [
        ("exit 1", "DBD Agent queue size: 0", True),  # no answer
        ("echo '7|COMPLETED'", "DBD Agent queue size: 0", False),
        (
            "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1",
            "DBD Agent queue size: 0",
            False,
        ),
        ("echo '7|COMPLETED'", "DBD Agent queue size: 3", True),  # the accounting is away, or behind
        ("echo '7|COMPLETING'", "DBD Agent queue size: 0", True),
        ("echo '7|COMPLETED'; echo '8|RUNNING'", "DBD Agent queue size: 0", True),  # for 8
        ("echo '7|COMPLETED'", "slurm_get_statistics: Unable to contact", True),
    ],
)
@pytest.mark.parametrize(
    "rows", ["", "7|RUNNING|Unknown|Unknown|Unknown\n8|RUNNING|Unknown|Unknown|Unknown\n"]
)
def test_accounting__the_controller_is_witness_where_the_last_jobs_are_forgotten(
    base: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    squeue: str,
    sdiag: str,
    waits: bool,
    rows: str,
) -> None:
    """Both jobs, or their ends, are not there: they have ended, and nothing of them is on its way there."""
    put(base, "one", job_id="7", slurm={"start": 1795220851.0})
    put(base, "two", job_id="8", slurm={"start": 1795221851.0})
    said_ = f"#!/bin/sh\necho 'JobID|State|Submit|Start|End'\nprintf '{rows}'\n"
    stand_in(tmp_path, monkeypatch, "sacct", said_)
    stand_in(tmp_path, monkeypatch, "squeue", f"#!/bin/sh\n{squeue}\n")
    stand_in(tmp_path, monkeypatch, "sdiag", f"#!/bin/sh\necho '{sdiag}'\n")
    now = [0.0]

    def sleep(seconds_: float) -> None:
        now[0] += seconds_

    stopped = SimpleNamespace(monotonic=lambda: now[0], time=lambda: now[0], sleep=sleep)
    monkeypatch.setattr(accounting, "time", stopped)
    assert account(base, "c").states == {}
    said = [int(line.split()[-2]) for line in capsys.readouterr().err.splitlines()]
    assert said == ([300, 270, 240, 210, 180, 150, 120, 90, 60, 30] if waits else [300])
    # Who does not wait does not ask either.
    stand_in(tmp_path, monkeypatch, "sdiag", f"#!/bin/sh\ntouch {tmp_path}/asked\n")
    account(base, "c", patience=0)
    assert not (tmp_path / "asked").exists()


def test_accounting__what_slurm_adds_to_a_final_row_is_kept() -> None:
    """Energy and the end of a clock come late; a state that was final does not run again."""
    row = {"JobID": "7", "Submit": "t", "State": "COMPLETED", "ConsumedEnergyRaw": "", "End": "2"}
    more = {**row, "ConsumedEnergyRaw": "6021", "End": "3"}
    assert merged([row], [more]) == [more]
    assert merged([more], [row]) == [{**more, "End": "2"}]
    assert merged([more], [{**row, "State": "RUNNING"}]) == [more]


OURS = {
    "run": "one",
    "job_id": "7",
    "start": 1795220855.0,
    "slurm": {
        "cluster": "testbed",
        "job_name": "5f3a",
        "comment": "rule_run_wildcards_c_one",
        "start": 1795220851.0,
    },
}


def row(**changes: str) -> dict[str, str]:
    """Return the accounting row of that job, with changes; its times are those of the zone."""
    own = {"JobID": "7", "JobName": "5f3a", "Cluster": "testbed", "Comment": "rule_run_wildcards_c_one"}
    return {
        **own,
        "Submit": clock(1795220840),
        "Start": clock(1795220851),
        "End": clock(1795220861),
        **changes,
    }


def clock(moment: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(moment))


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({}, ""),
        ({"End": "Unknown"}, ""),
        ({"Comment": "rule_run_wildcards_c_two"}, "its Comment is 'rule_run_wildcards_c_two', not "),
        ({"Comment": "payroll"}, "its Comment is 'payroll', not "),
        ({"Cluster": "other"}, "its Cluster is 'other', not 'testbed'"),
        ({"JobName": "allocation"}, ""),  # slurmdbd's word until it has the name
        ({"JobName": "77aa"}, "its JobName is '77aa', not '5f3a'"),
        ({"Submit": clock(1795220851 + 40 * 3600)}, "it was submitted at "),
        ({"Start": clock(1795220851 - 40 * 3600), "Submit": clock(1795220840 - 40 * 3600)}, "it began at "),
        # A clock that was wrong by an hour for a while is no other job if all names agree.
        ({name: clock(1795220851 + 3600) for name in ("Submit", "Start", "End")}, ""),
    ],
)
def test_accounting__a_row_counts_only_if_names_and_times_agree(changes: dict[str, str], why: str) -> None:
    found = accounting.disagreement(OURS, row(**changes), "c")
    assert found.startswith(why) if why else found == ""


def test_accounting__an_older_record_is_known_by_its_run_and_its_time() -> None:
    """Records of earlier versions have no names of Slurm: an hour is another job then."""
    old = {"run": "one.2.failed-1", "attempt_at": "one.2", "job_of_run": 2, "start": 1795220855.0}
    assert accounting.disagreement(old, row(), "c") == ""
    assert "its Comment" in accounting.disagreement(old, row(Comment="rule_run_wildcards_c_two"), "c")
    late = {name: clock(1795220851 + 3600) for name in ("Submit", "Start", "End")}
    assert accounting.disagreement(old, row(**late), "c").startswith("it was submitted at ")
    early = {name: clock(1795220851 - 3600) for name in ("Submit", "Start", "End")}
    assert accounting.disagreement(old, row(**early), "c").startswith("it ran from ")


def test_accounting__rows_of_another_database_retract_nothing_and_are_kept_aside(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two jobs have the campaign's numbers there; one was cancelled, and none of both is waited for."""
    names = [run.name for run in workflow.plan("c", base).runs]
    known = {"cluster": "testbed", "job_name": "5f3a", "start": 1795220851.0}
    for name, job in zip(names, "78", strict=False):
        put(base, name, job_id=job, reason="", start=1795220855.0, slurm=known)
    head = "JobID|JobName|Cluster|Comment|State|Submit|Start|End"
    rows = [f"{job}|77aa|testbed||CANCELLED by 0|{clock(0)}|{clock(0)}|{clock(9)}" for job in "78"]
    (tmp_path / "rows").write_text("\n".join([head, *rows, ""]), encoding="utf-8")
    stand_in(tmp_path, monkeypatch, "sacct", f"#!/bin/sh\ncat {tmp_path}/rows\n")
    began = time.monotonic()
    found = account(base, "c", patience=200, interval=0.01)
    assert time.monotonic() - began < 60
    assert (found.states, found.latest) == ({}, {})
    assert finish.mark_failed(base, "c", found) == []
    assert folders.recorded(base, "c") == set(names[:2])
    assert not (project.raw("c", base) / SACCT).exists()
    aside = (folders.running(base, "c") / accounting.FOREIGN).read_text(encoding="utf-8")
    why = "Slurm's job 7 is not this campaign's job 7: its JobName is '77aa', not '5f3a'"
    assert aside.startswith(f"# {why}\nJobID=7\nJobName=77aa\n")
    said = [line for line in capsys.readouterr().err.splitlines() if "not this campaign's" in line]
    assert [line.partition(" is not")[0] for line in said] == ["c: Slurm's job 7", "c: Slurm's job 8"]


def test_finish__a_row_of_one_record_does_not_speak_for_another_of_the_same_number(base: Path) -> None:
    """A copy has two records of job 7: of this Slurm and of another; the cancelled job is one of them."""
    first, second = [run.name for run in workflow.plan("c", base).runs][:2]
    put(base, first, job_id="7", reason="", start=1795220855.0)
    put(base, second, job_id="7", reason="", start=1795220855.0, slurm={"job_name": "other"})
    own = row(State="CANCELLED by 0", Comment=f"rule_run_wildcards_c_{first}")
    found = accounting.Account("c", states={"7": "CANCELLED by 0"}, rows={"7": [own]})
    (line,) = finish.mark_failed(base, "c", found)
    assert line.startswith(f"{first}.failed-1: failed: Slurm says CANCELLED by 0")
    assert folders.measured(base, "c", second)


# What sacct printed on the test cluster of a job that had ended well at 10:20:21: slurmctld was killed in the
# same moment and said RUNNING afterwards, until the job was cancelled. Its program ran from :15 to :21.
GHOST = """\
JobID|JobName|Comment|State|ExitCode|Submit|Start|End|Elapsed|ElapsedRaw|NNodes|NCPUS|NodeList|MaxRSS|AveRSS|\
TotalCPU|ConsumedEnergyRaw|AllocTRES|Cluster
3|t0i2|{comment}|CANCELLED|0:0|2026-11-27T10:20:13|2026-11-27T10:20:15|2026-11-27T10:20:57|00:00:42|42|1|1|n1||\
|00:00:00|0|billing=1,cpu=1,mem=100M,node=1|testbed
3.batch|batch||CANCELLED||2026-11-27T10:20:15|2026-11-27T10:20:15|2026-11-27T10:20:57|00:00:42|42|1|1|n1|||\
00:00:00|0|cpu=1,mem=100M,node=1|testbed
"""
BEGAN = "2026-11-27T10:20:15"
MEANWHILE = {"|CANCELLED|0:0": "|RUNNING|0:0", "CANCELLED": "COMPLETED", "2026-11-27T10:20:57": "Unknown"}


def ghostly(base: Path, **changes: Any) -> tuple[str, dict[str, Any]]:
    """Record the run of that job, which has left a file; return its name and its record."""
    name = workflow.plan("c", base).runs[0].name
    folder = folders.finished(base, "c") / name
    (begin,) = set(accounting.moments(BEGAN))
    slurm = {"cluster": "testbed", "job_name": "t0i2", "start": begin}
    content = b"proxy result: version=1\n"
    named = {"stdout.txt": hashlib.sha256(content).hexdigest()}
    known = {"job_id": "3", "reason": "", "exit_code": 0, "start": begin, "end": begin + 6.169}
    put(base, name, **{**known, "slurm": slurm, "outputs": named, **changes})
    (folder / "stdout.txt").write_bytes(content)
    return name, files.read_json(folder / folders.RECORD)


def test_finish__a_job_that_a_killed_controller_ends_again_retracts_nothing(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its row from while it ran goes, the later one is named and kept aside, and the ingest has none."""
    name, _ = ghostly(base)
    text = GHOST.format(comment=f"rule_run_wildcards_c_{name}")
    running = text
    for old, new in MEANWHILE.items():
        running = running.replace(old, new)
    path = project.raw("c", base) / SACCT
    (tmp_path / "rows").write_text(running, encoding="utf-8")
    stand_in(tmp_path, monkeypatch, "sacct", f"#!/bin/sh\ncat {tmp_path}/rows\n")
    account(base, "c", patience=0)
    assert "|RUNNING|" in path.read_text(encoding="utf-8")
    (tmp_path / "rows").write_text(text, encoding="utf-8")
    began = time.monotonic()
    found = account(base, "c", patience=200, interval=0.01)
    assert time.monotonic() - began < 60
    assert (found.states, found.latest) == ({}, {})
    assert finish.mark_failed(base, "c", found) == []
    assert folders.recorded(base, "c") == {name}
    assert path.read_text(encoding="utf-8").splitlines()[1:] == []
    why = "Slurm's row of job 3 has a later end: CANCELLED at 2026-11-27T10:20:57"
    why = f"{why}, after this run had ended well"
    assert f"c: {why}; not used, kept in " in capsys.readouterr().err
    aside = (folders.running(base, "c") / accounting.FOREIGN).read_text(encoding="utf-8")
    assert aside.startswith(f"# {why}\nJobID=3\nJobName=t0i2\n")
    # What was kept of the job before, and was final, stays.
    path.write_text(text.replace("CANCELLED", "COMPLETED"), encoding="utf-8")
    os.utime(path, (0, 0))
    assert account(base, "c", patience=200, interval=0.01).states == {"3": "COMPLETED"}
    assert path.read_text(encoding="utf-8") == text.replace("CANCELLED", "COMPLETED")


def test_accounting__row_that_was_there_before_the_record_is_not_kept_against_it(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slow disk: Slurm tells of the job's later start before the record of the first one is there."""
    name = workflow.plan("c", base).runs[0].name
    text = GHOST.format(comment=f"rule_run_wildcards_c_{name}")
    stand_in(tmp_path, monkeypatch, "sacct", f"#!/bin/sh\ncat {tmp_path}/rows\n")
    (tmp_path / "rows").write_text(text, encoding="utf-8")
    path = project.raw("c", base) / SACCT
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    assert ghostly(base)[0] == name
    found = account(base, "c", patience=200, interval=0.01)
    assert (found.states, finish.mark_failed(base, "c", found)) == ({}, [])
    assert path.read_text(encoding="utf-8").splitlines()[1:] == []
    assert "JobID=3\n" in (folders.running(base, "c") / accounting.FOREIGN).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("row_", "record", "later"),
    [
        ({}, {}, True),
        ({"State": "CANCELLED by 0"}, {}, True),
        ({"State": "NODE_FAIL"}, {}, True),
        ({"State": "TIMEOUT"}, {}, True),  # the controller waited for its limit
        ({"Start": "Unknown"}, {}, True),  # cancelled as a job that waits
        ({"Start": "2026-11-27T10:25:00", "End": "2026-11-27T10:25:01"}, {}, True),  # a start for nothing
        # What the job did itself, or lacked, is a word on the run.
        ({"State": "FAILED"}, {}, False),
        ({"State": "OUT_OF_MEMORY"}, {}, False),
        ({"State": "COMPLETED"}, {}, False),
        ({"State": "RUNNING", "End": "Unknown"}, {}, False),
        # It ended before the program did: that went on while Slurm was ending it.
        ({"End": "2026-11-27T10:20:17"}, {}, False),
        # The record has to say for itself that the run ended well.
        ({}, {"exit_code": 1}, False),
        ({}, {"exit_code": None}, False),
        ({}, {"end": None}, False),
        ({}, {"outputs": {}}, False),
        ({}, {"outputs": {"stdout.txt": "0" * 64}}, False),
        ({}, {"outputs": {"profile.xml": "0" * 64}}, False),
        ({}, {"reason": "no stdout.txt holds 'proxy result: '"}, False),
    ],
)  # fmt: skip
def test_accounting__which_ends_say_nothing_of_a_run(
    base: Path, row_: dict[str, str], record: dict[str, Any], later: bool
) -> None:
    _, known = ghostly(base, **record)
    row = accounting.by_job(GHOST)["3"][0] | row_
    assert bool(accounting.afterwards(project.raw("c", base), known, row)) == later


@pytest.mark.parametrize(
    ("begin", "end", "again", "later"),
    [
        # As sacct printed it of a job that was started again after that: NODE_FAIL at 10:26:54, then this.
        ("10:28:55", "10:28:55", True, True),
        ("10:28:55", "10:28:55", False, False),  # no start has noted that it measured nothing
        (BEGAN[11:], "10:20:22", True, False),  # the row of the run itself, asked for before
        (BEGAN[11:], "10:20:16", True, True),  # the run took 6.2 s by its own clock: another start
    ],
)
def test_accounting__a_later_start_that_measures_nothing_says_nothing_of_the_run(
    base: Path, begin: str, end: str, again: bool, later: bool
) -> None:
    _, known = ghostly(base)
    times = {"Start": f"{BEGAN[:11]}{begin}", "End": f"{BEGAN[:11]}{end}"}
    row = accounting.by_job(GHOST)["3"][0] | times | {"State": "COMPLETED"}
    assert bool(accounting.afterwards(project.raw("c", base), known, row, again=again)) == later


@pytest.mark.parametrize("step", [5400.0, -7200.0])
def test_accounting__on_a_node_with_another_clock_the_time_that_each_took_decides(
    base: Path, step: float
) -> None:
    """By its own clock the run took 6.2 s; the job, by Slurm's, 42 s or 3 s."""
    _, known = ghostly(base)
    known |= {"end": known["end"] + step, "slurm": {"start": known["slurm"]["start"] + step}}
    row, raw = accounting.by_job(GHOST)["3"][0], project.raw("c", base)
    assert accounting.afterwards(raw, known, row)
    short = accounting.afterwards(raw, known, row | {"End": "2026-11-27T10:20:18"})
    # Behind by hours, it may as well be a later start of a job whose run had ended.
    assert bool(short) == (step < 0)


def test_finish__a_later_end_is_told_from_an_attempt_of_the_same_job(base: Path) -> None:
    """The job was started twice: its first run failed, its second ended well before it was cancelled."""
    name, good = ghostly(base)
    failed = {**good, "reason": "a node was lost", "run": f"{name}.failed-1", "attempt_at": name}
    put(base, f"{name}.failed-1", **failed)
    rows = accounting.by_job(GHOST.format(comment=f"rule_run_wildcards_c_{name}"))["3"]
    found = accounting.Account("c", states={"3": "CANCELLED"}, rows={"3": rows})
    assert finish.mark_failed(base, "c", found) == []
    assert folders.measured(base, "c", name)
    # One that Slurm ended while it ran.
    early = [{**row, "End": "2026-11-27T10:20:17"} for row in rows]
    found = accounting.Account("c", states={"3": "CANCELLED"}, rows={"3": early})
    assert finish.mark_failed(base, "c", found) == [f"{name}.failed-2: failed: Slurm says CANCELLED"]


@pytest.mark.parametrize(
    ("elapsed", "own", "paused"), [("26", {}, 0), ("20", {}, 6), ("20", {"resumed": 0}, 0)]
)
def test_finish__a_run_whose_job_was_suspended_counts_no_more(
    base: Path, elapsed: str, own: dict[str, int], paused: int
) -> None:
    """Slurm's Elapsed lacks the time of a suspension, start and end do not: 26 s lie between them.

    A run that has counted itself that it was not stopped stays: another one of its job was.
    """
    name = workflow.plan("c", base).runs[0].name
    comment = f"rule_run_wildcards_c_{name}"
    names = {"cluster": "testbed", "job_name": "5f3a", "start": 1795220851.0, "comment": comment}
    times = {"start": 1795220852.0, "end": 1795220876.0, "accounting": own}
    put(base, name, job_id="7", reason="", slurm=names, **times)
    more = {"Comment": comment, "End": clock(1795220877), "ElapsedRaw": elapsed}
    rows = [row(State="COMPLETED", **more)]
    found = accounting.Account("c", states={"7": "COMPLETED"}, rows={"7": rows})
    said = [f"{name}.failed-1: failed: its job was suspended for {paused} s"] if paused else []
    assert finish.mark_failed(base, "c", found) == said
    assert folders.measured(base, "c", name) == (not paused)


# How a run ended after its job, in s by the two clocks; what the node's clock said of the job's start, in s
# after Slurm's; by how many the run is said to have outlived its job.
OUTLIVED = [
    (-3.0, 0, 0.0),
    (0.9, 0, 0.0),
    (1.9, 1, 0.0),
    (2.9, 0, 2.9),
    (5.1, 1, 5.1),
    # A clock that is ahead by 2 s, or a job whose first command came late.
    (2.9, 2, 0.0),
    (5.1, 2, 4.1),
    # A clock that is behind by 2 s.
    (0.9, -2, 2.9),
    (-1.1, -2, 0.0),
    # Clocks of another hour.
    (3600.9, 3600, 0.0),
    (3604.9, 3600, 4.9),
    (-7199.1, -7200, 0.0),
    (-7195.1, -7200, 4.9),
]


@pytest.mark.parametrize(("after", "told", "late"), OUTLIVED)
def test_finish__a_run_that_outlived_the_job_that_it_shares_counts_no_more(
    base: Path, after: float, told: int, late: float
) -> None:
    """Two of 30 ended 2.9 and 5.1 s after their job, whose shell was killed, and stayed good."""
    first, second = [run.name for run in workflow.plan("c", base).runs][:2]
    names = {"cluster": "testbed", "job_name": "5f3a", "start": 1795220851.0 + told}
    names["comment"] = f"rule_run_wildcards_c_{first}"
    end = 1795220861.0 + after
    put(base, first, job_id="7:1", reason="", start=end - 9, end=end - 5 - late, slurm=names)
    put(base, second, job_id="7:2", reason="", start=end - 4, end=end, slurm=names)
    own = row(State="FAILED", Comment=names["comment"])
    found = accounting.Account("c", states={"7": "FAILED"}, rows={"7": [own]})
    why = f"it ended {late:.0f} s after its job: Slurm says FAILED"
    said = [f"{second}.failed-1: failed: {why}"] if late else []
    assert finish.mark_failed(base, "c", found) == said
    assert folders.measured(base, "c", first)
    assert folders.measured(base, "c", second) == (not late)


def test_accounting__the_row_of_a_job_is_kept_if_a_run_that_shared_it_failed(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was put aside as the word of a later end, because the run before had ended well."""
    name, _ = ghostly(base, job_id="3:1")
    other = workflow.plan("c", base).runs[1].name
    slurm = {"cluster": "testbed", "job_name": "t0i2", "comment": f"rule_run_wildcards_c_{name}"}
    failed = {"job_id": "3:2", "reason": "it was cancelled", "run": f"{other}.failed-1", "attempt_at": other}
    put(base, f"{other}.failed-1", **failed, slurm=slurm)
    text = GHOST.format(comment=f"rule_run_wildcards_c_{name}")
    (tmp_path / "rows").write_text(text, encoding="utf-8")
    stand_in(tmp_path, monkeypatch, "sacct", f"#!/bin/sh\ncat {tmp_path}/rows\n")
    found = account(base, "c", patience=20, interval=0.01)
    assert found.states == {"3": "CANCELLED"}
    assert finish.mark_failed(base, "c", found) == []


WORDLESS: dict[str, Any] = {"reason": "it ended without a record, and nobody knows why", "end": None}


@pytest.mark.parametrize(
    ("changes", "known", "said"),
    [
        ({}, {}, "Slurm says CANCELLED by 0 (root): exit code 1"),
        ({"State": "PREEMPTED"}, {}, "Slurm says PREEMPTED: exit code 1"),
        ({"State": "FAILED"}, {}, ""),
        ({"State": "RUNNING", "End": "Unknown"}, {}, ""),
        ({"End": clock(1795220874)}, {}, ""),  # 13 s after the program: it failed by itself
        # The program ended 8 s after its job had got the signal, and 39 s after.
        ({"State": "TIMEOUT"}, {"end": 1795220869.0}, "Slurm says TIMEOUT: exit code 1"),
        ({"State": "TIMEOUT"}, {"end": 1795220900.0}, ""),
        ({"Start": clock(1795220855)}, {}, ""),  # a later start of the job
        ({"JobName": "77aa"}, {}, ""),  # another job of this number
        ({}, {"reason": "it ended without a record: Slurm says NODE_FAIL"}, ""),
        ({"State": "TIMEOUT"}, WORDLESS, "it ended without a record: Slurm says TIMEOUT"),
        ({"State": "TIMEOUT", "Start": clock(1795220855)}, WORDLESS, ""),  # a later start
        ({"State": "TIMEOUT"}, {"reason": "the job was ended by TERM (its limit of time was over)"}, ""),
    ],
)
def test_finish__slurms_word_comes_before_an_exit_code(
    base: Path, changes: dict[str, str], known: dict[str, Any], said: str
) -> None:
    """The row has 0 as its user: root, by passwd. The manifest has the record as it is then."""
    first = workflow.plan("c", base).runs[0].name
    comment = f"rule_run_wildcards_c_{first}"
    own = {"cluster": "testbed", "job_name": "5f3a", "start": 1795220851.0, "comment": comment}
    name = f"{first}.failed-1"
    more: dict[str, Any] = {"run": name, "attempt_at": first, "reason": "exit code 1", "exit_code": 1}
    more |= {"start": 1795220852.0, "end": 1795220860.9, **known}
    put(base, name, job_id="7", slurm=own, **more)
    books.add_to_manifest(base, "c")
    rows = {"7": [row(**{"State": "CANCELLED by 0", "Comment": comment, **changes})]}
    found = accounting.Account("c", rows=rows)
    assert finish.name_ends(base, "c", found) == ([name] if said else [])
    assert folders.reason(base, "c", name) == (said or more["reason"])
    assert finish.name_ends(base, "c", found) == []
    assert books.add_to_manifest(base, "c") == []
    assert manifest.check(project.raw("c", base), "c") == (1, [])


def test_accounting__a_row_that_is_not_whole_yet_is_no_other_jobs(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After an outage of slurmdbd a job's steps come before its name: as a job called `allocation`."""
    name = workflow.plan("c", base).runs[0].name
    known = {"cluster": "testbed", "job_name": "5f3a", "start": 1795220851.0}
    put(base, name, job_id="7", reason="", start=1795220855.0, slurm=known)
    head = "JobID|JobName|Cluster|Comment|State|Submit|Start|End"
    times = f"{clock(1795220840)}|{clock(1795220851)}|{clock(1795220861)}"
    log = tmp_path / "log"
    answer = f"""#!/bin/sh
echo asked >>{log}
echo '{head}'
if [ "$(wc -l <{log})" -eq 1 ]; then echo '7|allocation|testbed||COMPLETED|{times}'; exit; fi
echo '7|5f3a|testbed|rule_run_wildcards_c_{name}|COMPLETED|{times}'
"""
    stand_in(tmp_path, monkeypatch, "sacct", answer)
    assert account(base, "c", patience=60, interval=0.01).states == {"7": "COMPLETED"}
    assert not (folders.running(base, "c") / accounting.FOREIGN).exists()
