"""Make runs.csv of LAMMPS over HDR InfiniBand: ``python make.py REPOSITORY``, its git directory.

The original is the overview of results at the commit that README.md names.
"""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
SOURCE = "usernetes-azure"
COMMIT = "b64005994d7a0fe7d750f259c80d190997f9dc96"
OVERVIEW = "experiments/32_nodes/results_overview.md"
HEADER = (
    "run", "application", "version", "case", "cluster", "cpu", "interconnect", "mpi", "nodes", "ranks",
    "ranks_per_node", "order", "figure_of_merit", "figure_of_merit_unit", "source",
)  # fmt: skip
RANKS = 96  # `--tasks-per-node=96` of each job
SAID = (
    "lammps", "a8687b5", "ReaxFF HNS, 39.8 M atoms", "HB120-96rs_v3", "EPYC of HBv3", "HDR InfiniBand",
    "Open MPI",
)  # fmt: skip
BARE = re.compile(r"^## Lammps\n\n### bare\n```\n(.*?)^```", re.MULTILINE | re.DOTALL)
SIZE = re.compile(r"results/lammps/lammps-(\d+)-iter-")
RATE = re.compile(r"^Performance: .* ([\d.]+) Matom-step/s$")


def runs(repository: str) -> Iterator[list[str]]:
    """Read the five rates of each number of nodes that the overview lists, in its order."""
    words = ["git", "-C", repository, "show", f"{COMMIT}:{OVERVIEW}"]
    text = subprocess.run(words, capture_output=True, check=True).stdout.decode()
    listed = BARE.search(text)
    if not listed:
        raise SystemExit(f"{OVERVIEW}: no list of LAMMPS without Kubernetes")
    nodes, number, place = 0, 0, 0
    for line in listed[1].splitlines():
        size, rate = SIZE.search(line), RATE.search(line)
        if size:
            nodes, number, place = int(size[1]), 0, place + 1
        elif rate:
            number += 1
            ranks = [str(nodes), str(RANKS * nodes), str(RANKS), str(place)]
            yield [f"{nodes} nodes, run {number}", *SAID, *ranks, rate[1], "Matom-step/s", SOURCE]


def main(repository: str) -> None:
    """Write the table, in the order of the list."""
    with (HERE / "runs.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([HEADER, *runs(repository)])


if __name__ == "__main__":
    main(*sys.argv[1:])
