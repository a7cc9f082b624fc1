"""Findings of a claim become one verdict, in the words of its evidence class and distance.

A claim about every stratum or step needs each of them to hold. One of k contradicts it only by intervals
that hold for all k at once.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from analysis.claims.distance import LOOK_UP, OUT_OF_REACH, LevelDistance
from analysis.claims.model import Claim, Report
from analysis.claims.rules import (
    DIRECTION,
    DIRECTION_LARGER,
    DIRECTION_OPEN,
    DIRECTION_SMALLER,
    FAILS,
    HOLDS,
    UNKNOWN,
    expected_text,
    has_direction,
    judge,
    p_value,
    way,
)
from analysis.estimates.family import among, extreme, rank
from analysis.estimates.finding import LIMITED, RULED_OUT, Finding, directed

NOT_TESTED = "not tested"
# Of a comparison whose sides were not interleaved (`analysis.estimates.sessions`), instead of a full word.
AGREES = tuple(dict.fromkeys(agrees for _, agrees, _ in LIMITED.values()))
DISAGREES = tuple(dict.fromkeys(disagrees for _, _, disagrees in LIMITED.values()))
# The same where only the direction is clear, and the claimed size is ruled out or open.
DIRECTED = tuple(directed(agrees, size) for size in (*RULED_OUT, "") for agrees in AGREES)
# Who states what is looked up, where it is no maker, list or program.
SOURCE_KINDS = ("forum post", "blog")
SOURCE_WORDS = {
    verdict: [f"a {kind} {does} it" for kind in ("source", *SOURCE_KINDS)]
    for verdict, does in ((HOLDS, "confirms"), (FAILS, "contradicts"))
}
# From the weakest to the strongest, for claims that must hold in every stratum. A size that was ruled out is
# weaker than one that may yet be right, and an effect short of the claim weaker than one beyond it.
RANKING = (
    *(FAILS, *DISAGREES, UNKNOWN, *DIRECTED, *AGREES),
    *(DIRECTION_SMALLER, DIRECTION_LARGER, DIRECTION_OPEN, HOLDS),
)
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


def resolve(claim: Claim, found: Sequence[Finding], *, tested: bool = True) -> Resolution:
    """Judge all findings, at least one, of a claim.

    "Up to" rests on the largest of all strata, "at worst" on the least, or on those of the strata that agree
    in every factor but the ones that the claim ranges over; otherwise the weakest finding decides. That one
    of k is against the claim counts only if it is so by intervals that hold for all k at once. Unless it is
    `tested`, the p-value is left out, which takes longer than all else.
    """
    aggregate = claim.question.aggregate
    sign = -1.0 if aggregate == "min" else 1.0
    every = found
    if sign < 0 and claim.question.quantity == "saturation":
        found = _stopping(claim, found) or found
    ranged = aggregate in ("max", "min") and len(found) > 1
    # What decides: of each group its extreme, with the interval of that and as it was found.
    groups = _groups(claim, found) if ranged else [[one] for one in found]
    firsts = [max(group, key=lambda one: rank(one.estimate, sign)) for group in groups]
    extremes = [extreme([one.estimate for one in group], sign) for group in groups]
    judged = [
        _judged(claim, replace(first, estimate=one), len(groups))
        for first, one in zip(firsts, extremes, strict=True)
    ]
    chosen = min(range(len(judged)), key=lambda at: _strength(judged[at], claim))
    finding, word, reason = judged[chosen]
    if ranged:
        reason += f" (the {'largest' if sign > 0 else 'least'} of {len(found)} comparisons{_at_once(found)})"
    elif len(found) > 1:
        agree = sum(one[1] == word for one in judged)
        reason += f" ({agree} of {len(found)} comparisons say so)"
    others = tuple(one for one in every if one is not firsts[chosen])
    return Resolution(word, reason, _p(claim, judged, chosen) if tested else None, finding, others)


def explained(claim: Claim, resolved: Resolution, apart: Sequence[LevelDistance]) -> Resolution:
    """Take the size out of a word where a substitute alone makes the value so much smaller or larger.

    The direction stays. Without one, the claim is neither ruled out nor shown: the word is "cannot tell".
    """
    found = way(claim, resolved.finding, resolved.word)
    causes = [one for one in apart if one.explains(found)]
    if not causes:
        return resolved
    word = resolved.word.removesuffix(f", {found}")
    if word in (HOLDS, *AGREES) and has_direction(claim):
        word = DIRECTION if word == HOLDS else directed(word, "")
    if word == DIRECTION:
        word = DIRECTION_OPEN
    names = " and ".join(one.factor.replace("_", " ") for one in causes)
    would = "would" if any(one.effect != "either" for one in causes) else "could"
    reason = f"{resolved.reason}; the {names} of these runs alone {would} make it {found}"
    if word != resolved.word:
        return replace(resolved, word=word, reason=reason)
    return replace(resolved, word=UNKNOWN, reason=reason, p=None if resolved.p is None else 1.0)


def _stopping(claim: Claim, found: Sequence[Finding]) -> list[Finding]:
    """Return the scales that stop: where another ends, nobody looked further, and it did not stop there."""
    bar = 100 * claim.question.threshold
    return [one for one in found if any(step.value < bar for step in one.steps)]


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
    """Judge one of k findings: against the claim only by intervals that hold for all k at once."""
    word, reason = judge(claim, finding)
    if word in (FAILS, *DISAGREES) and k > 1:
        steps = tuple(among(step, k) for step in finding.steps)
        at_once = replace(finding, estimate=among(finding.estimate, k), steps=steps)
        if judge(claim, at_once)[0] != word:
            return finding, UNKNOWN, f"against the claim, but not clear for one of {k} comparisons"
    return finding, word, reason


def _strength(one: Judged, claim: Claim) -> tuple[int, float]:
    """Rank a judgement by its word, and by how far the value is on the claim's side."""
    value = one[0].estimate.value
    if claim.expect and claim.expect.relation == "at-most":
        value = -value
    return RANKING.index(one[1]), value if math.isfinite(value) else -math.inf


