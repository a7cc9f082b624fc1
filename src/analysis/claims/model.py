"""Claims as data: a question, what a report expects for an answer, and where it says so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints, WrapValidator

from analysis.base import models
from analysis.base.errors import ConfigError
from analysis.base.models import Maybe, Model
from analysis.base.words import meant
from analysis.base.yaml import from_here
from analysis.estimates.measures import MEASURES, SETS
from analysis.estimates.question import Comparison, LevelOfReport, Question, Tariff
from analysis.schema.factors import TABLE, FactorName


class ReportFacts(Model):
    """What is known of the report itself."""

    title: str
    publisher: str
    date: str
    url: str = Field("", description="where it is published")
    own: bool = Field(
        False, description="true for your own questions, which are counted separately from a report's claims"
    )


Levels = Annotated[
    LevelOfReport | Annotated[list[LevelOfReport], Field(min_length=1)],
    Field(description="a level or a list of levels"),
]


def _fraction(value: float | str) -> float:
    return float(value.rstrip("% ")) / 100 if isinstance(value, str) else value


def _as_written(value: float, check: Callable[[Any], float]) -> float:
    check(value)  # which would make 6.0 of 6
    return value


if TYPE_CHECKING:
    Fraction = float
else:
    Fraction = Annotated[
        float | Annotated[str, StringConstraints(pattern="^[0-9.]+ ?%$")], AfterValidator(_fraction)
    ]
AsWritten = Annotated[float, WrapValidator(_as_written)]


class Bounds(Model):
    """From the least to the greatest number."""

    TOGETHER = (("at least", "min", "max"),)

    min: Maybe[AsWritten] = None
    max: Maybe[AsWritten] = None


class Span(Model):
    """Every numeric level that a campaign has between the two."""

    min: float
    max: float


Select = Annotated[
    dict[FactorName, Levels | Bounds | None],
    Field(description="factor -> level, list of levels, {min, max}, or null to lift a default"),
]
About = Literal["software", "machine"]
Conditions = Annotated[
    dict[FactorName, Levels | Bounds | None],
    Field(
        description="factor -> what the report ran: level, list of levels, {min, max} or `not stated`; "
        "null lifts one"
    ),
]
NOT_STATED = "not stated"
# Measures that a source states; HPCG prints the rules of its own source.
LOOKED_UP = ("stated_figure", "official_time", "grid_ratio")
Values = Annotated[dict[FactorName, LevelOfReport], Field(description="factor -> level")]


class Along(Model):
    """For an interaction: another factor with its upper and lower level."""

    factor: FactorName
    high: LevelOfReport
    low: LevelOfReport


class Where(Model):
    """Treatment and baseline -> values of varying factors."""

    treatment: Values = Field({})
    baseline: Values = Field({})


class Compare(Model):
    """FactorName with treatment and baseline, or with an order of levels, best first."""

    TOGETHER = (("exactly", "treatment", "order"), ("exactly", "baseline", "order"))

    factor: FactorName
    treatment: Maybe[Levels] = None
    baseline: Maybe[Levels] = None
    order: Maybe[Annotated[list[LevelOfReport], Field(min_length=2)] | Span] = Field(
        None, description="levels in order, or {min, max} for every numeric level that a campaign has between"
    )
    along: Maybe[Along] = None
    varying: list[FactorName] = Field([], description="factors that change with it by nature")
    where: Maybe[Where] = None

    @property
    def comparison(self) -> Comparison:
        """What is compared, as a question has it."""
        order, along, where = self.order, self.along, self.where
        span = (order.min, order.max) if isinstance(order, Span) else None
        levels = order if isinstance(order, list) else [] if span else [self.treatment, self.baseline]
        return Comparison(
            self.factor,
            tuple(
                tuple(level) if isinstance(level, list) else level for level in levels if level is not None
            ),
            tuple(self.varying),
            (where.treatment, where.baseline) if where else (),
            span,
            (along.factor, along.high, along.low) if along else None,
        )


class Expectation(Model):
    """Relation with value, low and high, or members."""

    relation: Literal["about", "at-least", "at-most", "range", "equal", "different", "rising", "falling"]
    value: Maybe[AsWritten] = None
    low: Maybe[AsWritten] = None
    high: Maybe[AsWritten] = None
    members: list[LevelOfReport] = Field(default=[])
    tolerance: Fraction = Field(default=0.0, description="a fraction or a percentage such as 10%")
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


class Source(Model):
    """Where the report says it."""

    section: str = ""
    lines: list[int] = Field(default=[], description="lines of the report's text")


@dataclass(frozen=True, slots=True)
class Claim:
    """One conclusion of a report: what is asked of a campaign, what the report says to that, and where.

    `ids` are those of the catalogue of conclusions; `about` says what the sentence is true of, `conditions`
    under which levels the report found it, those of its question included; `no_bound` why no number decides
    it.
    """

    id: str
    report: str
    topic: str
    statement: str
    question: Question
    expect: Expectation
    source: Source = field(default_factory=Source)
    ids: tuple[str, ...] = ()
    note: str = ""
    about: About = "machine"
    conditions: Mapping[str, Any] = field(default_factory=dict)
    no_bound: str = ""

    @property
    def looked_up(self) -> bool:
        """Whether a source decides it and no run can: a data sheet's figure, a rule of a program."""
        return self.question.variable in LOOKED_UP


