"""What was read of each run, kept next to the datasets: only new and changed runs are read again.

A campaign grows by runs. Each run has a fragment: its row, its tables, and the netCDF file of its profile. It
counts if the code that reads, the applications, the declared power and the files of the run are what they
were. ``fragments.sqlite`` can be deleted at any time; the next ingest reads all runs.

A file is not hashed again while its path, size, inode and times of change are those that were noted, and it
had been left alone for `_SETTLED` when it was read: a change within the resolution of the clock cannot hide.
Where that does not hold, as for copies on another machine, the files are hashed, and a run whose checksums
are equal is not read again. `benchbook verify` trusts no note and hashes all files.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import sqlite3
import stat
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analysis import readers
from analysis.base import project
from analysis.base.files import UNPACKED, sha256
from analysis.datasets.run import RunFolder
from analysis.energy.attribution import RunEnergy
from analysis.schema.campaigns import Application

NAME = "fragments.sqlite"
# The libraries that a run's numbers pass through.
_LIBRARIES = ("numpy", "pandas", "xarray", "pyarrow", "h5py", "h5netcdf")
_SETTLED = 5_000_000_000  # ns; file systems count in up to 2 s
_TABLE = (
    "CREATE TABLE IF NOT EXISTS fragments"
    " (run TEXT PRIMARY KEY, reader TEXT, signature TEXT, content TEXT, profile BLOB)"
)
LINKED = "links"  # what a link leads to may change while the link stays: such a run is always read
_MOMENT = "datetime64[ns]"
_PLAIN = ("row", "files", "sources", "repeats", "faults", "extra", "contradiction", "damage")


def reader_digest(applications: Mapping[str, Application], power: Mapping[str, Any]) -> str:
    """Digest what decides what is read of a file: code, libraries, applications, declared power."""
    digest = hashlib.sha256()
    for room in project.READ:
        for path in project.code_files(project.PACKAGE / room):
            digest.update(f"{path.relative_to(project.PACKAGE)}\0".encode() + path.read_bytes())
    for path in sorted((project.root() / "config" / "formats").rglob("*.py")):
        digest.update(f"{path.name}\0".encode() + path.read_bytes())
    known = {name: repr(one) for name, one in applications.items()}
    places = {name: place for name, place in readers.ENGINES.items() if not place.startswith("analysis.")}
    versions = {name: version(name) for name in _LIBRARIES}
    state = [known, power, places, versions, os.environ.get(UNPACKED, "")]
    digest.update(json.dumps(state, sort_keys=True, default=repr).encode())
    return digest.hexdigest()


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Wait until no other process makes the datasets in a folder: the last to write has seen all runs."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "fragments.lock").open("a") as file:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


class Fragments:
    """The fragments of a campaign; without a store that can be used, none is known and none is kept."""

    def __init__(self, folder: Path, reader: str) -> None:
        self.reader = reader
        self._known: dict[str, tuple[str, str, bool]] = {}
        self._store: sqlite3.Connection | None = None
        with contextlib.suppress(sqlite3.Error):
            self._store = _opened(folder / NAME)
            select = "SELECT run, signature, content, profile IS NOT NULL FROM fragments WHERE reader = ?"
            self._known = {row[0]: row[1:] for row in self._store.execute(select, (reader,))}

    def find(self, folder: Path) -> RunFolder | None:
        """Return what was read of a run, None if it has to be read; its profile's file is `profile`."""
        if folder.name not in self._known:
            return None
        noted, content, _ = self._known[folder.name]
        found = _decoded(content)
        now = signature(folder)  # before the files are hashed
        if now == LINKED:
            return None
        if not now or noted != now:
            sums = {entry["path"]: entry["checksum"] for entry in found.files}
            if sums != _checksums(folder):
                return None
            self._execute("UPDATE fragments SET signature = ? WHERE run = ?", [(now, folder.name)])
        return found

    def profile(self, run: str) -> bytes | None:
        """Return the netCDF file of a run's profile, None if it has none."""
        if not self._known.get(run, ("", "", False))[2] or self._store is None:
            return None
        rows = self._store.execute("SELECT profile FROM fragments WHERE run = ?", (run,)).fetchall()
        return bytes(rows[0][0]) if rows else None

    def keep(self, runs: Iterable[tuple[Path, str, RunFolder, Path | None]]) -> None:
        """Keep what was read of runs, each with its folder, the signature it had before, and its profile."""
        rows = [
            (folder.name, self.reader, noted, content, profile.read_bytes() if profile else None)
            for folder, noted, run, profile in runs
            if (content := _encoded(run))
        ]
        self._execute("INSERT OR REPLACE INTO fragments VALUES (?, ?, ?, ?, ?)", rows)

    def drop(self, runs: Iterable[str]) -> None:
        """Remove the fragments of all other runs: they are gone."""
        gone = self._known.keys() - set(runs)
        self._execute("DELETE FROM fragments WHERE run = ?", ((run,) for run in gone))

    def close(self) -> None:
        """Close the store."""
        if self._store is not None:
            self._store.close()

    def _execute(self, command: str, rows: Iterable[Sequence[Any]]) -> None:
        """Do something to many fragments in one step; a store that cannot be written costs time alone."""
        if self._store is not None:
            with contextlib.suppress(sqlite3.Error), self._store:
                self._store.executemany(command, rows)


