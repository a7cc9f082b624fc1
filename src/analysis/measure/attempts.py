"""Jobs that have started: what is known of one that left no record becomes a failed attempt."""

import contextlib
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from analysis.base import files, slurm
from analysis.base.errors import ConfigError
from analysis.base.slurm import named_user, node_names
from analysis.measure import accounting, folders, layout
from analysis.measure.accounting import Account, without_record
from analysis.measure.job import allocate
from analysis.measure.launch import recover
from analysis.measure.matrix import Run
from analysis.measure.workflow import COMMENT, TOGETHER, plan
from analysis.schema.stated import job_of, restarts, section

SURE = 60.0  # s that a job is gone before a campaign that runs records it: folders of other nodes lag behind


@dataclass(frozen=True)
class Start:
    """A start of a job: when it began, and how often Slurm had started it again; its comment, if known."""

    job: str
    at: float
    again: int
    comment: str = field(default="", compare=False)  # of a note that was cut nothing is known


class Seen:
    """What earlier looks have found: a record is read once, and a job counts as gone after `patience` s."""

    def __init__(self, patience: float = 0.0) -> None:
        self._patience = patience
        self._starts: dict[tuple[str, int, int], Start] = {}
        self._gone: dict[Path, float] = {}

    def starts(self, base: Path, campaign: str) -> set[Start]:
        """Return the starts of jobs that have a record."""
        found = {}
        for name in folders.recorded(base, campaign):
            with contextlib.suppress(FileNotFoundError):  # it becomes a failed attempt just now
                state = (folders.finished(base, campaign) / name / folders.RECORD).stat()
                # A run that became a failed attempt is measured again under its name.
                key = name, state.st_ino, state.st_mtime_ns
                found[key] = self._starts.get(key) or _start(folders.record_of(base, campaign, name))
        self._starts = found
        return set(found.values())

    def gone(self, note: Path, *, alive: bool) -> bool:
        """Tell whether the job of a note has been gone long enough."""
        if alive:
            self._gone.pop(note, None)
            return False
        now = time.monotonic()
        return now - self._gone.setdefault(note, now) >= self._patience


def tidy(base: Path, campaign: str) -> None:
    """Record what killed jobs left and no later job of the same run has found."""
    for work in sorted(folders.running(base, campaign).glob("*")):
        if work.name in (folders.STARTED, TOGETHER, layout.KEPT):
            continue
        with contextlib.suppress(folders.BusyError):
            if work.is_dir() and not folders.alive(work):
                shutil.rmtree(work) if work.name.startswith(".") else recover(work)
    runs = folders.finished(base, campaign)
    for path in list(runs.iterdir()) if runs.is_dir() else ():
        folders.drop_empty(base, campaign, path.name)  # Snakemake makes them, and a kill leaves them


def started(base: Path, campaign: str, seen: Seen | None = None) -> list[str]:
    """Record jobs that have started, are gone and have no record: a failed attempt and a line each.

    With `seen`, what earlier looks have found is not read again.
    """
    seen = seen or Seen()
    notes = without_end(base, campaign, seen, tidied=True)
    try:
        states = slurm.states((job_of(note) for note in notes.values()), 30)
    except slurm.NoAnswerError as error:
        what = f"Slurm does not answer ({files.one_line(str(error))[:200]})"
        left = f"{of_jobs(len(notes))} without a record yet"
        return [f"{campaign}: {what}: {left}; give the same command again once it does"]
    works = (work for work in folders.running(base, campaign).glob("*") if not work.name.startswith("."))
    owned = {job_of(folders.owner(work)): work for work in works}
    # Again, and last: a job may have recorded its run, or what its start before has left, meanwhile.
    starts = seen.starts(base, campaign)
    lines = [
        f"{campaign}: job {_start(note).job} measured nothing: {note.get('reason')}"
        for note in folders.noted(base, campaign).values()
        if note.get("state") == folders.IDLE
    ]
    for path, note in notes.items():
        mine = _start(note)
        job, state = mine.job, states.get(mine.job, "")
        later = [one for one in (*map(_start, notes.values()), *starts) if _after(one, mine)]
        again = bool(later)
        # Of starts with one count a wrong clock can make the present one the earlier: the job has to be gone.
        over = any(one.again > mine.again for one in later)
        if not over and not seen.gone(path, alive=bool(state and not slurm.terminal(state))):
            continue
        work = owned.get(job)
        if again and work and _start(_head(work)) != mine:
            work = None
        if again and work and state and not slurm.terminal(state):
            continue  # its next start finds what it has left, and records it
        try:
            if work:
                recover(owned.pop(job))  # what it has left is its record, and said
                starts = seen.starts(base, campaign)
            if mine in starts:
                folders.settle(path)
                continue
            if note.get("cut"):
                lines.append(
                    f"{path}: the note that job {job} has started is cut; make room, then measure again"
                )
                note["run"] = accounting.submitted(base, campaign).get(job) or _told(campaign, job)
                if not note["run"]:
                    what = f"job {job} has no record: no log and no accounting names its run"
                    lines.append(f"{path}: {what}; measure again, then remove this note")
                    continue
            run = plan(campaign, base).run(str(note["run"]))
            if state == "COMPLETED" and not again and _another_has(base, campaign, run.name, job):
                folders.note_idle(path, base, campaign, run.name)
                continue
            # A start that is recorded can count as the earlier one, after a crash and by a wrong clock.
            mine_too = job_of(folders.record_of(base, campaign, run.name)) == job
            why = _why(base, campaign, path, note, state, again=again or mine_too)
            if gone := _given_up(base, campaign, path, "" if again else job):
                lines += _attempt(base, campaign, run, note, why)
                folders.settle(gone)
        except ConfigError as error:  # a run that the matrix has no more
            lines.append(f"{path}: job {job} has no record: {error}; then remove this note")
        except OSError as error:
            what = f"job {job} has no record, and none can be written ({files.cause(error)})"
            lines.append(f"{path}: {what}; {files.remedy(error)}, then give the same command again")
    return lines


