"""From an estimate to a word: the rules by which a claim holds, and how claim and estimate are printed.

For a quantity with a neutral value (a ratio of 1, a gain of 0 %)

- holds: the whole interval lies within what the claim allows;
- holds in direction: the interval excludes the neutral value on the claim's side, but is not within the
  claimed range: *smaller* if it lies wholly short of the range, *larger* if wholly beyond it, and
  *size open* if it crosses an end of the range;
- does not hold: the interval excludes the neutral value on the other side, or lies wholly short of the
  claimed range and includes the neutral value;
- cannot tell: none of these, or no interval of a sufficient level.

A quantity without a neutral value (a share, a size, a count) holds if the interval lies within the claimed
range, does not hold if it lies outside, and cannot tell if it crosses an end. So does a claim whose range has
the neutral value inside, as "saves less than 10 %": no direction would agree with it. The level at which
scaling stops follows the same rule. Two sides cross over if each is clearly ahead somewhere. Equality needs
two one-sided tests and the whole interval within the margin; a trend needs a permutation test and a clear
interval.

A comparison whose sides were not interleaved holds, or does not hold, in that session only; one of runs whose
order is not known agrees or disagrees; where only the direction is clear, the word says so, and whether the
claimed size is ruled out.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from analysis.base.words import FULL, attached, general, in_order, number, percent, stop
from analysis.claims.model import Claim
from analysis.estimates.family import among
from analysis.estimates.finding import LIMITED, RULED_OUT, Finding, directed
from analysis.estimates.numerals import of_bytes
from analysis.estimates.quantities import QUANTITIES
from analysis.estimates.ratios import in_margin
from analysis.estimates.spelling import untold
from analysis.estimates.stats import FEWEST, LEVEL, MIN_LEVEL, Estimate

HOLDS = "holds"
DIRECTION = "holds in direction"
DIRECTION_SMALLER = f"{DIRECTION}, smaller"
DIRECTION_LARGER = f"{DIRECTION}, larger"
DIRECTION_OPEN = f"{DIRECTION}, size open"
FAILS = "does not hold"
UNKNOWN = "cannot tell"
_SIZED = ("speedup", "gain", "reduction", "interaction", "cost", "efficiency", "level", "saturation")
_AGAINST = tuple(disagrees for _, _, disagrees in LIMITED.values())
_WITH = tuple(agrees for _, agrees, _ in LIMITED.values())
# A verdict in the words of measured evidence, and the reason in a few words.
Judgement = tuple[str, str]
# What agrees with a claim on the axis of its quantity, None where there is no end or no axis.
Band = tuple[float | None, float | None]


def judge(claim: Claim, finding: Finding) -> Judgement:
    """Judge one finding; without an interval that its rule needs, it is "cannot tell"."""
    rule = RULES[claim.question.quantity]
    if rule.bounded and not finding.estimate.settles:
        return UNKNOWN, _too_few(finding.estimate)
    if finding.confounded and not (finding.session and finding.confounded.in_session):
        return UNKNOWN, untold(finding.confounded.causes)
    word, reason = rule.judge(claim, finding)
    if finding.session and word != UNKNOWN:
        _, agrees, disagrees = LIMITED[finding.session]
        whole = disagrees if word == FAILS else agrees
        limited = whole if word in (FAILS, HOLDS) else directed(agrees, word.removeprefix(DIRECTION))
        word, reason = limited, f"{reason}; {finding.session}"
    level = finding.estimate.level
    return word, reason if level >= FULL or level == 0 else f"{reason}, at {percent(level)}"


def p_value(claim: Claim, finding: Finding, word: str) -> float | None:
    """Return the p-value behind a word: how far the interval's level can rise until it no longer bears it.

    One-sided, as a verdict is; the larger of two where both sides count. 1 where the data cannot tell; None
    where no verdict can rest on the interval, nothing scatters, or the sides were not interleaved.
    """
    rule = RULES[claim.question.quantity]
    if rule.p is None or finding.session or (rule.bounded and not finding.estimate.settles):
        return None
    return 1.0 if word == UNKNOWN else rule.p(claim, finding, word)


def unit_of(claim: Claim) -> str:
    """Return the unit in which a claim's estimate is given."""
    return QUANTITIES[claim.question.quantity].unit or claim.expect.unit


def expected_text(claim: Claim) -> str:
    """Say what a claim expects, in a few words."""
    return RULES[claim.question.quantity].expected(claim)


def estimate_text(claim: Claim, finding: Finding) -> str:
    """Spell what was found for a claim."""
    return RULES[claim.question.quantity].spelt(finding, unit_of(claim))


def band(claim: Claim) -> Band:
    """Return the range that agrees with a claim where it can be drawn on the claim's axis."""
    return RULES[claim.question.quantity].band(claim)


