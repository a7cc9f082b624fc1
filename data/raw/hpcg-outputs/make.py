"""Make runs.csv.xz of HPCG's printed results: ``python make.py HPCG_FOR_ARM GOOGLE``, two git directories.

The originals are the outputs of HPCG in the repositories and at the commits that README.md names.
"""

from __future__ import annotations

import csv
import io
import lzma
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

HERE = Path(__file__).parent
HEADER = (
    "run", "application", "version", "case", "cluster", "cpu", "interconnect", "mpi", "build", "tuning",
    "nodes", "ranks", "ranks_per_node", "local_size", "target_time",
    "figure_of_merit", "figure_of_merit_unit", "benchmark_time", "reduction_time", "source", "reason",
)  # fmt: skip
# Link, which the first repository does not name, and source.
ARMS = ("", "hpcg-for-arm")
A64FX, XEON = "Fujitsu A64FX", "Xeon Platinum 8360Y"
# Folder of the first repository -> cluster, processor, MPI library, code; others varied the code.
ARM = {
    "qpace4_SVE_openmpi": ("QPACE4", A64FX, "Open MPI", "Arm's code", *ARMS),
    "ookami_fj2_mpi_2": ("Ookami", A64FX, "Fujitsu MPI", "Arm's code, Fujitsu", *ARMS),
    "Fritz_OMP_Intel": ("Fritz", XEON, "", "Arm's code, Intel", *ARMS),
    "Fritz_OMP_GCC": ("Fritz", XEON, "", "Arm's code, GCC", *ARMS),
}
# Of folders with several versions of the code the last.
BRANCHES = {
    "Fritz_OMP_Intel": "test_opt_2",
    "Fritz_OMP_GCC": "test_opt_2",
    "ookami_fj2_mpi_2": "test_multinode_160",
}
# Ookami's rated phases last about 300 s, in these of its folders about 1810 s, as their run_mpi.sh asks for.
LONG = ("test_5", "test_6")
GOOGLE = ("GKE", "h3-standard-88", "", "reference code", "ethernet-tcp", "google-study")


def values(text: str) -> dict[str, str]:
    """Return what an output of HPCG 3 says, by its keys."""
    return dict(line.rsplit("=", 1) for line in text.splitlines() if "=" in line)


def run(name: str, text: str, place: tuple[str, ...], nodes: str = "") -> list[str]:
    """Return the row of one output; one that is not rated valid has a reason."""
    said = values(text)
    cluster, cpu, mpi, build, link, source = place
    ranks = said["Machine Summary::Distributed Processes"]
    nodes = nodes or said.get("SLURM VARIABLES::SLURM_JOB_NUM_NODES", "")
    each = str(int(ranks) // int(nodes)) if nodes and int(ranks) % int(nodes) == 0 else ""
    grid = [said[f"Local Domain Dimensions::n{axis}"] for axis in "xyz"]
    cube = len(set(grid)) == 1
    asked = "1810" if Path(name).parent.name in LONG else "300"
    rating = said.get("Final Summary::HPCG result is VALID with a GFLOP/s rating of", "")
    return [
        name, "hpcg", said["version"].removeprefix("HPCG-Benchmark_"),
        f"{grid[0]}³" if cube else "×".join(grid), cluster, cpu, link, mpi, build,
        f"{said['Machine Summary::Threads per processes']} threads a rank",
        nodes, ranks, each, grid[0] if cube else "", asked if cluster == "Ookami" else "", rating, "Gflop/s",
        said.get("Benchmark Time Summary::Total", ""),
        said.get("DDOT Timing Variations::Avg DDOT MPI_Allreduce time", ""),
        source, "" if rating else "HPCG rates it not valid",
    ]  # fmt: skip


def arm(repository: str) -> Iterator[list[str]]:
    """Read the outputs of HPCG for Arm: a file each; what broke off before its summary is no output."""
    for path, text in _files(repository, re.compile(r".*HPCG-Benchmark_3.*\.txt")):
        folder, *rest = path.split("/")
        if folder in ARM and rest[0] == BRANCHES.get(folder, rest[0]) and "Final Summary=" in text:
            yield run(path.removesuffix(".txt"), text, ARM[folder])


def google(repository: str) -> Iterator[list[str]]:
    """Read the outputs on Google's cloud: several a file, with the number of nodes in the command."""
    for path, text in _files(repository, re.compile(r"experiments/gke/cpu/size-(\d+)/logs/hpcg\.out")):
        for part in text.split("FLUX-RUN START ")[1:]:
            name, output = part.split("\n", 1)
            output = output.partition("FLUX-RUN END")[0]
            if "Final Summary=" in output:
                size = Path(path).parts[-3]
                yield run(f"{size} {name}", output, GOOGLE, size.removeprefix("size-"))


def _files(repository: str, wanted: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    git = ["git", "-C", repository]
    tree = subprocess.run([*git, "ls-tree", "-r", "HEAD"], capture_output=True, text=True, check=True).stdout
    named = [
        (line.split()[2], line.split("\t")[1])
        for line in tree.splitlines()
        if wanted.fullmatch(line.split("\t")[1])
    ]
    blobs = "".join(f"{blob}\n" for blob, _ in named).encode()
    data = subprocess.run([*git, "cat-file", "--batch"], input=blobs, capture_output=True, check=True).stdout
    at = 0
    for _, path in named:
        head = data.index(b"\n", at)
        size = int(data[at:head].split()[2])
        yield path, data[head + 1 : head + 1 + size].decode(errors="replace")
        at = head + size + 2


def table(rows: Iterable[Iterable[str]]) -> bytes:
    """Write the table with line ends of one byte."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([HEADER, *rows])
    return text.getvalue().encode()


def main(first: str, second: str, out: Path = HERE) -> None:
    """Write the table."""
    (out / "runs.csv.xz").write_bytes(lzma.compress(table([*arm(first), *google(second)])))


if __name__ == "__main__":
    main(*sys.argv[1:])
