"""``python -m analysis.measure.build CAMPAIGN MPI TARGET``: compile ``src/proxy`` with a library's mpicc."""

import shlex
import sys
from pathlib import Path

from analysis.base import files, shell
from analysis.base.errors import BenchbookError, ConfigError
from analysis.measure.declare import Declared, load

FLAGS = ("-std=c11", "-O2", "-Wall", "-Wextra")
_PATIENCE = 600  # s


def built(base: Path, cluster: str, mpi: str) -> Path:
    """Return where the program in ``src/proxy`` is built for a cluster's MPI library."""
    return base / "results" / "proxy" / cluster / mpi / "proxy"


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
    """Compile ``src/proxy/proxy.c`` with a library of the cluster's file; it is there whole or not at all."""
    entry = declared.launch.mpi[mpi]
    where = ("launch", "mpi", mpi)
    if not entry.compiler:
        remedy = "add 'compiler: .../mpicc'"
        raise ConfigError(declared.cluster.fault(where, f"{mpi} names no compiler", remedy))
    compiler = str(declared.base / entry.compiler if "/" in entry.compiler else entry.compiler)
    target.parent.mkdir(parents=True, exist_ok=True)
    with files.replacing(target) as beside:
        command = [compiler, *FLAGS, "-o", str(beside), str(declared.base / "src/proxy/proxy.c")]
        script = f"exec {shlex.join(command)}"
        if entry.modules:
            init = shlex.quote(declared.launch.modules_init)
            script = f". {init} && module load {shlex.join(entry.modules)} && {script}"
        done = shell.run(["bash", "-c", script], _PATIENCE)
        sys.stderr.write(done.err)
        if done.code != 0:
            last = (done.err.strip().splitlines() or ["no message"])[-1]
            what, remedy = (
                f"{shlex.quote(compiler)} failed: {last}",
                "install a C compiler, or fix the path",
            )
            raise ConfigError(declared.cluster.fault((*where, "compiler"), what, remedy))


if __name__ == "__main__":
    raise SystemExit(main())
