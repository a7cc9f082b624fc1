"""HPCToolkit: `experiment.xml` of 2.x, or a database (2.x, 4.x) as folder or tar: time in MPI functions.

Databases of 2.x have `experiment.xml` and a `.metric-db` of each thread; those of 4.x have contexts and
metrics in `meta.db` and the times of each thread in `profile.db`.
"""

import io
import math
import re
import struct
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from xml.parsers import expat

import numpy as np
import xarray as xr

from analysis.base.errors import ReadError
from analysis.readers.base import Faults, observations, profile_dataset
from analysis.readers.format import Format

FORMAT = Format(
    engine="hpctoolkit", kind="profile", tool="HPCToolkit",
    folder=("experiment.xml", "meta.db", "profile.db", "*.metric-db"),
)  # fmt: skip
_XML = re.compile(rb"<\?xml [^>]{0,100}\?>\s*<!DOCTYPE (?:HPCToolkitExperiment|hpc-experiment)\b")
_TAR = slice(257, 262)
_BLOCK = 512  # B, of a tar
_MEMBER = re.compile(
    rb"(?:experiment\.xml|\.metric-db|(?:meta|profile|cct|trace)\.db|hpctoolkit-[^\0]{1,80}/)\0"
)
_WANTED = re.compile(r"(?:^|/)(?:experiment\.xml|meta\.db|profile\.db|[^/]+\.metric-db)$")
# The wrapper of HPCToolkit, the library's own symbol, that of Fortran; inner functions have other names.
# Behind it stand a part (``.part.0``), a version or, from 4.0 on, the library in brackets.
_FUNCTION = re.compile(
    r"(?:P?MPI_([A-Z][A-Za-z0-9_]*+)|p?mpi_([a-z][a-z0-9_]*?)_{1,2})(?:[ .@(<\[].*)?", re.DOTALL
)
# What can be sampled to get a time, the wall clock first; and its unit in s.
_EVENTS = ("REALTIME", "WALLCLOCK", "CPUTIME")
_TIME = re.compile(rf"(?P<event>{'|'.join(_EVENTS)}) \((?P<unit>usec|us|sec|s)\)(?P<rest>.*)")
_UNITS = {"usec": 1e-6, "us": 1e-6, "sec": 1.0, "s": 1.0}
_MOST_RANKS = 1 << 20


class _Metric(NamedTuple):
    """A metric that is a time, in the order of preference: its unit in s, its name and number."""

    place: int
    unit: float
    name: str
    number: int


@dataclass
class _Database:
    """Outermost MPI frames by the number of their node, the roots, and inclusive times of nodes in s.

    `total` is over all threads; `threads` has those of each by rank and thread, empty where the files given
    have sums only.
    """

    metric: _Metric
    program: str = ""
    frames: dict[int, str] = field(default_factory=dict)
    roots: list[int] = field(default_factory=list)
    total: dict[int, float] = field(default_factory=dict)
    threads: dict[tuple[int, int], Mapping[int, float]] = field(default_factory=dict)


def sniff(head: bytes, name: str) -> bool:
    """Tell whether some bytes begin as experiment.xml, or are a tar with a file of a database."""
    if head[_TAR] != b"ustar":
        return _XML.match(head) is not None
    return any(_MEMBER.search(head[at : at + 101]) for at in range(0, len(head), _BLOCK))


