"""Quantum ESPRESSO's pw.x: standard output; wall-clock time, total energy, whether it converged."""

from __future__ import annotations

import re

import xarray as xr

from analysis.base.errors import ReadError
from analysis.readers.merits.output import Output, Row

# ``2h13m``, ``4m40.76s``, ``0.92s``: what is above a minute may come without its seconds.
_SPAN = r"(?:(?P<d>\d+)d *)?(?:(?P<h>\d+)h *)?(?:(?P<m>\d+)m *)?(?:(?P<s>[\d.]+)s)?"
_CLOCK = r"^ *PWSCF +: .*CPU(?: time,)? +(?P<wall>\d.*?) +(?:WALL|wall time)"
_SECONDS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
_FACTS = {
    "ranks": r"running on +(\d+) processors$|^ *Number of MPI processes: +(\d+)",
    "threads": r"^ *Threads/MPI process: +(\d+)",
    "size": r"^ *number of atoms/cell += +(\d+)",
}


def sniff(head: bytes, name: str = "") -> bool:
    """Tell whether some bytes are the output of pw.x."""
    return b"Program PWSCF v." in b" ".join(head[head.find(b"Program PWSCF") :][:40].split())


def parse(data: bytes, source: str = "<memory>") -> xr.Dataset:
    """Read times and energies: kind ``merits``; a cycle that did not converge fails the check."""
    if not sniff(data):
        raise ReadError.at(source, 0, "no 'Program PWSCF'", "give the output of pw.x")
    output = Output(data, source)
    output.facts |= {name: output.first(pattern) for name, pattern in _FACTS.items()}
    if output.facts["size"]:
        output.facts["size"] += " atoms"
    for line, match in output.find(r"^! +total energy += +(?P<value>\S+) Ry"):
        output.add("total energy", match["value"], "Ry", line)
    for line, match in output.find(_CLOCK):
        span = re.fullmatch(_SPAN, match["wall"].strip())
        if span:
            parts = {name: text for name, text in span.groupdict().items() if text}
            last = list(parts)[-1]
            digits = len(parts[last].partition(".")[2]) if last == "s" else 0
            value = sum(float(text) * _SECONDS[name] for name, text in parts.items())
            output.rows.append(Row("WALL", value, "s", _SECONDS[last] / 10**digits, line))
    if next(output.find(r"convergence NOT achieved"), None):
        output.check(0, False)
    output.close(r"^ *JOB DONE\.", "'JOB DONE.'", opening=r"^ *Program PWSCF")
    version = output.first(r"^ *Program PWSCF +v\.(\S+)")
    return output.dataset("quantum_espresso", "Quantum ESPRESSO", version, main="WALL", time="WALL")
