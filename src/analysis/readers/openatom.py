"""OpenAtom's standard output: the time of every iteration, after the banner of Charm++.

A run of fewer than 30 iterations closes with a list of all their times and their sum; a longer one
prints each and nothing at its end. The first iterations hold start-up and are left out of `step_time`.
"""

import math
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr

from analysis.base.errors import ReadError
from analysis.readers.base import Faults
from analysis.readers.format import Format
from analysis.readers.text import contains, integer, is_number, number, whole_lines
from analysis.schema import registry

FORMAT = Format(
    engine="openatom", tool="OpenAtom",
    figure_of_merit="step_time",  # the mean over the iterations after start-up
    unit="s", higher_is_better=False, problem=("atoms", "states", "cutoff", "method?"),
    first_line=r"^(?:(?:Charm\+\+|CharmLB|Converse|Warning)[^\n]*\n)*Executing OpenAtom: BINARY",
)  # fmt: skip
_SNIFF = re.compile(
    rb"Executing OpenAtom: BINARY|Cpaimd-Charm-Driver|^(?:Iteration|BOMD step) time \(GSP\) :"
    rb"|^Wall Times from within GSP",
    re.MULTILINE,
)
# Several instances in one job put their number before each line.
_INSTANCE = re.compile(r"\{\d+\} ?")
_STEP = re.compile(r"(?P<mode>Iteration|BOMD step) time \(GSP\) : *(?P<seconds>.*)")
_LIST = "Wall Times from within GSP"
_RULE = re.compile(r"-{20,}\s*")
_FIELDS = {
    "total_time": re.compile(r"Total Wall Time: *(\S*)\s*"),
    "startup_time": re.compile(r"Total time to finish all start up phases *(\S*)\s*"),
}
_COUNTS = {
    "ranks": (
        re.compile(r"\s*Cpaimd-Charm-Driver running on (\d+) processors"),
        re.compile(r"Charm\+\+> Running in .*?(?:numPes|:) +(\d+)(?: processes \(PEs\))?\s*$"),
        re.compile(r"Charm\+\+> .*\((\d+) PEs total\)"),
    ),
    "nodes": (re.compile(r"Charm\+\+> Running on (\d+) (?:unique compute nodes|hosts)"),),
    "atoms": (re.compile(r"There are (\d+) atoms\s*$"),),
    "states": (re.compile(r"\s*nstates=(\d+) "),),
}
_CUTOFF = re.compile(r"The small energy cutoff is Ecut= ([\d.]+) Ryd")
# An iteration of a minimization is other work than a step in time.
_METHOD = re.compile(r"Running Open Atom CP (?P<name>Minimization|BOMD|Dynam)")
_VERSION = re.compile(r"Converse/Charm\+\+ Commit ID: (\S+)")
_CLOSING = re.compile(r"(?:\[Partition \d+\]\[Node \d+\] )?(?:End of program|Program finished)")

# From this many iterations on OpenAtom prints no list at its end.
LONG = 30
# Iterations at the beginning that hold start-up, where enough are left.
STARTUP_STEPS = 2


@dataclass
class _Output:
    printed: list[float] = field(default_factory=list)
    listed: list[float] = field(default_factory=list)
    found: dict[str, Any] = field(default_factory=dict)
    mode: str = ""
    list_open: bool = False
    closed: bool = False


def sniff(head: bytes, name: str = "") -> bool:
    """Tell whether some bytes look like OpenAtom's output."""
    return contains(head, _SNIFF, b"OpenAtom", b"Cpaimd", b"GSP")


def parse(data: bytes, source: str = "<memory>") -> xr.Dataset:
    """Read an output: kind ``openatom``.

    `step_time` (s) is the mean over the iterations after the first `startup_steps`, NaN without any.
    """
    if not sniff(data):
        found = "no line is one that OpenAtom prints"
        raise ReadError.at(source, 0, found, "give the standard output of the run")
    faults = Faults(source)
    lines, rest = whole_lines(data)
    output = _Output()
    for at, line in enumerate(lines, 1):
        _read_line(output, _INSTANCE.sub("", line, count=1) if line.startswith("{") else line, at, faults)
    _check(output, len(lines), rest, faults)
    return _dataset(output, faults)


def problem(ds: xr.Dataset) -> str:
    """Spell the problem of an output: ``atoms=96 states=128 cutoff=70 method=dynamics``, the cutoff in Ry."""
    stated = {name: ds[name].item() for name in ("atoms", "states", "cutoff")}
    known = {name: f"{value:.12g}" for name, value in stated.items() if value >= 0}
    return FORMAT.identity(known | {"method": ds.attrs["method"]})


