"""How clear a difference is among many: runs of a cell change sides, and all cells tell what chance does.

Six runs against six can be put on two sides in 924 ways. A single cell alone could thus never stand among
hundreds. So each way gives a statistic that has the same meaning in every cell, and what chance does is
read from the ways of all cells together (as the analysis of microarrays does: Tusher, Tibshirani and Chu
2001, PNAS 98). Nothing is taken to be normal: the t-statistic only puts cells on one scale.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from analysis.claims.discovery import adjusted

Array = NDArray[np.float64]
# Of more ways so many are drawn.
WAYS = 999
_ALL = 1_000
SEED = 20_140_701


@cache
def _splits(n: int, m: int) -> NDArray[np.bool_]:
    """Return which of n + m runs are on the first side, one row a way, the true one first."""
    total = n + m
    if math.comb(total, n) <= _ALL:
        chosen = np.zeros((math.comb(total, n), total), dtype=bool)
        for row, members in enumerate(itertools.combinations(range(total), n)):
            chosen[row, list(members)] = True
        return chosen
    generator = np.random.default_rng((SEED, n, m))
    drawn = generator.permuted(np.tile(np.arange(total) < n, (WAYS, 1)), axis=1)
    return np.vstack([np.arange(total) < n, drawn])


@cache
def _signs(n: int) -> NDArray[np.bool_]:
    """Return which of n days change their sign, one row a way, the true one (none) first."""
    if 2**n <= _ALL:
        return np.array(list(itertools.product((False, True), repeat=n)))
    generator = np.random.default_rng((SEED, n))
    return np.vstack([np.zeros(n, dtype=bool), generator.random((WAYS, n)) < 0.5])


def of_sides(after: Array, before: Array) -> Array:
    """Return the statistic of every way to put the runs on two sides, the true one first.

    Values are logarithms, shapes (n,) and (m,), at least two each.
    """
    n, m = len(after), len(before)
    values = np.concatenate([after, before])
    # Equal values must give equal sums in every order of them.
    values = np.round(values - np.median(values), 12)
    first = _splits(n, m)
    sums, squares = first @ values, first @ values**2
    rest, rest_squares = values.sum() - sums, (values**2).sum() - squares
    scatter = (squares - sums**2 / n) + (rest_squares - rest**2 / m)
    difference = sums / n - rest / m
    return scaled(difference, scatter, (1 / n + 1 / m), n + m - 2)


def of_days(ratios: Array) -> Array:
    """Return the statistic of every way to change signs of the days' log ratios, the true one first."""
    n = len(ratios)
    values = np.where(_signs(n), -ratios, ratios)
    means = values.mean(axis=1)
    scatter = ((values - means[:, None]) ** 2).sum(axis=1)
    return scaled(means, scatter, 1 / n, n - 1)


def shuffled(values: Array) -> Array:
    """Return values in every order that is tried, one row an order, the true one first."""
    generator = np.random.default_rng((SEED, len(values)))
    drawn = generator.permuted(np.tile(values, (WAYS, 1)), axis=1)
    return np.vstack([values, drawn])


def scaled(difference: Array, scatter: Array, share: float | Array, freedom: int) -> Array:
    """Put differences on the scale of a normal distribution, for cells of few and of many runs."""
    away = np.abs(difference)
    away[away < 1e-12] = 0.0
    error = np.sqrt(np.clip(scatter, 0.0, None) / freedom * share)
    error[error < 1e-12] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(away > 0, away / error, 0.0)
    tail = np.clip(stats.t.sf(t, freedom), 1e-300, None)
    return np.asarray(stats.norm.isf(tail), dtype=float)


def p_values(cells: Sequence[Array]) -> list[float]:
    """Return the p-value of each cell's true way (the first) among the ways of all cells.

    Every cell has the same weight, however many ways it has.
    """
    if not cells:
        return []
    values = np.concatenate(cells)
    weights = np.concatenate([np.full(len(one), 1 / len(one) / len(cells)) for one in cells])
    order = np.argsort(values, kind="stable")
    ordered, above = values[order], np.cumsum(weights[order][::-1])[::-1]
    # What is equal counts as above, and rounding must not part equals.
    places = np.searchsorted(ordered, [one[0] - 1e-9 for one in cells])
    return [float(min(above[place], 1.0)) for place in places]


def quantile(cells: Sequence[Array], p: float) -> float:
    """Return the least statistic whose p-value among the ways of all cells is no more than `p`."""
    values = np.concatenate(cells)
    weights = np.concatenate([np.full(len(one), 1 / len(one) / len(cells)) for one in cells])
    order = np.argsort(values, kind="stable")
    above = np.cumsum(weights[order][::-1])[::-1]
    return float(values[order][np.argmax(above <= p * (1 + 1e-9))])


def chances(cells: Sequence[Array]) -> list[tuple[float, float]]:
    """Return p-value and q (Benjamini and Hochberg 1995) of each cell; see `p_values`."""
    found = p_values(cells)
    return list(zip(found, adjusted(found), strict=True))
