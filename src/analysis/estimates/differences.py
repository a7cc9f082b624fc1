"""Do groups of runs differ? One engine of tests for claims, the search, comparisons and histories.

If the groups are alike, their runs can change places. So a statistic of the runs as they are is compared with
the same statistic of the runs rearranged. Nothing is taken to be normal. There are two ways to compare:

- *Alone*: with the rearrangements of the same runs. The p-value is exact, whatever other runs are like.
  Claims and the search use it, with ranks: they test few and unlike things, a rate here and a time there.
- *Pooled*: with the rearrangements of all cells of a family (as the analysis of microarrays does: Tusher,
  Tibshirani and Chu 2001, PNAS 98). Comparisons and histories use it, with t. They test hundreds of cells,
  and six runs against six have only 924 rearrangements: alone, none of hundreds of cells could ever pass.
  Pooling needs a statistic that means the same in every cell and has no largest value. A rank sum has one,
  and chance reaches it in every cell: pooled, ranks would be no sharper than a cell alone.
"""

import itertools
import math
import operator
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats as distributions

from analysis.base.orders import at_once, drawn, shuffled
from analysis.estimates import stats, uncertainty
from analysis.estimates.family import adjusted
from analysis.estimates.finding import measuring_days
from analysis.estimates.intervals import Array
from analysis.estimates.stats import LEVEL, MIN_REPEATS, NO_DAY, RESAMPLES, SEED, Equivalence, Estimate

MARGIN = 0.05  # two medians whose ratio is nearer to 1 than this are equal
Places = NDArray[np.intp]
# A statistic of each rearrangement, from an array a group: a row a rearrangement, a column a run.
Statistic = Callable[[Sequence[Array]], Array]
_MANY = 60  # runs on a side whose rank sum is as good as normal
# Rounding must not separate equal statistics.
_TIE = 1e-9


class Tries(NamedTuple):
    """All rearrangements are tried if they are `every` at most; else `drawn` of them and the true one."""

    every: int
    drawn: int


ALONE = Tries(20_000, RESAMPLES)
POOLED = Tries(5_000, 999)  # of each cell; hundreds of cells share theirs


# ---- two groups of runs, each a frame with ``value`` and days


def ratio_of(
    variable: str, top: pd.DataFrame, bottom: pd.DataFrame, *, between_days: bool = False
) -> tuple[Estimate, str]:
    """Return the ratio of the medians of two groups, and a remark on its interval.

    `between_days` is for groups that are always from different days, such as before and after an upgrade
    (`stats.ratio_between_days`). Of jobs that ran both, the median of their ratios. The interval includes the
    errors of meters and of rounding.
    """
    if pairs := in_pairs(top, bottom):
        one, other = pairs
        ratio = stats.median(one["value"] / other["value"], one["day"]).counted(len(one), len(other))
    else:
        estimate = stats.ratio_between_days if between_days else stats.ratio_of_medians
        ratio = estimate(top["value"], bottom["value"], (measuring_days(top), measuring_days(bottom)))
    return uncertainty.widened_for(variable, ratio, operator.truediv, top, bottom)


def in_pairs(top: pd.DataFrame, bottom: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame] | None:
    """Return both sides by pair if two or more pairs shared their nodes, so that these cancel; else None.

    A pair is a job that ran each side once or, of a job that several runs share, a repeat of each side that
    was over before the job's next pair began; other runs may lie within. Each side has its ``day``, in one
    order of pairs. Each batch system begins with job 1, and does so again when it is set up anew. A
    number is one job only in one campaign, on one cluster and on one day, or the next.
    """
    if len(top) != len(bottom) or len(top) < 2 or "job_id" not in top or "job_id" not in bottom:
        return None
    names = [pair_names(part) for part in (top, bottom)]
    if not names[0].is_unique or "" in names[0] or set(names[0]) != set(names[1]):
        return None
    one, other = (
        part.assign(day=measuring_days(part)).set_index(name)
        for part, name in zip((top, bottom), names, strict=True)
    )
    other = other.reindex(one.index)
    shared = one.index.str.contains(":")
    where = [name for name in ("campaign", "cluster") if name in one and name in other]
    alike = one[where].eq(other[where]).all(axis=None)
    nodes = "node_list" not in one or one["node_list"][shared].eq(other["node_list"][shared]).all()
    # A job may run past midnight.
    days = (one["day"] - other["day"]).abs().le(1).all()
    return (one, other) if alike and nodes and days and _in_turns(one[shared], other[shared]) else None


