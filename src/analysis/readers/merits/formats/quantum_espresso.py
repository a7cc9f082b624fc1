"""Quantum ESPRESSO's pw.x: standard output; wall-clock time, total energy, whether it converged."""

from __future__ import annotations

import re

from analysis.readers.merits.output import FigureRow, Merit, Output, TextFormat

# ``2h13m``, ``4m40.76s``, ``0.92s``: what is above a minute may come without its seconds.
_SPAN = r"(?:(?P<d>\d+)d *)?(?:(?P<h>\d+)h *)?(?:(?P<m>\d+)m *)?(?:(?P<s>[\d.]+)s)?"
_CLOCK = r"^ *PWSCF +: .*CPU(?: time,)? +(?P<wall>\d.*?) +(?:WALL|wall time)"
_SECONDS = {"d": 86400, "h": 3600, "m": 60, "s": 1}


def _is_pwscf(head: bytes) -> bool:
    """Tell whether some bytes are the output of pw.x, whatever the blanks between its words."""
    return b"Program PWSCF v." in b" ".join(head[head.find(b"Program PWSCF") :][:40].split())


def _finish(output: Output) -> None:
    """Add the wall-clock time, in the step in which it is printed."""
    atoms = output.facts["size"]
    output.facts["size"] = f"{atoms} atoms" if atoms else ""
    for line, match in output.find(_CLOCK):
        span = re.fullmatch(_SPAN, match["wall"].strip())
        if span:
            parts = {name: text for name, text in span.groupdict().items() if text}
            last = list(parts)[-1]
            digits = len(parts[last].partition(".")[2]) if last == "s" else 0
            value = sum(float(text) * _SECONDS[name] for name, text in parts.items())
            output.rows.append(FigureRow("WALL", value, "s", _SECONDS[last] / 10**digits, line))


FORMAT = TextFormat(
    engine="quantum_espresso", tool="Quantum ESPRESSO", marks=(b"Program PWSCF v.",), test=_is_pwscf,
    near=r"(?i)quantum espresso|pwscf|&control", first_line=r"^\s+Program PWSCF v",
    opening=r"^ *Program PWSCF", closing=r"^ *JOB DONE\.", closed_by="'JOB DONE.'",
    merits=(Merit("total energy", r"^! +total energy += +(?P<value>\S+) Ry", "Ry"),),
    facts={
        "version": r"^ *Program PWSCF +v\.(\S+)",
        "ranks": r"running on +(\d+) processors$|^ *Number of MPI processes: +(\d+)",
        "threads": r"^ *Threads/MPI process: +(\d+)",
        "size": r"^ *number of atoms/cell += +(\d+)",
        "atoms": r"^ *number of atoms/cell += +(\d+)",
        "electrons": r"^ *number of electrons += +([\d.]+)",
        "cutoff": r"^ *kinetic-energy cutoff += +([\d.]+) ",
        "kpoints": r"^ *number of k points= +(\d+)",
        "volume": r"^ *unit-cell volume += +([\d.]+) ",
    },
    failed="convergence NOT achieved", finish=_finish, figure_of_merit="WALL", unit="s",
    higher_is_better=False, time="WALL",
    problem=("atoms", "electrons", "cutoff", "kpoints", "volume"), given="the output of pw.x",
)  # fmt: skip
