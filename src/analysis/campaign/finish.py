"""``python -m analysis.campaign.finish CAMPAIGN``: after the last run, what is there, and Slurm's records."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from analysis import project
from analysis.campaign import folders
from analysis.campaign.workflow import missing, on_slurm, plan, summary
from analysis.errors import BenchbookError
from analysis.provenance.slurm import final

FIELDS = (
    "JobID,JobName,Comment,State,ExitCode,Submit,Start,End,Elapsed,ElapsedRaw,NNodes,NCPUS,NodeList,"
    "MaxRSS,AveRSS,TotalCPU,ConsumedEnergyRaw,AllocTRES"
)
SACCT = "sacct.txt"
PATIENCE = 300.0
INTERVAL = 30.0
# A command line has its limits.
_JOBS_AT_ONCE = 1000


def main(argv: list[str] | None = None) -> int:
    """Finish a campaign; 1 if runs are missing, each named."""
    (campaign,) = sys.argv[1:] if argv is None else argv
    base = project.root()
    try:
        if left := missing(campaign, base):
            print(summary(campaign, base), file=sys.stderr)
            return int(bool(left))
        if on_slurm(campaign, base):
            print(account(base, campaign))
        print(f"{campaign}: all {len(plan(campaign, base).runs)} runs of the matrix are there")
    except BenchbookError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def account(base: Path, campaign: str, *, patience: float = PATIENCE, interval: float = INTERVAL) -> str:
    """Keep Slurm's records of a campaign's jobs, asking for all of them at once.

    Parameters
    ----------
    base : Path
    campaign : str
    patience : float, optional
        Seconds for which the records may be on their way, or the accounting be away.
    interval : float, optional
        Seconds between two questions; a record is kept when two answers are equal.

    Returns
    -------
    str
        One line that says what was kept. ``sacct.txt`` in the campaign's folder is written anew.
    """
    target = folders.finished(base, campaign).parent / SACCT
    jobs = sorted(job_ids(base, campaign), key=int)
    if not jobs:
        return f"{campaign}: no job of Slurm"
    deadline = time.monotonic() + patience
    readings: dict[str, list[list[dict[str, str]]]] = defaultdict(list)
    while True:
        text = ask(jobs)
        for job, rows in by_job(text).items():
            readings[job].append(rows)
        done = [job for job in jobs if final([_states(rows) for rows in readings[job]])]
        if len(done) == len(jobs) or time.monotonic() + interval > deadline:
            break
        time.sleep(interval)
    if text:
        beside = target.with_name(f".{SACCT}.part")
        beside.write_text(text, encoding="utf-8")
        beside.replace(target)
    left = (
        f"; not final: {', '.join(sorted(set(jobs) - set(done), key=int)[:20])}"
        if len(done) < len(jobs)
        else ""
    )
    return f"{campaign}: {len(done)} of {len(jobs)} records of Slurm are final, in {target.name}{left}"


def job_ids(base: Path, campaign: str) -> set[str]:
    """Return the Slurm jobs that a campaign's records name."""
    found = set()
    for name in folders.recorded(base, campaign):
        path = folders.finished(base, campaign) / name / folders.RECORD
        try:
            found.add(str(json.loads(path.read_text(encoding="utf-8")).get("job_id", "")))
        except (OSError, ValueError):
            continue  # the ingest names it
    return {job for job in found if job.isdecimal()}


def ask(jobs: Sequence[str]) -> str:
    """Ask sacct for the records of some jobs; empty while it does not answer."""
    parts = []
    for at in range(0, len(jobs), _JOBS_AT_ONCE):
        command = [
            "sacct",
            "--parsable2",
            f"--format={FIELDS}",
            f"--jobs={','.join(jobs[at : at + _JOBS_AT_ONCE])}",
        ]
        try:
            asked = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return ""
        if asked.returncode:
            return ""
        parts.append(asked.stdout if at == 0 else asked.stdout.partition("\n")[2])
    return "".join(parts)


def by_job(text: str) -> Mapping[str, list[dict[str, str]]]:
    """Sort the rows of sacct's answer by job: the job's own row first, then its steps'."""
    found: dict[str, list[dict[str, str]]] = defaultdict(list)
    for row in csv.DictReader(io.StringIO(text), delimiter="|", quoting=csv.QUOTE_NONE):
        found[row["JobID"].partition(".")[0]].append(row)
    return found


def _states(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    return [{key.lower(): value for key, value in row.items() if value is not None} for row in rows]


if __name__ == "__main__":
    raise SystemExit(main())
