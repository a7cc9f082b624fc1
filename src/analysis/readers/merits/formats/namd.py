"""NAMD 2 and 3: standard output; the lines ``Info: Benchmark time`` and the wall clock at the end."""

from __future__ import annotations

from analysis.readers.merits.output import Format, Merit

_LINE = r"^Info: Benchmark time: \d+ CPUs "

FORMAT = Format(
    engine="namd",
    tool="NAMD",
    marks=(b"Info: NAMD ",),
    merits=(
        Merit("s/step", _LINE + r"(?P<value>\S+) s/step", "s"),
        Merit("days/ns", _LINE + r"\S+ s/step (?P<value>\S+) days/ns", "days/ns"),
        Merit("ns/day", _LINE + r"\S+ s/step (?P<value>\S+) ns/day", "ns/day"),
        Merit("mean ns/day", r"^PERFORMANCE: +\d+ +averaging (?P<value>\S+) ns/day", "ns/day"),
        Merit("WallClock", r"^WallClock: +(?P<value>\S+)", "s"),
    ),
    # NAMD means its lines to be averaged; the last is past the balancing of load.
    main="s/step",
    closing=r"^WallClock: .*\n",
    closed_by="'WallClock:'",
    opening=r"^Info: NAMD ",
    facts={
        "version": r"^Info: NAMD (\S+)",
        "ranks": r"^Info: Running on \d+ processors, (\d+) nodes|^Info: Running on (\d+) processors\.",
        "nodes": r"^Info: Running on \d+ processors, \d+ nodes, (\d+) physical",
        "size": r"^Info: (\d+ ATOMS)",
    },
    time="WallClock",
)
sniff, parse = FORMAT.sniff, FORMAT.parse
