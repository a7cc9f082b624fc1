"""Pairs of levels tested in every stratum: do they differ, are they equal.

The tests are those of `estimates.differences`. Each trial is tested alone, because the strata of a search are
unlike. A word needs both the p-value, among all that were tested, and the interval.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from analysis.base.words import Level
from analysis.estimates.campaign import Campaign, NotCoveredError
from analysis.estimates.differences import MARGIN, equality, p_of_difference
from analysis.estimates.finding import DAY, OTHER_SYSTEMS, UNKNOWN_ORDER, Finding
from analysis.estimates.ratios import in_margin
from analysis.estimates.stats import FEWEST
from analysis.findings.conclusion import CONFOUNDED, DIFFERS, EQUAL, SEEN, SESSION, UNKNOWN, UNORDERED
from analysis.findings.plans import Plan, stratum_key

PASSED = "passed over"  # a stratum with a greater or a lesser level, which says more of how it scales


@dataclass(frozen=True)
class Trial:
    """One level compared with another in one stratum: the finding and its p-value.

    `finding` has the first level as the treatment. `p` is None if no result of so few runs could be
    significant: the trial is then not tested and does not count among the tests of the search.
    """

    finding: Finding
    top: pd.DataFrame = field(repr=False)
    bottom: pd.DataFrame = field(repr=False)
    p: float | None = None
    p_equal: float | None = None
    word: str = UNKNOWN
    q: float | None = None

    @property
    def up(self) -> bool:
        """Whether the first level is ahead."""
        return self.finding.estimate.value > 1

    @property
    def single(self) -> bool:
        """Whether a side has only one run."""
        return min(len(self.top), len(self.bottom)) < 2


# The word of what is clear in runs that were not in turn; all other limits are those of a session.
_CONFINED = {"": "", UNKNOWN_ORDER: UNORDERED, OTHER_SYSTEMS: UNORDERED}


@dataclass(frozen=True)
class Series:
    """All trials of one pair of levels of a plan."""

    plan: Plan
    one: Level
    other: Level
    trials: tuple[Trial, ...]


def tried(plan: Plan, campaign: Campaign) -> Iterator[Series]:
    """Test every pair of a plan in every stratum that has both."""
    places = {run: at for at, run in enumerate(plan.frame["run"].tolist())}
    for one, other in plan.pairs:
        try:
            found = plan.answers(one, other, campaign)
        except NotCoveredError:
            continue  # a side would mix things: nothing can be said of it alone
        trials = []
        for each in found:
            runs = plan.frame.iloc[[places[run] for run in each.runs]]
            if (runs["value"].to_numpy() > 0).all():  # of what is zero or less there is no ratio
                passed = bool(plan.ends) and plan.ends.get(stratum_key(each.stratum)) != (one, other)
                trials.append(trial_of(plan, each, runs, one, PASSED if passed else UNKNOWN))
        if trials:
            yield Series(plan, one, other, tuple(trials))


def trial_of(plan: Plan, finding: Finding, runs: pd.DataFrame, one: Level, word: str = UNKNOWN) -> Trial:
    """Test the runs of a level of the plan's factor against the others, unless it is `PASSED`."""
    first = runs[plan.factor].to_numpy() == one
    top, bottom = runs[first], runs[~first]
    few = min(len(top), len(bottom)) < FEWEST or not np.isfinite(finding.estimate.value)
    if few or word == PASSED:
        return Trial(finding, top, bottom, word=word)
    between = finding.confounded is not None and DAY in finding.confounded.causes
    p = p_of_difference(top, bottom, between_days=between)
    # Tested already where an end of its interval is within the margin.
    equal = finding.equivalence or equality(plan.measured.variable, MARGIN, top, bottom)
    return Trial(finding, top, bottom, p, equal.p)


def judged(trial: Trial, q: float | None, q_equal: float | None, limit: float) -> Trial:
    """Give a trial its word: significant among all that was tested, and clear by its own interval."""
    estimate = trial.finding.estimate
    if trial.word == PASSED:
        return trial
    if trial.single:
        return replace(trial, word=SEEN)
    if q is None or q_equal is None or not estimate.settles:
        return replace(trial, q=q)
    confined = _CONFINED.get(trial.finding.session, SESSION)
    mixed = trial.finding.confounded is not None and not (confined and trial.finding.confounded.in_session)
    if q <= limit and (estimate.low > 1 or estimate.high < 1):
        return replace(trial, word=CONFOUNDED if mixed else confined or DIFFERS, q=q)
    if mixed:  # one cause may hide another
        return replace(trial, q=q)
    if q_equal <= limit and in_margin(estimate, MARGIN):
        return replace(trial, word=confined or EQUAL, q=q_equal)
    return replace(trial, q=q)
