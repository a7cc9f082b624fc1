"""Cray ``/sys/cray/pm_counters``: lines ``energy: 19213436 J 1583939373021443 us``, sampled."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import xarray as xr

from analysis.readers.power.base import PowerLog, Readings, readings_of
from analysis.readers.power.clock import Clock

_LINE = re.compile(
    r"^(?:(?P<node>[A-Za-z][\w-]*\d):\s*)?(?:\S*pm_counters/)?(?P<name>(?:[a-z]+\d*_)?(?:energy|power))"
    r"\s*[:=,\s]\s*(?P<value>\d+)\s*(?P<unit>[JW])(?:\s+(?P<us>\d{15,16})\s*us)?\s*$"
)


def sniff(head: bytes, name: str) -> bool:
    """Tell whether these are Cray's power counters."""
    return (
        b"pm_counters" in head
        or re.search(rb"(?m)\b(energy|power)\W+\d+ [JW] \d{15,16} us", head) is not None
    )


def parse(data: bytes, source: str = "<memory>", **options: Any) -> xr.Dataset:
    """Parse samples of the node's counters; energy is used where it is logged, else power.

    Parameters
    ----------
    data : bytes
    source : str, optional
    **options
        See `analysis.readers.power.base.Options`.

    Returns
    -------
    Dataset
        Kind ``power``; meters ``node cpu memory accel0 …``, each after its node's name if given.

    Raises
    ------
    ReadError
        If there is no line with a value and a time.
    """
    log = PowerLog(data, source, options)
    return log.dataset(_readings(log), tool="Cray pm_counters", location="node, DC input of the blade")


def _readings(log: PowerLog) -> Readings:
    clock = Clock(log)
    stamp, rows = ("", 0), []
    for number, line in enumerate(log.lines(), 1):
        if clock.is_stamp(line):
            stamp = (line.strip(), number)
        match = _LINE.match(line.strip())
        if match:
            part = match["name"].rpartition("_")[0] or "node"
            meter = f"{match['node']}/{part}" if match["node"] else part
            when = (match["us"].zfill(16), number) if match["us"] else stamp
            rows.append((*when, meter, float(match["value"]), match["unit"]))
    counters = any(row[4] == "J" for row in rows)
    rows = [row for row in rows if row[4] == ("J" if counters else "W") and row[0]]
    if not rows:
        raise log.empty("line with a value and a time")
    time = clock.utc([row[0] for row in rows], [row[1] for row in rows])
    values = np.array([row[3] for row in rows])
    readings = readings_of(time, [row[2] for row in rows], values)
    if counters:
        readings.counter = values
    return readings
