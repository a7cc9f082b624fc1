"""The records of one task of IPM's XML, line by line: slow, exact, for whatever is not as usual.

Attributes may come in any order and partly be absent (IPM 0.9x has no ``tid`` and no
``callsite``), numbers may have decimal commas. A line that is no record is an error.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from analysis.readers.ipm_rows import Names, Rows
from analysis.readers.ipm_tasks import Segment, number

_RECORD = re.compile(rb'<hent((?:\s+\w+="[^"]*")+)\s*>([^<>"]*)</hent>\s*')
_ATTRIBUTE = re.compile(rb'(\w+)="([^"]*)"')
_INTEGER = re.compile(rb"-?\d{1,18}")
_NAME = re.compile(rb"[A-Za-z_]\w*")
_KEY = re.compile(rb"[0-9A-F]{24}3FFFFFF[DEF]")
_FUNC = re.compile(
    rb'<func name="([^"\n]*)" count="(\d{1,18})"(?: bytes="([^"\n]*)")? ?>\s*([^<>\n]*?)\s*</func>\s*'
)
_REGION = re.compile(rb'<region label="(.*)" nexits=".*')


class BadLineError(ValueError):
    """A line that cannot be read.

    Parameters
    ----------
    offset : int
        Where it begins in the file.
    found : str
    """

    def __init__(self, offset: int, found: str) -> None:
        super().__init__(found)
        self.offset = offset


def read(data: bytes, span: tuple[int, int], task: int, names: Names) -> Rows:
    """Read the records of one task.

    Parameters
    ----------
    data : bytes
    span : tuple of int
        The lines between ``<hash>`` and ``</hash>``.
    task : int
        What the rows' `task` shall be.
    names : Names
        Codes of the calls; new ones are added.

    Raises
    ------
    BadLineError
        At the first line that is no record.
    """
    lines = []
    offset = span[0]
    for line in data[slice(*span)].split(b"\n"):
        if line.strip():
            lines.append(_record(line, offset))
        offset += len(line) + 1
    calls = [names.code(line[0]) for line in lines]
    integers = np.array([line[1] for line in lines], dtype=np.int64).reshape(-1, 5).T
    times = np.array([line[2] for line in lines], dtype=np.float64).reshape(-1, 3).T
    number_of = dict(zip(("size", "orank", "region", "site", "count"), integers, strict=True))
    seconds = dict(zip(("time", "time_min", "time_max"), times, strict=True))
    return Rows(
        task=np.full(len(lines), task, dtype=np.int32),
        call=np.array(calls, dtype=np.int16),
        anyone=np.array([line[3] for line in lines], dtype=bool),
        **number_of,
        **seconds,
    )


def _record(line: bytes, offset: int) -> tuple[bytes, list[int], list[float], bool]:
    match = _RECORD.fullmatch(line)
    if match is None:
        raise BadLineError(offset, f"no <hent> record: {_shown(line)}")
    table = dict(_ATTRIBUTE.findall(match[1]))
    integers = [table.get(name, b"") for name in (b"bytes", b"orank", b"region")]
    integers += [table.get(b"callsite", b"-1"), table.get(b"count", b"")]
    times = match[2].split()
    if not _NAME.fullmatch(table.get(b"call", b"")) or not all(map(_INTEGER.fullmatch, integers)):
        raise BadLineError(offset, f"a <hent> without call, bytes, orank, region or count: {_shown(line)}")
    try:
        seconds = [number(time) for time in times]
    except ValueError:
        seconds = []
    if len(seconds) != 3 or not np.isfinite(seconds).all():
        raise BadLineError(offset, f"a <hent> without three times: {_shown(line)}")
    anyone = bool(_KEY.fullmatch(table.get(b"key", b"")))
    return table[b"call"], [int(value) for value in integers], seconds, anyone


def _shown(line: bytes) -> str:
    return ascii(line[:60].decode("iso-8859-1"))


@dataclass
class Total:
    """Sum of the ``<func>`` lines of one call in one region; `size` in B, `time` in s."""

    count: int = 0
    size: float = 0.0
    time: float = 0.0

    def add(self, other: Total, sign: int = 1) -> None:
        """Add another sum, or take it away."""
        self.count += sign * other.count
        self.size += sign * other.size
        self.time += sign * other.time


def read_totals(data: bytes, segment: Segment) -> list[tuple[bytes, bytes, Total]]:
    """Sum the ``<func>`` lines of one task by region and call.

    Regions nest under ``IPM_NESTED_REGIONS``, and the lines of a region then contain those of the
    regions in it; here a region keeps only what is its own.

    Returns
    -------
    list of (region, call, Total)
        ``size`` is NaN where a line gives no bytes, as in IPM 0.9x.

    Raises
    ------
    BadLineError
        At the first damaged line.
    """
    out: list[tuple[bytes, bytes, Total]] = []
    # Per open region: its label, its lines, and the lines of the regions in it.
    stack: list[tuple[bytes, dict[bytes, Total], dict[bytes, Total]]] = []
    offset = segment.start
    for raw in data[segment.start : segment.head].split(b"\n"):
        line = raw.strip()
        if line.startswith(b"<region "):
            stack.append((_label(line, offset), {}, {}))
        elif line.startswith(b"<hent"):
            raise BadLineError(offset, "a <hent> record outside any <hash>")
        elif line.startswith((b"<func", b"</region>")) and not stack:
            raise BadLineError(offset, f"{_shown(line)} outside any region")
        elif line.startswith(b"<func"):
            name, total = _func(line, offset)
            stack[-1][1].setdefault(name, Total()).add(total)
        elif line == b"</region>":
            label, own, inner = stack.pop()
            if stack:
                for name, total in own.items():
                    stack[-1][2].setdefault(name, Total()).add(total)
            _take_away(own, inner)
            out += [(label, name, total) for name, total in own.items() if total.count]
        offset += len(raw) + 1
    if stack:
        raise BadLineError(segment.head, f"region {_shown(stack[-1][0])} is not closed")
    return out


def _take_away(own: dict[bytes, Total], inner: dict[bytes, Total]) -> None:
    if any(own.get(name, Total()).count < total.count for name, total in inner.items()):
        return  # a version whose regions leave out what is in the regions in them
    for name, total in inner.items():
        own[name].add(total, sign=-1)


def _label(line: bytes, offset: int) -> bytes:
    match = _REGION.fullmatch(line)
    if match is None:
        raise BadLineError(offset, f"no region: {_shown(line)}")
    return match[1]


def _func(line: bytes, offset: int) -> tuple[bytes, Total]:
    match = _FUNC.fullmatch(line)
    try:
        if match is None or not _NAME.fullmatch(match[1]):
            raise ValueError
        size = float("nan") if match[3] is None else number(match[3])
        return match[1], Total(int(match[2]), size, number(match[4]))
    except ValueError:
        raise BadLineError(offset, f"no <func> line: {_shown(line)}") from None
