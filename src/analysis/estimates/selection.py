"""What is chosen where nobody has chosen: measure, axis, baseline and runs of a question.

A page that is made by itself gives its notebook no levels, no selection and no axis. With a baseline, a
selection or an axis given nothing is chosen.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from analysis.base.words import Level, number
from analysis.estimates import tables
from analysis.estimates.campaign import Campaign, NotCoveredError
from analysis.estimates.finding import brief_level, parts
from analysis.estimates.groups import level_question, measured, measured_level, strata
from analysis.estimates.measures import MEASURES, TIMES, shown_unit, unit_of
from analysis.estimates.spelling import strata_names
from analysis.schema.factors import BRIEF, BY_NAME, FACTORS, OF_SYSTEM, TABLE, is_known

# Tables over message sizes, which have no speed of their own.
BARE = ("osu", "imb")
# What stands for "nothing special" among the levels of a factor.
_PLAIN = ("none", "untuned", "default")
# Axes of figures, what a job has before what it works on and where.
_AXES = sorted(
    (one.name for one in TABLE if one.is_axis),
    key=lambda name: ("job", "problem", "machine").index(BY_NAME[name].kind),
)
# Factors that name curves: the network first, a machine as a whole after its parts and its software.
_OF_MACHINE = sorted(
    (BY_NAME[name] for name in OF_SYSTEM), key=lambda one: (bool(one.parts), not one.is_axis)
)
CURVES = [*(one.name for one in _OF_MACHINE), "case"]
# Factors by which energies are compared.
_SPLITS = [*CURVES, *(one.name for one in TABLE if one.kind == "job" and one.topics)]
_KINDS, _LISTED = 12, 60  # kinds of run in one figure, and in a table

Select = Mapping[str, Any]


@dataclass(frozen=True)
class Chosen:
    """How the levels of a factor are compared: by which runs, by which measure, along which axis.

    `varying` always changes with factor and axis; `tied` happens to differ along with the factor.
    """

    campaign: Campaign
    factor: str
    baseline: Level
    along: str
    variable: str
    select: Select
    varying: tuple[str, ...]
    tied: tuple[str, ...]


def natural(factor: str, axis: str = "") -> tuple[str, ...]:
    """Name what changes by nature along an axis and with a factor that is compared."""
    along = BY_NAME[axis].axis or () if axis else ()
    with_it = BY_NAME[factor].changes_with_it if factor else ()
    return tuple(name for name in dict.fromkeys((*along, *with_it)) if name not in (axis, factor))


def applications(campaign: Campaign, select: Select | None, factor: str) -> Iterator[Campaign]:
    """Go through the runs of each application whose times count, without a profiler if there are any."""
    runs = campaign.select(select, timing=True) if select else tables.counted(campaign)
    runs = runs[~runs["application"].isin(BARE)]
    if factor == "tuning" and (runs["tuning"] != "").any():
        runs = runs.assign(tuning=runs["tuning"].replace("", "untuned"))
    if factor in FACTORS:
        runs = runs[np.array([is_known(level) for level in runs[factor]], dtype=bool)]
    for _, part in runs.groupby("application", sort=True):
        plain = part[part["profiler"] == "none"]
        yield campaign.own(part if factor == "profiler" or plain.empty else plain)


def measure_of(campaign: Campaign, factor: str = "") -> str:
    """Choose the measure of speed of one application's runs: its own figure, or else the time."""
    runs = campaign.runs
    printed = runs["figure_of_merit"].notna()
    rate = printed.any() and (runs.loc[printed, "figure_of_merit_unit"] != "s").all()
    if factor == "concurrent_jobs":
        return "throughput" if rate else "jobs_per_day"
    return "figure_of_merit" if rate else "application_time"


def profilers(campaign: Campaign) -> dict[str, Any]:
    """Select all profilers that the runs have, so that none is chosen among them."""
    return {"profiler": sorted(set(campaign.runs["profiler"]))}


