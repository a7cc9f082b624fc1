"""Rows of mpiP's callsite statistics: whole sections at once, or line by line where one is odd.

Both ways accept the same rows and give the same values. The fast one squeezes runs of blanks and
hands the section to Arrow's CSV reader; anything that it cannot take as it stands (a damaged row, a
number that is none) sends the section through the slow one, which keeps every whole row and names
the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv

from analysis.readers.base import Faults
from analysis.readers.mpip.report import Report, Section, call_name, natural
from analysis.readers.text import headless, printable, real

_TIME = "Name Site Rank Count Max Mean Min App% MPI%"
_BYTES = "Name Site Rank Count Max Mean Min Sum"
_CONCISE = "Name Site Tasks Max Mean Min MaxRnk MinRnk"
_WHOLE = frozenset({"Site", "Rank", "Count", "Tasks"})
CHUNK = 1 << 18  # what is worked on at a time fits the cache
# Ranks and sites index arrays and are stored as i4.
_LARGEST = 2**31 - 1
_STAR = -1


@dataclass
class Rows:
    """Rows of one section, in the order of the file."""

    names: list[str]  # calls, spelt like MPI_Send
    # ``Name`` (int32, position in `names`), ``Site``, ``Rank`` (int64; -1 for ``*``) and ``Count``, or
    # ``Tasks`` instead of the last two in concise mode; the section's numbers as float64.
    columns: dict[str, np.ndarray]
    lines: np.ndarray | None  # line of each row; None where every line of the section is a row (see `line`)
    whole: bool  # whether the section is closed and no row of it was refused
    section: Section

    @property
    def concise(self) -> bool:
        """Whether the rows are statistics over tasks instead of one row a rank."""
        return "Tasks" in self.columns

    def line(self, report: Report, row: int) -> int:
        """Return the line of a row, counted only when a message needs it."""
        if self.lines is None:
            self.lines = np.array([number for number, _ in report.lines(self.section)][1:], dtype=np.int64)
        return int(self.lines[row])

    def keep(self, mask: np.ndarray, report: Report) -> Rows:
        """Return the rows where `mask` is true; the section is then no longer whole."""
        if len(mask):
            self.line(report, 0)
        lines = self.lines[mask] if self.lines is not None else None
        columns = {name: values[mask] for name, values in self.columns.items()}
        return Rows(self.names, columns, lines, False, self.section)


def read_rows(report: Report, section: Section, faults: Faults) -> Rows | None:
    """Read a section of callsite statistics; None if its column header cannot be understood."""
    end = report.data.find(b"\n", section.start, section.stop)
    header = printable(report.data[section.start : max(end, section.start)]).split()
    columns = _columns(header, section.kind)
    if columns is None:
        if header or section.closed:
            found = f"section {section.title!r} has no column header that is known"
            faults.damage(report.line(section.start), found, "its rows are left out")
        return None
    if columns != header:
        faults.damage(
            report.line(section.start),
            f"column header {' '.join(header)!r}",
            f"read as {' '.join(columns)!r}",
        )
    wanted = _wanted(columns, section.kind)
    rows = _read_fast(squeeze(report.data, end + 1, section.stop), columns, wanted, section)
    if rows is None:
        rows = _read_slow(report, section, columns, wanted, faults)
    return _consistent(rows, report, faults)


def squeeze(data: bytes, start: int = 0, stop: int | None = None) -> bytes:
    """Reduce every run of blanks to one."""
    count = (len(data) if stop is None else stop) - start
    array = np.frombuffer(data, dtype=np.uint8, count=count, offset=start) if count > 0 else np.empty(0, "u1")
    kept = []
    for at in range(0, len(array), CHUNK):
        chunk = array[at : at + CHUNK]
        filled = chunk != ord(" ")
        keep = filled.copy()
        keep[1:] |= filled[:-1]
        keep[0] |= at == 0 or array[at - 1] != ord(" ")
        kept.append(chunk[keep])
    return b"".join(kept)


def _columns(header: list[str], kind: str) -> list[str] | None:
    """Return the columns to read a section by: its own header, or the usual one it resembles."""
    forms = [form.split() for form in (_TIME if kind == "time" else _BYTES, _CONCISE)]
    for usual in forms:
        if set(_wanted(usual, kind)) <= set(header) and len(set(header)) == len(header):
            return header
    for usual in forms:
        alike = sum(a == b for a, b in zip(header, usual, strict=False))
        if len(header) == len(usual) and 2 * alike > len(usual):
            return usual
    return None


def _wanted(columns: list[str], kind: str) -> list[str]:
    if "Tasks" in columns:
        return ["Name", "Site", "Tasks", "Mean"]
    return ["Name", "Site", "Rank", "Count", *(["Max", "Mean", "Min"] if kind == "time" else ["Sum"])]


def _read_fast(squeezed: bytes, columns: list[str], wanted: list[str], section: Section) -> Rows | None:
    if b" \n" in squeezed[:CHUNK]:
        squeezed = squeezed.replace(b" \n", b"\n")
    # Arrow and the slow way differ in these blanks, and Arrow takes 0x10 and .5 for numbers.
    if (
        not squeezed.strip()
        or headless(squeezed)
        or any(blank in squeezed for blank in (b"\r", b"\t", b"\v", b"\f"))
    ):
        return None
    if any(letter in squeezed and b" 0" + letter in squeezed for letter in (b"x", b"X")):
        return None
    types = {name: pa.int64() if name in _WHOLE else pa.float64() for name in wanted}
    types["Name"] = pa.dictionary(pa.int32(), pa.string())
    try:
        table = csv.read_csv(
            pa.BufferReader(squeezed),
            memory_pool=pa.system_memory_pool(),  # reuses its pages, Arrow's own touches new ones
            read_options=csv.ReadOptions(column_names=columns),
            parse_options=csv.ParseOptions(delimiter=" ", quote_char=False),
            convert_options=csv.ConvertOptions(
                column_types=types,
                include_columns=wanted,
                null_values=["*"],
                decimal_point="," if b"," in squeezed else ".",
            ),
        ).unify_dictionaries()
        names = table["Name"].combine_chunks()
        calls = [call_name(name.encode()) for name in names.dictionary.to_pylist()]
    except (pa.ArrowException, ValueError):
        return None
    if any(table[name].null_count for name in wanted if name != "Rank"):
        return None
    values = {
        name: (table[name].fill_null(_STAR) if name == "Rank" else table[name]).to_numpy()
        for name in wanted
        if name != "Name"
    }
    values = {"Name": names.indices.to_numpy()} | values
    if not _plain(values, table["Rank"].null_count if "Rank" in values else 0):
        return None
    return Rows(calls, values, None, section.closed, section)


def _plain(values: dict[str, np.ndarray], stars: int) -> bool:
    """Tell whether every number is one that the slow way takes too."""
    for name, array in values.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            return False
        if name in ("Site", "Rank") and len(array) and array.max() > _LARGEST:
            return False
        if name in _WHOLE and name != "Rank" and len(array) and (array.min() < 0 or array.max() >= 10**18):
            return False
    return "Rank" not in values or int((values["Rank"] < 0).sum()) == stars


def _read_slow(
    report: Report, section: Section, columns: list[str], wanted: list[str], faults: Faults
) -> Rows:
    positions = [columns.index(name) for name in wanted]
    codes: dict[str, int] = {}
    kept: list[list[float]] = []
    lines: list[int] = []
    # A rule inside ends the section early (see `Report.lines`).
    whole = section.closed and b"\n---" not in report.data[section.start : section.stop]
    for number, line in list(report.lines(section))[1:]:
        tokens = line.split()
        try:
            if len(tokens) != len(columns):
                raise ValueError(f"{len(tokens)} fields instead of {len(columns)}")
            row = [_value(name, tokens[at], codes) for name, at in zip(wanted, positions, strict=True)]
        except ValueError as error:
            faults.damage(number, f"row of {section.title!r}: {error}", "the row is left out")
            whole = False
            continue
        kept.append(row)
        lines.append(number)
    arrays: dict[str, np.ndarray] = {
        name: np.array([row[i] for row in kept], dtype=_dtype(name)) for i, name in enumerate(wanted)
    }
    return Rows(list(codes), arrays, np.array(lines, dtype=np.int64), whole, section)


def _dtype(name: str) -> type:
    return np.int32 if name == "Name" else np.int64 if name in _WHOLE else np.float64


def _value(name: str, token: bytes, codes: dict[str, int]) -> float:
    if name == "Name":
        return codes.setdefault(call_name(token), len(codes))
    if name == "Rank" and token == b"*":
        return _STAR
    if name not in _WHOLE:
        return real(token)
    value = natural(token)
    if name in ("Site", "Rank") and value > _LARGEST:
        raise ValueError(f"{name} {value} is out of range")
    return value


def _consistent(rows: Rows, report: Report, faults: Faults) -> Rows:
    """Refuse rows that cannot be: no calls at all, or a mean outside its minimum and maximum."""
    values = rows.columns
    good = values["Tasks" if rows.concise else "Count"] > 0
    if {"Max", "Mean", "Min"} <= set(values):
        # 1 % covers the rounding of three printed digits on either side.
        good &= (values["Mean"] <= values["Max"] * 1.01) & (values["Mean"] >= values["Min"] * 0.99)
    if good.all():
        return rows
    for row in np.flatnonzero(~good):
        what = (
            f"row of {rows.section.title!r}: its mean is not between minimum and maximum, or it has no calls"
        )
        faults.damage(rows.line(report, int(row)), what, "the row is left out")
    return rows.keep(good, report)
