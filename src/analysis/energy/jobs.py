"""Energy of jobs that share meters: nodes in one rack, jobs on one node, a switch for all."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from analysis.base.errors import BenchbookError
from analysis.base.units import SECOND
from analysis.energy.integral import UNCERTAIN, energy, instants, total, windows
from analysis.energy.track import NAT, time_stamps
from analysis.schema import registry

_PARTS = ("energy", "energy_low", "energy_high", *(f"uncertainty_{part}" for part in UNCERTAIN))


def shared(
    ds: xr.Dataset,
    start: Any,
    end: Any,
    *,
    weights: Any = None,
    feeds: Any = None,
    spare: str = "to none",
    **integration: Any,
) -> xr.Dataset:
    """Split the energy of meters between jobs that run at the same time; windows as of `energy`, one a job.

    Between any two starts or ends a meter's energy goes in equal parts to the nodes that it feeds (`feeds`,
    bool (meter, node); by default one each, or all where `weights` has another number of nodes), and a
    node's part to the jobs on it by `weights` (job, node), such as ranks, 0 where a job does not run. The
    part of a node without a job goes ``to none``, or by `spare` ``to jobs``: a meter's whole energy goes to
    the nodes in use, as for a switch that serves them. `integration` is passed to `energy`.

    Returned by job: the variables of `total` over the meters of its nodes, without an estimate where one of
    them read nothing while it ran; ``shared`` (1): the share of its time in which it had less than a whole
    meter; ``part`` (job, meter): its mean part of each; ``metered``: whether meters feed all its nodes.
    """
    dim, coords, begin, stop = windows(start, end)
    if ((begin == NAT) | (stop == NAT)).any():
        raise BenchbookError.at("energy", 0, "a job without start or end", "leave it out of the split")
    weight, fed = _tables(weights, feeds, begin.size, ds.sizes["meter"])
    parts = []
    for meter in range(ds.sizes["meter"]):
        jobs = np.flatnonzero((weight[:, fed[meter]] > 0).any(axis=1))
        one = _Jobs(begin[jobs], stop[jobs], weight[jobs][:, fed[meter]], spare == "to jobs")
        parts.append((jobs, _of_meter(ds.isel(meter=[meter]), one, integration)))
    seconds = (stop - begin) / SECOND
    out = _by_job(parts, seconds, ds["meter"].values)
    on = out["part"].notnull()
    lost = out["blind"].any("meter") | ~on.any("meter")
    joules = out[[*_PARTS, "covered", "mean_power"]].fillna(0.0)
    known = joules.where(~lost).assign(joules[["energy_low", "energy_high"]].where(on.any("meter")))
    summed = total(known.assign(duration=out["duration"]))
    summed["covered"] = out["covered"].where(on).mean("meter")
    alone = out["own"].where(on).min("meter")
    summed["shared"] = (1 - alone).clip(0, 1)
    summed["shared"].attrs = {"units": "1", "long_name": "part of the time with less than a whole meter"}
    summed["part"] = out["part"]
    reached = fed.any(axis=0)
    summed["metered"] = ("job", ~((weight > 0) & ~reached).any(axis=1))
    summed["mean_power"] = summed["energy"] / summed["duration"].where(summed["duration"] > 0)
    return summed.rename({"job": "job" if dim in (None, "window") else dim}).assign_coords(coords)


@dataclass(frozen=True, slots=True)
class _Jobs:
    """The jobs on one meter: windows in ns, weights (job, node) on the nodes that it feeds."""

    begin: np.ndarray
    stop: np.ndarray
    weight: np.ndarray
    spare: bool

    def edges(self) -> np.ndarray:
        return np.unique(np.concatenate((self.begin, self.stop)))

    def shares(self, edges: np.ndarray) -> np.ndarray:
        """Return each job's part of the meter between any two edges, shape (job, piece)."""
        active = (self.begin[:, None] <= edges[:-1]) & (self.stop[:, None] >= edges[1:])
        share = np.zeros(active.shape)
        used = np.zeros(active.shape[1])
        for node in self.weight.T:
            claims = active * node[:, None]
            claimed = claims.sum(axis=0)
            share += np.divide(claims, claimed, out=np.zeros(claims.shape), where=claimed > 0)
            used += claimed > 0
        nodes = np.maximum(used, 1.0) if self.spare else float(self.weight.shape[1])
        parts: np.ndarray = share / nodes
        return parts


