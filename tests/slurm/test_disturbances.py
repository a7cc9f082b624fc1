"""A small part of the study of disturbances, and what the study finds in books that have each fault."""

from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.studies import loaded

from . import disturbances
from . import starts as study
from .disturbances import Clocks
from .starts import HEAD


def at(minute: int) -> int:
    return int(datetime(2026, 1, 1, 0, minute).timestamp())


def a_record(run: str, job: str, reason: str = "", minute: int = 0) -> dict[str, Any]:
    # The job's own word comes a second after Slurm's.
    return {"run": run, "job_id": job, "reason": reason, "slurm": {"start": at(minute) + 1.0}}


def test_counted__each_fault_of_the_books_is_found() -> None:
    rows = [
        f"1|COMPLETED|2026-01-01T00:00:00|2026-01-01T00:00:09|{HEAD}a",
        f"2|NODE_FAIL|2026-01-01T00:00:00|2026-01-01T00:00:09|{HEAD}b",
        f"2|COMPLETED|2026-01-01T00:01:00|2026-01-01T00:01:09|{HEAD}b",
        f"3|CANCELLED|2026-01-01T00:00:00|2026-01-01T00:00:09|{HEAD}c",
        f"4|CANCELLED|None|2026-01-01T00:00:09|{HEAD}d",  # never started
        "5|FAILED|2026-01-01T00:00:00|2026-01-01T00:00:09|another",
        f"1|FAILED|2026-01-01T00:05:00|2026-01-01T00:05:01|{HEAD}a",
    ]
    started = study.starts(rows)
    assert started == {
        ("1", at(0)): "COMPLETED",
        ("2", at(0)): "NODE_FAIL",
        ("2", at(1)): "COMPLETED",
        ("3", at(0)): "CANCELLED",
        ("1", at(5)): "refused",
    }
    assert study.unborn(started, [("1", at(5))], []) == {("1", at(5))}
    assert study.unborn(started, [("1", at(5))], [("1", at(5) + 1)]) == set()
    good = [a_record("a", "1"), a_record("b.failed-1", "2", "a node"), a_record("b", "2", minute=1)]
    failed = a_record("c.failed-1", "3", "cancelled")
    assert not any(study.counted(started, [*good, failed], []).values())
    assert study.counted(started, good, [])["lost"] == [f"job 3, started at {at(0)}"]
    assert study.counted(started, good, [("3", at(0))])["lost"] == []
    doubled = study.counted(started, [*good, failed, failed], [])["doubled"]
    assert doubled == [str(("3", at(0) + 1))]
    assert study.counted(started, [*good, a_record("c", "3")], [])["wrong"] == ["c: CANCELLED"]
    assert study.counted(started, [*good, a_record("c", "3")], [], [], ["3"])["wrong"] == []
    # A start that Slurm took back is lost if its program had begun, by the program's own trace.
    taken = [good[0], good[2], failed]
    assert study.counted(started, taken, [])["lost"] == []
    assert study.counted(started, taken, [], [("2", at(0) + 3)])["lost"] == [f"job 2, started at {at(0)}"]
    assert study.counted(started, taken, [], [("2", at(1) + 3), ("1", at(0))])["lost"] == []
    over = [*good, {**a_record("c", "3"), "ended": at(0) + 8.0}]
    ends = study.ends(rows)
    assert ends["3", at(0)] == at(0) + 9
    assert study.counted(started, over, [], [], [], ends)["wrong"] == []
    over[-1]["ended"] = at(0) + 11.0
    assert study.counted(started, over, [], [], [], ends)["wrong"] == ["c: CANCELLED"]
    unknown = a_record("c", "3", minute=9)
    assert study.counted(started, [*good, unknown], [])["wrong"] == ["c: no start"]
    unnamed = [*good, a_record("c.failed-1", "3")]
    assert study.counted(started, unnamed, [])["unnamed"] == ["c.failed-1"]
    claimed = [*good, a_record("c.failed-1", "3", "it ended: Slurm says COMPLETED")]
    assert study.counted(started, claimed, [])["retracted"] == ["c.failed-1"]
    waits = [*good, a_record("c.failed-1", "3", "it ended: Slurm says PENDING")]
    assert study.counted(started, waits, [])["not ended"] == ["c.failed-1"]
    ghost = {**a_record("c.failed-1", "3", "Slurm says CANCELLED"), "retracted": True, "exit_code": 0}
    assert study.counted(started, [*good, ghost], [], [], ["3"])["ghosts"] == ["c.failed-1"]
    assert study.counted(started, [*good, ghost], [])["ghosts"] == []
    stepped = [*good[1:], {**good[0], "start": 9.0, "end": 7.0}, failed]
    assert study.counted(started, stepped, [])["mistimed"] == ["a"]
    stepped[2] |= {"start": None, "end": 1.8e9}  # as a full disk leaves it
    assert study.counted(started, stepped, [])["mistimed"] == ["a"]


