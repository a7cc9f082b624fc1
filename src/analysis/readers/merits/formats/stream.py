"""STREAM (McCalpin's C and Fortran programs): the best rate of Copy, Scale, Add and Triad."""

import math

from analysis.readers.merits.output import FigureRow, Merit, Output, TextFormat, agree
from analysis.readers.text import number

_KERNELS = ("Copy", "Scale", "Add", "Triad")
_ARRAYS = {"Copy": 2, "Scale": 2, "Add": 3, "Triad": 3}  # that a kernel reads and writes
_ROW = rf"^(?P<kernel>{'|'.join(_KERNELS)}): +(?P<rate>\S+) +(?P<mean>\S+) +(?P<least>\S+) +(?P<most>\S+) *$"
_STEP = 2e-6  # s, of printed times
_END = r"^ ?(?:Solution Validates|Failed Validation)"
_BANNER = r"^STREAM [Vv]ersion \$Revision"


def _finish(output: Output) -> None:
    """Compare the rates with the times; then add up those of copies that all ran at once."""
    _verify_rates(output)
    begins = [line for line, _ in output.find(_BANNER)]
    ends = [line for line, _ in output.find(_END)]
    copies, alone = len(begins), 0
    running = 0
    for _, change in sorted([(line, 1) for line in begins] + [(line, -1) for line in ends])[:-1]:
        running += change
        alone += running == 0
    if copies < 2 or len(ends) != copies or (alone == copies - 1 and len(output.ranks) != copies):
        return
    # By their tags they are ranks of one launch; or from the first to the last there was always one running.
    if len(output.ranks) != copies and alone:
        output.faults.note(
            begins[0], f"some of {copies} copies ran at once, not all", "they are not added up"
        )
        return
    for kernel in _KERNELS:
        rows = [row for row in output.rows if row.merit == kernel]
        rate = sum(row.value for row in rows)
        output.rows.append(FigureRow(f"{kernel} sum", rate, "MB/s", math.nan, rows[-1].line if rows else -1))
    output.faults.note(begins[0], f"{copies} copies that ran at once", "their rates are added up as sums")


def _verify_rates(output: Output) -> None:
    """Compare each rate with its least time: a kernel moves as much per array as Copy did."""
    first: tuple[str, str, int] | None = None
    for line, row in output.find(_ROW):
        kernel, rate, least = row["kernel"], row["rate"], row["least"]
        mean, most = number(row["mean"]), number(row["most"])
        found = f"{kernel}: {least} to {most:g} s, {mean:g} s in the mean"
        output.verify(line, not (number(least) > mean + _STEP or mean > most + _STEP), found)
        if kernel == "Copy" or first is None:
            first = (rate, least, _ARRAYS[kernel])
        else:
            factor = _ARRAYS[kernel] / first[2]
            found = (
                f"{kernel}: {rate} MB/s in {least} s is not {factor:g} times {first[0]} MB/s in {first[1]} s"
            )
            output.verify(line, agree((rate, least), first[:2], factor=factor, slack=1e-3), found)


FORMAT = TextFormat(
    engine="stream", tool="STREAM", marks=(b"STREAM version $Revision", b"STREAM Version $Revision"),
    near=r"(?i)\btriad\b", first_line="^STREAM version ",
    merits=tuple(
        Merit(kernel, rf"^{kernel}: +(?P<value>\S+)(?: +\S+){{3}} *$", "MB/s") for kernel in _KERNELS
    ),
    figure_of_merit="Triad", unit="MB/s", closing=_END,
    closed_by="that says whether the solution validates", opening=_BANNER,
    facts={
        "version": r"^STREAM [Vv]ersion \$Revision: +(\S+)",
        "threads": r"^Number of Threads (?:counted|requested) = +(\d+)",
        "ranks": r"^ ?Total Aggregate.*over (\d+) MPI ranks",
        "size": r"^(?:Total Aggregate )?(Array size = +\d+)",
        "elements": r"^(?:Total Aggregate )?Array size = +(\d+)",
    },
    starts=_BANNER, problem=("elements",), paired=_KERNELS, finish=_finish, passed=r"^ ?Solution Validates",
    failed=r"^ ?Failed Validation",
)  # fmt: skip
