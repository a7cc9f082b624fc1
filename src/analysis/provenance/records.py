"""The records of a campaign's runs compared with each other: damaged, doubled and overlapping runs."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from analysis.base.errors import Fault, ReadError
from analysis.base.files import RECORD, attempted, read_bytes
from analysis.readers.run import records, succeeded

# What distinguishes executions of the same kind, or is measured in them; everything else is a factor.
_EXECUTION = {"run", "order", "job_id", "node_list", "command", "start", "end", "elapsed", "exit_code"}
_EXECUTION |= {"timing", "load_before", "extra"}
_CLOCKS = 0.5  # the clocks of two nodes may differ by so much, s
# A shell notes the end of a killed run late, on a busy node by more: 0.8 s seen. Its node was free by then.
_KILLED = 3.0

Record = dict[str, Any]


@dataclass
class Findings:
    """The faults of so many runs' records, and oddities that make no number wrong.

    `levels` has for each factor the levels that a run has.
    """

    runs: int = 0
    faults: list[Fault] = field(default_factory=list)
    notes: list[Fault] = field(default_factory=list)
    levels: dict[str, set[Any]] = field(default_factory=lambda: defaultdict(set))


def check(folder: Path, label: str, *, evidence: str = "") -> Findings:
    """Check the records of all runs of a campaign, which faults call by its label.

    Faults: a record that is missing, damaged or names another run, campaign or evidence class; runs of one
    job, or at one time on the same nodes, that are recorded as alone; runs of one case with different input
    files, or with different programs of one name. Notes: a repetition that was executed twice.
    """
    out = Findings()
    found: list[tuple[str, Record]] = []
    for path in sorted(folder.glob("runs/*")):
        if not path.is_dir() or path.is_symlink():
            continue
        out.runs += 1
        source = f"{label}/runs/{path.name}/{RECORD}"
        record = _read(path / RECORD, source, out.faults)
        if record is not None:
            out.faults += _identity(record, source, path.name, folder.name, evidence)
            found.append((source, record))
            for name in record.keys() - _EXECUTION:
                out.levels[name] |= {record[name]} - {"", -1}
    out.faults += _same_job(found)
    out.faults += _same_inputs(found)
    out.faults += _same_program(found)
    out.faults += _overlaps(found)
    for fault, distinct in _same_repeat(found):
        (out.notes if distinct else out.faults).append(fault)
    return out


def _read(path: Path, source: str, faults: list[Fault]) -> Record | None:
    if not path.is_file():
        faults.append(Fault(source, 0, "is missing", "a run without its record is in no statistic"))
        return None
    try:
        record, found = records(read_bytes(path), source)
    except ReadError as error:
        faults += (replace(fault, source=source) for fault in error.faults)
        return None
    faults += found.faults
    return record


def _identity(record: Record, source: str, run: str, campaign: str, evidence: str) -> Iterator[Fault]:
    for name, wanted, what in (
        ("run", run, "its folder is called"),
        ("campaign", campaign, "it lies in the campaign"),
        ("evidence", evidence, "the campaign declares"),
    ):
        if record[name] and wanted and record[name] != wanted:
            what = f"says {name} {record[name]!r}, but {what} {wanted!r}"
            yield Fault(source, 0, what, "put the run where it belongs")
    if attempted(run) and _succeeded(record):
        what = "is a failed attempt by its name, and its record gives no reason"
        yield Fault(source, 0, what, "put the reason back: without one the run counts")


def _same_job(found: Iterable[tuple[str, Record]]) -> Iterator[Fault]:
    """Find runs of one job that both count: only as many as ran at once can share it."""
    jobs: dict[tuple[str, str], list[tuple[str, Record]]] = defaultdict(list)
    for source, record in found:
        if record["job_id"] and _succeeded(record):
            jobs[record["cluster"], record["job_id"]].append((source, record))
    for (_, job), members in jobs.items():
        first, record = members[0]
        for source, _ in members[max(record["concurrent_jobs"], 1) :]:
            what = f"has job {job}, like run {_run(first)}"
            yield Fault(source, 0, what, "remove the copy: a job counts once")


def _same_inputs(found: Iterable[tuple[str, Record]]) -> Iterator[Fault]:
    """Find runs whose input file is not that of the first run of their case."""
    first: dict[tuple[str, str, str], tuple[str, str]] = {}
    for source, record in found:
        files = json.loads(record["extra"]).get("input_files") or {}
        for path, file in files.items() if _succeeded(record) else ():
            digest = str((file or {}).get("sha256", ""))
            key = (*_case(record), Path(path).name)
            run, other = first.setdefault(key, (_run(source), digest))
            if digest != other:
                what = f"its input {key[2]} has SHA-256 {digest}, that of run {run} {other}"
                yield Fault(source, 0, what, "they did not compute the same: measure one of them again")


def _case(record: Record) -> tuple[str, str]:
    return str(record["application"]), str(record["case"])


def _same_program(found: Iterable[tuple[str, Record]]) -> Iterator[Fault]:
    """Find runs whose program is not that of the first run of their case, though it is called the same."""
    first: dict[tuple[str, ...], tuple[str, str]] = {}
    for source, record in found:
        program = json.loads(record["extra"]).get("binary") or {}
        if not (digest := str(program.get("sha256", ""))) or not _succeeded(record):
            continue
        named = (str(record[name]) for name in ("cluster", "mpi", "build"))
        name = Path(str(program.get("path", ""))).name
        run, other = first.setdefault((*_case(record), *named, name), (_run(source), digest))
        if digest != other:
            what = f"its program {name} has SHA-256 {digest}, that of run {run} {other}"
            remedy = "it was built anew: measure one of them again, or give each its own 'variant'"
            yield Fault(source, 0, what, remedy)


def _succeeded(record: Record) -> bool:
    # A failed attempt and the run that replaced it can be of the same job.
    return succeeded(record["exit_code"], json.loads(record["extra"]))


def _run(source: str) -> str:
    return Path(source).parent.name


def _same_repeat(found: Iterable[tuple[str, Record]]) -> Iterator[tuple[Fault, bool]]:
    """Find runs with equal factors and repetition; true if job and time show another execution."""
    groups: dict[str, list[tuple[str, Record]]] = defaultdict(list)
    for source, record in found:
        if _succeeded(record) and record["repeat"] >= 0:
            factors = {name: str(value) for name, value in record.items() if name not in _EXECUTION}
            groups[json.dumps(factors, sort_keys=True)].append((source, record))
    for members in groups.values():
        first, record = members[0]
        for source, other in members[max(record["concurrent_jobs"], 1) :]:
            distinct = _distinct(record, other)
            what = f"has the factors and the repetition ({record['repeat']}) of run {_run(first)}"
            both = "both count: they began at different times"
            remedy = both if distinct else "remove one: it may be a copy"
            yield Fault(source, 0, what, remedy), distinct


def _distinct(one: Record, other: Record) -> bool:
    """Tell whether two runs began at different times, and were different jobs where they were jobs."""
    known = not (np.isnat(one["start"]) or np.isnat(other["start"]))
    jobs = not one["job_id"] or one["job_id"] != other["job_id"]
    return bool(known and one["start"] != other["start"] and jobs)


def _overlaps(found: Iterable[tuple[str, Record]]) -> Iterator[Fault]:
    """Find runs that are recorded as alone on their nodes while another run was on them.

    Runs may overlap if neither enters a statistic of time. Each run is listed once.
    """
    nodes: dict[tuple[str, str], list[tuple[np.datetime64, np.datetime64, str, Record]]] = defaultdict(list)
    for source, record in found:
        if not (np.isnat(record["start"]) or np.isnat(record["end"])):
            for node in filter(None, record["node_list"].split(",")):
                entry = (record["start"], record["end"], source, record)
                nodes[record["cluster"], node].append(entry)
    listed: set[str] = set()
    for (_, node), entries in sorted(nodes.items()):
        entries.sort(key=lambda entry: entry[:3])
        last = entries[0]
        for entry in entries[1:]:
            seconds = (min(entry[1], last[1]) - entry[0]) / np.timedelta64(1, "s")
            alone = any(run["timing"] and run["concurrent_jobs"] == 1 for run in (entry[3], last[3]))
            at_its_end = (last[1] - entry[0]) / np.timedelta64(1, "s") <= _KILLED
            late = _KILLED if at_its_end and not _succeeded(last[3]) else _CLOCKS
            if seconds > late and entry[2] not in listed and alone:
                listed.add(entry[2])
                both = f"together with run {_run(last[2])}; one of them says alone"
                what = f"ran on {node} for {seconds:.1f} s {both}"
                yield Fault(entry[2], 0, what, "set timing to false in both, or correct concurrent_jobs")
            last = max(last, entry, key=lambda entry: entry[1])