def _tables(weights: Any, feeds: Any, jobs: int, meters: int) -> tuple[np.ndarray, np.ndarray]:
    """Return weights (job, node) and feeds (meter, node) with their defaults filled in."""
    weight = np.ones((jobs, meters)) if weights is None else np.asarray(weights, dtype=float)
    if feeds is not None:
        return weight, np.asarray(feeds, dtype=bool)
    single = weight.shape[1] == meters
    return weight, np.eye(meters, dtype=bool) if single else np.ones((meters, weight.shape[1]), dtype=bool)


def _of_meter(ds: xr.Dataset, jobs: _Jobs, integration: dict[str, Any]) -> dict[str, np.ndarray]:
    """Give one meter's energy to its jobs; every array of shape (job,)."""
    if jobs.begin.size == 0:
        return {}
    edges = jobs.edges()
    length = np.diff(edges) / SECOND
    share = jobs.shares(edges)
    # Jobs without a length have no piece of their own.
    pieces = energy(
        ds, *(e.view("datetime64[ns]") for e in (edges[:-1], edges[1:])), bridge=True, **integration
    )
    found = {}
    for name in _PARTS:
        values = pieces[name].values[:, 0]
        clean = np.nan_to_num(values)
        if name.startswith("uncertainty") and name != "uncertainty_accuracy":  # a meter errs alike in all
            found[name] = np.sqrt(share**2 @ clean**2)
        else:
            found[name] = np.where((share > 0) @ np.isnan(values).astype(float) > 0, np.nan, share @ clean)
    seen = (share > 0) @ (pieces["covered"].values[:, 0] * length)
    held = (share > 0) @ length
    seconds = (jobs.stop - jobs.begin) / SECOND
    long = np.where(seconds > 0, seconds, np.nan)
    found["covered"] = np.clip(seen / long, 0.0, 1.0)
    # 1 - 1e-9: a sum of parts of a node may fall short of it by rounding.
    found["own"] = (share > 1 - 1e-9) @ length / np.where(held > 0, held, np.nan)
    found["part"] = share @ length / long
    found["blind"] = ~(found["covered"] > 0)
    return found


def _by_job(
    parts: list[tuple[np.ndarray, dict[str, np.ndarray]]], seconds: np.ndarray, meters: np.ndarray
) -> xr.Dataset:
    """Join the meters: variables (job, meter), NaN where a job has no part of a meter."""
    names = [*_PARTS, "covered", "own", "part"]
    table = {name: np.full((seconds.size, meters.size), np.nan) for name in names}
    blind = np.zeros((seconds.size, meters.size), dtype=bool)
    for meter, (jobs, found) in enumerate(parts):
        for name, values in found.items():
            (blind if name == "blind" else table[name])[jobs, meter] = values
    out = xr.Dataset({name: (("job", "meter"), values) for name, values in table.items()})
    out["blind"] = (("job", "meter"), blind)
    out["duration"] = ("job", seconds)
    out["mean_power"] = out["energy"] / out["duration"]
    return out.assign_coords(meter=meters)


# A shift that raises the energy by less than this share of it may be noise.
_LEAST_CONTRAST = 0.02


def idle_power(ds: xr.Dataset, start: Any, end: Any, *, margin: float = 0.0) -> xr.Dataset:
    """Find each meter's power while no job ran, `margin` s away from all of them.

    By meter: ``idle`` (W, median, NaN without a reading), ``idle_low idle_high`` (quartiles), ``readings``.
    """
    registry.check(ds)
    _, _, begin, stop = windows(start, end)
    good = (begin != NAT) & (stop != NAT)
    pad = round(margin * SECOND)
    begin, stop = np.sort(begin[good] - pad), np.sort(stop[good] + pad)
    stamps = time_stamps(ds)
    # Jobs begun less jobs ended counts those that run.
    running = np.searchsorted(begin, stamps, side="right") - np.searchsorted(stop, stamps, side="left")
    free = ds["power"].values[:, (running == 0) & (stamps != NAT)]
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

    A job raises the power: of all shifts of the windows, `reach` s to either side in steps of `step` s (by
    default a quarter of the interval), the best is the one under which they hold the most energy. Returned
    are the scalars ``offset`` (s to add to the meter's clock), ``resolution`` (s: half the shifts that are as
    good as the best) and ``contrast`` (energy gained over the least). BenchbookError if no edge is found.
    """
    registry.check(ds)
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
    half = max(0.5 * float(shifts[near[-1]] - shifts[near[0]]), fine)
    return xr.Dataset(
        {
            # Windows moved by +s fit: the meter runs ahead by s.
            "offset": ((), -float(middle), {"units": "s"}),
            "resolution": ((), half, {"units": "s"}),
            "contrast": ((), (top - least) / least, {"units": "1"}),
        }
    )
