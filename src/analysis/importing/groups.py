"""Files become runs: each result is one, and what belongs to it is found by job, stem and folder."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from analysis.importing.sight import Part, Sight
from analysis.importing.words import STAMPS

_ENDINGS = re.compile(
    r"(?:[._-](?:out|err|error|log|txt|dat|sh|slurm|sbatch|pbs|job|xml|ipm|mpip|csv|json|o|e|stdout|stderr|power|"
    r"gz|xz|zst|[oe]\d+))+$",
    re.IGNORECASE,
)
_SLACK = 2.0  # s; Slurm counts whole seconds
# What a job leaves beside its result is called so, whatever it holds.
_LEFT = re.compile(
    r"(?:^|[._-])(?:out|err|error|log|o|e|stdout|stderr|outputfile|errorfile)(?:\d*$|[._-])", re.IGNORECASE
)
_LEFT_HPCG = re.compile(r"hpcg\d{8}T?\d{6}|hpcg\.dat|hpccinf|HPL\.dat", re.IGNORECASE)
MOST_LEFT = 1 << 22  # B of a text that no reader knows and that is kept beside a result


@dataclass
class Run:
    """One execution: the file with its result (or profile) and its part of it, and what belongs to it."""

    main: Sight
    part: Part | None
    number: int = 0  # of the part in its file, from 1; 0 where the file is one
    files: list[Sight] = field(default_factory=list)
    shared: list[Sight] = field(default_factory=list)
    job: str = ""
    alone: bool = True  # whether no other run is of its job

    @property
    def engine(self) -> str:
        """The reader of its result, empty if it has none."""
        return self.part.engine if self.part else ""

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"{self.main.name} (part {self.number})" if self.number else self.main.name


@dataclass
class Groups:
    """The runs of a tree, Slurm's records, and files without a place: name -> why."""

    runs: list[Run] = field(default_factory=list)
    slurm: list[Sight] = field(default_factory=list)
    jobs: dict[str, dict[str, Any]] = field(default_factory=dict)
    power: list[Sight] = field(default_factory=list)
    shared: list[Sight] = field(default_factory=list)
    unplaced: dict[str, str] = field(default_factory=dict)


def stem(name: str) -> str:
    """Return what files of one run have in common: a name without its endings."""
    bare = _ENDINGS.sub("", name)
    return bare or name


def group(sights: Iterable[Sight]) -> Groups:
    """Make runs of what was seen, in the order of their names."""
    out = Groups()
    known = _without_copies(sights, out)
    out.slurm = [one for one in known if one.role == "sacct"]
    for table in out.slurm:
        out.jobs |= {job: row for job, row in table.jobs.items() if job not in out.jobs}
    for sight in known:
        sight.job = _of_record(sight, out.jobs)
    for sight in known:
        if sight.role == "result":
            several = len(sight.parts) > 1
            out.runs += [Run(sight, part, at if several else 0) for at, part in enumerate(sight.parts, 1)]
    out.runs = _merged(_without_lists(out.runs, out))
    _by_time(out, known)
    index = _Index(out.runs)
    for sight in known:
        if sight.role in ("profile", "power", "beside", "text", "record"):
            _attach(sight, index, out)
    _lone(known, out, index)
    for run in out.runs:
        run.job = run.main.job or next((one.job for one in run.files if one.job), "")
    counts: dict[str, int] = defaultdict(int)
    for run in out.runs:
        counts[run.job] += 1
    for run in out.runs:
        run.alone = not run.job or counts[run.job] == 1
    return out


def _without_copies(sights: Iterable[Sight], out: Groups) -> list[Sight]:
    """Leave out files that are there twice, and say of which each is a copy; what is no result may repeat."""
    first: dict[str, str] = {}
    known = []
    for sight in sights:
        if sight.role == "nothing":
            out.unplaced[sight.name] = sight.why
            continue
        was = first.setdefault(sight.digest, sight.name)
        if was != sight.name and sight.role in ("result", "profile", "power", "sacct"):
            out.unplaced[sight.name] = f"is a copy of {was}"
        else:
            known.append(sight)
    return known


