"""The parts of IPM's XML: its tasks, whether they are complete, their heads, and their records as columns.

IPM escapes nothing, so a command line with ``<`` makes its files ill-formed XML. But it writes each element
on its own line, and this module relies on that instead of XML. Records of many tasks are read at once, or
line by line for a task that does not fit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv

from analysis.base.errors import Fault, ReadError
from analysis.base.units import GIB
from analysis.readers.base import Faults
from analysis.readers.text import headless, real

# More ranks than any machine runs: such a number is a damaged one.
MAX_RANKS = 1 << 24

_OPEN, _CLOSE = b"\n<task ", b"\n</task>"
_HASH, _HASH_CLOSE = b"\n<hash ", b"\n</hash>"
# The head of a task as IPM 2 prints it; anything else is read attribute by attribute.
_HEAD = re.compile(
    rb'<task ipm_version="([^"\n]*)" cookie="[^"\n]*" mpi_rank="(\d{1,9})" mpi_size="(\d{1,9})" '
    rb'stamp_init="([\d.]+)" stamp_final="([\d.]+)" [^\n]*\n'
    rb'<job nhosts="(\d{1,9})" [^\n]*\n'
    rb"<host [^>\n]*>([^\n]*)</host>\n"
    rb'<perf wtime="([\d.e+-]+)" utime="([\d.e+-]+)" stime="([\d.e+-]+)" mtime="([\d.e+-]+)" '
    rb'gflop="[^"\n]*" gbyte="([\d.e+-]+)" [^\n]*</perf>\n'
)
_REGION = re.compile(
    rb'\n ?<region label="([^\n]*)" nexits="[^"\n]*" wtime="[^"\n]*" utime="[^"\n]*" stime="[^"\n]*" '
    rb'mtime="[^"\n]*"(?: id="(-?\d{1,5})")? ?>'
)
_ATTRIBUTE = re.compile(rb'(?<!\w)(\w++)="([^"\n]*)"')
_HOST = re.compile(rb"\n<host [^>\n]*>([^\n]*)</host>")


@dataclass(slots=True)
class Segment:
    """The bytes of one task."""

    start: int  # from ``<task`` to behind ``</task>``
    stop: int
    head: int  # where ``<hash>`` begins, or `stop` without one
    records: tuple[int, int] | None  # the lines between ``<hash>`` and ``</hash>``; None without a hash
    whole: bool  # false if the task is not closed before the next one begins


@dataclass(slots=True)
class Head:
    """A task's own data; times in s, `memory` in B, NaN if not stated."""

    version: bytes
    rank: int
    size: int
    start: float
    stop: float
    nodes: int
    host: bytes
    wall_time: float
    user_time: float
    system_time: float
    mpi_time: float
    memory: float
    regions: tuple[tuple[int, bytes], ...]  # id and label of each region of the task


class _Finder:
    """Finds the next occurrence of a text; where nothing lies between, the last answer still holds.

    So a file whose closing tags are gone is searched once and not once per task.
    """

    def __init__(self, data: bytes, text: bytes) -> None:
        self.data = data
        self.text = text
        self.found = -1

    def next(self, start: int) -> int:
        """Return the first place from `start` on, the length of the data without any."""
        if self.found < start:
            at = self.data.find(self.text, start)
            self.found = at if at >= 0 else len(self.data)
        return self.found


def segments(data: bytes, *, careful: bool = False) -> Iterator[Segment]:
    """Find the tasks, in file order, in one pass over the data; those cut short are marked.

    `careful` looks for the beginning of another task among the records too, as where a closing tag is
    lost: a second pass, for files that do not have all their tasks.
    """
    finders = [_Finder(data, text) for text in (_HASH, _HASH_CLOSE, _CLOSE)]
    start = 0 if data.startswith(_OPEN[1:]) else data.find(_OPEN) + 1
    while start > 0 or (start == 0 and data.startswith(_OPEN[1:])):
        segment = _segment(data, start, *finders, careful=careful)
        yield segment
        start = data.find(_OPEN, segment.stop - 1 if segment.whole else start) + 1
        if not start:
            return


def _segment(
    data: bytes, start: int, hashes: _Finder, hash_ends: _Finder, ends: _Finder, *, careful: bool
) -> Segment:
    end = len(data)
    hashed = min(hashes.next(start) + 1, end)
    # Without a <hash> of its own the task closes before the next <hash>, which is another task's.
    close = ends.next(start) if hashed == end else data.find(_CLOSE, start, hashed)
    if 0 <= close < end:
        stop, head, records = close + len(_CLOSE), close + 1, None
    elif hashed == end:
        return Segment(start, end, end, None, whole=False)
    else:
        line_end = data.find(b"\n", hashed)
        last = hash_ends.next(line_end)  # from the end of the <hash> line itself: a hash can be empty
        close = ends.next(last)
        if line_end < 0 or close == end:
            return Segment(start, end, hashed, None, whole=False)
        stop, head, records = close + len(_CLOSE), hashed, (line_end + 1, last + 1)
        if data.find(_OPEN, hashed if careful else last, stop) >= 0:
            return Segment(start, stop, head, None, whole=False)
    whole = data.find(_OPEN, start, head) < 0
    return Segment(start, stop, head, records, whole)


