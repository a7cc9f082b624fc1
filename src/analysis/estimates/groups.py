"""Strata: the runs a claim selects, split into groups that differ in the compared factor alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from analysis.claims.model import Claim, Comparison, Level
from analysis.estimates import uncertainty
from analysis.estimates.campaign import FACTORS, FOLLOWS, Campaign, NotCoveredError
from analysis.estimates.finding import level_name
from analysis.estimates.measures import MEASURES, Spec

Pair = tuple[pd.DataFrame, pd.DataFrame]

# Quantities along an order of levels; all others hold pairs against each other.
ORDERED = ("ordering", "trend", "saturation")


@dataclass(frozen=True)
class Groups:
    """The groups of one stratum that are held against each other.

    Attributes
    ----------
    stratum : mapping of str to level
        Factors in which all of them agree.
    ordered : tuple of DataFrame
        One a level, in the order that the claim names; empty for pairs.
    pairs : tuple of (DataFrame, DataFrame)
        Treatment and baseline; empty for an order.
    reference : DataFrame or None
        For a cost: the runs whose number of jobs a year both sides do.
    """

    stratum: Mapping[str, Level] = field(default_factory=dict)
    ordered: tuple[pd.DataFrame, ...] = ()
    pairs: tuple[Pair, ...] = ()
    reference: pd.DataFrame | None = None


def values(claim: Claim, campaign: Campaign) -> pd.DataFrame:
    """Measure the runs that a claim selects.

    Returns
    -------
    DataFrame
        One row a run with the factors and the column ``value``, in the claim's unit.

    Raises
    ------
    NotCoveredError
        If no selected run has a value.
    """
    spec = MEASURES[claim.variable]
    selection = dict(claim.select or {})
    if spec.profile and campaign.profiler:
        selection["profiler"] = campaign.profiler
    runs = campaign.select(selection, timing=spec.timing)
    measured = spec.compute(campaign, runs, claim.members) * claim.scale
    frame = runs.assign(value=runs["run"].map(measured)).dropna(subset=["value"])
    if frame.empty:
        why = uncertainty.missing(runs, claim.variable)
        raise NotCoveredError(f"no selected run of {campaign.name} has a value for {claim.variable}{why}")
    return uncertainty.with_point(frame, claim.variable)


def strata(
    frame: pd.DataFrame, moving: Sequence[str], campaign: Campaign, spec: Spec
) -> Iterator[tuple[Mapping[str, Level], pd.DataFrame]]:
    """Split runs by every factor that is not compared, with what the factors are in each part."""
    loose = set(moving) | {name for factor in moving for name in FOLLOWS.get(factor, ())}
    loose |= set(campaign.pool) if spec.profile else set()
    fixed = [factor for factor in (*FACTORS, uncertainty.POINT) if factor not in loose and factor in frame]
    for key, part in frame.groupby(fixed, sort=True, dropna=False):
        # A time that was not asked for is NaN, which is unlike itself.
        named: Iterator[tuple[str, Any]] = zip(fixed, key, strict=True)
        yield {name: "" if pd.isna(level) else level for name, level in named}, part


def groups(claim: Claim, campaign: Campaign, frame: pd.DataFrame) -> list[Groups]:
    """Find the strata that have all that a claim compares.

    Parameters
    ----------
    claim : Claim
        With a comparison.
    campaign : Campaign
    frame : DataFrame
        From `values`.

    Returns
    -------
    list of Groups
        At least one.

    Raises
    ------
    NotCoveredError
        If there is none, or a group would mix different things.
    """
    compare = claim.compare
    assert compare is not None
    spec = MEASURES[claim.variable]
    ordered = claim.quantity in ORDERED
    levels = _own_levels(compare, campaign, frame, ordered=ordered)
    found = []
    for stratum, part in strata(frame, moving(compare), campaign, spec):
        if ordered:
            parts = _ordered(compare, levels[0], part)
            found += [Groups(stratum, ordered=parts)] if parts else []
        else:
            found += _paired(claim, campaign, levels, stratum, part)
    if not found:
        names = ", ".join(str(level) for side in levels for level in side)
        raise NotCoveredError(
            f"{campaign.name} has no comparable runs for {compare.factor.replace('_', ' ')} {names}"
            + uncertainty.mixed(frame)
        )
    return found


def moving(compare: Comparison) -> tuple[str, ...]:
    """Return the factors that may differ between the groups of one stratum."""
    return (compare.factor, *compare.varying)


def _own_levels(
    compare: Comparison, campaign: Campaign, frame: pd.DataFrame, *, ordered: bool
) -> list[list[Level]]:
    """Resolve the levels of both sides (an order has one side); a level may stand for several."""
    if compare.span is not None:
        low, high = compare.span
        return [sorted(level for level in set(frame[compare.factor]) if low <= level <= high)]
    sides = [level if isinstance(level, tuple) else (level,) for level in compare.levels]
    if ordered:
        sides = [tuple(level for side in sides for level in side)]
    return [[mine for level in side for mine in campaign.resolve(compare.factor, level)] for side in sides]


def _ordered(compare: Comparison, levels: Sequence[Level], part: pd.DataFrame) -> tuple[pd.DataFrame, ...]:
    parts = tuple(part[part[compare.factor] == level] for level in levels)
    if compare.span is not None:  # whatever levels this stratum has
        parts = tuple(one for one in parts if len(one))
    if len(parts) < 2 or not all(map(len, parts)):
        return ()
    for one in parts:
        _refuse_mixture(one, compare)
    return parts


def _paired(
    claim: Claim,
    campaign: Campaign,
    levels: Sequence[Sequence[Level]],
    stratum: Mapping[str, Level],
    part: pd.DataFrame,
) -> list[Groups]:
    """Return the pairs of one stratum, none if a level or the reference of a cost is missing."""
    compare = claim.compare
    assert compare is not None
    pairs = _pairs(compare, levels, part, campaign)
    reference = None
    if claim.tariff is not None and claim.tariff.jobs_of is not None:
        own = campaign.resolve(compare.factor, claim.tariff.jobs_of)
        reference = part[part[compare.factor].isin(own)]
    missing = not pairs or (reference is not None and reference.empty)
    return [] if missing else [Groups(stratum, pairs=pairs, reference=reference)]


def _pairs(
    compare: Comparison, levels: Sequence[Sequence[Level]], part: pd.DataFrame, campaign: Campaign
) -> tuple[Pair, ...]:
    sides = []
    for index, side in enumerate(levels):
        parts = [part[part[compare.factor] == level] for level in side]
        if compare.where:
            parts = [_where(one, compare.where[index], campaign) for one in parts]
        sides.append(parts)
    if not all(len(one) for side in sides for one in side):
        return ()
    for one in (one for side in sides for one in side):
        _refuse_mixture(one, compare)
    treatments, baselines = sides
    return tuple((treatment, baseline) for baseline in baselines for treatment in treatments)


def _where(part: pd.DataFrame, wanted: Mapping[str, Level], campaign: Campaign) -> pd.DataFrame:
    for factor, value in wanted.items():
        part = part[part[factor].isin(campaign.resolve(factor, value))]
    return part


def _refuse_mixture(part: pd.DataFrame, compare: Comparison) -> None:
    """Refuse a side that throws different things together, such as jobs of one rank and of two."""
    for factor in compare.varying:
        found = sorted(set(part[factor]))
        if len(found) > 1:
            names = ", ".join(map(str, found))
            what = f"{level_name(compare.factor, part)} would mix {factor.replace('_', ' ')} {names}"
            raise NotCoveredError(f"{what}: narrow the claim's select or where")


def cells(claim: Claim, campaign: Campaign, frame: pd.DataFrame) -> list[tuple[Groups, Groups]]:
    """Find the strata of an interaction: its comparison at the upper and at the lower level of `along`.

    Raises
    ------
    NotCoveredError
        If no stratum has both.
    """
    compare = claim.compare
    assert compare is not None
    assert compare.along is not None
    factor, *ends = compare.along
    own: list[list[Any]] = [campaign.resolve(factor, level) for level in ends]
    wide = Comparison(compare.factor, compare.levels, (*compare.varying, factor))
    levels = _own_levels(compare, campaign, frame, ordered=False)
    found = []
    for stratum, part in strata(frame, moving(wide), campaign, MEASURES[claim.variable]):
        ends_found = [
            _paired(claim, campaign, levels, stratum, part[part[factor].isin(level)]) for level in own
        ]
        if all(ends_found):
            found.append((ends_found[0][0], ends_found[1][0]))
    if not found:
        names = " and ".join(str(level) for level in ends)
        raise NotCoveredError(
            f"{campaign.name} has no comparable runs at both {factor.replace('_', ' ')} {names}"
        )
    return found
