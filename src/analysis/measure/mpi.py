"""MPI libraries: how each starts the ranks of a job, and how its compiler builds ``src/proxy``.

``python -m analysis.measure.mpi CAMPAIGN MPI TARGET`` compiles the program with the library's mpicc.
"""

import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from analysis.base import files, shell
from analysis.base.errors import BenchbookError, ConfigError
from analysis.measure.declare import Declared, MpiLibrary, load

# Binding is ours (bind.sh); a library that binds by itself would do it again, and differently.
OWN_BINDING_OFF: dict[str, dict[str, str]] = {
    "openmpi": {}, "hpcx": {}, "mpich": {}, "intelmpi": {"I_MPI_PIN": "0"},
    "mvapich2": {"MV2_ENABLE_AFFINITY": "0"}, "platformmpi": {}, "charm": {},
}  # fmt: skip
PROGRAM = {"openmpi": "mpirun", "hpcx": "mpirun", "mpich": "mpiexec", "intelmpi": "mpiexec.hydra"}
PROGRAM |= {"mvapich2": "mpiexec.hydra", "platformmpi": "mpirun", "charm": "charmrun"}
# Files of a job that charmrun starts: where its processes run, and by what each is started.
NODELIST, STARTER = "nodelist", "start-rank.sh"
_STARTER = """\
#!/bin/sh
# A remote shell brings none of the variables that the job's script sets, a line each.
eval "$(grep '^export ' ../job.sh)"
"""
# Variables that each launcher hands over to all ranks unasked.
_FORWARDED = ("OMPI_", "PMIX_")
FLAGS = ("-std=c11", "-O2", "-Wall", "-Wextra")
_PATIENCE = 600  # s


@dataclass(frozen=True, slots=True)
class JobSize:
    """Size of one MPI job: its nodes, in the order in which ranks fill them."""

    hosts: tuple[str, ...]
    ranks_per_node: int
    oversubscribed: bool = False

    @property
    def ranks(self) -> int:
        """Ranks in all."""
        return len(self.hosts) * self.ranks_per_node


def launch_line(
    mpi: MpiLibrary, shape: JobSize, environment: Mapping[str, str], forward: Sequence[str] = ()
) -> list[str]:
    """Make the words before the program."""
    if mpi.start.startswith("srun"):
        kind = mpi.start.removeprefix("srun-")
        return [mpi.launcher or "srun", f"--mpi={kind}", *_srun(shape), *mpi.options]
    launcher = mpi.launcher or PROGRAM[mpi.family]
    if mpi.start.startswith("charmrun"):
        return [launcher, *_charmrun(shape, mpi.start), *mpi.options]
    makers = {"openmpi": _openmpi, "hpcx": _openmpi, "platformmpi": _platform}
    return [launcher, *makers.get(mpi.family, _hydra)(shape, environment, forward), *mpi.options]


def charm_files(shape: JobSize, wrapper: Iterable[str]) -> dict[str, str]:
    """Make the files of a job that charmrun starts: the list of nodes, and what starts each process."""
    hosts = "".join(f"host {host}\n" for host in shape.hosts)
    return {NODELIST: f"group main\n{hosts}", STARTER: f'{_STARTER}exec {shlex.join(wrapper)} "$@"\n'}


def _charmrun(shape: JobSize, start: str) -> list[str]:
    words = ["++p", str(shape.ranks), "++runscript", f"./{STARTER}"]
    if start == "charmrun":
        # Started at once, the processes of a node would be forks of the first, on its cores.
        return [*words, "++no-scalable-start", "++nodelist", NODELIST]
    # charmrun splits the text at blanks and puts the number of processes behind it, as `-n 8`.
    return [*words, "++mpiexec", "++remote-shell", " ".join(["srun", "--mpi=none", *_srun(shape)])]


def _srun(shape: JobSize) -> list[str]:
    size = [
        f"--nodes={len(shape.hosts)}",
        f"--ntasks={shape.ranks}",
        f"--ntasks-per-node={shape.ranks_per_node}",
    ]
    # Jobs at once share the allocation; each has its own cores by our binding.
    return [*size, "--distribution=block", "--cpu-bind=none", "--overlap"]


def _openmpi(shape: JobSize, environment: Mapping[str, str], forward: Sequence[str]) -> list[str]:
    where = f"ppr:{shape.ranks_per_node}:node" + (":oversubscribe" if shape.oversubscribed else "")
    words = ["-np", str(shape.ranks), "--map-by", where, "--bind-to", "none"]
    for name in dict.fromkeys((*environment, *forward)):
        if not name.startswith(_FORWARDED):
            words += ["-x", name]
    return words


def _hydra(shape: JobSize, environment: Mapping[str, str], forward: Sequence[str]) -> list[str]:
    return ["-n", str(shape.ranks), "-ppn", str(shape.ranks_per_node)]


def _platform(shape: JobSize, environment: Mapping[str, str], forward: Sequence[str]) -> list[str]:
    hosts = ",".join(f"{host}:{shape.ranks_per_node}" for host in shape.hosts)
    words = ["-np", str(shape.ranks), "-hostlist", hosts]
    for name, value in environment.items():
        words += ["-e", f"{name}={value}"]
    return [*words, "-envlist", ",".join(forward)] if forward else words


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
