"""Files become runs: each result is one, and what belongs to it is found by job, stem and folder."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from analysis.base.words import STAMPS
from analysis.importing import doubles, scripts
from analysis.importing.banners import printed_in
from analysis.importing.detect import UTILITY_LOG, Observation, ResultPart
from analysis.importing.runfiles import RunFiles, merge_instances, stem

_SLACK = 2.0  # s; Slurm counts whole seconds
# Names of what a job leaves next to its result, whatever it holds.
_LEFT = re.compile(
    r"(?:^|[._-])(?:out|err|error|log|o|e|stdout|stderr|outputfile|errorfile)(?:\d*$|[._-])", re.IGNORECASE
)
_LEFT_HPCG = re.compile(r"hpcg\d{8}T?\d{6}|hpcg\.dat|hpccinf|HPL\.dat", re.IGNORECASE)
MOST_LEFT = 1 << 22  # B of a text that no reader recognises and that is kept with a result


@dataclass
class Grouping:
    """The runs of a tree, Slurm's records, files that belong to no run (name -> why), and notes."""

    runs: list[RunFiles] = field(default_factory=list)
    slurm: list[Observation] = field(default_factory=list)
    jobs: dict[str, dict[str, Any]] = field(default_factory=dict)
    power: list[Observation] = field(default_factory=list)
    shared: list[Observation] = field(default_factory=list)
    unplaced: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def group(observations: Iterable[Observation]) -> Grouping:
    """Group files into runs, in the order of their names."""
    out = Grouping()
    known = doubles.without_copies(observations, out.unplaced)
    profiles = {one.name for one in known if one.role == "profile"}
    of_ranks = doubles.attach_ranks(known)
    of_profiles = {name: first for name, first in of_ranks.items() if name in profiles and first}
    out.slurm = [one for one in known if one.role == "sacct"]
    for table in reversed([one for one in known if one.jobs]):  # the first record of a job counts
        out.jobs |= table.jobs
    for source in known:
        source.job = _recorded_job(source, out.jobs)
    runs = [
        RunFiles(source, part, at if source.several else 0, job=str(part.facts.get("job", "")))
        for source in known
        if source.role == "result"
        for at, part in enumerate(source.parts, 1)
    ]
    merged = _merge(_without_lists(_without_doubles(runs, out), out), out)
    merged, out.notes = doubles.attach_outputs(doubles.attach_logs(merged, out.jobs))
    out.runs = merge_instances(merged, out.notes)
    _find_jobs_by_time(out, known)
    having = {one.name: run for run in out.runs for one in (run.main, *run.files)}
    index = _Index(out.runs)
    recorded = _recorded_at_its_time(known, out.runs)
    banners = printed_in(known)
    outputs = scripts.outputs(known, {run.main.file.name for run in out.runs})
    for source in known:
        if source.name in banners or source.name in of_profiles:
            continue  # it goes where its banner is, or the profile of the first rank
        if run := recorded.get(source.name) or having.get(of_ranks.get(source.name, "")):
            run.files.append(source)
        elif names := outputs.get(source.name):
            _give(source, [run for run in out.runs if run.main.file.name in names], out)
        elif source.role in ("profile", "power", "beside", "text", "record"):
            _attach(source, index, out)
    _share_scripts(index, out)
    rest = [one for one in known if one.name not in banners and one.name not in of_profiles]
    _add_runs_without_result(rest, out, index)
    _attach_by_banner(known, banners, out)
    having = {one.name: run for run in out.runs for one in (run.main, *run.files)}
    for source in known:
        if run := having.get(of_profiles.get(source.name, "")):
            run.files.append(source)
    _part_profiles(out)
    for run in out.runs:
        run.job = run.job or run.main.job or next((one.job for one in run.files if one.job), "")
    counts = Counter(run.job for run in out.runs)
    for run in out.runs:
        # Results of one file are of one job, whether its number is known or not.
        alone = counts[run.job] == 1 if run.job else len(run.main.parts) < 2
        run.alone = alone and not run.main.cut
    return out


