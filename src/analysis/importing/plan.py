"""What an import would do: runs with names and factors, faults, files without a place; nothing is written."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from analysis.base.errors import Fault
from analysis.base.files import read_json
from analysis.importing.draft import Draft
from analysis.importing.factors import cell, drafts
from analysis.importing.groups import Run, group, stem
from analysis.importing.pattern import Pattern
from analysis.importing.sight import Sight, look
from analysis.importing.tree import File, shown, walk
from analysis.importing.words import Value
from analysis.schema.campaigns import Application

T = TypeVar("T")
RECORD = "run.json"
# Starting processes costs a second; below this many files one is faster.
PARALLEL_FROM = 300
_LONGEST = 90  # characters of a run's name
_TOLD_EVERY = 2.0  # s
# Parts of a path that name no run.
_PLAIN = {
    "results",
    "result",
    "output",
    "outputs",
    "logs",
    "log",
    "out",
    "data",
    "runs",
    "raw",
    "results-orig",
}


@dataclass
class Plan:
    """What would be imported: new runs, those there already, faults, guesses, files without a place."""

    root: Path
    name: str
    files: int = 0
    runs: list[Draft] = field(default_factory=list)
    known: int = 0
    guesses: list[str] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    unplaced: dict[str, str] = field(default_factory=dict)
    slurm: list[Sight] = field(default_factory=list)
    power: list[Sight] = field(default_factory=list)
    shared: list[Sight] = field(default_factory=list)
    jobs: int = 0

    @property
    def placed(self) -> int:
        """How many files have a place, those of runs that are there already included."""
        return self.files - len(self.unplaced)


def make(
    root: Path,
    name: str,
    raw: Path,
    applications: Mapping[str, Application],
    *,
    pattern: Pattern | None = None,
    given: Mapping[str, Value] = MappingProxyType({}),
    progress: bool = False,
) -> Plan:
    """Plan the import of a folder as the campaign `name`, whose runs are in `raw` as far as it is there."""
    tree = walk(root)
    groups = group(seen(tree.files, progress=progress))
    found, guesses = drafts(groups, applications, pattern=pattern, given=given)
    plan = Plan(root, name, len(tree.files) + len(tree.refused), guesses=guesses, jobs=len(groups.jobs))
    plan.unplaced = tree.refused | groups.unplaced
    plan.slurm, plan.power, plan.shared = groups.slurm, groups.power, groups.shared
    plan.faults = list(_faults(found))
    there = imported(raw)
    taken = set(there.values())
    repeats = _repeats_there(raw)
    for draft, run in zip(found, names([one.run for one in found], taken), strict=True):
        draft.name = run
        if key(draft.run) in there:
            plan.known += 1
        elif not draft.faults:
            _go_on(draft, repeats)
            plan.runs.append(draft)
    return plan


def _faults(found: Sequence[Draft]) -> Iterator[Fault]:
    """Give the first fault of each file, with how many of its results are at fault."""
    of_file: dict[str, list[Fault]] = {}
    for draft in found:
        if draft.faults:
            of_file.setdefault(draft.run.main.name, []).append(draft.faults[0])
    for name, faults in of_file.items():
        more = f" (and {len(faults) - 1} more results of the file)" if len(faults) > 1 else ""
        yield Fault(name, 0, faults[0].found + more, faults[0].remedy)


def key(run: Run) -> str:
    """Return what an execution is known by: the digest of its file, and which of its results it is."""
    return f"{run.main.digest}#{run.number}" if run.number else run.main.digest


def imported(raw: Path) -> dict[str, str]:
    """Return the executions that a campaign has already: key -> run."""
    records = ((path.parent.name, read_json(path)) for path in sorted(raw.glob(f"runs/*/{RECORD}")))
    return {
        str(record["imported"]["key"]): run
        for run, record in records
        if isinstance(record.get("imported"), dict) and "key" in record["imported"]
    }


def _repeats_there(raw: Path) -> dict[str, int]:
    """Return the last repetition of each cell that a campaign has."""
    last: dict[str, int] = {}
    for path in raw.glob(f"runs/*/{RECORD}"):
        record = read_json(path)
        note = record.get("imported")
        if isinstance(note, dict) and isinstance(record.get("repeat"), int):
            which = str(note.get("cell", ""))
            last[which] = max(last.get(which, 0), record["repeat"])
    return last


def cell_name(draft: Draft) -> str:
    """Return a short name of the factors that a run shares with its repeats."""
    return sha256(repr(cell(draft)).encode()).hexdigest()[:16]


def _go_on(draft: Draft, last: dict[str, int]) -> None:
    """Give a run its number behind the repeats of its cell that are there already."""
    which = cell_name(draft)
    if which in last:
        last[which] += 1
        draft.facts["repeat"] = draft.facts["repeat"]._replace(value=last[which])


def seen(files: Sequence[File], *, progress: bool = False) -> list[Sight]:
    """Recognise files, many in several processes, with a line of progress on standard error."""
    cores = len(os.sched_getaffinity(0))
    if len(files) < PARALLEL_FROM or cores < 2:
        return list(told(map(look, files), len(files), "files read:", progress))
    with ProcessPoolExecutor(cores) as pool:
        found = pool.map(look, files, chunksize=16)
        return list(told(found, len(files), "files read:", progress))


def told(things: Iterator[T], total: int, what: str, progress: bool) -> Iterator[T]:
    """Pass things on, and say on standard error every few seconds how many there were."""
    began = last = time.monotonic()
    for at, thing in enumerate(things, 1):
        yield thing
        if progress and time.monotonic() - last > _TOLD_EVERY:
            last = time.monotonic()
            print(f"{what} {at} of {total}, {last - began:.0f} s", file=sys.stderr)


def names(runs: Sequence[Run], taken: set[str]) -> Iterator[str]:
    """Name runs after their paths, without what all have in common; stable while the tree grows."""
    used = set(taken)
    files: dict[str, set[str]] = {}
    stems: dict[tuple[str, str], set[str]] = {}
    for run in runs:
        file = run.main.file
        files.setdefault(file.folder, set()).add(file.base)
        stems.setdefault((file.folder, stem(file.base)), set()).add(file.base)
    for run in runs:
        file = run.main.file
        parts = [part for part in file.folder.split("/") if part.lower() not in _PLAIN]
        if len(files[file.folder]) > 1 or not any(parts):
            parts.append(stem(file.base) if len(stems[file.folder, stem(file.base)]) == 1 else file.base)
        text = slug("-".join(part for part in parts if part)) or "run"
        if len(text) > _LONGEST:
            text = f"{text[: _LONGEST - 9]}-{sha256(run.main.name.encode()).hexdigest()[:8]}"
        name = text = f"{text}-part{run.number}" if run.number else text
        number = 2
        while name in used:
            name, number = f"{text}-{number}", number + 1
        used.add(name)
        yield name


def slug(text: str) -> str:
    """Return a text as the name of a folder: letters, digits, dots, dashes, underscores."""
    return re.sub(r"-{2,}", "-", re.sub(r"[^A-Za-z0-9._-]+", "-", shown(text))).strip("-.")
