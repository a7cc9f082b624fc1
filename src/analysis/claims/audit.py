"""The audit of a report computed: what its printed figures leave of its own statements."""

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from analysis.base import project
from analysis.base.words import percent
from analysis.claims import intervals as arithmetic
from analysis.claims.intervals import PrintedRange
from analysis.claims.model import Claim, load_report
from analysis.claims.relations import FACTOR, Audit, Move, Relation, Sides, load_audit, moves
from analysis.claims.rules import expected_text
from analysis.claims.verdict import Verdict, finite

CONSISTENT = "consistent"
# It agrees, but would have agreed whatever had been printed, or had an assumption to blame.
COULD_NOT_FAIL = "could not fail"
INCONSISTENT = "inconsistent"
NOT_CHECKABLE = "not checkable"

# Name of the pseudo-campaign that the records carry, and of the page that shows them.
CAMPAIGN = "audit"

_TESTS: dict[str, tuple[Callable[[PrintedRange, PrintedRange], bool], str]] = {
    "equal": (arithmetic.equal, "equal to"),
    "greater": (arithmetic.greater, "greater than"),
    "less": (lambda a, b: arithmetic.greater(b, a), "less than"),
    "at-least": (arithmetic.at_least, "at least"),
    "at-most": (lambda a, b: arithmetic.at_least(b, a), "at most"),
}


