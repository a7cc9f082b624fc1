"""Make runs.csv of CASTEP on Grace and VASP on ARCHER2: ``python make.py REPOSITORY``, its git directory.

The originals are the outputs of both programs at the commit that README.md names.
"""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from zoneinfo import ZoneInfo

HERE = Path(__file__).parent
HEADER = (
    "run", "application", "version", "case", "cluster", "cpu", "interconnect", "mpi", "build", "tuning",
    "nodes", "ranks", "ranks_per_node", "start", "elapsed", "source",
)  # fmt: skip
CASTEP, VASP = "apps/CASTEP/al3x3/results/Grace", "others/VASP/CdTe_Hybrid/results"
GRACE = re.compile(r"results_(\d+)nodes_\d+_\d+_\d+\.castep")
ARCHER2 = re.compile(r"CdTe_(\d+)nodes_\d+cores_1threads_(\d+)NCORE_2KPAR_\d+\.OUTCAR")
# Of the builds there these two alone ran with 64 and with 128 ranks a node.
BUILDS = {
    "ARCHER2_VASP632_LibSci-21.08_UCX": ("6.3.2", "LibSci 21.08"),
    "ARCHER2_VASP641_LibSci-22.12_UCX": ("6.4.1", "LibSci 22.12"),
}
# VASP prints the clock of the machine, which stands in Edinburgh; CASTEP prints its offset.
CLOCK = ZoneInfo("Europe/London")


def git(repository: str, *words: str) -> str:
    """Run git and return what it prints."""
    done = subprocess.run(["git", "-C", repository, *words], capture_output=True, check=True)
    return done.stdout.decode(errors="replace")


def outputs(repository: str, folder: str) -> Iterator[tuple[str, str]]:
    """Yield path and text of each output in a folder."""
    for name in git(repository, "ls-tree", "-r", "--name-only", "HEAD", folder).splitlines():
        if name.endswith((".castep", ".OUTCAR")):
            yield name, git(repository, "show", f"HEAD:{name}")


def spelt(start: datetime) -> str:
    """Return a time in UTC."""
    return start.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")


def each(ranks: str, nodes: str) -> str:
    """Return the ranks of a node."""
    return str(int(ranks) // int(nodes))


def castep(repository: str) -> Iterator[list[str]]:
    """Read the runs on Grace; one without a total time did not end."""
    for name, text in outputs(repository, CASTEP):
        found, total = GRACE.fullmatch(Path(name).name), re.search(r"^Total time += +([\d.]+) s", text, re.M)
        ranks = re.search(r"Calculation parallelised over (\d+) processes", text)
        began = re.search(r"Run started: (.+)", text)
        if found and total and ranks and began:
            yield [
                name, "castep", "17.21", "al3x3", "Grace (QDR)", "Haswell (E5-2630 v3)", "QDR InfiniBand",
                "Intel MPI 2017", "Intel Fortran 17.0.4", "", found[1], ranks[1], each(ranks[1], found[1]),
                spelt(parsedate_to_datetime(began[1].strip())), total[1], "archer-benchmarks",
            ]  # fmt: skip


def vasp(repository: str) -> Iterator[list[str]]:
    """Read the runs on ARCHER2 with one thread and 64 or 128 ranks on each of up to 8 nodes."""
    for name, text in outputs(repository, VASP):
        found, build = ARCHER2.fullmatch(Path(name).name), BUILDS.get(Path(name).parent.name)
        total = re.search(r"Elapsed time \(sec\): +([\d.]+)", text)
        ranks = re.search(r"running +(\d+) mpi-ranks", text)
        began = re.search(r"executed on .* date ([\d.]+) +([\d:]+)", text)
        if not (found and build and total and ranks and began):
            continue
        if int(found[1]) <= 8 and each(ranks[1], found[1]) in ("64", "128"):
            local = datetime.strptime(f"{began[1]} {began[2]}", "%Y.%m.%d %H:%M:%S").replace(tzinfo=CLOCK)
            yield [
                name, "vasp", build[0], "CdTe", "ARCHER2 (Slingshot)", "Rome (EPYC 7742)", "Slingshot",
                "Cray MPICH over UCX", build[1], f"NCORE={found[2]}", found[1], ranks[1],
                each(ranks[1], found[1]), spelt(local), total[1], "archer-vasp",
            ]  # fmt: skip


def main(repository: str) -> None:
    """Write the table."""
    rows = [*sorted(castep(repository)), *sorted(vasp(repository))]
    with (HERE / "runs.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([HEADER, *rows])


if __name__ == "__main__":
    main(*sys.argv[1:])
