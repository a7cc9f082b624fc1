"""Orders of values: those that chance gives them, and how seldom it gives one as clear as their own."""

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

Array = NDArray[np.float64]
# So many numbers are drawn at once: memory does not grow with the number of runs.
_AT_ONCE = 2_000_000
_FEW = 60  # values whose pairs are compared all at once


def at_once(rows: int, width: int) -> Iterator[range]:
    """Split rows into so many at a time as lie in memory."""
    step = max(_AT_ONCE // max(width, 1), 1)
    return (range(at, min(at + step, rows)) for at in range(0, rows, step))


def drawn(parts: Sequence[Array], times: int, rng: np.random.Generator) -> Iterator[Array]:
    """Draw orders of values that change places within their part, a row each, some at a time."""
    for rows in at_once(times, sum(map(len, parts))):
        yield np.concatenate([rng.permuted(np.tile(part, (len(rows), 1)), axis=1) for part in parts], axis=1)


def shuffled(
    parts: Sequence[Array], times: int, seed: tuple[int, ...], *, portion: int = 0
) -> Iterator[Array]:
    """Draw orders as `drawn` does; those of a seed are the same ones for all parts of these sizes.

    Of few values they come at once, or so many at a time as a `portion` has.
    """
    sizes = tuple(map(len, parts))
    if times * sum(sizes) > _AT_ONCE:
        yield from drawn(parts, times, np.random.default_rng(seed))
    else:
        places = permutations(seed, sizes, times)
        for at in range(0, times, portion or times):
            some = (own[at : at + (portion or times)] for own in places)
            yield np.concatenate([part[own] for part, own in zip(parts, some, strict=True)], axis=1)


@lru_cache(maxsize=16)
def permutations(seed: tuple[int, ...], sizes: tuple[int, ...], times: int) -> tuple[NDArray[np.uint16], ...]:
    """Draw permutations of so many places in each part, a row each; kept, as most cells have one size."""
    rng = np.random.default_rng(seed)
    return tuple(rng.permuted(np.tile(np.arange(n, dtype="u2"), (times, 1)), axis=1) for n in sizes)


def p_of_order(first: ArrayLike, second: ArrayLike) -> float:
    """Return the p-value of Kendall's tau; without ties it follows from the number of discordant pairs."""
    x, y = np.asarray(first), np.asarray(second)
    n = len(x)
    if n > _FEW or len(np.unique(x)) < n or len(np.unique(y)) < n:
        return float(stats.kendalltau(x, y).pvalue)
    ordered = y[np.argsort(x)]
    return _p_of_pairs(n, int(np.count_nonzero(np.triu(ordered[:, None] > ordered))))


@lru_cache(maxsize=4_096)
def _p_of_pairs(n: int, discordant: int) -> float:
    """Return the p-value of Kendall's tau of n values in any order with so many discordant pairs."""
    left, order = list(range(n)), []
    while left:
        order.append(left.pop(min(discordant, len(left) - 1)))
        discordant -= min(discordant, len(left))
    return float(stats.kendalltau(range(n), order).pvalue)
