"""Start and stop of a sampler from a job script, by a file that names its process."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from analysis.errors import BenchbookError
from analysis.sampling.output import beside

_LONGEST_START = 60.0  # s; a busy file system may take its time over Python's imports


def start(arguments: Sequence[str], out: Path) -> int:
    """Start a sampler that outlives this process, and wait until it samples.

    Parameters
    ----------
    arguments : sequence of str
        Of ``python -m analysis.sampling run``.
    out : Path
        The log; its ``.pid`` names the process, its ``.log`` takes what the sampler says.

    Returns
    -------
    int
        Process id.

    Raises
    ------
    BenchbookError
        If the sampler ends instead; with what it said.
    """
    log = beside(out, "log")
    try:
        handle = log.open("xb")
    except FileExistsError:
        raise BenchbookError.at(str(log), 0, "exists", "choose another name for the readings") from None
    except OSError as error:
        found = f"cannot be made: {error.strerror}"
        raise BenchbookError.at(str(log), 0, found, "check the path") from None
    with handle:
        process = subprocess.Popen(
            [sys.executable, "-m", "analysis.sampling", "run", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=handle,
            stderr=handle,
            start_new_session=True,  # a signal to the job script's group is not for the sampler
        )
    latest = time.monotonic() + _LONGEST_START
    while time.monotonic() < latest:
        if process.poll() is not None:
            said = log.read_text(encoding="utf-8", errors="replace").strip()
            log.unlink()
            raise BenchbookError.at(str(out), 0, "the sampler did not start", said or "it said nothing")
        if beside(out, "pid").exists():
            process.returncode = 0  # it is meant to go on: no warning when this object goes
            return process.pid
        time.sleep(0.05)
    process.terminate()
    raise BenchbookError.at(str(out), 0, f"no sampling after {_LONGEST_START:g} s", f"see {log}")


def stop(out: Path, *, patience: float = 60.0) -> None:
    """Stop the sampler of a log and wait until its files are complete.

    Parameters
    ----------
    out : Path
    patience : float, optional
        s.

    Raises
    ------
    BenchbookError
        If no sampler writes that log, or it does not end.
    """
    file = beside(out, "pid")
    try:
        pid, born = map(int, file.read_text(encoding="ascii").split())
    except (OSError, ValueError):
        raise BenchbookError.at(str(file), 0, "names no sampler", "start one, or see the log") from None
    if _born(pid) != born:  # the number may belong to another process by now
        file.unlink(missing_ok=True)
        found = "its sampler has ended already, without a summary"
        raise BenchbookError.at(str(out), 0, found, f"see {beside(out, 'log')}; whole lines are good")
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    latest = time.monotonic() + patience
    while _born(pid) == born:
        if time.monotonic() > latest:
            raise BenchbookError.at(
                str(out), 0, f"its sampler, process {pid}, does not end", "end it by hand"
            )
        time.sleep(0.05)


def announce(out: Path) -> Path:
    """Write the file that names this process as the sampler of a log; return its path."""
    file = beside(out, "pid")
    scratch = file.with_name(file.name + ".part")
    scratch.write_text(f"{os.getpid()} {_born(os.getpid())}\n", encoding="ascii")
    scratch.replace(file)
    return file


def alive(pid: int) -> bool:
    """Tell whether a process still runs."""
    return _born(pid) is not None


def _born(pid: int) -> int | None:
    """Return a process' start in clock ticks since boot; None if there is none, or a dead one."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    cells = text.rpartition(")")[2].split()  # the name in brackets may hold anything
    return None if cells[0] in "ZX" else int(cells[19])
