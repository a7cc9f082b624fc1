"""From what was tested to a conclusion: its question, what the next campaign is held against, its words."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from analysis.base.words import Level, in_order
from analysis.claims.model import Expectation
from analysis.claims.resolution import resolve
from analysis.claims.verdicts import HOLDS
from analysis.estimates.campaign import Campaign
from analysis.estimates.finding import Finding
from analysis.estimates.quantities import findings
from analysis.estimates.question import Question
from analysis.estimates.stats import Estimate
from analysis.findings import sentences
from analysis.findings.conclusion import (
    CROSSES,
    DIFFERS,
    EQUAL,
    GROWS,
    ORDERED,
    STANDING,
    STOPS,
    UNKNOWN,
    Conclusion,
    as_claim,
)
from analysis.findings.naming import display, listed, noun, slug
from analysis.findings.plans import PARTS, Plan
from analysis.findings.regions import Stratum, differing, pinned, plain, regions
from analysis.findings.shapes import THRESHOLD, Shape
from analysis.findings.shown import points
from analysis.findings.trials import MARGIN, PASSED, Series, Trial

# The next campaign may lie so many half widths of this one's interval away, and so near at least.
ROOM, NEAR = 2.0, 0.05
_SYSTEM = ("cluster", "interconnect", "case")


def of_pairs(series: Series, campaign: Campaign) -> Iterator[Conclusion]:
    """Put together the strata in which a pair of levels says the same; and say if it crosses over."""
    universe = [trial.finding.stratum for trial in series.trials]
    kinds: dict[tuple[Any, ...], list[int]] = {}
    for at, trial in enumerate(series.trials):
        side = trial.up if trial.word == DIFFERS else True
        # How one system scales with one problem says nothing of another.
        system = (
            [trial.finding.stratum.get(name) for name in _SYSTEM] if series.plan.topic == "scaling" else []
        )
        kinds.setdefault((trial.word, side, *system), []).append(at)
    for (word, up, *_), chosen in kinds.items():
        trials = [series.trials[at] for at in chosen]
        if word == PASSED:
            continue
        if word not in STANDING:
            yield _open(series, word, trials, campaign)
            continue
        for select, fits in regions(universe, chosen):
            yield _pair(series, word, up, select, [series.trials[at] for at in fits], campaign)
    if {(DIFFERS, True), (DIFFERS, False)} <= kinds.keys():
        yield from _crossing(series, campaign)


def _pair(
    series: Series,
    word: str,
    up: bool,
    select: Mapping[str, Any],
    trials: Sequence[Trial],
    campaign: Campaign,
) -> Conclusion:
    plan = series.plan
    levels = (series.one, series.other) if up else (series.other, series.one)
    strata = [trial.finding.stratum for trial in trials]
    question = replace(
        plan.measured.question("equality" if word == EQUAL else "speedup", compare=plan.compare(*levels)),
        margin=MARGIN if word == EQUAL else 0.0,
        select=_select(plan, campaign, strata, select),
    )
    found = findings(question, campaign)
    p_values = [trial.p_equal if word == EQUAL else trial.p for trial in trials]
    one = _conclusion(plan, campaign, word, question, _weakest(word, found), levels, strata)
    one = replace(
        one,
        expect=_expected(word, found),
        sentence=_pair_sentence(plan, campaign, word, levels, found, question, series),
        size=0.0 if word == EQUAL else max(min(map(_certain, found)), 0.0),
        p=_largest(p_values),
        q=_largest([trial.q for trial in trials]),
    )
    return _borne_out(one, campaign, found)


def _open(series: Series, word: str, trials: Sequence[Trial], campaign: Campaign) -> Conclusion:
    """Say what is not decided, or was seen in single runs; the side that is ahead more often comes first."""
    plan, strata = series.plan, [trial.finding.stratum for trial in trials]
    up = 2 * sum(trial.up for trial in trials) >= len(trials)
    levels = (series.one, series.other) if up else (series.other, series.one)
    shared = _select(plan, campaign, strata, {})
    question = replace(plan.measured.question("speedup", compare=plan.compare(*levels)), select=shared)
    found = [trial.finding for trial in trials]
    if not up:
        found = [one for one in plan.answers(*levels, campaign) if one.stratum in strata]
    one = _conclusion(plan, campaign, word, question, _weakest(DIFFERS, found), levels, strata)
    return replace(
        one,
        sentence=_open_sentence(plan, campaign, word, levels, found, question),
        p=_largest([trial.p for trial in trials]),
        q=_largest([trial.q for trial in trials]),
    )


def _open_sentence(
    plan: Plan,
    campaign: Campaign,
    word: str,
    levels: tuple[Level, Level],
    found: Sequence[Finding],
    question: Question,
) -> str:
    select = question.select or {}
    place = sentences.within(campaign, select, _spoken(plan, campaign, select, ()))
    if word == UNKNOWN:
        names = [sentences.subject(plan, campaign, level) for level in levels]
        sure = sentences.in_brackets(found, middle=True)
        return f"Whether {names[0]} or {names[1]} is ahead {place} {sure}"
    by = sentences.times([one.estimate for one in found])
    ahead = sum(one.estimate.value > 1 for one in found)
    runs = (
        "in single runs"
        if len(found) == 1
        else f"ahead in {ahead} of {len(found)} comparisons of single runs"
    )
    return sentences.said(f"{sentences.ahead(plan, campaign, *levels, by)} {place}, {runs}")


def _select(
    plan: Plan, campaign: Campaign, strata: Sequence[Stratum], select: Mapping[str, Any]
) -> dict[str, Any]:
    """Select the runs of some strata, by what tells them from others and by what they all share."""
    runs = campaign.runs
    own = runs[runs["valid"] & (runs["application"] == plan.measured.application)]
    return {**plan.measured.select, **pinned(own, strata, (plan.factor, *plan.varying)), **select}


def _conclusion(
    plan: Plan,
    campaign: Campaign,
    word: str,
    question: Question,
    finding: Finding,
    levels: Sequence[Level],
    strata: Sequence[Stratum],
) -> Conclusion:
    """Make a conclusion that has everything but its sentence, its size and how likely chance is."""
    select = question.select or {}
    spoken = _spoken(plan, campaign, select, ())
    rest = sentences.where(campaign, select, [name for name in select if name not in spoken])
    rest = ", ".join(filter(None, (rest, _also(plan, campaign, finding))))
    return Conclusion(
        id=_id(campaign, plan, word, levels, select),
        topic=plan.topic,
        question=question,
        expect=Expectation(relation="at-least", value=1.0),
        finding=finding,
        sentence="",
        footnote=sentences.footnote(campaign, finding, plan.unit, rest),
        word=word,
        size=0.0,
        p=None,
        q=None,
        page="",
        shown=points(plan, campaign, strata),
    )


def _also(plan: Plan, campaign: Campaign, finding: Finding) -> str:
    """Say which clusters or their parts differ with the factor: what is theirs is in the comparison."""
    runs = plan.frame[plan.frame["run"].isin(finding.runs)]
    parts = [name for name in plan.varying if name in ("cluster", *PARTS, "ranks_per_node")]
    words = [
        f"{name.replace('_', ' ')} {listed(_names(campaign, name, runs[name]))}"
        for name in parts
        if runs[name].nunique() > 1 and name != plan.factor and plan.factor != "nodes"
    ]
    return f"other too: {'; '.join(words)}" if words else ""


def _names(campaign: Campaign, factor: str, levels: pd.Series) -> list[str]:
    known = in_order({plain(level) for level in levels})
    return [display(campaign, factor, one) if isinstance(one, str) else f"{one:g}" for one in known]


def _spoken(
    plan: Plan, campaign: Campaign, select: Mapping[str, Any], universe: Sequence[Stratum]
) -> list[str]:
    names = differing(universe) if universe else ()
    return sentences.spoken(campaign, select, names, (plan.factor, *plan.varying))


def _borne_out(one: Conclusion, campaign: Campaign, found: Sequence[Finding]) -> Conclusion:
    """Take back the word of a conclusion that its claim's own rule does not bear out."""
    if one.word in STANDING and resolve(as_claim(one, campaign.name), found).word != HOLDS:
        return replace(one, word=UNKNOWN, size=0.0)
    return one


