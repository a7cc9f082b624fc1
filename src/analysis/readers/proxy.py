"""The lines of ``src/proxy``, in whatever else a job printed; times are in seconds, of exchanges in us."""

import math
import re

import numpy as np
import xarray as xr

from analysis.base.errors import ReadError
from analysis.readers.base import Faults
from analysis.readers.format import Format
from analysis.readers.text import TAG, contains, integer, number, whole_lines
from analysis.schema import registry

FORMAT = Format(
    engine="proxy", title="Communication patterns of the reports' applications", subject="the proxy",
    figure_of_merit="time", unit="s", higher_is_better=False,
)  # fmt: skip
_SNIFF = re.compile(rf"^{TAG}?proxy (?:result|exchange): ".encode(), re.MULTILINE)
_RESULT = re.compile(rf"{TAG}?proxy result: (?P<pairs>.*)")
_EXCHANGE = re.compile(rf"{TAG}?proxy exchange: (?P<pairs>.*)")
_PAIR = re.compile(r"(?<!\w)(\w++)=(\S+)")
_COUNTS = ("ranks", "bytes", "count", "work")
_TIMES = ("time", "time_min", "io_time")
_TEXTS = ("pattern", "checksum")


def sniff(head: bytes, name: str = "") -> bool:
    """Tell whether some bytes hold a result line."""
    return contains(head, _SNIFF, b"proxy result: ", b"proxy exchange: ")


def parse(data: bytes, source: str = "<memory>") -> xr.Dataset:
    """Read the result line, of several the last: kind ``proxy``, scalars and, of an exchange, its sizes."""
    if not sniff(data):
        raise ReadError.at(
            source, 0, "no line 'proxy result: ...'", "give the standard output of the program"
        )
    lines, rest = whole_lines(data)
    faults = Faults(source)
    found, exchanges = _matches(_RESULT, lines), _matches(_EXCHANGE, lines)
    if (cut := _RESULT.fullmatch(rest)) is not None:
        faults.damage(len(lines) + 1, "the result line has no end", "its last value is left out")
        found.append((len(lines) + 1, cut["pairs"].rstrip().rpartition(" ")[0]))
    if not found:
        faults.damage(len(lines) + 1, "no result line", "its sizes are read; the run did not end")
        found.append((len(lines) + 1, ""))
    for at, _ in found[:-1]:
        faults.note(at, "a result of an earlier run", f"left out; the last one, line {found[-1][0]}, is read")
    at, pairs = found[-1]
    entries = dict(_PAIR.findall(pairs))
    attrs = {"tool": FORMAT.tool, "tool_version": entries.get("version", "")}
    values = _values(entries, at, faults)
    # Of an earlier result's exchange as of its result: the last one is read.
    earlier = found[-2][0] if len(found) > 1 else 0
    values |= _exchanges([one for one in exchanges if earlier < one[0]], faults)
    return registry.conform(xr.Dataset(values, attrs={**attrs, **faults.attrs()}), "proxy")


def _matches(pattern: re.Pattern[str], lines: list[str]) -> list[tuple[int, str]]:
    return [(at, found["pairs"]) for at, line in enumerate(lines, 1) if (found := pattern.fullmatch(line))]


def _values(entries: dict[str, str], at: int, faults: Faults) -> dict[str, object]:
    values: dict[str, object] = {name: integer(entries.get(name, "")) for name in _COUNTS}
    values |= {name: number(entries.get(name, "")) for name in _TIMES}
    blank = [name for name in _COUNTS if values[name] == -1]
    blank += [name for name in _TIMES if not math.isfinite(number(entries.get(name, "")))]
    blank += [name for name in _TEXTS if name not in entries]
    if blank:
        faults.damage(at, f"no value of {', '.join(blank)}", "left blank")
    if entries.get("errors", "0") != "0":
        faults.damage(at, f"errors={entries['errors']}", "blocks arrived wrong: do not use the run")
    return {**values, **{name: np.array(entries.get(name, ""), dtype=object) for name in _TEXTS}}


def _exchanges(lines: list[tuple[int, str]], faults: Faults) -> dict[str, object]:
    """Read the lines of an exchange's sizes; one that lacks a value is left out."""
    rows = []
    for at, pairs in lines:
        entries = dict(_PAIR.findall(pairs))
        counts = [integer(entries.get(name, "")) for name in ("bytes", "partners", "count")]
        times = [1e6 * number(entries.get(name, "")) for name in ("time", "time_min")]
        if -1 in counts or not all(map(math.isfinite, times)):
            faults.damage(at, "an exchange without all of its values", "left out")
            continue
        rows.append((*counts, *times))
    if not rows:
        return {}
    names = ("size", "partners", "iterations", "latency", "latency_least")
    columns = zip(*rows, strict=True)
    return {name: ("size", np.array(column)) for name, column in zip(names, columns, strict=True)}
