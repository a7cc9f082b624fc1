"""Trend along an ordered factor: Kendall's tau with its interval, and whether it could be chance."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from analysis.estimates.intervals import Array
from analysis.estimates.stats import LEVEL, MIN_REPEATS, NO_DAY, RESAMPLES, SEED, Estimate

# Orders of the runs are all tried up to this number, and drawn beyond.
ENUMERATED = 20_000


def trend(levels: ArrayLike, values: ArrayLike, days: ArrayLike | None = None) -> tuple[Estimate, float]:
    """Estimate how monotone values are along an ordered factor; level and value of each run, shape (n,).

    Returns Kendall's tau-b from -1 (always falling) to 1, and the two-sided p-value of "the levels make no
    difference" (`chance`). The interval's bootstrap (999 resamples) draws within each level, because the
    levels were chosen, not sampled; it knows of no run that another order would have, so a trend needs both.
    No interval below six runs or two runs a level.
    """
    x, y = np.asarray(levels, dtype="f8"), np.asarray(values, dtype="f8")
    keep = np.isfinite(x) & np.isfinite(y)
    day = np.zeros(len(x)) if days is None else np.asarray(days, dtype="f8")
    x, y, day = x[keep], y[keep], day[keep]
    known = () if days is None or (day == NO_DAY).any() else (len(set(day)),)
    if len(x) < 2 or np.ptp(x) == 0:
        return Estimate(np.nan, np.nan, np.nan, len(x), level=0.0, days=known), 1.0
    value = float(stats.kendalltau(x, y).statistic)
    p = chance(x, y, day if known else np.zeros(len(x)))
    groups = [y[x == level] for level in np.unique(x)]
    if len(x) < MIN_REPEATS or min(map(len, groups)) < 2:
        return Estimate(value, np.nan, np.nan, len(x), level=0.0, days=known), p
    rng = np.random.default_rng(SEED)
    tau = _tau([group[rng.integers(len(group), size=(999, len(group)))] for group in groups])
    ends = np.quantile(tau, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    # Draws with ties can all lie to one side of the estimate; the interval then reaches back to it.
    low, high = min(float(ends[0]), value), max(float(ends[1]), value)
    return Estimate(value, low, high, len(x), days=known), p


def chance(levels: Array, values: Array, blocks: Array) -> float:
    """Return how often runs put to the levels in another order give a tau as far from 0, or farther.

    Runs change places within their block, a measuring day, where they are exchangeable if the levels make no
    difference. All orders are tried if they are few, else 9,999 are drawn and the one found is counted in.
    """
    order = np.lexsort((levels, blocks))
    x, y, block = levels[order], values[order], blocks[order]
    parts = [np.flatnonzero(block == one) for one in np.unique(block)]
    total = math.prod(_orders(x[part]) for part in parts)
    if total <= ENUMERATED:
        places = np.array([np.concatenate(one) for one in itertools.product(*(_all(x, p) for p in parts))])
    else:
        rng = np.random.default_rng(SEED)
        places = np.concatenate(
            [rng.permuted(np.tile(part, (RESAMPLES, 1)), axis=1) for part in parts], axis=1
        )
        places = np.concatenate([np.arange(len(y))[None], places])
    drawn = [y[places[:, x == level]] for level in np.unique(x)]
    found = np.abs(np.nan_to_num(_tau(drawn)))
    own = abs(np.nan_to_num(_tau([y[None, x == level] for level in np.unique(x)])[0]))
    return float(np.mean(found >= own - 1e-12))


def _orders(levels: Array) -> int:
    """Return in how many ways runs can be put to levels."""
    counts = np.unique(levels, return_counts=True)[1]
    return math.factorial(len(levels)) // math.prod(math.factorial(int(n)) for n in counts)


def _all(levels: Array, part: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Return every way to put the runs of a part, in the order of their levels, to those levels."""
    counts = np.unique(levels[part], return_counts=True)[1].tolist()
    return [np.array(one, dtype=np.intp) for one in _splits(tuple(part.tolist()), counts)]


def _splits(runs: tuple[int, ...], counts: Sequence[int]) -> Iterator[tuple[int, ...]]:
    if not counts:
        yield ()
        return
    for chosen in itertools.combinations(runs, counts[0]):
        rest = tuple(run for run in runs if run not in chosen)
        for tail in _splits(rest, counts[1:]):
            yield chosen + tail


def _tau(drawn: Sequence[Array]) -> Array:
    """Return Kendall's tau-b of m draws at once, to the last bit what scipy says of one draw a call.

    What is drawn has few values: counts of them take the place of pairs. Pairs of one level say nothing, and
    those of two are counted from the upper one.
    """
    values = np.unique(np.concatenate([level.ravel() for level in drawn]))
    rows = np.arange(len(drawn[0]))[:, None] * len(values)
    below = np.zeros((len(drawn[0]), len(values)), dtype="i8")
    concordant = np.zeros(len(below), dtype="i8")
    for level in drawn:
        places = (rows + np.searchsorted(values, level)).ravel()
        counts = np.bincount(places, minlength=below.size).reshape(below.shape)
        up_to = np.cumsum(below, axis=1)
        concordant += (counts * (2 * up_to - below - up_to[:, -1:])).sum(axis=1)  # less discordant
        below += counts
    pairs = _pairs(sum(level.shape[1] for level in drawn))
    ordered = pairs - sum(_pairs(level.shape[1]) for level in drawn)
    with np.errstate(invalid="ignore"):  # a draw of one value has no order
        tau: Array = concordant / np.sqrt(ordered) / np.sqrt(pairs - _pairs(below).sum(axis=1))
    return np.clip(tau, -1, 1)


def _pairs(count: Any) -> Any:
    return count * (count - 1) // 2
