"""The CSV family: one reader for all files with a line of headings and a row per reading.

A clean file goes through pyarrow with typed columns, which is what makes a day of a whole cluster
a matter of a third of a second. Whatever that refuses (units in cells, decimal commas, repeated
headings, odd dates, damage) is read row by row, with the line of every fault.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np

from analysis.errors import ReadError
from analysis.readers.power import csvrows, units, zones
from analysis.readers.power.base import SECOND, PowerLog, Readings
from analysis.readers.power.clock import Clock
from analysis.readers.power.layout import Headings, Layout, find, split

_HEAD = 65_536
_BLOCK = 4 << 20  # larger blocks are no faster and take memory
_LAST = 9e9  # s since 1970; what is beyond does not fit 64 bits of ns
_NULLS = sorted({form for b in units.BLANK for form in (b, b.upper(), b.title())})


def read(
    log: PowerLog, headings: Headings, *, order: str | None = None, mean: bool = False, short: bool = True
) -> Readings:
    """Read a CSV file of powers or energy counters.

    Parameters
    ----------
    log : PowerLog
    headings : Headings
    order : str, optional
        Order of numeric dates that the format fixes.
    mean : bool, optional
        Whether the powers are means since the reading before.
    short : bool, optional
        Whether the way through pyarrow may be tried.

    Returns
    -------
    Readings

    Raises
    ------
    ReadError
        If there are no columns of time and power, or no row with a time stamp.
    """
    head = log.head(_HEAD).decode("utf-8-sig", errors="replace").splitlines()
    layout = csvrows.telling(log, find(head, headings, log.options.columns, log.source), head)
    readings = _typed(log, layout, head) if short else None
    if readings is None:
        readings = csvrows.read(log, layout, order)
    readings.mean = mean
    return readings


def _typed(log: PowerLog, layout: Layout, head: list[str]) -> Readings | None:
    """Read a clean file through pyarrow; None if it is not clean."""
    if len(layout.time) != 1 or len(head) <= layout.header or layout.unit >= 0:
        return None
    cells = split(head[layout.header], layout.delimiter)
    kinds = _time_types(cells[layout.time[0]] if layout.time[0] < len(cells) else "")
    file = log.file()
    end = 0 if file else log.data.rfind(b"\n") + 1
    given = file or memoryview(log.data)[:end]
    # Looking for quotation marks takes time; where the head has none, a name with one is looked at again.
    quote: Any = '"' if any('"' in line for line in head) else False
    tables = (_table(layout, kind, given, quote) for kind in kinds if file or end)
    table = next((table for table in tables if table is not None), None)
    if table is None:
        return None
    times = table.column(f"f{layout.time[0]}")
    time = _stamps(log, layout, times) if table.num_rows and not times.null_count else None
    if time is None:
        return None
    readings = _assemble(log, layout, table, time)
    if not quote and any('"' in name for name in readings.names):
        return None
    if not file and end < len(log.data):
        log.cut(log.data.count(b"\n") + 1)
    return readings


def _table(layout: Layout, kind: Any, given: Path | memoryview, quote: Any) -> Any:
    """Read the columns that matter, named f0, f1, …; None if a cell is not of its column's type."""
    import pyarrow as pa
    import pyarrow.csv as pc

    names = [f"f{i}" for i in range(len(layout.names))]
    types: dict[str, Any] = {names[i]: pa.float64() for i, _, _ in layout.values}
    types |= {names[i]: pa.dictionary(pa.int32(), pa.string()) for i in layout.meter}
    types[names[layout.time[0]]] = kind
    stream = pa.OSFile(str(given)) if isinstance(given, Path) else pa.BufferReader(pa.py_buffer(given))
    try:
        return pc.read_csv(
            stream,
            read_options=pc.ReadOptions(column_names=names, skip_rows=layout.header, block_size=_BLOCK),
            parse_options=pc.ParseOptions(delimiter=layout.delimiter, quote_char=quote),
            convert_options=pc.ConvertOptions(
                include_columns=list(types),
                column_types=types,
                null_values=_NULLS,
                decimal_point="," if layout.decimal_comma and layout.delimiter != "," else ".",
            ),
        )
    except pa.ArrowInvalid:
        return None


