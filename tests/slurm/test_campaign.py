"""A campaign on a real Slurm, by the project's workflow: measured, disturbed, resumed, ingested."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from analysis import storage

from . import jobs
from .cluster import SlurmCluster
from .machine import until
from .test_snakemake import SMALLER, finish

pytestmark = pytest.mark.slurm

ROOT = Path(__file__).parents[2]

# Each node declares eight cores in two sockets; the host that plays all of them has two.
CLUSTER = """\
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
  environment:
    OMPI_ALLOW_RUN_AS_ROOT: 1
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: 1
    OMPI_MCA_btl_tcp_if_include: 10.77.0.0/24
    OMPI_MCA_oob_tcp_if_include: 10.77.0.0/24
  mpi:
    openmpi:
      {family: openmpi, name: Open MPI, start: mpirun, launcher: mpirun.openmpi, compiler: mpicc.openmpi}
    pmix: {family: openmpi, name: Open MPI, start: srun-pmix, compiler: mpicc.openmpi}
    pmi2: {family: mpich, name: MPICH, start: srun-pmi2, compiler: mpicc.mpich}
  cpu:
    ivybridge: {constraint: ivybridge}
    haswell: {constraint: haswell}
  applications:
    proxy: {build: proxy}
    hpcc: {program: hpcc}
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

# A run that waits, until the file `go` is there, on a program of the site.
SLOW = """\
#!/bin/sh
[ -e {folder}/go ] || sleep 600
echo "proxy result: version=1 pattern=halo ranks=1 bytes=8 count=1 work=0" \\
    "time=1 time_min=1 io_time=0 checksum=0 errors=0"
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Lay out a project with the real workflow and a campaign called ``few``."""
    base = tmp_path / "project"
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


def start(cluster: SlurmCluster, project: Path) -> subprocess.Popen[str]:
    """Measure as a user does, only with less patience."""
    words = ["--profile", "slurm", "measure", "--config", "measure=few", *SMALLER]
    return cluster.popen([sys.executable, "-m", "snakemake", *words], cwd=project)


def records(project: Path) -> dict[str, dict[str, Any]]:
    found = sorted((project / "data/raw/few/runs").glob("*/run.json"))
    return {path.parent.name: json.loads(path.read_text(encoding="utf-8")) for path in found}


def one_slow_run(project: Path) -> None:
    """Make the campaign one of a single run that does not end by itself."""
    program = project / "slow.sh"
    program.write_text(SLOW.format(folder=project), encoding="utf-8")
    program.chmod(0o755)
    cluster = CLUSTER.replace("proxy: {build: proxy}", f"proxy: {{program: {program}}}")
    (project / "config/clusters/testbed.yaml").write_text(cluster, encoding="utf-8")
    head, _, _ = CAMPAIGN.partition("      factors:")
    text = head + "      factors: {nodes: 1, ranks_per_node: 1, mpi: openmpi}\n"
    (project / "config/campaigns/few.yaml").write_text(text, encoding="utf-8")


def job_that_waits(run: subprocess.Popen[str], project: Path) -> str:
    """Wait until the slow program runs and return its job."""
    running = project / "data/raw/.running/few"

    def runs() -> bool:
        if run.poll() is not None:
            pytest.fail(f"Snakemake ended:\n{''.join(run.communicate())}")
        return any(running.glob("*/1/.binding/0"))

    until("the program to run", runs, seconds=90, every=0.2)
    (owner,) = running.glob("*/.owner.json")
    return str(json.loads(owner.read_text(encoding="utf-8"))["job_id"])


