"""The tree that is imported: its files in a stable order, and what is left out, with the reason."""

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from analysis import readers
from analysis.base.errors import ConfigError
from analysis.base.files import stored

# Folders that programs keep for themselves: no output of a job is in them.
_SKIPPED = {".git", ".hg", ".svn", "__pycache__", ".snakemake", ".venv", "node_modules", ".ipynb_checkpoints"}
MOST = 1 << 30  # B; a file beyond this is no output of a job, and would fill the memory
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class File:
    """A file of the tree, or a database's folder: where it is, and its name below the root with slashes."""

    path: Path
    name: str
    size: int

    @property
    def folder(self) -> str:
        """The folder below the root, empty for the root itself."""
        return self.name.rpartition("/")[0]

    @property
    def base(self) -> str:
        """The name without its folder; a database's folder becomes a tar."""
        return self.name.rpartition("/")[2] + (".tar" if self.path.is_dir() else "")

    def content(self) -> bytes:
        """Return what is stored, of a database's folder the tar that its reader takes."""
        return readers.database(self.path) if self.path.is_dir() else stored(self.path, MOST)


def display_name(name: str) -> str:
    """Return a name as one line of UTF-8: control characters and broken bytes as escapes."""
    text = name.encode("utf-8", "backslashreplace").decode()
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def walk(root: Path) -> tuple[list[File], dict[str, str]]:
    """Find the files below a folder, sorted by their names as bytes; and those not read: name -> why.

    Links are not followed, so loops are harmless; what is no file, too large or unreadable is refused.
    Raises `ConfigError` if the root is no folder or cannot be read.
    """
    if not root.is_dir():
        remedy = "give the folder with the outputs; docs/campaigns.md says how a table becomes a campaign"
        raise ConfigError.at(str(root), 0, "is no folder", remedy)
    try:
        os.scandir(root).close()
    except OSError as error:
        raise ConfigError.at(str(root), 0, error.strerror or str(error), "make it readable") from error
    files, refused = [], {}
    for path, why in _below(root):
        name = path.relative_to(root).as_posix()
        size, reason = (0, why) if why else _size(path, root)
        if reason:
            refused[display_name(name) + ("/" if why else "")] = reason
        else:
            files.append(File(path, name, size))
    return sorted(files, key=lambda file: os.fsencode(file.name)), refused


def _below(root: Path) -> Iterator[tuple[Path, str]]:
    """Find the files below a folder, and folders that cannot be read with the reason."""
    todo = [root]  # no recursion: a tree can be deeper than Python's stack
    while todo:
        folder = todo.pop()
        try:
            entries = list(os.scandir(folder))
        except OSError as error:
            yield folder, f"{error.strerror or error}; make it readable"
            continue
        if folder != root and readers.is_database(entry.name for entry in entries):
            yield folder, ""
            continue
        for entry in entries:
            if not entry.is_dir(follow_symlinks=False):
                yield Path(entry.path), ""
            elif entry.name not in _SKIPPED:
                todo.append(Path(entry.path))


def _size(path: Path, root: Path) -> tuple[int, str]:
    """Return the size of a file, and why it is not read."""
    if path.is_symlink():
        return 0, _link_reason(path, root)
    try:
        state = path.stat()
    except OSError as error:
        return 0, f"{error.strerror or error}; check the path"
    if stat.S_ISDIR(state.st_mode):
        return sum(one.stat().st_size for one in path.iterdir()), ""
    if not stat.S_ISREG(state.st_mode):
        return 0, "is a pipe, socket or device, not a file"
    if state.st_size > MOST:
        size = f"{state.st_size / MOST:.1f} GiB"
        return 0, f"has {size}, too much for the output of a job; cut it or compress it"
    if not os.access(path, os.R_OK):
        return 0, "Permission denied; make it readable"
    return state.st_size, ""


def _link_reason(path: Path, root: Path) -> str:
    try:
        target = path.resolve(strict=True)
    except (OSError, RuntimeError):
        return "is a link that leads nowhere"
    if target.is_relative_to(root.resolve()):
        return "is a link to what is in the tree itself"
    return "is a link out of the tree; copy what it leads to"
