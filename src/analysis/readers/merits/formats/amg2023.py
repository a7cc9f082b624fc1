"""AMG2023 (hypre's algebraic multigrid): figure of merit of the whole, of its setup and its solve.

FOM_Solve is nonzeros per time, although the program's line names the iterations too.
"""

import math

from analysis.readers.merits.output import Law, Merit, Output, TextFormat, agree
from analysis.readers.text import integer

_WALL = r"^{} {}:\n +wall clock time = (?P<value>\S+) seconds"
_WHOLE = r"^Figure of Merit \(FOM\): nnz_AP / \(Setup Phase Time \+ (?P<solves>3 \* )?Solve Phase Time\) "


def _finish(output: Output) -> None:
    """Compare the whole's figure with the nonzeros of the parts and their times, of the solve three times."""
    output.facts["ranks"] = math.prod(map(integer, output.facts["topology"].split(",")))
    kept = {row.merit: row for row in output.rows}
    for line, whole in output.find(_WHOLE + r"(?P<value>\S+)"):
        if {"FOM_Setup", "Setup", "Solve"} <= kept.keys():
            total = kept["Setup"].value + (3 if whole["solves"] else 1) * kept["Solve"].value
            nonzeros = kept["FOM_Setup"].value * kept["Setup"].value
            found = f"FOM {whole['value']} of {nonzeros:g} nonzeros in {total:g} s"
            output.verify(line, agree((whole["value"], f"{total:.6f}"), factor=nonzeros or 1.0), found)


FORMAT = TextFormat(
    engine="amg2023", tool="AMG2023", marks=((b"FOM_Setup: nnz_AP", b"Laplacian_"),),
    near=r"Laplacian_\d+pt|FOM_Setup", first_line=r"^Running with these driver parameters:",
    merits=(
        Merit("FOM", _WHOLE + r"(?P<value>\S+)", "1/s"),
        Merit("FOM_Setup", r"^FOM_Setup: nnz_AP / Setup Phase Time: (?P<value>\S+)", "1/s"),
        Merit("FOM_Solve", r"^FOM_Solve: nnz_AP .*/ Solve Phase Time: (?P<value>\S+)", "1/s"),
        Merit("Setup", _WALL.format(r"\w+", "Setup"), "s"),
        Merit("Solve", _WALL.format(r"\w+", "Solve"), "s"),
    ),
    figure_of_merit="FOM", unit="1/s", time="Solve", closing=_WHOLE + r"\S+\n", closed_by="'Figure of Merit'",
    facts={
        "problem_id": r"^ +Problem ID +=\s+(\d+)",
        "grid": r"^ +\(Nx, Ny, Nz\) = \(([^)]+)\)",
        "size": r"^ +\(Nx, Ny, Nz\) = \(([^)]+)\)",
        "topology": r"^ +\(Px, Py, Pz\) = \(([^)]+)\)",
    },
    problem=("problem_id", "grid"), finish=_finish,
    laws=(Law(("FOM_Solve", "Solve"), ("FOM_Setup", "Setup")),),
)  # fmt: skip
