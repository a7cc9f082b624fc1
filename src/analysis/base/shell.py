"""Programs: run with a time limit and without what a job preloads; that they fail is an answer, no error."""

import os
import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

_QUOTING = re.compile(r"['\"\\]")
_WORD = re.compile(r"[^ \t\r\n]+")
# A word of a command that launches a program over nodes.
LAUNCHER = re.compile(r"(?:^|/)(?:mpirun|mpiexec|orterun|srun)(?:[.\w-]*)$")


def split(command: str) -> list[str]:
    """Split a command as a shell does; at blanks, if a quote has no other one."""
    if not _QUOTING.search(command):  # as most are; shlex goes through it letter by letter
        return _WORD.findall(command)
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


class Completed(NamedTuple):
    """What became of a program."""

    code: int | None  # None where there was no answer: no such program, or none in time
    out: str
    err: str  # without an answer why there is none

    @property
    def text(self) -> str:
        """What the program wrote if it ended well, else nothing."""
        return "" if self.code else self.out


def run(
    command: Sequence[str],
    timeout: float,
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Completed:
    """Run a program to its end, with nothing to read; after `timeout` s it is killed.

    LD_PRELOAD is left out of its variables: a preloaded profiler belongs to the application that is measured.
    """
    variables = {**os.environ, **(environment or {})}
    variables.pop("LD_PRELOAD", None)
    try:
        done = subprocess.run(
            list(command), stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
            timeout=timeout, env=variables, cwd=folder, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Completed(None, "", f"no answer in {timeout:g} s")
    except (OSError, ValueError) as error:
        return Completed(None, "", f"cannot run {command[0]}: {getattr(error, 'strerror', None) or error}")
    return Completed(done.returncode, done.stdout, done.stderr)


def born(pid: int) -> int | None:
    """Return a process' start in clock ticks since boot; None if there is none, or a dead one."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    cells = text.rpartition(")")[2].split()  # the name in brackets may hold anything
    return None if cells[0] in "ZX" else int(cells[19])
