"""Darshan: what ``darshan-parser --total --perf`` makes of a log; bytes and rates of POSIX, MPI-IO and STDIO.

A log itself is not read: the library of Darshan ends the whole process on some that are damaged.
"""

from __future__ import annotations

import xarray as xr

from analysis.base.errors import ReadError
from analysis.readers.merits.output import Output

_MODULE = r"^# (?P<module>POSIX|MPI-IO|STDIO) module data$"
_BYTES = r"^total_(?:POSIX|MPIIO|STDIO)_BYTES_(?P<what>READ|WRITTEN): (?P<value>\d+)$"
_RATE = r"^# agg_perf_by_slowest: (?P<value>\S+) # MiB/s$"


def sniff(head: bytes, name: str = "") -> bool:
    """Tell whether some bytes are a text of darshan-parser."""
    return b"# darshan log version: " in head


def parse(data: bytes, source: str = "<memory>") -> xr.Dataset:
    """Read totals and rates of each module: kind ``merits``, the layer in the figure's name.

    The rate of POSIX speaks for the log: what MPI-IO moves goes through it.
    """
    if not sniff(data):
        raise ReadError.at(source, 0, "no '# darshan log version'", "give the text of darshan-parser")
    output = Output(data, source)
    output.facts |= {"ranks": output.first(r"^# nprocs: (\d+)$")}
    modules = [(line, match["module"]) for line, match in output.find(_MODULE)]

    def module(line: int) -> str:
        return next((name for start, name in reversed(modules) if start < line), "")

    for line, match in output.find(r"^# run time: (?P<value>\S+)$"):
        output.add("run time", match["value"], "s", line)
    for line, match in output.find(_BYTES):
        output.add(f"{module(line)} bytes {match['what'].lower()}", match["value"], "B", line)
    for line, match in output.find(_RATE):
        output.add(f"{module(line)} rate", match["value"], "MiB/s", line)
    ends = r"^# agg_perf_by_slowest: .*\n"
    output.close(ends, "'agg_perf_by_slowest' of each module", opening=_MODULE)
    version = output.first(r"^# metadata: lib_ver = (\S+)$")
    return output.dataset("darshan", "Darshan", version, main="POSIX rate", time="run time")
