"""TAU's profile of one thread as text (`profile.<node>.<context>.<thread>`): its MPI calls and times."""

from __future__ import annotations

import html
import math
import re

import numpy as np
import xarray as xr

from analysis.base.errors import ReadError
from analysis.readers.base import Faults, profile_dataset
from analysis.readers.text import number, printable, real

_MARK = b" templated_functions"
_FIRST = re.compile(rb"(\d{1,9}) templated_functions(?:_MULTI_([A-Z0-9_:]{1,80}))?")
# Clocks of TAU that run on while a process waits; all count microseconds.
_CLOCKS = ("", "TIME", "GET_TIME_OF_DAY", "P_WALL_CLOCK_TIME", "LINUX_TIMERS")
_US = 1e-6
_NAME = re.compile(r"profile\.(\d{1,7})\.(\d{1,7})\.(\d{1,7})(?!\d)")
_CALL = re.compile(r"(MPI_[A-Za-z0-9_]{1,60})\(\)")
_THROTTLED = "[THROTTLED]"
_ALL = ".TAU application"
_CUT = "the file is cut; kept what is whole"
# Rows of these groups repeat what other rows have: by call path, by sample, by parameter.
_REPEATS = ("TAU_CALLPATH", "TAU_SAMPLE", "TAU_PARAM", "TAU_PHASE")

Row = tuple[str, float, float, float, float]  # name, calls, calls of others, exclusive and inclusive time


def sniff(head: bytes, name: str) -> bool:
    """Tell whether some bytes begin as a profile of TAU."""
    return _FIRST.match(head) is not None


def parse(data: bytes, source: str = "<memory>") -> xr.Dataset:
    """Read the profile of a thread: kind ``profile``, its rank is the node in the file's name.

    How many ranks there were no file says: ``ranks_expected`` is -1, and the dataset ends with the rank, all
    before it blank. Without a rank in the name there are only the totals, attributes ``app_time_total`` and
    ``mpi_time_total``; ``start`` is in s of Unix time. A call's time is inclusive, ``exclusive_time`` lacks
    what it called in turn; the rank's time in MPI is the sum of the latter, its wall-clock time that of the
    whole process.
    """
    first = _FIRST.match(data)
    if first is None:
        raise ReadError.at(source, 0, f"no number and '{_MARK.decode().strip()}'", "give a profile of TAU")
    metric = (first[2] or b"").decode()
    if metric not in _CLOCKS:
        raise ReadError.at(
            source, 1, f"counts {metric}, no time", "give the profile in MULTI__TIME beside it"
        )
    faults = Faults(source)
    lines = data.replace(b"\r\n", b"\n").split(b"\n")[:-1]  # the last one has no end
    rows = _rows(lines, int(first[1]), faults)
    _check(rows, faults)
    facts = _facts(lines[1] if len(lines) > 1 else b"")
    rank, thread = _place(source)
    if thread > 0:
        faults.note(0, f"profile of thread {thread}", "the rank's own is that of thread 0")
    calls = [(line, call[1], row) for line, row in rows if (call := _CALL.match(row[0]))]
    app, mpi = _whole(rows), _inside([row for _, _, row in calls])
    size = rank + 1
    ranks = {name: np.full(size, np.nan) for name in ("app_time", "mpi_time", "memory")}
    ranks["host"] = np.full(size, "", dtype=object)
    if size:
        ranks["app_time"][rank], ranks["mpi_time"][rank] = app, mpi
        ranks["host"][rank] = facts.get("MPI Processor Name", facts.get("Hostname", ""))
    start = number(facts.get("Starting Timestamp", "")) * _US
    totals = {"app_time_total": app, "mpi_time_total": mpi, "start": start}
    return profile_dataset(
        obs=_observations([(name, row) for _, name, row in calls], rank),
        ranks=ranks,
        tool="TAU",
        tool_version=facts.get("TAU Version", ""),
        ranks_expected=-1,
        faults=faults,
        attrs={"command": facts.get("Command Line", "")}
        | {name: value for name, value in totals.items() if math.isfinite(value)},
    )


