"""Measures that rest on an MPI profile: calls, message sizes, payload, time in MPI and outside it.

Every measure takes the campaign, the selected runs and the question's members, and returns a series of
one value a run, indexed by the run's name. Where members may be calls and sizes at once, words are
calls and two numbers are the ends of a range of sizes in B, both included.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.base.words import Level
from analysis.datasets.profile import HOUSEKEEPING, SENDS
from analysis.estimates.by_run import Members, rows_of
from analysis.estimates.campaign import Campaign

_COLLECTIVES = (
    "Bcast Reduce Allreduce Scan Exscan Reduce_scatter Reduce_scatter_block Gather Gatherv Scatter "
    "Scatterv Allgather Allgatherv Alltoall Alltoallv Alltoallw"
)
# Calls that hand payload to MPI; receives, waits, tests and probes carry the same bytes again.
SENDING = SENDS | frozenset(
    f"MPI_{form}" for name in _COLLECTIVES.split() for form in (name, "I" + name.lower())
)


def _share(table: pd.DataFrame, inside: pd.Series, name: str) -> pd.Series:
    """Share of the rows `inside` in each run's sum of a column, in percent."""
    total = table.groupby("run")[name].sum()
    part = table[inside].groupby("run")[name].sum()
    return 100 * part.reindex(total.index, fill_value=0) / total


def call_share(campaign: Campaign, runs: pd.DataFrame, members: Members) -> pd.Series:
    """Share of MPI time in the calls `members`, in percent."""
    table = rows_of(campaign, "calls", runs)
    return _share(table, table["call"].isin(members), "time")


def sent_share(campaign: Campaign, runs: pd.DataFrame, members: Members) -> pd.Series:
    """Share in all payload of calls other than receives and waits that `members` carry, in percent."""
    table = rows_of(campaign, "calls", runs)
    table = table[~table["call"].str.contains("Recv$|Irecv|Wait|Test")]
    return _share(table, table["call"].isin(members), "bytes")


def calls_for_99_percent(campaign: Campaign, runs: pd.DataFrame, members: Members) -> pd.Series:
    """Count the distinct calls, largest first, that make up 99 % of MPI time."""
    table = rows_of(campaign, "calls", runs)

    def needed(times: pd.Series) -> float:
        ordered = np.sort(times.to_numpy())[::-1]
        return float(np.searchsorted(np.cumsum(ordered), 0.99 * ordered.sum()) + 1)

    return table.groupby("run")["time"].agg(needed)


def message_share(campaign: Campaign, runs: pd.DataFrame, members: Members) -> pd.Series:
    """Share of calls with a recorded size that have one of the sizes `members`, in percent."""
    table = rows_of(campaign, "messages", runs)
    return _share(table, table["size"].isin(members), "count")


def distinct_calls(campaign: Campaign, runs: pd.DataFrame, members: Members) -> pd.Series:
    """Count the different MPI functions that were called."""
    return rows_of(campaign, "calls", runs).groupby("run")["call"].nunique().astype(float)


def count_share(campaign: Campaign, runs: pd.DataFrame, members: Members) -> pd.Series:
    """Share of the calls `members` in the number of all calls but housekeeping, in percent."""
    table = rows_of(campaign, "calls", runs)
    table = table[~table["call"].isin(HOUSEKEEPING)]
    return _share(table, table["call"].isin(members), "count")


def calls_made(campaign: Campaign, runs: pd.DataFrame, members: Members) -> pd.Series:
    """How often the calls `members` were made, over all ranks; 0 where never."""
    table = rows_of(campaign, "calls", runs)
    part = table[table["call"].isin(members)].groupby("run")["count"].sum()
    return part.reindex(table["run"].unique(), fill_value=0).astype(float)


def call_time(campaign: Campaign, runs: pd.DataFrame, members: Members) -> pd.Series:
    """Time in the calls `members`, mean over ranks, s."""
    table = rows_of(campaign, "calls", runs)
    part = table[table["call"].isin(members)].groupby("run")["time"].sum()
    return part / runs.set_index("run")["ranks"].reindex(part.index)


def call_time_ratio(campaign: Campaign, runs: pd.DataFrame, members: Members) -> pd.Series:
    """Time in the first of two calls over that in the second."""
    table = rows_of(campaign, "calls", runs)
    top, bottom = (table[table["call"] == name].groupby("run")["time"].sum() for name in members)
    return (top / bottom.where(bottom > 0)).dropna()


def _selected(table: pd.DataFrame, members: Members) -> tuple[pd.DataFrame, pd.Series]:
    """Narrow the table of messages to the calls among `members` and say which sizes are in range."""
    calls = [member for member in members if isinstance(member, str)]
    sizes = [member for member in members if not isinstance(member, str)]
    table = table[table["call"].isin(calls or SENDING)]
    low, high = (min(sizes), max(sizes)) if sizes else (0, np.inf)
    return table, table["size"].between(low, high)


def size_share(campaign: Campaign, runs: pd.DataFrame, members: Members) -> pd.Series:
    """Share of messages with a size in a range, in percent; of the calls named, else of all that send."""
    return _share(*_selected(rows_of(campaign, "messages", runs), members), "count")


