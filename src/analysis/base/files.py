"""Files: read whatever their compression, written so that they are whole or not there, locked.

A job's last act writes its record by this module: standard library only, and what takes long to import is
imported where it is used.
"""

import contextlib
import errno
import fcntl
import functools
import hashlib
import importlib
import io
import json
import os
import re
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

# First bytes of a compressed file -> module that undoes the compression.
_COMPRESSIONS = {b"\x1f\x8b": "zlib", b"\xfd7zXZ\x00": "lzma", b"\x28\xb5\x2f\xfd": "zstandard"}
_COMPRESSIONS |= {b"BZh%d1AY" % level: "bz2" for level in range(1, 10)}
PACKED = "gz|xz|zst|bz2"  # in patterns: how the names of compressed files end
_MARK = max(map(len, _COMPRESSIONS))
_PIECE = 4096  # B taken at a time: even that can become 100 MB
# Logs and profiles shrink to a tenth or a fiftieth. What expands further is made to fill the memory, or is
# all of one line; and beyond 4 GiB a reader needs more memory than most machines have.
_MOST_TIMES, MOST, _ALWAYS = 100, 4 << 30, 256 << 20
_MOST_JSON = 64_000_000  # B; a record has some 100 kB
# Larger files are known by size and date, as Snakemake knows them: their contents would take seconds.
_SMALL = 1 << 20  # B
_REMEDIES = dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "make room")
_REMEDIES |= dict.fromkeys((errno.EACCES, errno.EPERM), "give yourself the permission")
_REMEDIES |= {errno.EROFS: "make it writable", errno.EFBIG: "allow larger files (ulimit -f)"}
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ufffe\uffff]+")
UNPACKED = "BENCHBOOK_UNPACKED"
RECORD = "run.json"  # what each run states of itself, in its folder
NOTED = 1 << 28  # B; of larger files a run notes no checksum, which takes more than a second
_FAILED = ".failed-"


def attempt(run: str, number: int) -> str:
    """Return the name of a failed attempt at a run, like ``scaling-0001.failed-2``."""
    return f"{run}{_FAILED}{number}"


def plain_name(name: str) -> str:
    """Return the name that a file has when it is not compressed."""
    return re.sub(rf"\.(?:{PACKED})$", "", name)


def attempted(name: str) -> str:
    """Return the run that a failed attempt was made at, by its name; nothing for the name of a run."""
    return name.rpartition(_FAILED)[0]


def read_bytes(path: str | Path) -> bytes:
    """Read a file as `unpacked` returns it; ReadError also if it cannot be read, or is no stored file."""
    from analysis.base.errors import ReadError

    try:
        data = stored(path)
    except OSError as error:
        remedy = "give a part of it" if error.errno == errno.EFBIG else "check the path"
        raise ReadError.at(str(path), 0, error.strerror or str(error), remedy) from error
    return unpacked(data, path)


def stored(path: str | Path, most: int = MOST) -> bytes:
    """Return the bytes of a file as they are stored.

    OSError if it cannot be read, has more than `most` bytes or is no file of a disk. A pipe, a device or a
    file of the kernel may never end, or make the reader wait.
    """
    _refuse(path, most)
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123 (to make a path of one takes as long as to read)
        return file.read()


_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def _checked(path: str | Path, most: int = sys.maxsize) -> Path:
    """Return the path of a file that can be read; an OSError if it is not read."""
    _refuse(path, most)
    return path if isinstance(path, Path) else Path(path)  # to make one of a path takes as long as to read


def _refuse(path: str | Path, most: int = sys.maxsize) -> None:
    state = os.stat(path)  # noqa: PTH116 (as above)
    kind = _KINDS.get(stat.S_IFMT(state.st_mode), "")
    # Those of /proc say that they are empty and regular; /proc/kmsg waits for the kernel's next message.
    kind = kind or ("one of the kernel's" if state.st_dev in _kernels() and not state.st_size else "")
    if kind:
        raise OSError(errno.EINVAL, f"is {kind}, not a stored file", str(path))
    if state.st_size > most:
        size = f"{state.st_size / 1e6:,.0f} MB"
        found = f"has {size}, more than the {most / 1e6:,.0f} MB that are read"
        raise OSError(errno.EFBIG, found, str(path))


@functools.cache
def _kernels() -> frozenset[int]:
    """Return the file systems that the kernel makes up."""
    places = (Path("/proc"), Path("/sys"), Path("/sys/kernel/debug"), Path("/sys/kernel/tracing"))
    return frozenset(place.stat().st_dev for place in places if place.is_mount())


