"""Quantities: from a claim and a campaign to estimates, one for each stratum.

A stratum is a group of runs that differ in nothing but the compared factor (and what follows from
it). Several strata mean that the campaign varies something the claim does not speak of; then each
is estimated by itself and the claim's ``aggregate`` says whether all must agree or the best counts.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from analysis import stats
from analysis.claims.campaign import FACTORS, FOLLOWS, Campaign, NotCoveredError
from analysis.claims.measures import MEASURES, SETS, Spec
from analysis.claims.model import Claim, Comparison, Level
from analysis.claims.text import in_order
from analysis.stats import Estimate


@dataclass(frozen=True)
class Finding:
    """An estimate with what it rests on.

    Attributes
    ----------
    estimate : Estimate
        In the claim's unit.
    compared : str
        What was held against what, and what both had in common.
    arithmetic : str
        The numbers as they were put together.
    runs : tuple of str
    base : tuple of (float, str, str), optional
        Value, unit and name of the baseline.
    equivalence : Equivalence, optional
        For equality.
    steps : tuple of Estimate
        For an order: each step's ratio.
    members : frozenset
        For a set: what was found.
    """

    estimate: Estimate
    compared: str
    arithmetic: str
    runs: tuple[str, ...]
    base: tuple[float, str, str] | None = None
    equivalence: stats.Equivalence | None = None
    steps: tuple[Estimate, ...] = ()
    members: frozenset[Level] | None = None
    unequal: tuple[str, ...] = field(default=())


def findings(claim: Claim, campaign: Campaign) -> list[Finding]:
    """Estimate a claim's quantity in every stratum that a campaign has for it.

    Parameters
    ----------
    claim : Claim
    campaign : Campaign

    Returns
    -------
    list of Finding
        At least one.

    Raises
    ------
    NotCoveredError
        If the campaign has no runs for it; the message says what is missing.
    """
    if claim.quantity == "set":
        return [_set(claim, campaign)]
    spec = MEASURES[claim.variable]
    selection = dict(claim.select or {})
    if spec.profile and campaign.profiler:
        selection["profiler"] = campaign.profiler
    runs = campaign.select(selection, timing=spec.timing)
    values = spec.compute(campaign, runs, claim.members) * claim.scale
    frame = runs.assign(value=runs["run"].map(values)).dropna(subset=["value"])
    if frame.empty:
        raise NotCoveredError(f"no selected run of {campaign.name} has a value for {claim.variable}")
    if claim.compare is None and spec.exact:
        return [_exact(frame)]
    if claim.compare is None:
        return [_level(part) for part in _strata(frame, (), campaign, spec)]
    return _compared(claim, claim.compare, campaign, frame, spec)


def _strata(
    frame: pd.DataFrame, moving: Sequence[str], campaign: Campaign, spec: Spec
) -> Iterator[pd.DataFrame]:
    loose = set(moving) | {name for factor in moving for name in FOLLOWS.get(factor, ())}
    loose |= set(campaign.pool) if spec.profile else set()
    fixed = [factor for factor in FACTORS if factor not in loose]
    for _, part in frame.groupby(fixed, sort=True, dropna=False):
        yield part


def _level(part: pd.DataFrame) -> Finding:
    estimate = stats.median(part["value"])
    return Finding(
        estimate,
        compared=_common(part),
        arithmetic=f"median of {_listed(part['value'])}",
        runs=tuple(part["run"]),
    )


def _exact(frame: pd.DataFrame) -> Finding:
    """Take the range over all runs, which is one value where the quantity depends on nothing else."""
    values = frame["value"]
    estimate = Estimate(float(values.median()), float(values.min()), float(values.max()), len(values))
    return Finding(estimate, _common(frame), f"every run: {_listed(values)}", tuple(frame["run"]))


def _set(claim: Claim, campaign: Campaign) -> Finding:
    selection = dict(claim.select or {})
    if campaign.profiler:
        selection["profiler"] = campaign.profiler
    runs = campaign.select(selection, timing=False)
    sets = SETS[claim.variable](campaign, runs)
    if not sets:
        raise NotCoveredError(f"no selected run of {campaign.name} has {claim.variable.replace('_', ' ')}")
    union = frozenset().union(*sets.values())
    expected = set(claim.expect.members)
    n = float(len(union))
    return Finding(
        Estimate(n, n, n, len(sets)),
        compared=_common(runs[runs["run"].isin(sets)]),
        arithmetic="; ".join(
            f"run {run}: {', '.join(map(str, in_order(found)))}" for run, found in sets.items()
        ),
        runs=tuple(sets),
        members=union,
        unequal=tuple(run for run, found in sets.items() if found != expected),
    )


def _compared(
    claim: Claim, compare: Comparison, campaign: Campaign, frame: pd.DataFrame, spec: Spec
) -> list[Finding]:
    """Estimate a comparison in each stratum that has all its levels."""
    own = [campaign.resolve(compare.factor, level) for level in _flat(compare.levels)]
    groups = [[mine] for levels in own for mine in levels]
    moving = (compare.factor, *compare.varying)
    found = []
    for part in _strata(frame, moving, campaign, spec):
        parts = [part[part[compare.factor].isin(levels)] for levels in groups]
        if compare.where:
            *treatments, baseline = parts
            parts = [_where(one, compare.where[0]) for one in treatments] + [
                _where(baseline, compare.where[1])
            ]
        if all(len(one) for one in parts):
            _refuse_mixture(parts, compare)
            found += list(_stratum(claim, compare, parts))
    if not found:
        names = ", ".join(str(mine) for levels in own for mine in levels)
        raise NotCoveredError(
            f"{campaign.name} has no comparable runs for {compare.factor.replace('_', ' ')} {names}"
        )
    return found


def _where(part: pd.DataFrame, values: Mapping[str, Level]) -> pd.DataFrame:
    for factor, value in values.items():
        part = part[part[factor] == value]
    return part


def _refuse_mixture(parts: Sequence[pd.DataFrame], compare: Comparison) -> None:
    """Refuse a side that throws different things together, such as jobs of one rank and of two."""
    for part in parts:
        for factor in compare.varying:
            values = sorted(set(part[factor]))
            if len(values) > 1:
                names = ", ".join(map(str, values))
                what = f"{_level_name(compare.factor, part)} would mix {factor.replace('_', ' ')} {names}"
                raise NotCoveredError(f"{what}: narrow the claim's select or where")


def _flat(levels: Sequence[Any]) -> list[Level]:
    return [one for level in levels for one in (level if isinstance(level, tuple) else (level,))]


def _stratum(claim: Claim, compare: Comparison, parts: list[pd.DataFrame]) -> Iterator[Finding]:
    if claim.quantity == "ordering":
        yield _ordering(claim, compare, parts)
    elif claim.quantity == "trend":
        yield _trend(compare, parts)
    else:
        *treatments, baseline = parts
        for treatment in treatments:
            yield _ratio(claim, compare, treatment, baseline)


def _ratio(claim: Claim, compare: Comparison, treatment: pd.DataFrame, baseline: pd.DataFrame) -> Finding:
    x, y = treatment["value"], baseline["value"]
    ratio, text = _faster(claim, x, y)
    if claim.quantity == "gain":
        estimate = ratio.transformed(lambda r: 100 * (r - 1))
        text += f", a gain of {estimate.value:.3g} %"
    elif claim.quantity == "efficiency":
        more = float(treatment["ranks"].iloc[0] / baseline["ranks"].iloc[0])
        estimate = ratio.transformed(lambda r: 100 * r / more)
        text += f", over {more:g} times the ranks {estimate.value:.3g} %"
    else:
        estimate = ratio
    equivalence = stats.equivalence(x, y, claim.expect.tolerance) if claim.quantity == "equality" else None
    if equivalence is not None:
        text += f"; two one-sided rank tests within {claim.expect.tolerance:.0%}: p = {equivalence.p:.2g}"
    unit = str(baseline["figure_of_merit_unit"].iloc[0]) if claim.variable == "figure_of_merit" else ""
    name = _level_name(compare.factor, baseline)
    return Finding(
        estimate,
        compared=f"{_level_name(compare.factor, treatment)} against {name}; {_common(treatment, baseline)}",
        arithmetic=text,
        runs=(*treatment["run"], *baseline["run"]),
        base=(float(np.median(y)), unit, name),
        equivalence=equivalence,
    )


def _faster(claim: Claim, x: pd.Series, y: pd.Series) -> tuple[Estimate, str]:
    """Say how many times `x` is better than `y`: a smaller time is a higher speed."""
    if MEASURES[claim.variable].higher_is_better or claim.quantity == "equality":
        ratio = stats.ratio_of_medians(x, y)
        return ratio, f"{_median(x)} / {_median(y)} = {ratio.value:.4g}"
    turned = stats.ratio_of_medians(y, x)
    ratio = Estimate(turned.value, turned.low, turned.high, len(x), len(y))
    return ratio, f"{_median(y)} / {_median(x)} = {ratio.value:.4g}"


def _ordering(claim: Claim, compare: Comparison, parts: list[pd.DataFrame]) -> Finding:
    pairs = itertools.pairwise(parts)
    steps = tuple(_faster(claim, a["value"], b["value"])[0] for a, b in pairs)
    # The weakest step decides whether the whole order stands.
    weakest = min(steps, key=lambda step: step.value)
    names = [_level_name(compare.factor, part) for part in parts]
    return Finding(
        weakest,
        compared=f"{' > '.join(names)}; {_common(*parts)}",
        arithmetic="; ".join(
            f"{name} {_median(part['value'])}" for name, part in zip(names, parts, strict=True)
        ),
        runs=tuple(run for part in parts for run in part["run"]),
        base=(
            float(np.median(parts[-1]["value"])),
            str(parts[-1]["figure_of_merit_unit"].iloc[0]),
            names[-1],
        ),
        steps=steps,
    )


def _trend(compare: Comparison, parts: list[pd.DataFrame]) -> Finding:
    """Kendall's tau along the levels in the order in which the claim names them."""
    position = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    values = np.concatenate([part["value"].to_numpy() for part in parts])
    names = [_level_name(compare.factor, part) for part in parts]
    medians = ", ".join(f"{name} {_median(part['value'])}" for name, part in zip(names, parts, strict=True))
    return Finding(
        stats.trend(position, values),
        compared=f"along {', '.join(names)}; {_common(*parts)}",
        arithmetic=f"Kendall's tau over {len(values)} runs; {medians}",
        runs=tuple(run for part in parts for run in part["run"]),
    )


