"""Quantum ESPRESSO's pw.x, cp.x and ph.x: standard output; wall-clock time, total energy, convergence."""

import re

from analysis.readers.merits.output import FigureRow, Merit, Output, TextFormat

# ``2h13m``, ``4m40.76s``, ``0.92s``: what is above a minute may come without its seconds.
_SPAN = r"(?:(?P<d>\d+)d *)?(?:(?P<h>\d+)h *)?(?:(?P<m>\d+)m *)?(?:(?P<s>\d+(?:\.\d*)?)s)?"
_PROGRAM = "(?:PWSCF|CP|PHONON)"
_CLOCK = rf"^ *{_PROGRAM} +: .*CPU(?: time,)? +(?P<wall>\d.*?) +(?:WALL|wall time)"
_SPECIES = r"^ *Species +\d+ atoms = +(?P<atoms>\d+) mass = "
_SECONDS = {"d": 86400, "h": 3600, "m": 60, "s": 1}


def _is_one(head: bytes) -> bool:
    """Tell whether some bytes are the output of one of the programs, with any blanks between its words."""
    return re.search(rf"Program\s+{_PROGRAM}\s+v\.".encode(), head) is not None


def _finish(output: Output) -> None:
    """Add the wall-clock time, in the step in which it is printed, and what cp.x says in other words."""
    if steps := output.facts.pop("steps"):
        species = [int(match["atoms"]) for _, match in output.find(_SPECIES)]
        output.facts |= {"atoms": str(sum(species) or ""), "size": str(sum(species) or "")}
        output.facts["kpoints"] = f"gamma,steps={steps}"  # cp.x has no other point
    output.facts["npool"] = output.facts["npool"] or "1"  # it prints others
    atoms = output.facts["size"]
    output.facts["size"] = f"{atoms} atoms" if atoms else ""
    clocks = list(output.find(_CLOCK))
    if output.facts["program"]:  # ph.x prints its time at each point, too
        clocks = clocks[-1:]
    images = output.first(r"^ *path-images division: +nimage += +(\d+)")
    if images:
        found = f"belongs to one of {images} images"
        output.faults.note(0, found, "the slowest would give the time of the run")
    for line, match in clocks:
        span = re.fullmatch(_SPAN, match["wall"].strip())
        if span:
            parts = {name: text for name, text in span.groupdict().items() if text}
            last = list(parts)[-1]
            digits = len(parts[last].partition(".")[2]) if last == "s" else 0
            value = sum(float(text) * _SECONDS[name] for name, text in parts.items())
            name = "WALL of an image" if images else "WALL"
            output.rows.append(FigureRow(name, value, "s", _SECONDS[last] / 10**digits, line))


FORMAT = TextFormat(
    engine="quantum_espresso", tool="Quantum ESPRESSO", test=_is_one,
    marks=(b"Program PWSCF v.", b"Program CP v.", b"Program PHONON v."),
    near=r"(?i)quantum espresso|pwscf|&control", first_line=rf"^\s+Program {_PROGRAM} v",
    of_ranks=r"out\.(?P<rank>\d+)_0",  # of images
    opening=rf"^ *Program +{_PROGRAM} +v", closing=r"^ *JOB DONE\.", closed_by="'JOB DONE.'",
    merits=(
        Merit("total energy", r"^! +total energy += +(?P<value>\S+) Ry", "Ry"),
        Merit("total energy", r"^ +total energy += +(?P<value>\S+) Hartree a\.u\.", "Hartree"),
    ),
    facts={
        "version": rf"^ *Program {_PROGRAM} +v\.(\S+)",
        "program": r"^ *Program +(PHONON) +v",
        "nodes": r"^ *MPI processes distributed on +(\d+) nodes",
        "ranks": r"running on +(\d+) processors$|^ *Number of (?:MPI processes|processors in use): +(\d+)",
        "threads": r"^ *Threads/MPI process: +(\d+)",
        "size": r"^ *number of atoms/cell += +(\d+)",
        "atoms": r"^ *number of atoms/cell += +(\d+)",
        "electrons": r"^ *number of electrons += +([\d.]+)|^ *Number of Electrons? *= +(\d+),",
        "cutoff": r"^ *kinetic-energy cut-?off += +([\d.]+) |^ *Ecutwfc += +([\d.]+) Ry",
        "kpoints": r"^ *number of k points= +(\d+)",
        "volume": r"^ *unit-cell volume += +([\d.]+) |^ *omega += +([\d.]+)",
        "qpoints": r"^ *\( *(\d+) q-points\)",
        "steps": r"^ *Number of MD Steps += +(\d+)",
        "acceleration": r"^ *(GPU) acceleration is ACTIVE",
        "visible_gpus_per_rank": r"^ *GPU acceleration is ACTIVE\. +(\d+) visible GPUs per MPI rank",
        "npool": r"^ *K-points division: +npool += +(\d+)",
        "diagonalization": r"^ *(\S+) distributed-memory algorithm",
        "ndiag": r"distributed-memory algorithm \(size of sub-group: +(\d+\* *\d+) procs\)",
    },
    settings=("npool", "diagonalization", "ndiag", "acceleration", "visible_gpus_per_rank"),
    failed="convergence NOT achieved", finish=_finish, figure_of_merit="WALL", unit="s",
    higher_is_better=False, time="WALL",
    problem=("program?", "atoms", "electrons?", "cutoff", "kpoints", "qpoints?", "volume"),
    given="the output of pw.x",
)  # fmt: skip
