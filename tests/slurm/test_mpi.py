from __future__ import annotations

from pathlib import Path

import pytest

from . import jobs
from .cluster import SlurmCluster

pytestmark = pytest.mark.slurm


def on_two_nodes(lines: list[str]) -> bool:
    """Whether four ranks of one MPI_COMM_WORLD say hello, two on each of two nodes."""
    said = {
        line.rpartition(" on ")[0]: line.rpartition(" on ")[2] for line in lines if line.startswith("rank ")
    }
    ranks = sorted(said) == [f"rank {rank} of 4" for rank in range(4)]
    return ranks and sorted(said.values()) == ["n1", "n1", "n2", "n2"]


SHAPE = ("--nodes=2", "--nodelist=n[1-2]", "--ntasks=4", "--ntasks-per-node=2")


@pytest.mark.parametrize(("library", "interface"), [("openmpi", "pmix"), ("mpich", "pmi2")])
def test_mpi__srun(cluster: SlurmCluster, programs: dict[str, Path], library: str, interface: str) -> None:
    said = cluster.run(["srun", f"--mpi={interface}", *SHAPE, programs[library]]).stdout.splitlines()
    assert on_two_nodes(said), said


@pytest.mark.parametrize("library", ["openmpi", "mpich"])
def test_mpi__mpirun_in_a_batch_job(
    cluster: SlurmCluster, programs: dict[str, Path], tmp_path: Path, library: str
) -> None:
    job = jobs.submit(cluster, tmp_path, f"mpirun.{library} -n 4 {programs[library]}", *SHAPE)
    record = jobs.ended(cluster, job)
    said = jobs.output(tmp_path, job)
    assert (record["State"], record["NNodes"]) == ("COMPLETED", "2"), said
    assert on_two_nodes(said), said


def bandwidth(cluster: SlurmCluster, program: Path, rounds: int) -> float:
    """Return the bandwidth between two nodes (B/s) by messages of 1 MB."""
    command = ["srun", "--mpi=pmix", "--nodelist=n[1-2]", "--ntasks=2", str(program), "1000000", str(rounds)]
    (line,) = [x for x in cluster.run(command, timeout=60).stdout.splitlines() if x.startswith("bandwidth ")]
    return float(line.split()[1])


def test_mpi__shaped_links_differ_by_their_rates(cluster: SlurmCluster, programs: dict[str, Path]) -> None:
    def best(rounds: int) -> float:
        """Return the best of three bandwidths: a busy host can only lower what a link gives."""
        return max(bandwidth(cluster, programs["openmpi"], rounds) for _ in range(3))

    try:
        cluster.shape("200mbit")
        slow = best(20)
        cluster.shape("1gbit")
        fast = best(100)
    finally:
        cluster.shape(None)
    free = best(200)
    # Five by the rates.
    assert 2.5 < fast / slow < 7, (slow, fast)
    assert free > 1.5 * fast, (fast, free)
