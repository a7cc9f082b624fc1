"""``ipmitool dcmi power reading``, repeated, with the logger's or the controller's time stamps."""

from __future__ import annotations

from typing import Any

import xarray as xr

from analysis.readers.power import blocks
from analysis.readers.power.base import PowerLog

LABELS = blocks.Labels("Instantaneous power reading", "IPMI timestamp", "Power reading state is", "activated")


def sniff(head: bytes, name: str) -> bool:
    """Tell whether these are blocks of ``dcmi power reading``."""
    return b"Instantaneous power reading" in head


def parse(data: bytes, source: str = "<memory>", **options: Any) -> xr.Dataset:
    """Parse a log of ``ipmitool dcmi power reading``.

    Parameters
    ----------
    data : bytes
    source : str, optional
    **options
        See `analysis.readers.power.base.Options`.

    Returns
    -------
    Dataset
        Kind ``power``; a meter per node where lines have a prefix ``node01:``.

    Raises
    ------
    ReadError
        If there is no reading.
    """
    log = PowerLog(data, source, options)
    readings = blocks.read(log, LABELS, order="mdy")
    return log.dataset(readings, tool="ipmitool dcmi", location="node input, by the BMC")