def _rows(lines: list[bytes], announced: int, faults: Faults) -> list[tuple[int, Row]]:
    """Read the rows of timers that repeat no others, each with its line."""
    rows = []
    for at, line in enumerate(lines[2 : 2 + announced], start=3):
        head, _, group = line.rpartition(b" GROUP=")
        quoted, _, columns = head.rpartition(b'" ')
        try:
            calls, subrs, exclusive, inclusive, _ = (real(token) for token in columns.split())
            if not quoted.startswith(b'"') or min(calls, subrs, inclusive) < 0 or calls % 1:
                raise ValueError
        except ValueError:
            faults.damage(at, f"{printable(line)[:40]!r} is no row of a timer", "left out")
            continue
        name = printable(quoted[1:])
        if not any(mark in printable(group) for mark in _REPEATS) and " => " not in name:
            rows.append((at, (name, calls, subrs, exclusive * _US, inclusive * _US)))
    if len(lines) < 2 + announced or not any(b" aggregates" in line for line in lines[2 + announced :][:1]):
        found = f"{announced} timers announced, no line 'aggregates' behind them"
        faults.damage(len(lines), found, _CUT)
    _check_events(lines[3 + announced :], 4 + announced, faults)
    return rows


def _check_events(lines: list[bytes], at: int, faults: Faults) -> None:
    """Hold that all rows of events are there, which are not read: TAU has no sizes by call."""
    announced = re.match(rb"(\d{1,9}) userevents", lines[0]) if lines else None
    if lines and (announced is None or len(lines) < 2 + int(announced[1])):
        faults.damage(at, f"{len(lines)} lines of events, not as many as announced", _CUT)


def _check(rows: list[tuple[int, Row]], faults: Faults) -> None:
    """Hold the rows against each other: what all timers took is what the program took."""
    whole = [(line, row) for line, row in rows if row[0] == _ALL]
    throttled = [(line, row[0]) for line, row in rows if _THROTTLED in row[0] and _CALL.match(row[0])]
    for line, name in throttled:
        faults.note(
            line, f"{name} was measured for its first calls only", "its count and time are left blank"
        )
    if not whole or not faults.complete:
        return
    line, (_, _, _, _, inclusive) = whole[0]
    took = sum(row[3] for _, row in rows)
    # Each is a whole microsecond.
    if abs(took - inclusive) > _US * len(rows) + 1e-9 * inclusive:
        found = f"all timers took {took:.6f} s, {_ALL} {inclusive:.6f} s"
        faults.damage(line, found, "a number is damaged: copy the file again")
    callers, called = sum(row[2] for _, row in rows), sum(row[1] for _, row in rows) - whole[0][1][1]
    if callers != called and not any(_THROTTLED in row[0] for _, row in rows):
        found = f"timers made {callers:.0f} calls and were called {called:.0f} times"
        faults.damage(line, found, "a number is damaged: copy the file again")


def _facts(line: bytes) -> dict[str, str]:
    pairs = re.findall(rb"<name>([^<]*)</name><value>([^<]*)</value>", line)
    return {printable(name): html.unescape(printable(value)) for name, value in pairs}


def _place(source: str) -> tuple[int, int]:
    """Return rank and thread by the file's name, -1 for both if it has none; TAU writes them nowhere else."""
    named = _NAME.search(source.replace("\\", "/").rpartition("/")[2])
    return (int(named[1]), int(named[3])) if named else (-1, -1)


def _whole(rows: list[tuple[int, Row]]) -> float:
    """Return the time of the whole program, or of the longest timer where TAU has no timer of that."""
    named = [row[4] for _, row in rows if row[0] == _ALL]
    return named[0] if named else max((row[4] for _, row in rows), default=math.nan)


def _inside(calls: list[Row]) -> float:
    """Return the time inside MPI, NaN where a call was not measured to the end."""
    if not calls or any(_THROTTLED in row[0] for row in calls):
        return math.nan
    return math.fsum(row[3] for row in calls)


def _observations(calls: list[tuple[str, Row]], rank: int) -> dict[str, np.ndarray]:
    n = len(calls)
    blank = np.array([_THROTTLED in row[0] for _, row in calls], dtype=bool)
    numbers = np.array([row[1:] for _, row in calls], dtype=np.float64).reshape(n, 4)
    return {
        "rank": np.full(n, rank, dtype=np.int32),
        "call": np.array([name for name, _ in calls], dtype=object),
        "size": np.full(n, -1, dtype=np.int64),
        "peer": np.full(n, -1, dtype=np.int32),
        "region": np.full(n, "", dtype=object),
        "site": np.full(n, -1, dtype=np.int32),
        "count": np.where(blank, -1, numbers[:, 0]).astype(np.int64),
        "time": np.where(blank, np.nan, numbers[:, 3]),
        "exclusive_time": np.where(blank, np.nan, numbers[:, 2]),
        "bytes": np.full(n, np.nan),
    }
