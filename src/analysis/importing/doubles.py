"""Files that say once more what another one says: copies, ranks of a run, the outputs behind a document."""

import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from operator import itemgetter
from typing import Any

from analysis import readers
from analysis.base.files import plain_name
from analysis.importing.detect import AT_ONCE, Observation, ResultPart
from analysis.importing.runfiles import RunFiles
from analysis.importing.words import first_of


def without_copies(observations: Iterable[Observation], unplaced: dict[str, str]) -> list[Observation]:
    """Leave out copies of results, profiles and records, each with the name of the original.

    Two results of one number are alike by chance, unless a whole folder was copied.
    """
    observations = list(observations)
    folders: dict[str, dict[str, str]] = defaultdict(dict)
    for source in observations:
        folders[source.file.folder][source.file.base] = source.digest

    @cache  # the files of two folders are compared once, not for each of them
    def are_alike(folder: str, other: str) -> bool:
        one, two = folders[folder], folders[other]
        return all(two.get(name, one[name]) == one[name] for name in one)

    first: dict[str, str] = {}
    known = []
    for source in observations:
        if source.role == "nothing":
            unplaced[source.name] = source.why
            continue
        was = first.setdefault(source.digest, source.name)
        folder, _, base = was.rpartition("/")
        chance = any(part.brief for part in source.parts) and not (
            base == source.file.base and are_alike(folder, source.file.folder)
        )
        if was != source.name and not chance and source.role in ("result", "profile", "power", "sacct"):
            unplaced[source.name] = f"is a copy of {was}"
        else:
            known.append(source)
    return known


def attach_ranks(known: Sequence[Observation]) -> dict[str, str]:
    """Attach what the other ranks left to the file of the first; return to which: name -> name.

    Without one of the first rank, they belong to the other results of their folder: the name is empty. In a
    folder without any, that of the lowest rank is the result.
    """
    families: dict[tuple[str, ...], list[tuple[int, Observation]]] = defaultdict(list)
    having: set[tuple[str, str]] = set()  # a result of a first rank
    for source in (one for one in known if one.role in ("result", "profile")):
        engine = source.parts[0].engine if source.parts else str(source.facts["profiler"])
        folder = source.file.folder
        bare = plain_name(source.file.base)
        of_rank = re.fullmatch(readers.row(engine).of_ranks or "(?!)", bare)
        if of_rank:
            rest = f"{bare[: of_rank.start('rank')]}*{bare[of_rank.end('rank') :]}"
            families[folder, engine, rest].append((int(of_rank["rank"]), source))
        if not of_rank or not int(of_rank["rank"]):
            having.add((folder, engine))
    out: dict[str, str] = {}
    for (folder, engine, _), family in families.items():
        first: Observation | None = None
        for rank, source in sorted(family, key=itemgetter(0)):
            if first is not None and _are_together(first, source):
                out[source.name] = first.name
            elif rank and (folder, engine) in having:
                out[source.name] = ""
            else:
                first = source
        _count_ranks([source for _, source in sorted(family, key=itemgetter(0))], out)
    for source in known:
        if source.name in out:
            source.facts = {} if source.role == "profile" else source.facts
            source.role, source.what, source.parts = "beside", "of a rank after the first", []
    return out


def _count_ranks(family: Sequence[Observation], out: Mapping[str, str]) -> None:
    """Add the ranks and nodes of all its files to the profile of the first rank, if no rank is missing."""
    first = family[0]
    whole = [first, *(one for one in family if out.get(one.name) == first.name)]
    pattern = (
        readers.row(str(first.facts.get("profiler", ""))).of_ranks if first.role == "profile" else "(?!)"
    )
    named = [re.fullmatch(pattern, plain_name(one.file.base)) for one in whole]
    ranks = {int(one["rank"]) for one in named if one}
    if ranks and ranks == {*range(len(ranks))}:
        hosts = sorted({host for one in whole for host in one.facts.get("profile_hosts", ())})
        first.facts |= {"ranks": len(ranks)}
        first.facts |= {"nodes": len(hosts), "node_list": ",".join(hosts)} if hosts else {}


def _are_together(first: Observation, other: Observation) -> bool:
    """Tell whether two files can be of one run, by when their ranks began."""
    one, two = (
        each.parts[0].facts.get("date") if each.parts else each.facts.get("profile_start")
        for each in (first, other)
    )
    return one is None or two is None or abs(one - two) <= AT_ONCE


def attach_logs(runs: Sequence[RunFiles], jobs: Container[str]) -> list[RunFiles]:
    """Attach a Darshan log to the one result of its job, if it is that job's only log; return the runs.

    Its job counts if a file or a record has the same: without a batch system it is the number of a process.
    """
    logs: dict[str, list[RunFiles]] = defaultdict(list)
    results: dict[str, list[RunFiles]] = defaultdict(list)
    for run in runs:
        number = str(run.part.facts.get("logged_job", "")) if run.part else ""
        (logs if number else results)[number or _job(run)].append(run)
    gone: set[int] = set()
    for number, own in logs.items():
        others = results.get(number, [])
        if len(own) == len(others) == 1 and _agree(own[0], others):
            _complete(others[0], own[0])
            others[0].files.append(
                replace(own[0].main, role="beside", what="Darshan log", parts=[], facts={})
            )
            gone.add(id(own[0]))
        elif others or number in jobs:
            for run in own:
                run.job = number
    return [run for run in runs if id(run) not in gone]


def _complete(run: RunFiles, log: RunFiles) -> None:
    """Add the ranks and the times of a Darshan log to a run that does not state them."""
    assert run.part is not None
    assert log.part is not None
    known = {name: log.part.facts[name] for name in ("ranks", "date", "date_end") if name in log.part.facts}
    run.part.facts = known | run.part.facts


