"""``python -m analysis.measure.finish CAMPAIGN``: after the last run, what is there, and Slurm's records."""

import contextlib
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from analysis.base import files, project, slurm
from analysis.base.errors import BenchbookError
from analysis.measure import accounting, folders
from analysis.measure.accounting import Account, account, without_record
from analysis.measure.attempts import lost, started, tidy
from analysis.measure.books import add_to_manifest, kept, note_reworded, stopped
from analysis.measure.launch import UNKNOWN
from analysis.measure.layout import KEPT
from analysis.measure.record import SLACK, TURN, retract
from analysis.measure.workflow import TOGETHER, missing, on_slurm, plan, summary
from analysis.schema.stated import job_of, section

# A part of Slurm's word -> what a reason says that knows it.
_SAID = {"Slurm": "Slurm says", "OUT_OF_MEMORY": "out of memory", "TIMEOUT": "its limit of time was over"}
_LIVES_ON = 30.0 + TURN  # s from the end of a job to that of its program, which Slurm lets end by itself
_AFTER = SLACK + TURN  # s from a program's end to that of its job, which writes its record meanwhile
_PATIENCE = 600.0  # s that another process may keep the books: Slurm answers it late


def main(argv: list[str] | None = None) -> int:
    """Finish a campaign; 1 if runs are missing, each named."""
    (campaign,) = sys.argv[1:] if argv is None else argv
    base = project.root()
    try:
        with kept(base, campaign, _PATIENCE) as mine:  # who waits for it says so
            return _finish(campaign, base) if mine else 1
    except OSError as error:
        what = f"the campaign cannot be finished ({files.cause(error)}); {files.remedy(error)}"
        print(f"{error.filename or base}: {what}, then give the same command again", file=sys.stderr)
        return 1


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
        name_ends(base, campaign, found)
        for line in [*lines, *lost(base, found), *mark_failed(base, campaign, found)]:
            print(line, file=sys.stderr)
        for line in add_to_manifest(base, campaign):
            print(line, file=sys.stderr)
        if missing(campaign, base):
            print(summary(campaign, base), file=sys.stderr)
            return 1
        if others := of_others(base, campaign):
            print("\n".join(others), file=sys.stderr)
            return 1
        for name in (KEPT, TOGETHER):  # what jobs that were to come needed
            shutil.rmtree(folders.running(base, campaign) / name, ignore_errors=True)
        print(f"{campaign}: all {len(plan(campaign, base).runs)} runs of the matrix are there")
    except BenchbookError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def of_others(base: Path, campaign: str) -> list[str]:
    """Name the runs whose record belongs to another campaign or run: in a copied folder none counts."""
    found = []
    for name in sorted(folders.recorded(base, campaign)):
        record = folders.record_of(base, campaign, name)
        for key, mine in (("campaign", campaign), ("run", name)):
            if (says := record.get(key, mine)) != mine:
                what = f"says {key} {says!r}, and does not count here"
                remedy = "put the run where it belongs, then measure again"
                found.append(f"data/raw/{campaign}/runs/{name}/{folders.RECORD}: {what}; {remedy}")
    return found


def unfinished(campaign: str, base: Path) -> str:
    """Print what is missing in a campaign; keep Slurm's current records of its jobs, without waiting."""
    lines = []
    states: Mapping[str, str] = {}
    with contextlib.suppress(BenchbookError):  # the summary says it
        tidy(base, campaign)
        if on_slurm(campaign, base):
            lines = [f"  {line}" for line in started(base, campaign) if ": failed: " not in line]
            found = account(base, campaign, patience=0)
            states = found.latest
            name_ends(base, campaign, found)
            lines += [
                f"  job {job} of {run.name} ended before it had the run: Slurm says "
                f"{slurm.named_user(states[job])}"
                for job, run in without_record(base, found, found.latest).items()
            ]
    end = [*lines, *add_to_manifest(base, campaign), *stopped(base, campaign)]
    return "\n".join([summary(campaign, base, states), *end])


