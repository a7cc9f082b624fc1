"""The engine of difference tests: its p-values compared with those that scipy computes by other means."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy import stats

from analysis.base import orders
from analysis.estimates import differences


def p_values(*cells: NDArray[np.float64]) -> list[float]:
    """Return the p-values of cells of one family."""
    found = [one.p for one in differences.chances(cells, ["one"] * len(cells)) if one is not None]
    assert len(found) == len(cells)
    return found


def test_of_sides__the_true_way_is_first_and_is_students_t() -> None:
    after, before = np.array([0.1, 0.2, 0.15, 0.18]), np.array([0.0, 0.05, -0.02])
    ways = differences.of_sides(after, before)
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
    assert p_values(ways) == [pytest.approx(exact.pvalue)]


def test_of_days__changes_the_signs_of_days() -> None:
    ratios = np.array([0.10, 0.12, 0.09, 0.11, 0.10, 0.13])
    ways = differences.of_days(ratios, np.zeros(6))
    assert len(ways) == 2**6
    assert stats.norm.sf(ways[0]) == pytest.approx(stats.ttest_1samp(ratios, 0).pvalue / 2)
    assert p_values(ways) == [pytest.approx(2 / 64)]


def test_chances__a_clear_cell_among_many_has_the_ways_of_all() -> None:
    rng = np.random.default_rng(5)
    cells = [differences.of_sides(rng.normal(0, 1, 6), rng.normal(0, 1, 6)) for _ in range(99)]
    clear = differences.of_sides(rng.normal(50, 1, 6), rng.normal(0, 1, 6))
    p = p_values(*cells, clear)
    # Itself and its mirror image, of 924 ways, in one cell of 100; alone it would be 100 times that.
    assert p[-1] == pytest.approx(2 / 924 / 100)
    found = differences.chances([*cells, None, clear], ["one"] * 101)[-1]
    assert found is not None
    assert (found.p, found.q) == (pytest.approx(2 / 924 / 100), pytest.approx(2 / 924, rel=1e-6))
    # In a family of its own it is alone.
    own = differences.chances([*cells, clear], ["one"] * 99 + ["other"])[-1]
    assert own is not None
    assert own.p == pytest.approx(2 / 924)
    assert differences.chances([None], ["one"]) == [None]
    assert np.mean(p[:-1]) == pytest.approx(0.5, abs=0.1)


def test_chances__what_is_alike_on_both_sides_is_no_difference() -> None:
    same = differences.of_sides(np.zeros(6), np.zeros(6))
    copies = differences.of_sides(np.arange(6.0), np.arange(6.0))
    assert p_values(same, copies) == [pytest.approx(1), pytest.approx(1)]


def test_chances__what_passes_has_a_statistic_of_the_least_that_does() -> None:
    rng = np.random.default_rng(6)
    shifts = [3.0, 0.0, 2.0, 0.0, 0.0, 1.5]
    cells = [differences.of_sides(rng.normal(shift, 1, 6), rng.normal(0, 1, 6)) for shift in shifts]
    found = [one for one in differences.chances(cells, [""] * 6, 0.05) if one is not None]
    assert len(found) == 6
    assert [one.q <= 0.05 for one in found] == [cell[0] >= found[0].least for cell in cells]
    assert 0 < sum(one.q <= 0.05 for one in found) < 6


def runs(values: Sequence[float], days: Sequence[int] | None = None) -> pd.DataFrame:
    frame = pd.DataFrame({"value": np.asarray(values), "evidence": "measured"})
    return frame if days is None else frame.assign(start=pd.to_datetime(days, unit="D"))


def jobs(values: Sequence[float], days: Sequence[int]) -> pd.DataFrame:
    return runs(values, days).assign(job_id=[str(1 + at) for at in range(len(values))], cluster="a")


def test_ratio_of__pairs_of_jobs_hold_the_ratio_of_each_day() -> None:
    """Ratios 1.1, twenty times, on a day and 0.8, once, on the next: days that disagree settle nothing."""
    bottom, days = 2.0 ** np.arange(21), [1] * 20 + [2]
    top = bottom * [*[1.1] * 20, 0.8]
    found, _ = differences.ratio_of("elapsed", jobs(top, days), jobs(bottom, days)[::-1])
    assert found.value == pytest.approx(1.1)
    assert found.low < 0.8
    assert found.high > 1.1
    assert found.days == (2,)


def test_in_pairs__jobs_are_not_one_for_their_number() -> None:
    top, bottom = jobs([1.0, 2.0], [1, 2]), jobs([3.0, 4.0], [1, 3])
    assert differences.in_pairs(top, bottom)  # past midnight
    assert differences.in_pairs(top.assign(campaign="x"), bottom.assign(campaign="x"))
    assert not differences.in_pairs(top, jobs([3.0, 4.0], [1, 4]))
    assert not differences.in_pairs(top, bottom.assign(cluster="b"))
    assert not differences.in_pairs(top.assign(campaign="x"), bottom.assign(campaign="y"))


def shared(turns: Sequence[str], repeats: Sequence[int], nodes: str = "n1") -> pd.DataFrame:
    """Return the runs of one side, in jobs that they share: ``7:3`` is the third run in job 7."""
    more = {"job_id": list(turns), "repeat": list(repeats), "cluster": "a", "node_list": nodes}
    return runs([2.0 * one for one in repeats], [1] * len(repeats)).assign(**more)


def test_in_pairs__runs_of_one_job_pair_by_repeat_if_each_pair_is_over_before_the_next() -> None:
    """Job 7 measures two repeats of both sides, job 8 one; the pairs are (1, 2), (4, 3) and (1, 2)."""
    top, bottom = shared(["7:1", "7:4", "8:1"], [1, 2, 3]), shared(["8:2", "7:3", "7:2"], [3, 2, 1])
    pairs = differences.in_pairs(top, bottom)
    assert pairs
    assert pairs[0].index.tolist() == ["7:r1", "7:r2", "8:r3"]
    assert pairs[1]["job_id"].tolist() == ["7:2", "7:3", "8:2"]
    ratio, _ = differences.ratio_of("elapsed", top.assign(value=top["value"] * 1.5), bottom)
    assert (ratio.value, ratio.low, ratio.high) == (1.5, 1.5, 1.5)  # of unpaired sides it is 0.5 to 4.5


@pytest.mark.parametrize(
    ("turns", "repeats", "nodes"),
    [
        (["7:2", "7:4", "8:2"], [1, 3, 2], "n1"),  # of other repeats
        (["7:2", "8:4", "8:2"], [1, 2, 3], "n1"),  # in another job
        (["7:6", "7:5", "8:2"], [1, 2, 3], "n1"),  # the first is not over as the second begins
        (["7:2", "7:3", "8:2"], [1, 2, 3], "n2"),  # the job was started again elsewhere
        (["7:4", "7:5", "8:2"], [1, 2, 3], "n1"),  # one turn is in both pairs
        (["7:2", "7:x", "8:2"], [1, 2, 3], "n1"),  # no turns of ours
        (["7:2", "7:", "8:2"], [1, 2, 3], "n1"),
    ],
)
def test_in_pairs__others_of_a_shared_job_are_none(
    turns: Sequence[str], repeats: Sequence[int], nodes: str
) -> None:
    top = shared(["7:1", "7:4", "8:1"], [1, 2, 3])
    assert not differences.in_pairs(top, shared(turns, repeats, nodes))


def test_p_of_difference__runs_without_a_day_change_places_among_themselves() -> None:
    top, bottom = [1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]
    undated = [runs(side).assign(day=[1, 1, -1, -1]) for side in (top, bottom)]
    two = [runs(side).assign(day=[1, 1, 2, 2]) for side in (top, bottom)]
    assert differences.p_of_difference(*undated) == differences.p_of_difference(*two)


def test_p_of_difference__of_few_runs_is_that_of_all_rank_sums() -> None:
    rng = np.random.default_rng(7)
    for n, m in ((4, 4), (5, 7), (6, 6)):
        top, bottom = rng.normal(0.5, 1, n), rng.normal(0, 1, m)
        exact = stats.mannwhitneyu(top, bottom, method="exact").pvalue
        assert differences.p_of_difference(runs(top), runs(bottom)) == pytest.approx(exact)


def test_p_of_difference__runs_change_places_within_their_day() -> None:
    """A day on which all is slower, with one run of one side and five of the other."""
    top, bottom = [1.0, 1.1, 1.2, 1.3, 1.4, 9.0], [1.05, 9.1, 9.2, 9.3, 9.4, 9.5]
    days = [1, 1, 1, 1, 1, 2], [1, 2, 2, 2, 2, 2]
    # Of six runs per day one is of the other side: six ways on each day.
    ranks = stats.rankdata([*top, *bottom]) - 6.5
    first, second = ranks[[0, 1, 2, 3, 4, 6]], ranks[[5, 7, 8, 9, 10, 11]]
    sums = [first.sum() - out + alone for out in first for alone in second]
    own = abs(ranks[:6].sum())
    share = np.mean([abs(one) >= own - 1e-9 for one in sums])
    assert differences.p_of_difference(runs(top, days[0]), runs(bottom, days[1])) == pytest.approx(share)
    assert share > 10 * differences.p_of_difference(runs(top), runs(bottom))


def test_p_of_difference__is_the_same_however_many_numbers_are_rearranged_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(8)
    few, many = [(runs(rng.normal(0.3, 1, n)), runs(rng.normal(0, 1, n))) for n in (6, 30)]
    at_once = [differences.p_of_difference(*pair) for pair in (few, many)]
    monkeypatch.setattr(orders, "_AT_ONCE", 1_000)
    assert [differences.p_of_difference(*pair) for pair in (few, many)] == at_once
    # Drawn, not counted: within four standard errors of what a normal distribution says.
    p = stats.mannwhitneyu(many[0]["value"], many[1]["value"]).pvalue
    assert at_once[1] == pytest.approx(p, abs=4 * np.sqrt(p * (1 - p) / 9_999))


def test_p_of_difference__memory_does_not_grow_with_the_runs() -> None:
    rng = np.random.default_rng(9)
    sides = runs(rng.normal(0, 1, 1_500)), runs(rng.normal(0, 1, 1_500))
    tracemalloc.start()
    differences.p_of_difference(*sides)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # All at once, 9,999 orders of 3,000 ranks would be 240 MB.
    assert peak < 80e6


def test_chance__memory_of_permutations_does_not_grow_with_the_runs() -> None:
    values = np.random.default_rng(9).integers(10, size=3_000).astype(float)  # ties: they are drawn
    tracemalloc.start()
    for levels in (2, 3):
        differences.chance(np.arange(3_000.0) % levels, values, np.zeros(3_000))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 80e6


def test_p_of_interaction__what_both_ends_have_in_common_counts_their_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ratios of 2 in 6 and 6 runs and of 4 in 12 and 12: weights 3 and 6, so that 2^(5/3) is common."""
    seen = []

    def rearranged(statistic: object, values: np.ndarray, *_: object) -> np.ndarray:
        seen.append(values)
        return np.ones(3)

    monkeypatch.setattr(differences, "_rearranged", rearranged)
    high, low = ((runs([ratio] * n), runs([1.0] * n)) for ratio, n in ((2.0, 6), (4.0, 12)))
    differences.p_of_interaction(high, low)
    first, second = seen
    assert first.tolist() == pytest.approx([(1 - 5 / 3) * math.log(2)] * 6 + [0.0] * 6)
    assert second.tolist() == pytest.approx([(2 - 5 / 3) * math.log(2)] * 12 + [0.0] * 12)