ALONG_LEVELS = ("ordering", "trend", "saturation")
OF_TWO = ("speedup", "gain", "reduction", "efficiency", "equality", "interaction", "crossover")


class ClaimEntry(Model):
    """One conclusion of a report: what is compared, which quantity, what is expected."""

    WHEN = (
        ("quantity", (*OF_TWO, *ALONG_LEVELS), ("compare",)),
        ("quantity", ("interaction",), ("compare.along",)),
        ("quantity", ALONG_LEVELS, ("compare.order",)),
        ("quantity", (*OF_TWO, "cost", "level", "set"), ("compare.treatment", "compare.baseline")),
        ("quantity", ("cost",), ("tariff",)),
        ("quantity", ("level", "set"), ("variable",)),
    )

    id: Annotated[str, StringConstraints(pattern="^[a-z0-9][a-z0-9-]*$")]
    ids: Maybe[Annotated[list[str], Field(min_length=1)]] = Field(
        None, description="catalogue ids that this claim covers"
    )
    topic: str
    statement: str
    note: str = Field("", description="what a reader of the verdict must know")
    source: Maybe[Source] = None
    quantity: Literal[
        "speedup", "gain", "reduction", "efficiency", "equality", "ordering", "trend", "saturation",
        "interaction", "crossover", "cost", "level", "set",
    ]  # fmt: skip
    variable: str = Field("figure_of_merit", description="a measure, see docs/reference/measures.md")
    members: list[LevelOfReport] = Field([], description="calls or sizes that a share or a set is about")
    scale: float = Field(1.0, description="factor on the measured value")
    aggregate: Literal["all", "max", "min", "mean"] = Field(
        "all",
        description="all: every stratum must agree; max, min: the largest or least counts (up to, at worst); "
        "mean: of costs",
    )
    over: Annotated[list[FactorName], Field(min_length=1)] = Field(
        [], description="factors that max and min range over; all of them without"
    )
    each: bool = Field(False, description="whether every member must do by itself")
    threshold: Fraction = Field(
        0.05, description="gain from one level to the next below which scaling has stopped"
    )
    tariff: Maybe[Tariff] = None
    select: Select = Field({})
    about: Maybe[About] = Field(
        None,
        description="software: what the application does, calls, sizes, arithmetic, which any machine shows; "
        "or machine",
    )
    conditions: Conditions = Field({})
    compare: Maybe[Compare] = None
    expect: Expectation
    no_bound: str = Field(
        "",
        description="why no number can decide it, such as that its limit is ours: its word is `cannot tell`",
    )

    def claim(self, report: str, given: ClaimDefaults) -> Claim:
        """Make the claim of a report, which wins over the report's defaults."""
        defaults: Mapping[Any, Any] = given.select
        compare = self.compare.comparison if self.compare else None
        # Null lifts a default, and so does comparing it.
        moving = {*compare.moving, *(compare.along or ())[:1]} if compare else set()
        select = {key: level for key, level in defaults.items() if key not in moving} | self.select
        question = Question(
            self.quantity,
            self.variable,
            {key: level for key, level in _plain(select).items() if level is not None},
            compare,
            # A set is held against what is claimed to be in it.
            tuple(self.expect.members if self.quantity == "set" else self.members),
            self.scale,
            self.aggregate,
            tuple(self.over),
            self.each,
            self.threshold,
            self.expect.tolerance if self.quantity == "equality" else 0.0,
            self.tariff,
        )
        source, ids = self.source or Source(), tuple(self.ids or [self.id])
        held = {key: level for key, level in (select | given.conditions).items() if key not in moving}
        conditions = _plain(held | self.conditions)
        return Claim(
            self.id, report, self.topic, self.statement, question, self.expect, source, ids, self.note,
            self.about or given.about, {key: level for key, level in conditions.items() if level is not None},
            self.no_bound,
        )  # fmt: skip


