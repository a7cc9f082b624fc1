"""Jobs and meters: idle power, energy of jobs that share a meter, offset of the meter's clock."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from analysis import schema
from analysis.energy import energy, instants, total, windows
from analysis.energy_track import SECOND
from analysis.errors import BenchbookError

_NAT = np.iinfo(np.int64).min

# A shift that raises the energy by less than this share of it cannot be told from noise.
_LEAST_CONTRAST = 0.02


def idle_power(ds: xr.Dataset, start: Any, end: Any, *, margin: float = 0.0) -> xr.Dataset:
    """Find each meter's power while no job ran.

    Parameters
    ----------
    ds : Dataset
        Kind ``power``.
    start, end : times, shape (job,)
        Windows of all jobs on these meters.
    margin : float, optional
        s to keep away from the jobs, for what they leave warm.

    Returns
    -------
    Dataset
        By meter: ``idle`` (W, the median; NaN without a reading), ``idle_low`` and ``idle_high``
        (W, quartiles), ``readings`` (count).
    """
    schema.check(ds)
    _, _, begin, stop = windows(start, end)
    good = (begin != _NAT) & (stop != _NAT)
    pad = round(margin * SECOND)
    begin, stop = np.sort(begin[good] - pad), np.sort(stop[good] + pad)
    stamps = ds["time"].values.astype("datetime64[ns]").view(np.int64)
    # Jobs begun less jobs ended counts those that run.
    running = np.searchsorted(begin, stamps, side="right") - np.searchsorted(stop, stamps, side="left")
    free = ds["power"].values[:, (running == 0) & (stamps != _NAT)]
    rows = []
    for row in free:
        known = row[np.isfinite(row)]
        low, middle, high = np.quantile(known, (0.25, 0.5, 0.75)) if known.size else (np.nan,) * 3
        rows.append((middle, low, high, known.size))
    table = np.array(rows, dtype=float).reshape(-1, 4).T
    names = ("idle", "idle_low", "idle_high", "readings")
    out = xr.Dataset(
        {name: ("meter", values) for name, values in zip(names, table, strict=True)},
        coords={"meter": ds["meter"].values},
    )
    for name in names[:3]:
        out[name].attrs["units"] = "W"
    out["readings"] = out["readings"].astype(np.int64)
    return out


def shared(
    ds: xr.Dataset,
    start: Any,
    end: Any,
    *,
    weights: Any = None,
    on: Any = None,
    **integration: Any,
) -> xr.Dataset:
    """Split the energy of meters between jobs that run at the same time.

    Between any two starts or ends the energy of a meter goes to the jobs that run on it, in
    proportion to their weights; time in which no job runs is given to none.

    Parameters
    ----------
    ds : Dataset
        Kind ``power``.
    start, end : times, shape (job,)
        Windows of all jobs on these meters, also of those that are not asked for.
    weights : sequence of float, shape (job,), optional
        What the split goes by: cores, nodes. Equal parts by default.
    on : array of bool, shape (job, meter), optional
        Which job runs on what which meter feeds; by default every job on every meter.
    **integration
        ``max_gap``, ``power_range``, ``clock_error`` of `analysis.energy.energy`.

    Returns
    -------
    Dataset
        By job: ``energy energy_low energy_high uncertainty …`` as `analysis.energy.total` has them,
        and ``shared`` (1): the part of the job's time in which it shared a meter. The attribute
        ``sharing`` names the rule.
    """
    dim, coords, begin, stop = windows(start, end)
    dim = dim or "job"
    if ((begin == _NAT) | (stop == _NAT)).any():
        raise BenchbookError.at("energy", 0, "a job without start or end", "leave it out of the split")
    edges = np.unique(np.concatenate((begin, stop)))
    pieces = energy(ds, edges[:-1].view("datetime64[ns]"), edges[1:].view("datetime64[ns]"), **integration)
    active = (begin[:, None] <= edges[:-1]) & (stop[:, None] >= edges[1:])
    member = (
        np.ones((begin.size, ds.sizes["meter"]), dtype=bool) if on is None else np.asarray(on, dtype=bool)
    )
    weight = np.ones(begin.size) if weights is None else np.asarray(weights, dtype=float)
    # A piece within a gap has bounds but no estimate: the middle stands in for it.
    pieces["energy"] = pieces["energy"].fillna(0.5 * (pieces["energy_low"] + pieces["energy_high"]))
    names = [str(n) for n in pieces.data_vars if pieces[n].dims == ("window", "meter") and n != "mean_power"]
    found = {name: np.zeros((begin.size, ds.sizes["meter"])) for name in names}
    together = np.zeros(begin.size)
    length = np.diff(edges) / SECOND
    for meter in range(ds.sizes["meter"]):
        running = active * (weight * member[:, meter])[:, None]
        claimed = running.sum(axis=0)
        share = np.divide(running, claimed, out=np.zeros(running.shape), where=claimed > 0)
        crowded = np.count_nonzero(running > 0, axis=0) > 1
        together = np.maximum(together, ((running > 0) & crowded) @ length)
        for name in names:
            found[name][:, meter] = _summed(share, pieces[name].values[:, meter], name, length)
    out = xr.Dataset(
        {name: ((dim, "meter"), np.where(member, values, 0.0)) for name, values in found.items()},
        coords={"meter": ds["meter"].values, **coords},
        attrs=pieces.attrs | {"sharing": "equal parts" if weights is None else "by weight"},
    )
    seconds = (stop - begin) / SECOND
    out["duration"] = (dim, seconds)
    out["mean_power"] = out["energy"] / out["duration"]
    part = found["covered"] / np.where(seconds > 0, seconds, np.nan)[:, None]
    out["covered"] = ((dim, "meter"), np.where(member, part, np.nan))
    summed = total(out)
    summed["shared"] = (dim, together / np.where(seconds > 0, seconds, np.nan))
    summed["shared"].attrs = {"units": "1", "long_name": "part of the time in which a meter was shared"}
    return summed


def clock_offset(
    ds: xr.Dataset, start: Any, end: Any, *, reach: float = 120.0, step: float | None = None
) -> xr.Dataset:
    """Estimate the offset between the meter's clock and the cluster's from the jobs' edges.

    A job raises the power. Of all shifts of the windows the one under which they hold the most
    energy is where the edges in the power stand.

    Parameters
    ----------
    ds : Dataset
        Kind ``power``.
    start, end : times, shape (job,)
        Windows of jobs in the cluster's time, with idle time around them.
    reach : float, optional
        Greatest offset looked for, s.
    step : float, optional
        s; a quarter of the interval by default, and not under 10 ms.

    Returns
    -------
    Dataset
        Scalars ``offset`` (s to add to the meter's clock, as in the reader's option of that name),
        ``resolution`` (s: half the shifts whose energy cannot be told from the best) and
        ``contrast`` (energy gained over the least energy, as a share of it).

    Raises
    ------
    BenchbookError
        If no shift stands out: the power shows no edge.
    """
    schema.check(ds)
    fine = step or max(float(ds.attrs.get("interval", 1.0)) / 4, 0.01)
    begin, stop = instants(start), instants(end)
    shifts = np.arange(-round(reach / fine), round(reach / fine) + 1) * fine
    joules = np.zeros(shifts.size)
    for one, other in zip(begin, stop, strict=True):
        moved = [
            (t + np.round(shifts * SECOND).astype(np.int64)).view("datetime64[ns]") for t in (one, other)
        ]
        held = energy(ds, *moved, max_gap=np.inf)
        joules += held["energy"].where(held["covered"] == 1).sum("meter", skipna=False).values
    good = np.isfinite(joules)
    top = float(joules[good].max()) if good.any() else np.nan
    least = float(joules[good].min()) if good.any() else np.nan
    if not top > least * (1 + _LEAST_CONTRAST):
        found = "the power shows no edge at the windows' ends"
        raise BenchbookError.at("energy", 0, found, "declare the offset, or take jobs with idle time around")
    near = np.flatnonzero(good & (joules >= top - 0.01 * (top - least)))
    middle = 0.5 * (shifts[near[0]] + shifts[near[-1]])
    out = xr.Dataset(
        {
            # Windows moved by +s fit: the meter runs ahead by s.
            "offset": ((), -float(middle)),
            "resolution": ((), max(0.5 * float(shifts[near[-1]] - shifts[near[0]]), fine)),
            "contrast": ((), (top - least) / least),
        }
    )
    for name, unit in (("offset", "s"), ("resolution", "s"), ("contrast", "1")):
        out[name].attrs["units"] = unit
    return out


def _summed(share: np.ndarray, values: np.ndarray, name: str, length: np.ndarray) -> np.ndarray:
    """Sum a meter's pieces by job; what a job has no share in cannot spoil its sum."""
    if name == "covered":
        seconds: np.ndarray = (share > 0) @ (values * length)
        return seconds
    blank = (share > 0) @ np.isnan(values).astype(float) > 0
    clean = np.nan_to_num(values)
    if name in ("uncertainty_sampling", "uncertainty_coverage", "uncertainty_clock"):
        result = np.sqrt(share**2 @ clean**2)
    else:
        result = share @ clean
    summed: np.ndarray = np.where(blank, np.nan, result)
    return summed