def _recorded_job(source: Observation, jobs: Mapping[str, Any]) -> str:
    """Prefer a job that Slurm's records know among all numbers of a name and of its folder."""
    if source.job in jobs or not jobs:
        return source.job
    for text in (source.file.base, source.file.folder.rpartition("/")[2]):
        for number in re.findall(r"(?<![A-Za-z0-9])\d{3,}(?:_\d+)?(?![A-Za-z0-9])", STAMPS.sub(" ", text)):
            if number in jobs:
                return str(number)
    return source.job


def _without_doubles(runs: Iterable[RunFiles], out: Grouping) -> list[RunFiles]:
    """Leave out a case of a document that another document has: the same job with the same figures."""
    seen: dict[tuple[str, str, frozenset[Any]], RunFiles] = {}
    kept = []
    for run in runs:
        own = (run.engine, run.job, run.part.rows) if run.part and run.part.content and run.job else None
        first = seen.setdefault(own, run) if own else run
        if first.main.name == run.main.name:
            kept.append(run)
        elif first.part and run.part:
            first.part.facts = run.part.facts | first.part.facts
    for name in {run.main.name for run in runs} - {run.main.name for run in kept}:
        out.unplaced[name] = "has only cases that another document has"
    return kept


def _without_lists(runs: Sequence[RunFiles], out: Grouping) -> list[RunFiles]:
    """Leave out files that list lines of other outputs, such as what grep found."""
    having: dict[tuple[str, Any], set[str]] = defaultdict(set)
    for run in runs:
        for row in run.part.rows if run.part else ():
            having[run.engine, row].add(run.main.name)
    kept = []
    for run in runs:
        # Results other than figures of merit are one row as a whole: two that share it are copies.
        figures = [row for row in run.part.rows if isinstance(row, tuple)] if run.part else []
        listed = figures and all(len(having[run.engine, row]) > 1 for row in figures)
        several = len({row[0] for row in figures}) < len(figures)  # values of one figure
        if listed and several and run.part and not run.part.complete:
            out.unplaced[run.main.name] = "lists lines of other outputs, but is not one itself"
        else:
            kept.append(run)
    return kept


def _find_jobs_by_time(out: Grouping, known: Iterable[Observation]) -> None:
    """Find the job of a result with a time in its name, among the jobs that left a file in its folder."""
    here: dict[str, set[str]] = defaultdict(set)
    for source in known:
        if source.job in out.jobs:
            here[source.file.folder].add(source.job)
    for run in out.runs:
        if run.main.job or not run.main.stamp:
            continue
        at = _named_time(run)
        jobs = [
            job
            for job in here[run.main.file.folder]
            if out.jobs[job].get("start", at + 1) - _SLACK <= at <= out.jobs[job].get("end", at) + _SLACK
        ]
        run.main.job = jobs[0] if len(jobs) == 1 else ""


def _recorded_at_its_time(known: Iterable[Observation], runs: Iterable[RunFiles]) -> dict[str, RunFiles]:
    """Find the run of a record without a job's number: the one whose name has a time within the record's.

    It is below the record's folder. A time within two records is that of the one that has no other run.
    """
    timed = [(run, _named_time(run)) for run in runs if run.main.stamp and not run.main.reported]
    could: dict[str, list[RunFiles]] = {}
    for source in known if timed else ():
        begin, end = (source.reported.get(name) for name in ("start", "end"))
        if source.role != "beside" or source.job or begin is None or end is None:
            continue
        at = [run for run, when in timed if int(begin) <= when <= end]  # names have whole seconds
        folder = f"{source.file.folder}/" if source.file.folder else ""
        could[source.name] = [run for run in at if run.main.file.name.startswith(folder)]
    found: dict[str, RunFiles] = {}
    while once := {name: runs[0] for name, runs in could.items() if len(runs) == 1}:
        claims = Counter(map(id, once.values()))
        found |= {name: run for name, run in once.items() if claims[id(run)] == 1}
        could = {
            name: [run for run in runs if id(run) not in claims]
            for name, runs in could.items()
            if name not in once
        }
    return found


def _give(source: Observation, runs: Sequence[RunFiles], out: Grouping) -> None:
    """Give a script to the only run whose output it names, or to all of them."""
    if len(runs) == 1:
        runs[0].files.append(source)
        return
    out.shared.append(source)
    for run in runs:
        run.shared.append(source)


def _named_time(run: RunFiles) -> float:
    """Return the time in a run's name, in s since 1970 if it is that of UTC."""
    return datetime.strptime(run.main.stamp, "%Y%m%d%H%M%S").replace(tzinfo=UTC).timestamp()


