"""Measures of a run as a whole: time, throughput, energy, and tables of micro-benchmarks.

Every function takes the campaign, the selected runs and the question's members, and returns a series of
one value a run, indexed by the run's name.
"""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from analysis.base.units import DAY, JOULES_PER_WH
from analysis.base.words import Level
from analysis.estimates.campaign import Campaign

Members = tuple[Level, ...]
Measure = Callable[[Campaign, pd.DataFrame, Members], pd.Series]


def rows_of(campaign: Campaign, group: str, runs: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of one of the campaign's tables that belong to the selected runs."""
    table = campaign.frame(group)
    return table[table["run"].isin(runs["run"])]


def column(name: str) -> Measure:
    """Make the measure that reads a column of the table of runs."""

    def compute(campaign: Campaign, runs: pd.DataFrame, members: Members) -> pd.Series:
        return runs.set_index("run")[name].astype(float)

    return compute


def micro(name: str) -> Measure:
    """Make the measure that reads the OSU table at the message size `members` names."""

    def compute(campaign: Campaign, runs: pd.DataFrame, members: Members) -> pd.Series:
        table = rows_of(campaign, "micro", runs)
        return table[table["size"].isin(members)].groupby("run")[name].first()

    return compute


def stated_figure(campaign: Campaign, runs: pd.DataFrame, members: Members) -> pd.Series:
    """Figure that a source states of a product or a rule: of the metric that `members` names, as it stands.

    What is about so much, or a limit, is no exact figure and is left out.
    """
    if "figures" not in campaign.tree.children:
        return pd.Series(dtype=float)
    table = rows_of(campaign, "figures", runs)
    plain = table[table["metric"].isin(members) & (table["qualifier"] == "")]
    return plain.groupby("run")["value"].first()


def _whole_sets(runs: pd.DataFrame, values: pd.Series) -> pd.Series:
    """Add up a rate over the jobs that ran at once.

    Jobs of one set have the same position in the order of execution. A set counts once, under the
    name of its first run, and only if all its jobs are there.
    """
    # A job that ran alone is a set of its own, whether or not its position is known.
    alone = "alone " + runs["run"]
    together = runs["order"].astype(str).where(runs["order"] >= 0)
    key = alone.where(runs["concurrent_jobs"] == 1, together)
    sets = values.groupby(key)
    whole = sets.transform("size") == runs["concurrent_jobs"]
    total = sets.transform("sum", min_count=1)
    first = ~key.loc[runs.sort_values("run").index].duplicated().reindex(runs.index)
    chosen = whole & first & key.notna()
    return total[chosen].set_axis(runs.loc[chosen, "run"])


def throughput(campaign: Campaign, runs: pd.DataFrame, members: Members) -> pd.Series:
    """Add up the figures of merit of the jobs that ran at once."""
    return _whole_sets(runs, runs["figure_of_merit"])


def application_time(campaign: Campaign, runs: pd.DataFrame, members: Members) -> pd.Series:
    """Time by the application's own clock where that is its figure of merit, s; else launch to exit.

    LS-DYNA prints the time of the job, OpenAtom that of a step: for ratios between runs of the same case
    both are time to solution. Of no use for an application that runs as long as it is told to, such as HPCG.
    """
    own = runs["figure_of_merit"].where(runs["figure_of_merit_unit"] == "s")
    return own.fillna(runs["elapsed"]).set_axis(runs["run"])


def jobs_per_day(campaign: Campaign, runs: pd.DataFrame, members: Members) -> pd.Series:
    """Jobs that the nodes finish in a day: 86400 / time from launch to exit, added over jobs at once."""
    return _whole_sets(runs, DAY / runs["elapsed"].where(runs["elapsed"] > 0))


def reduction_share(campaign: Campaign, runs: pd.DataFrame, members: Members) -> pd.Series:
    """Share of the reductions of dot products in the rated phase, by the output, %."""
    if "reduction_time" not in runs:
        return pd.Series(dtype=float)
    return (100 * runs["reduction_time"] / runs["benchmark_time"]).set_axis(runs["run"])


def peak_share(campaign: Campaign, runs: pd.DataFrame, members: Members) -> pd.Series:
    """Figure of merit over the greatest rate of the machine, %: the efficiency of an HPL run."""
    if "peak" not in runs:
        return pd.Series(dtype=float)
    return (100 * runs["figure_of_merit"] / runs["peak"]).set_axis(runs["run"])


def rate_per_watt(campaign: Campaign, runs: pd.DataFrame, members: Members) -> pd.Series:
    """Rate in Gflop/s over the mean power, so Gflop of work a joule."""
    rates = runs["figure_of_merit"].where(runs["figure_of_merit_unit"] == "Gflop/s")
    return (rates / runs["mean_power"]).set_axis(runs["run"])


def energy_per_job(campaign: Campaign, runs: pd.DataFrame, members: Members) -> pd.Series:
    """Energy of one job, Wh."""
    return column("energy")(campaign, runs, members) / JOULES_PER_WH