def parse(data: bytes, source: str = "<memory>") -> xr.Dataset:
    """Read the time in each MPI function: kind ``profile``.

    The outermost MPI function of a call path counts, with all that it calls. Functions are sampled, so that
    calls are not counted and one without a sample is not there. `experiment.xml` alone has sums over all
    threads (rank -1); a whole database has them by rank, and a rank's time is that of its first thread.
    Attributes ``app_time_total`` and ``mpi_time_total`` are over all threads.
    """
    if not sniff(data[:65_536], ""):
        found = "no <HPCToolkitExperiment> and no tar with one"
        raise ReadError.at(source, 0, found, "give experiment.xml or the folder of the database")
    faults = Faults(source)
    files = _unpacked(data, faults) if data[_TAR] == b"ustar" else {"experiment.xml": data}
    named = {name.rpartition("/")[2]: content for name, content in files.items()}
    if {"meta.db", "profile.db"} <= named.keys():
        database = _sparse(named["meta.db"], named["profile.db"], faults)
    elif "experiment.xml" in named:
        database, column = _experiment(named["experiment.xml"], faults)
        _add_threads(database, column, files, faults)
    else:
        found = "no experiment.xml, and no meta.db with profile.db"
        raise ReadError.at(source, 0, found, "pack the whole database")
    _compare(database, faults)
    if database.metric.place == _EVENTS.index("CPUTIME"):
        found = "CPUTIME was sampled: what a rank sleeps in MPI is not in it"
        faults.note(0, found, "sample REALTIME for times by the wall clock")
    return _dataset(database, faults)


def _unpacked(data: bytes, faults: Faults) -> dict[str, bytes]:
    """Return the files of a packed database."""
    files: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            for member in archive:
                wanted = member.isfile() and _WANTED.search(member.name)
                if wanted and (content := archive.extractfile(member)) is not None:
                    files[member.name] = content.read()
    except (tarfile.TarError, ValueError, OverflowError, EOFError) as error:
        found = f"the tar is cut or damaged ({error})"
        faults.damage(0, found, "pack the database again; kept what is whole")
    return files


def _function(name: str) -> str:
    """Return the MPI function that a procedure is, in MPI's own spelling; empty if it is none."""
    found = _FUNCTION.fullmatch(name)
    return f"MPI_{found[1] or found[2].capitalize()}" if found else ""


def _metric(name: str, number: int, *, suffix: str = "") -> _Metric | None:
    """Return a metric if its name is that of a time with the given suffix."""
    found = _TIME.fullmatch(name.strip())
    if found is None or found["rest"].strip() != suffix:
        return None
    return _Metric(_EVENTS.index(found["event"]), _UNITS[found["unit"]], name, number)


def _compare(database: _Database, faults: Faults) -> None:
    """Compare the times of all threads with the sums that the database has of them."""
    nodes = [*database.roots, *database.frames]
    own = [[times.get(node, 0.0) for node in nodes] for times in database.threads.values()]
    if not own:
        return
    summed = np.array(own).sum(axis=0)
    stated = np.array([database.total.get(node, 0.0) for node in nodes])
    # Sums have six digits in the XML.
    off = np.flatnonzero(np.abs(summed - stated) > 1e-5 * np.maximum(summed, stated) + 1e-9)
    if off.size:
        at, node = off[0], nodes[off[0]]
        name = database.frames.get(node, "the program")
        found = f"node {node} ({name}): threads took {summed[at]:.6g} s, their sum is {stated[at]:.6g} s"
        faults.damage(0, found, "files of several databases, or a number is damaged: copy all again")


def _size(database: _Database, faults: Faults) -> int:
    """Return how many ranks there are by the database; -1 where it has sums only."""
    if not database.threads:
        return -1
    ranks = sorted({rank for rank, _ in database.threads})
    if ranks[-1] >= _MOST_RANKS:
        faults.damage(0, f"rank {ranks[-1]}", "no such rank; the database is damaged")
        return -1
    if len(ranks) <= ranks[-1]:
        found = f"{len(ranks)} ranks, the last is {ranks[-1]}"
        faults.note(0, found, "the others were not measured, or are lost")
    if any(thread for _, thread in database.threads):
        faults.note(0, "more than one thread per rank", "the rank's time is that of its first thread")
    return ranks[-1] + 1


