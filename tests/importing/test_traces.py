"""Traces of job scripts (`set -x`) and scripts elsewhere: which launch made which result of one output."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from analysis.importing import launch, scripts

from .test_import import Imported, imported, log, project

__all__ = ["imported", "project"]

# What the shells print of a loop over two transports, then of a third for one launch alone, then of none.
BASH = (
    "+ for t in rc tcp\n+ export UCX_TLS=rc\n+ UCX_TLS=rc\n+ mpirun -np 4 ./lmp -in in.lj\n{}"
    "+ for t in rc tcp\n+ export UCX_TLS=tcp\n+ UCX_TLS=tcp\n+ mpirun -np 4 ./lmp -in in.lj\n{}"
    "+ unset UCX_TLS\n+ UCX_TLS=ud\n+ OMP_NUM_THREADS=2\n+ mpirun -np 4 ./lmp -in in.lj\n{}"
    "+ mpirun -np 4 ./lmp -in in.lj\n{}"
)
DASH = (
    "+ export UCX_TLS=rc\n+ mpirun -np 4 ./lmp -in in.lj\n{}"
    "+ export UCX_TLS=tcp\n+ mpirun -np 4 ./lmp -in in.lj\n{}"
    "+ unset UCX_TLS\n+ UCX_TLS=ud OMP_NUM_THREADS=2 mpirun -np 4 ./lmp -in in.lj\n{}"
    "+ mpirun -np 4 ./lmp -in in.lj\n{}"
)


def in_order(found: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the runs in the order in which their results are in their file."""
    return sorted(found.values(), key=lambda one: int(one["run"].rpartition("part")[2]))


@pytest.mark.parametrize("trace", [BASH, DASH])
def test_launches__each_has_the_variables_that_the_shell_had_set(trace: str) -> None:
    found = launch.launches(trace.format(*["out\n"] * 4))
    assert [one["environment"] for one in found] == [
        {"UCX_TLS": "rc"}, {"UCX_TLS": "tcp"}, {"UCX_TLS": "ud", "OMP_NUM_THREADS": "2"}, {},
    ]  # fmt: skip
    assert [one.get("threads") for one in found] == [None, None, 2, None]


@pytest.mark.parametrize("apart", [False, True])
def test_import__each_result_of_a_traced_loop_has_its_own_transport(
    apart: bool, tmp_path: Path, imported: Imported
) -> None:
    """The trace is between the results, or in the file of standard error."""
    tree = tmp_path / "tree"
    tree.mkdir()
    loop = "".join(
        f"+ export UCX_TLS={one}\n+ UCX_TLS={one}\n+ mpirun -np 4 ./lmp\n{{}}" for one in ("rc", "tcp")
    )
    results = [log(9.5 + at / 10) for at in range(4)]
    if apart:
        (tree / "loop.out").write_text("".join(results))
        (tree / "loop.err").write_text((loop * 2).format(*("" for _ in results)))
    else:
        (tree / "loop.out").write_text("+ module load openmpi/4.1.5\n" + (loop * 2).format(*results))
    found = imported(tree)
    assert [(one["options"], one["repeat"]) for one in in_order(found)] == [
        ("UCX_TLS=rc", 1), ("UCX_TLS=tcp", 1), ("UCX_TLS=rc", 2), ("UCX_TLS=tcp", 2),
    ]  # fmt: skip
    assert {one.get("mpi") for one in found.values()} == {None if apart else "Open MPI 4.1.5"}


def test_import__a_trace_changes_the_library_of_later_results(tmp_path: Path, imported: Imported) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    text = "".join(
        f"+ module purge\n+ module load {name}\n+ mpirun -np 4 ./lmp\n{log(seconds)}"
        for name, seconds in (("openmpi/4.1.5", 9.5), ("mpich/4.0.2", 9.7))
    )
    (tree / "loop.out").write_text(text)
    assert [one["mpi"] for one in in_order(imported(tree))] == ["Open MPI 4.1.5", "MPICH 4.0.2"]


def script(link: str, output: str, line: str = "") -> str:
    return f"#!/bin/sh\n#SBATCH -o {output}\nexport UCX_TLS={link}\nmpirun -np 4 ./lmp -in in.lj{line}\n"


