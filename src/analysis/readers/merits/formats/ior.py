"""IOR 3.0 to 4.1, also of IO500: bandwidth of each repeat and the largest of writing and reading."""

from __future__ import annotations

from dataclasses import replace

import xarray as xr

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
        "size": r"^Command line(?: used)? *: +(.*)$",
    },
    failed=r"^WARNING: [Ii]ncorrect data on |^\*\* error \*\*",
    which="largest",
)
# As a part of IO500 it ends with its row.
_WITHIN = replace(FORMAT, closing=rf"(?:{_REPEAT.format('(?:write|read)')})\n")
_IO500 = b"-O stoneWallingStatusFile="
sniff = FORMAT.sniff


def parse(data: bytes, source: str = "<memory>") -> xr.Dataset:
    """Read an output: kind ``merits``; that of IO500 has no largest rate, ``write`` or ``read`` alone."""
    within = _IO500 in data and b"\nFinished" not in data and b"\nMax " not in data
    return (_WITHIN if within else FORMAT).parse(data, source)
