"""SPEC CPU2006 and CPU2017, text and CSV of a result: the means, base and peak, and each benchmark.

The same harness writes the reports of MPI2007, OMP2012 and hpc2021.
"""

import csv
import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import xarray as xr

from analysis.base.errors import ReadError
from analysis.readers.base import as_utf8
from analysis.readers.format import Format
from analysis.readers.merits.output import Output, agree

FORMAT = Format(
    engine="spec", kind="merits", tool="SPEC",
    marks=((b"SPEC", b"Benchmarks ", b"=========="), (b"SPEC", b'"Selected Results Table"')),
    near=r"\bSPEC(?:rate|speed|int|fp|mpi|omp)\w*", figure_of_merit="base", unit="1",
    problem=("suite", "without?"),
)  # fmt: skip
# `Est. SPECrate(R)2017_fp_base   622`, `SPECrate2017_fp_base,609.928969,,609.928969`.
_MEAN = (
    r"^ *(?:Est\. )?(?P<suite>SPEC(?:\([A-Z]+\)|[\w ])*?)_(?P<tuning>base|peak)(?P<year>\d*)(?:,| +)"
    r"(?P<value>--|Not Run|\d[\d.]*)(?=[\s,])"
)
_TABLE = r'^(?:=+|"Selected Results Table")$'
_ROW = r"^(?P<benchmark>\d{3}\.\w+)(?P<rest>[ ,].*)$"
_CELLS = r" +(\d+) +(\S+) +(\d\S*) +\*"
_COUNTED = r'^Benchmarks?(?: +|,"Base # )(Copies|Threads|Ranks)'
_COUNTS = {"Copies": "ranks", "Ranks": "ranks", "Threads": "threads"}
_MOST = 99  # lines of a table of which the end is missing
_DIGITS = 3  # of a text; a CSV has six decimals


class _Row(NamedTuple):
    benchmark: str
    line: int
    counts: list[str]  # of base and peak, as what follows
    ratios: list[str]


def sniff(head: bytes, name: str = "") -> bool:
    """Tell whether some bytes have the table of a result."""
    return any(all(mark in head for mark in group) for group in FORMAT.groups())


def parse(data: bytes, source: str = "<memory>") -> xr.Dataset:
    """Read a result: kind ``merits``; a mean without some benchmarks has another problem."""
    data = as_utf8(data)
    if not sniff(data):
        raise ReadError.at(source, 0, "no table of a SPEC suite", "give the text or CSV of a result")
    output = Output(data, source)
    rows = list(_rows(output))
    means = {match["tuning"]: (line, match) for line, match in output.find(_MEAN)}
    counted = _COUNTS.get(output.first(_COUNTED), "")
    for at, tuning in enumerate(("base", "peak")):
        have = [row for row in rows if row.ratios[at]]
        for row in have:
            output.add(f"{row.benchmark} {tuning}", row.ratios[at], "1", row.line)
        if tuning in means and means[tuning][1]["value"][0].isdigit():
            line, match = means[tuning]
            output.add(tuning, match["value"], "1", line)
            each = [row.ratios[at] for row in have]
            fits = agree([match["value"]] * len(each), each, slack=1e-4 * len(each))
            output.verify(
                line, fits, f"{tuning} {match['value']} is not the mean of its {len(each)} benchmarks"
            )
    _state(output, rows, counted, means["base"][1] if "base" in means else None)
    return output.dataset(FORMAT)


def _state(output: Output, rows: list[_Row], counted: str, mean: re.Match[str] | None) -> None:
    """Add what was run: the suite, its copies or threads, and which benchmarks have no result."""
    counts = {row.counts[0] for row in rows} - {""}
    output.facts |= {counted: counts.pop()} if counted and len(counts) == 1 else {}
    output.facts["version"] = output.first(r'^.*Tested with SPEC [\w()]+"?[, ]v(\d[\d.]*\d)')
    if mean is None:
        output.faults.damage(
            0, "no mean of the suite", "the run did not end or the file is cut; kept what is whole"
        )
        return
    output.facts["suite"] = re.sub(r"\([A-Z]+\)| ", "", f"{mean['suite']}{mean['year']}")
    if without := [row.benchmark for row in rows if not row.ratios[0]]:
        output.facts["without"] = "+".join(without)
        output.faults.note(rows[0].line, f"no result of {', '.join(without)}", "a mean is that of the others")


def _rows(output: Output) -> Iterator[_Row]:
    """Give the selected result of each benchmark: the median of its runs."""
    begin = next((line for line, _ in output.find(_TABLE)), math.inf)
    end = next((line for line, _ in output.find(_MEAN)), begin + _MOST)
    for line, match in output.find(_ROW):
        if not begin < line < end:
            continue
        if match["rest"].startswith(","):
            cells = next(csv.reader([match["rest"]]))
            cells += [""] * (9 - len(cells))
            yield _Row(match["benchmark"], line, [cells[1], cells[6]], [cells[3], cells[8]])
        else:
            found = re.findall(_CELLS, match["rest"])[:2]
            found += [("", "", "")] * (2 - len(found))
            yield _Row(match["benchmark"], line, [one[0] for one in found], [one[2] for one in found])


def rows(ds: xr.Dataset) -> set[Any]:
    """Return the numbers by which the text and the CSV of a result are known to be of one."""
    pairs = zip(ds["merit"].values, ds["value"].values, strict=True)
    return {
        (str(name), f"{float(value):.{_DIGITS}g}") for name, value in pairs if name not in ("base", "peak")
    }
