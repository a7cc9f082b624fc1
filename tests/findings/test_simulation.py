"""Planted effects are found and planted nulls are not: a small part of the study, with other draws."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.estimates.differences import ratio_of
from analysis.estimates.finding import Finding
from analysis.findings import search
from analysis.findings.conclusion import DIFFERS
from analysis.findings.plans import Measured, Plan
from analysis.findings.trials import Series, trial_of
from tests.studies import loaded

SEED = 20_261_201


@pytest.fixture(scope="module")
def study() -> Iterator[ModuleType]:
    with loaded("study_findings") as module:
        yield module


def at_least(share: float, trials: int) -> float:
    """Return the share that a true one falls short of once in a thousand."""
    return float(stats.binom.ppf(0.001, trials, share)) / trials


def at_most(share: float, trials: int) -> float:
    """Return the share that a true one exceeds once in a thousand."""
    return float(stats.binom.ppf(0.999, trials, share)) / trials


@pytest.mark.slow
def test_simulation__ten_percent_is_found_in_six_runs_a_side(study: ModuleType) -> None:
    """A noise of 3 %: four of five effects of 10 % at least, and no more false ones than 5 %."""
    design = study.Design(0.10, applications=8, affected=3)
    found = study.counted(design, 12, np.random.default_rng(SEED))
    assert found.power >= at_least(0.80, 36)
    assert found.false_differences <= at_most(0.05, 12)  # a campaign with a false one counts as one at worst
    assert found.false_equalities <= at_most(0.05, 12)


def finds_a_difference(rng: np.random.Generator, cells: int = 12) -> bool:
    """Test pairs of the same six runs per side, and tell whether any is said to differ.

    The search's own trials and control, without the plans before them and the sentences after.
    """
    factors = pd.DataFrame({"mpi": np.repeat(["one", "other"], 6), "evidence": "measured"})
    plan = Plan(Measured("app", "elapsed", {}), "mpi", "MPI library", (), factors)
    trials = []
    for _ in range(cells):
        runs = factors.assign(value=np.exp(rng.normal(0, 0.03, 12)))
        ratio, _ = ratio_of("elapsed", runs[:6], runs[6:])
        trials.append(trial_of(plan, Finding(ratio, "", "", ()), runs, "one"))
    (series,), _ = search.controlled([Series(plan, "one", "other", tuple(trials))], [], search.LIMIT)
    assert len(series.trials) == cells
    return any(trial.word == DIFFERS for trial in series.trials)


def test_simulation__of_200_campaigns_without_a_difference_few_have_one() -> None:
    """At most 8 %, that is 16, where 5 % is promised; 6 have one.

    Tried with mutants: 23 have one with a limit of 25 %, with q divided by five, or with the p-value divided
    by five; 30 have one where false discoveries are not controlled.
    """
    rng = np.random.default_rng(SEED + 1)
    found = [finds_a_difference(rng) for _ in range(200)]
    assert 0 < sum(found) <= 0.08 * 200  # none at all would be a search that finds nothing


@pytest.mark.slow
def test_simulation__of_200_whole_searches_without_a_difference_few_find_one(study: ModuleType) -> None:
    design = study.Design(0.0, applications=1, affected=0, cases=12)
    rng, wrong = np.random.default_rng(SEED + 4), 0
    for _ in range(200):
        series, shapes, _ = search.tested(study.simulated(design, rng), search.LIMIT)
        trials = [trial for one in series for trial in one.trials]
        # A clean cell is in doubt now and then; nothing is then concluded from it.
        assert 9 <= len(trials) <= 12
        assert not shapes
        wrong += any(trial.word == DIFFERS for trial in trials)
    assert 0 < wrong <= 0.08 * 200


def test_simulation__more_runs_tell_what_is_equal(study: ModuleType) -> None:
    design = study.Design(0.0, applications=5, affected=0, n=16)
    found = study.counted(design, 4, np.random.default_rng(SEED + 2))
    assert found.equal >= at_least(0.9, 20)
    assert found.false_differences <= at_most(0.05, 4)


@pytest.mark.slow
def test_simulation__a_lead_that_grows_is_found_where_it_does(study: ModuleType) -> None:
    design = study.Design(0.15, applications=4, affected=2, n=8, growing=True)
    found = study.counted(design, 6, np.random.default_rng(SEED + 3))
    assert found.power >= at_least(0.9, 12)
    assert found.false_differences <= at_most(0.05, 6)


def test_simulation__counts_what_is_false(study: ModuleType) -> None:
    """Effects that the study is not told of are false to it: it can fail."""
    planted = study.Design(0.10, applications=4, affected=4)
    told = study.Design(0.10, applications=4, affected=0)

    found = study.conclusions(study.simulated(planted, np.random.default_rng(SEED)))
    differ = [one for one in found if one.word == "differs"]
    assert len(differ) >= 3
    assert all(study._true(one, planted) for one in differ)
    assert not any(study._true(one, told) for one in differ)