def standard_error(p: float) -> float:
    """Return the error of a p-value that is counted in so many permutations as are drawn."""
    return math.sqrt(p * (1 - p) / differences.ALONE.drawn)


def sides_at(rng: np.random.Generator, values: NDArray[np.float64], n: int) -> Iterator[NDArray[np.float64]]:
    """Put n of some values to a first side, more and more of the large ones."""
    for pull in (0.0, 0.2, 0.4, 0.6, 0.8):
        order = np.argsort(stats.rankdata(values) / len(values) * pull + rng.random(len(values)))
        yield np.isin(np.arange(len(values)), order[:n]).astype(float)


@pytest.mark.parametrize(("n", "m"), [(60, 60), (60, 400), (500, 500)])
def test_chance__many_runs_need_no_permutations(n: int, m: int) -> None:
    """Mann and Whitney's exact distribution is nearer to the p-value than permutations would be."""
    rng, values = np.random.default_rng(n + m), np.arange(n + m, dtype=float)
    seen = []
    for first in sides_at(rng, values, n):
        p = differences.chance(first, values, np.zeros(n + m))
        method = "exact" if n < 500 else "asymptotic"
        exact = stats.mannwhitneyu(values[first == 1], values[first == 0], method=method).pvalue
        least = 1 / (differences.ALONE.drawn + 1)
        assert abs(p - max(exact, least)) <= standard_error(max(exact, least)) / 2
        seen.append(p)
    assert min(seen) < 0.01 < max(seen)


