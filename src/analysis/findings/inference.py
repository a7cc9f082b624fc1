"""From what was tested to conclusions: each has its numbers first, and is then put into words."""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from analysis.base.words import Level, in_order
from analysis.claims.model import Expectation
from analysis.estimates.campaign import Campaign
from analysis.estimates.finding import Finding
from analysis.estimates.quantities import findings
from analysis.estimates.question import Question
from analysis.estimates.sentences import Statement
from analysis.estimates.spelling import Stratum, differing, nameable, plain, slug
from analysis.estimates.stats import Estimate
from analysis.findings.conclusion import (
    CONFOUNDED,
    CROSSES,
    DIFFERS,
    EQUAL,
    GROWS,
    SEEN,
    SESSION,
    STANDING,
    STOPS,
    UNKNOWN,
    UNORDERED,
    Conclusion,
    borne_out,
)
from analysis.findings.plans import Plan
from analysis.findings.points import points
from analysis.findings.shapes import THRESHOLD, Shape
from analysis.findings.trials import MARGIN, PASSED, Series, Trial
from analysis.schema.factors import SPOKEN

# The next campaign may lie so many half widths of this one's interval away, and so near at least.
ROOM, NEAR = 2.0, 0.05
AHEAD = Expectation(relation="at-least", value=1.0)
_SYSTEM = ("cluster", "interconnect", "case")


def of_pairs(series: Series, campaign: Campaign) -> Iterator[Conclusion]:
    """Combine the strata in which a pair of levels has the same outcome; return whether it crosses over."""
    universe = [trial.finding.stratum for trial in series.trials]
    kinds: dict[tuple[Any, ...], list[int]] = {}
    for at, trial in enumerate(series.trials):
        up = trial.up if trial.word in (DIFFERS, CONFOUNDED, SESSION, UNORDERED) else True
        # How one system scales with one problem says nothing of another.
        system = _SYSTEM if series.plan.topic == "scaling" else ()
        named = trial.word == CONFOUNDED and trial.finding.confounded
        mixed = named.causes if named else ()
        key = (trial.word, up, *(trial.finding.stratum.get(name) for name in system), mixed)
        kinds.setdefault(key, []).append(at)
    for (word, up, *_), chosen in kinds.items():
        trials = [series.trials[at] for at in chosen]
        if word in STANDING:
            for select, fits in regions(universe, chosen):
                yield _pair(series, word, up, select, [series.trials[at] for at in fits], campaign)
        elif word != PASSED and (word != UNKNOWN or not series.plan.aliased):
            yield _open(series, word, trials, campaign)
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
    """Conclude that two levels differ, or that they are equal, where a selection of strata has them."""
    plan, equal = series.plan, word == EQUAL
    levels = (series.one, series.other) if up else (series.other, series.one)
    strata = [trial.finding.stratum for trial in trials]
    asked = plan.measured.question("equality" if equal else "speedup", compare=plan.compare(*levels))
    asked = replace(asked, margin=MARGIN if equal else 0.0)
    question, found = _asked(plan, campaign, asked, strata, select)
    expect = _expected(word, found)
    decisive = borne_out(question, expect, found)
    word = word if decisive else UNKNOWN
    return _worded(
        plan, campaign, word, question, found, levels, strata,
        weakest=decisive or _least_sure(found),
        expect=expect,
        size=max(min(map(_certain, found)), 0.0) if word == DIFFERS else 0.0,
        p=_largest(trial.p_equal if equal else trial.p for trial in trials),
        q=_largest(trial.q for trial in trials),
    )  # fmt: skip


def _open(series: Series, word: str, trials: Sequence[Trial], campaign: Campaign) -> Conclusion:
    """Conclude that nothing is decided, or was seen in single runs; the side ahead more often comes first."""
    plan, strata = series.plan, [trial.finding.stratum for trial in trials]
    up = 2 * sum(trial.up for trial in trials) >= len(trials)
    levels = (series.one, series.other) if up else (series.other, series.one)
    asked = plan.measured.question("speedup", compare=plan.compare(*levels))
    found = [trial.finding for trial in trials]
    if not up:
        found = [one for one in plan.answers(*levels, campaign) if one.stratum in strata]
    return _worded(
        plan, campaign, word, _narrowed(plan, campaign, asked, strata, {}), found, levels, strata,
        weakest=_least_sure(found), size=max(min(map(_certain, found)), 0.0) if word == CONFOUNDED else 0.0,
        p=_largest(trial.p for trial in trials), q=_largest(trial.q for trial in trials),
    )  # fmt: skip


