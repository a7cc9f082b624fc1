"""The files of ``config/claims`` and ``config/audit`` as models."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from analysis.base.models import Level, Maybe, Model, Positive, Unique


class ReportFacts(Model):
    """What is known of the report itself."""

    title: str
    publisher: str
    date: str


# ---- claims

LevelOfReport = Annotated[Level, Field(description="a level, spelt as in the report")]
Levels = Annotated[
    LevelOfReport | Annotated[list[LevelOfReport], Field(min_length=1)],
    Field(description="a level or a list of levels"),
]
Factor = Annotated[
    Literal[
        "application", "case", "cluster", "cpu", "interconnect", "mpi", "build", "dimm", "tuning",
        "placement", "profiler", "nodes", "ranks", "ranks_per_node", "concurrent_jobs", "target_time",
        "local_size",
    ],
    Field(description="a factor of a run, see kind runs in docs/reference/variables.md"),
]  # fmt: skip
Fraction = float | Annotated[str, StringConstraints(pattern="^[0-9.]+ ?%$")]


class Bounds(Model):
    """From the least to the greatest number."""

    TOGETHER = (("at least", "min", "max"),)

    min: Maybe[float] = None
    max: Maybe[float] = None


class Span(Model):
    """Every numeric level that a campaign has between the two."""

    min: float
    max: float


Select = Annotated[
    dict[Factor, Levels | Bounds | None],
    Field(description="factor -> level, list of levels, {min, max}, or null to lift a default"),
]
Values = Annotated[dict[Factor, LevelOfReport], Field(description="factor -> level")]


class Along(Model):
    """For an interaction: another factor with its upper and lower level."""

    factor: Factor
    high: LevelOfReport
    low: LevelOfReport


class Where(Model):
    """Treatment and baseline -> values of varying factors."""

    treatment: Values = Field({})
    baseline: Values = Field({})


class Compare(Model):
    """Factor with treatment and baseline, or with an order of levels, best first."""

    TOGETHER = (("exactly", "treatment", "order"), ("exactly", "baseline", "order"))

    factor: Factor
    treatment: Maybe[Levels] = None
    baseline: Maybe[Levels] = None
    order: Maybe[Annotated[list[LevelOfReport], Field(min_length=2)] | Span] = Field(
        None,
        description="levels in order, or {min, max} for every numeric level that a campaign has between",
    )
    along: Maybe[Along] = None
    varying: list[Factor] = Field([], description="factors that change with it by nature")
    where: Maybe[Where] = None


class Expect(Model):
    """Relation with value, low and high, or members."""

    relation: Literal["about", "at-least", "at-most", "range", "equal", "different", "rising", "falling"]
    value: Maybe[float] = None
    low: Maybe[float] = None
    high: Maybe[float] = None
    members: list[LevelOfReport] = Field([])
    tolerance: Fraction = Field(0.0, description="a fraction or a percentage such as 10%")
    unit: str = ""


class Source(Model):
    """Where the report says it."""

    section: str = ""
    lines: list[int] = Field([], description="lines of the report's text")


class TariffOfClaim(Model):
    """How energy becomes money."""

    price: Positive = Field(description="of a kWh")
    pue: Annotated[float, Field(ge=1)] = Field(1.0, description="energy of the site over that of the machine")
    jobs_of: Maybe[LevelOfReport] = None


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
    over: Annotated[list[Factor], Field(min_length=1)] = Field(
        [], description="factors that max and min range over; all of them without"
    )
    each: bool = Field(False, description="whether every member must do by itself")
    threshold: Fraction = Field(
        0.05, description="gain from one level to the next below which scaling has stopped"
    )
    tariff: Maybe[TariffOfClaim] = None
    select: Select = Field({})
    compare: Maybe[Compare] = None
    expect: Expect


class ClaimDefaults(Model):
    """What holds for all claims that do not say otherwise."""

    select: Select = Field({})


class ClaimsFile(Model):
    """The conclusions of one report."""

    report: ReportFacts
    defaults: Maybe[ClaimDefaults] = None
    claims: Annotated[list[ClaimEntry], Field(min_length=1)]


# ---- audit

FigureName = Annotated[
    str,
    StringConstraints(pattern="^[a-z][a-z0-9_]*$"),
    Field(description="letters, digits and underscores, not beginning with a digit"),
]
Formula = Annotated[Level, Field(description="numbers, names of figures, + - * / and brackets")]


class AuditSide(Model):
    """A formula and what it stands for."""

    is_: Formula = Field(alias="is")
    meaning: str = ""


class AuditFigure(Model):
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


class AuditReading(Model):
    """A way to read the text; it names the side that it replaces."""

    name: str
    left: Maybe[AuditSide] = None
    right: Maybe[AuditSide] = None


class AuditStep(Model):
    """A number that follows from the figures."""

    name: str
    is_: Formula = Field(alias="is")
    unit: str = ""


class AuditRelation(Model):
    """How statements of a report bear on each other."""

    TOGETHER = (("exactly", "relation", "missing"),)

    id: Annotated[str, StringConstraints(pattern="^[a-z0-9][a-z0-9-]*$")]
    claims: Unique[str] = Field([], description="catalogue ids that it speaks to")
    topic: str = Field(description="heading where no claim gives one")
    section: str = ""
    statement: str = Field(description="what would have to be so, in our words")
    figures: dict[FigureName, AuditFigure] = Field({})
    left: Maybe[AuditSide] = None
    relation: Maybe[Literal["equal", "greater", "less", "at-least", "at-most"]] = Field(
        None, description="of left to right"
    )
    right: Maybe[AuditSide] = None
    readings: Maybe[Annotated[list[AuditReading], Field(min_length=2)]] = Field(
        None, description="ways to read the text; each names the side that it replaces"
    )
    unit: str = ""
    steps: list[AuditStep] = Field([], description="what else follows from the figures")
    assumes: str = Field("", description="what has to be assumed beyond the text")
    missing: Maybe[str] = Field(None, description="what the text would have to give")
    note: str = ""


class AuditFile(Model):
    """How the statements of one report bear on each other."""

    report: ReportFacts
    relations: Annotated[list[AuditRelation], Field(min_length=1)]
