from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from analysis import readers

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


@pytest.mark.parametrize("form", ["--parsable2", "--json"])
def test_jobs__record_is_read_by_the_project(cluster: SlurmCluster, tmp_path: Path, form: str) -> None:
    job = jobs.submit(
        cluster,
        tmp_path,
        "srun sleep 2\nexit 5",
        "--nodes=2",
        "--ntasks=2",
        "--job-name=read",
        "--comment=a b",
    )
    known = jobs.ended(cluster, job)
    fields = "JobID,JobName,Comment,State,ExitCode,Submit,Start,End,ElapsedRaw,NNodes,NCPUS,NodeList,MaxRSS"
    format_ = [f"--format={fields}"] if form == "--parsable2" else []
    printed = cluster.run(["sacct", form, f"--jobs={job}", *format_], env={"TZ": "UTC"}).stdout
    ds = readers.parse(printed.encode(), "sacct.txt")
    assert ds.attrs["tool"] == "sacct"
    assert sorted(ds.step.values.tolist()) == ["", "0", "batch"]
    row = ds.isel(record=ds.step.values.tolist().index(""))
    assert (row.job_id.item(), row.job_name.item(), row.comment.item()) == (job, "read", "a b")
    assert (row.state.item(), row.exit_signal.item()) == ("FAILED", 0)
    # Slurm 22.05 says "return_code: 0" in JSON where its table has 5:0.
    if form == "--parsable2":
        assert row.exit_code.item() == 5
    assert (row.nodes.item(), row.cpus.item(), row.node_list.item()) == (2, 2, known["NodeList"])
    assert row.elapsed.item() == float(known["ElapsedRaw"])
    assert 2 <= row.elapsed.item() <= 10
    span = (row.end.values - row.start.values) / np.timedelta64(1, "s")
    assert span == row.elapsed.item()
