"""The audit of a report as data: printed figures, and how the report's own statements bear on each other."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.base import models, project
from analysis.base.errors import ConfigError, Fault
from analysis.claims import spans as arithmetic
from analysis.claims.files import AuditFile
from analysis.claims.model import Claim, load_report
from analysis.claims.spans import Expression, Span
from analysis.claims.verdict import Verdict, finite
from analysis.claims.verdicts import expected_text

_MARKS = {"about": "~", "over": ">", "under": "<", "almost": "<"}


@dataclass(frozen=True, slots=True)
class Figure:
    """A number that a report prints.

    Attributes
    ----------
    name : str
        As expressions call it.
    span : Span
        What the number may have been before it was rounded.
    reading : str
        ``rounded exact about over under almost range count`` or ``up to``.
    lines : tuple of int
        Of the report's text.
    report : str
        Another report that prints it; empty for the one under audit.
    """

    name: str
    printed: str
    span: Span
    reading: str = "rounded"
    unit: str = ""
    meaning: str = ""
    lines: tuple[int, ...] = ()
    report: str = ""

    @property
    def spelt(self) -> str:
        """The number as it stands in a formula, ``~`` for about and ``>`` for over."""
        return _MARKS.get(self.reading, "") + self.printed


@dataclass(frozen=True, slots=True)
class Step:
    """A number that follows from the figures and is shown beside the verdict."""

    name: str
    expression: Expression
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a relation: a formula, and what it stands for."""

    expression: Expression
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read what is printed: the two sides that it puts beside each other."""

    name: str
    left: Side
    right: Side


@dataclass(frozen=True, slots=True)
class Relation:
    """How statements of a report bear on each other.

    Attributes
    ----------
    claims : tuple of str
        Catalogue ids of the claims that it speaks to; empty if it speaks to none of them.
    relation : str
        ``equal greater less at-least at-most`` of left to right; empty where nothing can be computed.
    readings : tuple of Reading
        One, or the several ways in which the text can be read; consistent if any of them is.
    assumes : str
        What has to be assumed beyond the text. Figures that disagree then disagree with the
        assumption as much as with each other, so that nothing can be concluded.
    missing : str
        What the text would have to give for a check.
    """

    id: str
    topic: str
    statement: str
    claims: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    relation: str = ""
    readings: tuple[Reading, ...] = ()
    steps: tuple[Step, ...] = ()
    unit: str = ""
    assumes: str = ""
    missing: str = ""
    note: str = ""
    section: str = ""

    @property
    def lines(self) -> tuple[int, ...]:
        """Lines of the report that the figures stand on."""
        return tuple(sorted({line for one in self.figures if not one.report for line in one.lines}))


@dataclass(frozen=True, slots=True)
class Audit:
    """All relations declared for one report."""

    report: str
    title: str
    publisher: str
    relations: tuple[Relation, ...]


def load_audit(path: Path) -> Audit:
    """Load the audit of one report.

    Parameters
    ----------
    path : Path
        ``config/audit/<report>.yaml``.

    Raises
    ------
    ConfigError
        If the file does not follow its model, a formula is none, uses a
        figure that is not there or twice, a figure is not used, or an id stands twice.
    """
    content = models.checked(AuditFile, path)
    relations, faults = [], []
    lines = _lines(path)
    seen: set[str] = set()
    for entry in content["relations"]:
        line = lines.get(entry["id"], 0)
        if entry["id"] in seen:
            faults.append(Fault(str(path), line, f"id {entry['id']!r} stands twice", "rename one"))
        seen.add(entry["id"])
        try:
            relation = _relation(entry)
        except ValueError as error:
            faults.append(Fault(str(path), line, f"{entry['id']}: {error}", "correct it"))
            continue
        relations.append(relation)
        faults += [Fault(str(path), line, f"{relation.id}: {what}", todo) for what, todo in _wrong(relation)]
    if faults:
        raise ConfigError(*faults)
    report = content["report"]
    return Audit(path.stem, report["title"], report["publisher"], tuple(relations))


def _lines(path: Path) -> dict[str, int]:
    """Find the line at which each relation begins; the last one where an id stands twice."""
    found = {}
    for at, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        head, _, name = line.strip().partition("id: ")
        if head == "- ":
            found[name.strip()] = at
    return found


def span_of(printed: str, reading: str = "rounded", step: float | None = None) -> Span:
    """Say what a printed number may have been."""
    if reading == "range":
        low, high = (float(end) for end in printed.split(" to "))
        return Span((low + high) / 2, low, high)
    value = float(printed)
    decimals = len(printed.partition(".")[2])
    unit = step if step is not None else 10.0**-decimals
    half = {"rounded": unit / 2, "up to": unit / 2, "about": unit, "exact": 0.0}
    if reading in half:
        return Span(value, value - half[reading], value + half[reading])
    if reading == "almost":
        return Span(value, value - unit / 2, value)
    return Span(value, value, math.inf) if reading == "over" else Span(value, 0.0, value)


def _figure(name: str, entry: Mapping[str, Any]) -> Figure:
    reading = entry.get("reading", "rounded")
    if "members" in entry:
        members = entry["members"]
        printed, span, reading = str(len(members)), Span.exactly(float(len(members))), "count"
    else:
        printed = str(entry["printed"])
        span = span_of(printed, reading, entry.get("step"))
    return Figure(
        name=name,
        printed=printed,
        span=span,
        reading=reading,
        unit=entry.get("unit", ""),
        meaning=entry.get("meaning", ""),
        lines=tuple(entry["lines"]),
        report=entry.get("report", ""),
    )


def _relation(entry: Mapping[str, Any]) -> Relation:
    return Relation(
        id=entry["id"],
        topic=entry["topic"],
        statement=entry["statement"],
        claims=tuple(entry.get("claims", ())),
        figures=tuple(_figure(name, one) for name, one in entry.get("figures", {}).items()),
        relation=entry.get("relation", ""),
        readings=tuple(_readings(entry)),
        steps=tuple(
            Step(one["name"], Expression(str(one["is"])), one.get("unit", ""))
            for one in entry.get("steps", ())
        ),
        unit=entry.get("unit", ""),
        assumes=entry.get("assumes", ""),
        missing=entry.get("missing", ""),
        note=entry.get("note", ""),
        section=entry.get("section", ""),
    )


def _readings(entry: Mapping[str, Any]) -> Iterator[Reading]:
    if "relation" not in entry:
        return
    for one in entry.get("readings", [{"name": ""}]):
        left, right = (one.get(side, entry.get(side)) for side in ("left", "right"))
        if left is None or right is None:
            raise ValueError("a reading has no left or no right side")
        yield Reading(one["name"], _side(left), _side(right))


def _side(entry: Mapping[str, Any]) -> Side:
    return Side(Expression(str(entry["is"])), entry.get("meaning", ""))


def _wrong(relation: Relation) -> Iterator[tuple[str, str]]:
    """Find names without a figure, figures without a use, and figures used twice in a comparison."""
    known = {one.name for one in relation.figures}
    used: set[str] = set()
    for reading in relation.readings:
        names = reading.left.expression.names + reading.right.expression.names
        used |= set(names)
        for name in sorted(name for name, times in names.items() if times > 1):
            yield f"{name!r} occurs {names[name]} times", "rewrite the comparison so that it occurs once"
    for step in relation.steps:
        used |= set(step.expression.names)
    for name in sorted(used - known):
        yield f"{name!r} is no figure", f"figures: {', '.join(sorted(known)) or 'none'}"
    for name in sorted(known - used):
        if relation.relation:
            yield f"figure {name!r} is not used", "drop it or use it"


CONSISTENT = "consistent"
INCONSISTENT = "inconsistent"
NOT_CHECKABLE = "not checkable"

# Name of the pseudo-campaign that the records carry, and of the page that shows them.
CAMPAIGN = "audit"

_TESTS: dict[str, tuple[Callable[[Span, Span], bool], str]] = {
    "equal": (arithmetic.equal, "equal to"),
    "greater": (arithmetic.greater, "greater than"),
    "less": (lambda a, b: arithmetic.greater(b, a), "less than"),
    "at-least": (arithmetic.at_least, "at least"),
    "at-most": (lambda a, b: arithmetic.at_least(b, a), "at most"),
}


@dataclass(frozen=True, slots=True)
class Sides:
    """Two sides computed, and whether they can stand together."""

    reading: Reading
    left: Span
    right: Span
    agrees: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one relation.

    Attributes
    ----------
    verdict : str
        ``consistent``, ``inconsistent`` or ``not checkable``.
    arithmetic : str
        The numbers as they were put together, and what else follows from them.
    compared : tuple of Sides
        One a reading; the first that agrees stands first.
    """

    relation: Relation
    verdict: str
    reason: str
    arithmetic: str
    compared: tuple[Sides, ...] = ()


