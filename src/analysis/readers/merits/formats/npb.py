"""NAS Parallel Benchmarks 2.3 to 3.4 (MPI, OpenMP, serial, multi-zone): Mop/s of each kernel that was run."""

import re

from analysis.readers.merits.output import Law, Merit, Output, TextFormat

_FACT = r"^ {} *= +(\S.*?) *$"
_DONE = r"^ *\w\w(?:-MZ)? Benchmark Completed"
_THREADS = "(?:Total t|T)hreads"
# A hybrid program prints its processes, then all of its threads, by which it divides; an older one has the
# processes that it asked for before those that ran.
_PROCESSES = rf"(?:Active processes|Total processes(?!.*\n (?:Active|{_THREADS})))"
_ALONE = r"^ NAS Parallel Benchmarks \(NPB[\d.]+(?:-MZ)?-(SER|OMP)\)"  # a program without MPI


def _finish(output: Output) -> None:
    """Count the ranks and the threads of a rank, which the program does not print as such."""
    facts, alone = output.facts, output.first(_ALONE)
    if alone and not facts["ranks"]:
        facts |= {"ranks": "1"} | ({"threads": "1"} if alone == "SER" else {})
    elif re.fullmatch(r"0*[1-9]\d*", facts["ranks"]) and facts["threads"].isdecimal():
        each, rest = divmod(int(facts["threads"]), int(facts["ranks"]))
        facts["threads"] = "" if rest else str(each)


FORMAT = TextFormat(
    engine="npb", tool="NAS Parallel Benchmarks", marks=(b" NAS Parallel Benchmarks", b" Mop/s total     ="),
    near=r"NAS Parallel Benchmarks|Mop/s", first_line=r"^ NAS Parallel Benchmarks",
    merits=(
        Merit("Mop/s total", r"^ Mop/s total +=\s+(?P<value>\S.*?) *$", "Mop/s"),
        Merit("Mop/s each", r"^ Mop/s/(?:process|thread) *=\s+(?P<value>\S.*?) *$", "Mop/s"),
        Merit("Time", r"^ Time in seconds +=\s+(?P<value>\S.*?) *$", "s"),
    ),
    figure_of_merit="Mop/s total", unit="Mop/s", time="Time", closing=r"^ Version +=.*\n",
    closed_by="'Version'", opening=r"^ Time in seconds +=", starts=_DONE,
    passed=r"^ Verification +=\s+SUCCESSFUL", failed=r"^ Verification +=\s+UNSUCCESSFUL",
    facts={
        "version": _FACT.format("Version"),
        "ranks": _FACT.format("(?:Total|Active) processes"),
        "threads": _FACT.format(_THREADS),
        "workers": _FACT.format(f"(?:{_PROCESSES}|{_THREADS})"),
        "benchmark": _DONE.replace(r"\w\w(?:-MZ)?", r"(\w\w(?:-MZ)?)"),
        "class": _FACT.format("Class"),
        "size": _FACT.format("Size"),
        "compiler": r"^ +(?:MPI)?(?:F77|FC|CC|UCC) += +(\S.*?) *$",
        "flags": r"^ +(?:F|C)FLAGS += +(\S.*?) *$",
    },
    settings=("compiler", "flags"),
    problem=("benchmark", "class"), laws=(Law(("Mop/s total",), ("Mop/s each", "workers")),), finish=_finish,
)  # fmt: skip
