"""The state of files: what the file system notes of a folder, and a stamp of a campaign's raw files.

A file is not hashed again while its path, size, inode and times of change are those that were noted, and it
had been left alone for `SETTLED` when it was noted: a change within the resolution of the clock cannot hide.

Snakemake reads this module at every start: nothing slow is imported.
"""

import contextlib
import hashlib
import json
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from analysis.base.files import sha256, write_json, write_text

SETTLED = 5_000_000_000  # ns; file systems count in up to 2 s
LINKED = "links"  # what a link leads to may change while the link stays


def signature(folder: Path) -> str:
    """Return what the file system notes of a folder's files, or of a file; empty if one has just changed.

    It is `LINKED` if there is a link.
    """
    lines = []
    newest = 0
    for name, state in sorted(_states(folder)):
        if stat.S_ISLNK(state.st_mode):
            return LINKED
        lines.append(f"{name}\0{state.st_size}\0{state.st_ino}\0{state.st_mtime_ns}\0{state.st_ctime_ns}")
        newest = max(newest, state.st_mtime_ns, state.st_ctime_ns)
    if not lines or newest > time.time_ns() - SETTLED:
        return ""
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def _states(path: Path) -> Iterator[tuple[str, os.stat_result]]:
    state = path.lstat()
    if stat.S_ISDIR(state.st_mode):
        yield from _below(path, "")
    else:
        yield "", state


def _below(folder: str | Path, above: str) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _below(entry.path, f"{above}{entry.name}/")
            else:
                yield f"{above}{entry.name}", entry.stat(follow_symlinks=False)


def stamp(raw: Path, path: Path) -> Path:
    """Write a digest of names and contents of a campaign's raw files, only if it is another; return its path.

    What was hashed is noted next to it, by run. A new date on an old file leaves the stamp as it is.
    """
    notes = path.with_suffix(".json")
    known: dict[str, list[str]] = {}
    with contextlib.suppress(OSError, ValueError):
        known = dict(json.loads(notes.read_bytes()))
    found = {}
    for name, place in _parts(raw):
        now = signature(place)
        noted = known.get(name, ["", ""])
        found[name] = noted if now not in ("", LINKED) and noted[0] == now else [now, _digest(place)]
    text = json.dumps([[name, digest] for name, (_, digest) in found.items()])
    content = hashlib.sha256(text.encode()).hexdigest() + "\n"
    if found != known:
        write_json(notes, found)
    if not path.is_file() or path.read_text(encoding="utf-8") != content:
        write_text(path, content)
    return path


def _parts(raw: Path) -> list[tuple[str, Path]]:
    """List the folders of runs, and what lies next to them, by name."""
    found = [one for one in raw.iterdir() if one.name != "runs"] if raw.is_dir() else []
    found += (raw / "runs").iterdir() if (raw / "runs").is_dir() else []
    return [(os.fsencode(one.relative_to(raw)).decode("latin-1"), one) for one in sorted(found)]


def _digest(place: Path) -> str:
    """Digest names and contents of the files of a folder, or of a file; links are followed."""
    files = [place] if place.is_file() else sorted(one for one in place.rglob("*") if one.is_file())
    digest = hashlib.sha256()
    for one in files:
        try:
            content = sha256(one)
        except OSError as error:  # the ingest says so, too
            content = str(error.errno)
        digest.update(os.fsencode(one.relative_to(place)) + f"\0{content}\n".encode())
    return digest.hexdigest()
