"""GROMACS: the log of mdrun (``md.log``) or its terminal, 4.0 to 2026: ns/day and wall-clock time."""

from dataclasses import replace

import xarray as xr

from analysis.readers.merits.output import Output, TextFormat, agree

# Other tools of GROMACS have the banner too.
_BANNERS = (b":-) GROMACS", b"GROMACS version:", b"Gromacs version:", b":-)  G  R  O  M  A  C  S  (-:")
# The log has its steps further right than `mdout.mdp`, in which grompp lists what it was given.
_RUNS = (b"\n   nsteps ", b" -nsteps ", b"Started mdrun", b"starting mdrun")
_OVERRIDDEN = r"^Overriding nsteps with value passed on the command line: (\S+) steps"
_UNITS = r"^ +(?P<units>\((?:Mnbf/s|ns/day|steps/hour)\).*)\n *Performance: +(?P<values>.+)$"
_TIME = r"^ *Time: +(?P<core>\S+) +(?P<value>\S+)(?: +(?P<percent>\S+))?$"


def _finish(output: Output) -> None:
    """Add what mdrun prints at its end; of a log that was appended to the last run counts."""
    if own := output.first(_OVERRIDDEN):  # `-nsteps`; -1 is a run that something else ends
        output.facts["nsteps"] = own if own.isdigit() else ""
    steps = output.facts["nsteps"]
    output.facts["size"] = f"{steps} steps" if steps else ""
    for result, (line, match) in enumerate(output.find(_TIME)):
        output.add("Wall t", match["value"], "s", line, result=result)
        core, percent = match["core"], match["percent"] or ""
        found = f"{core} s of cores in {match['value']} s are not {percent} %"
        output.verify(line, agree((core,), (match["value"], percent), factor=0.01, slack=1e-3), found)
    for result, (line, match) in enumerate(output.find(_UNITS)):
        units = [unit.strip("()") for unit in match["units"].split()]
        rates = dict(zip(units, match["values"].split(), strict=False))
        for unit, value in rates.items():
            output.add(unit, value, unit, line + 1, result=result)
        day = (rates.get("ns/day", ""), rates.get("hour/ns", ""))
        output.verify(line + 1, agree(day, factor=24.0, slack=1e-4), f"{day[0]} ns/day and {day[1]} hour/ns")


FORMAT = TextFormat(
    engine="gromacs", tool="GROMACS",
    # With its error output elsewhere, or `-quiet`, a terminal has no banner.
    marks=(*((banner, run) for banner in _BANNERS for run in _RUNS), (b"starting mdrun '", b"(ns/day)")),
    near=r"(?i)gromacs|mdrun", first_line=r"^\s+:-\) GROMACS - gmx mdrun", opening=r"^Started mdrun on",
    # What the log ends with, or the terminal.
    closing=r"^(?:Finished mdrun on|GROMACS reminds you|gcq#|Thanx for Using GROMACS)",
    closed_by="'Finished mdrun'",
    facts={
        "version": r"^(?:GROMACS|Gromacs) version: +(?:VERSION )?(\S+)|:-\) .*VERSION (\S+)"
        r"|^GROMACS: +gmx mdrun, (?:version|VERSION) (\S+)",
        "ranks": r"^(?:Using|nnodes:) +(\d+)(?: MPI (?:process|thread)|$)",
        "threads": r"^Using (\d+) OpenMP thread",
        "nodes": r"^Running on (\d+) nodes? with total",
        # Of the first node; a user may name one several times, and before 5.0 they were counted so.
        "gpus_per_node": r"^(?:On host \S+ )?(\d+) GPUs? (?:auto-)?selected for this run"
        r"|^(?:On host \S+ )?(\d+) GPUs? user-selected for this run\.$",
        "nsteps": r"^ *nsteps += *(\d+)|^(\d+) steps, +[\d.]+ ps\.$",
        "system": r"^starting mdrun '(.*)'$",
        "simd": r"^SIMD instructions: +(\S+)",
        "gpu": r"^GPU support: +(\S+)",
        "atoms": r"^ *There are: (\d+) Atoms",
    },
    finish=_finish, figure_of_merit="ns/day", unit="ns/day", time="Wall t",
    # A terminal has no number of atoms, and a log no name.
    problem=("atoms", "nsteps", "system?"), settings=("simd", "gpu"),
    given="the log of gmx mdrun",
)  # fmt: skip
# Without its banner it ends with its rates.
_QUIET = replace(FORMAT, closing=r"^Performance: .*\n", closed_by="'Performance:'")
sniff = FORMAT.sniff


def parse(data: bytes, source: str = "<memory>") -> xr.Dataset:
    """Read a log or a terminal: kind ``merits``."""
    return (FORMAT if any(one in data for one in (*_BANNERS, b"Started mdrun")) else _QUIET).parse(
        data, source
    )
