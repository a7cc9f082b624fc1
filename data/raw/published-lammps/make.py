"""Make runs.csv of LAMMPS over EFA and TCP: ``python make.py REPOSITORY``, its git directory.

The originals are the outputs of LAMMPS at the commit that README.md names.
"""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
HEADER = (
    "run", "application", "version", "case", "cluster", "cpu", "interconnect", "mpi", "build",
    "nodes", "ranks", "ranks_per_node", "order", "elapsed", "source",
)  # fmt: skip
# Two clusters of one type, image and script; in the first the devices and options of EFA are commented out.
LINKS = {"run3": "Ethernet (TCP)", "run4": "EFA"}
FOLDER = r"aws/lammps/kubecon/(run[34])/data/aws/k8s-size-64-hpc6a\.48xlarge"
OUTPUT = re.compile(FOLDER + r"/_?(lmp-(\d+)-(\d+))-minicluster-size-\d+/log\.out")
LOOP = re.compile(r"^Loop time of ([\d.]+) on (\d+) procs for 100 steps with 4980736 atoms", re.MULTILINE)
VERSION = re.compile(r"^LAMMPS \((.+?)\)", re.MULTILINE)
SIZES = (64, 32, 16, 8)  # in the order of `meta.json`, which has the time of each job
PULLS = ("64", "1")  # nodes and number of the job that pulls the image, by the script not to be counted


def git(repository: str, *words: str) -> str:
    """Run git and return what it prints."""
    done = subprocess.run(["git", "-C", repository, *words], capture_output=True, check=True)
    return done.stdout.decode(errors="replace")


def place(cluster: str, nodes: int, number: int) -> str:
    """Return the place of a job among all: run3 before run4, of each the largest size first, one by one."""
    return str(list(LINKS).index(cluster) * 100 + SIZES.index(nodes) * 25 + number)


def runs(repository: str) -> Iterator[list[str]]:
    """Read the outputs, a row each; one without the line of its loop did not end."""
    for name in git(repository, "ls-tree", "-r", "--name-only", "HEAD", "aws/lammps/kubecon").splitlines():
        found = OUTPUT.fullmatch(name)
        if not found or (found[3], found[4]) == PULLS:
            continue
        text = git(repository, "show", f"HEAD:{name}")
        loop, version = LOOP.search(text), VERSION.search(text)
        if loop:
            each = str(int(loop[2]) // int(found[3]))
            yield [
                f"{found[1]} {found[2]}", "lammps", version[1] if version else "", "ReaxFF HNS, 4.98 M atoms",
                "hpc6a.48xlarge", "EPYC of hpc6a", LINKS[found[1]], "Open MPI", "lammps-efa:ubuntu-20.04",
                found[3], loop[2], each, place(found[1], int(found[3]), int(found[4])), loop[1],
                "operator-experiments",
            ]  # fmt: skip


def main(repository: str) -> None:
    """Write the table."""
    with (HERE / "runs.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([HEADER, *sorted(runs(repository))])


if __name__ == "__main__":
    main(*sys.argv[1:])
