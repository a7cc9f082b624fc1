"""``python -m analysis.measure.resume CAMPAIGN``: what an earlier start has left, and is still good.

A workflow that was killed leaves jobs in Slurm's queue. They are waited for and not submitted again.
"""

import json
import os
import shutil
import socket
import sys
import time
from contextlib import ExitStack
from functools import lru_cache
from pathlib import Path

from analysis.base import files, project, shell
from analysis.base.errors import BenchbookError, ConfigError
from analysis.measure import folders, waiting
from analysis.measure.ghosts import Ghosts
from analysis.measure.workflow import on_slurm, plan, sharing

_LOCK = ".workflow"
_INTERVAL = 10.0


def lock(campaign: str, base: Path) -> ExitStack:
    """Keep a second workflow from measuring a campaign until the stack is closed or the process ends.

    Without Slurm also one that measures another campaign: both would share the machine. `ConfigError` if
    there is one. Where the file system knows no locks, only the runs protect themselves.
    """
    folder = folders.running(base, campaign)
    folder.mkdir(parents=True, exist_ok=True)
    stack = ExitStack()
    try:
        _acquire(stack, folder / _LOCK, campaign, "is being measured by another Snakemake")
        if not on_slurm(campaign, base):
            # One file for each host: a folder may be shared by several machines.
            path = folder.parent / f"{_LOCK}-{socket.gethostname()}"
            _acquire(stack, path, campaign, "would share this machine with another campaign")
    except ConfigError:
        stack.close()
        raise
    return stack


def _acquire(stack: ExitStack, path: Path, campaign: str, otherwise: str) -> None:
    own = {"host": socket.gethostname(), "pid": os.getpid(), "campaign": campaign}
    try:
        stack.enter_context(files.lock(path, json.dumps(own)))
    except files.LockedError as error:
        remedy = "wait for it, or end it and give the command again"
        raise ConfigError.at(campaign, 0, f"{otherwise} ({error})", remedy) from None


def check_start(campaign: str, base: Path, *, slurm: bool) -> None:
    """Refuse to measure on another cluster: records name the cluster of the campaign.

    `ConfigError` if the cluster has Slurm and jobs are not handed to it (`slurm`), or the other way round, or
    if Slurm does not answer.
    """
    source = plan(campaign, base).declared.cluster.source
    if on_slurm(campaign, base) != slurm:
        found = "scheduler: slurm, and no profile" if not slurm else "scheduler: none, and a profile"
        remedy = "add --profile slurm" if not slurm else "leave --profile slurm out"
        raise ConfigError.at(source, 0, found, remedy)
    if not slurm:
        return
    if shutil.which("scontrol") is None:
        what = "no Slurm on this machine (no command scontrol)"
        raise ConfigError.at("Slurm", 0, what, "log in on the cluster and give the command there")
    answer = shell.run(["scontrol", "ping"], 60)
    if answer.code != 0:
        lines = (answer.err or answer.out).strip().splitlines() or ["no answer"]
        raise ConfigError.at("Slurm", 0, lines[-1], "give the command again when its controller answers")


@lru_cache(maxsize=4)
def adopted(campaign: str, base: Path) -> frozenset[str]:
    """Return the runs that had a job in Slurm's queue when first asked: another must not be submitted."""
    first = queued(campaign, base) or {}
    return frozenset(first).union(*(sharing(campaign, run, base) for run in first))


def queued(campaign: str, base: Path) -> dict[str, str] | None:
    """Ask Slurm, in one question, which runs have a job of this user and folder that waits or runs.

    Returns run -> job; None where Slurm does not answer.
    """
    rows = waiting.queue(campaign, base)
    return None if rows is None else {row[0]: row[1] for row in rows}


def main(argv: list[str] | None = None) -> int:
    """Wait until no job of a campaign is left; 0."""
    (campaign,) = sys.argv[1:] if argv is None else argv
    base = project.root()
    try:
        announced, said, ghosts = False, list[str](), Ghosts(campaign, base)
        while (left := queued(campaign, base)) is None or left:
            if left and not announced:
                jobs = ", ".join(sorted(left.values(), key=int))
                what = f"waiting for {len(left)} runs that an earlier start has submitted: {jobs}"
                print(f"{campaign}: {what}", flush=True)
                announced = True
            lines = waiting.lines(waiting.jobs(campaign, base) or [])
            for line in lines:
                if line not in said:
                    print(line, flush=True)
            said = lines
            for line in ghosts.end():
                print(line, flush=True)
            time.sleep(_INTERVAL)
    except BenchbookError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
