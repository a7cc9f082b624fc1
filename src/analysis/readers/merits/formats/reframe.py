"""ReFrame: its run report (JSON, 3.0 to 4.x) and its performance logs (lines of cells between ``|``)."""

import re
from collections.abc import Iterator
from typing import Any

import xarray as xr

from analysis.base.errors import ReadError
from analysis.readers.format import Format
from analysis.readers.merits.output import Document, Output, integer_of, items, text_of
from analysis.readers.text import is_number

FORMAT = Format(
    engine="reframe", kind="merits", tool="ReFrame", marks=(b'"session_info"',), near="(?i)reframe"
)
_PASSED = ("success", "pass")
# The columns of a performance log, of its own choice, that say which test on which system a row is of.
_CASE = ("display_name", "name", "system", "partition", "environ")


# A line of a log of 2.x and 3.x, which has no headings: what was run where, and one figure.
LINE = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\dT[^|]*)\|reframe [^|]+\|(?P<test>[^|]+?) on "
    r"(?P<system>[^|:\s]+):(?P<partition>[^|\s]+) using (?P<environ>[^|]+)\|(?:(?P<stated>[^|]*)\|)*?"
    r"(?P<name>(?!jobid|num_|nodelist|ref)[^|=]+)=(?P<value>[^|]+)\|"
    r"(?:(?P<unit>[^|=]*)\|ref=[^|]*|ref=[^|]*\|(?P<last>[^|=]*))(?:\||$)"
)


def sniff(head: bytes, name: str = "") -> bool:
    """Tell whether some bytes are a report of ReFrame or a performance log with its line of headings."""
    report = head.lstrip().startswith(b"{") and b'"session_info"' in head
    first = head.split(b"\n", 1)[0].decode(errors="replace")
    return report or _logged(first) or LINE.match(first) is not None


def _logged(line: str) -> bool:
    cells = line.rstrip("\r").split("|")
    return len(cells) > 3 and any(
        f"{cell.removesuffix('_value')}_unit" in cells for cell in cells if "_value" in cell
    )


def parse(data: bytes, source: str = "<memory>") -> xr.Dataset:
    """Read every performance variable of every test: kind ``merits``, test and system in ``case``."""
    if not data.lstrip().startswith(b"{"):
        return _log(data, source)
    document = Document(data, source, "session_info")
    session = document.content.get("session_info")
    version = text_of(session, "version") or text_of(session, "data_version")
    tests = [
        test
        for run in items(document.content, "runs")
        for test in items(run, "testcases")
        if isinstance(test, dict)
    ]
    for result, test in enumerate(tests):
        check = "passed" if text_of(test, "result") in _PASSED else "failed"
        parts = (text_of(test, key) for key in ("display_name", "system", "partition", "environ"))
        case = " ".join(part for part in parts if part) or text_of(test, "name")
        for name, value, unit in _values(test):
            document.add(name, {"value": value}, "value", unit, result, case, check)
    if len(tests) == 1:
        document.output.facts["ranks"] = integer_of(tests[0], "num_tasks")
    return document.dataset(FORMAT, version)


def _values(test: dict[str, Any]) -> Iterator[tuple[str, Any, str]]:
    """Give name, value and unit: 4.x maps ``system:partition:name`` to a list, 3.x has a list of objects."""
    known = test.get("perfvalues")
    for name, entry in known.items() if isinstance(known, dict) else ():
        if isinstance(entry, list) and len(entry) > 4 and entry[0] is not None:
            yield str(name).rpartition(":")[2], entry[0], str(entry[4] or "")
    for entry in () if known else items(test, "perfvars"):
        yield (
            text_of(entry, "name"),
            entry.get("value") if isinstance(entry, dict) else None,
            text_of(entry, "unit"),
        )


def _log(data: bytes, source: str) -> xr.Dataset:
    head = data.split(b"\n", 1)[0].decode(errors="replace")
    if LINE.match(head):
        return _plain_log(data, source)
    if not _logged(head):
        raise ReadError.at(source, 1, "no ReFrame report and no headings of its log", "give one of them")
    output = Output(data, source)
    heads: list[str] = []
    at = -1
    for line, text in enumerate(output.text.split("\n")[:-1], 1):
        cells = text.split("|")
        if _logged(text):
            heads = cells
            continue
        if len(cells) != len(heads):
            if text.strip():
                output.faults.damage(line, f"{len(cells)} cells under {len(heads)} headings", "left out")
            continue
        at += 1
        row = dict(zip(heads, cells, strict=True))
        case = " ".join(row[name] for name in _CASE if row.get(name))
        case = row.get("info") or row.get("check_info") or case
        check = {"pass": "passed", "fail": "failed"}.get(row.get("result", ""), "")
        for name in heads:
            value, unit = row[name], row.get(f"{name.removesuffix('_value')}_unit")
            if name.endswith("_value") and unit is not None and is_number(value):
                more = {"result": at, "case": case, "check": check}
                output.add(name.removesuffix("_value"), value, unit, line, **more)
    if output.rest.strip():
        output.faults.damage(at + 2, "the last line does not end", "the file is cut; the line is not used")
    return output.dataset(FORMAT, main=output.only_merit())


def _plain_log(data: bytes, source: str) -> xr.Dataset:
    """Read a log of 2.x or 3.x: lines of one test with one date are those of one result."""
    output = Output(data, source)
    tests: dict[tuple[str, str], int] = {}
    for line, text in enumerate(output.text.split("\n")[:-1], 1):
        found = LINE.match(text.rstrip("\r"))
        if found is None or not is_number(found["value"]):
            if text.strip():
                output.faults.damage(line, "no test with a figure", "left out")
            continue
        case = f"{found['test']} on {found['system']}:{found['partition']} using {found['environ']}"
        at = tests.setdefault((found["date"], case), len(tests))
        unit = found["unit"] or found["last"] or ""
        output.add(found["name"], found["value"], unit, line, result=at, case=case)
    if output.rest.strip():
        output.faults.damage(len(tests) + 1, "the last line does not end", "the file is cut; it is not used")
    return output.dataset(FORMAT, main=output.only_merit())
