"""Make runs.csv of two links on the same nodes: ``python make.py REPOSITORY``, its git directory.

The originals are the performance logs of ReFrame at the commit that README.md names.
"""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

HERE = Path(__file__).parent
COMMIT = "f7d6480fce93df87f4ebaadcd854c7b7f7b1565a"
HEADER = (
    "run", "application", "case", "cluster", "cpu", "interconnect", "mpi", "nodes", "ranks", "ranks_per_node",
    "start", "elapsed", "figure_of_merit", "figure_of_merit_unit", "source",
)  # fmt: skip
# Partition -> cluster, processor, link, library; those whose script names the device of the link.
PLACES = {
    "alaska/ib-gcc9-openmpi4-ucx": ("AlaSKA", "Xeon E5-2683 v4", "InfiniBand", "Open MPI 4.0.3, UCX"),
    "alaska/roce-gcc9-openmpi4-ucx": ("AlaSKA", "Xeon E5-2683 v4", "RoCE", "Open MPI 4.0.3, UCX"),
    "csd3/cclake-ib-icc19-impi19-ucx": ("CSD3", "Cascade Lake", "InfiniBand", "Intel MPI 2019, UCX"),
    "csd3/cclake-roce-icc19-impi19-ucx": ("CSD3", "Cascade Lake", "RoCE", "Intel MPI 2019, UCX"),
    "csd3/cclake-ib-gcc9-ompi3-ucx": ("CSD3", "Cascade Lake", "InfiniBand", "Open MPI 3.1.6, UCX"),
    "csd3/cclake-roce-gcc9-ompi3-ucx": ("CSD3", "Cascade Lake", "RoCE", "Open MPI 3.1.6, UCX"),
}  # fmt: skip
LOG = re.compile(r"perflogs/(\w+/[\w-]+)/(castep|cp2k)/(?:Castep_(Al3x3)|Cp2k_(H2O_256))\w*/\w+\.log")
LINE = re.compile(r"^(\S+?)\|.*\|jobid=(\d+)\|(?:total|cp2k)_time=([\d.]+)\|s\|.*$", re.MULTILINE)
BROKEN = re.compile(r"(?<=\d)(?=20\d\d-\d\d-\d\dT)")  # a line end is missing before a date
REDUCED = re.compile(r"perflogs/(\w+/[\w-]+)/omb/Osu_allreduce/Osu_allreduce\.log")
LEAST = re.compile(r"^(\S+?)T.*\|jobid=(\d+)\|min_av_latency=([\d.]+)\|us\|.*$", re.MULTILINE)
COLLAPSED = 56  # nodes, on which CASTEP over RoCE takes 15 times as long as on 32


def git(repository: str, *words: str) -> str:
    """Run git and return what it prints."""
    done = subprocess.run(["git", "-C", repository, *words], capture_output=True, check=True)
    return done.stdout.decode(errors="replace")


def counts(line: str) -> tuple[int, int]:
    """Return the nodes and ranks that a line of a log names."""
    nodes, ranks = (re.search(rf"num_{what}=(\d+)", line) for what in ("nodes", "procs"))
    return int(nodes[1]), int(ranks[1])  # type: ignore[index]


def began(logged: str, seconds: float) -> str:
    """Return the start of a program in UTC: the time of its line in the log, less what it took."""
    when = datetime.fromisoformat(logged) - timedelta(seconds=seconds)
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")


def runs(repository: str) -> Iterator[list[str]]:
    """Read the runs of both applications on two nodes and more, and the reductions of two nodes."""
    for name in git(repository, "ls-tree", "-r", "--name-only", COMMIT).splitlines():
        log, reduced = LOG.fullmatch(name), REDUCED.fullmatch(name)
        place = PLACES.get((log or reduced or [""] * 2)[1])
        if not place:
            continue
        text = BROKEN.sub("\n", git(repository, "show", f"{COMMIT}:{name}"))
        cluster, cpu, link, mpi = place
        if log:
            for one in LINE.finditer(text):
                nodes, ranks = counts(one[0])
                if 1 < nodes < COLLAPSED:
                    name, case = f"{log[1]} {log[2]} {nodes} nodes, job {one[2]}", log[3] or log[4]
                    sizes = [str(nodes), str(ranks), str(ranks // nodes)]
                    said = [began(one[1], float(one[3])), one[3], one[3], "s", "excalibur-tests"]
                    yield [name, log[2], case, cluster, cpu, link, mpi, *sizes, *said]
        elif reduced:
            for day, job, latency in LEAST.findall(text):
                name = f"{reduced[1]} allreduce, job {job}"
                said = ["2", "64", "32", f"{day}T00:00:00", "", latency, "us", "excalibur-tests"]
                yield [name, "osu", "Allreduce, least latency", cluster, cpu, link, mpi, *said]


def main(repository: str) -> None:
    """Write the table."""
    with (HERE / "runs.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([HEADER, *runs(repository)])


if __name__ == "__main__":
    main(*sys.argv[1:])
