"""Strata: the runs that a question selects, split into groups that differ in the compared factor alone."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from analysis.base.words import Level
from analysis.estimates import uncertainty
from analysis.estimates.campaign import Campaign, NotCoveredError
from analysis.estimates.finding import DAY, group_name, measuring_days, parted
from analysis.estimates.measures import MEASURES, Spec
from analysis.estimates.question import Comparison, Question
from analysis.schema.factors import FACTORS, FOLLOWS

Pair = tuple[pd.DataFrame, pd.DataFrame]
_SIDES, _MOST_CELLS = 2, 300  # of a comparison; of each, kinds of runs that are looked at


@dataclass(frozen=True)
class Groups:
    """The groups of one stratum that are compared.

    `stratum` has the factors in which all agree. `ordered` has one group per level in the question's order,
    or `pairs` has treatments and baselines. `reference`, for a cost, has the runs whose number of jobs per
    year both sides do.
    """

    stratum: Mapping[str, Level] = field(default_factory=dict)
    ordered: tuple[pd.DataFrame, ...] = ()
    pairs: tuple[Pair, ...] = ()
    reference: pd.DataFrame | None = None


def level_question(
    campaign: Campaign,
    variable: str,
    select: Mapping[str, Any] | None = None,
    *,
    members: Sequence[Level] = (),
    scale: float = 1.0,
) -> Question:
    """Ask for the median of one of `analysis.estimates.measures.MEASURES` over the runs in `select`.

    `select` gives factors a level, a list of levels or a range, spelt as in the report or as in the campaign.
    `members` are the calls or sizes that the measure counts, `scale` is a factor on its values. A profiler
    costs time: unless the selection names a profiler, measures that need no profile use the runs without a
    profiler, if there are any.
    """
    chosen = dict(select or {})
    of_profile = variable in MEASURES and MEASURES[variable].profile
    if not of_profile and "profiler" not in chosen and "none" in set(campaign.runs["profiler"]):
        chosen["profiler"] = "none"
    return Question("level", variable, chosen, members=tuple(members), scale=scale)


def measured(question: Question, campaign: Campaign) -> pd.DataFrame:
    """Measure the runs that a question selects: one row a run, factors, ``value``, ``most`` and ``day``.

    Values are times the question's scale, and so is the most that they can be. Measures of a profile take the
    runs of the campaign's profiler, unless the question names one. Raises `NotCoveredError` if no selected
    run has a value, ValueError if there is no such measure.
    """
    if question.variable not in MEASURES:
        raise ValueError(f"{question.variable!r} is no measure; take one of {', '.join(sorted(MEASURES))}")
    spec = MEASURES[question.variable]
    selection = dict(question.select or {})
    if spec.profile and campaign.profiler and selection.get("profiler", "none") == "none":
        selection["profiler"] = campaign.profiler
    runs = campaign.select(selection, timing=spec.timing)
    found = spec.compute(campaign, runs, question.members) * question.scale
    each = len(found) == len(runs) and bool((found.index.to_numpy() == runs["run"].to_numpy()).all())
    own = found.to_numpy() if each else runs["run"].map(found).to_numpy()
    frame = runs.copy(deep=False)
    frame["value"], frame["most"], frame["day"] = own, spec.most * question.scale, measuring_days(runs)
    known = frame["value"].notna().to_numpy()
    frame = frame.copy() if known.all() else frame[known]  # a copy has one block a type, as in Campaign.frame
    if frame.empty:
        why = uncertainty.missing(runs, question.variable)
        raise NotCoveredError(f"no selected run of {campaign.name} has a value for {question.variable}{why}")
    return uncertainty.with_point(frame, question.variable)


def measured_level(
    campaign: Campaign, variable: str, select: Mapping[str, Any] | None = None
) -> pd.DataFrame:
    """Measure the valid runs that a selection names, as `level_question` asks."""
    return measured(level_question(campaign, variable, select), campaign)


def strata(
    frame: pd.DataFrame, moving: Sequence[str], campaign: Campaign, spec: Spec
) -> Iterator[tuple[Mapping[str, Level], pd.DataFrame]]:
    """Split runs by every factor that is not compared, with what the factors are in each part."""
    loose = set(moving) | {name for factor in moving for name in FOLLOWS.get(factor, ())}
    loose |= set(campaign.pool) if spec.profile else set()
    names = (*FACTORS, uncertainty.POINT, *([DAY] if DAY in campaign.matched else []))
    fixed = [name for name in names if name not in loose and name in frame]
    for named, part in parted(frame, fixed):
        # A time that was not asked for is NaN, which is unlike itself.
        yield {name: "" if pd.isna(level) else level for name, level in named.items()}, part


def also_differ(question: Question, campaign: Campaign) -> tuple[str, ...]:
    """Name the fewest factors that differ, with the compared one, between runs of treatment and baseline.

    Empty if nothing else differs, or a side has no run.
    """
    compare = question.compare
    if compare is None or len(compare.levels) != _SIDES or compare.span is not None:
        return ()
    try:
        frame = measured(question, campaign)
        levels = _own_levels(compare, campaign, frame, ordered=False)
    except NotCoveredError:
        return ()
    loose = {name for factor in compare.moving for name in (factor, *FOLLOWS.get(factor, ()))}
    fixed = [factor for factor in FACTORS if factor not in loose and factor in frame]
    sides = []
    for own in levels:
        part = frame[frame[compare.factor].isin(own)][fixed].drop_duplicates().astype(object)
        sides.append(part.where(part.notna(), "").to_numpy()[:_MOST_CELLS])
    apart = (tuple(np.flatnonzero(one != other)) for one in sides[0] for other in sides[1])
    return tuple(fixed[at] for at in min(apart, key=len, default=()))


def groups(
    question: Question, compare: Comparison, campaign: Campaign, frame: pd.DataFrame, *, ordered: bool
) -> list[Groups]:
    """Find the strata, at least one, that have all that a question compares.

    `frame` is from `measured`; `ordered` asks for one group a level in their order, instead of pairs. Raises
    `NotCoveredError` if there is none, or a group would mix different things.
    """
    levels = _own_levels(compare, campaign, frame, ordered=ordered)
    found = []
    for stratum, part in strata(frame, compare.moving, campaign, MEASURES[question.variable]):
        if ordered:
            parts = _ordered(compare, levels[0], part)
            found += [Groups(stratum, ordered=parts)] if parts else []
        else:
            found += _paired(question, compare, campaign, levels, stratum, part)
    if not found:
        names = ", ".join(str(level) for side in levels for level in side)
        raise NotCoveredError(
            f"{campaign.name} has no comparable runs for {compare.factor.replace('_', ' ')} {names}"
            + uncertainty.mixed(frame)
        )
    return found


def _own_levels(
    compare: Comparison, campaign: Campaign, frame: pd.DataFrame, *, ordered: bool
) -> list[list[Level]]:
    """Resolve the levels of both sides (an order has one side); a level may stand for several."""
    if compare.span is not None:
        low, high = compare.span
        return [sorted(level for level in set(frame[compare.factor]) if low <= level <= high)]
    # A level of ours that stands for two of the report's is one group, and is compared once.
    sides = [level if isinstance(level, tuple) else (level,) for level in compare.levels]
    if ordered:
        sides = [tuple(level for side in sides for level in side)]
    own = ([mine for level in side for mine in campaign.resolve(compare.factor, level)] for side in sides)
    return [list(dict.fromkeys(side)) for side in own]


def _ordered(compare: Comparison, levels: Sequence[Level], part: pd.DataFrame) -> tuple[pd.DataFrame, ...]:
    parts = tuple(part[part[compare.factor] == level] for level in levels)
    if compare.span is not None:  # whatever levels this stratum has
        parts = tuple(one for one in parts if len(one))
    if len(parts) < 2 or not all(map(len, parts)):
        return ()
    for one in parts:
        refuse_mixture(one, compare.varying, group_name(compare.factor, one))
    return parts


def _paired(
    question: Question,
    compare: Comparison,
    campaign: Campaign,
    levels: Sequence[Sequence[Level]],
    stratum: Mapping[str, Level],
    part: pd.DataFrame,
) -> list[Groups]:
    """Return the pairs of one stratum, none if a level or the reference of a cost is missing."""
    pairs = _pairs(compare, levels, part, campaign)
    reference = None
    if question.tariff is not None and question.tariff.jobs_of is not None:
        own = campaign.resolve(compare.factor, question.tariff.jobs_of)
        reference = part[part[compare.factor].isin(own)]
    missing = not pairs or (reference is not None and reference.empty)
    return [] if missing else [Groups(stratum, pairs=pairs, reference=reference)]


def _pairs(
    compare: Comparison, levels: Sequence[Sequence[Level]], part: pd.DataFrame, campaign: Campaign
) -> tuple[Pair, ...]:
    present = set(part[compare.factor])
    if not all(level in present for side in levels for level in side):
        return ()
    sides = []
    for index, side in enumerate(levels):
        parts = [part[part[compare.factor].to_numpy() == level] for level in side]
        if compare.where:
            parts = [_where(one, compare.where[index], campaign) for one in parts]
        sides.append(parts)
    if not all(len(one) for side in sides for one in side):
        return ()
    for one in (one for side in sides for one in side):
        refuse_mixture(one, compare.varying, group_name(compare.factor, one))
    treatments, baselines = sides
    return tuple((treatment, baseline) for baseline in baselines for treatment in treatments)


def _where(part: pd.DataFrame, wanted: Mapping[str, Level], campaign: Campaign) -> pd.DataFrame:
    for factor, value in wanted.items():
        part = part[part[factor].isin(campaign.resolve(factor, value))]
    return part


def refuse_mixture(
    part: pd.DataFrame, factors: Sequence[str], name: str, remedy: str = "narrow the claim's select or where"
) -> None:
    """Refuse a group that throws different things together, such as jobs of one rank and of two."""
    for factor in factors:
        found = sorted(set(part[factor].dropna()))
        if len(found) > 1:
            names = ", ".join(map(str, found))
            raise NotCoveredError(f"{name} would mix {factor.replace('_', ' ')} {names}: {remedy}")


def refuse_mixtures(values: pd.DataFrame, by: Sequence[str], alike: Sequence[str]) -> None:
    """Raise `NotCoveredError` if runs that make one median differ in one of the factors `alike`."""
    parts = values.groupby(list(by), sort=True) if by else [(("the selection",), values)]
    for key, group in parts:
        refuse_mixture(group, alike, ", ".join(map(str, key)), "narrow the parameter select")


def cells(
    question: Question, compare: Comparison, campaign: Campaign, frame: pd.DataFrame
) -> list[tuple[Groups, Groups]]:
    """Find the strata of an interaction: its comparison at the upper and at the lower level of `along`.

    Raises `NotCoveredError` if no stratum has both.
    """
    assert compare.along is not None  # the schema sees to it
    factor, *ends = compare.along
    own: list[list[Any]] = [campaign.resolve(factor, level) for level in ends]
    levels = _own_levels(compare, campaign, frame, ordered=False)
    found = []
    for stratum, part in strata(frame, (*compare.moving, factor), campaign, MEASURES[question.variable]):
        ends_found = [
            _paired(question, compare, campaign, levels, stratum, part[part[factor].isin(level)])
            for level in own
        ]
        if all(ends_found):
            found.append((ends_found[0][0], ends_found[1][0]))
    if not found:
        names = " and ".join(str(level) for level in ends)
        raise NotCoveredError(
            f"{campaign.name} has no comparable runs at both {factor.replace('_', ' ')} {names}"
        )
    return found