@pytest.mark.parametrize(
    ("folder", "output"),
    [
        ("jobs", "out/run_{0}.log"),
        ("jobs", "jobs/out/run_{0}.log"),  # submitted from the folder above
        ("jobs/scripts", "../out/run_{0}.log"),
        ("jobs", "/home/ada/tree/jobs/out/run_{0}.log"),
        ("jobs", "none.log|$SLURM_SUBMIT_DIR/out/run_{0}.log"),
    ],
)
def test_import__a_script_elsewhere_is_that_of_the_output_that_it_names(
    folder: str, output: str, tmp_path: Path, imported: Imported
) -> None:
    root = tmp_path / "tree"
    for one in (folder, "jobs/out"):
        (root / one).mkdir(parents=True, exist_ok=True)
    links = {1: "rc", 2: "tcp", 3: "rc", 4: "tcp"}
    for number, link in links.items():
        asked, _, redirected = output.format(number).partition("|")
        line = f" > {redirected} 2>&1" if redirected else ""
        (root / folder / f"lj-{'abcd'[number - 1]}.sh").write_text(script(link, asked, line))
        (root / "jobs" / "out" / f"run_{number}.log").write_text(log(9.5 + number / 10))
    found = imported(root)
    assert {int(name[-6]): one["options"].partition("=")[2] for name, one in found.items()} == links


def test_import__an_output_that_two_scripts_name_is_of_neither(tmp_path: Path, imported: Imported) -> None:
    root = tmp_path / "tree"
    (root / "out").mkdir(parents=True)
    for number, link in enumerate(("rc", "tcp")):
        (root / f"lj{number}.sh").write_text(script(link, "out/run.log"))
    (root / "out" / "run.log").write_text(log(9.5))
    (one,) = imported(root).values()
    assert not [file for file in one["imported"]["files"] if file["from"].endswith(".sh")]


@pytest.mark.parametrize("asked", ["%x_%j.out", "run.log"])
def test_import__of_several_scripts_in_a_folder_none_is_that_of_all(
    asked: str, tmp_path: Path, imported: Imported
) -> None:
    """The first in the order of names was: the GPUs and nodes of one job were those of all others."""
    root = tmp_path / "tree"
    root.mkdir()
    for nodes in (1, 2):
        head = f"#!/bin/bash\n#SBATCH -N {nodes}\n#SBATCH --job-name=lj{nodes}N\n"
        (root / f"run{nodes}.sh").write_text(f"{head}#SBATCH -o {asked}\nsrun ./lmp\n")
        (root / f"lj{nodes}N_700{nodes}.out").write_text(log(9.5 + nodes))
    nodes = {name[-6]: one.get("nodes") for name, one in imported(root).items()}
    assert nodes == ({"1": 1, "2": 2} if asked == "%x_%j.out" else {"1": None, "2": None})


def test_launches__of_a_long_trace_take_a_time_that_grows_with_it() -> None:
    pair = "+ export UCX_TLS={}\n+ mpirun -np {} ./lmp -in in.lj\n"
    text = "".join(pair.format("tcp" if ranks % 2 else "rc", ranks) for ranks in range(1, 10_001))
    found = launch.launches(text)  # a quarter of an hour, where each launch begins at the first line
    assert [one["environment"]["UCX_TLS"] for one in found[-2:]] == ["tcp", "rc"]
    assert [one["ranks"] for one in found[-2:]] == [9_999, 10_000]


def test_outputs__of_ten_thousand_scripts_that_write_alike_are_of_none() -> None:
    def script(name: str, output: str) -> SimpleNamespace:
        facts = {"directives": {"-o": output}}
        return SimpleNamespace(
            name=f"t/{name}", what="job script", file=SimpleNamespace(folder="t"), facts=facts
        )

    known = [script("one.sh", "mine.log"), *(script(f"{at}.sh", "slurm-%j.out") for at in range(10_000))]
    results = {"t/mine.log", *(f"t/slurm-{at}.out" for at in range(10_000))}
    assert scripts.outputs(known, results) == {"t/one.sh": {"t/mine.log"}}
