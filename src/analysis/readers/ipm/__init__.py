"""IPM: the XML profile, or the banner that it prints at the end of a run's standard output.

XML is read in this order: find the tasks, read their records in columns or, where a task is unusual, line by
line (`records`), give them their meaning and compare what must agree (`observations`). A task is kept whole
or not at all: half a rank would look like a quick one.
"""

import io
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import numpy as np
import xarray as xr

from analysis.base import files
from analysis.base.errors import MAX_FAULTS
from analysis.readers import core
from analysis.readers.base import Faults, labels, profile_dataset
from analysis.readers.format import Format
from analysis.readers.ipm import banner, fast, observations, records, totals
from analysis.readers.ipm.observations import Observations
from analysis.readers.text import Lines

FORMAT = Format(
    engine="ipm", kind="profile", tool="IPM", marks=((b"##IPM", b"<ipm_job_profile>"),),
    near=r"(?i)\bIPM(?:v|_|\b)",
)  # fmt: skip
_MARKS = (b"<ipm_job_profile", b"<task ipm_version=")


def sniff(head: bytes, name: str) -> bool:
    """Tell whether a file is IPM's."""
    return any(mark in head for mark in _MARKS) or banner.find(head) >= 0


def parse(data: bytes, source: str = "<memory>") -> xr.Dataset:
    """Parse an IPM XML profile or a text with an IPM banner in it: kind ``profile``.

    Its attribute ``source_form`` is ``xml`` or ``banner``: see `parse_xml` and `banner.parse`.
    """
    if any(mark in data[: 1 << 20] for mark in _MARKS):
        ds = _fast(io.BytesIO(data), source, lambda: io.BytesIO(data)) if len(data) >= core.LEAST else None
        return ds if ds is not None else parse_xml(data, source)
    if banner.find(data) >= 0:
        return banner.parse(data, source)
    raise records.refuse(source)


def stream(path: str | Path, source: str) -> xr.Dataset | None:
    """Read a large XML profile of the usual form from its file, plain or compressed; None for any other."""
    try:
        with files.opened(path) as file:
            return _fast(file, source, lambda: files.opened(path))
    except (OSError, ValueError):
        return None


def _fast(file: IO[bytes], source: str, again: Callable[[], IO[bytes]]) -> xr.Dataset | None:
    def line(offset: int) -> int:
        with again() as one:
            return 1 + sum(part.count(b"\n") for part in files.pieces(one, offset))

    return fast.parse(file, Faults(source), line)


# Bytes of records read at a time: the arrays of one step then stay in the processor's cache.
CHUNK = 1 << 21
_RANKS = {"app_time": "wall_time"}
_RANKS |= {name: name for name in ("mpi_time", "memory", "user_time", "system_time")}


@dataclass
class _File:
    """One file while it is read."""

    data: bytes
    faults: Faults
    tasks: list[tuple[records.Segment, records.Head]] = field(default_factory=list)
    calls: records.Names = field(default_factory=records.Names)
    labels: records.Names = field(default_factory=records.Names)
    dropped: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.lines = Lines(self.data)

    def drop(self, offset: int, found: str) -> None:
        # Lines are counted for those faults only that will be shown.
        line = self.lines.of(offset) if len(self.faults.faults) < MAX_FAULTS else 0
        self.faults.damage(line, found, "this rank is left out")


def parse_xml(data: bytes, source: str = "<memory>") -> xr.Dataset:
    """Parse an IPM XML file: kind ``profile``, sizes in B, times in s.

    Attributes: ``command``, ``start`` and ``stop`` (epoch s, first in and last out), ``nodes``, ``has_sizes``
    (false where the job ran without ``IPM_LOG=full``: no sizes, no partners), ``size_rounding``,
    ``caveats``, ``source_form`` (``xml``).
    """
    if b"\r\n" in data[:4096]:
        data = data.replace(b"\r\n", b"\n")
    file = _File(data, Faults(source))
    expected = _read_tasks(file)
    obs = _observations(file)
    file.tasks = [task for i, task in enumerate(file.tasks) if i not in file.dropped]
    _check_whole(file, expected)
    records.check_names(file.data, file.calls.codes, file.lines.of, file.faults)
    return _dataset(file, obs, expected)