def outcome(relation: Relation) -> Outcome:
    """Compute one relation.

    Returns
    -------
    Outcome
        Consistent if values that round to the printed figures satisfy the relation, in any reading
        of the text; otherwise inconsistent, or not checkable where an assumption is needed.
    """
    spans = {one.name: one.span for one in relation.figures}
    compared = sorted(
        (_compare(relation, one, spans) for one in relation.readings), key=lambda one: not one.agrees
    )
    words = _arithmetic(relation, tuple(compared), spans)
    if not relation.relation:
        return Outcome(relation, NOT_CHECKABLE, relation.missing, words)
    agrees = compared[0].agrees
    verdict = CONSISTENT if agrees else NOT_CHECKABLE if relation.assumes else INCONSISTENT
    return Outcome(relation, verdict, _reason(relation, compared), words, tuple(compared))


def _compare(relation: Relation, reading: Reading, spans: Mapping[str, Span]) -> Sides:
    left, right = reading.left.expression.evaluate(spans), reading.right.expression.evaluate(spans)
    return Sides(reading, left, right, _TESTS[relation.relation][0](left, right))


def _reason(relation: Relation, compared: list[Sides]) -> str:
    first = compared[0]
    text = _sentence(relation, first)
    if len(compared) > 1:
        agree = [one.reading.name for one in compared if one.agrees]
        not_so = [one.reading.name for one in compared if not one.agrees]
        text = f"{first.reading.left.meaning} agrees if read as {', '.join(agree)}"
        if not agree:
            text = f"{first.reading.left.meaning} agrees in no reading"
        text += f"; not as {', '.join(not_so)}" if not_so else ""
    if relation.assumes:
        text += f"; assuming that {relation.assumes}"
        text += "" if first.agrees else ": the figures may be right and this wrong"
    return text


