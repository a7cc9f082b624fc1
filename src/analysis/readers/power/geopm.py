"""GEOPM report: start time, and per host the totals of the application."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import xarray as xr

from analysis.readers.power.base import SECOND, PowerLog, Readings, readings_of
from analysis.readers.power.clock import Clock
from analysis.readers.textio import number as to_number

_LINE = re.compile(
    r"^(?P<indent>\s*)(?P<dash>- *)?(?P<key>[^:]+?)(?: \((?P<unit>[^)]*)\))?:\s*(?P<value>.*?)\s*$"
)


def sniff(head: bytes, name: str) -> bool:
    """Tell whether this is a GEOPM report."""
    return b"GEOPM Version:" in head or re.search(rb"(?m)^#+ geopm ", head) is not None


def parse(data: bytes, source: str = "<memory>", **options: Any) -> xr.Dataset:
    """Parse the totals of each host: energy counters at the start and end of the application.

    Parameters
    ----------
    data : bytes
    source : str, optional
    **options
        See `analysis.readers.power.base.Options`.

    Returns
    -------
    Dataset
        Kind ``power``; meters ``host/package`` and ``host/dram`` (boards and GPUs where reported).

    Raises
    ------
    ReadError
        If no host has totals.
    """
    log = PowerLog(data, source, options)
    return log.dataset(_readings(log), tool="GEOPM", location="CPU package and memory, by RAPL")


def _readings(log: PowerLog) -> Readings:
    clock = Clock(log)
    begin = math.nan
    host, totals, hosts_indent = "", False, -1
    seconds: dict[str, float] = {}
    joules: dict[tuple[str, str], float] = {}
    for number, line in enumerate(log.lines(), 1):
        match = _LINE.match(line)
        if match is None or not line.strip():
            continue
        key, indent, value = match["key"].strip(), len(match["indent"]), match["value"]
        if key == "Start Time":
            begin = float(clock.utc([value], [number])[0])
        elif key == "Hosts":
            hosts_indent = indent
        elif (
            hosts_indent >= 0
            and not value
            and not match["dash"]
            and indent in (hosts_indent + 2, hosts_indent + 4)
        ):
            named = key in (
                "Regions",
                "Epoch Totals",
                "Unmarked Totals",
                "Application Totals",
                "Frequency map",
            )
            totals = key == "Application Totals"
            host = host if named or key.startswith("Policy") else key
        elif totals and key == "runtime":
            seconds[host] = to_number(value)
        elif totals and key.endswith("-energy") and (match["unit"] or "J") in ("J", "joules"):
            joules[host, key.removesuffix("-energy")] = to_number(value)
    return _counters(log, seconds, joules, int(begin) if begin == begin else clock.start())


def _counters(
    log: PowerLog, seconds: dict[str, float], joules: dict[tuple[str, str], float], start: int
) -> Readings:
    """Give each host a counter from zero at the start to its total at the end."""
    for h in (h for h, length in seconds.items() if not length > 0):
        log.faults.damage(0, f"{h}: no runtime of the application", "the host is left out")
    pairs = [(h, part, e) for (h, part), e in joules.items() if seconds.get(h, math.nan) > 0]
    if not pairs:
        raise log.empty("host with Application Totals of runtime and energy")
    time = [t for h, _, _ in pairs for t in (start, start + round(seconds[h] * SECOND))]
    readings = readings_of(
        time, [f"{h}/{part}" for h, part, _ in pairs for _ in range(2)], np.zeros(len(time))
    )
    readings.counter = np.array([value for _, _, energy in pairs for value in (0.0, energy)])
    return readings
