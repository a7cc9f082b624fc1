"""The audit of a report as data: printed figures, and how the report's own statements bear on each other."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, StringConstraints

from analysis.base import models
from analysis.base.errors import ConfigError, Fault
from analysis.base.models import Maybe, Model, Positive, Unique
from analysis.base.words import Level
from analysis.claims.intervals import Expression, ExpressionError, PrintedRange
from analysis.claims.model import ReportFacts

# Nobody would doubt a report for a figure that is wrong by more: so far its figures are printed otherwise.
FACTOR = 2.0
# Longer numbers are tried with so many digits: 250,000 with the steps of 1,000.
_DIGITS = 3
_MARKS = {"about": "~", "over": ">", "under": "<", "almost": "<"}

FigureName = Annotated[
    str,
    StringConstraints(pattern="^[a-z][a-z0-9_]*$"),
    Field(description="letters, digits and underscores, not beginning with a digit"),
]
Formula = Annotated[Level, Field(description="numbers, names of figures, + - * / and brackets")]


def span_of(printed: str, reading: str = "rounded", step: float | None = None) -> PrintedRange:
    """Say what a printed number may have been."""
    if reading == "range":
        low, high = (float(end) for end in printed.split(" to "))
        return PrintedRange((low + high) / 2, low, high)
    value = float(printed)
    decimals = len(printed.partition(".")[2])
    unit = step if step is not None else 10.0**-decimals
    half = {"rounded": unit / 2, "up to": unit / 2, "about": unit, "exact": 0.0}
    if reading in half:
        return PrintedRange(value, value - half[reading], value + half[reading])
    if reading == "almost":
        return PrintedRange(value, value - unit / 2, value)
    return PrintedRange(value, value, math.inf) if reading == "over" else PrintedRange(value, 0.0, value)


class PrintedFigure(Model):
    """A printed number with its lines, or members that are counted."""

    TOGETHER = (("exactly", "printed", "members"),)

    printed: Maybe[Level] = Field(
        None, description="as printed; quote it where a zero after the point counts"
    )
    members: Maybe[Annotated[list[Any], Field(min_length=1)]] = Field(
        None, description="what the text lists; its number is the figure"
    )
    reading: Literal["rounded", "exact", "about", "over", "under", "almost", "range", "up to"] = "rounded"
    step: Maybe[Positive] = Field(None, description="unit of the last digit that is meant")
    unit: str = ""
    meaning: str = ""
    lines: Annotated[list[int], Field(min_length=1)] = Field(description="lines of the report's text")
    report: str = Field("", description="another report that prints it")

    @property
    def span(self) -> PrintedRange:
        """What the number may have been before it was rounded."""
        return self.span_if(str(len(self.members) if self.members else self.printed))

    def span_if(self, printed: str) -> PrintedRange:
        """Say what it may have been if that were printed in its place, read the same."""
        if self.members:
            return PrintedRange.exactly(float(printed))
        return span_of(printed, self.reading, self.step)

    @property
    def value(self) -> float:
        """The printed number; the middle of a range."""
        return self.span.value

    @property
    def print_unit(self) -> float:
        """Unit of the last printed digit."""
        if self.members:
            return 1.0
        decimals = len(str(self.printed).split(" ")[0].partition(".")[2])
        return self.step if self.step is not None else 10.0**-decimals

    def moved(self, by: float) -> str:
        """Print it larger by so much, with as many decimals; a range with both ends."""
        if self.members:
            return f"{len(self.members) + by:.0f}"
        ends = str(self.printed).split(" to ")
        return " to ".join(f"{float(end) + by:.{len(end.partition('.')[2])}f}" for end in ends)

    @property
    def spelt(self) -> str:
        """The number as written in a formula, with ``~`` for about and ``>`` for over."""
        return str(len(self.members)) if self.members else f"{_MARKS.get(self.reading, '')}{self.printed}"


class Side(Model):
    """A formula and what it stands for."""

    is_: Formula = Field(alias="is")
    meaning: str = ""

    @property
    def expression(self) -> Expression:
        """The formula, to be computed."""
        return Expression(str(self.is_))


class DerivedNumber(Model):
    """A number that follows from the figures."""

    name: str
    is_: Formula = Field(alias="is")
    unit: str = ""

    @property
    def expression(self) -> Expression:
        """The formula, to be computed."""
        return Expression(str(self.is_))


class Reading(Model):
    """A way to read the text; it names the side that it replaces."""

    name: str
    left: Maybe[Side] = None
    right: Maybe[Side] = None


class Sides(NamedTuple):
    """The two sides that a reading compares; a text with only one reading has no name for it."""

    name: str
    left: Side
    right: Side


class Relation(Model):
    """How statements of a report bear on each other."""

    TOGETHER = (("exactly", "relation", "missing"),)

    id: Annotated[str, StringConstraints(pattern="^[a-z0-9][a-z0-9-]*$")]
    claims: Unique[str] = Field([], description="catalogue ids of the claims that it tests")
    topic: str = Field(description="heading where no claim gives one")
    section: str = ""
    statement: str = Field(description="what would have to be so, in our words")
    stated: list[int] = Field([], description="lines of the sentence itself, if it has no figure")
    figures: dict[FigureName, PrintedFigure] = Field({})
    left: Maybe[Side] = None
    relation: Literal["equal", "greater", "less", "at-least", "at-most"] = Field(
        "",  # type: ignore[arg-type]  # where nothing can be computed
        description="of left to right",
    )
    right: Maybe[Side] = None
    readings: Annotated[list[Reading], Field(min_length=2)] = Field(
        [], description="ways to read the text; each names the side that it replaces"
    )
    unit: str = ""
    steps: list[DerivedNumber] = Field([], description="what else follows from the figures")
    # It may be wrong where the figures are right: figures that disagree then let nothing be concluded.
    assumes: str = Field("", description="what has to be assumed beyond the text")
    missing: str = Field("", description="what the text would have to give")
    note: str = ""

    @property
    def sides(self) -> list[Sides]:
        """The two sides to compare, once per way to read the text; one consistent reading is enough."""
        found = []
        for one in (self.readings or [Reading(name="")]) if self.relation else ():
            left, right = one.left or self.left, one.right or self.right
            if left is None or right is None:
                raise ValueError("a reading has no left or no right side")
            found.append(Sides(one.name, left, right))
        return found

    @property
    def spans(self) -> dict[str, PrintedRange]:
        """What the figures may have been, by name."""
        return {name: one.span for name, one in self.figures.items()}

    @property
    def free(self) -> set[str]:
        """Figures that might have been measured otherwise; all, where all are counts and data sheets."""
        exact = {name for name, one in self.figures.items() if one.members or one.reading == "exact"}
        return set(self.figures) - exact or exact

    @property
    def lines(self) -> list[int]:
        """Lines of the report that contain the sentence and the figures."""
        figures = {line for one in self.figures.values() if not one.report for line in one.lines}
        return sorted({*self.stated, *figures})


class AuditFile(Model):
    """How the statements of one report bear on each other."""

    report: ReportFacts
    relations: Annotated[list[Relation], Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class Audit:
    """All relations declared for one report."""

    report: str
    title: str
    publisher: str
    relations: tuple[Relation, ...]


def load_audit(path: Path) -> Audit:
    """Load the audit of one report, ``config/audit/<report>.yaml``.

    Raises
    ------
    ConfigError
        If the file does not follow its model, a formula cannot be parsed or uses a figure
        twice or one that is not declared, a figure is not used, or an id is used twice.
    """
    content = models.load(AuditFile, path)
    lines = _lines(path)
    faults = []
    seen: set[str] = set()
    for relation in content.relations:
        line = lines.get(relation.id, 0)
        if relation.id in seen:
            faults.append(Fault(str(path), line, f"id {relation.id!r} is used twice", "rename one"))
        seen.add(relation.id)
        try:
            wrong = list(_wrong(relation))
        except ValueError as error:
            wrong = [(str(error), "correct it")]
        faults += [Fault(str(path), line, f"{relation.id}: {what}", todo) for what, todo in wrong]
    if faults:
        raise ConfigError(*faults)
    return Audit(path.stem, content.report.title, content.report.publisher, tuple(content.relations))


def _lines(path: Path) -> dict[str, int]:
    """Find the line at which each relation begins; the last one where an id stands twice."""
    found = {}
    for at, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        head, _, name = line.strip().partition("id: ")
        if head == "- ":
            found[name.strip()] = at
    return found


def _wrong(relation: Relation) -> Iterator[tuple[str, str]]:
    """Find names without a figure, figures without a use, and figures used twice in a comparison."""
    known = set(relation.spans)
    used: set[str] = set()
    for one in relation.sides:
        names = one.left.expression.names + one.right.expression.names
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


# ---- could a relation have failed? One that agrees whatever had been printed proves nothing


@dataclass(frozen=True, slots=True)
class Move:
    """A figure, and the nearest other print of it that reverses the relation.

    `printed` is None if no print within the factor does; `share` is its distance from the figure's own print.
    """

    name: str
    printed: str | None = None
    share: float = math.nan


def moves(relation: Relation, agrees: Callable[[Mapping[str, PrintedRange]], bool]) -> tuple[Move, ...]:
    """Print each compared figure otherwise, alone, until the relation says the opposite.

    `agrees` says whether the relation holds with some spans, by figure's name.
    """
    own = relation.spans
    now = agrees(own)
    compared = {
        name for one in relation.sides for name in (*one.left.expression.names, *one.right.expression.names)
    }
    found = []
    for name, figure in relation.figures.items():
        if name not in compared:
            continue
        turned = (one for one in prints(figure) if _turns(own | {name: one[2]}, agrees, now=now))
        printed, share, _ = next(turned, (None, math.nan, None))
        found.append(Move(name, printed, share))
    return tuple(found)


def _turns(
    spans: Mapping[str, PrintedRange], agrees: Callable[[Mapping[str, PrintedRange]], bool], *, now: bool
) -> bool:
    try:
        return agrees(spans) != now
    except ExpressionError:  # nothing could be computed: nobody prints that
        return False


def prints(figure: PrintedFigure) -> Iterator[tuple[str, float, PrintedRange]]:
    """Yield what else could have been printed, the nearest first: text, relative change, span."""
    own = abs(figure.value)
    if not own:
        return
    unit = max(figure.print_unit, 10.0 ** (math.floor(math.log10(own)) - _DIGITS + 1))
    down, up = (math.floor(own * part / unit + 1e-9) for part in (1 - 1 / FACTOR, FACTOR - 1))
    steps = [step * unit for step in range(-down, up + 1) if step]
    for step in sorted(steps, key=lambda step: abs(math.log(1 + step / own))):
        # Of a negative number the larger is the one further from zero.
        text = figure.moved(math.copysign(step, step * figure.value))
        yield text, step / own, figure.span_if(text)
