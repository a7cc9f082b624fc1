"""IOR 3.0 to 4.1, also of IO500: bandwidth of each repeat and the largest, from its text, JSON or CSV."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import xarray as xr

from analysis.readers.base import as_utf8
from analysis.readers.merits.output import (
    Document,
    Merit,
    Output,
    TextFormat,
    agree,
    integer_of,
    items,
    text_of,
)
from analysis.readers.text import integer, number

_MARK = r"^IOR-\S+: MPI Coordinated Test of Parallel I/O"
_REPEAT = r"^{} +(?P<value>\d\S*)(?: +\S+){{7,9}} *$"
# Since 3.3: bandwidth, transfers per second, latency, block and transfer in KiB, times in s, the repeat.
_COLUMNS = ("bw", "iops", "latency", "block", "xfer", "open", "moved", "close", "total", "iter")
_ROW = r"^(?P<access>write|read) +(?P<cells>\d\S*(?: +\S+){9}) *$"
_BOTH = r"^Max (?:Write|Read): +(?P<binary>\S+) MiB/sec +\((?P<decimal>\S+) MB/sec\)"
# How much is moved, by which interface, to one file or to many.
_PROBLEM = ("api", "access", "xfersize", "blocksize", "aggregate_filesize")
_HEADINGS = (
    b"access,bw(MiB/s),IOPS,Latency,block(KiB),xfer(KiB),open(s),wr/rd(s),close(s),total(s),numTasks,iter"
)
# What IOR's JSON calls nan is none in JSON.
_NAN = re.compile(rb'(": )-?nan(?=[,\s])')


def _finish(output: Output) -> None:
    """Compare what moved by each row's two rates, and the largest rates with the rows."""
    for line, row in output.find(_ROW):
        _verify_row(output, line, dict(zip(_COLUMNS, row["cells"].split(), strict=True)))
    for access in ("write", "read"):
        rows = [(row.line, row.value) for row in output.rows if row.merit == access]
        before = 0
        for top in [row for row in output.rows if row.merit == f"Max {access.capitalize()}"]:
            mine = [value for line, value in rows if before < line < top.line]
            # A rate of 3600 MiB/s or more has no decimals in its row.
            if mine and abs(max(mine) - top.value) > 0.51 + 1e-6 * top.value:
                found = f"{top.merit} is {top.value:g}, the largest row {max(mine):g}"
                output.faults.damage(top.line, found, "one of them is damaged: get the output again")
            before = top.line
    for line, row in output.find(_BOTH):
        found = f"{row['binary']} MiB/s and {row['decimal']} MB/s"
        output.verify(line, agree((row["decimal"],), (row["binary"],), factor=2**20 / 1e6), found)


def _verify_row(output: Output, line: int, cells: Mapping[str, str]) -> None:
    # Bandwidth is over the whole of a repeat, transfers per second over the moving alone.
    left, right = (cells["bw"], cells["total"]), (cells["iops"], cells["xfer"], cells["moved"])
    if not agree(left, right, factor=1 / 1024, slack=2e-3):
        found = (
            f"{left[0]} MiB/s in {left[1]} s, {right[0]} transfers a second of {right[1]} KiB in {right[2]} s"
        )
        output.faults.damage(line, found, "a number is damaged: get the output again")


