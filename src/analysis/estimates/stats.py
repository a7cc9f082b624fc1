"""Statistics of claims: medians with bootstrap intervals, equivalence and trend; scipy does the work.

Nothing here assumes a normal distribution: run times of shared machines are skewed and often have
two humps. All functions take plain arrays of repeats.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

Array = NDArray[np.float64]

# Below six repeats a percentile interval of the median cannot reach 95 %: with n values the widest
# one, from the least to the largest, covers 1 - 2^(1-n): 93.8 % at five, 96.9 % at six.
MIN_REPEATS = 6
LEVEL = 0.95
RESAMPLES = 9_999
SEED = 20_140_701


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its interval, whose ends are NaN where there are too few repeats.

    `n` counts the repeats behind it: of the treatment, where two groups are compared, and `n_baseline` the
    others.
    """

    value: float
    low: float
    high: float
    n: int
    n_baseline: int | None = None

    @property
    def bounded(self) -> bool:
        """Whether there is an interval."""
        return bool(np.isfinite(self.low) and np.isfinite(self.high))

    def transformed(self, function: Callable[[float], float]) -> Estimate:
        """Apply a monotone function to value and interval."""
        ends = sorted((function(self.low), function(self.high))) if self.bounded else [np.nan, np.nan]
        return Estimate(function(self.value), ends[0], ends[1], self.n, self.n_baseline)


def median(values: ArrayLike) -> Estimate:
    """Estimate the median of repeats, shape (n,); NaN are left out.

    Interval: 95 % percentile bootstrap, 9,999 resamples, fixed seed; none below six repeats. Values that are
    all equal have an interval of no width, whatever their number but one.
    """
    sample = _clean(values)
    return _bootstrap((sample,), lambda x, axis: np.median(x, axis=axis), len(sample), None)


def ratio_of_medians(treatment: ArrayLike, baseline: ArrayLike) -> Estimate:
    """Estimate how many times the median of one group is that of another; never a mean of ratios.

    The two groups are resampled independently; no interval if either has fewer than six.
    """
    top, bottom = _clean(treatment), _clean(baseline)

    def ratio(x: Array, y: Array, axis: int) -> Array:
        return np.asarray(np.median(x, axis=axis) / np.median(y, axis=axis))

    return _bootstrap((top, bottom), ratio, len(top), len(bottom))


def of_medians(function: Callable[..., Array], *groups: ArrayLike) -> Estimate:
    """Estimate a function of the medians of several independent groups."""
    samples = tuple(_clean(group) for group in groups)

    def statistic(*drawn: Array, axis: int) -> Array:
        return function(*(np.median(one, axis=axis) for one in drawn))

    return _bootstrap(samples, statistic, len(samples[0]), len(samples[1]) if len(samples) > 1 else None)


def _clean(values: ArrayLike) -> Array:
    sample: Array = np.asarray(values, dtype="f8").ravel()
    kept: Array = sample[np.isfinite(sample)]
    return kept


def _bootstrap(
    samples: Sequence[Array], statistic: Callable[..., Array], n: int, n_baseline: int | None
) -> Estimate:
    smallest = min(map(len, samples))
    if smallest == 0:
        return Estimate(np.nan, np.nan, np.nan, n, n_baseline)
    value = float(statistic(*samples, axis=-1))
    if smallest > 1 and all(np.ptp(sample) == 0 for sample in samples):
        return Estimate(value, value, value, n, n_baseline)
    if smallest < MIN_REPEATS:
        return Estimate(value, np.nan, np.nan, n, n_baseline)
    # The percentile method: the accelerated one needs a jackknife, which is degenerate for medians.
    interval = stats.bootstrap(
        tuple(samples),
        statistic,
        n_resamples=RESAMPLES,
        confidence_level=LEVEL,
        method="percentile",
        vectorized=True,
        rng=np.random.default_rng(SEED),
    ).confidence_interval
    return Estimate(value, float(interval.low), float(interval.high), n, n_baseline)


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
    shifted by log(1 + margin); exact for small groups without ties.
    """
    top, bottom = np.log(_clean(treatment)), np.log(_clean(baseline))
    if min(len(top), len(bottom)) == 0:
        return Equivalence(margin, np.nan, np.nan)
    shift = np.log1p(margin)
    above = stats.mannwhitneyu(top + shift, bottom, alternative="greater").pvalue
    below = stats.mannwhitneyu(top - shift, bottom, alternative="less").pvalue
    return Equivalence(margin, float(above), float(below))


def trend(levels: ArrayLike, values: ArrayLike) -> Estimate:
    """Estimate how monotone values are along an ordered factor; level and value of each run, shape (n,).

    Kendall's tau-b from -1 (always falling) to 1. The bootstrap draws within each level, because the levels
    were chosen, not sampled; no interval below six runs or two runs a level.
    """
    x, y = np.asarray(levels, dtype="f8"), np.asarray(values, dtype="f8")
    keep = np.isfinite(x) & np.isfinite(y)
    x, y = x[keep], y[keep]
    if len(x) < 2 or np.ptp(x) == 0:
        return Estimate(np.nan, np.nan, np.nan, len(x))
    value = float(stats.kendalltau(x, y).statistic)
    groups = [y[x == level] for level in np.unique(x)]
    if len(x) < MIN_REPEATS or min(map(len, groups)) < 2:
        return Estimate(value, np.nan, np.nan, len(x))
    interval = stats.bootstrap(
        groups,
        lambda *drawn, axis: _tau(drawn),
        vectorized=True,
        n_resamples=999,
        confidence_level=LEVEL,
        method="percentile",
        rng=np.random.default_rng(SEED),
    ).confidence_interval
    # Draws with ties can all lie to one side of the estimate; the interval then reaches back to it.
    low, high = min(float(interval.low), value), max(float(interval.high), value)
    return Estimate(value, low, high, len(x))


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
