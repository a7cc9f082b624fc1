"""``python -m analysis.measure.build CAMPAIGN MPI TARGET``: compile ``src/proxy`` with an MPI's mpicc."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

from analysis.base.errors import BenchbookError, ConfigError
from analysis.measure.declare import Declared, load
from analysis.measure.script import quote, words

FLAGS = ("-std=c11", "-O2", "-Wall", "-Wextra")


def main(argv: list[str] | None = None) -> int:
    """Compile the program; 0 done, 1 not, with one line why."""
    campaign, mpi, target = sys.argv[1:] if argv is None else argv
    try:
        declared = load(campaign)
        build(declared, mpi, Path(target))
    except BenchbookError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def build(declared: Declared, mpi: str, target: Path) -> None:
    """Compile ``src/proxy/proxy.c``.

    Parameters
    ----------
    declared : Declared
    mpi : str
        Name of the library in the cluster's file.
    target : Path
        The program; its folder is made, and it is there whole or not at all.

    Raises
    ------
    ConfigError
        If the library has no compiler, or that cannot compile it.
    """
    entry = declared.launch.mpi[mpi]
    where = ("launch", "mpi", mpi)
    if not entry.compiler:
        raise ConfigError(
            declared.cluster.fault(where, f"{mpi} names no compiler", "add 'compiler: .../mpicc'")
        )
    compiler = str(declared.base / entry.compiler if "/" in entry.compiler else entry.compiler)
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    command = [compiler, *FLAGS, "-o", str(beside), str(declared.base / "src/proxy/proxy.c")]
    script = f"exec {words(command)}"
    if entry.modules:
        init = quote(declared.launch.modules_init)
        script = f". {init} && module load {words(entry.modules)} && {script}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    sys.stderr.write(done.stderr)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["no message"])[-1]
        what = f"{shlex.join(command[:1])} failed: {said}"
        raise ConfigError(
            declared.cluster.fault((*where, "compiler"), what, "install a C compiler, or mend the path")
        )
    beside.replace(target)


if __name__ == "__main__":
    raise SystemExit(main())
