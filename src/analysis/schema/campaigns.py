"""The files of ``config/campaigns`` and ``config/applications``, which most rooms read, as models."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, StringConstraints, create_model

from analysis.base.models import Environment, Evidence, Line, Maybe, Model, Name, Positive, Several, Unique
from analysis.base.words import Level
from analysis.schema.factors import BY_NAME, TABLE, Factor

# ---- what the levels of a campaign stand for

Levels = Level | Annotated[list[Level], Field(min_length=1)]


Distance = Literal["same", "scaled", "analogue"]


# What a substitute does by itself to a value: a size that it explains is no size of the claim's.
Effect = Annotated[
    Literal["", "smaller", "larger", "either"],
    Field(
        description="what the substitute alone does to the claimed value (either: it can do both); a "
        "verdict then does not say that the value is smaller, or larger, or ruled out or enough for that"
    ),
]


class StandIn(Model):
    """The campaign's level, or levels, that stand for a level of the reports."""

    NEEDS: ClassVar[Mapping[str, tuple[str, ...]]] = {"differs": ("distance",)}

    is_: Levels = Field(alias="is", description="the campaign's own level or a list of levels")
    distance: Distance = Field(
        "same",
        description="same: another spelling; scaled: the same kind in another size or release; "
        "analogue: something else, used as a substitute",
    )
    differs: str = Field("", description="how it differs from the report's level")
    effect: Effect = ""


class FactorDistance(Model):
    """How far a campaign is from every level of a factor that it does not have."""

    distance: Literal["scaled", "analogue"]
    why: Annotated[str, StringConstraints(min_length=3)] = Field(
        description="what the campaign has, and why it may be used for another level"
    )
    effect: Effect = ""


Aparts = Annotated[
    dict[str, FactorDistance],
    Field(description="factor -> distance from all levels that a claim names and no run has"),
]


class Pool(Model):
    """Factors whose levels may be pooled in a quantity of profiles, with the reason."""

    factors: list[str]
    why: str


# ---- logs of power meters

Accuracy = Annotated[str | float, Field(description="limit of error of a reading, like 1% or 0.01")]
Word = Annotated[str, StringConstraints(min_length=1)]
Share = Annotated[float, Field(ge=0, le=1)]
Feeds = Annotated[
    dict[str, Literal["all"] | Unique[Word]],
    Field(description="meter -> list of the nodes that it feeds, or all"),
]
PowerRange = Annotated[list[Annotated[float, Field(ge=0)]], Field(min_length=2, max_length=2)]


class Clock(Model):
    """Offset in s to add to the meters' clock with its standard error, or estimate: true."""

    offset: float = Field(0.0, description="s to add to the meters' clock")
    error: Annotated[float, Field(ge=0)] = Field(0.0, description="standard error of the offset, s")
    estimate: bool = Field(False, description="true to estimate the offset from the runs")
    reach: Positive = Field(120.0, description="greatest offset in s that is looked for")


class Efficiency(Model):
    """Efficiency of the power supply whose output the meters measure: value, limit of error, source."""

    value: Annotated[float, Field(gt=0, le=1)]
    limit: Share = 0.0
    source: Literal["data sheet", "measured off-line", "measured at once"]


class PowerLog(Model):
    """One log of power meters: its files and its meters."""

    files: Word = Field(description="path or pattern within the campaign, like power/pdu*.csv.xz")
    engine: str = Field("", description="reader of the log where its content does not tell")
    options: dict[str, Any] = Field({}, description="options of the reader, like tz, date, columns")
    meters: Feeds
    switches: Feeds = Field({})
    spare: Literal["to none", "to jobs"] = Field(
        "to none", description="what becomes of the part of nodes without a job"
    )
    max_gap: Maybe[Positive] = Field(
        None, description="s; longer between two readings is a gap, whose energy is bounded"
    )
    power_range: Maybe[PowerRange] = Field(
        None, description="least and greatest power of a meter in W, for the bounds of gaps"
    )
    accuracy: Maybe[Accuracy] = None
    location: Word = Field("", description="where the meters measure")
    clock: Maybe[Clock] = None
    efficiency: Maybe[Efficiency] = None


