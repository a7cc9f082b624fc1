"""From an estimate to a word: the rules by which a claim holds, and how that is said.

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

from analysis.claims.model import Claim
from analysis.claims.words import in_order
from analysis.estimates.finding import Finding
from analysis.estimates.stats import MIN_REPEATS, Estimate

HOLDS = "holds"
DIRECTION = "holds in direction"
FAILS = "does not hold"
UNKNOWN = "cannot tell"
NOT_TESTED = "not tested"

# From the weakest to the strongest, for claims that must hold in every stratum.
RANKING = (FAILS, UNKNOWN, DIRECTION, HOLDS)

NEUTRAL = {"speedup": 1.0, "gain": 0.0, "reduction": 0.0, "interaction": 1.0}


def judge(claim: Claim, finding: Finding) -> tuple[str, str]:
    """Judge one finding.

    Parameters
    ----------
    claim : Claim
    finding : Finding

    Returns
    -------
    tuple of str
        Verdict in the words of measured evidence, and the reason in a few words.
    """
    if claim.quantity == "set":
        return _judge_set(claim, finding)
    if claim.quantity == "saturation":
        return _judge_saturation(claim, finding)
    if claim.quantity == "crossover":
        return _judge_crossover(finding)
    if not finding.estimate.bounded:
        return UNKNOWN, _too_few(finding.estimate)
    if claim.quantity == "ordering":
        return _judge_steps(finding)
    if claim.quantity == "equality":
        return _judge_equality(claim, finding)
    if claim.quantity == "trend":
        return _judge_trend(claim, finding.estimate)
    neutral = neutral_of(claim)
    if neutral is not None:
        return _judge_ratio(claim, finding.estimate, neutral)
    return _judge_level(claim, finding.estimate)


def neutral_of(claim: Claim) -> float | None:
    """Return the value of a claim's quantity that means no effect, None where there is none."""
    if claim.quantity == "cost" and claim.compare is not None:
        return 0.0  # nothing saved
    return NEUTRAL.get(claim.quantity)


def words(evidence: str, verdict: str) -> str:
    """Translate a verdict into the words of an evidence class.

    Notes
    -----
    A synthetic campaign tests the pipeline: its claims are recovered or they are not.
    """
    if evidence != "synthetic" or verdict == NOT_TESTED:
        return verdict
    return "recovered" if verdict == HOLDS else "not recovered"


def _too_few(estimate: Estimate) -> str:
    counts = f"{estimate.n}" if estimate.n_baseline is None else f"{estimate.n} and {estimate.n_baseline}"
    return f"too few runs for an interval: {counts}, {MIN_REPEATS} are needed"


def _judge_ratio(claim: Claim, estimate: Estimate, neutral: float) -> tuple[str, str]:
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


def _judge_level(claim: Claim, estimate: Estimate) -> tuple[str, str]:
    low, high = claim.expect.band
    if estimate.low >= low and estimate.high <= high:
        return HOLDS, "the whole interval agrees with the claim"
    if estimate.high < low or estimate.low > high:
        return FAILS, f"the whole interval lies {'below' if estimate.high < low else 'above'} the claim"
    return UNKNOWN, "the interval lies across the edge of what the claim allows"


def _judge_equality(claim: Claim, finding: Finding) -> tuple[str, str]:
    margin = claim.expect.tolerance
    estimate, test = finding.estimate, finding.equivalence
    equal, apart = (FAILS, HOLDS) if claim.expect.relation == "different" else (HOLDS, FAILS)
    if test is not None and test.equivalent:
        return equal, f"equal within {margin:.0%} (p = {test.p:.2g})"
    if estimate.high < 1 / (1 + margin) or estimate.low > 1 + margin:
        return apart, f"they differ by more than {margin:.0%}"
    return UNKNOWN, f"neither equal within {margin:.0%} nor clearly apart"


def _judge_trend(claim: Claim, estimate: Estimate) -> tuple[str, str]:
    sign = -1.0 if claim.expect.relation == "falling" else 1.0
    if min(sign * estimate.low, sign * estimate.high) > 0:
        return HOLDS, f"clearly {claim.expect.relation}"
    if max(sign * estimate.low, sign * estimate.high) < 0:
        return FAILS, "clear, the other way"
    return UNKNOWN, "no clear trend"


def _judge_steps(finding: Finding) -> tuple[str, str]:
    if all(step.low > 1 for step in finding.steps):
        return HOLDS, "every step of the order is clear"
    if any(step.high < 1 for step in finding.steps):
        return FAILS, "a step of the order is clearly the other way round"
    return UNKNOWN, "a step of the order is not clear"


def _judge_saturation(claim: Claim, finding: Finding) -> tuple[str, str]:
    low, high = claim.expect.band
    estimate = finding.estimate
    gain = f"a gain of {claim.threshold:.0%}"
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


def _judge_crossover(finding: Finding) -> tuple[str, str]:
    up = sum(step.low > 1 for step in finding.steps)
    down = sum(step.high < 1 for step in finding.steps)
    if up and down:
        return HOLDS, f"each side is clearly ahead somewhere ({up} and {down} times)"
    if max(up, down) == len(finding.steps):
        return FAILS, "the same side is clearly ahead everywhere"
    return UNKNOWN, "a side that is clearly ahead somewhere is missing"


def _judge_set(claim: Claim, finding: Finding) -> tuple[str, str]:
    if not finding.unequal:
        return HOLDS, f"exactly the claimed set in each of {len(finding.runs)} runs"
    found, expected = finding.members or frozenset(), set(claim.expect.members)
    more = ", ".join(map(str, in_order(found - expected))) or "none"
    less = ", ".join(map(str, in_order(expected - found))) or "none"
    return FAILS, f"in addition: {more}; missing: {less}; other than claimed in {len(finding.unequal)} runs"
