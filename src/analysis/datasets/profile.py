"""The tables of one profile: calls, messages, ranks, matrix.

Every function takes a dataset of kind ``profile`` and sums its observations; rows of the observations that
belong to no rank (``rank`` -1, a summary over all) count in the sums only.
"""

import math
from collections.abc import Iterator
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


def _observations(ds: xr.Dataset, *names: str) -> pd.DataFrame:
    return pd.DataFrame({name: ds[name].values for name in names})


def _coded(ds: xr.Dataset) -> tuple[np.ndarray, list[str]]:
    """Return for each observation the place of its call among the names of all, and these names."""
    codes, names = pd.factorize(ds["call"].values)
    return codes.astype(np.int32), [str(name) for name in names]


def _by_call(ds: xr.Dataset, *columns: str) -> Iterator[tuple[str, pd.DataFrame]]:
    """Give the observations of one MPI call after another: all at once need several times their memory.

    IPM can record POSIX calls too.
    """
    codes, names = _coded(ds)
    for code in sorted(range(len(names)), key=names.__getitem__):
        if names[code].startswith("MPI_"):
            at = np.flatnonzero(codes == code)
            yield names[code], pd.DataFrame({column: ds[column].values[at] for column in columns})


def calls(ds: xr.Dataset) -> pd.DataFrame:
    """Total every MPI call: ``count time bytes time_rank_min time_rank_max``, summed over ranks, s and B.

    A rank that never made a call counts as 0 s; one that the file does not hold does not count.
    """
    rows, by_rank, summary = list[dict[str, Any]](), list[pd.Series](), False
    for name, obs in _by_call(ds, "rank", "count", "time", "bytes"):
        known = obs["count"].to_numpy()[obs["count"] >= 0]  # a concise mpiP report does not count every site
        row = {"call": name, "count": int(known.sum()) if known.size else -1}
        rows.append(row | {column: _total(obs[column]) for column in ("time", "bytes")})
        summary |= bool((obs["rank"] < 0).any())
        by_rank.append(obs[obs["rank"] >= 0].groupby("rank")["time"].sum())
    totals = pd.DataFrame(rows, columns=["call", "count", "time", "bytes"])
    ranks = [np.flatnonzero(np.isfinite(ds["app_time"].values)), *(one.index.to_numpy() for one in by_rank)]
    held = np.unique(np.concatenate(ranks)).size
    for column, extreme in (("time_rank_min", min), ("time_rank_max", max)):
        each = [extreme([*one, *[0.0] * (len(one) < held)], default=np.nan) for one in by_rank]
        totals[column] = np.nan if summary else each  # a summary has no single ranks
    return totals


def _total(values: pd.Series) -> float:
    """Return the sum of the known values, rounded once: their order does not matter."""
    known = values.dropna()
    return math.fsum(known) if len(known) else math.nan


def messages(ds: xr.Dataset) -> pd.DataFrame:
    """Count calls by message size: ``call size count time``; without the calls of a size not recorded."""
    rows = [pd.DataFrame({"call": [], "size": [], "count": [], "time": []})]
    for name, obs in _by_call(ds, "size", "count", "time"):
        known = obs[obs["size"] >= 0].assign(call=name)
        rows.append(known.groupby(["call", "size"])[["count", "time"]].sum().reset_index())
    return pd.concat(rows[1:] or rows, ignore_index=True)


def matrix(ds: xr.Dataset) -> pd.DataFrame:
    """Say who sends how much to whom, point to point: ``rank peer count bytes``, pairs with a message."""
    codes, names = _coded(ds)
    sends = np.isin(codes, [code for code, name in enumerate(names) if name in SENDS])
    at = np.flatnonzero(sends & (ds["peer"].values >= 0) & (ds["rank"].values >= 0))
    obs = pd.DataFrame({name: ds[name].values[at] for name in ("rank", "peer", "count", "bytes")})
    return obs.groupby(["rank", "peer"], sort=True)[["count", "bytes"]].sum().reset_index()


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
