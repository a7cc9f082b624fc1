"""The runs that a question asks for, measured, and what they must have in common."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from analysis.base.errors import ConfigError
from analysis.claims.model import Level
from analysis.estimates import uncertainty
from analysis.estimates.campaign import FOLLOWS, Campaign, NotCoveredError
from analysis.estimates.measures import MEASURES

Select = Mapping[str, Any]
# Units of times: there less is faster.
TIMES = ("s", "µs")


def measured(
    campaign: Campaign,
    variable: str,
    select: Select | None = None,
    *,
    members: Sequence[Level] = (),
    scale: float = 1.0,
) -> pd.DataFrame:
    """Measure the valid runs that a selection names.

    Parameters
    ----------
    campaign : Campaign
    variable : str
        One of `analysis.estimates.measures.MEASURES`.
    select : mapping of str to level, list of levels or range, optional
        Levels spelt as in the report or as in the campaign. Without a profiler in it, measures of a
        profile take the campaign's profiler and all others the runs without one, if there are any.
    members : sequence of level, optional
        What the measure is of: calls, sizes.
    scale : float, optional
        Factor on the values.

    Returns
    -------
    DataFrame
        One row a run: its variables and ``value``.

    Raises
    ------
    NotCoveredError
        If the campaign has no such run, or none with a value.
    ConfigError
        If there is no such measure.
    """
    if variable not in MEASURES:
        known = ", ".join(sorted(MEASURES))
        raise ConfigError.at("question", 0, f"{variable!r} is no measure", f"take one of {known}")
    spec = MEASURES[variable]
    runs = campaign.select(
        _with_profiler(campaign, dict(select or {}), profile=spec.profile), timing=spec.timing
    )
    found = spec.compute(campaign, runs, tuple(members)) * scale
    frame = runs.assign(value=runs["run"].map(found)).dropna(subset=["value"])
    if frame.empty:
        why = uncertainty.missing(runs, variable)
        raise NotCoveredError(f"no selected run of {campaign.name} has a value for {variable}{why}")
    return uncertainty.with_point(frame, variable)


def unit_of(variable: str, values: pd.DataFrame, scale: float = 1.0) -> str:
    """Return the unit of measured values; empty where a scale has changed it."""
    if variable in ("figure_of_merit", "throughput"):
        return str(values["figure_of_merit_unit"].iloc[0])
    unit = MEASURES[variable].unit if scale == 1.0 else ""
    return "µs" if unit == "us" else unit


def _with_profiler(campaign: Campaign, select: dict[str, Any], *, profile: bool) -> dict[str, Any]:
    if "profiler" in select:
        return select
    if profile:
        return {**select, "profiler": campaign.profiler} if campaign.profiler else select
    # A profiler costs time: its runs speak of themselves only.
    return {**select, "profiler": "none"} if "none" in set(campaign.runs["profiler"]) else select


def refuse_mixture(values: pd.DataFrame, by: Sequence[str], alike: Sequence[str]) -> None:
    """Fail if runs that make one median differ in one of the factors `alike`."""
    for key, group in values.groupby(list(by), sort=True):
        for factor in alike:
            levels = sorted(set(group[factor].dropna()))
            if len(levels) > 1:
                what = f"{', '.join(map(str, key))} would mix {factor} {', '.join(map(str, levels))}"
                raise ConfigError.at("question", 0, what, "narrow the parameter select")


def apart(found: Sequence[Mapping[str, Level]]) -> list[str]:
    """Name strata by the factors in which they differ, leaving out those that follow from another."""
    differing = [f for f in found[0] if len({stratum[f] for stratum in found}) > 1]
    follow = {name for factor in differing for name in FOLLOWS.get(factor, ())}
    chosen: list[str] = []
    for factor in (f for f in differing if f not in follow):
        known = {tuple(str(stratum[f]) for f in chosen) for stratum in found}
        more = {tuple(str(stratum[f]) for f in (*chosen, factor)) for stratum in found}
        if len(more) > len(known):
            chosen.append(factor)
    return [
        ", ".join(
            str(stratum[f]) if isinstance(stratum[f], str) else f"{f.replace('_', ' ')} {stratum[f]:g}"
            for f in chosen
        )
        for stratum in found
    ]


def place(along: str, value: Level) -> str:
    """Name a point of an axis: ``at 1 node``, ``at 32 nodes``, ``at 16³``."""
    if isinstance(value, str):
        return f"at {value}"
    word = along.replace("_", " ")
    if value == 1:
        word = "rank per node" if word == "ranks per node" else word.removesuffix("s")
    return f"at {value:g} {word}"


def plain(value: float, figures: int = 4) -> str:
    """Spell a number with some significant figures and never a power of ten: ``11,910``."""
    if not math.isfinite(value) or value == 0:
        return f"{value:g}"
    places = figures - 1 - math.floor(math.log10(abs(value)))
    text = f"{round(value, places):,.{max(places, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