class OwnLogs(Model):
    """Location and accuracy of the logs in the runs' own folders, where those say nothing."""

    location: Word = ""
    accuracy: Maybe[Accuracy] = None


class Machine(Model):
    """What the logs do not say about the machine, for the levels of the EE HPC WG's methodology."""

    nodes: Maybe[Annotated[int, Field(ge=1)]] = Field(None, description="compute nodes of the machine")
    subsystems: Maybe[
        Literal["all measured", "all, some estimated", "compute nodes and interconnect", "compute nodes"]
    ] = None


class CampaignPower(Model):
    """Logs of power meters in addition to the runs, and the nodes that each meter feeds."""

    logs: list[PowerLog] = Field([], description="a list of logs, each with files and meters")
    runs: Maybe[OwnLogs] = None
    machine: Maybe[Machine] = None


# ---- the matrix

Count = Annotated[int, Field(ge=1, le=1_000_000)]
Counts = Annotated[Several[Count], Field(description="a whole number above 0 or a list of them")]
RankCounts = Annotated[
    Several[Count | Literal["all", "half"]],
    Field(description="a whole number above 0, all or half (of the cores), or a list of these"),
]
Names = Annotated[Several[Name], Field(description="a name or a list of names")]
Minutes = Annotated[
    int, Field(ge=1, le=525_600, description="time limit of a job in minutes, at most a year")
]
Reason = Annotated[str, StringConstraints(min_length=10), Field(description="one sentence why")]
SomeRepeats = Annotated[int, Field(ge=6, le=1000)]


class AdaptiveRepeats(Model):
    """As many repeats as the interval of the median needs."""

    least: SomeRepeats = 6
    most: SomeRepeats = 30
    within: Annotated[str, StringConstraints(pattern=r"^(?=.*[1-9])[0-9]{1,2}(\.[0-9]+)?%$")] = Field(
        description="more than 0% and less than 100%, like 5%"
    )

    @property
    def share(self) -> float:
        """The half-width of the interval, as a part of the median."""
        return float(self.within.rstrip("%")) / 100


Repeats = Annotated[
    Annotated[int, Field(ge=1, le=1000)] | AdaptiveRepeats,
    Field(
        description="a number, or {least: 6, most: 30, within: 5%}: as many as the median's interval needs"
    ),
]


class _Factors(Model):
    """The levels of each factor; one that is not given has its default or the cluster's only level."""

    @property
    def given(self) -> dict[str, Any]:
        """Factor -> level or list of levels, of those that the file names."""
        return {name: level for name, level in self if name in self.model_fields_set}


Profilers = Several[Literal["none", "ipm", "mpip"]]
Amounts = Several[Positive]
_ONE_PROFILER = "none, ipm or mpip; never two in one run, for each would measure the other"
# The values that a factor takes in a matrix, by its type or its name.
_LEVELS: dict[str, tuple[Any, str]] = {
    "i4": (Counts, "a whole number above 0 or a list of them"),
    "f8": (Amounts, "a number above 0 or a list of them"),
    "str": (Names, "a name or a list of names"),
    "ranks_per_node": (RankCounts, "a whole number, all or half (of the cores), or a list of these"),
    "profiler": (Profilers, _ONE_PROFILER),
}


def _levels(factor: Factor) -> tuple[Any, Any]:
    kind, words = _LEVELS.get(factor.name, _LEVELS[factor.dtype])
    unit = f" in {factor.unit}" if factor.unit not in ("", "1") else ""
    described = Field(factor.default, description=f"{words}: {factor.meaning}{unit}")
    maybe: Any = Maybe
    return maybe[kind] if factor.default is None else kind, described


if TYPE_CHECKING:
    Factors = _Factors
