"""Instances that ran at once in one job are one run; repeats in a row stay repeats."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ..readers.merits.texts import TEXTS
from .test_executions import look
from .test_import import Imported, imported, project

__all__ = ["imported", "project"]

# As LAMMPS begins the log of a partition, and GROMACS that of a simulation of several.
PARTITION = TEXTS["lammps"].replace("units", "Processor partition = {}\n\nunits", 1)
SIMULATION = TEXTS["gromacs"].replace(
    "Using 32 MPI",
    "This is simulation {} out of 3 running as a composite GROMACS\n"
    "multi-simulation job. Setup for this simulation:\n\nUsing 32 MPI",
)
# What mdrun leaves on the terminal; its banner went elsewhere.
TERMINAL = """\
Reading file md.tpr, VERSION 2021.1 (single precision)

Using 8 MPI processes
Using 4 OpenMP threads per MPI process

starting mdrun 'Water'
10000 steps,     20.0 ps.

Writing final coordinates.

               Core t (s)   Wall t (s)        (%)
       Time:     7680.128      120.002     6400.0
                 (ns/day)    (hour/ns)
Performance:       14.402        1.666
"""


def write(tree: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)


def log(text: str, rate: float) -> str:
    """Return a log of LAMMPS with a rate of its own."""
    lines = {"12.5 on": f"{200 / rate:.6g} on", "16.000 timesteps/s": f"{rate} timesteps/s"}
    text = re.sub(r"1\.382 ns/day, 17\.361 hours/ns, |, 512\.000 katom-step/s", "", text)
    for old, new in lines.items():
        text = text.replace(old, new)
    return text


def test_import__partitions_of_one_job_are_no_repeats(
    tmp_path: Path, project: Path, imported: Imported
) -> None:
    files = {f"run-1/log.lammps.{number}": PARTITION.format(number) for number in range(4)}
    files |= {f"run-2/log.lammps.{number}": PARTITION.format(number) for number in range(4)}
    files |= {"run-3/log.lammps": TEXTS["lammps"]}
    write(tmp_path / "tree", {name: log(text, 16 + at / 8) for at, (name, text) in enumerate(files.items())})
    found = imported(tmp_path / "tree")
    assert sorted(found) == ["run-1/log.lammps.0#", "run-2/log.lammps.0#", "run-3/log.lammps#"]
    shared = {name: one.get("options") for name, one in found.items()}
    assert shared["run-1/log.lammps.0#"] == shared["run-2/log.lammps.0#"] == "instances=4"
    assert shared["run-3/log.lammps#"] != "instances=4"
    kept = found["run-1/log.lammps.0#"]["imported"]["files"]
    assert [one["from"] for one in kept] == [f"run-1/log.lammps.{number}" for number in range(4)]


def test_import__simulations_of_one_mdrun_are_one_run(tmp_path: Path, imported: Imported) -> None:
    write(tmp_path / "tree", {
        f"{job}/sim{at}/md.log": SIMULATION.format(at).replace("14.402", f"14.{400 + shift + at}")
        .replace("1.666", f"{24 / float(f'14.{400 + shift + at}'):.3f}")
        for shift, job in ((0, "first"), (5, "second")) for at in range(3)
    })  # fmt: skip
    assert sorted(imported(tmp_path / "tree")) == ["first/sim0/md.log#", "second/sim0/md.log#"]


@pytest.mark.parametrize(("minute", "count"), [(0, 1), (1, 2), (2, 2)])
def test_import__runs_side_by_side_on_one_host_are_one_run(
    minute: int, count: int, tmp_path: Path, imported: Imported
) -> None:
    one = TEXTS["gromacs"].replace("GROMACS version", "Host: n1  pid: 7  rank ID: 0\nGROMACS version")
    two = one.replace("14.402", "14.403").replace("10:00:00", f"10:{minute:02}:20")
    two = two.replace("10:02:00", f"10:{minute + 3:02}:00")
    write(tmp_path / "tree", {"a/md.log": one, "b/md.log": two})
    assert len(imported(tmp_path / "tree")) == count


def test_import__runs_at_once_on_two_hosts_are_two_runs(tmp_path: Path, imported: Imported) -> None:
    text = TEXTS["gromacs"].replace("GROMACS version", "Host: n1  pid: 7  rank ID: 0\nGROMACS version")
    other = text.replace("Host: n1", "Host: n2").replace("14.402", "14.403")
    write(tmp_path / "tree", {"a/md.log": text, "b/md.log": other})
    assert len(imported(tmp_path / "tree")) == 2


@pytest.mark.parametrize(
    ("names", "noted"),
    [(("1.log", "2.log"), True), (("a/1.log", "b/1.log"), False), (("m.o801", "m.o802"), False)],
)
def test_import__runs_at_once_on_hosts_that_are_not_known_are_named(
    names: tuple[str, str],
    noted: bool,
    tmp_path: Path,
    imported: Imported,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """They are repeats on nodes of their own, as jobs of a cluster, and none if they shared one."""
    text = TEXTS["gromacs"]
    write(tmp_path / "tree", {names[0]: text, names[1]: text.replace("14.402", "14.403")})
    assert len(imported(tmp_path / "tree")) == 2
    assert ("is one of 2 runs that went on at the same time" in capsys.readouterr().out) is noted


def test_detect__terminal_of_mdrun_is_a_result_without_its_banner(tmp_path: Path) -> None:
    (part,) = look(tmp_path, "slurm-103.out", TERMINAL).parts
    assert (part.complete, part.facts["figures"]["ns/day"]) == (True, 14.402)
    assert part.facts["problem"] == "atoms=? nsteps=10000 system=Water"
    assert (part.facts["ranks"], part.facts["threads"]) == (8, 4)
    (cut,) = look(tmp_path, "slurm-104.out", TERMINAL[: TERMINAL.index("Performance")]).parts
    assert cut.complete is False