def pair_names(runs: pd.DataFrame) -> pd.Index:
    """Return what names the pair of each run: its job and, if others share that, the repeat: ``7:r3``."""
    jobs = runs["job_id"].astype(str).tolist()
    repeats = runs["repeat"].tolist() if "repeat" in runs else [""] * len(jobs)
    # Without pandas: a search names the pairs of thousands of groups of few runs.
    names = [
        f"{job.partition(':')[0]}:r{repeat}" if ":" in str(job) else job
        for job, repeat in zip(jobs, repeats, strict=True)
    ]
    return pd.Index(names, dtype=str, name="pair")


def _in_turns(one: pd.DataFrame, other: pd.DataFrame) -> bool:
    """Tell whether each pair was over before the next of its job began: ``7:3`` is the third run of job 7."""
    parts = [part["job_id"].astype(str).str.partition(":") for part in (one, other)]
    if not len(one):
        return True
    if not all(part[2].str.fullmatch("[0-9]{1,9}").all() for part in parts):
        return False
    turns = pd.concat([part[2].astype(int) for part in parts], axis=1)
    found = pd.DataFrame({"job": parts[0][0], "first": turns.min(axis=1), "last": turns.max(axis=1)})
    found = found.sort_values(["job", "first"])
    begun = found.groupby("job")["first"].shift(-1)
    return bool((begun.isna() | (found["last"] < begun)).all())


def equality(variable: str, margin: float, top: pd.DataFrame, bottom: pd.DataFrame) -> Equivalence:
    """Test whether two groups are equal within what the readings leave of a relative margin."""
    left = uncertainty.margin_left(variable, margin, top, bottom)
    return stats.equivalence(top["value"], bottom["value"], left)


def p_of_difference(top: pd.DataFrame, bottom: pd.DataFrame, *, between_days: bool = False) -> float:
    """Return the two-sided p-value of "both groups are alike": alone, by ranks, within measuring days.

    With `between_days` the day may be what makes the difference.
    """
    values = np.concatenate([top["value"], bottom["value"]])
    blocks = np.zeros(len(values)) if between_days else _blocks(top, bottom)
    return chance(np.repeat([1.0, 0.0], [len(top), len(bottom)]), values, blocks)


def clarity(ratio: Estimate, top: pd.DataFrame, bottom: pd.DataFrame) -> Array:
    """Return how clear a difference is, for `chances`: as it is, and in every rearrangement that is tried.

    Runs change sides, or days where a day stands for a run in the interval of the ratio.
    """
    sides = [pd.Series(np.log(part["value"].to_numpy()), measuring_days(part)) for part in (top, bottom)]
    if ratio.by_days:
        sides = [one.groupby(level=0).median() for one in sides]
    if ratio.by_days and len(ratio.days) == 1:
        both = pd.concat(sides, axis=1, join="inner")
        return of_days(both[0].to_numpy(), both[1].to_numpy())
    return of_sides(*(one.to_numpy() for one in sides))


def p_of_interaction(
    high: tuple[pd.DataFrame, pd.DataFrame], low: tuple[pd.DataFrame, pd.DataFrame]
) -> float:
    """Return the two-sided p-value of "the ratio of two groups is the same at both ends".

    The ratio that both ends have in common is taken out of the first groups; what is left changes sides
    within its end and day. The statistic is the difference of the log ratios of medians.
    """
    ends = [[np.log(part["value"].to_numpy()) for part in end] for end in (high, low)]
    ratios = [float(np.median(x) - np.median(y)) for x, y in ends]
    shared = float(np.average(ratios, weights=[len(x) * len(y) / (len(x) + len(y)) for x, y in ends]))
    rng, each = np.random.default_rng(SEED), []
    for (x, y), end in zip(ends, (high, low), strict=True):
        values, sides = np.concatenate([x - shared, y]), np.repeat([0.0, 1.0], [len(x), len(y)])
        each.append(_rearranged(_of_medians, values, sides, _blocks(*end), Tries(0, RESAMPLES), rng))
    return _p(np.abs(each[0] - each[1]))


def _of_medians(sides: Sequence[Array]) -> Array:
    first, second = (np.median(side, axis=1) for side in sides)
    return np.asarray(first - second)


def _blocks(*parts: pd.DataFrame) -> Array:
    """Return the day of each run, within which it can change places; runs without one are of one block."""
    return np.concatenate([measuring_days(part) for part in parts]).astype("f8")


