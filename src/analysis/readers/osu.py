"""Output of the OSU micro-benchmarks: the tables of all versions, by their titles and column headings."""

import itertools
import math
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr

from analysis.base.errors import ReadError
from analysis.readers.base import Faults, labelled, typed
from analysis.readers.format import Format
from analysis.readers.text import contains, integer, is_number, number, untagged, whole_lines
from analysis.schema import registry

# Variable -> its headings, without blanks, capitals and unit.
_HEADINGS = {
    "size": "size",
    "latency": "latency avglatency comm.latency avgcomm.latency overall",
    "latency_min": "minlatency mincomm.latency",
    "latency_max": "maxlatency maxcomm.latency",
    "latency_p50": "p50taillat",
    "latency_p90": "p90taillat",
    "latency_p99": "p99taillat",
    "compute_time": "compute",
    "communication_time": "purecomm.",
    "init_time": "coll.init init",
    "test_time": "mpi_test",
    "wait_time": "mpi_wait",
    "overlap": "overlap",
    "bandwidth": "bandwidth mb/s",
    "bandwidth_p50": "p50tailbw",
    "bandwidth_p90": "p90tailbw",
    "bandwidth_p99": "p99tailbw",
    "message_rate": "messages/s",
    "iterations": "iterations",
    "validation": "validation",
}
_COLUMNS = {heading: name for name, headings in _HEADINGS.items() for heading in headings.split()}
_UNIT = re.compile(r"\((?:us|mb/s|%)\)$")

# Titles whose program is not simply named after them.
_PROGRAMS = {
    "latency": "osu_latency", "bandwidth": "osu_bw", "bi-directional bandwidth": "osu_bibw",
    "multi latency": "osu_multi_lat", "multi-threaded latency": "osu_latency_mt",
    "multi-process latency": "osu_latency_mp", "multiple bandwidth / message rate": "osu_mbw_mr",
    "hello world": "osu_hello",
}  # fmt: skip


def column(heading: str) -> str | None:
    """Find the variable that a column like ``Avg Latency(us)`` contains; None if the heading is not known."""
    return _COLUMNS.get(_UNIT.sub("", heading.lower().replace(" ", "")))


def program(title: str) -> str:
    """Name the program that prints a title: ``OSU MPI Allreduce Latency Test`` is ``osu_allreduce``."""
    words = re.sub(
        r"^OSU (?:(?:MPI|OpenSHMEM|UPC\+\+|UPC|NCCL|XCCL)(?:-\w+)?[ _])?| Test$", "", title
    ).lower()
    if words in _PROGRAMS:
        return _PROGRAMS[words]
    prefix = ""
    if words.startswith("non-blocking "):
        prefix, words = "i", words.removeprefix("non-blocking ")
    words = (
        words.replace("all-to-all", "alltoall")
        .replace("broadcast", "bcast")
        .replace("personalized exchange", "")
    )
    # One-sided tests keep what they measure in the name, collectives do not.
    if re.match(r"(?:put|get|acc|fop|cas)", words):
        words = words.replace("accumulate", "acc").replace("bi-directional bandwidth", "bibw")
        words = words.replace("bandwidth", "bw")
    else:
        words = words.removesuffix(" latency")
    return "osu_" + prefix + "_".join(re.findall(r"\w+", words))


FORMAT = Format(
    engine="osu", tool="OSU micro-benchmarks", application="osu", subject="the OSU benchmarks",
    marks=(b"# OSU ",), near=r"(?i)\bosu[_ ]", first_line=r"^.{0,40}?# OSU [^\n]+? v\d",
    higher_is_better=False,
)  # fmt: skip
_SNIFF = re.compile(rb"^.{0,40}?# OSU [^\n]+? v\d", re.MULTILINE)
_TITLE = re.compile(r"# (?P<title>OSU .+?) v(?P<version>\d[\w.-]*)\s*")
_DATATYPE = re.compile(r"# Datatype: (?P<datatype>\S+?)\.?\s*")
_BUFFERS = re.compile(r"# Send Buffer on (\w+) \(\w\) and Receive Buffer on (\w+) \(\w\)")
_DEVICES = re.compile(r"OSU MPI-(\w+) ")
_BRACKET = re.compile(r"\[ ([a-z ]+): (\d+) \]")
_STEP = 0.01  # in which times and bandwidths are printed
_DAMAGED = "one of them is damaged; get the output again"
_STARTUP = re.compile(r"nprocs: (\d+), min: (\S+) ms, max: (\S+) ms, avg: (\S+) ms\s*")


