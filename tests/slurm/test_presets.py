"""Presets of ``new-campaign`` with programs of Debian: the program itself found what was asked for."""

from __future__ import annotations

import hashlib
import json
import math
import re
import shlex
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from analysis.datasets import doubts
from analysis.measure.declare import load
from analysis.measure.matrix import expand

from . import jobs
from .campaigns import ROOT
from .cluster import SlurmCluster

pytestmark = pytest.mark.slurm

PSEUDO = Path("/usr/share/espresso/pseudo")
SILICON = f"""\
&control
  calculation = 'scf', pseudo_dir = '{PSEUDO}', outdir = 'out'
/
&system
  ibrav = 2, celldm(1) = 10.2, nat = 2, ntyp = 1, ecutwfc = 12.0
/
&electrons
  conv_thr = 1.0d-2
/
ATOMIC_SPECIES
Si 28.086 Si.pz-vbc.UPF
ATOMIC_POSITIONS alat
Si 0.00 0.00 0.00
Si 0.25 0.25 0.25
K_POINTS automatic
1 1 1 0 0 0
"""


def need(program: str, remedy: str = "run tests/slurm/install.sh") -> str:
    """Return the path of a program of Debian; skip without it."""
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"no {program} on this host; {remedy}")
    return found


@dataclass(frozen=True)
class Rank:
    """What the kernel has of a process while the program runs."""

    words: tuple[str, ...]
    node: str
    cores: str
    threads: str
    number: int


@contextmanager
def watched(program: str, project: Path) -> Iterator[dict[tuple[str, int], Rank]]:
    """Look for a project's processes of a program on all nodes, which are this host's: by node and rank.

    Another test may run the same program on its own cluster at the same time, on nodes of the same names.
    """
    found: dict[tuple[str, int], Rank] = {}
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.02):
            for folder in Path("/proc").glob("[0-9]*"):
                with suppress(OSError, KeyError, ValueError):
                    ours = (folder / "cwd").resolve().is_relative_to(project)
                    if ours and (folder / "exe").resolve() == Path(program).resolve():
                        rank = seen(folder)
                        found[rank.node, rank.number] = rank

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield found
    finally:
        over.set()
        thread.join()


def seen(folder: Path) -> Rank:
    """Read a process: its words, its variables as it was started, its cores now."""
    words = tuple((folder / "cmdline").read_bytes().decode().split("\0")[:-1])
    pairs = (text.partition("=") for text in (folder / "environ").read_bytes().decode().split("\0"))
    given = {name: value for name, _, value in pairs}
    (cores,) = re.findall(r"Cpus_allowed_list:\t(.*)", (folder / "status").read_text())
    number = int(given["OMPI_COMM_WORLD_RANK"])
    return Rank(words, given["SLURMD_NODENAME"], cores, given["OMP_NUM_THREADS"], number)


def measured(
    cluster: SlurmCluster, base: Path, application: str, ranks: int, threads: int, *flags: str
) -> tuple[dict[str, Any], Path]:
    """Make a campaign by the preset, and measure its run on two nodes; return record and folder."""
    shutil.copytree(ROOT / "config", base / "config")
    command = [sys.executable, "-m", "analysis.cli", "new-campaign", "x", "--yes", "--from-slurm"]
    nodes = ["--partition=bench", "--feature=ivybridge", "--nodes=2", f"--ranks-per-node={ranks}"]
    cluster.run([*command, *nodes, f"--application={application}", *flags], cwd=base)
    # Each node says that it has eight cores; the host that plays them all has two. No flag gives threads.
    for name, old, new in (
        ("clusters", "  - 0-3\n  - 4-7\n", "  - '0'\n  - '1'\n"),
        ("campaigns", f"ranks_per_node: {ranks}", f"ranks_per_node: {ranks}\n      threads: {threads}"),
    ):
        path = base / f"config/{name}/x.yaml"
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1
        path.write_text(text.replace(old, new), encoding="utf-8")
    run = expand(load("x", base)).runs[0]
    size = (
        "--partition=bench",
        "--constraint=ivybridge",
        "--nodes=2",
        f"--ntasks-per-node={ranks * threads}",
    )
    script = f"exec {sys.executable} -m analysis.measure.launch x {run.name}"
    jobs.ended(cluster, jobs.submit(cluster, base, script, *size, "--exclusive"), seconds=180)
    (path,) = (base / "data/raw/x/runs").glob("*/run.json")
    return json.loads(path.read_text(encoding="utf-8")), path.parent