def _given_up(base: Path, campaign: str, note: Path, job: str) -> Path | None:
    """Mark a start as ended, which `launch` looks for before it begins; None if `job` has a run by now.

    What a job has started can outlive it by seconds, and measure: its start would have two records.
    """
    gone = note.rename(note.with_suffix(folders.GONE))
    works = (work for work in folders.running(base, campaign).glob("*") if not work.name.startswith("."))
    if all(job_of(folders.owner(work)) != job for work in works):
        return gone
    gone.rename(note)
    return None


def _head(work: Path) -> dict[str, Any]:
    """Return what the first job of a run has written before its program began; empty if nothing."""
    return next((files.read_json(part / folders.HEAD) for part in folders.jobs(work)), {})


def without_end(base: Path, campaign: str, seen: Seen, *, tidied: bool = False) -> dict[Path, dict[str, Any]]:
    """Return the notes of started jobs that have no record yet; if `tidied`, those of others are removed."""
    notes = folders.noted(base, campaign)
    starts = seen.starts(base, campaign) if notes else set()
    for path in [path for path, note in notes.items() if _start(note) in starts]:
        notes.pop(path)
        if tidied:
            folders.settle(path)
    return {path: note for path, note in notes.items() if note.get("state") != folders.IDLE}


def _another_has(base: Path, campaign: str, run: str, job: str) -> bool:
    """Tell whether another job has measured a run."""
    return job_of(folders.record_of(base, campaign, run)) not in ("", job)


def _told(campaign: str, job: str) -> str:
    """Return the run that a job was submitted for, by its comment in Slurm's accounting."""
    head = f"{COMMENT}{campaign}_"
    command = ["sacct", "--allocations", "--noheader", "--parsable2", "--format=Comment", f"--jobs={job}"]
    with contextlib.suppress(slurm.NoAnswerError):
        found = (line.strip() for line in slurm.ask(command, 30).splitlines())
        return next((line.removeprefix(head) for line in found if line.startswith(head)), "")
    return ""


def of_jobs(number: int) -> str:
    """Return that so many jobs have started, as a part of a sentence."""
    return f"{number} job{'s have' if number != 1 else ' has'} started"


def _why(base: Path, campaign: str, path: Path, note: Mapping[str, Any], state: str, *, again: bool) -> str:
    """Say what is known of the end of a job that has left its note alone."""
    job = _start(note).job
    # The controller knows at once what the accounting has seconds later.
    failed = "" if state == "COMPLETED" else named_user(state)
    said = "it was started again" if again else slurm.ended(job, note["slurm"]) or failed
    log = base / "results/logs/run" / campaign / f"{note['run']}.log"
    last = "" if again else _last_line(log, path.name.rpartition(".")[0])
    last = last or "its note is cut: was the disk full as it began?" * bool(note.get("cut"))
    known = ["it ended before it had the run", *([f"Slurm says {said}"] if said else []), last]
    return ": ".join(filter(None, known))


def _start(record: Mapping[str, Any]) -> Start:
    """Return the start that a record or note is of; a controller that has crashed may count from 0 again."""
    again, known = restarts(record), section(record, "slurm")
    at = float(began) if isinstance(began := known.get("start"), int | float) else 0.0
    comment = str(known.get("comment") or "")
    return Start(job_of(record), at, int(again) if again.isdecimal() else 0, comment)


def _after(one: Start, other: Start) -> bool:
    """Tell whether a start is a later one of the same job: clocks can be wrong, Slurm's count is not.

    A controller that dies as it takes jobs gives their numbers again, to jobs with other comments.
    """
    same = one.job == other.job and slurm.same_name(one.comment, other.comment)
    return same and (one.again, one.at) > (other.again, other.at)


def _last_line(log: Path, start: str) -> str:
    """Return what a job has said last in its log; nothing if the log is of another start than its note."""
    with contextlib.suppress(OSError):
        head, *lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
        if head.startswith(f"{start}: "):
            return files.one_line(next((line for line in reversed(lines) if line.strip()), ""))[:300]
    return ""


def lost(base: Path, found: Account) -> list[str]:
    """Record jobs that ended badly before they had their run: a failed attempt and a line each."""
    lines = []
    for job, run in without_record(base, found, found.states).items():
        why = f"it ended before it had the run: Slurm says {named_user(found.states[job])}"
        began = accounting.moments(found.rows[job][0].get("Start")) if found.rows.get(job) else []
        known = {"job_id": job, "slurm": dict(zip(["start"], began, strict=False))}
        lines += _attempt(base, found.campaign, run, known, why)
    return lines


def _attempt(base: Path, campaign: str, run: Run, known: Mapping[str, Any], why: str) -> list[str]:
    """Record a failed attempt at a run of which nothing but its job is known; a line for each job of it."""
    lines = []
    hosts = ["unknown"] * run.nodes  # which nodes they were stands in Slurm's record
    for own in allocate(plan(campaign, base).declared, run, hosts).jobs:
        name = folders.failed_name(base, campaign, own.name)
        nodes = node_names(str(known.get("node_list") or ""))
        more = {"run": name, "attempt_at": own.name, "node_list": nodes, "reason": why, "exit_code": None}
        folder = folders.running(base, campaign) / f".{name}"
        folder.mkdir(parents=True, exist_ok=True)
        folders.write_json(folder / folders.RECORD, {**own.head, **known, **more, "state": "failed"})
        folders.publish(folder, base, campaign, name)
        lines.append(f"{name}: failed: {why}")
    return lines
