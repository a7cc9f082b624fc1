"""What both kinds of databases are read into: MPI frames, and the times of nodes by thread."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from analysis.readers.base import Faults

# The wrapper of HPCToolkit, the library's own symbol, that of Fortran; inner functions have other names.
# Behind it stand a part (``.part.0``), a version or, from 4.0 on, the library in brackets.
_FUNCTION = re.compile(
    r"(?:P?MPI_([A-Z][A-Za-z0-9_]*+)|p?mpi_([a-z][a-z0-9_]*?)_{1,2})(?:[ .@(<\[].*)?", re.DOTALL
)
# What can be sampled to get a time, the wall clock first; and its unit in s.
EVENTS = ("REALTIME", "WALLCLOCK", "CPUTIME")
_TIME = re.compile(rf"(?P<event>{'|'.join(EVENTS)}) \((?P<unit>usec|us|sec|s)\)(?P<rest>.*)")
_UNITS = {"usec": 1e-6, "us": 1e-6, "sec": 1.0, "s": 1.0}


class Metric(NamedTuple):
    """A metric that is a time, in the order of preference: its unit in s, its name and number."""

    place: int
    unit: float
    name: str
    number: int


@dataclass
class Database:
    """Outermost MPI frames by the number of their node, the roots, and inclusive times of nodes in s.

    `total` is over all threads; `threads` has those of each by rank and thread, empty where the files given
    have sums only.
    """

    metric: Metric
    program: str = ""
    frames: dict[int, str] = field(default_factory=dict)
    roots: list[int] = field(default_factory=list)
    total: dict[int, float] = field(default_factory=dict)
    threads: dict[tuple[int, int], Mapping[int, float]] = field(default_factory=dict)


def function_of(name: str) -> str:
    """Return the MPI function that a procedure is, in MPI's own spelling; empty if it is not one."""
    found = _FUNCTION.fullmatch(name)
    return f"MPI_{found[1] or found[2].capitalize()}" if found else ""


def metric_of(name: str, number: int, *, suffix: str = "") -> Metric | None:
    """Return a metric if its name is that of a time with the given suffix."""
    found = _TIME.fullmatch(name.strip())
    if found is None or found["rest"].strip() != suffix:
        return None
    return Metric(EVENTS.index(found["event"]), _UNITS[found["unit"]], name, number)


def compare_sums(database: Database, faults: Faults) -> None:
    """Compare the times of all threads with the sums that the database has of them."""
    nodes = [*database.roots, *database.frames]
    own = [[times.get(node, 0.0) for node in nodes] for times in database.threads.values()]
    if not own:
        return
    summed = np.array(own).sum(axis=0)
    stated = np.array([database.total.get(node, 0.0) for node in nodes])
    # Sums have six digits in the XML.
    off = np.flatnonzero(np.abs(summed - stated) > 1e-5 * np.maximum(summed, stated) + 1e-9)
    if off.size:
        at, node = off[0], nodes[off[0]]
        name = database.frames.get(node, "the program")
        found = f"node {node} ({name}): threads took {summed[at]:.6g} s, their sum is {stated[at]:.6g} s"
        faults.damage(0, found, "files of several databases, or a number is damaged: copy all again")
