"""``rocm-smi --showpower --json``, once or repeated."""

from __future__ import annotations

import re
from typing import Any

import xarray as xr

from analysis.readers.power import snapshots, units
from analysis.readers.power.base import PowerLog
from analysis.readers.power.clock import Clock
from analysis.readers.power.documents import documents

_KEY = re.compile(
    r"^(Average|Current)( Socket)? Graphics Package Power|^(Current )?Socket Power", re.IGNORECASE
)


def sniff(head: bytes, name: str) -> bool:
    """Tell whether this is rocm-smi's JSON with powers."""
    return b'"card0"' in head and b"Power (W)" in head


def parse(data: bytes, source: str = "<memory>", **options: Any) -> xr.Dataset:
    """Parse rocm-smi's JSON; MI300 shows the present power, older cards an average.

    Parameters
    ----------
    data : bytes
    source : str, optional
    **options
        See `analysis.readers.power.base.Options`.
        ``start`` is the time of a single document; several need a line with the time before each.

    Returns
    -------
    Dataset
        Kind ``power``; a meter per card.

    Raises
    ------
    ReadError
        If no card has a power.
    """
    log = PowerLog(data, source, options)
    clock = Clock(log)
    rows = []
    for stamp, line, document in documents(log, clock):
        for card, values in document.items() if isinstance(document, dict) else ():
            found = [key for key in values if _KEY.match(key)] if isinstance(values, dict) else []
            if found and card.startswith("card"):
                current = next((key for key in found if key.lower().startswith("current")), found[0])
                rows.append((stamp, line, card, units.quantity(str(values[current]))[0]))
    readings = snapshots.readings(log, clock, rows, "card with a power")
    return log.dataset(readings, tool="rocm-smi", location="GPU package")
