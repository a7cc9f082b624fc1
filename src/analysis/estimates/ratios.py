"""Quantities that hold a treatment against a baseline, or levels against each other in an order."""

from __future__ import annotations

import itertools
import operator

import numpy as np
import pandas as pd

from analysis.base.errors import ConfigError
from analysis.claims.model import Claim, Comparison
from analysis.estimates import stats, uncertainty
from analysis.estimates.finding import Finding, common, level_name, median_text, runs_of
from analysis.estimates.groups import Groups, Pair
from analysis.estimates.measures import MEASURES
from analysis.estimates.stats import Array, Estimate


def better_is_more(claim: Claim) -> bool:
    """Tell whether "faster" means a larger value: a smaller time is a higher speed."""
    return MEASURES[claim.variable].higher_is_better


def faster(claim: Claim, x: pd.DataFrame, y: pd.DataFrame) -> tuple[Estimate, str]:
    """Say how many times one group is better than another, with the arithmetic.

    The interval holds what meters and rounding leave open, where there are any.
    """
    estimate, text, note = _speed(claim, x, y)
    return estimate, text + note


def _speed(claim: Claim, x: pd.DataFrame, y: pd.DataFrame) -> tuple[Estimate, str, str]:
    top, bottom = (x, y) if better_is_more(claim) or claim.quantity == "equality" else (y, x)
    ratio = stats.ratio_of_medians(top["value"], bottom["value"])
    ratio, note = uncertainty.carry(claim.variable, ratio, operator.truediv, top, bottom)
    text = f"{median_text(top['value'])} / {median_text(bottom['value'])} = {ratio.value:.4g}"
    return Estimate(ratio.value, ratio.low, ratio.high, len(x), len(y)), text, note


def gain(ratio: float) -> float:
    """Return how many percent more a ratio is than 1."""
    return 100 * (ratio - 1)


def cut(ratio: float) -> float:
    """Return how many percent less a ratio is than 1."""
    return 100 * (1 - ratio)


def ratio(claim: Claim, compare: Comparison, groups: Groups) -> list[Finding]:
    """Estimate a speedup, gain, reduction, efficiency or equality, one finding a pair."""
    return [_ratio(claim, compare, pair, groups) for pair in groups.pairs]


def _ratio(claim: Claim, compare: Comparison, pair: Pair, groups: Groups) -> Finding:
    treatment, baseline = pair
    x, y = treatment["value"], baseline["value"]
    estimate, text = _in_quantity(claim, treatment, baseline)
    equivalence = None
    if claim.quantity == "equality":
        margin = uncertainty.tighter(claim.variable, claim.expect.tolerance, treatment, baseline)
        equivalence = stats.equivalence(x, y, margin)
        text += f"; two one-sided rank tests within {margin:.2g}: p = {equivalence.p:.2g}"
    name = level_name(compare.factor, baseline)
    return Finding(
        estimate,
        compared=f"{level_name(compare.factor, treatment)} against {name}; {common(treatment, baseline)}",
        arithmetic=text,
        runs=runs_of(treatment, baseline),
        base=(float(np.median(y)), unit_of_value(claim, baseline), name),
        equivalence=equivalence,
        stratum=groups.stratum,
    )


def _in_quantity(claim: Claim, treatment: pd.DataFrame, baseline: pd.DataFrame) -> tuple[Estimate, str]:
    if claim.quantity == "reduction":
        x, y = treatment["value"], baseline["value"]
        raw, note = uncertainty.carry(
            claim.variable, stats.ratio_of_medians(x, y), operator.truediv, treatment, baseline
        )
        estimate = raw.transformed(cut)
        return estimate, f"1 - {median_text(x)} / {median_text(y)} = {estimate.value:.3g} % less{note}"
    speed, text, note = _speed(claim, treatment, baseline)
    if claim.quantity == "gain":
        estimate = speed.transformed(gain)
        return estimate, f"{text}, a gain of {estimate.value:.3g} %{note}"
    if claim.quantity == "efficiency":
        more = float(treatment["ranks"].iloc[0] / baseline["ranks"].iloc[0])
        estimate = speed.transformed(lambda r: 100 * r / more)
        return estimate, f"{text}, over {more:g} times the ranks {estimate.value:.3g} %{note}"
    return speed, text + note


