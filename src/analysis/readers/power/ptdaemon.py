"""SPEC PTDaemon: ``Time,12-23-2020 10:21:51.496,Watts,23.43,Volts,…``."""

from __future__ import annotations

import re
from typing import Any

import xarray as xr

from analysis.readers.power import units
from analysis.readers.power.base import PowerLog, readings_of
from analysis.readers.power.clock import Clock


def sniff(head: bytes, name: str) -> bool:
    """Tell whether these are PTDaemon's pairs of key and value."""
    return re.search(rb"(?m)^Time,[^,]+,Watts,", head) is not None


def parse(data: bytes, source: str = "<memory>", **options: Any) -> xr.Dataset:
    """Parse PTDaemon's log; a negative reading is its sign of an error and left blank.

    Parameters
    ----------
    data : bytes
    source : str, optional
    **options
        See `analysis.readers.power.base.Options`.

    Returns
    -------
    Dataset
        Kind ``power``.

    Raises
    ------
    ReadError
        If there is no row.
    """
    log = PowerLog(data, source, options)
    stamps, lines, power = [], [], []
    for number, line in enumerate(log.lines(), 1):
        cells = line.split(",")
        pairs = dict(zip(cells[::2], cells[1::2], strict=False))
        if "Time" not in pairs:
            continue
        value = units.plain(pairs.get("Watts", ""))
        if not value >= 0:
            log.faults.note(number, f"Watts is {pairs.get('Watts')!r}", "the reading is left blank")
            value = float("nan")
        stamps.append(pairs["Time"])
        lines.append(number)
        power.append(value)
    if not stamps:
        raise log.empty("row Time,…,Watts,…")
    time = Clock(log, order="mdy").utc(stamps, lines)
    readings = readings_of(time, [log.options.meter or "analyser"] * len(time), power)
    return log.dataset(readings, tool="SPEC PTDaemon", location="AC input, power analyser")