def _read_tasks(file: _File) -> int:
    """Collect the whole tasks in rank order of appearance and return the number of ranks of the job."""
    found: list[tuple[records.Segment, records.Head]] = []
    stated = re.search(rb'mpi_size="(\d{1,9})"', file.data[: 1 << 20])
    parts = list(records.segments(file.data))
    if not stated or len(parts) != int(stated[1]):
        parts = list(records.segments(file.data, careful=True))
    for segment in parts:
        if not segment.whole:
            file.drop(segment.start, f"{_name(file.data, segment)} is cut short")
            continue
        try:
            found.append((segment, records.read_head(file.data, segment)))
        except (ValueError, OverflowError) as error:
            file.drop(segment.start, f"{_name(file.data, segment)} is damaged: {error}")
    sizes = Counter(head.size for _, head in found)
    expected = sizes.most_common(1)[0][0] if sizes else int(stated[1]) if stated else 0
    seen: set[int] = set()
    for segment, head in found:
        if head.size != expected or head.rank in seen:
            what = "appears twice" if head.rank in seen else f"states {head.size} ranks, others {expected}"
            file.drop(segment.start, f"rank {head.rank} {what}")
            continue
        seen.add(head.rank)
        file.tasks.append((segment, head))
    return expected if expected <= records.MAX_RANKS else 0


def _name(data: bytes, segment: records.Segment) -> str:
    match = re.search(rb'mpi_rank="(\d{1,9})"', data[segment.start : segment.start + 400].split(b"\n", 1)[0])
    return f"the task of rank {int(match[1])}" if match else "a task"


def _observations(file: _File) -> Observations:
    ranks = np.array([head.rank for _, head in file.tasks], dtype=np.int32)
    heads = [head for _, head in file.tasks]
    parts = []
    untimed = astray = 0
    for rows in _all_rows(file):
        region = observations.region_codes(rows, heads, file.labels)
        lost = np.unique(rows.task[observations.unlisted(region)])
        if lost.size:
            for task in lost.tolist():
                _drop(file, task, file.tasks[task][0].start, "has records of a region that it does not list")
            keep = ~np.isin(rows.task, lost)
            rows, region = rows.select(keep), region[keep]
        astray += int(rows.astray.sum())
        untimed += int(observations.longest_first(rows).sum())
        parts.append(observations.from_rows(rows, region, ranks, file.calls))
    if astray:
        what = f"{astray} records have another size, partner or call site than their key"
        file.faults.note(0, what, "the records were used; one of the numbers is damaged, get the file again")
    if untimed:
        what = f"{untimed} records have a shortest call that is longer than all their calls together"
        file.faults.note(0, what, "IPM timed none of them; time_min is left blank")
    parts.append(observations.from_totals(list(_totals(file)), file.calls, file.labels))
    return records.concatenate(parts)


def _chunks(tasks: Sequence[tuple[records.Segment, records.Head]]) -> Iterator[list[records.Span]]:
    chunk: list[records.Span] = []
    size = 0
    for i, (segment, _) in enumerate(tasks):
        if segment.records is not None:
            chunk.append((i, *segment.records))
            size += segment.records[1] - segment.records[0]
        if size > CHUNK:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _all_rows(file: _File) -> Iterator[records.Records]:
    # Arrow works outside the interpreter's lock; the results come in the file's order.
    with ThreadPoolExecutor(2) as pool:
        chunks = list(_chunks(file.tasks))
        found = pool.map(lambda spans: records.read_tables(file.data, spans, file.calls), chunks)
        for spans, (parts, odd) in zip(chunks, found, strict=True):
            for span in spans:
                if span[0] in odd:
                    try:
                        parts.append(records.read_lines(file.data, span, file.calls))
                    except records.BadLineError as bad:
                        _drop(file, span[0], bad.offset, str(bad))
            if parts:
                rows = records.concatenate(parts)
                yield rows.select(np.argsort(rows.task, kind="stable")) if odd else rows


def _drop(file: _File, task: int, offset: int, found: str) -> None:
    file.dropped.add(task)
    file.drop(offset, f"rank {file.tasks[task][1].rank}: {found}")


