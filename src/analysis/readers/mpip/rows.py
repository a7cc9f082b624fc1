"""Rows of mpiP's callsite statistics, checked against the ``*`` row of their site.

A section is read as a whole, or line by line if a line is odd. Both ways accept the same rows and give the
same values. The fast one merges runs of blanks and passes the section to Arrow's CSV reader. If that fails
(a damaged row, a malformed number), the slow one reads the section, keeps every complete row and lists the
others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as csv

from analysis.readers.base import Faults
from analysis.readers.mpip.report import ReportText, Section, call_name, natural
from analysis.readers.text import headless, printable, real

_TIME = "Name Site Rank Count Max Mean Min App% MPI%"
_BYTES = "Name Site Rank Count Max Mean Min Sum"
_CONCISE = "Name Site Tasks Max Mean Min MaxRnk MinRnk"
_WHOLE = frozenset({"Site", "Rank", "Count", "Tasks"})
# Ranks and sites index arrays and are stored as i4.
_LARGEST = 2**31 - 1
_STAR = -1
_ROWS = 1 << 15  # checked at a time
CHUNK = 1 << 18  # B worked on at a time fit the cache


@dataclass
class SiteRows:
    """Rows of one section, in the order of the file."""

    names: list[str]  # calls, spelt like MPI_Send
    # ``Name`` (position in `names`), ``Site``, ``Rank`` (-1 for ``*``) and ``Count``, or ``Tasks`` instead of
    # the last two in concise mode: integers, as narrow as they came; the section's numbers as float64.
    columns: dict[str, np.ndarray]
    lines: np.ndarray | None  # line of each row; None where every line of the section is a row (see `line`)
    whole: bool  # whether the section is closed and no row of it was refused
    section: Section

    @property
    def concise(self) -> bool:
        """Whether the rows are statistics over tasks instead of one row a rank."""
        return "Tasks" in self.columns

    def line(self, report: ReportText, row: int) -> int:
        """Return the line of a row, counted only when a message needs it."""
        if self.lines is None:
            self.lines = np.array([number for number, _ in report.lines(self.section)][1:], dtype=np.int64)
        return int(self.lines[row])

    def keep(self, mask: np.ndarray, report: ReportText) -> SiteRows:
        """Return the rows where `mask` is true; the section is then no longer whole."""
        if len(mask):
            self.line(report, 0)
        lines = self.lines[mask] if self.lines is not None else None
        columns = {name: values[mask] for name, values in self.columns.items()}
        return SiteRows(self.names, columns, lines, False, self.section)


def read_rows(report: ReportText, section: Section, faults: Faults) -> SiteRows | None:
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
    cut_out = report.columns(section)
    if cut_out is not None and report.cut is not None:
        return _consistent(SiteRows(report.cut.names, cut_out, None, section.closed, section), report, faults)
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


def _read_fast(squeezed: bytes, columns: list[str], wanted: list[str], section: Section) -> SiteRows | None:
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
            # A thread of Arrow's that still lets go of Python's bytes as the process ends aborts it.
            read_options=csv.ReadOptions(column_names=columns, use_threads=False),
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
    return SiteRows(calls, values, None, section.closed, section)


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
    report: ReportText, section: Section, columns: list[str], wanted: list[str], faults: Faults
) -> SiteRows:
    positions = [columns.index(name) for name in wanted]
    codes: dict[str, int] = {}
    kept: list[list[float]] = []
    lines: list[int] = []
    # A rule inside ends the section early (see `ReportText.lines`).
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
    return SiteRows(list(codes), arrays, np.array(lines, dtype=np.int64), whole, section)


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


def _consistent(rows: SiteRows, report: ReportText, faults: Faults) -> SiteRows:
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


Columns = dict[str, np.ndarray]


def rank_rows(
    report: ReportText, time: SiteRows, ranks: int, threshold: bool, faults: Faults
) -> tuple[Columns, Columns]:
    """Check counts site by site; rows of unknown ranks, rows out of place and sums that differ are faults.

    Returned are the rank rows and ``*`` rows that are kept, and ``Name Site Count Time`` (ms) of what a
    ``*`` row has beyond the rank rows of its site. With `threshold`, option ``-t`` may have left out rank
    rows, and a rest is then not a fault.
    """
    if not _orderly(time.columns, ranks):
        time = _without_strays(report, time, ranks, faults)
    sites = _odd_sites(time.columns, ranks)
    _name_faults(report, time, sites, threshold, faults)
    for at in np.flatnonzero(sites["off"]):
        name, number = time.names[sites["name"][at]], sites["site"][at]
        found = f"{name} at site {number}: its * row contradicts the rows of its ranks"
        line = time.line(report, int(sites["row"][at]))
        faults.damage(line, found, "one of the numbers is damaged; all are kept")
    more = sites["rest"] > 0
    rest = {name: values[more] for name, values in sites.items()}
    return time.columns, {
        "Name": rest["name"].astype(np.int32),
        "Site": rest["site"],
        "Count": rest["rest"].astype(np.int64),
        # Both are products of printed means: the difference can round below nothing.
        "Time": (rest["star_time"] - rest["time"]).clip(min=0.0).astype(np.float64),
    }


def _orderly(columns: dict[str, np.ndarray], ranks: int) -> bool:
    """Tell whether every run of rows with one site has one name, known ranks and a ``*`` row last."""
    site, name, rank = columns["Site"], columns["Name"], columns["Rank"]
    if not len(site):
        return True
    last = np.append(site[1:] != site[:-1], True)
    same_name = (name[1:] == name[:-1]) | last[:-1]
    known = not ranks or int(rank.max()) < ranks
    return bool(known and same_name.all() and ((rank < 0) == last).all())


def _without_strays(report: ReportText, time: SiteRows, ranks: int, faults: Faults) -> SiteRows:
    """Leave out rows whose site, call or rank was damaged into another one."""
    site, name, rank = (time.columns[key] for key in ("Site", "Name", "Rank"))
    inner = np.zeros(len(site), dtype=bool)
    inner[1:-1] = (site[:-2] == site[2:]) & (site[1:-1] != site[2:]) & (name[:-2] == name[2:])
    usual = _usual_name(site, name)
    reasons = (
        (inner, "its site differs from the rows around it"),
        (~inner & (name != usual), "its call differs from the other rows of the site"),
        ((rank >= ranks) & bool(ranks), f"its rank is not among the {ranks} of the job"),
    )
    stray = np.zeros(len(site), dtype=bool)
    for mask, reason in reasons:
        for row in np.flatnonzero(mask & ~stray):
            found = f"row of {time.section.title!r}: {reason}"
            faults.damage(time.line(report, int(row)), found, "the row is left out")
        stray |= mask
    return time.keep(~stray, report) if stray.any() else time


def _usual_name(site: np.ndarray, name: np.ndarray) -> np.ndarray:
    """Return for each row the name that most rows of its site have."""
    pairs = pd.DataFrame({"site": site, "name": name}).value_counts().reset_index()
    usual = pairs.sort_values(["count", "name"]).drop_duplicates("site", keep="last")
    names: np.ndarray = usual.set_index("site")["name"].reindex(site).to_numpy()
    return names


def runs_of(site: np.ndarray) -> np.ndarray:
    """Return where each run of rows with the same site begins."""
    return np.flatnonzero(np.append(True, site[1:] != site[:-1])) if len(site) else np.empty(0, np.intp)


def distinct(values: np.ndarray) -> bool:
    """Tell whether no number, from 0, is there twice."""
    if len(values) and values.max() > 8 * len(values) + 64:
        return bool(pd.Index(values).is_unique)
    return int(np.bincount(values).max(initial=0)) <= 1


def by_site(columns: Columns) -> Iterator[tuple[Columns, np.ndarray, np.ndarray]]:
    """Give the rows some thousands at a time, those of a site together, so that they fit the cache.

    With them go where each site begins in them, and its first row in the section.
    """
    order: slice | np.ndarray = slice(None)
    first = runs_of(columns["Site"])
    if not distinct(columns["Site"][first]):
        order = np.argsort(columns["Site"], kind="stable")  # only in a damaged file
        first = runs_of(columns["Site"][order])
    rows = len(columns["Site"])
    cuts = np.unique(np.searchsorted(first, np.arange(0, rows, _ROWS)))
    for some in np.split(first, cuts)[1:]:
        end = np.searchsorted(first, some[-1], side="right")
        part = slice(some[0], first[end] if end < len(first) else rows)
        taken = part if isinstance(order, slice) else order[part]
        row = some if isinstance(order, slice) else order[some]
        yield {name: values[taken] for name, values in columns.items()}, some - some[0], row


def _odd_sites(columns: Columns, ranks: int) -> Columns:
    """Return the sites whose ``*`` row is not what the rows of their ranks are, as they come in the file.

    ``site name row stars count time star_count star_time rest off``: calls and times, what the ``*`` row
    has beyond the ranks, and whether it contradicts them.
    """
    decimals, parts = _has_decimals(columns["Mean"]), []
    for rows, first, row in by_site(columns):
        sites = _totals(rows, first) | {"row": row}
        sites["off"] = _contradicts(rows, first, sites, ranks, decimals)
        odd = (sites["stars"] != 1) | (sites["rest"] != 0) | sites["off"]
        parts.append({name: values[odd] for name, values in sites.items()})
    if not parts:
        names = "site name stars count time star_count star_time rest row off"
        return {name: np.empty(0, np.int64) for name in names.split()}
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = np.argsort(joined["row"])
    return {name: values[order] for name, values in joined.items()}


def _totals(rows: Columns, first: np.ndarray) -> Columns:
    star = rows["Rank"] < 0
    time = rows["Count"] * rows["Mean"]

    def summed(values: np.ndarray) -> np.ndarray:
        dtype = np.float64 if values.dtype.kind == "f" else np.int64
        sums: np.ndarray = np.add.reduceat(values, first, dtype=dtype)
        return sums

    totals = {
        "site": rows["Site"][first],
        "name": rows["Name"][first],
        "stars": summed(star),
        "count": summed(np.where(star, 0, rows["Count"])),
        "time": summed(np.where(star, 0.0, time)),
        "star_count": summed(np.where(star, rows["Count"], 0)),
        "star_time": summed(np.where(star, time, 0.0)),
    }
    rest = totals["star_count"] - totals["count"]
    return totals | {"rest": np.where(totals["stars"] == 1, rest, 0)}


# Two products of numbers of three printed digits, or of three decimals of a ms with option -e.
_DIGITS, _DECIMALS = 0.0101, 5e-4
_SUMS = 1.1e-3  # two sums of four printed digits


def _contradicts(rows: Columns, first: np.ndarray, sites: Columns, ranks: int, decimals: bool) -> np.ndarray:
    """Compare largest, mean and least time of each ``*`` row with the rows of its ranks.

    A single call has one time.
    """
    count, most, least = (rows[name] for name in ("Count", "Max", "Min"))
    star = rows["Rank"] < 0
    row = np.maximum.reduceat(np.where(star, np.arange(len(star)), -1), first)
    off = np.logical_or.reduceat((count == 1) & (most != least), first)
    off |= most[row] != np.maximum.reduceat(np.where(star, -np.inf, most), first)
    # With option -l the least of a site is 0 where a rank never came to it.
    callers = np.add.reduceat(~star, first, dtype=np.int64)
    absent = (least[row] == 0) & (callers < ranks)
    off |= (least[row] != np.minimum.reduceat(np.where(star, np.inf, least), first)) & ~absent
    slack = _DIGITS * np.maximum(sites["time"], sites["star_time"])
    slack += _DECIMALS * 2 * decimals * sites["count"]
    off |= np.abs(sites["time"] - sites["star_time"]) > slack
    off &= (sites["stars"] == 1) & (sites["rest"] == 0) & (sites["count"] > 0)
    return off


def _name_faults(report: ReportText, time: SiteRows, sites: Columns, threshold: bool, faults: Faults) -> None:
    cut = not time.section.closed or "end" not in report.sections
    last = int(time.columns["Site"][-1]) if len(time.columns["Site"]) else -1
    columns = ("site", "name", "row", "stars", "count", "star_count", "rest")
    for site, name, row, stars, count, total, rest in zip(*(sites[c].tolist() for c in columns), strict=True):
        head = f"{time.names[name]} at site {site}"
        if stars == 1 and rest > 0 and not threshold:
            found = f"{head}: {rest} of {total} calls are in no row of a rank"
            faults.damage(time.line(report, row), found, "they are kept as a row of rank -1")
        elif stars == 1 and rest < 0:
            found = f"{head}: its rows hold {count} calls, its * row {total}"
            faults.damage(time.line(report, row), found, "the rows of the ranks are kept as they are")
        elif stars == 0 and not (cut and site == last):
            faults.damage(time.line(report, row), f"{head} has no * row", "its rows could not be checked")
        elif stars > 1:
            faults.damage(
                time.line(report, row), f"{head} has {stars} * rows", "its rows could not be checked"
            )


def check_bytes(report: ReportText, rows: SiteRows, threshold: bool, faults: Faults) -> None:
    """Compare the bytes of each ``*`` row with the sum of its ranks: one fault per site."""
    odd: list[tuple[int, int]] = []
    for columns, first, row in by_site(rows.columns):
        off = _differs(columns, first, complete=not threshold and rows.whole)
        odd += zip(columns["Site"][first][off].tolist(), row[off].tolist(), strict=True)
    for number, at in sorted(odd):
        found = f"site {number} of {rows.section.title!r}: its * row is not the sum of its ranks"
        faults.damage(rows.line(report, at), found, "one of the numbers is damaged; all are kept")


def _differs(rows: Columns, first: np.ndarray, *, complete: bool) -> np.ndarray:
    star, count, amount = rows["Rank"] < 0, rows["Count"], rows["Sum"]

    def summed(values: np.ndarray) -> np.ndarray:
        sums: np.ndarray = np.add.reduceat(values, first, dtype=np.float64)
        return sums

    stars, own = summed(star), summed(~star)
    sums, stated = summed(np.where(star, 0.0, amount)), summed(np.where(star, amount, 0.0))
    counts = summed(np.where(star, -1.0, 1.0) * count)
    off = (stars == 1) & (own > 0) & (np.abs(sums - stated) > _SUMS * np.maximum(sums, stated))
    # Option -t leaves out the rows of some ranks.
    off &= (counts == 0) | (sums > stated)
    return np.asarray(off | ((stars != 1) | (counts != 0)) if complete else off)


def _has_decimals(means: np.ndarray) -> bool:
    """Tell whether times have three decimals (option ``-e``) instead of three digits."""
    for at in range(0, len(means), CHUNK):  # mostly the first few decide
        thousands = means[at : at + CHUNK] * 1e3
        if not (np.abs(thousands - np.round(thousands)) < 1e-6).all():
            return False
    return True
