"""A run with its factors as they are found: each value with where it comes from, and what contradicts it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from analysis.base.errors import Fault
from analysis.importing import words
from analysis.importing.groups import Run
from analysis.importing.words import Value

# What a path may contradict: numbers that outputs print.
COMPARED = ("ranks", "nodes", "ranks_per_node", "threads", "local_size", "case")
_NAMES = {
    "ranks": "ranks",
    "nodes": "nodes",
    "ranks_per_node": "ranks a node",
    "threads": "threads",
    "case": "case",
}


class Fact(NamedTuple):
    """A value and where it comes from."""

    value: Any
    where: str


@dataclass
class Draft:
    """A run with its factors as they are found."""

    run: Run
    application: str
    facts: dict[str, Fact] = field(default_factory=dict)
    said: list[words.Said] = field(default_factory=list)  # a part of its path each
    faults: list[Fault] = field(default_factory=list)
    order: tuple[Any, ...] = ()
    name: str = ""

    def take(self, values: Mapping[str, Any], where: str) -> None:
        """Take facts that are not known yet."""
        for name, value in values.items():
            self.facts.setdefault(name, Fact(value, where))

    def value(self, name: str) -> Any:
        """Return a fact's value, None if it is not known."""
        return self.facts[name].value if name in self.facts else None

    def fault(self, found: str) -> None:
        """Say what contradicts itself; the run is then not imported."""
        remedy = "the run is not imported: mend its name, or say by --pattern what the parts of its path are"
        self.faults.append(Fault(self.run.name, 0, found, remedy))


def contradict(draft: Draft, name: str, value: Value, text: str) -> bool:
    """Tell whether a path contradicts what is known of a run, and make it a fault."""
    known = draft.facts.get(name)
    if known is None or known.where.startswith("path") or name not in (*COMPARED, "mpi"):
        return False
    if _agree(name, known.value, value):
        return False
    if not sure(known) and name != "mpi":
        return False
    what = _NAMES.get(name, name.replace("_", " "))
    draft.fault(f"its path says {what} {value} ({text!r}), {_its(known.where)} {known.value}")
    return True


def sure(fact: Fact) -> bool:
    """Tell whether a fact is measured or recorded, and not only asked for by a script."""
    return fact.where in ("output", "profile", "Slurm", "run.json", "--set")


def _its(where: str) -> str:
    return where if where in ("Slurm", "--set") else f"its {where}"


def _agree(name: str, known: Any, value: Value) -> bool:
    if name == "mpi":
        one, other = words.family(str(known)), words.family(str(value))
        return not one or not other or one == other
    if name == "case":
        one, other = (str(text).casefold().removeprefix("osu_") for text in (known, value))
        return one == other or other.startswith(f"{one}-") or one.startswith(f"{other}_")
    return str(known) == str(value)
