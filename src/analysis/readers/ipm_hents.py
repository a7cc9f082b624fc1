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

import numpy as np
import pandas as pd

from analysis.readers.ipm_rows import Names, Rows

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
_NAME = re.compile(rb"[A-Za-z_]\w*")
# The last half word of a key of IPM 2 holds the partner; these three mean all, any and none.
_NO_PARTNER = tuple(_U8(int.from_bytes(f"3FFFFFF{c}".encode(), "little")) for c in "DEF")


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
