"""Make runs.csv of NEMO and GROMACS on ARCHER2: ``python make.py REPOSITORY``, its git directory.

The originals are the outputs of both programs at the commit that README.md names.
"""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

HERE = Path(__file__).parent
HEADER = (
    "run", "application", "version", "case", "build", "tuning", "nodes", "ranks", "ranks_per_node", "order",
    "start", "elapsed", "mpi_fraction", "source",
)  # fmt: skip
NEMO = re.compile(r"NEMO/(OFI|UCX)/(CCE12|GCC11)/n(\d+)/(\d+)/nemo\.o")
GROMACS = re.compile(r"GROMACS/(OFI|UCX)/benchPEP_\w+_(\d+)nodes_1threads_run\d_id\d+_\d+\.log")
# Rows of GROMACS' table of time that are communication, or a wait for another rank.
COMMUNICATION = frozenset({
    "DD comm. load", "DD comm. bounds", "Send X to PME", "Comm. coord.", "Wait + Comm. F",
    "Wait + Recv. PME F", "Comm. energies", "PME redist. X/F", "PME 3D-FFT Comm.", "PME wait for PP *",
})  # fmt: skip
# Name of 19 characters; ranks, threads and calls, not in every row; seconds, cycles of all ranks, share.
ROW = re.compile(r" (.{19}) *(?:\d+ +){0,3}([\d.]+) +([\d.]+) +[\d.]+")
# GROMACS prints the clock of the machine, which stands in Edinburgh.
CLOCK = ZoneInfo("Europe/London")


def git(repository: str, *words: str) -> str:
    """Run git and return what it prints."""
    done = subprocess.run(["git", "-C", repository, *words], capture_output=True, check=True)
    return done.stdout.decode(errors="replace")


def nemo(repository: str, name: str, found: re.Match[str]) -> list[str]:
    """Read a run of NEMO: the time that its job script printed, and the ranks of its decomposition."""
    transport, build, nodes, job = found.groups()
    text = git(repository, "show", f"HEAD:{name}")
    layout = git(repository, "show", f"HEAD:{Path(name).parent}/layout.dat")
    ranks, took = int(layout.splitlines()[1].split()[0]), re.search(r"srun time: ([\d.]+)", text)
    if took is None:
        raise ValueError(f"{name} has no time")
    return [
        str(Path(name).parent), "nemo", "4.0.6", "GYRE_PISCES", build, transport, nodes, str(ranks),
        str(ranks // int(nodes)), job, "", f"{float(took[1]):.3f}", "", "performance-ofi-ucx",
    ]  # fmt: skip


def gromacs(repository: str, name: str, found: re.Match[str]) -> list[str]:
    """Read a run of GROMACS with one thread a rank: time, start, and the share of communication."""
    transport, nodes = found.groups()
    text = git(repository, "show", f"HEAD:{name}")
    ranks, began = (
        re.search(r"Using (\d+) MPI process", text),
        re.search(r"Started mdrun on rank 0 (.+)", text),
    )
    table = text[text.rindex("A C C O U N T I N G") :]
    total = re.search(r"^ Total +([\d.]+) +([\d.]+) +100.0", table, re.M)
    version = re.search(r"GROMACS version: +(\S+)", text)
    if not (ranks and began and total and version):
        raise ValueError(f"{name} did not end")
    rows = {row[1].strip(): float(row[3]) for row in map(ROW.fullmatch, table.splitlines()) if row}
    share = sum(cycles for row, cycles in rows.items() if row in COMMUNICATION) / float(total[2])
    start = datetime.strptime(" ".join(began[1].split()), "%a %b %d %H:%M:%S %Y").replace(tzinfo=CLOCK)
    return [
        name, "gromacs", version[1], "benchPEP", "GCC", transport, nodes, ranks[1],
        str(int(ranks[1]) // int(nodes)), "", start.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S"),
        total[1], f"{share:.4f}", "performance-ofi-ucx",
    ]  # fmt: skip


def runs(repository: str) -> Iterator[list[str]]:
    """Read all runs of NEMO, and those of GROMACS with one thread a rank on 2 to 32 nodes."""
    for name in git(repository, "ls-tree", "-r", "--name-only", "HEAD").splitlines():
        if found := NEMO.fullmatch(name):
            yield nemo(repository, name, found)
        elif (found := GROMACS.fullmatch(name)) and 2 <= int(found[2]) <= 32:
            yield gromacs(repository, name, found)


def main(repository: str) -> None:
    """Write the table."""
    with (HERE / "runs.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([HEADER, *sorted(runs(repository))])


if __name__ == "__main__":
    main(*sys.argv[1:])
