"""Statistics of relabelled runs, against those that scipy computes by other means."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from analysis.findings import relabelling


def test_of_sides__the_true_way_is_first_and_is_students_t() -> None:
    after, before = np.array([0.1, 0.2, 0.15, 0.18]), np.array([0.0, 0.05, -0.02])
    ways = relabelling.of_sides(after, before)
    assert len(ways) == math.comb(7, 4)
    t = stats.ttest_ind(after, before)
    assert stats.norm.sf(ways[0]) == pytest.approx(t.pvalue / 2)
    # Alone a cell has the p-value of its own permutations.
    exact = stats.permutation_test(
        (after, before),
        lambda x, y: abs(stats.ttest_ind(x, y).statistic),
        vectorized=False,
        alternative="greater",
    )
    assert relabelling.p_values([ways]) == [pytest.approx(exact.pvalue)]


def test_of_days__changes_the_signs_of_days() -> None:
    ratios = np.array([0.10, 0.12, 0.09, 0.11, 0.10, 0.13])
    ways = relabelling.of_days(ratios)
    assert len(ways) == 2**6
    assert stats.norm.sf(ways[0]) == pytest.approx(stats.ttest_1samp(ratios, 0).pvalue / 2)
    assert relabelling.p_values([ways]) == [pytest.approx(2 / 64)]


def test_p_values__a_clear_cell_among_many_has_the_ways_of_all() -> None:
    rng = np.random.default_rng(5)
    cells = [relabelling.of_sides(rng.normal(0, 1, 6), rng.normal(0, 1, 6)) for _ in range(99)]
    clear = relabelling.of_sides(rng.normal(50, 1, 6), rng.normal(0, 1, 6))
    p = relabelling.p_values([*cells, clear])
    # Itself and its mirror image, of 924 ways, in one cell of 100; alone it would be 100 times that.
    assert p[-1] == pytest.approx(2 / 924 / 100)
    assert relabelling.chances([*cells, clear])[-1][1] == pytest.approx(2 / 924, rel=1e-6)
    assert np.mean(p[:-1]) == pytest.approx(0.5, abs=0.1)


def test_p_values__what_is_alike_on_both_sides_is_no_difference() -> None:
    same = relabelling.of_sides(np.zeros(6), np.zeros(6))
    copies = relabelling.of_sides(np.arange(6.0), np.arange(6.0))
    assert relabelling.p_values([same, copies]) == [pytest.approx(1), pytest.approx(1)]