@dataclass(frozen=True, slots=True)
class ComparedSides:
    """Two sides computed, and whether they agree."""

    sides: Sides
    left: PrintedRange
    right: PrintedRange
    agrees: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of one relation: ``consistent``, ``could not fail``, ``inconsistent``, ``not checkable``.

    `arithmetic` is the calculation, and what else follows from it. `compared` has one entry per reading,
    with the first that agrees in front. `moves` gives, for each figure, the print that would reverse the
    result.
    """

    relation: Relation
    verdict: str
    reason: str
    arithmetic: str
    compared: tuple[ComparedSides, ...] = ()
    moves: tuple[Move, ...] = ()

    @property
    def margin(self) -> float:
        """Least share by which a figure would have to change for the opposite; NaN where none would do."""
        return min((abs(move.share) for move in self.moves if move.printed), default=math.nan)


def outcome(relation: Relation) -> Outcome:
    """Compute one relation.

    Consistent if values that round to the printed figures satisfy the relation, in any reading of the text;
    otherwise inconsistent, or not checkable where an assumption is needed. An agreement that no other print
    of one figure, within a factor of two, would have made inconsistent could not fail.
    """
    spans = relation.spans
    compared = sorted(
        (_compare(relation, one, spans) for one in relation.sides), key=lambda one: not one.agrees
    )
    words = _arithmetic(relation, tuple(compared), spans)
    if not relation.relation:
        return Outcome(relation, NOT_CHECKABLE, relation.missing, words)
    turned = moves(relation, _agreement(relation))
    could = any(move.printed for move in turned if move.name in relation.free) and not relation.assumes
    agrees = compared[0].agrees
    verdict = CONSISTENT if could else COULD_NOT_FAIL
    if not agrees:
        verdict = NOT_CHECKABLE if relation.assumes else INCONSISTENT
    reason = _reason(relation, compared) + (_proves_nothing(relation) if verdict == COULD_NOT_FAIL else "")
    text = "; ".join(part for part in (words, _moved(relation, turned, agrees=agrees)) if part)
    return Outcome(relation, verdict, reason, text, tuple(compared), turned)


def _agreement(relation: Relation) -> Callable[[Mapping[str, PrintedRange]], bool]:
    """Return what tells whether the relation holds in any reading, with the formulas parsed once."""
    formulas = [(one.left.expression, one.right.expression) for one in relation.sides]
    holds = _TESTS[relation.relation][0]
    return lambda spans: any(holds(left.evaluate(spans), right.evaluate(spans)) for left, right in formulas)


def _compare(relation: Relation, sides: Sides, spans: Mapping[str, PrintedRange]) -> ComparedSides:
    left, right = sides.left.expression.evaluate(spans), sides.right.expression.evaluate(spans)
    return ComparedSides(sides, left, right, _TESTS[relation.relation][0](left, right))


def _proves_nothing(relation: Relation) -> str:
    if relation.assumes:
        return "; were it otherwise, that would be to blame"
    return "; no result printed within a factor of 2 would make it otherwise"


def _moved(relation: Relation, turned: tuple[Move, ...], *, agrees: bool) -> str:
    """Say how each figure would have to be printed for the opposite."""
    named = {name: figure.meaning or name.replace("_", " ") for name, figure in relation.figures.items()}
    does = [f"{named[one.name]} {one.printed} ({_signed(one.share)})" for one in turned if one.printed]
    does_not = [named[one.name] for one in turned if not one.printed]
    text = f"it {'breaks' if agrees else 'agrees'} with {', or '.join(does)}" if does else ""
    within = f"no {', no '.join(does_not)} within a factor of {FACTOR:g}" if does_not else ""
    if not text:
        return f"it {'breaks' if agrees else 'agrees'} with {within}" if within else ""
    return f"{text}; with {within}" if within else text


def _signed(share: float) -> str:
    return f"{'−' if share < 0 else '+'}{percent(abs(share), 0 if abs(share) >= 0.1 else 1)}"


def _reason(relation: Relation, compared: list[ComparedSides]) -> str:
    first = compared[0]
    text = _sentence(relation, first)
    if len(compared) > 1:
        agree = [one.sides.name for one in compared if one.agrees]
        not_so = [one.sides.name for one in compared if not one.agrees]
        text = f"{first.sides.left.meaning} agrees if read as {', '.join(agree)}"
        if not agree:
            text = f"{first.sides.left.meaning} agrees in no reading"
        text += f"; not as {', '.join(not_so)}" if not_so else ""
    if relation.assumes:
        text += f"; assuming that {relation.assumes}"
        text += "" if first.agrees else ": the figures may be right and this wrong"
    return text


def _sentence(relation: Relation, one: ComparedSides) -> str:
    """Say how the two sides compare, and whether every value or only some within the rounding do."""
    left, right = one.sides.left.meaning, one.sides.right.meaning
    if relation.relation == "equal":
        verb = "agree" if one.agrees else "do not agree"
        rounded = "" if one.left.exact and one.right.exact else " within what the printed figures leave open"
        return f"{left} and {right} {verb}{rounded}"
    holds, wanted = _TESTS[relation.relation]
    worst = holds(*_least(relation.relation, one.left, one.right))
    verb = "is" if worst else "can be" if one.agrees else "is not"
    return f"{left} {verb} {wanted} {right}"


def _least(relation: str, left: PrintedRange, right: PrintedRange) -> tuple[PrintedRange, PrintedRange]:
    """Return the ends of both ranges that are the least favourable to an order."""
    up = relation in ("greater", "at-least")
    a, b = (left.low, right.high) if up else (left.high, right.low)
    return PrintedRange.exactly(a), PrintedRange.exactly(b)


def _arithmetic(
    relation: Relation, compared: tuple[ComparedSides, ...], spans: Mapping[str, PrintedRange]
) -> str:
    printed = {name: one.spelt for name, one in relation.figures.items()}
    parts = []
    for one in compared:
        sides = zip((one.sides.left, one.sides.right), (one.left, one.right), strict=True)
        left, right = (
            _equation(side.expression.spelt(printed), span.text(relation.unit)) for side, span in sides
        )
        name = f"{one.sides.name}: " if one.sides.name else ""
        parts.append(f"{name}{left} against {right}")
    for step in relation.steps:
        result = step.expression.evaluate(spans).text(step.unit)
        parts.append(f"{step.name}: {_equation(step.expression.spelt(printed), result)}")
    return "; ".join(parts)


def _equation(formula: str, result: str) -> str:
    """Write ``formula = result``; a figure by itself is its own result."""
    plain = not any(sign in formula for sign in "+−×/(")
    return result if plain else f"{formula} = {result}"


def evaluate(audit: Audit, path: Path | None = None) -> list[Verdict]:
    """Evaluate a report's audit: one verdict for each claim that a relation tests.

    The verdicts use the words of reported evidence. A relation that tests no catalogued claim has a record
    under its own name. An inconsistency counts for the first claim that the relation names, because nothing
    shows which of several claims is wrong. The records contain the checksum of `path`, the file that
    declares the relations.
    """
    claims = _claims(audit.report)
    inputs = (
        [{"path": f"config/audit/{path.name}", "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}]
        if path
        else []
    )
    found = []
    for relation in audit.relations:
        result = outcome(relation)
        # Several ids of the catalogue may be one claim here: it gets one record.
        names = list(dict.fromkeys(claims[one].id if one in claims else one for one in relation.claims))
        for name in names or [f"{audit.report}-audit-{relation.id}"]:
            counted = result if name in names[:1] or not names else _beside(result, names[0])
            found.append(_record(audit, counted, name, claims.get(name), inputs))
    return found


def _beside(result: Outcome, counted: str) -> Outcome:
    """Return what an inconsistency says of the claims beside the one that it counts for, the first named."""
    if result.verdict != INCONSISTENT:
        return result
    return replace(result, verdict=NOT_CHECKABLE, reason=f"{result.reason}; it is counted once, at {counted}")


def _claims(report: str) -> dict[str, Claim]:
    path = project.claims(report)
    found = load_report(path).claims if path.is_file() else ()
    return {name: claim for claim in found for name in (*claim.ids, claim.id)}


def _record(
    audit: Audit, result: Outcome, name: str, claim: Claim | None, inputs: list[dict[str, str]]
) -> Verdict:
    relation = result.relation
    first = result.compared[0] if result.compared else None
    left, right = (first.left, first.right) if first else (None, None)
    texts = [one.text(relation.unit) if one else "" for one in (left, right)]
    wanted = f"{_TESTS[relation.relation][1]} {texts[1]}" if relation.relation else ""
    return Verdict(
        claim=name,
        report=audit.report,
        evidence="reported",
        verdict=result.verdict,
        estimate=left.value if left else None,
        low=finite(left.low) if left else None,
        high=finite(left.high) if left else None,
        expected=right.value if right else None,
        unit=relation.unit,
        n=None,
        campaign=CAMPAIGN,
        ids=list(claim.ids) if claim else [name],
        report_title=audit.title,
        topic=claim.topic if claim else relation.topic,
        statement=claim.statement if claim else relation.statement,
        note=relation.note,
        source={"section": relation.section, "lines": relation.lines},
        quantity="relation",
        # Both sides follow from the claim and others: on the claim's own scale they have no place.
        scale="word" if claim or not left else "level",
        reason=result.reason,
        expected_low=finite(right.low) if right else None,
        expected_high=finite(right.high) if right else None,
        estimate_text=" against ".join(texts) if claim and left else texts[0],
        expected_text=expected_text(claim) if claim else wanted,
        compared=relation.statement,
        arithmetic=result.arithmetic,
        page=CAMPAIGN,
        inputs=inputs,
    )


def audit_path(report: str) -> Path:
    """Return the file that holds a report's audit."""
    return project.root() / "config" / "audit" / f"{report}.yaml"


def evaluate_report(report: str) -> list[Verdict]:
    """Load and evaluate the audit of one report; `load_audit` says what is refused."""
    path = audit_path(report)
    return evaluate(load_audit(path), path)
