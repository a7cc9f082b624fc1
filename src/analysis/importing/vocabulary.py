"""The vocabulary of names of files and folders: words of the field, and numbers with a word.

A name states a factor only by a word that means it. Other words distinguish runs, and mean nothing more.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from analysis.base.files import PACKED
from analysis.base.words import STAMPS
from analysis.schema.factors import BY_NAME, SYSTEMS, TABLE

Value = str | int | float

# Factor and pattern, the number as a group; what one pattern matches, the next ones do not see. `_S` and `_E`
# are the borders of a word, in names that are joined by anything.
_S, _E = r"(?<![A-Za-z0-9.])", r"(?![A-Za-z0-9])"
_G = r"[-_=. ]?"  # between a word and its number
# Ranks of a node come before the nodes, which are a part of their name: the table backwards.
_COUNTS: tuple[tuple[str, str], ...] = (
    ("repeat", rf"{_S}(?:run|rep|repeat|iter|trial){_G}(\d+)(?=[-_.]node{_G}\d)"),  # iter-3-node-2
    *((one.name, pattern) for one in reversed(TABLE) for pattern in one.paths),
    (
        "repeat",
        rf"{_S}(?:runs?|rep|repeat|repetition|iter|iteration|trial|try|sample|attempt|no){_G}(\d+){_E}",
    ),
)
# A number with a letter or a vague word: the outputs decide what it means.
_VAGUE = (
    rf"{_S}(?:[nN]|size|s|p|c|g|n?cores|ncpus|n[-_]cores?|n[-_]cpus?){_G}(\d+){_E}",
    rf"{_S}(\d+)(?:n|c|p|{_G}(?:cores?|cpus?)){_E}",
    rf"{_S}r{_G}(\d+){_E}",  # ranks, or a repetition
)

# Counts of one thing for each of another; of those that no factor is the number distinguishes runs.
_RATIO = re.compile(rf"{_S}(?:n[-_]?|num[-_]?)?([a-z]+[-_]?per[-_]?[a-z]+){_G}(\d+){_E}", re.IGNORECASE)
_OF_NODE = re.compile(r"(?:n?tasks?|ranks?|procs?)[-_]?per[-_]?node", re.IGNORECASE)
_OF_RANK = re.compile(r"threads?[-_]?per[-_]?(?:rank|task|proc(?:ess)?)", re.IGNORECASE)

# Families of MPI libraries: as names of files have them, and as modules are called.
FAMILIES = (
    ("Open MPI", r"open[-_]?mpi|ompi", r"open[-_]?mpi(?:[-_]cuda|[-_]ucx)?"),
    ("MVAPICH2", r"mvapich2?|mv2", r"mvapich2?(?:[-_]?(?:x|gdr|plus))?"),
    ("Cray MPICH", r"cray[-_]?mpich", r"cray[-_]?mpich(?:[-_](?:ucx|abi))*"),
    ("MPICH", r"mpich", r"mpich"),
    ("Intel MPI", r"intel[-_]?mpi|impi", r"intel[-_]?(?:oneapi[-_])?mpi|impi|mpi(?=/(?:latest|20[12]\d))"),
    ("HPC-X", r"hpc[-_]?x", r"hpc[-_]?x(?:[-_](?:ompi|mt|stack))*"),
    ("HPE MPT", r"hpe[-_]?mpt|sgi[-_]?mpt|hmpt|mpt", r"(?:hpe|sgi)[-_]?mpt|hmpt|mpt"),
    ("Platform MPI", r"platform[-_]?mpi|pcmpi|pmpi", r"platform[-_]?mpi|pcmpi"),
    ("Spectrum MPI", r"spectrum[-_]?mpi|smpi", r"spectrum[-_]?mpi"),
)
_COMPILER = dict.fromkeys(("icc", "icx", "ifort", "ifx"), "intel")
_COMPILER |= {"gnu": "gcc", "gfortran": "gcc", "llvm": "clang"}
LIBRARY = rf"(?i:{'|'.join(pattern for _, pattern, _ in FAMILIES)})/v?\d"  # among modules
_SYSTEM = {re.sub(r"[-_]", "", name).lower(): name for name in SYSTEMS.split()}
_WORDS = tuple((one.name, pattern, level) for one in TABLE for pattern, level in one.words)
_NUMBERED_HOSTS = tuple(one for one in _WORDS if one[0] == "host_group")  # m7g.16xlarge
_TIMED = re.compile(rf"{_S}(\d+)[-_]?(min|minutes|sec|seconds|s){_E}", re.IGNORECASE)
# Numbers of jobs distinguish executions, as dates and times do, and are no factors.
_NUMBERED = re.compile(
    r"(?<![A-Za-z0-9])\d{5,}(?:\.\d+)?(?![A-Za-z0-9])|[0-9a-f]{12,}|[oe]\d{3,}(?![A-Za-z0-9])"
    r"|(?<=slurm[-_])\d+(?![A-Za-z0-9])"
    r"|(?:(?<=\bjob)|(?<=\bjob[-_])|(?<=_job[-_]))\d{3,}(?![A-Za-z0-9])|ƒ[1-9A-HJ-NP-Za-km-z]+"
)
# Flags of compilers in names: `O3-xHost-ipo`, `O2_march_native`, `haswell-O2`.
_LEVEL = r"O[0-3sgz]|Ofast"
# What nothing but a compiler is given, and what may be meant beside such a flag or a level.
_SURE = (
    r"x(?:Host|SSE\d\.\d|(?:CORE-?)?AVX[-\d\w]*)|m(?:arch|tune|cpu)[-_=][a-z][a-z0-9]*(?:-avx512)?"
    r"|qipo|f?(?:no-?)?lto|funroll(?:-(?:all-)?loops)?|f?fast-?math|ftree-vectorize|fno-[a-z]+(?:-[a-z]+)*"
    r"|fp-model[-_=](?:fast|precise|strict)|no-prec-div|qopt-[a-z]+(?:-[a-z]+)*|fomit-frame-pointer"
)
_BESIDE = r"ipo|pgo|unroll(?:ed)?|native|m?avx(?:2|512\w*)?|m?sse4?(?:\.\d)?|m?fma|fopenmp"
_FLAG = rf"(?:{_SURE}|{_BESIDE}|{_LEVEL})"
_FLAGS = re.compile(rf"{_S}-{{0,2}}({_FLAG}(?:[-_., +]{{1,3}}{_FLAG})*){_E}")
_SURELY = re.compile(rf"{_S}(?:{_SURE}){_E}")
OPTIMISED = re.compile(rf"{_S}(?:{_LEVEL}){_E}")
# The processor that a compiler optimises for is not what ran the program.
_TARGETS = "|".join(pattern for one in TABLE if one.name == "cpu" for pattern, _ in one.words)
_TARGET = rf"(?i:{_TARGETS}|neoverse[-_]?[a-z]\d|cortex[-_]?[a-z]\d+|znver\d)"
_TARGETED = re.compile(rf"{_S}({_TARGET}[-_.]-?(?:{_LEVEL})|(?:{_LEVEL})[-_.]{_TARGET}){_E}")
MOLECULES = {"O2", "O3"}  # of oxygen; a level of optimisation has no other meaning if it is another one
_NUMBERED_CPU = re.compile(r"(neoverse|cortex)[-_]([a-z]\d)", re.IGNORECASE)  # no nodes: neoverse-n1
# In names of hosts: gpuv100001.
GPU_MODEL = r"[abhpv][12]00|mi\d{3}[ax]?|(?<=gpu)-?[ahklt]\d{1,2}s?"
# A host: a name with a domain, a word with a long number that begins with zero, or one with a word for it.
# Shorter numbers may count something.
_HOST = re.compile(
    rf"{_S}[a-z][a-z0-9-]*(?:\.[a-z][a-z0-9-]*)+\.[a-z]{{2,6}}(?=[-_.]|$)|{_S}(?!per-)[a-z]+\d*-node-?\d+{_E}"
    rf"|{_S}(?!nodes?|n-?\d|np|nx|ppn|ranks?|procs?|n?tasks?|omp|threads?|rt|runs?|rep|iter)[a-z]{{1,12}}-?0\d{{2,4}}{_E}"
    rf"|{_S}(?:cn|nid|host|compute)-?0\d+{_E}|{_S}[a-z]{{0,12}}-?(?:{GPU_MODEL})-?0\d{{1,3}}{_E}"
)
# Words for what a file is, not what the run was. Any other word that differs may matter.
_NOISE = set(
    "result results output outputs out err log logs txt stdout stderr slurm job jobs file files the of and "  # noqa: SIM905
    "hpccoutf hpccinf sh tf d3hsp messag mes0000".split()
)
_EXTENSIONS = re.compile(
    # What PBS adds to a name is in small letters: `.O3` is no job.
    r"(?:\.(?:out|err|log|txt|dat|o|e|xml|csv|json|yaml|yml|res|stdout|stderr|ipm|mpip"
    rf"|{PACKED}|(?-i:[oe]\d+)))+$",
    re.IGNORECASE,
)

# Names that a profiler made: of IPM the user and the start, of mpiP the program, its ranks, a process, of
# Caliper the time, a process, letters by chance.
_OF_PROFILER = re.compile(
    r"[^/]*\.\d{9,10}\.\d{1,6}\.ipm\.xml|[^/]*\.\d+\.\d+\.\d+\.mpiP|\d{6}-\d{6}_\d+_[a-z\d]{12}\.cali",
    re.IGNORECASE,
)
# A release is one word, 1.14.x too; other numbers are split at dots.
_WORD = re.compile(r"(?<![A-Za-z0-9.])v?\d+\.\d+(?:\.\d+)*(?:\.x)?(?![A-Za-z0-9.])|[^\W_]+")


@dataclass
class ParsedName:
    """What one part of a path states: factor -> value; numbers of unclear meaning; unknown words."""

    text: str
    values: dict[str, tuple[Value, str]] = field(default_factory=dict)
    vague: list[tuple[int, str, str]] = field(default_factory=list)  # number, text, its place
    rest: str = ""  # unknown words
    host: str = ""

    def copy(self) -> "ParsedName":
        """Return a name of the same content, which changes by itself."""
        return ParsedName(self.text, dict(self.values), list(self.vague), self.rest, self.host)

    def add_rest(self, text: str) -> None:
        """Add a word that is not understood: it may still distinguish runs."""
        self.rest = f"{self.rest}-{text}".strip("-")


def parse_name(
    part: str, *, application: str = "", cases: tuple[str, ...] = (), file: bool = False
) -> ParsedName:
    """Parse one part of a path; `cases` are those of the `application`, `file` if it is a file's name."""
    text = _EXTENSIONS.sub("", part) if file else part
    out = ParsedName(text)
    if file and _OF_PROFILER.match(part):
        return out
    for factor, pattern, level in _NUMBERED_HOSTS:
        text = _word(text, factor, pattern, level, out)
    text = STAMPS.sub(" ", text)
    target = OPTIMISED.search(text) is not None  # a processor is what it is for, not what ran it
    built = flags(text)
    for found in built:
        text = text.replace(found, " ", 1)
    hosts = (
        one for one in _HOST.findall(text) if one.strip("-0123456789").lower() not in {*_NOISE, application}
    )
    out.host = next(hosts, "")
    text = _NUMBERED_CPU.sub(r"\1\2", _HOST.sub(" ", text))
    for case in sorted(cases, key=len, reverse=True):
        pattern = rf"(?<!get_)(?<!put_)(?<!acc_){_S}(?:osu_)?{re.escape(case)}{_E}"
        if match := re.search(pattern, text, re.IGNORECASE):
            out.values["case"] = (case, match[0])
            text = _without(text, match)
            break
    for pattern, level in BY_NAME["build"].words:  # intel-2019_omp has no 2019 threads
        text = _word(text, "build", rf"(?=[a-z]+-\d[\d.]*_)(?:{pattern})(?=_)", level, out)
    text = _numbers(text, out)
    text = _library(text, out)
    for factor, pattern, level in _WORDS:
        text = text if target and factor == "cpu" else _word(text, factor, pattern, level, out)
    if built:  # behind the compiler
        known = [str(out.values["build"][0])] if "build" in out.values else []
        out.values["build"] = (" ".join([*known, *built]), built[0])
    _collect_rest(_NUMBERED.sub(" ", text), application, out)
    return out


