"""The table of factors: what a campaign varies or holds fixed, a row each.

A new factor is one row here. The registry of variables, the record of a run, import, the matrix of a
campaign, comparable runs, distance, pages, display names and the documentation follow from it. Snakemake
reads this module at every start: nothing slow is imported.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from analysis.base.words import NOT_STATED, Level

Kind = Literal["problem", "software", "machine", "job", "view"]


@dataclass(frozen=True, slots=True)
class Factor:
    """A factor: what it is, what changes with it, what it is compared for, how it and its levels are called.

    `kind` says whether it belongs to the problem, the software, the machine, the job, or to how a run is
    watched. `topics` are the questions for which its levels are compared, each with the factors that change
    with it by nature: more nodes have more ranks. `tied` may change with it too where no runs differ in it
    alone, and a page then lists what did.
    """

    name: str
    kind: Kind
    meaning: str
    dtype: str = "str"  # as in the registry: str (unknown ""), i4 (unknown -1), f8 (unknown NaN)
    unit: str = ""
    aliases: tuple[str, ...] = ()  # other names that records and patterns use
    topics: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    also: tuple[str, ...] = ()  # what changes with it by nature next to that
    tied: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()  # the factors of which its levels are made up
    axis: tuple[str, ...] | None = None  # what changes along it where it is the axis of a figure
    follows: str = ""  # the factor that it follows from, next to which it says nothing of its own
    upgrade: bool = False  # whether an upgrade may replace its levels
    versioned: bool = False  # whether its levels carry a version
    from_output: bool = False  # whether the output states it even where the record does not
    work: bool = False  # whether it determines the work that is done, on whatever machine
    needed: bool = False  # whether runs can hardly be compared without it
    label: str = ""  # its name on axes and in tables
    before: str = "with"  # the preposition before its levels: "on 2 nodes"
    every: str = ""  # all of its levels: "all links"
    level: str = "{}"  # a level in a sentence; "{} node|{} nodes" for one and for several
    subject: str = ""  # a level as what a sentence is about, where that is another: "runs of {}"
    plural: bool = False  # whether a level is several things: "dual-rank modules are"
    paths: tuple[str, ...] = ()  # patterns of file and folder names that state it, the number as a group
    words: tuple[tuple[str, str], ...] = ()  # patterns of words of such names, and the level that each states
    default: Level | None = None  # its level in a matrix that names none; None: that of the cluster, if any
    varied: bool = True  # whether a matrix may vary it; files and outputs of the runs state the others
    brief: bool = False  # whether a short description of runs names it

    @property
    def numeric(self) -> bool:
        """Whether its levels are numbers."""
        return self.dtype != "str"

    @property
    def is_axis(self) -> bool:
        """Whether figures have it as an axis where nobody has chosen one."""
        return self.axis is not None

    @property
    def unknown(self) -> Level:
        """The level of a run whose level is not known."""
        return "" if self.dtype == "str" else -1 if self.dtype == "i4" else math.nan

    @property
    def changes_with_it(self) -> tuple[str, ...]:
        """The factors that change with it by nature, whatever it is compared for."""
        found = [*FOLLOWS.get(self.name, ()), *(one for names in self.topics.values() for one in names)]
        found += [*self.also, *([self.follows] if self.follows and not self.topics else [])]
        return tuple(dict.fromkeys(one for one in found if one not in self.tied))


# In patterns: the borders of a word in names that are joined by anything, and what joins it to its number.
_S, _E, _G = r"(?<![A-Za-z0-9.])", r"(?![A-Za-z0-9])", r"[-_=. ]?"
_N = r"(?<!\d)(?<!\d\.)"  # before a count: the last number of a release is none, as in gcc-8.1_omp
# Words that state a level in names of files and folders: pattern, and the level of what it matches.
_LINKS = (
    (r"(1|10|25|40|50|100|200|400)[-_]?(?:gb?e|gige|gbit|gbps)", r"\1gbe"),
    (r"gb?e(1|10|25|40|50|100|200|400)", r"\1gbe"),
    (r"gige|gbe|gigabit", "1gbe"),
    (r"(?:ib|infiniband)?[-_]?(sdr|ddr|qdr|fdr(?:10)?|edr|hdr(?:100|200)?|ndr(?:200|400)?|xdr)", r"ib-\1"),
    (r"ib|infiniband|ipoib", "ib"),
    (r"roce(?:v?2)?", "roce"),
    (r"no[-_]?efa", "no-efa"),
    (r"efa(?:v[12])?", "efa"),
    (r"omni[-_]?path|opa", "omni-path"),
    (r"slingshot(?:10|11)?|ss1[01]", "slingshot"),
    (r"aries|gemini|tofu(?:d)?|myrinet", r"\g<0>"),
    (r"myri(?:net)?[-_]?mx|myri|(?<=mpi[-_])mx", "myrinet"),  # openmpi_mx
    (r"tcp|tcpip", "tcp"),
    (r"ethernet|eth", "ethernet"),
)
_CPUS = (
    (r"e[357][-_ ]?(\d{4}\w?)[-_ ]?(v\d)?", r"E5-\1 \2"),
    (r"(?:xeon[-_ ]?)?(?:gold|platinum|silver)[-_ ]?(\d{4}\w?)", r"\g<0>"),
    (r"epyc[-_ ]?(\d{4}\w?)", r"EPYC \1"),
    (
        r"nehalem|westmere|sandy[-_]?bridge|ivy[-_]?bridge|haswell|broadwell|sky[-_]?lake|cascade[-_]?lake"
        r"|ice[-_]?lake|sapphire[-_]?rapids|emerald[-_]?rapids|granite[-_]?rapids|knl|knights[-_]?landing"
        r"|naples|rome|milan(?:-?x)?|genoa(?:-?x)?|bergamo|turin|thunderx2|tx2|a64fx|graviton\d?|grace|power[89]"
        r"|snb|ivb|hsw|bdw|skx|skl|clx|icx|spr|emr|gnr",
        r"\g<0>",
    ),
)
# Types of instances in clouds: AWS, Google, Azure. Their names have numbers that count nothing.
_INSTANCES = (
    (
        r"((?:hpc|inf|trn|dl|vt|im|is|gr|[acdfghimprtuxz])\d{1,2}[a-z]{0,4})(?:[-_.](\d{0,3}xlarge)|\.(large|metal))",
        r"\1.\2\3",
    ),
    # Families of AWS without a size; of one letter and one digit alone there are other words.
    (r"hpc[5-9](?:a|g|id)|im4gn|is4gen|[cmr][5-8](?:ad?|gd?|gn|i|id|in|idn|n|dn|zn|iz)", r"\g<0>"),
    (
        r"(?:[acehmntxz]\d{1,2}[ad]?)-(?:standard|high(?:mem|cpu|gpu)|mega(?:mem|gpu)|ultra(?:mem|gpu))-\d+[gt]?",
        r"\g<0>",
    ),
    (r"(?:standard[-_])?h[bcx]\d+[a-z]*[-_](v\d)|standard[-_][a-z]{1,2}\d+[a-z]*(?:[-_]v\d)?", r"\g<0>"),
)
# Systems with names of their own, as paths and names of hosts have them.
SYSTEMS = (
    "ARCHER2 ARCHER Cirrus JASMIN SCARF LOTUS HECToR DiRAC CSD3 COSMA COSMA7 COSMA8 Tesseract Isambard "
    "Isambard-AI Frontier Summit Sierra Lassen Perlmutter Cori Edison Polaris Aurora Stampede Stampede2 "
    "Stampede3 Frontera Lonestar6 Expanse Bridges-2 Blue-Waters Fugaku Oakforest-PACS Wisteria TSUBAME ABCI "
    "JUQUEEN JURECA JUWELS JUSUF JUPITER SuperMUC SuperMUC-NG Hazel-Hen HAWK Piz-Daint Daint Alps LUMI Mahti "
    "Puhti Leonardo Marconi100 MareNostrum MareNostrum4 MareNostrum5 Irene Occigen Jean-Zay "
    "Adastra Niagara Graham Cedar Beluga Narval Gadi Raijin Magnus Setonix Tianhe TaihuLight Kebnekaise "
    "Tetralith Dardel Beskow Betzy Snellius Cartesius Karolina Salomon Barbora Anselm MeluXina Deucalion "
    "AWS Azure GCP Google OCI"  # clouds
)
_CLUSTER = "|".join(sorted((name.replace("-", "[-_]?") for name in SYSTEMS.split()), key=len, reverse=True))
_BUILDS = r"gcc[-_]?[\d.]*|gnu[-_]?[\d.]*"
_BUILDS += (
    r"|(?:icc|icx|ifort|ifx|aocc|clang|armclang|llvm|pgi|nvhpc|cce|aocl|mkl)"
    r"(?:[-_]?\d+\.\d[\d.]*|\d{1,4}|-\d{1,4}(?=_))?"
)
_BUILDS += r"|gfortran(?:[-_]?(?:\d+\.\d[\d.]*|\d{1,2}))?"
_BUILDS += r"|intel[-_]?(?:20[012]\d|1\d|2[0-5])(?:\.\d+)*|arm[-_]?\d\d\.\d[\d.]*"  # not intel64
_PLACED = r"block|cyclic|scatter|compact|bunch|spread|pinning|pinned|unpinned|cores?|sockets?|numa|rank"
_PLACED += r"|(?:intra|inter)[-_]?(?:node|socket|numa|ccx|die)|same[-_]?switch|diff[-_]?switch"
_TUNED = r"tuned|untuned|defaults?|(?:no)?smt\d?|\d?smt|(?:no)?ht|hyperthread\w*|ucx|ofi|verbs|openib|psm2?"
# What another machine mostly comes with.
_WITH_A_MACHINE = ("mpi", "build", "version", "tuning", "ranks", "ranks_per_node")

TABLE: tuple[Factor, ...] = (
    Factor(
        "application", "problem", "application", varied=False, work=True,
        label="application", every="all applications",
    ),
    Factor(
        "case", "problem", "input case", varied=False, brief=True, work=True, needed=True,
        label="problem", before="at", every="every case", topics={"problem size": ()}, axis=(),
    ),
    Factor(
        "cluster", "machine", "cluster", varied=False, words=((_CLUSTER, r"\g<0>"),), upgrade=True,
        label="cluster", before="on", every="all clusters",
        topics={"hardware": ("cpu", "host_group", "interconnect", "dimm", "ranks", "ranks_per_node")},
        parts=("cpu", "interconnect", "dimm"), tied=("cpu", "dimm", "interconnect", *_WITH_A_MACHINE),
    ),
    Factor(
        "cpu", "machine", "CPU model", words=_CPUS, upgrade=True, needed=True, label="processor", before="on",
        every="all processors", topics={"CPU generation": ("cluster",)},
        tied=("cluster", "dimm", "interconnect", *_WITH_A_MACHINE),
    ),
    Factor(
        "host_group", "machine", "group of hosts: type of instance, or without a CPU feature, queue or name",
        words=_INSTANCES, varied=False, upgrade=True,
        label="host group", before="on", every="all host groups",
        topics={"host group": ("cluster",)}, tied=("cluster", "dimm", "interconnect", *_WITH_A_MACHINE),
    ),
    Factor(
        "frequency", "machine", "clock frequency that the CPU was set to", "f8", "GHz", upgrade=True,
        aliases=("cpu_frequency", "freq"), label="CPU frequency", before="at", every="all frequencies",
        level="{} GHz", subject="runs at {}", plural=True, topics={"CPU frequency": ()},
        paths=(rf"{_S}(?:freq{_G})?(\d\.\d+)[-_]?ghz{_E}", rf"{_S}freq(?:uency)?{_G}(\d\.\d+)"),
    ),
    Factor(
        "interconnect", "machine", "network between the nodes", words=_LINKS, brief=True, upgrade=True,
        needed=True, label="link", before="over", every="all links", topics={"interconnect": ("cluster",)},
        tied=("mpi", "tuning", "cluster"), axis=("nodes", "ranks_per_node"),
    ),
    Factor(
        "mpi", "software", "MPI library with version", brief=True, upgrade=True, versioned=True, needed=True,
        label="MPI library", every="all MPI libraries", topics={"MPI library": ()},
        tied=("build", "tuning", "version"),
    ),
    Factor(
        "build", "software", "compiler flags or build variant",
        words=((_BUILDS, r"\g<0>"),), varied=False, upgrade=True, label="build",
        before="built with", every="all builds", level="build {}", topics={"compiler flags": ()},
        tied=("mpi",),
    ),
    Factor(
        "dimm", "machine", "memory modules: type, speed and ranks", upgrade=True, label="memory modules",
        before="with", every="all memory modules", level="{} modules", plural=True,
        topics={"memory modules": ()},
    ),
    Factor(
        "tuning", "software", "settings of the MPI library or the network, such as tuned or untuned",
        words=((_TUNED, r"\g<0>"),), upgrade=True, default="default", label="tuning", before="tuned as",
        every="all tunings", level="tuning {}", topics={"MPI tuning": ()},
    ),
    Factor(
        "options", "job", "options and settings that vary: of the launch, the program, its environment",
        varied=False, upgrade=True, label="options", every="all options", topics={"options": ()},
    ),
    Factor(
        "placement", "job", "which cores of a node a job has",
        words=((_PLACED, r"\g<0>"),), upgrade=True, default="all-cores", label="placement",
        before="placed as", every="all placements", level="placement {}", topics={"placement": ()},
    ),
    Factor(
        "profiler", "view", "profiler preloaded, none without", brief=True, default="none", label="profiler",
        before="under", subject="a run under {}", every="all profilers", topics={"profilers": ()},
    ),
    Factor(
        "nodes", "job", "nodes", "i4", "1", brief=True, needed=True, default=1, label="nodes", before="on",
        every="all numbers of nodes", level="{} node|{} nodes", topics={"scaling": ("ranks", "gpus")},
        axis=("ranks", "gpus"),
        paths=(rf"{_N}(\d+)[-_]?(?:nodes?|nn)(?![a-z])", rf"{_S}(?:nnodes|nodes?|nn){_G}(\d+)"),
    ),
    Factor(
        "ranks", "job", "MPI ranks", "i4", "1", aliases=("np",), varied=False, brief=True, work=True,
        needed=True, label="ranks", every="all numbers of ranks", level="{} rank|{} ranks",
        also=("nodes", "gpus"), axis=("nodes", "gpus"),
        paths=(
            rf"{_N}(\d+)[-_]?(?:ranks?|n?procs?|n?tasks?|np|mpiprocs|mpiranks|processes|mpi)(?![a-z])",
            rf"(?:{_S}|(?<=\d))(?:n?ranks?|n?procs?|n?tasks?|np|mpiprocs){_G}(\d+)",
        ),
    ),
    Factor(
        "ranks_per_node", "job", "ranks on each node", "i4", "1", aliases=("ppn",), default="all",
        label="ranks per node", every="all numbers of ranks per node",
        level="{} rank per node|{} ranks per node",
        topics={"scaling": ("ranks", "gpus"), "placement": ("nodes",)}, also=("placement",),
        paths=(
            rf"(?:{_S}|(?<=\d))(?:ppn|tpn|rpn|(?:n?tasks|ranks|procs)[-_]?per[-_]?node){_G}(\d+)",
            rf"{_N}(\d+)[-_]?(?:ppn|tpn|rpn|cpn|(?:tasks|ranks|procs)[-_]?per[-_]?node)",
        ),
    ),
    Factor(
        "threads", "job", "threads of each rank", "i4", "1", aliases=("omp_num_threads",), from_output=True,
        default=1, label="threads per rank", every="all numbers of threads",
        level="{} thread per rank|{} threads per rank",
        topics={"threads": ("ranks", "ranks_per_node")},
        paths=(
            rf"{_N}(\d+)[-_]?(?:omp|threads?|thr)(?![a-z])",
            rf"{_S}(?:omp|threads?|thr|nthreads?){_G}(\d+)",
        ),
    ),
    Factor(
        "concurrent_jobs", "job", "jobs that ran at once on the same nodes", "i4", "1", default=1,
        label="jobs at once", every="all numbers of jobs at once", level="{} job|{} jobs at once",
        topics={"placement": ("ranks", "ranks_per_node", "placement")},
        paths=(rf"{_N}(\d+)[-_]?jobs(?![a-z])",),
    ),
    Factor(
        "gpus", "job", "GPUs of all nodes together", "i4", "1", aliases=("ngpus", "num_gpus"), brief=True,
        from_output=True, label="GPUs", before="on", every="all numbers of GPUs", level="{} GPU|{} GPUs",
        topics={"GPUs": ("ranks", "ranks_per_node")}, tied=("threads",), axis=("ranks", "ranks_per_node"),
        paths=(
            rf"{_N}(\d+)[-_]?x?gpus?(?![a-z]|[-_]?per)",
            rf"{_S}(?:n[-_]?gpus?|num[-_]?gpus|gpus){_G}(\d+)",
        ),
    ),
    Factor(
        "target_time", "problem", "run time asked of the application, NaN where it takes none", "f8", "s",
        aliases=("target_seconds", "rt"), varied=False, brief=True, work=True,
        label="length of a run (s)", before="in runs of", every="all lengths of runs",
        level="{} s", subject="runs of {}", plural=True, topics={"run duration": ()},
        paths=(rf"{_S}rt{_G}(\d+){_E}",),
    ),
    Factor(
        "problem", "problem", "identity of the problem as the output states it: sizes, without paths",
        varied=False, work=True, from_output=True, follows="case", label="problem size", before="for",
        every="all problem sizes",  # a larger one takes longer: nothing to compare
    ),
    Factor(
        "local_size", "problem", "local grid points per axis, -1 where the case has none", "i4", "1",
        aliases=("nx",), varied=False, follows="case", from_output=True, label="grid points a side",
        every="all grids", level="{}³",
        paths=(
            rf"{_S}nx{_G}(\d+){_E}",
            rf"{_S}(\d+)(?:cubed|\^3|³)",
            rf"{_S}(\d+)x(?=(\d+)x(\d+))(?:\d+)x(?:\d+){_E}",
        ),
    ),
    Factor(
        "version", "software", "release of the application, as its output says", follows="build",
        varied=False, upgrade=True, work=True, versioned=True, from_output=True,
        label="version", before="in version",
        every="all versions", level="version {}", topics={"compiler flags": ()}, tied=("build", "mpi"),
    ),
)  # fmt: skip

BY_NAME: Mapping[str, Factor] = {one.name: one for one in TABLE}
# Topics of claims about processors themselves.
PROCESSORS = frozenset((*BY_NAME["cpu"].topics, *BY_NAME["frequency"].topics))
# What a run has by where it ran and what was installed there.
OF_SYSTEM: tuple[str, ...] = tuple(one.name for one in TABLE if one.kind in ("machine", "software"))
# What must be equal for two runs to be comparable.
FACTORS: tuple[str, ...] = tuple(BY_NAME)
# What follows from a factor: a case has its grid, a build its release.
FOLLOWS: Mapping[str, tuple[str, ...]] = {
    one.follows: tuple(other.name for other in TABLE if other.follows == one.follows)
    for one in TABLE
    if one.follows
}
ALIASES: Mapping[str, str] = {alias: one.name for one in TABLE for alias in one.aliases}
# Other words for a factor -> its name; for the nearest name to a wrong word.
SPELLINGS: Mapping[str, str] = {word: one.name for one in TABLE for word in (one.label, *one.aliases)}
# The order in which a sentence lists where something holds: the problem, the size, the machine, the software.
# What an output states of its problem is named only where nothing before it tells runs apart.
SPOKEN = (
    *("case", "version", "nodes", "ranks", "ranks_per_node", "gpus", "threads", "concurrent_jobs"),
    *("interconnect", "cpu", "host_group", "frequency", "cluster", "dimm", "mpi", "tuning", "placement"),
    *("build", "options", "profiler", "target_time", "problem"),
)
# What a short description of runs names, in that order.
BRIEF = tuple(name for name in SPOKEN if BY_NAME[name].brief)

if TYPE_CHECKING:
    FactorName = str
else:
    FactorName = Annotated[
        Literal[FACTORS], Field(description="a factor of a run, see kind runs in docs/reference/variables.md")
    ]


def is_known(level: object) -> bool:
    """Whether a level says something: no blank, no -1, no NaN."""
    return level not in ("", -1, None) and level == level


def label(factor: str) -> str:
    """Return the name of a factor on axes and in tables, of another column its own."""
    known = BY_NAME.get(factor)
    return known.label if known else factor.replace("_", " ")


# Levels that the field spells in one way, by factor; what has a number or a grade in its name follows a rule.
_NAMES: Mapping[str, Mapping[str, str]] = {
    "case": {
        "osu_latency": "point-to-point latency", "osu_bw": "point-to-point bandwidth",
        "osu_bibw": "two-way bandwidth", "osu_allreduce": "Allreduce", "osu_alltoall": "Alltoall",
        "osu_bcast": "Bcast", "osu_allgather": "Allgather", "osu_barrier": "Barrier",
    },
    "interconnect": {
        "ib": "InfiniBand", "ethernet-tcp": "TCP over Ethernet", "shared-memory": "shared memory",
        "omnipath-100": "Omni-Path", "efa": "EFA",
    },
    "mpi": {
        "open-mpi": "Open MPI", "openmpi": "Open MPI", "mpich": "MPICH", "intel-mpi": "Intel MPI",
        "platform-mpi": "Platform MPI", "hp-mpi": "HP MPI", "mvapich2": "MVAPICH2", "hpc-x": "HPC-X",
    },
    "dimm": {"single rank": "single-rank", "dual rank": "dual-rank", "quad rank": "quad-rank"},
    "profiler": {"none": "no profiler", "ipm": "IPM", "mpip": "mpiP"},
}  # fmt: skip
_SPELLINGS = (
    ("interconnect", re.compile(r"(\d+)-?gbe"), "{}GbE"),
    ("interconnect", re.compile(r"(\d+)-?gbe-roce"), "{}GbE RoCE"),
    ("interconnect", re.compile(r"ib-([sdqfehnx]dr\d*)"), "{} InfiniBand"),
    ("dimm", re.compile(r"(ddr\d-\d+)"), "{}"),
    ("dimm", re.compile(r"(ddr\d-\d+)-single-rank"), "single-rank {}"),
    ("dimm", re.compile(r"(ddr\d-\d+)-dual-rank"), "dual-rank {}"),
)


def display_name(factor: str, level: Level) -> str:
    """Return the name of a level as people in the field spell it: ``FDR InfiniBand``, ``2 nodes``."""
    text = str(level).lower()
    for name, pattern, spelling in _SPELLINGS:
        if name == factor and (found := pattern.fullmatch(text)):
            return spelling.format(found[1].upper())
    return _NAMES.get(factor, {}).get(text) or level_name(factor, level)


def level_name(factor: str, level: Level) -> str:
    """Return the name of a level in a sentence: words unchanged, numbers with their unit: ``2 nodes``."""
    if isinstance(level, str):
        return level
    known = BY_NAME.get(factor)
    one, _, several = (known.level if known else f"{{}} {label(factor)}").partition("|")
    return (one if level == 1 else several or one).format(_count(level))


def at_level(factor: str, level: Level) -> str:
    """Name a point of an axis: ``at 1 node``, ``at 32 nodes``, ``at 16³``."""
    return f"at {level_name(factor, level)}"


def labelled(factor: str, level: Level) -> str:
    """Name a level in a list or a formula: words as they are, numbers behind their factor: ``nodes 8``."""
    return level or NOT_STATED if isinstance(level, str) else f"{factor.replace('_', ' ')} {_count(level)}"


def _count(level: float) -> str:
    """Spell a level without a power of ten, however many ranks it is."""
    return f"{level:.0f}" if float(level).is_integer() else f"{level:g}"