def _opened(path: Path) -> sqlite3.Connection:
    """Open a store; one that is damaged is made anew."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for _ in range(2):
        store = sqlite3.connect(path, timeout=60)
        try:
            store.execute(_TABLE)
            store.execute("SELECT run, reader, signature, content, profile FROM fragments LIMIT 1").fetchall()
        except sqlite3.DatabaseError:
            store.close()
            path.unlink(missing_ok=True)
        else:
            return store
    raise sqlite3.DatabaseError(str(path))


def signature(folder: Path) -> str:
    """Return what the file system notes of a run's files; empty if one was changed a moment ago."""
    lines = []
    newest = 0
    for name, state in sorted(_states(folder, "")):
        if stat.S_ISLNK(state.st_mode):
            return LINKED
        lines.append(f"{name}\0{state.st_size}\0{state.st_ino}\0{state.st_mtime_ns}\0{state.st_ctime_ns}")
        newest = max(newest, state.st_mtime_ns, state.st_ctime_ns)
    if not lines or newest > time.time_ns() - _SETTLED:
        return ""
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def _states(folder: str | Path, below: str) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _states(entry.path, f"{below}{entry.name}/")
            else:
                yield f"{below}{entry.name}", entry.stat(follow_symlinks=False)


def _checksums(folder: Path) -> dict[str, str]:
    found = {}
    for path in folder.rglob("*"):
        if path.is_file():
            with contextlib.suppress(OSError):
                found[f"runs/{folder.name}/{path.relative_to(folder)}"] = sha256(path)
    return found


def _encoded(run: RunFolder) -> str:
    """Spell a run as JSON, which keeps numbers exactly; empty if it has what JSON cannot hold."""
    content: dict[str, Any] = {name: getattr(run, name) for name in _PLAIN}
    content |= {"energy": asdict(run.energy)}
    content["frames"] = {
        kind: {str(name): [str(column.dtype), _listed(column)] for name, column in frame.items()}
        for kind, frame in run.frames.items()
    }
    try:
        return json.dumps(content, default=_tagged)
    except (TypeError, ValueError):
        return ""


def _listed(column: pd.Series) -> list[Any]:
    values: list[Any] = (column.astype("i8") if column.dtype.kind == "M" else column).tolist()
    return values


def _column(dtype: str, values: list[Any]) -> Any:
    if dtype.startswith("datetime64"):
        return np.array(values, dtype="i8").astype(dtype)
    return pd.Series(values, dtype=dtype)


def _tagged(value: Any) -> Any:
    """Spell what JSON has not: a moment; a number of numpy is one of Python."""
    if isinstance(value, np.datetime64):
        return {_MOMENT: int(value.astype("datetime64[ns]").astype("i8"))}
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} in a fragment")


def _untagged(found: dict[str, Any]) -> Any:
    return np.datetime64(found[_MOMENT], "ns") if _MOMENT in found else found


def _decoded(text: str) -> RunFolder:
    content = json.loads(text, object_hook=_untagged)
    frames = {
        kind: pd.DataFrame({name: _column(*column) for name, column in columns.items()})
        for kind, columns in content["frames"].items()
    }
    run = RunFolder(row=content["row"], energy=RunEnergy(**content["energy"]), frames=frames)
    for name in _PLAIN:
        setattr(run, name, content[name])
    return run
