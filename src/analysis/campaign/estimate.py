"""What a campaign costs, before anything is submitted: node hours, and how long it takes by itself."""

from __future__ import annotations

import heapq
import math
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from analysis.campaign.matrix import Plan, Run

# Where an application's file does not say how long a case takes, a share of the time limit stands for it.
_SHARE_OF_LIMIT = 0.5


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of some runs.

    Attributes
    ----------
    runs : int
    node_hours : float
        By the seconds that the applications' files expect, start-up included.
    node_hours_limit : float
        If every job ran into its time limit.
    duration : float
        Seconds from first start to last end with all the nodes that the cluster's file gives, run in
        order and without other users.
    """

    runs: int
    node_hours: float
    node_hours_limit: float
    duration: float


def seconds(run: Run, start_up: float) -> float:
    """Return how long a run's job is expected to take, in seconds, never more than its limit."""
    expected = _SHARE_OF_LIMIT * 60 * run.minutes if math.isnan(run.seconds) else run.seconds + start_up
    return min(expected, 60.0 * run.minutes)


def cost(plan: Plan, runs: Sequence[Run]) -> Cost:
    """Work out what some runs of a plan cost.

    Parameters
    ----------
    plan : Plan
    runs : sequence of Run
        In the order in which they are submitted.

    Notes
    -----
    The duration is that of a list schedule: each run starts as soon as its nodes are free and all
    before it have started.
    """
    launch = plan.declared.launch
    start_up = float(launch.get("start_up", 5))
    free = [0.0] * int(launch["nodes"])  # when each node becomes free
    last = 0.0
    total = limit = 0.0
    for run in runs:
        took = seconds(run, start_up)
        taken = [heapq.heappop(free) for _ in range(run.nodes)]
        last = max(last, taken[-1])  # in order: no run overtakes
        for _ in taken:
            heapq.heappush(free, last + took)
        total += run.nodes * took / 3600
        limit += run.nodes * run.minutes / 60
    return Cost(len(runs), total, limit, max(free, default=0.0) if runs else 0.0)


def duration(span: float) -> str:
    """Write a time span, given in seconds, with as many digits as an estimate supports."""
    if span < 120:
        return f"{span:.0f} s"
    minutes = round(span / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60:02d} min"


def queue_guess(plan: Plan, runs: Sequence[Run]) -> str:
    """Ask Slurm when the largest of some runs could start; nothing is submitted.

    Returns
    -------
    str
        One line; says so where there is no Slurm to ask.
    """
    if plan.declared.launch["scheduler"] != "slurm":
        return "no queue: runs are started one after the other on this machine"
    if not runs:
        return "nothing is left to wait for"
    if shutil.which("sbatch") is None:
        return "no Slurm here to ask; the duration above is without waiting for others"
    largest = max(runs, key=lambda run: (run.nodes, run.minutes))
    launch = plan.declared.launch
    command = [
        "sbatch",
        "--test-only",
        f"--nodes={largest.nodes}",
        f"--time={largest.minutes}",
        "--wrap=true",
    ]
    command += [
        f"--{name}={launch[name]}" for name in ("partition", "account", "constraint") if name in launch
    ]
    command += ["--exclusive"] if launch.get("exclusive", True) else []
    try:
        asked = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"Slurm does not answer ({error})"
    lines = [line.removeprefix("sbatch: ") for line in asked.stderr.splitlines() if line.strip()]
    said = lines[-1] if lines else "no answer"
    return f"Slurm on the largest ({largest.nodes} nodes, {largest.minutes} min): {said}"
