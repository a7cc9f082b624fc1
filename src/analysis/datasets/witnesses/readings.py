"""Numbers in short: what a witness needs of a result, and of a power log of a day of a cluster."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr

# Not measured, or printed with fewer digits than it takes to tell runs apart.
_STATED = {
    "data_memory", "official_time", "target_time", "local_size", "iterations", "line", "result", "work",
}  # fmt: skip
_STATED |= {"flops", "bytes", "count", "size", "partners", "resolution", "overlap", "validation"}
# Fewer readings can be equal by chance.
_SERIES = 8


@dataclass(frozen=True, slots=True)
class LogDigest:
    """A power log: its file, where it measures, its first and last reading, and W of each meter.

    `watts` has mean, least, greatest and number of readings of each meter; `series` a checksum of the
    readings of each, without times; empty for few readings or one value.
    """

    source: str
    location: str
    first: np.datetime64
    last: np.datetime64
    interval: float
    watts: Mapping[str, tuple[float, float, float, int]]
    series: Mapping[str, str]


def digest(ds: xr.Dataset, source: str) -> LogDigest:
    """Shorten a dataset of kind ``power``."""
    stamps = ds["time"].values
    known = stamps[~np.isnat(stamps)]
    nothing = np.datetime64("NaT", "ns")
    watts, series = {}, {}
    for name in ds["meter"].values:
        row = ds["power"].sel(meter=name).values.astype(float)
        read = row[np.isfinite(row)]
        if not read.size:
            continue
        meter = str(name)
        watts[meter] = float(read.mean()), float(read.min()), float(read.max()), int(read.size)
        varied = read.size >= _SERIES and np.unique(read).size >= _SERIES // 2
        series[meter] = hashlib.sha256(read.tobytes()).hexdigest() if varied else ""
    return LogDigest(
        source, str(ds.attrs.get("location", "")), known.min() if known.size else nothing,
        known.max() if known.size else nothing, float(ds.attrs.get("interval", np.nan)), watts, series,
    )  # fmt: skip


def figures(result: xr.Dataset) -> np.ndarray:
    """Return what a result has measured, as one array; counts and what the user asked for are left out."""
    names = [
        str(name)
        for name, values in result.data_vars.items()
        if values.dtype.kind == "f" and name not in _STATED and not str(name).endswith("_resolution")
    ]
    parts = [np.atleast_1d(result[name].values).ravel() for name in sorted(names)]
    whole = np.concatenate(parts) if parts else np.array([])
    known: np.ndarray = whole[np.isfinite(whole) & (whole > 0)]
    return known
