"""One word for the findings of all strata: what must hold in each, in the best, or in none."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from analysis.claims.model import Claim
from analysis.claims.verdicts import DISAGREES, FAILS, RANKING, UNKNOWN, judge, p_value
from analysis.estimates.family import extreme, rank
from analysis.estimates.finding import Finding

# A finding with its verdict and the reason.
Judged = tuple[Finding, str, str]


@dataclass(frozen=True, slots=True)
class Resolution:
    """What the findings of a claim come to: the word, why, its p-value, the finding that decides first."""

    word: str
    reason: str
    p: float | None
    finding: Finding
    others: tuple[Finding, ...]


def resolve(claim: Claim, found: Sequence[Finding]) -> Resolution:
    """Judge all findings, at least one, of a claim.

    "Up to" rests on the largest of all strata, "at worst" on the least, or on those of the strata that agree
    in every factor but the ones that the claim ranges over; otherwise the weakest finding decides. That one
    of k is against the claim counts only if it is so by intervals that hold for all k at once.
    """
    aggregate = claim.question.aggregate
    ranged = aggregate in ("max", "min") and len(found) > 1
    sign = -1.0 if aggregate == "min" else 1.0
    # What decides: of each group its extreme, with the interval of that and as it was found.
    groups = _groups(claim, found) if ranged else [[one] for one in found]
    firsts = [max(group, key=lambda one: rank(one.estimate, sign)) for group in groups]
    extremes = [extreme([one.estimate for one in group], sign) for group in groups]
    judged = [
        _judged(claim, replace(first, estimate=one), len(groups))
        for first, one in zip(firsts, extremes, strict=True)
    ]
    chosen = min(range(len(judged)), key=lambda at: _strength(judged[at]))
    finding, word, reason = judged[chosen]
    if ranged:
        reason += f" (the {'largest' if sign > 0 else 'least'} of {len(found)} comparisons{_at_once(found)})"
    elif len(found) > 1:
        agree = sum(one[1] == word for one in judged)
        reason += f" ({agree} of {len(found)} comparisons say so)"
    others = tuple(one for one in found if one is not firsts[chosen])
    return Resolution(word, reason, _p(claim, judged, chosen), finding, others)


def _at_once(found: Sequence[Finding]) -> str:
    bounded = sum(one.estimate.bounded for one in found)
    if bounded < 2:
        return ", the only one with an interval" if bounded else ""
    which = "all of them" if bounded == len(found) else f"the {bounded} that have one"
    return f", and an interval that holds for {which} at once"


def _groups(claim: Claim, found: Sequence[Finding]) -> list[list[Finding]]:
    over = claim.question.over
    groups: dict[tuple[Any, ...], list[Finding]] = {}
    for one in found:
        key = tuple((k, v) for k, v in one.stratum.items() if k not in over) if over else ()
        groups.setdefault(key, []).append(one)
    return list(groups.values())


def _judged(claim: Claim, finding: Finding, k: int) -> Judged:
    word, reason = judge(claim, finding)
    if word in (FAILS, *DISAGREES) and k > 1 and judge(claim, finding.among(k))[0] != word:
        return finding, UNKNOWN, f"against the claim, but not clear for one of {k} comparisons"
    return finding, word, reason


def _strength(one: Judged) -> tuple[int, float]:
    estimate = one[0].estimate
    return RANKING.index(one[1]), estimate.value if math.isfinite(estimate.value) else -math.inf


def _p(claim: Claim, judged: Sequence[Judged], chosen: int) -> float | None:
    """Return the p-value of a word that one finding earned for all: of the weakest, or as one of k."""
    finding, word, _ = judged[chosen]
    if word == FAILS:
        p = p_value(claim, finding, word)
        return None if p is None else min(1.0, len(judged) * p)
    each = [p_value(claim, one[0], word) for one in judged]
    known = [p for p in each if p is not None]
    return max(known) if len(known) == len(each) else None
