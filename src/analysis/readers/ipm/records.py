"""What the two ways of reading IPM's records share: names by code, and records as columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock

import numpy as np
import pandas as pd

from analysis.readers.ipm.tasks import Segment, number


@dataclass
class Names:
    """Codes of names, in the order in which they are met; safe to share between threads."""

    codes: dict[bytes, int] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)

    def code(self, name: bytes) -> int:
        """Return the code of `name`, a new one if it was never met."""
        with self.lock:
            return self.codes.setdefault(name, len(self.codes))

    def texts(self) -> list[str]:
        """Return the names by code."""
        with self.lock:
            return [name.decode("iso-8859-1") for name in self.codes]


@dataclass
class Rows:
    """Records as columns, each of shape (n,), values as the file gives them.

    Attributes
    ----------
    task : ndarray of int
        Position of the record's task in the list that was read.
    call : ndarray of int
        Code of the call's name.
    size, orank, region, site, count : ndarray of int
        `site` is -1 where the file has none.
    time, time_min, time_max : ndarray of float
        Seconds.
    anyone : ndarray of bool
        True where the key says that there is no single partner, whatever `orank` says.
    """

    task: np.ndarray
    call: np.ndarray
    size: np.ndarray
    orank: np.ndarray
    region: np.ndarray
    site: np.ndarray
    count: np.ndarray
    time: np.ndarray
    time_min: np.ndarray
    time_max: np.ndarray
    anyone: np.ndarray

    def take(self, index: np.ndarray) -> Rows:
        """Return the rows that a mask or an index selects."""
        return Rows(*(column[index] for column in vars(self).values()))


def concatenate(parts: Sequence[Rows]) -> Rows:
    """Join rows in order."""
    return Rows(
        *(np.concatenate(columns) for columns in zip(*(vars(p).values() for p in parts), strict=True))
    )


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


def read_lines(data: bytes, span: tuple[int, int], task: int, names: Names) -> Rows:
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


_U8 = np.uint64
_ZEROS = _U8(0x3030303030303030)
_HIGH = _U8(0x8080808080808080)
_TO_HIGH = _U8(0x7676767676767676)  # lifts a byte above 9 into its high bit
_KEEP = np.array([(2**64 - 1) ^ (2 ** (8 * (8 - n)) - 1) for n in range(9)], dtype=_U8)  # last n bytes
# What five digits are divided by, after e+00 to e+99 and e-00 to e-99: a power of ten that is exact, so
# that the one division rounds as `float` does; NaN for the times (from 10^5 s on) that have none.
_SCALES = np.full(200, np.nan)
_SCALES[:5] = [10.0 ** (4 - n) for n in range(5)]
_SCALES[100:119] = [10.0 ** (4 + n) for n in range(19)]
_PAD = bytes(16)
_TAIL = len('" >1.2345e-01 1.2345e-01 1.2345e-01</hent>')
_FIELDS = ("bytes", "orank", "region", "callsite", "count")
_LINE = re.compile(rb'<hent((?: \w+="[^"\n]*")+) >[^"\n]*\n')
# The last half word of a key of IPM 2 holds the partner; these three mean all, any and none.
_NO_PARTNER = tuple(_U8(int.from_bytes(f"3FFFFFF{c}".encode(), "little")) for c in "DEF")


def read_hents(
    data: bytes, spans: Sequence[tuple[int, int, int]], names: Names
) -> tuple[Rows | None, list[int]]:
    """Read the records of some tasks.

    Parameters
    ----------
    data : bytes
        The whole file.
    spans : sequence of (task, start, stop)
        Where the lines between ``<hash>`` and ``</hash>`` of each task are.
    names : Names
        Codes of the calls; new ones are added.

    Returns
    -------
    rows : Rows or None
        Of the tasks whose every record follows the format, in file order; None without any.
    odd : list of int
        Tasks with a record that does not.
    """
    view = memoryview(data)
    text = b"".join([*(view[start:stop] for _, start, stop in spans), _PAD])
    tasks = np.array([task for task, _, _ in spans], dtype=np.int32)
    first = _LINE.match(text)
    layout = re.findall(rb'( \w+=)"', first[1]) if first else []
    if (
        len(set(layout)) != len(layout)
        or max(map(len, layout), default=0) > 11
        or not {
            b" call=",
            b" bytes=",
            b" orank=",
            b" region=",
            b" count=",
        }
        <= {*layout}
    ):
        return None, tasks.tolist()
    chunk = _Chunk(text, layout)
    ends = np.searchsorted(chunk.newlines, np.cumsum([stop - start for _, start, stop in spans]) - 1, "right")
    owner = np.repeat(np.arange(len(spans)), np.diff(ends, prepend=0))
    rows = chunk.rows(tasks[owner], names)
    odd = np.unique(owner[chunk.bad])
    if odd.size:
        good = ~np.isin(owner, odd)
        return (rows.take(good) if good.any() else None), tasks[odd].tolist()
    return rows, []


class _Chunk:
    """The lines of some tasks, and the places of quotation marks in them."""

    def __init__(self, text: bytes, layout: list[bytes]) -> None:
        self.text = text
        self.bytes = np.frombuffer(text, np.uint8)
        self.words = np.ndarray((len(text) - 7,), "<u8", text, strides=(1,))  # from every byte
        self.layout = layout
        self.newlines = np.flatnonzero(self.bytes == 10)
        self.starts = np.concatenate([[0], self.newlines[:-1] + 1])
        self.bad = np.zeros(self.newlines.size, dtype=bool)
        self.quotes = self._quotes(2 * len(layout))
        self._compare_text()

    def _quotes(self, per_line: int) -> np.ndarray:
        """Return the places of the quotation marks, shape (per_line, lines)."""
        places = np.flatnonzero(self.bytes == 34)
        if places.size == per_line * self.newlines.size:
            table = np.ascontiguousarray(places.reshape(-1, per_line).T)
            if (table[0] > self.starts).all() and (table[-1] < self.newlines).all():
                return table
        counts = np.diff(np.searchsorted(places, self.newlines), prepend=0)
        self.bad |= counts != per_line
        table = np.full((per_line, self.newlines.size), 16)
        table[:, ~self.bad] = places[np.repeat(~self.bad, counts)].reshape(-1, per_line).T
        return table

    def _compare_text(self) -> None:
        """Mark the lines whose text between the fields is not the layout's."""
        self._expect(b"<hent" + self.layout[0], self.starts, self.quotes[0])
        for k, name in enumerate(self.layout[1:], start=1):
            self._expect(name, self.quotes[2 * k - 1] + 1, self.quotes[2 * k])
        self.bad |= self.quotes[-1] != self.newlines - _TAIL
        self._expect(b" >", self.quotes[-1] + 1, self.quotes[-1] + 3)
        self._expect(b"</hent>", self.newlines - 7, self.newlines)

    def _expect(self, text: bytes, start: np.ndarray, stop: np.ndarray) -> None:
        """Mark the lines that do not have `text` (at most 16 bytes) from `start` to `stop`."""
        self.bad |= stop - start != len(text)
        head = text[:8]
        mask = _U8(2 ** (8 * len(head)) - 1)
        self.bad |= (self.words[start] & mask) != _U8(int.from_bytes(head, "little"))
        if len(text) > 8:
            self.bad |= self.words[np.maximum(stop - 8, 0)] != _U8(int.from_bytes(text[-8:], "little"))

    def rows(self, task: np.ndarray, names: Names) -> Rows:
        """Read all fields; lines that cannot be read become bad."""
        numbers = {name: self._field(name) for name in _FIELDS if f" {name}=".encode() in self.layout}
        site = numbers.get("callsite")
        times = [self._time(self.newlines - _TAIL + 3 + 11 * k) for k in range(3)]
        call = self._calls(names)
        return Rows(
            task=task,
            call=call,
            size=numbers["bytes"],
            orank=numbers["orank"],
            region=numbers["region"],
            site=np.full(task.size, -1) if site is None else site,
            count=numbers["count"],
            time=times[0],
            time_min=times[1],
            time_max=times[2],
            anyone=self._anyone(),
        )

    def _bounds(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        at = self.layout.index(f" {name}=".encode())
        return self.quotes[2 * at] + 1, self.quotes[2 * at + 1]

    def _field(self, name: str) -> np.ndarray:
        start, stop = self._bounds(name)
        if name not in ("orank", "region"):
            return self._integer(start, stop)
        negative = self.bytes[start] == 45
        if not negative.any():
            return self._integer(start, stop)
        value = self._integer(start + negative, stop)
        return np.where(negative, -value, value)

    def _integer(self, start: np.ndarray, stop: np.ndarray) -> np.ndarray:
        length = stop - start
        if (length == 1).all():  # as ids of regions and call sites mostly are
            digit = self.bytes[start] - np.uint8(48)
            self.bad |= digit > 9
            return np.asarray(digit.astype(np.int64))
        value = self._digits(stop, np.minimum(length, 8))
        self.bad |= (length < 1) | (length > 16)
        long = np.flatnonzero(length > 8)
        if long.size:
            bad = self.bad
            self.bad = np.zeros(long.size, dtype=bool)
            value[long] += 10**8 * self._digits(stop[long] - 8, np.clip(length[long] - 8, 0, 8))
            bad[long] |= self.bad
            self.bad = bad
        return value

    def _digits(self, stop: np.ndarray, length: np.ndarray) -> np.ndarray:
        """Read the `length` (at most 8) digits before `stop`."""
        word = (self.words[stop - 8] ^ _ZEROS) & _KEEP[length]
        self.bad |= (((word + _TO_HIGH) | word) & _HIGH) != 0
        return _decimal(word).astype(np.int64)

    def _time(self, at: np.ndarray) -> np.ndarray:
        """Read ``d.dddde+dd`` as the float nearest to it, as `float` does."""
        head, tail = self.words[at], self.words[at + 2]
        lead = (head & _U8(0xFF)) ^ _U8(0x30)
        sign = head >> _U8(56)
        negative = sign == 0x2D
        self.bad |= (head & _U8(0x00FF00000000FF00)) != _U8(0x0065000000002E00)
        self.bad |= (lead > 9) | ~(negative | (sign == 0x2B))
        word = (tail ^ _ZEROS) & _U8(0xFFFF0000FFFFFFFF)
        self.bad |= (((word + _TO_HIGH) | word) & _HIGH) != 0
        # The separator after a time; after the last one `_compare_text` has looked at it.
        separator = self.bytes[at + 10]
        self.bad |= (separator != 32) & (separator != 60)
        mantissa = (_decimal((word & _U8(0xFFFFFFFF)) << _U8(32)) + lead * _U8(10_000)).astype(np.float64)
        power = ((word >> _U8(48)) & _U8(0xFF)) * _U8(10) + (word >> _U8(56)) + negative * _U8(100)
        scale = _SCALES[np.minimum(power, _U8(199))]
        self.bad |= np.isnan(scale)
        return np.asarray(mantissa / scale)

    def _calls(self, names: Names) -> np.ndarray:
        start, stop = self._bounds("call")
        length = stop - start
        self.bad |= (length < 1) | (length > 24)
        # Up to 24 characters in three words; names that differ give other sums but for one chance in 2^64.
        mixed = self.words[stop - 8] & _KEEP[np.minimum(length, 8)]
        for k, factor in ((1, _U8(0x9E3779B97F4A7C15)), (2, _U8(0xC2B2AE3D27D4EB4F))):
            word = self.words[np.maximum(stop - 8 - 8 * k, 0)]
            mixed += (word & _KEEP[np.minimum(np.maximum(length - 8 * k, 0), 8)]) * factor
        local, _ = pd.factorize(mixed)
        first = np.full(local.max(initial=-1) + 1, -1)
        first[local[::-1]] = np.arange(local.size)[::-1]
        table = np.zeros(first.size, dtype=np.int16)
        for code, at in enumerate(first):
            name = self.text[start[at] : stop[at]]
            if _NAME.fullmatch(name):
                table[code] = names.code(name)
            else:
                self.bad |= local == code
        return table[local]

    def _anyone(self) -> np.ndarray:
        none = np.zeros(self.newlines.size, dtype=bool)
        if self.layout[0] != b" key=":
            return none
        start, stop = self._bounds("key")
        word = self.words[np.maximum(stop - 8, 0)]
        for marked in _NO_PARTNER:
            none |= word == marked
        none &= stop - start == 32
        return none


def _decimal(word: np.ndarray) -> np.ndarray:
    """Join eight decimal digits, one a byte and the first one lowest, into their number."""
    word = (word * _U8(10) + (word >> _U8(8))) & _U8(0x00FF00FF00FF00FF)
    word = (word * _U8(100) + (word >> _U8(16))) & _U8(0x0000FFFF0000FFFF)
    number: np.ndarray = (word * _U8(10_000) + (word >> _U8(32))) & _U8(0xFFFFFFFF)
    return number
