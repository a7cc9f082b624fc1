"""Are numbers repeats of one thing? Groups, far values, a trend along time, and facts that they follow.

Everything is on logarithms where all values are positive. What noise alone does is simulated, of normal,
heavy-tailed and skewed noise, and the worst of these counts. Of a cell of clean runs each of the three tests
errs with a probability of `RATE`.
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from analysis.base.orders import Array, at_once, p_of_order, shuffled

RATE = 0.01
_TABLES = 9999  # drawn for the chance of a small one
# Groups that are nearer than this, on logarithms, would change no conclusion.
LEAST = 0.025
_DRAWS, _SEED = 4_000, 20_261_123
_ORDERS, _PORTION = 2_000, 200  # in which a step along time is sought, and how many of them at a time
_MOST = 60  # of more values as many quantiles stand for them
_MANY = 400  # values whose farthest one is known without simulation, and of whose pairs few are enough
FEWEST = 2  # values of a cell that are looked at
_SOME = 3  # of which two may be groups
# In the campaigns that come with Benchbook 1 of 100 pairs of runs of a cell differ by more, no cell of
# two to five runs, too few to tell groups in: the widest differs 1.39 times.
_TWICE = math.log(2)
_ALONE = 6  # values in which groups can be told from noise, whatever other cells are like
# What the scatter of other cells counts beside that of a cell's own, in degrees of freedom.
_OTHERS = 12
_FREE = 2  # degrees of freedom without which a scatter is not known
# How often noise may leave as little within groups; in a cell that scatters more than others do, more often.
_GROUPS, _WIDE = 0.01, 0.08
_MOST_GROUPS = 6  # groups that are looked for
_USUAL = 12  # values; larger cells are rare


@dataclass(frozen=True, slots=True)
class Split:
    """How values fail to be repeats.

    `kind` is ``groups``, ``far``, ``trend``, ``names`` (a trend in the order of names), ``fact``, or
    ``pairs``, which are all of some hosts. `sizes` counts the values of each group, ascending in value,
    `apart` is the distance of the outer ones' means on logarithms, `labels` the group of each value. `fact`
    is the stated fact that the groups follow, empty where none does.
    """

    kind: str
    sizes: tuple[int, ...]
    apart: float
    labels: tuple[int, ...]
    fact: str = ""


def split(
    values: ArrayLike,
    times: ArrayLike | None = None,
    facts: Mapping[str, Sequence[object]] | None = None,
    scatter: float | None = None,
) -> Split | None:
    """Tell how values, shape (n,), fail to be repeats of one thing; None if they look like repeats.

    `times` order them, `facts` give a level for each, and `scatter` is the typical standard deviation of
    logarithms in other cells.
    """
    x = logarithms(unrounded(np.asarray(values, dtype="f8")))
    told = _parting(facts or {})
    found = (
        _by_values(x, scatter)
        or _by_range(x, bool((np.asarray(values) > 0).all()))
        or _by_distance(x)
        or (_by_time(x, np.asarray(times, dtype="f8")) if times is not None else None)
    )
    followed = _by_facts(x, told, scatter)
    pairs = _by_pairs(x, (facts or {}).get("node_list", ()))
    if found is None:
        return followed or pairs
    name = followed.fact if followed is not None else _explained(found, told)
    if not name and pairs is not None:
        return pairs
    return Split(found.kind, found.sizes, found.apart, found.labels, name)


def prepare() -> None:
    """Draw what noise does in cells of usual size, which is kept for later calls of `split`."""
    for n in range(_SOME, _USUAL + 1):
        _null(n)
        _farthest(n)


def logarithms(values: Array) -> Array:
    """Return logarithms of positive values, else values over their largest size."""
    if (values > 0).all():
        return np.log(values)
    return values / max(float(np.abs(values).max()), 1e-300)


def unrounded(values: Array) -> Array:
    """Spread values that are alike evenly over the step of their last digit: rounding makes no groups."""
    known, counts = np.unique(values, return_counts=True)
    if len(known) in (1, len(values)):
        return values
    digits = max(-int(Decimal(repr(float(one))).normalize().as_tuple().exponent) for one in known)
    step, out = 10.0 ** -max(digits, 0), values.astype("f8")
    for one, count in zip(known, counts, strict=True):
        # Drawn, not in the order of runs: what comes first is not the least.
        places = np.random.default_rng([_SEED, count]).permutation(count)
        out[values == one] += step * ((places + 0.5) / count - 0.5)
    return out


def _parting(facts: Mapping[str, Sequence[object]]) -> dict[str, NDArray[np.intp]]:
    """Return numbers for the levels of each fact that can part values; facts that part them alike are one."""
    found: dict[bytes, tuple[str, NDArray[np.intp]]] = {}
    for name, levels in facts.items():
        if (codes := _codes(levels)) is not None:
            found.setdefault(codes.tobytes(), (name, codes))
    return dict(found.values())


def _codes(levels: Sequence[object]) -> NDArray[np.intp] | None:
    """Return numbers for the levels of a fact; None if all values share one, or nearly each has its own."""
    known = {level: at for at, level in enumerate(dict.fromkeys(map(str, levels)))}
    codes = np.array([known[str(one)] for one in levels])
    return codes if 1 < len(known) <= max(len(codes) // 2, 2) and len(known) < len(codes) else None


# ---- by the values alone


def _by_values(x: Array, scatter: float | None) -> Split | None:
    """Find groups, or values far from the rest; what scatters far more than other cells needs less proof."""
    n = len(x)
    wide = scatter is not None and n >= _SOME and _wider(x, scatter)
    if n < (_SOME if wide else _ALONE) or np.ptp(x) < LEAST:
        return None
    order = np.argsort(x, kind="stable")
    ordered = x[order]
    thin = ordered if n <= _MOST else np.quantile(ordered, (np.arange(_MOST) + 0.5) / _MOST)
    shares = _shares(thin[None])[0]
    null = _null(len(thin))
    p = _worst(null.reference, shares[None])[0]
    at = int(np.argmin(p))
    if float(np.mean(null.least <= p[at] + 1e-12)) > (_WIDE if wide else _GROUPS):
        return None
    cuts = _cuts(ordered, at, len(thin))
    labels = np.empty(n, dtype=int)
    for group, (low, high) in enumerate(zip((0, *cuts), (*cuts, n), strict=True)):
        labels[order[low:high]] = group
    means = [float(x[labels == group].mean()) for group in range(len(cuts) + 1)]
    sizes = tuple(int((labels == group).sum()) for group in range(len(cuts) + 1))
    if means[-1] - means[0] < LEAST:
        return None
    kind = "far" if min(sizes) <= max(n // 10, 1) and len(sizes) == 2 else "groups"
    return Split(kind, sizes, means[-1] - means[0], tuple(labels.tolist()))


def _by_range(x: Array, logs: bool) -> Split | None:
    """Find a few values that differ as repeats never do, divided where they are farthest apart."""
    n, order = len(x), np.argsort(x, kind="stable")
    if n >= _ALONE or not logs or np.ptp(x) <= _TWICE:
        return None
    cut = int(np.argmax(np.diff(x[order]))) + 1
    labels = np.zeros(n, dtype=int)
    labels[order[cut:]] = 1
    apart = float(x[order[cut:]].mean() - x[order[:cut]].mean())
    kind = "far" if n >= _SOME and min(cut, n - cut) == 1 else "groups"
    return Split(kind, (cut, n - cut), apart, tuple(labels.tolist()))


def _wider(x: Array, scatter: float) -> bool:
    """Tell whether values scatter more than other cells do, by chance in one of many cells."""
    if scatter <= 0:
        return False
    squares = float(((x - x.mean()) ** 2).sum())
    return float(stats.chi2.sf(squares / scatter**2, len(x) - 1)) <= RATE


def _cuts(ordered: Array, at: int, thin: int) -> tuple[int, ...]:
    """Return where a split of the kind `at` cuts ordered values: the best of that kind."""
    n = len(ordered)
    if at >= thin // 2 and n > _MANY:  # between that many quantiles
        places = (2 * np.arange(_MANY) + 1) * n // (2 * _MANY)
        return tuple(cut * n // _MANY for cut in _cuts(ordered[places], at, thin))
    sums = _Sums(ordered[None])
    if at >= thin // 2:
        best, spans = _parted(sums)
        ends = [n]
        for before in best[at - thin // 2 + 1 :: -1]:
            ends.append(int(np.argmin(before[0] + spans[0, :, ends[-1]])))
        return tuple(ends[:0:-1])
    each = np.arange(1, n)
    within = (sums.within(0, each) + sums.within(each, n))[0]
    smaller = np.minimum(each, n - each)
    wanted = smaller == at + 1 if thin == n else np.ones(n - 1, dtype=bool)
    return (int(each[int(np.argmin(np.where(wanted, within, np.inf)))]),)


class _Sums:
    """Running sums of rows of ordered values, for the scatter within any stretch of them."""

    def __init__(self, rows: Array) -> None:
        centred = rows - rows.mean(axis=1, keepdims=True)
        zero = np.zeros((len(rows), 1))
        self.one = np.hstack([zero, np.cumsum(centred, axis=1)])
        self.two = np.hstack([zero, np.cumsum(centred**2, axis=1)])

    def within(self, low: ArrayLike, high: ArrayLike) -> Array:
        """Return the sum of squares about the mean from `low` to before `high`."""
        low, high = np.broadcast_arrays(np.atleast_1d(low), np.atleast_1d(high))
        total = self.one[:, high] - self.one[:, low]
        squares: Array = self.two[:, high] - self.two[:, low] - total**2 / (high - low)
        return np.clip(squares, 0.0, None)


def _parted(sums: _Sums) -> tuple[list[Array], Array]:
    """Split ordered values into 1, 2, 3 ... groups of two values and a tenth or more, in the best way.

    The scatter within groups, by row and end, for each number of groups, inf where there are not so many; and
    that of one group, by row, begin and end. A dynamic program (Fisher 1958).
    """
    rows, n = sums.one.shape[0], sums.one.shape[1] - 1
    begin, end = np.triu_indices(n + 1, k=max(2, n // 10))
    each = np.full((rows, n + 1, n + 1), np.inf)
    each[:, begin, end] = sums.within(begin, end)
    best = [each[:, 0, :]]
    while len(best) < _MOST_GROUPS:
        best.append((best[-1][:, :, None] + each).min(axis=1))
    return best, each


def _shares(rows: Array) -> Array:
    """Return the part of the scatter that is left within groups: of two by the smaller's size, then of more.

    Rows ascend, shape (m, n); the result has a column for each size of the smaller group and one for each
    number of groups from three on.
    """
    n, sums = rows.shape[1], _Sums(rows)
    total = np.clip(sums.within(0, n)[:, 0], 1e-300, None)
    cuts = np.arange(1, n)
    both = (sums.within(0, cuts) + sums.within(cuts, n)) / total[:, None]
    half = n // 2
    out = np.minimum(both[:, :half], both[:, ::-1][:, :half])
    parts = np.array_split(rows, max(len(rows) * n * n // 1_000_000, 1))
    more = np.concatenate([np.array([one[:, n] for one in _parted(_Sums(part))[0][2:]]).T for part in parts])
    return np.hstack([out, np.minimum(more / total[:, None], 1.0)])


@dataclass(frozen=True, slots=True)
class _Null:
    """What noise does: sorted shares of each kind of noise by column, and the least p of each draw."""

    reference: tuple[Array, ...]
    least: Array


@lru_cache(maxsize=64)
def _null(n: int) -> _Null:
    rng = np.random.default_rng([_SEED, n])
    draws = max(_DRAWS * 12 // max(n, 12), 1_000)
    noises = [
        rng.normal(size=(draws, n)),
        rng.standard_t(5, size=(draws, n)),
        rng.gamma(2.0, size=(draws, n)),
    ]
    shares = [_shares(np.sort(one, axis=1)) for one in noises]
    reference = tuple(np.sort(one, axis=0) for one in shares)
    least = [np.sort(_worst(reference, one).min(axis=1)) for one in shares]
    return _Null(reference, np.min(least, axis=0))


def _worst(reference: Sequence[Array], shares: Array) -> Array:
    """Return how often noise leaves as little within groups, of the kind of noise that does so most often."""
    found = []
    for one in reference:
        columns = [np.searchsorted(one[:, at], shares[:, at], side="right") for at in range(shares.shape[1])]
        found.append((np.stack(columns, axis=1) + 1) / (len(one) + 1))
    worst: Array = np.max(found, axis=0)
    return worst


def _by_distance(x: Array) -> Split | None:
    """Find values far from the rest on both sides, or scattered on one: no groups, but no noise either."""
    n = len(x)
    away = np.abs(x - np.median(x))
    if n < _ALONE or away.max() < LEAST:
        return None
    scale = max(np.median(away), LEAST / 3)  # of values all but alike the next may well be less so
    near = away <= _farthest(n) * scale
    if near.all():
        return None
    return Split(
        "far", (int((~near).sum()), int(near.sum())), float(away.max()), tuple(near.astype(int).tolist())
    )


@lru_cache(maxsize=64)
def _farthest(n: int) -> float:
    """Return how many median distances off the farthest of n values is in one cell of 1 / RATE."""
    if n > _MANY:  # t with three degrees of freedom has the longer tail, and its median distance is known
        return float(stats.t.isf(-math.expm1(math.log1p(-RATE) / n) / 2, 3) / stats.t.isf(0.25, 3))
    rng = np.random.default_rng([_SEED, n, 1])
    draws: tuple[Callable[..., Any], ...] = (partial(rng.standard_t, 3), partial(rng.gamma, 2.0))
    return max(float(np.quantile(_reached(draw, n), 1 - RATE)) for draw in draws)


def _reached(draw: Callable[..., Any], n: int) -> Array:
    """Return how many median distances off the farthest of n drawn values is, 20,000 times."""
    found = []
    for rows in at_once(20_000, n):
        one = draw(size=(len(rows), n))
        away = np.abs(one - np.median(one, axis=1, keepdims=True))
        found.append(away.max(axis=1) / np.median(away, axis=1))
    return np.concatenate(found)


# ---- along time


def _by_time(x: Array, times: Array) -> Split | None:
    """Find a trend or a step along time; values that change their places have neither."""
    n = len(x)
    if n < 5 or np.isnan(times).any() or np.ptp(times) == 0:
        return None
    order = np.argsort(times, kind="stable")
    y = x[order]
    p_tau = p_of_order(np.arange(n), y)
    cuts = np.arange(1, n)
    weights = np.sqrt(cuts * (n - cuts))

    def steps(rows: Array) -> Array:
        found: Array = np.abs(np.cumsum(rows - y.mean(), axis=1)[:, :-1]) / weights
        return found

    own = steps(y[None])[0]
    if p_tau * 2 > RATE and not _by_no_chance(steps, y, float(own.max())):
        return None
    cut = int(cuts[int(np.argmax(own))])
    labels = np.empty(n, dtype=int)
    labels[order] = np.arange(n) >= cut
    slope = _slope(y) * (n - 1)
    step = float(y[cut:].mean() - y[:cut].mean())
    apart = slope if abs(slope) > abs(step) else step
    if abs(apart) < LEAST:
        return None
    return Split("trend", (cut, n - cut), apart, tuple(int(one) for one in labels))


def _by_no_chance(steps: Callable[[Array], Array], y: Array, own: float) -> bool:
    """Tell whether chance seldom makes a step as clear; it is drawn until the answer is known."""
    most = RATE / 2 * (_ORDERS + 1) - 1
    seen = 0
    for rows in shuffled([y], _ORDERS, (_SEED, len(y)), portion=_PORTION):
        seen += int(np.count_nonzero(steps(rows).max(axis=1) >= own - 1e-12))
        if seen > most:
            return False
    return True


def _slope(y: Array) -> float:
    """Return the median slope of all pairs of values, or of many values between its halves (Theil 1950)."""
    n, half = len(y), len(y) // 2
    if n > _MANY:
        return float(np.median(y[n - half :] - y[:half])) / (n - half)
    return float(stats.theilslopes(y, np.arange(n)).slope)


# ---- by facts


def _by_facts(x: Array, facts: Mapping[str, NDArray[np.intp]], scatter: float | None) -> Split | None:
    """Find the fact whose levels differ by more than noise; of the scatter the own and that of others counts.

    Where a level or the scatter within levels is known from few values, levels must not overlap.
    """
    best: tuple[float, str, NDArray[np.intp]] | None = None
    for name, codes in facts.items():
        if (
            len(x) >= _ALONE and np.count_nonzero(np.bincount(codes) > 1) < 2
        ):  # a far value is not its level's
            continue
        p = _p_of_levels(x, codes, scatter)
        if p > RATE / len(facts) and len(x) >= 2 * _ALONE:  # another one may hide it
            others = [one for one in facts.values() if one is not codes]
            hidden = (_p_of_levels(_without(x, one), codes, None) for one in others)
            p = min([1.0, *hidden]) * max(len(others), 1)
        if p <= RATE / len(facts) and (best is None or p < best[0]):
            best = p, name, codes
    if best is None:
        return None
    _, name, codes = best
    means = [float(x[codes == level].mean()) for level in range(codes.max() + 1)]
    order = np.argsort(means)
    sizes = tuple(int((codes == level).sum()) for level in order)
    labels = np.argsort(order)[codes]
    return Split("fact", sizes, max(means) - min(means), tuple(int(one) for one in labels), name)


def _by_pairs(x: Array, hosts: Sequence[object]) -> Split | None:
    """Find runs on all pairs of some hosts: each pair is a place of its own, and no repeat of another."""
    lists = [frozenset(filter(None, str(one).split(","))) for one in hosts]
    pairs, every = set(lists), frozenset[str]().union(*lists)
    apart = float(np.ptp(x))
    if len(every) < 4 or {len(one) for one in lists} != {2} or apart < LEAST:
        return None
    if len(pairs) != math.comb(len(every), 2):
        return None
    means = {pair: float(x[[one == pair for one in lists]].mean()) for pair in pairs}
    order = sorted(pairs, key=lambda pair: (means[pair], sorted(pair)))
    labels = tuple(order.index(one) for one in lists)
    return Split("pairs", tuple(labels.count(at) for at in range(len(order))), apart, labels, "node_list")


def _without(x: Array, codes: NDArray[np.intp]) -> Array:
    """Return values less the means of the levels of a fact."""
    return x - (np.bincount(codes, weights=x) / np.bincount(codes))[codes]


def _p_of_levels(x: Array, codes: NDArray[np.intp], scatter: float | None) -> float:
    n, k = len(x), int(codes.max()) + 1
    groups = [x[codes == level] for level in range(k)]
    means = [float(one.mean()) for one in groups]
    if max(means) - min(means) < LEAST:
        return 1.0
    within = float(sum(((one - one.mean()) ** 2).sum() for one in groups))
    between = float(((x - x.mean()) ** 2).sum()) - within
    # The own scatter tells, where it is known at all; else others' too, and levels must not overlap.
    few = n < _ALONE or n - k < _FREE
    others = _OTHERS if few and scatter is not None else 0
    freedom = n - k + others
    if freedom < _FREE or (few and not _apart(groups)):
        return 1.0
    noise = (within + others * (scatter or 0.0) ** 2) / freedom
    # A few values may lie nearer than they would again.
    noise = max(noise, (scatter or LEAST / 3) ** 2) if few else noise
    p = float(stats.f.sf(between / (k - 1) / noise, k - 1, freedom)) if noise > 0 else 0.0
    return p if few or p > RATE or _seldom(x, codes, between) else 1.0


def _seldom(x: Array, codes: NDArray[np.intp], between: float) -> bool:
    """Tell whether levels given to values by chance would seldom differ by more: noise may be skewed."""
    by_chance = [
        sum(
            rows[:, codes == level].sum(axis=1) ** 2 / np.count_nonzero(codes == level)
            for level in range(int(codes.max()) + 1)
        )
        for rows in shuffled([x - x.mean()], 1_000, (_SEED, len(x)))
    ]
    return bool(np.mean(np.concatenate(by_chance) > between + 1e-12) <= RATE)


def _apart(groups: Sequence[Array]) -> bool:
    """Tell whether the ranges of groups do not overlap."""
    ordered = sorted(groups, key=lambda one: float(one.mean()))
    return all(one.max() < other.min() for one, other in itertools.pairwise(ordered))


def _explained(found: Split, facts: Mapping[str, NDArray[np.intp]]) -> str:
    """Name the fact that groups follow best, if it leaves them apart no more often than one in twenty."""
    labels, best = np.asarray(found.labels), (0.05 / max(len(facts), 1), "")
    for name, codes in facts.items():
        table = np.zeros((labels.max() + 1, codes.max() + 1))
        np.add.at(table, (labels, codes), 1)
        agree = table.max(axis=0).sum() / len(labels)
        chance = _chance(table)
        if agree >= 0.85 and chance < best[0]:
            best = chance, name
    return best[1]


def _chance(table: Array) -> float:
    """Return the probability of a table this uneven if rows and columns are independent.

    Where a cell would have under five, the textbook's limit for the formula, tables with its sums are drawn.
    """
    if stats.contingency.expected_freq(table).min() >= 5:
        return float(stats.chi2_contingency(table).pvalue)
    drawn = stats.MonteCarloMethod(n_resamples=_TABLES, rng=np.random.default_rng(_SEED))
    return float(stats.chi2_contingency(table, correction=False, method=drawn).pvalue)


def scatter_beside(cells: Sequence[ArrayLike], kinds: Sequence[str]) -> list[float | None]:
    """Return for each cell the scatter that three quarters of the others stay below; None if they are few.

    The other cells of its kind, of three values or more, count. Standard deviations of logarithms.
    """
    own = np.array([float(np.std(logarithms(np.asarray(one, dtype="f8")), ddof=1)) for one in cells])
    alike = np.array([kind if np.size(one) >= _SOME else "" for one, kind in zip(cells, kinds, strict=True)])
    out: list[float | None] = []
    for at, kind in enumerate(kinds):
        others = np.delete(own, at)[np.delete(alike, at) == kind]
        out.append(float(np.quantile(others, 0.75)) if len(others) >= 3 else None)
    return out
