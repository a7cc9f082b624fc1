"""HPCG's result file: ``A::B=value`` lines of 3.1, indented ``key: value`` lines of 2.x and 3.0.

The log that HPCG writes beside it (``hpcg<date>.txt``) holds residuals only and is not of this
format. HPCG rates runs that are far too short and calls them valid; `official_time` says what it
asks for. Its gigabytes are 10^9 B.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from analysis import schema
from analysis.base.errors import ReadError
from analysis.readers.base import Faults
from analysis.readers.text import integer, is_number, number, scaled, whole_lines

_SNIFF = re.compile(
    rb"^(?:HPCG-Benchmark(?:[ \t\r]*$|.*\bversion *[:=])|Machine Summary *[:=])", re.MULTILINE
)
# The head of a 2.x or 3.0 document: its first word is the program's own and differs by vendor.
_YAML_HEAD = re.compile(r"(?:\S.* )?version: *(?P<version>V?\d\S*)")
_YAML_LINE = re.compile(r"(?P<indent> *)(?P<key>\S.*?): ?(?P<value>.*)")
_RULE = re.compile(r"[=#*_-]{4,}.*\b(?:Start|End) *[=#*_-]{4,}")

KERNELS = ("DDOT", "WAXPBY", "SpMV", "MG", "Total")
AXES = ("x", "y", "z")
STATISTICS = ("min", "max", "avg")

_RESULT = "Final Summary::HPCG result is"
_RATED = f"{_RESULT} VALID with a GFLOP/s rating of"
# Each version and each outcome closes its file with one of these.
_CLOSINGS = ("Official results execution time", "upload results", "send the YAML", "You may NOT submit")


# One of them is enough to know a file whose head is damaged.
_SECTIONS = {
    "Global Problem Dimensions",
    "Processor Dimensions",
    "Local Domain Dimensions",
    "Memory Use Information",
    "Iteration Count Information",
    "Benchmark Time Summary",
    "Floating Point Operations Summary",
    "GFLOP/s Summary",
    "Final Summary",
}


class _Entry(NamedTuple):
    key: str
    value: str
    line: int


def sniff(head: bytes, name: str = "") -> bool:
    """Tell whether some bytes look like an HPCG result file."""
    return _SNIFF.search(head) is not None


def values(data: bytes, source: str = "<memory>") -> tuple[dict[str, Any], Faults]:
    """Read a result file into plain values: the variables of the kind ``hpcg`` by name, in its units.

    Those along ``kernel`` (5), ``axis`` (3), ``statistic`` (3) and ``entry`` are lists; ``version`` and
    ``release`` come with them.
    """
    lines, rest = whole_lines(data)
    faults = Faults(source)
    entries = list(_entries(lines))
    if not sniff(data) and _SECTIONS.isdisjoint(_plain(entry.key).split("::")[0] for entry in entries):
        raise ReadError.at(source, 0, "no line is one of an HPCG result file", "check what the file is")
    lookup = _Lookup.of(entries, faults)
    out = _scalars(lookup)
    _result(lookup, out, faults)
    out |= _tables(lookup)
    out |= {"entry": [e.key for e in entries], "value": [e.value for e in entries]}
    if rest.strip():
        faults.damage(len(lines) + 1, "the last line has no end, its value may be cut", "left out")
    elif not any(closing in entry.key + entry.value for entry in entries for closing in _CLOSINGS):
        faults.damage(len(lines), "HPCG's closing lines are missing", "the file is cut; kept what is whole")
    return out, faults


def parse(data: bytes, source: str = "<memory>") -> xr.Dataset:
    """Read a result file: kind ``hpcg``, rating NaN and `valid` false where the result line is missing."""
    read, faults = values(data, source)
    coordinates = {"kernel": KERNELS, "axis": AXES, "statistic": STATISTICS, "entry": read["entry"]}
    attrs = {"tool": "HPCG", "tool_version": read["version"], "release": read["release"], **faults.attrs()}
    ds = xr.Dataset(
        {
            name: (variable.dims, np.array(read[name], dtype=object if variable.dtype == "str" else None))
            for name, variable in schema.declared("hpcg").items()
            if not variable.coordinate
        },
        coords={name: (name, np.array(labels, dtype=object)) for name, labels in coordinates.items()},
        attrs=attrs,
    )
    return schema.conform(ds, "hpcg")


@dataclass(frozen=True, slots=True)
class _Lookup:
    """The first value of each key, found by the key without its ornaments."""

    first: dict[str, _Entry]
    faults: Faults

    @classmethod
    def of(cls, entries: list[_Entry], faults: Faults) -> _Lookup:
        first: dict[str, _Entry] = {}
        for entry in entries:
            plain = _plain(entry.key)
            if plain.startswith(_RESULT) and plain in first:
                faults.note(entry.line, "a second result", "the first is used; split the file")
            first.setdefault(plain, entry)
        return cls(first, faults)

    def text(self, key: str) -> str:
        entry = self.first.get(key)
        return entry.value if entry else ""

    def number(self, key: str, exponent: int = 0) -> float:
        entry = self.first.get(key)
        if entry is None:
            return math.nan
        if not is_number(entry.value):
            self.faults.damage(entry.line, f"{entry.key!r} is {entry.value!r}, not a number", "left blank")
        return scaled(entry.value, exponent) if exponent else number(entry.value)

    def integer(self, key: str) -> int:
        entry = self.first.get(key)
        if entry is None:
            return -1
        value = integer(entry.value)
        if value < 0:
            self.faults.damage(entry.line, f"{entry.key!r} is {entry.value!r}, not a count", "left blank")
            return -1
        return value


def _plain(key: str) -> str:
    # 2.x and 3.0 rule off headings with ** or __, and indent some keys further than others.
    return "::".join(part.strip("*_# ") for part in key.split("::"))


def _entries(lines: list[str]) -> Iterator[_Entry]:
    """Yield the lines of a result; those of a program that printed around it have no such form."""
    start, yaml = _start(lines)
    if yaml is None:
        for at, line in enumerate(lines[start:], start + 1):
            key, mark, value = line.partition("=")
            if mark and key.strip():
                yield _Entry(key, value.strip(), at)
        return
    yield _Entry("version", yaml, start + 1)
    parents: list[tuple[int, str]] = []
    for at, line in enumerate(lines[start + 1 :], start + 2):
        if _RULE.match(line):
            return
        match = _YAML_LINE.fullmatch(line)
        if match is None:
            continue
        indent, key, value = len(match["indent"]), match["key"], match["value"].strip()
        while parents and parents[-1][0] >= indent:
            parents.pop()
        yield _Entry("::".join([*(name for _, name in parents), key]), value, at)
        # Only a heading has no value: remarks are indented further than the line they follow.
        if not value:
            parents.append((indent, key))


def _start(lines: list[str]) -> tuple[int, str | None]:
    """Find the first line of the result and, for the indented form, the version in it."""
    for at, line in enumerate(lines):
        head = _YAML_HEAD.fullmatch(line.rstrip())
        # `version:` alone may be any program's; HPCG's is followed by its release date.
        if head and (line.startswith("HPCG") or "Release date:" in "".join(lines[at + 1 : at + 2])):
            return at, head["version"].lstrip("V")
        if line.strip() == "HPCG-Benchmark" or line.startswith("Machine Summary="):
            return at, None
        if line.startswith("Machine Summary:"):
            return at - 1, ""
    return 0, None


def _scalars(lookup: _Lookup) -> dict[str, Any]:
    return {
        "version": lookup.text("version"),
        "release": lookup.text("Release date"),
        "ranks": lookup.integer("Machine Summary::Distributed Processes"),
        "threads": lookup.integer("Machine Summary::Threads per processes"),
        "setup_time": lookup.number("Setup Information::Setup Time"),
        "benchmark_time": lookup.number("Benchmark Time Summary::Total"),
        "official_time": lookup.number(
            "Final Summary::Official results execution time (sec) must be at least"
        ),
        "iterations": lookup.number("Iteration Count Information::Total number of optimized iterations"),
        "data_memory": lookup.number("Memory Use Information::Total memory used for data (Gbytes)", 9),
    }


def _result(lookup: _Lookup, out: dict[str, Any], faults: Faults) -> None:
    out["rating"] = lookup.number(_RATED)
    out["valid"] = not math.isnan(out["rating"])
    if _RATED in lookup.first:
        return
    verdict = lookup.first.get(_RESULT)
    if verdict is None:
        faults.damage(
            0, "the result line is missing", "the run did not end or the file is cut; rating is blank"
        )
    else:
        found = f"HPCG result is {verdict.value.rstrip('.')}"
        faults.note(verdict.line, found, "the rating is blank; do not use the run")


def _tables(lookup: _Lookup) -> dict[str, Any]:
    raw = [kernel if kernel == "Total" else f"Raw {kernel}" for kernel in KERNELS]
    return {
        "time": [lookup.number(f"Benchmark Time Summary::{kernel}") for kernel in KERNELS],
        "flops": [lookup.number(f"Floating Point Operations Summary::{name}") for name in raw],
        "gflops": [lookup.number(f"GFLOP/s Summary::Raw {kernel}") for kernel in KERNELS],
        "local_size": [lookup.integer(f"Local Domain Dimensions::n{axis}") for axis in AXES],
        "process_grid": [lookup.integer(f"Processor Dimensions::np{axis}") for axis in AXES],
        "global_size": [lookup.integer(f"Global Problem Dimensions::Global n{axis}") for axis in AXES],
        "allreduce_time": [
            lookup.number(f"DDOT Timing Variations::{name} DDOT MPI_Allreduce time")
            for name in ("Min", "Max", "Avg")
        ],
    }
