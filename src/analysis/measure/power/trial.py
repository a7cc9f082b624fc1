"""Each meter of a cluster asked once, before a campaign relies on it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from analysis.measure.power import config
from analysis.measure.power.commands import Commands, MeterError
from analysis.measure.power.credentials import redact
from analysis.measure.power.kinds import make_all
from analysis.measure.power.meters import Context, Meter

_AT_ONCE = 32  # meters; a rack's worth should not take minutes
_BETWEEN = 1.0  # s between two readings of a counter


@dataclass(frozen=True, slots=True)
class Trial:
    """What one meter said, and where it is declared."""

    name: str
    type: str
    location: str
    line: int
    accuracy: float | None  # limit of error as a fraction of the reading, if declared
    watts: dict[str, float] = field(default_factory=dict)  # by reading; empty if there was none
    seconds: float = 0.0  # that a reading took
    fault: str = ""  # why there was none, or which was missing
    warnings: tuple[str, ...] = ()  # what has to be said loudly


def trials(path: str | Path, nodes: Sequence[str] = ()) -> Iterator[Trial]:
    """Ask every meter of a cluster's file once, as a job of some nodes would; a counter twice.

    In the order of the file; `ConfigError` if it or a secret cannot be used.
    """
    wanted = config.load(path, nodes)
    context = Context(Commands(), wanted.timeout)
    meters = make_all(wanted.meters, context)
    try:
        with ThreadPoolExecutor(min(_AT_ONCE, len(meters))) as pool:
            yield from pool.map(lambda meter: _ask(meter, context), meters)
    finally:
        for meter in meters:
            meter.close()


def _ask(meter: Meter, context: Context) -> Trial:
    watts: dict[str, float] = {}
    seconds, fault = 0.0, ""
    try:
        begin = time.monotonic()
        watts = meter.read()
        seconds = time.monotonic() - begin
        if meter.counts:
            watts = _rate(meter, watts, begin)
        absent = [name for name in meter.names() if name not in watts]
        fault = f"no value of {', '.join(absent)}" if absent else ""
    except MeterError as error:
        watts, fault = {}, redact(str(error), context.secrets)
    spec, options = meter.spec, meter.spec.options
    place = str(options.get("location", meter.location))
    own = tuple(line for line in context.warnings if f"{meter.name}:" in line)
    accuracy = options.get("accuracy")
    return Trial(spec.name, spec.type, place, spec.line, accuracy, watts, seconds, fault, own)


def _rate(meter: Meter, first: dict[str, float], begin: float) -> dict[str, float]:
    """Return the mean power in W since a first reading of a counter in µJ."""
    time.sleep(_BETWEEN)
    passed = time.monotonic() - begin
    ranges = meter.ranges()
    second = meter.read()
    return {
        name: (value - first[name] + (ranges.get(name, 0) if value < first[name] else 0)) / 1e6 / passed
        for name, value in second.items()
        if name in first
    }