def _read_line(output: _Output, line: str, at: int, faults: Faults) -> None:
    if output.list_open and _read_listed(output, line, at, faults):
        return
    step = _STEP.fullmatch(line)
    if step:
        output.mode = step["mode"]
        output.printed.append(_seconds(step["seconds"], "an iteration", at, faults))
    elif line.startswith(_LIST):
        output.list_open, output.listed = True, []
    elif _CLOSING.match(line):
        output.closed = True
    else:
        _read_field(output, line, at, faults)


def _read_listed(output: _Output, line: str, at: int, faults: Faults) -> bool:
    """Take a line of the closing list; return false for one that has a meaning of its own."""
    text = line.strip()
    if _RULE.fullmatch(line):
        output.list_open, output.closed = False, True
        return True
    if line.startswith("Total Wall Time"):
        return False
    if text:
        output.listed.append(_seconds(text, "an iteration", at, faults))
    return True


def _read_field(output: _Output, line: str, at: int, faults: Faults) -> None:
    for name, pattern in _FIELDS.items():
        match = pattern.match(line)
        if match:
            output.found[name] = _seconds(match[1], name.replace("_", " "), at, faults)
            return
    for name, patterns in _COUNTS.items():
        for pattern in patterns:
            match = pattern.match(line)
            if match:
                # OpenAtom's own count of processors is tried first and wins over the banner's.
                if pattern is patterns[0] or name not in output.found:
                    output.found[name] = integer(match[1])
                return
    if match := _VERSION.match(line):
        output.found["charm"] = match[1]
    elif match := _CUTOFF.match(line):
        output.found["cutoff"] = number(match[1])
    elif match := _METHOD.match(line):
        output.found.setdefault("method", match["name"].lower().replace("dynam", "dynamics"))


def _seconds(text: str, what: str, at: int, faults: Faults) -> float:
    if is_number(text.strip()):
        return number(text)
    faults.damage(at, f"the time of {what} is {text.strip()!r}, not a number", "left blank")
    return math.nan


def _check(output: _Output, last: int, rest: str, faults: Faults) -> None:
    if rest.strip():
        faults.damage(last + 1, "the last line has no end, its number may be cut", "left out")
    steps = len(output.listed) or len(output.printed)
    if not steps:
        faults.damage(last, "no iteration is timed", "the run ended before its first one")
    elif output.list_open:
        faults.damage(last, "the list of times has no end", "the file is cut; kept what is whole")
    elif not output.closed and steps < LONG - 1:
        faults.damage(
            last, f"{steps} iterations and no list of times", "the run was killed or the file is cut"
        )
    elif not output.closed:
        faults.note(last, "no closing line", f"from {LONG} iterations on there may be none; check the number")
    total = output.found.get("total_time", math.nan)
    # %g prints six digits of every time.
    if output.listed and abs(math.fsum(output.listed) - total) > 1e-5 * max(total, 1.0) * len(output.listed):
        faults.note(last, f"the times listed do not add up to the total of {total:g} s", "check the file")


def _dataset(output: _Output, faults: Faults) -> xr.Dataset:
    times = np.array(output.listed or output.printed, dtype=np.float64)
    skipped = STARTUP_STEPS if times.size > 2 * STARTUP_STEPS else min(1, max(times.size - 1, 0))
    steady = times[skipped:][np.isfinite(times[skipped:])]
    found = output.found
    values = {
        "step": np.arange(1, times.size + 1),
        "iteration_time": times,
        "step_time": float(steady.mean()) if steady.size else math.nan,
        "startup_steps": skipped,
        "startup_time": found.get("startup_time", math.nan),
        "total_time": found.get("total_time", math.nan),
        "ranks": found.get("ranks", -1),
        "charm_nodes": found.get("nodes", -1),
        "atoms": found.get("atoms", -1),
        "states": found.get("states", -1),
        "cutoff": found.get("cutoff", math.nan),
    }
    mode = "BOMD" if output.mode.startswith("BOMD") else "CPAIMD"
    attrs = {
        "tool": FORMAT.tool,
        "tool_version": "",
        "charm_version": found.get("charm", ""),
        "method": found.get("method", "bomd" if mode == "BOMD" else ""),
        "mode": mode,
        **faults.attrs(),
    }
    return registry.of_values(values, "openatom", attrs)
