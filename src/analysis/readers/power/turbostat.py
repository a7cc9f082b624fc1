"""turbostat: ``PkgWatt``, ``RAMWatt`` … of the summary rows."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import xarray as xr

from analysis.readers.power import units
from analysis.readers.power.base import SECOND, PowerLog, Readings, readings_of
from analysis.readers.power.clock import Clock

METERS = {"Pkg": "package", "Cor": "cores", "GFX": "graphics", "RAM": "memory", "Sys": "system"}
_DEFAULT_INTERVAL = 5.0  # turbostat's own, s
_LAST = 9e9  # s since 1970; what is beyond does not fit 64 bits of ns


def sniff(head: bytes, name: str) -> bool:
    """Tell whether turbostat's columns of watts or joules stand here."""
    return re.search(rb"(?m)^.*\b(?:Pkg|Cor|RAM|GFX|Sys)(?:Watt|_J)", head) is not None


def parse(data: bytes, source: str = "<memory>", **options: Any) -> xr.Dataset:
    """Parse the system's summary rows; rows of single CPUs carry no power of their own.

    Parameters
    ----------
    data : bytes
    source : str, optional
    **options
        See `analysis.readers.power.base.Options`.
        ``start`` and ``interval`` stand in for ``Time_Of_Day_Seconds`` (``turbostat --enable``).

    Returns
    -------
    Dataset
        Kind ``power``; meters ``package cores graphics memory system``, means over each interval.

    Raises
    ------
    ReadError
        If there is no row with watts.
    """
    log = PowerLog(data, source, options)
    return log.dataset(_readings(log), tool="turbostat", location="CPU package, by RAPL")


def _readings(log: PowerLog) -> Readings:
    header: list[str] = []
    rows: list[tuple[float, dict[str, float]]] = []
    for number, line in enumerate(log.lines(), 1):
        cells = line.split()
        if any(re.search(r"Watt|_J\b", cell) for cell in cells):
            # Two wide headings may touch: GFXWattRAMWatt.
            header = re.sub(r"(Watt|_J)(?=[A-Z])", r"\1 ", line).split()
            continue
        summary = not header or header[0] in ("Busy%", "Avg_MHz", "time") or "CPU" not in header
        at = header.index("CPU") if "CPU" in header else 0
        if not header or len(cells) <= at or not (summary or cells[at] == "-"):
            continue
        # Other headings and values touch too, but left of the watts: count from the right.
        values = {
            name: cells[i - len(header)] for i, name in enumerate(header) if len(header) - i <= len(cells)
        }
        powers = {
            name: units.plain(text)
            for name, text in values.items()
            if name[-4:] == "Watt" or name[-2:] == "_J"
        }
        timed = "Time_Of_Day_Seconds" in header
        stamp = units.plain(values.get("Time_Of_Day_Seconds", "")) if timed else math.nan
        if timed and not 0 < stamp < _LAST:
            log.faults.damage(number, "no time in a summary row", "the row is not used")
            continue
        if not powers or all(math.isnan(value) for value in powers.values()):
            log.faults.note(number, "a summary row without watts", "left blank")
        rows.append((stamp, powers))
    if not rows:
        raise log.empty("summary row with watts")
    return _means(log, rows)


def _means(log: PowerLog, rows: list[tuple[float, dict[str, float]]]) -> Readings:
    """Give each row its interval and turn joules into watts."""
    stamps = np.array([stamp for stamp, _ in rows])
    given = log.options.interval
    if not np.isnan(stamps).any():
        step = (
            given if given > 0 else float(np.median(np.diff(stamps))) if len(rows) > 1 else _DEFAULT_INTERVAL
        )
        ends = np.round(stamps * 1e6).astype(np.int64) * 1000
    else:
        step = given if given > 0 else _DEFAULT_INTERVAL
        if not given > 0:
            log.faults.note(0, "the log has no interval", f"taken as {step:g} s; pass interval=")
        ends = Clock(log).start() + np.round(np.arange(1, len(rows) + 1) * step * SECOND).astype(np.int64)
    starts = np.concatenate(([ends[0] - round(step * SECOND)], ends[:-1]))
    time: list[int] = []
    meter: list[str] = []
    power: list[float] = []
    for name in dict.fromkeys(key for _, powers in rows for key in powers):
        label = METERS.get(name[:3], name)
        time, meter, power = [*time, int(starts[0])], [*meter, label], [*power, math.nan]
        seconds = (ends - starts) / SECOND
        value = np.array([powers.get(name, math.nan) for _, powers in rows])
        time += ends.tolist()
        meter += [label] * len(rows)
        power += (value / seconds if name.endswith("_J") else value).tolist()
    return readings_of(time, meter, power, mean=True)