def _time_types(cell: str) -> list[Any]:
    """Return the pyarrow types that a time column may have by its first cell; none if it has none."""
    import pyarrow as pa

    if re.fullmatch(r"\d{10}(\.\d{1,6})?", cell):
        return [pa.float64()] if "." in cell else [pa.int64(), pa.float64()]
    if re.fullmatch(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:?\d\d)?", cell):
        aware = cell[-1] == "Z" or cell[-6] in "+-" or cell[-5] in "+-"
        return [pa.timestamp("ns", "UTC" if aware else None)]
    return []


def _stamps(log: PowerLog, layout: Layout, column: Any) -> np.ndarray | None:
    """Return a time column as ns since 1970 UTC; None if it holds what cannot be a time."""
    import pyarrow as pa

    if pa.types.is_integer(column.type):
        whole: np.ndarray = column.to_numpy()
        return whole * SECOND if whole.min() > -_LAST and whole.max() < _LAST else None
    if pa.types.is_floating(column.type):  # seconds since 1970, good to a microsecond
        seconds = column.to_numpy()
        if not (np.abs(seconds) < _LAST).all():
            return None
        micro: np.ndarray = np.round(seconds * 1e6).astype(np.int64) * 1000
        return micro
    values: np.ndarray = column.cast(pa.int64()).to_numpy()
    if column.type.tz:
        return values
    zone = Clock(log, zone=csvrows.zone_of(layout)).zone
    try:
        return zones.localise(log, values, None, zone)
    except ReadError:
        return None  # row by row the line is known


def _assemble(log: PowerLog, layout: Layout, table: Any, time: np.ndarray) -> Readings:
    """Put typed columns into long form: column after column, or row by row where rows have meters."""
    width = len(layout.values)
    columns = []
    for position, _, scale in layout.values:
        column = table.column(f"f{position}").to_numpy()
        columns.append(column if scale == 1.0 or math.isnan(scale) else column * scale)
    by_row = width > 1 and bool(layout.meter)
    value = np.column_stack(columns).reshape(-1) if by_row else np.concatenate(columns)
    if not np.isfinite(value).all():
        value = np.where(np.isfinite(value), value, np.nan)
    labels = [label for _, label, _ in layout.values] if width > 1 else [""]
    code, meters = _meters(log, layout, table)
    if width > 1 and not by_row:
        code = np.repeat(np.arange(width, dtype=np.int32), time.size)
        time = np.tile(time, width)
    elif by_row:
        code = (code[:, None] * width + np.arange(width, dtype=code.dtype)).reshape(-1)
        time = np.repeat(time, width)
    return csvrows.finish(log, layout, Readings(time, code, csvrows.names_of(log, meters, labels)), value)


def _meters(log: PowerLog, layout: Layout, table: Any) -> tuple[np.ndarray, list[str]]:
    """Return the meter of each row as a position in the list of their names."""
    if not layout.meter:
        return np.zeros(table.num_rows, dtype=np.int32), [log.options.meter]
    codes, parts = [], []
    for position in layout.meter:
        coded = table.column(f"f{position}").unify_dictionaries()
        parts.append([str(name) for name in coded.chunk(0).dictionary.to_pylist()])
        codes.append(np.concatenate([chunk.indices.to_numpy() for chunk in coded.chunks]))
    code = codes[0]
    if len(codes) == 1:
        return code, parts[0]
    for more, names in zip(codes[1:], parts[1:], strict=True):
        code = code * len(names) + more
    _, first, code = np.unique(code, return_index=True, return_inverse=True)
    order = np.argsort(first)  # meters stand in the order of the file
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    rows = first[order]
    named = [
        "/".join(p for p in (names[c[i]] for c, names in zip(codes, parts, strict=True)) if p) for i in rows
    ]
    return rank[code].astype(np.int32), named
