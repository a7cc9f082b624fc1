"""Quantities of more than one comparison: saturation, interaction, crossover."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd

from analysis.claims.model import Claim, Comparison
from analysis.estimates import stats, uncertainty
from analysis.estimates.finding import Finding, common, level_name, median_text, runs_of
from analysis.estimates.groups import Groups, Pair
from analysis.estimates.ratios import better_is_more, faster, gain
from analysis.estimates.stats import Array, Estimate


def saturation(claim: Claim, compare: Comparison, groups: Groups) -> list[Finding]:
    """Find the level after which more of the factor brings less than the threshold.

    Returns
    -------
    list of Finding
        One. Its estimate is a level: `value` by the medians, `low` the last level up to which every
        step is a clear gain, `high` the one after which a step is clearly short of the threshold
        (infinite if none is). A scale that never stops has its last level as `value` and `low`.

    Notes
    -----
    A step's gain is 100 (median ratio of speeds - 1) with its bootstrap interval; it is clear if the
    interval lies at or above, short if it lies below the claim's threshold.
    """
    parts = groups.ordered
    levels = [float(part[compare.factor].iloc[0]) for part in parts]
    steps = tuple(faster(claim, b, a)[0].transformed(gain) for a, b in itertools.pairwise(parts))
    bar = 100 * claim.threshold
    low = next((level for level, step in zip(levels, steps, strict=False) if not step.low >= bar), levels[-1])
    high = next((level for level, step in zip(levels, steps, strict=False) if step.high < bar), np.inf)
    value = next((level for level, step in zip(levels, steps, strict=False) if step.value < bar), levels[-1])
    medians = ", ".join(
        f"{level:g}: {median_text(p['value'])}" for level, p in zip(levels, parts, strict=True)
    )
    gains = ", ".join(
        f"{a:g} to {b:g} {step.value:+.3g} % ({step.low:.3g} to {step.high:.3g})"
        for (a, b), step in zip(itertools.pairwise(levels), steps, strict=True)
    )
    finding = Finding(
        Estimate(value, low, high, min(map(len, parts))),
        compared=f"along {', '.join(level_name(compare.factor, part) for part in parts)}; {common(*parts)}",
        arithmetic=f"{medians}; gain from one to the next: {gains}{uncertainty.note(claim.variable, *parts)}",
        runs=runs_of(*parts),
        steps=steps,
        stratum=groups.stratum,
    )
    return [finding]


def interaction(claim: Claim, compare: Comparison, cell: tuple[Groups, Groups]) -> list[Finding]:
    """Estimate how many times larger a speedup is at the upper level of another factor than at the lower.

    Notes
    -----
    (treatment / baseline at the upper level) / (the same at the lower), medians of speeds, each of the
    four groups resampled by itself.
    """
    upper, lower = cell
    return [
        _interaction(claim, compare, top, bottom, upper)
        for top, bottom in zip(upper.pairs, lower.pairs, strict=True)
    ]


def _interaction(claim: Claim, compare: Comparison, top: Pair, bottom: Pair, groups: Groups) -> Finding:
    assert compare.along is not None
    more = better_is_more(claim)

    def function(a: Array, b: Array, c: Array, d: Array) -> Array:
        return np.asarray((a / b) / (c / d) if more else (b / a) / (d / c))

    parts = (*top, *bottom)
    estimate = stats.of_medians(function, *(part["value"] for part in parts))
    estimate, _ = uncertainty.carry(claim.variable, estimate, function, *parts)  # the ratios say so
    n, n_baseline = min(len(top[0]), len(bottom[0])), min(len(top[1]), len(bottom[1]))
    ratios = [faster(claim, x, y)[1] for x, y in (top, bottom)]
    factor, high, low = compare.along
    names = [level_name(compare.factor, part) for part in top]
    place = f"at {factor.replace('_', ' ')} {high} and {low}"
    return Finding(
        Estimate(estimate.value, estimate.low, estimate.high, n, n_baseline),
        compared=f"{names[0]} against {names[1]}, {place}; {common(*parts)}",
        arithmetic=f"at {high}: {ratios[0]}; at {low}: {ratios[1]}; {estimate.value:.4g} times",
        runs=runs_of(*parts),
        stratum=groups.stratum,
    )


def crossover(claim: Claim, compare: Comparison, found: list[Groups]) -> list[Finding]:
    """Estimate a speedup in every stratum to see whether each side wins somewhere.

    Returns
    -------
    list of Finding
        One, with a step for each stratum; its estimate is the stratum nearest to no difference.
    """
    pairs = [pair for groups in found for pair in groups.pairs]
    steps, ratios = zip(*(faster(claim, x, y) for x, y in pairs), strict=True)
    parts: list[pd.DataFrame] = [part for pair in pairs for part in pair]
    names = [level_name(compare.factor, part) for part in pairs[0]]
    texts = [f"{common(x, y)}: {ratio}" for (x, y), ratio in zip(pairs, ratios, strict=True)]
    finding = Finding(
        min(steps, key=lambda step: abs(np.log(step.value))),
        compared=f"{names[0]} against {names[1]} in {len(pairs)} strata; {common(*parts)}",
        arithmetic="; ".join(texts),
        runs=runs_of(*parts),
        steps=steps,
    )
    return [finding]