FORMAT = TextFormat(
    engine="ior", tool="IOR", marks=(b": MPI Coordinated Test of Parallel I/O",),
    near=r"\bIOR\b|\bMiB/s(?:ec)?\b", first_line=r"^IOR-\d[^\n]*: MPI Coordinated",
    merits=(
        Merit("Max Write", r"^Max Write: +(?P<value>\S+) (?P<unit>MiB/sec)"),
        Merit("Max Read", r"^Max Read: +(?P<value>\S+) (?P<unit>MiB/sec)"),
        Merit("write", _REPEAT.format("write"), "MiB/s"),
        Merit("read", _REPEAT.format("read"), "MiB/s"),
    ),
    figure_of_merit="Max Write", unit="MiB/sec", main=("Max Write", "Max Read"),
    closing=r"^(?:Finished *:|Run finished:)",
    closed_by="'Finished'", opening=_MARK,
    facts={
        "version": r"^IOR-(\S+): MPI Coordinated Test",
        "ranks": r"^\s*(?:tasks +: +|clients += +)(\d+)",
        "nodes": r"^\s*nodes +: +(\d+)",
        "size": r"^Command line(?: used)? *: +(.*)$",
        **{name: rf"^ *{name.replace('_', ' ')} *[:=] +(\S.*)$" for name in _PROBLEM},
    },
    failed=r"^WARNING: [Ii]ncorrect data on |^\*\* error \*\*", which="largest", problem=_PROBLEM,
    finish=_finish,
)  # fmt: skip
# As a part of IO500 it ends with its row.
_LAST = rf"(?:{_REPEAT.format('(?:write|read)')})\n"
_WITHIN = replace(FORMAT, closing=_LAST, main=("Max Write", "write", "read"))
_IO500 = b"-O stoneWallingStatusFile="


def sniff(head: bytes, name: str = "") -> bool:
    """Tell whether some bytes have IOR's first line, the headings of its CSV, or begin as its JSON."""
    return FORMAT.sniff(head) or _HEADINGS in head or _is_json(head)


def _is_json(data: bytes) -> bool:
    return (
        data.lstrip().startswith(b"{") and b'"Command line"' in data[:65_536] and b'"TestID"' in data[:65_536]
    )


def parse(data: bytes, source: str = "<memory>") -> xr.Dataset:
    """Read an output: kind ``merits``; that of IO500 has no largest rate, ``write`` or ``read`` alone.

    CSV, and what 4.x prints without ``-v``, has rows only: the largest rates are those of the rows.
    """
    if _is_json(data):
        return _json(data, source)
    if _HEADINGS in data and not FORMAT.sniff(data):
        return _csv(data, source)
    if b"\nFinished" in data or b"\nMax " in data:
        return FORMAT.parse(data, source)
    if _IO500 in data:
        return _WITHIN.parse(data, source)
    return (_QUIET if _FOURTH.search(data) else FORMAT).parse(data, source)


def _largest(output: Output) -> None:
    """Add the largest rates of rows, as IOR itself does where it is not quiet."""
    for access in ("write", "read"):
        rows = [row for row in output.rows if row.merit == access]
        if rows:
            row = max(rows, key=lambda row: row.value)
            output.rows.append(row._replace(merit=f"Max {access.capitalize()}", unit="MiB/sec", result=0))


def _finish_quiet(output: Output) -> None:
    """Check that there are as many rows as repeats; then add the largest rates."""
    _finish(output)
    repeats = integer(output.first(r"^\s*repetitions +: +(\d+)"))
    counts = {access: sum(row.merit == access for row in output.rows) for access in ("write", "read")}
    asked = re.findall(r" -(?:w|r|W|R)(?= |$)", output.facts["size"])
    wanted = [one for one in counts if not asked or f" -{one[0]}" in asked]
    if any(repeats > counts[one] for one in wanted):
        found = f"{repeats} repetitions, " + ", ".join(f"{count} of {one}" for one, count in counts.items())
        output.faults.damage(0, found, "the run did not end or the file is cut; kept what is whole")
    _largest(output)


# Since 4.0 it says nothing more than its rows, unless asked by -v.
_FOURTH = re.compile(rb"^IOR-[4-9]", re.MULTILINE)
_QUIET = replace(FORMAT, closing=_LAST, finish=_finish_quiet)


