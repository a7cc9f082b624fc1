"""Statistics against values known by hand or by another path."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import kendalltau

from analysis.estimates import stats

# HPCG ratings of six runs each, as they stand in the result files of vm-hpcg.
NX16 = [8.8586, 8.8201, 8.7001, 9.0618, 8.7583, 8.8384]
NX104 = [5.84, 5.98, 5.6, 7.46, 6.99, 7.02]


def test_ratio_of_medians__value_is_the_quotient_of_the_medians() -> None:
    ratio = stats.ratio_of_medians([2, 4, 6, 8, 10, 12], [1, 2, 3, 4, 5, 6])
    assert ratio.value == 7 / 3.5
    assert (ratio.n, ratio.n_baseline) == (6, 6)


def test_ratio_of_medians__interval_agrees_with_exhaustive_enumeration() -> None:
    """Every one of the 6^6 resamples of each group has the same weight: no random number needed."""
    medians = [
        np.median(np.array(list(itertools.product(sorted(group), repeat=6))), axis=1)
        for group in (NX16, NX104)
    ]
    rng = np.random.default_rng(1)
    draws = [rng.choice(values, 400_000) for values in medians]
    low, high = np.percentile(draws[0] / draws[1], [2.5, 97.5])
    estimate = stats.ratio_of_medians(NX16, NX104)
    assert estimate.low == pytest.approx(low, rel=0.01)
    assert estimate.high == pytest.approx(high, rel=0.01)


def test_ratio_of_medians__is_the_same_every_time() -> None:
    assert stats.ratio_of_medians(NX16, NX104) == stats.ratio_of_medians(NX16, NX104)


def test_ratio_of_medians__five_repeats_have_no_interval() -> None:
    estimate = stats.ratio_of_medians(NX16[:5], NX104)
    assert np.isfinite(estimate.value)
    assert not estimate.bounded


def test_median__leaves_out_what_is_missing() -> None:
    estimate = stats.median([1.0, np.nan, 3.0, 5.0])
    assert (estimate.value, estimate.n) == (3.0, 3)
    assert not estimate.bounded


def test_median__equal_values_are_exact() -> None:
    estimate = stats.median([7.0, 7.0, 7.0])
    assert (estimate.value, estimate.low, estimate.high) == (7.0, 7.0, 7.0)


def test_median__of_nothing_is_not_a_number() -> None:
    assert np.isnan(stats.median([np.nan]).value)


def test_median__one_value_has_no_interval() -> None:
    assert not stats.median([7.0]).bounded


def test_median__interval_covers_what_it_says() -> None:
    """Coverage of the 95 % interval at six repeats, on a skewed distribution whose median is known."""
    rng = np.random.default_rng(7)
    true = np.exp(0.0)
    hits = 0
    rounds = 200
    for _ in range(rounds):
        estimate = stats.median(rng.lognormal(0.0, 0.2, size=6))
        hits += estimate.low <= true <= estimate.high
    # A percentile interval at n = 6 is a little short of its 95 %; below 85 % it would mislead.
    assert 0.85 <= hits / rounds <= 1.0


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


def test_trend__perfect_order_is_one_and_its_reverse_minus_one() -> None:
    levels = [1, 1, 2, 2, 3, 3]
    rising = stats.trend(levels, [1, 2, 3, 4, 5, 6])
    # Ties in the levels: tau-b of 12 concordant pairs is 12 / sqrt(12 * 15).
    assert rising.value == pytest.approx(12 / np.sqrt(12 * 15))
    assert stats.trend(levels, [6, 5, 4, 3, 2, 1]).high < 0


def test_trend__interval_holds_the_estimate_in_spite_of_ties() -> None:
    levels = np.repeat([1, 2, 3, 4], 6)
    values = np.repeat([1.0, 2.0, 3.0, 4.0], 6) + np.tile([0.0, 0.1, 0.2, 0.3, 0.4, 0.5], 4)
    found = stats.trend(levels, values)
    assert found.low <= found.value <= found.high


def test_trend__needs_two_levels() -> None:
    assert np.isnan(stats.trend([1, 1, 1], [1, 2, 3]).value)


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
        assert stats._tau(drawn).tolist() == alone
    assert np.isnan(stats._tau([np.ones((1, 3)), np.ones((1, 3))])).all()