def _merge(runs: Sequence[RunFiles], out: Grouping) -> list[RunFiles]:
    """Merge two results of a folder that are one execution: a program's log and what it printed."""
    kept: list[RunFiles] = []
    near: dict[tuple[str, str], _Results] = defaultdict(_Results)
    counts = Counter((run.main.file.folder, run.engine) for run in runs)
    for run in runs:
        place = (run.main.file.folder, run.engine)
        pair = counts[place] == 2
        others = near[place].candidates(run, every=pair)
        same = (one for one in others if _same_result(run, one) or (pair and _paired(run, one)))
        if twin := next(same, None):
            _merge_into(twin, run, out)
        else:
            kept.append(run)
        near[place].add(twin or run)
    return _merge_apart(kept, out)


def _merge_apart(runs: Iterable[RunFiles], out: Grouping) -> list[RunFiles]:
    """Merge results of two folders that print the same start and end, as the output of a job and its run."""
    kept: list[RunFiles] = []
    first: dict[Any, RunFiles] = {}
    for run in runs:
        moments = {row for row in run.part.rows if row[0] in ("start", "end")} if run.part else set()
        twin = first.setdefault((run.engine, *sorted(moments)), run) if len(moments) == 2 else run
        if twin.main is not run.main and _same_result(run, twin):
            _merge_into(twin, run, out)
        else:
            kept.append(run)
    return kept


class _Results:
    """The results of a folder by their rows: of thousands few share any."""

    def __init__(self) -> None:
        self._runs: list[RunFiles] = []
        self._at: dict[int, int] = {}  # by identity
        self._having: dict[Any, list[int]] = defaultdict(list)
        self._rarest_of: dict[Any, list[int]] = defaultdict(list)

    def add(self, run: RunFiles) -> None:
        """Add a result, or what one has become."""
        at = self._at.setdefault(id(run), len(self._runs))
        self._runs += [run] if at == len(self._runs) else []
        if rows := run.part.rows if run.part else frozenset():
            self._rarest_of[self._rarest(rows)].append(at)
        for row in rows:
            self._having[row].append(at)

    def candidates(self, run: RunFiles, *, every: bool) -> list[RunFiles]:
        """Return the other results, in their order: all, or those that have what one of two has to share."""
        rows = run.part.rows if run.part else frozenset()
        shared = {at for row in rows for at in self._rarest_of.get(row, ())}
        shared.update(self._having.get(self._rarest(rows), ()) if rows else ())
        found = self._runs if every else [self._runs[at] for at in sorted(shared)]
        return [one for one in found if one.main is not run.main]

    def _rarest(self, rows: Iterable[Any]) -> Any:
        return min(rows, key=lambda row: len(self._having.get(row, ())))


def _merge_into(twin: RunFiles, run: RunFiles, out: Grouping) -> None:
    """Add the second file of an execution to the first; the complete one that says more is the main file."""
    assert twin.part is not None
    assert run.part is not None
    mine, other = ((not one.complete, not one.rows, _open(one)) for one in (run.part, twin.part))
    if mine < other:
        twin.main, run.main = run.main, twin.main
        twin.part, run.part = run.part, twin.part
        twin.number, run.number = run.number, twin.number
    fuller = min((twin.part, run.part), key=_open).facts
    said = {"problem": fuller["problem"]} if "problem" in fuller else {}
    twin.part.facts = run.part.facts | twin.part.facts | said
    if run.number:  # with the results of other executions in it, it is no file of this one
        twin.shared.append(run.main)
        out.shared += [] if any(one is run.main for one in out.shared) else [run.main]
    else:
        twin.files.append(run.main)
    twin.files += run.files
    if twin.number:  # the other parts of its file are of other jobs
        twin.job = twin.job or run.job or run.main.job
    else:
        twin.main.job = twin.main.job or run.main.job


def _open(part: ResultPart) -> int:
    """Return how much a result leaves open of its problem."""
    return str(part.facts.get("problem", "?")).count("?")


def _paired(run: RunFiles, other: RunFiles) -> bool:
    """Tell whether the only two results of a folder are of one execution, one of which has no figures."""
    if not run.part or not other.part or (run.part.rows and other.part.rows):
        return False
    one, two = (re.sub(r"\d+", "", stem(each.main.file.base)) for each in (run, other))
    return one != two  # numbers alone would count executions


