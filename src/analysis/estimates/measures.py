"""What can be measured of one run: the names that a question's ``variable`` can have.

`MEASURES` has them all. Each takes the campaign, the selected runs and the question's members, and returns a
series of one value a run, indexed by the run's name; columns of kind ``runs`` are measures of their own. A
new one is a function of the rows of one table, declared with what it needs; its first line is its meaning.
Where members may be calls and sizes at once, words are calls and two numbers are the ends of a range of
sizes in B, both included.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps

import numpy as np
import pandas as pd

from analysis.base.units import DAY, JOULES_PER_WH
from analysis.base.words import Level
from analysis.datasets.profile import HOUSEKEEPING, SENDS, TRANSPOSES
from analysis.estimates.campaign import Campaign
from analysis.estimates.numerals import display_unit

Members = tuple[Level, ...]
Measure = Callable[[Campaign, pd.DataFrame, Members], pd.Series]
Sets = Callable[[Campaign, pd.DataFrame, Members], dict[str, set[Level]]]
# A measure as it is written: a function of rows of one table and the members.
Rows = Callable[[pd.DataFrame, Members], pd.Series]

_COLLECTIVES = (
    "Bcast Reduce Allreduce Scan Exscan Reduce_scatter Reduce_scatter_block Gather Gatherv Scatter "
    "Scatterv Allgather Allgatherv Alltoall Alltoallv Alltoallw"
)
# Calls that hand payload to MPI; receives, waits, tests and probes carry the same bytes again.
SENDING = SENDS | frozenset(
    f"MPI_{form}" for name in _COLLECTIVES.split() for form in (name, "I" + name.lower())
)
# Units of times: there less is faster.
TIMES = ("s", "us")
_OF_PROFILES = ("calls", "messages", "ranks", "matrix")


@dataclass(frozen=True, slots=True)
class Spec:
    """A measure: how it is computed and what it needs.

    `timing`: it rests on times, which oversubscribed runs cannot give; `profile`: on an MPI profile. Less is
    better for times and the like: then "faster" means a smaller value. `exact`: what a program does or
    prints by its construction, so that repeats cannot scatter and one run is enough. `unit` is empty where
    it depends on the application. `share` tells that a value without a unit is a part of 1; `capped`, that no
    percentage exceeds 100.
    """

    compute: Measure
    timing: bool
    profile: bool
    higher_is_better: bool = True
    exact: bool = False
    unit: str = ""
    share: bool = False
    capped: bool = True

    @property
    def most(self) -> float:
        """The whole that a share is a part of, the most that it can be; infinite for anything else."""
        return 1.0 if self.share else 100.0 if self.unit == "%" and self.capped else np.inf


MEASURES: dict[str, Spec] = {}


def rows_of(campaign: Campaign, group: str, runs: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of one of the campaign's tables that belong to the selected runs."""
    table = campaign.frame(group)
    return table[table["run"].isin(runs["run"])]


def _measure(
    group: str = "runs", unit: str = "", *, timing: bool = True, less_is_better: bool = False,
    exact: bool = False, each_rank: bool = False, capped: bool = True,
) -> Callable[[Rows], Rows]:  # fmt: skip
    """Declare a measure of the rows of a table; `each_rank` divides what all ranks have by their number."""

    def declare(function: Rows) -> Rows:
        @wraps(function)
        def compute(campaign: Campaign, runs: pd.DataFrame, members: Members) -> pd.Series:
            if group == "runs":
                return function(runs, members)
            if group not in campaign.tree.children:
                return pd.Series(dtype=float)
            found = function(rows_of(campaign, group, runs), members)
            return found / runs.set_index("run")["ranks"].reindex(found.index) if each_rank else found

        profile = group in _OF_PROFILES
        MEASURES[function.__name__] = Spec(
            compute, timing, profile, not less_is_better, exact, unit, capped=capped
        )
        return function

    return declare


# ---- of a run as a whole


def _column(name: str) -> Measure:
    """Make the measure that reads a column of the table of runs."""
    return lambda campaign, runs, members: runs[name].astype(float).set_axis(runs["run"])