def mark_failed(base: Path, campaign: str, found: Account) -> list[str]:
    """Make failed attempts of runs whose job was cancelled, or lost its node, behind a good record."""
    lines = []
    # Of jobs at once the first comes last: once it is gone, the run is measured again.
    for name in sorted(folders.recorded(base, campaign), reverse=True):
        path = folders.finished(base, campaign) / name / folders.RECORD
        record = files.read_json(path)  # one that cannot be read the ingest names
        # One that has a reason already was left here by a kill between the two steps below.
        why = record.get("reason") or _ended_badly(path.parents[2], record, found)
        if files.attempted(name) or not why:
            continue
        failed = retract(path.parent, why)
        lines.append(f"{failed}: failed: {why}")
    return lines


def name_ends(base: Path, campaign: str, found: Account) -> list[str]:
    """Put Slurm's word before the reasons of failed attempts that it ended; return their names.

    Only its accounting says who cancelled a job, and a program that ended first has left an exit code
    that says nothing. A row counts for the start and the end that it has itself.
    """
    said = {}
    for job, rows in found.rows.items():
        state = str(rows[0].get("State") or "")
        if slurm.terminal(state) and state.split()[0] not in ("COMPLETED", "FAILED"):
            said[job] = f"Slurm says {slurm.named_user(state)}"
    changed = []
    for name in sorted(filter(files.attempted, folders.recorded(base, campaign))) if said else ():
        record = folders.record_of(base, campaign, name)
        why, word = str(record.get("reason") or ""), said.get(job := job_of(record), "")
        known = [text in why for one, text in _SAID.items() if one in word]
        if word and why and not any(known) and _its_end(record, found.rows[job][0], campaign):
            path = folders.finished(base, campaign) / name / folders.RECORD
            changed.append(name)
            note_reworded(base, campaign, changed)
            begun = why.removesuffix(UNKNOWN)
            reason = f"{word}: {why}" if begun == why else f"{begun}: {word}"
            folders.write_json(path, record | {"reason": reason})
    return changed


def _its_end(record: Mapping[str, Any], row: Mapping[str, Any], campaign: str) -> bool:
    """Tell whether a job ended, by its accounting row, as the run of a record did; both by the same clock."""
    own, ended = section(record, "slurm").get("start"), record.get("end")
    begin, end = (accounting.moments(row.get(name)) for name in ("Start", "End"))
    if accounting.disagreement(record, row, campaign) or not (begin and end and own):
        return False
    if ended is None:  # nothing was left to note it
        ended = end[0]
    return bool(-TURN <= own - begin[0] <= accounting.LATE and -_LIVES_ON <= end[0] - ended <= _AFTER)


def _ended_badly(raw: Path, record: Mapping[str, Any], found: Account) -> str:
    """Say how the job of a run ended, if the run cannot count for that; empty if it can."""
    job = job_of(record)
    state = found.states.get(job)
    if state is None or _other(raw, record, row := found.rows[job][0], found.campaign):
        return ""
    if state == "COMPLETED":
        # The job itself has counted whether it was while this run was measured.
        paused = 0 if "resumed" in section(record, "accounting") else accounting.suspended(row)
        return f"its job was suspended for {paused:.0f} s" if paused else ""
    said = f"Slurm says {slurm.named_user(state)}"
    if not accounting.shares(record):
        return said
    late = accounting.outlived(record, row)
    return f"it ended {late:.0f} s after its job: {said}" if late else ""


def _other(raw: Path, record: Mapping[str, Any], row: Mapping[str, Any], campaign: str) -> bool:
    """Tell whether an accounting row is of another job or start than a record's, or of a later end."""
    return bool(accounting.disagreement(record, row, campaign) or accounting.afterwards(raw, record, row))


if __name__ == "__main__":
    raise SystemExit(main())
