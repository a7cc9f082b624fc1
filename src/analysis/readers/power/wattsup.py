"""Watts up? meters: records ``#d,-,18,<tenths of W>,<tenths of V>,…;``."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import xarray as xr

from analysis.readers.power.base import SECOND, PowerLog, readings_of
from analysis.readers.power.clock import Clock

_RECORD = re.compile(r"^(?P<stamp>.*?)[\s,;]*#d,-,\d+,(?P<tenths>\d+|_)[,;](?P<rest>.*)$")


def sniff(head: bytes, name: str) -> bool:
    """Tell whether these are the meter's data records."""
    return b"#d,-," in head


def parse(data: bytes, source: str = "<memory>", **options: Any) -> xr.Dataset:
    """Parse data records; ``_`` is a field that the meter does not log.

    Parameters
    ----------
    data : bytes
    source : str, optional
    **options
        See `analysis.readers.power.base.Options`.
        Records have no time unless the logger wrote one before them: then ``start`` and
        ``interval`` (1 s by default) place them.

    Returns
    -------
    Dataset
        Kind ``power``; the maker states 1.5 % of the reading (and 0.3 W, which counts below 20 W).

    Raises
    ------
    ReadError
        If there is no record.
    """
    log = PowerLog(data, source, options)
    stamps, lines, power = [], [], []
    for number, line in enumerate(log.lines(), 1):
        record = _RECORD.match(line.strip("\x00"))
        if record is None:
            continue
        if not record["rest"].rstrip().endswith(";"):
            log.faults.damage(number, "a record without its closing ';'", "not used")
            continue
        stamps.append(record["stamp"].strip(" ,;\t"))
        lines.append(number)
        power.append(float("nan") if record["tenths"] == "_" else int(record["tenths"]) / 10)
    if not stamps:
        raise log.empty("record '#d'")
    clock = Clock(log)
    if all(stamps):
        time = clock.utc(stamps, lines)
    else:
        step = log.options.interval if log.options.interval > 0 else 1.0
        time = clock.start() + np.round(np.arange(len(power)) * step * SECOND).astype(np.int64)
    readings = readings_of(time, [log.options.meter or "wattsup"] * len(power), power)
    return log.dataset(readings, tool="Watts up?", location="AC input, plug meter", accuracy=0.015)
