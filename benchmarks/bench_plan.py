"""Seconds of processor time that 5,000 runs take to be planned, and to be planned by Snakemake's dry run.

The aim is 20 s each on a login node. Processor time, since a login node is shared. `--repeats` takes
another number of runs of each of the hundred cells.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]

CLUSTER = """\
title: a cluster on paper
facts: []
launch:
  scheduler: slurm
  nodes: 64
  cores: ["0-19", "20-39"]
  partition: batch
  mpi:
    mpirun: {family: openmpi, name: Open MPI, start: mpirun}
    srun: {family: openmpi, name: Open MPI by srun, start: srun-pmix}
  interconnect:
    ib: {environment: {UCX_NET_DEVICES: "mlx5_0:1"}}
    eth: {partition: slow, environment: {UCX_NET_DEVICES: eth0}}
  applications:
    proxy: {program: /opt/proxy}
"""

CELLS = 100
CAMPAIGN = """\
title: many runs of a hundred cells
evidence: measured
hardware: none
matrix:
  cluster: paper
  repeats: {repeats}
  subsets:
    - name: all
      why: each of a hundred cells again and again
      application: proxy
      case: [halo, allreduce, bcast, master-io, mixed]
      factors: {{nodes: [1, 2, 4, 8, 16], interconnect: [ib, eth], mpi: [mpirun, srun]}}
"""


def main() -> None:
    """Print a line for each of the two commands."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=50)
    repeats = parser.parse_args().repeats
    runs = CELLS * repeats
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        for name in ("workflow", "slurm", "config/applications", "src/proxy"):
            shutil.copytree(ROOT / name, base / name)
        shutil.copy(ROOT / "environment.yml", base)
        shutil.copytree(ROOT / "src/analysis", base / "src/analysis")
        for name in ("config/clusters", "config/campaigns", "data/raw/big"):
            (base / name).mkdir(parents=True)
        (base / "config/config.yaml").write_text(
            "campaigns: [big]\nreports: {}\npages: []\n", encoding="utf-8"
        )
        (base / "config/clusters/paper.yaml").write_text(CLUSTER, encoding="utf-8")
        (base / "config/campaigns/big.yaml").write_text(CAMPAIGN.format(repeats=repeats), encoding="utf-8")
        dry = ["-m", "snakemake", "-n", "--profile", "slurm", "measure", "--config", "measure=big"]
        said = timed("benchbook plan", ["-m", "analysis.cli", "plan", "big"], base, runs)
        if f"of {runs} runs" not in said:
            raise SystemExit(f"the plan is not of {runs} runs:\n{said}")
        said = timed("snakemake -n measure", dry, base, runs)
        if said.count("wildcards: campaign=big, run=") != runs:
            raise SystemExit(f"the dry run is not of {runs} runs")


def timed(name: str, arguments: list[str], base: Path, runs: int) -> str:
    """Run a command of Python's, print its processor time, return what it said."""
    environment = dict(os.environ)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # the package's copy would be compiled at each start
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=base,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{name}: {done.stdout[-1000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(
        f"{name:22s} {seconds:6.2f} s of processor time for {runs} runs, {1000 * seconds / runs:.2f} ms each"
    )
    return done.stdout


if __name__ == "__main__":
    main()
