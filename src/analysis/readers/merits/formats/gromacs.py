"""GROMACS: the log of mdrun (``md.log``), 4.0 to 2026: ns/day and wall-clock time."""

from __future__ import annotations

import xarray as xr

from analysis.base.errors import ReadError
from analysis.readers.merits.output import Output, agree

_MARKS = (b":-) GROMACS", b"GROMACS version:", b"Gromacs version:", b":-)  G  R  O  M  A  C  S  (-:")
_RUNS = (b"nsteps", b"Started mdrun", b"starting mdrun")
# What the log ends with, or the terminal.
_CLOSING = r"^(?:Finished mdrun on|GROMACS reminds you|gcq#|Thanx for Using GROMACS)"
_UNITS = r"^ +(?P<units>\((?:Mnbf/s|ns/day|steps/hour)\).*)\n *Performance: +(?P<values>.+)$"
_TIME = r"^ *Time: +(?P<core>\S+) +(?P<value>\S+)(?: +(?P<percent>\S+))?$"
_FACTS = {
    "ranks": r"^(?:Using|nnodes:) +(\d+)(?: MPI (?:process|thread)|$)",
    "threads": r"^Using (\d+) OpenMP thread",
    "nodes": r"^Running on (\d+) nodes? with total",
    "size": r"^ *nsteps += *(\d+)",
}


def sniff(head: bytes, name: str = "") -> bool:
    """Tell whether some bytes are of mdrun's log or terminal; other tools of GROMACS have the banner too."""
    return any(mark in head for mark in _MARKS) and any(mark in head for mark in _RUNS)


def parse(data: bytes, source: str = "<memory>") -> xr.Dataset:
    """Read what mdrun says at its end: kind ``merits``; of a log that was appended to the last run counts."""
    if not sniff(data):
        raise ReadError.at(source, 0, "no banner of mdrun", "give the log of gmx mdrun")
    output = Output(data, source)
    output.facts |= {name: output.first(pattern) for name, pattern in _FACTS.items()}
    if output.facts["size"]:
        output.facts["size"] += " steps"
    for result, (line, match) in enumerate(output.find(_TIME)):
        output.add("Wall t", match["value"], "s", line, result=result)
        core, percent = match["core"], match["percent"] or ""
        found = f"{core} s of cores in {match['value']} s are not {percent} %"
        output.hold(line, agree((core,), (match["value"], percent), factor=0.01, slack=1e-3), found)
    for result, (line, match) in enumerate(output.find(_UNITS)):
        units = [unit.strip("()") for unit in match["units"].split()]
        rates = dict(zip(units, match["values"].split(), strict=False))
        for unit, value in rates.items():
            output.add(unit, value, unit, line + 1, result=result)
        day = (rates.get("ns/day", ""), rates.get("hour/ns", ""))
        output.hold(line + 1, agree(day, factor=24.0, slack=1e-4), f"{day[0]} ns/day and {day[1]} hour/ns")
    output.close(_CLOSING, "'Finished mdrun'", opening=r"^Started mdrun on")
    version = output.first(r"^(?:GROMACS|Gromacs) version: +(?:VERSION )?(\S+)|:-\) .*VERSION (\S+)")
    return output.dataset("gromacs", "GROMACS", version, main="ns/day", time="Wall t")
