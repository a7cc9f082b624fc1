"""Tables of runs: a CSV headed by variables of kind ``runs``, or of ``micro`` with a message size a line.

A script in the same folder makes such a table from data that others publish in bulk. Gaps are blank.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime

import pandas as pd
import xarray as xr

from analysis.base.errors import ReadError
from analysis.readers.base import Faults, csv_rows
from analysis.readers.text import decode
from analysis.schema import registry

_TIME = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d)?", re.ASCII)


def _is_time(cell: str) -> bool:
    """Tell whether a cell is a time that the calendar has: it has no 30 February."""
    try:
        return bool(_TIME.fullmatch(cell) and datetime.fromisoformat(cell))
    except ValueError:
        return False


# Type of a variable -> whether a cell fits it, and what it looks like; an empty one is blank.
_CELLS: Mapping[str, tuple[Callable[[str], object], str]] = {
    "f8": (re.compile(r"-?\d+(\.\d*)?(e[+-]?\d+)?", re.ASCII).fullmatch, "number"),
    "i4": (re.compile(r"\d{1,9}", re.ASCII).fullmatch, "count"),
    "i8": (re.compile(r"\d{1,18}", re.ASCII).fullmatch, "count"),
    "datetime64[ns]": (_is_time, "date like 2009-11-01, or time like 2019-07-03T15:10:24 in UTC"),
}


def sniff(head: bytes, name: str = "") -> bool:
    """Tell whether some bytes begin with the heading of a table of runs."""
    return head[:3] == b"run" and bool(_kind(_header(head)))


def parse(data: bytes, source: str = "<memory>") -> xr.Dataset:
    """Read a table of runs: kind ``runs`` or ``micro``, one entry a line, in the file's order.

    A line that cannot be used is left out and named.
    """
    header = _header(data)
    kind = _kind(header)
    if not kind:
        raise ReadError.at(
            source, 1, "is no heading of a table of runs", "name variables of kind runs, run first"
        )
    faults = Faults(source)
    dtypes = [registry.declared(kind)[name].dtype for name in header]
    frame = pd.DataFrame(_rows(decode(data), kind, header, dtypes, faults), columns=header, dtype=object)
    for name, dtype in zip(header, dtypes, strict=True):
        frame[name] = _typed(frame[name], dtype)
    about = {"engine": "table", "tool": "table", "tool_version": ""}
    return registry.to_dataset([frame], kind).assign_attrs(**about, **faults.attrs())


def _typed(cells: pd.Series, dtype: str) -> pd.Series:
    if dtype in ("i4", "i8"):
        return cells.replace("", "-1").astype(int)
    if dtype == "datetime64[ns]":
        return pd.to_datetime(cells.replace("", None), format="ISO8601").astype("datetime64[ns]")
    return cells.replace("", "nan").astype(float) if dtype == "f8" else cells


def _header(data: bytes) -> list[str]:
    return decode(data.partition(b"\n")[0]).strip().split(",")


def _kind(header: list[str]) -> str:
    """Name the kind whose variables a heading names, each once; empty if there is none."""
    if header[0] != "run" or len(header) < 3 or len(set(header)) < len(header):
        return ""
    return next((kind for kind in ("runs", "micro") if set(header) <= set(registry.declared(kind))), "")


def _rows(text: str, kind: str, header: list[str], dtypes: list[str], faults: Faults) -> Iterator[list[str]]:
    checks = [(at, header[at], *_CELLS[dtype]) for at, dtype in enumerate(dtypes) if dtype in _CELLS]
    keys = [at for at, name in enumerate(header) if name in (("run",) if kind == "runs" else ("run", "size"))]
    whole, _, rest = text.rpartition("\n")

    def read(cells: list[str]) -> tuple[list[str], str, str]:
        wrong = _wrong(cells, header, checks)
        return cells, "" if wrong else repr(" ".join(cells[at] for at in keys)), wrong

    yield from csv_rows(whole, read, faults)
    if rest:  # its last number may have lost digits
        faults.damage(text.count("\n") + 1, "the last line has no end", "left out; copy the file again")


def _wrong(
    cells: list[str], header: list[str], checks: list[tuple[int, str, Callable[[str], object], str]]
) -> str:
    if len(cells) != len(header):
        return f"{len(cells)} cells, the table has {len(header)} columns"
    if not cells[0]:
        return "names no run"
    for at, name, fits, meaning in checks:
        if cells[at] and not fits(cells[at]):
            return f"{name} {cells[at][:40]!r} is no {meaning}"
    return ""
