"""Any CSV with time and power: rack PDUs, SNMP polls, home-made loggers; columns found or declared."""

from __future__ import annotations

from typing import Any

import xarray as xr

from analysis.errors import ReadError
from analysis.readers.power import csvtable
from analysis.readers.power.base import NAT, PowerLog
from analysis.readers.power.clock import Clock
from analysis.readers.power.layout import Headings, find, split

HEADINGS = Headings()
_HEAD_LINES = 25


def sniff(head: bytes, name: str) -> bool:
    """Tell whether a line of headings with time and power stands at the top, and stamps below it."""
    lines = head.decode("utf-8-sig", errors="replace").splitlines()[:_HEAD_LINES]
    try:
        layout = find(lines, HEADINGS, None, name)
    except ReadError:
        return False
    clock = Clock(PowerLog(b"", name, {"date_order": "mdy"}))
    rows = (split(line, layout.delimiter) for line in lines[layout.header :] if line.strip())
    stamps = (" ".join(row[i] for i in layout.time) for row in rows if len(row) > max(layout.time))
    return any(clock.utc([stamp], [0], report=False)[0] != NAT for stamp in list(stamps)[:3])


def parse(data: bytes, source: str = "<memory>", **options: Any) -> xr.Dataset:
    """Parse a CSV of powers, long (a row per meter and time) or wide (a column per meter).

    Parameters
    ----------
    data : bytes
    source : str, optional
    **options
        See `analysis.readers.power.base.Options`; ``columns`` maps the columns where their headings
        do not say enough (see `analysis.readers.power.layout`).

    Returns
    -------
    Dataset
        Kind ``power``.

    Raises
    ------
    ReadError
        If there are no columns of time and power, or dates whose order nothing tells.
    """
    log = PowerLog(data, source, options)
    return log.dataset(csvtable.read(log, HEADINGS), tool="CSV", location="")
