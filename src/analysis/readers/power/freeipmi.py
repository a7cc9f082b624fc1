"""FreeIPMI: blocks of ``ipmi-dcmi --get-system-power-statistics``, and sensors of ``ipmi-sensors``."""

from __future__ import annotations

import math
from typing import Any

import xarray as xr

from analysis.readers.power import blocks, csvtable, units
from analysis.readers.power.base import PowerLog, Readings, readings_of
from analysis.readers.power.clock import Clock
from analysis.readers.power.layout import Headings, split

LABELS = blocks.Labels("Current Power", "Time Stamp", "Power Measurement", "active")
SENSORS = Headings(power=r"^reading$", energy="", meter=r"^name$|^node|^host", unit=r"^units?$")


def sniff(head: bytes, name: str) -> bool:
    """Tell whether these are FreeIPMI's power statistics or comma-separated sensors."""
    blocks_of_dcmi = b"Current Power" in head and b"Power Measurement" in head
    return blocks_of_dcmi or (b"Reading,Units" in head and b"Name" in head)


def parse(data: bytes, source: str = "<memory>", **options: Any) -> xr.Dataset:
    """Parse FreeIPMI's output; of sensors only those in W count, a meter each.

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
        If there is no reading in W.
    """
    log = PowerLog(data, source, options)
    if b"Current Power" in log.data:
        readings = blocks.read(log, LABELS, order="mdy")
    elif b"ID,Name" in log.data and not _timed(log.data):
        readings = _snapshots(log)
    else:
        readings = csvtable.read(log, SENSORS, short=False)
    return log.dataset(readings, tool="FreeIPMI", location="node input, by the BMC")


def _timed(data: bytes) -> bool:
    heading = next((line for line in data.splitlines() if b"Reading,Units" in line), b"")
    return b"time" in heading.lower() or b"date" in heading.lower()


def _snapshots(log: PowerLog) -> Readings:
    """Read outputs without a time column, each after a line with the logger's stamp."""
    clock = Clock(log, order="mdy")
    stamp, stamp_line = "", 0
    rows: list[tuple[str, int, str, float]] = []
    for number, line in enumerate(log.lines(), 1):
        if clock.is_stamp(line):
            stamp, stamp_line = line.strip(), number
            continue
        cells = split(line, ",")
        if len(cells) < 5 or math.isnan(units.watts(cells[4])):
            continue  # another sensor, or the headings
        rows.append(
            (stamp, stamp_line or number, cells[1], units.quantity(cells[3])[0] * units.watts(cells[4]))
        )
    if not rows:
        raise log.empty("sensor in W")
    time = clock.utc([row[0] for row in rows], [row[1] for row in rows])
    return readings_of(time, [row[2] for row in rows], [row[3] for row in rows])
