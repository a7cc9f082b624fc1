from __future__ import annotations

from pathlib import Path

import pytest

from . import jobs
from .cluster import SlurmCluster
from .machine import until

pytestmark = pytest.mark.slurm


@pytest.fixture(scope="module", autouse=True)
def slow_job(cluster: SlurmCluster, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A job that runs into its limit: a minute is the least that Slurm knows, so it is submitted first."""
    folder = tmp_path_factory.mktemp("slow")
    return jobs.submit(cluster, folder, "exec sleep 600", "--time=1", "--nodelist=n4")


def test_faults__killed_node_fails_its_job(cluster: SlurmCluster, tmp_path: Path) -> None:
    job = jobs.submit(cluster, tmp_path, "exec sleep 600", "--nodes=2", "--nodelist=n[2-3]", "--no-requeue")
    jobs.running(cluster, job)
    cluster.kill_node("n3")
    try:
        # SlurmdTimeout is 10 s; slurmctld looks every third of it and asks again before it gives up.
        record = jobs.ended(cluster, job, seconds=120)
        assert (record["State"], record["NNodes"], record["NodeList"]) == ("NODE_FAIL", "2", "n[2-3]")
        assert cluster.states()[2] == "down*"
    finally:
        cluster.start_node("n3")
    until("n3 to be back", lambda: cluster.states()[:3] == ["idle"] * 3, seconds=60)
    assert cluster.run(["srun", "--nodelist=n3", "hostname"]).stdout == "n3\n"


def test_faults__job_outlives_a_restart_of_the_controller(cluster: SlurmCluster, tmp_path: Path) -> None:
    job = jobs.submit(cluster, tmp_path, "echo begin\nsleep 8\necho end", "--nodes=1")
    jobs.running(cluster, job)
    cluster.stop_controller()
    assert cluster.states() == []
    cluster.start_controller()
    record = jobs.ended(cluster, job)
    assert (record["State"], record["ExitCode"]) == ("COMPLETED", "0:0")
    assert jobs.restarts(cluster, job) == 0
    assert 8 <= int(record["ElapsedRaw"]) <= 20
    assert jobs.output(tmp_path, job) == ["begin", "end"]


def test_faults__job_runs_into_its_time_limit(cluster: SlurmCluster, slow_job: str) -> None:
    record = jobs.ended(cluster, slow_job, seconds=150)
    assert (record["State"], record["ExitCode"]) == ("TIMEOUT", "0:0")
    assert 60 <= int(record["ElapsedRaw"]) <= 120
