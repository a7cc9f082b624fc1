"""Make runs.csv of HPCG built with two sets of flags: ``python make.py REPOSITORY``, its git directory.

The originals are the logs at the commit that README.md names.
"""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).parent
SOURCE = "aws-performance-study"
COMMIT = "c7f0268a62cf26d8af39417b05f35f49752241d6"
LOGS = "experiment/eks/cpu/hpcg-matrix/logs/hpcg"
HEADER = (
    "run", "application", "version", "case", "cluster", "build", "tuning", "mpi", "nodes", "ranks",
    "ranks_per_node", "target_time", "start", "figure_of_merit", "figure_of_merit_unit", "source",
)  # fmt: skip
# The instruction set of each type of machine, as the tags of the images name it.
SETS = {
    "icelake-server": ("c6i.16xlarge", "c6id.12xlarge", "c6in.12xlarge", "i4i.8xlarge", "m6i.12xlarge",
                       "m6id.12xlarge", "r6i.8xlarge"),
    "sapphirerapids": ("r7iz.8xlarge",),
    "skylake-avx512": ("d3.4xlarge",),
    "znver3": ("c6a.16xlarge", "hpc6a.48xlarge", "r6a.12xlarge"),
    "znver4": ("c7a.12xlarge",),
}  # fmt: skip
TWICE = "c6id.12xlarge"  # the folder of this machine is within another one of its name
JOB = re.compile(
    r"^FLUX-JOB START (\S+) hpcg-iter-\d+\n.*?\"timestamp\":([\d.]+),\"name\":\"init\"", re.M | re.S
)
RANKS = re.compile(r"-N1 -n (\d+) ")
RATING = re.compile(r"^Final Summary::HPCG result is VALID with a GFLOP/s rating of=([\d.]+)$", re.M)
GRID = re.compile(r"^Local Domain Dimensions::n([xyz])=(\d+)$", re.M)
THREADS = re.compile(r"^Machine Summary::Threads per processes=(\d+)$", re.M)
ASKED = re.compile(r"^(\d+ \d+ \d+)\n(\d+)\n", re.M)


def shown(repository: str, path: str) -> str:
    """Return the text of a log."""
    words = ["git", "-C", repository, "show", f"{COMMIT}:{path}"]
    return subprocess.run(words, capture_output=True, check=True).stdout.decode(errors="replace")


def runs(repository: str) -> Iterator[list[str]]:
    """Read the logs, a row for each of the three runs of a build."""
    for sets, machines in SETS.items():
        for machine in machines:
            folder = f"{LOGS}/{machine}/{machine}" if machine == TWICE else f"{LOGS}/{machine}"
            for build, tag in (("-O3", "x86-64-v2-O3"), ("-Ofast, own instruction set", f"{sets}-Ofast")):
                yield from _runs(shown(repository, f"{folder}/{tag}/hpcg.out"), machine, build, tag)


def _runs(text: str, machine: str, build: str, tag: str) -> Iterator[list[str]]:
    asked, ranks, ratings = ASKED.search(text), RANKS.search(text), RATING.findall(text)
    starts = sorted(float(stamp) for _, stamp in JOB.findall(text))
    threads, grids = set(THREADS.findall(text)), set(GRID.findall(text))
    if not asked or not ranks or asked[1] != "32 32 32" or grids != {(one, "32") for one in "xyz"}:
        raise SystemExit(f"{machine}, {tag}: another grid than README.md names")
    if len(ratings) != len(starts) or len(threads) != 1:
        raise SystemExit(f"{machine}, {tag}: {len(ratings)} ratings of {len(starts)} runs")
    # The log has HPCG's files by their names, which are times: the ratings are in the order of the runs.
    for number, (start, rating) in enumerate(zip(starts, ratings, strict=True), 1):
        began = datetime.fromtimestamp(start, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        yield [
            f"{machine}, {tag}, {number}", "hpcg", "3.1", "32³", machine, build,
            f"{min(threads)} threads a rank",
            "Open MPI", "1", ranks[1], ranks[1], asked[2], began, rating, "GFLOP/s", SOURCE,
        ]  # fmt: skip


def main(repository: str) -> None:
    """Write the table, by type of machine."""
    with (HERE / "runs.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([HEADER, *runs(repository)])


if __name__ == "__main__":
    main(*sys.argv[1:])
