"""The tables of one profile: calls, messages, ranks, matrix.

Every function takes a dataset of kind ``profile`` and sums its observations; rows of the observations that
belong to no rank (``rank`` -1, a summary over all) count in the sums only.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

# Calls whose payload a rank hands to the network for one partner. Sendrecv is profiled by its send side.
_SENDS = "Send Ssend Rsend Bsend Isend Issend Irsend Ibsend Sendrecv Sendrecv_replace"
SENDS = frozenset(f"MPI_{name}" for name in _SENDS.split())
# Calls that combine data of all ranks, in as many rounds as their number has bits.
_REDUCTIONS = (
    "Allreduce Reduce Bcast Barrier Scan Exscan Gather Gatherv Scatter Scatterv Allgather Allgatherv"
)
REDUCTIONS = frozenset(f"MPI_{name}" for name in _REDUCTIONS.split())
TRANSPOSES = frozenset({"MPI_Alltoall", "MPI_Alltoallv", "MPI_Alltoallw"})
# Calls that only look up or manage: they are in profiles but are no communication.
HOUSEKEEPING = frozenset({"MPI_Init", "MPI_Init_thread", "MPI_Finalize", "MPI_Comm_rank", "MPI_Comm_size"})
_PART = 1 << 18  # observations at a time
# Each double is a whole number of 1 / _UNIT: a sum of such does not depend on the order of its parts.
_LEAST = 1073
_UNIT = 1 << 53 + _LEAST
_Sums = defaultdict[Any, int]


def joined(each: Mapping[int, xr.Dataset]) -> xr.Dataset:
    """Join profiles of single ranks, given by rank. The totals are those of all ranks."""
    first, last = each[min(each)], each[max(each)]
    ds = xr.concat([one.drop_dims("rank") for one in each.values()], "obs", combine_attrs="override")
    for name, variable in last.variables.items():
        if variable.dims == ("rank",):
            values = variable.values.copy()
            for rank, one in each.items():
                values[rank] = one.variables[name].values[rank]
            ds = (
                ds.assign_coords({name: ("rank", values)})
                if name in last.coords
                else ds.assign({name: variable.copy(data=values)})
            )
    totals = {
        name: math.fsum(one.attrs.get(name, math.nan) for one in each.values())
        for name in ("app_time_total", "mpi_time_total")
    }
    starts = [one.attrs["start"] for one in each.values() if "start" in one.attrs]
    return ds.assign_attrs(
        {name: total for name, total in totals.items() if math.isfinite(total)}
        | ({"start": min(starts)} if starts else {})
        | {"complete": all(one.attrs["complete"] for one in each.values())}
        | {"ranks_expected": first.attrs["ranks_expected"]}
    )


def _observations(ds: xr.Dataset, *names: str) -> pd.DataFrame:
    return pd.DataFrame({name: ds[name].values for name in names})


def _parts(ds: xr.Dataset, *columns: str) -> Iterator[dict[str, xr.Variable]]:
    """Give the observations in parts, those of a rank in one: all at once need several times their memory."""
    rank = ds["rank"].values
    heads = np.append(0, np.flatnonzero(rank[1:] != rank[:-1]) + 1)
    whole = pd.unique(rank[heads[: len(rank)]]).size == heads.size
    at = np.searchsorted(heads, np.arange(_PART if whole else len(rank), len(rank), _PART), "right") - 1
    cuts = [*np.unique(heads[[0, *at]]).tolist(), len(rank)]
    del rank
    for start, stop in pairwise(cuts):
        yield {name: ds.variables[name][start:stop] for name in columns}


def _at(part: dict[str, xr.Variable], rows: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame({name: column[np.flatnonzero(rows)].values for name, column in part.items()})


def _by_call(ds: xr.Dataset, *columns: str) -> Iterator[tuple[str, pd.DataFrame]]:
    """Give the observations of one MPI call after another, in parts. IPM can record POSIX calls too."""
    for part in _parts(ds, "call", *columns):
        codes, names = pd.factorize(part.pop("call").values)
        for code, name in enumerate(map(str, names)):
            if name.startswith("MPI_"):
                yield name, _at(part, codes == code)


def _add(sums: _Sums, keys: Sequence[Any], groups: np.ndarray, values: np.ndarray) -> None:
    """Add values to exact sums, in units of 1 / `_UNIT`; `groups` has the places of their keys."""
    if not len(values):
        return
    fraction, power = np.frexp(values)
    least, span = int(power.min()), int(np.ptp(power)) + 1
    whole, cells = (fraction * 2.0**53).astype(np.int64), groups * span + power - least
    # Halves of 27 and 26 bits: a double holds the sum of 67 million of them.
    halves = [np.bincount(cells, half).astype(np.int64) for half in (whole >> 26, whole & 0x3FFFFFF)]
    held = np.flatnonzero(np.bincount(cells))  # with many keys most cells are empty; a sum of zeros is none
    columns = (held // span, _LEAST + least + held % span, *(half[held] for half in halves))
    for group, shift, high, low in zip(*(column.tolist() for column in columns), strict=True):
        sums[keys[group]] += (high << 26) + low << shift


def calls(ds: xr.Dataset) -> pd.DataFrame:
    """Total every MPI call: ``count time bytes time_rank_min time_rank_max``, summed over ranks, s and B.

    A rank that never made a call counts as 0 s; one that the file does not hold does not count.
    """
    totals: dict[str, _Sums] = {name: defaultdict(int) for name in ("count", "time", "bytes")}
    times, summary = defaultdict[str, list[pd.Series]](list), False
    for name, obs in _by_call(ds, "rank", *totals):
        for column, sums in totals.items():
            values = obs[column].to_numpy()
            # A concise mpiP report does not count every site.
            values = values[values >= 0 if column == "count" else np.isfinite(values)]
            _add(sums, [name], np.zeros(len(values), int), values)
        summary |= bool((obs["rank"] < 0).any())
        times[name].append(obs[obs["rank"] >= 0].groupby("rank")["time"].sum())
    by_rank = {name: pd.concat(times[name]) for name in sorted(times)}
    table = pd.DataFrame({"call": list(by_rank)})
    for column, sums in totals.items():
        unknown = -1 if column == "count" else math.nan
        table[column] = [sums[name] / _UNIT if name in sums else unknown for name in by_rank]
    table["count"] = table["count"].astype("i8")
    ranks = [np.flatnonzero(np.isfinite(ds["app_time"].values)), *(one.index for one in by_rank.values())]
    held = np.unique(np.concatenate(ranks)).size
    for column, extreme in (("time_rank_min", min), ("time_rank_max", max)):
        each = [extreme([*one, *[0.0] * (len(one) < held)], default=np.nan) for one in by_rank.values()]
        table[column] = np.nan if summary else each  # a summary has no single ranks
    return table


def messages(ds: xr.Dataset) -> pd.DataFrame:
    """Count calls by message size: ``call size count time``; without the calls of a size not recorded."""
    counts, times = _Sums(int), _Sums(int)
    for name, obs in _by_call(ds, "size", "count", "time"):
        obs = obs[obs["size"] >= 0]
        groups, sizes = pd.factorize(obs["size"])
        keys = [(name, int(size)) for size in sizes]
        _add(counts, keys, groups, obs["count"].to_numpy())
        _add(times, keys, groups, obs["time"].fillna(0.0).to_numpy())
    rows = [(*key, counts[key] // _UNIT, times[key] / _UNIT) for key in sorted(counts)]
    return pd.DataFrame(rows, columns=["call", "size", "count", "time"])


def matrix(ds: xr.Dataset) -> pd.DataFrame:
    """Say who sends how much to whom, point to point: ``rank peer count bytes``, pairs with a message."""
    found = []
    for part in _parts(ds, "call", "rank", "peer", "count", "bytes"):
        codes, names = pd.factorize(part.pop("call").values)
        sends = np.isin(codes, [code for code, name in enumerate(names) if name in SENDS])
        obs = _at(part, sends & (part["peer"].values >= 0) & (part["rank"].values >= 0))
        found.append(obs.groupby(["rank", "peer"], sort=True)[["count", "bytes"]].sum().reset_index())
    table = pd.concat(found, ignore_index=True)
    # The ranks of a part are in order; a file can have later ones first.
    ordered = table["rank"].is_monotonic_increasing
    return table if ordered else table.sort_values(["rank", "peer"], ignore_index=True)


def collectives(ds: xr.Dataset) -> tuple[dict[float, float], dict[float, float]]:
    """Count the collective calls of a mean rank: size -> calls, of reductions and of transposes.

    The size is B of a call; for a transpose (all-to-all) it is the sum over all ranks.
    """
    obs = _observations(ds, "call", "size", "count")
    size, members = obs["size"].clip(lower=0).astype(float), ds.sizes["rank"]
    transposed = obs["call"].isin(TRANSPOSES)
    found = []
    for chosen, factor in ((obs["call"].isin(REDUCTIONS), 1.0), (transposed, float(members))):
        counts = (obs.loc[chosen, "count"] / members).groupby(size[chosen] * factor).sum()
        found.append(dict(zip(counts.index.astype(float).tolist(), counts.tolist(), strict=True)))
    return found[0], found[1]


def ranks(ds: xr.Dataset) -> pd.DataFrame:
    """List the ranks: ``rank host app_time mpi_time memory``, NaN for those that the file does not hold."""
    table = _observations(ds, "host", "app_time", "mpi_time", "memory")
    table.insert(0, "rank", np.arange(ds.sizes["rank"], dtype="i4"))
    return table


def mpi_fraction(ds: xr.Dataset) -> float:
    """Share of the ranks' wall-clock time in MPI, over those that have both, or of the totals alone.

    IPM's wall-clock time of a rank includes IPM's own end of run, which its banner leaves out: the
    %comm of a short run is a little higher there (82.9 for our 80.6 at 5 s).
    """
    both = np.isfinite(ds["mpi_time"]) & np.isfinite(ds["app_time"])
    total = float(ds["app_time"].where(both).sum())
    if total > 0:
        return float(ds["mpi_time"].where(both).sum()) / total
    total = float(ds.attrs.get("app_time_total", float("nan")))
    return float(ds.attrs.get("mpi_time_total", float("nan"))) / total if total > 0 else float("nan")


def imbalance(ds: xr.Dataset) -> float:
    """Load imbalance of the work outside MPI: its max / mean - 1 across ranks; NaN below two.

    The percent imbalance metric of Pearce et al., ICS 2012, as a fraction.
    """
    work = (ds["app_time"] - ds["mpi_time"]).dropna("rank")
    mean = float(work.mean()) if work.size else 0.0
    return float(work.max()) / mean - 1 if work.size > 1 and mean > 0 else float("nan")


def memory(ds: xr.Dataset) -> tuple[float, float]:
    """Return the largest resident set in B: mean of the ranks, and sum on the fullest node; NaN without."""
    table = ranks(ds)[["host", "memory"]].dropna()
    if table.empty:
        return float("nan"), float("nan")
    return float(table["memory"].mean()), float(table.groupby("host")["memory"].sum().max())
