"""What was read of each run, kept next to the datasets: only new and changed runs are read again.

A campaign grows by runs. Each run has a fragment: its part of the tables, and the netCDF file of its profile.
It counts if the code that reads, the applications, the declared power and the files of the run are what they
were. If that holds for all runs and for the files next to them, the campaign's own file is what it was, too.
``fragments.sqlite`` can be deleted at any time; the next ingest reads all runs. Each thing in it has its
SHA-256: one that does not agree is not used, and named in one line. A run with a value that cannot be kept
is read each time, alone.

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
import sys
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from operator import itemgetter
from pathlib import Path
from typing import Any

from analysis import readers
from analysis.base import project
from analysis.base.errors import Fault
from analysis.base.files import UNPACKED, entries_below, pieces, printable, sha256
from analysis.datasets.run import checksum, files_of
from analysis.datasets.tables import RunTables
from analysis.schema.applications import Application

NAME = "fragments.sqlite"
# The libraries that a run's numbers pass through.
_LIBRARIES = ("numpy", "pandas", "xarray", "pyarrow", "h5py", "h5netcdf")
_SETTLED = 5_000_000_000  # ns; file systems count in up to 2 s
# The tables of all runs, by kind, are written in one step with the list of the runs: they have the same runs.
_STORE = {
    "runs": "run TEXT PRIMARY KEY, reader TEXT, signature TEXT, checksum TEXT, digest TEXT, profile BLOB",
    "tables": "kind TEXT PRIMARY KEY, content BLOB, digest TEXT",
    "campaign": "state TEXT, counts TEXT, content BLOB, digest TEXT",
}
_MOST = 500_000_000  # bytes of what SQLite stores as one thing
LINKED = "links"  # what a link leads to may change while the link stays: such a run is always read


def reader_digest(applications: Mapping[str, Application], power: Mapping[str, Any]) -> str:
    """Digest what decides what is read of a file: code, libraries, applications, declared power."""
    digest = hashlib.sha256()
    for room in project.READ:
        digest.update(project.code_digest(project.PACKAGE, room))
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
        self._path = folder / NAME
        self._known: dict[str, tuple[str, str, bool]] = {}
        self._store: sqlite3.Connection | None = None
        with contextlib.suppress(sqlite3.Error):
            self._store = _opened(folder / NAME)
            select = "SELECT run, signature, checksum, profile IS NOT NULL FROM runs WHERE reader = ?"
            self._known = {row[0]: row[1:] for row in self._store.execute(select, (reader,))}

    def find(self, folders: Mapping[str, Path], states: Mapping[str, str]) -> dict[str, str]:
        """Return the checksums of those runs whose files are what they were, by name.

        `states` has the `signature` of each run, from before its files are hashed.
        """
        found, touched = {}, []
        for name, folder in folders.items():
            noted, kept, _ = self._known.get(name, ("", "", False))
            if not kept or states[name] == LINKED or not self._intact(name):
                continue
            if not states[name] or noted != states[name]:
                if kept != _checksum(folder):
                    continue
                touched.append((states[name], name))
            found[name] = kept
        self._execute(("UPDATE runs SET signature = ? WHERE run = ?", touched))
        return found

    def tables(self, runs: Collection[str]) -> RunTables | None:
        """Return what was read of some runs; None if it is damaged."""
        rows = self._select("SELECT kind, content, digest FROM tables")
        if not all(self._agrees(content, digest, f"the table {kind!r}") for kind, content, digest in rows):
            return None
        try:
            found = RunTables.decoded({kind: content for kind, content, _ in rows}).only(runs)
        except (LookupError, ValueError, TypeError, OSError):
            return None
        return found if len(found.names) == len(runs) else None

    def profile(self, run: str) -> bytes | None:
        """Return the netCDF file of a run's profile, None if it has none."""
        if not self._known.get(run, ("", "", False))[2]:
            return None
        return next(
            (bytes(row[0]) for row in self._select("SELECT profile FROM runs WHERE run = ?", run)), None
        )

    def profiled(self, runs: Iterable[str]) -> list[str]:
        """Return those of some runs that have a profile."""
        return [run for run in runs if self._known.get(run, ("", "", False))[2]]

    def keep(self, tables: RunTables, fresh: Mapping[str, tuple[str, Path | None]]) -> None:
        """Keep the tables of all runs; of `fresh` ones the signature before they were read, the profile.

        A run with a value that a table cannot hold is left out.
        """
        encoded = _encoded(tables)
        if encoded is None:
            unfit = set(_unfit(tables))
            tables = tables.only([run for run in tables.names if run not in unfit])
            encoded = tables.encoded()
        checksums = dict(zip(tables.names, tables.columns["runs"]["checksum"], strict=True))
        gone = self.runs() - checksums.keys()

        def row(run: str, state: str, profile: Path | None) -> tuple[Any, ...]:
            digest = sha256(profile) if profile else _digest(None)
            return run, self.reader, state, checksums[run], digest

        profiles = {run: path for run, (_, path) in fresh.items() if path and run in checksums}
        self._execute(
            ("DELETE FROM runs WHERE run = ?", ((run,) for run in gone)),
            (
                "INSERT OR REPLACE INTO runs (run, reader, signature, checksum, digest)"
                " VALUES (?, ?, ?, ?, ?)",
                (row(run, *given) for run, given in fresh.items() if run in checksums),
            ),
            (
                "INSERT OR REPLACE INTO tables VALUES (?, ?, ?)",
                ((kind, content, _digest(content)) for kind, content in encoded.items()),
            ),
            (
                "UPDATE runs SET profile = zeroblob(?) WHERE run = ?",
                ((path.stat().st_size, run) for run, path in profiles.items()),
            ),
            profiles=profiles,
        )

    def campaign(self, state: str) -> tuple[Any, bytes] | None:
        """Return the counts and the file of the campaign if its state is that with which they were kept."""
        rows = self._select("SELECT counts, content, digest FROM campaign WHERE state = ?", state)
        for counts, content, digest in rows:
            if self._agrees(counts.encode() + content, digest, "the campaign's file"):
                return json.loads(counts), bytes(content)
        return None

    def keep_campaign(self, state: str, counts: Any, path: Path) -> None:
        """Keep the file of the campaign with its counts."""
        if path.stat().st_size > _MOST:
            return
        stated, content = json.dumps(counts), path.read_bytes()
        row = (state, stated, content, _digest(stated.encode() + content))
        self._execute(("DELETE FROM campaign", [()]), ("INSERT INTO campaign VALUES (?, ?, ?, ?)", [row]))

    def close(self) -> None:
        """Close the store."""
        if self._store is not None:
            self._store.close()

    def runs(self) -> set[str]:
        """Return the runs that have a fragment, of whatever reader."""
        return {row[0] for row in self._select("SELECT run FROM runs")}

    def _intact(self, run: str) -> bool:
        """Tell whether a run's profile is what was kept; true without one."""
        rows = (
            self._select("SELECT profile, digest FROM runs WHERE run = ?", run)
            if self.profiled([run])
            else []
        )
        return all(self._agrees(profile, digest, f"the profile of {run}") for profile, digest in rows)

    def _agrees(self, content: bytes, digest: str, what: str) -> bool:
        if _digest(content) == digest:
            return True
        found = f"{what} is not what was kept"
        print(Fault(str(self._path), 0, found, "read again; the disk may be failing"), file=sys.stderr)
        return False

    def _select(self, command: str, *given: str) -> list[tuple[Any, ...]]:
        """Ask the store; nothing is known if it is damaged."""
        if self._store is not None:
            with contextlib.suppress(sqlite3.Error):
                return self._store.execute(command, given).fetchall()
        return []

    def _execute(
        self, *commands: tuple[str, Iterable[Sequence[Any]]], profiles: Mapping[str, Path] | None = None
    ) -> None:
        """Do commands for many rows in one step; a store that cannot be written costs time alone.

        `profiles` fill what was made room for, in pieces: SQLite copies a value that is given whole twice.
        """
        if self._store is not None:
            with contextlib.suppress(sqlite3.Error), self._store:
                for command, rows in commands:
                    self._store.executemany(command, rows)
                for run, path in (profiles or {}).items():
                    (row,) = self._store.execute("SELECT rowid FROM runs WHERE run = ?", (run,)).fetchone()
                    with path.open("rb") as file, self._store.blobopen("runs", "profile", row) as blob:
                        for part in pieces(file, len(blob)):
                            blob.write(part)


