"""The draft of a run's record: each value with its source, and what contradicts it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from analysis.base.errors import Fault
from analysis.base.files import RECORD
from analysis.importing import launch, vocabulary
from analysis.importing.runfiles import RunFiles
from analysis.importing.scheduler import SCHEDULERS
from analysis.importing.vocabulary import Value
from analysis.schema.factors import FACTORS, TABLE

# Counts that outputs may print: those that determine the work come first.
COUNTS = tuple(one.name for one in sorted(TABLE, key=lambda one: not one.work) if one.dtype == "i4")
PAIR = 2  # ranks of a benchmark between two, whatever its job had
_BATCH = tuple(one.name for one in SCHEDULERS)
LAUNCHER = "launcher"  # the source of what it reports of the ranks that it started
_SURE = ("output", "profile", RECORD, "--set", "--table", LAUNCHER, *_BATCH)


class Sourced(NamedTuple):
    """A value and where it comes from."""

    value: Any
    where: str


@dataclass
class Draft:
    """A run with its facts as they are found."""

    run: RunFiles
    application: str
    facts: dict[str, Sourced] = field(default_factory=dict)
    names: list[vocabulary.ParsedName] = field(default_factory=list)  # a part of its path each
    faults: list[Fault] = field(default_factory=list)
    order: tuple[Any, ...] = ()
    name: str = ""
    replaces: bool = False  # whether it takes the place of a run that was imported while its job ran

    def place(self, at: int) -> str:
        """Name a part of its path."""
        return "names of files" if at == len(self.names) - 1 else f"level {at + 1} of the path"

    def add(self, values: Mapping[str, Any], where: str) -> None:
        """Add facts that are not known yet."""
        for name, value in values.items():
            if name not in launch.GPUS or not self.facts.keys() & launch.GPUS.keys():
                self.facts.setdefault(name, Sourced(value, where))

    def append(self, name: str, text: str, where: str, joint: str = "/") -> None:
        """Add a text to a fact, after what is known of it."""
        known = self.facts.get(name)
        self.facts[name] = Sourced(f"{known.value}{joint}{text}" if known else text, where)

    def value(self, name: str) -> Any:
        """Return a fact's value, None if it is not known."""
        return self.facts[name].value if name in self.facts else None

    def certain(self, name: str) -> Any:
        """Return a value that was measured or recorded, not only requested by a script; else None."""
        return self.facts[name].value if name in self.facts and self.facts[name].where in _SURE else None

    def is_beside(self, name: str) -> bool:
        """Tell whether another file states a fact, and neither the output, a path nor the user."""
        where = self.facts[name].where if name in self.facts else ""
        return bool(where) and where not in _SURE and not where.startswith("path")

    def fault(self, found: str) -> None:
        """Add a contradiction; the run is then not imported."""
        remedy = "the run is not imported: correct its name, or give --pattern for the parts of its path"
        self.faults.append(Fault(self.run.name, 0, found, remedy))

    def contradicts(self, name: str, value: Value, text: str) -> bool:
        """Tell whether a path contradicts what is known, and make it a fault."""
        known = self.facts.get(name)
        if known is None or known.where.startswith("path") or name not in (*COUNTS, "case", "mpi"):
            return False
        each_node = name == "gpus" and known.value % int(value) == 0  # it may be those of a node
        if each_node or _agree(name, known.value, value) or (self.certain(name) is None and name != "mpi"):
            return False
        source = known.where if known.where in ("--set", "--table", *_BATCH) else f"its {known.where}"
        what = name.replace("_", " ")
        self.fault(f"its path says {what} {value} ({text!r}), {source} {known.value}")
        return True


def _agree(name: str, known: Any, value: Value) -> bool:
    if name == "mpi":
        one, other = vocabulary.family(str(known)), vocabulary.family(str(value))
        return not one or not other or one == other
    if name == "case":
        one, other = (str(text).casefold().removeprefix("osu_") for text in (known, value))
        return one == other or other.startswith(f"{one}-") or one.startswith(f"{other}_")
    return str(known) == str(value)


def cell(draft: Draft) -> tuple[Any, ...]:
    """Return the application and all factors of a run but its repetition."""
    factors = (name for name in FACTORS if name not in ("application", "repeat", "job_id", "question"))
    return (draft.application, *(str(draft.value(name)) for name in factors))
