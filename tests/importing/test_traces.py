"""Traces of job scripts (`set -x`) and scripts elsewhere: which launch made which result of one output."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analysis.importing import launch

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