else:
    Factors = create_model(
        "Factors",
        __base__=_Factors,
        __doc__=_Factors.__doc__,
        **{one.name: _levels(one) for one in TABLE if one.varied},
    )

# Factor -> its level where no file gives one; None: the cluster's only one, or none at all.
DEFAULTS: dict[str, Any] = {name: field.default for name, field in Factors.model_fields.items()}
# The factors whose levels are nodes of the cluster, their GPUs and settings, or a network; the link is last.
OF_MACHINE: tuple[str, ...] = tuple(
    sorted(name for name in DEFAULTS if DEFAULTS[name] is None and BY_NAME[name].kind != "software")
)


class Exclusion(Model):
    """A combination that is not run, with when and why."""

    when: Annotated[dict[str, Level | Annotated[list[Level], Field(min_length=1)]], Field(min_length=1)] = (
        Field(description="factor -> level or levels, application and case among them; all must match")
    )
    why: Reason


Exclusions = Annotated[
    list[Exclusion], Field(description="a list of combinations that are not run, each with when and why")
]


class Pooled(Model):
    """A cell, or several, whose runs are repeats although they fall into groups or drift, and why."""

    when: dict[str, Level | Annotated[list[Level], Field(min_length=1)]] = Field(
        description="factor -> level or levels; all must match, {} is every cell"
    )
    why: Reason
    systems: bool = Field(
        False,
        description="the sides of a comparison are different systems, so the order of the runs means nothing",
    )


class RunsAlike(Model):
    """Your answers where runs that agree in every factor do not look like repeats."""

    within: Unique[Word] = Field(
        [], description="facts that are factors: runs that differ in one are no repeats of each other"
    )
    pooled: list[Pooled] = Field(
        [], description="a list of cells whose runs are repeats, each with when and why"
    )


class Subset(Model):
    """A part of the matrix: what is run of one application, and why."""

    name: Name
    why: Reason
    application: Name
    case: Names
    factors: Factors = Field({}, validate_default=True)
    profiled: Maybe[Several[Literal["ipm", "mpip"]]] = Field(
        None,
        description="profilers of runs that are for their profiles alone: their times enter no statistic",
    )
    repeats: Maybe[Repeats] = None
    minutes: Maybe[Minutes] = None
    exclude: Exclusions = Field([])


class Matrix(Model):
    """The runs to measure; cluster, subsets and repeats are needed."""

    cluster: Name
    seed: int = Field(1, description="of the order in which the runs are submitted")
    repeats: Repeats
    minutes: Maybe[Minutes] = None
    environment: Environment = Field({})
    factors: Factors = Field({}, validate_default=True)
    exclude: Exclusions = Field([])
    subsets: Annotated[list[Subset], Field(min_length=1)] = Field(
        description="a list of subsets; each has name, why, application and case"
    )


class Alike(Model):
    """Factors whose levels are pooled, with the reason."""

    factors: Annotated[list[str], Field(min_length=1)]
    why: str


class Cells(Alike):
    """Factors in which cells differ: of cells with single runs each gives a ratio, and their median counts.

    Sides of unlike problems are never compared; the interval is over cells, and holds for cells like these.
    """


class Asks(Model):
    """What a view asks in place of its claims' measure; with low and high a level, no comparison."""

    NEEDS: ClassVar = {"low": ("high",), "high": ("low",)}

    variable: str = Field(description="a measure, see docs/reference/measures.md")
    low: Maybe[float] = None
    high: Maybe[float] = None
    unit: str = ""
    why: str = Field(description="why this measure replaces the claimed one, or how the two ends follow")