MEASURES |= {
    "figure_of_merit": Spec(_column("figure_of_merit"), timing=True, profile=False),
    **{
        name: Spec(_column(name), timing=True, profile=False, higher_is_better=False, unit=unit)
        for unit, names in {
            "s": ("elapsed", "benchmark_time"),
            "J": ("energy",),
            "W": ("mean_power", "idle_power"),
        }.items()
        for name in names
    },
    "node_memory_slurm": Spec(_column("node_memory_slurm"), timing=False, profile=False, unit="B"),
    "data_memory": Spec(_column("data_memory"), timing=False, profile=False, unit="B"),
    "grid_ratio": Spec(_column("grid_ratio"), timing=False, profile=False, exact=True),
    "official_time": Spec(_column("official_time"), timing=False, profile=False, exact=True, unit="s"),
    "mpi_fraction": Spec(_column("mpi_fraction"), timing=True, profile=True, share=True),
    "imbalance": Spec(_column("imbalance"), timing=True, profile=True),
    "rank_memory": Spec(_column("rank_memory"), timing=False, profile=True, unit="B"),
    "node_memory": Spec(_column("node_memory"), timing=False, profile=True, unit="B"),
}


@_measure(unit="s", less_is_better=True)
def application_time(runs: pd.DataFrame, members: Members) -> pd.Series:
    """Time by the application's own clock where that is its figure of merit, s; else launch to exit.

    LS-DYNA prints the time of the job, OpenAtom that of a step: for ratios between runs of the same case
    both are time to solution. Of no use for an application that runs for a given time, such as HPCG.
    """
    own = runs["figure_of_merit"].where(runs["figure_of_merit_unit"] == "s")
    return own.fillna(runs["elapsed"]).set_axis(runs["run"])


def _whole_sets(runs: pd.DataFrame, values: pd.Series) -> pd.Series:
    """Add up a rate over the jobs that ran at once.

    Jobs of one set have the same position in the order of execution. A set counts once, under the
    name of its first run, and only if all its jobs are there.
    """
    if (runs["concurrent_jobs"] == 1).all() and runs["run"].is_unique:
        return values.set_axis(runs["run"])
    # A job that ran alone is a set of its own, whether or not its position is known.
    together = runs["order"].astype(str).where(runs["order"] >= 0)
    key = ("alone " + runs["run"]).where(runs["concurrent_jobs"] == 1, together)
    sets = values.groupby(key)
    whole = sets.transform("size") == runs["concurrent_jobs"]
    first = ~key.loc[runs.sort_values("run").index].duplicated().reindex(runs.index)
    chosen = whole & first & key.notna()
    return sets.transform("sum", min_count=1)[chosen].set_axis(runs.loc[chosen, "run"])


@_measure()
def throughput(runs: pd.DataFrame, members: Members) -> pd.Series:
    """Add up the figures of merit of the jobs that ran at once."""
    return _whole_sets(runs, runs["figure_of_merit"])


@_measure(unit="jobs/day")
def jobs_per_day(runs: pd.DataFrame, members: Members) -> pd.Series:
    """Jobs that the nodes finish in a day: 86400 / time from launch to exit, added over jobs at once."""
    return _whole_sets(runs, DAY / runs["elapsed"].where(runs["elapsed"] > 0))


@_measure(unit="Wh", less_is_better=True)
def energy_per_job(runs: pd.DataFrame, members: Members) -> pd.Series:
    """Energy of one job, Wh; of none that runs for a given time, as a faster one does more in it."""
    return (runs["energy"] / JOULES_PER_WH).mask(runs["target_time"] > 0).set_axis(runs["run"])


@_measure(unit="%", less_is_better=True)
def reduction_share(runs: pd.DataFrame, members: Members) -> pd.Series:
    """Share of the reductions of dot products in the rated phase, by the output, %."""
    if "reduction_time" not in runs:
        return pd.Series(dtype=float)
    return (100 * runs["reduction_time"] / runs["benchmark_time"]).set_axis(runs["run"])