def _of_record(sight: Sight, jobs: Mapping[str, Any]) -> str:
    """Prefer a job that Slurm's records know among all numbers of a name and of its folder."""
    if sight.job in jobs or not jobs:
        return sight.job
    for text in (sight.file.base, sight.file.folder.rpartition("/")[2]):
        for number in re.findall(r"(?<![A-Za-z0-9])\d{3,}(?:_\d+)?(?![A-Za-z0-9])", STAMPS.sub(" ", text)):
            if number in jobs:
                return str(number)
    return sight.job


def _without_lists(runs: list[Run], out: Groups) -> list[Run]:
    """Leave out files that list lines of other outputs, such as what grep found."""
    having: dict[tuple[str, Any], set[str]] = defaultdict(set)
    for run in runs:
        for row in run.part.rows if run.part else ():
            having[run.engine, row].add(run.main.name)
    kept = []
    for run in runs:
        assert run.part is not None
        # Of other results than figures of merit the whole is one row: two that share it are copies.
        figures = [row for row in run.part.rows if isinstance(row, tuple)]
        listed = figures and all(having[run.engine, row] - {run.main.name} for row in figures)
        several = len({row[0] for row in figures}) < len(figures)  # values of one figure
        if not run.part.complete and listed and several:
            out.unplaced[run.main.name] = "lists lines of other outputs, and is none itself"
        else:
            kept.append(run)
    return kept


def _by_time(out: Groups, known: Iterable[Sight]) -> None:
    """Find the job of a result that has a time in its name, among the jobs that left a file in its folder."""
    here: dict[str, set[str]] = defaultdict(set)
    for sight in known:
        if sight.job in out.jobs:
            here[sight.file.folder].add(sight.job)
    for run in out.runs:
        if run.main.job or not run.main.stamp:
            continue
        at = datetime.strptime(run.main.stamp, "%Y%m%d%H%M%S").replace(tzinfo=UTC).timestamp()
        jobs = [
            job
            for job in here[run.main.file.folder]
            if out.jobs[job].get("start", at + 1) - _SLACK <= at <= out.jobs[job].get("end", at) + _SLACK
        ]
        run.main.job = jobs[0] if len(jobs) == 1 else ""


def _merged(runs: list[Run]) -> list[Run]:
    """Put results together that stand in two files of a folder: a program's log and what it printed."""
    kept: list[Run] = []
    near: dict[tuple[str, str], list[Run]] = defaultdict(list)
    counts = Counter((run.main.file.folder, run.engine) for run in runs)
    for run in runs:
        place = (run.main.file.folder, run.engine)
        others = near[place]
        same = (
            other for other in others if _same(run, other) or (counts[place] == 2 and _paired(run, other))
        )
        twin = next(same, None)
        if twin is None:
            kept.append(run)
            others.append(run)
        else:
            _join(twin, run)
    return kept


def _join(twin: Run, run: Run) -> None:
    """Put the second file of an execution to the first; what is whole speaks for both."""
    assert twin.part is not None
    assert run.part is not None
    if run.part.complete and not twin.part.complete:
        twin.main, run.main = run.main, twin.main
        twin.part, run.part = run.part, twin.part
    twin.part.facts = run.part.facts | twin.part.facts
    twin.files.append(run.main)
    twin.main.job = twin.main.job or run.main.job


def _paired(run: Run, other: Run) -> bool:
    """Tell whether the only two results of a folder are of one execution, one of which has no figures."""
    if (
        run.part is None
        or other.part is None
        or run.main is other.main
        or (run.part.rows and other.part.rows)
    ):
        return False
    one, two = (re.sub(r"\d+", "", stem(each.main.file.base)) for each in (run, other))
    return one != two  # numbers alone would count executions


def _same(run: Run, other: Run) -> bool:
    if run.part is None or other.part is None or run.main is other.main:
        return False
    if run.main.job and other.main.job and run.main.job != other.main.job:
        return False
    few, many = sorted((run.part.rows, other.part.rows), key=len)
    return len(few) > 1 and few <= many


