"""HPCToolkit: `experiment.xml` of 2.x, or a tar of a whole database (2.x, 4.x): time in MPI functions."""

from __future__ import annotations

import io
import math
import re
import tarfile

import numpy as np
import xarray as xr

from analysis.base.errors import ReadError
from analysis.readers.base import Faults, profile_dataset
from analysis.readers.format import Format
from analysis.readers.hpctoolkit import experiment, sparse
from analysis.readers.hpctoolkit.database import Database, hold, sizes

_XML = re.compile(rb"<\?xml [^>]{0,100}\?>\s*<!DOCTYPE (?:HPCToolkitExperiment|hpc-experiment)\b")
_TAR = slice(257, 262)
_MEMBER = re.compile(
    rb"(?:experiment\.xml|\.metric-db|(?:meta|profile|cct|trace)\.db|hpctoolkit-[^\0]{1,80}/)\0"
)
_BLOCK = 512  # B, of a tar
_WANTED = re.compile(r"(?:^|/)(?:experiment\.xml|meta\.db|profile\.db|[^/]+\.metric-db)$")


FORMAT = Format(engine="hpctoolkit", kind="profile", tool="HPCToolkit")


def sniff(head: bytes, name: str) -> bool:
    """Tell whether some bytes begin as experiment.xml, or are a tar with a file of a database."""
    if head[_TAR] != b"ustar":
        return _XML.match(head) is not None
    return any(_MEMBER.search(head[at : at + 101]) for at in range(0, len(head), _BLOCK))


def parse(data: bytes, source: str = "<memory>") -> xr.Dataset:
    """Read the time in each MPI function: kind ``profile``.

    The outermost MPI function of a call path counts, with all that it calls. Functions are sampled, so that
    calls are not counted and one without a sample is not there. `experiment.xml` alone has sums over all
    threads (rank -1); a tar of the whole database has them by rank, and a rank's time is that of its first
    thread. Attributes ``app_time_total`` and ``mpi_time_total`` are over all threads.
    """
    if not sniff(data[:65_536], ""):
        found = "no <HPCToolkitExperiment> and no tar with one"
        raise ReadError.at(source, 0, found, "give experiment.xml or a tar of the database")
    faults = Faults(source)
    database = _unpacked(data, source, faults) if data[_TAR] == b"ustar" else None
    if database is None:
        database, _ = experiment.read(data, source, faults)
    hold(database, faults)
    if database.metric.event == "CPUTIME":
        found = "CPUTIME was sampled: what a rank sleeps in MPI is not in it"
        faults.note(0, found, "sample REALTIME for times by the wall clock")
    return _dataset(database, faults)


def _unpacked(data: bytes, source: str, faults: Faults) -> Database:
    """Read a database that is packed as a tar."""
    files: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            for member in archive:
                content = (
                    archive.extractfile(member) if member.isfile() and _WANTED.search(member.name) else None
                )
                if content is not None:
                    files[member.name] = content.read()
    except (tarfile.TarError, ValueError, OverflowError, EOFError) as error:
        faults.damage(
            0, f"the tar is cut or damaged ({error})", "pack the database again; kept what is whole"
        )
    named = {name.rpartition("/")[2]: content for name, content in files.items()}
    if "meta.db" in named and "profile.db" in named:
        return sparse.read(named["meta.db"], named["profile.db"], source, faults)
    if "experiment.xml" not in named:
        found = "no experiment.xml, and no meta.db with profile.db"
        raise ReadError.at(source, 0, found, "pack the whole database")
    database, column = experiment.read(named["experiment.xml"], source, faults)
    experiment.add_threads(database, column, files, faults)
    return database


def _dataset(database: Database, faults: Faults) -> xr.Dataset:
    expected = sizes(database, faults)
    kept = {
        rank: own
        for (rank, thread), own in sorted(database.threads.items())
        if thread == 0 and rank < expected
    }
    size = max(expected, 0)
    ranks = {name: np.full(size, np.nan) for name in ("app_time", "mpi_time", "memory")}
    rows: list[tuple[int, str, float]] = []
    for rank, own in (kept or {-1: database.total}).items():
        times: dict[str, float] = {}
        for node, name in database.frames.items():
            if node in own:
                times[name] = times.get(name, 0.0) + own[node]
        rows += [(rank, name, time) for name, time in sorted(times.items())]
        if rank >= 0:
            ranks["app_time"][rank] = math.fsum(own.get(node, 0.0) for node in database.roots)
            ranks["mpi_time"][rank] = math.fsum(times.values())
    n = len(rows)
    total = database.total
    return profile_dataset(
        obs={
            "rank": np.array([rank for rank, _, _ in rows], dtype=np.int32),
            "call": np.array([name for _, name, _ in rows], dtype=object),
            "size": np.full(n, -1, dtype=np.int64),
            "peer": np.full(n, -1, dtype=np.int32),
            "region": np.full(n, "", dtype=object),
            "site": np.full(n, -1, dtype=np.int32),
            "count": np.full(n, -1, dtype=np.int64),
            "time": np.array([time for _, _, time in rows], dtype=np.float64),
            "bytes": np.full(n, np.nan),
        },
        ranks={**ranks, "host": np.full(size, "", dtype=object)},
        tool="HPCToolkit",
        tool_version="",
        ranks_expected=expected,
        faults=faults,
        attrs={
            "command": database.program,
            "app_time_total": math.fsum(total.get(node, 0.0) for node in database.roots),
            "mpi_time_total": math.fsum(total.get(node, 0.0) for node in database.frames),
        },
    )
