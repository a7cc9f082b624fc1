"""A conclusion of a campaign: its question, what was found, and what the next campaign is compared with.

All conclusions are made here, from drafts: the numbers first, then the words.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.base.models import one_or_more
from analysis.base.words import Level, capitalised, counted, percent
from analysis.claims.model import Claim, Expectation
from analysis.claims.rules import HOLDS
from analysis.claims.verdicts import resolve
from analysis.estimates.asking import ASKS
from analysis.estimates.campaign import Campaign
from analysis.estimates.differences import MARGIN
from analysis.estimates.finding import LIMITED, Finding, first_levels, varying
from analysis.estimates.measures import MEASURES
from analysis.estimates.numerals import display_unit
from analysis.estimates.quantities import findings
from analysis.estimates.question import Question
from analysis.estimates.ratios import in_margin, side
from analysis.estimates.sentences import Statement
from analysis.estimates.spelling import Stratum, display, either, measure_name, pinned, slug, stratum_names
from analysis.estimates.stats import Estimate
from analysis.estimates.tables import summary
from analysis.findings.plans import Plan
from analysis.schema.factors import label

# The topics of the five reports' claims, in the order in which the reports have them, with their titles.
_TITLES: Mapping[str, str] = {
    "problem size": "Problem size", "run duration": "Run duration", "compiler flags": "Compiler and version",
    "hardware": "Machines", "CPU generation": "CPU generation", "interconnect": "Interconnect",
    "links": "Links", "scaling": "Scaling", "memory modules": "Memory modules", "MPI library": "MPI library",
    "MPI tuning": "MPI tuning", "placement": "Placement and jobs at once", "profilers": "Profilers",
    "compute and MPI time": "Compute and MPI time", "MPI calls": "MPI calls",
    "message sizes": "Message sizes", "data volume": "Data volume", "memory": "Memory",
    "energy and cost": "Energy and cost",
}  # fmt: skip
# Those of factors that no report has claims about follow.
TOPICS: Mapping[str, str] = {
    **_TITLES,
    **{one.topic: capitalised(one.topic) for one in ASKS if one.topic not in _TITLES},
}

# What a conclusion says, from the surest kind to the least.
DIFFERS = "differs"
GROWS = "grows"  # a lead, along another factor
CROSSES = "crosses over"
ORDERED = "ordered"
STOPS = "stops"  # scaling, from a level on
EQUAL = "equal"
IS = "is"  # a share, a size, a rate: nothing was compared
CONFOUNDED = "confounded"  # differs, but several causes have changed together
UNKNOWN = "cannot tell"
SEEN = "seen"  # in single runs
SESSION = "in that session"  # a difference or an equality whose sides were not interleaved
UNORDERED = "order not known"  # one of runs whose order is not known
WORDS = (DIFFERS, GROWS, CROSSES, ORDERED, STOPS, EQUAL, IS, CONFOUNDED, SESSION, UNORDERED, UNKNOWN, SEEN)
# What is shown as undecided.
OPEN = (CONFOUNDED, SESSION, UNORDERED, UNKNOWN, SEEN)
# What stands, so that it is written as a claim.
STANDING = (DIFFERS, GROWS, CROSSES, ORDERED, STOPS, EQUAL, IS)

# What is between two levels in an id; "over" elsewhere.
_BETWEEN: Mapping[str, str] = {
    **{EQUAL: "as", UNKNOWN: "or", CONFOUNDED: "with", SESSION: "against", UNORDERED: "beside"},
    **{CROSSES: "crosses", STOPS: "to", GROWS: "grows-over"},
}
# The next campaign's ratio may lie so many half widths of this one's interval away, and so near at least; its
# value of a measure so far from the ends of the interval, relative to them.
_ROOM, _NEAR, _SHARE = 2.0, 0.05, 0.1
ENOUGH = 6  # runs a side that give an interval at 95 %
THRESHOLD = 0.05  # gain of a step below which scaling has stopped
GAIN = math.log1p(THRESHOLD)

# The columns of `Conclusion.points`.
POINTS = ("series", "x", "median", "low", "high", "n", "confidence")


@dataclass(frozen=True)
class Conclusion:
    """One conclusion.

    `id` can be a claim's; `topic` is one of `TOPICS`. `question` uses the campaign's own levels, `expect` is
    the value for the next campaign. `finding` is the stratum, among those that agree, whose numbers the
    verdict on its claim shows. `sentence` has the winner first; `row` says it in a line, without reasons;
    `footnote` has the base value, numbers of runs, level of the interval, days and evidence. `word` is one of
    `WORDS`; `size` is |log ratio|, 0 if nothing differs. `p` belongs to its own test, `q` to all tests of the
    search; both are None without a test.

    `points` are the data of its figure: one row per point, columns `POINTS`, ends NaN without an interval,
    attrs ``unit xlabel ylabel``. `page` is the page that shows it, or empty.
    """

    id: str
    topic: str
    question: Question
    expect: Expectation
    finding: Finding
    sentence: str
    row: str
    footnote: str
    word: str
    size: float
    p: float | None
    q: float | None
    points: pd.DataFrame = field(repr=False)
    page: str = ""


@dataclass(frozen=True)
class ConclusionDraft:
    """What a conclusion is made of, before its claim is checked and its sentence is written.

    `question` is asked of `strata`: it selects the levels that they share and those of `chosen`, unless it is
    `narrow` already. `found` is what it finds; without it the campaign is asked. `levels` are those of the
    id, `named` its first parts. `plan` has what was compared; of a measure by itself there is none.
    """

    word: str
    question: Question
    named: tuple[Level, ...]
    strata: Sequence[Stratum] = ()
    chosen: Mapping[str, Any] = field(default_factory=dict)
    narrow: bool = False
    found: Sequence[Finding] = ()
    levels: Sequence[Level] = ()
    plan: Plan | None = None
    topic: str = ""
    unit: str = ""
    p: float | None = None
    q: float | None = None


def concluded(draft: ConclusionDraft, campaign: Campaign, pages: Mapping[str, str]) -> Iterator[Conclusion]:
    """Make the conclusion of a draft; none if the claim that it becomes does not hold of its runs.

    `pages` has the page of each topic that has one.
    Two levels whose claim does not hold may be equal or differ: of these nothing is known.
    """
    word, plan, question = draft.word, draft.plan, _narrowed(draft, campaign)
    found = draft.found or findings(question, campaign)
    expect = _expected(draft, found)
    decisive = borne_out(question, expect, found) if word in STANDING else _weakest(draft, found)
    if decisive is None:
        if word not in (DIFFERS, EQUAL):
            return
        word, decisive = UNKNOWN, _weakest(draft, found)
    answer = Statement(question, found, campaign, draft.unit, word not in (UNKNOWN, SEEN))
    named = _id(draft, word, question.select or {})
    figure = points(plan, campaign, draft.strata) if plan else values(answer)
    yield Conclusion(
        id=slug(campaign.name, *named),
        topic=draft.topic,
        question=question,
        expect=expect,
        finding=decisive,
        sentence=answer.sentence,
        row=answer.row,
        footnote=answer.footnote(decisive),
        word=word,
        size=_size(word, found),
        p=draft.p,
        q=draft.q,
        points=figure,
        page=pages.get(draft.topic, ""),
    )


def reason(one: Conclusion) -> str:
    """Say in a line why a conclusion was not drawn, and what would tell."""
    estimate = one.finding.estimate
    fewest = min(n for n in (estimate.n, estimate.n_baseline) if n is not None)
    each = "" if estimate.n_baseline is None else " a side"
    if one.word == CONFOUNDED:
        causes = one.finding.confounded.causes if one.finding.confounded else ()
        what = f"the cause may be {either(causes)}" if causes else "several causes changed together"
        return f"{what}; new-campaign --to-tell"
    if one.word == UNORDERED:
        return "order of runs not known; record their starts"
    if one.word == SESSION:
        return f"{LIMITED[one.finding.session][1]}; run the sides in turn, on several days"
    if one.word == SEEN or not estimate.settles:
        return f"{counted(fewest, 'run')}{each}; {ENOUGH} give an interval at 95 %"
    ends = f"{estimate.low:.2f} to {estimate.high:.2f} times"
    chance = "" if one.q is None else f", q {one.q:.2g}"
    rest = f"not significant among all comparisons{chance}; more runs"
    if not estimate.low <= 1 <= estimate.high:
        return f"{ends}, {rest}"
    if in_margin(estimate, MARGIN):
        return f"{estimate.low:.3f} to {estimate.high:.3f} times is within {percent(MARGIN)} of 1, but {rest}"
    return f"{ends} includes 1 and is wider than {percent(MARGIN)}; more runs"


def _narrowed(draft: ConclusionDraft, campaign: Campaign) -> Question:
    """Ask a question of some strata alone, selected by what distinguishes them and by what they all share."""
    question, plan = draft.question, draft.plan
    if draft.narrow:
        return question
    select = question.select or {}
    own = campaign.valid_of(select["application"])
    moving = (plan.factor, *plan.varying) if plan else ("profiler",) * MEASURES[question.variable].profile
    return replace(question, select={**select, **pinned(own, draft.strata, moving), **draft.chosen})


def _id(draft: ConclusionDraft, word: str, select: Mapping[str, Any]) -> list[Level]:
    """Name a conclusion by what it compares and where: the same finding has the same id in every campaign."""
    plan, unnamed = draft.plan, {"application", "profiler"}
    unnamed |= {"concurrent_jobs", plan.factor} if plan else set()
    places = [one for name, own in select.items() if name not in unnamed for one in one_or_more(own)]
    places = [one for one in places if not isinstance(one, Mapping)]
    if plan and (plan.factor == "nodes" or plan.aliased):
        places += [link for level in draft.levels for link in plan.where.get(level, {}).values()]
    between = [name for level in draft.levels for name in (_BETWEEN.get(word, "over"), level)]
    return [*draft.named, *between[1:], *places]


def borne_out(question: Question, expect: Expectation, found: Sequence[Finding]) -> Finding | None:
    """Return the finding that decides the claim which a conclusion is written as, None if it does not hold.

    It is the one whose numbers the claim's verdict has.
    """
    resolved = resolve(Claim("", "", "", "", question, expect), found, tested=False)
    return resolved.finding if resolved.word == HOLDS else None


# ---- how sure it is, and what the next campaign is compared with


def _certain(one: Estimate) -> float:
    """Return the log ratio next to 1 of which an interval is sure, or that of the value without one."""
    if not one.bounded or one.low <= 0:
        return math.log(one.value)
    return math.log(one.low if one.low > 1 or one.high >= 1 else one.high)


def _weakest(draft: ConclusionDraft, found: Sequence[Finding]) -> Finding:
    """Return what was found that says the least."""
    if draft.plan is None:
        return min(found, key=lambda one: one.estimate.n)
    return min(found, key=lambda one: _certain(one.estimate))


def _weakest_step(found: Sequence[Finding]) -> Finding:
    return min(found, key=lambda one: min((step.low for step in one.steps), default=0.0))


def _size(word: str, found: Sequence[Finding]) -> float:
    """Return the log ratio of which all that was found is sure, where something differs."""
    if word in (DIFFERS, CONFOUNDED, GROWS):
        return max(min(_certain(one.estimate) for one in found), 0.0)
    if word == STOPS:
        return GAIN
    if word == ORDERED:
        steps = _weakest_step(found).steps
        return max(min(math.log(one.low) if one.bounded else 0.0 for one in steps), 0.0)
    if word == CROSSES:  # of the lesser of the two leads
        leads = {sign: [one for one in found[0].steps if side(one) == sign] for sign in (1, -1)}
        return min(max(abs(_certain(one)) for one in own) for own in leads.values())
    return 0.0


def _expected(draft: ConclusionDraft, found: Sequence[Finding]) -> Expectation:
    """Expect what was found, with room for another sample."""
    estimates = [one.estimate for one in found]
    if draft.plan is None:
        return _expected_level(draft, found)
    if draft.word == EQUAL:
        return Expectation(relation="equal", tolerance=draft.question.margin)
    if draft.word == STOPS:
        stop = _weakest_step(found).estimate
        return _between(stop.low, stop.high)
    if draft.word == GROWS and not all(one.low > 1 for one in estimates):  # or of which one has no interval
        return _between(1.0, math.inf)
    if draft.word in (DIFFERS, GROWS):
        low, high = zip(*map(_band, estimates), strict=True)
        return _between(min(low), max(high))
    return Expectation(relation="at-least", value=1.0)


def _expected_level(draft: ConclusionDraft, found: Sequence[Finding]) -> Expectation:
    """Expect a measure as it was found, an exact one as it is."""
    unit, estimates = draft.unit, [one.estimate for one in found]
    if draft.question.quantity == "set":
        return Expectation(relation="equal", members=list(draft.question.members), unit=unit)
    low, high = min(one.low for one in estimates), max(one.high for one in estimates)
    if estimates[0].level == 1:
        return Expectation(relation="range", low=low, high=high, unit=unit)
    if low != low:  # single runs
        low = high = estimates[0].value
    width = max(high - low, _SHARE * abs(high)) / 2
    return Expectation(relation="range", low=max(low - width, 0.0), high=high + width, unit=unit)


def _between(low: float, high: float) -> Expectation:
    """Expect a value in a range, whose upper end may be infinite."""
    if math.isfinite(high):
        return Expectation(relation="range", low=low, high=high)
    return Expectation(relation="at-least", value=low)


def _band(one: Estimate) -> tuple[float, float]:
    """Widen an interval above 1 on logarithms; it stays clear of 1 by half of what it is clear now."""
    value, low, high = (math.log(x) for x in (one.value, one.low, one.high))
    below = max(value - max(_ROOM * (value - low), _NEAR), low / 2)
    above = value + max(_ROOM * (high - value), _NEAR)
    return _rounded(math.exp(below), math.floor), _rounded(math.exp(above), math.ceil)


def _rounded(value: float, towards: Any) -> float:
    """Round an end of a band outwards to thousandths; one next to 1 to as many digits as distinguish it."""
    for digits in (3, 5, 7):
        rounded = towards(value * 10**digits) / 10**digits
        if rounded != 1.0:
            return float(rounded)
    return value


# ---- its figure as a table


def points(plan: Plan, campaign: Campaign, strata: Sequence[Stratum]) -> pd.DataFrame:
    """Return the medians of every level of a plan's factor in some strata, as `Conclusion.points` has them.

    A series is a level and x the stratum: a number along the one numeric factor in which the strata differ,
    else its name. In a single stratum x is the level; of a numeric factor it is always.
    """
    frame = plan.frame
    at = np.full(len(frame), -1)
    for number, stratum in enumerate(strata):
        at[_within(frame, stratum)] = number
    kept = (at >= 0) & frame[plan.factor].isin(plan.levels).to_numpy()
    for level, wanted in plan.where.items():  # one job on all ranks, not on one of them
        for name, own in wanted.items():
            kept &= ((frame[plan.factor] != level) | (frame[name] == own)).to_numpy()
    part, places = frame[kept], at[kept].tolist()
    factors, names = stratum_names(campaign, strata)
    axis, numeric = plan.factor, not any(isinstance(level, str) for level in plan.levels)
    levels = [display(campaign, plan.factor, level) for level in part[plan.factor]]
    if numeric or len(strata) == 1:
        x: Any = part[plan.factor].astype(float) if numeric else levels
        series = [names[one] for one in places]
    else:
        axis = factors[0] if len(factors) == 1 else ""
        counted = axis and not any(isinstance(stratum[axis], str) for stratum in strata)
        x = [float(strata[one][axis]) if counted else names[one] for one in places]
        series = levels
    variable = plan.measured.variable
    table = summary(part.assign(x=x, series=series), ["series", "x"], "value", variable)[list(POINTS)]
    name = "time" if variable == "figure_of_merit" and plan.timed else measure_name(variable)
    table.attrs.update(unit=display_unit(plan.unit), xlabel=label(axis) if axis else "", ylabel=name)
    return table


def values(answer: Statement) -> pd.DataFrame:
    """Return what was found of a measure by itself, a row a stratum, as `Conclusion.points` has them."""
    strata = [one.stratum for one in answer.found if one.stratum]
    names = stratum_names(answer.campaign, strata)[1] or [""] * len(answer.found)
    rows = [
        ("", name, one.value, one.low, one.high, one.n, one.level if one.bounded else math.nan)
        for name, one in zip(names, (each.estimate for each in answer.found), strict=True)
    ]
    table = pd.DataFrame(rows, columns=list(POINTS))
    table.attrs.update(unit=answer.unit, xlabel="", ylabel=measure_name(answer.question.variable))
    return table


def _within(frame: pd.DataFrame, stratum: Mapping[str, Any]) -> NDArray[np.bool_]:
    """Tell which runs are of a stratum."""
    same, differ = np.ones(len(frame), dtype=bool), set(varying(frame, stratum))
    shared = first_levels(frame, stratum) if len(frame) else {}
    for name, level in stratum.items():
        if name in shared and name not in differ and shared[name] == level:
            continue
        blank = level == "" and frame[name].dtype.kind == "f"
        same &= (frame[name].isna() if blank else frame[name] == level).to_numpy(dtype=bool)
    return same
