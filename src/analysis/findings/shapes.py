"""What more than two groups show: a lead that grows along another factor, a scale that stops, an order."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats as scipy_stats

from analysis.base.words import Level
from analysis.claims.verdicts import FEWEST
from analysis.estimates.campaign import Campaign, NotCoveredError
from analysis.estimates.differences import p_alone, p_of_interaction
from analysis.estimates.finding import Finding
from analysis.estimates.groups import groups, strata
from analysis.estimates.intervals import Array
from analysis.estimates.measures import MEASURES
from analysis.estimates.quantities import better_is_more, findings
from analysis.estimates.question import Comparison, Question
from analysis.estimates.sentences import Stratum, plain
from analysis.findings.conclusion import GROWS, ORDERED, STOPS
from analysis.findings.plans import Plan
from analysis.findings.trials import Series, Trial

# Along these a lead may grow; what changes with them by nature.
ALONG: Mapping[str, tuple[str, ...]] = {
    "nodes": ("ranks",),
    "ranks_per_node": ("ranks",),
    "case": ("local_size",),
}
THRESHOLD = 0.05  # gain of a step below which scaling has stopped


@dataclass(frozen=True)
class Shape:
    """A shape that was tested: which question asks for it, and how likely chance is.

    `levels` are those of its sentence, in its order; `strata` where it was looked for.
    """

    word: str
    plan: Plan
    question: Question
    finding: Finding
    levels: tuple[Level, ...]
    p: float
    strata: tuple[Stratum, ...] = field(repr=False, default=())
    ends: tuple[Trial, Trial] | None = field(repr=False, default=None)

    @property
    def kind(self) -> tuple[Any, ...]:
        """What two shapes have in common that are the same in different strata."""
        return (*self.levels, self.finding.estimate.value) if self.word == STOPS else self.levels


def growths(series: Sequence[Series], campaign: Campaign) -> Iterator[Shape]:
    """Test whether the ratio of a pair is another at the ends of another factor, all else alike."""
    for one in series:
        for along, follow in ALONG.items():
            if along != one.plan.factor and along not in one.plan.varying:
                yield from _growths(one, along, follow, campaign)


def _growths(series: Series, along: str, follow: tuple[str, ...], campaign: Campaign) -> Iterator[Shape]:
    plan, loose = series.plan, {along, *follow}
    rest: dict[Any, list[Trial]] = {}
    for trial in series.trials:
        key = tuple((name, level) for name, level in trial.finding.stratum.items() if name not in loose)
        rest.setdefault(key, []).append(trial)
    for trials in rest.values():
        ordered = sorted(
            (trial for trial in trials if trial.p is not None), key=lambda one: _size(one, along)
        )
        if len(ordered) < 2 or _size(ordered[0], along) == _size(ordered[-1], along):
            continue
        low, high = ordered[0], ordered[-1]
        ends = tuple(plain(one.finding.stratum[along]) for one in (high, low))
        # The side whose standing grows is the treatment.
        up = high.finding.estimate.value > low.finding.estimate.value
        first, second = (series.one, series.other) if up else (series.other, series.one)
        compare = plan.compare(first, second, (along, ends[0], ends[1]))
        varying = tuple(dict.fromkeys((*compare.varying, *(name for name in follow if name != "local_size"))))
        compare = Comparison(compare.factor, compare.levels, varying, compare.where, along=compare.along)
        fixed = {name: plain(level) for name, level in high.finding.stratum.items() if name not in loose}
        select = {**plan.measured.select, **_named(fixed, campaign, plan)}
        question = Question("interaction", plan.measured.variable, select, compare, plan.measured.members)
        try:
            found = findings(question, campaign)
        except NotCoveredError:
            continue
        if len(found) == 1:
            p = p_of_interaction(*((one.top, one.bottom) for one in (high, low)))
            strata = tuple(one.finding.stratum for one in ordered)
            yield Shape(GROWS, plan, question, found[0], (first, second), p, strata, (low, high))


def _size(trial: Trial, along: str) -> float:
    level = trial.finding.stratum[along]
    return float(trial.top["local_size"].iloc[0]) if along == "case" else float(level)


def _named(fixed: Stratum, campaign: Campaign, plan: Plan) -> dict[str, Level]:
    """Select what is fixed of factors that the application's runs vary, and that can be named."""
    runs = campaign.runs
    runs = runs[runs["valid"] & (runs["application"] == plan.measured.application)]
    apart = ("metered_at", "local_size", *plan.varying)
    return {
        name: level
        for name, level in ((name, plain(level)) for name, level in fixed.items() if name not in apart)
        if level not in ("", -1) and level == level and runs[name].nunique(dropna=False) > 1
    }


