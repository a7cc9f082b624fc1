"""A campaign on the test cluster: its declarations, its start by a user, and what it leaves."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from .cluster import SlurmCluster
from .machine import BUSY, until

ROOT = Path(__file__).parents[2]
MPICC = Path(__file__).with_name("programs") / "mpicc"  # of MPICH

# Of the profile's settings only those that cost time or memory are made smaller for the tests.
SMALLER = (
    "--slurm-init-seconds-before-status-checks=3",
    "--seconds-between-status-checks=3",
    "--latency-wait=5",
    "--default-resources", "mem_mb=200", "runtime=5", "tasks=1",
)  # fmt: skip

# The part of `launch` that lets Open MPI's ranks run as root and meet on the cluster's own network.
OPENMPI = """\
  environment:
    OMPI_ALLOW_RUN_AS_ROOT: 1
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: 1
    OMPI_MCA_btl_tcp_if_include: 10.77.0.0/24
    OMPI_MCA_oob_tcp_if_include: 10.77.0.0/24
"""

# Each node declares eight cores in two sockets; the host that plays all of them has two.
CLUSTER = f"""\
title: four nodes of the test cluster
facts: []
launch:
  scheduler: slurm
  nodes: 4
  cores: ["0", "1"]
  memory: 1000
  minutes: 3
  partition: bench
  account: bench
{OPENMPI}  mpi:
    openmpi:
      {{family: openmpi, name: Open MPI, start: mpirun, launcher: mpirun.openmpi, compiler: mpicc.openmpi}}
    pmix: {{family: openmpi, name: Open MPI by srun, start: srun-pmix, compiler: mpicc.openmpi}}
    pmi2: {{family: mpich, name: MPICH, start: srun-pmi2, compiler: {MPICC}}}
  cpu:
    ivybridge: {{constraint: ivybridge}}
    haswell: {{constraint: haswell}}
  applications:
    proxy: {{build: proxy}}
    hpcc: {{program: hpcc}}
"""

# n1 and n3 are the ivybridge nodes, n2 and n4 the haswell ones.
CAMPAIGN = """\
title: nine jobs on the test cluster
evidence: measured
hardware: one host that plays four nodes
matrix:
  cluster: testbed
  repeats: 1
  subsets:
    - name: launchers
      why: each way to start ranks has to work over two nodes
      application: proxy
      case: short
      factors: {nodes: [1, 2], ranks_per_node: 2, mpi: [openmpi, pmix, pmi2]}
      exclude:
        - {when: {nodes: 1, mpi: [pmix, pmi2]}, why: one node is started in one way only}
    - name: cpus
      why: nodes are chosen by a constraint of Slurm
      application: proxy
      case: short
      factors: {cpu: [ivybridge, haswell], nodes: 1, ranks_per_node: 2, mpi: openmpi}
    - name: placement
      why: two jobs at once share the nodes, each with a core of its own
      application: proxy
      case: short
      factors: {nodes: 2, concurrent_jobs: 2, ranks_per_node: 1, mpi: [openmpi, pmix]}
"""

HPCC = """\
    - name: hpcc
      why: a benchmark that others wrote leaves its own result file
      application: hpcc
      case: tiny
      factors: {nodes: 2, ranks_per_node: 1, mpi: openmpi}
"""

# What a program of the shell prints in place of the proxy.
RESULT = """\
echo "proxy result: version=1 pattern=mixed ranks={ranks} bytes=4096 count=100 work=0" \\
    "time=1 time_min=1 io_time=0 checksum=0 errors=0"