def _same_result(run: RunFiles, other: RunFiles) -> bool:
    """Tell whether one of two results has all numbers of the other."""
    if not run.part or not other.part or run.part.brief or other.part.brief:
        return False
    jobs = {one.job or one.main.job for one in (run, other)} - {""}
    if len(jobs) > 1:
        return False
    few, many = sorted((run.part.rows, other.part.rows), key=len)
    return len(few) > 1 and few <= many


class _Index:
    """Runs by folder, by job and by stem."""

    def __init__(self, runs: Iterable[RunFiles]) -> None:
        self.at: dict[str, list[RunFiles]] = defaultdict(list)
        self.stems: dict[tuple[str, str], list[RunFiles]] = defaultdict(list)
        self.below: dict[str, list[RunFiles]] = defaultdict(list)
        self.jobs: dict[str, list[RunFiles]] = defaultdict(list)
        self.scripts: dict[str, list[Observation]] = defaultdict(list)  # by folder, of no single output
        for run in runs:
            self.add(run)

    def add(self, run: RunFiles) -> None:
        """Add a run."""
        folder = run.main.file.folder
        self.at[folder].append(run)
        self.stems[folder, stem(run.main.file.base)].append(run)
        self.below[folder].append(run)
        while folder:
            folder = folder.rpartition("/")[0]
            self.below[folder].append(run)
        if run.main.job:
            self.jobs[run.main.job].append(run)

    def candidates(self, source: Observation) -> list[RunFiles]:
        """Return the runs that a file may belong to, by its job, its stem, its folder."""
        folder = source.file.folder
        if source.job and (found := self.jobs[source.job]):
            return [run for run in found if run.main.file.folder == folder] or found
        if tied := self.stems.get((folder, stem(source.file.base))):
            return tied
        while folder and not self.below[folder]:
            folder = folder.rpartition("/")[0]
        return [run for run in self.at[folder] if not (source.job and run.main.job)]


def _attach(source: Observation, index: _Index, out: Grouping) -> None:
    """Give a file to its run, to all runs below its folder, or to none."""
    found = index.candidates(source)
    if source.role == "profile" and len(found) > 1:
        ranks = source.facts.get("ranks")
        found = [run for run in found if run.part and run.part.facts.get("ranks") == ranks] or found
    if len(found) == 1 and _belongs(source, found[0]) and not source.what.startswith(UTILITY_LOG):
        found[0].files.append(source)
        found[0].main.job = found[0].main.job or source.job
    elif _is_of_job(source, found):
        _give(source, found, out)
    elif source.role == "beside":
        if source.what == "job script":
            index.scripts[source.file.folder].append(source)
        else:
            _share(source, index.below[source.file.folder], index, out)
    elif source.role == "power":
        out.power.append(source)
    elif source.role == "text":
        out.unplaced[source.name] = source.why


def _is_of_job(source: Observation, runs: Sequence[RunFiles]) -> bool:
    """Tell whether a text is of a job whose output has all of several results, as PBS' standard error is."""
    mains = {id(run.main) for run in runs}
    if source.role not in ("beside", "text") or len(runs) < 2 or len(mains) > 1:
        return False
    same = stem(source.file.base) == stem(runs[0].main.file.base)
    tied = source.job == runs[0].main.job != "" or (same and not source.job)
    return source.what != "job script" and tied and _belongs(source, runs[0])


def _attach_by_banner(
    known: Iterable[Observation], banners: Mapping[str, Observation], out: Grouping
) -> None:
    """Give a file that IPM wrote to the run whose output has its banner."""
    having = {id(one): run for run in out.runs for one in (run.main, *run.files)}
    for source in known:
        if (banner := banners.get(source.name)) is None:
            continue
        if run := having.get(id(banner)):
            run.files.append(source)
        else:
            out.unplaced[source.name] = out.unplaced[banner.name]