def read_head(data: bytes, segment: Segment) -> Head:
    """Read a task's own data; `ValueError` names what is missing or not a number."""
    match = _HEAD.match(data, segment.start, segment.head)
    regions = _regions(data, segment)
    if match is None:
        return _read_any_head(data[segment.start : segment.head], regions)
    version, rank, size, start, stop, nodes, host, *perf = match.groups()
    counts = (int(rank), int(size), int(nodes))
    return _head(version, host, counts, [float(text) for text in (start, stop, *perf)], regions)


def _head(
    version: bytes,
    host: bytes,
    counts: tuple[int, int, int],
    numbers: list[float],
    regions: tuple[tuple[int, bytes], ...],
) -> Head:
    """Make a head of rank, size and nodes, and of both stamps, four times and GiB, in the file's order."""
    rank, size, nodes = counts
    if not 0 <= rank < size <= MAX_RANKS:
        raise ValueError(f'mpi_rank="{rank}" does not fit mpi_size="{size}"')
    start, stop, wall, user, system, mpi, gib = numbers
    return Head(version, rank, size, start, stop, nodes, host, wall, user, system, mpi, gib * GIB, regions)


def _regions(data: bytes, segment: Segment) -> tuple[tuple[int, bytes], ...]:
    found = _REGION.findall(data, segment.start, segment.head)
    if len(found) == 1:
        return ((int(found[0][1] or 0), found[0][0]),)
    # IPM 0.9x prints no id: the regions are numbered in the order of the list.
    return tuple((int(number) if number else i, label) for i, (label, number) in enumerate(found))


def _read_any_head(text: bytes, regions: tuple[tuple[int, bytes], ...]) -> Head:
    """Read a head whose attributes are in any order, or partly absent, or have decimal commas."""
    task, job, perf = (_attributes(text, name) for name in (b"task", b"job", b"perf"))
    host = _HOST.search(text)

    def value(table: dict[bytes, bytes], element: str, name: str) -> float:
        raw = table.get(name.encode())
        if raw is None:
            raise ValueError(f"<{element}> has no {name}")
        try:
            return real(raw)
        except ValueError:
            raise ValueError(f'<{element}> has {name}="{raw.decode("iso-8859-1")}", no number') from None

    rank, size = (int(value(task, "task", name)) for name in ("mpi_rank", "mpi_size"))
    numbers = [value(task, "task", name) for name in ("stamp_init", "stamp_final")]
    nodes = int(value(job, "job", "nhosts")) if job else -1
    numbers += [value(perf, "perf", name) for name in ("wtime", "utime", "stime", "mtime", "gbyte")]
    name = task.get(b"ipm_version", b"")
    return _head(name, host[1] if host else b"", (rank, size, nodes), numbers, regions)


def _attributes(text: bytes, element: bytes) -> dict[bytes, bytes]:
    match = re.search(rb"(?:^|\n)<" + element + rb" ([^\n]*)", text)
    return dict(_ATTRIBUTE.findall(match[1])) if match else {}


def command(data: bytes, segment: Segment) -> str:
    """Return the command line of a task, empty where there is none."""
    match = re.compile(rb"\n<cmdline[^>\n]*>([^\n]*)</cmdline>").search(data, segment.start, segment.head)
    return match[1].decode("iso-8859-1").strip() if match else ""


_ENTRY = re.compile(rb'<entry name="([^"\n]*)"')


def check_names(data: bytes, names: Iterable[bytes], line: Callable[[int], int], faults: Faults) -> None:
    """Compare the names of calls with the list of them that IPM 2 prints before the tasks."""
    end = data.find(b"</calltable>")
    start = data.rfind(b"<calltable", 0, max(end, 0))
    if start < 0:
        return
    known = set(_ENTRY.findall(data, start, end))
    strange = sorted(name.decode("iso-8859-1") for name in names if name not in known)
    if strange and len(known) > 1:
        found = f"{', '.join(map(repr, strange[:5]))} of the records is not in the list of calls"
        faults.damage(line(start), found, "a name is damaged, there or here; get the file again")


def refuse(source: str) -> ReadError:
    """Make the error for bytes that nothing marks as IPM's."""
    found = "has neither an <ipm_job_profile> nor an ##IPM banner"
    return ReadError(Fault(source, 0, found, "give the XML or the output of a run"))