def attach_outputs(runs: Sequence[RunFiles]) -> tuple[list[RunFiles], list[str]]:
    """Attach outputs to the cases of documents, as ReFrame's, that report them: return the runs and notes.

    An output is a case's if both have the same job, or if the case says that it ran in the output's folder.
    A folder has the last of several cases that ran in it: there, and if a job has more than one case or
    output, they must share a figure. What shares a figure alone stays two runs, with a note.
    """
    cases = [run for run in runs if run.part and run.part.content]
    outputs: dict[int, list[RunFiles]] = defaultdict(list)  # by file
    for run in runs if cases else ():
        if run.part and not run.part.content:
            outputs[id(run.main)].append(run)
    jobs = Counter(_job(parts[0]) for parts in outputs.values())
    near: dict[str, dict[int, RunFiles]] = defaultdict(dict)  # of all cases few can be an output's
    for case in cases:
        for name in filter(None, (_job(case), _ran_in(case)[-1])):
            near[name][id(case)] = case
    found: list[tuple[RunFiles, list[RunFiles]]] = []
    for parts in outputs.values():
        file = parts[0].main.file
        names = _job(parts[0]), file.base.partition(".")[0], file.folder.rpartition("/")[2]
        some = {key: case for name in names if name for key, case in near.get(name, {}).items()}
        tied = [case for case in some.values() if _is_tied(case, parts[0]) and _agree(case, parts)]
        figures = {value for one in parts if one.part for value in _values(one.part) | _ends(one.part, 4)}
        same = [case for case in tied if _values(case.part) & figures]
        lone = len(tied) == 1 and jobs[_job(tied[0])] == 1 and _job(tied[0]) == _job(parts[0]) != ""
        if len(chosen := same or (tied if lone else [])) == 1:
            found.append((chosen[0], parts))
    for case, parts in found:
        _attach(case, parts)
    gone = {id(one) for _, parts in found for one in parts}
    kept = [run for run in runs if id(run) not in gone]
    return kept, [*_joined(found), *_suspected(kept)]


def _job(run: RunFiles) -> str:
    return run.job or run.main.job


def _ran_in(case: RunFiles) -> list[str]:
    """Return the folders in which a case says that it ran, the innermost last; one empty if it does not."""
    return str(case.part.facts.get("place", "") if case.part else "").split("/")


def _is_tied(case: RunFiles, output: RunFiles) -> bool:
    """Tell whether a case and an output have one job or, if one of them has none, one folder or name."""
    if _job(case) and _job(output):
        return _job(case) == _job(output)
    place = _ran_in(case)
    folder = output.main.file.folder.split("/")
    deep = min(len(place), len(folder))
    named = place[-1] == output.main.file.base.partition(".")[0]
    return bool(place[-1]) and (named or place[-deep:] == folder[-deep:])


def _agree(case: RunFiles, parts: Sequence[RunFiles]) -> bool:
    """Tell whether no output states another number of ranks than the case."""
    ranks = {one.part.facts.get("ranks") for one in (case, *parts) if one.part} - {None}
    return len(ranks) < 2


def _values(part: ResultPart | None, digits: int = 3) -> set[float]:
    """Return the figures of a result with so many digits or more: shorter ones agree by chance."""
    numbers = [*part.facts.get("figures", {}).values()] if part else []
    numbers += [row[1] for row in part.rows if isinstance(row, tuple) and len(row) > 1] if part else []
    return _long(numbers, digits)


def _ends(part: ResultPart, digits: int) -> set[float]:
    """Return the ends of the columns of a table, as of OSU and IMB: a case may report one."""
    return _long(part.facts.get("extremes", []), digits)


def _long(numbers: Iterable[Any], digits: int) -> set[float]:
    return {one for one in numbers if isinstance(one, float) and float(f"{one:.{digits - 1}g}") != one}


def _attach(case: RunFiles, parts: Sequence[RunFiles]) -> None:
    """Make an output a file of a case's run. What it states is not used.

    Outputs of earlier cases may be gone: their runs would lack it, and not be repeats of the last one.
    """
    files = [parts[0].main, *(file for one in parts for file in one.files)]
    case.files += [
        replace(one, role="beside", what="output", parts=[], facts={}, reported={}) for one in files
    ]
    case.job = _job(case) or _job(parts[0])


def _joined(found: Sequence[tuple[RunFiles, Sequence[RunFiles]]]) -> Iterator[str]:
    if found:
        outputs, cases = zip(*((parts[0].main.name, case.main.name) for case, parts in found), strict=True)
        tables = any(_ends(one.part, 4) for _, parts in found for one in parts if one.part)
        more = "; import the outputs alone for their tables" if tables else ""
        what = f"what cases of {first_of(cases)} report; each is one run with its case{more}"
        yield f"{first_of(outputs)}: {what}"


def _suspected(runs: Sequence[RunFiles]) -> Iterator[str]:
    """Say which outputs have figures of a document's cases, and nothing tells that they are the same runs."""
    having: dict[float, str] = {}
    for run in runs:
        if run.part and run.part.content:
            having |= dict.fromkeys(_values(run.part, 4), run.main.name)
    apart = "but neither a job nor a folder says that they are one run"
    for why, own in ((apart, _values), ("which report one number of their tables", _ends)):
        names: dict[str, str] = {}
        for run in runs if having else ():
            if run.part and not run.part.content and (shared := own(run.part, 4) & having.keys()):
                names.setdefault(run.main.name, having[min(shared)])
        if names:
            found = f"figures of cases of {first_of([*names.values()])}, {why}; each counts as two"
            yield f"{first_of([*names])}: {found}: import one of the two"