@dataclass
class _Table:
    title: str
    version: str
    line: int
    attrs: dict[str, Any] = field(default_factory=dict)
    columns: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    closed: bool = False
    damaged: bool = False


def sniff(head: bytes, name: str = "") -> bool:
    """Tell whether some bytes hold an OSU table's title."""
    return contains(head, _SNIFF, b"# OSU ")


def parse(data: bytes, source: str = "<memory>") -> xr.Dataset:
    """Read the first table of an output that has rows: kind ``osu``.

    A table without sizes (osu_barrier, osu_init) has the one size -1. Further tables are named in
    ``warnings``: `tables` reads them all.
    """
    faults = Faults(source)
    found = _found(data, source, faults)
    chosen = next((table for table in found if table.rows), found[0])
    for table in found:
        if table is not chosen:
            faults.note(table.line, f"a further table, {table.title}", "left out; osu.tables reads them all")
    return _dataset(chosen, faults)


def tables(data: bytes, source: str = "<memory>") -> list[xr.Dataset]:
    """Read every table of an output, in its order; all carry the faults of the whole output."""
    faults = Faults(source)
    found = _found(data, source, faults)
    for table in found:
        _check(table, faults)
    return [_dataset(table, faults, checked=True) for table in found]


def _found(data: bytes, source: str, faults: Faults) -> list[_Table]:
    lines, rest = whole_lines(data)
    found: list[_Table] = []
    for at, line in enumerate(lines, 1):
        text = untagged(line).strip()
        title = _TITLE.fullmatch(text)
        if title:
            found.append(_Table(title["title"], title["version"], at))
        elif found:
            _read_line(found[-1], text, at, faults)
    if not found:
        raise ReadError.at(
            source, 0, "no title of an OSU micro-benchmark", "give the output that has its table"
        )
    if not found[-1].closed and _may_be_row(found[-1], untagged(rest).split()):
        faults.damage(len(lines) + 1, "the last row has no line end, its number may be cut", "left out")
    return found


def _read_line(table: _Table, text: str, at: int, faults: Faults) -> None:
    """Put one line where it belongs in a table; the program's other output belongs nowhere."""
    if not table.columns:
        _read_heading(table, text, at, faults)
        return
    cells = text.split()
    if not cells:
        # No table has an empty line in it: what follows is other output.
        table.closed = table.closed or bool(table.rows)
    elif table.closed or not _may_be_row(table, cells):
        return
    elif _is_row(table, cells):
        wrong = [cell for name, cell in zip(table.columns, cells, strict=True) if not _can_be(name, cell)]
        if wrong:
            table.damaged = True
            faults.damage(at, f"{wrong[0]} is no time and no rate", "the row is left out; measure it again")
        else:
            table.rows.append(cells)
    elif table.columns[0] == "size":
        table.damaged = True
        faults.damage(at, f"{text.strip()!r} is not a row of the table above", "left out")


def _may_be_row(table: _Table, cells: list[str]) -> bool:
    """Tell a row, whole or damaged, from the words of some other output."""
    width = len(table.columns)
    if len(cells) > width:
        return table.columns[:1] == ["size"] and _is_row(table, cells[:width])
    if len(cells) == width > 1 and cells[0] != "#" and sum(map(is_number, cells)) == width - 1:
        return True
    named = "validation" in table.columns
    return (
        len(cells) > 0
        and cells[0][0].isdigit()
        and all(
            is_number(cell) or any(c.isdigit() for c in cell) for cell in (cells[:-1] if named else cells)
        )
    )


def _read_heading(table: _Table, text: str, at: int, faults: Faults) -> None:
    startup = _STARTUP.fullmatch(text)
    datatype = _DATATYPE.fullmatch(text)
    if startup:
        ranks, *times = startup.groups()
        table.attrs["ranks"] = integer(ranks)
        table.columns = ["latency_min", "latency_max", "latency"]
        table.rows.append([str(number(time) * 1e3) for time in times])
        table.closed = True
    elif datatype:
        table.attrs["datatype"] = datatype["datatype"]
    elif buffers := _BUFFERS.match(text):
        table.attrs["buffers"] = "-".join(buffers.groups())
    elif text.startswith("# ["):
        table.attrs |= {name.replace(" ", "_"): integer(value) for name, value in _BRACKET.findall(text)}
    elif re.match(r"# (?:Size|Avg Latency)\b|\s*Overall\(us\)", text):
        headings = [heading for heading in re.split(r"\s{2,}|\t", text.lstrip("# ").rstrip()) if heading]
        for heading in headings:
            name = column(heading)
            if name is None:
                faults.note(at, f"column {heading!r} is not known", "left out")
            table.columns.append(name or heading)


