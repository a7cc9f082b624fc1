"""HPCG's result file: ``A::B=value`` lines of 3.1, indented ``key: value`` lines of 1.x to 3.0.

HPCG also writes a log (``hpcg<date>.txt``); it contains residuals only and is not of this format. HPCG
calls runs valid that are far too short; `official_time` is the time that it asks for. Its gigabytes are
10^9 B. A job's output can contain several results: `parse_each` reads all.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import xarray as xr

from analysis.base.errors import ReadError
from analysis.readers.base import Faults
from analysis.readers.format import Format
from analysis.readers.text import contains, integer, is_number, number, scaled, whole_lines
from analysis.schema import registry

FORMAT = Format(
    engine="hpcg", tool="HPCG", marks=((b"HPCG-Benchmark", b"Machine Summary"),), near="HPCG",
    first_line="^HPCG-Benchmark", figure_of_merit="rating", unit="Gflop/s", fixed_time=True,
    problem=("nx", "ny", "nz"),
)  # fmt: skip
_SNIFF = re.compile(
    rb"^(?:HPCG-Benchmark(?:[ \t\r]*$|.*\bversion *[:=])|Machine Summary *[:=])", re.MULTILINE
)
# An indented document since 2015; its first word is the program's own and differs by vendor.
_YAML_HEAD = re.compile(r"(?:\S.* )?version: *V?(?P<version>\d\S*)")
# Before that three lines: `HPCG-Benchmark`, `2.4`, `HPCG Benchmark: Version 2.4 June 3, 2014`.
_OLD_VERSION = re.compile(r"\d+\.\d\S*")
_OLD_RELEASE = re.compile(r"HPCG Benchmark: Version \S+ (?P<release>.*)")
# The second line of 3.1; vendors and forks have a first line of their own, and put a name before the number.
_FLAT_HEAD = re.compile(r"version=(?:\S*[_-])?V?(?P<version>\d\S*)")
_YAML_LINE = re.compile(r"(?P<indent> *)(?P<key>\S.*?): ?(?P<value>.*)")
_RULE = re.compile(r"(?=[=#*_-]{4}).*\b(?:Start|End) *+[=#*_-]{4}")

KERNELS = ("DDOT", "WAXPBY", "SpMV", "MG", "Total")
AXES = ("x", "y", "z")
STATISTICS = ("min", "max", "avg")

_RAW = tuple(kernel if kernel == "Total" else f"Raw {kernel}" for kernel in KERNELS)
_OF_ALLREDUCE = "DDOT Timing Variations"
_TABLES: dict[str, tuple[str, ...]] = {
    "Machine Summary": ("Distributed Processes", "Threads per processes"),
    "Global Problem Dimensions": tuple(f"Global n{axis}" for axis in AXES),
    "Processor Dimensions": tuple(f"np{axis}" for axis in AXES),
    "Local Domain Dimensions": tuple(f"n{axis}" for axis in AXES),
    "Iteration Count Information": tuple(
        f"Total number of {kind} iterations" for kind in ("reference", "optimized")
    ),
    "Benchmark Time Summary": KERNELS,
    "Floating Point Operations Summary": _RAW,
    "GFLOP/s Summary": tuple(f"Raw {kernel}" for kernel in KERNELS),
    _OF_ALLREDUCE: tuple(f"{name} DDOT MPI_Allreduce time" for name in ("Min", "Max", "Avg")),
}

_RESULT = "Final Summary::HPCG result is"
_RATED = f"{_RESULT} VALID with a GFLOP/s rating of"
_OVERALL = "GFLOP/s Summary::Total with convergence and optimization phase overhead"
_ROUNDING = 2e-5  # of three numbers with six digits
# Each version and each outcome closes its file with one of these.
_CLOSINGS = ("Official results execution time", "upload results", "send the YAML", "You may NOT submit")


# From the first line of a head to the first section, with a line to spare.
_HEAD_LINES = 5
# One of them is enough to know a file whose head is damaged.
_SECTIONS = {"Memory Use Information", "Final Summary", *_TABLES} - {"Machine Summary", _OF_ALLREDUCE}


class _Entry(NamedTuple):
    key: str
    value: str
    line: int


class _Head(NamedTuple):
    """Where a result begins, the first line after its head, and what that says."""

    line: int
    body: int
    indented: bool
    version: str = ""
    release: str = ""


def sniff(head: bytes, name: str = "") -> bool:
    """Tell whether some bytes look like an HPCG result file."""
    return contains(head, _SNIFF, b"HPCG-Benchmark", b"Machine Summary")


def values(data: bytes, source: str = "<memory>") -> list[tuple[dict[str, Any], Faults]]:
    """Read the results of a file into plain values: the variables of the kind ``hpcg`` by name, in its units.

    Those along ``kernel`` (5), ``axis`` (3), ``statistic`` (3) and ``entry`` are lists; ``version`` and
    ``release`` come with them.
    """
    lines, rest = whole_lines(data)
    heads = list(_heads(lines)) or [_Head(0, 0, indented=False)]
    ends = [head.line for head in heads[1:]] + [len(lines)]
    found = [list(_entries(lines, head, end)) for head, end in zip(heads, ends, strict=True)]
    keys = (plain(entry.key).split("::")[0] for entries in found for entry in entries)
    if not sniff(data) and _SECTIONS.isdisjoint(keys):
        raise ReadError.at(source, 0, "no line is one of an HPCG result file", "check what the file is")
    last = len(lines) + 1 if rest.strip() else 0
    return [
        _result_values(head, entries, Faults(source), end, last if end == ends[-1] else 0)
        for head, entries, end in zip(heads, found, ends, strict=True)
    ]


def _result_values(
    head: _Head, entries: list[_Entry], faults: Faults, end: int, cut: int
) -> tuple[dict[str, Any], Faults]:
    lookup = _Lookup.of(entries, faults)
    out = _scalars(lookup)
    out |= {
        "line": head.line + 1,
        "version": head.version,
        "release": head.release or lookup.text("Release date"),
    }
    _result(lookup, out, faults)
    out |= _tables(lookup)
    out |= {"entry": [e.key for e in entries], "value": [e.value for e in entries]}
    _check_keys(lookup)
    _check(lookup, out)
    if cut:
        faults.damage(cut, "the last line has no end, its value may be cut", "left out")
    elif not any(closing in text for text in out["entry"] + out["value"] for closing in _CLOSINGS):
        faults.damage(end, "HPCG's closing lines are missing", "the file is cut; kept what is whole")
    return out, faults


def parse(data: bytes, source: str = "<memory>") -> xr.Dataset:
    """Read the first result of a file: kind ``hpcg``, rating NaN and `valid` false without a result line."""
    found = values(data, source)
    read, faults = found[0]
    if len(found) > 1:
        faults.note(read["line"], f"the first of {len(found)} results", "a campaign takes each as a repeat")
    return _dataset(read, faults)


def parse_each(data: bytes, source: str = "<memory>") -> list[xr.Dataset]:
    """Read all results of a file: the program ran more than once in a job."""
    return [_dataset(read, faults) for read, faults in values(data, source)]


def problem(ds: xr.Dataset) -> str:
    """Spell the problem of a result, its local grid: ``nx=104 ny=104 nz=104``."""
    sizes = [int(size) for size in ds["local_size"].values]
    known = zip(FORMAT.problem, sizes, strict=True)
    return FORMAT.identity({name: size for name, size in known if size > 0})


def _dataset(read: dict[str, Any], faults: Faults) -> xr.Dataset:
    coordinates = {"kernel": KERNELS, "axis": AXES, "statistic": STATISTICS, "entry": read["entry"]}
    about = {"tool": FORMAT.tool, "tool_version": read["version"], "release": read["release"]}
    return registry.of_values(read | coordinates, "hpcg", {**about, **faults.attrs()})


@dataclass(frozen=True, slots=True)
class _Lookup:
    """The first value of each key, found by the key without its ornaments."""

    first: dict[str, _Entry]
    faults: Faults

    @classmethod
    def of(cls, entries: list[_Entry], faults: Faults) -> _Lookup:
        first: dict[str, _Entry] = {}
        for entry in entries:
            first.setdefault(plain(entry.key), entry)
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
            return math.nan
        value = scaled(entry.value, exponent) if exponent else number(entry.value)
        if 0 <= value < math.inf:
            return value
        # A kernel that took no time has an infinite rate: what the program prints is no damage of the file.
        say = self.faults.damage if value < 0 else self.faults.note
        say(entry.line, f"{entry.key!r} is {entry.value}, no number that can be", "left blank")
        return math.nan

    def integer(self, key: str) -> int:
        entry = self.first.get(key)
        if entry is None:
            return -1
        value = integer(entry.value)
        if value < 0:
            self.faults.damage(entry.line, f"{entry.key!r} is {entry.value!r}, not a count", "left blank")
            return -1
        return value

    def contradiction(self, key: str, other: str) -> None:
        """Say that the value of a key cannot be true together with what else the file says."""
        entry = self.first[key]
        found = f"{entry.key!r} is {entry.value}, which contradicts {other}"
        self.faults.damage(entry.line, found, "one of the numbers is damaged; get the file again")


@lru_cache(4096)  # all files have the same keys
def plain(key: str) -> str:
    """Return the key of an entry without its ornaments."""
    # 2.x and 3.0 rule off headings with ** or __, and indent some keys further than others.
    return "::".join(part.strip("*_# ") for part in key.split("::"))


def _heads(lines: list[str]) -> Iterator[_Head]:
    """Find where each result begins: by its head or, where that is damaged, by its first section."""
    after = 0  # a section that belongs to a head stands below it
    for at, line in enumerate(lines):
        if not ("version" in line or line.startswith(("HPCG-Benchmark", "Machine Summary"))):
            continue
        head = _head(lines, at)
        if head is None and line.startswith(("Machine Summary:", "Machine Summary=")) and at >= after:
            head = _Head(at, at, indented=line[15] == ":")
        if head is not None:
            after = at + _HEAD_LINES
            yield head


def _head(lines: list[str], at: int) -> _Head | None:
    line = lines[at].rstrip()
    below = [text.rstrip() for text in lines[at + 1 : at + 3]] + ["", ""]
    if line == "HPCG-Benchmark" and _OLD_VERSION.fullmatch(below[0]):
        release = _OLD_RELEASE.fullmatch(below[1])
        return _Head(at, at + 2, True, below[0], release["release"] if release else "")
    for pattern, indented in ((_YAML_HEAD, True), (_FLAT_HEAD, False)):
        head = pattern.fullmatch(line)
        # `version` alone may be any program's; HPCG's is followed by its release date.
        if head and (line.startswith("HPCG") or below[0].startswith("Release date")):
            return _Head(at, at, indented, head["version"])
    return None


def _entries(lines: list[str], head: _Head, end: int) -> Iterator[_Entry]:
    """Yield the lines of a result; those of a program that printed around it have no such form."""
    if not head.indented:
        for at, line in enumerate(lines[head.body : end], head.body + 1):
            key, mark, value = line.partition("=")
            if mark and key.strip():
                yield _Entry(key, value.strip(), at)
        return
    parents: list[tuple[int, str]] = []
    for at, line in enumerate(lines[head.body : end], head.body + 1):
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


def _scalars(lookup: _Lookup) -> dict[str, Any]:
    return {
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
    def numbers(table: str) -> list[float]:
        return [lookup.number(f"{table}::{name}") for name in _TABLES[table]]

    def counts(table: str) -> list[int]:
        return [lookup.integer(f"{table}::{name}") for name in _TABLES[table]]

    local, grid, whole = (
        counts(f"{name} Dimensions") for name in ("Local Domain", "Processor", "Global Problem")
    )
    if local[2] < 0 < grid[2] and whole[2] % grid[2] == 0:
        local[2] = whole[2] // grid[2]
    return {
        "time": numbers("Benchmark Time Summary"),
        "flops": numbers("Floating Point Operations Summary"),
        "gflops": numbers("GFLOP/s Summary"),
        "local_size": local,
        "process_grid": grid,
        "global_size": whole,
        "allreduce_time": numbers(_OF_ALLREDUCE),
    }


def _check_keys(lookup: _Lookup) -> None:
    """Find keys that have lost a letter: every release writes these tables, and the whole of each."""
    ends = {key.rpartition("::")[2] for key in lookup.first}
    for table, names in _TABLES.items():
        keys = [f"{table}::{name}" for name in names]
        known = [lookup.first[key].line for key in keys if key in lookup.first]
        missing = [key for key in keys if key not in lookup.first]
        if table == _OF_ALLREDUCE and not known and ends.isdisjoint(names):
            continue  # without MPI there is none
        if (
            missing == ["Local Domain Dimensions::nz"]
            and "Local Domain Dimensions::Lower ipz" not in lookup.first
        ):
            continue  # NVIDIA's program writes two of the three
        if missing:
            found = f"no line {', '.join(map(repr, missing))}"
            lookup.faults.damage(known[0] if known else 0, found, "left blank; get the whole file")


def _check(lookup: _Lookup, out: dict[str, Any]) -> None:
    """Hold the numbers of a result against each other: one that has lost a digit contradicts the rest."""
    grid, ranks = out["process_grid"], out["ranks"]
    if min(grid) > 0 and ranks > 0 and math.prod(grid) != ranks:
        lookup.contradiction("Machine Summary::Distributed Processes", f"a grid of {grid}")
    for axis, size, count, whole in zip("xy", out["local_size"], grid, out["global_size"], strict=False):
        # Along z the ranks may have unequal parts.
        if min(size, count, whole) > 0 and size * count != whole:
            lookup.contradiction(f"Global Problem Dimensions::Global n{axis}", f"{count} times {size}")
    for kernel, flops, time, rate in zip(KERNELS, out["flops"], out["time"], out["gflops"], strict=True):
        if time > 0 and not _agree(rate * time * 1e9, flops):
            lookup.contradiction(f"GFLOP/s Summary::Raw {kernel}", f"{flops:g} operations in {time:g} s")
    parts = math.fsum(out["flops"][:-1])
    if not _agree(parts, out["flops"][-1]):
        lookup.contradiction("Floating Point Operations Summary::Total", f"the sum {parts:g} of its parts")
    for key, entry in lookup.first.items() if out["rating"] > 0 else ():
        if key.endswith("::Result") and entry.value == "FAILED":  # of a test without which none is valid
            lookup.contradiction(key, "a rating that is VALID")
    rated = lookup.first.get(_OVERALL)
    if rated and is_number(rated.value) and not _agree(number(rated.value), out["rating"]):
        lookup.contradiction(_RATED, f"a total of {rated.value}")


def _agree(one: float, other: float) -> bool:
    # Six digits are printed; a blank contradicts nothing.
    return not abs(one - other) > _ROUNDING * abs(other)