def _p(claim: Claim, judged: Sequence[Judged], chosen: int) -> float | None:
    """Return the p-value of a word that one finding earned for all: of the weakest, or as one of k."""
    finding, word, _ = judged[chosen]
    if word == FAILS:
        p = p_value(claim, finding, word)
        return None if p is None else min(1.0, len(judged) * p)
    each = [p_value(claim, one[0], word) for one in judged]
    known = [p for p in each if p is not None]
    return max(known) if len(known) == len(each) else None


def described(claim: Claim, report: Report) -> dict[str, Any]:
    """Return the fields of a verdict that identify its claim and report."""
    return {
        "claim": claim.id,
        "report": report.name,
        "ids": list(claim.ids),
        "report_title": report.title,
        "topic": claim.topic,
        "statement": claim.statement,
        "note": claim.note,
        "quantity": claim.question.quantity,
        "expected_text": expected_text(claim),
        "about": claim.about,
        "report_publisher": report.publisher,
        "report_date": report.date,
        "report_url": report.url,
    }


def words(evidence: str, verdict: str, distance: str = "same", source: str = "source") -> str:
    """Translate a verdict into the words of an evidence class at a distance from the claim's conditions.

    A synthetic campaign tests the pipeline: its claims are recovered or they are not. A look-up names the
    kind of its source.
    """
    if verdict == NOT_TESTED:
        return verdict
    if evidence == "synthetic":
        return "recovered" if verdict == HOLDS else "not recovered"
    if distance == OUT_OF_REACH:
        return "out of reach here"
    if distance == LOOK_UP:
        return next((word for word in SOURCE_WORDS.get(verdict, ()) if f" {source} " in word), verdict)
    if verdict.startswith(DIRECTION):
        size = verdict.removeprefix(DIRECTION)
        shown = f"an analogue shows the direction{size if size in RULED_OUT else ''}"
        return {"scaled": "seen" + size, "analogue": shown}.get(distance, verdict)
    return _AT[distance].get(verdict, verdict)


# Distance -> verdict -> word, where it is another.
_AT: Mapping[str, Mapping[str, str]] = {
    "same": {},
    "scaled": {HOLDS: "seen at this scale", FAILS: "not seen at this scale"},
    "analogue": {HOLDS: "an analogue shows it", FAILS: "an analogue does not show it"},
}
