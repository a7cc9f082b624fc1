"""What ended a job from without: control groups and Slurm's answers as they are on machines."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from analysis.measure import causes

from .conftest import squeue

# As the kernel writes them (Linux 6.18); a job of Slurm 22.05 with cgroup/v1, and Slurm's path for cgroup/v2.
FIRST = "5:devices:/\n4:memory:/slurm_n1/uid_0/job_7/step_batch/task_0\n3:cpuset:/\n0::/\n"
SECOND = "0::/system.slice/slurmstepd.scope/job_7/step_batch/user/task_0\n"
CONTROL = "oom_kill_disable 0\nunder_oom 0\noom_kill {count}\n"
EVENTS = "low 0\nhigh 0\nmax 31\noom 2\noom_kill {count}\noom_group_kill 0\n"


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="ascii")


def test_kills__are_those_of_the_own_job_in_both_versions_of_control_groups(tmp_path: Path) -> None:
    """The first version counts where a process was, the second in all groups above it too."""
    old, new = tmp_path / "old", tmp_path / "new"
    put(old / "proc/self/cgroup", FIRST)
    slurm = old / "sys/fs/cgroup/memory/slurm_n1/uid_0"
    for name, count in (
        ("job_7", 0),
        ("job_7/step_0/task_0", 2),
        ("job_7/step_batch/task_0", 1),
        ("job_8", 9),
    ):
        put(slurm / name / "memory.oom_control", CONTROL.format(count=count))
    assert causes.kills(old) == 3
    put(new / "proc/self/cgroup", SECOND)
    scope = new / "sys/fs/cgroup/system.slice/slurmstepd.scope"
    for name, count in (("job_7", 3), ("job_7/step_0", 2), ("job_8", 9)):
        put(scope / name / "memory.events", EVENTS.format(count=count))
    assert causes.kills(new) == 3


def test_kills__are_unknown_where_slurm_makes_no_group_for_a_job(tmp_path: Path) -> None:
    assert causes.kills(tmp_path) is None
    put(tmp_path / "proc/self/cgroup", "4:memory:/user.slice\n0::/user.slice\n")
    put(tmp_path / "sys/fs/cgroup/memory/user.slice/memory.oom_control", CONTROL.format(count=5))
    assert causes.kills(tmp_path) is None


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("COMPLETING TimeLimit\n", "its limit of time was over"),
        ("TIMEOUT TimeLimit\n", "its limit of time was over"),
        ("CANCELLED None\n", "cancelled, not at its limit of time"),
        ("PREEMPTED None\n", "preempted, not at its limit of time"),
        ("COMPLETING None\n", "cancelled or preempted, not at its limit of time"),
        ("RUNNING None\n", "cancelled or preempted, not at its limit of time"),
        ("PENDING BeginTime\n", "put back into the queue"),
        ("COMPLETING NodeDown\n", "Slurm says COMPLETING, NodeDown"),
        ("COMPLETING job requeued in held state\n", "put back into the queue"),
        ("", "cancelled, or out of time"),
    ],
)
def test_signal__is_that_of_a_limit_only_if_slurm_says_so(
    answer: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    squeue(tmp_path, monkeypatch, answer)
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    assert causes.of_end("TERM", tmp_path / "none") == f"TERM ({why})"


@pytest.mark.parametrize(
    ("answer", "ended"),
    [
        ("COMPLETING TimeLimit\n", "Slurm (its limit of time was over)"),
        ("CANCELLED None\n", "Slurm (cancelled, not at its limit of time)"),
        ("COMPLETING None\n", "Slurm (it says COMPLETING, no reason)"),
        ("PENDING BeginTime\n", "Slurm (put back into the queue)"),
        ("COMPLETING job requeued in held state\n", "Slurm (put back into the queue)"),
        ("NODE_FAIL NodeDown\n", "Slurm (it says NODE_FAIL, NodeDown)"),
        ("DEADLINE DeadLine\n", "Slurm (it says DEADLINE, DeadLine)"),
        # The program failed by itself.
        ("COMPLETING NonZeroExitCode\n", ""),
        ("COMPLETING OutOfMemory\n", ""),
        ("RUNNING None\n", ""),
        ("", ""),
    ],
)
def test_end__without_a_signal_is_slurms_if_the_job_is_over(
    answer: str, ended: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    squeue(tmp_path, monkeypatch, answer)
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    assert causes.of_end("", tmp_path / "none") == ended


@pytest.mark.parametrize("signal", ["TERM", ""])
def test_end__is_a_limit_by_the_log_of_the_job_while_no_controller_answers(
    signal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The controller was killed within the two seconds after the limit: "cancelled, or out of time"."""
    squeue(tmp_path, monkeypatch, "")
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    log = tmp_path / "7.log"
    # As Slurm 22.05 writes it.
    told = "slurmstepd-n3: error: *** JOB 7 ON n3 CANCELLED AT 2026-12-01T14:05:36"
    log.write_text(f"{told} DUE TO TIME LIMIT ***\n")
    assert causes.of_end(signal, log) == f"{signal or 'Slurm'} (its limit of time was over)"
    log.write_text(f"{told} ***\n")
    assert "limit of time was over" not in causes.of_end(signal, log)
    log.write_text("the program: DUE TO TIME LIMIT\n")
    assert "limit of time was over" not in causes.of_end(signal, log)


