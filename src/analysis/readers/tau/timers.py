"""What TAU's profiles as text and as XML share: the timers of a rank, checked, and their dataset."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import xarray as xr

from analysis.readers.base import Faults, profile_dataset
from analysis.readers.text import number

# Clocks of TAU that run on while a process waits; all count microseconds.
CLOCKS = ("", "TIME", "GET_TIME_OF_DAY", "P_WALL_CLOCK_TIME", "LINUX_TIMERS")
US = 1e-6
CALL = re.compile(r"(MPI_[A-Za-z0-9_]{1,60})\(\)")
THROTTLED = "[THROTTLED]"
ALL = ".TAU application"
# Rows of these groups repeat what other rows have: by call path, by sample, by parameter.
REPEATS = ("TAU_CALLPATH", "TAU_SAMPLE", "TAU_PARAM", "TAU_PHASE", "TAU_UNWIND")

Row = tuple[str, float, float, float, float]  # name, calls, calls of others, exclusive and inclusive time


@dataclass
class Rank:
    """The timers of a rank that repeat no others, each with its line, and the facts of its process."""

    rows: list[tuple[int, Row]] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)


def check(rows: list[tuple[int, Row]], faults: Faults) -> None:
    """Hold the rows against each other: what all timers took is what the program took."""
    whole = [(line, row) for line, row in rows if row[0] == ALL]
    throttled = [(line, row[0]) for line, row in rows if THROTTLED in row[0] and CALL.match(row[0])]
    for line, name in throttled:
        faults.note(
            line, f"{name} was measured for its first calls only", "its count and time are left blank"
        )
    if not whole or not faults.complete:
        return
    line, (_, _, _, _, inclusive) = whole[0]
    took = sum(row[3] for _, row in rows)
    # Each is a whole microsecond.
    if abs(took - inclusive) > US * len(rows) + 1e-9 * inclusive:
        found = f"all timers took {took:.6f} s, {ALL} {inclusive:.6f} s"
        faults.damage(line, found, "a number is damaged: copy the file again")
    callers, called = sum(row[2] for _, row in rows), sum(row[1] for _, row in rows) - whole[0][1][1]
    if callers != called and not any(THROTTLED in row[0] for _, row in rows):
        found = f"timers made {callers:.0f} calls and were called {called:.0f} times"
        faults.damage(line, found, "a number is damaged: copy the file again")


def dataset(found: Mapping[int, Rank], expected: int, faults: Faults) -> xr.Dataset:
    """Make a profile of ranks; a rank of -1 has no name, and only its totals are known."""
    size = max([0, expected, *(rank + 1 for rank in found)])
    ranks = {name: np.full(size, np.nan) for name in ("app_time", "mpi_time", "memory")}
    ranks["host"] = np.full(size, "", dtype=object)
    obs = [_observations([], -1)]
    app, mpi, start = [], [], math.nan
    for rank, one in sorted(found.items()):
        calls = [(call[1], row) for _, row in one.rows if (call := CALL.match(row[0]))]
        app.append(_whole(one.rows))
        mpi.append(_inside([row for _, row in calls]))
        obs.append(_observations(calls, rank))
        begun = number(one.facts.get("Starting Timestamp", "")) * US
        start = begun if math.isnan(start) else min(start, begun) if begun == begun else start
        if rank >= 0:
            ranks["app_time"][rank], ranks["mpi_time"][rank] = app[-1], mpi[-1]
            ranks["host"][rank] = one.facts.get("MPI Processor Name", one.facts.get("Hostname", ""))
    totals = {"app_time_total": math.fsum(app), "mpi_time_total": math.fsum(mpi), "start": start}
    facts = next(iter(one.facts for _, one in sorted(found.items())), {})
    return profile_dataset(
        obs={name: np.concatenate([one[name] for one in obs]) for name in obs[0]},
        ranks=ranks,
        tool="TAU",
        tool_version=facts.get("TAU Version", ""),
        ranks_expected=expected,
        faults=faults,
        attrs={"command": facts.get("Command Line", "")}
        | {name: value for name, value in totals.items() if math.isfinite(value)},
    )


def _whole(rows: list[tuple[int, Row]]) -> float:
    """Return the time of the whole program, or of the longest timer where TAU has no timer of that."""
    named = [row[4] for _, row in rows if row[0] == ALL]
    return named[0] if named else max((row[4] for _, row in rows), default=math.nan)


def _inside(calls: list[Row]) -> float:
    """Return the time inside MPI, NaN where a call was not measured to the end."""
    if not calls or any(THROTTLED in row[0] for row in calls):
        return math.nan
    return math.fsum(row[3] for row in calls)


def _observations(calls: list[tuple[str, Row]], rank: int) -> dict[str, np.ndarray]:
    n = len(calls)
    blank = np.array([THROTTLED in row[0] for _, row in calls], dtype=bool)
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
