"""LAMMPS: log file or standard output; a result for each ``run``, of ``Loop time`` and ``Performance``."""

from __future__ import annotations

import re
from dataclasses import replace

import xarray as xr

from analysis.readers.merits.output import Format, Merit

_WALL_TIME_SINCE = 2014
_LOOP = r"^Loop time of (?P<value>\S+) on \d+ procs"
_RATE = r"^Performance: (?:.*[ ,])?(?P<value>\d[^\s,]*) (?P<unit>{})(?=[,\s])"

FORMAT = Format(
    engine="lammps",
    tool="LAMMPS",
    marks=((b"LAMMPS (", b"units"), (b"Loop time of ", b" steps with ", b" atoms")),
    merits=(
        Merit("Loop time", _LOOP, "s"),
        Merit("ns/day", _RATE.format("ns/day")),
        Merit("tau/day", _RATE.format("tau/day")),
        Merit("timesteps/s", _RATE.format("timesteps/s")),
        Merit("atom-step/s", _RATE.format("[kMG]?atom-step/s")),
    ),
    main="timesteps/s",
    closing=r"^Total wall time:",
    closed_by="'Total wall time:'",
    opening=r"^LAMMPS \(",
    facts={
        "version": r"^LAMMPS \(([^)]+)\)",
        "ranks": r"CPU use with (\d+) (?:MPI tasks|procs)",
        "threads": r"MPI tasks x (\d+) OpenMP threads",
        "size": r"^Loop time of \S+ on \d+ procs for (.*)$",
    },
    starts=_LOOP,
    time="Loop time",
)
_OLD = replace(FORMAT, closing=r"^(?:Total wall time:|Dangerous builds = )")
_YEAR = re.compile(rb"LAMMPS \(\d+ \w+ (\d{4})")
sniff = FORMAT.sniff


def parse(data: bytes, source: str = "<memory>") -> xr.Dataset:
    """Read an output: kind ``merits``; of before 2014 the statistics of neighbours end it."""
    year = _YEAR.search(data)
    return (_OLD if year and int(year[1]) < _WALL_TIME_SINCE else FORMAT).parse(data, source)
