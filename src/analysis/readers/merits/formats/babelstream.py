"""BabelStream 0.9 (as GPU-STREAM) to 5.0: the best rate of Copy, Mul, Add, Triad and Dot."""

from analysis.readers.merits.output import Law, Merit, Output, TextFormat
from analysis.readers.text import number

# Arrays that a kernel reads and writes.
_ARRAYS = {"Copy": 2, "Mul": 2, "Add": 3, "Triad": 3, "Dot": 2, "Nstream": 4}
_ROW = r"^{} +(?P<rate>\d\S*) +(?P<least>\d\S*) +(?P<most>\d\S*) +(?P<mean>\d\S*) *$"
_BANNER = r"^(?:BabelStream|GPU-STREAM)\n(?=Version: )"


def _finish(output: Output) -> None:
    """Take the unit from the headings; compare the times of each row; a kernel's row may be cut."""
    if (begun := output.rest.split(" ")[0]) and any(name.startswith(begun) for name in _ARRAYS):
        output.faults.damage(0, f"the row of {begun} does not end", "the file is cut; the row is not used")
    unit = output.first(r"^Function +([A-Z]\w+)(?:ytes)?/s").replace("Bytes", "B")
    output.rows = [row if row.unit == "s" else row._replace(unit=f"{unit or 'MB'}/s") for row in output.rows]
    for kernel in _ARRAYS:
        for line, row in output.find(_ROW.format(kernel)):
            least, mean, most = (number(row[name]) for name in ("least", "mean", "most"))
            found = f"{kernel}: {least} to {most} s, {mean} s in the mean"
            output.verify(line, not (least > mean + 2e-5 or mean > most + 2e-5), found)


FORMAT = TextFormat(
    engine="babelstream", tool="BabelStream",
    marks=((b"BabelStream\n", b"Version: "), (b"GPU-STREAM\n", b"Version: ")),
    near="(?i)babelstream|gpu-stream", first_line=_BANNER, opening=_BANNER,
    merits=(
        *(Merit(name, _ROW.format(name).replace("rate", "value"), "MB/s") for name in _ARRAYS),
        *(Merit(f"{name} time", _ROW.format(name).replace("least", "value"), "s") for name in _ARRAYS),
    ),
    figure_of_merit="Triad", unit="MB/s", closing=_ROW.format("(?:Dot|Triad|Nstream)") + r"\n",
    closed_by="of the last kernel", starts=_BANNER, failed=r"^(?:Validation failed on|FAILED validation of)",
    facts={
        "version": r"^Version: (\S+)",
        "implementation": r"^Implementation: (\S.*?) *$",
        "device": r"^Using (?:[A-Z]\w+ )?device:? (.*\S)",
        "array": r"^Array size: (\S+) MB",
        "precision": r"^Precision: (\S+)",
        "size": r"^(Array size: .*?) *$",
    },
    problem=("array", "precision"), settings=("implementation", "device"), finish=_finish,
    laws=tuple(
        Law((name, f"{name} time"), ("Copy", "Copy time"), factor=n / 2)
        for name, n in _ARRAYS.items()
    ),
)  # fmt: skip
