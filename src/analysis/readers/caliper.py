"""Caliper: profiles (`.cali`) with MPI functions and regions, or the text of `runtime-report`: times.

The package `caliper-reader` parses the records. This module extracts the MPI times and checks the records
for contradictions. A report is a table in the output of any program.
"""

import math
import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from caliperreader import CaliperStreamReader

from analysis.base.errors import ReadError
from analysis.readers.base import Faults, as_utf8, observations, profile_dataset
from analysis.readers.format import Format
from analysis.readers.merits.output import FigureRow, Output
from analysis.readers.text import integer, number, printable

FORMAT = Format(engine="caliper", kind="profile", tool="Caliper")
_MARK = b"__rec="
_MPI, _RANK, _SIZE = "mpi.function", "mpi.rank", "mpi.world.size"
_VERSION = "cali.caliper.version"
_MOST_RANKS = 1 << 20
_TIME = re.compile(r"(?:[a-z]+#)*time\.duration(?:\.ns)?")
_COUNTS = ("sum#sum#region.count", "sum#region.count", "region.count")
# A record's kind, its references, and how many attributes and values it has; a backslash goes before a mark
# that is none.
_KIND = re.compile(r"__rec=(node|ctx|globals)(?=,)")
_NUMBER = re.compile(r"(?<!\\),(id|attr|parent)=(\d+)(?=,|$)")
_ATTRIBUTES, _VALUES = (re.compile(rf"(?<!\\),{key}=((?:[^\\,]|\\.)*)") for key in ("attr", "data"))
_DAMAGED = (AttributeError, IndexError, KeyError, StopIteration, TypeError, ValueError)


@dataclass
class _Record:
    """A row of the profile: where in the program, and its values by the names of their attributes."""

    line: int
    path: list[str] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)


def sniff(head: bytes, name: str) -> bool:
    """Tell whether some bytes begin as a file of Caliper, or have the headings of its report."""
    return head.startswith(_MARK) or (b"Path " in head and _HEAD.search(head) is not None)


def parse(data: bytes, source: str = "<memory>") -> xr.Dataset:
    """Read a profile: kind ``profile`` if it has MPI functions, else ``merits`` of its regions.

    If the file has only sums over all ranks, they have rank -1; attributes ``app_time_total`` and
    ``mpi_time_total`` are over all ranks. ``region`` is the path of regions down to the call. Calls are not
    counted (-1) unless the profile has ``region.count``. The text of a report is of kind ``merits``: it has
    the slowest rank's time in each region and MPI function, and does not say how many ranks there were.
    """
    if data.startswith(_MARK):
        return _records_dataset(data, source)
    if sniff(data, ""):
        return _report(data, source)
    found = "neither begins with '__rec=' nor has the headings of a runtime-report"
    raise ReadError.at(source, 1, found, "give a .cali file of Caliper or the text of its report")


def _records_dataset(data: bytes, source: str) -> xr.Dataset:
    faults = Faults(source)
    records, facts = _records(data, faults)
    metric = _metric(records)
    if not metric:
        raise ReadError.at(source, 0, "no sum of time.duration", "give a profile, such as of runtime-profile")
    rows = [record for record in records if metric in record.values]
    times = np.array([_seconds(metric, record.values[metric]) for record in rows])
    for record, time in zip(rows, times, strict=True):
        _check_sum(metric, record, time, faults)
    if any(_MPI in record.values for record in rows):
        return _profile(rows, times, metric, facts, faults)
    return _regions(rows, times, metric, facts, faults)


