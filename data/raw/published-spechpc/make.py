"""Make runs.csv: ``python make.py REPOSITORY``, the git directory of PMBS23-AD.

The originals are the outputs of likwid-mpirun at the commit that README.md names.
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
    "run", "application", "version", "case", "cluster", "cpu", "interconnect", "mpi", "nodes", "ranks",
    "ranks_per_node", "elapsed", "source",
)  # fmt: skip
# Those of the suite that go in explicit steps: the other five iterate, sweep, or draw at random.
CODES = {"clvleaf": "cloverleaf", "lbm": "lbm", "sph_exa": "sph-exa", "weather": "miniweather"}
# Letter of the cluster -> its name, processor and cores of a node.
CLUSTERS = {
    "A": ("Fritz, Ice Lake", "Xeon Platinum 8360Y", 72),
    "B": ("Fritz, Sapphire Rapids", "Xeon Platinum 8470", 104),
}
NODES = (1, 2, 4, 8, 16)
NAME = re.compile(r"Output_small_Cluster([AB])/MEM_DP(?:_repeat)?/(\w+)-FritzRank(\d+)-MEM\.txt")
TIME = re.compile(r"Runtime \(RDTSC\) \[s\] STAT *\| *[\d.e+]+ *\| *[\d.e+]+ *\| *([\d.]+) ")


def git(repository: str, *words: str) -> str:
    """Run git and return what it prints."""
    done = subprocess.run(["git", "-C", repository, *words], capture_output=True, check=True)
    return done.stdout.decode(errors="replace")


def runs(repository: str) -> Iterator[list[str]]:
    """Read the runs on full nodes: a rank on each core."""
    for name in git(repository, "ls-tree", "-r", "--name-only", "HEAD").splitlines():
        found = NAME.fullmatch(name)
        if not found or found[2] not in CODES:
            continue
        cluster, cpu, cores = CLUSTERS[found[1]]
        nodes, rest = divmod(int(found[3]), cores)
        if rest or nodes not in NODES:
            continue
        text = git(repository, "show", f"HEAD:{name}")
        time, hosts = TIME.search(text), set(re.findall(r"\b(f\d{4}):\d+:\d+", text))
        if time and len(hosts) == nodes:
            yield [
                name, CODES[found[2]], "SPEChpc 2021 1.0.3", "small", cluster, cpu, "HDR100 InfiniBand",
                "Intel MPI 2021.7", str(nodes), found[3], str(cores), time[1], "pmbs23",
            ]  # fmt: skip


def main(repository: str) -> None:
    """Write the table, without what ran on one number of nodes alone."""
    rows = sorted(runs(repository))
    counts: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        counts.setdefault((row[1], row[4]), set()).add(row[8])
    rows = [row for row in rows if len(counts[row[1], row[4]]) > 1]
    with (HERE / "runs.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([HEADER, *rows])


if __name__ == "__main__":
    main(*sys.argv[1:])
