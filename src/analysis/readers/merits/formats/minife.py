"""miniFE (Mantevo): the YAML file of a run, with the rate of its conjugate gradients."""

from analysis.readers.merits.output import Law, Merit, TextFormat

_PARTS = ("WAXPY", "DOT", "MATVEC", "Total CG")

FORMAT = TextFormat(
    engine="minife", tool="miniFE", marks=(b"Mini-Application Name: miniFE",), near=r"(?i)\bminife\b",
    merits=tuple(
        Merit(f"{part} {what}", rf"^ +{part} {what}: (?P<value>\S+)", unit)
        for part in _PARTS
        for what, unit in (("Mflops", "Mflop/s"), ("Time", "s"), ("Flops", "flop"))
    ),
    figure_of_merit="Total CG Mflops", unit="Mflop/s", time="Total CG Time",
    closing=r"^Total Program Time: .*\n", closed_by="'Total Program Time'", opening="^Mini-Application Name:",
    facts={
        "version": r"^Mini-Application Version: (\S+)",
        "ranks": r"^  number of processors: (\d+)",
        "threads": r"^  OpenMP Max Threads:: (\d+)",
        **{name: rf"^ +{name}: (\d+)" for name in ("nx", "ny", "nz")},
        "iterations": r"^  Iterations: (\d+)",
        "each": r"^  Time per iteration: (\S+)",
    },
    problem=("nx", "ny", "nz"), given="miniFE's YAML file", first_line="^Mini-Application Name: miniFE",
    laws=(
        *(Law((f"{part} Mflops", f"{part} Time"), (f"{part} Flops",), factor=1e-6) for part in _PARTS),
        Law(("Total CG Time",), ("iterations", "each")),
    ),
)  # fmt: skip