class View(Model):
    """Claims by report and topic, the runs that test them, and the levels that are substituted.

    A view is for runs that others made for other questions. It declares which runs test a topic of a report,
    and under which reading of their levels; the verdict shows this reading. If a factor is under `apart` and
    not under `levels`, a claim's selection by it filters no runs and counts as a distance only.
    """

    report: str
    topics: Annotated[list[str], Field(min_length=1)]
    claims: Unique[str] = Field([], description="only these claims of the topics; without it all of them")
    asks: Maybe[Asks] = None
    select: dict[str, Any] = Field(description="variable of kind runs -> value or values")
    alike: Maybe[Alike] = None
    cells: Maybe[Cells] = None
    levels: dict[str, dict[str, StandIn]] = Field({})
    apart: Aparts = Field({})

    @property
    def together(self) -> list[str]:
        """Factors whose levels are pooled."""
        return self.alike.factors if self.alike else []


class ModelledCells(Model):
    """Cells of one application: every combination of cluster, case, nodes and link."""

    model: Name = Field(description="a file of config/model/applications")
    cluster: Names
    case: Annotated[Several[str], Field(description="a case of the application or a list of them")]
    nodes: Counts
    interconnect: Names
    ranks_per_node: Maybe[Counts] = Field(None, description="by default all cores of a node")
    factors: dict[str, Level] = Field({}, description="variable of kind runs -> value, alike in all cells")
    slower: str = Field("", description="range that the cost of work is multiplied by, as of other memory")
    in_switches: str = Field("", description="range: seconds of a reduction that the switches make")


class ModelledCampaign(Model):
    """Runs that a model computes, ``config/model``: every draw of what is not known is a run of each cell."""

    draws: Annotated[int, Field(ge=100, le=5000)] = 500
    seed: int = 1
    widening: dict[str, Annotated[float, Field(ge=0)]] = Field(
        {},
        description="link -> relative error of the model where it could be compared with runs; `default` of "
        "other links, `next` from one number of nodes to the next, `nodes` from any to any, and "
        "`next.<link>` and `nodes.<link>` of links with their own",
    )
    cells: Annotated[list[ModelledCells], Field(min_length=1)]


class CampaignFile(Model):
    """A campaign and what its levels stand for."""

    title: str
    evidence: Evidence
    hardware: str = Field(
        description="one line that names what was measured; ${machine} is what the runs say"
    )
    notes: list[str] = Field([])
    reports: Maybe[Unique[Name]] = Field(
        None,
        description="reports whose claims the runs test; by default those of the views, or all if "
        "`levels` or `apart` declare substitutes",
    )
    levels: dict[str, dict[str, StandIn]] = Field(
        {}, description="factor -> the report's level -> this campaign's level or levels, with what differs"
    )
    apart: Aparts = Field({})
    names: dict[str, dict[str, Line]] = Field(
        {}, description="factor -> this campaign's level -> its name in sentences"
    )
    profiler: str = Field("", description="the profiler whose runs are used for shares of time")
    pool: Maybe[Pool] = None
    repeats: Maybe[RunsAlike] = None
    matrix: Maybe[Matrix] = None
    model: Maybe[ModelledCampaign] = None
    error: Annotated[float, Field(ge=0)] = Field(
        0.0,
        description="of simulated ratios: relative error of the simulation where it was compared with runs",
    )
    power: Maybe[CampaignPower] = None
    assumed: dict[str, Level] = Field(
        {}, description="of published figures: variable of kind runs -> value, where the sources do not say"
    )
    views: list[View] = Field(
        [], description="which of the runs test which claims; without views, all runs test all claims"
    )

    @property
    def widening(self) -> Mapping[str, float]:
        """Relative error of modelled or simulated ratios, by link."""
        return self.model.widening if self.model else {"default": self.error} if self.error else {}


def widened_by(widening: Mapping[str, float], links: Iterable[str], *, shared_work: bool = False) -> float:
    """Return the relative error of a modelled ratio over some links.

    `shared_work` says that its sides share the same work among different numbers of ranks.
    """
    default, links = widening.get("default", 0.0), list(links)
    errors = [widening.get(link, default) for link in links]
    if shared_work:
        errors += [widening.get(f"nodes.{link}", widening.get("nodes", default)) for link in links]
    return max(errors, default=0.0)