def _too_few(estimate: Estimate) -> str:
    counts = f"{estimate.n}" if estimate.n_baseline is None else f"{estimate.n} and {estimate.n_baseline}"
    if len(estimate.days) > 1:
        days = " and ".join(map(str, estimate.days))
        return f"the sides ran on different days ({days}): too few, {FEWEST} each are needed"
    if not estimate.bounded:
        fewest = min(estimate.n, estimate.n if estimate.n_baseline is None else estimate.n_baseline)
        return f"too few runs for an interval: {counts}" + f", {FEWEST} are needed" * (fewest < FEWEST)
    digits = int(percent(estimate.level) == percent(MIN_LEVEL))  # "at 85 %, 85 % are needed" explains nothing
    level = f"{percent(estimate.level, digits)}, {percent(MIN_LEVEL)} are needed"
    return f"too few runs: {counts}; their range holds the truth at {level}"


def _neutral(claim: Claim) -> float | None:
    """Return the value of no effect; None if there is none, or it is inside what the claim allows."""
    neutral, (low, high) = QUANTITIES[claim.question.quantity].neutral, claim.expect.band
    if neutral is None or claim.question.compare is None or low < neutral < high:
        return None
    return neutral


def has_direction(claim: Claim) -> bool:
    """Tell whether a claim's quantity has a value of no effect, and the claim is on one side of it."""
    return _neutral(claim) is not None


def _judge_ratio(claim: Claim, finding: Finding) -> Judgement:
    neutral, estimate = _neutral(claim), finding.estimate
    if neutral is None:
        return _judge_level(claim, finding)
    low, high = claim.expect.band
    wanted = claim.expect.value if claim.expect.value is not None else low
    upward = wanted >= neutral
    clear = estimate.low > neutral if upward else estimate.high < neutral
    beyond = estimate.low > high if upward else estimate.high < low
    opposite = estimate.high < neutral if upward else estimate.low > neutral
    short = estimate.high < low if upward else estimate.low > high
    if estimate.low >= low and estimate.high <= high:
        # Rounded figures tie: an interval that ends exactly there does not show that one side is ahead.
        if neutral in (estimate.low, estimate.high) and neutral in (low, high):
            return UNKNOWN, "the interval ends at no effect"
        return HOLDS, "the whole interval agrees with the claim"
    if opposite:
        return FAILS, "the effect is clear and goes the other way"
    if clear and short:
        return DIRECTION_SMALLER, "clear in direction, and the whole interval is short of the claim"
    if clear and beyond:
        return DIRECTION_LARGER, "clear in direction, and the whole interval is beyond the claim"
    if clear:
        return DIRECTION_OPEN, "clear in direction, its size not settled"
    if short:
        return FAILS, "no clear effect, and one of the claimed size is ruled out"
    return UNKNOWN, "the interval leaves both no effect and the claimed one open"


def way(claim: Claim, finding: Finding, word: str) -> str:
    """Say on which side of the claim a word puts the value, ``smaller`` or ``larger``; empty if on none.

    An effect that goes the other way is on neither: no substitute that weakens it turns it round, but one
    whose effect is ``either`` can. A value that agrees with one bound alone is beyond it, unless the bound is
    no effect.
    """
    for size in RULED_OUT:
        if word.endswith(size):
            return size.removeprefix(", ")
    if claim.question.quantity not in _SIZED:
        return ""
    neutral, estimate, (low, high) = _neutral(claim), finding.estimate, claim.expect.band
    if word in (HOLDS, *_WITH):
        if neutral in (low, high) or math.isfinite(low) == math.isfinite(high):
            return ""
        return "smaller" if neutral is None and math.isinf(low) else "larger"
    if word not in (FAILS, *_AGAINST):
        return ""
    if neutral is not None:
        return "smaller" if estimate.low <= neutral <= estimate.high else "go the other way"
    return "smaller" if estimate.high < low else "larger" if estimate.low > high else ""


def _judge_level(claim: Claim, finding: Finding) -> Judgement:
    low, high = claim.expect.band
    estimate = finding.estimate
    if estimate.low >= low and estimate.high <= high:
        return HOLDS, "the whole interval agrees with the claim"
    if estimate.high < low or estimate.low > high:
        return FAILS, f"the whole interval lies {'below' if estimate.high < low else 'above'} the claim"
    return UNKNOWN, "the interval lies across the edge of what the claim allows"


def _p_ratio(claim: Claim, finding: Finding, word: str) -> float | None:
    neutral, estimate = _neutral(claim), finding.estimate
    if neutral is None or word == HOLDS:
        return _p_level(claim, finding, word)
    low, high = claim.expect.band
    upward = (claim.expect.value if claim.expect.value is not None else low) >= neutral
    if estimate.again is None:
        return None
    if word != FAILS:
        return estimate.p_above(neutral) if upward else estimate.p_below(neutral)
    return estimate.p_below(max(low, neutral)) if upward else estimate.p_above(min(high, neutral))


