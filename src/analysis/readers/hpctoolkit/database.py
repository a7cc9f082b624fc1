"""What HPCToolkit's databases of every version come down to: MPI frames, and the time in them by thread."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from analysis.readers.base import Faults

# The wrapper of HPCToolkit, the library's own symbol, that of Fortran; inner functions have other names.
# Behind it stand a part (``.part.0``), a version or, from 4.0 on, the library in brackets.
_FUNCTION = re.compile(
    r"(?:P?MPI_([A-Z][A-Za-z0-9_]*+)|p?mpi_([a-z][a-z0-9_]*?)_{1,2})(?:[ .@(<\[].*)?", re.DOTALL
)
# What can be sampled to get a time, the wall clock first; and its unit in s.
_TIME = re.compile(r"(?P<event>REALTIME|WALLCLOCK|CPUTIME) \((?P<unit>usec|us|sec|s)\)(?P<rest>.*)")
_UNITS = {"usec": 1e-6, "us": 1e-6, "sec": 1.0, "s": 1.0}
_EVENTS = ("REALTIME", "WALLCLOCK", "CPUTIME")
_MOST_RANKS = 1 << 20


@dataclass(frozen=True, slots=True, order=True)
class Metric:
    """A metric that is a time: its place in the order of preference, its unit in s, its name and number."""

    place: int
    unit: float
    name: str
    number: int
    event: str


@dataclass
class Database:
    """Outermost MPI frames by the number of their node, the roots, and inclusive times of nodes in s.

    `total` is over all threads; `threads` has those of each by rank and thread, empty where the files given
    have sums only.
    """

    metric: Metric
    frames: dict[int, str] = field(default_factory=dict)
    roots: list[int] = field(default_factory=list)
    total: dict[int, float] = field(default_factory=dict)
    threads: dict[tuple[int, int], Mapping[int, float]] = field(default_factory=dict)
    version: str = ""
    program: str = ""


def function(name: str) -> str:
    """Return the MPI function that a procedure is, in MPI's own spelling; empty if it is none."""
    found = _FUNCTION.fullmatch(name)
    if found is None:
        return ""
    return f"MPI_{found[1] or found[2].capitalize()}"


def metric(name: str, number: int, *, suffix: str) -> Metric | None:
    """Return a metric if its name is that of a time with the given suffix."""
    found = _TIME.fullmatch(name.strip())
    if found is None or found["rest"].strip() != suffix:
        return None
    return Metric(_EVENTS.index(found["event"]), _UNITS[found["unit"]], name, number, found["event"])


def hold(database: Database, faults: Faults) -> None:
    """Hold the times of all threads against the sums that the database has beside them."""
    if not database.threads:
        return
    nodes = [*database.roots, *database.frames]
    summed = np.array([[own.get(node, 0.0) for node in nodes] for own in database.threads.values()]).sum(
        axis=0
    )
    stated = np.array([database.total.get(node, 0.0) for node in nodes])
    # Sums have six digits in the XML.
    off = np.flatnonzero(np.abs(summed - stated) > 1e-5 * np.maximum(summed, stated) + 1e-9)
    if off.size:
        node = nodes[off[0]]
        name = database.frames.get(node, "the program")
        found = (
            f"node {node} ({name}): threads took {summed[off[0]]:.6g} s, their sum is {stated[off[0]]:.6g} s"
        )
        faults.damage(0, found, "files of several databases, or a number is damaged: copy all again")


def sizes(database: Database, faults: Faults) -> int:
    """Return how many ranks there are by the database; -1 where it has sums only."""
    if not database.threads:
        return -1
    ranks = sorted({rank for rank, _ in database.threads})
    if ranks[-1] >= _MOST_RANKS:
        faults.damage(0, f"rank {ranks[-1]}", "no such rank; the database is damaged")
        return -1
    if len(ranks) <= ranks[-1]:
        faults.note(
            0, f"{len(ranks)} ranks, the last is {ranks[-1]}", "the others were not measured, or are lost"
        )
    if any(thread for _, thread in database.threads):
        faults.note(0, "threads beside each rank's first", "only that is the rank's time")
    return ranks[-1] + 1
