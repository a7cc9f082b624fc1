"""Readers: one module per tool, found by content; each is an xarray engine too.

A format is a module with ``sniff`` and ``parse``, and optionally its row (`analysis.readers.format`). Formats
of figures of merit and of power logs are files in ``merits/formats`` and ``power/formats``; a format with its
own kind of dataset has a module here. Another package adds a format by an entry point of the group
``benchbook.formats``: its name is the engine's, its object is such a module or a row with both functions.
"""

import io
import tarfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import xarray as xr

from analysis.base.errors import ReadError
from analysis.base.files import Unpacked, opened, pieces, plain_head, read_bytes
from analysis.readers import core, unknown
from analysis.readers.base import as_utf8
from analysis.readers.format import LAST, Format, modules
from analysis.readers.merits import borrowed

GROUP = "benchbook.formats"


def _engines() -> dict[str, str]:
    found = {name: f"{__name__}.{module}" for name, module in modules().items()}
    for point in entry_points(group=GROUP):
        found.setdefault(point.name, point.value)
    for name in borrowed.formats():
        found.setdefault(name, f"{borrowed.__name__}:{name}")
    return {name: found[name] for name in (*(one for one in found if one not in LAST), *LAST)}


# Engine -> its module, or module:object, in the order in which a file's content is tried.
ENGINES: dict[str, str] = _engines()

# With its first dataset xarray imports dask and pint: most of a second, which is no part of a read.
xr.Dataset(coords={"x": [0]})

# A banner or a result table may come after pages of the program's own output; in the output of a job after
# what its prologue, its modules and its environment print.
HEAD_BYTES = 65_536
LONG_HEAD_BYTES = 16 * HEAD_BYTES
_SHRUNK = 10  # times that a profile is smaller when it is compressed, at least
LEAST = core.LEAST // _SHRUNK  # B of a file that is read while it streams


@cache
def reader(engine: str) -> Any:
    """Return the module, or the row, with the functions that read `engine`'s format."""
    module, _, name = ENGINES[engine].partition(":")
    found: Any = import_module(module)
    for part in name.split(".") if name else ():
        found = getattr(found, part)
    found = found if hasattr(found, "parse") else getattr(found, "FORMAT", found)
    if not (callable(getattr(found, "sniff", None)) and callable(getattr(found, "parse", None))):
        raise TypeError(f"{ENGINES[engine]} has no functions sniff and parse")
    return found


@cache
def row(engine: str) -> Format:
    """Return the row of a format; one without a row of its own is known by its name alone."""
    found = reader(engine)
    own = found if isinstance(found, Format) else getattr(found, "FORMAT", None)
    if own is not None and own.engine != engine:
        raise TypeError(f"{ENGINES[engine]} calls itself {own.engine!r}, its entry point {engine!r}")
    return own or Format(engine=engine, kind="power" if hasattr(found.parse, "takes_file") else "")


@cache
def rows() -> tuple[Format, ...]:
    """Return the rows of all formats in the order in which they are tried.

    A format of another package that cannot be imported costs a warning.
    """
    found = []
    for engine, place in ENGINES.items():
        try:
            found.append(row(engine))
        except Exception as error:
            if place.startswith(f"{__name__}."):
                raise
            text = f"the format {engine!r} of {place} cannot be used: {type(error).__name__}: {error}"
            warnings.warn(text, RuntimeWarning, stacklevel=2)
    return tuple(found)


def summary(engine: str) -> str:
    """Say in a line what a format is: the first of its module's documentation."""
    said = import_module(ENGINES[engine].partition(":")[0]).__doc__ or row(engine).tool
    return said.strip().splitlines()[0]


def is_power(engine: str) -> bool:
    """Tell whether an engine reads power logs; an unknown name does not."""
    return engine in ENGINES and row(engine).kind == "power"


def engine_of(ds: xr.Dataset) -> str:
    """Name the engine that made a dataset; of readers that share a kind the dataset says which."""
    return str(ds.attrs.get("engine", ds.attrs["kind"]))


def problem(ds: xr.Dataset) -> str:
    """Spell the problem of a result, by its format's `Format.problem`; empty if it has none."""
    own = own_function(ds, "problem")
    return str(own(ds)) if own else str(ds.attrs.get("problem_identity", ""))


def own_function(ds: xr.Dataset, name: str) -> Callable[[xr.Dataset], Any] | None:
    """Return a function that a dataset's reader has of its own, such as `problem`; None if it has not."""
    engine = engine_of(ds)
    found = getattr(reader(engine), name, None) if engine in ENGINES else None
    return found if callable(found) else None


