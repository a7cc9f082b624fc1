"""Statistics of claims: medians with their intervals, equivalence and trend.

Nothing but the effects of a few days is taken to be normal: run times on shared machines are skewed and
often bimodal. All functions take plain arrays of repeats, and the measuring day of each where it is known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike
from scipy import special, stats

from analysis.estimates.intervals import (
    Array,
    at_worst,
    exact_ends,
    in_quadrature,
    interpolated_ends,
    range_level,
    worst_level,
)

LEVEL = 0.95
# The least number of repeats, or of days, whose range holds the median at 95 %: 96.9 %; at five 93.8 %.
MIN_REPEATS = 6
# Below this level no verdict rests on an interval: its one side may miss in 1 of 16 cases, at four repeats.
MIN_LEVEL = 0.85
# So many repeats, or days, are the least whose range is trusted.
FEWEST = next(n for n in range(2, 99) if range_level(n) >= MIN_LEVEL)
RESAMPLES = 9_999
SEED = 20_140_701
# A run whose measuring day is not known.
NO_DAY = -1
_TINY = 1e-9
_LARGEST = 700.0  # an exponent whose power is still a number
_EXACT = 8  # runs of the smaller group, up to which ranks without ties have an exact p-value


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its interval, whose ends are NaN where a single repeat gives none.

    `n` counts the repeats behind it: of the treatment, where two groups are compared, and `n_baseline` the
    others. `level` is the least probability that the interval holds the truth, on the days it speaks of:
    `days` counts them, those of each group where a day stands for a repeat of one group, and is empty if they
    are not known; `beside` counts the runs left out for their day (`of_medians`). `half_open` says that the
    data bound the value on one side alone, and that the other end is infinite. `again` makes the estimate
    anew with an interval of another level; what does not scatter has none.
    """

    value: float
    low: float
    high: float
    n: int
    n_baseline: int | None = None
    level: float = LEVEL
    days: tuple[int, ...] = ()
    beside: int = 0
    half_open: bool = False
    again: Callable[[float], Estimate] | None = field(default=None, compare=False, repr=False)

    @property
    def bounded(self) -> bool:
        """Whether there is an interval."""
        return bool((any if self.half_open else all)(map(math.isfinite, (self.low, self.high))))

    @property
    def by_days(self) -> bool:
        """Whether a day, not a run, is what counts."""
        return len(self.days) > 1 or any(map(covers_days, self.days))

    @property
    def full(self) -> bool:
        """Whether there is an interval at 95 %."""
        return self.bounded and self.level >= LEVEL - _TINY

    @property
    def settles(self) -> bool:
        """Whether there is an interval that a verdict may rest on."""
        return self.bounded and self.level >= MIN_LEVEL

    def at(self, level: float) -> Estimate:
        """Return the estimate with an interval of another level, or the widest that there is."""
        return self if self.again is None else self.again(level)

    def counted(self, n: int, n_baseline: int | None = None) -> Estimate:
        """Return the estimate with other numbers of repeats."""
        again = None if self.again is None else lambda level: self.at(level).counted(n, n_baseline)
        return replace(self, n=n, n_baseline=n_baseline, again=again)

    def transformed(self, function: Callable[[float], float]) -> Estimate:
        """Apply a monotone function to value and interval."""
        ends = sorted((function(self.low), function(self.high))) if self.bounded else [np.nan, np.nan]
        again = None if self.again is None else lambda level: self.at(level).transformed(function)
        return replace(self, value=function(self.value), low=ends[0], high=ends[1], again=again)

    def within(self, least: float, most: float) -> Estimate:
        """Return the estimate with its interval cut to the values that there can be, the value among them."""
        if not self.bounded:
            return self
        again = None if self.again is None else lambda level: self.at(level).within(least, most)
        low, high = (min(max(end, least), most) for end in (self.low, self.high))
        return replace(self, low=min(low, self.value), high=max(high, self.value), again=again)

    def without_interval(self) -> Estimate:
        """Return the value alone, which settles nothing."""
        return replace(self, low=np.nan, high=np.nan, level=0.0, again=None)

    def p_above(self, bound: float) -> float:
        """Return the one-sided p-value of "no more than `bound`": where the interval just reaches it."""
        return self._p(lambda one: one.low > bound)

    def p_below(self, bound: float) -> float:
        """Return the one-sided p-value of "no less than `bound`"."""
        return self._p(lambda one: one.high < bound)

    def _p(self, clear: Callable[[Estimate], bool]) -> float:
        def reached(p: float) -> bool:
            one = self.at(1 - 2 * p)
            return one.bounded and one.level >= 1 - 2 * p - _TINY and clear(one)

        below, above = math.log(1e-6), math.log(0.5 - _TINY)
        if not reached(math.exp(above)):
            return 1.0
        for _ in range(24):
            middle = (below + above) / 2
            below, above = (below, middle) if reached(math.exp(middle)) else (middle, above)
        return math.exp(above)


