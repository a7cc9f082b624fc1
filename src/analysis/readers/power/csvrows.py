"""The CSV family row by row: units in cells, odd dates, elapsed seconds, damage with its line."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from analysis.readers.power import units
from analysis.readers.power.base import NAT, SECOND, PowerLog, Readings, readings_of
from analysis.readers.power.clock import Clock
from analysis.readers.power.layout import Layout, split

_ELAPSED = re.compile(r"\d{1,8}(?:[.,]\d+)?")
_SECONDS = {"us": 1e-6, "µs": 1e-6, "microseconds": 1e-6, "ms": 1e-3, "milliseconds": 1e-3, "min": 60.0}
_SECONDS |= {"ns": 1e-9, "nanoseconds": 1e-9, "minutes": 60.0, "h": 3600.0, "hours": 3600.0}

_SAMPLE = 1000  # rows


def read(log: PowerLog, layout: Layout, order: str | None) -> Readings:
    """Read row by row.

    Raises
    ------
    ReadError
        If no row has a time stamp that can be read.
    """
    stamps: list[str] = []
    at: list[int] = []
    meters: list[str] = []
    values: list[float] = []
    several = len(layout.values) > 1
    number_of = lru_cache(maxsize=65_536)(
        lambda cell: units.quantity(cell, decimal_comma=layout.decimal_comma)
    )
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


def _rows(log: PowerLog, layout: Layout) -> Iterator[tuple[int, list[str]]]:
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
    log: PowerLog, layout: Layout, order: str | None, stamps: Sequence[str], at: Sequence[int]
) -> np.ndarray:
    clock = Clock(log, order=order, zone=zone_of(layout))
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
    return np.array([float(stamp.replace(",", ".")) for stamp in stamps]) * _SECONDS.get(unit, 1.0)


def telling(log: PowerLog, layout: Layout, head: Sequence[str]) -> Layout:
    """Take a column into the meter's name that tells rows of one meter and stamp apart.

    Where rows of one stamp are of several sources (cpu and memory, say), their mean would be a
    number of nothing.
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
            found = f"column {layout.names[column]!r} tells rows of one time stamp apart"
            log.faults.note(layout.header, found, "it becomes part of the meter's name")
            layout = replace(layout, meter=(*layout.meter, column))
    return layout


def _stamp(parts: list[str]) -> str:
    # Date, time of day and milliseconds may have a column each.
    return " ".join(parts[:2]) + (f".{parts[2].zfill(3)}" if len(parts) > 2 and parts[2] else "")


def _value(
    log: PowerLog, layout: Layout, cell: tuple[float, str], printed: str, scale: float, line: int
) -> float | None:
    """Return a cell in W or J; None for a row of another quantity, NaN for a blank or bad cell."""
    value, unit = cell
    factor = units.joules if layout.counter else units.watts
    printed = units.of_heading(printed) if layout.metric else printed
    unit = unit or printed
    if unit == "?":
        log.faults.note(line, "a cell that is no number", "the reading is left blank")
        return math.nan
    if layout.unit >= 0 and math.isnan(factor(printed)) and (printed or layout.metric):
        return None
    if unit and not math.isnan(factor(unit)):
        return value * factor(unit)
    if unit and not math.isnan(value):
        what = units.OTHER.get(unit.lower(), "another quantity")
        log.faults.note(line, f"{value:g} {unit} is {what}, not power", "the reading is left blank")
        return math.nan
    return value * (1.0 if math.isnan(scale) else scale)


def zone_of(layout: Layout) -> str | None:
    """Return the zone that a heading names: Time (UTC), timestamp_utc."""
    headings = (layout.names[i].lower() for i in layout.time)
    return (
        "UTC" if any(re.search(r"(?<![a-z])(utc|gmt)(?![a-z+-])", heading) for heading in headings) else None
    )


def finish(log: PowerLog, layout: Layout, readings: Readings, value: np.ndarray) -> Readings:
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


def names_of(log: PowerLog, meters: list[str], labels: list[str]) -> list[str]:
    """Name the meters of all columns of all rows' meters."""
    return ["/".join(part for part in (m, label) if part) or "meter" for m in meters for label in labels]
