"""Files: read whatever their compression, written so that they are whole or not there, locked.

A job's last act writes its record by this module: standard library only, and what takes long to import is
imported where it is used.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

# First bytes of a compressed file -> module that undoes the compression.
_COMPRESSIONS = {b"\x1f\x8b": "gzip", b"\xfd7zXZ\x00": "lzma", b"\x28\xb5\x2f\xfd": "zstandard"}
_MARK = max(map(len, _COMPRESSIONS))


def read_bytes(path: str | Path) -> bytes:
    """Read a file as `unpacked` returns it; ReadError also if it cannot be read."""
    from analysis.base.errors import ReadError

    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise ReadError.at(str(path), 0, error.strerror or str(error), "check the path") from error
    return unpacked(data, path)


def unpacked(data: bytes, path: str | Path) -> bytes:
    """Return what a file stores, plain or compressed (gzip, xz, Zstandard), whatever its name says.

    Raises
    ------
    ReadError
        If its compression is broken.
    """
    from analysis.base.errors import ReadError

    try:
        return _decompressed(data)
    except Exception as error:  # each library has its own
        raise ReadError.at(str(path), 0, f"broken compression ({error})", "copy it again") from error


def plain_head(path: str | Path, size: int) -> bytes:
    """Return the first `size` bytes of a file; none if it is compressed or cannot be read."""
    try:
        with Path(path).open("rb") as file:
            head = file.read(max(size, _MARK))
    except OSError:
        return b""
    return b"" if head.startswith(tuple(_COMPRESSIONS)) else head[:size]


def _decompressed(data: bytes) -> bytes:
    name = next((name for mark, name in _COMPRESSIONS.items() if data.startswith(mark)), "")
    if not name:
        return data
    library = importlib.import_module(name)
    return (
        _frames(library.ZstdDecompressor(), data) if name == "zstandard" else bytes(library.decompress(data))
    )


def _frames(zstandard: Any, data: bytes) -> bytes:
    """Undo Zstandard frame by frame: the library itself stops after the first, and is silent on a cut one."""
    out = []
    while data:
        frame = zstandard.decompressobj()
        out.append(frame.decompress(data))
        if not frame.eof:
            raise ValueError("the end is missing")
        data = frame.unused_data
    return b"".join(out)


def sha256(path: str | Path) -> str:
    """Return the SHA-256 of a file as stored, 64 hexadecimal digits; an OSError if it cannot be read."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextlib.contextmanager
def replacing(path: str | Path, *, durable: bool = False) -> Iterator[Path]:
    """Give the block a name beside a file to write to; it replaces the file once the block has ended well.

    With `durable` the bytes are brought to the disk first, so that they outlive a loss of power.
    """
    path = Path(path)
    beside = path.with_name(f".{path.name}.{os.urandom(4).hex()}.part")
    try:
        yield beside
        if durable:
            with beside.open("rb") as file:
                os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def write_text(path: str | Path, text: str, *, durable: bool = False) -> None:
    """Write a text in UTF-8, see `replacing`."""
    with replacing(path, durable=durable) as beside:
        beside.write_text(text, encoding="utf-8", newline="\n")


def write_json(path: str | Path, value: object, *, durable: bool = False) -> None:
    """Write a value as JSON, see `replacing`."""
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False) + "\n", durable=durable)


def read_json(path: str | Path) -> dict[str, Any]:
    """Read the object in a JSON file; empty if there is none, or none that can be read."""
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


class LockedError(Exception):
    """Another process has the lock; the message is what it wrote into the file."""


def lock(path: str | Path, note: str) -> IO[str]:
    """Lock a file, made if need be, until it is closed or the process ends; write a note of who has it.

    `LockedError` if another process has the lock. It is not locked where the file system knows no locks.
    """
    file = Path(path).open("a+", encoding="utf-8")  # noqa: SIM115  # stays open: that is the lock
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        with file:
            file.seek(0)
            raise LockedError(file.read().strip() or "unknown") from None
    except OSError:
        return file
    file.truncate(0)
    file.write(note)
    file.flush()
    return file


def printable(text: str) -> str:
    """Return a text, like the name of a file, with escapes for what is no UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode()
