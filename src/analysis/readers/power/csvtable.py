"""The CSV family: one reader for all files with a line of headings and a row per reading.

A clean file goes through pyarrow with typed columns, which is what makes a day of a whole cluster
a matter of a third of a second. Whatever that refuses (units in cells, decimal commas, repeated
headings, odd dates, damage) is read row by row, with the line of every fault.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Any

import numpy as np

from analysis.readers.power import units, zones
from analysis.readers.power.base import NAT, SECOND, PowerLog, Readings, readings_of
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
    head = log.data[:_HEAD].decode("utf-8-sig", errors="replace").splitlines()
    layout = find(head, headings, log.options.columns, log.source)
    readings = _typed(log, layout, head) if short else None
    if readings is None:
        readings = _rows(log, layout, order)
    readings.mean = mean
    return readings


def _typed(log: PowerLog, layout: Layout, head: list[str]) -> Readings | None:
    """Read a clean file through pyarrow; None if it is not clean."""
    if len(layout.time) != 1 or len(layout.meter) > 1 or len(head) <= layout.header or layout.unit >= 0:
        return None
    cells = split(head[layout.header], layout.delimiter)
    kinds = _time_types(cells[layout.time[0]] if layout.time[0] < len(cells) else "")
    end = log.data.rfind(b"\n") + 1
    tables = (_table(log, layout, kind, end) for kind in kinds if end)
    table = next((table for table in tables if table is not None), None)
    if table is None:
        return None
    times = table.column(f"f{layout.time[0]}")
    time = _stamps(log, layout, times) if table.num_rows and not times.null_count else None
    if time is None:
        return None
    readings = _assemble(log, layout, table, time)
    if end < len(log.data):
        log.cut(log.data.count(b"\n") + 1)
    return readings


def _table(log: PowerLog, layout: Layout, kind: Any, end: int) -> Any:
    """Read the columns that matter, named f0, f1, …; None if a cell is not of its column's type."""
    import pyarrow as pa
    import pyarrow.csv as pc

    names = [f"f{i}" for i in range(len(layout.names))]
    types: dict[str, Any] = {names[i]: pa.float64() for i, _, _ in layout.values}
    types |= {names[i]: pa.dictionary(pa.int32(), pa.string()) for i in layout.meter}
    types[names[layout.time[0]]] = kind
    try:
        return pc.read_csv(
            pa.BufferReader(pa.py_buffer(memoryview(log.data)[:end])),
            read_options=pc.ReadOptions(column_names=names, skip_rows=layout.header, block_size=_BLOCK),
            parse_options=pc.ParseOptions(delimiter=layout.delimiter),
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
        whole = column.to_numpy()
        return whole * SECOND if (np.abs(whole) < _LAST).all() else None
    if pa.types.is_floating(column.type):  # seconds since 1970, good to a microsecond
        seconds = column.to_numpy()
        if not (np.abs(seconds) < _LAST).all():
            return None
        micro: np.ndarray = np.round(seconds * 1e6).astype(np.int64) * 1000
        return micro
    values: np.ndarray = column.cast(pa.int64()).to_numpy()
    return (
        values if column.type.tz else zones.localise(log, values, None, Clock(log, zone=_zone(layout)).zone)
    )


def _assemble(log: PowerLog, layout: Layout, table: Any, time: np.ndarray) -> Readings:
    """Put typed columns into long form; several columns of power follow each other row by row."""
    rows, width = table.num_rows, len(layout.values)
    columns = []
    for position, _, scale in layout.values:
        column = table.column(f"f{position}").to_numpy()
        columns.append(column if scale == 1.0 or math.isnan(scale) else column * scale)
    value = columns[0] if width == 1 else np.column_stack(columns).reshape(-1)
    if not np.isfinite(value).all():
        value = np.where(np.isfinite(value), value, np.nan)
    labels = [label for _, label, _ in layout.values] if width > 1 else [""]
    if layout.meter:
        coded = table.column(f"f{layout.meter[0]}").unify_dictionaries()
        meters = [str(m) for m in coded.chunk(0).dictionary.to_pylist()]
        code = np.concatenate([chunk.indices.to_numpy() for chunk in coded.chunks])
    else:
        meters, code = [log.options.meter], np.zeros(rows, dtype=np.int32)
    if width > 1:
        code = (code[:, None] * width + np.arange(width, dtype=code.dtype)).reshape(-1)
        time = np.repeat(time, width)
    return _finish(log, layout, Readings(time, code, _names(log, meters, labels)), value)


def _finish(log: PowerLog, layout: Layout, readings: Readings, value: np.ndarray) -> Readings:
    if layout.counter:
        if any(math.isnan(scale) for _, _, scale in layout.values):
            log.faults.note(0, "a counter without a unit", "taken as J where its cells say nothing")
        readings.counter = value
        if log.options.counter_range > 0:
            readings.wrap = dict.fromkeys(readings.names, log.options.counter_range)
    else:
        readings.power = value
    return readings


def _names(log: PowerLog, meters: list[str], labels: list[str]) -> list[str]:
    return ["/".join(part for part in (m, label) if part) or "meter" for m in meters for label in labels]


def _rows(log: PowerLog, layout: Layout, order: str | None) -> Readings:
    """Read row by row."""
    lines = log.lines()
    need = max((*layout.time, *layout.meter, layout.unit, *(v[0] for v in layout.values)))
    headings = [name.lower() for name in layout.names]
    stamps: list[str] = []
    at: list[int] = []
    meter: list[str] = []
    value: list[float] = []
    several = len(layout.values) > 1
    number_of = lru_cache(maxsize=65_536)(
        lambda cell: units.quantity(cell, decimal_comma=layout.decimal_comma)
    )
    for line_number, line in enumerate(lines[layout.header :], layout.header + 1):
        if not line.strip() or line[0] == "#":
            continue
        cells = split(line, layout.delimiter)
        if len(cells) <= need:
            found = f"{len(cells)} of {len(layout.names)} columns"
            log.faults.damage(line_number, found, "the row is not used")
            continue
        if cells[layout.time[0]].lower() == headings[layout.time[0]]:
            continue  # the headings again
        printed = cells[layout.unit] if layout.unit >= 0 else ""
        for position, label, scale in layout.values:
            watts = _value(log, layout, number_of(cells[position]), printed, scale, line_number)
            if watts is None:
                continue
            stamps.append(_stamp([cells[i] for i in layout.time]))
            at.append(line_number)
            name = "/".join(cells[i] for i in layout.meter if cells[i]) or log.options.meter
            meter.append("/".join(p for p in (name, label if several else "") if p) or "meter")
            value.append(watts)
    if not stamps:
        raise log.empty("row with a time stamp and a power")
    time = Clock(log, order=order, zone=_zone(layout)).utc(stamps, at)
    if (time == NAT).all():
        raise log.empty("time stamp that can be read")
    readings = readings_of(time, meter, value)
    return _finish(log, layout, readings, np.asarray(value, dtype=float))


def _zone(layout: Layout) -> str | None:
    # Time (UTC), timestamp_utc: the heading says what the stamps do not.
    headings = (layout.names[i].lower() for i in layout.time)
    return (
        "UTC" if any(re.search(r"(?<![a-z])(utc|gmt)(?![a-z+-])", heading) for heading in headings) else None
    )


def _stamp(parts: list[str]) -> str:
    # Date, time of day and milliseconds may have a column each.
    return " ".join(parts[:2]) + (f".{parts[2].zfill(3)}" if len(parts) > 2 and parts[2] else "")


def _value(
    log: PowerLog, layout: Layout, cell: tuple[float, str], printed: str, scale: float, line: int
) -> float | None:
    """Return a cell in W or J; None for a row of another quantity, NaN for a blank or bad cell."""
    value, unit = cell
    factor = units.joules if layout.counter else units.watts
    unit = unit or printed
    if unit == "?":
        log.faults.note(line, "a cell that is no number", "the reading is left blank")
        return math.nan
    if layout.unit >= 0 and math.isnan(factor(printed)) and printed:
        return None
    if unit and not math.isnan(factor(unit)):
        return value * factor(unit)
    if unit and not math.isnan(value):
        what = units.OTHER.get(unit.lower(), "another quantity")
        log.faults.note(line, f"{value:g} {unit} is {what}, not power", "the reading is left blank")
        return math.nan
    return value * (1.0 if math.isnan(scale) else scale)
