"""What a page asks: a question made of a notebook's parameters, and the runs that it selects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from analysis.estimates import groups
from analysis.estimates.campaign import Campaign
from analysis.estimates.measures import unit_of as unit_of_measure
from analysis.estimates.question import Question

Select = Mapping[str, Any]


question = groups.level_question


def measured(campaign: Campaign, variable: str, select: Select | None = None) -> pd.DataFrame:
    """Measure the valid runs that a selection names; `NotCoveredError` if none of them has a value."""
    return groups.measured(question(campaign, variable, select), campaign)


def unit_of(asked: Question, values: pd.DataFrame) -> str:
    """Return the unit of measured values as a page shows it; empty where a scale has changed it."""
    # A throughput adds up figures of merit.
    printed = asked.variable in ("figure_of_merit", "throughput")
    unit = unit_of_measure("figure_of_merit" if printed else asked.variable, values)
    if asked.scale != 1.0 and not printed:
        return ""
    return "µs" if unit == "us" else unit


def refuse_mixture(values: pd.DataFrame, by: Sequence[str], alike: Sequence[str]) -> None:
    """Raise `NotCoveredError` if runs that make one median differ in one of the factors `alike`."""
    parts = values.groupby(list(by), sort=True) if by else [(("the selection",), values)]
    for key, group in parts:
        groups.refuse_mixture(group, alike, ", ".join(map(str, key)), "narrow the parameter select")