def check(record: dict[str, Any], found: dict[tuple[str, int], Rank], ranks: int, threads: int) -> None:
    """Hold what the kernel had of the program's processes against the record."""
    assert (record["ranks"], record["threads"]) == (2 * ranks, threads)
    assert record["binding"]["as_asked"]
    noted = {(row[1], int(row[0])): row[3] for row in map(str.split, record["binding"]["ranks"])}
    assert {key: rank.cores for key, rank in found.items()} == noted
    assert sorted(noted.values()) == (["0", "0", "1", "1"] if ranks == 2 else ["0-1", "0-1"])
    assert {rank.threads for rank in found.values()} == {str(threads)}
    # The end of the recorded command, behind the script that binds, is what each rank was started with.
    for rank in found.values():
        assert shlex.split(record["command"])[-len(rank.words) :] == list(rank.words)


@pytest.mark.parametrize(("ranks", "threads"), [(2, 1), (1, 2)])
def test_presets__lammps(cluster: SlurmCluster, tmp_path: Path, ranks: int, threads: int) -> None:
    program = need("lmp")
    with watched(program, tmp_path) as found:
        record, folder = measured(cluster, tmp_path, "lammps", ranks, threads, "--case=lj-small")
    check(record, found, ranks, threads)
    words = next(iter(found.values())).words
    assert words[:5] == (program, "-log", "none", "-in", "in.lj")
    assert words[5:] == (("-sf", "omp", "-pk", "omp", "2") if threads == 2 else ())
    text = (folder / "stdout.txt").read_text(encoding="utf-8")
    assert f"using {threads} OpenMP thread(s) per MPI task" in text
    parts = re.search(r"^Installed packages:\n\n(.*?)\n\n", cluster.run([program, "-h"]).stdout, re.M | re.S)
    assert parts
    if threads > 1 and "OPENMP" not in parts[1].split():  # as in Debian 12
        error = "ERROR: Using suffix omp without OPENMP package installed"
        assert record["reason"].startswith(f"exit code 1: the program's own error: {error}")
        return
    assert record["reason"] == ""
    used = re.search(r"CPU use with (\d+) MPI tasks x (\d+) OpenMP threads", text)
    grid = re.search(r"(\d+) by (\d+) by (\d+) MPI processor grid", text)
    assert used
    assert grid
    assert tuple(map(int, used.groups())) == (2 * ranks, threads)
    assert math.prod(map(int, grid.groups())) == 2 * ranks


@pytest.mark.parametrize(("ranks", "threads"), [(2, 1), (1, 2)])
def test_presets__quantum_espresso(cluster: SlurmCluster, tmp_path: Path, ranks: int, threads: int) -> None:
    program = need("pw.x")
    given = tmp_path / "si.in"
    given.write_text(SILICON, encoding="utf-8")
    with watched(program, tmp_path) as found:
        record, folder = measured(cluster, tmp_path, "quantum-espresso", ranks, threads, f"--input={given}")
    assert record["reason"] == ""
    check(record, found, ranks, threads)
    assert next(iter(found.values())).words == (program, "-in", str(given))
    text = (folder / "stdout.txt").read_text(encoding="utf-8")
    version = re.search(r"Parallel version \((MPI|MPI & OpenMP)\), running on +(\d+) processor", text)
    assert version
    # Debian 12 builds it without OpenMP: the cores are there, but one thread of each rank uses them.
    own = {"MPI": 1, "MPI & OpenMP": threads}[version[1]]
    doubted = [str(fault) for fault in doubts(folder.parents[1]) if "states no threads" in str(fault)]
    assert len(doubted) == (own < threads)
    assert int(version[2]) == 2 * ranks * own
    assert re.search(r"MPI processes distributed on +2 nodes", text)
    (digest,) = (file["sha256"] for file in record["input_files"].values())
    assert digest == hashlib.sha256(SILICON.encode()).hexdigest()
