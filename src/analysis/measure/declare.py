"""What a campaign is made from: its own file, its cluster's and its applications', checked together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, Literal

from pydantic import Field, StringConstraints, create_model

from analysis.base import files, models, project
from analysis.base.errors import ConfigError, Fault
from analysis.base.models import Environment, M, Maybe, Model, Name, Text
from analysis.base.slurm import numbers
from analysis.base.words import Level
from analysis.base.workers import Workers
from analysis.base.yaml import Where, read, texts
from analysis.measure.cores import Cores
from analysis.measure.power import config as power
from analysis.schema.applications import Application, ApplicationLaunch
from analysis.schema.campaigns import OF_MACHINE, CampaignFile, Matrix, Minutes
from analysis.schema.factors import BY_NAME

PRESETS = Path(__file__).with_name("presets.yaml")
# These may have line ends, input files whatever they need; nothing else that reaches a job may.
_LONG_TEXTS = ("notes", "why", "hardware", "title")
_LINES = str.maketrans("", "", "\n\t")

SlurmWord = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._:&|,*-]*$"),
    Field(description="a word as Slurm takes it for a partition, an account or a constraint"),
]
Modules = Annotated[list[Text], Field(description="a list of environment modules")]
Options = Annotated[list[Text], Field(description="a list of options of the launcher")]
Family = Literal["openmpi", "hpcx", "mpich", "intelmpi", "mvapich2", "platformmpi", "charm"]
Digest = Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]
NumberKey = Annotated[
    str, StringConstraints(pattern=r"^[0-9]{1,9}(\.[0-9]{1,9})?$"), Field(description="a number in quotes")
]
CountKey = Annotated[
    str, StringConstraints(pattern="^[1-9][0-9]{0,5}$"), Field(description="a whole number in quotes")
]
_KEYS = {"str": Name, "f8": NumberKey, "i4": CountKey}
Sockets = Annotated[
    list[Annotated[str, StringConstraints(pattern="^[0-9]{1,5}(-[0-9]{1,5})?(,[0-9]{1,5}(-[0-9]{1,5})?)*$")]],
    Field(min_length=1),
]


class Fact(Model):
    """A fact of the hardware."""

    what: Text
    value: str | int | float | bool
    source: Annotated[str, StringConstraints(min_length=1)] = Field(description="where the fact is from")


class NodesOfLevel(Model):
    """How nodes or a network of this kind are requested."""

    partition: SlurmWord = ""
    constraint: SlurmWord = ""
    environment: Environment = Field({})


class MpiLibrary(Model):
    """An MPI library, and how it starts ranks."""

    family: Family
    name: Text = Field(description="library with version, as in the records")
    start: Literal["mpirun", "srun-pmix", "srun-pmi2", "charmrun", "charmrun-srun"] = Field(
        description="how ranks are started; charmrun (over a remote shell) and charmrun-srun are for Charm++ "
        "with a network of its own, like netlrts or verbs"
    )
    launcher: Text = Field("", description="path or name of mpirun, srun or charmrun")
    compiler: Text = Field("", description="path or name of mpicc")
    modules: Modules = Field([])
    environment: Environment = Field({})
    options: Options = Field([])


class Profiler(Model):
    """A profiler that is preloaded."""

    library: Text = Field(
        description="path of the library to preload, or its name where a module sets the search path"
    )
    modules: Modules = Field([])
    environment: Environment = Field({})


class Programs(Model):
    """Program (or programs, one for each MPI library) of ranks with more than one thread."""

    TOGETHER: ClassVar[tuple[tuple[str, ...], ...]] = (("exactly", "program", "programs"),)

    program: Text = Field("", description="path of the program; ${case} is replaced")
    programs: dict[Name, Text] = Field({}, description="MPI library -> path of the program")


class InputFile(Model):
    """The path of an input file, and its digest."""

    path: Text
    sha256: Digest = ""


class Installation(Programs):
    """Program (or programs, one for each MPI), or build."""

    TOGETHER = (("exactly", "program", "programs", "build"),)

    build: Maybe[Literal["proxy"]] = Field(None, description="proxy for the program in src/proxy")
    variant: Text = Field("", description="compiler flags or build variant for the records")
    container: Text = Field("", description="path of an Apptainer image")
    hybrid: Maybe[Programs] = None
    arguments: Options = Field([], description="further arguments here, like memory2=200m")
    inputs: Maybe[Text | dict[Name, InputFile]] = Field(
        None,
        description="folder that holds the application's input files, or name -> path with SHA-256 of each",
    )
    modules: Modules = Field([])
    environment: Environment = Field({})


if TYPE_CHECKING:
    _Levels = NodesOfLevel
else:
    _Levels = create_model(
        "_Levels",
        __base__=NodesOfLevel,
        **{
            name: (dict[_KEYS[BY_NAME[name].dtype], NodesOfLevel], Field({})) for name in reversed(OF_MACHINE)
        },
    )


class Launch(_Levels):
    """How jobs are started here; without it nothing can be measured on the cluster."""

    scheduler: Literal["slurm", "none"]
    nodes: Annotated[int, Field(ge=1, le=100_000)] = Field(
        description="nodes that a campaign can have at once"
    )
    cores: Literal["auto"] | Sockets = Field(
        description="the core numbers of each socket, like ['0-9', '10-19'], or auto for this machine's own"
    )
    memory: Annotated[int, Field(ge=1, le=1_000_000_000)] = Field(
        1000, description="MB that a job asks for on each node"
    )
    minutes: Minutes = 30
    start_up: Annotated[float, Field(ge=0)] = Field(
        5.0, description="seconds that a job takes in addition to the application"
    )
    exclusive: bool = Field(True, description="whether a job has its nodes for itself")
    runs_per_job: Annotated[int, Field(ge=1, le=500)] = Field(
        1, description="how many runs that ask Slurm for the same share one job, one after another"
    )
    oversubscribe: bool = Field(False, description="whether there may be more ranks than cores")
    account: SlurmWord = ""
    modules_init: Annotated[str, StringConstraints(pattern=r"^/[^\x00-\x1f\x7f]*$")] = Field(
        "/etc/profile.d/modules.sh", description="the file that defines the command module"
    )
    mpi: Annotated[dict[Name, MpiLibrary], Field(min_length=1)]
    profilers: dict[Literal["ipm", "mpip"], Profiler] = Field(
        {}, description="ipm or mpip with library or modules"
    )
    applications: dict[Name, Installation]

    def levels(self, factor: str) -> Mapping[str, Any]:
        """Return the levels of ``mpi``, ``interconnect``, ``cpu`` and so on that the cluster has."""
        found: Mapping[str, Any] = getattr(self, factor)
        return found

    def chosen(self, factors: Mapping[str, Any]) -> list[NodesOfLevel]:
        """Return what a run's levels of the machine's factors ask for."""
        asked = [(name, factors[name]) for name in OF_MACHINE if factors[name]]
        return [
            part
            for name, level in asked
            for key, part in self.levels(name).items()
            if level_of(name, key) == level
        ]


def level_of(factor: str, key: str) -> Level:
    """Return the level for a key of a cluster's file, a number where the factor has numbers."""
    kinds: dict[str, type[Level]] = {"i4": int, "f8": float}
    return kinds.get(BY_NAME[factor].dtype, str)(key)


