"""What can be measured of one run: a value per run that a claim can be about.

`MEASURES` names them all; each takes the campaign, the selected runs and the claim's members and
returns one value a run. Columns of kind ``runs`` are measures of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.claims.campaign import Campaign
from analysis.claims.model import Level

Members = tuple[Level, ...]
Measure = Callable[[Campaign, pd.DataFrame, Members], pd.Series]


@dataclass(frozen=True, slots=True)
class Spec:
    """A measure: how it is computed and what it needs.

    Attributes
    ----------
    compute : callable
    timing : bool
        True if it rests on times, which oversubscribed runs cannot give.
    profile : bool
        True if it rests on an MPI profile.
    higher_is_better : bool
        False for times and the like: then "faster" means a smaller value.
    exact : bool
        True for what a program does or prints by its construction, so that repeats cannot scatter
        and one run is enough.
    """

    compute: Measure
    timing: bool
    profile: bool
    higher_is_better: bool = True
    exact: bool = False


def _of(campaign: Campaign, group: str, runs: pd.DataFrame) -> pd.DataFrame:
    table = campaign.frame(group)
    return table[table["run"].isin(runs["run"])]


def call_share(campaign: Campaign, runs: pd.DataFrame, members: Members) -> pd.Series:
    """Share of MPI time in the calls `members`, in percent."""
    table = _of(campaign, "calls", runs)
    total = table.groupby("run")["time"].sum()
    part = table[table["call"].isin(members)].groupby("run")["time"].sum()
    return 100 * part.reindex(total.index, fill_value=0.0) / total


def sent_share(campaign: Campaign, runs: pd.DataFrame, members: Members) -> pd.Series:
    """Share in all payload of calls other than receives and waits that `members` carry, in percent."""
    table = _of(campaign, "calls", runs)
    table = table[~table["call"].str.contains("Recv$|Irecv|Wait|Test")]
    total = table.groupby("run")["bytes"].sum()
    part = table[table["call"].isin(members)].groupby("run")["bytes"].sum()
    return 100 * part.reindex(total.index, fill_value=0.0) / total


def calls_for_99_percent(campaign: Campaign, runs: pd.DataFrame, members: Members) -> pd.Series:
    """Count the distinct calls, largest first, that make up 99 % of MPI time."""
    table = _of(campaign, "calls", runs)

    def needed(times: pd.Series) -> float:
        ordered = np.sort(times.to_numpy())[::-1]
        return float(np.searchsorted(np.cumsum(ordered), 0.99 * ordered.sum()) + 1)

    return table.groupby("run")["time"].agg(needed)


def message_share(campaign: Campaign, runs: pd.DataFrame, members: Members) -> pd.Series:
    """Share of calls with a recorded size that have one of the sizes `members`, in percent."""
    table = _of(campaign, "messages", runs)
    total = table.groupby("run")["count"].sum()
    part = table[table["size"].isin(members)].groupby("run")["count"].sum()
    return 100 * part.reindex(total.index, fill_value=0) / total


def throughput(campaign: Campaign, runs: pd.DataFrame, members: Members) -> pd.Series:
    """Add up the figures of merit of the jobs that ran at once.

    Jobs of one set have the same position in the order of execution. A set counts once, under the
    name of its first run, and only if all its jobs are there.
    """
    sets = runs.groupby("order")
    whole = sets["run"].transform("size") == runs["concurrent_jobs"]
    total = sets["figure_of_merit"].transform("sum")
    first = ~runs.sort_values("run").duplicated("order").reindex(runs.index)
    return total[whole & first].set_axis(runs.loc[whole & first, "run"])


def _micro(name: str) -> Measure:
    """Make the measure that reads the OSU table at the message size `members` names."""

    def compute(campaign: Campaign, runs: pd.DataFrame, members: Members) -> pd.Series:
        table = _of(campaign, "micro", runs)
        return table[table["size"].isin(members)].groupby("run")[name].first()

    return compute


def pair_bytes(campaign: Campaign, runs: pd.DataFrame, members: Members) -> pd.Series:
    """Largest payload from one rank to another, in B."""
    return _of(campaign, "matrix", runs).groupby("run")["bytes"].max()


def pair_rate(campaign: Campaign, runs: pd.DataFrame, members: Members) -> pd.Series:
    """Largest payload from one rank to another per second of the application, in B/s."""
    seconds = _of(campaign, "ranks", runs).groupby("run")["app_time"].max()
    return pair_bytes(campaign, runs, members) / seconds


def pair_spread(campaign: Campaign, runs: pd.DataFrame, members: Members) -> pd.Series:
    """Largest over least payload between two ranks that talk at all; NaN below three pairs."""
    groups = _of(campaign, "matrix", runs).groupby("run")["bytes"]
    return (groups.max() / groups.min()).where(groups.size() > 2)


def message_sizes(campaign: Campaign, runs: pd.DataFrame) -> dict[str, set[Level]]:
    """Return the message sizes of each run, in B; calls without payload have none."""
    table = _of(campaign, "messages", runs)
    table = table[table["size"] > 0]
    return {str(run): set(map(int, group["size"])) for run, group in table.groupby("run")}


def column(name: str) -> Measure:
    """Make the measure that reads a column of the table of runs."""

    def compute(campaign: Campaign, runs: pd.DataFrame, members: Members) -> pd.Series:
        return runs.set_index("run")[name].astype(float)

    return compute


MEASURES: dict[str, Spec] = {
    "figure_of_merit": Spec(column("figure_of_merit"), timing=True, profile=False),
    "elapsed": Spec(column("elapsed"), timing=True, profile=False, higher_is_better=False),
    "benchmark_time": Spec(column("benchmark_time"), timing=True, profile=False, higher_is_better=False),
    "mpi_fraction": Spec(column("mpi_fraction"), timing=True, profile=True),
    "imbalance": Spec(column("imbalance"), timing=True, profile=True),
    "rank_memory": Spec(column("rank_memory"), timing=False, profile=True),
    "node_memory": Spec(column("node_memory"), timing=False, profile=True),
    "node_memory_slurm": Spec(column("node_memory_slurm"), timing=False, profile=False),
    "data_memory": Spec(column("data_memory"), timing=False, profile=False),
    "grid_ratio": Spec(column("grid_ratio"), timing=False, profile=False, exact=True),
    "official_time": Spec(column("official_time"), timing=False, profile=False, exact=True),
    "energy": Spec(column("energy"), timing=True, profile=False, higher_is_better=False),
    "throughput": Spec(throughput, timing=True, profile=False),
    "latency": Spec(_micro("latency"), timing=True, profile=False, higher_is_better=False),
    "bandwidth": Spec(_micro("bandwidth"), timing=True, profile=False),
    "call_share": Spec(call_share, timing=True, profile=True),
    "sent_share": Spec(sent_share, timing=False, profile=True, exact=True),
    "calls_for_99_percent": Spec(calls_for_99_percent, timing=True, profile=True),
    "message_share": Spec(message_share, timing=False, profile=True, exact=True),
    "pair_bytes": Spec(pair_bytes, timing=False, profile=True),
    "pair_rate": Spec(pair_rate, timing=True, profile=True),
    "pair_spread": Spec(pair_spread, timing=False, profile=True, exact=True),
}

# Measures that are a set of things rather than a number; they rest on exact counts, never on times.
SETS: dict[str, Callable[[Campaign, pd.DataFrame], dict[str, set[Level]]]] = {"message_sizes": message_sizes}