def _largest(values: Iterable[float | None]) -> float | None:
    known = list(values)
    return None if None in known else max(value for value in known if value is not None)


def _certain(finding: Finding) -> float:
    """Return the log ratio that the interval is sure of, or that of the value where there is none."""
    one = finding.estimate
    return math.log(one.low) if one.bounded and one.low > 0 else math.log(one.value)


def _weakest(word: str, found: Sequence[Finding]) -> Finding:
    if word == EQUAL:
        return max(found, key=lambda one: abs(math.log(one.estimate.value)))
    return min(found, key=_certain)


# ---- what the next campaign is held against


def _expected(word: str, found: Sequence[Finding]) -> Expectation:
    """Expect what was found, with room for another sample."""
    if word == EQUAL:
        return Expectation(relation="equal", tolerance=MARGIN)
    if word != DIFFERS:
        return Expectation(relation="at-least", value=1.0)
    low, high = zip(*(_band(one.estimate) for one in found), strict=True)
    return _between(min(low), max(high))


def _between(low: float, high: float) -> Expectation:
    """Expect a value in a range, whose upper end may be infinite."""
    if math.isfinite(high):
        return Expectation(relation="range", low=low, high=high)
    return Expectation(relation="at-least", value=low)


def _band(one: Estimate) -> tuple[float, float]:
    """Widen an interval above 1 on logarithms; it stays clear of 1 by half of what it is clear now."""
    value, low, high = (math.log(x) for x in (one.value, one.low, one.high))
    below = max(value - max(ROOM * (value - low), NEAR), low / 2)
    above = value + max(ROOM * (high - value), NEAR)
    return _rounded(math.exp(below), math.floor), _rounded(math.exp(above), math.ceil)


