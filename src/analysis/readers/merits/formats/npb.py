"""NAS Parallel Benchmarks 2.3 to 3.4 (MPI, OpenMP, serial): Mop/s of each kernel that was run."""

from analysis.readers.merits.output import Law, Merit, TextFormat

_FACT = r"^ {} *= +(\S.*?) *$"

FORMAT = TextFormat(
    engine="npb", tool="NAS Parallel Benchmarks", marks=(b" NAS Parallel Benchmarks", b" Mop/s total     ="),
    near=r"NAS Parallel Benchmarks|Mop/s", first_line=r"^ NAS Parallel Benchmarks",
    merits=(
        Merit("Mop/s total", r"^ Mop/s total +=\s+(?P<value>\S.*?) *$", "Mop/s"),
        Merit("Mop/s each", r"^ Mop/s/(?:process|thread) *=\s+(?P<value>\S.*?) *$", "Mop/s"),
        Merit("Time", r"^ Time in seconds +=\s+(?P<value>\S.*?) *$", "s"),
    ),
    figure_of_merit="Mop/s total", unit="Mop/s", time="Time", closing=r"^ Version +=.*\n",
    closed_by="'Version'", opening=r"^ Time in seconds +=", starts=r"^ *\w\w Benchmark Completed",
    passed=r"^ Verification +=\s+SUCCESSFUL", failed=r"^ Verification +=\s+UNSUCCESSFUL",
    facts={
        "version": _FACT.format("Version"),
        "ranks": _FACT.format("(?:Total|Active) processes"),
        "threads": _FACT.format("(?:Total t|T)hreads"),
        "workers": _FACT.format(r"(?:Active processes|Total processes(?!.*\n Active)|(?:Total t|T)hreads)"),
        "benchmark": r"^ *(\w\w) Benchmark Completed",
        "class": _FACT.format("Class"),
        "size": _FACT.format("Size"),
    },
    problem=("benchmark", "class"), laws=(Law(("Mop/s total",), ("Mop/s each", "workers")),),
)  # fmt: skip
