"""``python -m analysis.measure.finish CAMPAIGN``: after the last run, what is there, and Slurm's records."""

import contextlib
import shutil
import sys
from collections.abc import Collection
from pathlib import Path

from analysis.base import files, project
from analysis.base.errors import BenchbookError
from analysis.measure import folders
from analysis.measure.accounting import SACCT, Account, account, without_record
from analysis.measure.job import allocate
from analysis.measure.launch import recover
from analysis.measure.record import retract
from analysis.measure.workflow import missing, on_slurm, plan, summary
from analysis.provenance import manifest


def main(argv: list[str] | None = None) -> int:
    """Finish a campaign; 1 if runs are missing, each named."""
    (campaign,) = sys.argv[1:] if argv is None else argv
    base = project.root()
    try:
        if missing(campaign, base):
            print(unfinished(campaign, base), file=sys.stderr)
            return 1
        tidy(base, campaign)
        found = Account(campaign)
        if on_slurm(campaign, base):
            # What is there stands in the manifest before Slurm is waited for, and what it says follows.
            add_to_manifest(base, campaign)
            print(found := account(base, campaign, written=lambda: add_to_manifest(base, campaign)))
        for line in [*lost(base, found), *mark_failed(base, campaign, found)]:
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
    with contextlib.suppress(BenchbookError):  # the summary says it
        if on_slurm(campaign, base):
            found = account(base, campaign, patience=0)
            lines = [
                f"  job {job} of {run.name} ended before it had the run: Slurm says {found.latest[job]}"
                for job, run in without_record(base, found, found.latest).items()
            ]
    return "\n".join([summary(campaign, base), *lines, *add_to_manifest(base, campaign)])


def add_to_manifest(base: Path, campaign: str) -> list[str]:
    """Add what was measured to the campaign's manifest, so that a later change is found; say why not."""
    folder = folders.finished(base, campaign).parent
    if not folder.is_dir():
        return []

    def renewed(named: Collection[str]) -> set[str]:
        gone = tuple(f"runs/{name}/" for name in _retracted(base, campaign, named))
        return {name for name in named if name == SACCT or name.startswith(gone)}

    return [str(fault) for fault in manifest.extend(folder, f"data/raw/{campaign}", renewed)]


def _retracted(base: Path, campaign: str, named: Collection[str]) -> set[str]:
    """Return the runs that have become failed attempts, under other names, since a manifest was written."""
    known = {name.split("/")[1] for name in named if name.startswith("runs/")}
    new = (name for name in folders.recorded(base, campaign) - known if ".failed-" in name)
    records = (files.read_json(folders.finished(base, campaign) / name / folders.RECORD) for name in new)
    return {str(record["attempt_at"]) for record in records if record.get("retracted")}


def tidy(base: Path, campaign: str) -> None:
    """Record what killed jobs left and no later job of the same run has found."""
    for work in sorted(folders.running(base, campaign).glob("*")):
        with contextlib.suppress(folders.BusyError):
            if work.is_dir() and not folders.alive(work):
                shutil.rmtree(work) if work.name.startswith(".") else recover(work)
    runs = folders.finished(base, campaign)
    for path in list(runs.iterdir()) if runs.is_dir() else ():
        folders.drop_empty(base, campaign, path.name)  # Snakemake makes them, and a kill leaves them


def lost(base: Path, found: Account) -> list[str]:
    """Record jobs that ended badly before they had their run: a failed attempt and a line each."""
    lines = []
    declared = plan(found.campaign, base).declared
    for job, run in without_record(base, found, found.states).items():
        hosts = ["unknown"] * run.nodes  # which nodes they were stands in Slurm's record
        for own in allocate(declared, run, hosts).jobs:
            name = folders.failed_name(base, found.campaign, own.name)
            why = f"it ended before it had the run: Slurm says {found.states[job]}"
            known = {"run": name, "attempt_at": own.name, "job_id": job, "node_list": [], "reason": why}
            folder = folders.running(base, found.campaign) / f".{name}"
            folder.mkdir(parents=True)
            folders.write_json(folder / folders.RECORD, {**own.head, **known, "exit_code": None})
            folders.publish(folder, base, found.campaign, name)
            lines.append(f"{name}: failed: {why}")
    return lines


def mark_failed(base: Path, campaign: str, found: Account) -> list[str]:
    """Make failed attempts of runs whose job was cancelled, or lost its node, behind a good record."""
    lines = []
    # Of jobs at once the first comes last: once it is gone, the run is measured again.
    for name in sorted(folders.recorded(base, campaign), reverse=True):
        path = folders.finished(base, campaign) / name / folders.RECORD
        record = files.read_json(path)  # one that cannot be read the ingest names
        state = found.states.get(str(record.get("job_id", "")), "COMPLETED")
        # One that has a reason already was left here by a kill between the two steps below.
        if ".failed-" in name or (state == "COMPLETED" and not record.get("reason")):
            continue
        why = record.get("reason") or f"Slurm says {state}"
        failed = retract(path.parent, why)
        lines.append(f"{failed}: failed: {why}")
    return lines


if __name__ == "__main__":
    raise SystemExit(main())