def _level_name(factor: str, part: pd.DataFrame) -> str:
    value = part[factor].iloc[0]
    number = isinstance(value, (int, float, np.number))
    return f"{factor.replace('_', ' ')} {value:g}" if number else str(value)


def _common(*parts: pd.DataFrame) -> str:
    """Name the factors in which all the runs agree, the uninteresting ones left out."""
    whole = pd.concat(parts)
    words = []
    for factor in ("case", "nodes", "ranks", "interconnect", "mpi", "profiler", "target_time"):
        values = sorted(set(whole[factor].dropna()))
        if len(values) == 1 and values[0] not in ("", "none", -1):
            words.append(_phrase(factor, values[0]))
        elif len(values) > 1 and factor in ("interconnect", "nodes", "ranks"):
            words.append(f"{factor} {', '.join(map(str, values))}")
    return ", ".join(words)


def _phrase(factor: str, value: Any) -> str:
    if factor == "target_time":
        return f"{value:g} s"
    if factor in ("nodes", "ranks"):
        return f"{value} {factor if value != 1 else factor[:-1]}"
    return f"under {value}" if factor == "profiler" else str(value)


def _median(values: pd.Series) -> str:
    return f"{np.median(values):.4g} (n {len(values)})"


def _listed(values: pd.Series) -> str:
    ordered = sorted(values)
    if len(ordered) <= 12:
        return ", ".join(f"{value:.4g}" for value in ordered)
    return f"{len(ordered)} values from {ordered[0]:.4g} to {ordered[-1]:.4g}"
