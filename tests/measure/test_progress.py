"""How far a campaign is: counts, pace and end, against numbers worked out by hand."""

from __future__ import annotations

import io
import json
import os
import time
from pathlib import Path

import pytest

from analysis.measure import folders, progress
from analysis.measure.cost import duration
from analysis.measure.matrix import MatrixPlan, Run, expand
from analysis.measure.progress import Observer, Progress, Watch, sentence

from .conftest import Changed, squeue

NOW = 1_800_000_000.0


@pytest.fixture
def plan(changed: Changed) -> MatrixPlan:
    """Six runs of one case on two nodes, 10 s each by the application's file, without start-up."""
    factors = "factors: {nodes: [1, 2, 4], ranks_per_node: all, mpi: [ompi, mpich]}"
    rule = "{when: {case: large, nodes: 1}, why: the large case does not fit one node}"
    rule = f"      exclude:\n        - {rule}\n"
    changed(("start_up: 4", "start_up: 0"), file="clusters/paper")
    changes = ((factors, "factors: {nodes: 2, ranks_per_node: all, mpi: ompi}"), (rule, ""))
    return expand(changed(*changes, ("case: [small, large]", "case: small"), ("repeats: 3", "repeats: 6")))


def done(plan: MatrixPlan, run: Run, start: float, end: float) -> None:
    folder = folders.finished(plan.declared.base, "c") / run.name
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps({"start": start, "end": end}), encoding="utf-8")


def failed(plan: MatrixPlan, run: Run, number: int = 1) -> None:
    folder = folders.finished(plan.declared.base, "c") / f"{run.name}.failed-{number}"
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps({"reason": "exit code 5"}), encoding="utf-8")


def runs(plan: MatrixPlan, run: Run, since: float, job: str) -> None:
    folder = folders.running(plan.declared.base, "c") / run.name
    folder.mkdir(parents=True)
    folders.write_json(folder / folders.OWNER, {"job_id": job, "host": "n1", "pid": 1, "started": 1})
    os.utime(folder / folders.OWNER, (since, since))


def test_progress__before_the_first_run_it_is_the_plan(plan: MatrixPlan) -> None:
    # Four nodes hold two runs at once: 6 runs of 10 s are three rounds.
    state = Observer(plan, plan.runs).look(NOW)
    assert (state.done, state.running, state.failed, state.waiting, state.total) == (0, 0, 0, 6, 6)
    assert state.node_hours_left == pytest.approx(6 * 2 * 10 / 3600)
    assert (state.end, state.idle) == (NOW + 30, True)