# ---- groups along an ordered factor


def trend(levels: ArrayLike, values: ArrayLike, days: ArrayLike | None = None) -> tuple[Estimate, float]:
    """Estimate how monotone values are along an ordered factor; level and value of each run, shape (n,).

    Returns Kendall's tau-b from -1 (always falling) to 1, and the two-sided p-value of "the levels make no
    difference" (`chance`); over several days that of the medians of each level and day, as what a day does to
    one level is in all its runs. The interval's bootstrap (999 resamples) draws within each level, because
    the levels were chosen, not sampled; it knows of no run that another order would have, so a trend needs
    both. No interval below six runs or two runs per level. Runs without a day are left out if others have
    one.
    """
    x, y = np.asarray(levels, dtype="f8"), np.asarray(values, dtype="f8")
    keep = np.isfinite(x) & np.isfinite(y)
    day = np.full(len(x), NO_DAY) if days is None else np.asarray(days)
    keep &= (day != NO_DAY) | (day == NO_DAY).all()
    x, y, day = x[keep], y[keep], day[keep]
    known = () if (day == NO_DAY).all() else (len(set(day)),)
    if len(x) < 2 or np.ptp(x) == 0:
        return Estimate(np.nan, np.nan, np.nan, len(x), level=0.0, days=known), 1.0
    value = float(distributions.kendalltau(x, y).statistic)
    p = chance(*(_by_day(x, y, day) if known and known[0] > 1 else (x, y, np.zeros(len(x)))))
    groups = [y[x == level] for level in np.unique(x)]
    if len(x) < MIN_REPEATS or min(map(len, groups)) < 2:
        return Estimate(value, np.nan, np.nan, len(x), level=0.0, days=known), p
    rng = np.random.default_rng(SEED)
    drawn = tau([group[rng.integers(len(group), size=(999, len(group)))] for group in groups])
    ends = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    # Draws with ties can all lie to one side of the estimate; the interval then reaches back to it.
    low, high = min(float(ends[0]), value), max(float(ends[1]), value)
    return Estimate(value, low, high, len(x), days=known), p


def tau_of_medians(levels: Iterable[ArrayLike]) -> float:
    """Return Kendall's tau of the medians of levels: 1 if each is above all before, however many its runs.

    Of the runs, which are ties of their level, tau-b of a curve that rises at each step is below 1.
    """
    medians = [float(np.median(np.asarray(one))) for one in levels]
    found = float(distributions.kendalltau(range(len(medians)), medians).statistic)
    return round(found, 12) if np.isfinite(found) else 0.0  # all medians are one


def _by_day(levels: Array, values: Array, days: Array) -> tuple[Array, Array, Array]:
    """Return level, median and day of the runs of each level and day."""
    runs = pd.DataFrame({"level": levels, "value": values, "day": days})
    cells = runs.groupby(["level", "day"], as_index=False)["value"].median()
    return cells["level"].to_numpy(), cells["value"].to_numpy(), cells["day"].to_numpy()


def chance(levels: Array, values: Array, blocks: Array) -> float:
    """Return how often a permutation of the runs gives a tau as far from 0, or farther.

    Runs change places within their block, a measuring day, because they are exchangeable there if the levels
    make no difference.
    """
    known = np.unique(levels)
    if len(known) != 2:
        return _p(_rearranged(_order, values, levels, blocks, ALONE))
    # Of two levels tau is the sum of one side's ranks, on another scale.
    ranks = distributions.rankdata(values) - (len(values) + 1) / 2
    p = _of_many(levels == known[0], ranks, blocks)
    return p if p is not None else _p(_rearranged(_rank_sum, ranks, levels, blocks, ALONE))


def _rank_sum(sides: Sequence[Array]) -> Array:
    return np.asarray(np.abs(sides[0].sum(axis=1)))


