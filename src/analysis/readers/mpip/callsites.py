"""The list of call sites with their stacks: vectorised, or line by line where a line is odd.

With address randomisation there are several call sites a rank, so this list can be most of a report;
its frames repeat, and each distinct stack is spelt once.
"""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pyarrow as pa

from analysis.readers.base import Faults, labels
from analysis.readers.mpip.report import Report, Section, call_name, text
from analysis.readers.mpip.rows import CHUNK

_ADDRESS = re.compile(r"(0x[0-9a-fA-F]+|\[unknown\])(?:\s+(.*))?")
_SOURCE = re.compile(r"(\S.*?)\s+(\d+)(?:\s(.*))?")
_DIGITS = 9  # of the largest id, so that it fits i4
_LINES = 1 << 14  # taken at a time, so that they stay in the cache

# Ids of the sites, number of each site's stack, and the frames of each distinct stack.
_Stacks = tuple[np.ndarray, np.ndarray, list[tuple[bytes, ...]]]


def read_callsites(report: Report, faults: Faults, *, fast: bool = True) -> dict[str, np.ndarray]:
    """Read the list of call sites with their stacks.

    Parameters
    ----------
    report : Report
    faults : Faults
    fast : bool
        False reads line by line in any case.

    Returns
    -------
    dict of ndarray, shape (callsite,)
        ``callsite`` (id), ``callsite_name`` (frames, innermost first, joined with `` < ``) and
        ``callsite_call``; empty without the section (options ``-d`` and ``-k0``).
    """
    section = report.sections.get("callsites")
    if section is None:
        return {}
    found = _read_fast(report, section) if fast else None
    ids, codes, stacks = found or _read_slow(report, section, faults)
    names, calls = [], []
    for frames in stacks:
        body, _, call = frames[0].strip().rpartition(b" ")
        try:
            calls.append(call_name(call))
        except ValueError as error:
            calls.append("")
            faults.damage(report.line(section.heading), f"a call site: {error}", "its call is left empty")
        names.append(" < ".join(_frame(text(frame)) for frame in (body, *frames[1:])))
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
    source = _SOURCE.fullmatch(body)
    return f"{source[1]}:{source[2]} {(source[3] or '').strip()}".strip() if source else body


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
    """Read lines of the form ``%3d %3d frame``; None if one is of another form."""
    header = report.data.find(b"\n", section.start, section.stop)
    if header < 0 or header + 1 >= section.stop:
        return None
    start = header + 1
    raw = np.frombuffer(report.data, dtype=np.uint8, count=section.stop - start, offset=start)
    chunks = range(0, len(raw), CHUNK)
    ends = np.concatenate([np.flatnonzero(raw[at : at + CHUNK] == ord("\n")) + at for at in chunks])
    starts = np.append(0, ends[:-1] + 1)
    if int((ends - starts).min()) < 9:
        return None
    known: dict[bytes, int] = {}
    parts = []
    for at in range(0, len(ends), _LINES):
        part = _parse(raw, starts[at : at + _LINES], ends[at : at + _LINES], known)
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
    raw: np.ndarray, starts: np.ndarray, ends: np.ndarray, known: dict[bytes, int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return id, level and code of the frame of each line; new frames go into `known`."""
    parsed = _ids_and_levels(raw, starts)
    if parsed is None:
        return None
    ids, levels, frames = parsed
    if (frames >= ends).any() or (raw[frames] <= ord(" ")).any():
        return None
    codes, distinct = _encode(raw, frames, ends)
    numbers = np.array([known.setdefault(frame, len(known)) for frame in distinct], dtype=np.int64)
    return ids, levels, numbers[codes]


def _ids_and_levels(raw: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return id, level and offset of the frame of each line; None if one is of another form."""
    at = starts.copy()
    for _ in range(2):  # at most two blanks pad an id
        at += raw[at] == ord(" ")
    numbers = []
    for width in (_DIGITS, 3):
        value = np.zeros(len(at), dtype=np.int64)
        inside = np.ones(len(at), dtype=bool)
        first = at.copy()
        for _ in range(width):
            digit = raw[np.minimum(at, len(raw) - 1)].astype(np.int64) - ord("0")
            inside &= (digit >= 0) & (digit <= 9)
            if not inside.any():
                break
            value = np.where(inside, value * 10 + digit, value)
            at += inside
        after = np.minimum(at, len(raw) - 1)
        if (at == first).any() or (raw[after] != ord(" ")).any():
            return None
        numbers.append(value)
        at = at + 1
        if width == _DIGITS:
            for _ in range(2):
                at += raw[np.minimum(at, len(raw) - 1)] == ord(" ")
    return numbers[0], numbers[1], at


def _encode(raw: np.ndarray, frames: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, list[bytes]]:
    """Give numbers to the distinct frames ``raw[frames:ends]`` without making an object of each."""
    offsets = np.empty(2 * len(frames), dtype=np.int64)
    offsets[0::2], offsets[1::2] = frames, ends
    # Every second element is a frame, those between are line ends and ids.
    pieces = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(raw)]
    )
    encoded = pieces.take(pa.array(np.arange(0, len(offsets) - 1, 2))).dictionary_encode()
    return encoded.indices.to_numpy().astype(np.int64), [f.rstrip() for f in encoded.dictionary.to_pylist()]


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
