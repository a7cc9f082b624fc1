"""``perf stat -I`` with power/energy-* events: ``-x,``, ``-x;`` or the table for people."""

from __future__ import annotations

import math
import re
from typing import Any

import xarray as xr

from analysis.readers.power import units
from analysis.readers.power.base import SECOND, PowerLog, Readings, readings_of
from analysis.readers.power.clock import Clock

# Time, optionally socket (die, core, node) and its CPUs, value, unit, event. A German locale with
# -x, writes 1,001048308,19,63,Joules: the nine digits of the time tell where it ends.
_ROW = re.compile(
    r"^\s*(?P<time>\d+[.,]\d{9})[,;|\s](?:\s*(?P<part>[SND]\d[\w-]*)[,;|\s]+\d+[,;|\s])?"
    r"\s*(?P<value><not \w+>|\d[\d.,]*?)[,;|\s]\s*(?:Joules)?[,;|\s]*(?P<event>power/[\w-]+/)"
)
_STARTED = re.compile(r"^# started on (.+)$")


def sniff(head: bytes, name: str) -> bool:
    """Tell whether these are intervals of perf's energy events."""
    return (
        b"power/energy-" in head and re.search(rb"(?m)^[ \t]*\d+[.,]\d{9}\b.*power/energy-", head) is not None
    )


def parse(data: bytes, source: str = "<memory>", **options: Any) -> xr.Dataset:
    """Parse energies per interval; the power at a time is the mean of the interval before it.

    Parameters
    ----------
    data : bytes
    source : str, optional
    **options
        See `analysis.readers.power.base.Options`.

    Returns
    -------
    Dataset
        Kind ``power``; a meter per event and socket. Without ``# started on`` (perf writes it with
        ``-o``) or the option ``start``, times count from 1970.

    Raises
    ------
    ReadError
        If there is no energy event with a time.
    """
    log = PowerLog(data, source, options)
    return log.dataset(_readings(log), tool="perf stat", location="CPU package, by RAPL")


def _readings(log: PowerLog) -> Readings:
    started = ""
    rows: list[tuple[int, str, str]] = []
    for number, line in enumerate(log.lines(), 1):
        begin = _STARTED.match(line)
        started = started or (begin[1] if begin else "")
        row = _ROW.match(line)
        if row:
            meter = "/".join(part for part in (row["part"], row["event"].split("/")[1]) if part)
            rows.append((round(float(row["time"].replace(",", ".")) * SECOND), meter, row["value"]))
        elif "power/energy" in line and "Joules" in line and not line.startswith("#"):
            log.faults.damage(number, "an energy without a time", "run perf stat with -I")
    if not rows:
        raise log.empty("interval of a power/energy event")
    clock = Clock(log)
    zero = int(clock.utc([started], [1])[0]) if started and not log.options.start else clock.start()
    time: list[int] = []
    meters: list[str] = []
    power: list[float] = []
    last: dict[str, int] = {}
    for at, name, cell in rows:
        if name not in last:
            time, meters, power = [*time, zero], [*meters, name], [*power, math.nan]
        seconds = (at - last.get(name, 0)) / SECOND
        time.append(zero + at)
        meters.append(name)
        power.append(units.plain(cell, decimal_comma=True) / seconds if seconds > 0 else math.nan)
        last[name] = at
    return readings_of(time, meters, power, mean=True)