"""

# Where runs lie while they are measured.
RUNNING = "data/raw/.running/few"


def make_project(base: Path) -> Path:
    """Lay out a project with the real workflow and a campaign called ``few``."""
    for name in ("workflow", "slurm", "config/applications", "src/proxy"):
        shutil.copytree(ROOT / name, base / name)
    shutil.copy(ROOT / "environment.yml", base)
    for name in ("analysis", "analysis/site", "analysis/site/templates"):
        (base / "src" / name).mkdir()
    (base / "config/config.yaml").write_text("campaigns: [few]\nreports: {}\npages: []\n", encoding="utf-8")
    (base / "data/raw/few").mkdir(parents=True)
    (base / "config/clusters").mkdir()
    (base / "config/clusters/testbed.yaml").write_text(CLUSTER, encoding="utf-8")
    (base / "config/campaigns").mkdir()
    text = CAMPAIGN + (HPCC if shutil.which("hpcc") else "")
    (base / "config/campaigns/few.yaml").write_text(text, encoding="utf-8")
    return base


def use_program(base: Path, text: str, *changes: tuple[str, str], more: str = "") -> None:
    """Put a program of the shell in the proxy's place; change, and add to, the rest of the cluster's file."""
    program = base / "program.sh"
    program.write_text(text, encoding="utf-8")
    program.chmod(0o755)
    cluster = CLUSTER
    for old, new in (("proxy: {build: proxy}", f"proxy: {{program: {program}}}"), *changes):
        assert old in cluster
        cluster = cluster.replace(old, new)
    (base / "config/clusters/testbed.yaml").write_text(cluster + more, encoding="utf-8")


def use_factors(base: Path, nodes: int = 1, *, jobs: int = 1, repeats: int = 1) -> None:
    """Make the campaign one of a single cell, with one rank of Open MPI on each node of each job."""
    factors = f"{{nodes: {nodes}, concurrent_jobs: {jobs}, ranks_per_node: 1, mpi: openmpi}}"
    head = CAMPAIGN.partition("      factors:")[0].replace("repeats: 1", f"repeats: {repeats}")
    (base / "config/campaigns/few.yaml").write_text(f"{head}      factors: {factors}\n", encoding="utf-8")


def command(*options: str) -> list[str]:
    """Return the command by which a user measures, only with less patience."""
    words = ["--profile", "slurm", "measure", "--config", "measure=few", *SMALLER, *options]
    return [sys.executable, "-m", "snakemake", *words]


def start(cluster: SlurmCluster, base: Path, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
    """Measure as a user does."""
    return cluster.popen(command(), cwd=base, env=env)


def finish(process: subprocess.Popen[str], seconds: float) -> tuple[int, str]:
    """Wait for Snakemake; it shall never be waited for in vain."""
    try:
        out, err = process.communicate(timeout=BUSY * seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        pytest.fail(f"Snakemake still waits after {BUSY * seconds:g} s:\n{out}{err}")
    return process.returncode, out + err


def begun(run: subprocess.Popen[str], base: Path, *, seconds: float = 90) -> Path:
    """Wait until the first rank of the only run is there; return the folder in which it is measured."""

    def runs() -> bool:
        if run.poll() is not None:
            pytest.fail(f"Snakemake ended:\n{''.join(run.communicate())}")
        return any((base / RUNNING).glob("*/1/.binding/0"))

    until("the program to run", runs, seconds=seconds, every=0.2)
    (owner,) = (base / RUNNING).glob("*/.owner.json")
    return owner.parent


def job_of(work: Path) -> str:
    """Return the job that measures a run."""
    return str(json.loads((work / ".owner.json").read_text(encoding="utf-8"))["job_id"])


def records(base: Path, campaign: str = "few") -> dict[str, dict[str, Any]]:
    """Return the records that are there, by folder."""
    found = sorted((base / "data/raw" / campaign / "runs").glob("*/run.json"))
    return {path.parent.name: json.loads(path.read_text(encoding="utf-8")) for path in found}


def why(base: Path, characters: int = 1500) -> str:
    """Return what failed records say, with the ends of what their programs printed and of all logs."""
    parts = []
    for path in [
        *sorted((base / "data/raw").glob("*/runs/*/run.json")),
        *sorted((base / RUNNING).glob("*/1")),
    ]:
        folder = path if path.is_dir() else path.parent
        reason = "still measured" if path.is_dir() else json.loads(path.read_text(encoding="utf-8"))["reason"]
        if reason:
            parts.append(f"{folder.relative_to(base)}: {reason}")
            parts += [_end(folder / name, characters) for name in ("stdout.txt", "stderr.txt")]
    parts += [_end(path, characters) for path in sorted((base / "results/logs").rglob("*.log"))]
    return "\n".join(filter(None, parts))


def _end(path: Path, characters: int) -> str:
    text = path.read_text(encoding="utf-8", errors="replace").strip() if path.is_file() else ""
    return f"--- {path.name}, the end\n{text[-characters:]}" if text else ""


def accounted(base: Path) -> dict[str, str]:
    """Return job -> state by the campaign's ``sacct.txt``."""
    table = (base / "data/raw/few/sacct.txt").read_text(encoding="utf-8").splitlines()
    rows = [line.split("|") for line in table[1:]]
    return {row[0]: row[3] for row in rows if "." not in row[0]}


def ingest(base: Path) -> str:
    """Ingest the campaign into the folder ``processed``; return what is said."""
    words = [sys.executable, "-m", "analysis.cli", "stage", "ingest", "data/raw/few", "processed"]
    return subprocess.run(words, cwd=base, capture_output=True, text=True, check=True).stdout
