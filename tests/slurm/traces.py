"""What a test cluster leaves, or does not leave, on its host; other clusters there do not count."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from .cluster import SlurmCluster
from .machine import start_time

# What daemons and MPI libraries call their files. Clusters' own folders are told apart by their names.
FILES = ("ompi.", "pmix", "hydra", "openmpi-sessions", "slurm", "munge", "mysql")
FOLDERS = ("/tmp", "/run", "/run/netns", "/var/log", "/var/spool", "/var/run", "/dev/shm", "/etc/slurm")

# A process for ever: its id, which comes round again, and when it started.
Process = tuple[int, int]


def of_folder(folder: Path) -> set[Process]:
    """Return the processes that see a mount of a cluster's folder or name the folder on their command line.

    A machine mounts its files from there before anything runs in it, so that each of its processes is
    found, whatever it is called.
    """
    name = os.fsencode(folder.name)
    files = ("mountinfo", "cmdline")
    return set(_processes(lambda entry: any(name in _bytes(entry / file) for file in files)))


def of_namespaces(cluster: SlurmCluster) -> set[Process]:
    """Return the processes in any namespace of a running cluster."""
    own = {number for machine in cluster.machines.values() for number in machine.namespaces().values()}
    return set(_processes(lambda entry: not own.isdisjoint(_namespaces(entry))))


def alive(processes: set[Process]) -> set[Process]:
    """Return those that still run."""
    return {process for process in processes if start_time(process[0]) == process[1]}


def on_host(folder: Path) -> dict[str, object]:
    """Return everything of the host that the cluster in `folder` might leave something in."""
    places = {Path(place) for place in FOLDERS} | {Path(tempfile.gettempdir())}
    names = [str(entry) for place in places if place.is_dir() for entry in place.iterdir()]
    links = subprocess.run(["ip", "-brief", "link"], capture_output=True, text=True, check=True).stdout
    return {
        "processes": of_folder(folder),
        "links": sorted(line.split()[0] for line in links.splitlines()),
        "mounts": Path("/proc/mounts").read_text(encoding="utf-8"),
        "files": sorted(name for name in names if Path(name).name.startswith((*FILES, folder.name))),
    }


def _processes(wanted: Callable[[Path], bool]) -> Iterator[Process]:
    for entry in Path("/proc").glob("[0-9]*"):
        if wanted(entry) and (started := start_time(int(entry.name))):
            yield int(entry.name), started


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # it has ended
        return b""


def _namespaces(entry: Path) -> set[int]:
    try:
        return {link.stat().st_ino for link in (entry / "ns").iterdir()}
    except OSError:
        return set()
