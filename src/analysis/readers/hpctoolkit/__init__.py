"""HPCToolkit: `experiment.xml` of 2.x, or a database (2.x, 4.x) as folder or tar: time in MPI functions.

Databases of 2.x have `experiment.xml` and a `.metric-db` of each thread; those of 4.x have contexts and
metrics in `meta.db` and the times of each thread in `profile.db`.
"""

import io
import math
import re
import tarfile

import numpy as np
import xarray as xr

from analysis.base.errors import ReadError
from analysis.readers.base import Faults, observations, profile_dataset
from analysis.readers.format import Format
from analysis.readers.hpctoolkit import experiment, sparse
from analysis.readers.hpctoolkit.database import EVENTS, Database, compare_sums

FORMAT = Format(
    engine="hpctoolkit", kind="profile", tool="HPCToolkit",
    folder=("experiment.xml", "meta.db", "profile.db", "*.metric-db"),
)  # fmt: skip
_XML = re.compile(rb"<\?xml [^>]{0,100}\?>\s*<!DOCTYPE (?:HPCToolkitExperiment|hpc-experiment)\b")
_TAR = slice(257, 262)
_BLOCK = 512  # B, of a tar
_MEMBER = re.compile(
    rb"(?:experiment\.xml|\.metric-db|(?:meta|profile|cct|trace)\.db|hpctoolkit-[^\0]{1,80}/)\0"
)
_WANTED = re.compile(r"(?:^|/)(?:experiment\.xml|meta\.db|profile\.db|[^/]+\.metric-db)$")
_MOST_RANKS = 1 << 20


def sniff(head: bytes, name: str) -> bool:
    """Tell whether some bytes begin as experiment.xml, or are a tar with a file of a database."""
    if head[_TAR] != b"ustar":
        return _XML.match(head) is not None
    return any(_MEMBER.search(head[at : at + 101]) for at in range(0, len(head), _BLOCK))


def parse(data: bytes, source: str = "<memory>") -> xr.Dataset:
    """Read the time in each MPI function: kind ``profile``.

    The outermost MPI function of a call path counts, with all that it calls. Functions are sampled, so that
    calls are not counted and one without a sample is not there. `experiment.xml` alone has sums over all
    threads (rank -1); a whole database has them by rank, and a rank's time is that of its first thread.
    Attributes ``app_time_total`` and ``mpi_time_total`` are over all threads.
    """
    if not sniff(data[:65_536], ""):
        found = "no <HPCToolkitExperiment> and no tar with one"
        raise ReadError.at(source, 0, found, "give experiment.xml or the folder of the database")
    faults = Faults(source)
    files = _unpacked(data, faults) if data[_TAR] == b"ustar" else {"experiment.xml": data}
    named = {name.rpartition("/")[2]: content for name, content in files.items()}
    if {"meta.db", "profile.db"} <= named.keys():
        database = sparse.read(named["meta.db"], named["profile.db"], faults)
    elif "experiment.xml" in named:
        database, column = experiment.read(named["experiment.xml"], faults)
        experiment.add_threads(database, column, files, faults)
    else:
        found = "no experiment.xml, and no meta.db with profile.db"
        raise ReadError.at(source, 0, found, "pack the whole database")
    compare_sums(database, faults)
    if database.metric.place == EVENTS.index("CPUTIME"):
        found = "CPUTIME was sampled: what a rank sleeps in MPI is not in it"
        faults.note(0, found, "sample REALTIME for times by the wall clock")
    return _dataset(database, faults)


def _unpacked(data: bytes, faults: Faults) -> dict[str, bytes]:
    """Return the files of a packed database."""
    files: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            for member in archive:
                wanted = member.isfile() and _WANTED.search(member.name)
                if wanted and (content := archive.extractfile(member)) is not None:
                    files[member.name] = content.read()
    except (tarfile.TarError, ValueError, OverflowError, EOFError) as error:
        found = f"the tar is cut or damaged ({error})"
        faults.damage(0, found, "pack the database again; kept what is whole")
    return files


def _size(database: Database, faults: Faults) -> int:
    """Return how many ranks there are by the database; -1 where it has sums only."""
    if not database.threads:
        return -1
    ranks = sorted({rank for rank, _ in database.threads})
    if ranks[-1] >= _MOST_RANKS:
        faults.damage(0, f"rank {ranks[-1]}", "no such rank; the database is damaged")
        return -1
    if len(ranks) <= ranks[-1]:
        found = f"{len(ranks)} ranks, the last is {ranks[-1]}"
        faults.note(0, found, "the others were not measured, or are lost")
    if any(thread for _, thread in database.threads):
        faults.note(0, "more than one thread per rank", "the rank's time is that of its first thread")
    return ranks[-1] + 1


def _dataset(database: Database, faults: Faults) -> xr.Dataset:
    expected = _size(database, faults)
    threads, total = database.threads, database.total
    kept = {rank: threads[rank, thread] for rank, thread in sorted(threads) if not thread and rank < expected}
    size = max(expected, 0)
    ranks = {name: np.full(size, np.nan) for name in ("app_time", "mpi_time", "memory")}
    rows: list[tuple[int, str, float]] = []
    for rank, own in (kept or {-1: total}).items():
        times: dict[str, float] = {}
        for node, name in database.frames.items():
            if node in own:
                times[name] = times.get(name, 0.0) + own[node]
        rows += [(rank, name, time) for name, time in sorted(times.items())]
        if rank >= 0:
            ranks["app_time"][rank] = math.fsum(own.get(node, 0.0) for node in database.roots)
            ranks["mpi_time"][rank] = math.fsum(times.values())
    return profile_dataset(
        obs=observations(
            [name for _, name, _ in rows], [time for *_, time in rows], rank=[rank for rank, *_ in rows]
        ),
        ranks={**ranks, "host": np.full(size, "", dtype=object)},
        tool=FORMAT.tool,
        tool_version="",
        ranks_expected=expected,
        faults=faults,
        attrs={
            "command": database.program,
            "app_time_total": math.fsum(total.get(node, 0.0) for node in database.roots),
            "mpi_time_total": math.fsum(total.get(node, 0.0) for node in database.frames),
        },
    )