def test_campaign__is_measured_and_ingested(cluster: SlurmCluster, project: Path) -> None:
    status, said = finish(start(cluster, project), 400)
    assert status == 0, said
    found = records(project)
    with_hpcc = shutil.which("hpcc") is not None
    # Two of mpirun and one of each other launcher; two constraints; two runs of two jobs.
    assert len(found) == 4 + 2 + 4 + with_hpcc
    assert {record["reason"] for record in found.values()} == {""}
    for record in found.values():
        ranks = [line.split() for line in record["binding"]["ranks"]]
        assert len(ranks) == record["ranks"] == record["nodes"] * record["ranks_per_node"]
        assert len({host for _, host, _, _ in ranks}) == record["nodes"]
        assert record["binding"]["as_asked"]
    cpus = {r["cpu"]: r["node_list"] for r in found.values() if r["question"] == "cpus"}
    assert cpus["ivybridge"][0] in ("n1", "n3")
    assert cpus["haswell"][0] in ("n2", "n4")
    pairs = [r for r in found.values() if r["question"] == "placement"]
    cores = {(r["job_of_run"], line.split()[3]) for r in pairs for line in r["binding"]["ranks"]}
    assert cores == {(1, "0"), (2, "1")}

    table = (project / "data/raw/few/sacct.txt").read_text(encoding="utf-8").splitlines()
    states = {line.split("|")[0]: line.split("|")[3] for line in table[1:] if "." not in line.split("|")[0]}
    assert states == {record["job_id"]: "COMPLETED" for record in found.values()}

    command = [sys.executable, "-m", "analysis.ingest", "data/raw/few", "processed"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=True)
    assert f"{len(found)} runs, {len(found)} valid" in done.stdout
    tree = storage.read_tree(project / "processed/campaign.nc")
    # That the cluster has no power meter is all that there is to say.
    assert [fault for fault in tree.attrs["faults"] if "no meter" not in fault] == []
    runs = tree["runs"].to_dataset()
    proxies = runs["figure_of_merit"].values[runs["application"].values == "proxy"]
    assert (proxies > 0).all()

    # The same command again has nothing to measure.
    before = {path: path.stat().st_mtime_ns for path in (project / "data/raw/few/runs").rglob("*")}
    status, said = finish(start(cluster, project), 120)
    assert status == 0, said
    assert "has been submitted" not in said
    assert {path: path.stat().st_mtime_ns for path in (project / "data/raw/few/runs").rglob("*")} == before


def test_campaign__cancelled_job_is_a_failed_attempt_and_is_resumed(
    cluster: SlurmCluster, project: Path
) -> None:
    one_slow_run(project)
    run = start(cluster, project)
    job = job_that_waits(run, project)
    cluster.run(["scancel", job])
    status, said = finish(run, 120)
    assert status == 1
    assert "few: 1 runs are missing, of 1 in the matrix" in said
    jobs.ended(cluster, job)
    ((name, record),) = records(project).items()
    assert name.endswith("-r01.failed-1")
    assert (record["run"], record["job_id"]) == (name, job)
    assert "TERM" in record["reason"]
    assert f"missing: {name.removesuffix('.failed-1')}" in said

    (project / "go").touch()
    status, said = finish(start(cluster, project), 120)
    assert status == 0, said
    found = records(project)
    assert sorted(found) == [name.removesuffix(".failed-1"), name]
    command = [sys.executable, "-m", "analysis.ingest", "data/raw/few", "processed"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=True)
    assert "2 runs, 1 valid" in done.stdout


def test_campaign__killed_controller_loses_and_doubles_nothing(cluster: SlurmCluster, project: Path) -> None:
    one_slow_run(project)
    run = start(cluster, project)
    job = job_that_waits(run, project)
    os.killpg(run.pid, signal.SIGKILL)
    run.communicate()
    # The job goes on; the same command waits for it, and measures its run no second time.
    again = start(cluster, project)
    log = project / "results/logs/measure.log"
    waiting = f"few: waiting for 1 runs that an earlier start has submitted: {job}\n"
    until("the second start to wait", lambda: log.exists() and log.read_text() == waiting, seconds=90)
    # Killed with its node's power it has no last word: the start that finds it dead writes the record.
    cluster.run(["scancel", "--signal=KILL", "--full", job])
    status, said = finish(again, 120)
    assert status == 1
    assert "has been submitted" not in said
    assert all(name.endswith("-r01.failed-1") for name in records(project))
    until("the job to leave the queue", lambda: not cluster.run(["squeue", "-h"]).stdout.strip(), seconds=60)
    time.sleep(1)
    (project / "go").touch()
    status, said = finish(start(cluster, project), 120)
    assert status == 0, said
    found = records(project)
    reasons = {name.partition("-r01")[2]: record["reason"] for name, record in found.items()}
    assert reasons[""] == ""
    assert set(reasons) == {"", ".failed-1"}
    assert found[next(name for name in found if "failed" in name)]["job_id"] == job
