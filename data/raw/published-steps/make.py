"""Make runs.csv of GROMACS and OpenSBLI: ``python make.py REPOSITORY``, its git directory.

The originals are the outputs of both programs at the commit that README.md names.
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
    "run", "application", "version", "case", "cluster", "cpu", "interconnect", "nodes", "ranks",
    "ranks_per_node", "elapsed", "mpi_fraction", "source",
)  # fmt: skip
GROMACS, OPENSBLI = "apps/GROMACS", "apps/OpenSBLI/TGV512ss/results/Grace"
# Folder of results -> cluster, processor, link and cores of a node, as SystemDetails.ipynb has them.
ARCHER = ("ARCHER", "Ivy Bridge (E5-2697 v2)", "Aries", 24)
CSD3 = ("CSD3", "Skylake (Xeon Gold 6142)", "Omni-Path", 32)
TESSERACT = ("Tesseract", "Skylake (Xeon Silver 4116)", "Omni-Path", 24)
CURVES = {
    ("large", "ARCHER_baseline_noconfout", "2018.2"): ARCHER,
    ("large", "Athena", "2016.3"): ("Athena", "Broadwell (E5-2680 v4)", "EDR InfiniBand", 28),
    ("large", "CSD3Skylake_confout", "2018.1"): CSD3,
    ("large", "Tesseract_confout", "2018.1"): TESSERACT,
    ("large", "Thomas_confout", "2016.3"): ("Thomas", "Broadwell (E5-2650 v4)", "Omni-Path", 24),
    ("1400k-atoms", "ARCHER", "2018.2"): ARCHER,
    ("1400k-atoms", "CSD3-Skylake", "2018.1"): CSD3,
    ("1400k-atoms", "Cirrus", "2018.3"): ("Cirrus", "Broadwell (E5-2695 v4)", "FDR InfiniBand", 36),
    ("1400k-atoms", "Tesseract_confout", "2018.1"): TESSERACT,
}
# Rows of GROMACS' table of time that are communication, or a wait for another rank.
COMMUNICATION = frozenset({
    "DD comm. load", "DD comm. bounds", "Send X to PME", "Comm. coord.", "Wait + Comm. F",
    "Wait + Recv. PME F", "Comm. energies", "PME redist. X/F", "PME 3D-FFT Comm.", "PME wait for PP *",
})  # fmt: skip
# Name of 19 characters; ranks, threads and calls, not in every row; seconds, cycles of all ranks, share.
ROW = re.compile(r" (.{19}) *(?:\d+ +){0,3}([\d.]+) +([\d.]+) +[\d.]+")


def git(repository: str, *words: str) -> str:
    """Run git and return what it prints."""
    done = subprocess.run(["git", "-C", repository, *words], capture_output=True, check=True)
    return done.stdout.decode(errors="replace")


def outputs(repository: str, folder: str) -> Iterator[tuple[str, str]]:
    """Yield path and text of each output in a folder."""
    for name in git(repository, "ls-tree", "-r", "--name-only", "HEAD", folder).splitlines():
        if name.endswith((".log", ".txt")) and "/results/" in name:
            yield name, git(repository, "show", f"HEAD:{name}")


def gromacs(repository: str) -> Iterator[list[str]]:
    """Read the runs of each curve on 2 to 32 nodes, with one thread a rank and a rank on each core."""
    for name, text in outputs(repository, GROMACS):
        case, folder, file = Path(name).parts[2], *Path(name).parts[4:6]
        version, nodes = re.search(r"GROMACS version: +(\S+)", text), re.search(r"_(\d+)nodes", file)
        ranks = re.search(r"^Using (\d+) MPI process", text, re.M)
        threads = re.search(r"^Using (\d+) OpenMP thread", text, re.M)
        if not (version and nodes and ranks and threads):
            continue
        system, count = CURVES.get((case, folder, version[1])), int(nodes[1])
        if not system or threads[1] != "1" or int(ranks[1]) != count * system[3] or not 2 <= count <= 32:
            continue
        table = text[text.rindex("A C C O U N T I N G") :]
        total = re.search(r"^ Total +([\d.]+) +([\d.]+) +100.0", table, re.M)
        if not total:
            continue
        found = {row[1].strip(): float(row[3]) for row in map(ROW.fullmatch, table.splitlines()) if row}
        share = sum(cycles for row, cycles in found.items() if row in COMMUNICATION) / float(total[2])
        yield [
            name, "gromacs", version[1], case, *system[:3], nodes[1], ranks[1], str(system[3]),
            total[1], f"{share:.4f}", "archer-gromacs",
        ]  # fmt: skip


def opensbli(repository: str) -> Iterator[list[str]]:
    """Read the runs on Grace, ten of each number of nodes."""
    for name, text in outputs(repository, OPENSBLI):
        nodes = re.search(r"output_(\d+)nodes_\d+\.txt", name)
        total = re.search(r"Total Wall time of the time iteration loop for 100 iterations, ([\d.]+)", text)
        if nodes and total:
            yield [
                name, "opensbli", "", "tgv512", "Grace", "Haswell (E5-2630 v3)", "QDR InfiniBand", nodes[1],
                str(16 * int(nodes[1])), "16", total[1], "", "archer-opensbli",
            ]  # fmt: skip


def main(repository: str) -> None:
    """Write the table."""
    rows = [*sorted(gromacs(repository)), *sorted(opensbli(repository))]
    with (HERE / "runs.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([HEADER, *rows])


if __name__ == "__main__":
    main(*sys.argv[1:])
