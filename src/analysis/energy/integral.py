"""Energy of windows of time from power datasets: per meter, with coverage, bounds and uncertainty."""

from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from analysis.base.errors import BenchbookError
from analysis.base.units import SECOND
from analysis.energy.track import NAT, time_stamps, tracks
from analysis.schema import registry

# A meter that reports every second and misses two reports is late; more than that is a gap.
GAP_INTERVALS = 3.0

_SUMS = ("energy", "low", "high", "covered", "variance", "step")
# The parts of an uncertainty, ``uncertainty_<part>``.
UNCERTAIN = ("sampling", "coverage", "accuracy", "clock")

_UNITS = {
    "energy": ("J", "best estimate; gaps by straight lines, ends held; NaN where nothing is covered"),
    "energy_low": ("J", "lower bound: gaps at the least power"),
    "energy_high": ("J", "upper bound: gaps at the greatest power"),
    "mean_power": ("W", "energy over duration"),
    "covered": ("1", "share of the window that readings cover"),
    "uncertainty": ("J", "standard uncertainty, the parts combined"),
    "uncertainty_sampling": ("J", "part from the time between readings"),
    "uncertainty_coverage": ("J", "part from what is not covered"),
    "uncertainty_accuracy": ("J", "part from the meter; NaN where its accuracy is not known"),
    "uncertainty_clock": ("J", "part from the clock between meter and cluster"),
    "energy_above_idle": ("J", "energy less idle power times duration"),
    "duration": ("s", "length of the window"),
}


def energy(
    ds: xr.Dataset,
    start: Any,
    end: Any,
    *,
    max_gap: float | None = None,
    power_range: tuple[float, float] | None = None,
    idle: xr.DataArray | float | None = None,
    clock_error: float = 0.0,
    bridge: bool = False,
) -> xr.Dataset:
    """Integrate power over one or many windows, for each meter of a dataset of kind ``power``.

    `start` and `end` are any times (UTC unless they have a zone) or DataArrays along one dimension, which
    the result keeps; NaT gives NaN. Between readings with more than `max_gap` s between them (by default
    `GAP_INTERVALS` times the meter's interval) the energy is only bounded, by `power_range` (least and
    greatest W) or by the meter's readings in the log. `idle` (W) adds ``energy_above_idle``; `clock_error`
    is the standard uncertainty of the meter's offset in s; `bridge` also estimates windows that nothing
    covers, as parts of a longer one. Returned are the variables of `_UNITS` by (window, meter), or (meter)
    for a single window. Raises SchemaError, or BenchbookError if a window ends before it starts.

    Momentary readings are joined by straight lines; a counter's energy or an interval's mean power is used
    as it is. Sampling: the true mean is uniform between readings p1 and p2, so that an interval adds the
    variance (p2 - p1)² dt² / 12; where a window cuts a counter's interval of energy e at the share f,
    (e min(f, 1 - f))² / 3. Coverage: (high - low) / √12. Accuracy: the limit a of the reading is uniform,
    a E / √3. Clock: a shift of the window by s adds s d, of the difference d of the powers at its ends.
    """
    registry.check(ds, str(ds.encoding.get("source", "power dataset")))
    dim, coords, begin, stop = windows(start, end)
    limit = float(max_gap) if max_gap is not None else _default_gap(ds)
    origin = int(min(begin[begin != NAT].min(initial=2**62), _first(ds)))
    bad = (begin == NAT) | (stop == NAT)
    a, b = (np.where(bad, 0.0, (t - origin) / SECOND) for t in (begin, stop))
    shape = (ds.sizes["meter"], a.size)
    sums = {name: np.full(shape, 0.0 if name == "covered" else np.nan) for name in _SUMS}
    for one in tracks(ds, origin, limit, power_range):
        part = one.between(a, b)
        for name in _SUMS[:-1]:
            sums[name][one.meters] = getattr(part, name)
        sums["step"][one.meters] = np.abs(one.power(b) - one.power(a))
    accuracy = float(ds.attrs.get("accuracy", np.nan))
    columns = _columns(sums, b - a, accuracy, clock_error, bridge=bridge)
    dims = (dim, "meter") if dim else ("meter",)
    data = {}
    for name, values in columns.items():
        values[:, bad] = np.nan
        data[name] = (dims, values.T if dim else values[:, 0])
    seconds = np.where(bad, np.nan, b - a)
    out = xr.Dataset(data, coords={"meter": ds["meter"].values, **coords})
    out["duration"] = ((dim,), seconds) if dim else ((), seconds[0])
    out["mean_power"] = out["energy"] / out["duration"].where(out["duration"] > 0)
    out["uncertainty"] = _combined(out)
    if idle is not None:
        out["energy_above_idle"] = out["energy"] - idle * out["duration"]
    return _described(out, limit, ds)