def median(values: ArrayLike, days: ArrayLike | None = None) -> Estimate:
    """Estimate the median of repeats, shape (n,), each of a day, an integer; NaN are left out.

    The interval is the narrowest one of order statistics that holds the median at 95 % or more, whatever the
    distribution; below six repeats the range at its own level. Over six days or more the days' medians take
    the place of repeats (see `of_medians`).
    """
    return of_medians(np.asarray, values, days=None if days is None else (days,))


def ratio_of_medians(
    treatment: ArrayLike, baseline: ArrayLike, days: tuple[ArrayLike, ArrayLike] | None = None
) -> Estimate:
    """Estimate how many times the median of one group is that of another; never a mean of ratios.

    If no value is negative, the interval does not reach below zero.
    """
    return _from_zero(of_medians(_quotient, treatment, baseline, days=days), treatment, baseline)


def _from_zero(ratio: Estimate, *groups: ArrayLike) -> Estimate:
    negative = any((np.asarray(group, dtype="f8") < 0).any() for group in groups)
    return ratio if negative else ratio.within(0.0, math.inf)


def _quotient(x: Array, y: Array) -> Array:
    return np.asarray(x / y)


def ratio_between_days(
    treatment: ArrayLike, baseline: ArrayLike, days: tuple[ArrayLike, ArrayLike]
) -> Estimate:
    """Estimate a ratio of medians of two groups that are always from different days: after and before.

    Values are finite, shapes (n,) and (m,), each with its day. The result is that of `ratio_of_medians` if
    that gives an interval. If the groups share no day, or most runs of one group are from a day that the
    other lacks, and there are too few days to replace runs, the interval is that of the runs, widened to
    include the ratio of each day of one group to each day of the other. It then covers only these days. If
    no run of one group has a day, the interval is that of the runs.
    """
    found = ratio_of_medians(treatment, baseline, days)
    if found.settles or len(found.days) == 1:
        return found
    groups, labels = (
        [np.asarray(group, dtype="f8") for group in (treatment, baseline)],
        [*map(np.asarray, days)],
    )
    if found.days:
        groups = [group[of != NO_DAY] for group, of in zip(groups, labels, strict=True)]
        labels = [of[of != NO_DAY] for of in labels]
    together = _from_zero(_of_runs(_quotient, groups, (0,) if found.days else ()), treatment, baseline)
    if not together.bounded or not found.days:
        return together
    together = replace(together, beside=found.beside)
    top, bottom = (
        [np.median(group[of == day]) for day in sorted(set(of.tolist()))]
        for group, of in zip(groups, labels, strict=True)
    )
    return _widened(together, [float(_at(_quotient, x, y)) for x in top for y in bottom], LEVEL)


def of_medians(
    function: Callable[..., Array], *groups: ArrayLike, days: Sequence[ArrayLike] | None = None
) -> Estimate:
    """Estimate a function of the medians of independent groups, monotone in each.

    From six repeats on, the intervals of the medians are combined in squares. Below, all ranges are at their
    worst, with the level that this has for any distribution. One repeat gives no interval.

    Repeats of one day share the effect of that day. With six or more days that all groups have, the function
    is computed per day from its medians, and the interval is that of their median. With fewer the interval is
    that of the runs, widened to include the function of each day; of two to five days it also includes
    Student's interval of their values: what a day does to one group alone is in all its runs. Runs of days
    that not all groups have are left out. If they are too many for that (`_elsewhere`), if the groups share
    no day, or if each has six or more days and they share fewer, a group has one repeat per day: its median.
    Days on which the function is no number, 0 / 0, are left out. So are runs without a day, which count as
    runs of other days. There is no interval if they are too many for one common day, if only some groups
    have days, or if a ratio is zero on one of a few days.
    """
    samples = [np.asarray(group, dtype="f8").ravel() for group in groups]
    kept = [np.isfinite(sample) for sample in samples]
    values = [sample[keep] for sample, keep in zip(samples, kept, strict=True)]
    labels = [np.asarray(day).ravel()[keep] for day, keep in zip(days, kept, strict=True)] if days else []
    if min(map(len, values)) == 0:
        return Estimate(np.nan, np.nan, np.nan, *_counts(values), level=0.0)
    if not any((label != NO_DAY).any() for label in labels):
        return _of_runs(function, values, ())
    if not all((label != NO_DAY).any() for label in labels):
        return _of_runs(function, values, ()).without_interval()
    return _of_days(function, values, labels)


def _counts(values: Sequence[Array]) -> tuple[int, int | None]:
    return len(values[0]), len(values[1]) if len(values) > 1 else None


