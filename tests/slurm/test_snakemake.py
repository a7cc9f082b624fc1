from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from . import daemons, jobs
from .campaigns import SMALLER, finish
from .cluster import SlurmCluster
from .machine import until

pytestmark = pytest.mark.slurm

PROFILE = Path(__file__).parents[2] / "slurm"
SNAKEFILE = Path(__file__).with_name("programs") / "Snakefile"

# Without these the executor loses its jobs, and waits for ever, when five queries have failed.
PATIENCE = ("--slurm-status-attempts=100000", "--max-status-checks-per-second=0.5")


def snakemake(cluster: SlurmCluster, folder: Path, target: str, *options: str) -> subprocess.Popen[str]:
    """Start Snakemake as a user of the cluster does, with the project's profile."""
    command = [
        "-m",
        "snakemake",
        "--profile",
        str(PROFILE),
        "--snakefile",
        str(SNAKEFILE),
        *PATIENCE,
        *SMALLER,
    ]
    return cluster.popen([sys.executable, *command, *options, "--", target], cwd=folder)


def job_of(folder: Path) -> str:
    """Wait until the rule ``wait`` runs and return its job id."""
    begun = folder / "begun"
    until(
        "the job to begin", lambda: begun.exists() and begun.read_text(encoding="ascii").strip(), seconds=60
    )
    return begun.read_text(encoding="ascii").strip()


def test_snakemake__runs_a_workflow_of_three_jobs(
    cluster: SlurmCluster, programs: dict[str, Path], tmp_path: Path
) -> None:
    run = snakemake(
        cluster, tmp_path, "gather.txt", "--config", f"program={programs['openmpi']}", "seconds=0"
    )
    status, said = finish(run, 120)
    assert status == 0, said
    lines = (tmp_path / "gather.txt").read_text(encoding="utf-8").splitlines()
    assert [line.rpartition(" on ")[0] for line in lines] == ["serial", "rank 0 of 2", "rank 1 of 2"]
    assert len({line.rpartition(" on ")[2] for line in lines[1:]}) == 2
    assert said.count("has been submitted with SLURM jobid") == 3


def test_snakemake__ends_when_its_job_is_cancelled(cluster: SlurmCluster, tmp_path: Path) -> None:
    run = snakemake(cluster, tmp_path, "waited.txt", "--config", "program=none", "seconds=600")
    job = job_of(tmp_path)
    cluster.run(["scancel", job])
    status, said = finish(run, 120)
    assert status == 1
    assert f"SLURM-job '{job}' failed, SLURM status is: 'CANCELLED'" in said
    assert jobs.ended(cluster, job)["State"] == "CANCELLED by 0"
    assert not (tmp_path / "waited.txt").exists()


def test_snakemake__outlives_an_outage_of_controller_and_accounting(
    cluster: SlurmCluster, tmp_path: Path
) -> None:
    run = snakemake(cluster, tmp_path, "waited.txt", "--config", "program=none", "seconds=10")
    job = job_of(tmp_path)
    cluster.stop_controller()
    daemons.stop(cluster.run, cluster.base, "slurmdbd")
    # Long enough that the second look at the jobs falls into it, and that the job ends meanwhile.
    time.sleep(25)
    daemons.start_slurmdbd(cluster.run, cluster.base)
    cluster.start_controller()
    status, said = finish(run, 150)
    assert status == 0, said
    assert (tmp_path / "waited.txt").read_text(encoding="utf-8") == "done\n"
    assert jobs.ended(cluster, job)["State"] == "COMPLETED"
    assert jobs.restarts(cluster, job) == 0