def unpacked(data: bytes, path: str | Path) -> bytes:
    """Return what a file stores, plain or compressed (gzip, xz, Zstandard, bzip2), whatever its name says.

    Raises
    ------
    ReadError
        If its compression is broken, or it expands beyond all measure: `UNPACKED` in the environment is the
        number of bytes that may come out, by default a hundred times the file or 256 MiB, up to 4 GiB.
    """
    from analysis.base.errors import ReadError

    name = next((name for mark, name in _COMPRESSIONS.items() if data.startswith(mark)), "")
    if not name:
        return data
    most = _most(len(data))
    try:
        parts = list(_parts(name, data, most))
    except Exception as error:  # each library has its own
        raise ReadError.at(str(path), 0, f"broken compression ({error})", "copy it again") from error
    if sum(map(len, parts)) > most:
        found = f"{len(data)} bytes expand to more than {most}"
        raise ReadError.at(str(path), 0, found, f"if it is what it should be, set {UNPACKED} to more bytes")
    return b"".join(parts)


def _most(size: int) -> int:
    given = os.environ.get(UNPACKED, "")
    return int(given) if given.isdecimal() else min(MOST, max(_ALWAYS, _MOST_TIMES * size))


def _parts(name: str, data: "bytes | _Stored", most: int) -> Iterator[bytes]:
    """Undo a compression stream by stream, until more than `most` bytes have come out.

    Whole libraries stop after the first stream, or are silent on one whose end is missing.
    """
    library: Any = importlib.import_module(name)
    makers: dict[str, Callable[[], Any]] = {
        "zlib": lambda: library.decompressobj(wbits=31),
        "lzma": lambda: library.LZMADecompressor(),
        "bz2": lambda: library.BZ2Decompressor(),
        "zstandard": lambda: library.ZstdDecompressor().decompressobj(),
    }
    decompressor = makers[name]
    at = size = 0
    stream = decompressor()
    while at < len(data) and size <= most:
        part = stream.decompress(data[at : at + _PIECE])
        at = min(at + _PIECE, len(data)) - len(stream.unused_data)
        size += len(part)
        yield part
        if stream.eof:
            while data[at : at + 1] == b"\0":  # a stream may be padded
                at += 1
            if at == len(data):
                return
            stream = decompressor()
    if size <= most:
        raise ValueError("the end is missing")


class _Stored:
    """The bytes of an open file, read where they are asked for."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._size = file, os.fstat(file.fileno()).st_size

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, at: slice) -> bytes:
        return os.pread(self._file.fileno(), at.stop - at.start, at.start)


class Unpacked(io.RawIOBase):
    """What a compressed file holds, as it is undone; ValueError if it is broken or has no end."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file, data = file, _Stored(file)
        self._parts, self._rest = _parts(name, data, _most(len(data))), memoryview(b"")

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer as far as the next part goes."""
        while not self._rest:
            try:
                self._rest = memoryview(next(self._parts))
            except StopIteration:
                return 0
            except Exception as error:  # each library has its own
                raise ValueError(str(error)) from error
        count = min(len(buffer), len(self._rest))
        buffer[:count], self._rest = self._rest[:count], self._rest[count:]
        return count


def opened(path: str | Path) -> IO[bytes]:
    """Open a file to be read as a stream of what it stores, plain or compressed; OSError as of `stored`."""
    file = _checked(path).open("rb", buffering=0)
    head = file.read(_MARK)
    name = next((name for mark, name in _COMPRESSIONS.items() if head.startswith(mark)), "")
    file.seek(0)
    return Unpacked(file, name) if name else file  # type: ignore[return-value]


def pieces(file: IO[bytes], size: int) -> Iterator[bytes]:
    """Yield the first bytes of a stream, some at a time."""
    while size > 0 and (part := file.read(min(size, 1 << 20))):
        size -= len(part)
        yield part


def plain_head(path: str | Path, size: int) -> bytes:
    """Return the first `size` bytes of a file; none if it is compressed, not stored or cannot be read."""
    try:
        with _checked(path).open("rb") as file:
            head = file.read(max(size, _MARK))
    except OSError:
        return b""
    return b"" if head.startswith(tuple(_COMPRESSIONS)) else head[:size]


_AT_ONCE = 1 << 16  # bytes of a file that is no part of a loop: `file_digest` takes longer to begin


def sha256(path: str | Path, most: int = sys.maxsize) -> str:
    """Return the SHA-256 of a file as stored, 64 hexadecimal digits; an OSError as of `stored`."""
    _refuse(path, most)
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123 (a path from text takes as long as to read)
        head = file.read(_AT_ONCE)
        if len(head) < _AT_ONCE:
            return hashlib.sha256(head).hexdigest()
        file.seek(0)
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextlib.contextmanager
def replacing(path: str | Path, *, durable: bool = False) -> Iterator[Path]:
    """Give the block a name next to a file to write to; it replaces the file once the block has ended well.

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
    except BaseException as error:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno and error.filename in (None, str(beside)):
            raise OSError(error.errno, os.strerror(error.errno), str(path)) from error
        raise