def test_bare__is_an_exit_code_of_a_job_that_slurm_has_ended() -> None:
    kinds = ("cancel", "kill the program", "requeue", "hold")
    hit = {str(job): (kind, 9.0) for job, kind in enumerate(kinds, 1)}
    reasons = ("exit code 1", "exit code 137 (signal KILL)", "Slurm says REQUEUED: exit code 1", "")
    attempts = [a_record(f"a.failed-{job}", str(job), why) for job, why in enumerate(reasons, 1)]
    assert study.bare(hit, attempts) == ["a.failed-1: exit code 1, hit by cancel"]


def test_untrue__holds_a_disturbance_against_the_start_that_it_hit() -> None:
    """A job that starts again keeps its shortened limit; what is not known to have hit says less."""
    limit = "the job was ended by TERM (its limit of time was over)"
    hits = {"1": ("shortened limit", at(0) + 9.0), "2": ("perhaps out of memory", at(0) + 9.0)}
    first, second = a_record("a.failed-1", "1", limit), a_record("a.failed-2", "1", "exit code 1", minute=1)
    assert study.untrue(hits, [first, second, a_record("b.failed-1", "2", "exit code 1")]) == []
    wrong = study.untrue(hits, [{**first, "reason": "exit code 1"}, {**second, "reason": limit}])
    assert wrong == ["a.failed-1: exit code 1, hit by shortened limit"]
    memory = {"1": ("out of memory", at(0) + 9.0)}
    first, second = {**first, "reason": "out of memory"}, {**second, "reason": "out of memory"}
    assert study.untrue(memory, [first, second]) == ["a.failed-2: out of memory, hit by nothing"]


def test_stopped__is_a_good_run_whose_start_was_suspended_before_it_ended() -> None:
    good = {**a_record("a", "1"), "ended": at(0) + 20.0}
    assert study.stopped({"1": ("suspend", at(0) + 9.0)}, [good]) == ["a"]
    assert study.stopped({"1": ("suspend", at(0) + 21.0)}, [good]) == []
    assert study.stopped({"1": ("suspend", at(0) + 9.0)}, [{**good, "reason": "it was suspended"}]) == []
    again = a_record("a.failed-1", "1", "it was suspended")
    later = {**a_record("a", "1", minute=1), "ended": at(1) + 20.0}
    assert study.stopped({"1": ("suspend", at(0) + 9.0)}, [again, later]) == []


def test_false_alarms__are_faults_of_good_runs_but_for_nodes_that_were_shared() -> None:
    """The first two ran at once by the right time, the third by a wrong clock of its node."""
    good = [{**a_record(name, "1"), "start": 0.0, "end": 9.0} for name in "abc"]
    ended = [{**one, "ended": end} for one, end in zip(good, (109.0, 105.0, 200.0), strict=True)]
    records = [*ended, a_record("d.failed-1", "2", "exit code 1")]
    line = "data/raw/few/runs/{}/run.json: ran on n1 for 5 s together with run {}; one of them says alone"
    faults = [line.format("a", "b"), line.format("a", "c"), line.format("d.failed-1", "b")]
    assert study.false_alarms([*faults, "runs/b/run.json: is odd"], records) == [
        faults[1],
        "runs/b/run.json: is odd",
    ]