class _Index:
    """Runs by folder, by job and by stem."""

    def __init__(self, runs: list[Run]) -> None:
        self.at: dict[str, list[Run]] = defaultdict(list)
        self.below: dict[str, list[Run]] = defaultdict(list)
        self.jobs: dict[str, list[Run]] = defaultdict(list)
        for run in runs:
            self.add(run)

    def add(self, run: Run) -> None:
        """Take a run up."""
        folder = run.main.file.folder
        self.at[folder].append(run)
        while True:
            self.below[folder].append(run)
            if not folder:
                break
            folder = folder.rpartition("/")[0]
        if run.main.job:
            self.jobs[run.main.job].append(run)

    def of(self, sight: Sight) -> list[Run]:
        """Return the runs that a file may belong to, by its job, its stem, its folder."""
        folder = sight.file.folder
        if sight.job and (found := self.jobs[sight.job]):
            return [run for run in found if run.main.file.folder == folder] or found
        mine = stem(sight.file.base)
        if found := [run for run in self.at[folder] if stem(run.main.file.base) == mine]:
            return found
        here = [run for run in self.at[folder] if not (sight.job and run.main.job)]
        while not here and folder and not self.below[folder]:
            folder = folder.rpartition("/")[0]
            here = [run for run in self.at[folder] if not (sight.job and run.main.job)]
        return here


def _attach(sight: Sight, index: _Index, out: Groups) -> None:
    """Give a file to its run, to all runs below its folder, or to none."""
    found = index.of(sight)
    if sight.role == "profile" and len(found) > 1:
        ranks = sight.facts.get("ranks")
        found = [run for run in found if run.part and run.part.facts.get("ranks") == ranks] or found
    if len(found) == 1 and _belongs(sight, found[0]):
        found[0].files.append(sight)
        found[0].main.job = found[0].main.job or sight.job
    elif sight.role == "beside":
        _share(sight, index, out)
    elif sight.role == "power":
        out.power.append(sight)
    elif sight.role == "text":
        out.unplaced[sight.name] = sight.why


def _belongs(sight: Sight, run: Run) -> bool:
    if sight.role != "text":
        return True
    tied = stem(sight.file.base) == stem(run.main.file.base) or (sight.job and sight.job == run.main.job)
    name = sight.file.base
    left = _LEFT.search(name) or _LEFT_HPCG.search(name)
    return sight.file.size <= MOST_LEFT and bool(tied or left)


def _share(sight: Sight, index: _Index, out: Groups) -> None:
    """Let a dump of hardware, or the only script of a folder, speak for all runs of its folder."""
    runs = index.below[sight.file.folder]
    if sight.what == "job script":
        runs = index.at[sight.file.folder]
        if any(one.what == "job script" and one.file.folder == sight.file.folder for one in out.shared):
            out.unplaced[sight.name] = (
                "is one of several job scripts in its folder; give it the name of its output"
            )
            return
    if not runs:
        out.unplaced[sight.name] = f"is a {sight.what}, and no output is in its folder"
        return
    out.shared.append(sight)
    for run in runs:
        run.shared.append(sight)


def _lone(known: list[Sight], out: Groups, index: _Index) -> None:
    """Make runs of profiles that belong to no result, and of texts of which Slurm has a record."""
    taken = {id(one) for run in out.runs for one in run.files}
    for sight in known:
        if sight.role == "profile" and id(sight) not in taken:
            if len(index.of(sight)) > 1 and not sight.job:
                out.unplaced[sight.name] = (
                    "is a profile of one of several results in its folder; which, nothing says"
                )
                continue
            run = Run(sight, None)
            out.runs.append(run)
            index.add(run)
    for sight in known:
        if (
            sight.role == "text"
            and id(sight) not in taken
            and sight.job in out.jobs
            and not index.jobs[sight.job]
        ):
            out.unplaced.pop(sight.name, None)
            run = Run(sight, None)
            out.runs.append(run)
            index.add(run)
        elif sight.role == "record" and id(sight) not in taken:
            out.unplaced[sight.name] = "is the record of a run without an output in its folder"
    out.runs.sort(key=lambda run: (run.main.file.name.encode("utf-8", "surrogateescape"), run.number))