def _p_level(claim: Claim, finding: Finding, word: str) -> float | None:
    low, high = claim.expect.band
    estimate = finding.estimate
    if estimate.again is None:
        return None
    above, below = (estimate.p_above, estimate.p_below)
    if word == FAILS:
        return min(below(low) if math.isfinite(low) else 1.0, above(high) if math.isfinite(high) else 1.0)
    return max(above(low) if math.isfinite(low) else 0.0, below(high) if math.isfinite(high) else 0.0)


def _judge_equality(claim: Claim, finding: Finding) -> Judgement:
    margin = claim.question.margin
    estimate, test = finding.estimate, finding.equivalence
    equal, apart = (FAILS, HOLDS) if claim.expect.relation == "different" else (HOLDS, FAILS)
    if test is not None and test.equivalent and in_margin(estimate, margin):
        return equal, f"equal within {percent(margin)} (p = {test.p:.2g}), and so is the whole interval"
    if estimate.high < 1 / (1 + margin) or estimate.low > 1 + margin:
        return apart, f"they differ by more than {percent(margin)}"
    return UNKNOWN, f"it is not clear whether they are within {percent(margin)} of each other"


def _p_equality(claim: Claim, finding: Finding, word: str) -> float:
    margin, estimate = claim.question.margin, finding.estimate
    low, high = 1 / (1 + margin), 1 + margin
    if (word == HOLDS) == (claim.expect.relation == "different"):
        return min(estimate.p_above(high), estimate.p_below(low))
    test = finding.equivalence.p if finding.equivalence else 1.0
    return max(test, estimate.p_above(low), estimate.p_below(high))


def _judge_trend(claim: Claim, finding: Finding) -> Judgement:
    estimate = finding.estimate
    sign = -1.0 if claim.expect.relation == "falling" else 1.0
    chance = 1.0 if finding.chance is None else finding.chance
    if chance > 1 - LEVEL:
        return UNKNOWN, f"no clear trend: runs in another order give one as clear (p = {chance:.2g})"
    if min(sign * estimate.low, sign * estimate.high) > 0:
        return HOLDS, f"clearly {claim.expect.relation} (p = {chance:.2g})"
    if max(sign * estimate.low, sign * estimate.high) < 0:
        return FAILS, f"clear, the other way (p = {chance:.2g})"
    return UNKNOWN, "no clear trend"


def _p_trend(claim: Claim, finding: Finding, word: str) -> float:
    return 1.0 if finding.chance is None else finding.chance


def _judge_steps(claim: Claim, finding: Finding) -> Judgement:
    if all(step.settles and step.low > 1 for step in finding.steps):
        return HOLDS, "every step of the order is clear"
    if any(_settled(step.high < 1, step) for step in _together(finding)):
        return FAILS, "a step of the order is clearly the other way round"
    return UNKNOWN, "a step of the order is not clear"


def _p_steps(claim: Claim, finding: Finding, word: str) -> float:
    if word == HOLDS:
        return max(step.p_above(1) for step in finding.steps)
    return min(1.0, len(finding.steps) * min(step.p_below(1) for step in finding.steps))


def _together(finding: Finding) -> list[Estimate]:
    """Return the steps with intervals that hold for all of them at once."""
    return [among(step, len(finding.steps)) for step in finding.steps]


def _settled(clear: bool, step: Estimate) -> bool:
    return clear and step.settles


def _judge_saturation(claim: Claim, finding: Finding) -> Judgement:
    low, high = claim.expect.band
    estimate = finding.estimate
    gain = f"a gain of {percent(claim.question.threshold)}"
    if estimate.low >= low and estimate.high <= high:
        return HOLDS, f"no step up to {estimate.low:g} is short of {gain}" + (
            ", a later one is" if math.isfinite(estimate.high) else ""
        )
    if estimate.high < low:
        return FAILS, f"a step is clearly short of {gain} earlier"
    if estimate.low > high:
        return FAILS, f"steps are clear of {gain} further on"
    if not any(step.settles for step in finding.steps):
        return UNKNOWN, _too_few(estimate)
    if all(_settled(step.low >= 100 * claim.question.threshold, step) for step in finding.steps):
        return UNKNOWN, f"every step is clear of {gain}, and the runs end at {estimate.low:g}"
    at_once = f"by intervals that hold for all {len(finding.steps)} steps at once"
    return UNKNOWN, f"not every step is clear of {gain}, and none is clearly short of it {at_once}"


