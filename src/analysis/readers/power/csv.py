"""The CSV family row by row: units in cells, odd dates, elapsed seconds, damage with its line."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from analysis.base import units
from analysis.base.errors import ReadError
from analysis.base.units import SECOND
from analysis.readers.power import clock
from analysis.readers.power import table as grid
from analysis.readers.power.clock import Stamps
from analysis.readers.power.headings import OTHER, Headings, Layout, find, of_heading, split
from analysis.readers.power.log import NAT, MeterLog, MeterReadings, readings_of
from analysis.readers.text import BLANK, quantity

_ELAPSED = re.compile(r"\d{1,8}(?:[.,]\d+)?")
_SAMPLE = 1000  # rows


def read_rows(log: MeterLog, layout: Layout, order: str | None) -> MeterReadings:
    """Read row by row."""
    stamps: list[str] = []
    at: list[int] = []
    meters: list[str] = []
    values: list[float] = []
    several = len(layout.values) > 1
    number_of = lru_cache(maxsize=65_536)(lambda cell: quantity(cell, decimal_comma=layout.decimal_comma))
    for number, cells in _rows(log, layout):
        printed = cells[layout.unit] if layout.unit >= 0 else ""
        stamp = _stamp([cells[i] for i in layout.time])
        name = "/".join(cells[i] for i in layout.meter if cells[i]) or log.options.meter
        for position, label, scale in layout.values:
            watts = _value(log, layout, number_of(cells[position]), printed, scale, number)
            if watts is None:
                continue
            stamps.append(stamp)
            at.append(number)
            meters.append("/".join(p for p in (name, label if several else "") if p) or "meter")
            values.append(watts)
    if not stamps:
        raise log.empty("row with a time stamp and a power")
    readings = readings_of(_times(log, layout, order, stamps, at), meters, values)
    return finish(log, layout, readings, np.asarray(values, dtype=float))


def _rows(log: MeterLog, layout: Layout) -> Iterator[tuple[int, list[str]]]:
    """Give the cells of the whole rows with their lines; the headings may come again."""
    need = max((*layout.time, *layout.meter, layout.unit, *(v[0] for v in layout.values)))
    heading = layout.names[layout.time[0]].lower()
    for number, line in enumerate(log.lines()[layout.header :], layout.header + 1):
        if not line.strip() or line[0] == "#":
            continue
        cells = split(line, layout.delimiter)
        if len(cells) <= need:
            found = f"{len(cells)} of {len(layout.names)} columns"
            log.faults.damage(number, found, "the row is not used")
        elif any(cells[len(layout.names) :]):
            found = f"{len(cells)} cells under {len(layout.names)} headings (a decimal comma?)"
            log.faults.damage(number, found, "the row is not used; quote such cells")
        elif cells[layout.time[0]].lower() != heading:
            yield number, cells


def _times(
    log: MeterLog, layout: Layout, order: str | None, stamps: Sequence[str], at: Sequence[int]
) -> np.ndarray:
    clock = Stamps(log, order=order, zone=zone_of(layout))
    seconds = elapsed(layout, stamps)
    if seconds is not None:
        return clock.start() + np.round(seconds * SECOND).astype(np.int64)
    time = clock.utc(stamps, at)
    if (time == NAT).all():
        raise log.empty("time stamp that can be read")
    return time


def elapsed(layout: Layout, stamps: Sequence[str]) -> np.ndarray | None:
    """Return stamps that are plain small numbers as seconds since the start; None if they are not."""
    if len(layout.time) > 1 or not all(_ELAPSED.fullmatch(stamp) for stamp in stamps):
        return None
    unit = re.split(r"[^a-zµ]+", layout.names[layout.time[0]].lower().rstrip(")] "))[-1]
    scale = units.seconds(unit)
    return np.array([float(stamp.replace(",", ".")) for stamp in stamps]) * (
        1.0 if math.isnan(scale) else scale
    )


def telling(log: MeterLog, layout: Layout, head: Sequence[str]) -> Layout:
    """Add a column to the meter's name if it separates the rows of one meter and stamp.

    The rows of one stamp can be from several sources (CPU and memory, say); their mean would be meaningless.
    """
    if "meter" in (log.options.columns or {}):
        return layout
    rows = [line.split(layout.delimiter) for line in head[layout.header : -1][:_SAMPLE] if '"' not in line]
    rows = [row for row in rows if len(row) == len(layout.names)]
    used = {*layout.time, *layout.meter, layout.unit, *(v[0] for v in layout.values)}
    for column in (i for i in range(len(layout.names)) if i not in used):
        groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for row in rows:
            groups[tuple(row[i] for i in (*layout.time, *layout.meter))].append(row[column])
        doubled = [cells for cells in groups.values() if len(cells) > 1]
        if len(doubled) < 2:
            break
        # A label has the same values at every stamp, a measurement has not.
        values, times = Counter(frozenset(cells) for cells in doubled).most_common(1)[0]
        if len(values) > 1 and 3 * times >= 2 * len(doubled):
            found = f"column {layout.names[column]!r} separates rows of one time stamp"
            log.faults.note(layout.header, found, "it becomes part of the meter's name")
            layout = replace(layout, meter=(*layout.meter, column))
    return layout


def _stamp(parts: list[str]) -> str:
    # Date, time of day and milliseconds may have a column each.
    return " ".join(parts[:2]) + (f".{parts[2].zfill(3)}" if len(parts) > 2 and parts[2] else "")


def _value(
    log: MeterLog, layout: Layout, cell: tuple[float, str], printed: str, scale: float, line: int
) -> float | None:
    """Return a cell in W or J; None for a row of another quantity, NaN for a blank or bad cell."""
    value, unit = cell
    factor = units.joules if layout.counter else units.watts
    printed = of_heading(printed.partition("{")[0]) if layout.metric else printed  # before labels
    unit = unit or printed
    if unit == "?":
        log.faults.note(line, "a cell that is no number", "the reading is left blank")
        return math.nan
    if layout.unit >= 0 and math.isnan(factor(printed)) and (printed or layout.metric):
        return None
    if unit and not math.isnan(factor(unit)):
        return value * factor(unit)
    if unit and not math.isnan(value):
        what = OTHER.get(unit.lower(), "another quantity")
        log.faults.note(line, f"{value:g} {unit} is {what}, not power", "the reading is left blank")
        return math.nan
    return value * (1.0 if math.isnan(scale) else scale)


def zone_of(layout: Layout) -> str | None:
    """Return the zone that a heading names: Time (UTC), timestamp_utc."""
    headings = (layout.names[i].lower() for i in layout.time)
    return (
        "UTC" if any(re.search(r"(?<![a-z])(utc|gmt)(?![a-z+-])", heading) for heading in headings) else None
    )


def finish(log: MeterLog, layout: Layout, readings: MeterReadings, value: np.ndarray) -> MeterReadings:
    """Put the values in as powers or as counters."""
    if layout.counter:
        if any(math.isnan(scale) for _, _, scale in layout.values):
            log.faults.note(0, "a counter without a unit", "taken as J where its cells say nothing")
        readings.counter = value
        if log.options.counter_range > 0:
            readings.wrap = dict.fromkeys(readings.names, log.options.counter_range)
    else:
        readings.power = value
    return readings


_HEAD = 65_536
_BLOCK = 4 << 20  # larger blocks are no faster and take memory
_LAST = 9e9  # s since 1970; what is beyond does not fit 64 bits of ns
_NULLS = sorted({form for b in BLANK for form in (b, b.upper(), b.title())})


def read(
    log: MeterLog, headings: Headings, *, order: str | None = None, mean: bool = False, short: bool = True
) -> MeterReadings:
    """Read a CSV file of powers or energy counters.

    `order` is that of numeric dates which the format fixes, `mean` says that powers are means since the
    reading before, `short` allows the way through pyarrow. ReadError without columns of time and power, or
    without a row with a time stamp.
    """
    head = log.head(_HEAD).decode("utf-8-sig", errors="replace").splitlines()
    layout = telling(log, find(head, headings, log.options.columns, log.source), head)
    readings = _typed(log, layout, head) if short else None
    if readings is None:
        readings = read_rows(log, layout, order)
    readings.mean = mean
    return readings


def _typed(log: MeterLog, layout: Layout, head: list[str]) -> MeterReadings | None:
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
            read_options=pc.ReadOptions(
                # A thread of Arrow's that still lets go of Python's bytes as the process ends aborts it.
                use_threads=isinstance(given, Path),
                column_names=names,
                skip_rows=layout.header,
                block_size=_BLOCK,
            ),
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


def _assemble(log: MeterLog, layout: Layout, table: Any, *, quoted: bool) -> MeterReadings | None:
    """Put typed columns together; None if a stamp or a name is not what its column contains elsewhere."""
    times = table.column(f"f{layout.time[0]}")
    if not table.num_rows or times.null_count:
        return None
    code, meters = _meters(log, layout, table)
    labels = [value[1] for value in layout.values] if len(layout.values) > 1 else [""]
    names = ["/".join(filter(None, (meter, label))) or "meter" for meter in meters for label in labels]
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
        return finish(log, layout, MeterReadings(time, np.arange(len(names)), names), folded[1])
    value, place = [np.concatenate(blocks) for blocks in values], np.concatenate(code)
    if width == 1:
        return finish(log, layout, MeterReadings(time, place, names), value[0])
    # Row by row, a row's columns side by side.
    place = (place[:, None] * width + np.arange(width, dtype=place.dtype)).reshape(-1)
    readings = MeterReadings(np.repeat(time, width), place, names)
    return finish(log, layout, readings, np.column_stack(value).reshape(-1))


def _blocks(column: Any) -> list[np.ndarray]:
    """Return a column as it was parsed, block by block; blank cells are NaN."""
    return [block.to_numpy(zero_copy_only=False) for block in column.chunks]


def _powers(blocks: list[np.ndarray], scale: float) -> list[np.ndarray]:
    """Return cells in W or J."""
    if scale != 1.0 and not math.isnan(scale):
        blocks = [block * scale for block in blocks]
    return [b if np.isfinite(b).all() else np.where(np.isfinite(b), b, np.nan) for b in blocks]


def _utc(log: MeterLog, layout: Layout, kind: Any, stamps: np.ndarray) -> np.ndarray | None:
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
    zone = Stamps(log, zone=zone_of(layout)).zone
    try:
        return clock.localise(log, stamps, None, zone)
    except ReadError:
        return None  # row by row the line is known


def _meters(log: MeterLog, layout: Layout, table: Any) -> tuple[list[np.ndarray], list[str]]:
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
