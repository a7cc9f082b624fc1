"""From an estimate to a word: the rules by which a claim holds, and how claim and estimate are spelt.

For a quantity with a neutral value (a ratio of 1, a gain of 0 %)

- holds: the whole interval lies within what the claim allows;
- holds in direction: the interval is clear of the neutral value on the claim's side, the size is
  not shown;
- does not hold: the interval is clear of it on the other side, or lies wholly short of what the
  claim allows without being clear of it;
- cannot tell: neither, or no interval.

For a quantity without one (a share, a size, a count) the interval within, beside or across what
the claim allows means holds, does not hold or cannot tell. So does the level at which scaling
stops. Two sides cross over if each is clearly ahead somewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from analysis.base.words import attached, general, in_order, number, stop
from analysis.claims.distance import OUT_OF_REACH
from analysis.claims.model import Claim
from analysis.estimates.finding import Finding
from analysis.estimates.quantities import QUANTITIES
from analysis.estimates.stats import MIN_REPEATS, Estimate

HOLDS = "holds"
DIRECTION = "holds in direction"
FAILS = "does not hold"
UNKNOWN = "cannot tell"
NOT_TESTED = "not tested"

# From the weakest to the strongest, for claims that must hold in every stratum.
RANKING = (FAILS, UNKNOWN, DIRECTION, HOLDS)

# A verdict in the words of measured evidence, and the reason in a few words.
Judgement = tuple[str, str]
# What agrees with a claim on the axis of its quantity, None where there is no end or no axis.
Band = tuple[float | None, float | None]


def judge(claim: Claim, finding: Finding) -> Judgement:
    """Judge one finding; what needs an interval and has none cannot be told."""
    rule = RULES[claim.question.quantity]
    if rule.bounded and not finding.estimate.bounded:
        return UNKNOWN, _too_few(finding.estimate)
    return rule.judge(claim, finding)


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


def words(evidence: str, verdict: str, distance: str = "same") -> str:
    """Translate a verdict into the words of an evidence class at a distance from the claim's conditions.

    A synthetic campaign tests the pipeline: its claims are recovered or they are not.
    """
    if verdict == NOT_TESTED:
        return verdict
    if evidence == "synthetic":
        return "recovered" if verdict == HOLDS else "not recovered"
    if distance == OUT_OF_REACH:
        return "out of reach here"
    if verdict.startswith(DIRECTION):
        size = verdict.removeprefix(DIRECTION)
        return {"scaled": "seen" + size, "analogue": "an analogue shows the direction"}.get(distance, verdict)
    return _AT[distance].get(verdict, verdict)


# Distance -> verdict -> word, where it is another.
_AT: Mapping[str, Mapping[str, str]] = {
    "same": {},
    "scaled": {HOLDS: "seen at this scale", FAILS: "not seen at this scale"},
    "analogue": {HOLDS: "an analogue shows it", FAILS: "an analogue does not show it"},
}


def _too_few(estimate: Estimate) -> str:
    counts = f"{estimate.n}" if estimate.n_baseline is None else f"{estimate.n} and {estimate.n_baseline}"
    return f"too few runs for an interval: {counts}, {MIN_REPEATS} are needed"


def _judge_ratio(claim: Claim, finding: Finding) -> Judgement:
    neutral, estimate = QUANTITIES[claim.question.quantity].neutral, finding.estimate
    if neutral is None or claim.question.compare is None:
        return _judge_level(claim, finding)
    low, high = claim.expect.band
    wanted = claim.expect.value if claim.expect.value is not None else low
    upward = wanted >= neutral
    clear = estimate.low > neutral if upward else estimate.high < neutral
    opposite = estimate.high < neutral if upward else estimate.low > neutral
    short = estimate.high < low if upward else estimate.low > high
    if estimate.low >= low and estimate.high <= high:
        return HOLDS, "the whole interval agrees with the claim"
    if opposite:
        return FAILS, "the effect is clear and goes the other way"
    if clear:
        beside = estimate.high < low or estimate.low > high
        return DIRECTION, "clear in direction, " + ("of another size" if beside else "its size not settled")
    if short:
        return FAILS, "no clear effect, and one of the claimed size is ruled out"
    return UNKNOWN, "the interval leaves both no effect and the claimed one open"


def _judge_level(claim: Claim, finding: Finding) -> Judgement:
    low, high = claim.expect.band
    estimate = finding.estimate
    if estimate.low >= low and estimate.high <= high:
        return HOLDS, "the whole interval agrees with the claim"
    if estimate.high < low or estimate.low > high:
        return FAILS, f"the whole interval lies {'below' if estimate.high < low else 'above'} the claim"
    return UNKNOWN, "the interval lies across the edge of what the claim allows"


def _judge_equality(claim: Claim, finding: Finding) -> Judgement:
    margin = claim.question.margin
    estimate, test = finding.estimate, finding.equivalence
    equal, apart = (FAILS, HOLDS) if claim.expect.relation == "different" else (HOLDS, FAILS)
    if test is not None and test.equivalent:
        return equal, f"equal within {margin:.0%} (p = {test.p:.2g})"
    if estimate.high < 1 / (1 + margin) or estimate.low > 1 + margin:
        return apart, f"they differ by more than {margin:.0%}"
    return UNKNOWN, f"neither equal within {margin:.0%} nor clearly apart"


def _judge_trend(claim: Claim, finding: Finding) -> Judgement:
    estimate = finding.estimate
    sign = -1.0 if claim.expect.relation == "falling" else 1.0
    if min(sign * estimate.low, sign * estimate.high) > 0:
        return HOLDS, f"clearly {claim.expect.relation}"
    if max(sign * estimate.low, sign * estimate.high) < 0:
        return FAILS, "clear, the other way"
    return UNKNOWN, "no clear trend"


def _judge_steps(claim: Claim, finding: Finding) -> Judgement:
    if all(step.low > 1 for step in finding.steps):
        return HOLDS, "every step of the order is clear"
    if any(step.high < 1 for step in finding.steps):
        return FAILS, "a step of the order is clearly the other way round"
    return UNKNOWN, "a step of the order is not clear"


def _judge_saturation(claim: Claim, finding: Finding) -> Judgement:
    low, high = claim.expect.band
    estimate = finding.estimate
    gain = f"a gain of {claim.question.threshold:.0%}"
    if estimate.low >= low and estimate.high <= high:
        return HOLDS, f"no step up to {estimate.low:g} is short of {gain}" + (
            ", a later one is" if math.isfinite(estimate.high) else ""
        )
    if estimate.high < low:
        return FAILS, f"a step is clearly short of {gain} earlier"
    if estimate.low > high:
        return FAILS, f"steps are clear of {gain} further on"
    if not any(step.bounded for step in finding.steps):
        return UNKNOWN, _too_few(estimate)
    return UNKNOWN, f"a step is neither clear of {gain} nor short of it"


def _judge_crossover(claim: Claim, finding: Finding) -> Judgement:
    up = sum(step.low > 1 for step in finding.steps)
    down = sum(step.high < 1 for step in finding.steps)
    if up and down:
        return HOLDS, f"each side is clearly ahead somewhere ({up} and {down} times)"
    if max(up, down) == len(finding.steps):
        return FAILS, "the same side is clearly ahead everywhere"
    return UNKNOWN, "a side that is clearly ahead somewhere is missing"


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
        text = f"{expect.low:g} to {attached(f'{expect.high:g}', unit)}"
        return f"{text} (± {expect.tolerance:.0%})" if expect.tolerance else text
    if expect.relation == "equal" or not expect.tolerance:
        return value
    return f"about {value} (± {expect.tolerance:.0%})"


def _expected_equality(claim: Claim) -> str:
    kind = "different by" if claim.expect.relation == "different" else "equal within"
    return f"{kind} {claim.question.margin:.0%}"


def _expected_order(claim: Claim) -> str:
    return " > ".join(map(str, claim.question.compare.levels if claim.question.compare else ()))


def _expected_set(claim: Claim) -> str:
    return attached(", ".join(map(str, claim.expect.members)), unit_of(claim))


def _number(finding: Finding, unit: str) -> str:
    return number(finding.estimate, unit)


def _stop(finding: Finding, unit: str) -> str:
    return stop(finding.estimate, unit)


def _members(finding: Finding, unit: str) -> str:
    return attached(", ".join(map(str, in_order(finding.members or ()))), unit)


def _expected_band(claim: Claim) -> Band:
    return claim.expect.band


def _equality_band(claim: Claim) -> Band:
    return 1 / (1 + claim.question.margin), 1 + claim.question.margin


def _no_band(claim: Claim) -> Band:
    return None, None


@dataclass(frozen=True, slots=True)
class Rule:
    """How findings of one quantity are judged and spelt.

    `expected` and `spelt` say what the claim expects and what was found; `band` is what agrees with the
    claim, where that has ends on its axis; `bounded` that a finding without an interval settles nothing.
    """

    judge: Callable[[Claim, Finding], Judgement]
    expected: Callable[[Claim], str] = _expected
    spelt: Callable[[Finding, str], str] = _number
    band: Callable[[Claim], Band] = _expected_band
    bounded: bool = True


RULES = {
    **dict.fromkeys(("speedup", "gain", "reduction", "interaction", "cost"), Rule(_judge_ratio)),
    **dict.fromkeys(("efficiency", "level"), Rule(_judge_level)),
    "equality": Rule(_judge_equality, _expected_equality, band=_equality_band),
    "ordering": Rule(_judge_steps, _expected_order, band=_no_band),
    "trend": Rule(_judge_trend, lambda claim: claim.expect.relation, band=_no_band),
    "saturation": Rule(_judge_saturation, spelt=_stop, bounded=False),
    "crossover": Rule(_judge_crossover, lambda claim: "each ahead somewhere", band=_no_band, bounded=False),
    "set": Rule(_judge_set, _expected_set, _members, band=_no_band, bounded=False),
}
