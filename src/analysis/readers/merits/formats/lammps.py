"""LAMMPS: log file or standard output; a result for each ``run``, of ``Loop time`` and ``Performance``."""

from __future__ import annotations

from analysis.readers.merits.output import Format, Merit

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
    # 2013 is the first year whose releases print it; a log of before cannot be told from a cut one.
    closing=r"^Total wall time:",
    closed_by="'Total wall time:'",
    opening=r"^LAMMPS \(",
    facts={
        "version": r"^LAMMPS \(([^)]+)\)",
        "ranks": r"CPU use with (\d+) (?:MPI tasks|procs)",
        "threads": r"MPI tasks x (\d+) OpenMP threads",
        "problem": r"^Loop time of \S+ on \d+ procs for (.*)$",
    },
    starts=_LOOP,
    time="Loop time",
)
sniff, parse = FORMAT.sniff, FORMAT.parse