def message_count(campaign: Campaign, runs: pd.DataFrame, members: Members) -> pd.Series:
    """Messages over all ranks; with `members` those of the calls and sizes named."""
    table, inside = _selected(rows_of(campaign, "messages", runs), members)
    return table[inside].groupby("run")["count"].sum().astype(float)


def message_bytes(campaign: Campaign, runs: pd.DataFrame, members: Members) -> pd.Series:
    """Payload over all ranks, B, from the sizes of messages; with `members` of those named."""
    table, inside = _selected(rows_of(campaign, "messages", runs), members)
    table = table[inside]
    return (table["size"] * table["count"]).groupby(table["run"]).sum().astype(float)


def bytes_per_call(campaign: Campaign, runs: pd.DataFrame, members: Members) -> pd.Series:
    """Mean payload of the calls `members`, B."""
    table = rows_of(campaign, "calls", runs)
    sums = table[table["call"].isin(members)].groupby("run")[["bytes", "count"]].sum(min_count=1)
    return (sums["bytes"] / sums["count"].where(sums["count"] > 0)).dropna()


def total_bytes(campaign: Campaign, runs: pd.DataFrame, members: Members) -> pd.Series:
    """Payload that all ranks hand to MPI, B."""
    table = rows_of(campaign, "calls", runs)
    return table[table["call"].isin(SENDING)].groupby("run")["bytes"].sum(min_count=1).dropna()


def rank_bytes(campaign: Campaign, runs: pd.DataFrame, members: Members) -> pd.Series:
    """Payload that a rank hands to MPI, mean over ranks, B."""
    total = total_bytes(campaign, runs, members)
    return total / runs.set_index("run")["ranks"].reindex(total.index)


def first_rank_excess(campaign: Campaign, runs: pd.DataFrame, members: Members) -> pd.Series:
    """Payload that rank 0 sends point to point over the median of the other ranks."""
    table = rows_of(campaign, "matrix", runs)
    sent = table.groupby(["run", "rank"])["bytes"].sum().unstack("rank").fillna(0.0)
    if 0 not in sent or sent.shape[1] < 2:
        return pd.Series(dtype=float)
    others = sent.drop(columns=0).median(axis=1)
    return (sent[0] / others.where(others > 0)).dropna()


def pair_bytes(campaign: Campaign, runs: pd.DataFrame, members: Members) -> pd.Series:
    """Largest payload from one rank to another, in B."""
    return rows_of(campaign, "matrix", runs).groupby("run")["bytes"].max()


def pair_rate(campaign: Campaign, runs: pd.DataFrame, members: Members) -> pd.Series:
    """Largest payload from one rank to another per second of the application, in B/s."""
    seconds = rows_of(campaign, "ranks", runs).groupby("run")["app_time"].max()
    return pair_bytes(campaign, runs, members) / seconds


def pair_spread(campaign: Campaign, runs: pd.DataFrame, members: Members) -> pd.Series:
    """Largest over least payload between two ranks that talk at all; NaN below three pairs."""
    groups = rows_of(campaign, "matrix", runs).groupby("run")["bytes"]
    return (groups.max() / groups.min()).where(groups.size() > 2)


def _rank_times(campaign: Campaign, runs: pd.DataFrame) -> pd.DataFrame:
    table = rows_of(campaign, "ranks", runs).dropna(subset=["app_time", "mpi_time"])
    return table.groupby("run")[["app_time", "mpi_time"]].mean()


def mpi_time(campaign: Campaign, runs: pd.DataFrame, members: Members) -> pd.Series:
    """Time inside MPI, mean over ranks, s."""
    return _rank_times(campaign, runs)["mpi_time"]


def compute_time(campaign: Campaign, runs: pd.DataFrame, members: Members) -> pd.Series:
    """Time outside MPI, mean over ranks, s."""
    times = _rank_times(campaign, runs)
    return times["app_time"] - times["mpi_time"]


def compute_over_mpi(campaign: Campaign, runs: pd.DataFrame, members: Members) -> pd.Series:
    """Time outside MPI over time inside it, means over ranks."""
    inside = mpi_time(campaign, runs, members)
    return (compute_time(campaign, runs, members) / inside.where(inside > 0)).dropna()


def message_sizes(campaign: Campaign, runs: pd.DataFrame, members: Members) -> dict[str, set[Level]]:
    """Return the message sizes of each run, in B; calls without payload have none."""
    table = rows_of(campaign, "messages", runs)
    table = table[table["size"] > 0]
    return {str(run): set(map(int, group["size"])) for run, group in table.groupby("run")}


def most_used_calls(campaign: Campaign, runs: pd.DataFrame, members: Members) -> dict[str, set[Level]]:
    """Return the calls made most often in each run, as many as the claim names."""
    table = rows_of(campaign, "calls", runs)
    table = table[~table["call"].isin(HOUSEKEEPING)]
    return {
        str(run): set(group.nlargest(len(members), "count")["call"]) for run, group in table.groupby("run")
    }