def _of_many(first: NDArray[np.bool_], ranks: Array, blocks: Array) -> float | None:
    """Return the p-value of a sum of many ranks, which is normal; None if drawing permutations is closer.

    From 60 runs on each side (of several blocks, each counts by its share of the variance), and with no tie
    of more than a twentieth of them, the error is less than half the standard error of 9,999 draws, from the
    least p-value that these can give, which is also the least here. A test compares it with the exact one.
    """
    fixed = variance = unlike = 0.0
    for block in np.unique(blocks):
        own, side = ranks[blocks == block], first[blocks == block]
        n, m = int(side.sum()), int((~side).sum())
        fixed += n * float(own.mean())
        scatter = n * m / max(n + m - 1, 1) * float(own.var())
        variance += scatter
        unlike += scatter**2 / max(min(n, m), 1)
    if unlike * _MANY > variance**2 or not variance:
        return None
    tied, counts = np.unique(ranks, return_counts=True)
    if counts.max() * 20 > len(ranks):
        return None
    step = np.gcd.reduce(np.round(2 * np.diff(tied)).astype("i8")) / 2
    # The statistic is as far from zero, not from its mean: blocks may be unlike.
    far = max(abs(float(ranks[first].sum())) - step / 2, 0.0)
    ends = (np.array([far - fixed, far + fixed])) / math.sqrt(variance)
    return float(np.clip(distributions.norm.sf(ends).sum(), 1 / (RESAMPLES + 1), 1.0))


def _order(sides: Sequence[Array]) -> Array:
    return np.asarray(np.abs(np.nan_to_num(tau(sides))))


