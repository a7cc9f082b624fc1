"""Slurm's HDF5 profile (acct_gather_profile/hdf5): time series of node power."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import xarray as xr

from analysis.errors import ReadError
from analysis.readers.power.base import NAT, SECOND, PowerLog, Readings
from analysis.readers.power.clock import Clock

_MAGIC = b"\x89HDF\r\n\x1a\n"


def sniff(head: bytes, name: str) -> bool:
    """Tell whether this is HDF5 with Slurm's fields."""
    return head.startswith(_MAGIC) and b"Energy" in head and (b"EpochTime" in head or b"ElapsedTime" in head)


def parse(data: bytes, source: str = "<memory>", **options: Any) -> xr.Dataset:
    """Parse the series ``Energy`` of each node, of a node's own file or of sh5util's merged one.

    Parameters
    ----------
    data : bytes
    source : str, optional
    **options
        See `analysis.readers.power.base.Options`.

    Returns
    -------
    Dataset
        Kind ``power``; a meter per node (and sensor).

    Raises
    ------
    ReadError
        If the file is damaged or has no series of power.
    """
    log = PowerLog(data, source, options)
    import h5py

    series: list[tuple[str, np.ndarray]] = []

    def collect(path: str, node: Any) -> None:
        names = getattr(getattr(node, "dtype", None), "names", None) or ()
        if isinstance(node, h5py.Dataset) and any("Power" in name for name in names):
            series.append((path, node[()]))

    try:
        with h5py.File(io.BytesIO(data), "r") as file:
            file.visititems(collect)
    except (OSError, RuntimeError, KeyError) as error:
        raise ReadError.at(source, 0, f"broken HDF5 ({error})"[:120], "copy it again") from error
    if not series:
        raise log.empty("series with a field Power")
    return log.dataset(
        _readings(log, series), tool="Slurm HDF5 profile", location="node, as acct_gather_energy has it"
    )


def _readings(log: PowerLog, series: list[tuple[str, np.ndarray]]) -> Readings:
    times, codes, powers, names = [], [], [], []
    zero = None
    for path, rows in series:
        fields = rows.dtype.names or ()
        if "EpochTime" in fields:
            time = rows["EpochTime"].astype(np.int64) * SECOND
        else:
            zero = Clock(log).start() if zero is None else zero
            field = "ElapsedTime" if "ElapsedTime" in fields else "Time"
            time = zero + rows[field].astype(np.int64) * SECOND
        for field in (name for name in fields if "Power" in name):
            names.append(_meter(path) + ("" if field == "Power" else f"/{field}"))
            value = rows[field].astype(float)
            powers.append(np.where(value >= 2.0**32 - 2, np.nan, value))  # NO_VAL
            times.append(np.where(time <= 0, NAT, time))
            codes.append(np.full(time.size, len(names) - 1, dtype=np.int32))
    return Readings(np.concatenate(times), np.concatenate(codes), names, np.concatenate(powers))


def _meter(path: str) -> str:
    parts = [
        p for p in path.split("/") if p not in ("Steps", "Nodes", "Time Series", "Energy", "Energy Data")
    ]
    return "/".join(reversed(parts)) or "node"