def _records(data: bytes, faults: Faults) -> tuple[list[_Record], dict[str, str]]:
    """Return the rows of a file, those of time series left out, and the facts of the run."""
    stream, records, kind = CaliperStreamReader(), list[_Record](), ""
    lines = data.replace(b"\r\n", b"\n").split(b"\n")
    for at, raw in enumerate(lines[:-1], start=1):
        line, found = raw.decode("utf-8", errors="replace"), list[dict[str, Any]]()
        try:
            kind = _kind(line, stream) if line.strip() else kind
            stream.read([line] if line.strip() else [], found.append)
        except _DAMAGED:
            kind = ""
            faults.damage(at, f"{printable(raw)[:40]!r} is no record, or of what is not known", "left out")
            continue
        for one in found:
            if one.get("spot.channel", "regionprofile") == "regionprofile":
                records.append(_Record(at, one.pop("path", []), {name: _last(one[name]) for name in one}))
    if kind != "globals":
        faults.damage(len(lines), "does not end with '__rec=globals'", "the file is cut; kept what is whole")
    series = sum("timeseries.snapshot" in record.values for record in records)
    if series:
        faults.note(0, f"{series} rows of a time series", "left out")
    facts = {name: _last(value) for name, value in stream.globals.items()}
    return [one for one in records if "timeseries.snapshot" not in one.values], facts


def _kind(line: str, stream: CaliperStreamReader) -> str:
    """Return the kind of a record; `ValueError` if it refers to what is not known, which the stream takes."""
    kind = _KIND.match(line)
    if kind is None:
        raise ValueError
    if kind[1] == "node":
        numbers = {name: int(text) for name, text in _NUMBER.findall(line)}
        known = [numbers["attr"], *([numbers["parent"]] if ",parent=" in line.replace("\\,", "") else [])]
        if not stream.db.nodes.keys() >= set(known) or numbers["id"] in known:
            raise ValueError
    elif _count(_ATTRIBUTES, line) != _count(_VALUES, line):
        raise ValueError
    return kind[1]


def _count(pattern: re.Pattern[str], line: str) -> int:
    """Return how many attributes, or values, a record has."""
    found = pattern.search(line)
    return re.sub(r"\\.", "", found[1]).count("=") + 1 if found else 0


def _last(value: str | list[str]) -> str:
    """Return the innermost of nested values."""
    return value[-1] if isinstance(value, list) else value


def _metric(records: list[_Record]) -> str:
    """Choose the time that is summed over calls and ranks, best one that includes inner regions."""
    names = sorted({name for record in records for name in record.values if _TIME.fullmatch(name)})
    sums = [name for name in names if name.split("#")[0] in ("sum", "inclusive", "scale", "iscale", "isum")]
    # Over ranks before over calls: the names of the former are the longer ones.
    return max(sums, key=lambda name: (_inclusive(name), name.count("#")), default="")


def _inclusive(metric: str) -> bool:
    return bool({"inclusive", "iscale", "isum"} & set(metric.split("#")))


def _seconds(metric: str, text: str) -> float:
    scaled = {"scale", "iscale"} & set(metric.split("#"))
    return number(text) * (1e-9 if metric.endswith(".ns") and not scaled else 1.0)


def _check_sum(metric: str, record: _Record, time: float, faults: Faults) -> None:
    """Compare a sum with the extremes over ranks, of six decimals as printed."""
    head, _, rest = metric.partition("#")
    low, high = (_seconds(metric, record.values.get(f"{one}#{rest}", "")) for one in ("min", "max"))
    if not math.isfinite(time) or time < 0:
        faults.damage(record.line, f"time is {record.values[metric][:40]!r}", "left blank")
    elif head == "sum" and (low > high + 1e-6 or high > time + 1e-6):
        found = f"sum {time:g} s, smallest {low:g} s, largest {high:g} s"
        faults.damage(record.line, found, "a number is damaged: copy the file again")


def _total(rows: list[_Record], times: np.ndarray, metric: str) -> float:
    """Add up what is not part of another row."""
    own = [i for i, row in enumerate(rows) if not _inclusive(metric) or len(row.path) < 2]
    return float(times[own].sum()) if own else math.nan


