from __future__ import annotations

import shlex
import time
from pathlib import Path

import pytest

from analysis.base import shell


def test_run__failure_is_an_answer() -> None:
    assert shell.run(["sh", "-c", "echo out; echo err >&2; exit 3"], 10) == (3, "out\n", "err\n")
    assert shell.run(["sh", "-c", "echo out"], 10).text == "out\n"
    assert shell.run(["sh", "-c", "echo out; exit 3"], 10).text == ""


def test_run__no_such_program_and_no_answer_in_time_say_why() -> None:
    none = shell.run(["/nowhere/tool"], 10)
    assert none == (None, "", "cannot run /nowhere/tool: No such file or directory")
    begin = time.monotonic()
    assert shell.run(["sleep", "60"], 0.2) == (None, "", "no answer in 0.2 s")
    assert time.monotonic() - begin < 30
    assert shell.run(["true", "\0"], 10).code is None


def test_run__has_nothing_to_read_and_nothing_preloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_PRELOAD", "/nowhere/libipm.so")
    monkeypatch.setenv("KEPT", "1")
    answer = shell.run(["sh", "-c", "cat; env; pwd"], 10, environment={"MORE": "2"}, folder=tmp_path)
    lines = answer.out.splitlines()
    assert {"KEPT=1", "MORE=2", str(tmp_path)} <= set(lines)
    assert "LD_PRELOAD" not in answer.out + answer.err


@pytest.mark.parametrize(
    "command",
    [
        "srun -n 4 ./app -in x.in",
        "  mpirun\t-np 2\r\n./app  ",
        "./app --note 'two words' \"and two\"",
        r"./app two\ words",
        "./app # no comment",
        "./app a\u00a0b a\x0bb",
        "",
    ],
)
def test_split__is_a_shell_s_with_quotes_and_without(command: str) -> None:
    assert shell.split(command) == shlex.split(command)