Columns = TypeVar("Columns")

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
class Records:
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

    def select(self, index: np.ndarray) -> Records:
        """Return the rows that a mask or an index selects."""
        return Records(*(column[index] for column in vars(self).values()))


def concatenate(parts: Sequence[Columns]) -> Columns:
    """Join records, or observations, in order."""
    columns = zip(*(vars(part).values() for part in parts), strict=True)
    return type(parts[0])(*(np.concatenate(column) for column in columns))


_RECORD = re.compile(rb'<hent((?:\s+\w+="[^"]*")+)\s*>([^<>"]*)</hent>\s*')
_INTEGER = re.compile(rb"-?\d{1,18}")
NAME = re.compile(rb"[A-Za-z_]\w*")
_KEY = re.compile(rb"[0-9A-F]{32}")
# The last half word of a key of IPM 2 contains the partner; from here on it means all, any and none.
_ANYONE = 0x3FFFFFFD
_PARTNER, _SITE = 0x3FFFFFFF, 0xFFFF
# Values of hexadecimal digits; of other letters 255.
_DIGITS = np.full(256, 255, dtype=np.uint8)
_DIGITS[np.frombuffer(b"0123456789ABCDEF", dtype=np.uint8)] = np.arange(16)


class BadLineError(ValueError):
    """A line that cannot be read, and the offset in the file where it begins."""

    def __init__(self, offset: int, found: str) -> None:
        super().__init__(found)
        self.offset = offset


def read_lines(data: bytes, span: Span, names: Names) -> Records:
    """Read the records of one task line by line; the first other line raises `BadLineError`."""
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
    return Records(
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
        raise BadLineError(offset, f"no <hent> record: {excerpt(line)}")
    table = dict(_ATTRIBUTE.findall(match[1]))
    integers = [table.get(name, b"") for name in (b"bytes", b"orank", b"region")]
    integers += [table.get(b"callsite", b"-1"), table.get(b"count", b"")]
    times = match[2].split()
    if not NAME.fullmatch(table.get(b"call", b"")) or not all(map(_INTEGER.fullmatch, integers)):
        raise BadLineError(offset, f"a <hent> without call, bytes, orank, region or count: {excerpt(line)}")
    try:
        seconds = [real(time) for time in times]
    except ValueError:
        seconds = []
    if len(seconds) != 3 or not np.isfinite(seconds).all():
        raise BadLineError(offset, f"a <hent> without three times: {excerpt(line)}")
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

    A key contains call, region, thread and call site, and, unless its kind is another, size and partner
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


def excerpt(line: bytes) -> str:
    """Return the beginning of a line, for an error."""
    return ascii(line[:60].decode("iso-8859-1"))


# Words and numbers; without them a record is its quotation marks, blanks and brackets.
_WORDS = bytes(c for c in range(128) if chr(c).isalnum() or chr(c) in "_.+-")
_LINE = re.compile(rb'<hent(?: \w+="[\w.+-]*")+ >[\w.+-]+ [\w.+-]+ [\w.+-]+</hent>\n', re.ASCII)
_BLANKS = bytes.maketrans(b"=/", b"  ")
_TIMES = ("time", "time_min", "time_max")
_WHOLE = ("bytes", "orank", "region", "count")
_TYPES = {name: pa.int64() for name in (*_WHOLE, "callsite")} | {name: pa.float64() for name in _TIMES}
_TYPES |= {"call": pa.dictionary(pa.int32(), pa.string()), "key": pa.binary()}


def read_tables(data: bytes, spans: Sequence[Span], names: Names) -> tuple[list[Records], list[int]]:
    """Read the records of some tasks in columns, in the order of the file; name the tasks that do not fit."""
    text = b"".join(memoryview(data)[start:stop] for _, start, stop in spans)
    lines = [data.count(b"\n", start, stop) for _, start, stop in spans]
    columns = _columns(text, sum(lines), names)
    if columns is not None:
        task = np.repeat(np.array([task for task, _, _ in spans], dtype=np.int32), lines)
        return [Records(task=task, **columns)], []
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
    """Return the columns as in `Records`; None if a number or a name is one that `read_lines` refuses."""
    found = {name: table[name].to_numpy() for name in (*_WHOLE, *_TIMES)}
    lines = len(found["count"])
    found["site"] = table["callsite"].to_numpy() if "callsite" in table else np.full(lines, -1)
    calls = [name.encode() for name in table["call"].dictionary.to_pylist()]
    whole = [found[name] for name in (*_WHOLE, "site")]
    if not all(map(NAME.fullmatch, calls)) or any(np.abs(column).max() >= 10**18 for column in whole):
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
