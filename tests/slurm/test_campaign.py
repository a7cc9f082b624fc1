"""A campaign on a real Slurm, by the project's workflow: measured, disturbed, resumed, ingested."""

from __future__ import annotations

import os
import shutil
import signal
import time
from pathlib import Path

import pytest

from analysis.schema import storage

from . import jobs
from .campaigns import (
    RESULT,
    accounted,
    begun,
    finish,
    ingest,
    job_of,
    records,
    start,
    use_factors,
    use_program,
)
from .cluster import SlurmCluster
from .machine import until

pytestmark = pytest.mark.slurm

# A run that waits, until the file `go` is there, on a program of the site.
SLOW = """\
#!/bin/sh
[ -e {folder}/go ] || sleep 600
"""
SLOW += RESULT


def one_slow_run(project: Path) -> None:
    """Make the campaign one of a single run that does not end by itself."""
    use_program(project, SLOW.format(folder=project, ranks=1))
    use_factors(project)


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

    assert accounted(project) == {record["job_id"]: "COMPLETED" for record in found.values()}

    assert f"{len(found)} runs, {len(found)} valid" in ingest(project)
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
    job = job_of(begun(run, project))
    cluster.run(["scancel", job])
    status, said = finish(run, 120)
    assert status == 1
    assert "few: 1 runs are missing, of 1 in the matrix" in said
    jobs.ended(cluster, job)
    ((name, record),) = records(project).items()
    assert name.endswith("-r01.failed-1")
    assert (record["run"], record["job_id"]) == (name, job)
    assert "the job was ended by " in record["reason"]
    assert f"missing: {name.removesuffix('.failed-1')}" in said

    (project / "go").touch()
    status, said = finish(start(cluster, project), 120)
    assert status == 0, said
    found = records(project)
    assert sorted(found) == [name.removesuffix(".failed-1"), name]
    assert "2 runs, 1 valid" in ingest(project)


def test_campaign__killed_controller_loses_and_doubles_nothing(cluster: SlurmCluster, project: Path) -> None:
    one_slow_run(project)
    run = start(cluster, project)
    job = job_of(begun(run, project))
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
