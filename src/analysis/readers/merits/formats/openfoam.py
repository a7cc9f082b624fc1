"""OpenFOAM: the log of a solver; the clock after the last time step, and what a step takes."""

from __future__ import annotations

import re

import xarray as xr

from analysis.base.errors import ReadError
from analysis.readers.merits.output import Output, Row
from analysis.readers.text import number

_CLOCK = r"^ExecutionTime = (?P<cpu>\S+) s +ClockTime = (?P<clock>\S+) s"
_FACTS = {"ranks": r"^nProcs +: +(\d+)", "size": r"^Exec +: +(?:\S*/)?(\S+)"}


def sniff(head: bytes, name: str = "") -> bool:
    """Tell whether some bytes are what an OpenFOAM program prints first; its files have no ``Exec``."""
    return b"OpenFOAM" in head and re.search(rb"\bExec +: ", head) is not None


def parse(data: bytes, source: str = "<memory>") -> xr.Dataset:
    """Read the last clock of a log: kind ``merits``; ``ExecutionTime`` is processor time of rank 0."""
    if not sniff(data):
        raise ReadError.at(source, 0, "no head of an OpenFOAM program", "give the log of a solver")
    output = Output(data, source)
    output.facts |= {name: output.first(pattern) for name, pattern in _FACTS.items()}
    output.close(r"^(?:End|Finalising parallel run)\s*$", "'End'")
    # Until it has ended, its clock is no time to solution.
    clocks = list(output.find(_CLOCK)) if output.faults.complete else []
    printed = [line for line, _ in output.find(r"^ExecutionTime = ")]
    if clocks and printed[-1] > clocks[-1][0]:
        output.faults.damage(printed[-1], "the last clock is garbled", "the one before is no time of the run")
        clocks = []
    if clocks:
        line, last = clocks[-1]
        output.add("ClockTime", last["clock"], "s", line)
        output.add("ExecutionTime", last["cpu"], "s", line)
    if len(clocks) > 1:
        # The first step has reading the case in it.
        span = number(clocks[-1][1]["cpu"]) - number(clocks[0][1]["cpu"])
        row = Row("ExecutionTime per step", span / (len(clocks) - 1), "s", float("nan"), clocks[-1][0])
        output.rows.append(row)
    version = output.first(r"^Build +: .*version=(\S+)|Version: +(\S+)|^Build +: +(\S+)")
    return output.dataset("openfoam", "OpenFOAM", version, main="ClockTime", time="ClockTime")