def _crossing(series: Series, campaign: Campaign) -> Iterator[Conclusion]:
    """Conclude that each side is ahead somewhere, where a claim of all these strata holds."""
    plan, trials = series.plan, [one for one in series.trials if one.word == DIFFERS]
    strata = [trial.finding.stratum for trial in series.trials]
    levels = (series.one, series.other)
    asked = plan.measured.question("crossover", compare=plan.compare(*levels))
    question, found = _asked(plan, campaign, asked, strata, {})
    decisive = borne_out(question, AHEAD, found)
    if decisive is None:
        return
    sides = [[one for one in trials if one.up is up] for up in (True, False)]
    yield _worded(
        plan, campaign, CROSSES, question, found, levels, strata, weakest=decisive,
        size=min(max(abs(_certain(one.finding)) for one in side) for side in sides),
        p=max(min(trial.p or 0.0 for trial in side) for side in sides),
        q=max(min(trial.q or 0.0 for trial in side) for side in sides),
    )  # fmt: skip


def of_shapes(
    shapes: Sequence[Shape], q_values: Sequence[float], limit: float, campaign: Campaign
) -> Iterator[Conclusion]:
    """Conclude that shapes are there which are no chance; those of one kind in several strata are one.

    What its claim's rule does not bear out is left out.
    """
    tested: dict[tuple[Any, ...], list[Stratum]] = {}
    same: dict[tuple[Any, ...], list[tuple[Shape, float]]] = {}
    for shape, q in zip(shapes, q_values, strict=True):
        tested.setdefault((shape.word, id(shape.plan)), []).append(shape.strata[0])
        if q <= limit:
            same.setdefault((shape.word, id(shape.plan), *shape.kind), []).append((shape, q))
    for (word, plan, *_), group in same.items():
        universe = tested[word, plan]
        chosen = [universe.index(shape.strata[0]) for shape, _ in group]
        single = word == GROWS or len(group) == 1
        for select, fits in [({}, [at]) for at in chosen] if single else regions(universe, chosen):
            members = [one for one, at in zip(group, chosen, strict=True) if at in fits]
            q = max(q for _, q in members)
            yield from _shaped([shape for shape, _ in members], q, select, campaign)


def _shaped(
    shapes: Sequence[Shape], q: float, select: Mapping[str, Any], campaign: Campaign
) -> Iterator[Conclusion]:
    """Put a shape that some strata have in common into one conclusion."""
    first, strata = shapes[0], list(shapes[0].strata)
    question, found = first.question, [one.finding for one in shapes]
    if len(shapes) > 1:
        strata = [one.strata[0] for one in shapes]
        question, found = _asked(first.plan, campaign, question, strata, select)
    weakest = min(found, key=lambda one: min((step.low for step in one.steps), default=0.0))
    estimate, expect = weakest.estimate, AHEAD
    if first.word == GROWS:
        expect = _between(*(_band(estimate) if estimate.low > 1 else (1.0, math.inf)))
        size = max(_certain(weakest), 0.0)
    elif first.word == STOPS:
        expect, size = _between(estimate.low, estimate.high), math.log1p(THRESHOLD)
    else:
        steps = weakest.steps
        size = max(min(math.log(one.low) if one.bounded else 0.0 for one in steps), 0.0)
    if decisive := borne_out(question, expect, found):
        levels = (first.levels[0], first.levels[-1]) if first.word == STOPS else first.levels
        yield _worded(
            first.plan, campaign, first.word, question, found, levels, strata, weakest=decisive,
            expect=expect, size=size, p=max(one.p for one in shapes), q=q,
        )  # fmt: skip


def _worded(
    plan: Plan,
    campaign: Campaign,
    word: str,
    question: Question,
    found: Sequence[Finding],
    levels: Sequence[Level],
    strata: Sequence[Stratum],
    *,
    weakest: Finding,
    expect: Expectation = AHEAD,
    size: float = 0.0,
    p: float | None,
    q: float | None,
) -> Conclusion:
    """Make a conclusion of its numbers."""
    answer = Statement(question, found, campaign, plan.unit, word not in (UNKNOWN, SEEN))
    return Conclusion(
        id=_id(campaign, plan, word, levels, question.select or {}),
        topic=plan.topic,
        question=question,
        expect=expect,
        finding=weakest,
        sentence=answer.sentence,
        footnote=answer.footnote(weakest),
        word=word,
        size=size,
        p=p,
        q=q,
        points=points(plan, campaign, strata),
    )


def _narrowed(
    plan: Plan, campaign: Campaign, question: Question, strata: Sequence[Stratum], select: Mapping[str, Any]
) -> Question:
    """Ask a question of some strata alone, selected by what distinguishes them and by what they all share."""
    runs = campaign.runs
    own = runs[runs["valid"] & (runs["application"] == plan.measured.application)]
    shared = pinned(own, strata, (plan.factor, *plan.varying))
    return replace(question, select={**plan.measured.select, **shared, **select})


