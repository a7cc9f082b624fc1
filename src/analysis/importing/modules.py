"""Lists of modules: the MPI library, the compiler and the releases that a job loads.

Spack, EasyBuild, OpenHPC and Bright name the same module differently: ``openmpi/4.1.5-gcc-12.2.0-abc1234``,
``OpenMPI/4.1.4-GCC-12.2.0``, ``openmpi4``, ``openmpi/gcc/64/4.1.2``.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from analysis.importing.vocabulary import FAMILIES

_LOADS = re.compile(
    r"^(?:\++ |[ \t]*)"  # in a script, or in its trace
    r"(?:module[ \t]+(?:-\S+[ \t]+)*|ml[ \t]+|spack[ \t]+|(?=(?:export[ \t]+)?LOADEDMODULES=))"
    r"(?:(?P<verb>load|add|unload|rm|del|remove|purge|reset|restore|swap|switch)\b"
    r"|(?P<list>(?:export[ \t]+)?LOADEDMODULES=)|(?=[A-Za-z-]\S*/\d))(?P<words>.*)$",
    re.MULTILINE,
)
_BRANCH = re.compile(r"^[ \t]*(?:if|elif|case|else)\b", re.MULTILINE)
_LISTED = re.compile(r"Currently Loaded Mod\w*:?[ \t]*\n", re.IGNORECASE)
_NUMBERED = re.compile(r"(?<!\S)([1-9]\d{0,2})\)[ \t]+([A-Za-z][\w.+/-]*)")
_TERSE = re.compile(r"(?:[A-Za-z][\w.+-]*/?[\w.+/-]*(?:[ \t]*\([^)\n]*\))?[ \t]*\n)+")
_LONGEST = 8192  # characters behind the heading of a list
SIGN = r"LOADEDMODULES=|Currently Loaded Mod|^(?:\++ |[ \t]*)(?:module|ml|spack)[ \t]+\S"

_MPI = tuple((family, pattern) for family, _, pattern in FAMILIES)
# The family of a compiler, and how modules name it.
_COMPILERS = (
    ("gcc", r"gcc|gnu"),
    (
        "intel",
        r"intel[-_](?:oneapi[-_])?compilers?(?:[-_]classic)?|intel(?=[-/_]?v?\d)|iccifort|icc|icx|ifort"
        r"|(?<!intel[-_])oneapi(?:/(?:eng-compiler|release))?|intel[-_]parallel[-_]studio|compiler(?=/20[12]\d)",
    ),
    ("aocc", r"aocc"),
    ("nvhpc", r"nvhpc(?:[-_](?:hpcx|openmpi\d|nompi|byo[-_]compiler))*(?:[-_]cuda\d+)?|pgi"),
    ("clang", r"clang|llvm"),
    ("armclang", r"armclang|acfl|arm(?=/\d\d\.\d)|arm\d(?=/)"),
    ("cce", r"cce"),
    ("fcc", r"fj(?=[-/@]\d)|lang/tcsds"),
    ("xl", r"xlc?(?=/\d)"),
)
# Collections of a compiler and an MPI library, which name both only by a release of their own.
_TOOLCHAINS = r"foss|gompi|goolf|iimpi|iomkl|gomkl|nvompi|PrgEnv-\w+"
_VERSION = r"(?:[-/_@]*v?=?(?!64/)(\d[\d.]*(?:rc\d+|[a-z](?![a-z]))?))?"
_TOOL = re.compile(
    "(?<![A-Za-z0-9])(?:"
    + "|".join(
        f"(?P<{kind}{at}>{pattern})"
        for kind, rows in (("m", _MPI), ("c", _COMPILERS))
        for at, (_, pattern) in enumerate(rows)
    )
    + rf"|(?P<t0>{_TOOLCHAINS}))(?![A-Za-z])(?![-_](?:runtime|libs))(\d+(?=/))?{_VERSION}",
    re.IGNORECASE,
)
# What stands before the name of a module: its kind, or the same name again.
_KIND = re.compile(r"(?:(?:mpi|compilers?|toolchains?|libs?|lang|devel|apps|tools?|core|numlib)/)*", re.I)
_MORE = re.compile(r"(?<![\w.])v?(\d+\.\d[\w.]*|\d{8})(?![\w.])")
_HASH = re.compile(r"-(?=[a-z0-9]*[a-z])[a-z0-9]{7}$|-[a-z0-9]{32}$")
# Programs that work for the user and not for the run.
_AT_HOME = set(
    "git cmake vim emacs nano tmux screen python python3 anaconda anaconda3 miniconda miniconda3 conda perl "  # noqa: SIM905
    "gnuplot make gmake ninja htop valgrind gdb totalview ddt forge tex texlive paraview visit autotools "
    "slurm lsf pbs use.own null dot modules user-scripts settarg shared default-environment".split()
)


class ModuleName(NamedTuple):
    """A library or compiler that a module's name states, and whether the module itself is that."""

    kind: str  # mpi, compiler, toolchain
    family: str
    version: str
    own: bool

    @property
    def label(self) -> str:
        """Its name with its release, a compiler as in paths: ``gcc-12.2.0``."""
        return f"{self.family}{' ' if self.kind == 'mpi' else '-'}{self.version}".strip(" -")