def stops(plan: Plan, campaign: Campaign) -> Iterator[Shape]:
    """Test where scaling stops: every step before is a gain of the threshold, and the one after is not."""
    if plan.topic != "scaling" or plan.where:
        return
    for stratum, parts in _ordered(plan, plan.levels, campaign):
        if len(parts) < 3 or min(map(len, parts)) < FEWEST:
            continue
        levels = tuple(plain(part[plan.factor].iloc[0]) for part in parts)
        select = {**plan.measured.select, **_named(stratum, campaign, plan)}
        question = Question(
            "saturation",
            plan.measured.variable,
            select,
            Comparison(plan.factor, levels, plan.varying),
            plan.measured.members,
            threshold=THRESHOLD,
        )
        try:
            found = findings(question, campaign)
        except NotCoveredError:
            continue
        if len(found) == 1:
            p = _p_of_stop(question, parts, float(found[0].estimate.value), levels)
            yield Shape(STOPS, plan, question, found[0], levels, p, (stratum,))


def _ordered(
    plan: Plan, levels: Sequence[Level], campaign: Campaign
) -> Iterator[tuple[Stratum, tuple[pd.DataFrame, ...]]]:
    """Give the groups of each stratum that has some of the levels, in their order."""
    span = not any(isinstance(level, str) for level in levels)
    if span:
        numbers = [float(level) for level in levels]
        compare = Comparison(plan.factor, (), plan.varying, span=(min(numbers), max(numbers)))
    else:
        compare = Comparison(plan.factor, tuple(levels), plan.varying)
    try:
        found = groups(plan.measured.question("ordering"), compare, campaign, plan.frame, ordered=True)
    except NotCoveredError:
        return
    for one in found:
        yield one.stratum, one.ordered


def _p_of_stop(
    question: Question, parts: Sequence[pd.DataFrame], stop: float, levels: Sequence[Level]
) -> float:
    """Return the p-value of "scaling stops after this level": each step before it gains, the next does not.

    One-sided rank tests of logarithms shifted by the threshold; the step that is short is one of all.
    """
    speeds = [np.log(part["value"].to_numpy("f8")) for part in parts]
    if not better_is_more(question, parts[0]):
        speeds = [-one for one in speeds]
    steps = list(itertools.pairwise(speeds))
    before = [level for level in levels if not isinstance(level, str) and level < stop]
    gains = [_p_of_step(*step, "greater") for step in steps[: len(before)]]
    short = [_p_of_step(*steps[len(before)], "less") * len(steps)] if len(before) < len(steps) else []
    return min(1.0, max([*gains, *short]))


def _p_of_step(less: Array, more: Array, alternative: str) -> float:
    shifted = more - np.log1p(THRESHOLD)
    return float(scipy_stats.mannwhitneyu(shifted, less, alternative=alternative).pvalue)


def orders(plan: Plan, campaign: Campaign) -> Iterator[Shape]:
    """Test the order of three levels or more in each stratum, as its medians have it.

    The order is read off the values, so that each step is one of all pairs of its levels.
    """
    if plan.topic == "scaling" or len(plan.levels) < 3 or plan.where:
        return
    spec = MEASURES[plan.measured.variable]
    for stratum, part in strata(plan.frame, (plan.factor, *plan.varying), campaign, spec):
        present = [level for level in plan.levels if (part[plan.factor] == level).sum() >= FEWEST]
        if not 3 <= len(present) <= 6:
            continue
        sides = {level: part[part[plan.factor] == level] for level in present}
        more = better_is_more(plan.measured.question(), part)
        best = sorted(present, key=lambda level: float(sides[level]["value"].median()), reverse=more)
        select = {**plan.measured.select, **_named(stratum, campaign, plan)}
        question = Question(
            "ordering",
            plan.measured.variable,
            select,
            Comparison(plan.factor, tuple(map(plain, best)), plan.varying),
            plan.measured.members,
        )
        try:
            found = findings(question, campaign)
        except NotCoveredError:
            continue
        pairs = len(best) * (len(best) - 1) // 2
        p = max(p_alone(sides[a], sides[b]) for a, b in itertools.pairwise(best))
        if len(found) == 1:
            yield Shape(ORDERED, plan, question, found[0], tuple(best), min(1.0, p * pairs), (stratum,))