@_measure(unit="%", capped=False)  # a clock above the rated one is faster than the peak
def peak_share(runs: pd.DataFrame, members: Members) -> pd.Series:
    """Figure of merit over the greatest rate of the machine, %: the efficiency of an HPL run."""
    if "peak" not in runs:
        return pd.Series(dtype=float)
    return (100 * runs["figure_of_merit"] / runs["peak"]).set_axis(runs["run"])


@_measure(unit="Gflop/s/W")
def rate_per_watt(runs: pd.DataFrame, members: Members) -> pd.Series:
    """Rate in Gflop/s over the mean power, so Gflop of work a joule."""
    rates = runs["figure_of_merit"].where(runs["figure_of_merit_unit"] == "Gflop/s")
    return (rates / runs["mean_power"]).set_axis(runs["run"])


@_measure("micro", "us", less_is_better=True)
def latency(table: pd.DataFrame, members: Members) -> pd.Series:
    """Latency by a micro-benchmark at the message size `members` names, us."""
    return table[table["size"].isin(members)].groupby("run")["latency"].first()


@_measure("micro", "MB/s")
def bandwidth(table: pd.DataFrame, members: Members) -> pd.Series:
    """Bandwidth by a micro-benchmark at the message size `members` names, MB/s."""
    return table[table["size"].isin(members)].groupby("run")["bandwidth"].first()


@_measure("figures", timing=False, exact=True)
def stated_figure(table: pd.DataFrame, members: Members) -> pd.Series:
    """Figure that a source states of a product or a rule, unchanged; `members` names its metric.

    Approximate figures and limits are left out, because they are not exact.
    """
    plain = table[table["metric"].isin(members) & (table["qualifier"] == "")]
    return plain.groupby("run")["value"].first()


# ---- of calls


def _share(table: pd.DataFrame, inside: pd.Series, name: str) -> pd.Series:
    """Share of the rows `inside` in each run's sum of a column, in percent."""
    total = table.groupby("run")[name].sum()
    part = table[inside].groupby("run")[name].sum()
    return 100 * part.reindex(total.index, fill_value=0) / total


@_measure("calls", "%")
def call_share(table: pd.DataFrame, members: Members) -> pd.Series:
    """Share of MPI time in the calls `members`, in percent."""
    return _share(table, table["call"].isin(members), "time")


@_measure("calls", "%", timing=False, exact=True)
def sent_share(table: pd.DataFrame, members: Members) -> pd.Series:
    """Share in all payload of calls other than receives and waits that `members` carry, in percent."""
    table = table[~table["call"].str.contains("Recv$|Irecv|Wait|Test")]
    return _share(table, table["call"].isin(members), "bytes")


@_measure("calls", "%", timing=False)  # calls that poll are made as often as the clock has it
def count_share(table: pd.DataFrame, members: Members) -> pd.Series:
    """Share of the calls `members` in the number of all calls but housekeeping, in percent."""
    table = table[~table["call"].isin(HOUSEKEEPING)]
    return _share(table, table["call"].isin(members), "count")


@_measure("calls", timing=False)
def calls_made(table: pd.DataFrame, members: Members) -> pd.Series:
    """How often the calls `members` were made, over all ranks; 0 where never."""
    part = table[table["call"].isin(members)].groupby("run")["count"].sum()
    return part.reindex(table["run"].unique(), fill_value=0).astype(float)


@_measure("calls", timing=False, exact=True)
def distinct_calls(table: pd.DataFrame, members: Members) -> pd.Series:
    """Count the different MPI functions that were called."""
    return table.groupby("run")["call"].nunique().astype(float)


@_measure("calls")
def calls_for_99_percent(table: pd.DataFrame, members: Members) -> pd.Series:
    """Count the distinct calls, largest first, that make up 99 % of MPI time."""

    def needed(times: pd.Series) -> float:
        ordered = np.sort(times.to_numpy())[::-1]
        return float(np.searchsorted(np.cumsum(ordered), 0.99 * ordered.sum()) + 1)

    return table.groupby("run")["time"].agg(needed)


@_measure("calls", "s", less_is_better=True, each_rank=True)
def call_time(table: pd.DataFrame, members: Members) -> pd.Series:
    """Time in the calls `members`, mean over ranks, s."""
    return table[table["call"].isin(members)].groupby("run")["time"].sum()


