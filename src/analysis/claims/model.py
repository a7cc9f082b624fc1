"""Claims as data: a question, what a report expects for an answer, and where it says so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.base import models
from analysis.base.errors import ConfigError
from analysis.claims.files import ClaimsFile
from analysis.estimates.measures import MEASURES, SETS
from analysis.estimates.question import Comparison, Level, Question, Tariff


@dataclass(frozen=True, slots=True)
class Expectation:
    """What the report says the quantity is.

    Attributes
    ----------
    value : float or None
        In `unit`; None where the expectation is a set, an order or a direction.
    relation : str
        ``about``, ``at-least``, ``at-most``, ``range``, ``equal``, ``different``, ``rising`` or
        ``falling``.
    tolerance : float
        Relative width of ``about`` and of the ends of a ``range``; of ``equal`` and ``different``
        between groups, the margin.
    low, high : float or None
        Ends of a ``range``.
    members : tuple of float or str
        Of a ``set``.
    """

    relation: str
    value: float | None = None
    tolerance: float = 0.0
    low: float | None = None
    high: float | None = None
    members: tuple[Level, ...] = ()
    unit: str = ""

    @property
    def band(self) -> tuple[float, float]:
        """Interval of values that agree with the claim."""
        infinity = float("inf")
        if self.relation == "range":
            low, high = float(self.low or 0.0), self.high
            bottom = low - abs(low) * self.tolerance
            return bottom, infinity if high is None else float(high + abs(high) * self.tolerance)
        if self.value is None:
            return -infinity, infinity
        if self.relation == "at-least":
            return self.value, infinity
        if self.relation == "at-most":
            return -infinity, self.value
        width = abs(self.value) * self.tolerance
        return self.value - width, self.value + width


@dataclass(frozen=True, slots=True)
class Claim:
    """One conclusion of a report; see ``config/claims/`` for the fields in use.

    Attributes
    ----------
    question : Question
        What is asked of a campaign.
    expect : Expectation
        What the report says to that.
    lines : tuple of int
        Of the report's text.
    ids : tuple of str
        Of the catalogue of conclusions.
    """

    id: str
    report: str
    topic: str
    statement: str
    question: Question
    expect: Expectation
    section: str = ""
    lines: tuple[int, ...] = ()
    ids: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """A report with its claims."""

    name: str
    title: str
    publisher: str
    date: str
    claims: tuple[Claim, ...]

    def claim(self, name: str) -> Claim:
        """Return one claim by its id."""
        for claim in self.claims:
            if claim.id == name:
                return claim
        raise KeyError(name)


def load_report(path: Path) -> Report:
    """Load the claims of one report.

    Parameters
    ----------
    path : Path
        ``config/claims/<report>.yaml``.

    Raises
    ------
    ConfigError
        If the file does not follow its model, each fault with its line;
        or if it names an id twice or a variable that is no measure.
    """
    content = models.checked(ClaimsFile, path)
    defaults = content.get("defaults", {}).get("select", {})
    claims = tuple(_claim(entry, path.stem, defaults) for entry in content["claims"])
    seen: set[str] = set()
    for claim in claims:
        for name in claim.ids:
            if name in seen:
                raise ConfigError.at(str(path), 0, f"id {name!r} stands twice", "an id belongs to one claim")
            seen.add(name)
        _check(claim, path)
    report = content["report"]
    return Report(path.stem, report["title"], report["publisher"], str(report["date"]), claims)


def _check(claim: Claim, path: Path) -> None:
    """Refuse a question that no campaign could answer."""
    asked = claim.question
    known = SETS if asked.quantity == "set" else MEASURES
    if asked.variable not in known:
        what = f"claim {claim.id!r}: {asked.variable!r} is no measure"
        raise ConfigError.at(str(path), 0, what, f"take one of {', '.join(sorted(known))}")
    ratio = asked.quantity in ("speedup", "gain", "reduction")
    if asked.aggregate == "mean" and (not ratio or MEASURES[asked.variable].higher_is_better):
        what = f"claim {claim.id!r} takes the mean of {asked.variable} for a {asked.quantity}"
        raise ConfigError.at(str(path), 0, what, "only costs have a mean: take times or energies")


def _claim(entry: Mapping[str, Any], report: str, defaults: Mapping[str, Any]) -> Claim:
    compare = _comparison(entry.get("compare"))
    # A claim's own selection wins over the report's; null lifts a default, and so does comparing it.
    select = {**defaults, **entry.get("select", {})}
    moving = {compare.factor, *compare.varying, *(compare.along or ())[:1]} if compare else set()
    kept = {
        k: v for k, v in select.items() if v is not None and (k not in moving or k in entry.get("select", {}))
    }
    expect = _expectation(entry["expect"])
    quantity = entry["quantity"]
    question = Question(
        quantity=quantity,
        variable=entry.get("variable", "figure_of_merit"),
        select=kept,
        compare=compare,
        # A set is held against what is claimed to be in it.
        members=expect.members if quantity == "set" else tuple(entry.get("members", ())),
        scale=float(entry.get("scale", 1.0)),
        aggregate=entry.get("aggregate", "all"),
        over=tuple(entry.get("over", ())),
        each=entry.get("each", False),
        threshold=_fraction(entry.get("threshold", 0.05)),
        margin=expect.tolerance if quantity == "equality" else 0.0,
        tariff=Tariff(**entry["tariff"]) if "tariff" in entry else None,
    )
    source = entry.get("source", {})
    return Claim(
        id=entry["id"],
        report=report,
        topic=entry["topic"],
        statement=entry["statement"],
        question=question,
        expect=expect,
        section=source.get("section", ""),
        lines=tuple(source.get("lines", ())),
        ids=tuple(entry.get("ids", (entry["id"],))),
        note=entry.get("note", ""),
    )


def _comparison(entry: Mapping[str, Any] | None) -> Comparison | None:
    if entry is None:
        return None
    levels = entry["order"] if "order" in entry else (entry["treatment"], entry["baseline"])
    span = None
    if isinstance(levels, Mapping):
        span = (float(levels["min"]), float(levels["max"]))
        levels = ()
    spelt = tuple(tuple(level) if isinstance(level, list) else level for level in levels)
    along = entry.get("along")
    ends = (along["factor"], along["high"], along["low"]) if along else None
    where = (
        tuple(entry["where"].get(side, {}) for side in ("treatment", "baseline")) if "where" in entry else ()
    )
    return Comparison(entry["factor"], spelt, tuple(entry.get("varying", ())), where, span, ends)


def _expectation(entry: Mapping[str, Any]) -> Expectation:
    return Expectation(
        relation=entry["relation"],
        value=entry.get("value"),
        tolerance=_fraction(entry.get("tolerance", 0.0)),
        low=entry.get("low"),
        high=entry.get("high"),
        members=tuple(entry.get("members", ())),
        unit=entry.get("unit", ""),
    )


def _fraction(value: float | str) -> float:
    return float(value.rstrip("% ")) / 100 if isinstance(value, str) else float(value)
