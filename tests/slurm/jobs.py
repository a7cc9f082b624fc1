"""Jobs on the test cluster: submit, look up, wait."""

from __future__ import annotations

import time
from pathlib import Path

from .cluster import SlurmCluster
from .machine import until

FIELDS = "JobIDRaw,State,ExitCode,ElapsedRaw,NNodes,NCPUS,NodeList"
ENDED = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY")


def submit(cluster: SlurmCluster, folder: Path, script: str, *options: str) -> str:
    """Submit a shell script and return the job id; output goes to ``<job id>.out`` in `folder`."""
    file = folder / "job.sh"
    file.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    answer = cluster.run(["sbatch", "--parsable", "--output=%j.out", *options, file], cwd=folder)
    return answer.stdout.strip()


def output(folder: Path, job: str) -> list[str]:
    """Return the lines that a job printed."""
    return (folder / f"{job}.out").read_text(encoding="utf-8").splitlines()


def record(cluster: SlurmCluster, job: str) -> dict[str, str]:
    """Return the accounting record of a job, by field; empty while there is none."""
    lines = cluster.run(
        ["sacct", "-X", "--parsable2", f"--jobs={job}", f"--format={FIELDS}"]
    ).stdout.splitlines()
    return dict(zip(lines[0].split("|"), lines[1].split("|"), strict=True)) if len(lines) > 1 else {}


def state(cluster: SlurmCluster, job: str) -> str:
    """Return the first word of the job's state in the accounting; empty while there is no record."""
    return record(cluster, job).get("State", "").partition(" ")[0]


def restarts(cluster: SlurmCluster, job: str) -> int:
    """Return how often Slurm has started a job anew, by the controller."""
    shown = cluster.run(["scontrol", "show", "job", job]).stdout
    return int(shown.partition(" Restarts=")[2].split()[0])


def running(cluster: SlurmCluster, job: str) -> None:
    """Wait until a job runs."""
    until(f"job {job} to run", lambda: state(cluster, job) == "RUNNING", every=0.2)


def ended(cluster: SlurmCluster, job: str, *, seconds: float = 60) -> dict[str, str]:
    """Wait until a job has ended, by the accounting, and return its record."""
    until(f"the end of job {job}", lambda: state(cluster, job) in ENDED, seconds=seconds, every=0.2)
    # slurmctld sends the begin of a job, its steps and its end by different ways, and a record can
    # hold the end before the begin (with one node of two): it counts once it has stayed the same.
    before: dict[str, str] = {}
    while (now := record(cluster, job)) != before:
        before = now
        time.sleep(1.5)
    return now