def comparison(campaign: Campaign, factor: str, allowed: Sequence[str]) -> Chosen | None:
    """Choose how one application's runs are compared in a factor; None if no levels meet anywhere.

    The axis is the one with the most points at which levels meet. What is `allowed` may differ along with
    the factor, if it has one level for each of the factor's.
    """
    if factor == "concurrent_jobs":
        campaign = campaign.own(_same_cores(campaign.runs))
    variable, select = measure_of(campaign, factor), profilers(campaign)
    try:
        frame = measured(level_question(campaign, variable, select), campaign)
    except NotCoveredError:
        return None
    tied = tuple(name for name in allowed if _differs_with(frame, factor, name))
    best: tuple[int, str, tuple[str, ...], list[pd.DataFrame]] | None = None
    for axis in (name for name in _AXES if name != factor and any(map(is_known, frame[name]))):
        varying = tuple(dict.fromkeys((*natural(factor, axis), *(name for name in tied if name != axis))))
        loose = (factor, axis, *varying)
        found = [
            _points(part, factor, axis) for _, part in strata(frame, loose, campaign, MEASURES[variable])
        ]
        most = max(map(len, found), default=0)
        points = [one for part in found for one in part]
        if most > (best[0] if best else 0) and all(is_pure(one, factor, varying) for one in points):
            best = most, axis, varying, points
    if best is None:
        return None
    _, axis, varying, points = best
    base = _baseline(points, factor, times=unit_of(variable, frame) in TIMES)
    return Chosen(campaign, factor, base, axis, variable, select, varying, tied)


def _points(part: pd.DataFrame, factor: str, axis: str) -> list[pd.DataFrame]:
    """Return the runs of each point of the axis at which two levels meet."""
    return [one for _, one in part.groupby(axis, sort=True) if one[factor].nunique() > 1]


def _baseline(points: Sequence[pd.DataFrame], factor: str, *, times: bool) -> Level:
    """Choose the level that meets others most often: of numbers the least, of words the slowest."""
    seen: dict[Level, list[float]] = {}
    for part in points:
        middle = part.groupby(factor)["value"].median()
        with np.errstate(divide="ignore", invalid="ignore"):
            speed = np.log(middle / middle.max()) * (-1 if times else 1)
        for level, value in speed.items():
            seen.setdefault(level, []).append(float(value))
    most = max(map(len, seen.values()))
    often = [level for level, values in seen.items() if len(values) == most]
    if plain := [level for level in often if str(level) in _PLAIN]:
        return plain[0]
    if not isinstance(often[0], str):
        return min(often)
    return min(often, key=lambda level: (float(np.mean(seen[level])), level))


def is_pure(part: pd.DataFrame, factor: str, varying: Sequence[str]) -> bool:
    """Tell whether each level's runs are alike in what may differ between levels."""
    each = part.groupby(factor)[list(varying)].nunique() if varying else pd.DataFrame()
    return bool((each <= 1).all().all())


def _differs_with(frame: pd.DataFrame, factor: str, other: str) -> bool:
    """Tell whether another factor has one level for each of the factor's, and not the same for all."""
    if other in (factor, *BY_NAME[factor].changes_with_it):
        return False
    return bool((frame.groupby(factor)[other].nunique() <= 1).all()) and frame[other].nunique() > 1


def _same_cores(runs: pd.DataFrame) -> pd.DataFrame:
    """Keep the runs whose jobs, all that ran at once, have the same ranks in all."""
    total = runs["ranks"] * runs["concurrent_jobs"]
    levels = runs.groupby(total)["concurrent_jobs"].nunique()
    kept: pd.DataFrame = runs[total == levels[levels == levels.max()].index.max()]
    return kept


# ---- kinds of run


def kind_of_run(
    campaign: Campaign,
    variable: str,
    select: Select | None = None,
    along: str | None = None,
    *,
    sized: bool = False,
) -> tuple[Campaign, str, str]:
    """Choose one kind of run that has a measure: of all that there are the one that shows most.

    Returns the campaign with these runs alone, the axis, and what they are in a sentence. With `along` None
    all runs of the kind are alike, and those with the most ranks are taken; with an empty text the kind is a
    curve along nodes or ranks, the longest. With a selection, or an axis, nothing is chosen. `sized` asks for
    profiles that know the sizes of messages.
    """
    if select or along:
        return campaign, along or "nodes", ""
    frame = measured_level(campaign.own(), variable)
    if sized:
        messages = campaign.frame("messages")
        frame = frame[frame["run"].isin(set(messages.loc[messages["size"] > 0, "run"]))]
    factors = [name for name in FACTORS if name not in campaign.pool]
    best: tuple[tuple[int, int, bool, int], str, pd.DataFrame] | None = None
    kinds = 0
    for axis in [""] if along is None else ["nodes", "ranks"]:
        loose = {"": (), "nodes": ("nodes", "ranks"), "ranks": ("ranks", "ranks_per_node", "nodes")}[axis]
        fixed = [name for name in factors if name not in loose]
        found = list(parts(frame, fixed))
        kinds = max(kinds, len(found))
        for part in found:
            if axis and not is_pure(part, axis, [name for name in factors if name not in (axis, "ranks")]):
                continue
            # Of two profilers IPM costs less and knows more.
            exact = bool((part["profiler"] == "ipm").all())
            size = (part[axis].nunique() if axis else 1, int(part["ranks"].max()), exact, len(part))
            if best is None or size > best[0]:
                best = size, axis, part
    if best is None:
        what = "a profile that knows the sizes of messages" if sized else f"a value for {variable}"
        raise NotCoveredError(f"no runs of one kind have {what}")
    _, axis, part = best
    return (
        campaign.own(part.drop(columns="value")),
        axis or "nodes",
        _kind_sentence(campaign, part, axis, kinds),
    )


