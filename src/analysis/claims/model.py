"""Claims as data: what a report says, what is compared, which quantity, what is expected.

A claim knows factors and levels by the report's names, never a file or a campaign; a campaign
says by its ``levels`` which of its own levels stands for one of the report's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.base import models
from analysis.base.errors import ConfigError
from analysis.claims.files import ClaimsFile

Level = str | int | float


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
    unit : str
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
class Comparison:
    """Which levels of which factor are held against each other.

    Attributes
    ----------
    factor : str
    levels : tuple of level or tuple of level
        Best first for an order; treatment then baseline otherwise. A level may be a list of levels
        that each are compared.
    varying : tuple of str
        Other factors that change with `factor` by nature (ranks with nodes).
    where : tuple of mapping
        For treatment and baseline, the values of varying factors; empty if any will do.
    span : tuple of float, optional
        For an order along numbers: every level that a campaign has from the first to the second.
    along : tuple of (str, level, level), optional
        For an interaction: another factor, its upper and its lower level.
    """

    factor: str
    levels: tuple[Level | tuple[Level, ...], ...]
    varying: tuple[str, ...] = ()
    where: tuple[Mapping[str, Level], ...] = ()
    span: tuple[float, float] | None = None
    along: tuple[str, Level, Level] | None = None


@dataclass(frozen=True, slots=True)
class Tariff:
    """How energy becomes money.

    Attributes
    ----------
    price : float
        Of a kWh, in the currency of the claim's unit.
    pue : float
        Energy of the whole site over that of the machine.
    jobs_of : level or None
        Level of the compared factor whose jobs of one year set the work; None for the jobs that
        each level does itself.
    """

    price: float
    pue: float = 1.0
    jobs_of: Level | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """One conclusion of a report; see ``config/claims/`` for the fields in use."""

    id: str
    report: str
    topic: str
    statement: str
    quantity: str
    expect: Expectation
    section: str = ""
    lines: tuple[int, ...] = ()
    ids: tuple[str, ...] = ()
    variable: str = "figure_of_merit"
    members: tuple[Level, ...] = ()
    scale: float = 1.0
    select: Mapping[str, Any] | None = None
    compare: Comparison | None = None
    aggregate: str = "all"
    over: tuple[str, ...] = ()
    each: bool = False
    threshold: float = 0.05
    tariff: Tariff | None = None
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
    _check_variables(claims, path)
    report = content["report"]
    return Report(path.stem, report["title"], report["publisher"], str(report["date"]), claims)


def _check_variables(claims: Sequence[Claim], path: Path) -> None:
    from analysis.estimates.measures import MEASURES, SETS  # they import `Level` from here

    for claim in claims:
        known = SETS if claim.quantity == "set" else MEASURES
        if claim.variable not in known:
            what = f"claim {claim.id!r}: {claim.variable!r} is no measure"
            raise ConfigError.at(str(path), 0, what, f"take one of {', '.join(sorted(known))}")


def _claim(entry: Mapping[str, Any], report: str, defaults: Mapping[str, Any]) -> Claim:
    compare = _comparison(entry.get("compare"))
    # A claim's own selection wins over the report's; null lifts a default, and so does comparing it.
    select = {**defaults, **entry.get("select", {})}
    moving = {compare.factor, *compare.varying, *(compare.along or ())[:1]} if compare else set()
    kept = {
        k: v for k, v in select.items() if v is not None and (k not in moving or k in entry.get("select", {}))
    }
    source = entry.get("source", {})
    return Claim(
        id=entry["id"],
        report=report,
        topic=entry["topic"],
        statement=entry["statement"],
        quantity=entry["quantity"],
        expect=_expectation(entry["expect"]),
        section=source.get("section", ""),
        lines=tuple(source.get("lines", ())),
        ids=tuple(entry.get("ids", (entry["id"],))),
        variable=entry.get("variable", "figure_of_merit"),
        members=tuple(entry.get("members", ())),
        scale=float(entry.get("scale", 1.0)),
        select=kept,
        compare=compare,
        aggregate=entry.get("aggregate", "all"),
        over=tuple(entry.get("over", ())),
        each=entry.get("each", False),
        threshold=_fraction(entry.get("threshold", 0.05)),
        tariff=Tariff(**entry["tariff"]) if "tariff" in entry else None,
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
