"""IPM's records as columns: many tasks at once, or line by line for a task that does not fit."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv

from analysis.readers.ipm.tasks import Segment
from analysis.readers.text import headless, real

# Position of a task in the list that is read, and where the lines between its ``<hash>`` and ``</hash>`` are.
Span = tuple[int, int, int]


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
    """Records as columns, each of shape (n,), values as the file gives them."""

    task: np.ndarray  # position of the record's task in the list that was read
    call: np.ndarray  # code of its name
    size: np.ndarray  # B
    orank: np.ndarray
    region: np.ndarray
    site: np.ndarray  # -1 where the file has none
    count: np.ndarray
    time: np.ndarray  # s
    time_min: np.ndarray
    time_max: np.ndarray
    anyone: np.ndarray  # whether the key says that there is no single partner, whatever `orank` says
    astray: np.ndarray  # whether the key says another size, partner or call site

    def take(self, index: np.ndarray) -> Rows:
        """Return the rows that a mask or an index selects."""
        return Rows(*(column[index] for column in vars(self).values()))


def concatenate(parts: Sequence[Rows]) -> Rows:
    """Join rows in order."""
    return Rows(
        *(np.concatenate(columns) for columns in zip(*(vars(p).values() for p in parts), strict=True))
    )


_RECORD = re.compile(rb'<hent((?:\s+\w+="[^"]*")+)\s*>([^<>"]*)</hent>\s*')
_ATTRIBUTE = re.compile(rb'(?<!\w)(\w++)="([^"]*)"')
_INTEGER = re.compile(rb"-?\d{1,18}")
_NAME = re.compile(rb"[A-Za-z_]\w*")
_KEY = re.compile(rb"[0-9A-F]{32}")
# The last half word of a key of IPM 2 holds the partner; from here on it means all, any and none.
_ANYONE = 0x3FFFFFFD
_PARTNER, _SITE = 0x3FFFFFFF, 0xFFFF
# Values of hexadecimal digits; of other letters 255.
_DIGITS = np.full(256, 255, dtype=np.uint8)
_DIGITS[np.frombuffer(b"0123456789ABCDEF", dtype=np.uint8)] = np.arange(16)
_FUNC = re.compile(
    rb'<func name="([^"\n]*)" count="(\d{1,18})"(?: bytes="([^"\n]*)")? ?>\s*+([^<>\n]*+)\s*+</func>\s*'
)
_PRINTED = rb"(\d\.\d+e[+-]\d\d)"
_FUNC_CELLS = re.compile(
    rb'<func name="(\w+)" count="(\d{1,18})" bytes="%b" > %b </func>' % (_PRINTED, _PRINTED)
)
_REGION_TAGS = re.compile(rb"\n ?<(/?)region[ >]")
_REGION = re.compile(rb'<region label="(.*)" nexits=".*')


class BadLineError(ValueError):
    """A line that cannot be read, and the offset in the file where it begins."""

    def __init__(self, offset: int, found: str) -> None:
        super().__init__(found)
        self.offset = offset


def read_lines(data: bytes, span: Span, names: Names) -> Rows:
    """Read the records of one task line by line; the first that is none raises `BadLineError`."""
    task, offset, stop = span
    lines = []
    for line in data[offset:stop].split(b"\n"):
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
        astray=np.array([line[4] for line in lines], dtype=bool),
        **number_of,
        **seconds,
    )


def _record(line: bytes, offset: int) -> tuple[bytes, list[int], list[float], bool, bool]:
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
        seconds = [real(time) for time in times]
    except ValueError:
        seconds = []
    if len(seconds) != 3 or not np.isfinite(seconds).all():
        raise BadLineError(offset, f"a <hent> without three times: {_shown(line)}")
    own = [int(value) for value in integers]
    anyone = astray = False
    key = table.get(b"key", b"")
    if _KEY.fullmatch(key):
        size, orank, _, site, _ = (np.array([one]) for one in own)
        columns = {"size": size, "orank": orank, "site": site}
        (anyone,), (astray,) = _keyed(np.frombuffer(key, dtype=np.uint8).reshape(1, 32), columns)
    return table[b"call"], own, seconds, bool(anyone), bool(astray)


def _keyed(keys: np.ndarray, found: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Read keys of IPM 2, shape (n, 32): whether each names no single partner, and contradicts its record.

    A key holds call, region, thread and call site, and, unless its kind is another, size and partner
    (`hashkey.h`).
    """
    digits = _DIGITS[keys]
    words = (digits[:, 0::2] << 4 | digits[:, 1::2]).view(">u4").astype(np.int64)
    partner = words[:, 3] & _PARTNER
    anyone = partner >= _ANYONE
    known = (digits.max(axis=1, initial=0) < 16) & (words[:, 1] & 15 == 0)
    astray = (found["size"] & 0xFFFFFFFF) != words[:, 2]
    astray |= ~anyone & (found["orank"] != partner)
    astray |= (found["site"] >= 0) & ((found["site"] & _SITE) != words[:, 1] >> 16)
    return anyone & known, astray & known


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
        size = float("nan") if match[3] is None else real(match[3])
        return match[1], Total(int(match[2]), size, real(match[4].strip()))
    except ValueError:
        raise BadLineError(offset, f"no <func> line: {_shown(line)}") from None


