from __future__ import annotations

from pathlib import Path

import pytest

from . import jobs
from .cluster import SlurmCluster

pytestmark = pytest.mark.slurm


def test_jobs__record_of_a_job_over_two_nodes(cluster: SlurmCluster, tmp_path: Path) -> None:
    job = jobs.submit(cluster, tmp_path, "srun hostname\nsleep 3\nexit 7", "--nodelist=n[1-2]", "--ntasks=2")
    record = jobs.ended(cluster, job)
    elapsed = int(record.pop("ElapsedRaw"))
    assert 3 <= elapsed <= 6
    assert record == {
        "JobIDRaw": job,
        "State": "FAILED",
        "ExitCode": "7:0",
        "NNodes": "2",
        "NCPUS": "2",
        "NodeList": "n[1-2]",
    }
    assert sorted(jobs.output(tmp_path, job)) == ["n1", "n2"]


def test_jobs__constraint_chooses_the_node(cluster: SlurmCluster, tmp_path: Path) -> None:
    job = jobs.submit(cluster, tmp_path, "hostname", "--constraint=haswell&singlerank")
    record = jobs.ended(cluster, job)
    assert (record["State"], record["ExitCode"], record["NodeList"]) == ("COMPLETED", "0:0", "n4")
    assert jobs.output(tmp_path, job) == ["n4"]


def test_jobs__exclusive_partition_gives_whole_nodes(cluster: SlurmCluster, tmp_path: Path) -> None:
    job = jobs.submit(cluster, tmp_path, "true", "--partition=bench", "--nodes=1")
    assert jobs.ended(cluster, job)["NCPUS"] == "8"


def test_jobs__cancelled(cluster: SlurmCluster, tmp_path: Path) -> None:
    job = jobs.submit(cluster, tmp_path, "exec sleep 600")
    jobs.running(cluster, job)
    cluster.run(["scancel", job])
    record = jobs.ended(cluster, job)
    # The second word is who did it; a comparison with CANCELLED alone misses it.
    assert (record["State"], record["ExitCode"]) == ("CANCELLED by 0", "0:0")
    assert int(record["ElapsedRaw"]) < 60
