"""AMG2023 (hypre's algebraic multigrid) and AMG before it: figure of merit, of the whole, setup and solve.

FOM_Solve of AMG2023 is nonzeros per time, although the program's line names the iterations too; before it
counts them.
"""

import math

from analysis.readers.merits.output import Merit, Output, TextFormat, agree
from analysis.readers.text import integer, number

_WALL = r"^{} {}:\n +wall clock time = (?P<value>\S+) seconds"
_FIRST = r"^Figure of Merit \(FOM_1\): (?P<first>\S+)"
_PARTS = ("FOM_Solve", "Solve", "FOM_Setup", "Setup")
_WHOLE = r"^Figure of Merit \(FOM\): nnz_AP / \(Setup Phase Time \+ (?P<solves>3 \* )?Solve Phase Time\) "


def _finish(output: Output) -> None:
    """Compare each whole figure with the figures and times of the parts above it."""
    output.facts["ranks"] = math.prod(map(integer, output.facts["topology"].split(",")))
    for line, whole in output.find(f"{_WHOLE}(?P<value>\\S+)|{_FIRST}"):
        kept = {
            row.merit: f"{row.value:.6{'f' if row.unit == 's' else 'e'}}"
            for row in output.rows
            if row.line <= line
        }
        if not set(_PARTS) <= kept.keys():
            continue
        solve, took, setup, before = (kept[name] for name in _PARTS)
        found = ", ".join(f"{name} {kept[name]}" for name in _PARTS) + " contradict each other"
        counted = [f"{output.facts['iterations']}.{0:06}"] if whole["first"] else []
        output.verify(line, agree((solve, took), (setup, before, *counted), slack=1e-5), found)
        nonzeros = number(setup) * number(before)
        total = number(before) + (3 if whole["solves"] else 1) * number(took)
        # Before AMG2023 it is the mean of one setup and three solves.
        own = (
            (number(setup) + 3 * number(solve)) / 4 if whole["first"] else nonzeros / total if total else 0.0
        )
        found = f"FOM {whole['first'] or whole['value']} is not {own:.7g}, as the parts say"
        output.verify(line, agree((whole["first"] or whole["value"],), (f"{own:.7g}",), slack=1e-5), found)


FORMAT = TextFormat(
    engine="amg2023", tool="AMG2023", marks=((b"FOM_Setup: nnz_AP", b"Laplacian_"),),
    near=r"Laplacian_\d+pt|FOM_Setup", first_line=r"^Running with these driver parameters:",
    merits=(
        Merit("FOM", _WHOLE + r"(?P<value>\S+)", "1/s"),
        Merit("FOM_1", _FIRST.replace("first", "value"), "1/s"),
        Merit("FOM_2", r"^Figure of Merit \(FOM_2\): (?P<value>\S+)", "1/s"),
        Merit("FOM_Setup", r"^FOM_Setup: nnz_AP / Setup Phase Time: (?P<value>\S+)", "1/s"),
        Merit("FOM_Solve", r"^FOM_Solve: nnz_AP .*/ Solve Phase Time: (?P<value>\S+)", "1/s"),
        Merit("Setup", _WALL.format(r"\w+", "Setup"), "s"),
        Merit("Solve", _WALL.format(r"\w+", "Solve"), "s"),
    ),
    figure_of_merit="FOM", unit="1/s", time="Solve", main=("FOM", "FOM_1", "FOM_2"),
    closing=_WHOLE + r"\S+\n|^Figure of Merit \(FOM_[12]\): \S+\n", closed_by="'Figure of Merit'",
    facts={
        "problem_id": r"^ +Problem ID +=\s+(\d+)|^Problem (\d): AMG Setup",
        "grid": r"^ +\(Nx, Ny, Nz\) = \(([^)]+)\)",
        "size": r"^ +\(Nx, Ny, Nz\) = \(([^)]+)\)",
        "iterations": r"^Iterations = (\d+)",
        "topology": r"^ +\(Px, Py, Pz\) = \(([^)]+)\)",
    },
    problem=("problem_id", "grid"), finish=_finish,
)  # fmt: skip