def loaded(text: str) -> list[str]:
    """Return the modules that a text loads or lists, in their order, without those that it unloads again.

    A script with branches may load what is indented in it, or not.
    """
    found: dict[str, None] = {}
    text = text.replace("\\\n", " ")
    branches = _BRANCH.search(text) is not None
    for match in _LOADS.finditer(text):
        if branches and text[match.start()] in " \t":
            continue
        verb = match["verb"] or ("load" if not match["list"] else "")
        words = [word for word in re.split(r"[\s:;]+", match["words"].split("#", 1)[0]) if word]
        if verb in ("purge", "reset", "restore"):
            found.clear()
        elif verb in ("unload", "rm", "del", "remove"):
            _unload(found, words)
        elif verb in ("swap", "switch"):
            _unload(found, words[:-1] or [word.partition("/")[0] for word in words])
            words = words[-1:]
        if verb in ("load", "add", "swap", "switch", ""):
            _unload(found, [word[1:] for word in words if re.match(r"-[A-Za-z]", word) and "/" in word])
            names = [word.strip("\"'`,%^") for word in words]
            found |= dict.fromkeys(name for name in names if re.match(r"[A-Za-z]", name))
    for match in _LISTED.finditer(text):
        listed = text[match.end() : match.end() + _LONGEST]
        terse = None if _NUMBERED.search(listed[:200]) else _TERSE.match(listed)
        # The output that follows may begin with a word alone.
        lines = [line for line in terse[0].split("\n") if "/" in line] if terse else []
        # Nor is what stands behind a number again a module: LAMMPS prints "box = (0 0 0) to (1 1 1) with".
        numbered: dict[str, str] = {}
        for number, name in _NUMBERED.findall(listed):
            numbered.setdefault(number, name)
        names = lines or list(numbered.values())
        found |= dict.fromkeys(name.split()[0] for name in names if name)
    return list(found)


def _unload(found: dict[str, None], words: Iterable[str]) -> None:
    for word in words:
        for name in [name for name in found if name == word or name.startswith(f"{word}/")]:
            del found[name]


def named(module: str) -> list[ModuleName]:
    """Return what a module's name states of MPI libraries and compilers, its own first."""
    out: list[ModuleName] = []
    begin = _KIND.match(module)
    start = begin.end() if begin else 0
    rest = module
    for match in _TOOL.finditer(module):
        key = next(name for name, text in match.groupdict().items() if text)
        rows = {"m": _MPI, "c": _COMPILERS}.get(key[0])
        family = rows[int(key[1:])][0] if rows else match[key]
        own = match.start() in (0, start) or (bool(out) and out[0].own and out[0].family == family)
        kind = {"m": "mpi", "c": "compiler", "t": "toolchain"}[key[0]]
        version = (match.groups()[-1] or match.groups()[-2] or "").rstrip(".")
        rest = rest.replace(match[0], " ", 1) if version else rest
        if out and own and not out[0].version:
            out[0] = out[0]._replace(version=version)
        elif not own or not out:
            out.append(ModuleName(kind, family, version, own))
    if out and out[0].own and not out[0].version and (more := _MORE.search(rest)):
        out[0] = out[0]._replace(version=more[1])
    return out


def libraries(modules: Sequence[str]) -> list[str]:
    """Name the MPI libraries among modules; those with which others were built if none is a module itself."""
    return _labels(_of_kind(modules, "mpi"))


def compiler(modules: Sequence[str]) -> str:
    """Name the compiler of a list of modules, empty if none is known.

    It is that of the module of a compiler, else that with which the MPI library was built, else a collection,
    else that of all other modules. GCC next to another compiler is what that one needs.
    """
    own = [one for one in _of_kind(modules, "compiler") if one.own]
    of_mpi = [
        one
        for module in modules
        if (found := named(module)) and found[0].own and found[0].kind == "mpi"
        for one in found[1:]
        if one.kind == "compiler"
    ]
    for found in (own, of_mpi, _of_kind(modules, "toolchain"), _of_kind(modules, "compiler")):
        others = [one for one in found if one.family != "gcc"] or found
        # A release says more than none: PrgEnv-gnu and gcc are one.
        if labels := _labels(others):
            return "+".join(labels).lower()
    return ""


def _of_kind(modules: Sequence[str], kind: str) -> list[ModuleName]:
    found = [one for module in modules for one in named(module) if one.kind == kind]
    return [one for one in found if one.own] or found


def _labels(found: Sequence[ModuleName]) -> list[str]:
    """Return the names of libraries, without those that another name states more closely."""
    labels = list(dict.fromkeys(one.label for one in found))
    return [one for one in labels if not any(_is_closer(other, one) for other in labels)]


def _is_closer(other: str, one: str) -> bool:
    return other != one and re.match(rf"{re.escape(one)}(?!\d)", other) is not None


def releases(modules: Iterable[str]) -> Mapping[str, str]:
    """Return the release of each module by its name, without the digest that Spack gives each build.

    Programs at home, as an editor, are left out, and so are MPI libraries and compilers: they are factors.
    """
    found: dict[str, list[str]] = {}
    for module in modules:
        name, _, release = _HASH.sub("", module).partition("/")
        tools = named(module)
        if name.lower() not in _AT_HOME and not (tools and tools[0].own):
            found.setdefault(name, []).append(release)
    return {name: ",".join(filter(None, dict.fromkeys(each))) for name, each in found.items()}