def _dataset(database: _Database, faults: Faults) -> xr.Dataset:
    expected = _size(database, faults)
    threads, total = database.threads, database.total
    kept = {rank: threads[rank, thread] for rank, thread in sorted(threads) if not thread and rank < expected}
    size = max(expected, 0)
    ranks = {name: np.full(size, np.nan) for name in ("app_time", "mpi_time", "memory")}
    rows: list[tuple[int, str, float]] = []
    for rank, own in (kept or {-1: total}).items():
        times: dict[str, float] = {}
        for node, name in database.frames.items():
            if node in own:
                times[name] = times.get(name, 0.0) + own[node]
        rows += [(rank, name, time) for name, time in sorted(times.items())]
        if rank >= 0:
            ranks["app_time"][rank] = math.fsum(own.get(node, 0.0) for node in database.roots)
            ranks["mpi_time"][rank] = math.fsum(times.values())
    return profile_dataset(
        obs=observations(
            [name for _, name, _ in rows], [time for *_, time in rows], rank=[rank for rank, *_ in rows]
        ),
        ranks={**ranks, "host": np.full(size, "", dtype=object)},
        tool=FORMAT.tool,
        tool_version="",
        ranks_expected=expected,
        faults=faults,
        attrs={
            "command": database.program,
            "app_time_total": math.fsum(total.get(node, 0.0) for node in database.roots),
            "mpi_time_total": math.fsum(total.get(node, 0.0) for node in database.frames),
        },
    )


# ---- databases of 2.x

_SCOPES = frozenset(("PF", "Pr", "P", "C", "L", "S"))
_DIGITS = 2e-5  # values have six digits
_HEAD = struct.Struct(">18s5scii")
_MARK = b"HPCPROF-metricdb__"
_NAMED = re.compile(r"-(\d{1,7})-(\d{1,7})-[0-9a-f]+-\d+-\d+\.metric-db$")
_CUT = "the file is cut or damaged; kept what is whole"


@dataclass(slots=True)
class _Scope:
    """An open scope: its number and line, whether it is within MPI, its time, that of what is in it."""

    node: int
    line: int
    inside: bool
    time: float = 0.0
    inner: float = -1.0


