"""Witnesses: what a campaign states twice, compared. Each is one function, and all are in one registry.

A checksum says that a file is as it was listed, not that it is true: who changes a file can list it anew. A
witness compares two things that cannot both be changed by one edit, such as an order and a clock. `examine`
asks all of them; `analysis.datasets.witnesses` has the modules in which they are.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from analysis.base import slurm
from analysis.base.errors import Fault, sparing
from analysis.base.files import RECORD
from analysis.datasets.witnesses.marks import Marks
from analysis.datasets.witnesses.readings import LogDigest, figures
from analysis.energy.meters import Log
from analysis.readers.run import succeeded
from analysis.schema import registry, stated
from analysis.schema.stated import section

Row = Mapping[str, Any]
# What differs between executions of a cell, or does not change what is run.
_OWN = ("run", "campaign", "evidence", "repeat", "order")
FACTORS = tuple(
    name for name, one in registry.declared("runs").items() if one.coordinate and name not in _OWN
)


@dataclass
class Testimony:
    """What one run states: its row of the kind ``runs``, the rest of its record, what its files were read as.

    `sources` names the files of `result` and `profile`, `files` has rows of the kind ``files``, `marks` what
    files say in passing, `logs` the power logs in its folder.
    """

    row: Row
    extra: Mapping[str, Any] = field(default_factory=dict)
    result: xr.Dataset | None = None
    profile: xr.Dataset | None = None
    sources: Mapping[str, str] = field(default_factory=dict)
    files: Sequence[Mapping[str, Any]] = ()
    marks: Mapping[str, Marks] = field(default_factory=dict)
    logs: Sequence[LogDigest] = ()

    @cached_property
    def name(self) -> str:
        """Its name."""
        return str(self.row["run"])

    @cached_property
    def figures(self) -> np.ndarray:
        """What its result has measured, empty without one."""
        return np.array([]) if self.result is None else figures(self.result)

    @cached_property
    def ended(self) -> bool:
        """Whether it ended well, by its record."""
        return succeeded(int(self.row["exit_code"]), self.extra)

    @property
    def dated(self) -> bool:
        """Whether its start and its end are known."""
        return not (np.isnat(self.row["start"]) or np.isnat(self.row["end"]))

    @cached_property
    def nodes(self) -> set[str]:
        """The short names of its nodes."""
        return set(slurm.listed(str(self.row["node_list"])))

    def section(self, *names: str) -> Mapping[str, Any]:
        """Return the object under some keys of the rest of its record, one below the other."""
        return section(self.extra, *names)

    @property
    def job(self) -> str:
        """Its job."""
        return str(self.row["job_id"])

    @property
    def account(self) -> str:
        """Its job in Slurm's records: the third run of job 7 has the job 7:3."""
        return stated.job_of(self.row)

    @property
    def restarts(self) -> str:
        """How often Slurm had started its job again."""
        return stated.restarts(self.extra)

    @property
    def restarted(self) -> bool:
        """Whether Slurm started its job more than once: the job keeps its number and gets new times."""
        return self.restarts != "0"

    def file(self, kind: str) -> str:
        """Return the file of its result or profile, its record without one."""
        return str(self.sources.get(kind, RECORD)).removeprefix(f"{self.name}/")

    def table(self) -> np.ndarray:
        """Return the latencies or bandwidths of its result by size; empty without."""
        known = self.result if self.result is not None else {}
        name = next((one for one in ("latency", "bandwidth") if one in known), "")
        return known[name].values.astype(float) if name else np.array([])

    def cell(self, *but: str) -> tuple[str, ...]:
        """Return its levels of all factors but some, as text."""
        return tuple(str(self.row[name]) for name in FACTORS if name not in but)


@dataclass(slots=True)
class Suspicion:
    """A fault, and whether it makes a number or a conclusion wrong."""

    fault: Fault
    grave: bool