def _is_row(table: _Table, cells: list[str]) -> bool:
    if len(cells) != len(table.columns):
        return False
    for name, cell in zip(table.columns, cells, strict=True):
        whole = name in ("size", "iterations")
        if name != "validation" and (integer(cell) < 0 if whole else not is_number(cell)):
            return False
    # Sizes grow: two numbers that some other program prints further down are no row.
    sized = table.columns[0] == "size"
    return not table.rows or (sized and integer(cells[0]) > integer(table.rows[-1][0]))


def _can_be(name: str, cell: str) -> bool:
    """Tell whether a number can be what its column has; an overlap of nothing is no number."""
    return name in ("validation", "overlap") or 0 <= number(cell) < math.inf


def _check(table: _Table, faults: Faults) -> None:
    if not table.rows and program(table.title) != "osu_hello":
        faults.damage(
            table.line, f"no row follows the title {table.title}", "the benchmark did not get so far"
        )
    _check_numbers(table, faults)
    if "validation" in table.columns:
        at = table.columns.index("validation")
        bad = [row[0] for row in table.rows if row[at].lower() != "pass"]
        if bad:
            faults.note(table.line, f"validation failed at size {', '.join(bad)}", "do not use these rows")


def _check_numbers(table: _Table, faults: Faults) -> None:
    """Hold the numbers of a table against each other: sizes double, a mean lies between its bounds."""
    columns = dict(zip(table.columns, zip(*table.rows, strict=True), strict=False))
    read = {name: [number(cell) for cell in cells] for name, cells in columns.items() if name != "validation"}
    sizes = read.get("size", [])
    for size, following in itertools.pairwise(sizes):
        if following != (2 * size or 1) and not table.damaged:
            what = f"{following:.0f} B follow {size:.0f} B in {table.title}"
            faults.damage(table.line, what, "sizes double: a row is missing or damaged; get the whole output")
    means, nothing = read.get("latency", []), [math.nan] * len(table.rows)
    bounds = zip(read.get("latency_min", nothing), means, read.get("latency_max", nothing), strict=False)
    rates = zip(sizes, read.get("bandwidth", []), read.get("message_rate", []), strict=False)
    wrong = [low > mean + _STEP or mean > high + _STEP for low, mean, high in bounds]
    wrong += [
        abs(rate * size - 1e6 * found) > 1e6 * _STEP + 1e-4 * rate * size for size, found, rate in rates
    ]
    if any(wrong):
        faults.damage(table.line, f"numbers of a row of {table.title} contradict each other", _DAMAGED)


def _dataset(table: _Table, faults: Faults, *, checked: bool = False) -> xr.Dataset:
    if not checked:
        _check(table, faults)
    variables = registry.declared("osu")
    columns: dict[str, np.ndarray] = {"size": np.full(len(table.rows), -1, dtype=np.int64)}
    for name, cells in zip(
        table.columns, list(zip(*table.rows, strict=True)) or [()] * len(table.columns), strict=True
    ):
        if name in variables:
            columns[name] = typed(variables[name].dtype, cells)
    printed = [name for name in ("datatype", "pairs", "window_size") if name in table.attrs]
    settings: dict[str, str] = {name: str(table.attrs[name]) for name in printed}
    devices = _DEVICES.match(table.title)
    settings["buffers"] = f"{devices[1]} {table.attrs.get('buffers', '')}".strip() if devices else "host"
    attrs = {
        "tool": FORMAT.tool,
        "tool_version": table.version,
        "benchmark": program(table.title),
        "version": table.version,
        "title": table.title,
        **table.attrs,
        "settings": "\n".join(f"{name}={value}" for name, value in settings.items()),
        **faults.attrs(),
    }
    return registry.dataset({name: labelled("size", one) for name, one in columns.items()}, "osu", attrs)