class _Reader:
    """Takes `experiment.xml` apart while expat reads it."""

    def __init__(self, faults: Faults) -> None:
        self.faults = faults
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.EntityDeclHandler = self.entity
        self.metrics: list[_Metric] = []
        self.columns: list[_Metric] = []
        self.procedures: dict[str, str] = {}
        self.open: list[_Scope] = []
        self.database: _Database | None = None
        self.within = False
        self.program = ""

    def entity(self, name: str, *_: object) -> None:
        found = f"declares the entity {name[:40]!r}"
        line = self.parser.CurrentLineNumber
        raise ReadError.at(self.faults.source, line, found, "HPCToolkit writes none")

    def start(self, tag: str, cells: dict[str, str]) -> None:
        if tag in _SCOPES and self.within and self.database:
            self._scope(tag, cells, self.database)
        elif tag == "M" and self.open and self.database:
            if cells.get("n") == str(self.database.metric.number):
                self._value(cells.get("v", ""), self.database)
        elif tag == "Metric" and cells.get("t") == "inclusive":
            self._metric(self.metrics, cells, "i", ":Sum (I)", "(I)")
        elif tag == "MetricDB" and cells.get("t") == "inclusive":
            self._metric(self.columns, cells, "db-id", "(I)")
        elif tag == "Procedure":
            self.procedures[cells.get("i", "")] = cells.get("n", "")
        elif tag == "SecCallPathProfile":
            self.program = cells.get("n", "")
        elif tag == "SecCallPathProfileData" and self.metrics:
            self.within = True
            self.database = _Database(min(self.metrics), self.program)

    def _metric(self, into: list[_Metric], cells: dict[str, str], key: str, *suffixes: str) -> None:
        name, number = cells.get("n", ""), cells.get(key, "")
        found = [_metric(name, int(number), suffix=one) for one in suffixes if number.isdecimal()]
        into += [one for one in found if one]

    def _scope(self, tag: str, cells: dict[str, str], database: _Database) -> None:
        line = self.parser.CurrentLineNumber
        number = cells.get("i", "")
        node = int(number) if number.isdecimal() and len(number) < 10 else -1
        if node < 0:
            self.faults.damage(line, f"<{tag}> without a number", _CUT)
        outer = self.open[-1].inside if self.open else False
        # Before 2.0 procedures are not numbered: the name is the attribute's own.
        text = cells.get("n", "")
        name = "" if outer or tag not in ("PF", "Pr", "P") else _function(self.procedures.get(text, text))
        if name:
            database.frames[node] = name
        if not self.open:
            database.roots.append(node)
        self.open.append(_Scope(node, line, outer or bool(name)))

    def _value(self, text: str, database: _Database) -> None:
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if 0 <= value < 1e300:
            self.open[-1].time = value * database.metric.unit
        else:
            found = f"time is {text[:40]!r}"
            self.faults.damage(self.parser.CurrentLineNumber, found, "left out; copy the file again")

    def end(self, tag: str) -> None:
        if tag == "SecCallPathProfileData":
            self.within = False
        if tag not in _SCOPES or not self.open or self.database is None:
            return
        scope = self.open.pop()
        if scope.time:
            self.database.total[scope.node] = scope.time
        # Samples fall on statements alone: a scope's time is that of the scopes in it.
        if scope.inner >= 0 and abs(scope.inner - scope.time) > _DIGITS * max(scope.inner, scope.time):
            found = f"node {scope.node} took {scope.time:.6g} s, what is in it {scope.inner:.6g} s"
            self.faults.damage(scope.line, found, "a number is damaged: copy the file again")
        if self.open:
            self.open[-1].inner = max(self.open[-1].inner, 0.0) + scope.time


def _experiment(data: bytes, faults: Faults) -> tuple[_Database, _Metric | None]:
    """Read the sums over all threads, and which column of a `.metric-db` has the same time.

    Of a file that is cut what is whole is kept.
    """
    reader = _Reader(faults)
    try:
        reader.parser.Parse(data, True)
    except expat.ExpatError as error:
        faults.damage(error.lineno, f"broken XML ({expat.ErrorString(error.code)})", _CUT)
        for scope in reader.open:
            if scope.time and reader.database:
                reader.database.total.setdefault(scope.node, scope.time)
    if reader.database is None:
        found = f"no sum of {', '.join(_EVENTS[:2])} or {_EVENTS[2]}"
        remedy = "measure one of these events; later databases: give the whole folder"
        raise ReadError.at(faults.source, 0, found, remedy)
    kind = reader.database.metric.place
    return reader.database, next((one for one in reader.columns if one.place == kind), None)


def _add_threads(
    database: _Database, column: _Metric | None, files: Mapping[str, bytes], faults: Faults
) -> None:
    """Read the `.metric-db` of each thread: the times of all nodes, in the order of their numbers."""
    for name, data in sorted(files.items()):
        place = _NAMED.search(name)
        if place is None or column is None:
            continue
        try:
            mark, _, order, nodes, metrics = _HEAD.unpack_from(data)
            if mark != _MARK or order != b"b" or not 0 <= column.number < metrics:
                raise ValueError
            table = np.frombuffer(data, ">f8", nodes * metrics, _HEAD.size).reshape(nodes, metrics)
            own = table[:, column.number] * column.unit
            if len(data) != _HEAD.size + table.nbytes or not (np.isfinite(own) & (own >= 0)).all():
                raise ValueError
        except (struct.error, ValueError):
            faults.damage(0, f"{name[-60:]} is no table of metrics, or cut", "left out; copy it again")
            continue
        at = np.flatnonzero(own)
        # The first node is number 1.
        times = dict(zip((at + 1).tolist(), own[at].tolist(), strict=True))
        database.threads[int(place[1]), int(place[2])] = times