@contextlib.contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """Let what the system refuses in the block name this path, where it names none: a write knows no name."""
    try:
        yield
    except OSError as error:
        if error.errno and error.filename is None:
            raise OSError(error.errno, os.strerror(error.errno), str(path)) from error
        raise


def write_text(path: str | Path, text: str, *, durable: bool = False) -> None:
    """Write a text in UTF-8, see `replacing`; its folder is made if need be."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with replacing(path, durable=durable) as beside:
        beside.write_text(text, encoding="utf-8", newline="\n")


def write_json(path: str | Path, value: object, *, durable: bool = False) -> None:
    """Write a value as JSON, see `replacing`."""
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False) + "\n", durable=durable)


def read_json(path: str | Path) -> dict[str, Any]:
    """Read the object in a JSON file of up to 64 MB; empty if there is none, or none that can be read.

    Half a character, which JSON can state and no text can hold, becomes a question mark.
    """
    try:
        data = stored(path, _MOST_JSON)
        found = json.loads(data)
        if b"\\ud" in data.lower():
            found = json.loads(json.dumps(found, ensure_ascii=False).encode("utf-8", "replace"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def remedy(error: OSError) -> str:
    """Say what helps against an error of the system, as the last part of a sentence."""
    other = "check the path" if isinstance(error, FileNotFoundError) else "put it right"
    return _REMEDIES.get(error.errno or 0, other)


def cause(error: OSError) -> str:
    """Return the words for an error: those of the system, or of the code that raised it."""
    return error.strerror or str(error) or type(error).__name__


def refusal(error: OSError) -> str:
    """Return the one line on a file that the system refuses; empty if it is about no file."""
    if isinstance(error, shutil.Error) and error.args and isinstance(error.args[0], list):
        _, name, why = error.args[0][0]  # of many that could not be copied
        return f"{name}: {why}; put it right"
    name = error.filename2 or error.filename  # of a copy the second is the one that is written
    if isinstance(name, bytes):
        name = os.fsdecode(name)
    if not isinstance(name, str) and error.errno not in _REMEDIES:
        return ""
    return f"{name if isinstance(name, str) else 'a file'}: {cause(error)}; {remedy(error)}"


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
    try:
        file.truncate(0)
        os.write(file.fileno(), note.encode())
    except OSError:  # a full disk: the lock goes with the file
        file.close()
        raise
    return file


def printable(text: str) -> str:
    """Return a text, like the name of a file, with escapes for what is no UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode()


def one_line(text: str) -> str:
    """Return a text as `printable` does, with blanks for what no page and no slide can hold."""
    plain = text.isascii() and text.isprintable()  # as nearly all are
    return (text if plain else _CONTROL.sub(" ", printable(text))).strip()


def stamp(folder: Path, kept: Path) -> str:
    """Digest names and contents of all files below a folder; a new date on an old file changes nothing.

    What was read is noted in the file `kept`: a file of the same size and dates is not read again, unless it
    could not be read. The second date is that of the file system, which no copy and no user sets. A folder
    that is not there has the stamp of an empty one; what cannot be read is for the ingest to complain of.
    Linked folders are not entered.
    """
    before = read_json(kept)
    known: dict[str, list[int | str]] = {}
    for name, entry in entries_below(folder, tolerant=True):
        if not entry.is_file():
            continue
        state = entry.stat()
        size, date, changed = state.st_size, state.st_mtime_ns, state.st_ctime_ns
        # A record decides which pages there are, so that it is read whatever its size.
        read, unread = size <= _SMALL or name.endswith(RECORD), f"{size} {date}"
        match before.get(name):
            case [*seen, str(digest)] if seen == [size, date, changed] and not (read and digest == unread):
                pass
            case _:
                digest = (_digest(entry.path) if read else "") or unread
        known[name] = [size, date, changed, digest]
    if known != before:
        with contextlib.suppress(OSError):  # where nothing can be written, all is read the next time
            write_text(kept, json.dumps(known))
    text = "".join(f"{name}\0{digest}\n" for name, (*_, digest) in sorted(known.items()))
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def _digest(path: str) -> str:
    try:
        return sha256(path)
    except OSError:
        return ""


def entries_below(
    folder: Path | str, above: str = "", *, tolerant: bool = False
) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Give all that is below a folder but folders, by its path from there; linked folders are not entered.

    An OSError if a folder cannot be listed; it is left out if `tolerant`.
    """
    try:
        entries = list(os.scandir(folder))
    except OSError:
        if not tolerant:
            raise
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from entries_below(entry.path, f"{above}{entry.name}/", tolerant=tolerant)
        else:
            yield above + entry.name, entry