@_measure("calls")
def call_time_ratio(table: pd.DataFrame, members: Members) -> pd.Series:
    """Time in the first of two calls over that in the second."""
    top, bottom = (call_time(table, (name,)) for name in members)
    return (top / bottom.where(bottom > 0)).dropna()


@_measure("calls", "B", timing=False, exact=True)
def bytes_per_call(table: pd.DataFrame, members: Members) -> pd.Series:
    """Mean payload of the calls `members`, B."""
    sums = table[table["call"].isin(members)].groupby("run")[["bytes", "count"]].sum(min_count=1)
    return (sums["bytes"] / sums["count"].where(sums["count"] > 0)).dropna()


@_measure("calls", "B", timing=False, exact=True)
def total_bytes(table: pd.DataFrame, members: Members) -> pd.Series:
    """Payload that all ranks hand to MPI, B; of runs with an all-to-all none.

    A profiler states for it the bytes to one other rank, or none where they differ.
    """
    made = table["call"].isin(TRANSPOSES) & (table["count"] > 0)
    stated = table[table["call"].isin(SENDING) & ~table["run"].isin(table.loc[made, "run"])]
    return stated.groupby("run")["bytes"].sum(min_count=1).dropna()


@_measure("calls", "B", timing=False, exact=True, each_rank=True)
def rank_bytes(table: pd.DataFrame, members: Members) -> pd.Series:
    """Payload that a rank hands to MPI, mean over ranks, B."""
    return total_bytes(table, members)


# ---- of messages, pairs of ranks and ranks


def _selected(table: pd.DataFrame, members: Members) -> tuple[pd.DataFrame, pd.Series]:
    """Narrow the table of messages to the calls among `members` and say which sizes are in range."""
    calls = [member for member in members if isinstance(member, str)]
    sizes = [member for member in members if not isinstance(member, str)]
    table = table[table["call"].isin(calls or SENDING)]
    low, high = (min(sizes), max(sizes)) if sizes else (0, np.inf)
    return table, table["size"].between(low, high)


@_measure("messages", "%", timing=False, exact=True)
def message_share(table: pd.DataFrame, members: Members) -> pd.Series:
    """Share of calls with a recorded size that have one of the sizes `members`, in percent."""
    return _share(table, table["size"].isin(members), "count")


@_measure("messages", "%", timing=False, exact=True)
def size_share(table: pd.DataFrame, members: Members) -> pd.Series:
    """Share of messages with a size in a range, in percent; of the calls named, else of all that send."""
    return _share(*_selected(table, members), "count")


@_measure("messages", timing=False, exact=True)
def message_count(table: pd.DataFrame, members: Members) -> pd.Series:
    """Messages over all ranks; with `members` those of the calls and sizes named."""
    table, inside = _selected(table, members)
    return table[inside].groupby("run")["count"].sum().astype(float)


@_measure("messages", "B", timing=False, exact=True)
def message_bytes(table: pd.DataFrame, members: Members) -> pd.Series:
    """Payload over all ranks, B, from the sizes of messages; with `members` of those named."""
    table, inside = _selected(table, members)
    table = table[inside]
    return (table["size"] * table["count"]).groupby(table["run"]).sum().astype(float)


@_measure("matrix", timing=False, exact=True)
def first_rank_excess(table: pd.DataFrame, members: Members) -> pd.Series:
    """Payload that rank 0 sends point to point over the median of the other ranks."""
    sent = table.groupby(["run", "rank"])["bytes"].sum().unstack("rank").fillna(0.0)
    if 0 not in sent or sent.shape[1] < 2:
        return pd.Series(dtype=float)
    others = sent.drop(columns=0).median(axis=1)
    return (sent[0] / others.where(others > 0)).dropna()


@_measure("matrix", "B", timing=False)
def pair_bytes(table: pd.DataFrame, members: Members) -> pd.Series:
    """Largest payload from one rank to another, in B."""
    return table.groupby("run")["bytes"].max()


