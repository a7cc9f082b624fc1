"""Planted effects are found and planted nulls are not: a small part of the study, with other draws."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import numpy as np
import pytest
from scipy import stats

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


def test_simulation__where_nothing_was_planted_little_is_found(study: ModuleType) -> None:
    design = study.Design(0.0, applications=8, affected=0)
    found = study.counted(design, 12, np.random.default_rng(SEED + 1))
    assert found.false_differences <= at_most(0.05, 12)


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