def total(result: xr.Dataset, *, correlated: bool = True) -> xr.Dataset:
    """Sum the energies of meters that together feed a job, by `energy`; NaN where one of them has none.

    `correlated` adds their accuracies linearly, as for meters of one make with one calibration; sampling,
    coverage and clock add in squares. ``covered`` is the mean over meters.
    """
    out = xr.Dataset(attrs=result.attrs)
    linear = ["energy", "energy_low", "energy_high", "mean_power"]
    linear += ["energy_above_idle"] if "energy_above_idle" in result else []
    linear += ["uncertainty_accuracy"] if correlated else []
    for name in linear:
        out[name] = result[name].sum("meter", skipna=False)
    out["covered"] = result["covered"].mean("meter")
    for name in (f"uncertainty_{part}" for part in UNCERTAIN):
        if name not in out:
            out[name] = (result[name] ** 2).sum("meter", skipna=False) ** 0.5
    out["duration"] = result["duration"]
    out["uncertainty"] = _combined(out)
    return _with_units(out)


def _columns(
    sums: dict[str, np.ndarray], length: np.ndarray, accuracy: float, clock_error: float, *, bridge: bool
) -> dict[str, np.ndarray]:
    """Return the variables of the result, shape (meter, window)."""
    share = np.divide(sums["covered"], length, out=np.zeros(sums["covered"].shape), where=length > 0)
    joules = sums["energy"] if bridge else np.where(share > 0, sums["energy"], np.nan)
    return {
        "energy": joules,
        "energy_low": sums["low"],
        "energy_high": sums["high"],
        "covered": np.clip(share, 0.0, 1.0),
        "uncertainty_sampling": np.sqrt(sums["variance"]),
        "uncertainty_coverage": (sums["high"] - sums["low"]) / np.sqrt(12),
        "uncertainty_accuracy": np.abs(joules) * accuracy / np.sqrt(3),
        "uncertainty_clock": clock_error * sums["step"],
    }


def _combined(result: xr.Dataset) -> xr.DataArray:
    """Combine the parts; an unknown accuracy cannot widen the sum, the attributes say that it is missing."""
    parts = [result[f"uncertainty_{part}"] for part in UNCERTAIN]
    squares = sum((part.fillna(0.0) ** 2 for part in parts), xr.zeros_like(parts[0]))
    return (squares**0.5).where(result["energy"].notnull())


def windows(start: Any, end: Any) -> tuple[Hashable | None, dict[Hashable, Any], np.ndarray, np.ndarray]:
    """Return windows' dimension (None for a single one), coordinates, and both ends in ns UTC."""
    dim: Hashable | None = None
    coords: dict[Hashable, Any] = {}
    for given in (start, end):
        if isinstance(given, xr.DataArray) and given.ndim == 1:
            dim, coords = given.dims[0], dict(given.coords) | coords
    single = dim is None and np.ndim(_plain(start)) == 0 and np.ndim(_plain(end)) == 0
    begin, stop = np.broadcast_arrays(instants(start), instants(end))
    missing = (begin == NAT) | (stop == NAT)
    if ((stop < begin) & ~missing).any():
        first = int(np.flatnonzero((stop < begin) & ~missing)[0])
        raise BenchbookError.at("energy", 0, f"window {first} ends before it starts", "swap start and end")
    if dim is None and not single:
        dim = "window"
    return dim, coords, begin, stop


def _plain(times: Any) -> Any:
    return times.values if isinstance(times, xr.DataArray) else times


def instants(times: Any) -> np.ndarray:
    """Return times as ns since 1970 UTC, shape (n,)."""
    values = np.atleast_1d(np.asarray(_plain(times)))
    if values.dtype.kind == "M":
        return values.astype("datetime64[ns]").view(np.int64)
    stamps = pd.DatetimeIndex(pd.to_datetime(list(values.ravel()), utc=True))
    whole: np.ndarray = stamps.tz_localize(None).to_numpy().astype("datetime64[ns]").view(np.int64)
    return whole


def _default_gap(ds: xr.Dataset) -> float:
    interval = float(ds.attrs.get("interval", np.nan))
    return GAP_INTERVALS * interval if interval > 0 else np.inf


def _first(ds: xr.Dataset) -> int:
    stamps = time_stamps(ds)
    return int(stamps[stamps != NAT].min(initial=2**62))


def _described(out: xr.Dataset, limit: float, ds: xr.Dataset) -> xr.Dataset:
    accuracy = float(ds.attrs.get("accuracy", np.nan))
    out.attrs = {
        "max_gap": limit,
        "accuracy": accuracy,
        "accuracy_included": bool(np.isfinite(accuracy)),
        "location": ds.attrs.get("location", ""),
        "tool": ds.attrs.get("tool", ""),
        "clock_offset": float(ds.attrs.get("clock_offset", 0.0)),
    }
    return _with_units(out)


def _with_units(out: xr.Dataset) -> xr.Dataset:
    for name in map(str, out.data_vars):
        out[name].attrs.update(zip(("units", "long_name"), _UNITS[name], strict=True))
    return out
