"""STREAM (McCalpin's C and Fortran programs): the best rate of Copy, Scale, Add and Triad."""

from __future__ import annotations

from analysis.readers.merits.output import Format, Merit

_KERNELS = ("Copy", "Scale", "Add", "Triad")
_BANNER = r"^STREAM [Vv]ersion \$Revision"

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
    passed=r"^ ?Solution Validates",
    failed=r"^ ?Failed Validation",
)
sniff, parse = FORMAT.sniff, FORMAT.parse
