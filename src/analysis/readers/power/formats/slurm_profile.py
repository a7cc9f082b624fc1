"""Slurm's HDF5 profile (acct_gather_profile/hdf5): time series of node power."""

import io
from typing import Any

import numpy as np

from analysis.base.errors import ReadError
from analysis.base.units import SECOND
from analysis.readers.power.clock import Stamps
from analysis.readers.power.log import NAT, MeterLog, MeterReadings
from analysis.readers.power.rows import reads

_MAGIC = b"\x89HDF\r\n\x1a\n"
_TIMES = ("EpochTime", "ElapsedTime", "Time")
# What h5py raises for damaged files, beside what it documents: sizes beyond 2**63 or the memory, types
# without a name, text that is no UTF-8.
_BROKEN = (OSError, RuntimeError, KeyError, ValueError, TypeError, OverflowError, MemoryError)


def sniff(head: bytes, name: str) -> bool:
    """Tell whether this is HDF5 with Slurm's fields."""
    return head.startswith(_MAGIC) and b"Energy" in head and (b"EpochTime" in head or b"ElapsedTime" in head)


@reads("Slurm HDF5 profile", "node, as acct_gather_energy has it")
def parse(log: MeterLog) -> MeterReadings:
    """Parse the series ``Energy`` of each node (and sensor), of its own file or of sh5util's merged one."""
    import h5py

    series: list[tuple[str, np.ndarray]] = []

    def collect(path: str | bytes, node: Any) -> None:
        names = getattr(getattr(node, "dtype", None), "names", None) or ()
        if not isinstance(node, h5py.Dataset) or not any("Power" in name for name in names):
            return
        name = path if isinstance(path, str) else path.decode(errors="replace")
        if node.ndim == 1 and not set(_TIMES).isdisjoint(names):
            series.append((name, node[()]))
        else:
            log.faults.damage(0, f"series {name!r} has no column of times", "left out; copy the file again")

    try:
        with h5py.File(io.BytesIO(log.data), "r") as file:
            file.visititems(collect)
    except _BROKEN as error:
        raise ReadError.at(log.source, 0, f"broken HDF5 ({error})"[:120], "copy it again") from error
    if not series:
        raise log.empty("series with a field Power")
    return _readings(log, series)


def _readings(log: MeterLog, series: list[tuple[str, np.ndarray]]) -> MeterReadings:
    times, codes, powers, names = [], [], [], []
    zero = None
    for path, rows in series:
        fields = rows.dtype.names or ()
        field = next(name for name in _TIMES if name in fields)
        time = rows[field].astype(np.int64) * SECOND
        if field != "EpochTime":
            zero = Stamps(log).start() if zero is None else zero
            time += zero
        for field in (name for name in fields if "Power" in name):
            names.append(_meter(path) + ("" if field == "Power" else f"/{field}"))
            value = rows[field].astype(float)
            powers.append(np.where(value >= 2.0**32 - 2, np.nan, value))  # NO_VAL
            times.append(np.where(time <= 0, NAT, time))
            codes.append(np.full(time.size, len(names) - 1, dtype=np.int32))
    return MeterReadings(np.concatenate(times), np.concatenate(codes), names, np.concatenate(powers))


def _meter(path: str) -> str:
    common = ("Steps", "Nodes", "Time Series", "Energy", "Energy Data")
    return "/".join(part for part in reversed(path.split("/")) if part not in common) or "node"