def unit_of_value(claim: Claim, part: pd.DataFrame) -> str:
    """Return the unit of the compared values, empty where the registry of measures has none."""
    if claim.variable == "figure_of_merit":
        return str(part["figure_of_merit_unit"].iloc[0])
    return MEASURES[claim.variable].unit if claim.scale == 1 else ""


def ordering(claim: Claim, compare: Comparison, groups: Groups) -> list[Finding]:
    """Estimate each step of an order, best first; the weakest decides whether the order stands."""
    parts = groups.ordered
    pairs = itertools.pairwise(parts)
    steps = tuple(faster(claim, a, b)[0] for a, b in pairs)
    names = [level_name(compare.factor, part) for part in parts]
    finding = Finding(
        min(steps, key=lambda step: step.value),
        compared=f"{' > '.join(names)}; {common(*parts)}",
        arithmetic="; ".join(
            f"{name} {median_text(part['value'])}" for name, part in zip(names, parts, strict=True)
        )
        + uncertainty.note(claim.variable, *parts),
        runs=runs_of(*parts),
        base=(float(np.median(parts[-1]["value"])), unit_of_value(claim, parts[-1]), names[-1]),
        steps=steps,
        stratum=groups.stratum,
    )
    return [finding]


def trend(claim: Claim, compare: Comparison, groups: Groups) -> list[Finding]:
    """Kendall's tau along the levels in the order in which the claim names them."""
    parts = groups.ordered
    position = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    values = np.concatenate([part["value"].to_numpy() for part in parts])
    names = [level_name(compare.factor, part) for part in parts]
    medians = ", ".join(
        f"{name} {median_text(part['value'])}" for name, part in zip(names, parts, strict=True)
    )
    finding = Finding(
        stats.trend(position, values),
        compared=f"along {', '.join(names)}; {common(*parts)}",
        arithmetic=f"Kendall's tau over {len(values)} runs; {medians}",
        runs=runs_of(*parts),
        stratum=groups.stratum,
    )
    return [finding]


def mean_ratio(claim: Claim, compare: Comparison, found: list[Groups]) -> list[Finding]:
    """Compare the mean cost over all strata: costs add up, ratios do not.

    Raises
    ------
    ConfigError
        If the variable is no cost, or the quantity no speedup, gain or reduction.

    Notes
    -----
    sum over strata of the treatment's medians / the same of the baseline, every group resampled by
    itself.
    """
    if better_is_more(claim) or claim.quantity not in ("speedup", "gain", "reduction"):
        what = f"takes the mean of {claim.variable} for a {claim.quantity}"
        raise ConfigError.at(claim.id, 0, what, "only costs have a mean: take times or energies")
    pairs = [pair for groups in found for pair in groups.pairs]
    treatments, baselines = zip(*pairs, strict=True)
    k = len(pairs)

    def function(*medians: Array) -> Array:
        top, bottom = sum(medians[:k]), sum(medians[k:])
        if claim.quantity == "reduction":
            return np.asarray(100 * (1 - top / bottom))
        return np.asarray(bottom / top if claim.quantity == "speedup" else 100 * (bottom / top - 1))

    parts = (*treatments, *baselines)
    estimate = stats.of_medians(function, *(part["value"] for part in parts))
    estimate, note = uncertainty.carry(claim.variable, estimate, function, *parts)
    n, n_baseline = (min(map(len, side)) for side in (treatments, baselines))
    sums = [sum(float(part["value"].median()) for part in side) for side in (treatments, baselines)]
    name = level_name(compare.factor, baselines[0])
    finding = Finding(
        Estimate(estimate.value, estimate.low, estimate.high, n, n_baseline),
        compared=f"{level_name(compare.factor, treatments[0])} against {name}, mean of {k} strata; "
        + common(*treatments, *baselines),
        arithmetic=f"sums of {k} medians: {sums[0]:.4g} against {sums[1]:.4g}{note}",
        runs=runs_of(*treatments, *baselines),
        base=(sums[1] / k, unit_of_value(claim, baselines[0]), name),
    )
    return [finding]
