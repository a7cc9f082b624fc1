"""IOR 2.10 to 4.1: bandwidth of each repeat and the largest of writing and reading."""

from __future__ import annotations

from analysis.readers.merits.output import Format, Merit

_MARK = r"^IOR-\S+: MPI Coordinated Test of Parallel I/O"
_REPEAT = r"^{} +(?P<value>\d\S*)(?: +\S+){{7,9}} *$"

FORMAT = Format(
    engine="ior",
    tool="IOR",
    marks=(b": MPI Coordinated Test of Parallel I/O",),
    merits=(
        Merit("Max Write", r"^Max Write: +(?P<value>\S+) (?P<unit>MiB/sec)"),
        Merit("Max Read", r"^Max Read: +(?P<value>\S+) (?P<unit>MiB/sec)"),
        Merit("write", _REPEAT.format("write"), "MiB/s"),
        Merit("read", _REPEAT.format("read"), "MiB/s"),
    ),
    main="Max Write",
    closing=r"^(?:Finished *:|Run finished:)",
    closed_by="'Finished'",
    opening=_MARK,
    facts={
        "version": r"^IOR-(\S+): MPI Coordinated Test",
        "ranks": r"^\s*(?:tasks +: +|clients += +)(\d+)",
        "nodes": r"^\s*nodes +: +(\d+)",
        "problem": r"^Command line(?: used)? *: +(.*)$",
    },
    failed=r"^WARNING: [Ii]ncorrect data on |^\*\* error \*\*",
    which="largest",
)
sniff, parse = FORMAT.sniff, FORMAT.parse