def _rounded(value: float, towards: Any) -> float:
    """Round an end of a band outwards to thousandths; one next to 1 to as many digits as keep it apart."""
    for digits in (3, 5, 7):
        rounded = towards(value * 10**digits) / 10**digits
        if rounded != 1.0:
            return float(rounded)
    return value


# ---- words


def _id(campaign: Campaign, plan: Plan, word: str, levels: Sequence[Level], select: Mapping[str, Any]) -> str:
    """Name a conclusion by what it compares and where: the same finding has the same id in every campaign."""
    between = {EQUAL: "as", UNKNOWN: "or", CROSSES: "crosses", STOPS: "to", GROWS: "grows-over"}.get(
        word, "over"
    )
    measure = "" if plan.measured.variable == "figure_of_merit" else plan.measured.variable
    apart = ("application", "profiler", "concurrent_jobs", plan.factor)
    places = [level for name, level in select.items() if name not in apart]
    flat = [each for one in places for each in (one if isinstance(one, list) else [one])]
    flat = [each for each in flat if not isinstance(each, Mapping)]
    if plan.factor == "nodes":
        flat += [link for level in levels for link in plan.where.get(level, {}).values()]
    named = [name for level in levels for name in (between, level)][1:]
    return slug(campaign.name, plan.measured.application, measure, plan.factor, *named, *flat)


def _pair_sentence(
    plan: Plan,
    campaign: Campaign,
    word: str,
    levels: tuple[Level, Level],
    found: Sequence[Finding],
    question: Question,
    series: Series,
) -> str:
    select = question.select or {}
    universe = [trial.finding.stratum for trial in series.trials]
    place = sentences.within(campaign, select, _spoken(plan, campaign, select, universe))
    names = [sentences.subject(plan, campaign, level) for level in levels]
    if word == EQUAL:
        sure = sentences.in_brackets(found, middle=True)
        return sentences.said(f"{listed(names)} are equal within {MARGIN:.0%} {place} {sure}")
    by = sentences.times([one.estimate for one in found])
    text = sentences.ahead(plan, campaign, *levels, by)
    most = _most(plan, campaign, found, question, universe)
    return sentences.said(
        f"{text} {place}{most}{_efficient(plan, levels, found)} {sentences.in_brackets(found)}"
    )


