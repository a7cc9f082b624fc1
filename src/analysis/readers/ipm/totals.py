"""The sums that IPM prints of each task, by region and call, from its ``<func>`` lines."""

from __future__ import annotations

import re
from dataclasses import dataclass

from analysis.readers.ipm.records import NAME, BadLineError, Segment, excerpt
from analysis.readers.text import real

_FUNC = re.compile(
    rb'<func name="([^"\n]*)" count="(\d{1,18})"(?: bytes="([^"\n]*)")? ?>\s*+([^<>\n]*+)\s*+</func>\s*'
)
_PRINTED = rb"(\d\.\d+e[+-]\d\d)"
_FUNC_CELLS = re.compile(
    rb'<func name="(\w+)" count="(\d{1,18})" bytes="%b" > %b </func>' % (_PRINTED, _PRINTED)
)
_REGION_TAGS = re.compile(rb"\n ?<(/?)region[ >]")
_INNER = re.compile(rb'<region label="(.*)" nexits=".*')


@dataclass
class Total:
    """Sum of the ``<func>`` lines of one call in one region; `size` in B, `time` in s."""

    count: int = 0
    size: float = 0.0
    time: float = 0.0

    def add(self, other: Total, sign: int = 1) -> None:
        """Add another sum, or subtract it."""
        self.count += sign * other.count
        self.size += sign * other.size
        self.time += sign * other.time


def summed_totals(data: bytes, segment: Segment) -> dict[bytes, tuple[int, float, float]] | None:
    """Sum counts, B and s of a task's ``<func>`` lines by call; None where they are not all readable.

    None too where regions nest, whose lines may hold a call twice.
    """
    head = data[segment.start : segment.head]
    found, tags = _FUNC_CELLS.findall(head), _REGION_TAGS.findall(head)
    if len(found) != head.count(b"<func ") or tags != [b"", b"/"] * (len(tags) // 2):
        return None
    sums: dict[bytes, tuple[int, float, float]] = {}
    for name, count, size, time in found:
        counts, sizes, times = sums.get(name, (0, 0.0, 0.0))
        sums[name] = (counts + int(count), sizes + float(size), times + float(time))
    return sums


def read_totals(data: bytes, segment: Segment) -> list[tuple[bytes, bytes, Total]]:
    """Sum the ``<func>`` lines of one task by region and call.

    Regions nest under ``IPM_NESTED_REGIONS``, and the lines of a region then contain those of the
    regions in it; here a region keeps only what is its own. A size is NaN where a line gives no
    bytes, as in IPM 0.9x. The first damaged line raises `BadLineError`.
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
            raise BadLineError(offset, f"{excerpt(line)} outside any region")
        elif line.startswith(b"<func"):
            name, total = _func(line, offset)
            stack[-1][1].setdefault(name, Total()).add(total)
        elif line == b"</region>":
            label, own, inner = stack.pop()
            if stack:
                for name, total in own.items():
                    stack[-1][2].setdefault(name, Total()).add(total)
            _subtract(own, inner)
            out += [(label, name, total) for name, total in own.items() if total.count]
        offset += len(raw) + 1
    if stack:
        raise BadLineError(segment.head, f"region {excerpt(stack[-1][0])} is not closed")
    return out


def _subtract(own: dict[bytes, Total], inner: dict[bytes, Total]) -> None:
    if any(own.get(name, Total()).count < total.count for name, total in inner.items()):
        return  # a version whose regions leave out what is in the regions in them
    for name, total in inner.items():
        own[name].add(total, sign=-1)


def _label(line: bytes, offset: int) -> bytes:
    match = _INNER.fullmatch(line)
    if match is None:
        raise BadLineError(offset, f"no region: {excerpt(line)}")
    return match[1]


def _func(line: bytes, offset: int) -> tuple[bytes, Total]:
    match = _FUNC.fullmatch(line)
    try:
        if match is None or not NAME.fullmatch(match[1]):
            raise ValueError
        size = float("nan") if match[3] is None else real(match[3])
        return match[1], Total(int(match[2]), size, real(match[4].strip()))
    except ValueError:
        raise BadLineError(offset, f"no <func> line: {excerpt(line)}") from None