@_measure("matrix", timing=False, exact=True)
def pair_spread(table: pd.DataFrame, members: Members) -> pd.Series:
    """Largest over least payload between two ranks that talk at all; NaN below three pairs."""
    groups = table.groupby("run")["bytes"]
    return (groups.max() / groups.min()).where(groups.size() > 2)


def _pair_rate(campaign: Campaign, runs: pd.DataFrame, members: Members) -> pd.Series:
    """Largest payload from one rank to another per second of the application, in B/s."""
    seconds = rows_of(campaign, "ranks", runs).groupby("run")["app_time"].max()
    return pair_bytes(rows_of(campaign, "matrix", runs), members) / seconds


MEASURES["pair_rate"] = Spec(_pair_rate, timing=True, profile=True, unit="B/s")


def _rank_times(campaign: Campaign, runs: pd.DataFrame) -> pd.DataFrame:
    """Return time and MPI time of a run, means over ranks; tables of others have a time and a share of it."""
    if "ranks" in campaign.tree.children and len(campaign.frame("ranks")):
        table = rows_of(campaign, "ranks", runs).dropna(subset=["app_time", "mpi_time"])
        return table.groupby("run")[["app_time", "mpi_time"]].mean()
    told = runs.set_index("run")[["elapsed", "mpi_fraction"]].dropna()
    return pd.DataFrame({"app_time": told["elapsed"], "mpi_time": told["elapsed"] * told["mpi_fraction"]})


def _mpi_time(campaign: Campaign, runs: pd.DataFrame, members: Members) -> pd.Series:
    """Time inside MPI, mean over ranks, s."""
    return _rank_times(campaign, runs)["mpi_time"]


def _compute_time(campaign: Campaign, runs: pd.DataFrame, members: Members) -> pd.Series:
    """Time outside MPI, mean over ranks, s."""
    times = _rank_times(campaign, runs)
    return times["app_time"] - times["mpi_time"]


def _compute_over_mpi(campaign: Campaign, runs: pd.DataFrame, members: Members) -> pd.Series:
    """Time outside MPI over time inside it, means over ranks."""
    inside = _mpi_time(campaign, runs, members)
    return (_compute_time(campaign, runs, members) / inside.where(inside > 0)).dropna()


MEASURES |= {
    "mpi_time": Spec(_mpi_time, timing=True, profile=True, higher_is_better=False, unit="s"),
    "compute_time": Spec(_compute_time, timing=True, profile=True, higher_is_better=False, unit="s"),
    "compute_over_mpi": Spec(_compute_over_mpi, timing=True, profile=True),
}


def unit_of(variable: str, runs: pd.DataFrame) -> str:
    """Return the unit of a measure; that of the figure of merit is the application's."""
    printed = variable == "figure_of_merit"
    return str(runs["figure_of_merit_unit"].iloc[0]) if printed else MEASURES[variable].unit


def shown_unit(variable: str, runs: pd.DataFrame, scale: float = 1.0) -> str:
    """Return the unit of measured values as people read it; empty where a scale has changed it."""
    # A throughput adds up figures of merit.
    printed = variable in ("figure_of_merit", "throughput")
    unit = unit_of("figure_of_merit" if printed else variable, runs)
    if scale != 1.0 and not printed:
        return ""
    return display_unit(unit)


# ---- sets of things rather than a number


def _message_sizes(campaign: Campaign, runs: pd.DataFrame, members: Members) -> dict[str, set[Level]]:
    """Return the message sizes of each run, in B; calls without payload have none."""
    table = rows_of(campaign, "messages", runs)
    table = table[table["size"] > 0]
    return {str(run): set(map(int, group["size"])) for run, group in table.groupby("run")}


def _most_used_calls(campaign: Campaign, runs: pd.DataFrame, members: Members) -> dict[str, set[Level]]:
    """Return the calls made most often in each run, as many as the claim names."""
    table = rows_of(campaign, "calls", runs)
    table = table[~table["call"].isin(HOUSEKEEPING)]
    return {
        str(run): set(group.nlargest(len(members), "count")["call"]) for run, group in table.groupby("run")
    }


SETS: dict[str, Sets] = {"message_sizes": _message_sizes, "most_used_calls": _most_used_calls}
