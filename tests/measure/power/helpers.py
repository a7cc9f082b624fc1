"""What the tests of the sampler share: servers and samplers as processes, and the search for secrets."""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
import xarray as xr

# Numbers of the system call by which a thread gets a signal.
_TGKILL = {"x86_64": 234, "aarch64": 131, "ppc64le": 250}.get(platform.machine(), 0)
SEARCH_PATH = f"{os.environ.get('PATH', os.defpath)}:/usr/local/sbin:/usr/sbin:/sbin"


def need(*programs: str) -> None:
    """Skip the test, with the reason, where a program is missing."""
    absent = [program for program in programs if shutil.which(program, path=SEARCH_PATH) is None]
    if absent:
        pytest.skip(f"no {', '.join(absent)} on this host; run tests/measure/power/install.sh")


def free_port(kind: socket.SocketKind) -> int:
    with socket.socket(socket.AF_INET, kind) as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def wait_for(condition: Callable[[], bool], what: str, seconds: float = 20.0) -> None:
    latest = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < latest, f"{what} did not happen in {seconds} s"
        time.sleep(0.02)


@contextlib.contextmanager
def server(argv: Sequence[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server; it is ended with the test."""
    with log.open("ab") as handle:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=handle,
            stderr=handle,
            env={"PATH": SEARCH_PATH, "LC_ALL": "C"},
        )
        try:
            yield process
        finally:
            process.kill()
            process.communicate()


def wrapper(folder: Path, program: str) -> Path:
    """Make a stand-in that notes the arguments it is run with, then becomes the real program."""
    real = shutil.which(program, path=SEARCH_PATH)
    script = folder / program
    script.write_text(
        f'#!/bin/sh\ntr "\\0" " " </proc/$$/cmdline >>{folder}/{program}.argv\nexec {real} "$@"\n'
    )
    script.chmod(0o755)
    return script


class Watcher:
    """Reads all processes' command lines until its end."""

    def __init__(self) -> None:
        self.commands = b""
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._over.wait(0.01):
            for file in Path("/proc").glob("[0-9]*/cmdline"):
                with contextlib.suppress(OSError):
                    line = file.read_bytes()
                    self.commands += line if line not in self.commands else b""

    def end(self) -> bytes:
        """Stop; return all command lines that were seen."""
        self._over.set()
        self._thread.join()
        return self.commands


class Sampler:
    """A sampler as a child process, while the process list is watched."""

    def __init__(self, config: str, folder: Path, *arguments: str, **environment: str) -> None:
        (folder / "tmp").mkdir(exist_ok=True)
        (folder / "cluster.yaml").write_text(config)
        self.folder, self.out = folder, folder / "power.csv"
        self._log = (folder / "stderr").open("wb")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "analysis.measure.power", "run", "cluster.yaml", "power.csv", *arguments],
            cwd=folder,
            env=os.environ | environment | {"TMPDIR": str(folder / "tmp")},
            stdout=self._log,
            stderr=self._log,
        )
        self._watcher = Watcher()

    @property
    def commands(self) -> bytes:
        """All command lines that were seen."""
        return self._watcher.commands

    def lines(self) -> list[str]:
        return self.out.read_text().splitlines() if self.out.exists() else []

    def await_rows(self, text: str, count: int) -> None:
        """Wait until so many more rows hold a text."""
        before = sum(text in line for line in self.lines())
        try:
            wait_for(lambda: sum(text in line for line in self.lines()) >= before + count, text)
        except AssertionError:
            self.end()  # nothing may outlive a test that fails
            raise AssertionError(f"no {count} rows with {text!r}; the sampler said:\n{self.said()}") from None

    def end(self, *, by_another_thread: bool = False) -> int:
        if by_another_thread:  # the kernel may give it to any; only one of them waits for the end
            pid = self._process.pid
            other = max(int(task.name) for task in Path(f"/proc/{pid}/task").iterdir())
            assert other != pid
            assert ctypes.CDLL(None).syscall(_TGKILL, pid, other, signal.SIGTERM) == 0
        else:
            self._process.send_signal(signal.SIGTERM)
        return self.wait()

    def wait(self) -> int:
        try:
            return self._process.wait(30)
        finally:
            self._process.kill()
            self._process.wait()
            self._watcher.end()
            self._log.close()

    def said(self) -> str:
        return (self.folder / "stderr").read_text()


def assert_nowhere(secret: str, sampler: Sampler, *own: Path) -> None:
    """Search a secret in every file under the test's folder but its own, and in the process list."""
    assert secret.encode() not in sampler.commands
    searched = 0
    for path in sampler.folder.rglob("*"):
        if path.is_file() and path not in own:
            assert secret.encode() not in path.read_bytes(), path
            searched += 1
    assert searched >= 4  # the readings, the summary, the log, the configuration


def powers(path: Path, meter: str) -> list[float]:
    """Return a meter's readings through the reader of power logs; NaN where it said nothing."""
    with xr.open_dataset(path, engine="power_csv") as ds:
        return [float(value) for value in ds["power"].sel(meter=meter).values]
