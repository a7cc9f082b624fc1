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


def sniff(head: bytes, name: str) -> bool:
    """Tell whether this is HDF5 with Slurm's fields."""
    return head.startswith(_MAGIC) and b"Energy" in head and (b"EpochTime" in head or b"ElapsedTime" in head)


@reads("Slurm HDF5 profile", "node, as acct_gather_energy has it")
def parse(log: MeterLog) -> MeterReadings:
    """Parse the series ``Energy`` of each node (and sensor), of its own file or of sh5util's merged one."""
    import h5py

    series: list[tuple[str, np.ndarray]] = []

    def collect(path: str, node: Any) -> None:
        names = getattr(getattr(node, "dtype", None), "names", None) or ()
        if isinstance(node, h5py.Dataset) and any("Power" in name for name in names):
            series.append((path, node[()]))

    try:
        with h5py.File(io.BytesIO(log.data), "r") as file:
            file.visititems(collect)
    except (OSError, RuntimeError, KeyError) as error:
        raise ReadError.at(log.source, 0, f"broken HDF5 ({error})"[:120], "copy it again") from error
    if not series:
        raise log.empty("series with a field Power")
    return _readings(log, series)


def _readings(log: MeterLog, series: list[tuple[str, np.ndarray]]) -> MeterReadings:
    times, codes, powers, names = [], [], [], []
    zero = None
    for path, rows in series:
        fields = rows.dtype.names or ()
        if "EpochTime" in fields:
            time = rows["EpochTime"].astype(np.int64) * SECOND
        else:
            zero = Stamps(log).start() if zero is None else zero
            field = "ElapsedTime" if "ElapsedTime" in fields else "Time"
            time = zero + rows[field].astype(np.int64) * SECOND
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
