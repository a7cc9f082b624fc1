"""Databases of 4.x: contexts and metrics in `meta.db`, the times of each thread in `profile.db`."""

import struct
from collections.abc import Iterator

import numpy as np

from analysis.base.errors import ReadError
from analysis.readers.base import Faults
from analysis.readers.hpctoolkit.database import Database, Metric, function_of, metric_of

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


def read(meta: bytes, profile: bytes, faults: Faults) -> Database:
    """Read times by rank and thread, and their sums; a database that is damaged is refused."""
    if not meta.startswith(_META) or not profile.startswith(_PROFILE):
        found = "no meta.db and profile.db of version 4"
        raise ReadError.at(faults.source, 0, found, "give the whole database")
    try:
        return _contexts(_File(meta), _File(profile), faults)
    except (ValueError, OverflowError, MemoryError) as error:
        raise ReadError.at(faults.source, 0, f"the database is damaged: {error}", "copy it again") from error


def _contexts(meta: _File, profile: _File, faults: Faults) -> Database:
    own, summed = _sampled(meta)
    database = Database(own, program=meta.text(meta.section(_GENERAL)))
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


def _sampled(meta: _File) -> tuple[Metric, int]:
    """Return the time that was sampled, over what a context calls too, and the number of its sum."""
    at, number, size, scope_size, summary_size = meta.numbers("<QIBBB", meta.section(_METRICS))
    found: list[tuple[Metric, int]] = []
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
        known = metric_of(meta.text(at + row * size), own)
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


def _frames(meta: _File, children: int, below: int, database: Database) -> None:
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
                name = function_of(meta.text(place)) if place else ""
            if name:
                database.frames[context] = name
            elif below:
                left.append((children, below))
            at += _CONTEXT.size + 8 * words


def _profiles(
    profile: _File, kinds: list[str], own: Metric, summed: int, wanted: np.ndarray
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
