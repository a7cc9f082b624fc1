"""The manifest of a raw campaign: the checksums that ``sha256sum --check MANIFEST.sha256`` agrees with."""

import os
import re
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from analysis.base import files
from analysis.base.errors import ConfigError, Fault
from analysis.base.files import printable, sha256, write_text

NAME = "MANIFEST.sha256"

# Two blanks, or a blank and a star: text and binary mode, which are the same on the systems of interest.
_LINE = re.compile(r"([0-9a-f]{64}) [ *](.+)")
# sha256sum writes these with an escape that few other tools read.
_AWKWARD = re.compile(r"[\x00-\x1f\x7f\\]")


@dataclass
class FileTree:
    """The files of a campaign by their paths in it, sorted as bytes; refused files are not opened."""

    label: str
    files: dict[str, Path] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    refused: set[str] = field(default_factory=set)

    def refuse(self, name: str, found: str, remedy: str) -> None:
        """Leave a file out and say why."""
        self.refused.add(name)
        self.faults.append(Fault(f"{self.label}/{name}", 0, found, remedy))


def scan(folder: Path, label: str) -> FileTree:
    """Find the files of a campaign except its manifest, and refuse those that a manifest cannot list.

    The folder may itself be a link; links in it are followed to files within the campaign only.
    """
    tree = FileTree(label)
    base = folder.resolve()
    for path in sorted(_walk(base), key=lambda path: os.fsencode(path.relative_to(base))):
        name = path.relative_to(base).as_posix()
        if name == NAME:
            continue
        problem = _problem(path, base, name)
        if problem is None:
            tree.files[name] = path
        else:
            tree.refuse(printable(name), *problem)
    return tree


def _walk(folder: Path) -> Iterator[Path]:
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(Path(entry.path))
        else:
            yield Path(entry.path)


def _problem(path: Path, base: Path, name: str) -> tuple[str, str] | None:
    if _AWKWARD.search(name) or printable(name) != name:
        return "has a name that a manifest cannot contain", "rename it: no control characters, UTF-8 only"
    try:
        mode = path.stat().st_mode  # of what a link leads to
    except (OSError, RuntimeError):
        return "is a link that leads nowhere", "copy the file it should point to"
    if path.is_symlink() and not path.resolve().is_relative_to(base):
        return "is a link out of the campaign", "copy the file it points to"
    if stat.S_ISDIR(mode):
        return "is a link to a folder", "copy the folder it points to"
    if not stat.S_ISREG(mode):
        return "is no regular file", "remove it"
    return None


def write(folder: Path, label: str, *, force: bool = False) -> int:
    """Write the manifest of a campaign, which faults call by its label; return the number of files in it.

    `ConfigError` if there is one already, unless it may be replaced by `force`, or a file is refused or
    cannot be read; nothing is written then.
    """
    if os.path.lexists(folder / NAME) and not force:
        raise ConfigError.at(f"{label}/{NAME}", 0, "exists already", "check against it, or --force")
    tree = scan(folder, label)
    digests = _digests(tree, tree.files)
    if tree.faults:
        raise ConfigError(*tree.faults)
    _put(folder / NAME, digests)
    return len(digests)


def extend(folder: Path, label: str, renewed: Callable[[Collection[str]], Collection[str]]) -> list[Fault]:
    """Add to the manifest of a campaign the files that it does not name yet; return what could not be added.

    `renewed` chooses among its paths those that their owner has written again or removed; the entries of all
    others stay, so that a change is still found. A manifest with faults stays as it is.
    """
    entries: dict[str, str] = {}
    if os.path.lexists(folder / NAME):
        known, faults = read(folder, label)
        if faults:
            return faults
        gone = renewed(known.keys())
        entries = {name: wanted for name, (wanted, _) in known.items() if name not in gone}
    tree = scan(folder, label)
    entries |= _digests(tree, [name for name in tree.files if name not in entries])
    try:
        _put(folder / NAME, entries)
    except OSError as error:
        remedy = f"{files.remedy(error)}, then measure again: it is written then"
        tree.refuse(NAME, files.cause(error), remedy)
    return tree.faults


def _digests(tree: FileTree, names: Iterable[str]) -> dict[str, str]:
    """Return the digests of some files of a tree; one that cannot be read is refused."""
    found = {}
    for name in names:
        try:
            found[name] = sha256(tree.files[name])
        except OSError as error:
            tree.refuse(name, error.strerror or str(error), "make it readable")
    return found


def _put(path: Path, digests: Mapping[str, str]) -> None:
    text = "".join(f"{digests[name]}  {name}\n" for name in sorted(digests, key=os.fsencode))
    write_text(path, text)  # a link is replaced, not followed


def read(folder: Path, label: str) -> tuple[dict[str, tuple[str, int]], list[Fault]]:
    """Read the manifest of a campaign: path -> SHA-256 and line; and what is wrong with it."""
    source = f"{label}/{NAME}"
    path = folder / NAME
    if path.is_symlink() or not path.is_file():
        remedy = f"make it with: benchbook verify --write {folder.name}"
        return {}, [Fault(source, 0, "is no file" if os.path.lexists(path) else "is missing", remedy)]
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        remedy = "take it from where the campaign came from"
        return {}, [Fault(source, 0, f"cannot be read ({error})", remedy)]
    entries: dict[str, tuple[str, int]] = {}
    faults = []
    for at, line in enumerate(text.splitlines(), 1):
        match = _LINE.fullmatch(line)
        name = match[2] if match else ""
        if match is None:
            faults.append(Fault(source, at, "is no line of sha256sum", "write digest, two blanks, path"))
        elif name == NAME or PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
            faults.append(Fault(source, at, f"{name!r} is no path within the campaign", "take the line out"))
        elif name in entries:
            was = entries[name][1]
            faults.append(Fault(source, at, f"{name!r} is in line {was} too", "take one of them out"))
        else:
            entries[name] = match[1], at
    return entries, faults


def check(folder: Path, label: str) -> tuple[int, list[Fault]]:
    """Check a campaign's files against its manifest: their number, and what is wrong with them and with it.

    One fault for each file that is missing, changed, not in the manifest, renamed (one for both names) or
    refused.
    """
    tree = scan(folder, label)
    entries, faults = read(folder, label)
    if not entries:
        return len(tree.files), [*faults, *tree.faults]
    digests = _digests(tree, tree.files)
    faults += tree.faults
    return len(tree.files), faults + _differences(entries, digests, tree.refused, label)


def _differences(
    entries: Mapping[str, tuple[str, int]], digests: Mapping[str, str], refused: set[str], label: str
) -> list[Fault]:
    faults = []
    extra = {name: found for name, found in digests.items() if name not in entries}
    for name, (wanted, at) in entries.items():
        if name in refused:
            continue
        if name not in digests:
            moved = next((other for other, found in extra.items() if found == wanted), None)
            if moved is None:
                found, remedy = f"is missing (line {at} of {NAME})", "restore it"
            else:
                del extra[moved]
                found, remedy = f"is now called {moved}", "rename it back"
            faults.append(Fault(f"{label}/{name}", 0, found, remedy))
        elif digests[name] != wanted:
            remedy = "restore it: raw files are never edited"
            faults.append(Fault(f"{label}/{name}", 0, f"has changed since line {at} of {NAME}", remedy))
    remedy = "remove it, or add it: measuring again does, and so does benchbook verify --write --force"
    return faults + [Fault(f"{label}/{name}", 0, f"is not in {NAME}", remedy) for name in extra]
