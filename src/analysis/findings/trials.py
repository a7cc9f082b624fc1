"""Pairs of levels tested in every stratum: is there a difference, is there none that counts.

The p-value of a difference is that of a permutation of runs between the two levels, within measuring days;
that of equality is of two one-sided rank tests. A word needs the p-value, among all that were tested, and
the interval: one without the other decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats as scipy_stats

from analysis.base.words import Level
from analysis.claims.verdicts import FEWEST
from analysis.estimates import stats, uncertainty
from analysis.estimates.campaign import Campaign, NotCoveredError
from analysis.estimates.finding import Finding, measuring_days
from analysis.estimates.groups import strata
from analysis.estimates.intervals import Array
from analysis.estimates.measures import MEASURES
from analysis.estimates.stats import NO_DAY, RESAMPLES, SEED
from analysis.estimates.trends import chance
from analysis.findings.conclusion import DIFFERS, EQUAL, SEEN, UNKNOWN
from analysis.findings.plans import ENDS, Plan

PASSED = "passed over"  # a stratum with a greater or a lesser level, which says more of how it scales
MARGIN = 0.05  # what is nearer than this is equal


@dataclass(frozen=True)
class Trial:
    """One level against another in one stratum: what was found and how likely chance is.

    `finding` has the first level as the treatment. `p` is None where no number of runs like these could be
    told from chance: it is then not tested, and not one of those that false discoveries are counted among.
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
        """Whether a side is of one run."""
        return min(len(self.top), len(self.bottom)) < 2


@dataclass(frozen=True)
class Series:
    """All trials of one pair of levels of a plan."""

    plan: Plan
    one: Level
    other: Level
    trials: tuple[Trial, ...]


def tried(plan: Plan, campaign: Campaign) -> Iterator[Series]:
    """Test every pair of a plan in every stratum that has both."""
    values = plan.frame.set_index("run", drop=False)
    for one, other in plan.pairs:
        try:
            found = plan.answers(one, other, campaign)
        except NotCoveredError:
            continue  # a side would mix things: nothing can be said of it alone
        sides = [(each, values.loc[list(each.runs)]) for each in found]
        # Of what is zero or less there is no ratio.
        trials = tuple(_trial(plan, each, runs, one) for each, runs in sides if (runs["value"] > 0).all())
        if plan.topic in ENDS:
            ends = _ends(plan, campaign)
            trials = tuple(
                each
                if ends.get(_key(each.finding.stratum)) == (one, other)
                else replace(each, p=None, word=PASSED)
                for each in trials
            )
        if trials:
            yield Series(plan, one, other, trials)


def _ends(plan: Plan, campaign: Campaign) -> dict[Any, tuple[Level, Level]]:
    """Return the greatest and the least level that each stratum has."""
    spec = MEASURES[plan.measured.variable]
    found = {}
    for stratum, part in strata(plan.frame, (plan.factor, *plan.varying), campaign, spec):
        there = [level for level in plan.levels if level in set(part[plan.factor])]
        if len(there) > 1:
            found[_key(stratum)] = (there[-1], there[0])
    return found


def _key(stratum: Mapping[str, Level]) -> tuple[tuple[str, Level], ...]:
    return tuple(sorted(stratum.items()))


def _trial(plan: Plan, finding: Finding, runs: pd.DataFrame, one: Level) -> Trial:
    first = runs[plan.factor] == one
    top, bottom = runs[first], runs[~first]
    if min(len(top), len(bottom)) < FEWEST or not np.isfinite(finding.estimate.value):
        return Trial(finding, top, bottom)
    margin = uncertainty.margin_left(plan.measured.variable, MARGIN, top, bottom)
    equal = stats.equivalence(top["value"], bottom["value"], margin)
    return Trial(finding, top, bottom, p_of_difference(top, bottom), equal.p)


def p_of_difference(top: pd.DataFrame, bottom: pd.DataFrame) -> float:
    """Return the two-sided p-value of "the runs of both sides are alike", by permutation within days."""
    values = np.concatenate([top["value"], bottom["value"]])
    return chance(np.repeat([1.0, 0.0], [len(top), len(bottom)]), values, _days(top, bottom))


def p_of_interaction(high: Trial, low: Trial) -> float:
    """Return the two-sided p-value of "the ratio is the same at both ends", by permutation within each end.

    The ratio that both ends have in common is taken out of the first sides; what is left can change sides
    within its end and day. The statistic is the difference of the log ratios of medians.
    """
    ends = [
        (np.log(one.top["value"].to_numpy()), np.log(one.bottom["value"].to_numpy())) for one in (high, low)
    ]
    ratios = [float(np.median(x) - np.median(y)) for x, y in ends]
    weights = [len(x) * len(y) / (len(x) + len(y)) for x, y in ends]
    shared = float(np.average(ratios, weights=weights))
    rng = np.random.default_rng(SEED)
    drawn = [
        _shuffled(x - shared, y, _days(one.top, one.bottom), rng)
        for one, (x, y) in zip((high, low), ends, strict=True)
    ]
    found = np.abs(drawn[0] - drawn[1])
    own = abs(ratios[0] - ratios[1])
    return float((1 + np.count_nonzero(found >= own - 1e-12)) / (1 + RESAMPLES))


def _days(*parts: pd.DataFrame) -> Array:
    days = np.concatenate([measuring_days(part) for part in parts])
    return np.zeros(len(days)) if (days == NO_DAY).any() else days.astype("f8")


def _shuffled(x: Array, y: Array, days: Array, rng: np.random.Generator) -> Array:
    """Return the difference of the medians of both sides, in shuffles within days; shape (resamples,)."""
    values = np.tile(np.concatenate([x, y]), (RESAMPLES, 1))
    for day in np.unique(days):
        at = np.flatnonzero(days == day)
        values[:, at] = rng.permuted(values[:, at], axis=1)
    found: Array = np.median(values[:, : len(x)], axis=1) - np.median(values[:, len(x) :], axis=1)
    return found


def controlled(p_values: Sequence[float]) -> list[float]:
    """Return the least rate of false discoveries at which each stands (Benjamini and Hochberg 1995)."""
    return [] if not p_values else scipy_stats.false_discovery_control(p_values, method="bh").tolist()


def judged(trial: Trial, q: float | None, q_equal: float | None, limit: float) -> Trial:
    """Give a trial its word: what stands among all that was tested and in its own interval."""
    estimate = trial.finding.estimate
    if trial.word == PASSED:
        return trial
    if trial.single:
        return replace(trial, word=SEEN)
    if q is None or q_equal is None or not estimate.settles:
        return replace(trial, q=q)
    if q <= limit and (estimate.low > 1 or estimate.high < 1):
        return replace(trial, word=DIFFERS, q=q)
    if q_equal <= limit and estimate.low >= 1 / (1 + MARGIN) and estimate.high <= 1 + MARGIN:
        return replace(trial, word=EQUAL, q=q_equal)
    return replace(trial, q=q)
