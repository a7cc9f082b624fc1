"""Several estimates at once: intervals that hold for all, the largest or the least, false discoveries."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from scipy.stats import false_discovery_control

from analysis.estimates.stats import LEVEL, Estimate


def adjusted(p_values: Sequence[float]) -> list[float]:
    """Return the least rate of false discoveries at which each of some p-values passes.

    By Benjamini and Hochberg (1995); often called q.
    """
    return [] if not len(p_values) else false_discovery_control(p_values, method="bh").tolist()


def family_level(k: int, level: float = LEVEL) -> float:
    """Return the level of each of k intervals whose one sides, all together, miss as one of `level` does.

    The quantile of the maximum of k independent statistics: a side may miss in 1 - ((1 + level) / 2)^(1/k).
    Statistics that share a baseline depend on each other positively, and all of them hold more often.
    """
    side: float = ((1 + level) / 2) ** (1 / k)
    return 2 * side - 1


def among(estimate: Estimate, k: int) -> Estimate:
    """Return one of k estimates with an interval whose one side holds for all of them at once.

    Its level is what all of them together reach: few repeats leave little of it.
    """
    one = estimate.at(family_level(k))
    return replace(one, level=min(2 * ((1 + one.level) / 2) ** k - 1, LEVEL))


def extreme(estimates: Sequence[Estimate], sign: float, level: float = LEVEL) -> Estimate:
    """Estimate the largest (sign 1) or the least (sign -1) of the true values of k strata.

    The largest of k estimates lies too high because it was chosen. So the lower end is the largest of the k
    lower ends that hold all at once, which is right whichever stratum is the best; the upper end is the
    largest of the k upper ends, each at its own level, since that of the best one alone must hold. The value
    stays that of the largest estimate, as it can be recomputed from its runs. `level` is what is left of it
    where few repeats do not reach the level of the family; estimates without an interval do not count as
    long as one has one.
    """
    chosen = max(estimates, key=lambda one: rank(one, sign))
    bounded = [one for one in estimates if one.bounded]
    if len(bounded) < 2:
        return chosen
    alone = [one.at(level) for one in bounded]
    together = [one.at(family_level(len(bounded), level)) for one in bounded]
    near = math.prod((1 + one.level) / 2 for one in together)
    half_open = any(one.half_open for one in bounded)
    far = near if half_open else min((1 + one.level) / 2 for one in alone)
    low, high = (together, alone) if sign > 0 else (alone, together)
    pick = max if sign > 0 else min
    return replace(
        chosen, low=pick(one.low for one in low), high=pick(one.high for one in high),
        level=min(near + far - 1, level), half_open=half_open, again=partial(extreme, estimates, sign),
    )  # fmt: skip


def rank(one: Estimate, sign: float) -> tuple[bool, float]:
    """Return what the largest (sign 1) or the least (sign -1) of estimates has most of, known ones first."""
    return one.bounded, sign * one.value if math.isfinite(one.value) else -math.inf