def _without(text: str, match: re.Match[str]) -> str:
    return f"{text[: match.start()]} {text[match.end() :]}"


def _numbers(text: str, out: ParsedName) -> str:
    if (match := _RATIO.search(text)) and not _OF_NODE.fullmatch(match[1]):
        if _OF_RANK.fullmatch(match[1]):
            out.values["threads"] = (int(match[2]), match[0])
        else:
            out.add_rest(re.sub(r"[-_=. ]+", "-", match[0]))
        text = _without(text, match)
    for factor, pattern in _COUNTS:
        match = re.search(pattern, text, re.IGNORECASE)
        cube = match is not None and len({group for group in match.groups() if group}) == 1
        if match and cube and factor not in out.values and len(match[1]) < 8:
            number = float(match[1]) if "." in match[1] else int(match[1])
            out.values[factor] = (number, match[0].strip("-_. "))
            text = _without(text, match)
    if (match := _TIMED.search(text)) and "target_time" not in out.values:
        unit = 60 if match[2].lower().startswith("min") else 1
        out.values["target_time"] = (int(match[1]) * unit, match[0])
        text = _without(text, match)
    for pattern in _VAGUE:
        if match := re.search(pattern, text):
            out.vague.append((int(match[1]), match[0], re.sub(r"\d+", "", match[0])))
            text = _without(text, match)
    return text


