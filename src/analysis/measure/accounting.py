"""Slurm's records of a campaign's jobs: also of those that were killed, with or without a record of ours."""

from __future__ import annotations

import csv
import io
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from analysis.base import files, slurm
from analysis.base.errors import ConfigError
from analysis.measure import folders
from analysis.measure.matrix import Run
from analysis.measure.workflow import plan

FIELDS = (
    "JobID,JobName,Comment,State,ExitCode,Submit,Start,End,Elapsed,ElapsedRaw,NNodes,NCPUS,NodeList,"
    "MaxRSS,AveRSS,TotalCPU,ConsumedEnergyRaw,AllocTRES"
)
SACCT = "sacct.txt"
PATIENCE = 300.0
INTERVAL = 30.0
# Where the profile keeps the output of Slurm's jobs: <rule>/<wildcards>/<job>.log.
LOGS = Path("results/logs/slurm/rule_run")
# A command line has its limits.
_JOBS_AT_ONCE = 1000

Rows = list[dict[str, str]]


@dataclass(frozen=True)
class Account:
    """What Slurm says of a campaign's jobs."""

    campaign: str
    jobs: Mapping[str, str] = field(default_factory=dict)  # -> its run; empty where only a record names it
    states: Mapping[str, str] = field(default_factory=dict)  # of the jobs whose record is final
    latest: Mapping[str, str] = field(default_factory=dict)  # may yet change; of all jobs that Slurm knows

    def __str__(self) -> str:
        if not self.jobs:
            return f"{self.campaign}: no job of Slurm"
        left = sorted(set(self.jobs) - set(self.states), key=int)
        counts = f"{len(self.states)} of {len(self.jobs)} records of Slurm are final, in {SACCT}"
        return f"{self.campaign}: {counts}" + (f"; not final: {', '.join(left[:20])}" if left else "")


def account(base: Path, campaign: str, *, patience: float = PATIENCE, interval: float = INTERVAL) -> Account:
    """Keep Slurm's records of a campaign's jobs in ``sacct.txt``, asking for all of them at once.

    For `patience` seconds the records may be on their way, or the accounting be away. `interval` seconds lie
    between two questions; a record is final when two answers are equal, and what was kept so long ago is one.
    """
    target = folders.finished(base, campaign).parent / SACCT
    known = dict.fromkeys(recorded(base, campaign), "") | submitted(base, campaign)
    jobs = sorted(known, key=int)
    readings: dict[str, list[Rows]] = defaultdict(list)
    for job, rows in _kept(target, interval).items():
        readings[job].append(rows)
    deadline = time.monotonic() + patience
    announced, done = False, list[str]()
    while jobs:
        text = _ask(jobs)
        for job, rows in by_job(text).items():
            readings[job].append(rows)
        done = [job for job in jobs if slurm.final([_states(rows) for rows in readings[job]])]
        if text:
            files.write_text(target, text)
        if len(done) == len(jobs) or time.monotonic() + interval > deadline:
            break
        if not announced:
            what = f"waiting for Slurm's last word on {len(jobs) - len(done)} jobs, at most {patience:.0f} s"
            print(f"{campaign}: {what}", file=sys.stderr)
            announced = True
        time.sleep(interval)
    latest = {job: readings[job][-1][0]["State"] for job in jobs if readings[job]}
    return Account(campaign, known, {job: latest[job] for job in done}, latest)


def recorded(base: Path, campaign: str) -> set[str]:
    """Return the Slurm jobs that a campaign's records name."""
    paths = (folders.finished(base, campaign) / name for name in folders.recorded(base, campaign))
    jobs = {str(files.read_json(path / folders.RECORD).get("job_id", "")) for path in paths}
    return {job for job in jobs if job.isdecimal()}


def submitted(base: Path, campaign: str) -> dict[str, str]:
    """Return the Slurm jobs started for a campaign -> its run, by their logs: a killed one leaves no more."""
    found = {}
    for log in (base / LOGS).glob(f"{campaign}_*/*.log"):
        name = log.parent.name.removeprefix(f"{campaign}_")
        with suppress(ConfigError):  # another campaign's, or no longer in the matrix
            if log.stem.isdecimal():
                found[log.stem] = plan(campaign, base).run(name).name
    return found


def without_record(base: Path, found: Account, states: Mapping[str, str]) -> dict[str, Run]:
    """Return the jobs that ended badly before they had their run -> that run; by final or latest states."""
    mine = recorded(base, found.campaign)
    return {
        job: plan(found.campaign, base).run(found.jobs[job])
        for job in sorted(states, key=int)
        if job not in mine and slurm.terminal(states[job]) and states[job] != "COMPLETED"
    }


def _ask(jobs: Sequence[str]) -> str:
    """Ask sacct for the records of some jobs; empty while it does not answer."""
    parts = []
    for at in range(0, len(jobs), _JOBS_AT_ONCE):
        chosen = f"--jobs={','.join(jobs[at : at + _JOBS_AT_ONCE])}"
        try:
            text = slurm.ask(["sacct", "--parsable2", f"--format={FIELDS}", chosen], 120)
        except slurm.NoAnswerError:
            return ""
        parts.append(text if at == 0 else text.partition("\n")[2])
    return "".join(parts)


def by_job(text: str) -> Mapping[str, Rows]:
    """Sort the rows of sacct's answer by job: the job's own row first, then its steps'."""
    found: dict[str, Rows] = defaultdict(list)
    for row in csv.DictReader(io.StringIO(text), delimiter="|", quoting=csv.QUOTE_NONE):
        found[row["JobID"].partition(".")[0]].append(row)
    return found


def _kept(path: Path, age: float) -> Mapping[str, Rows]:
    try:
        old_enough = time.time() - path.stat().st_mtime >= age
        text = path.read_text(encoding="utf-8") if old_enough else ""
    except (OSError, UnicodeDecodeError):
        return {}
    return by_job(text) if text.startswith("JobID|") else {}


def _states(rows: Rows) -> Rows:
    return [{key.lower(): value for key, value in row.items() if value is not None} for row in rows]