def tau(drawn: Sequence[Array]) -> Array:
    """Return Kendall's tau-b of m draws at once, equal to scipy's result per draw to the last bit.

    The draws have few values, so counts of values replace pairs. Pairs of one level do not count; pairs of
    two levels are counted from the upper one.
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
        found: Array = concordant / np.sqrt(ordered) / np.sqrt(pairs - _pairs(below).sum(axis=1))
    return np.clip(found, -1, 1)


def _pairs(count: Any) -> Any:
    return count * (count - 1) // 2


# ---- how clear a difference is, on a scale that all cells share


def of_sides(after: Array, before: Array) -> Array:
    """Return how clear the difference of two sides is; two logarithms or more on each."""
    return of_parts(_unpaired, (after, before))


def _unpaired(sides: Sequence[Array]) -> Array:
    (n, sums, squares), (m, rest, rest_squares) = (
        (side.shape[1], side.sum(axis=1), (side**2).sum(axis=1)) for side in sides
    )
    scatter = (squares - sums**2 / n) + (rest_squares - rest**2 / m)
    return scaled(sums / n - rest / m, scatter, 1 / n + 1 / m, n + m - 2)


def of_days(after: Array, before: Array) -> Array:
    """Return how clear the difference of two sides is that have the same days; a logarithm a day of each."""
    return of_parts(_paired, (after, before), np.tile(np.arange(len(after)), 2))


def _paired(sides: Sequence[Array]) -> Array:
    gaps, n = sides[0] - sides[1], sides[0].shape[1]
    means = gaps.mean(axis=1)
    return scaled(means, ((gaps - means[:, None]) ** 2).sum(axis=1), 1 / n, n - 1)


def of_parts(statistic: Statistic, parts: Sequence[Array], blocks: ArrayLike = 0) -> Array:
    """Return a statistic of parts whose values, logarithms, change places within their block."""
    values = np.concatenate(parts)
    # Equal values must give equal sums in every order of them.
    values = np.round(values - np.median(values), 12)
    levels = np.repeat(np.arange(len(parts), dtype="f8"), [len(part) for part in parts])
    rng = np.random.default_rng((SEED, len(values)))
    return _rearranged(statistic, values, levels, np.broadcast_to(blocks, len(values)), POOLED, rng)


def scaled(difference: Array, scatter: Array, share: float | Array, freedom: int) -> Array:
    """Put differences on the scale of a normal distribution, for cells of few and of many runs.

    `scatter` is the sum of squares that is left with so much `freedom`; `share` of it is the square of the
    difference's error.
    """
    away = np.abs(difference)
    away[away < 1e-12] = 0.0
    error = np.sqrt(np.clip(scatter, 0.0, None) / freedom * share)
    error[error < 1e-12] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(away > 0, away / error, 0.0)
    tail = np.clip(distributions.t.sf(t, freedom), 1e-300, None)
    return np.asarray(distributions.norm.isf(tail), dtype=float)


# ---- rearrangements


def _rearranged(
    statistic: Statistic,
    values: Array,
    levels: Array,
    blocks: Array,
    tries: Tries,
    rng: np.random.Generator | None = None,
) -> Array:
    """Return a statistic of values that change places within their block: as they are, then as is tried."""
    order = np.lexsort((levels, blocks))
    levels, values, blocks = levels[order], values[order], blocks[order]
    groups = [levels == level for level in np.unique(levels)]
    parts = [blocks == block for block in np.unique(blocks)]
    counts = [tuple(np.unique(levels[part], return_counts=True)[1].tolist()) for part in parts]
    total = math.prod(map(_arrangements, counts))
    each = [values[part] for part in parts]
    rows = _every(each, counts, total) if total <= tries.every else _drawn(each, tries.drawn, rng)
    # Sorted by level within its block, a level of one block is a slice, which is not copied.
    cut = np.cumsum([group.sum() for group in groups])[:-1] if len(parts) == 1 else None
    return np.concatenate(
        [
            statistic(
                np.split(chunk, cut, axis=1) if cut is not None else [chunk[:, group] for group in groups]
            )
            for chunk in rows
        ]
    )


def _arrangements(counts: Sequence[int]) -> int:
    """Return in how many ways runs can be put to levels, so many to each."""
    return math.prod(math.comb(upto, n) for upto, n in zip(itertools.accumulate(counts), counts, strict=True))


def _every(parts: Sequence[Array], counts: Sequence[tuple[int, ...]], total: int) -> Iterator[Array]:
    each = [_orders(one) for one in counts]
    for chunk in at_once(total, sum(map(len, parts))):
        rows, columns = np.arange(chunk.start, chunk.stop), []
        for part, orders in zip(parts[::-1], each[::-1], strict=True):
            rows, at = np.divmod(rows, len(orders))
            columns.append(part[orders[at]])
        yield np.concatenate(columns[::-1], axis=1)


@lru_cache(maxsize=32)
def _orders(counts: tuple[int, ...]) -> Places:
    """Return every way to put runs to levels, so many to each: places, a row a way, the given order first."""
    if len(counts) < 2:
        return np.arange(sum(counts))[None]
    runs, tails = range(sum(counts)), _orders(counts[1:])
    found = []
    for chosen in itertools.combinations(runs, counts[0]):
        rest = np.array([run for run in runs if run not in chosen])
        found.append(np.hstack([np.tile(chosen, (len(tails), 1)), rest[tails]]))
    return np.concatenate(found)


def _drawn(parts: Sequence[Array], draws: int, rng: np.random.Generator | None) -> Iterator[Array]:
    """Draw rearrangements; without a generator those of the seed, which cells of one size have in common."""
    yield np.concatenate(parts)[None]
    yield from drawn(parts, draws, rng) if rng is not None else shuffled(parts, draws, (SEED,))


# ---- p-values


class Chance(NamedTuple):
    """How likely chance alone is to show a difference as clear: by itself, and among all of its family.

    `least` is how clear a difference of its family must be to pass; infinite where none does.
    """

    p: float
    q: float
    least: float


def chances(
    ways: Sequence[Array | None], families: Sequence[Hashable], rate: float = 1.0
) -> list[Chance | None]:
    """Return the chances of cells, pooled over each family; None where a cell was not tested.

    `ways` are as from `clarity`. Of the differences of a family that pass, a `rate` may be false.
    """
    out: list[Chance | None] = [None] * len(ways)
    for family in dict.fromkeys(families):
        cells = {at: one for at, one in enumerate(ways) if one is not None and families[at] == family}
        ordered, above = _pool(list(cells.values()))
        places = np.searchsorted(ordered, [one[0] - _TIE for one in cells.values()])
        p = [float(min(above[place], 1.0)) for place in places]
        q = adjusted(p)
        # Where Benjamini and Hochberg draw the line.
        passed = sum(one <= rate for one in q) / max(len(q), 1)
        least = float(ordered[np.argmax(above <= rate * passed * (1 + _TIE))]) if passed else math.inf
        for at, own_p, own_q in zip(cells, p, q, strict=True):
            out[at] = Chance(own_p, own_q, least)
    return out


def _pool(cells: Sequence[Array]) -> tuple[Array, Array]:
    """Return the statistics of all cells in their order, and which share of all is as large or larger.

    Each cell has the same weight, however many rearrangements it has.
    """
    values = np.concatenate([*cells, []])
    weights = np.concatenate([*(np.full(len(one), 1 / len(one) / len(cells)) for one in cells), []])
    order = np.argsort(values, kind="stable")
    return values[order], np.cumsum(weights[order][::-1])[::-1]


def _p(ways: Array) -> float:
    """Return how often the rearrangements of a cell are as clear as its runs are, or clearer."""
    return float(np.mean(ways >= ways[0] - _TIE))