def _library(text: str, out: ParsedName) -> str:
    for name, pattern, _ in FAMILIES:
        match = re.search(rf"{_S}(?:{pattern})(?:[-_/ ]?v?(\d[\d.]*(?:rc\d+)?))?{_E}", text, re.IGNORECASE)
        if match:
            out.values["mpi"] = (library(name, match[1] or "", match[0]), match[0])
            return _without(text, match)
    return text


def library(name: str, version: str, text: str) -> str:
    """Name an MPI library with its version; a version without dots is kept as it was written."""
    if not version:
        return name
    joined = "." not in version and len(version) > 2 and not re.fullmatch(r"20[12]\d", version)
    return f"{name} ({text})" if joined else f"{name} {version.rstrip('.')}"


def system(name: str) -> str:
    """Return the spelling of a system's name, empty if it is not known."""
    return _SYSTEM.get(re.sub(r"[-_]", "", name).lower(), "")


def libraries(text: str) -> Iterator[str]:
    """Name the MPI libraries among modules, as in ``openmpi/4.1.4-gcc``."""
    for name, pattern, _ in FAMILIES:
        found = re.finditer(rf"(?<![A-Za-z0-9-])(?:{pattern})/v?(\d[\d.]*)", text, re.IGNORECASE)
        yield from (f"{name} {match[1].rstrip('.')}" for match in found)