def _judge_crossover(claim: Claim, finding: Finding) -> Judgement:
    steps = _together(finding)
    up = sum(_settled(step.low > 1, step) for step in steps)
    down = sum(_settled(step.high < 1, step) for step in steps)
    if up and down:
        return HOLDS, f"each side is clearly ahead somewhere ({up} and {down} times)"
    for ahead in ([step.low > 1 for step in finding.steps], [step.high < 1 for step in finding.steps]):
        if all(map(_settled, ahead, finding.steps)):
            return FAILS, "the same side is clearly ahead everywhere"
    return UNKNOWN, "a side that is clearly ahead somewhere is missing"


def _p_crossover(claim: Claim, finding: Finding, word: str) -> float:
    up, down = [step.p_above(1) for step in finding.steps], [step.p_below(1) for step in finding.steps]
    if word == HOLDS:
        return min(1.0, len(finding.steps) * max(min(up), min(down)))
    return min(max(up), max(down))


def _judge_set(claim: Claim, finding: Finding) -> Judgement:
    if not finding.unequal:
        return HOLDS, f"exactly the claimed set in each of {len(finding.runs)} runs"
    found, expected = finding.members or frozenset(), set(claim.expect.members)
    more = ", ".join(map(str, in_order(found - expected))) or "none"
    less = ", ".join(map(str, in_order(expected - found))) or "none"
    return FAILS, f"in addition: {more}; missing: {less}; other than claimed in {len(finding.unequal)} runs"


def _expected(claim: Claim) -> str:
    expect, unit = claim.expect, unit_of(claim)
    value = "" if expect.value is None else attached(general(expect.value, ",g"), unit)
    if expect.relation == "at-least":
        return f"at least {value}"
    if expect.relation == "at-most":
        return f"at most {value}"
    if expect.relation == "range":
        assert expect.low is not None
        assert expect.high is not None
        unit, size = of_bytes(expect.high) if unit == "B" else (unit, 1.0)
        ends = dict.fromkeys(general(end / size) for end in (expect.low, expect.high))
        text = attached(" to ".join(ends), unit)
        return f"{text} (± {percent(expect.tolerance)})" if expect.tolerance else text
    if expect.relation == "equal" or not expect.tolerance:
        return value
    return f"about {value} (± {percent(expect.tolerance)})"


def _expected_equality(claim: Claim) -> str:
    kind = "different by" if claim.expect.relation == "different" else "equal within"
    return f"{kind} {percent(claim.question.margin)}"


def _expected_order(claim: Claim) -> str:
    return " > ".join(map(str, claim.question.compare.levels if claim.question.compare else ()))


def _expected_set(claim: Claim) -> str:
    return attached(", ".join(map(str, claim.expect.members)), unit_of(claim))


def _members(finding: Finding, unit: str) -> str:
    return attached(", ".join(map(str, in_order(finding.members or ()))), unit)


def _equality_band(claim: Claim) -> Band:
    return 1 / (1 + claim.question.margin), 1 + claim.question.margin


def _no_band(claim: Claim) -> Band:
    return None, None


@dataclass(frozen=True, slots=True)
class Rule:
    """How findings of one quantity are judged and spelt.

    `expected` and `spelt` say what the claim expects and what was found; `band` is what agrees with the
    claim, where that has ends on its axis; `bounded` that a finding without an interval settles nothing; `p`
    the p-value of a word, where there is one.
    """

    judge: Callable[[Claim, Finding], Judgement]
    expected: Callable[[Claim], str] = _expected
    spelt: Callable[[Finding, str], str] = lambda finding, unit: number(finding.estimate, unit)
    band: Callable[[Claim], Band] = lambda claim: claim.expect.band
    bounded: bool = True
    p: Callable[[Claim, Finding, str], float | None] | None = None


RULES = {
    **dict.fromkeys(("speedup", "gain", "reduction", "interaction", "cost"), Rule(_judge_ratio, p=_p_ratio)),
    **dict.fromkeys(("efficiency", "level"), Rule(_judge_level, p=_p_level)),
    "equality": Rule(_judge_equality, _expected_equality, band=_equality_band, p=_p_equality),
    "ordering": Rule(_judge_steps, _expected_order, band=_no_band, p=_p_steps),
    "trend": Rule(_judge_trend, lambda claim: claim.expect.relation, band=_no_band, p=_p_trend),
    "saturation": Rule(
        _judge_saturation, spelt=lambda finding, unit: stop(finding.estimate, unit), bounded=False
    ),
    "crossover": Rule(
        _judge_crossover, lambda claim: "each ahead somewhere", band=_no_band, bounded=False, p=_p_crossover
    ),
    "set": Rule(_judge_set, _expected_set, _members, band=_no_band, bounded=False),
}