def _csv(data: bytes, source: str) -> xr.Dataset:
    output = Output(as_utf8(data), source)
    lines = output.text.split("\n")[:-1]
    width = _HEADINGS.count(b",") + 1
    names = (*_COLUMNS[:-1], "tasks", "iter")
    ranks = set()
    start = lines.index(_HEADINGS.decode()) + 1 if _HEADINGS.decode() in lines else len(lines)
    for at, line in enumerate(lines[start:], start + 1):
        access, *cells = line.strip().split(",")
        if access not in ("write", "read"):
            continue
        if len(cells) != width - 1:
            output.faults.damage(at, f"{len(cells) + 1} cells under {width} headings", "left out")
            continue
        row = dict(zip(names, cells, strict=True))
        output.add(access, row["bw"], "MiB/s", at)
        _verify_row(output, at, row)
        ranks.add(row["tasks"])
    if output.rest.startswith(("write,", "read,")):
        output.faults.damage(
            len(lines) + 1, "the last row does not end", "the file is cut; the row is not used"
        )
    output.facts["ranks"] = ranks.pop() if len(ranks) == 1 else ""
    _largest(output)
    return output.dataset(FORMAT, which="largest")


def _json(data: bytes, source: str) -> xr.Dataset:
    document = Document(_NAN.sub(rb"\1NaN", as_utf8(data)), source, "tests")
    output = document.output
    tests = [test for test in items(document.content, "tests") if isinstance(test, dict)]
    summary = [one for one in items(document.content, "summary") if isinstance(one, dict)]
    for result, test in enumerate(tests):
        repeats = list(_repeats(test.get("Results")))
        for repeat in repeats:
            document.add(text_of(repeat, "access"), repeat, "bwMiB", "MiB/s", result)
            cells = {
                "bw": "bwMiB", "total": "totalTime", "iops": "iops", "xfer": "xferKiB", "moved": "wrRdTime",
            }  # fmt: skip
            _verify_row(output, 0, {name: _digits(repeat.get(key)) for name, key in cells.items()})
        for one in summary:
            if integer_of(one, "TestID") == integer_of(test, "TestID"):
                operation = text_of(one, "operation")
                document.add(f"Max {operation.capitalize()}", one, "bwMaxMIB", "MiB/sec", result)
                _verify_summary(output, one, [one for one in repeats if one.get("access") == operation])
    if len(tests) == 1:
        options = tests[0].get("Options")
        output.facts |= {"ranks": integer_of(options, "tasks"), "nodes": integer_of(options, "nodes")}
    output.facts["size"] = text_of(document.content, "Command line")
    if not summary:
        _largest(output)
    output.facts["version"] = text_of(document.content, "Version")
    return output.dataset(FORMAT, which="largest")


def _repeats(found: Any) -> Iterator[dict[str, Any]]:
    """Give the rows of writing and reading, be they a list, or lists by repeat."""
    for one in found if isinstance(found, list) else ():
        if isinstance(one, list):
            yield from (
                row for row in one if isinstance(row, dict) and row.get("access") in ("write", "read")
            )
        elif isinstance(one, dict) and one.get("access") in ("write", "read"):
            yield one


def _digits(value: Any) -> str:
    """Return a number as IOR's JSON has it, with four digits behind the point; of anything else nothing."""
    known = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e15
    return f"{value:.4f}" if known else ""


def _verify_summary(output: Output, summary: Mapping[str, Any], repeats: list[dict[str, Any]]) -> None:
    rates = [number(_digits(one.get("bwMiB"))) for one in repeats]
    stated = [number(_digits(summary.get(key))) for key in ("bwMinMIB", "bwMeanMIB", "bwMaxMIB")]
    own = [min(rates), sum(rates) / len(rates), max(rates)] if rates else stated
    if any(abs(a - b) > 2e-4 for a, b in zip(stated, own, strict=True)):
        found = (
            f"{text_of(summary, 'operation')}: least, mean and largest rate {stated}, by the repeats {own}"
        )
        output.faults.damage(0, found, "a number is damaged: get the output again")
