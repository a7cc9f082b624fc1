"""What more than two groups show: a lead that grows along another factor, a scale that stops, an order."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from analysis.base.words import Level
from analysis.estimates.campaign import Campaign, NotCoveredError
from analysis.estimates.differences import p_of_difference, p_of_interaction
from analysis.estimates.finding import Finding
from analysis.estimates.groups import groups, strata
from analysis.estimates.measures import MEASURES
from analysis.estimates.quantities import findings
from analysis.estimates.question import Comparison, Question
from analysis.estimates.ratios import better_is_more
from analysis.estimates.spelling import Stratum, plain
from analysis.estimates.stats import FEWEST, p_of_ranks
from analysis.findings.conclusion import GAIN, GROWS, ORDERED, STOPS, THRESHOLD
from analysis.findings.plans import Plan
from analysis.findings.trials import Series, Trial
from analysis.schema.factors import BY_NAME, FOLLOWS

# Along these a lead may grow; what changes with them by nature.
ALONG: Mapping[str, tuple[str, ...]] = {
    name: (*BY_NAME[name].topics.get("scaling", ()), *FOLLOWS.get(name, ()))
    for name in ("nodes", "ranks_per_node", "case")
}


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
    """Test whether the ratio of a pair is another at the ends of another factor, all else equal."""
    for one in series:
        for along, follow in ALONG.items():
            if along != one.plan.factor and along not in one.plan.varying:
                yield from _growths(one, along, follow, campaign)


def _growths(series: Series, along: str, follow: tuple[str, ...], campaign: Campaign) -> Iterator[Shape]:
    plan, loose = series.plan, {along, *follow}
    rest: dict[Any, list[Trial]] = {}
    for trial in series.trials:
        if trial.p is not None and not trial.finding.confounded:
            key = tuple((name, level) for name, level in trial.finding.stratum.items() if name not in loose)
            rest.setdefault(key, []).append(trial)
    for key, trials in rest.items():
        ordered = sorted(trials, key=lambda one: _size(one, along))
        low, high = ordered[0], ordered[-1]
        if _size(low, along) == _size(high, along):
            continue
        ends = tuple(plain(one.finding.stratum[along]) for one in (high, low))
        # The side whose standing grows is the treatment.
        up = high.finding.estimate.value > low.finding.estimate.value
        levels = (series.one, series.other) if up else (series.other, series.one)
        compare = plan.compare(*levels, (along, ends[0], ends[1]))
        varying = (*compare.varying, *(name for name in follow if name != "local_size"))
        compare = replace(compare, varying=tuple(dict.fromkeys(varying)))
        asked = _asked("interaction", compare, plan, dict(key), campaign)
        if asked:
            p = p_of_interaction(*((one.top, one.bottom) for one in (high, low)))
            strata = tuple(one.finding.stratum for one in ordered)
            yield Shape(GROWS, plan, *asked, levels, p, strata, (low, high))


def _size(trial: Trial, along: str) -> float:
    level = trial.finding.stratum[along]
    return float(trial.top["local_size"].iloc[0]) if along == "case" else float(level)


def _asked(
    quantity: str, compare: Comparison, plan: Plan, fixed: Stratum, campaign: Campaign, **more: Any
) -> tuple[Question, Finding] | None:
    """Ask for a shape in one stratum: the question and what it finds; None if the runs do not cover it.

    The question selects what is fixed of factors that the application's runs vary, and that can be named.
    """
    runs = campaign.valid_of(plan.measured.application)
    select = dict(plan.measured.select)
    for name, level in fixed.items():
        level = plain(level)
        nameable = level not in ("", -1) and level == level
        if name not in ("metered_at", "local_size", *plan.varying) and nameable:
            select |= {name: level} if runs[name].nunique(dropna=False) > 1 else {}
    own = plan.measured
    question = Question(quantity, own.variable, select, compare, own.members, **more)
    try:
        found = findings(question, campaign)
    except NotCoveredError:
        return None
    return (question, found[0]) if len(found) == 1 else None


def stops(plan: Plan, campaign: Campaign) -> Iterator[Shape]:
    """Test where scaling stops: every step before is a gain of the threshold, and the one after is not."""
    if plan.topic != "scaling" or plan.where:
        return
    numbers = [float(level) for level in plan.levels]
    compare = Comparison(plan.factor, (), plan.varying, span=(min(numbers), max(numbers)))
    try:
        found = groups(plan.measured.question("ordering"), compare, campaign, plan.frame, ordered=True)
    except NotCoveredError:
        return
    for one in found:
        parts = one.ordered
        if len(parts) < 3 or min(map(len, parts)) < FEWEST:
            continue
        levels = tuple(plain(part[plan.factor].iloc[0]) for part in parts)
        compare = Comparison(plan.factor, levels, plan.varying)
        asked = _asked("saturation", compare, plan, one.stratum, campaign, threshold=THRESHOLD)
        if asked and not asked[1].confounded:
            p = _p_of_stop(asked[0], parts, asked[1].estimate.value, levels)
            yield Shape(STOPS, plan, *asked, levels, p, (one.stratum,))


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
    before = sum(not isinstance(level, str) and level < stop for level in levels)
    gains = [p_of_ranks(more, less, -GAIN, "greater") for less, more in steps[:before]]
    short = [p_of_ranks(more, less, -GAIN, "less") * len(steps) for less, more in steps[before : before + 1]]
    return min(1.0, max([*gains, *short]))


def orders(plan: Plan, campaign: Campaign) -> Iterator[Shape]:
    """Test the order of three levels or more in each stratum, as its medians have it.

    The order is read off the values, so that each step is one of all pairs of its levels.
    """
    if plan.topic == "scaling" or len(plan.levels) < 3 or plan.where:
        return
    spec = MEASURES[plan.measured.variable]
    for stratum, part in strata(plan.frame, (plan.factor, *plan.varying), campaign, spec):
        sides = {level: part[part[plan.factor] == level] for level in plan.levels}
        sides = {level: side for level, side in sides.items() if len(side) >= FEWEST}
        if not 3 <= len(sides) <= 6:
            continue
        more = better_is_more(plan.measured.question(), part)
        best = sorted(sides, key=lambda level: float(sides[level]["value"].median()), reverse=more)
        compare = Comparison(plan.factor, tuple(map(plain, best)), plan.varying)
        asked = _asked("ordering", compare, plan, stratum, campaign)
        if asked and not asked[1].confounded:
            p = max(p_of_difference(sides[a], sides[b]) for a, b in itertools.pairwise(best))
            p = min(1.0, p * math.comb(len(best), 2))
            yield Shape(ORDERED, plan, *asked, tuple(best), p, (stratum,))
