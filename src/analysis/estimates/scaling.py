"""Sentences on scaling: where more brings too little, its efficiency, whether a measure rises or falls."""

import math
from collections.abc import Sequence

from analysis.base.words import percent
from analysis.estimates.numerals import spell, spell_all
from analysis.estimates.ratios import upright
from analysis.estimates.spelling import Answer, measure_name, noun, plain
from analysis.estimates.stats import LEVEL, Estimate


def scales(answer: Answer) -> bool:
    """Tell whether more ranks are compared with fewer; more GPUs may have as many ranks."""
    compare = answer.question.compare
    if not compare or "ranks" not in compare.varying:
        return False
    if compare.factor != "gpus":
        return compare.factor in ("nodes", "ranks_per_node")
    runs = answer.campaign.runs
    return bool(runs.loc[runs["run"].isin(answer.found[0].runs), "ranks"].nunique() > 1)


def grows(answer: Answer) -> bool:
    """Tell whether the problem grows with the ranks: each has its own part, of one size."""
    return all(one.stratum.get("local_size", -1) not in ("", -1) for one in answer.found)


def efficiency_of(answer: Answer, estimates: Sequence[Estimate]) -> list[str]:
    """Say the parallel efficiency of a scaling, the ratio over that of the ranks; none above 100 %.

    More than that has a cause which the ratio does not know.
    """
    one, other = answer.levels
    if not scales(answer) or isinstance(one, str) or isinstance(other, str) or one == other:
        return []
    shares = [
        each.transformed(lambda value: 100 * value * min(one, other) / max(one, other)) for each in estimates
    ]
    first = upright(answer.question.quantity, answer.found[0].estimate).value > 1
    if first != (one > other) or max(share.value for share in shares) >= 100.5:
        return []
    return [
        f"the efficiency is {spell_all(shares, '%')[0]}"
        + (": the problem grows with the ranks" if grows(answer) else "")
    ]


def stop(answer: Answer) -> str:
    """Word where the next level of a scale brings too little."""
    compare = answer.question.compare
    assert compare is not None
    found = min(answer.found, key=lambda one: min((step.low for step in one.steps), default=math.nan))
    estimate, bar = found.estimate, percent(answer.question.threshold)
    value, low, high = (
        noun(answer.campaign, compare.factor, plain(level)) if math.isfinite(level) else ""
        for level in (estimate.value, estimate.low, estimate.high)
    )
    runs = answer.campaign.runs
    levels = runs.loc[runs["run"].isin(found.runs), compare.factor].astype(float)
    # Draws from a model name no runs.
    first = min(map(float, answer.compared)) if levels.empty else levels.min()
    last = estimate.high if levels.empty else levels.max()
    if estimate.value == last:
        text = f"every step up to {value} {f'brings more than {bar}' if bar != '0 %' else 'is faster'}"
        clear = f"clearly up to {low}" if not estimate.low <= first else "no step is clear"
        note = "" if estimate.low == last else f" (by medians; {clear})"
    else:
        text = f"beyond {value} the next step {f'brings less than {bar}' if bar != '0 %' else 'is slower'}"
        note = f" (by medians; {f'somewhere from {low} to {high}' if high else f'not before {low}'})"
        note = "" if low == high else note
    if found.steps and not any(step.settles for step in found.steps):
        note = " (by medians of too few runs)"
    scalings = len(answer.found)
    weakest = f", the weakest of {scalings} scalings" if scalings > 1 else ""
    return f"{text} {answer.of(found).place}{weakest}{note}"


def trend(answer: Answer) -> str:
    """Word whether a measure rises or falls along levels."""
    compare, (finding, *_) = answer.question.compare, answer.found
    assert compare is not None
    value, sure = spell(finding.estimate)
    names = answer.names
    if compare.span:
        ran = answer.campaign.runs.set_index("run")[compare.factor].reindex([*finding.runs]).dropna()
        span = (ran.min(), ran.max()) if len(ran) else compare.span  # draws from a model name no runs
        names = [noun(answer.campaign, compare.factor, plain(end)) for end in span]
    ends = f"from {names[0]} to {names[-1]}"
    estimate, chance = finding.estimate, finding.chance or 0.0
    clear = estimate.settles and chance <= 1 - LEVEL and not estimate.low <= 0 <= estimate.high
    way = "rises" if finding.estimate.value > 0 else "falls"
    what = f"the {measure_name(answer.question.variable)}"
    text = f"{what} {way} {ends}" if clear else f"{what} has no clear trend {ends}"
    # Of a few runs in perfect order nothing scatters, and that is no certainty.
    sure = f"p = {chance:.2g}" if sure == "exact" else sure
    sure = sure.replace(" runs ", " curves ") if finding.middle is None else sure
    return f"{text} {answer.place} (Kendall's tau {value}, {sure})"