# ---- databases of 4.x

_META, _PROFILE = b"HPCTOOLKITmeta\x04", b"HPCTOOLKITprof\x04"
# Sections of each file by their place in its head: sizes and offsets in turn.
_SECTIONS = 16
_GENERAL, _IDS, _METRICS, _CONTEXTS = 0, 1, 2, 3
_INFOS = 0
_CONTEXT = struct.Struct("<QQIHBB8x")  # size and offset of children, number, flags, kind, words that follow
_PROFILE_INFO = struct.Struct("<QQI4xQQI")
_VALUE = np.dtype([("metric", "<u2"), ("value", "<f8")])
_INDEX = np.dtype([("context", "<u4"), ("start", "<u8")])
_PROCEDURE, _MAIN, _SUM, _SUMMARY = 0, 1, 0, 1
_MOST_NAME = 4096


class _File:
    """Bytes that are read by offset; one outside them is a `ValueError`."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def numbers(self, form: str | struct.Struct, at: int) -> tuple[int, ...]:
        form = form if isinstance(form, struct.Struct) else struct.Struct(form)
        if not 0 <= at <= len(self.data) - form.size:
            raise ValueError(f"offset {at} lies outside the file")
        return form.unpack_from(self.data, at)

    def text(self, pointer: int) -> str:
        """Return the name to which the offset at a place leads."""
        (at,) = self.numbers("<Q", pointer)
        end = self.data.find(b"\0", at, at + _MOST_NAME)
        if not 0 <= at < end:
            raise ValueError(f"no name at offset {at}")
        return self.data[at:end].decode("utf-8", "replace")

    def section(self, place: int) -> int:
        """Return the offset of a section."""
        return self.numbers("<QQ", _SECTIONS + 16 * place)[1]

    def table(self, kind: np.dtype, at: int, rows: int) -> np.ndarray:
        if not 0 <= at <= len(self.data) - rows * kind.itemsize:
            raise ValueError(f"a table of {rows} rows at offset {at} lies outside the file")
        return np.frombuffer(self.data, kind, rows, at)


def _sparse(meta: bytes, profile: bytes, faults: Faults) -> _Database:
    """Read times by rank and thread, and their sums; a database that is damaged is refused."""
    if not meta.startswith(_META) or not profile.startswith(_PROFILE):
        found = "no meta.db and profile.db of version 4"
        raise ReadError.at(faults.source, 0, found, "give the whole database")
    try:
        return _contexts(_File(meta), _File(profile), faults)
    except (ValueError, OverflowError, MemoryError) as error:
        raise ReadError.at(faults.source, 0, f"the database is damaged: {error}", "copy it again") from error


def _contexts(meta: _File, profile: _File, faults: Faults) -> _Database:
    own, summed = _sampled(meta)
    database = _Database(own, program=meta.text(meta.section(_GENERAL)))
    children, below, entry = _entry(meta)
    database.roots.append(entry)
    _frames(meta, children, below, database)
    names, number = meta.numbers("<QB", meta.section(_IDS))
    kinds = [meta.text(names + 8 * one).strip().upper() for one in range(number)]
    wanted = np.array([*database.roots, *database.frames])
    for (rank, thread), is_sum, times in _profiles(profile, kinds, own, summed, wanted):
        if is_sum:
            database.total |= times
        elif rank < 0:
            faults.note(0, "a profile of no rank", "left out")
        else:
            database.threads[rank, thread] = times
    return database


def _sampled(meta: _File) -> tuple[_Metric, int]:
    """Return the time that was sampled, over what a context calls too, and the number of its sum."""
    at, number, size, scope_size, summary_size = meta.numbers("<QIBBB", meta.section(_METRICS))
    found: list[tuple[_Metric, int]] = []
    for row in range(number):
        _, scopes, summaries, n_scopes, n_summaries = meta.numbers("<QQQHH", at + row * size)
        own = sums = -1
        for one in range(n_scopes):
            scope, metric_id = meta.numbers("<QH", scopes + one * scope_size)
            own = metric_id if meta.text(scope) == "execution" else own
        for one in range(n_summaries):
            scope, _, combine, _, metric_id = meta.numbers("<QQBBH", summaries + one * summary_size)
            if combine == _SUM and meta.text(scope) == "execution":
                sums = metric_id
        known = _metric(meta.text(at + row * size), own)
        if known and own >= 0 and sums >= 0:
            found.append((known, sums))
    if not found:
        raise ValueError("no REALTIME, WALLCLOCK or CPUTIME was sampled")
    return min(found)


def _entry(meta: _File) -> tuple[int, int, int]:
    """Return offset and size of the contexts below the program's entry, and its number."""
    at, number, size = meta.numbers("<QHB", meta.section(_CONTEXTS))
    for row in range(number):
        below, children, context, kind = meta.numbers("<QQIH", at + row * size)
        if kind == _MAIN:
            return children, below, context
    raise ValueError("no entry of a program")


