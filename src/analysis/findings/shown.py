"""The figure of a conclusion as a table: medians with intervals of all levels, where the conclusion holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from analysis.base.words import Level
from analysis.estimates.campaign import Campaign
from analysis.estimates.tables import summary
from analysis.findings.conclusion import SHOWN
from analysis.findings.naming import display
from analysis.findings.plans import Plan
from analysis.findings.regions import differing
from analysis.findings.sentences import shown_unit

Stratum = Mapping[str, Level]

_AXES = {
    "case": "problem", "nodes": "nodes", "ranks": "ranks", "ranks_per_node": "ranks per node",
    "interconnect": "link", "mpi": "MPI library", "cpu": "processor", "cluster": "cluster",
    "target_time": "length of a run (s)", "profiler": "profiler", "build": "build", "tuning": "tuning",
    "concurrent_jobs": "jobs at once", "local_size": "grid points a side",
}  # fmt: skip
_MEASURES = {
    "figure_of_merit": "rate", "elapsed": "time", "throughput": "rate of all jobs",
    "energy_per_job": "energy", "jobs_per_day": "jobs", "mpi_fraction": "share of MPI",
    "call_share": "share of the MPI time", "count_share": "share of the calls",
    "node_memory_slurm": "memory of a node", "rank_memory": "memory of a rank",
    "size_share": "share of the messages", "bytes_per_call": "bytes a call",
}  # fmt: skip


def measure_name(variable: str) -> str:
    """Name a measure as axes do."""
    return _MEASURES.get(variable, variable.replace("_", " "))


def points(plan: Plan, campaign: Campaign, strata: Sequence[Stratum]) -> pd.DataFrame:
    """Return the medians of every level of a plan's factor in some strata, as `Conclusion.shown` has them.

    A series is a level and x the stratum: a number along the one numeric factor in which the strata differ,
    else its name. In a single stratum x is the level; of a numeric factor it is always.
    """
    frame = plan.frame
    at = pd.Series(-1, index=frame.index)
    for number, stratum in enumerate(strata):
        at[_within(frame, stratum)] = number
    part = frame[at >= 0].copy()
    at = at[at >= 0]
    part = part[part[plan.factor].isin(plan.levels)]
    for level, wanted in plan.where.items():  # one job on all ranks, not on one of them
        for name, own in wanted.items():
            part = part[(part[plan.factor] != level) | (part[name] == own)]
    at = at[part.index]
    numeric = not any(isinstance(level, str) for level in plan.levels)
    names = differing(strata)
    levels = [display(campaign, plan.factor, level) for level in part[plan.factor]]
    if numeric or len(strata) == 1:
        part["x"] = part[plan.factor].astype(float) if numeric else levels
        part["series"] = [_named(campaign, strata[one], names) for one in at]
        axis = plan.factor
    else:
        part["series"] = levels
        one = names[0] if len(names) == 1 else ""
        counted = one and not any(isinstance(stratum[one], str) for stratum in strata)
        texts = [strata[each][one] if counted else _named(campaign, strata[each], names) for each in at]
        part["x"] = [float(text) for text in texts] if counted else texts
        axis = one
    table = summary(part, ["series", "x"], "value", plan.measured.variable)[list(SHOWN)]
    variable = plan.measured.variable
    label = measure_name(variable)
    label = "time" if variable == "figure_of_merit" and plan.timed else label
    table.attrs.update(unit=shown_unit(plan.unit), xlabel=_AXES.get(axis, axis), ylabel=label)
    return table


def _within(frame: pd.DataFrame, stratum: Mapping[str, Any]) -> pd.Series:
    same = pd.Series(True, index=frame.index)
    for name, level in stratum.items():
        blank = level == "" and frame[name].dtype.kind == "f"
        same &= frame[name].isna() if blank else frame[name] == level
    return same


def _named(campaign: Campaign, stratum: Stratum, names: Sequence[str]) -> str:
    return ", ".join(display(campaign, name, stratum[name]) for name in names)
