"""The ``<task>`` elements of IPM's XML: where they are, whether they are whole, what their heads say.

IPM escapes nothing, so a command line with ``<`` makes its files ill-formed XML; but it writes each
element on a line of its own. That structure is what is relied on here, not XML's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from analysis.base.errors import Fault, ReadError
from analysis.base.units import GIB
from analysis.readers.text import real

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
    """What a task says of itself; times in s, `memory` in B, NaN where it does not say."""

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
    """Read what a task says of itself; `ValueError` names what is missing or no number."""
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


def refuse(source: str) -> ReadError:
    """Make the error for bytes that nothing marks as IPM's."""
    found = "has neither an <ipm_job_profile> nor an ##IPM banner"
    return ReadError(Fault(source, 0, found, "give the XML or the output of a run"))
