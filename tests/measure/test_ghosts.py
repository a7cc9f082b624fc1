"""Jobs that Slurm calls running after a restart of its controller, and that their nodes do not have."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import pytest

from analysis.measure import folders, workflow
from analysis.measure.ghosts import Ghosts

from .conftest import stand_in

BEFORE, BOOT, AFTER = "2026-11-29T13:40:00", "2026-11-29T13:42:20", "2026-11-29T13:42:21"
# As Slurm 22.05 says it of a step that the controller has forgotten, and of one whose node does not answer.
# Of one that has ended it says nothing.
FORGOTTEN = "sstat: error: StepId=7.batch not found running."
SILENT = (
    "sstat: error: slurm_job_step_stat: unknown return given from n1: 9001 rc = Communication connection "
    "failure\nsstat: error: problem getting step_layout for StepId=7.batch: Communication connection failure"
)


class Slurm:
    """Commands of Slurm that answer from files and note how they were called."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, base: Path) -> None:
        self._folder, self._base = folder, base
        self._run = workflow.plan("c", base).runs[0].name
        for command in ("squeue", "sstat", "scancel", "scontrol"):
            answers = [
                f"[ ! -e {folder}/{command}{end} ] || cat {folder}/{command}{end}" for end in ("", ".err")
            ]
            lines = ["#!/bin/sh", f'echo {command} "$@" >>{folder}/calls', answers[0], f"{answers[1]} >&2"]
            stand_in(folder, monkeypatch, command, "\n".join([*lines, ""]))
        self.boots(BOOT)
        for job in ("7", "8", "9"):
            self.note(job)

    def boots(self, at: str) -> None:
        config = f"BatchStartTimeout       = 45 sec\nBOOT_TIME               = {at}\n"
        config += "MessageTimeout          = 10 sec\n"
        (self._folder / "scontrol").write_text(config)

    def runs(self, *jobs: tuple[str, str]) -> None:
        rows = (f"{job}|{at}|rule_run_wildcards_c_{self._run}|{self._base}\n" for job, at in jobs)
        (self._folder / "squeue").write_text("".join(rows))

    def note(self, job: str) -> None:
        """Let a job note its start, as `start.sh` does."""
        path = folders.note_of(self._base, "c", job, {"start": 1})
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"job_id": job}))

    def nodes_say(self, out: str, err: str) -> None:
        (self._folder / "sstat").write_text(out)
        (self._folder / "sstat.err").write_text(err)

    def has(self, job: str) -> None:
        """Let the node have a job, and say so."""
        sstat = self._folder / "bin/sstat"
        known = f'case "$*" in *={job}.batch) echo {job}.batch; exit;; esac\n'
        sstat.write_text(sstat.read_text() + known)

    def calls(self, command: str) -> list[str]:
        path = self._folder / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        return [line for line in lines if line.startswith(f"{command} ")]


class Looks:
    """Looks for ghosts, half a minute apart."""

    def __init__(self, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._now, self._ghosts = 0.0, Ghosts("c", base)
        monkeypatch.setattr("analysis.measure.ghosts.time.monotonic", lambda: self._now)

    def __call__(self, number: int) -> list[list[str]]:
        found = []
        for _ in range(number):
            self._now += 30
            found.append(self._ghosts.end())
        return found


@pytest.fixture
def looks(base: Path, monkeypatch: pytest.MonkeyPatch) -> Looks:
    return Looks(base, monkeypatch)


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, base: Path) -> Slurm:
    folder = tmp_path / "slurm"
    folder.mkdir()
    return Slurm(folder, monkeypatch, base)


def test_ghosts__a_job_that_its_node_lacks_is_cancelled_after_what_slurm_allows(
    base: Path, slurm: Slurm, looks: Looks
) -> None:
    slurm.runs(("7", BEFORE), ("8", BEFORE), ("9", AFTER))
    slurm.nodes_say("", "")
    slurm.has("8")
    run = workflow.plan("c", base).runs[0].name
    found = looks(3)
    # 45 s and 10 s may pass until a job begins, and looks are 30 s apart.
    why = "Slurm's controller was restarted and calls it running, but its node has no such job: it is over"
    said = f"c: job 7 of {run}: {why}; cancelled"
    assert found == [[], [], [said]]
    assert slurm.calls("scancel") == ["scancel 7"]
    # A job that is there is asked for once, one that began after the controller never.
    assert [call.rpartition("=")[2] for call in slurm.calls("sstat")] == [
        "7.batch",
        "8.batch",
        "7.batch",
        "7.batch",
    ]


def test_ghosts__a_job_before_its_first_command_is_left_to_slurm(slurm: Slurm, looks: Looks) -> None:
    """A prolog of 100 s: Slurm calls the job running, and its node has none of its steps."""
    slurm.runs(("17", BEFORE))
    slurm.nodes_say("", "")
    assert looks(6) == [[]] * 6
    slurm.note("17")
    assert [len(lines) for lines in looks(3)] == [0, 0, 1]


def test_ghosts__no_node_is_asked_without_a_restart(slurm: Slurm, looks: Looks) -> None:
    slurm.runs(("7", AFTER))
    slurm.nodes_say("", "")
    assert looks(4) == [[]] * 4
    assert slurm.calls("sstat") == []
    assert len(slurm.calls("squeue")) == 1
    slurm.boots("2026-11-29T13:59:00")
    assert [len(lines) for lines in looks(3)] == [0, 0, 1]


@pytest.mark.parametrize("err", [SILENT, "sstat: error: couldn't get steps for job 7", FORGOTTEN])
def test_ghosts__a_node_or_controller_that_does_not_answer_ends_nothing(
    slurm: Slurm, err: str, looks: Looks
) -> None:
    slurm.runs(("7", BEFORE))
    slurm.nodes_say("", err)
    assert looks(4) == [[]] * 4
    # What was missed before the node was silent does not count.
    slurm.nodes_say("", "")
    looks(1)
    slurm.nodes_say("", err)
    looks(1)
    slurm.nodes_say("", "")
    assert [len(lines) for lines in looks(3)] == [0, 0, 1]


@pytest.mark.parametrize(("start", "job", "ended"), [(60, "7", 1), (600, "7", 0), (60, "7:2", 0)])
def test_ghosts__of_a_step_that_the_controller_forgot_the_own_record_counts(
    base: Path, slurm: Slurm, start: int, job: str, ended: int, looks: Looks
) -> None:
    """Of this start of the job, and not of one of several runs in it."""
    slurm.runs(("7", BEFORE))
    slurm.nodes_say("", FORGOTTEN)
    at = datetime.fromisoformat(BEFORE).timestamp() + start
    folder = base / "data/raw/c/runs/one.failed-1"
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps({"job_id": job, "reason": "x", "slurm": {"start": at}}))
    assert sum(map(len, looks(3))) == ended


def test_ghosts__a_job_that_was_started_again_is_none(slurm: Slurm, looks: Looks) -> None:
    slurm.runs(("7", BEFORE))
    slurm.nodes_say("", "")
    looks(1)
    slurm.runs(("7", AFTER))
    assert looks(4) == [[]] * 4
    assert slurm.calls("scancel") == []


def test_ghosts__where_slurm_does_not_answer_nothing_is_said(
    slurm: Slurm, tmp_path: Path, looks: Looks
) -> None:
    slurm.runs(("7", BEFORE))
    slurm.nodes_say("", "")
    (tmp_path / "slurm/scontrol").write_text("")
    assert looks(3) == [[]] * 3
    assert slurm.calls("squeue") == []
