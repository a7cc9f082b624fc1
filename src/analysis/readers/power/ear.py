"""EAR (Energy Aware Runtime): CSV of loops (a row per period) or applications (a row per node)."""

from __future__ import annotations

import math
import re
from typing import Any

import xarray as xr

from analysis.readers.power import units
from analysis.readers.power.base import PowerLog, Readings, readings_of
from analysis.readers.power.clock import Clock
from analysis.readers.power.layout import split

_POWER = re.compile(r"^(avg[._-])?dc[._-]node[._-]power(_w)?$|^dc[._-]power(_w)?$|^power(_w)?$")
_NO_STEP = ("4294967291", "4294967292", "4294967294", "4294967295")


def sniff(head: bytes, name: str) -> bool:
    """Tell whether a semicolon-separated heading has EAR's node power."""
    return re.search(rb"(?im)^[\w.;# -]*;(AVG[._])?DC[._-](NODE[._-])?POWER", head) is not None


def parse(data: bytes, source: str = "<memory>", **options: Any) -> xr.Dataset:
    """Parse EAR's CSV; a cell of one space is a blank.

    Parameters
    ----------
    data : bytes
    source : str, optional
    **options
        See `analysis.readers.power.base.Options`.

    Returns
    -------
    Dataset
        Kind ``power``; a meter per node, means over each loop period or over the whole application.

    Raises
    ------
    ReadError
        If there is no heading with the node's DC power, or no row with a time.
    """
    log = PowerLog(data, source, options)
    return log.dataset(_readings(log), tool="EAR", location="node, DC side of the power supplies")


def _readings(log: PowerLog) -> Readings:
    header: list[str] = []
    rows: list[tuple[str, int, str, float]] = []
    for number, line in enumerate(log.lines(), 1):
        cells = split(line, ";")
        lower = [re.sub(r"[ .-]", "_", cell.lower()) for cell in cells]
        if any(_POWER.match(cell) for cell in lower):
            header = lower
            continue
        if not header or not line.strip():
            continue
        if len(cells) < len(header) - 1:  # a row may lack its last, empty cell
            log.faults.damage(number, f"{len(cells)} of {len(header)} columns", "the row is not used")
            continue
        cell = dict(zip(header, cells, strict=False))
        rows += _row(cell, number)
    if not rows:
        raise log.empty("row with a node, a time and its DC power")
    time = Clock(log).utc([row[0] for row in rows], [row[1] for row in rows])
    return readings_of(time, [row[2] for row in rows], [row[3] for row in rows], mean=True)


def _row(cell: dict[str, str], number: int) -> list[tuple[str, int, str, float]]:
    """Return the readings of one row: an application gives its start as well."""
    if cell.get("stepid", cell.get("step_id")) in _NO_STEP[1:]:
        return []
    node = next((cell[key] for key in ("nodename", "node_id", "node") if cell.get(key)), "node")
    key = next(key for key in cell if _POWER.match(key))
    value = units.quantity(cell[key], decimal_comma=True)[0]
    times = {
        name: cell.get(name, "") for name in ("timestamp", "start_time", "end_time", "start_date", "end_date")
    }
    if times["timestamp"]:
        return [(times["timestamp"], number, node, value)]
    start, end = times["start_time"] or times["start_date"], times["end_time"] or times["end_date"]
    return [(start, number, node, math.nan), (end, number, node, value)] if start and end else []
