"""Where a CSV file keeps time, meter and power: declared by a format, by the user, or by its headings.

The user's column map is the option ``columns``, with the keys

``time``
    Heading or position of the time stamp, or a list of them (date and time of day).
``power``, ``energy``
    Heading or position, a list of them, or a mapping from heading to name of the meter; ``energy``
    is a counter.
``meter``
    Heading or position of what names the meter, or a list of them.
``unit``
    Unit of the values (``W kW mW``; ``J kJ Wh kWh uJ``), the heading of a column of units, or a
    number of W (J) per count, like 0.1 for an SNMP object in tenths.
``delimiter``, ``decimal``
    Needed only if they are not clear from the first lines of the file.
"""

import contextlib
import csv
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from analysis.base import units
from analysis.base.errors import ReadError
from analysis.readers.text import quantity

DELIMITERS = (",", ";", "\t", "|")
_HEAD_LINES = 60

# Other quantities that may stand in a column called power.
OTHER = {"va": "apparent power", "var": "reactive power", "kva": "apparent power"}
OTHER |= {"a": "current", "v": "voltage"}

# Units in a heading that say that the column is no power and no energy.
FOREIGN = frozenset(
    (*OTHER, "%", "percent", "pct", "kvar", "ma", "kv", "mv", "hz", "c", "°c", "f", "dbm", "rpm", "pf")
)


@dataclass(frozen=True, slots=True)
class Headings:
    """Patterns (searched in lower case) by which a format's columns are known.

    The first match of `time` wins; ``a+b`` joins two columns, date and time of day. `energy` (counters)
    is searched only if no column matches `power`. All matches of `meter` together name the meter. Rows whose
    `unit` column has another unit are other sensors; `unit_default` applies if neither cell nor heading has
    a unit. `metric` is a column of quantities, like ``node_power_watt``, next to a column ``value``; it is
    searched only without power and energy, and rows of other quantities are skipped.
    """

    time: tuple[str, ...] = (
        r"^date$+^time( of day)?\b",
        r"^(time|date)[ _-]?stamp|^date[ _/-]?time|^((unix|epoch|utc|t_unix|ts)|(start_)?time)(?![a-z])",
        r"^date\b",
        r"^elapsed[ _-]?(time|s\b|sec|ms)|^seconds\b|^t([ _]*[\[(]?(s|ms|sec|seconds)[)\]]?)?$",
    )
    power: str = (
        r"(?<!p)power(?!.*(factor|state|limit|cap|supply|status))"
        r"|watt(?!s? ?-?h(our|r)s?)|[/_ (\[]m?k?w[)\]]?$"
    )
    energy: str = r"energy|joule|[_ (\[](u|m|k)?j[)\]]?$|k?wh[)\]]?$"
    meter: str = (
        r"^(meter|node|host|outlet|pdu|sensor|name|device|bmc|server|rack|socket|domain|zone|chassis)"
        r"|^(gpu|card)([ _.-]?(index|idx|id|no|num|number|uuid|name|device))?$|^(index|uuid)$"
    )
    unit: str = r"^units?$"
    metric: str = r"^(metric|quantity|measurement|parameter|series)([ _]?(id|name))?$"
    unit_default: str = ""
    # Whether columns without such a heading are powers if the first row's cells are, as in Grafana's CSV.
    by_cells: bool = False