def _plain(levels: Mapping[Any, Any]) -> dict[Any, Any]:
    return {
        key: level.model_dump(exclude_none=True) if isinstance(level, Bounds) else level
        for key, level in levels.items()
    }


class ClaimDefaults(Model):
    """What holds for all claims that do not say otherwise."""

    select: Select = Field({})
    about: About = "machine"
    conditions: Conditions = Field({})


class ClaimsFile(Model):
    """The conclusions of one report."""

    report: ReportFacts
    defaults: Maybe[ClaimDefaults] = None
    claims: Annotated[list[ClaimEntry], Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class Report:
    """A report with its claims."""

    name: str
    title: str
    publisher: str
    date: str
    claims: tuple[Claim, ...]
    url: str = ""
    own: bool = False

    def claim(self, name: str) -> Claim:
        """Return one claim by its id."""
        for claim in self.claims:
            if claim.id == name:
                return claim
        raise KeyError(name)


def load_report(path: Path) -> Report:
    """Load the claims of one report, ``config/claims/<report>.yaml``.

    Raises
    ------
    ConfigError
        If the file does not follow its model, each fault with its line;
        or if it names an id twice or a variable that is no measure.
    """
    content = models.load(ClaimsFile, path)
    defaults = content.defaults or ClaimDefaults(select={}, conditions={})
    claims = tuple(entry.claim(path.stem, defaults) for entry in content.claims)
    seen: set[str] = set()
    for claim in claims:
        for name in claim.ids:
            if name in seen:
                raise ConfigError.at(
                    from_here(path), 0, f"id {name!r} is used twice", "an id belongs to one claim"
                )
            seen.add(name)
        _check(claim, path)
    _check_topics(claims, path)
    facts = content.report
    return Report(path.stem, facts.title, facts.publisher, facts.date, claims, facts.url, facts.own)


def _check_topics(claims: Sequence[Claim], path: Path) -> None:
    """Refuse a topic of a single claim that looks like a misspelt one: its claim would be on no page."""
    counts = Counter(claim.topic for claim in claims)
    common = {topic for topic, count in counts.items() if count > 1} | {
        topic for row in TABLE for topic in row.topics
    }
    for topic, count in counts.items():
        if count == 1 and topic not in common and (asked := meant(topic, common, 0.85)):
            what = f"topic {topic!r} is used once"
            raise ConfigError.at(from_here(path), 0, what, f"{asked} or name it less alike")


def _check(claim: Claim, path: Path) -> None:
    """Refuse a question that no campaign could answer."""
    asked = claim.question
    known = SETS if asked.quantity == "set" else MEASURES
    if asked.variable not in known:
        what = f"claim {claim.id!r}: {asked.variable!r} is no measure"
        remedy = meant(asked.variable, known) or f"take one of {', '.join(sorted(known))}"
        raise ConfigError.at(from_here(path), 0, what, remedy)
    ratio = asked.quantity in ("speedup", "gain", "reduction")
    if asked.aggregate == "mean" and (not ratio or MEASURES[asked.variable].higher_is_better):
        what = f"claim {claim.id!r} takes the mean of {asked.variable} for a {asked.quantity}"
        raise ConfigError.at(from_here(path), 0, what, "only costs have a mean: take times or energies")