def _of_runs(function: Callable[..., Array], values: Sequence[Array], days: tuple[int, ...]) -> Estimate:
    """Estimate from repeats that are independent of each other."""
    ordered = [np.sort(one) for one in values]
    middles = [float(np.median(one)) for one in ordered]
    return _ranked(function, ordered, middles, days, LEVEL)


def _ranked(
    function: Callable[..., Array],
    ordered: Sequence[Array],
    middles: Sequence[float],
    days: tuple[int, ...],
    level: float,
) -> Estimate:
    smallest = min(map(len, ordered))
    low, high, reached, value = np.nan, np.nan, 0.0, float(_at(function, *middles))
    if smallest > 1 and math.isfinite(value):
        low, high, reached = _interval(partial(_at, function), ordered, middles, level)
    again = partial(_ranked, function, ordered, middles, days)
    return Estimate(value, low, high, *_counts(ordered), reached, days, again=again)


def _at(function: Callable[..., Array], *medians: float) -> Array:
    """Return a function of medians; infinite, or no number, where it divides by zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(function(*map(np.float64, medians)))


def _interval(
    function: Callable[..., Array], ordered: Sequence[Array], middles: Sequence[float], level: float
) -> tuple[float, float, float]:
    """Return the ends of an interval, and its level."""
    counts = [len(one) for one in ordered]
    enough = range_level(min(counts)) >= level
    reached = level if enough else min(level, worst_level(counts))
    if len(ordered) == 1:  # which needs no function but the identity or a monotone one
        ends = sorted(float(function(end)) for end in exact_ends(ordered[0], level))
        return ends[0], ends[1], reached
    if enough:
        low, high = _combined(function, ordered, middles, level)
    else:
        low, high = at_worst(function, middles, [(float(one[0]), float(one[-1])) for one in ordered])
    return low, high, reached


def _combined(
    function: Callable[..., Array], ordered: Sequence[Array], middles: Sequence[float], level: float
) -> tuple[float, float]:
    """Combine the intervals of medians, but to no less than each of them alone is sure to leave open.

    Interpolated ends cover the median of a bimodal distribution a little less often than they state. This
    does not matter in the squares unless one group scatters and the others do not.
    """
    ends = [in_quadrature(function, middles, [interpolated_ends(one, level) for one in ordered])]
    for at, one in enumerate(ordered):
        alone = [(middle, middle) for middle in middles]
        alone[at] = exact_ends(one, level)
        ends.append(in_quadrature(function, middles, alone))
    return min(low for low, _ in ends), max(high for _, high in ends)


def _of_days(function: Callable[..., Array], values: Sequence[Array], labels: Sequence[Array]) -> Estimate:
    each = [sorted({*label.tolist()} - {NO_DAY}) for label in labels]
    undated, one_day = any((label == NO_DAY).any() for label in labels), len(set().union(*each)) == 1
    if one_day and not undated:
        return _of_runs(function, values, (1,))
    by_day = {
        day: float(_at(function, *_medians_of(day, values, labels)))
        for day in each[0]
        if all(day in other for other in each[1:])
    }
    void = [day for day, value in by_day.items() if math.isnan(value)]
    if void and len(void) < len(by_day):
        return _without(void, function, values, labels)
    common, of_day = ([], []) if void else (list(by_day), list(by_day.values()))
    shared = [one[np.isin(label, common)] for one, label in zip(values, labels, strict=True)]
    beside = sum(map(len, values)) - sum(map(len, shared))
    if covers_days(len(common)):
        found = _of_runs(np.asarray, [np.array(of_day)], (len(common),)).counted(*_counts(shared))
        return replace(found, beside=beside)
    few = not common or (len(values) > 1 and any(map(partial(_elsewhere, common), labels)))
    if (few and not one_day) or covers_days(min(map(len, each))):
        dated = [one[label != NO_DAY] for one, label in zip(values, labels, strict=True)]
        medians = [
            np.array([np.median(one[label == day]) for day in own])
            for one, label, own in zip(values, labels, each, strict=True)
        ]
        found = _of_runs(function, medians, tuple(map(len, each))).counted(*_counts(dated))
        return replace(found, beside=sum(map(len, values)) - sum(map(len, dated)))
    together = replace(_of_runs(function, shared if common else values, (len(common),)), beside=beside)
    if few or (function is _quotient and min(of_day) == 0):  # zero has no logarithm
        return together.without_interval()
    return _widened(together, of_day, LEVEL, sampled=len(common) > 1)


def _without(
    void: Sequence[int], function: Callable[..., Array], values: Sequence[Array], labels: Sequence[Array]
) -> Estimate:
    kept = [~np.isin(label, void) for label in labels]
    left = [[one[keep] for one, keep in zip(given, kept, strict=True)] for given in (values, labels)]
    found = _of_days(function, *left)
    return replace(found, beside=found.beside + sum(int(np.count_nonzero(~keep)) for keep in kept))


def _medians_of(day: int, values: Sequence[Array], labels: Sequence[Array]) -> list[float]:
    return [float(np.median(one[label == day])) for one, label in zip(values, labels, strict=True)]


def _elsewhere(common: Sequence[int], label: Array) -> bool:
    """Tell whether too many runs of a group are of days that others have not for these to be left out.

    Half of them, or of one common day more than a quarter: what a day does to one group alone cannot be seen
    on a single day, so the days of each group must show it. With fewer it is the case of one day, which says
    nothing of others.
    """
    outside = int(np.count_nonzero(~np.isin(label, common)))
    return outside * 4 > len(label) if len(common) == 1 else outside * 2 >= len(label)


def covers_days(days: int) -> bool:
    """Whether an interval over so many days speaks of days in general, at 95 %."""
    return days >= MIN_REPEATS


def _widened(together: Estimate, of_day: Sequence[float], level: float, *, sampled: bool = False) -> Estimate:
    """Widen the interval of all runs to hold the values of a few days.

    Days that are `sampled` stand for other days: then it also holds Student's interval of their values.
    """
    runs = together.at(level)
    if not np.isfinite(of_day).all():  # a ratio over a day's zero
        return runs.without_interval()
    ends = [*of_day, *(_student(of_day, level) if sampled else ())]
    again = partial(_widened, together, of_day, sampled=sampled)
    return replace(
        runs, low=min([runs.low, *ends]), high=max([runs.high, *ends]), beside=together.beside, again=again
    )


def _student(values: Sequence[float], level: float) -> Sequence[float]:
    """Return the ends of Student's interval of a mean, of logarithms where all values are positive.

    The only place where a distribution is taken to be normal: no interval of two to five values reaches 95 %
    for every one.
    """
    ratios = min(values) > 0
    sample = np.log(values) if ratios else np.asarray(values)
    middle, count = float(np.mean(sample)), len(sample)
    half = float(special.stdtrit(count - 1, (1 + level) / 2) * np.std(sample, ddof=1) / math.sqrt(count))
    ends = (middle - half, middle + half)
    return [math.exp(min(end, _LARGEST)) for end in ends] if ratios else ends


@dataclass(frozen=True, slots=True)
class Equivalence:
    """Result of two one-sided tests, `margin` being the relative difference that counts as none.

    `p_lower` and `p_upper` are the p-values of "the ratio is below 1/(1+margin)" and "the ratio is above
    1+margin" as null.
    """

    margin: float
    p_lower: float
    p_upper: float

    @property
    def p(self) -> float:
        """The larger of the two p-values: both nulls must fall."""
        return max(self.p_lower, self.p_upper)

    @property
    def equivalent(self) -> bool:
        """Whether the groups are equivalent within the margin at 5 %."""
        return bool(self.p < 1 - LEVEL)


def equivalence(treatment: ArrayLike, baseline: ArrayLike, margin: float) -> Equivalence:
    """Test whether two groups are the same within a relative margin such as 0.05 (TOST on ranks).

    Two one-sided Mann-Whitney tests of independent positive repeats, shapes (n,) and (m,), on logarithms
    shifted by log(1 + margin); exact for small groups without ties. Ranks do not show how far away a few
    values lie, so the caller also requires the interval of the ratio to lie within the margin.
    """
    samples = (np.asarray(group, dtype="f8").ravel() for group in (treatment, baseline))
    top, bottom = (np.log(sample[np.isfinite(sample)]) for sample in samples)
    if min(len(top), len(bottom)) == 0:
        return Equivalence(margin, np.nan, np.nan)
    shift = math.log1p(margin)
    above, below = p_of_ranks(top, bottom, shift, "greater"), p_of_ranks(top, bottom, -shift, "less")
    return Equivalence(margin, above, below)


def p_of_ranks(top: Array, bottom: Array, shift: float, alternative: str) -> float:
    """Return the p-value of a one-sided Mann-Whitney test: is the first group, shifted, greater or less."""
    n, m = len(top), len(bottom)
    ranks = stats.rankdata(np.concatenate([top + shift, bottom]))
    counts = np.unique(ranks, return_counts=True)[1]
    if not n * m or (min(n, m) <= _EXACT and len(counts) == n + m):
        return float(stats.mannwhitneyu(top + shift, bottom, alternative=alternative).pvalue)
    # As scipy does it, which takes ten times as long to look at what it was given.
    above = float(ranks[:n].sum()) - n * (n + 1) / 2
    tied = float((counts**3 - counts).sum())
    scatter = np.sqrt(n * m / 12 * ((n + m + 1) - tied / ((n + m) * (n + m - 1))))
    far = (above if alternative == "greater" else n * m - above) - n * m / 2 - 0.5
    return float(special.ndtr(-far / scatter)) if scatter > 0 else float(far < 0)
