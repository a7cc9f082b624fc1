"""Make runs.csv of the runs at two CPU frequencies: ``python make.py REPOSITORY``, its git directory.

The originals are the outputs, and the tables of ``sacct`` next to them, at the commit that README.md names.
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
    "run", "application", "version", "case", "frequency", "nodes", "ranks", "ranks_per_node", "threads",
    "figure_of_merit", "figure_of_merit_unit", "elapsed", "energy", "mean_power", "energy_reason",
    "job_id", "order",
)  # fmt: skip
Words = tuple[str, str, str]
RANKS = 128  # a node, of all that is taken
NOT_COUNTED = "sacct has no energy of the step"
# A step of sacct's table: number, frequency that was asked for, seconds, J where they were counted.
STEP = re.compile(r"^(\d{7})\.\d+ .* (2(?:\.25)?)G +(\d+) +(\d*) *$", re.MULTILINE)
GROMACS = re.compile(r"^(\w+),(\d{7}),(\d{4})000,(\d+),(\d+),[\d.]+$", re.MULTILINE)


class Repository:
    """The files of the repository's newest commit here."""

    def __init__(self, git: str) -> None:
        self._git = ["git", "-C", git]
        self.names = self._run("ls-tree", "-r", "--name-only", "HEAD").splitlines()

    def _run(self, *words: str) -> str:
        done = subprocess.run([*self._git, *words], capture_output=True, check=True)
        return done.stdout.decode(errors="replace")

    def text(self, name: str) -> str:
        """Return what a file says."""
        return self._run("show", f"HEAD:{name}")

    def found(self, pattern: str) -> Iterator[re.Match[str]]:
        """Yield the names that a pattern matches."""
        return filter(None, (re.fullmatch(pattern, name) for name in self.names))


def only(pattern: str, text: str) -> str:
    """Return the group of the last match; a file without one is another one than this script knows."""
    return re.findall(pattern, text, re.MULTILINE)[-1]


def steps(text: str) -> dict[float, Words]:
    """Return, by frequency in GHz, job, seconds and J of the steps of a table of sacct."""
    return {float(ghz): (job, seconds, joules) for job, ghz, seconds, joules in STEP.findall(text)}


def row(name: str, what: Words, ghz: float, nodes: int, merit: tuple[str, str], step: Words) -> list[str]:
    """Return the row of a run without its place in the order."""
    job, seconds, joules = step
    counts = [f"{ghz:g}", nodes, nodes * RANKS, RANKS, 1]
    watts = f"{int(joules) / int(seconds):.1f}" if joules else ""
    energy = [joules, watts, "" if joules else NOT_COUNTED]
    return [name, *what, *map(str, counts), *merit, seconds, *energy, job]


def lammps(repository: Repository) -> Iterator[list[str]]:
    """Read the short runs of LAMMPS: a job each."""
    folder = "apps/LAMMPS/ethanol/results"
    for one in repository.found(rf"{folder}/log\.(2\d{{3}})000\.(\d+)"):
        text, ghz = repository.text(one[0]), int(one[1]) / 1000
        merit = only(r"^Performance: ([\d.]+) ns/day", text)
        what = ("lammps", only(r"^LAMMPS \((.+)\)", text), "ethanol")
        accounts = steps(repository.text(f"{folder}/energy_{one[2]}.dat"))
        yield row(one[0], what, ghz, 4, (merit, "ns/day"), accounts[ghz])


def castep(repository: Repository) -> Iterator[list[str]]:
    """Read the runs of CASTEP: a job has a step at each frequency."""
    folder = "apps/CASTEP/al3x3/results"
    for one in repository.found(rf"{folder}/al3x3_4nodes_(2\d{{3}})000freq_(\d+)_\d+\.castep"):
        text, ghz = repository.text(one[0]), int(one[1]) / 1000
        what = ("castep", only(r"CASTEP version (\S+?)\|", text), "al3x3")
        merit = only(r"^Total time\s+= +([\d.]+) s", text)
        accounts = steps(repository.text(f"{folder}/energy_{one[2]}.dat"))
        yield row(one[0], what, ghz, 4, (merit, "s"), accounts[ghz])


def opensbli(repository: Repository) -> Iterator[list[str]]:
    """Read the runs of OpenSBLI on 512 nodes that came to their end; the table of sacct is at that end."""
    for one in repository.found(r"apps/OpenSBLI/results/TGV1024ss_512nodes_(2\d{3})000freq_\d+_\d+\.out"):
        text, ghz = repository.text(one[0]), int(one[1]) / 1000
        if "Total Wall time" in text:
            merit = only(r"^Total Wall time of the time iteration loop for 10000 iterations, ([\d.]+)", text)
            yield row(one[0], ("opensbli", "", "TGV 1024³"), ghz, 512, (merit, "s"), steps(text)[ghz])


def gromacs(repository: Repository) -> Iterator[list[str]]:
    """Read the runs of GROMACS: a log each, and one table of what sacct had."""
    folder = "apps/GROMACS/results"
    for name, job, mhz, seconds, joules in GROMACS.findall(repository.text(f"{folder}/results.dat")):
        ghz = int(mhz) / 1000
        log = f"{folder}/{ghz:.2f}GHZ_{name}_md.log"
        text = repository.text(log)
        nodes = int(only(r"^Running on (\d+) nodes", text))
        atoms = only(r"^There are: (\d+) Atoms", text)
        what = ("gromacs", only(r"^GROMACS version: +(\S+)", text), f"{atoms} atoms")
        merit = only(r"^Performance: +([\d.]+)", text)
        yield row(log, what, ghz, nodes, (merit, "ns/day"), (job, seconds, joules))


def table(repository: Repository) -> list[list[str]]:
    """Return all rows; jobs count in the order of their numbers, 2.00 GHz first where one job ran both."""
    readers = (castep, gromacs, lammps, opensbli)
    rows = [one for read in readers for one in read(repository)]
    ghz, job = HEADER.index("frequency"), HEADER.index("job_id")
    places = {one[0]: at for at, one in enumerate(sorted(rows, key=lambda one: (one[job], one[ghz])))}
    return [[*one, str(places[one[0]])] for one in rows]


def main(git: str, out: Path = HERE) -> None:
    """Write the table."""
    with (out / "runs.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([HEADER, *table(Repository(git))])


if __name__ == "__main__":
    main(*sys.argv[1:])
