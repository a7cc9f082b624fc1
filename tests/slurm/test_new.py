"""``benchbook new-campaign --from-slurm`` on a login node: the nodes that Slurm lists become files."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from analysis.base import project
from analysis.measure import declare, matrix

from .cluster import SlurmCluster

pytestmark = pytest.mark.slurm
ROOT = Path(__file__).parents[2]


def test_new_campaign__takes_the_nodes_that_slurm_lists(cluster: SlurmCluster, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "config", tmp_path / "config")
    command = [sys.executable, "-m", "analysis.cli", "new-campaign", "x", "--yes", "--from-slurm"]
    flags = ["--partition=bench", "--feature=ivybridge", "--application=proxy", "--mpi=Open MPI 4.1.4"]
    done = cluster.run([*command, *flags], cwd=tmp_path)
    assert "1. " not in done.stdout  # nodes with this feature are of one kind
    launch = project.load_yaml(tmp_path / "config/clusters/x.yaml")["launch"]
    # The cluster's nodes are ivybridge and haswell by turns, each with eight cores in two sockets.
    assert (launch["nodes"], launch["cores"], launch["memory"]) == (2, ["0-3", "4-7"], cluster.memory)
    assert (launch["partition"], launch["constraint"]) == ("bench", "ivybridge")
    plan = matrix.expand(declare.load("x", tmp_path))
    assert sorted({run.nodes for run in plan.runs}) == [1, 2]


def test_new_campaign__takes_debians_program_and_the_library_that_it_is_linked_to(
    cluster: SlurmCluster, tmp_path: Path
) -> None:
    if shutil.which("hpcc") is None:
        pytest.skip("no hpcc on this host; run tests/slurm/install.sh")
    shutil.copytree(ROOT / "config", tmp_path / "config")
    command = [sys.executable, "-m", "analysis.cli", "new-campaign", "x", "--yes", "--from-slurm"]
    done = cluster.run([*command, "--partition=bench", "--application=hpcc"], cwd=tmp_path)
    assert "took: /usr/bin/hpcc, which is in PATH" in done.stdout
    assert "fill in" not in done.stdout
    launch = project.load_yaml(tmp_path / "config/clusters/x.yaml")["launch"]
    assert launch["applications"] == {"hpcc": {"program": "/usr/bin/hpcc"}}
    ((_, library),) = launch["mpi"].items()
    said = cluster.run(["mpirun.openmpi", "--version"]).stdout.splitlines()[0]
    assert library["name"] == f"Open MPI {said.split()[-1]}"
    assert library["launcher"] == "mpirun.openmpi"