# A column of statistics is not used where the reading itself stands beside it.
_VALUE = r"^(value|reading)$"
_NO_ACTIVE = re.compile(r"apparent|reactive")
_STATISTIC = re.compile(r"min|max|avg|average|mean|peak|std|limit|average|instant", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Layout:
    """Columns of one CSV file, as positions."""

    header: int  # lines before the first row, the headings included
    names: tuple[str, ...]  # headings
    time: tuple[int, ...]
    meter: tuple[int, ...]
    # Position, name of the meter (or part of it), W or J per unit (NaN: the cell says).
    values: tuple[tuple[int, str, float], ...]
    counter: bool  # true if the values are energy counters
    unit: int  # column of units or quantities, -1 without one
    metric: bool  # true if `unit` is a column of quantities
    delimiter: str
    decimal_comma: bool


def of_heading(heading: str) -> str:
    """Return the unit in a column heading like ``power.draw [W]``, ``Power (kW)``, ``energy_uj``."""
    heading = heading.strip()
    match = re.search(r"[\[(]\s*([A-Za-zµμ°%]+)\s*[\])]\s*:?$", heading)
    if match:
        return match[1]
    last = re.split(r"[_\s.\-/]+", heading)[-1]
    known = last.lower() in FOREIGN or not (math.isnan(units.watts(last)) and math.isnan(units.joules(last)))
    return last if known else ""


def split(line: str, delimiter: str) -> list[str]:
    """Split a line into cells without their blanks and quotation marks."""
    cells = line.split(delimiter)
    if '"' in line:
        # A cell of more than 128 KiB is none: some other file has all of it in one line.
        with contextlib.suppress(csv.Error):
            cells = next(csv.reader([line], delimiter=delimiter, skipinitialspace=True))
    return [cell.strip() for cell in cells]


def find(lines: Sequence[str], headings: Headings, columns: Mapping[str, Any] | None, source: str) -> Layout:
    """Find the columns of a CSV file by its first lines; the user's column map goes before the patterns."""
    columns = columns or {}
    declared = str(columns.get("delimiter", ""))
    for number, line in enumerate(lines[:_HEAD_LINES]):
        text = line.lstrip("#").strip() if line.startswith("#") else line
        for delimiter in (declared,) if declared else DELIMITERS:
            cells = split(text, delimiter) if delimiter in text else []
            if len(cells) < 2:
                continue
            row = split(lines[number + 1], delimiter) if number + 1 < len(lines) else []
            layout = _match(cells, headings, columns)
            if layout is None and headings.by_cells and not columns and len(row) == len(cells):
                layout = _of_cells(cells, row, headings)
            if layout is not None:
                comma = str(columns.get("decimal", "," if delimiter in ";\t" else ".")) == ","
                positions = any(isinstance(c, int) for c in _listed(columns.get("time")))
                first = number if positions else number + 1
                return replace(layout, header=first, delimiter=delimiter, decimal_comma=comma)
    first_line = next((line.strip() for line in lines if line.strip()), "")
    raise ReadError.at(
        source,
        1,
        f"no columns of time and power in {first_line[:80]!r}",
        "pass columns={'time': …, 'power': …, 'meter': …}",
    )


@cache
def _any_value(headings: Headings) -> re.Pattern[str]:
    """Return a pattern of lower-case cells, one a line, of which one is a value."""
    patterns = (headings.power, headings.energy, headings.metric)
    return re.compile("|".join(f"(?:{one})" for one in patterns if one), re.MULTILINE)


def _match(cells: list[str], headings: Headings, columns: Mapping[str, Any]) -> Layout | None:
    lower = [cell.lower() for cell in cells]
    if not columns and not _any_value(headings).search("\n".join(lower)):
        return None  # as of most lines with a comma
    time = _declared(columns.get("time"), cells) if "time" in columns else _time(lower, headings.time)
    counter = "energy" in columns and "power" not in columns
    key = "energy" if counter else "power"
    if key in columns:
        values = _declared(columns[key], cells)
    else:
        values = _values(lower, headings.power, time)
        if not values:
            values, counter = _values(lower, headings.energy, time), True
    meter = _declared(columns["meter"], cells) if "meter" in columns else _all(lower, headings.meter)
    unit = (
        _declared(columns["unit"], cells)
        if isinstance(columns.get("unit"), str)
        else _all(lower, headings.unit)
    )
    metric = _all(lower, headings.metric) if headings.metric and not values else []
    if metric:
        values, counter, unit, meter = _all(lower, _VALUE)[:1], False, metric, [*meter, *metric]
    if not time or not values:
        return None
    meter = [m for m in meter if m not in values and m not in time]
    default = columns.get("unit", headings.unit_default)
    scale = default if isinstance(default, int | float) else math.nan
    factor = units.joules if counter else units.watts

    def one(position: int) -> tuple[int, str, float]:
        heading = cells[position]
        named = columns.get(key)
        label = named.get(heading, heading) if isinstance(named, Mapping) else heading
        own = factor(of_heading(heading))
        declared = scale if not math.isnan(scale) else factor(str(default))
        return position, str(label), declared if not math.isnan(declared) else own

    chosen = tuple(one(position) for position in values)
    place = (unit or [-1])[0]
    return Layout(
        0, tuple(cells), tuple(time), tuple(meter), chosen, counter, place, bool(metric), ",", False
    )


def _of_cells(cells: list[str], row: list[str], headings: Headings) -> Layout | None:
    """Take all columns but the time as those of meters if each cell below them says that it is a power."""
    time = _time([cell.lower() for cell in cells], headings.time)
    values = [at for at in range(len(cells)) if at not in time]
    found = [quantity(row[at]) for at in values]
    if not time or not all(unit and not math.isnan(value * units.watts(unit)) for value, unit in found):
        return None
    meters = tuple((at, cells[at], math.nan) for at in values)
    return Layout(0, tuple(cells), tuple(time), (), meters, False, -1, False, ",", False)


def _listed(wanted: Any) -> list[Any]:
    if wanted is None:
        return []
    return list(wanted) if isinstance(wanted, list | tuple | Mapping) else [wanted]


def _declared(wanted: Any, cells: list[str]) -> list[int]:
    """Return the positions of declared columns; none if one of them is missing here."""
    lower = [cell.lower() for cell in cells]
    found = []
    for one in _listed(wanted):
        if isinstance(one, int):
            found += [one] if one < len(cells) else []
        elif str(one).strip().lower() in lower:
            found.append(lower.index(str(one).strip().lower()))
    return found if len(found) == len(_listed(wanted)) else []


def _time(lower: list[str], patterns: Sequence[str]) -> list[int]:
    for pattern in patterns:
        parts = re.split(r"\+(?=\^)", pattern)
        found = [next((i for i, cell in enumerate(lower) if re.search(p, cell)), -1) for p in parts]
        if min(found) >= 0 and len(set(found)) == len(found):
            return found
    return []


def _all(lower: list[str], pattern: str) -> list[int]:
    return [i for i, cell in enumerate(lower) if pattern and re.search(pattern, cell)]


def _values(lower: list[str], pattern: str, time: list[int]) -> list[int]:
    named = [i for i in _all(lower, pattern) if i not in time]
    found = [i for i in named if of_heading(lower[i]) not in FOREIGN and not _NO_ACTIVE.search(lower[i])]
    plain = [i for i in found if not _STATISTIC.search(lower[i])]
    return plain or found[:1]