def _profile(
    rows: list[_Record], times: np.ndarray, metric: str, facts: dict[str, str], faults: Faults
) -> xr.Dataset:
    given = max([integer(one.values.get(_SIZE, "")) for one in rows] + [integer(facts.get(_SIZE, ""))])
    expected = given if given <= _MOST_RANKS else -1
    rank = np.array([integer(row.values.get(_RANK, ""), bits=32) for row in rows], dtype=np.int64)
    rank[(rank < 0) | (rank >= max(expected, 0))] = -1
    at = np.array([i for i, row in enumerate(rows) if _MPI in row.values])
    ranks = {name: np.full(max(expected, 0), np.nan) for name in ("app_time", "mpi_time", "memory")}
    for one in sorted(set(rank.tolist()) - {-1}):
        mine = np.flatnonzero(rank == one)
        ranks["app_time"][one] = _total([rows[i] for i in mine], times[mine], metric)
        ranks["mpi_time"][one] = times[np.intersect1d(mine, at)].sum()
    totals = {"app_time_total": _total(rows, times, metric), "mpi_time_total": float(times[at].sum())}
    counts = [next((number(rows[i].values[c]) for c in _COUNTS if c in rows[i].values), -1.0) for i in at]
    return profile_dataset(
        obs=observations(
            [rows[i].values[_MPI] for i in at],
            np.where(times[at] >= 0, times[at], np.nan),
            rank=rank[at],
            region=["/".join(rows[i].path[:-1]) for i in at],
            count=[int(count) if 0 <= count < 1 << 53 and count % 1 == 0 else -1 for count in counts],
        ),
        ranks={**ranks, "host": np.full(max(expected, 0), "", dtype=object)},
        tool=FORMAT.tool,
        tool_version=facts.get(_VERSION, ""),
        ranks_expected=expected,
        faults=faults,
        attrs=_of_run(facts) | {name: value for name, value in totals.items() if math.isfinite(value)},
    )


def _of_run(facts: dict[str, str]) -> dict[str, Any]:
    """Return what Adiak wrote down of the run: how it was called, when it began, its nodes."""
    known: dict[str, Any] = {"command": facts.get("cmdline", "").strip("[]").replace(",", " ")}
    if (nodes := integer(facts.get("numhosts", ""))) > 0:
        known["nodes"] = nodes
    if (start := integer(facts.get("launchdate", ""))) > 0:
        known["start"] = float(start)
    return known


def _regions(
    rows: list[_Record], times: np.ndarray, metric: str, facts: dict[str, str], faults: Faults
) -> xr.Dataset:
    """Make a figure of each region's time: of the slowest rank where the file says that."""
    output = Output(b"", faults.source)
    output.faults = faults
    output.facts["ranks"] = facts.get(_SIZE, facts.get("jobsize", ""))
    slowest = f"max#{metric.partition('#')[2]}" if metric.startswith(("sum#inclusive#", "sum#sum#")) else ""
    for row, time in zip(rows, times, strict=True):
        if row.path:
            name = "/".join(row.path) if _inclusive(metric) else f"{'/'.join(row.path)} alone"
            value = _seconds(slowest, row.values[slowest]) if slowest in row.values else float(time)
            value = value if math.isfinite(time) and time >= 0 else math.nan
            output.rows.append(FigureRow(name, value, "s", math.nan, row.line))
    output.facts["version"] = facts.get(_VERSION, "")
    return output.dataset(FORMAT, main="main", which="largest")


_HEAD = re.compile(rb"^ {0,40}Path +(?:Min time/rank|Time \([EI]\)) ", re.MULTILINE)
_TITLE = re.compile(r" {0,40}Path +(?:Min time/rank|Time \([EI]\)) ")
_COLUMN = re.compile(r"(?:Min|Max|Avg) time/rank(?: \([EI]\))?|Time \([EI]\)|Time % *|[^ ]+")
_INDENT = 2
# The columns of times, best first: with inner regions before without, of the slowest rank.
_PREFERRED = ("Max time/rank (I)", "Max time/rank", "Time (I)", "Max time/rank (E)", "Time (E)")


class _Region(NamedTuple):
    line: int
    path: tuple[str, ...]
    cells: dict[str, str]


