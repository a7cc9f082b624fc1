"""The tables of Caliper's `runtime-report`, in the output of any program: the time of each region."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

import xarray as xr

from analysis.readers.base import as_utf8
from analysis.readers.merits.output import Output
from analysis.readers.text import number

_HEAD = re.compile(rb"^ {0,40}Path +(?:Min time/rank|Time \([EI]\)) ", re.MULTILINE)
_TITLE = re.compile(r" {0,40}Path +(?:Min time/rank|Time \([EI]\)) ")
_COLUMN = re.compile(r"(?:Min|Max|Avg) time/rank(?: \([EI]\))?|Time \([EI]\)|Time % *|[^ ]+")
_INDENT = 2
# What is taken of a table's columns, best first: with inner regions before without, of the slowest rank.
_TAKEN = ("Max time/rank (I)", "Max time/rank", "Time (I)", "Max time/rank (E)", "Time (E)")


class _Row(NamedTuple):
    line: int
    path: tuple[str, ...]
    cells: dict[str, str]


def is_report(head: bytes) -> bool:
    """Tell whether some bytes have the headings of a report."""
    return b"Path " in head and _HEAD.search(head) is not None


def read(data: bytes, source: str) -> xr.Dataset:
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
    return output.dataset("caliper", "Caliper", "", main=first, which="last")


def _cells(line: str, starts: list[int]) -> list[str]:
    """Cut a line where its table's columns begin; nothing if it is no row of a table."""
    cells = [line[start:end].strip() for start, end in zip(starts, [*starts[1:], None], strict=True)]
    found = any(math.isfinite(number(token)) for cell in cells[1:] or cells for token in cell.split())
    return cells if found and line.strip() else []


def _table(lines: list[str], head: int, output: Output) -> list[_Row]:
    """Read the rows below headings, each with its path by the indentation."""
    title = lines[head]
    margin = title.index("Path")
    columns = [found for found in _COLUMN.finditer(title) if found[0] != "Path"]
    starts = [margin, *(found.start() for found in columns)]
    names = [found[0].strip() for found in columns]
    rows: list[_Row] = []
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
        rows.append(_Row(at + 1, tuple(path), dict(zip(names, cells[1:], strict=True))))
        _check(rows[-1], output)
    return rows


def _check(row: _Row, output: Output) -> None:
    """Hold that the mean over ranks lies between the extremes; each has six digits behind the point."""
    for kind in ("", " (E)", " (I)"):
        low, mean, high = (
            number(row.cells.get(f"{one} time/rank{kind}", "")) for one in ("Min", "Avg", "Max")
        )
        if low > mean + 1e-6 or mean > high + 1e-6:
            found = f"{row.path[-1][:40]}: {low:g} to {high:g} s, {mean:g} s in the mean"
            output.faults.damage(row.line, found, "a number is damaged: copy the file again")


def _add(rows: list[_Row], output: Output, result: int) -> None:
    names = rows[0].cells if rows else {}
    column = next((one for one in _TAKEN if one in names), "")
    # Until 2.12 the same headings stood above times without inner regions: the rows tell.
    alone = (
        column == "Time (E)" or column.endswith("(E)") or (column == "Max time/rank" and not _nested(rows))
    )
    for row in rows:
        text = row.cells[column] if column else ""
        if text:
            name = "/".join(row.path) + (" alone" if alone else "")
            output.add(name, text, "s", row.line, result=result)


def _nested(rows: list[_Row]) -> bool:
    """Tell whether every region took at least what the regions in it took, by their means."""
    means = {row.path: number(row.cells.get("Avg time/rank", "")) for row in rows}
    inner: dict[tuple[str, ...], float] = {}
    for path, mean in means.items():
        if math.isfinite(mean):
            inner[path[:-1]] = inner.get(path[:-1], 0.0) + mean
    slack = 1e-6 * len(rows)
    return all(means[path] + slack >= inner[path] for path in inner if path in means)
