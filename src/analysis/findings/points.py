"""The figure of a conclusion as a table: medians with intervals of all levels, where the conclusion holds."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from analysis.estimates.campaign import Campaign
from analysis.estimates.sentences import Statement
from analysis.estimates.spelling import Stratum, display, display_unit, measure_name, stratum_names
from analysis.estimates.tables import summary
from analysis.findings.conclusion import POINTS
from analysis.findings.plans import Plan
from analysis.schema.factors import label


def points(plan: Plan, campaign: Campaign, strata: Sequence[Stratum]) -> pd.DataFrame:
    """Return the medians of every level of a plan's factor in some strata, as `Conclusion.points` has them.

    A series is a level and x the stratum: a number along the one numeric factor in which the strata differ,
    else its name. In a single stratum x is the level; of a numeric factor it is always.
    """
    frame = plan.frame
    at = pd.Series(-1, index=frame.index)
    for number, stratum in enumerate(strata):
        at[_within(frame, stratum)] = number
    part = frame[(at >= 0) & frame[plan.factor].isin(plan.levels)].copy()
    for level, wanted in plan.where.items():  # one job on all ranks, not on one of them
        for name, own in wanted.items():
            part = part[(part[plan.factor] != level) | (part[name] == own)]
    factors, names = stratum_names(campaign, strata)
    axis, numeric = plan.factor, not any(isinstance(level, str) for level in plan.levels)
    levels = [display(campaign, plan.factor, level) for level in part[plan.factor]]
    places = list(at[part.index])
    if numeric or len(strata) == 1:
        part["x"] = part[plan.factor].astype(float) if numeric else levels
        part["series"] = [names[one] for one in places]
    else:
        axis = factors[0] if len(factors) == 1 else ""
        counted = axis and not any(isinstance(stratum[axis], str) for stratum in strata)
        part["x"] = [float(strata[one][axis]) if counted else names[one] for one in places]
        part["series"] = levels
    variable = plan.measured.variable
    table = summary(part, ["series", "x"], "value", variable)[list(POINTS)]
    name = "time" if variable == "figure_of_merit" and plan.timed else measure_name(variable)
    table.attrs.update(unit=display_unit(plan.unit), xlabel=label(axis) if axis else "", ylabel=name)
    return table


def values(answer: Statement) -> pd.DataFrame:
    """Return what was found of a measure by itself, a row a stratum, as `Conclusion.points` has them."""
    strata = [one.stratum for one in answer.found if one.stratum]
    names = stratum_names(answer.campaign, strata)[1] or [""] * len(answer.found)
    rows = [
        ("", name, one.value, one.low, one.high, one.n, one.level if one.bounded else math.nan)
        for name, one in zip(names, (each.estimate for each in answer.found), strict=True)
    ]
    table = pd.DataFrame(rows, columns=list(POINTS))
    table.attrs.update(unit=answer.unit, xlabel="", ylabel=measure_name(answer.question.variable))
    return table


def _within(frame: pd.DataFrame, stratum: Mapping[str, Any]) -> pd.Series:
    same = pd.Series(True, index=frame.index)
    for name, level in stratum.items():
        blank = level == "" and frame[name].dtype.kind == "f"
        same &= frame[name].isna() if blank else frame[name] == level
    return same
