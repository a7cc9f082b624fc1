"""What can be measured of one run: the names that a question's ``variable`` can have.

`MEASURES` names them all; each takes the campaign, the selected runs and the question's members and
returns one value a run. Columns of kind ``runs`` are measures of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from analysis.base.words import Level
from analysis.estimates import by_profile as profiles
from analysis.estimates import by_run as whole
from analysis.estimates.by_run import Measure, Members, column
from analysis.estimates.campaign import Campaign


@dataclass(frozen=True, slots=True)
class Spec:
    """A measure: how it is computed and what it needs.

    `timing`: it rests on times, which oversubscribed runs cannot give; `profile`: on an MPI profile. Less is
    better for times and the like: then "faster" means a smaller value. `exact`: what a program does or
    prints by its construction, so that repeats cannot scatter and one run is enough. `unit` is empty where
    it depends on the application.
    """

    compute: Measure
    timing: bool
    profile: bool
    higher_is_better: bool = True
    exact: bool = False
    unit: str = ""


def _cost(compute: Measure, unit: str) -> Spec:
    """Declare a time or an energy of a run: less is better."""
    return Spec(compute, timing=True, profile=False, higher_is_better=False, unit=unit)


def _timed(compute: Measure, unit: str = "", *, less_is_better: bool = False) -> Spec:
    """Declare a measure of a profile that rests on its times."""
    return Spec(compute, timing=True, profile=True, higher_is_better=not less_is_better, unit=unit)


def _counted(compute: Measure, unit: str = "", *, exact: bool = True) -> Spec:
    """Declare a measure of a profile that rests on its counts."""
    return Spec(compute, timing=False, profile=True, exact=exact, unit=unit)


# Units of times: there less is faster.
TIMES = ("s", "us")

MEASURES: dict[str, Spec] = {
    "figure_of_merit": Spec(column("figure_of_merit"), timing=True, profile=False),
    "elapsed": _cost(column("elapsed"), "s"),
    "benchmark_time": _cost(column("benchmark_time"), "s"),
    "application_time": _cost(whole.application_time, "s"),
    "jobs_per_day": Spec(whole.jobs_per_day, timing=True, profile=False, unit="jobs/day"),
    "throughput": Spec(whole.throughput, timing=True, profile=False),
    "energy": _cost(column("energy"), "J"),
    "energy_per_job": _cost(whole.energy_per_job, "Wh"),
    "mean_power": _cost(column("mean_power"), "W"),
    "idle_power": _cost(column("idle_power"), "W"),
    "peak_share": Spec(whole.peak_share, timing=True, profile=False, unit="%"),
    "rate_per_watt": Spec(whole.rate_per_watt, timing=True, profile=False, unit="Gflop/s/W"),
    "latency": _cost(whole.micro("latency"), "us"),
    "bandwidth": Spec(whole.micro("bandwidth"), timing=True, profile=False, unit="MB/s"),
    "reduction_share": Spec(
        whole.reduction_share, timing=True, profile=False, higher_is_better=False, unit="%"
    ),
    "node_memory_slurm": Spec(column("node_memory_slurm"), timing=False, profile=False, unit="B"),
    "data_memory": Spec(column("data_memory"), timing=False, profile=False, unit="B"),
    "grid_ratio": Spec(column("grid_ratio"), timing=False, profile=False, exact=True),
    "official_time": Spec(column("official_time"), timing=False, profile=False, exact=True, unit="s"),
    "stated_figure": Spec(whole.stated_figure, timing=False, profile=False, exact=True),
    "mpi_fraction": _timed(column("mpi_fraction")),
    "imbalance": _timed(column("imbalance")),
    "mpi_time": _timed(profiles.mpi_time, "s", less_is_better=True),
    "compute_time": _timed(profiles.compute_time, "s", less_is_better=True),
    "compute_over_mpi": _timed(profiles.compute_over_mpi),
    "call_share": _timed(profiles.call_share, "%"),
    "call_time": _timed(profiles.call_time, "s", less_is_better=True),
    "call_time_ratio": _timed(profiles.call_time_ratio),
    "calls_for_99_percent": _timed(profiles.calls_for_99_percent),
    "pair_rate": _timed(profiles.pair_rate, "B/s"),
    "rank_memory": _counted(column("rank_memory"), "B", exact=False),
    "node_memory": _counted(column("node_memory"), "B", exact=False),
    "pair_bytes": _counted(profiles.pair_bytes, "B", exact=False),
    # Calls that poll are made as often as the clock has it: their number scatters.
    "count_share": _counted(profiles.count_share, "%", exact=False),
    "calls_made": _counted(profiles.calls_made, exact=False),
    "distinct_calls": _counted(profiles.distinct_calls),
    "sent_share": _counted(profiles.sent_share, "%"),
    "message_share": _counted(profiles.message_share, "%"),
    "size_share": _counted(profiles.size_share, "%"),
    "message_count": _counted(profiles.message_count),
    "message_bytes": _counted(profiles.message_bytes, "B"),
    "bytes_per_call": _counted(profiles.bytes_per_call, "B"),
    "rank_bytes": _counted(profiles.rank_bytes, "B"),
    "total_bytes": _counted(profiles.total_bytes, "B"),
    "first_rank_excess": _counted(profiles.first_rank_excess),
    "pair_spread": _counted(profiles.pair_spread),
}


def unit_of(variable: str, runs: pd.DataFrame) -> str:
    """Return the unit of a measure; that of the figure of merit is the application's."""
    printed = variable == "figure_of_merit"
    return str(runs["figure_of_merit_unit"].iloc[0]) if printed else MEASURES[variable].unit


Sets = Callable[[Campaign, pd.DataFrame, Members], dict[str, set[Level]]]

# Measures that are a set of things rather than a number.
SETS: dict[str, Sets] = {
    "message_sizes": profiles.message_sizes,
    "most_used_calls": profiles.most_used_calls,
}
