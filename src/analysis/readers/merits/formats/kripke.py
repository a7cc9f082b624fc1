"""Kripke (discrete ordinates transport of LLNL): unknowns per second of an iteration."""

from analysis.readers.merits.output import Law, Merit, TextFormat

_TIMER = r"^  {} +\d+ +(?P<value>\d\S*)$"

FORMAT = TextFormat(
    engine="kripke", tool="Kripke", marks=(b"Kripke is released under", b"Grind time : "), near="(?i)kripke",
    merits=(
        Merit("Throughput", r"^  Throughput: +(?P<value>\S+) +\[unknowns/\(second/iteration\)\]", "1/s"),
        Merit("Grind time", r"^  Grind time : +(?P<value>\S+) +\[\(seconds/iteration\)/unknowns\]", "s"),
        Merit("Sweep efficiency", r"^  Sweep efficiency : +(?P<value>\S+) +\[100\.0 \*", "%"),
        *(Merit(timer, _TIMER.format(timer), "s") for timer in ("Solve", "SweepSolver", "SweepSubdomain")),
    ),
    figure_of_merit="Throughput", unit="1/s", time="Solve", closing=r"^END\n", closed_by="'END'",
    opening=r"^Kripke is released under", first_line=r"^ +_  __ +_ +_ *$",
    facts={
        "version": r"^.*\|_\|.*Version (\S+)$",
        "ranks": r"^ +Total MPI tasks: +(\d+)",
        "unknowns": r"^  Number of unknowns: (\d+)",
        "iterations": r"^  SweepSolver +(\d+) ",
        **{name: rf"^ +{name.capitalize()}: +(\S.*)$" for name in ("zones", "groups")},
        "directions": r"^ +Quadrature Set: .*?(\d+) points",
        "legendre": r"^ +Legendre Order: +(\d+)",
        "--procs": r"^ +Spatial decomp: +(\d+ x \d+ x \d+)",
        "--pmethod": r"^ +Block solve method: +(\S.*)$",
        "--dset": r"^ +DirSets/Directions: +(\d+) sets",
        "--gset": r"^ +GroupSet/Groups: +(\d+) sets",
        "--zset": r"^ +Zone Sets: +(\d\S*(?: x \d+)*)",
        "--arch": r"^ +Per-Task Options:\n(?:.+\n)*? +Architecture: +(\S+)",
        "--layout": r"^ +Data Layout: +(\S+)",
    },
    problem=("zones", "groups", "directions", "legendre"),
    settings=("--procs", "--pmethod", "--dset", "--gset", "--zset", "--arch", "--layout"),
    laws=(
        Law(("Throughput", "Grind time")),
        Law(("Throughput", "Solve"), ("unknowns", "iterations")),
        Law(("Sweep efficiency", "SweepSolver"), ("SweepSubdomain",), factor=100),
    ),
)  # fmt: skip
