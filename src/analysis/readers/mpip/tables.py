"""The small tables of an mpiP report: times of the ranks, call sites, top-twenty lists, histograms."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from analysis.readers.base import Faults
from analysis.readers.mpip.report import Report, call_name, natural
from analysis.readers.text import printable, real

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


def read_times(report: Report, faults: Faults) -> Times:
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


def _read_task_time(report: Report, faults: Faults) -> Times:
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


def read_entries(report: Report, kind: str, faults: Faults) -> list[Entry]:
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


def read_histogram(report: Report, faults: Faults) -> list[Bin]:
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