def test_chance__days_of_many_runs_are_compared_within_themselves() -> None:
    rng = np.random.default_rng(8)
    days = np.repeat([0.0, 1.0, 2.0], 50)
    values = rng.normal(size=150) + 3 * days  # a day is farther than any side
    first = np.concatenate([rng.permutation(50) < share for share in (15, 25, 40)]).astype(float)
    values += 0.35 * first
    p = differences.chance(first, values, days)
    ranks = stats.rankdata(values) - 75.5
    rows = np.concatenate(
        [rng.permuted(np.tile(ranks[days == day], (40_000, 1)), axis=1) for day in range(3)], axis=1
    )
    drawn = np.abs(rows[:, first == 1].sum(axis=1)) >= abs(ranks[first == 1].sum())
    assert 0.005 < p < 0.5
    assert abs(p - drawn.mean()) < standard_error(p)


def test_chance__tied_runs_are_permuted_however_many_they_are() -> None:
    """Of two values a rank sum has few results, and Fisher's are exact: a normal one would be far off."""
    first = np.repeat([1.0, 0.0], [100, 100])
    values = np.concatenate([np.arange(100) < 14, np.arange(100) < 5]).astype(float)
    p = differences.chance(first, values, np.zeros(200))
    exact = float(stats.fisher_exact([[14, 86], [5, 95]]).pvalue)
    assert abs(p - exact) < 4 * standard_error(exact)
