"""Trees as other people leave them, of files that our own runs left: no record of ours is among them."""

from __future__ import annotations

import json
import lzma
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

RAW = Path(__file__).parents[2] / "data" / "raw"
HPCG = RAW / "vm-hpcg" / "runs"
PROFILES = RAW / "vm-profiles" / "runs"
SACCT = RAW / "vm-hpcg" / "sacct.txt"
LINKS = {"veth-1gbit": "1gbe", "veth-10gbit": "10gbe", "shared-memory": "shm", "veth-open": "ethernet"}


def record(run: str) -> dict[str, Any]:
    """Return what we wrote down when we measured a run."""
    found: dict[str, Any] = json.loads((HPCG / run / "run.json").read_text())
    return found


def good(application: str = "hpcg", profiler: str | None = None) -> list[str]:
    """Name runs of an application that ended well, in their order, one of each cell and repetition."""
    found: dict[tuple[Any, ...], str] = {}
    for path in sorted(HPCG.iterdir()):
        said = record(path.name)
        if (said["application"], said["profiler"], said["exit_code"]) == (application, profiler, 0):
            cell = tuple(said[key] for key in ("mpi", "case", "interconnect", "nodes", "repeat"))
            if said["ranks"] == 2 and said["concurrent_jobs"] == 1:
                found.setdefault(cell, path.name)
    return list(found.values())


def result(run: str) -> Path:
    """Return the file with the result of a run."""
    found = sorted((HPCG / run).glob("HPCG-Benchmark*.txt"))
    return found[0] if found else HPCG / run / "stdout.txt"


def put(source: Path, target: Path) -> Path:
    """Copy a file, plain, into a folder that is made if need be."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.suffix == ".xz":
        target.write_bytes(lzma.decompress(source.read_bytes()))
    else:
        shutil.copyfile(source, target)
    return target


def folders(root: Path, runs: Sequence[str], *, sacct: bool = True) -> None:
    """Lay runs of HPCG out as ``openmpi/nx16/1gbe/run-1/``, with the job's number in another file's name."""
    for run in runs:
        said = record(run)
        library = "openmpi" if said["mpi"].startswith("Open MPI") else "mpich"
        folder = root / library / said["case"] / LINKS[said["interconnect"]] / f"run-{said['repeat']}"
        put(result(run), folder / result(run).name)
        (folder / f"slurm-{said['job_id']}.out").write_text("done\n")
    if sacct:
        put(SACCT, root / "accounting.txt")


def flat(root: Path, runs: Sequence[str], name: str = "app-{nodes}nodes.o{job_id}") -> None:
    """Put results into one folder, named by numbers of the run."""
    for run in runs:
        put(result(run), root / name.format(**record(run)))


def several(*runs: str) -> bytes:
    """Return what one job prints that runs several benchmarks."""
    head = b"SLURM_JOB_ID=77\nSLURM_JOB_NUM_NODES=2\nLOADEDMODULES=gcc/12.2:openmpi/4.1.4\n"
    lines = [
        b"mpirun -np 2 ./" + record(run)["case"].encode() + b"\n" + result(run).read_bytes() for run in runs
    ]
    return head + b"".join(lines)