class ClusterFile(Model):
    """A cluster, its hardware and how jobs are started on it."""

    title: Text
    facts: list[Fact] = Field(description="a list of hardware facts, each with what, value and source")
    launch: Maybe[Launch] = None
    power: Maybe[dict[str, Any]] = Field(
        None, description="how power is sampled while a job runs; see power.schema.yaml"
    )
    dask: Maybe[Workers] = Field(
        None, description="Dask's workers, for large campaigns: `--config dask=` and the cluster's name"
    )


class Tuning(Model):
    """A set of variables and options of the launcher, for the libraries that it is for."""

    why: str
    families: list[Family] = Field([])
    environment: Environment = Field({})
    options: Options = Field([])


class Presets(Model):
    """Tuning sets by name."""

    tuning: dict[Name, Tuning]


@dataclass(frozen=True)
class Declaration(Generic[M]):
    """A YAML file that was read and checked; `source` is the name that messages carry."""

    path: Path
    source: str
    content: M = field(repr=False)
    sha256: str = ""  # of what was read: the file may change while a campaign is measured

    def fault(self, where: Where, found: str, remedy: str) -> Fault:
        """Make a fault at the line of a value."""
        return Fault(self.source, project.line_of(self.path, where), found, remedy)


@dataclass(frozen=True)
class Declared:
    """A campaign with everything that its runs need."""

    name: str
    base: Path
    campaign: Declaration[CampaignFile]
    cluster: Declaration[ClusterFile]
    matrix: Matrix
    launch: Launch
    applications: Mapping[str, Declaration[Application]]

    @property
    def cluster_name(self) -> str:
        """The cluster's name."""
        return self.cluster.path.stem

    @cached_property
    def cores(self) -> Cores:
        """Cores of one node."""
        return Cores.declared(self.launch.cores)

    @cached_property
    def tunings(self) -> Mapping[str, Tuning]:
        """Tuning presets by name."""
        return models.load(Presets, PRESETS).tuning

    def application(self, name: str) -> ApplicationLaunch:
        """Return how an application is run; the matrix was checked for it."""
        found = self.applications[name].content.launch
        assert found is not None
        return found