def test_progress__measured_times_and_pace_replace_guesses(
    plan: MatrixPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two, three, *_ = plan.runs
    # Two runs of 100 s one after the other on two nodes; a third has run for 40 s.
    done(plan, one, NOW - 240, NOW - 140)
    done(plan, two, NOW - 140, NOW - 40)
    runs(plan, three, NOW - 40, "7")
    log = squeue(tmp_path, monkeypatch, "7|RUNNING\n")
    state = Observer(plan, plan.runs).look(NOW)
    assert (state.done, state.running, state.failed, state.waiting) == (2, 1, 0, 3)
    assert state.node_hours == pytest.approx(2 * 2 * 100 / 3600)
    assert state.node_hours_left == pytest.approx(4 * 2 * 100 / 3600)
    # 480 node seconds in 240 s; 4 x 200 - 80 = 720 are left.
    assert state.end is not None
    assert state.end - NOW == pytest.approx(360)
    assert not state.idle
    assert len(log.read_text().splitlines()) == 1


def test_progress__pause_between_two_sessions_does_not_slow_the_pace(plan: MatrixPlan) -> None:
    one, two, *_ = plan.runs
    done(plan, one, NOW - 90_000, NOW - 89_900)
    done(plan, two, NOW - 100, NOW)
    state = Observer(plan, plan.runs).look(NOW)
    # 200 node seconds in 100 s, 4 x 200 are left; of yesterday only the time of a run counts.
    assert state.end is not None
    assert state.end - NOW == pytest.approx(400)


def test_progress__each_run_is_counted_once(
    plan: MatrixPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two, three, four, *_ = plan.runs
    done(plan, one, NOW - 100, NOW)
    failed(plan, one)  # was measured in the end
    failed(plan, two)
    failed(plan, two, 2)
    failed(plan, three)  # runs again
    runs(plan, three, NOW - 5, "8")
    runs(plan, four, NOW - 5, "9")  # its node has died
    empty = folders.finished(plan.declared.base, "c") / plan.runs[4].name
    empty.mkdir()  # made by Snakemake, which waits for a record in it
    log = squeue(tmp_path, monkeypatch, "8|RUNNING\n9|NODE_FAIL\n")
    observer = Observer(plan, plan.runs)
    state = observer.look(NOW)
    assert (state.done, state.running, state.failed, state.waiting) == (1, 1, 2, 2)
    # One question, however many run.
    assert [line.split("--jobs=")[1] for line in log.read_text().splitlines()] == ["8,9"]
    # After a resume what failed before waits again; what is left behind is seen as such.
    resumed = Observer(plan, plan.runs, resumed=True).look(NOW)
    assert (resumed.done, resumed.running, resumed.failed, resumed.waiting) == (1, 1, 1, 3)


@pytest.mark.parametrize("state", ["DEADLINE", "TIMEOUT", "OUT_OF_MEMORY"])
def test_progress__run_of_a_job_that_slurm_has_ended_has_failed(
    plan: MatrixPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    runs(plan, plan.runs[0], NOW - 5, "8")
    squeue(tmp_path, monkeypatch, f"8|{state}\n")
    found = Observer(plan, plan.runs).look(NOW)
    assert (found.running, found.failed) == (0, 1)


def test_progress__run_of_a_job_that_slurm_starts_again_waits(
    plan: MatrixPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its last start has left a folder."""
    runs(plan, plan.runs[0], NOW - 5, "8")
    squeue(tmp_path, monkeypatch, "8|PENDING\n")
    found = Observer(plan, plan.runs).look(NOW)
    assert (found.running, found.failed, found.waiting) == (0, 0, len(plan.runs))


def test_progress__silent_slurm_is_said_and_nothing_is_called_dead(
    plan: MatrixPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs(plan, plan.runs[0], NOW - 5, "8")
    monkeypatch.setenv("PATH", str(tmp_path))
    state = Observer(plan, plan.runs).look(NOW)
    assert (state.running, state.failed, state.note) == (1, 0, "Slurm does not answer")


def test_progress__sentence() -> None:
    state = Progress("c", 12, 4, 1, 23, 0.524, 1.276, NOW + 1500)
    clock = time.strftime("%H:%M", time.localtime(NOW + 1500))
    assert sentence(state, NOW) == (
        "c: 12 of 40 done, 4 running, 1 failed, 23 waiting; 0.52 of 1.80 node hours; "
        f"end about {clock}, in 25 min"
    )
    assert duration(3 * 3600 + 290) == "3 h 05 min"


def test_watch__log_has_a_line_for_each_change_and_ends_without_an_estimate(plan: MatrixPlan) -> None:
    stream = io.StringIO()
    watch = Watch("c", plan.declared.base, stream)
    for moment in (0.0, 10.0, 20.0):  # nothing changes: one line
        watch._show(NOW + moment)
    done(plan, plan.runs[0], NOW, NOW + 25)
    watch._show(NOW + 30)
    watch._show(NOW + 90)  # a minute later
    watch.start().stop()
    lines = stream.getvalue().splitlines()
    assert [line.partition(";")[0] for line in lines] == [
        "c: 0 of 6 done, 6 waiting",
        "c: 1 of 6 done, 5 waiting",
        "c: 1 of 6 done, 5 waiting",
        "c: 1 of 6 done, 5 waiting",
    ]
    assert "end about" in lines[2]
    assert "end about" not in lines[3]


def test_watch__trouble_is_one_line_and_not_the_end(
    plan: MatrixPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = io.StringIO()
    watch = Watch("c", plan.declared.base, stream)

    def broken(now: float) -> Progress:
        raise PermissionError("no way")

    monkeypatch.setattr(watch._observer, "look", broken)
    watch._show(NOW)
    watch._show(NOW + 1)
    assert stream.getvalue() == "the progress is unknown: PermissionError: no way\n"


def test_show__progress_from_another_shell(
    plan: MatrixPlan, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(plan.declared.base)
    failed(plan, plan.runs[0])
    assert progress.print_progress("c") == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("c: 0 of 6 done, 1 failed, 5 waiting; 0.00 of 0.03 node hours; end about ")
    assert said[1] == f"  failed attempt: {plan.runs[0].name}.failed-1: exit code 5"
    assert progress.print_progress("c", as_json=True) == 0
    assert json.loads(capsys.readouterr().out)["waiting"] == 5


def test_progress__the_end_is_no_sooner_than_that_of_the_longest_run(
    plan: MatrixPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Five runs of 100 s ran at once, the sixth has just begun: the pace says 20 s, the run needs its 100."""
    *first, last = plan.runs
    for run in first:
        done(plan, run, NOW - 100, NOW)
    runs(plan, last, NOW, "7")
    squeue(tmp_path, monkeypatch, "7|RUNNING\n")
    state = Observer(plan, plan.runs).look(NOW)
    assert (state.done, state.running) == (5, 1)
    assert state.end is not None
    assert state.end - NOW == pytest.approx(100)
