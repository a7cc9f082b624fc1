"""Runs that share a job of Slurm: each has its time, a signal to the job ends all, little memory is used."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from analysis.base import project
from analysis.measure import launch, turns

# What each run's process does: it says how long it may take, and closes the file.
TELL = 'eval "printf %s {seconds} >&$2; exec $2>&-"; '


def shell(script: str, seconds: str = "") -> list[str]:
    return ["bash", "-c", (TELL.format(seconds=seconds) if seconds else "") + script, "a run"]


def test_supervise__a_run_has_its_own_time_and_then_some_for_its_record() -> None:
    assert turns.supervise(shell("exit 3", "60")) == 3
    begin = time.monotonic()
    # Its own time is counted from when it has said it, not from its start.
    script = "trap 'kill $!; exit 7' TERM; sleep 60 & wait"
    assert turns.supervise(shell(script, "0.5")) == 7
    assert time.monotonic() - begin >= 0.5


def test_supervise__one_that_does_not_end_is_killed_with_all_that_it_started(tmp_path: Path) -> None:
    child = tmp_path / "child"
    script = f"trap '' TERM; sleep 600 & echo $! >{child}; wait; wait"
    assert turns.supervise(shell(script, "1"), grace=0.2) == -signal.SIGKILL
    number = int(child.read_text(encoding="ascii"))
    deadline = time.monotonic() + 30
    while Path(f"/proc/{number}/stat").exists():
        if Path(f"/proc/{number}/stat").read_text(encoding="ascii").rpartition(") ")[2][0] == "Z":
            break  # nobody reaps it here
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_supervise__one_that_says_nothing_is_waited_for() -> None:
    assert turns.supervise(shell("exit 4")) == 4
    assert turns.supervise(shell('test "$3 $4" = "--sharing a"'), ["--sharing", "a"]) == 0


def test_turns__the_first_run_gives_the_status_and_each_knows_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[list[str]] = []
    codes = iter([1, 0, 75])

    def supervise(command: list[str], more: list[str]) -> int:
        calls.append([*command, *more])
        return next(codes)

    monkeypatch.setattr(turns, "supervise", supervise)
    assert turns.main(["c", "r1", "r2", "r3"]) == 1
    head = ["sh", str(Path(turns.__file__).with_name("run.sh")), sys.executable, "c"]
    assert calls == [[*head, run, "--sharing", "r1", "r2", "r3"] for run in ("r1", "r2", "r3")]


def test_turns__no_run_begins_after_the_shell_of_the_job_was_killed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without cgroups Slurm leaves such processes: they measured on a node that others had by then."""
    calls: list[str] = []
    parents = iter([7, 1])

    def supervise(command: list[str], more: list[str]) -> int:
        calls.append(command[-1])
        return 0

    monkeypatch.setattr(turns, "supervise", supervise)
    monkeypatch.setattr(os, "getppid", lambda: next(parents))
    monkeypatch.setenv("BENCHBOOK_SHELL", "7")
    assert turns.main(["c", "r1", "r2", "r3"]) == turns.ENDED
    assert calls == ["r1"]
    assert capsys.readouterr().out == "r2: not begun: the shell of this job was killed\n"


def test_turns__a_signal_to_the_job_ends_its_run_and_starts_no_other(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    program = tmp_path / "python"
    script = f'trap \'kill $!; exit 9\' TERM; eval "exec $6>&-"; sleep 60 & echo "$@" >>{starts}; wait'
    program.write_text(f"#!/bin/bash\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    code = f"import sys; sys.executable = {str(program)!r}\n"
    code += "from analysis.measure import turns\nraise SystemExit(turns.main(['c', 'r1', 'r2']))"
    process = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path)
    deadline = time.monotonic() + 60
    while not starts.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGTERM)
    assert process.wait(60) == turns.ENDED == 143
    (line,) = starts.read_text(encoding="utf-8").splitlines()
    assert line.split()[:4] == ["-m", "analysis.measure.launch", "c", "r1"]


def test_turns__a_signal_as_a_run_starts_leaves_nothing_behind(tmp_path: Path) -> None:
    """It comes before the run's process is known; that of a second run would be another line."""
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\necho $$ >>{tmp_path}/starts\nexec sleep 60\n", encoding="utf-8")
    program.chmod(0o755)
    code = f"""
import os, signal, subprocess, sys
from analysis.measure import turns
sys.executable = {str(program)!r}
popen = subprocess.Popen
def begun(*words, **options):
    process = popen(*words, **options)
    print(process.pid, flush=True)
    os.kill(os.getpid(), signal.SIGTERM)
    return process
subprocess.Popen = begun
raise SystemExit(turns.main(['c', 'r1', 'r2']))"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (turns.ENDED, "")
    (pid,) = done.stdout.split()
    assert not Path(f"/proc/{pid}").exists()


def test_run__asks_git_as_the_project_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a repository with a change, and where there is none; the launch does not ask again."""
    program = tmp_path / "python"
    program.write_text('#!/bin/sh\nprintf "%s\n" "$BENCHBOOK_COMMIT" "$*"\n', encoding="utf-8")
    program.chmod(0o755)

    def said(folder: Path) -> list[str]:
        command = ["sh", turns._RUN, str(program), "c", "r1", "--tell", "5"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    outside, repository = tmp_path / "outside", tmp_path / "repository"
    outside.mkdir()
    assert said(outside) == ["", "-m analysis.measure.launch c r1 --tell 5"]
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-C", str(repository)]
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    (repository / "a").touch()
    subprocess.run([*git, "add", "a"], check=True)
    subprocess.run([*git, "commit", "-qm", "a"], check=True)
    (repository / "a").write_text("changed", encoding="utf-8")
    commit = said(repository)[0]
    assert commit == project.commit(repository)
    assert commit.endswith("-dirty")
    for known in (commit, ""):
        monkeypatch.setenv("BENCHBOOK_COMMIT", known)
        assert launch._commit(repository) == known


def test_turns__imports_next_to_nothing() -> None:
    """It stays in memory beside each program that is measured."""
    code = "import json, sys; import analysis.measure.turns; print(json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = json.loads(done.stdout)
    assert [name for name in loaded if name.startswith("analysis.")] == [
        "analysis.measure",
        "analysis.measure.turns",
    ]
    assert {"pydantic", "yaml", "importlib.metadata"} & set(loaded) == set()