def _sentence(relation: Relation, one: Sides) -> str:
    """Say how the two sides compare, and whether every value or only some within the rounding do."""
    left, right = one.reading.left.meaning, one.reading.right.meaning
    if relation.relation == "equal":
        verb = "agree" if one.agrees else "do not agree"
        rounded = "" if one.left.exact and one.right.exact else " within what the printed figures leave open"
        return f"{left} and {right} {verb}{rounded}"
    holds, wanted = _TESTS[relation.relation]
    worst = holds(*_least(relation.relation, one.left, one.right))
    verb = "is" if worst else "can be" if one.agrees else "is not"
    return f"{left} {verb} {wanted} {right}"


def _least(relation: str, left: Span, right: Span) -> tuple[Span, Span]:
    """Return the ends of both ranges that are the least favourable to an order."""
    up = relation in ("greater", "at-least")
    a, b = (left.low, right.high) if up else (left.high, right.low)
    return Span.exactly(a), Span.exactly(b)


def _arithmetic(relation: Relation, compared: tuple[Sides, ...], spans: Mapping[str, Span]) -> str:
    printed = {one.name: one.spelt for one in relation.figures}
    parts = []
    for one in compared:
        sides = zip((one.reading.left, one.reading.right), (one.left, one.right), strict=True)
        left, right = (
            _equation(side.expression.spelt(printed), span.text(relation.unit)) for side, span in sides
        )
        name = f"{one.reading.name}: " if one.reading.name else ""
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
    """Evaluate a report's audit.

    Parameters
    ----------
    path : Path, optional
        File that the relations were declared in; its checksum goes into the records.

    Returns
    -------
    list of Verdict
        One for each claim that a relation speaks to, in the words of reported evidence; a relation
        that speaks to no catalogued claim has a record under its own name.
    """
    claims = _claims(audit.report)
    inputs = [{"path": f"config/audit/{path.name}", "sha256": _checksum(path)}] if path else []
    found = []
    for relation in audit.relations:
        result = outcome(relation)
        # Several ids of the catalogue may be one claim here: it gets one record.
        names = list(dict.fromkeys(claims[one].id if one in claims else one for one in relation.claims))
        for name in names or [f"{audit.report}-audit-{relation.id}"]:
            found.append(_record(audit, result, name, claims.get(name), inputs))
    return found


def _claims(report: str) -> dict[str, Claim]:
    path = project.claims(report)
    if not path.is_file():
        return {}
    loaded = load_report(path)
    return {name: claim for claim in loaded.claims for name in (*claim.ids, claim.id)}


def _checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _record(
    audit: Audit, result: Outcome, name: str, claim: Claim | None, inputs: list[dict[str, str]]
) -> Verdict:
    relation = result.relation
    first = result.compared[0] if result.compared else None
    left, right = (first.left, first.right) if first else (None, None)
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
        source={"section": relation.section, "lines": list(relation.lines)},
        quantity="relation",
        # Both sides follow from the claim and others: on the claim's own scale they have no place.
        scale="word" if claim or not left else "level",
        reason=result.reason,
        expected_low=finite(right.low) if right else None,
        expected_high=finite(right.high) if right else None,
        estimate_text=_text(left, relation)
        + (f" against {_text(right, relation)}" if claim and left else ""),
        expected_text=expected_text(claim) if claim else _wanted(right, relation),
        compared=relation.statement,
        arithmetic=result.arithmetic,
        page=CAMPAIGN,
        inputs=inputs,
    )


def _text(span: Span | None, relation: Relation) -> str:
    return "" if span is None else span.text(relation.unit)


def _wanted(span: Span | None, relation: Relation) -> str:
    return f"{_TESTS[relation.relation][1]} {_text(span, relation)}" if relation.relation else ""


def audit_path(report: str, base: Path | None = None) -> Path:
    """Return the file that holds a report's audit."""
    return (base or project.root()) / "config" / "audit" / f"{report}.yaml"


def evaluate_report(report: str, base: Path | None = None) -> list[Verdict]:
    """Load and evaluate the audit of one report.

    Raises
    ------
    ConfigError
        If ``config/audit/<report>.yaml`` cannot be used.
    """
    path = audit_path(report, base)
    return evaluate(load_audit(path), path)
