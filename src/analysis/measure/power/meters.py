"""Meters by type: each returns one reading of all that it measures, or says why it has none.

The tools that they ask run with a time limit and end with the sampler.
"""

import contextlib
import math
import os
import re
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from analysis.base import units
from analysis.measure.power.config import MeterSpec
from analysis.measure.power.credentials import Secret, child_environment, resolve


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
            raise MeterError(f"{argv[0]} ended with {process.returncode}: {words}")
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


@dataclass(slots=True)
class Context:
    """What meters share: the time in s to answer, where secrets may be, which are in use.

    `warnings` have to be shown before the first reading.
    """

    commands: Commands
    timeout: float
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    secrets: list[Secret] = field(default_factory=list, repr=False)
    warnings: list[str] = field(default_factory=list)

    def secret(self, spec: MeterSpec, key: str) -> Secret | None:
        """Fetch a meter's secret; None if the entry declares none."""
        if key not in spec.options:
            return None
        secret = resolve(spec.options[key], self.environment, spec.source, spec.line)
        self.secrets.append(secret)
        return secret


class Meter:
    """A meter: where it measures, how it is read; `counts` if a reading is an energy counter in µJ, not W."""

    counts: ClassVar[bool] = False
    location: ClassVar[str] = ""

    def __init__(self, spec: MeterSpec, context: Context) -> None:
        self.spec, self.context = spec, context
        self._found: list[str] = []

    @property
    def name(self) -> str:
        """Name of the meter."""
        return self.spec.name

    def names(self) -> list[str]:
        """Return the names of the readings to expect: those so far, before the first the meter's own."""
        return self._found or [self.name]

    def found(self, values: Mapping[str, float]) -> dict[str, float]:
        """Note the readings of a meter that tells only by reading how many it has; return them."""
        self._found = sorted({*self._found, *values})
        return dict(values)

    def feeds(self) -> Mapping[str, str]:
        """Return the node of each reading that has another than the meter as a whole."""
        return {}

    def overlapping(self) -> list[str]:
        """Return the readings that do not add to the others: they are part of them or contain them."""
        return []

    def ranges(self) -> Mapping[str, int]:
        """Return µJ at which each counter starts again from zero; empty for powers."""
        return {}

    def read(self) -> dict[str, float]:
        """Return one reading by name, in W or µJ; `MeterError` if there is none."""
        raise NotImplementedError

    def close(self) -> None:
        """Release what the meter holds."""

    def run(self, argv: list[str], extra: Mapping[str, str] | None = None, fds: tuple[int, ...] = ()) -> str:
        """Run a tool within the time limit, see `Commands.run`."""
        return self.context.commands.run(argv, child_environment(extra), self.context.timeout, fds)


# W; some controllers say 0xffffffff where they have no reading.
_GREATEST = 1e8

_CELL = re.compile(r"\s*(\d+(?:\.\d+)?)?\s*([A-Za-z]*)\s*")


def quantity(text: str) -> tuple[float | None, float | None]:
    """Split a power like ``212 Watts``: its number, if any, and W per unit, if that is one of power."""
    match = _CELL.fullmatch(text)
    if match is None or match[2] == "MW":
        return None, None
    factor = units.watts(match[2] or "W")
    return (None if match[1] is None else float(match[1])), None if math.isnan(factor) else factor


def watts(text: str, scale: float = 1.0) -> float:
    """Read a power in W as a tool prints it; a number without a unit counts `scale` W each.

    `MeterError` if it is not a power, or not one that a machine can have.
    """
    value, factor = quantity(text)
    if value is None or factor is None:
        raise MeterError(f"{text.strip()[:60]!r} is no power")
    power = value * (factor if text.strip()[-1].isalpha() else scale)
    if power > _GREATEST:
        raise MeterError(f"{text.strip()[:60]!r} is more than a machine draws")
    return power