def _part_profiles(out: Grouping) -> None:
    """Take from a result the profiles of a tool that began at several times: it is of one execution."""
    for run in (one for one in out.runs if one.part):
        began: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)  # IPM's banner has another clock
        for at, one in enumerate(run.files):
            clock = "profile_start" if "profile_start" in one.facts else "profile_clock"
            if one.role == "profile" and clock in one.facts:
                began[str(one.facts.get("profiler")), clock][at] = one.facts[clock]
        several = {at for each in began.values() if len({*each.values()}) > 1 for at in each}
        for at in several:
            why = f"is a profile of one of several executions; no file says which is that of {run.main.name}"
            out.unplaced[run.files[at].name] = why
        run.files = [one for at, one in enumerate(run.files) if at not in several]


def _belongs(source: Observation, run: RunFiles) -> bool:
    """Tell whether a file is a run's; a text that no reader recognises must be tied to it by its name.

    A profile that only lies beside a run is of another if it states other counts.
    """
    if source.role not in ("text", "profile"):
        return True
    name = source.file.base
    tied = stem(name) == stem(run.main.file.base) or (source.job and source.job == run.main.job)
    if source.role == "profile":
        stated = {**run.main.reported, **run.main.facts, **(run.part.facts if run.part else {})}
        same = (stated.get(count) in (None, source.facts.get(count)) for count in ("ranks", "nodes"))
        return bool(tied) or all(same)
    return source.file.size <= MOST_LEFT and bool(tied or _LEFT.search(name) or _LEFT_HPCG.search(name))


def _share_scripts(index: _Index, out: Grouping) -> None:
    """Apply the only script of a folder, which names no output, to the runs there that have none."""
    for folder, sources in index.scripts.items():
        files = ((run, (*run.files, *run.shared)) for run in index.at[folder])
        runs = [run for run, own in files if not any(one.what == "job script" for one in own)]
        if index.at[folder] and (len(sources) > 1 or not runs):
            why = "is one of several job scripts in its folder; give it the name of its output"
            out.unplaced |= {source.name: why for source in sources}
            continue
        # A job that used fewer nodes than it had ran programs on parts of them: its counts are not theirs.
        ranks = [run.part.facts.get("ranks") for run in runs if run.part]
        for source in sources:
            if any(one is not None and one < source.facts.get("nodes", 0) for one in ranks):
                counts = ("nodes", "ranks", "ranks_per_node")
                source.facts = {name: value for name, value in source.facts.items() if name not in counts}
            _share(source, runs, index, out)


def _share(source: Observation, runs: Sequence[RunFiles], index: _Index, out: Grouping) -> None:
    """Apply a dump of hardware, or the only script of a folder, to runs of its folder."""
    if source.jobs:  # of many runs, which their numbers find
        runs = index.below[""]
    elif source.reported and source.what.startswith("record"):
        job = f" of job {source.job}" if source.job else ""
        why = f"is a {source.what}{job}, to which no output belongs that a reader recognises"
        out.unplaced[source.name] = why
        return
    if not runs:
        out.unplaced[source.name] = f"is a {source.what}, and no output is in its folder"
        return
    out.shared.append(source)
    for run in () if source.jobs else runs:
        run.shared.append(source)


def _add_runs_without_result(known: Sequence[Observation], out: Grouping, index: _Index) -> None:
    """Make runs of profiles that belong to no result, and of texts of which Slurm has a record."""
    attached = {id(one) for run in out.runs for one in run.files}
    alone = [source for source in known if id(source) not in attached]
    for source in alone:
        results = [run for run in index.candidates(source) if run.part is not None]
        if source.role == "profile" and len(results) > 1 and not source.job:
            why = "is a profile of one of several results in its folder; no file says which"
            out.unplaced[source.name] = why
        elif source.role == "profile":
            out.runs.append(RunFiles(source, None))
            index.add(out.runs[-1])
    for source in alone:
        if source.role == "text" and source.job in out.jobs and not index.jobs[source.job]:
            out.unplaced.pop(source.name, None)
            out.runs.append(RunFiles(source, None))
            index.add(out.runs[-1])
        elif source.role == "record":
            out.unplaced[source.name] = "is the record of a run without an output in its folder"
    for source in alone:  # what the program of a profile printed
        found = index.candidates(source) if source.role == "text" and source.name in out.unplaced else []
        if len(found) == 1 and found[0].part is None and _belongs(source, found[0]):
            found[0].files.append(source)
            del out.unplaced[source.name]
    out.runs.sort(key=lambda run: (run.main.file.name.encode("utf-8", "surrogateescape"), run.number))
