"""A format in one row: what it is known by, how its program is called, which figure counts.

Standard library only, see `modules`.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_PROFILES = ("mpip", "tau", "caliper", "hpctoolkit")
_TOOLS = ("hpcg", "hpcc", "osu", "imb", "lsdyna", "openatom", "proxy", "published", "run", "sacct", "table")
# The former takes any table with times and powers; the latter's banner is in the output of any program.
LAST = ("power_csv", "ipm")


@dataclass(frozen=True, kw_only=True)
class Format:
    """What Benchbook knows of a format, next to the functions ``sniff`` and ``parse`` of its module.

    All else follows from it: hints for a file that no reader knows, where a job's output is cut into
    executions, the application with its figure of merit, its name on pages and in sentences.

    Attributes
    ----------
    engine
        Name of the reader, which is also the name of its module.
    kind
        Kind of its datasets in the registry; by default the engine's name.
    marks
        Bytes: each file has at least one entry, or all entries of a group. A hint names the missing ones.
    near
        Pattern of the words that point to the tool, for a hint.
    first_line
        Pattern of the line with which the program begins to print. A file with several such lines contains
        several executions.
    folder
        Patterns of the files that are read of a folder which is a database of the tool; it is known by those
        without a wildcard.
    tool
        Name of the tool, as datasets have it; by default the engine's.
    application
        Name of the application in records, empty if the tool is not an application; by default the engine's
        name with hyphens, if there is a figure of merit.
    title, subject
        Name of the application on pages, by default the tool's; and in a sentence, where that is another.
    figure_of_merit, unit, higher_is_better, fixed_time
        The figure that counts for a run of the application, unless ``config/applications`` says otherwise.
    problem
        Names of the facts that identify a result's problem: two runs that agree in all of them solve the same
        problem. Without any, runs are comparable only within one input file. A name ends in ``?`` if only
        a part of the outputs states its fact.
    settings
        Names of the facts that say how the program solved it, as its options are called if it has them for
        it: runs that differ in one are no repeats.
    distributed
        Pattern of the names of outputs that come with the program: what lies next to one did not make it.
    of_ranks
        Pattern of the names of files in which each rank says how it ended, with the number of the rank as the
        group ``rank``. Those of one run are one result.
    """

    engine: str
    kind: str = ""
    marks: tuple[bytes | tuple[bytes, ...], ...] = ()
    near: str = ""
    first_line: str = ""
    folder: tuple[str, ...] = ()
    tool: str = ""
    application: str = ""
    title: str = ""
    subject: str = ""
    figure_of_merit: str = ""
    unit: str = ""
    higher_is_better: bool = True
    fixed_time: bool = False
    problem: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    distributed: str = ""
    of_ranks: str = ""

    def __post_init__(self) -> None:
        name = self.engine.replace("_", "-") if self.figure_of_merit else ""
        tool = self.tool or self.engine
        title = self.title or tool
        defaults = {"kind": self.engine, "tool": tool, "application": name, "title": title, "subject": title}
        for field, default in defaults.items():
            object.__setattr__(self, field, getattr(self, field) or default)

    def groups(self) -> Iterator[tuple[bytes, ...]]:
        """Return the marks as groups; a file has all marks of one group."""
        return (mark if isinstance(mark, tuple) else (mark,) for mark in self.marks)

    def is_folder(self, names: Iterable[str]) -> bool:
        """Tell whether a folder with files of these names is a database of the tool."""
        known = {name for name in self.folder if "*" not in name}
        return bool(known) and not known.isdisjoint(names)

    def identity(self, facts: Mapping[str, object]) -> str:
        """Spell the problem of a result: ``N=20000 NB=192``; ``?`` for what it does not state."""
        known = {name: "".join(str(facts.get(name.rstrip("?"), "")).split()) for name in self.problem}
        stated = {name.rstrip("?"): value for name, value in known.items() if value or name[-1] != "?"}
        parts = (f"{name}={value or '?'}" for name, value in stated.items())
        return " ".join(parts) if any(known.values()) else ""


def modules() -> dict[str, str]:
    """Return the module of each format, in the order in which they are tried: a new one is a new file.

    The build of the package runs this file by itself, to name the formats as engines of xarray.
    """
    found = {name: name for name in (*_PROFILES, *_TOOLS, *LAST)}
    for folder in ("merits", "power"):
        stems = sorted(path.stem for path in (Path(__file__).parent / folder / "formats").glob("[a-z]*.py"))
        found |= {stem: f"{folder}.formats.{stem}" for stem in stems}
    return {name: found[name] for name in (*(one for one in found if one not in LAST), *LAST)}
