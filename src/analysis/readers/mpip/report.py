"""The parts of an mpiP report: header and sections, the small tables, the call sites with their stacks.

With address randomisation each rank has several call sites, so the list of call sites can be most of a
report. Its frames repeat; each distinct stack is spelt once.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from analysis.readers.base import Faults, labels
from analysis.readers.mpip.fast import Cut
from analysis.readers.text import Lines, printable, real

# Section titles by version: 2.5 says "Callsite statistics (all, sent bytes)", 3.x "Callsite Message
# Sent statistics (all, sent bytes)", its concise mode "... (all callsites, sent bytes): 6".
_TITLES: tuple[tuple[str, str], ...] = (
    ("end", r"end of report"),
    ("callsites", r"callsites: *\d+"),
    ("mpi_time", r"mpi time \("),
    ("task_time", r"task time statistics"),
    ("top_time", r"aggregate time"),
    ("top_sent", r"aggregate sent message size"),
    ("collective", r"aggregate collective time"),
    ("point-to-point", r"aggregate point-to-point sent"),
    ("top_io", r"aggregate i/o size"),
    ("top_rma", r"aggregate rma"),
    ("io", r"callsite .*i/o"),
    ("rma", r"callsite rma"),
    ("sent", r"callsite .*sent"),
    ("time", r"callsite .*milliseconds"),
)
_MARK = b"@--- "
_NAME = re.compile(rb"[A-Za-z][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Section:
    """One section: ``data[start:stop]`` is its column header and its rows."""

    kind: str  # key of the title, empty for a title that is not known
    title: str
    heading: int  # offsets of the heading line, of the first byte below it and behind the last row
    start: int
    stop: int
    announced: int  # number of entries that the title promises, -1 without one
    closed: bool  # whether something follows, so that the last row is the section's last


class UncutError(Exception):
    """A line is asked for that was cut out: only the whole file has it."""


@dataclass
class ReportText:
    """A report cut into its parts; offsets refer to `data`."""

    data: bytes
    faults: Faults
    header: dict[str, str] = field(default_factory=dict)
    assignment: list[tuple[int, str]] = field(default_factory=list)
    sections: dict[str, Section] = field(default_factory=dict)
    cut: Cut | None = None

    def __post_init__(self) -> None:
        self._counted = Lines(self.data).of

    def line(self, offset: int) -> int:
        """Return the line of an offset, in the whole file if rows were cut out of it."""
        removed = self.cut.removed.values() if self.cut else ()
        return self._counted(offset) + sum(lines for at, lines in removed if at <= offset)

    def columns(self, section: Section) -> dict[str, np.ndarray] | None:
        """Return the rows of a section that were cut out."""
        if self.cut is None or section.kind not in self.cut.columns:
            return None
        if not section.start <= self.cut.removed[section.kind][0] <= section.stop:
            raise UncutError  # they are of another section of that kind
        return self.cut.columns[section.kind]

    def lines(self, section: Section) -> Iterator[tuple[int, bytes]]:
        """Yield number and content of the lines of a section that are not blank."""
        if self.columns(section) is not None:
            raise UncutError
        first = self.line(section.start)
        for i, line in enumerate(self.data[section.start : section.stop].split(b"\n")):
            if line.startswith(b"---"):
                found = f"a rule without a heading inside {section.title!r}"
                self.faults.damage(first + i, found, "the rest of the section is left out")
                return
            if line.strip():
                yield first + i, line


def natural(token: bytes) -> int:
    """Read a whole number that is not negative and fits 63 bits, or raise `ValueError`."""
    if not token.isdigit() or len(token) > 18:
        raise ValueError(f"{printable(token)!r} is no whole number")
    return int(token)


def call_name(token: bytes) -> str:
    """Spell a call as MPI does (mpiP prints ``Send`` for MPI_Send), or raise `ValueError`."""
    if not _NAME.fullmatch(token):
        raise ValueError(f"{printable(token)!r} is no call")
    return f"MPI_{token.decode('ascii')}"


def is_report(data: bytes) -> bool:
    """Tell whether anything marks some bytes as an mpiP report."""
    if b"@" not in data:
        return False
    if re.search(rb"^@ mpiP\s*$", data[:4096], re.MULTILINE) or b"\n@ MPIP Build date" in data[:65_536]:
        return True
    return any(kind for kind, _, _ in (_title(data, at) for at in _headings(data)))


def split(data: bytes, faults: Faults, cut: Cut | None = None) -> ReportText:
    """Cut a report into header and sections; a last line without its end, maybe half a row, is left out.

    `cut` has what the bytes lack of the file.
    """
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
    headings = _headings(data)
    report = ReportText(data, faults, cut=cut)
    _read_header(report, headings[0] if headings else len(data), faults)
    for i, at in enumerate(headings):
        _add_section(report, at, headings[i + 1] if i + 1 < len(headings) else len(data), faults)
        if "end" in report.sections:
            if i + 1 < len(headings):
                found = "sections follow 'End of Report'"
                faults.damage(
                    report.line(headings[i + 1]), found, "only the first report is read: split the file"
                )
            break
    if "end" not in report.sections:
        last = list(report.sections.values())[-1].title if report.sections else "the header"
        faults.damage(
            report.line(len(data.rstrip(b"\n"))),
            f"the report stops in or after {last!r} without 'End of Report'",
            "what is whole above is kept; copy the file again, or see whether the job died while writing",
        )
    return report


def _headings(data: bytes) -> list[int]:
    found = []
    at = data.find(b"@")  # a single byte is found much faster than the whole mark
    while at >= 0:
        if data.startswith(_MARK, at) and (at == 0 or data[at - 1] == ord("\n")):
            found.append(at)
        at = data.find(b"@", at + 1)
    return found


def _title(data: bytes, at: int) -> tuple[str, str, int]:
    """Return kind and title of the heading at an offset, and the offset behind its line."""
    end = data.find(b"\n", at)
    behind = len(data) if end < 0 else end + 1
    title = printable(data[at + len(_MARK) : behind].strip().rstrip(b"-"))
    kinds = [kind for kind, pattern in _TITLES if re.match(pattern, title.lower())]
    return (kinds[0] if kinds else ""), title, behind


def _is_rule(line: bytes) -> bool:
    # A damaged rule is still one: nothing else has or begins with so many dashes.
    return (line.count(b"-") > 40 or line.startswith(b"---")) and not line.startswith(b"@")


def _add_section(report: ReportText, heading: int, limit: int, faults: Faults) -> None:
    data = report.data
    kind, title, start = _title(data, heading)
    if not kind and data.find(b"\n", heading) < 0:
        return  # the file is cut within this heading, which `split` names
    if not kind or (kind in report.sections and kind != "end"):
        what = "is not known" if not kind else "comes a second time"
        faults.damage(report.line(heading), f"section {title!r} {what}", "its rows are left out")
        return
    end = data.find(b"\n", start, limit)
    if end >= 0 and _is_rule(data[start:end]):
        start = end + 1
    stop = data.rfind(b"\n", start, limit) + 1 or start
    closed = limit < len(data)
    before = data.rfind(b"\n", start, stop - 1) + 1 or start
    if _is_rule(data[before:stop]):
        stop, closed = before, True
    digits = re.search(r": *(\d{1,12})$", title)
    announced = int(digits[1]) if digits else -1
    report.sections[kind] = Section(kind, title, heading, start, stop, announced, closed)


def _read_header(report: ReportText, stop: int, faults: Faults) -> None:
    stop = report.data.rfind(b"\n", 0, stop) + 1
    for number, line in enumerate(report.data[:stop].split(b"\n"), start=1):
        key, colon, value = line[2:].partition(b":")
        name = printable(key)
        if not line.strip() or _is_rule(line) or line.strip() == b"@ mpiP":
            continue
        if not line.startswith(b"@ ") or not colon:
            faults.note(number, f"{printable(line)[:40]!r} is no header line", "left out")
        elif name == "MPI Task Assignment":
            report.assignment.append((number, printable(value)))
        else:
            report.header.setdefault(name, printable(value))
            if name == "Command" and "�" in report.header[name]:
                faults.note(number, "the command contains bytes that are no text", "they are shown as U+FFFD")


_BIN = re.compile(rb"(\S+)\s+(\S+)\s+(\d+)\s*-\s*(\d+)\s+(\d+)\s*-\s*(\d+)\s*")


@dataclass
class Times:
    """What the report says about time in the application and in MPI."""

    app: dict[int, float] = field(default_factory=dict)  # rank -> s, as printed
    mpi: dict[int, float] = field(default_factory=dict)
    percent: dict[int, float] = field(default_factory=dict)  # rank -> printed share of MPI time in percent
    app_total: float = float("nan")  # over all ranks in s and percent, NaN where not printed
    mpi_total: float = float("nan")
    percent_total: float = float("nan")
    rows: int = 0  # rows found, read or not, which is how many ranks there are at least
    line: int = 0  # where the table begins, 0 without one


@dataclass
class Entry:
    """A row of a top-twenty list: ``values`` by column title, times in ms and sizes in B."""

    line: int
    call: str
    site: int
    values: dict[str, float]


@dataclass
class Bin:
    """A row of a histogram."""

    line: int
    call: str
    kind: str
    share: float
    edges: tuple[int, int, int, int]


def read_times(report: ReportText, faults: Faults) -> Times:
    """Read ``MPI Time``, or ``Task Time Statistics`` of the concise mode, which gives totals only; in s."""
    section = report.sections.get("mpi_time")
    if section is None:
        return _read_task_time(report, faults)
    times = Times(line=report.line(section.heading))
    for number, line in list(report.lines(section))[1:]:
        tokens = line.split()
        total = tokens[0] == b"*"
        times.rows += not total
        try:
            if len(tokens) != 4:
                raise ValueError(f"{len(tokens)} fields instead of 4")
            app, mpi, percent = map(real, tokens[1:])
            if total:
                times.app_total, times.mpi_total, times.percent_total = app, mpi, percent
                continue
            # Ranks are listed in order: another number is a damaged one.
            if natural(tokens[0]) != times.rows - 1:
                raise ValueError(f"rank {printable(tokens[0])} where {times.rows - 1} is due")
        except ValueError as error:
            faults.damage(number, f"row of {section.title!r}: {error}", "the row is left out")
            continue
        times.app[times.rows - 1], times.mpi[times.rows - 1] = app, mpi
        times.percent[times.rows - 1] = percent
    return times


def _read_task_time(report: ReportText, faults: Faults) -> Times:
    section = report.sections.get("task_time")
    if section is None:
        return Times()
    times = Times(line=report.line(section.heading))
    mean = float("nan")
    for number, line in list(report.lines(section))[1:]:
        tokens = line.split()
        try:
            if tokens[0] == b"Mean" and len(tokens) == 3:
                mean = real(tokens[1])
            if tokens[0] == b"Aggregate" and len(tokens) == 4:
                times.app_total, times.mpi_total, times.percent_total = map(real, tokens[1:])
        except ValueError as error:
            faults.damage(number, f"row of {section.title!r}: {error}", "the row is left out")
    if mean > 0 and np.isfinite(times.app_total):
        times.rows = round(times.app_total / mean)
    return times


def read_entries(report: ReportText, kind: str, faults: Faults) -> list[Entry]:
    """Read a top-twenty list by its own column header, which differs between versions."""
    section = report.sections.get(kind)
    if section is None:
        return []
    lines = list(report.lines(section))
    header = printable(lines[0][1]).split() if lines else []
    entries = []
    for number, line in lines[1:]:
        tokens = line.split()
        if line.startswith(b"Total send/collective"):
            continue  # the summary that a message threshold adds
        try:
            if len(tokens) != len(header) or header[:2] != ["Call", "Site"]:
                raise ValueError(f"does not fit the columns {' '.join(header)!r}")
            values = dict(zip(header[2:], map(real, tokens[2:]), strict=True))
            entries.append(Entry(number, call_name(tokens[0]), natural(tokens[1]), values))
        except ValueError as error:
            faults.damage(number, f"row of {section.title!r}: {error}", "the row is left out")
    return entries


def _is_power(value: int) -> bool:
    return value > 0 and not value & (value - 1)


def read_histogram(report: ReportText, faults: Faults) -> list[Bin]:
    """Read the histograms over communicator and message size (options ``-y`` and ``-p``).

    Shares in percent; edges as printed, both inclusive: ranks, ranks, B, B.
    """
    bins = []
    for kind in ("collective", "point-to-point"):
        section = report.sections.get(kind)
        for number, line in list(report.lines(section))[1:] if section else []:
            match = _BIN.fullmatch(line)
            try:
                if not match:
                    raise ValueError("is no bin")
                edges = [natural(edge) for edge in match.groups()[2:]]
                if edges[0] > edges[1] or edges[2] > edges[3]:
                    raise ValueError("has a bin that ends before it begins")
                if not all(map(_is_power, (edges[0] or 1, edges[1] + 1, edges[2] or 1, edges[3] + 1))):
                    raise ValueError("has a bin whose edges are no powers of two")
                bins.append(
                    Bin(
                        number,
                        call_name(match[1]),
                        kind,
                        real(match[2]),
                        (edges[0], edges[1], edges[2], edges[3]),
                    )
                )
            except ValueError as error:
                faults.damage(number, f"row of the {kind} histogram {error}", "the row is left out")
    return bins


_ADDRESS = re.compile(r"(0x[0-9a-fA-F]+|\[unknown\])(?:\s+(.*))?")
_SOURCE = re.compile(r"(?<=\S)\s++(\d++)(?:\s|$)")
_DIGITS = 9  # of the largest id, so that it fits i4

# Ids of the sites, number of each site's stack, and the frames of each distinct stack.
_Stacks = tuple[np.ndarray, np.ndarray, list[tuple[bytes, ...]]]


def read_callsites(report: ReportText, faults: Faults) -> dict[str, np.ndarray]:
    """Read id, frames (innermost first) and call of each site; nothing without the list (``-d``, ``-k0``)."""
    section = report.sections.get("callsites")
    if section is None:
        return {}
    ids, codes, stacks = _cut_sites(report, section) or _read_sites(report, section, faults)
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


def _read_sites(report: ReportText, section: Section, faults: Faults) -> _Stacks:
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


def _cut_sites(report: ReportText, section: Section) -> _Stacks | None:
    """Return the call sites that the core has read; None if it has not, or one is not where it is due."""
    columns = report.columns(section)
    if columns is None or report.cut is None:
        return None
    report.cut.columns["callsites"] = {}  # needed once
    return _in_order(columns["id"], columns["level"], columns["frame"], report.cut.frames)


def _in_order(ids: np.ndarray, levels: np.ndarray, codes: np.ndarray, frames: list[bytes]) -> _Stacks | None:
    top = levels == 0
    follows = (levels[1:] == levels[:-1] + 1) & (ids[1:] == ids[:-1])
    if not top[0] or not (top[1:] | follows).all():
        return None
    site = np.cumsum(top, dtype=np.int32)  # of millions of lines
    site -= 1
    return ids[top], *_stacks(codes, frames, levels, site)


def _stacks(
    codes: np.ndarray, distinct: list[bytes], levels: np.ndarray, site: np.ndarray
) -> tuple[np.ndarray, list[tuple[bytes, ...]]]:
    stack = codes[levels == 0].astype(np.int64)
    known: list[tuple[bytes, ...]] = [(frame,) for frame in distinct]
    for level in range(1, int(levels.max()) + 1):
        here = levels == level
        width = len(distinct) + 1
        stack *= width
        stack[site[here]] += codes[here] + 1  # a site has a level once
        stack, pairs = pd.factorize(stack)
        known = [
            known[pair // width] + ((distinct[pair % width - 1],) if pair % width else ())
            for pair in pairs.tolist()
        ]
    return stack, known