def _digest(content: bytes | None) -> str:
    return hashlib.sha256(content or b"").hexdigest()


def _encoded(tables: RunTables) -> dict[str, bytes] | None:
    try:
        return tables.encoded()
    except (TypeError, ValueError, OverflowError):
        return None


def _unfit(tables: RunTables) -> list[str]:
    """Name the runs with a value that Arrow or JSON cannot hold, found by halves."""
    names = tables.names
    if not names or _encoded(tables) is not None:
        return []
    if len(names) == 1:
        return names
    middle = len(names) // 2
    return [run for half in (names[:middle], names[middle:]) for run in _unfit(tables.only(half))]


def _opened(path: Path) -> sqlite3.Connection:
    """Open a store; one that is damaged, or of an earlier release, is made anew."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for _ in range(2):
        store = sqlite3.connect(path, timeout=60)
        try:
            for name, columns in _STORE.items():
                store.execute(f"CREATE TABLE IF NOT EXISTS {name} ({columns})")
                names = ", ".join(column.split()[0] for column in columns.split(", "))
                store.execute(f"SELECT {names} FROM {name} LIMIT 1").fetchall()
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
    for name, entry in sorted(entries_below(folder), key=itemgetter(0)):
        state = entry.stat(follow_symlinks=False)
        if stat.S_ISLNK(state.st_mode):
            return LINKED
        lines.append(f"{name}\0{state.st_size}\0{state.st_ino}\0{state.st_mtime_ns}\0{state.st_ctime_ns}")
        newest = max(newest, state.st_mtime_ns, state.st_ctime_ns)
    if not lines or newest > time.time_ns() - _SETTLED:
        return ""
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def _checksum(folder: Path) -> str:
    """Return the checksum that a run with these files has; empty if one cannot be read."""
    run = printable(folder.name)
    return checksum_of(
        (printable(f"runs/{run}/{path.relative_to(folder)}"), path) for path in files_of(folder)
    )


def checksum_of(paths: Iterable[tuple[str, Path]]) -> str:
    """Return the checksum of files with their names in the campaign; empty if one cannot be read."""
    try:
        return checksum((name, sha256(path)) for name, path in paths)
    except OSError:
        return ""


def state_of(reader: str, campaign: str, runs: Mapping[str, str], beside: str) -> str:
    """Digest all that a campaign's file is made of: the checksums of its runs and of the files next to them.

    It is empty if the last is.
    """
    whole = json.dumps([reader, campaign, list(runs.items()), beside])
    return hashlib.sha256(whole.encode()).hexdigest() if beside else ""
