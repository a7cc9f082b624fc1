"""``python -m analysis.measure.finish CAMPAIGN``: after the last run, what is there, and Slurm's records."""

import contextlib
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from analysis.base import files, project, slurm
from analysis.base.errors import BenchbookError, ConfigError
from analysis.base.slurm import named_user, node_names
from analysis.measure import accounting, folders
from analysis.measure.accounting import Account, account, without_record
from analysis.measure.books import add_to_manifest, kept, stopped
from analysis.measure.job import allocate
from analysis.measure.launch import recover
from analysis.measure.matrix import Run
from analysis.measure.record import retract
from analysis.measure.workflow import TOGETHER, missing, on_slurm, plan, summary
from analysis.schema.records import section


def main(argv: list[str] | None = None) -> int:
    """Finish a campaign; 1 if runs are missing, each named."""
    (campaign,) = sys.argv[1:] if argv is None else argv
    base = project.root()
    with kept(base, campaign):
        return _finish(campaign, base)


def _finish(campaign: str, base: Path) -> int:
    try:
        if missing(campaign, base):
            print(unfinished(campaign, base), file=sys.stderr)
            return 1
        tidy(base, campaign)
        lines = started(base, campaign)
        found = Account(campaign)
        if on_slurm(campaign, base):
            # What is there stands in the manifest before Slurm is waited for, and what it says follows.
            add_to_manifest(base, campaign)
            print(found := account(base, campaign, written=lambda: add_to_manifest(base, campaign)))
        for line in [*lines, *lost(base, found), *mark_failed(base, campaign, found)]:
            print(line, file=sys.stderr)
        for line in add_to_manifest(base, campaign):
            print(line, file=sys.stderr)
        if missing(campaign, base):
            print(summary(campaign, base), file=sys.stderr)
            return 1
        print(f"{campaign}: all {len(plan(campaign, base).runs)} runs of the matrix are there")
    except BenchbookError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def unfinished(campaign: str, base: Path) -> str:
    """Print what is missing in a campaign; keep Slurm's current records of its jobs, without waiting."""
    lines = []
    states: Mapping[str, str] = {}
    with contextlib.suppress(BenchbookError):  # the summary says it
        tidy(base, campaign)
        if on_slurm(campaign, base):
            started(base, campaign)
            found = account(base, campaign, patience=0)
            states = found.latest
            lines = [
                f"  job {job} of {run.name} ended before it had the run: Slurm says {named_user(states[job])}"
                for job, run in without_record(base, found, found.latest).items()
            ]
    end = [*lines, *add_to_manifest(base, campaign), *stopped(base, campaign)]
    return "\n".join([summary(campaign, base, states), *end])


def tidy(base: Path, campaign: str) -> None:
    """Record what killed jobs left and no later job of the same run has found."""
    for work in sorted(folders.running(base, campaign).glob("*")):
        if work.name in (folders.STARTED, TOGETHER):
            continue
        with contextlib.suppress(folders.BusyError):
            if work.is_dir() and not folders.alive(work):
                shutil.rmtree(work) if work.name.startswith(".") else recover(work)
    runs = folders.finished(base, campaign)
    for path in list(runs.iterdir()) if runs.is_dir() else ():
        folders.drop_empty(base, campaign, path.name)  # Snakemake makes them, and a kill leaves them


def started(base: Path, campaign: str) -> list[str]:
    """Record jobs that have started, are gone and have no record: a failed attempt and a line each."""
    notes = folders.noted(base, campaign)
    records = [one for found in accounting.recorded(base, campaign).values() for one in found]
    there = {_start(record) for record in records}
    works = (work for work in folders.running(base, campaign).glob("*") if not work.name.startswith("."))
    busy = {accounting.number(folders.owner(work)) for work in works}
    for path in [path for path, note in notes.items() if _start(note) in there]:
        notes.pop(path)
        path.unlink()
    try:
        states = slurm.states(accounting.number(note) for note in notes.values())
    except slurm.NoAnswerError:
        return []
    lines = []
    for path, note in notes.items():
        job, restarts = _start(note)
        again = any(_start(other) > (job, restarts) and _start(other)[0] == job for other in notes.values())
        state = states.get(job, "")
        if not again and (job in busy or (state and not slurm.terminal(state))):
            continue
        with contextlib.suppress(ConfigError):  # a run that the matrix has no more
            run = plan(campaign, base).run(str(note["run"]))
            # The controller knows at once what the accounting has seconds later.
            failed = "" if state == "COMPLETED" else named_user(state)
            said = "it was started again" if again else slurm.ended(job, note["slurm"]) or failed
            log = base / "results/logs/run" / campaign / f"{run.name}.log"
            last = "" if again else _last_line(log, path.stat().st_mtime)
            known = ["it ended before it had the run", *([f"Slurm says {said}"] if said else []), last]
            lines += _attempt(base, campaign, run, note, ": ".join(filter(None, known)))
            path.unlink()
    return lines


def _start(record: Mapping[str, Any]) -> tuple[str, int]:
    """Return a job's number, and how often Slurm had started it again."""
    restarts = str(section(record, "slurm").get("restarts") or "0")
    return accounting.number(record), int(restarts) if restarts.isdecimal() else 0


def _last_line(log: Path, since: float) -> str:
    """Return what a job has said last, in its log."""
    with contextlib.suppress(OSError):
        if log.stat().st_mtime >= since - 1:
            lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
            return files.one_line(next((line for line in reversed(lines) if line.strip()), ""))[:300]
    return ""


def lost(base: Path, found: Account) -> list[str]:
    """Record jobs that ended badly before they had their run: a failed attempt and a line each."""
    lines = []
    for job, run in without_record(base, found, found.states).items():
        why = f"it ended before it had the run: Slurm says {named_user(found.states[job])}"
        lines += _attempt(base, found.campaign, run, {"job_id": job}, why)
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


def mark_failed(base: Path, campaign: str, found: Account) -> list[str]:
    """Make failed attempts of runs whose job was cancelled, or lost its node, behind a good record."""
    lines = []
    # Of jobs at once the first comes last: once it is gone, the run is measured again.
    for name in sorted(folders.recorded(base, campaign), reverse=True):
        path = folders.finished(base, campaign) / name / folders.RECORD
        record = files.read_json(path)  # one that cannot be read the ingest names
        job = str(record.get("job_id", ""))
        state = found.states.get(job, "COMPLETED")
        if state != "COMPLETED" and accounting.disagreement(record, found.rows[job][0], campaign):
            state = "COMPLETED"  # of another start, or another job
        # One that has a reason already was left here by a kill between the two steps below.
        if ".failed-" in name or (state == "COMPLETED" and not record.get("reason")):
            continue
        why = record.get("reason") or f"Slurm says {named_user(state)}"
        failed = retract(path.parent, why)
        lines.append(f"{failed}: failed: {why}")
    return lines


if __name__ == "__main__":
    raise SystemExit(main())