def _frames(meta: _File, children: int, below: int, database: _Database) -> None:
    """Find the outermost contexts that are MPI functions."""
    left = [(children, below)]
    seen = 0
    while left:
        at, size = left.pop()
        end = at + size
        while at < end:
            below, children, context, _, kind, words = meta.numbers(_CONTEXT, at)
            seen += 1
            if seen * _CONTEXT.size > len(meta.data):
                raise ValueError("contexts contain each other")
            name = ""
            if kind == _PROCEDURE and words:
                (place,) = meta.numbers("<Q", at + _CONTEXT.size)
                name = _function(meta.text(place)) if place else ""
            if name:
                database.frames[context] = name
            elif below:
                left.append((children, below))
            at += _CONTEXT.size + 8 * words


def _profiles(
    profile: _File, kinds: list[str], own: _Metric, summed: int, wanted: np.ndarray
) -> Iterator[tuple[tuple[int, int], bool, dict[int, float]]]:
    """Give rank and thread, whether it is the sum of all, and the times of the wanted contexts, of each."""
    at, number, size = profile.numbers("<QIB", profile.section(_INFOS))
    for row in range(number):
        n_values, values, n_contexts, contexts, place, flags = profile.numbers(_PROFILE_INFO, at + row * size)
        is_sum = bool(flags & _SUMMARY)
        index = profile.table(_INDEX, contexts, n_contexts)
        cells = profile.table(_VALUE, values, n_values)
        starts = index["start"].astype(np.int64)
        if (np.diff(starts) < 0).any() or (starts > n_values).any():
            raise ValueError("a profile's index is out of order")
        context = np.repeat(index["context"], np.diff(np.append(starts, n_values)))
        cells = cells[starts[0] if n_contexts else n_values :]
        mine = (cells["metric"] == (summed if is_sum else own.number)) & np.isin(context, wanted)
        times = cells["value"][mine] * own.unit
        if not (np.isfinite(times) & (times >= 0)).all():
            raise ValueError("a time that is not a number")
        where = (-1, -1) if is_sum else _place(profile, kinds, place)
        yield where, is_sum, dict(zip(context[mine].tolist(), times.tolist(), strict=True))


def _place(profile: _File, kinds: list[str], at: int) -> tuple[int, int]:
    """Return the rank and the thread of a profile, -1 and 0 where it names none."""
    (number,) = profile.numbers("<H", at)
    found = {}
    for one in range(number):
        kind, _, _, logical, _ = profile.numbers("<BBHIQ", at + 8 + 16 * one)
        if kind < len(kinds):
            found[kinds[kind]] = logical
    return found.get("RANK", -1), found.get("THREAD", 0)