@pytest.mark.parametrize("step", [0, 5400, -7200])
@pytest.mark.parametrize("after", [0, 2800, 5300])
def test_clocks__tell_the_right_time_of_a_long_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int, after: int
) -> None:
    """2700 s after the study's start, the time that was nearest to it was another clock's."""
    began = time.time()
    clocks = Clocks(tmp_path)
    monkeypatch.setattr(disturbances, "time", SimpleNamespace(time=lambda: began + after + 1))
    assert clocks.true(began + after + step) == began + after


@pytest.mark.slurm
def test_disturbances__a_small_campaign_loses_nothing(able: None) -> None:
    """On a cluster of its own, whose books have no jobs of other tests."""
    with loaded("study_disturbances") as study, study.scene(4, seed=7) as done:
        done.disturb(3)
        assert done.complete()
        assert len([one for one in done.records() if not one["reason"]]) == 4
        assert sum(done.done.values()) >= 1
        assert {name: one for name, one in done.faults().items() if one} == {}


@pytest.mark.slurm
def test_disturbances__suspended_jobs_and_killed_shells_leave_no_good_run(able: None) -> None:
    """Each hits a job that runs, twice."""
    kinds = ["suspend", "kill its shell"]
    with loaded("study_disturbances") as study, study.scene(6, seed=3) as done:
        hit = {done.force(kind): kind for kind in (*kinds, *kinds)}
        assert done.complete()
        assert {name: one for name, one in done.faults().items() if one} == {}
        records = done.records()
        assert len([one for one in records if not one["reason"]]) == 6
        said = {hit[one["job_id"]]: one["reason"] for one in records if one["job_id"] in hit}
        assert said["suspend"] == "its job was suspended while it ran"


@pytest.mark.slurm
def test_disturbances__preemption_clocks_and_a_slow_disk_lose_nothing(able: None) -> None:
    """Each of them hits a job that runs, once."""
    kinds = ["clock of its node", "preempt with requeue", "clock of the login", "preempt with cancel"]
    with loaded("study_disturbances") as study, study.scene(8, seed=1) as done:
        for kind in [*kinds, "slow disk"]:
            done.force(kind)
        assert done.complete()
        assert set(done.done) == {*kinds, "slow disk"}
        assert {name: one for name, one in done.faults().items() if one} == {}
        records = done.records()
        assert len([one for one in records if not one["reason"]]) == 8
        states = set(done.accounted().values())
        assert "PREEMPTED" in states
        reasons = [one["reason"] for one in records if one["reason"]]
        assert len(reasons) >= 2


@pytest.mark.slurm
def test_disturbances__memory_limits_and_dead_daemons_leave_true_reasons(able: None) -> None:
    """Each of them hits a job that runs, once; the last is a daemon that comes back before it is missed."""
    ends = {"out of memory": "OUT_OF_MEMORY", "shortened limit": "TIMEOUT"}
    lost = ["lost slurmd", "power of a node"]
    with loaded("study_disturbances") as program, program.scene(10, seed=2, memory=600) as done:
        hit = {kind: done.force(kind) for kind in [*ends, *lost, "killed slurmd"]}
        assert done.complete()
        assert {kind: done.done[kind] for kind in hit} == dict.fromkeys(hit, 1)
        assert {name: one for name, one in done.faults().items() if one} == {}
        records = done.records()
        assert len([one for one in records if not one["reason"]]) == 10
        states = done.accounted()
        for kind, state in ends.items():
            assert [one for (job, _), one in states.items() if job == hit[kind]] == [state]
        assert "NODE_FAIL" in {one for (job, _), one in states.items() if job == hit["lost slurmd"]}
        reasons = {
            kind: [one["reason"] for one in records if one["job_id"] == job] for kind, job in hit.items()
        }
        memory = "exit code 137 (signal KILL): out of memory: the kernel ended 1 of its processes for that"
        assert reasons["out of memory"] == [memory]
        limit = "the job was ended by TERM (its limit of time was over)"
        assert reasons["shortened limit"] == [limit]
        for kind in lost:
            assert "it ended without a record: Slurm says NODE_FAIL" in reasons[kind]
