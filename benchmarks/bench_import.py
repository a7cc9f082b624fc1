"""Processor time of `benchbook import`: ms a file, on a tree as users leave it, beside SHA-256 and a copy.

The tree is made in a temporary folder from samples of the tests: outputs of HPL, HPCG, IMB, LAMMPS, GROMACS,
OSU and STREAM with numbers of their own, their job scripts, logs of jobs, notes, and files that are no
output. Prints ms a file in processor time (children included) and in wall time; asserts nothing.

usage: bench_import.py [--small] [--files N]    (10,000 files; about a minute)
"""

from __future__ import annotations

import argparse
import hashlib
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SEED = 23
FILES, SMALL = 10_000, 60

SCRIPT = """\
#!/bin/bash
#SBATCH --job-name={name}
#SBATCH --nodes={nodes}
#SBATCH --ntasks={ranks}
#SBATCH --time=01:00:00
#SBATCH --partition=standard
module load gcc/12.2 openmpi/4.1.4
export OMP_NUM_THREADS=1
export UCX_TLS=rc,sm
srun --ntasks={ranks} --hint=nomultithread ./{name} -in in.bench
"""
LOG = """\
SLURM_JOB_ID={job}
SLURM_JOB_NUM_NODES={nodes}
SLURM_NTASKS={ranks}
SLURM_JOB_NODELIST={hosts}
SLURM_JOB_PARTITION=standard
SLURM_CLUSTER_NAME={cluster}
LOADEDMODULES=gcc/12.2:openmpi/4.1.4
srun --ntasks={ranks} --hint=nomultithread ./{name}
"""
FINE = re.compile(r"(?<=[ =:])\d+\.\d{3,}(?:e[+-]\d+)?")


def samples() -> dict[str, tuple[str, int]]:
    """Return an output of each program with its ranks, by the name of the program."""
    sys.path.insert(0, str(ROOT))
    from tests.readers.merits import texts

    data = ROOT / "tests" / "data"
    return {
        "hpl": (texts.HPL, 8),
        "hpcg": ((data / "hpcg/HPCG-Benchmark_3.1_2026-11-20_23-20-13.txt").read_text(), 2),
        "imb": ((data / "imb/suite_openmpi_n4.txt").read_text(), 4),
        "lammps": (texts.LAMMPS, 32),
        "gromacs": (texts.GROMACS.replace("on 2 nodes", "on {nodes} nodes"), 32),
        "stream": (texts.STREAM, 1),
        "osu": ((data / "osu/allreduce_n4.txt").read_text(), 4),
    }


def tree(root: Path, files: int) -> None:
    """Make a tree of that many files: by program, cluster, nodes and repetition."""
    draw = random.Random(SEED)
    written = _files(samples(), draw)
    for _, (name, text) in zip(range(files), written, strict=False):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())


def _files(outputs: dict[str, tuple[str, int]], draw: random.Random) -> Iterator[tuple[str, str | bytes]]:
    """Give names and contents of files, without an end."""
    job, repeat = 100_000, 0
    while repeat := repeat + 1:
        for program, (output, ranks) in outputs.items():
            for cluster in ("alder", "birch"):
                for nodes in (one for one in (1, 2, 4) if one <= ranks):
                    job += 1
                    folder = f"{program}/{cluster}/{nodes}nodes/run{repeat}"
                    known = {"name": program, "nodes": nodes, "ranks": ranks, "job": job}
                    known |= {"cluster": cluster, "hosts": f"nid[{1000 + repeat}-{999 + repeat + nodes}]"}
                    own = output.replace("{nodes}", str(nodes))
                    yield f"{folder}/{program}.out", _with_numbers(own, draw)
                    yield f"{folder}/submit.sh", SCRIPT.format(**known)
                    yield f"{folder}/slurm-{job}.out", LOG.format(**known) + "done\n" * draw.randrange(3, 200)
                    if not job % 3:
                        yield f"{folder}/input.dat", f"{draw.random()} {draw.random()}\n" * 40
                    if not job % 20:
                        yield f"{folder}/core.{job}", b"\x7fELF" + draw.randbytes(20_000)
                        yield f"{folder}/README.md", "# Notes\n\nHPL ran twice here.\n"
                        yield f"{folder}/series.csv", "step,temp\n" + "1,2.5\n" * 400


def _with_numbers(output: str, draw: random.Random) -> str:
    """Change every long number of an output a little, as another run would print it."""

    def other(match: re.Match[str]) -> str:
        text = match[0]
        head, mark, power = text.partition("e")
        decimals = len(head.partition(".")[2])
        return f"{float(head) * draw.uniform(0.97, 1.03):.{decimals}f}{mark}{power}"

    return FINE.sub(other, output)


def project(base: Path) -> Path:
    """Make an empty project that imports can be written to."""
    for name in ("config/campaigns", "config/applications", "data/raw"):
        (base / name).mkdir(parents=True)
    (base / "config/config.yaml").write_text("campaigns: []\nreports: {}\npages: []\n")
    return base


def spent(work: Callable[[], object]) -> tuple[float, float]:
    """Do some work; return its processor time and its wall time in s, those of its children included."""
    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)

    def used() -> float:
        return sum(one.ru_utime + one.ru_stime for one in map(resource.getrusage, who))

    processor, began = used(), time.perf_counter()
    work()
    return used() - processor, time.perf_counter() - began


def plain(source: Path, target: Path) -> None:
    """Copy a tree and hash its files: the least that an import has to do."""
    shutil.copytree(source, target)
    for path in target.rglob("*"):
        if path.is_file():
            hashlib.sha256(path.read_bytes()).hexdigest()


def main() -> None:
    """Print a line for the plan, for the import, for an import again, and for the plain copy."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help=f"{SMALL} files")
    parser.add_argument("--files", type=int, default=0)
    options = parser.parse_args()
    count = options.files or (SMALL if options.small else FILES)
    with tempfile.TemporaryDirectory() as folder:
        base = project(Path(folder) / "project")
        source = Path(folder) / "tree"
        tree(source, count)
        command = [sys.executable, "-m", "analysis.cli", "import", str(source), "--as", "tree"]

        def run(*more: str) -> None:
            done = subprocess.run([*command, *more], cwd=base, capture_output=True, text=True, check=False)
            if done.returncode or not re.search(r"new runs|nothing new", done.stdout + done.stderr):
                raise SystemExit(f"import: {done.stderr[-1000:]}")

        for name, work in (
            ("copy and SHA-256", lambda: plain(source, Path(folder) / "copy")),
            ("import, plan only", run),
            ("import --yes", lambda: run("--yes")),
            ("import --yes again", lambda: run("--yes")),
        ):
            processor, wall = spent(work)
            each = f"{1000 * processor / count:6.2f} ms of processor time a file"
            print(f"import: {name:20s} {count} files: {each}, {wall:.1f} s of wall time")
        runs = sum(1 for _ in (base / "data/raw/tree/runs").iterdir())
        print(f"import: {runs} runs of {count} files")


if __name__ == "__main__":
    main()