def engines_of(data: bytes, name: str = "") -> list[str]:
    """Name the engines that recognise the decompressed bytes of a file, most likely first.

    Its name is used only where content alone cannot tell. A text that none knows by its first 64 KiB is
    searched further.
    """
    bare = name.rpartition("/")[2]
    for size in (HEAD_BYTES, LONG_HEAD_BYTES):
        head = as_utf8(data[:size])
        found = [one.engine for one in rows() if reader(one.engine).sniff(head, bare)]
        if found or len(data) <= size:
            break
    return found


def is_database(files: Iterable[str]) -> bool:
    """Tell whether a folder with files of these names is a database, to be read as a whole."""
    there = set(files)
    return any(one.is_folder(there) for one in rows())


def without_second_power(engines: Iterable[str]) -> Iterator[str]:
    """Yield engines, but only the first of those that read power: a file's energy counts once."""
    power = False
    for engine in engines:
        if not (power and is_power(engine)):
            yield engine
        power |= is_power(engine)


def parse(data: bytes, source: str = "<memory>", *, engine: str | None = None, **options: Any) -> xr.Dataset:
    """Parse some bytes with `engine`, or with the first that recognises them; ReadError if none does.

    Readers of power logs take options (time zone, date, column map: `analysis.readers.power.log`).
    """
    engine = engine or _implied(options)
    if engine is None:
        found = engines_of(data, source)
        if not found:
            raise ReadError.at(source, 0, unknown.found(data), unknown.remedy(data[:HEAD_BYTES], rows()))
        engine = found[0]
    ds: xr.Dataset = reader(engine).parse(data, source, **options)
    return ds


def parse_each(data: bytes, source: str, *, engine: str) -> list[xr.Dataset]:
    """Parse all results that some bytes hold: a job's output can have those of several executions."""
    each = getattr(reader(engine), "parse_each", None)
    return each(data, source) if each else [parse(data, source, engine=engine)]


def open(path: str | Path, *, engine: str | None = None, **options: Any) -> xr.Dataset:  # noqa: A001
    """Open a raw file, plain or compressed, as a dataset with the attribute ``source`` naming the file.

    `engine` is one of `ENGINES`, by default as the content says; `options` are the reader's, like
    ``tz="Europe/Berlin"`` for a power log. The path of a database's folder opens the whole database.
    ReadError if it cannot be read or has no known format.
    """
    if Path(path).is_dir():
        return parse(database(path), str(path), engine=engine, **options)
    head = plain_head(path, HEAD_BYTES)
    engine = engine or _implied(options)
    if engine is None and head:
        found = engines_of(head, str(path))
        engine = found[0] if found else None
    if engine is not None and head and getattr(reader(engine).parse, "takes_file", False):
        # A day of a cluster is read while it streams from the disk, never held as a whole.
        ds: xr.Dataset = reader(engine).parse(Path(path), str(path), **options)
        return ds
    one = streamed(path, str(path), engine) if not options else None
    return one[1] if one is not None else parse(read_bytes(path), str(path), engine=engine, **options)


def streamed(path: str | Path, source: str, engine: str | None = None) -> tuple[str, xr.Dataset] | None:
    """Read a large profile, plain or compressed, without ever having all of its bytes; None for any other."""
    try:
        stored = Path(path).stat().st_size
        with opened(path) as file:
            if stored * (_SHRUNK if isinstance(file, Unpacked) else 1) < core.LEAST:
                return None
            head = b"".join(pieces(file, HEAD_BYTES))
    except (OSError, ValueError):
        return None
    engines = [engine] if engine else engines_of(head, str(path))
    stream = getattr(reader(engines[0]), "stream", None) if len(engines) == 1 else None
    ds = stream(path, source) if stream else None
    return (engines[0], ds) if ds is not None else None


def database(folder: str | Path) -> bytes:
    """Read a database's folder as a tar of the files that its reader needs; ReadError if it is not one."""
    files = sorted(Path(folder).iterdir())
    known = next((one for one in rows() if one.is_folder(path.name for path in files)), None)
    if known is None:
        wanted = ", ".join(name for one in rows() for name in one.folder if "*" not in name)
        remedy = f"one has a file {wanted}; benchbook import makes a campaign of a folder"
        raise ReadError.at(str(folder), 0, "is a folder, and no database", remedy)
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for path in files:
            if any(map(path.match, known.folder)):
                data = read_bytes(path)
                member = tarfile.TarInfo(f"{Path(folder).name}/{path.name}")
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
    return out.getvalue()


def _implied(options: dict[str, Any]) -> str | None:
    # Who maps the columns has a table; its headings may be in any language.
    return "power_csv" if options.get("columns") else None
