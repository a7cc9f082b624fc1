"""Ends of intervals from sorted repeats: order statistics of a median, and how several medians combine.

The interval from the d-th value of n to the d-th from above holds the median with probability
1 - 2 P(Bin(n, 1/2) < d), whatever the distribution. At d = 1 that is the sample's range and 1 - 2^(1-n).
"""

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

Array = NDArray[np.float64]
Ends = tuple[float, float]


def range_level(n: int) -> float:
    """Return the probability that the range of n repeats holds the median."""
    return 1.0 - 2.0 ** (1 - n)


@cache
def _levels(n: int) -> Array:
    """Return the probability for d = 1 ... (n + 1) // 2."""
    below = np.arange((n + 1) // 2)
    levels: Array = 1 - 2 * special.bdtr(below, n, 0.5)
    return levels


def exact_ends(ordered: Array, level: float) -> Ends:
    """Return the narrowest interval of order statistics that holds the median at `level`, or the range.

    `ordered` ascends, shape (n,).
    """
    d = max(int(np.count_nonzero(_levels(len(ordered)) >= level)), 1)
    return float(ordered[d - 1]), float(ordered[-d])


def interpolated_ends(ordered: Array, level: float) -> Ends:
    """Return ends between order statistics, so that the median is held at about `level` and not far above.

    Hettmansperger and Sheather (1986), Statistics & Probability Letters 4: with I the part of the step in
    level from d to d + 1, the weight of the inner value is (n - d) I / (d + (n - 2 d) I).
    """
    n, levels = len(ordered), _levels(len(ordered))
    d = max(int(np.count_nonzero(levels >= level)), 1)
    if levels[d - 1] <= level or d == len(levels):
        return float(ordered[d - 1]), float(ordered[-d])
    part = (levels[d - 1] - level) / (levels[d - 1] - levels[d])
    weight = (n - d) * part / (d + (n - 2 * d) * part)
    low = ordered[d - 1] + weight * (ordered[d] - ordered[d - 1])
    high = ordered[-d] - weight * (ordered[-d] - ordered[-d - 1])
    return float(low), float(high)


def in_quadrature(function: Callable[..., Array], middles: Sequence[float], ends: Sequence[Ends]) -> Ends:
    """Combine intervals of independent medians into one of a function that is monotone in each.

    The distance to an end is the root of the sum of the squares of what each median alone changes in that
    direction (MOVER: Zou and Donner 2008, Statistics in Medicine 27), on logarithms where all is positive.
    """
    value = float(function(*middles))
    moved = np.array(
        [
            [float(function(*middles[:i], end, *middles[i + 1 :])) for end in pair]
            for i, pair in enumerate(ends)
        ]
    )
    if value > 0 and moved.min() > 0:
        steps = np.log(moved / value)
        down, up = _roots(steps)
        return value * float(np.exp(-down)), value * float(np.exp(up))
    down, up = _roots(moved - value)
    return value - down, value + up


def _roots(steps: Array) -> Ends:
    down, up = steps.min(axis=1).clip(max=0), steps.max(axis=1).clip(min=0)
    return float(np.sqrt((down**2).sum())), float(np.sqrt((up**2).sum()))


def at_worst(function: Callable[..., Array], middles: Sequence[float], ends: Sequence[Ends]) -> Ends:
    """Return the least and the most of a function, monotone in each median, with all at their ends."""
    least, most = [], []
    for i, pair in enumerate(ends):
        one, other = (float(function(*middles[:i], end, *middles[i + 1 :])) for end in pair)
        least.append(pair[0] if one <= other else pair[1])
        most.append(pair[1] if one <= other else pair[0])
    return float(function(*least)), float(function(*most))


def worst_level(counts: Sequence[int]) -> float:
    """Return the least probability that `at_worst` of the ranges of some groups holds the truth.

    Of two groups, and a ratio or a difference, it is the level of the smaller. Let p and q be the chances
    that all values of a group lie to one side of its median. The interval misses only if both groups do so,
    4 p q, or if one does and its values clear those of the other on that side; which of two groups clears
    the other is one event and its opposite, with chances a and 1 - a, so each side of the median adds
    a p (1 - 2 q) + (1 - a) q (1 - 2 p). All that is 2 max(p, q) at most, and one group without scatter
    reaches it. Of more groups all ranges must hold, whatever they have to do with each other.
    """
    if len(counts) <= 2:
        return range_level(min(counts))
    return max(1.0 - sum(2.0 ** (1 - n) for n in counts), 0.0)