def load(name: str, base: Path | None = None) -> Declared:
    """Load a campaign, ``config/campaigns/<name>.yaml``, with its cluster and its applications.

    `ConfigError` with one fault for each thing wrong; whether the matrix fits the cluster is `matrix.expand`
    to say.
    """
    base = base or project.root()
    campaign = _declaration(CampaignFile, "campaigns", name, base)
    matrix = campaign.content.matrix
    if matrix is None:
        raise ConfigError(campaign.fault((), "has no matrix", "declare the runs under 'matrix'"))
    if not (base / f"config/clusters/{matrix.cluster}.yaml").is_file():
        there = sorted(path.stem for path in (base / "config/clusters").glob("*.yaml"))
        what, remedy = f"unknown cluster {matrix.cluster!r}", models.known(matrix.cluster, there)
        raise ConfigError(campaign.fault(("matrix", "cluster"), what, remedy))
    cluster = _declaration(ClusterFile, "clusters", matrix.cluster, base)
    launch = cluster.content.launch
    if launch is None:
        raise ConfigError(cluster.fault((), "has no part 'launch'", "say there how jobs are started"))
    _check_cores(cluster, () if isinstance(launch.cores, str) else launch.cores)
    if cluster.content.power is not None:  # found now, not by the first job that samples nothing
        power.check(cluster.path, several=launch.nodes > 1)
    applications = {
        each: _declaration(Application, "applications", each, base)
        for each in sorted({subset.application for subset in matrix.subsets})
        if (base / f"config/applications/{each}.yaml").is_file()
    }
    return Declared(name, base, campaign, cluster, matrix, launch, applications)


def _declaration(model: type[M], folder: str, name: str, base: Path) -> Declaration[M]:
    path = models.named(base / "config" / folder / f"{name}.yaml", folder.removesuffix("s"))
    source = str(path.relative_to(base))
    digest = files.sha256(path)  # before: a change meanwhile shall be seen
    out = Declaration(path, source, models.load(model, path, source), digest)
    document = read(str(path))[0]
    faults = [
        out.fault(where, f"{'.'.join(map(str, where))}: holds a control character", "write it in one line")
        for where, text in texts(document)
        if "files" not in where
        and not (text.translate(_LINES) if set(where) & set(_LONG_TEXTS) else text).isprintable()
    ]
    if faults:
        raise ConfigError(*faults)
    return out


def _check_cores(cluster: Declaration[ClusterFile], sockets: Sequence[str]) -> None:
    faults, seen = [], dict[int, int]()
    for index, text in enumerate(sockets):
        where = ("launch", "cores", index)
        parts = [part.partition("-") for part in text.split(",")]
        if any(last and int(last) < int(first) for first, _, last in parts):
            faults.append(cluster.fault(where, f"{text!r} runs backwards", "write it like 0-9"))
        for core in numbers(text):
            if core in seen:
                what = f"core {core} was given before (socket {seen[core]})"
                faults.append(cluster.fault(where, what, "a core belongs to one socket, once"))
                break
            seen[core] = index
    if faults:
        raise ConfigError(*faults)
