"""Laghos (CEED's Lagrangian hydrodynamics): the rate of its major kernels, and of each."""

import re

from analysis.readers.merits.output import Merit, Output, TextFormat
from analysis.readers.text import number

_RATE = r"^{} rate \((?P<unit>mega\w+ x [\w ]+) / second\): (?P<value>\S+)"
_TIME = r"^{} total time(?: \(seconds\))?: (?P<value>\S+)"
_WHOLE = "Major kernels"
_PARTS = ("CG (H1)", "Forces", "UpdateQuadData")


def _finish(output: Output) -> None:
    """Compare the rate of all kernels with the mean of theirs, weighted with their times."""
    kept = {row.merit: row.value for row in output.rows}
    if not {f"{name} {what}" for name in (*_PARTS, _WHOLE) for what in ("rate", "time")} <= kept.keys():
        return
    work = sum(kept[f"{name} rate"] * kept[f"{name} time"] for name in _PARTS)
    whole = kept[f"{_WHOLE} rate"] * kept[f"{_WHOLE} time"]
    found = f"the rate of the major kernels gives {whole:g} million, those of its parts {work:g}"
    output.verify(output.rows[-1].line, not abs(whole - work) > 1e-5 * work, found)
    rates = [row for row in output.rows if row.merit == f"{_WHOLE} rate"]
    for line, shown in output.find(r"^\|(?: *[\d.]+\|){13} *([\d.]+)\|"):
        for rate in [row for row in rates if row.line < line][-1:]:  # a table stands below its rate
            found = f"FOM {shown[1]} and {rate.value}"
            output.verify(rate.line, not abs(number(shown[1]) - rate.value) > 0.001, found)


FORMAT = TextFormat(
    engine="laghos", tool="Laghos", marks=((b"--order-kinematic ", b"--order-thermo "),), near="(?i)laghos",
    merits=tuple(
        merit
        for name in (*_PARTS, "CG (L2)", _WHOLE)
        for merit in (
            Merit(f"{name} rate", _RATE.format(re.escape(name) + " total" * (name == _WHOLE))),
            Merit(f"{name} time", _TIME.format(re.escape(name)), "s"),
        )
    ),
    figure_of_merit="Major kernels rate", unit="megadofs x time steps", time="Major kernels time",
    closing=r"^Energy +diff: .*\n", closed_by="'Energy diff'", opening=r"^Options used:",
    first_line=r"^Options used:\n(?: +-.*\n){0,40}? +--order-kinematic ",
    facts={
        "ranks": r"^\| +(\d+)\|",
        **{name: rf"^ +--{name} (\S+)$" for name in ("mesh", "problem", "refine-serial", "refine-parallel")},
        "order": r"^ +--order-kinematic (\S+)",
        "dofs": r"^Number of kinematic \(position, velocity\) dofs: (\d+)",
        "assembly": r"^ +--(partial|full)-assembly$",
        "--device": r"^ +--device (\S+)$",
    },
    settings=("assembly", "--device"),
    problem=("problem", "order", "dofs"), finish=_finish,
)  # fmt: skip