def _most(
    plan: Plan, campaign: Campaign, found: Sequence[Finding], question: Question, universe: Sequence[Stratum]
) -> str:
    """Say where of several strata the ratio is the largest."""
    if len(found) < 2:
        return ""
    best = max(found, key=lambda one: one.estimate.value).stratum
    names = differing([one.stratum for one in found])
    return f", most {sentences.where(campaign, best, names)}"


def _efficient(plan: Plan, levels: tuple[Level, Level], found: Sequence[Finding]) -> str:
    """Say the parallel efficiency of a scaling: the ratio over that of the ranks."""
    if plan.topic != "scaling" or any(isinstance(level, str) for level in levels):
        return ""
    more = float(levels[0]) / float(levels[1])
    shares = sorted(one.estimate.value / more for one in found)
    if more <= 1:
        return ""
    ends = (
        f"{shares[0]:.0%}"
        if f"{shares[0]:.0%}" == f"{shares[-1]:.0%}"
        else f"{shares[0]:.0%} to {shares[-1]:.0%}"
    )
    return f", an efficiency of {ends}"


# ---- crossovers, growths, stops, orders


def _crossing(series: Series, campaign: Campaign) -> Iterator[Conclusion]:
    """Say that each side is ahead somewhere, where a claim of all these strata holds."""
    plan, trials = series.plan, [one for one in series.trials if one.word == DIFFERS]
    strata = [trial.finding.stratum for trial in series.trials]
    levels = (series.one, series.other)
    question = replace(
        plan.measured.question("crossover", compare=plan.compare(*levels)),
        select=_select(plan, campaign, strata, {}),
    )
    found = findings(question, campaign)
    sides = [[one for one in trials if one.up is up] for up in (True, False)]
    places = [_places(campaign, plan, [one.finding.stratum for one in side], strata) for side in sides]
    names = [sentences.subject(plan, campaign, level) for level in levels]
    text = f"{names[0]} is ahead {places[0]}, {names[1]} {places[1]}"
    certain = [max(abs(_certain_either(one.finding.estimate)) for one in side) for side in sides]
    one = replace(
        _conclusion(plan, campaign, CROSSES, question, found[0], levels, strata),
        sentence=sentences.said(f"{text} {sentences.within(campaign, question.select or {}, ())}"),
        size=min(certain),
        p=max(min(trial.p or 0.0 for trial in side) for side in sides),
        q=max(min(trial.q or 0.0 for trial in side) for side in sides),
    )
    one = _borne_out(one, campaign, found)
    if one.word == CROSSES:
        yield one


def _places(campaign: Campaign, plan: Plan, strata: Sequence[Stratum], universe: Sequence[Stratum]) -> str:
    names = differing(universe)
    select = {name: sorted({one[name] for one in strata}, key=str) for name in names}
    return sentences.where(campaign, select, names)


def _certain_either(one: Estimate) -> float:
    return math.log(one.low) if one.low > 1 else math.log(one.high)


def of_shapes(
    shapes: Sequence[Shape], q_values: Sequence[float], limit: float, campaign: Campaign
) -> Iterator[Conclusion]:
    """Conclude that shapes are there which are no chance; those of one kind in several strata are one.

    What its claim's rule does not bear out is left out.
    """
    tested: dict[tuple[Any, ...], list[Stratum]] = {}
    alike: dict[tuple[Any, ...], list[tuple[Shape, float]]] = {}
    for shape, q in zip(shapes, q_values, strict=True):
        tested.setdefault((shape.word, id(shape.plan)), []).append(shape.strata[0])
        if q <= limit:
            alike.setdefault((shape.word, id(shape.plan), *shape.kind), []).append((shape, q))
    for (word, plan, *_), group in alike.items():
        universe = tested[word, plan]
        apart = word == GROWS or len(group) == 1
        chosen = [universe.index(shape.strata[0]) for shape, _ in group]
        merged = [({}, [at]) for at in chosen] if apart else list(regions(universe, chosen))
        for select, fits in merged:
            members = [one for one, at in zip(group, chosen, strict=True) if at in fits]
            one = _shaped([shape for shape, _ in members], select, campaign)
            one = replace(one, q=max(q for _, q in members))
            if one.word == word:
                yield one