def _asked(
    plan: Plan, campaign: Campaign, question: Question, strata: Sequence[Stratum], select: Mapping[str, Any]
) -> tuple[Question, list[Finding]]:
    """Ask a question of some strata alone, and answer it."""
    narrowed = _narrowed(plan, campaign, question, strata, select)
    return narrowed, findings(narrowed, campaign)


def _id(campaign: Campaign, plan: Plan, word: str, levels: Sequence[Level], select: Mapping[str, Any]) -> str:
    """Name a conclusion by what it compares and where: the same finding has the same id in every campaign."""
    between = {
        EQUAL: "as",
        UNKNOWN: "or",
        CONFOUNDED: "with",
        SESSION: "against",
        UNORDERED: "beside",
        CROSSES: "crosses",
        STOPS: "to",
        GROWS: "grows-over",
    }.get(word, "over")
    measure = "" if plan.measured.variable == "figure_of_merit" else plan.measured.variable
    unnamed = ("application", "profiler", "concurrent_jobs", plan.factor)
    places = [level for name, level in select.items() if name not in unnamed]
    flat = [each for one in places for each in (one if isinstance(one, list) else [one])]
    flat = [each for each in flat if not isinstance(each, Mapping)]
    if plan.factor == "nodes" or plan.aliased:
        flat += [link for level in levels for link in plan.where.get(level, {}).values()]
    named = [name for level in levels for name in (between, level)][1:]
    return slug(campaign.name, plan.measured.application, measure, plan.factor, *named, *flat)


# ---- where it holds: strata described by a selection that fits them and no others


def regions(universe: Sequence[Stratum], chosen: Sequence[int]) -> Iterator[tuple[dict[str, Any], list[int]]]:
    """Describe chosen strata of all by selections: each with the positions of the strata that it fits.

    A selection has a level, or a list of them, of each factor in which the strata differ. Where the levels of
    the chosen strata would fit others as well, these are split along the first factor in which they
    differ. What no selection can name, a blank, is left out.
    """
    yield from _split(universe, list(chosen), differing(universe))


def _split(
    universe: Sequence[Stratum], chosen: list[int], names: Sequence[str]
) -> Iterator[tuple[dict[str, Any], list[int]]]:
    select = {name: in_order({plain(universe[at][name]) for at in chosen}) for name in names}
    select = {name: levels for name, levels in select.items() if all(map(nameable, levels))}
    fits = [at for at, one in enumerate(universe) if all(one[name] in own for name, own in select.items())]
    if sorted(fits) == sorted(chosen):
        yield {name: one[0] if len(one) == 1 else one for name, one in select.items()}, chosen
        return
    by = next((name for name, levels in select.items() if len(levels) > 1), "")
    for level in select.get(by, ()):
        yield from _split(universe, [at for at in chosen if universe[at][by] == level], names)


def pinned(runs: pd.DataFrame, strata: Sequence[Stratum], moving: Collection[str]) -> dict[str, Level]:
    """Select, for factors that vary between runs, the levels that all strata share, as a claim's conditions.

    `moving` are factors that are compared, or change with them.
    """
    found: dict[str, Level] = {}
    for name in SPOKEN:
        levels = {plain(stratum[name]) for stratum in strata if name in stratum}
        if name in moving or len(levels) != 1 or not all(map(nameable, levels)):
            continue
        # As many ranks on as many nodes have as many ranks a node.
        if runs[name].nunique(dropna=False) > 1 and not (name == "ranks_per_node" and "ranks" in found):
            found[name] = next(iter(levels))
    return found


# ---- how sure it is, and what the next campaign is compared with


def _largest(values: Iterable[float | None]) -> float | None:
    known = list(values)
    return None if None in known else max(value for value in known if value is not None)


def _certain(finding: Finding) -> float:
    """Return the log ratio next to 1 of which the interval is sure, or that of the value without one."""
    one = finding.estimate
    if not one.bounded or one.low <= 0:
        return math.log(one.value)
    return math.log(one.low if one.low > 1 or one.high >= 1 else one.high)


def _least_sure(found: Sequence[Finding]) -> Finding:
    return min(found, key=_certain)


def _expected(word: str, found: Sequence[Finding]) -> Expectation:
    """Expect what was found, with room for another sample."""
    if word == EQUAL:
        return Expectation(relation="equal", tolerance=MARGIN)
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
    """Round an end of a band outwards to thousandths; one next to 1 to as many digits as distinguish it."""
    for digits in (3, 5, 7):
        rounded = towards(value * 10**digits) / 10**digits
        if rounded != 1.0:
            return float(rounded)
    return value
