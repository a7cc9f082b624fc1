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
from analysis.readers.power import csvrows, grid, units, zones
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
    readings = _assemble(log, layout, table, quoted=bool(quote)) if table is not None else None
    if readings is not None and not file and end < len(log.data):
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


def _assemble(log: PowerLog, layout: Layout, table: Any, *, quoted: bool) -> Readings | None:
    """Put typed columns together; None if a stamp or a name is not what its column holds elsewhere."""
    times = table.column(f"f{layout.time[0]}")
    if not table.num_rows or times.null_count:
        return None
    code, meters = _meters(log, layout, table)
    names = csvrows.names_of(log, meters, [v[1] for v in layout.values] if len(layout.values) > 1 else [""])
    if not quoted and any('"' in name for name in names):
        return None
    stamps = [block.view(np.int64) if block.dtype.kind == "M" else block for block in _blocks(times)]
    values = [_powers(_blocks(table.column(f"f{i}")), scale) for i, _, scale in layout.values]
    folded = grid.fold(stamps, code, values, len(meters))
    time = _utc(log, layout, times.type, folded[0] if folded else np.concatenate(stamps))
    if time is None:
        return None
    width = len(values)
    if folded:
        return csvrows.finish(log, layout, Readings(time, np.arange(len(names)), names), folded[1])
    value, place = [np.concatenate(blocks) for blocks in values], np.concatenate(code)
    if width == 1:
        return csvrows.finish(log, layout, Readings(time, place, names), value[0])
    # Row by row, a row's columns side by side.
    place = (place[:, None] * width + np.arange(width, dtype=place.dtype)).reshape(-1)
    readings = Readings(np.repeat(time, width), place, names)
    return csvrows.finish(log, layout, readings, np.column_stack(value).reshape(-1))


def _blocks(column: Any) -> list[np.ndarray]:
    """Return a column as it was parsed, block by block; blank cells are NaN."""
    return [block.to_numpy(zero_copy_only=False) for block in column.chunks]


def _powers(blocks: list[np.ndarray], scale: float) -> list[np.ndarray]:
    """Return cells in W or J."""
    if scale != 1.0 and not math.isnan(scale):
        blocks = [block * scale for block in blocks]
    return [b if np.isfinite(b).all() else np.where(np.isfinite(b), b, np.nan) for b in blocks]


def _utc(log: PowerLog, layout: Layout, kind: Any, stamps: np.ndarray) -> np.ndarray | None:
    """Return stamps as ns since 1970 UTC; None if one of them cannot be a time."""
    import pyarrow as pa

    if pa.types.is_integer(kind):
        return stamps * SECOND if stamps.min() > -_LAST and stamps.max() < _LAST else None
    if pa.types.is_floating(kind):  # seconds since 1970, good to a microsecond
        if not (np.abs(stamps) < _LAST).all():
            return None
        micro: np.ndarray = np.round(stamps * 1e6).astype(np.int64) * 1000
        return micro
    if kind.tz:
        return stamps
    zone = Clock(log, zone=csvrows.zone_of(layout)).zone
    try:
        return zones.localise(log, stamps, None, zone)
    except ReadError:
        return None  # row by row the line is known


def _meters(log: PowerLog, layout: Layout, table: Any) -> tuple[list[np.ndarray], list[str]]:
    """Return the meter of each row, block by block, as a position in the list of their names."""
    if not layout.meter:
        sizes = [len(block) for block in table.column(f"f{layout.time[0]}").chunks]
        return [np.zeros(size, dtype=np.int32) for size in sizes], [log.options.meter]
    codes, parts = [], []
    for position in layout.meter:
        coded = table.column(f"f{position}").unify_dictionaries()
        parts.append([str(name) for name in coded.chunk(0).dictionary.to_pylist()])
        codes.append([block.indices.to_numpy() for block in coded.chunks])
    if len(codes) == 1:
        return codes[0], parts[0]
    whole = [np.concatenate(blocks) for blocks in codes]
    code = whole[0]
    for more, names in zip(whole[1:], parts[1:], strict=True):
        code = code * len(names) + more
    _, first, code = np.unique(code, return_index=True, return_inverse=True)
    order = np.argsort(first)  # meters stand in the order of the file
    rank = np.empty(order.size, dtype=np.int32)
    rank[order] = np.arange(order.size, dtype=np.int32)
    rows = first[order]
    named = [
        "/".join(p for p in (names[c[i]] for c, names in zip(whole, parts, strict=True)) if p) for i in rows
    ]
    ends = np.cumsum([block.size for block in codes[0]])[:-1]
    return np.split(rank[code], ends), named
