"""powerstat: rows ``HH:MM:SS … Watts`` between a preamble and its statistics."""

from __future__ import annotations

import re
from typing import Any

import xarray as xr

from analysis.readers.power import units
from analysis.readers.power.base import PowerLog, readings_of
from analysis.readers.power.clock import Clock

_HEADER = re.compile(r"^\s*Time\s+User\s+Nice\s+Sys\s+Idle\s+IO\b.*\bWatts")
_ROW = re.compile(r"^\s*\d{1,2}:\d{2}:\d{2}\s")


def sniff(head: bytes, name: str) -> bool:
    """Tell whether powerstat's headings stand here."""
    return re.search(rb"(?m)^\s*Time\s+User\s+Nice\s+Sys\s+Idle\s+IO\b.*\bWatts", head) is not None


def parse(data: bytes, source: str = "<memory>", **options: Any) -> xr.Dataset:
    """Parse powerstat's samples; its averages and histograms are not readings.

    Parameters
    ----------
    data : bytes
    source : str, optional
    **options
        See `analysis.readers.power.base.Options`.
        The rows have a time of day only: ``date`` is the day of the first.

    Returns
    -------
    Dataset
        Kind ``power``.

    Raises
    ------
    ReadError
        If there is no sample.
    """
    log = PowerLog(data, source, options)
    column = -1
    stamps: list[str] = []
    lines: list[int] = []
    power: list[float] = []
    for number, line in enumerate(log.lines(), 1):
        if _HEADER.match(line):
            column = line.split().index("Watts")  # the first, where domains repeat the heading
        elif stamps and line.lstrip().startswith("-----"):
            column = -1  # statistics follow
        elif column >= 0 and _ROW.match(line):
            cells = line.split()
            if len(cells) <= column:
                log.faults.damage(number, f"{len(cells)} columns, watts is number {column + 1}", "not used")
                continue
            if cells[column].endswith("E"):
                log.faults.note(number, "powerstat marks the reading as an estimate", "kept")
            stamps.append(cells[0])
            lines.append(number)
            power.append(units.plain(cells[column].rstrip("E")))
    if not stamps:
        raise log.empty("sample of powerstat")
    time = Clock(log).utc(stamps, lines)
    readings = readings_of(time, [log.options.meter or "node"] * len(time), power)
    return log.dataset(readings, tool="powerstat", location="battery or RAPL, as powerstat chose")