def family(text: str) -> str:
    """Return the family of an MPI library's name; empty if it is not known."""
    return next((name for name, *_ in FAMILIES if text.lower().startswith(name.lower())), "")


def flags(text: str) -> list[str]:
    """Return the flags in a name that can be nothing else, neighbours as one text."""
    texts = [match[1] for match in _TARGETED.finditer(text)]
    rest = _TARGETED.sub(" ", text)
    texts += [match[1] for match in _FLAGS.finditer(rest) if _are_sure_flags(match[1])]
    return texts


def _are_sure_flags(text: str) -> bool:
    """Tell whether one of several flags is surely one, or beside a level of optimisation."""
    level = OPTIMISED.search(text)
    return _SURELY.search(text) is not None or (level is not None and level[0] != text)


def other_builds(words: str, known: str) -> str:
    """Return the words for compilers that a known build does not include: ``gcc12`` is ``gcc-12.2.0``."""
    return " ".join(word for word in words.split() if not any(_is_build(word, one) for one in known.split()))


def _is_build(word: str, known: str) -> bool:
    one, other = (re.match(r"([a-z]+)[-_]?([\d.]*)", text.lower()) for text in (word, known))
    if one is None or other is None or OPTIMISED.search(word) or flags(word):
        return word == known
    families = [_COMPILER.get(found[1], found[1]) for found in (one, other)]
    return families[0] == families[1] and f"{other[2]}.".startswith(f"{one[2]}." if one[2] else "")


def _word(text: str, factor: str, pattern: str, level: str, out: ParsedName) -> str:
    match = re.search(rf"{_S}(?:{pattern}){_E}", text, re.IGNORECASE)
    several = factor in ("tuning", "build")
    if not match or (factor in out.values and not several):
        return text
    name = match.expand(level).strip(" -_")
    name = system(name) if factor == "cluster" else name if factor == "cpu" else name.lower()
    name = f"{out.values[factor][0]} {name}" if factor in out.values else name
    out.values[factor] = (name, match[0])
    return _without(text, match)


def _collect_rest(text: str, application: str, out: ParsedName) -> None:
    """Collect the unknown words; the outputs decide what numbers without a word mean."""
    joined, bare = application.replace("-", ""), application.rstrip("0123456789")
    own = {application, joined, bare, *application.split("-")}
    for at, found in enumerate(_WORD.finditer(text)):
        word = found[0]
        if word.isdecimal() and len(word) < 7:
            out.vague.append((int(word), word, str(at)))
        elif word.lower() not in _NOISE | own:
            out.add_rest(word)
