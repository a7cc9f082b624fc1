"""RAPL energy counters of the powercap tree, sampled: CSV, or lines ``…/intel-rapl:0/energy_uj:123``."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import xarray as xr

from analysis.readers.power import csvtable
from analysis.readers.power.base import PowerLog, Readings, readings_of
from analysis.readers.power.clock import Clock
from analysis.readers.power.layout import Headings

HEADINGS = Headings(power="", energy=r"energy.*uj|_uj$|energy", unit_default="uJ")
_LINE = re.compile(
    r"^(?P<path>\S*intel-rapl\S*/)(?P<file>energy_uj|max_energy_range_uj|name)\s*[:=,\s]\s*(?P<value>\S+)"
)
_RANGE = re.compile(r"(?P<zone>[\w:.-]*?)[/\s,;_]*max_energy_range_uj\s*[:=,;\s]\s*(?P<value>\d+)")


def sniff(head: bytes, name: str) -> bool:
    """Tell whether these are samples of powercap's counters."""
    return b"energy_uj" in head


def parse(data: bytes, source: str = "<memory>", **options: Any) -> xr.Dataset:
    """Parse samples of RAPL counters in µJ, with their wraps.

    The range of a counter is read from ``max_energy_range_uj`` where the log has it (a line or a
    comment; once for a zone or for all), else it is the option ``counter_range``.

    Parameters
    ----------
    data : bytes
    source : str, optional
    **options
        See `analysis.readers.power.base.Options`.

    Returns
    -------
    Dataset
        Kind ``power``; a meter per zone.

    Raises
    ------
    ReadError
        If there is no counter with a time.
    """
    log = PowerLog(data, source, options)
    if re.search(rb"(?m)^\S*intel-rapl\S*/energy_uj", log.data):
        readings = _tree(log)
    else:
        readings = csvtable.read(log, HEADINGS)
        readings.wrap = _ranges(log, readings.names) or readings.wrap
    return log.dataset(readings, tool="powercap", location="CPU package, by RAPL")


def _ranges(log: PowerLog, names: list[str]) -> dict[str, float]:
    """Find ranges in comments: of a zone where one is named, else of all."""
    found: dict[str, float] = {}
    for line in log.data.decode(errors="replace").splitlines():
        match = _RANGE.search(line) if line.startswith("#") else None
        if match:
            own = [n for n in names if match["zone"] and match["zone"] in n] or names
            found |= dict.fromkeys(own, float(match["value"]) * 1e-6)
    return found


def _tree(log: PowerLog) -> Readings:
    """Read ``grep . …/intel-rapl*/energy_uj``, repeated after a line with the time."""
    clock = Clock(log)
    stamp, rows, wrap, names = ("", 0), [], {}, {}
    for number, line in enumerate(log.lines(), 1):
        if clock.is_stamp(line):
            stamp = (line.strip(), number)
        match = _LINE.match(line)
        if match is None:
            continue
        zone = match["path"].rstrip("/").split("/")[-1]
        if match["file"] == "name":
            names[zone] = match["value"]
        elif not match["value"].isdigit():
            log.faults.damage(number, f"counter {match['value'][:20]!r} is no number", "not used")
        elif match["file"] == "energy_uj":
            rows.append((*stamp, zone, float(match["value"]) * 1e-6))
        else:
            wrap[zone] = float(match["value"]) * 1e-6
    if not rows or not stamp[0]:
        raise log.empty("counter after a line with its time")
    label = {row[2]: f"{names[row[2]]} {row[2]}" if row[2] in names else row[2] for row in rows}
    time = clock.utc([row[0] for row in rows], [row[1] for row in rows])
    readings = readings_of(time, [label[row[2]] for row in rows], np.zeros(len(rows)))
    readings.counter = np.array([row[3] for row in rows])
    default = log.options.counter_range
    readings.wrap = {label[zone]: value for zone, value in wrap.items() if zone in label}
    if not readings.wrap and default > 0:
        readings.wrap = dict.fromkeys(readings.names, default)
    return readings
