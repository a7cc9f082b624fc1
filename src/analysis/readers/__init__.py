"""Readers: one module per tool, found by content; each is an xarray engine too.

`ENGINES` is the one list: the engine's name and its module, in the order in which a file's
content is tried. A new format is one module with ``parse`` and ``sniff``, its name here and a line
in ``pyproject.toml``; a power log needs neither (`analysis.readers.power`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import xarray as xr

from analysis.base.errors import ReadError
from analysis.base.files import plain_head, read_bytes
from analysis.readers import merits, unknown
from analysis.readers.base import as_utf8
from analysis.readers.power import FORMATS

_PACKAGE = "analysis.readers"
_PROFILES = ("mpip", "tau", "caliper", "hpctoolkit")
_TOOLS = ("hpcg", "hpcc", "osu", "imb", "lsdyna", "openatom", "proxy", "published", "run", "sacct", "table")
ENGINES: dict[str, str] = {name: f"{_PACKAGE}.{name}" for name in (*_PROFILES, *_TOOLS)}
ENGINES |= {name: f"{_PACKAGE}.merits.formats.{name}" for name in merits.FORMATS}
ENGINES |= {name: f"{_PACKAGE}.power.formats.{name}" for name in FORMATS}
# After all formats: it takes any table with times and powers.
ENGINES["power_csv"] = f"{_PACKAGE}.power.power_csv"
# Last: an IPM banner stands in the standard output of any program.
ENGINES["ipm"] = f"{_PACKAGE}.ipm"

# With its first dataset xarray imports dask and pint: most of a second, which is no part of a read.
xr.Dataset(coords={"x": [0]})

# A banner or a result table may come after pages of the program's own output; in the output of a job after
# what its prologue, its modules and its environment print.
HEAD_BYTES = 65_536
LONG_HEAD_BYTES = 16 * HEAD_BYTES


@cache
def reader(engine: str) -> ModuleType:
    """Return the module that reads `engine`'s format."""
    return import_module(ENGINES[engine])


def is_power(engine: str) -> bool:
    """Tell whether an engine reads power logs; a name that is none does not."""
    return ENGINES.get(engine, "").startswith("analysis.readers.power.")


def engine_of(ds: xr.Dataset) -> str:
    """Name the engine that made a dataset; of readers that share a kind the dataset says which."""
    return str(ds.attrs.get("engine", ds.attrs["kind"]))


def engines_of(data: bytes, name: str = "") -> list[str]:
    """Name the engines that recognise the decompressed bytes of a file, most likely first.

    Its name is used only where content alone cannot tell. A text that none knows by its first 64 KiB is
    searched further.
    """
    bare = Path(name).name
    for size in (HEAD_BYTES, LONG_HEAD_BYTES):
        head = as_utf8(data[:size])
        found = [engine for engine in ENGINES if reader(engine).sniff(head, bare)]
        if found or len(data) <= size:
            break
    return found


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
            raise ReadError.at(source, 0, unknown.found(data), unknown.remedy(data[:HEAD_BYTES]))
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
    ``tz="Europe/Berlin"`` of a power log. ReadError if it cannot be read or is of no known format.
    """
    head = plain_head(path, HEAD_BYTES)
    engine = engine or _implied(options)
    if engine is None and head:
        found = engines_of(head, str(path))
        engine = found[0] if found else None
    if engine is not None and head and getattr(reader(engine).parse, "takes_file", False):
        # A day of a cluster is read while it streams from the disk, never held as a whole.
        ds: xr.Dataset = reader(engine).parse(Path(path), str(path), **options)
        return ds
    return parse(read_bytes(path), str(path), engine=engine, **options)


def _implied(options: dict[str, Any]) -> str | None:
    # Who maps the columns has a table; its headings may be in any language.
    return "power_csv" if options.get("columns") else None