def test_over__is_the_end_by_slurm_on_the_clock_of_the_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slurm's clock is an hour ahead of the node's: only the 40 s between its start and its end count."""
    own = str(os.getpid())
    ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    squeue(tmp_path, monkeypatch, "COMPLETING 1796080000 1796080040\n")
    assert causes.over(own) == ticks / os.sysconf("SC_CLK_TCK") + 40
    assert causes.over("") is None
    for answer in ("RUNNING 1796080000 1796083600", "CANCELLED 1796080000 N/A", ""):
        squeue(tmp_path, monkeypatch, answer)
        assert causes.over(own) is None


# As Slurm 22.05 writes it.
OOM = (
    "slurmstepd-n4: error: Detected 1 oom-kill event(s) in StepId=7.batch. Some of your processes may have"
    " been killed by the cgroup out-of-memory handler."
)


@pytest.mark.parametrize(
    ("text", "found"),
    [(f"begin\n{OOM}", ": out of memory, by the log of its job"), (f"echo {OOM}\n", ""), ("", "")],
)
def test_logged__memory_is_slurms_own_word(tmp_path: Path, text: str, found: str) -> None:
    (tmp_path / "7.log").write_text(text, encoding="ascii")
    assert causes.logged(tmp_path / "7.log") == found
    assert causes.logged(tmp_path / "8.log") == ""


def test_of__memory_comes_before_what_the_program_printed(tmp_path: Path) -> None:
    (tmp_path / "stderr.txt").write_text("ERROR: lost a rank\n", encoding="ascii")
    assert causes.of(tmp_path, 2) == ": out of memory: the kernel ended 2 of its processes for that"
    assert causes.of(tmp_path, 0) == ": the program's own error: ERROR: lost a rank"


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (
            '[1] ARMCI assert fail in gmr_create() [src/gmr.c:109]: "alloc_slices[alloc_me].base != NULL"',
            "this MPI library lacks one-sided memory here; docs/measure.md has the --env that gives it",
        ),
        (
            "    Could not find mandatory etc entry (mode=ugo)",
            "OpenFOAM does not find its folder; set WM_PROJECT_DIR in 'environment' of openfoam",
        ),
    ],
)
def test_of__a_program_of_debian_lacks_a_variable(tmp_path: Path, line: str, what: str) -> None:
    (tmp_path / "stderr.txt").write_text(f"begin\n{line}\nend\n", encoding="ascii")
    assert causes.of(tmp_path, 0) == f": {what}: {line.strip()}"
