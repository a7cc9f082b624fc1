"""Jobs and meters: idle power, energy of jobs that share a meter, offset of the meter's clock."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from analysis import schema
from analysis.energy import energy, instants, windows
from analysis.energy_split import shared
from analysis.energy_track import SECOND
from analysis.errors import BenchbookError

__all__ = ["clock_offset", "idle_power", "shared"]

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
