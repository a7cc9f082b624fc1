"""The frame of an mpiP report: its header keys and the sections between the rules of dashes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from analysis.readers.base import Faults
from analysis.readers.text import Lines, printable

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


@dataclass
class Report:
    """A report cut into its parts; offsets refer to `data`."""

    data: bytes
    faults: Faults
    header: dict[str, str] = field(default_factory=dict)
    assignment: list[tuple[int, str]] = field(default_factory=list)
    sections: dict[str, Section] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.line = Lines(self.data).of

    def lines(self, section: Section) -> Iterator[tuple[int, bytes]]:
        """Yield number and content of the lines of a section that are not blank."""
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
    if re.search(rb"^@ mpiP\s*$", data[:4096], re.MULTILINE) or b"\n@ MPIP Build date" in data[:65_536]:
        return True
    return any(kind for kind, _, _ in (_title(data, at) for at in _headings(data)))


def split(data: bytes, faults: Faults) -> Report:
    """Cut a report into header and sections; a last line without its end, maybe half a row, is left out."""
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
    headings = _headings(data)
    report = Report(data, faults)
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


def _add_section(report: Report, heading: int, limit: int, faults: Faults) -> None:
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


def _read_header(report: Report, stop: int, faults: Faults) -> None:
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
                faults.note(number, "the command holds bytes that are no text", "they are shown as U+FFFD")
