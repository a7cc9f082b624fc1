"""The result line of ``src/proxy``, in whatever else a job printed; times are in seconds."""

from __future__ import annotations

import math
import re

import numpy as np
import xarray as xr

from analysis import schema
from analysis.base.errors import ReadError
from analysis.readers.base import Faults
from analysis.readers.text import TAG, integer, number, whole_lines

_SNIFF = re.compile(rf"^{TAG}?proxy result: ".encode(), re.MULTILINE)
_RESULT = re.compile(rf"{TAG}?proxy result: (?P<pairs>.*)")
_PAIR = re.compile(r"(?<!\w)(\w++)=(\S+)")
_COUNTS = ("ranks", "bytes", "count", "work")
_TIMES = ("time", "time_min", "io_time")
_TEXTS = ("pattern", "checksum")


def sniff(head: bytes, name: str = "") -> bool:
    """Tell whether some bytes hold a result line."""
    return _SNIFF.search(head) is not None


def parse(data: bytes, source: str = "<memory>") -> xr.Dataset:
    """Read the result line, of several the last: kind ``proxy``, all scalars."""
    if not sniff(data):
        raise ReadError.at(
            source, 0, "no line 'proxy result: ...'", "give the standard output of the program"
        )
    lines, rest = whole_lines(data)
    faults = Faults(source)
    found = [(at, match["pairs"]) for at, line in enumerate(lines, 1) if (match := _RESULT.fullmatch(line))]
    if (cut := _RESULT.fullmatch(rest)) is not None:
        faults.damage(len(lines) + 1, "the result line has no end", "its last value is left out")
        found.append((len(lines) + 1, cut["pairs"].rstrip().rpartition(" ")[0]))
    for at, _ in found[:-1]:
        faults.note(at, "a result of an earlier run", f"left out; the last one, line {found[-1][0]}, is read")
    at, pairs = found[-1]
    entries = dict(_PAIR.findall(pairs))
    attrs = {"tool": "proxy", "tool_version": entries.get("version", "")}
    values = _values(entries, at, faults)
    return schema.conform(xr.Dataset(values, attrs={**attrs, **faults.attrs()}), "proxy")


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
