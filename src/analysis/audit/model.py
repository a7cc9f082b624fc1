"""The audit of a report as data: printed figures, and how the report's own statements bear on each other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis import project
from analysis.audit.arithmetic import Expression, Span
from analysis.errors import ConfigError, Fault

SCHEMA = Path("workflow/schemas/audit.schema.yaml")
_MARKS = {"about": "~", "over": ">", "under": "<", "almost": "<"}


@dataclass(frozen=True, slots=True)
class Figure:
    """A number that a report prints.

    Attributes
    ----------
    name : str
        As expressions call it.
    printed : str
    span : Span
        What the number may have been before it was rounded.
    reading : str
        ``rounded exact about over under almost range count`` or ``up to``.
    unit : str
    meaning : str
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
    id : str
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

    Returns
    -------
    Audit

    Raises
    ------
    ConfigError
        If the file does not follow ``workflow/schemas/audit.schema.yaml``, a formula is none, uses a
        figure that is not there or twice, a figure is not used, or an id stands twice.
    """
    content = project.load_yaml(path, project.root() / SCHEMA)
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
    """Say what a printed number may have been.

    Parameters
    ----------
    printed : str
        ``20``, ``8.9``; for a range ``16 to 20``.
    reading : str
        ``rounded`` and ``up to``: half a unit of the last digit either way. ``about``: a whole unit.
        ``over``, ``under``: that end only. ``almost``: below it, by half a unit at most. ``exact``:
        a count or a given value. ``range``: from one end to the other.
    step : float, optional
        Unit of the last digit that is meant, where it is not the last one printed ($3200: 100).

    Returns
    -------
    Span
    """
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
