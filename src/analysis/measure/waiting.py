"""Jobs of a campaign that wait in Slurm's queue: Slurm's own reason, what it means, and what you can do."""

import os
import re
import shutil
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from analysis.base.slurm import NoAnswerError, ask
from analysis.measure.workflow import COMMENT, all_runs, on_slurm

_SHOWN = 20  # jobs of one reason
# Slurm's reasons by their beginning, what they mean, and what you can do. Without the latter the job starts
# by itself. The first that fits counts.
_REASONS = (
    ("BeginTime", "it starts at {begin} or later: Slurm pauses before it starts a job again", ""),
    ("Priority", "jobs with a higher priority come first", ""),
    ("Resources", "no node is free for it", ""),
    ("WaitingForScheduling|None|$", "Slurm has not looked at it yet", ""),
    ("Cleaning|Prolog", "Slurm still tidies up, or prepares a node", ""),
    ("JobHeldUser", "you, or an operator, hold it", "scontrol release {jobs}"),
    ("JobHeldAdmin", "an administrator holds it", "ask why; an administrator can release it"),
    ("launch failed|job requeued in held|JobHoldMaxRequeue|JobLaunchFailure|RequeuedHeld",
     "Slurm could not start it, or started it too often, and holds it",
     "scontrol release {jobs}, or scancel {jobs} and give the same command again"),
    ("ReqNodeNotAvail.*[Mm]aint", "its nodes are reserved for maintenance", ""),
    ("ReqNodeNotAvail|Nodes required|NodeDown", "the nodes that it may use are down, drained or reserved",
     "sinfo -R shows which nodes and why; an administrator can resume them"),
    ("Partition(Down|Inactive)", "its partition is closed", "sinfo shows the partitions that are up"),
    ("PartitionNodeLimit|PartitionTimeLimit|PartitionConfig",
     "it asks for more nodes or time than its partition allows, or nodes of it are down",
     "scontrol show partition shows the limits; change nodes, minutes or partition in the cluster's file"),
    ("BadConstraints", "no node has what it asks for",
     "sinfo -o '%n %f %m' shows features and memory; change constraint or memory in the cluster's file"),
    ("InvalidAccount|InvalidQOS", "its account or QOS is not valid", "put it right in the cluster's file"),
    ("DependencyNeverSatisfied", "it depends on a job that failed", "scancel {jobs}"),
    ("Dependency|Licenses|Reservation$", "it waits for another job, a licence or a reservation", ""),
    ("Assoc|QOS", "a limit of your account, user or QOS is reached",
     "sacctmgr show assoc user=$USER and sacctmgr show qos show the limits"),
)  # fmt: skip


@dataclass(frozen=True)
class Waiting:
    """A run whose job waits in the queue."""

    run: str
    job: str
    reason: str  # Slurm's own word
    begin: str  # when Slurm will start it, as far as it knows


def queue(campaign: str, base: Path, *cells: str, states: str = "") -> list[tuple[str, ...]] | None:
    """Ask Slurm, in one question, for the jobs of a campaign in its queue, of this user and folder.

    Returns run, job and further cells, in squeue's format, of each; None where Slurm does not answer.
    """
    if not on_slurm(campaign, base) or shutil.which("squeue") is None:
        return []
    # The comment is how the executor names what a job is for.
    form = "|".join(["%A", *cells, "%k", "%Z"])
    chosen = [f"--states={states}"] * bool(states)
    try:
        listed = ask(["squeue", "--noheader", "--me", *chosen, f"--format={form}"])
    except NoAnswerError:
        return None
    runs = {f"{COMMENT}{campaign}_{run.name}": run.name for run in all_runs(campaign, base)}
    parts = (line.strip().split("|", len(cells) + 2) for line in listed.splitlines())
    rows = (row for row in parts if len(row) == len(cells) + 3)
    here = os.path.realpath(base)
    return [
        (runs[comment], *row)
        for *row, comment, folder in rows
        if comment in runs and os.path.realpath(folder) == here
    ]


def jobs(campaign: str, base: Path) -> list[Waiting] | None:
    """Ask Slurm for the waiting jobs of a campaign, see `queue`, by number; None where it does not answer."""
    rows = queue(campaign, base, "%r", "%S", states="PENDING")
    found = [Waiting(run, job, why.replace("_", " ").strip("() "), at) for run, job, why, at in rows or ()]
    return None if rows is None else sorted(found, key=lambda one: int(one.job))


def lines(waiting: list[Waiting], *, stuck: bool = False) -> list[str]:
    """Write a line for each reason with its jobs; only what does not start without the user if `stuck`."""
    groups: dict[tuple[str, str], list[Waiting]] = defaultdict(list)
    for one in waiting:
        groups[one.reason, one.begin if one.reason == "BeginTime" else ""].append(one)
    found = []
    for (reason, begin), mine in groups.items():
        meaning, step = _meaning(reason)
        if stuck and not step:
            continue
        numbers = ",".join(one.job for one in mine)
        if len(mine) == 1:
            head = f"job {numbers} of {mine[0].run} waits"
        else:
            named = ", ".join(one.job for one in mine[:_SHOWN])
            more = f" and {len(mine) - _SHOWN} more" if len(mine) > _SHOWN else ""
            head = f"{len(mine)} jobs wait ({named}{more})"
        then = step.format(jobs=numbers) if step else ""
        what = meaning.format(begin=begin.replace("T", " "))
        found.append(f"  {head}: Slurm says {reason}: {what}" + (f"; {then}" if then else ""))
    return found


def _meaning(reason: str) -> tuple[str, str]:
    """Return what a reason means and what to do, empty if nothing."""
    for pattern, meaning, step in _REASONS:
        if re.match(pattern, reason):
            return meaning, step
    return "see REASON in man squeue", "scontrol show job {jobs} shows more"
