"""Statistics against values known by hand or by another path."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest
from scipy.stats import binomtest, kendalltau, mannwhitneyu, permutation_test

from analysis.base import orders
from analysis.estimates import differences, family, intervals, stats
from analysis.estimates.finding import days_said

# HPCG ratings of six runs each, as they stand in the result files of vm-hpcg.
NX16 = [8.8586, 8.8201, 8.7001, 9.0618, 8.7583, 8.8384]
NX104 = [5.84, 5.98, 5.6, 7.46, 6.99, 7.02]


def test_ratio_of_medians__value_is_the_quotient_of_the_medians() -> None:
    ratio = stats.ratio_of_medians([2, 4, 6, 8, 10, 12], [1, 2, 3, 4, 5, 6])
    assert ratio.value == 7 / 3.5
    assert (ratio.n, ratio.n_baseline) == (6, 6)


LOW = [8.8, 8.9, 9.0, 9.2, 9.3, 9.4]


def test_ratio_of_medians__squares_of_both_distances_add_on_logarithms() -> None:
    # Six values: the ends lie 5 x 0.1 / (1 + 4 x 0.1) of the way from the outermost to the next value,
    # since 1 - 2 / 64 = 0.96875 and 1 - 14 / 64 = 0.78125 leave 0.1 of the step to 0.95.
    weight = 0.5 / 1.4
    x, y = np.array(LOW), np.array(LOW) / 2
    ends = [(v[0] + weight * (v[1] - v[0]), v[5] - weight * (v[5] - v[4])) for v in (x, y)]
    middle = [np.median(v) for v in (x, y)]
    down = np.hypot(np.log(middle[0] / ends[0][0]), np.log(ends[1][1] / middle[1]))
    up = np.hypot(np.log(ends[0][1] / middle[0]), np.log(middle[1] / ends[1][0]))
    estimate = stats.ratio_of_medians(x, y)
    ratio = middle[0] / middle[1]
    assert (estimate.value, estimate.level) == (ratio, 0.95)
    assert estimate.low == pytest.approx(ratio * np.exp(-down), rel=1e-12)
    assert estimate.high == pytest.approx(ratio * np.exp(up), rel=1e-12)


def test_ratio_of_medians__is_no_surer_than_either_median_alone() -> None:
    """One side hardly scatters: what is left is the exact interval of the other, its whole range."""
    estimate = stats.ratio_of_medians(NX16, NX104)
    middle = np.median(NX104)
    assert estimate.low == pytest.approx(estimate.value * middle / max(NX104), rel=1e-12)
    assert estimate.high == pytest.approx(estimate.value * middle / min(NX104), rel=1e-12)


def test_ratio_of_medians__below_six_the_ranges_at_their_worst() -> None:
    estimate = stats.ratio_of_medians([22, 23, 24, 25, 26], [1.0, 0.9, 1.1])
    assert (estimate.value, estimate.low, estimate.high) == (24.0, 22 / 1.1, 26 / 0.9)
    assert estimate.level == 0.75  # of three: 1 - 2 / 8
    assert stats.ratio_of_medians([1.0] * 5, [2.0, 3, 4, 5, 6]).level == 0.9375


def test_ratio_of_medians__one_value_has_no_interval() -> None:
    estimate = stats.ratio_of_medians([24.0], [1.0, 1.1, 1.2])
    assert (estimate.value, estimate.bounded, estimate.level) == (24 / 1.1, False, 0.0)


def test_median__leaves_out_what_is_missing() -> None:
    estimate = stats.median([1.0, np.nan, 3.0, 5.0])
    assert (estimate.value, estimate.n) == (3.0, 3)
    assert (estimate.low, estimate.high, estimate.level) == (1.0, 5.0, 0.75)


@pytest.mark.parametrize(
    ("n", "first", "level"),
    [(2, 1, 0.5), (4, 1, 0.875), (5, 1, 0.9375), (6, 1, 0.95), (8, 1, 0.95), (9, 2, 0.95), (20, 6, 0.95)],
)
def test_median__interval_is_that_of_the_sign_test(n: int, first: int, level: float) -> None:
    """The ends as tables of the sign test have them: of 20 values the 6th and the 15th."""
    estimate = stats.median(np.arange(1.0, n + 1)[::-1])
    assert (estimate.low, estimate.high, estimate.level) == (first, n + 1 - first, level)
    if n >= 6:
        p = binomtest(first - 1, n).pvalue if first > 1 else 2 * 0.5**n
        assert p <= 0.05 < binomtest(first, n).pvalue


def test_median__values_that_are_alike_are_no_more_certain_than_others() -> None:
    estimate = stats.median([7.0, 7.0, 7.0])
    assert (estimate.value, estimate.low, estimate.high, estimate.level) == (7.0, 7.0, 7.0, 0.75)


def test_median__of_nothing_is_not_a_number() -> None:
    assert np.isnan(stats.median([np.nan]).value)


def test_median__one_value_has_no_interval() -> None:
    assert not stats.median([7.0]).bounded


def test_estimate__p_value_is_that_of_the_sign_test() -> None:
    estimate = stats.median([1.0, 2, 3, 4, 5, 6, 7])
    assert estimate.p_above(0.5) == pytest.approx(2**-7, rel=1e-4)
    assert estimate.p_below(8.0) == pytest.approx(2**-7, rel=1e-4)
    # One value of seven lies below 1.5: P(Bin(7, 1/2) <= 1) = 8 / 128.
    assert estimate.p_above(1.5) == pytest.approx(8 / 128, rel=1e-4)
    assert estimate.p_above(1.5) == pytest.approx(binomtest(6, 7, alternative="greater").pvalue, rel=1e-4)
    assert estimate.p_above(8.0) == 1.0


def test_of_medians__more_than_two_small_groups_must_all_hold() -> None:
    def product(a: float, b: float, c: float) -> float:
        return a * b / c

    estimate = stats.of_medians(product, [1, 2, 3], [4, 5, 6], [1, 2, 4])  # type: ignore[arg-type]
    assert (estimate.value, estimate.low, estimate.high) == (5.0, 1.0, 18.0)
    assert estimate.level == 1 - 3 * 0.25


DAYS = [1, 1, 2, 2, 3, 3, 4, 4, 5, 6]
WILD = np.array([1.0, 1.1, 10, 11, 100, 110, 1000, 1100, 1e4, 1e5])


def test_days__what_both_sides_share_cancels() -> None:
    """The treatment is twice the baseline on each of six days, which differ tenfold."""
    found = stats.ratio_of_medians(2 * WILD, WILD, (DAYS, DAYS))
    assert found.value == pytest.approx(2.0)
    assert (found.low, found.high) == (pytest.approx(2.0), pytest.approx(2.0))
    assert (found.level, found.days, found.n, found.n_baseline) == (0.95, (6,), 10, 10)
    assert stats.ratio_of_medians(2 * WILD, WILD).high > 100


def test_days__from_six_on_the_interval_is_that_of_their_medians() -> None:
    values = [1.0, 3.0, 4.0, 6.0, 8.0, 10.0, 2.0, 2.0, 4.0, 7.0]  # by day 2, 5, 9, 2, 4, 7
    found = stats.median(values, DAYS)
    assert (found.value, found.low, found.high, found.level) == (4.5, 2.0, 9.0, 0.95)


def test_days__up_to_five_widen_the_interval_of_the_runs() -> None:
    days = [1] * 6 + [2]
    found = stats.median([1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.9], days)
    # Student's with one degree of freedom: t is tan(0.475 pi), times half the distance of the logarithms.
    middle, half = math.sqrt(1.25 * 1.9), math.tan(0.475 * math.pi) * math.log(1.9 / 1.25) / 2
    assert (found.value, found.days) == (1.3, (2,))
    assert (found.low, found.high) == pytest.approx((middle / math.exp(half), middle * math.exp(half)))
    # At 50 %, t is 1: from the value of one day to that of the other, or as far as the runs do.
    many = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 9.0]
    found = stats.median(many, [1] * 8 + [2]).at(0.5)
    assert (found.low, found.high) == pytest.approx((min(1.35, stats.median(many).at(0.5).low), 9.0))


def test_days__three_by_hand() -> None:
    """Ratios of 1.1, 1.2 and 1.3 on three days, without scatter: t of two degrees of freedom is 4.3027."""
    day = np.repeat([1, 2, 3], 6)
    found = stats.ratio_of_medians(np.repeat([1.1, 1.2, 1.3], 6), np.ones(18), (day, day))
    logs = np.log([1.1, 1.2, 1.3])
    half = 4.302653 * logs.std(ddof=1) / math.sqrt(3)
    assert (found.low, found.high) == pytest.approx(np.exp([logs.mean() - half, logs.mean() + half]))
    wide = 9.924843 * logs.std(ddof=1) / math.sqrt(3)  # t at 99 %, of which p-values are made too
    at_99 = found.at(0.99)
    assert (at_99.low, at_99.high) == pytest.approx(np.exp([logs.mean() - wide, logs.mean() + wide]))
    # Days that agree leave a clear effect clear: 1.199, 1.2 and 1.201.
    alike = stats.ratio_of_medians(np.repeat([1.199, 1.2, 1.201], 6), np.ones(18), (day, day))
    assert (alike.low, alike.high) == pytest.approx((1.198, 1.203), abs=1e-3)


@pytest.mark.parametrize("count", [2, 3, 4, 5])
@pytest.mark.parametrize("strength", [1.0, 4.0])
def test_days__what_a_day_does_to_one_side_seldom_looks_like_the_factor(count: int, strength: float) -> None:
    """Both sides are alike over all days; a day does `strength` times the scatter of runs to one of them.

    With the interval of the runs, widened to the days' values, up to 38 % were clear.
    """
    rng, day, false, rounds = np.random.default_rng([46, count]), np.repeat(range(count), 8), 0, 300
    for _ in range(rounds):
        shared, own = rng.normal(0, [[0.05], [0.03 * strength]], (2, count))
        x, y = (
            np.exp(rng.normal(0, 0.03, len(day)) + shared[day] + effect[day]) for effect in (own, 0 * own)
        )
        found = stats.ratio_of_medians(x, y, (day, day))
        false += found.settles and (found.low > 1 or found.high < 1)
    assert false <= 0.08 * rounds


def test_days__of_one_day_it_is_the_interval_of_the_runs() -> None:
    found = stats.ratio_of_medians(NX16, NX104, ([3] * 6, [3] * 6))
    alone = stats.ratio_of_medians(NX16, NX104)
    assert (found.low, found.high, found.days, alone.days) == (alone.low, alone.high, (1,), ())
    assert stats.ratio_of_medians(NX16, NX104, ([stats.NO_DAY] * 6,) * 2) == alone


def test_days__a_run_without_one_makes_no_comparison_surer() -> None:
    nowhere = stats.NO_DAY
    left = stats.ratio_of_medians(NX16, [*NX104, 99.0], ([3] * 6, [3] * 6 + [nowhere]))
    alone = stats.ratio_of_medians(NX16, NX104)
    assert (left.value, left.low, left.high) == (alone.value, alone.low, alone.high)
    assert (left.n_baseline, left.days, left.beside) == (6, (1,), 1)
    # More than a quarter could be of days of their own, as runs of other days that are known.
    many = stats.ratio_of_medians(NX16, [*NX104, 9.0, 9.0, 9.0], ([3] * 6, [3] * 6 + [nowhere] * 3))
    assert (many.bounded, many.level, many.days, many.beside) == (False, 0.0, (1,), 3)
    # x on day 1, but for one run without a date, y on day 2.
    apart = stats.ratio_of_medians(NX16, NX104, ([1] * 5 + [nowhere], [2] * 6))
    assert (apart.settles, apart.days, apart.beside) == (False, (1, 1), 1)
    between = stats.ratio_between_days(NX16, NX104, ([1] * 5 + [nowhere], [2] * 6))
    plain = stats.ratio_of_medians(NX16[:5], NX104)
    assert (between.low, between.high, between.days) == (plain.low, plain.high, (0,))
    assert between.beside == 1
    # A whole side without dates could be of another day.
    assert not stats.ratio_of_medians(NX16, NX104, ([1] * 6, [nowhere] * 6)).settles
    assert stats.ratio_between_days(NX16, NX104, ([1] * 6, [nowhere] * 6)) == alone
    one = stats.median([*NX16, 99.0], [3] * 6 + [nowhere])
    assert (one.value, one.days, one.beside) == (stats.median(NX16).value, (1,), 1)


@pytest.mark.parametrize("away", [1, 2])
def test_days__one_common_day_is_that_day_alone_and_says_nothing_of_others(away: int) -> None:
    """Up to a quarter of each side on a day of its own: the finding is that of the six runs of day 1."""
    found = stats.ratio_of_medians(
        [*NX16, *[99.0] * away], [*NX104, *[1.0] * away], ([1] * 6 + [2] * away, [1] * 6 + [3] * away)
    )
    alone = stats.ratio_of_medians(NX16, NX104, ([1] * 6, [1] * 6))
    assert (found.value, found.low, found.high, found.days) == (alone.value, alone.low, alone.high, (1,))
    left = f"both sides ran on 1 day, and {2 * away} other runs are left out"
    assert days_said(found) == f"{left}: between days is not covered"


def test_days__runs_of_days_that_one_side_has_not() -> None:
    few = stats.ratio_of_medians([*NX16, 99.0], NX104, ([3] * 6 + [4], [3] * 6))
    alone = stats.ratio_of_medians(NX16, NX104)
    assert (few.value, few.low, few.high) == (alone.value, alone.low, alone.high)
    assert (few.n, few.days, few.beside) == (6, (1,), 1)
    # Of three days of each, two are shared: their ratios are 2 and 2.1, whatever days 1 and 4 are like.
    x, y = np.array([9.0, 2, 2.1]), np.array([1.0, 1, 7])
    two = stats.ratio_of_medians(
        np.repeat(x, 6), np.repeat(y, 6), (np.repeat([1, 2, 3], 6), np.repeat([2, 3, 4], 6))
    )
    logs = np.log([2, 2.1])
    half = math.tan(0.475 * math.pi) * np.ptp(logs) / 2
    assert (two.low, two.high) == pytest.approx(np.exp([logs.mean() - half, logs.mean() + half]))
    assert (two.n, two.days, two.beside) == (12, (2,), 12)
    many = stats.ratio_of_medians([*(2 * WILD), 5.0], WILD, ([*DAYS, 7], DAYS))
    assert (many.value, many.days, many.beside, many.n) == (pytest.approx(2.0), (6,), 1, 10)


def test_days__a_side_that_ran_mostly_on_a_day_of_its_own_shares_none() -> None:
    mostly = stats.ratio_of_medians(NX16, NX104, ([1] * 6, [1, 1, 2, 2, 2, 2]))
    assert (mostly.days, mostly.bounded) == ((1, 2), False)
    more = stats.ratio_of_medians(NX16, NX104, ([1] * 6, [1, 1, 1, 1, 2, 2]))
    assert (more.days, more.bounded, more.beside) == ((1, 2), False, 0)
    # Of two common days, half of a side's runs elsewhere are too many.
    half = stats.ratio_of_medians(NX16 + NX16, NX104, ([1] * 3 + [2] * 3 + [3] * 6, [1] * 3 + [2] * 3))
    assert (half.days, half.level) == ((3, 2), 0.5)
    less = stats.ratio_of_medians(NX16 + NX16, NX104, ([1] * 3 + [2] * 4 + [3] * 5, [1] * 3 + [2] * 3))
    assert (less.days, less.beside) == ((2,), 5)
    quarter = stats.ratio_of_medians(NX16, [*NX104, 9.0, 9.0], ([1] * 6, [1] * 6 + [2, 3]))
    assert (quarter.days, quarter.bounded, quarter.beside) == ((1,), True, 2)


@pytest.mark.parametrize(
    ("first", "second", "limit"),
    [((1, 2), (2, 3), 0.0), ((1, 2, 3), (3, 4, 5), 0.0), ((1, 2, 3, 4), (4, 5, 6, 7), 0.08),
     ((1, 2, 3), (2, 3, 4), 0.08), ((1, 2, 3), (3,), 0.0)],
)  # fmt: skip
@pytest.mark.parametrize("own", [0.0, 0.1])
def test_days__sides_that_overlap_on_few_days_seldom_look_like_the_factor(
    first: Sequence[int], second: Sequence[int], limit: float, own: float
) -> None:
    """Both sides are alike over all days; a day shifts both by 10 %, and each of them by `own`.

    With the interval of all runs up to 48 % were clear.
    """
    rng, false, rounds = np.random.default_rng(47), 0, 200
    for _ in range(rounds):
        shared, sides = rng.normal(0, 0.1, 8), []
        for days in (np.repeat(first, 8), np.repeat(second, 8)):
            effect = shared + rng.normal(0, own, 8)
            sides.append((np.exp(effect[days] + rng.normal(0, 0.03, len(days))), days))
        (x, days_x), (y, days_y) = sides
        found = stats.ratio_of_medians(x, y, (days_x, days_y))
        false += found.settles and (found.low > 1 or found.high < 1)
    assert false <= limit * rounds


def test_ratio_of_medians__of_a_baseline_of_zeros_is_no_number_and_settles_nothing() -> None:
    day = [1] * 6 + [2] * 6
    found = stats.ratio_of_medians(NX16 + NX16, [0.0] * 6 + NX104, (day, day))
    assert found.value == pytest.approx(np.median(NX16) / (5.6 / 2))
    assert not found.bounded
    assert (found.settles, found.level) == (False, 0.0)
    assert stats.ratio_of_medians(NX16, [0.0] * 6).value == math.inf
    assert not stats.ratio_of_medians(NX16, [0.0] * 6).bounded
    # A zero in one day of six leaves the other end.
    of_days = stats.ratio_of_medians([2.0] * 6, [0.0, 1, 1, 1, 1, 1], ([1, 2, 3, 4, 5, 6],) * 2)
    assert (of_days.value, of_days.low, of_days.high, of_days.settles) == (2.0, 2.0, math.inf, False)


def test_ratio_of_medians__of_values_above_zero_lies_above_zero() -> None:
    day = [1] * 6 + [2] * 6
    zero = stats.ratio_of_medians([0.0] * 6 + [2.0] * 6, [1.0] * 12, (day, day))
    assert (zero.value, zero.bounded, zero.settles) == (1.0, False, False)
    # Values 0, 0, 4, 4, 4, 4 by 0.5 to 1.5: squares of the distances would end below zero.
    low = stats.ratio_of_medians([0.0, 0, 4, 4, 4, 4], [0.5, 0.5, 1, 1, 1.5, 1.5])
    assert (low.value, low.low, low.at(0.99).low) == (4.0, 0.0, 0.0)
    assert stats.ratio_of_medians([-1.0, 0, 4, 4, 4, 4], [0.5, 0.5, 1, 1, 1.5, 1.5]).low < 0


def test_ratio_of_medians__a_day_of_zeros_on_both_sides_is_left_out() -> None:
    """On five of six days the ratio is 2, on the sixth it is 0 / 0."""
    day = np.repeat(range(6), 2)
    x, y = np.where(day == 5, 0.0, 2.0), np.where(day == 5, 0.0, 1.0)
    found = stats.ratio_of_medians(x, y, (day, day))
    assert (found.value, found.low, found.high) == (2.0, 2.0, 2.0)
    assert (found.days, found.n, found.beside) == ((5,), 10, 4)
    assert not stats.ratio_of_medians([0.0] * 6, [0.0] * 6, ([1, 1, 1, 2, 2, 2],) * 2).bounded


def test_of_medians__three_groups_that_share_no_day_count_their_days() -> None:
    days = [np.repeat(range(at, at + 2), 6) for at in (0, 2, 4)]
    found = stats.of_medians(lambda a, b, c: a * b / c, *[np.arange(1.0, 13)] * 3, days=days)
    assert (found.days, found.settles) == ((2, 2, 2), False)


def test_estimate__an_interval_that_is_cut_holds_its_value() -> None:
    cut = stats.Estimate(105.5, 104.0, 107.0, 6).within(0.0, 100.0)
    assert (cut.low, cut.value, cut.high) == (100.0, 105.5, 105.5)


def test_days__sides_that_share_a_few_of_many_count_their_own() -> None:
    x, y = [1.0, 2, 3, 4, 5, 6], [1.0, 1, 1, 1, 1, 2]
    found = stats.ratio_of_medians(x, y, ([1, 2, 3, 4, 5, 6], [5, 6, 7, 8, 9, 10]))
    alone = stats.ratio_of_medians(x, y)
    assert (found.value, found.low, found.high) == (alone.value, alone.low, alone.high)
    assert found.days == (6, 6)


def test_days__sides_of_different_days_count_their_days() -> None:
    found = stats.ratio_of_medians(NX16, NX104, ([1] * 6, [2] * 6))
    assert (found.days, found.bounded) == ((1, 1), False)
    found = stats.ratio_of_medians(NX16, NX104, ([1, 1, 3, 3, 5, 5], [2, 2, 4, 4, 6, 6]))
    assert (found.days, found.level, found.n) == ((3, 3), 0.75, 6)


def test_equivalence__separated_groups_have_the_exact_p_value() -> None:
    """Six against six without overlap: 1 of C(12, 6) = 924 orders on the far side."""
    test = stats.equivalence([10, 11, 12, 13, 14, 15], [1, 1.1, 1.2, 1.3, 1.4, 1.5], 0.05)
    assert test.p_lower == pytest.approx(1 / 924)
    assert test.p_upper == pytest.approx(1.0)
    assert not test.equivalent


def test_equivalence__close_groups_are_equivalent_within_a_wide_margin_only() -> None:
    a, b = [1.00, 1.01, 1.02, 1.03, 1.04, 1.05], [1.005, 1.015, 1.025, 1.035, 1.045, 1.055]
    assert stats.equivalence(a, b, 0.10).equivalent
    assert not stats.equivalence(a, b, 0.001).equivalent


@pytest.mark.parametrize("digits", [8, 1])  # without ties and with many
def test_p_of_ranks__is_that_of_scipy_to_the_last_digit(digits: int) -> None:
    rng = np.random.default_rng(7)
    for n, m in itertools.product((1, 5, 8, 9, 20), repeat=2):
        top, bottom = (np.round(rng.normal(size=size), digits) for size in (n, m))
        for way in ("greater", "less"):
            known = mannwhitneyu(top + 0.5, bottom, alternative=way).pvalue
            assert stats.p_of_ranks(top, bottom, 0.5, way) == known


def test_p_of_ranks__of_values_that_are_all_alike_is_one() -> None:
    assert stats.p_of_ranks(np.ones(9), np.ones(12), 0.0, "less") == 1.0


def test_p_of_order__is_that_of_scipy_to_the_last_digit() -> None:
    rng = np.random.default_rng(8)
    for n in (2, 3, 10, 34, 59, 61):
        for values in (rng.normal(size=n), np.arange(n)[::-1], np.r_[9, rng.integers(0, 4, n - 1)]):
            assert orders.p_of_order(np.arange(n), values) == kendalltau(np.arange(n), values).pvalue


def test_permutations__are_those_that_the_generator_draws_of_the_values() -> None:
    first, second = np.random.default_rng(1).normal(size=(2, 11))
    places = orders.permutations((5,), (11, 11), 40)
    rng = np.random.default_rng(5)
    for values, own in zip((first, second), places, strict=True):
        assert (values[own] == rng.permuted(np.tile(values, (40, 1)), axis=1)).all()


def test_trend__perfect_order_is_one_and_its_reverse_minus_one() -> None:
    levels = [1, 1, 2, 2, 3, 3]
    rising, p = differences.trend(levels, [1, 2, 3, 4, 5, 6])
    # Of the 90 ways to put six runs to three pairs of levels, this one and its reverse are as clear.
    assert p == pytest.approx(2 / 90)
    # Ties in the levels: tau-b of 12 concordant pairs is 12 / sqrt(12 * 15).
    assert rising.value == pytest.approx(12 / np.sqrt(12 * 15))
    assert differences.trend(levels, [6, 5, 4, 3, 2, 1])[0].high < 0


def test_trend__interval_holds_the_estimate_in_spite_of_ties() -> None:
    levels = np.repeat([1, 2, 3, 4], 6)
    values = np.repeat([1.0, 2.0, 3.0, 4.0], 6) + np.tile([0.0, 0.1, 0.2, 0.3, 0.4, 0.5], 4)
    found, p = differences.trend(levels, values)
    assert p == pytest.approx(1e-4)  # the one found among 9,999 that were drawn
    assert found.low <= found.value <= found.high


def test_trend__needs_two_levels() -> None:
    assert np.isnan(differences.trend([1, 1, 1], [1, 2, 3])[0].value)


def test_estimate__falling_function_keeps_low_below_high() -> None:
    turned = stats.Estimate(2.0, 1.0, 4.0, 6).transformed(lambda ratio: 100 * (1 - 1 / ratio))
    assert (turned.low, turned.value, turned.high) == (0.0, 50.0, 75.0)
    flipped = stats.Estimate(2.0, 1.0, 4.0, 6).transformed(lambda ratio: 1 / ratio)
    assert (flipped.low, flipped.high) == (0.25, 1.0)


def test_trend__draws_at_once_are_what_scipy_says_of_each() -> None:
    rng = np.random.default_rng(1)
    for levels, repeats in ((2, 3), (4, 6), (3, 20)):
        drawn = [rng.integers(0, 9, (50, repeats)) * 0.1 for _ in range(levels)]
        drawn[-1][0] = drawn[0][0, 0]
        fixed = np.repeat(np.arange(levels), repeats)
        alone = [kendalltau(fixed, row).statistic for row in np.concatenate(drawn, axis=1)]
        assert differences.tau(drawn).tolist() == alone
    assert np.isnan(differences.tau([np.ones((1, 3)), np.ones((1, 3))])).all()


def test_trend__chance_is_what_scipy_finds_by_trying_all_orders() -> None:
    levels, values = np.repeat([1, 2, 3], 2), np.array([1.0, 4.0, 2.0, 5.0, 3.0, 6.0])
    scipys = permutation_test(
        (values,), lambda y: abs(kendalltau(levels, y).statistic), permutation_type="pairings",
        alternative="greater", vectorized=False, n_resamples=np.inf,
    )  # fmt: skip
    assert differences.trend(levels, values)[1] == pytest.approx(scipys.pvalue)


def test_trend__a_run_without_a_day_makes_it_no_surer() -> None:
    levels, values, days = [1, 1, 2, 2, 3, 3], [1.0, 2, 3, 4, 5, 6], [1, 2, 1, 2, 1, 2]
    more = differences.trend([*levels, 3], [*values, 7.0], [*days, stats.NO_DAY])
    assert more == differences.trend(levels, values, days)


def test_trend__runs_change_places_within_their_day() -> None:
    """Each level on a day of its own: that the days differ would look the same."""
    levels, values = [1, 1, 2, 2, 3, 3], [1.0, 2, 3, 4, 5, 6]
    assert differences.trend(levels, values, [1, 1, 2, 2, 3, 3])[1] == 1.0
    # Two days with all three levels: 6 orders each, and 2 of the 36 are as clear.
    assert differences.trend(levels, values, [1, 2, 1, 2, 1, 2])[1] == pytest.approx(2 / 36)


def test_tau_of_medians__of_a_curve_that_rises_at_each_step_is_one() -> None:
    levels = [[1.0], [2.0], [4.0], [8.0, 8.1, 8.2, 7.9, 8.3]]
    runs = [value for one in levels for value in one]
    assert differences.trend([0, 1, 2, *[3] * 5], runs)[0].value == pytest.approx((18 / 28) ** 0.5)  # 10 ties
    assert differences.tau_of_medians(levels) == 1
    assert differences.tau_of_medians([*levels, [0.5, 9.0, 7.0]]) == 0.8  # one pair of ten in the other order
    assert differences.tau_of_medians([[1.0, 3.0], [2.0]]) == 0


@pytest.mark.parametrize(("levels", "days"), [(2, 2), (3, 2), (3, 3), (4, 2), (4, 3)])
def test_trend__what_a_day_does_to_a_level_seldom_looks_like_a_trend(levels: int, days: int) -> None:
    """Levels are alike over all days; a day shifts each by 10 %, in all its runs: up to 47 % were clear."""
    rng, false, rounds = np.random.default_rng(48), 0, 80
    level, day = (np.repeat(one.ravel(), 4) for one in np.mgrid[:levels, :days])
    for _ in range(rounds):
        effects = rng.normal(0, 0.1, (levels, days))
        found, p = differences.trend(level, effects[level, day] + rng.normal(0, 0.03, len(level)), day)
        false += found.settles and p <= 0.05 and not found.low <= 0 <= found.high
    assert false <= 0.1 * rounds
    # Of four levels on two days, or three on three, a trend that both show is clear.
    _, p = differences.trend(level, level + day + rng.normal(0, 0.1, len(level)), day)
    assert (p <= 0.05) == (levels**days > 9)


def test_family__one_side_of_all_misses_as_one_of_one() -> None:
    assert family.family_level(1) == pytest.approx(0.95)
    side = 1 - (1 - family.family_level(4)) / 2
    assert side**4 == pytest.approx(0.975)


def test_extreme__lower_end_holds_for_all_and_upper_end_for_the_best() -> None:
    groups = [np.arange(1.0, 21) + shift for shift in (0.0, 2.0, 1.0)]
    found = [stats.median(group) for group in groups]
    got = family.extreme(found, 1.0)
    # Of 20 values the 5th is clear at 1 - P(Bin(20, 1/2) < 5) = 0.99409, more than 0.975^(1/3) = 0.99160.
    assert (got.value, got.low, got.high, got.level) == (12.5, 7.0, 17.0, 0.95)
    least = family.extreme(found, -1.0)
    assert (least.value, least.low, least.high) == (10.5, 6.0, 16.0)


def test_extreme__says_what_few_repeats_leave_of_its_level() -> None:
    found = [stats.median([1.0, 2, 3, 4, 5, 6])] * 4
    got = family.extreme(found, 1.0)
    # All four ranges reach below their median with (1 - 1/64)^4, and the best one is held above with 0.975.
    assert got.level == pytest.approx((63 / 64) ** 4 + 0.975 - 1)
    assert family.extreme([stats.median([1.0]), *found[:1]], 1.0) == found[0]


def test_worst_level__no_pair_of_lopsided_distributions_misses_more_often() -> None:
    """Differences of medians, both 0, of values that reach farther to one side: 81 pairs of them."""
    rng = np.random.default_rng(11)
    n, m, draws = 3, 5, 8_000
    least = 1.0
    for up, down, over, under in itertools.product((0.01, 1.0, 100.0), repeat=4):
        x, y = rng.normal(size=(draws, n)), rng.normal(size=(draws, m))
        x, y = np.where(x > 0, up * x, down * x), np.where(y > 0, over * y, under * y)
        low, high = x.min(axis=1) - y.max(axis=1), x.max(axis=1) - y.min(axis=1)
        least = min(least, float(np.mean((low <= 0) & (high >= 0))))
    # The level of the smaller, which is reached; four standard errors of 0.0048 below it for 81 draws.
    assert intervals.worst_level((n, m)) == 0.75
    assert 0.75 - 4 * 0.0048 < least < 0.76


def test_ratio_between_days__of_a_day_each_is_that_of_the_runs_and_says_so() -> None:
    after, before = [11.0, 11.2, 10.9, 11.1, 11.3, 10.8], [10.0, 10.1, 9.9, 10.2, 9.8, 10.05]
    apart = stats.ratio_between_days(after, before, ([2] * 6, [1] * 6))
    plain = stats.ratio_of_medians(after, before)
    assert not stats.ratio_of_medians(after, before, ([2] * 6, [1] * 6)).bounded
    assert (apart.value, apart.low, apart.high, apart.level) == (
        plain.value,
        plain.low,
        plain.high,
        plain.level,
    )
    assert apart.days == (0,)
    together = stats.ratio_between_days(after, before, ([1] * 6, [1] * 6))
    assert together == stats.ratio_of_medians(after, before, ([1] * 6, [1] * 6))


def test_ratio_between_days__holds_the_ratio_of_each_day_to_each() -> None:
    after, before = [11.0, 11.0, 11.0, 22.0, 22.0, 22.0], [10.0, 10.0, 10.0, 5.0, 5.0, 5.0]
    found = stats.ratio_between_days(after, before, ([3, 3, 3, 4, 4, 4], [1, 1, 1, 2, 2, 2]))
    assert found.low <= 1.1
    assert found.high >= 4.4
    assert found.value == pytest.approx(16.5 / 7.5)