def _report(data: bytes, source: str) -> xr.Dataset:
    """Read each table's figures: kind ``merits``; a further table is a further result."""
    output = Output(as_utf8(data), source)
    lines = output.text.split("\n")[:-1]
    at = 0
    result = 0
    while at < len(lines):
        if _TITLE.match(lines[at]):
            rows = _table(lines, at, output)
            _add(rows, output, result)
            at, result = max([at, *(row.line - 1 for row in rows)]), result + 1
        at += 1
    if _cells(output.rest, [0]):
        last = output.rows[-1].line if output.rows else 0
        if last == len(lines):
            output.faults.damage(
                last + 1, "the last line does not end", "the file is cut; the line is not used"
            )
    first = output.rows[0].merit if output.rows else ""
    return output.dataset(FORMAT, main=first)


def _cells(line: str, starts: list[int]) -> list[str]:
    """Cut a line where its table's columns begin; nothing if it is no row of a table."""
    cells = [line[start:end].strip() for start, end in zip(starts, [*starts[1:], None], strict=True)]
    found = any(math.isfinite(number(token)) for cell in cells[1:] or cells for token in cell.split())
    return cells if found and line.strip() else []


def _table(lines: list[str], head: int, output: Output) -> list[_Region]:
    """Read the rows below headings, each with its path by the indentation."""
    title = lines[head]
    margin = title.index("Path")
    columns = [found for found in _COLUMN.finditer(title) if found[0] != "Path"]
    starts = [margin, *(found.start() for found in columns)]
    names = [found[0].strip() for found in columns]
    rows: list[_Region] = []
    path: list[str] = []
    lines = [*lines, ""]
    for at in range(head + 1, len(lines) - 1):
        cells = _cells(lines[at], starts)
        label = lines[at][margin : starts[1]].rstrip()
        # A region of which no time is known has a name alone.
        bare = lines[at].rstrip() == lines[at][: starts[1]].rstrip() and bool(_cells(lines[at + 1], starts))
        if not label.strip() or not (cells or bare):
            break
        if label.strip() == "|-":  # a further record of the region above, as of its samples
            continue
        cells = cells or [""] * len(starts)
        depth = (len(label) - len(label.lstrip())) // _INDENT
        path = [*path[:depth], label.strip()]
        rows.append(_Region(at + 1, tuple(path), dict(zip(names, cells[1:], strict=True))))
        _check(rows[-1], output)
    return rows


def _check(row: _Region, output: Output) -> None:
    """Check that the mean over ranks lies between the extremes; each has six digits behind the point."""
    for kind in ("", " (E)", " (I)"):
        low, mean, high = (
            number(row.cells.get(f"{one} time/rank{kind}", "")) for one in ("Min", "Avg", "Max")
        )
        if low > mean + 1e-6 or mean > high + 1e-6:
            found = f"{row.path[-1][:40]}: {low:g} to {high:g} s, {mean:g} s in the mean"
            output.faults.damage(row.line, found, "a number is damaged: copy the file again")


def _add(rows: list[_Region], output: Output, result: int) -> None:
    names = rows[0].cells if rows else {}
    column = next((one for one in _PREFERRED if one in names), "")
    # Until 2.12 the same headings stood above times without inner regions: the rows tell.
    alone = (
        column == "Time (E)" or column.endswith("(E)") or (column == "Max time/rank" and not _nested(rows))
    )
    for row in rows:
        text = row.cells[column] if column else ""
        if text:
            name = "/".join(row.path) + (" alone" if alone else "")
            output.add(name, text, "s", row.line, result=result)


def _nested(rows: list[_Region]) -> bool:
    """Tell whether every region took at least what the regions in it took, by their means."""
    means = {row.path: number(row.cells.get("Avg time/rank", "")) for row in rows}
    inner: dict[tuple[str, ...], float] = {}
    for path, mean in means.items():
        if math.isfinite(mean):
            inner[path[:-1]] = inner.get(path[:-1], 0.0) + mean
    slack = 1e-6 * len(rows)
    return all(means[path] + slack >= inner[path] for path in inner if path in means)