def _shaped(shapes: Sequence[Shape], select: Mapping[str, Any], campaign: Campaign) -> Conclusion:
    """Put the shape that some strata have alike into one conclusion."""
    shape = shapes[0]
    found = [one.finding for one in shapes]
    if len(shapes) > 1:
        strata = [one.strata[0] for one in shapes]
        question = replace(shape.question, select=_select(shape.plan, campaign, strata, select))
        found = findings(question, campaign)
        shape = replace(shape, question=question, strata=tuple(strata), finding=_least_sure(found))
    one = _conclusion(
        shape.plan, campaign, shape.word, shape.question, shape.finding, _levels(shape), shape.strata
    )
    sentence, expect, size = {GROWS: _growth, STOPS: _stop, ORDERED: _order}[shape.word](shape, campaign)
    one = replace(
        one, sentence=sentences.said(sentence), expect=expect, size=size, p=max(each.p for each in shapes)
    )
    return _borne_out(one, campaign, found)


def _least_sure(found: Sequence[Finding]) -> Finding:
    """Return the finding with the least step, or whose stop is the least sure."""
    return min(found, key=lambda one: min(step.low for step in one.steps))


def _levels(shape: Shape) -> Sequence[Level]:
    return (shape.levels[0], shape.levels[-1]) if shape.word == STOPS else shape.levels


def _growth(shape: Shape, campaign: Campaign) -> tuple[str, Expectation, float]:
    compare, estimate = shape.question.compare, shape.finding.estimate
    assert compare is not None
    assert compare.along is not None
    assert shape.ends is not None
    plan, (along, high, low) = shape.plan, compare.along
    ends = [one.finding.estimate.value for one in shape.ends]
    if ends[1] < ends[0]:  # the trials have the levels the other way round
        ends = [1 / value for value in ends]
    first, second = (sentences.subject(plan, campaign, level) for level in shape.levels)
    places = [sentences.where(campaign, {along: level}, (along,)) for level in (low, high)]
    if ends[0] < 1 < ends[1]:
        text = f"{first} goes from {ends[0]:.2f} times the speed of {second} {places[0]}"
        text += f" to {ends[1]:.2f} times {places[1]}"
    else:
        grows = ends[0] >= 1
        leader, other = (first, second) if grows else (second, first)
        values = ends if grows else [1 / value for value in ends]
        text = f"the lead of {leader} over {other} {'grows' if grows else 'shrinks'}"
        text += f" from {values[0]:.2f} times {places[0]} to {values[1]:.2f} times {places[1]}"
    select = shape.question.select or {}
    place = sentences.within(campaign, select, _spoken(plan, campaign, select, ()))
    sure = f"(by {sentences.ratio(estimate)} times, {sentences.interval(estimate)})"
    least, most = _band(estimate) if estimate.low > 1 else (1.0, math.inf)
    return f"{text} {place} {sure}", _between(least, most), max(_certain(shape.finding), 0.0)


def _stop(shape: Shape, campaign: Campaign) -> tuple[str, Expectation, float]:
    estimate, plan = shape.finding.estimate, shape.plan
    select = shape.question.select or {}
    place = sentences.within(campaign, select, _spoken(plan, campaign, select, ()))
    last = shape.levels[-1]
    at = noun(campaign, plan.factor, estimate.value)
    if estimate.value == last:
        text = f"every step up to {at} brings more than {THRESHOLD:.0%} {place}"
    else:
        text = f"beyond {at} the next step brings less than {THRESHOLD:.0%} {place}"
    return text, _between(estimate.low, estimate.high), math.log1p(THRESHOLD)


def _order(shape: Shape, campaign: Campaign) -> tuple[str, Expectation, float]:
    plan, select = shape.plan, shape.question.select or {}
    names = [sentences.subject(plan, campaign, level) for level in shape.levels]
    place = sentences.within(campaign, select, _spoken(plan, campaign, select, ()))
    steps: Collection[Estimate] = shape.finding.steps
    size = max(min(math.log(one.low) if one.bounded else 0.0 for one in steps), 0.0)
    by = ", then ".join(sentences.ratio(one) for one in steps)
    text = f"{names[0]} is ahead of {', then of '.join(names[1:])} {place} (by {by} times)"
    return text, Expectation(relation="at-least", value=1.0), size
