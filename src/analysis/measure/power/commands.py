"""Tools that a meter is asked with: run with a time limit, ended with the sampler."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence


class MeterError(Exception):
    """A meter that gave no reading, and why, in a few words."""


class Commands:
    """Runs tools; `end` ends those that still run."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[str]] = set()
        self._lock = threading.Lock()
        self._ended = False

    def run(
        self, argv: Sequence[str], environment: Mapping[str, str], timeout: float, fds: Sequence[int] = ()
    ) -> str:
        """Run a tool, with some open files, and return what it printed; `timeout` in s.

        `MeterError` if the tool is missing, fails or does not end in time.
        """
        try:
            process = self._start(argv, environment, fds)
        except OSError as error:
            raise MeterError(f"cannot run {argv[0]}: {error.strerror}") from None
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            _kill(process)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=1.0)
            raise MeterError(f"{argv[0]} gave no answer in {timeout:g} s") from None
        finally:
            with self._lock:
                self._running.discard(process)
        if process.returncode != 0:
            words = " ".join((err.strip() or out.strip()).split()) or "nothing"
            raise MeterError(f"{argv[0]} ended with {process.returncode} and said: {words}")
        return out

    def _start(
        self, argv: Sequence[str], environment: Mapping[str, str], fds: Sequence[int]
    ) -> subprocess.Popen[str]:
        with self._lock:
            if self._ended:
                raise MeterError("the sampler ends")
            process = subprocess.Popen(
                list(argv),
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                pass_fds=tuple(fds),
                process_group=0,  # so that what a wrapper script started ends with it
            )
            self._running.add(process)
            return process

    def end(self) -> None:
        """End what runs and start nothing more."""
        with self._lock:
            self._ended = True
            for process in self._running:
                _kill(process)


def _kill(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