def _kind_sentence(campaign: Campaign, part: pd.DataFrame, axis: str, kinds: int) -> str:
    names = []
    for factor in ("application", "cluster", *BRIEF):
        levels = [level for level in dict.fromkeys(part[factor]) if is_known(level)]
        if factor != axis and len(levels) == 1 and not (axis and factor == "ranks"):
            name = campaign.application_name(levels[0]) if factor == "application" else ""
            names.append(name or brief_level(factor, levels[0]))
    others = f", one of {kinds} kinds of run that have this" if kinds > 1 else ""
    return f"Shown: {', '.join(names)}{others}."


def kinds(campaign: Campaign) -> pd.DataFrame:
    """List the kinds of run: what distinguishes each, its number of runs, the median of what it measures.

    Columns ``application runs n measure median``, the last with its interval; of more than 60 kinds the most
    repeated.
    """
    valid = campaign.runs[campaign.runs["valid"]]
    found = [pd.DataFrame(columns=["application", "runs", "n", "measure", "median"])]
    for application, part in valid.groupby("application", sort=True):
        levels = [
            {name: level if is_known(level) else "" for name, level in zip(FACTORS, row, strict=True)}
            for row in part[list(FACTORS)].itertuples(index=False)
        ]
        names = [name or "all runs" for name in strata_names(levels, campaign)]
        own = campaign.own(part)
        measure = measure_of(own)
        values = MEASURES[measure].compute(own, part, ()).to_numpy()
        table = tables.summary(part.assign(runs=names, value=values), ["runs"], "value", measure)
        unit = shown_unit(measure, part)
        spelt = [number(tables.estimate_of(row), unit) for _, row in table.iterrows()]
        found.append(table.assign(application=application, measure=measure.replace("_", " "), median=spelt))
    whole = tables.stacked(*found).sort_values("n", ascending=False, kind="stable").head(_LISTED)
    return whole[list(found[0])].sort_index()


def repeated(
    campaign: Campaign, variable: str = "", select: Select | None = None
) -> tuple[Campaign, str, Select]:
    """Choose the runs whose repeats are shown: of each application's kinds those with the most repeats."""
    if variable:
        return campaign, variable, select or {}
    best = campaign.own(campaign.runs.head(0))
    for part in applications(campaign, select, ""):
        kind = part.runs.groupby(list(FACTORS), dropna=False, sort=True).ngroup()
        sizes = kind.value_counts().sort_index().sort_values(ascending=False, kind="stable")
        chosen = part.runs[kind.isin(sizes[sizes > 1].index[:_KINDS])]
        if len(chosen) > len(best.runs):
            best = part.own(chosen)
    if best.runs.empty:
        raise NotCoveredError("no two runs whose times count are alike")
    return best, measure_of(best), profilers(best)


def first_varying(campaign: Campaign, variable: str) -> str:
    """Name the factor by which a measure is shown: the first of a fixed order with two levels."""
    frame = measured_level(campaign.own(), variable)
    varying = (name for name in _SPLITS if len({one for one in frame[name] if is_known(one)}) > 1)
    return next(varying, "application")


def by_energy(campaign: Campaign, factor: str = "", baseline: Level = "") -> tuple[Campaign, str, Level]:
    """Choose the factor by which energies are compared, and the level that takes most, if none is given.

    Raises `NotCoveredError` if no run has an energy, or all are alike.
    """
    if factor:
        return campaign, factor, baseline
    factor = first_varying(campaign, "energy")
    part = campaign.own()
    frame = measured_level(part, "energy")
    if frame[factor].nunique() < 2:
        raise NotCoveredError("the runs with an energy are alike in every factor that is compared")
    middle = frame.groupby(factor)["value"].median()
    return part, factor, middle.index[int(np.argmax(middle.to_numpy()))]


def size_bounds(table: pd.DataFrame) -> list[int]:
    """Choose bounds for a table of shares of messages by size: powers of four around what was sent."""
    sent = table.loc[table["size"] > 0, "size"]
    if sent.empty:
        return []
    low, high = (int(np.log2(float(end)) // 2) for end in (sent.min(), sent.max()))
    powers = [4**power for power in range(low + 1, high + 1)] or [4 ** (high + 1)]
    return powers[:: max(1, -(-len(powers) // 5))]