@dataclass
class Hearing:
    """A campaign before its witnesses: the folder, what faults call it, its runs, accounts of its jobs.

    `accounts` has the rows of each file of Slurm's records by the file's name, jobs and steps; `logs` the
    power logs next to the runs, `counted` the J of Slurm's counter by run; `declared` the campaign's file.
    """

    folder: Path
    label: str
    runs: Sequence[Testimony]
    accounts: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    logs: Sequence[Log] = ()
    counted: Mapping[str, float] = field(default_factory=dict)
    declared: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def jobs(self) -> Mapping[str, Row]:
        """The rows of jobs by their names; of a job in several files that of the largest."""
        found: dict[str, Row] = {}
        for name, frame in sorted(self.accounts.items(), key=lambda one: -len(one[1])):
            for row in frame[frame["step"] == ""].to_dict("records"):
                found.setdefault(
                    str(row["job_id"]), {**{str(key): value for key, value in row.items()}, "file": name}
                )
        return found

    def job_of(self, run: Testimony) -> Row:
        """Return Slurm's row of a run's job; empty without one, and if it may be of an earlier start.

        Slurm's database can lose what became of a job that was started again: the job runs on in its row.
        """
        job = self.jobs.get(run.account, {}) if run.account else {}
        state = str(job.get("state", ""))
        return {} if run.restarted and state and not slurm.terminal(state) else job

    @cached_property
    def ended(self) -> Sequence[Testimony]:
        """The runs that ended well."""
        return [run for run in self.runs if run.ended]

    def cells(self, runs: Iterable[Testimony], *but: str) -> Iterator[list[Testimony]]:
        """Give the groups of runs with equal levels of all factors but some."""
        found: dict[tuple[str, ...], list[Testimony]] = defaultdict(list)
        for run in runs:
            found[run.cell(*but)].append(run)
        yield from found.values()

    def of_run(self, run: Testimony, what: str, remedy: str, *, key: str = "", file: str = RECORD) -> Fault:
        """Make a fault of a run's file, at the line of a key of its record."""
        line = self.line(f"runs/{run.name}/{file}", f'"{key}"') if key else 0
        return Fault(f"{self.label}/runs/{run.name}/{file}", line, what, remedy)

    def beside(self, name: str, what: str, remedy: str, *, text: str = "") -> Fault:
        """Make a fault of a file next to the runs, at the line that begins with a text."""
        return Fault(f"{self.label}/{name}", self.line(name, text, start=True), what, remedy)

    def line(self, name: str, text: str, *, start: bool = False) -> int:
        """Return the line of a file that holds a text, 0 without."""
        try:
            lines = (self.folder / name).read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return 0
        fits = str.startswith if start else str.__contains__
        return next((at for at, line in enumerate(lines, 1) if text and fits(line, text)), 0)


Finder = Callable[[Hearing], Iterator[Fault]]


@dataclass(frozen=True, slots=True)
class Witness:
    """One comparison: its name, the two sides, and the function whose first line says what it finds."""

    name: str
    sides: tuple[str, str]
    find: Finder
    grave: bool

    @property
    def finds(self) -> str:
        """What it finds, in a line."""
        text = (self.find.__doc__ or "").strip().split("\n", 1)[0]
        return text.removeprefix("Find ").rstrip(".")


REGISTRY: list[Witness] = []


def witness(one: str, other: str, *, grave: bool = True) -> Callable[[Finder], Finder]:
    """Register a function as a witness of two sides; what it finds is a fault, or only a note."""

    def add(find: Finder) -> Finder:
        REGISTRY.append(Witness(find.__name__.replace("_", " "), (one, other), find, grave))
        return find

    return add


def examine(case: Hearing) -> Iterator[Suspicion]:
    """Ask every witness; one that cannot be asked costs only itself."""
    for one in REGISTRY:
        with sparing(case.label) as failed:
            yield from (Suspicion(fault, one.grave) for fault in one.find(case))
        yield from (Suspicion(fault, grave=True) for fault in failed)


def typical(values: Iterable[float]) -> tuple[float, float]:
    """Return the median of some numbers and their median distance from it; NaN without any."""
    known = np.array([value for value in values if np.isfinite(value)], dtype=float)
    if not known.size:
        return float("nan"), float("nan")
    middle = float(np.median(known))
    return middle, float(np.median(np.abs(known - middle)))


def listed(names: Iterable[str], most: int = 6) -> str:
    """List names, the first of many."""
    all_names = list(names)
    more = f" and {len(all_names) - most} more" if len(all_names) > most else ""
    return ", ".join(all_names[:most]) + more