def _totals(file: _File) -> Iterator[tuple[int, bytes, bytes, totals.Total]]:
    """Read the tasks that have no records, only sums by region."""
    for i, (segment, head) in enumerate(file.tasks):
        if segment.records is None:
            try:
                sums = totals.read_totals(file.data, segment)
            except records.BadLineError as bad:
                _drop(file, i, bad.offset, str(bad))
                continue
            for region, call, total in sums:
                yield head.rank, region, call, total


def _check_whole(file: _File, expected: int) -> None:
    closed = b"</ipm_job_profile>" in file.data[-4096:]
    if closed and len(file.tasks) == expected > 0:
        return
    end = file.lines.of(len(file.data.rstrip(b"\n")))
    if len(file.tasks) < expected or not expected:
        known = expected or "an unknown number of"
        file.faults.damage(
            end, f"{len(file.tasks)} of {known} ranks", "sums lack the others; get the whole file"
        )
    if not closed:
        file.faults.damage(end, "no closing </ipm_job_profile>", "the file was cut; what is whole was kept")


def _check_numbers(file: _File, obs: Observations, heads: list[records.Head]) -> None:
    def line(task: int) -> int:
        return file.lines.of(file.tasks[task][0].start)

    if not heads:
        return
    ranks, own = np.array([head.rank for head in heads]), np.array([head.mpi_time for head in heads])
    summed = observations.summed_time(obs, file.calls, ranks)
    observations.check_mpi_time(ranks, summed, own, line, file.faults)
    if not heads[0].version.startswith(b"2"):
        return  # what IPM 0.9x counts twice was seen in no file
    wall, span = (
        np.array(one) for one in zip(*((h.wall_time, h.stop - h.start) for h in heads), strict=True)
    )
    observations.check_clock(ranks, wall, span, line, file.faults)
    stated = [
        (i, head.rank, sums)
        for i, (segment, head) in enumerate(file.tasks)
        if segment.records is not None and (sums := totals.summed_totals(file.data, segment)) is not None
    ]
    observations.check_totals(obs, file.calls, stated, line, file.faults)
    if all(segment.records is not None for segment, _ in file.tasks):
        observations.check_bounds(obs, file.calls, file.faults)


def _dataset(file: _File, obs: Observations, expected: int) -> xr.Dataset:
    heads = [head for _, head in file.tasks]
    version = heads[0].version.decode("iso-8859-1") if heads else ""
    present = np.zeros(expected, dtype=bool)
    present[[head.rank for head in heads]] = True
    _check_numbers(file, obs, heads)
    observations.check_partners(obs, file.calls, present, file.faults)
    columns = vars(obs) | {
        "call": labels(obs.call, file.calls.texts()),
        "region": labels(obs.region, file.labels.texts()),
    }
    attrs = _attrs(file, heads) | {"size_rounding": observations.rounding(obs, version)}
    return profile_dataset(
        obs=columns,
        ranks=_ranks(heads, expected),
        tool="IPM",
        tool_version=version,
        ranks_expected=expected,
        faults=file.faults,
        attrs=attrs,
    )


def _attrs(file: _File, heads: list[records.Head]) -> dict[str, str | float | int | bool]:
    has_sizes = bool(heads) and all(segment.records is not None for segment, _ in file.tasks)
    if heads and not has_sizes:
        file.faults.note(
            0, "no <hash>: no message sizes and no partners", "set IPM_LOG=full to have them recorded"
        )
    nodes = max((head.nodes for head in heads), default=-1)
    return {
        "source_form": "xml",
        "has_sizes": has_sizes,
        "command": records.command(file.data, file.tasks[0][0]) if heads else "",
        "start": min((head.start for head in heads), default=float("nan")),
        "stop": max((head.stop for head in heads), default=float("nan")),
        "nodes": nodes if nodes > 0 else len({head.host for head in heads}),
        "caveats": observations.CAVEATS,
    }


def _ranks(heads: list[records.Head], expected: int) -> dict[str, np.ndarray]:
    at = [head.rank for head in heads]
    host = np.full(expected, "", dtype=object)
    host[at] = [head.host.decode("iso-8859-1").strip() for head in heads]
    columns = {"host": host}
    for name, attribute in _RANKS.items():
        column = np.full(expected, np.nan)
        column[at] = [getattr(head, attribute) for head in heads]
        columns[name] = column
    return columns
