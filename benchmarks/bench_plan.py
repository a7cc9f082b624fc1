"""Processor time that 5,000 runs take to be planned, beside Snakemake's dry run of as many empty jobs.

`benchbook plan` and the dry run of the campaign are each compared with the dry run of a workflow that has one
rule, and a job of it for each run: bare, and with the command, the log and the resources of a run, of which
three differ by run. What Snakemake does for those is no work of ours. `--repeats` takes another number of
runs of each of the hundred cells.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.bench_import import spent

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

# The least that Snakemake can do for as many jobs, and for as many that request what runs request.
EMPTY = """\
rule all:
    input: expand("done/{{run}}", run=range({runs}))

rule one:
    output: "done/{{run}}"
{requests}"""
REQUESTS = """\
    log: "log/{run}"
    resources:
        mpi="srun", disk_mb=1000, mem_mb=1000, runtime=30, cpus_per_task=1, constraint="", slurm_account="",
        nodes=lambda wildcards: int(wildcards.run) % 5 + 1,
        tasks=lambda wildcards: int(wildcards.run) % 5 + 1,
        slurm_partition=lambda wildcards: "batch" if int(wildcards.run) % 2 else "slow",
        slurm_extra="--exclusive",
    shell: "true {wildcards.run:q} > {log:q} 2>&1"
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
        bare = empty("empty jobs, dry run", base / "bare", runs, '    shell: ""\n')
        same = empty("empty jobs that request the same", base / "same", runs, REQUESTS)
        seconds, said = command(["-m", "analysis.cli", "plan", "big"], base)
        counted(said, f"of {runs} runs", 1)
        shown("benchbook plan", seconds, runs, {"bare": bare})
        seconds, said = command(dry, base)
        counted(said, "wildcards: campaign=big, run=", runs)
        shown("snakemake -n measure", seconds, runs, {"bare": bare, "requesting": same})


def empty(name: str, folder: Path, runs: int, requests: str) -> float:
    """Return the processor time in s of the dry run of as many empty jobs, and print it."""
    folder.mkdir()
    (folder / "Snakefile").write_text(EMPTY.format(runs=runs, requests=requests), encoding="utf-8")
    seconds, said = command(["-m", "snakemake", "-n"], folder)
    counted(said, "wildcards: run=", runs)
    shown(name, seconds, runs, {})
    return seconds


def counted(said: str, text: str, times: int) -> None:
    """Stop where an output does not have a text that many times."""
    if said.count(text) < times:
        raise SystemExit(f"{text!r} is not {times} times in:\n{said[-1000:]}")


def shown(name: str, seconds: float, runs: int, peers: dict[str, float]) -> None:
    """Print a command's processor time, a run's, and the ratios to those of empty jobs."""
    ratios = "".join(f", {seconds / peer:.2f} times the {which} empty jobs" for which, peer in peers.items())
    each = f"{seconds:6.2f} s of processor time for {runs} runs, {1000 * seconds / runs:.2f} ms each"
    print(f"{name:32s} {each}{ratios}")


def command(arguments: list[str], base: Path) -> tuple[float, str]:
    """Return the processor time in s of a command of Python's, and what it said."""
    environment = dict(os.environ)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # the package's copy would be compiled at each start
    path = base / "said.txt"

    def run() -> None:
        with path.open("w", encoding="utf-8") as said:
            line = [sys.executable, *arguments]
            done = subprocess.run(line, cwd=base, env=environment, stdout=said, stderr=said, check=False)
        if done.returncode:
            raise SystemExit(f"{' '.join(arguments)}: {path.read_text(encoding='utf-8')[-1000:]}")

    seconds, _ = spent(run)
    return seconds, path.read_text(encoding="utf-8")


if __name__ == "__main__":
    main()
