"""LAMMPS: log file or standard output; a result for each ``run``, of ``Loop time`` and ``Performance``."""

import re
from dataclasses import replace

import xarray as xr

from analysis.readers.merits.output import Merit, Output, TextFormat, agree
from analysis.readers.text import number

_WALL_TIME_SINCE = 2014
_LOOP = r"^Loop time of (?P<value>\S+) on \d+ procs"
_RATE = r"^Performance: (?:.*[ ,])?(?P<value>\d[^\s,]*) (?P<unit>{})(?=[,\s])"
_SIZE = r"^Loop time of (?P<time>\S+) on \d+ procs for (?P<steps>\d+) steps with (?P<atoms>\d+) atoms"
_PREFIX = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}
_CLOSING = r"^Total wall time:"
# A list of neighbours or a GPU names the interaction; a log of a run on GPUs, or of before 2017, has only the
# command. The ends are those of packages, and the sums over a mesh that a GPU names too are no interaction.
# Molten beads and a chain of them differ in this and in their bonds alone: both have 32,000 atoms.
_PAIR = r"^(?:  \(\d+\) pair |- Using acceleration for )(?!hybrid|pppm)(?P<pair>[^\s,:]+)"
_COMMAND = r"^pair_style\s+(?!hybrid)(?P<pair>[^\s$]+)(?=\s|$)"
_BONDS = r"^Bond +(?:\||time )"
_RENAMED = {"reax/c": "reaxff", "meam/c": "meam"}  # in 2021 and 2022
_PACKAGE = re.compile(r"/(?:gpu|intel|kk|omp|opt)(?:/(?:device|host))?$")
# LAMMPS prints no rates in these units. A whole output of one run has each of these lines, in this order.
_UNITS = r"^(?:  Unit style +: |units\s+)(?:si|cgs)\s*$"
_WHOLE = (r"^LAMMPS \(", _UNITS, _LOOP, r"^\S+% CPU use with \d")
# With these its rates are elsewhere, or its steps are not steps of time.
_OTHER = r"^(?:Performance: |Minimization stats:)"


def _finish(output: Output) -> None:
    """Compare each run's rates with its time, its steps and its atoms."""
    loops = list(output.find(_SIZE))
    if loops:  # the last run speaks for the file
        output.facts |= {name: loops[-1][1][name] for name in ("atoms", "steps")}
    if devices := {match["gpu"] for _, match in output.find(r"^Device (?P<gpu>\d+): ")}:
        output.facts["gpus_per_node"] = str(len(devices))
    named = [*output.find(_PAIR)] or [*output.find(_COMMAND)]
    pairs = {_RENAMED.get(one, one) for one in (_PACKAGE.sub("", match["pair"]) for _, match in named)}
    packages = {package for _, match in named for package in _PACKAGE.findall(match["pair"])}
    packages |= {"/gpu"} if any(output.find(r"^- Using acceleration for ")) else set()
    output.facts["suffix"] = "".join(sorted(packages)).lstrip("/") or "none" * bool(pairs)
    bonds = ["bonds"] if pairs and any(output.find(_BONDS)) else []
    output.facts["pair"] = "+".join(sorted(pairs) + bonds)
    _rate(output)
    for line, match in output.find(r"^Performance: (?P<rates>.*)$"):
        own = [loop for at, loop in loops if at < line]
        if not own:
            continue
        cells = [cell.split() for cell in match["rates"].split(",")]
        rates = {cell[1]: cell[0] for cell in cells if len(cell) == 2}
        steps, atoms = int(own[-1]["steps"]), float(own[-1]["atoms"])
        rate = rates.get("timesteps/s", "")
        found = f"{rate} timesteps/s, {steps} steps in {own[-1]['time']} s"
        output.verify(line, agree((rate, own[-1]["time"]), factor=float(steps) or 1.0, slack=1e-4), found)
        day = (rates.get("ns/day", ""), rates.get("hours/ns", ""))
        output.verify(line, agree(day, factor=24.0, slack=1e-4), f"{day[0]} ns/day and {day[1]} hours/ns")
        for unit in [unit for unit in rates if unit.endswith("atom-step/s")]:
            factor = atoms / _PREFIX.get(unit.removesuffix("atom-step/s"), 1.0) or 1.0
            found = f"{rates[unit]} {unit}, {rate} timesteps/s of {atoms:.0f} atoms"
            output.verify(line, agree((rates[unit],), (rate,), factor=factor, slack=1e-4), found)


def _rate(output: Output) -> None:
    """Add the steps per second of a whole output without rates; lines that grep found are none."""
    head, units, loop, after = ([line for line, _ in output.find(pattern)] for pattern in _WHOLE)
    if [len(head), len(loop), len(after), output.ends(_CLOSING)] != [1, 1, 1, 1] or not units:
        return
    if not head[0] < units[0] <= units[-1] < loop[0] < after[0] or any(output.find(_OTHER)):
        return
    for line, match in output.find(_SIZE):
        steps, seconds = int(match["steps"]), number(match["time"])
        if steps > 0 and seconds > 0:
            output.add("timesteps/s", f"{steps / seconds:.6g}", "timesteps/s", line)  # as the time's digits


FORMAT = TextFormat(
    engine="lammps", tool="LAMMPS",
    marks=((b"LAMMPS (", b"units"), (b"Loop time of ", b" steps with ", b" atoms")),
    near="LAMMPS|Loop time of", first_line=r"^LAMMPS \(",
    merits=(
        Merit("Loop time", _LOOP, "s"),
        Merit("ns/day", _RATE.format("ns/day")),
        Merit("tau/day", _RATE.format("tau/day")),
        Merit("timesteps/s", _RATE.format("timesteps/s")),
        Merit("atom-step/s", _RATE.format("[kMG]?atom-step/s")),
    ),
    distributed=r"log\.\d{1,2}[A-Z][a-z]{2}\d{2}(?:\d\d)?\..*\.\d+$",  # log.6Oct16.chain.fixed.icc.4
    figure_of_merit="timesteps/s", unit="timesteps/s", closing=_CLOSING,
    closed_by="'Total wall time:'",
    facts={
        "version": r"^LAMMPS \(([^)]+)\)",
        "ranks": r"CPU use with (\d+) (?:MPI tasks|procs)",
        "threads": r"MPI tasks x (\d+) OpenMP threads",
        "size": r"^Loop time of \S+ on \d+ procs for (.*)$",
        "processors": r"^ +(\d+ by \d+ by \d+) MPI processor grid",
        "gpus_per_node": r"^  will use up to (\d+) GPU\(s\) per node|^package gpu ([1-9]\d*)\b",
    },
    starts=_LOOP, time="Loop time", problem=("pair?", "atoms", "steps"),
    settings=("suffix", "processors"), finish=_finish,
)  # fmt: skip
# Since then it is the product with threads, and ranks stand by themselves.
_OLD = replace(
    FORMAT,
    closing=r"^(?:Total wall time:|Dangerous builds = )",
    facts={**FORMAT.facts, "ranks": r"^Loop time of \S+ on (\d+) procs for"},
)
_YEAR = re.compile(rb"LAMMPS \(\d+ \w+ (\d{4})")
sniff = FORMAT.sniff


def parse(data: bytes, source: str = "<memory>") -> xr.Dataset:
    """Read an output: kind ``merits``; of before 2014 the statistics of neighbours end it."""
    year = _YEAR.search(data)
    return (_OLD if year and int(year[1]) < _WALL_TIME_SINCE else FORMAT).parse(data, source)
