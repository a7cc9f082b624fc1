"""STREAM (McCalpin's C and Fortran programs): the best rate of Copy, Scale, Add and Triad."""

from __future__ import annotations

from analysis.readers.merits.output import Format, Merit, Output, agree
from analysis.readers.text import number

_KERNELS = ("Copy", "Scale", "Add", "Triad")
_ARRAYS = {"Copy": 2, "Scale": 2, "Add": 3, "Triad": 3}  # that a kernel reads and writes
_ROW = rf"^(?P<kernel>{'|'.join(_KERNELS)}): +(?P<rate>\S+) +(?P<mean>\S+) +(?P<least>\S+) +(?P<most>\S+) *$"
_STEP = 2e-6  # s, of printed times
_BANNER = r"^STREAM [Vv]ersion \$Revision"


def _hold(output: Output) -> None:
    """Hold each rate against its least time: a kernel moves as much per array as Copy did."""
    first: tuple[str, str, int] | None = None
    for line, row in output.find(_ROW):
        kernel, rate, least = row["kernel"], row["rate"], row["least"]
        mean, most = number(row["mean"]), number(row["most"])
        found = f"{kernel}: {least} to {most:g} s, {mean:g} s in the mean"
        output.hold(line, not (number(least) > mean + _STEP or mean > most + _STEP), found)
        if kernel == "Copy" or first is None:
            first = (rate, least, _ARRAYS[kernel])
        else:
            factor = _ARRAYS[kernel] / first[2]
            found = (
                f"{kernel}: {rate} MB/s in {least} s is not {factor:g} times {first[0]} MB/s in {first[1]} s"
            )
            output.hold(line, agree((rate, least), first[:2], factor=factor, slack=1e-3), found)


FORMAT = Format(
    engine="stream",
    tool="STREAM",
    marks=(b"STREAM version $Revision", b"STREAM Version $Revision"),
    merits=tuple(
        Merit(kernel, rf"^{kernel}: +(?P<value>\S+)(?: +\S+){{3}} *$", "MB/s") for kernel in _KERNELS
    ),
    main="Triad",
    closing=r"^ ?(?:Solution Validates|Failed Validation)",
    closed_by="that says whether the solution validates",
    opening=_BANNER,
    facts={
        "version": r"^STREAM [Vv]ersion \$Revision: +(\S+)",
        "threads": r"^Number of Threads (?:counted|requested) = +(\d+)",
        "ranks": r"^ ?Total Aggregate.*over (\d+) MPI ranks",
        "size": r"^(?:Total Aggregate )?(Array size = +\d+)",
    },
    starts=_BANNER,
    together=_KERNELS,
    hold=_hold,
    passed=r"^ ?Solution Validates",
    failed=r"^ ?Failed Validation",
)
sniff, parse = FORMAT.sniff, FORMAT.parse
