"""Quantities: from a question and a campaign to estimates, one for each stratum.

A stratum is a group of runs that differ in nothing but the compared factor (and what follows from it).
Several strata mean that the campaign varies something the question does not speak of; then each is estimated
by itself and the question's ``aggregate`` says whether all must agree or the best counts.

A new one is a function from question and campaign to findings, a `Quantity` in `QUANTITIES`, and the rule
by which its findings are judged (`analysis.claims.rules`).
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd

from analysis.base.words import in_order
from analysis.estimates import cost, sessions, uncertainty
from analysis.estimates.campaign import Campaign, NotCoveredError
from analysis.estimates.conditions import on_other_days, remarks
from analysis.estimates.confounding import confounded
from analysis.estimates.differences import MARGIN, equality, ratio_of, tau_of_medians, trend
from analysis.estimates.family import among
from analysis.estimates.finding import (
    Confounded,
    Finding,
    common,
    group_level,
    group_name,
    listed,
    measuring_days,
    median_text,
    runs_of,
)
from analysis.estimates.groups import Groups, Pair, cells, groups, measured, strata
from analysis.estimates.intervals import Array
from analysis.estimates.matched import matched
from analysis.estimates.measures import MEASURES, SETS
from analysis.estimates.question import Comparison, Question
from analysis.estimates.ratios import (
    base_of,
    better_is_more,
    counted,
    ends_in_margin,
    faster,
    median_of,
    of_medians,
    quotient,
    speed_of,
    upright,
)
from analysis.estimates.stats import Estimate

Findings = list[Finding]
Estimator = Callable[[Question, Campaign, pd.DataFrame], Findings]


@dataclass(frozen=True, slots=True)
class Quantity:
    """A kind of answer, computed by `estimate`; `neutral` is the value that means no effect.

    `unit` is ``× % τ``, or empty if it is the unit of the measure or of the claim. `scale` is how the answer
    is drawn: on the common ratio axis, as a share, on a scale of its own, or as a word. `meaning` is its
    text in the reference. `measured` is false if the answer is not a number of a run; it then has no
    measured runs.
    """

    name: str
    unit: str
    scale: Literal["ratio", "share", "level", "set", "word"]
    estimate: Estimator
    meaning: str
    neutral: float | None = None
    measured: bool = True


def findings(question: Question, campaign: Campaign) -> Findings:
    """Answer a question in every stratum, at least one, that a campaign has for it.

    Raises `NotCoveredError` if the campaign has no runs for it, with what is missing; ValueError if there is
    no such measure, or the question asks for a mean of what has none.
    """
    single = [replace(question, members=(member,), each=False) for member in question.members]
    timing = question.variable in MEASURES and MEASURES[question.variable].timing
    found: Findings = []
    for one in single if question.each else [question]:
        campaign.require(one.levels(), timing=timing)
        frame = measured(one, campaign) if QUANTITIES[one.quantity].measured else pd.DataFrame()
        found += findings_of(one, campaign, frame)
    return found


def findings_of(question: Question, campaign: Campaign, frame: pd.DataFrame) -> Findings:
    """Answer a question from runs that are measured already, or from a part of them."""
    found: Findings = []
    for asked in _of_each_baseline(question, campaign):
        parts = QUANTITIES[asked.quantity].estimate(asked, campaign, frame)
        parts = matched(asked, parts, campaign.matched)
        found += [replace(one, session=sessions.confined(asked, campaign, one)) for one in parts]
    return found


def _of_each_baseline(question: Question, campaign: Campaign) -> list[Question]:
    """Ask for each of several baselines alone, where cells are the sample: a cell may lack one of them.

    Cells of both would share the treatment's runs.
    """
    compare = question.compare
    if not campaign.matched or compare is None or len(compare.levels) != 2 or question.aggregate == "mean":
        return [question]
    treatment, several = compare.levels
    levels = several if isinstance(several, tuple) else (several,)
    own = {tuple(campaign.resolve(compare.factor, level)): level for level in reversed(levels)}
    each = [replace(compare, levels=(treatment, level)) for level in reversed(own.values())]
    return [replace(question, compare=one) for one in each]


# --- a treatment against a baseline --------------------------------------------------------------


Form = Callable[[Question, pd.DataFrame, pd.DataFrame], tuple[Estimate, str]]


def _in_pairs(form: Form) -> Estimator:
    """Make the estimator that holds each treatment against its baseline, one finding a pair."""

    def estimate(question: Question, campaign: Campaign, frame: pd.DataFrame) -> Findings:
        compare = _comparison(question)
        found = groups(question, compare, campaign, frame, ordered=False)
        if question.aggregate == "mean":
            return [_mean_ratio(question, compare, found)]
        return [_pair(question, form, compare, pair, one) for one in found for pair in one.pairs]

    return estimate


def _comparison(question: Question) -> Comparison:
    if question.compare is None:
        raise ValueError(f"a {question.quantity} compares: say what")
    return question.compare


def _pair(question: Question, form: Form, compare: Comparison, pair: Pair, group: Groups) -> Finding:
    treatment, baseline = pair
    estimate, text = form(question, treatment, baseline)
    equivalence = None
    asked = question.quantity == "equality"
    # What differs by no more than a margin is worded as equal.
    if asked or (
        question.quantity != "efficiency" and ends_in_margin(upright(question.quantity, estimate), MARGIN)
    ):
        margin = question.margin if asked else MARGIN
        equivalence = equality(question.variable, margin, treatment, baseline)
    if equivalence is not None and question.quantity == "equality":
        text += f"; two one-sided rank tests within {equivalence.margin:.2g}: p = {equivalence.p:.2g}"
    name = group_name(compare.factor, baseline)
    return Finding(
        estimate,
        compared=f"{group_name(compare.factor, treatment)} against {name}; {common(treatment, baseline)}",
        arithmetic=text,
        runs=runs_of(treatment, baseline),
        base=base_of(question, counted(estimate, treatment, baseline)[1], name),
        equivalence=equivalence,
        stratum=group.stratum,
        confounded=confounded(compare, treatment, baseline),
        remarks=tuple(remarks(compare.factor, treatment, baseline)),
    )


def _gain(question: Question, treatment: pd.DataFrame, baseline: pd.DataFrame) -> tuple[Estimate, str]:
    speed, text, note = speed_of(question, treatment, baseline)
    estimate = speed.transformed(lambda ratio: 100 * (ratio - 1))
    return estimate, f"{text}, a gain of {estimate.value:.3g} %{note}"


def _reduction(question: Question, treatment: pd.DataFrame, baseline: pd.DataFrame) -> tuple[Estimate, str]:
    between = on_other_days(treatment, baseline)
    ratio, note = ratio_of(question.variable, treatment, baseline, between_days=between)
    estimate = ratio.transformed(lambda less: 100 * (1 - less))
    return estimate, f"1 - {quotient(treatment, baseline, ratio)} {estimate.value:.3g} % less{note}"


def _efficiency(question: Question, treatment: pd.DataFrame, baseline: pd.DataFrame) -> tuple[Estimate, str]:
    speed, text, note = speed_of(question, treatment, baseline)
    more = float(treatment["ranks"].iloc[0] / baseline["ranks"].iloc[0])
    estimate = speed.transformed(lambda ratio: 100 * ratio / more)
    return estimate, f"{text}, over {more:g} times the ranks {estimate.value:.3g} %{note}"


def _mean_ratio(question: Question, compare: Comparison, found: list[Groups]) -> Finding:
    """Compare the mean cost over all strata: costs add up, ratios do not. The cost of a rate is its inverse.

    Sum over strata of the treatment's medians over the same of the baseline, every group resampled by itself.
    """
    pairs = [pair for one in found for pair in one.pairs]
    treatments, baselines = zip(*pairs, strict=True)
    k = len(pairs)
    rate = better_is_more(question, treatments[0])
    if question.quantity not in ("speedup", "gain", "reduction"):
        raise ValueError(
            f"takes the mean of {question.variable} for a {question.quantity}; only costs have one"
        )

    def function(*medians: Array) -> Array:
        costs = [1 / one if rate else one for one in medians]
        top, bottom = sum(costs[:k]), sum(costs[k:])
        if question.quantity == "reduction":
            return np.asarray(100 * (1 - top / bottom))
        return np.asarray(bottom / top if question.quantity == "speedup" else 100 * (bottom / top - 1))

    parts = (*treatments, *baselines)
    estimate = of_medians(function, parts)
    estimate, note = uncertainty.widened_for(question.variable, estimate, function, *parts)
    n, n_baseline = (min(map(len, side)) for side in (treatments, baselines))
    power = -1 if rate else 1
    sums = [sum(float(part["value"].median()) ** power for part in side) for side in (treatments, baselines)]
    name = group_name(compare.factor, baselines[0])
    what = f"sums of {k} {'inverse ' * rate}medians"
    return Finding(
        estimate.counted(n, n_baseline),
        compared=f"{group_name(compare.factor, treatments[0])} against {name}, mean of {k} strata; "
        + common(*parts),
        arithmetic=f"{what}: {sums[0]:.4g} against {sums[1]:.4g}{note}",
        runs=runs_of(*parts),
        base=((sums[1] / k) ** power, base_of(question, baselines[0], name)[1], name),
    )


# --- levels in an order --------------------------------------------------------------------------


def _in_order(
    form: Callable[[Question, Comparison, tuple[pd.DataFrame, ...], list[str]], Finding],
) -> Estimator:
    """Make the estimator that follows the levels in the order in which the question names them."""

    def estimate(question: Question, campaign: Campaign, frame: pd.DataFrame) -> Findings:
        compare = _comparison(question)
        found = groups(question, compare, campaign, frame, ordered=True)
        names = [[group_name(compare.factor, part) for part in one.ordered] for one in found]
        return [
            replace(
                form(question, compare, one.ordered, name), stratum=one.stratum, confounded=_any(compare, one)
            )
            for one, name in zip(found, names, strict=True)
        ]

    return estimate


def _any(compare: Comparison, one: Groups) -> Confounded | None:
    """Return what changes with the levels of an order, where something does from one to the next."""
    steps = (confounded(compare, a, b) for a, b in itertools.pairwise(one.ordered))
    return next(filter(None, steps), None)


def _medians(names: list[str], parts: tuple[pd.DataFrame, ...]) -> list[str]:
    return [f"{name} {median_text(part['value'])}" for name, part in zip(names, parts, strict=True)]


def _ordering(
    question: Question, compare: Comparison, parts: tuple[pd.DataFrame, ...], names: list[str]
) -> Finding:
    """Estimate each step of an order, best first; the weakest decides whether the order stands."""
    steps = tuple(faster(question, a, b)[0] for a, b in itertools.pairwise(parts))
    return Finding(
        min(steps, key=lambda step: step.value),
        compared=f"{' > '.join(names)}; {common(*parts)}",
        arithmetic="; ".join(_medians(names, parts)) + uncertainty.note(question.variable, *parts),
        runs=runs_of(*parts),
        base=base_of(question, parts[-1], names[-1]),
        steps=steps,
    )


def _trend(
    question: Question, compare: Comparison, parts: tuple[pd.DataFrame, ...], names: list[str]
) -> Finding:
    position = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    values = np.concatenate([part["value"].to_numpy() for part in parts])
    medians = ", ".join(_medians(names, parts))
    estimate, chance = trend(position, values, np.concatenate([measuring_days(part) for part in parts]))
    return Finding(
        estimate,
        compared=f"along {', '.join(names)}; {common(*parts)}",
        arithmetic=f"Kendall's tau over {len(values)} runs, p = {chance:.2g} by permutation; {medians}",
        runs=runs_of(*parts),
        chance=chance,
        middle=tau_of_medians(part["value"] for part in parts),
    )


def _span(step: Estimate) -> str:
    return f"{step.low:.3g} to {step.high:.3g}" if np.isfinite(step.low) else "no interval"


def _saturation(
    question: Question, compare: Comparison, parts: tuple[pd.DataFrame, ...], names: list[str]
) -> Finding:
    """Find the level after which more of the factor brings less than the threshold.

    The estimate is a level: `value` by the medians, `low` the last level up to which every step is a clear
    gain, `high` the one after which a step is clearly short of the threshold (infinite if none is). A scale
    that never stops has its last level as `value` and `low`. A step's gain is 100 (median ratio of speeds
    - 1); it is clear if its interval lies at or above, short if it lies below the threshold. That all steps
    are clear needs each; that any of them is short, the intervals that hold for all of them at once.
    """
    levels = [float(part[compare.factor].iloc[0]) for part in parts]
    steps = tuple(
        faster(question, b, a)[0].transformed(lambda speed: 100 * (speed - 1))
        for a, b in itertools.pairwise(parts)
    )
    bar = 100 * question.threshold

    def first(fails: Callable[[Estimate], bool], otherwise: float) -> float:
        return next((level for level, step in zip(levels, steps, strict=False) if fails(step)), otherwise)

    low = first(lambda step: not (step.settles and step.low >= bar), levels[-1])
    high = first(lambda step: (one := among(step, len(steps))).settles and one.high < bar, np.inf)
    value = first(lambda step: step.value < bar, levels[-1])
    medians = ", ".join(f"{x:g}: {median_text(part['value'])}" for x, part in zip(levels, parts, strict=True))
    gains = ", ".join(
        f"{a:g} to {b:g} {step.value:+.3g} % ({_span(step)})"
        for (a, b), step in zip(itertools.pairwise(levels), steps, strict=True)
    )
    note = uncertainty.note(question.variable, *parts)
    level = min(step.level for step in steps)
    return Finding(
        Estimate(value, low, high, min(map(len, parts)), level=level, days=steps[0].days),
        compared=f"along {', '.join(names)}; {common(*parts)}",
        arithmetic=f"{medians}; gain from one to the next: {gains}{note}",
        runs=runs_of(*parts),
        steps=steps,
    )


# --- more than one comparison --------------------------------------------------------------------


def _interaction(question: Question, campaign: Campaign, frame: pd.DataFrame) -> Findings:
    """Estimate how many times larger a speedup, or a saving, is at the upper level of another factor.

    (treatment / baseline at the upper level) / (the same at the lower), medians of speeds, each of the
    four groups resampled by itself.
    """
    compare = _comparison(question)
    form = _growth if question.tariff is None else cost.growth
    if question.tariff is not None:
        frame = cost.with_time(frame, campaign)
    return [
        form(question, compare, (top, bottom), cell)
        for cell in cells(question, compare, campaign, frame)
        for top, bottom in zip(cell[0].pairs, cell[1].pairs, strict=True)
    ]


def _growth(
    question: Question, compare: Comparison, pairs: tuple[Pair, Pair], cell: tuple[Groups, Groups]
) -> Finding:
    assert compare.along is not None
    top, bottom = pairs
    more = better_is_more(question, top[0])

    def function(a: Array, b: Array, c: Array, d: Array) -> Array:
        return np.asarray((a / b) / (c / d) if more else (b / a) / (d / c))

    parts = (*top, *bottom)
    estimate = of_medians(function, parts)
    estimate, _ = uncertainty.widened_for(question.variable, estimate, function, *parts)  # the ratios say so
    n, n_baseline = min(len(top[0]), len(bottom[0])), min(len(top[1]), len(bottom[1]))
    steps, ratios = zip(*(faster(question, x, y) for x, y in (top, bottom)), strict=True)
    factor = compare.along[0]
    high, low = (group_level(factor, pair[0]) for pair in (top, bottom))
    names = [group_name(compare.factor, part) for part in top]
    place = f"at {factor.replace('_', ' ')} {high} and {low}"
    return Finding(
        estimate.counted(n, n_baseline),
        compared=f"{names[0]} against {names[1]}, {place}; {common(*parts)}",
        arithmetic=f"at {high}: {ratios[0]}; at {low}: {ratios[1]}; {estimate.value:.4g} times",
        runs=runs_of(*parts),
        steps=steps[::-1],
        stratum=cell[0].stratum,
        confounded=confounded(compare, *top) or confounded(compare, *bottom),
    )


def _crossover(question: Question, campaign: Campaign, frame: pd.DataFrame) -> Findings:
    """Estimate a speedup in every stratum to see whether each side wins somewhere.

    One finding, with a step for each stratum; its estimate is the stratum nearest to no difference.
    """
    compare = _comparison(question)
    found = groups(question, compare, campaign, frame, ordered=False)
    pairs = [pair for one in found for pair in one.pairs]
    steps, ratios = zip(*(faster(question, x, y) for x, y in pairs), strict=True)
    parts: list[pd.DataFrame] = [part for pair in pairs for part in pair]
    names = [group_name(compare.factor, part) for part in pairs[0]]
    texts = [f"{common(x, y)}: {ratio}" for (x, y), ratio in zip(pairs, ratios, strict=True)]
    finding = Finding(
        min(steps, key=lambda step: abs(np.log(step.value))),
        compared=f"{names[0]} against {names[1]} in {len(pairs)} strata; {common(*parts)}",
        arithmetic="; ".join(texts),
        runs=runs_of(*parts),
        steps=steps,
        strata=tuple(one.stratum for one in found for _ in one.pairs),
        confounded=next(filter(None, (confounded(compare, x, y) for x, y in pairs)), None),
    )
    return [finding]


# --- no comparison -------------------------------------------------------------------------------


def _level(question: Question, campaign: Campaign, frame: pd.DataFrame) -> Findings:
    spec = MEASURES[question.variable]
    if spec.exact:
        found = frame["value"]
        ends = float(found.min()), float(found.max())
        middle = Estimate(float(found.median()), *ends, len(found), level=1.0)
        # One value where the quantity depends on nothing else; otherwise its whole range.
        return [Finding(middle, common(frame), f"every run: {listed(found)}", tuple(frame["run"]))]
    out = []
    for stratum, part in strata(frame, (), campaign, spec):
        estimate, note = median_of(question.variable, part)
        text = f"median of {listed(part['value'])}{note}"
        out.append(Finding(estimate, common(part), text, tuple(part["run"]), stratum=stratum))
    return out


def _cost(question: Question, campaign: Campaign, frame: pd.DataFrame) -> Findings:
    frame = cost.with_time(frame, campaign)
    compare = question.compare
    if compare is None:
        return [
            cost.level(question, part) for _, part in strata(frame, (), campaign, MEASURES[question.variable])
        ]
    found = groups(question, compare, campaign, frame, ordered=False)
    return [cost.saving(question, compare, pair, one) for one in found for pair in one.pairs]


def _set(question: Question, campaign: Campaign, frame: pd.DataFrame) -> Findings:
    selection = dict(question.select or {})
    if campaign.profiler:
        selection["profiler"] = campaign.profiler
    runs = campaign.select(selection, timing=False)
    sets = SETS[question.variable](campaign, runs, question.members)
    if not sets:
        what = question.variable.replace("_", " ")
        raise NotCoveredError(f"no selected run of {campaign.name} has {what}")
    union = frozenset().union(*sets.values())
    n = float(len(union))
    finding = Finding(
        Estimate(n, n, n, len(sets), level=1.0),
        compared=common(runs[runs["run"].isin(sets)]),
        arithmetic="; ".join(
            f"run {run}: {', '.join(map(str, in_order(found)))}" for run, found in sets.items()
        ),
        runs=tuple(sets),
        members=union,
        unequal=tuple(run for run, found in sets.items() if found != set(question.members)),
    )
    return [finding]


QUANTITIES = {
    quantity.name: quantity
    for quantity in (
        Quantity("speedup", "×", "ratio", _in_pairs(faster),
                 "how many times as fast the treatment is as the baseline", neutral=1.0),
        Quantity("gain", "%", "ratio", _in_pairs(_gain), "how much more the treatment does", neutral=0.0),
        Quantity("reduction", "%", "ratio", _in_pairs(_reduction), "how much less the treatment takes",
                 neutral=0.0),
        Quantity("efficiency", "%", "share", _in_pairs(_efficiency), "speedup over the ratio of ranks"),
        Quantity("equality", "×", "ratio", _in_pairs(faster),
                 "whether the two differ by no more than the margin"),
        Quantity("ordering", "×", "ratio", _in_order(_ordering), "whether each level is ahead of the next"),
        Quantity("trend", "τ", "word", _in_order(_trend), "Kendall's rank correlation along the levels"),
        Quantity("saturation", "", "level", _in_order(_saturation),
                 "the level after which more brings less than the threshold"),
        Quantity("interaction", "×", "ratio", _interaction,
                 "how many times larger a speedup or a saving is at the upper level of another factor",
                 neutral=1.0),
        Quantity("crossover", "×", "word", _crossover, "whether each side wins somewhere"),
        Quantity("cost", "", "level", _cost, "what the treatment saves in a year, or a year costs",
                 neutral=0.0),
        Quantity("level", "", "level", _level,
                 "the measure itself: its median, or its range where it is exact"),
        Quantity("set", "", "set", _set, "what was found, such as message sizes or calls", measured=False),
    )
}  # fmt: skip
