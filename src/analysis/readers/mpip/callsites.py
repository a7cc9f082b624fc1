"""The list of call sites with their stacks: vectorised, or line by line where a line is odd.

With address randomisation there are several call sites a rank, so this list can be most of a report;
its frames repeat, and each distinct stack is spelt once.
"""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from analysis.readers.base import Faults, labels
from analysis.readers.mpip.report import Report, Section, call_name
from analysis.readers.mpip.rows import CHUNK
from analysis.readers.text import printable

_ADDRESS = re.compile(r"(0x[0-9a-fA-F]+|\[unknown\])(?:\s+(.*))?")
_SOURCE = re.compile(r"(?<=\S)\s++(\d++)(?:\s|$)")
_DIGITS = 9  # of the largest id, so that it fits i4
_LINES = 1 << 14  # taken at a time, so that they stay in the cache

# Ids of the sites, number of each site's stack, and the frames of each distinct stack.
_Stacks = tuple[np.ndarray, np.ndarray, list[tuple[bytes, ...]]]


def read_callsites(report: Report, faults: Faults) -> dict[str, np.ndarray]:
    """Read id, frames (innermost first) and call of each site; nothing without the list (``-d``, ``-k0``)."""
    section = report.sections.get("callsites")
    if section is None:
        return {}
    ids, codes, stacks = _read_fast(report, section) or _read_slow(report, section, faults)
    names, calls = [], []
    for frames in stacks:
        body, _, call = frames[0].strip().rpartition(b" ")
        try:
            calls.append(call_name(call))
        except ValueError as error:
            calls.append("")
            faults.damage(report.line(section.heading), f"a call site: {error}", "its call is left empty")
        names.append(" < ".join(_frame(printable(frame)) for frame in (body, *frames[1:])))
    if section.announced not in (-1, len(ids)) and "end" in report.sections:
        what = f"{section.announced} call sites announced, {len(ids)} found"
        faults.damage(report.line(section.heading), what, "those found are kept")
    return {
        "callsite": ids.astype(np.int32),
        "callsite_name": labels(codes, names),
        "callsite_call": labels(codes, calls),
    }


def _frame(body: str) -> str:
    address = _ADDRESS.fullmatch(body)
    if address:
        function = (address[2] or "").strip()
        return address[1] if function in ("", "[unknown]") else f"{address[1]} {function}"
    source = _SOURCE.search(body)
    return f"{body[: source.start()]}:{source[1]} {body[source.end() :].strip()}".strip() if source else body


def _read_slow(report: Report, section: Section, faults: Faults) -> _Stacks:
    ids: list[int] = []
    stacks: list[tuple[bytes, ...]] = []
    current, depth = b"", 0
    for number, line in list(report.lines(section))[1:]:
        parts = line.split(None, 2)
        if len(parts) == 3 and parts[1] == b"0" and parts[0].isdigit() and len(parts[0]) <= _DIGITS:
            current, depth = parts[0], 0
            ids.append(int(current))
            stacks.append((parts[2].rstrip(),))
        elif len(parts) == 3 and parts[0] == current and parts[1] == b"%d" % (depth + 1):
            depth += 1
            stacks[-1] = (*stacks[-1], parts[2].rstrip())
        else:
            current = b""  # levels below a damaged one have lost their place
            faults.damage(
                number, f"row of {section.title!r}: no call site, level and frame", "it is left out"
            )
    distinct = {stack: code for code, stack in enumerate(dict.fromkeys(stacks))}
    codes = np.array([distinct[stack] for stack in stacks], dtype=np.int64)
    return np.array(ids, dtype=np.int64), codes, list(distinct)


def _read_fast(report: Report, section: Section) -> _Stacks | None:
    """Read the lines in columns; None if one is not id, level and frame, or not where it is due."""
    start = report.data.find(b"\n", section.start, section.stop) + 1
    if not start or start >= section.stop:
        return None
    raw = np.frombuffer(report.data, dtype=np.uint8, count=section.stop - start, offset=start)
    chunks = range(0, len(raw), CHUNK)
    ends = [np.flatnonzero(raw[at : at + CHUNK] == ord("\n")) + at + 1 for at in chunks]
    bounds = np.concatenate([[0], *ends])
    known: dict[bytes, int] = {}
    parts = []
    for at in range(0, len(bounds) - 1, _LINES):
        part = _parse(raw, bounds[at : at + _LINES + 1], known)
        if part is None:
            return None
        parts.append(part)
    ids, levels, codes = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    top = levels == 0
    site = np.cumsum(top) - 1
    if not top[0] or (~top[1:] & (levels[1:] != levels[:-1] + 1)).any() or (ids != ids[top][site]).any():
        return None
    return ids[top], *_stacks(codes, list(known), levels, site)


def _parse(
    raw: np.ndarray, bounds: np.ndarray, known: dict[bytes, int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return id, level and code of the frame of each line; new frames go into `known`."""
    text = pa.LargeStringArray.from_buffers(len(bounds) - 1, pa.py_buffer(bounds), pa.py_buffer(raw))
    lines = pc.ascii_trim_whitespace(text)
    cells = pc.ascii_split_whitespace(lines, max_splits=2)
    if not pc.all(pc.equal(pc.list_value_length(cells), 3)).as_py():
        return None
    ids, levels, frames = (cells.flatten()[at::3] for at in range(3))
    for numbers in (ids, levels):
        if (
            not pc.all(pc.ascii_is_decimal(numbers)).as_py()
            or pc.max(pc.binary_length(numbers)).as_py() > _DIGITS
        ):
            return None
    encoded = frames.dictionary_encode()
    distinct = encoded.dictionary.cast(pa.large_binary()).to_pylist()
    codes = np.array([known.setdefault(frame, len(known)) for frame in distinct], dtype=np.int64)
    whole = (numbers.cast(pa.int64()).to_numpy() for numbers in (ids, levels))
    return *whole, codes[encoded.indices.to_numpy()]


def _stacks(
    codes: np.ndarray, distinct: list[bytes], levels: np.ndarray, site: np.ndarray
) -> tuple[np.ndarray, list[tuple[bytes, ...]]]:
    stack = codes[levels == 0]
    known: list[tuple[bytes, ...]] = [(frame,) for frame in distinct]
    for level in range(1, int(levels.max()) + 1):
        here = levels == level
        deeper = np.zeros(len(stack), dtype=np.int64)
        deeper[site[here]] = codes[here] + 1
        width = len(distinct) + 1
        stack, pairs = pd.factorize(stack * width + deeper)
        known = [
            known[pair // width] + ((distinct[pair % width - 1],) if pair % width else ())
            for pair in pairs.tolist()
        ]
    return stack, known