# Words and numbers; without them a record is its quotation marks, blanks and brackets.
_WORDS = bytes(c for c in range(128) if chr(c).isalnum() or chr(c) in "_.+-")
_LINE = re.compile(rb'<hent(?: \w+="[\w.+-]*")+ >[\w.+-]+ [\w.+-]+ [\w.+-]+</hent>\n', re.ASCII)
_BLANKS = bytes.maketrans(b"=/", b"  ")
_TIMES = ("time", "time_min", "time_max")
_WHOLE = ("bytes", "orank", "region", "count")
_TYPES = {name: pa.int64() for name in (*_WHOLE, "callsite")} | {name: pa.float64() for name in _TIMES}
_TYPES |= {"call": pa.dictionary(pa.int32(), pa.string()), "key": pa.binary()}


def read_tables(data: bytes, spans: Sequence[Span], names: Names) -> tuple[list[Rows], list[int]]:
    """Read the records of some tasks in columns, in the order of the file; name the tasks that do not fit."""
    text = b"".join(memoryview(data)[start:stop] for _, start, stop in spans)
    lines = [data.count(b"\n", start, stop) for _, start, stop in spans]
    columns = _columns(text, sum(lines), names)
    if columns is not None:
        task = np.repeat(np.array([task for task, _, _ in spans], dtype=np.int32), lines)
        return [Rows(task=task, **columns)], []
    if len(spans) == 1:
        return [], [spans[0][0]]
    middle = len(spans) // 2
    (first, odd), (second, more) = (
        read_tables(data, half, names) for half in (spans[:middle], spans[middle:])
    )
    return first + second, odd + more


def _columns(text: bytes, lines: int, names: Names) -> dict[str, np.ndarray] | None:
    """Read records that all have the form of the first; None if one has not."""
    first = _LINE.match(text)
    if first is None:
        return None
    # The same marks in the same order on every line, so that each line has as many cells.
    if text.translate(None, _WORDS) != first[0].translate(None, _WORDS) * lines:
        return None
    if any(letter in text and b'"0' + letter in text for letter in (b"x", b"X")):
        return None  # Arrow takes 0x10 for a number
    layout = [name.decode() for name in re.findall(rb'(?<!\w)(\w++)="', first[0])]
    fixed = {f"={name}": name for name in layout} | {"<hent": "hent", "</hent": "hent"}
    cells = ["<hent", *(cell for name in layout for cell in (f"={name}", name)), *_TIMES, "</hent"]
    if len(set(cells)) < len(cells) or not {"call", *_WHOLE} <= set(layout):
        return None
    types = {cell: pa.binary(len(name)) for cell, name in fixed.items()}
    types |= {cell: _TYPES[cell] for cell in cells if cell in _TYPES}
    plain = text.translate(_BLANKS, b'<>"')
    table = None if headless(plain) else _read_csv(plain, cells, types)
    if table is None:
        return None
    for cell, name in fixed.items():
        if table[cell].buffers()[1].to_pybytes()[: lines * len(name)] != name.encode() * lines:
            return None
    return _converted(table, names)


def _read_csv(text: bytes, cells: list[str], types: dict[str, pa.DataType]) -> dict[str, pa.Array] | None:
    try:
        table = csv.read_csv(
            pa.BufferReader(text),
            read_options=csv.ReadOptions(column_names=cells, use_threads=False, block_size=len(text) + 1),
            parse_options=csv.ParseOptions(delimiter=" ", quote_char=False),
            convert_options=csv.ConvertOptions(
                column_types=types, include_columns=list(types), null_values=[]
            ),
        )
    except pa.ArrowInvalid:
        return None
    return {name: table[name].chunk(0) for name in types}


def _converted(table: dict[str, pa.Array], names: Names) -> dict[str, np.ndarray] | None:
    """Return the columns as in `Rows`; None if a number or a name is one that `read_lines` refuses."""
    found = {name: table[name].to_numpy() for name in (*_WHOLE, *_TIMES)}
    lines = len(found["count"])
    found["site"] = table["callsite"].to_numpy() if "callsite" in table else np.full(lines, -1)
    calls = [name.encode() for name in table["call"].dictionary.to_pylist()]
    whole = [found[name] for name in (*_WHOLE, "site")]
    if not all(map(_NAME.fullmatch, calls)) or any(np.abs(column).max() >= 10**18 for column in whole):
        return None
    if not all(np.isfinite(found[name]).all() for name in _TIMES):
        return None
    codes = np.array([names.code(name) for name in calls], dtype=np.int16)
    found |= {"size": found.pop("bytes"), "call": codes[table["call"].indices.to_numpy()]}
    found["anyone"] = found["astray"] = np.zeros(lines, dtype=bool)
    if "key" in table and (pc.binary_length(table["key"]).to_numpy() == 32).all():
        text = np.frombuffer(table["key"].buffers()[2], dtype=np.uint8, count=32 * lines)
        found["anyone"], found["astray"] = _keyed(text.reshape(lines, 32), found)
    return found
