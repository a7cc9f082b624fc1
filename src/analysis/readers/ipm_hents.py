"""The ``<hent>`` records of IPM's XML as columns, many tasks at a time.

IPM prints its records with one format string, so the lines of a file differ only in the width of
their fields. Numbers are therefore read from the bytes with array arithmetic, eight digits in one
64-bit word, without a Python object per record. Every byte of a record is accounted for: the text
between the fields must be that of the first record, fields must be digits, times must look like
``%.4e``. A task with a record that does not is reported back, for `analysis.readers.ipm_lines` to
read exactly or to refuse.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

_U8 = np.uint64
_ZEROS = _U8(0x3030303030303030)
_HIGH = _U8(0x8080808080808080)
_TO_HIGH = _U8(0x7676767676767676)  # lifts a byte above 9 into its high bit
_KEEP = np.array([(2**64 - 1) ^ (2 ** (8 * (8 - n)) - 1) for n in range(9)], dtype=_U8)  # last n bytes
_POWERS = np.array([10.0**n for n in range(23)])  # all exact, so one division rounds correctly
_PAD = bytes(16)
_TAIL = len('" >1.2345e-01 1.2345e-01 1.2345e-01</hent>')
_FIELDS = ("bytes", "orank", "region", "callsite", "count")
_LINE = re.compile(rb'<hent((?: \w+="[^"\n]*")+) >[^"\n]*\n')
_NAME = re.compile(rb"[A-Za-z_]\w*")
# The last half word of a key of IPM 2 holds the partner; these three mean all, any and none.
_NO_PARTNER = tuple(_U8(int.from_bytes(f"3FFFFFF{c}".encode(), "little")) for c in "DEF")


@dataclass
class Names:
    """Codes of names, in the order in which they are met."""

    codes: dict[bytes, int] = field(default_factory=dict)

    def code(self, name: bytes) -> int:
        """Return the code of `name`, a new one if it was never met."""
        return self.codes.setdefault(name, len(self.codes))

    def texts(self) -> list[str]:
        """Return the names by code."""
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


def read(data: bytes, spans: Sequence[tuple[int, int, int]], names: Names) -> tuple[Rows | None, list[int]]:
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
    if len(set(layout)) != len(layout) or not {
        b" call=",
        b" bytes=",
        b" orank=",
        b" region=",
        b" count=",
    } <= {*layout}:
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
        self._expect(b"<hent" + self.layout[0] + b'"', self.starts, self.quotes[0])
        for k, name in enumerate(self.layout[1:], start=1):
            self._expect(b'"' + name + b'"', self.quotes[2 * k - 1], self.quotes[2 * k])
        self.bad |= self.quotes[-1] != self.newlines - _TAIL
        self._expect(b'" >', self.quotes[-1], self.quotes[-1] + 2)
        self._expect(b"</hent>\n", self.newlines - 7, self.newlines)

    def _expect(self, text: bytes, start: np.ndarray, last: np.ndarray) -> None:
        self.bad |= last - start != len(text) - 1
        head = text[:8]
        mask = _U8(2 ** (8 * len(head)) - 1)
        self.bad |= (self.words[start] & mask) != _U8(int.from_bytes(head, "little"))
        if len(text) > 8:
            self.bad |= self.words[np.maximum(last - 7, 0)] != _U8(int.from_bytes(text[-8:], "little"))

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
        value = self._digits(stop, np.clip(length, 0, 8))
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
        power = (((word >> _U8(48)) & _U8(0xFF)) * _U8(10) + (word >> _U8(56))).astype(np.int64)
        power = np.where(negative, -power, power) - 4
        self.bad |= np.abs(power) > 22
        value = mantissa / _POWERS[np.clip(-power, 0, 22)]
        large = np.flatnonzero(power > 0)
        value[large] *= _POWERS[np.clip(power[large], 0, 22)]
        return np.asarray(value)

    def _calls(self, names: Names) -> np.ndarray:
        start, stop = self._bounds("call")
        length = stop - start
        self.bad |= (length < 1) | (length > 24)
        words = [
            self.words[np.maximum(stop - 8 - 8 * k, 0)] & _KEEP[np.clip(length - 8 * k, 0, 8)]
            for k in range(3)
        ]
        mixed = words[0] * _U8(0x9E3779B97F4A7C15) ^ words[1] * _U8(0xC2B2AE3D27D4EB4F) ^ words[2]
        local, _ = pd.factorize(mixed)
        first = np.full(local.max(initial=-1) + 1, -1)
        first[local[::-1]] = np.arange(local.size)[::-1]
        for word in words:
            self.bad |= word != word[first][local]
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
