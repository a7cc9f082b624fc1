"""VASP 4.6 to 6.4: the OUTCAR of a run; elapsed time, time of each step, energy."""

from analysis.readers.merits.output import Law, Merit, Output, TextFormat


def _finish(output: Output) -> None:
    """Compare the elapsed time with that of the steps, which are parts of it."""
    elapsed = [row for row in output.rows if row.merit == "Elapsed time"]
    steps = sum(row.value for row in output.rows if row.merit == "LOOP+")
    if len(elapsed) == 1:
        found = f"{elapsed[0].value} s elapsed, {steps:.3f} s in steps"
        output.verify(elapsed[0].line, not steps > 1.01 * elapsed[0].value + 1, found)


FORMAT = TextFormat(
    engine="vasp", tool="VASP", marks=((b" vasp.", b" executed on "),), near=r"(?i)\bvasp\b",
    first_line=r"^ vasp\.\d[^\n]*\n executed on ", opening=r"^ executed on ",
    merits=(
        Merit("Elapsed time", r"^ +Elapsed time \(sec\): +(?P<value>\S+)", "s"),
        Merit("Total CPU time", r"^ +Total CPU time used \(sec\): +(?P<value>\S+)", "s"),
        Merit("User time", r"^ +User time \(sec\): +(?P<value>\S+)", "s"),
        Merit("System time", r"^ +System time \(sec\): +(?P<value>\S+)", "s"),
        Merit("LOOP+", r"^ +LOOP\+: +(?:cpu time|VPU time) *\S+: (?:real|CPU) time *(?P<value>\d\S*)", "s"),
        Merit("TOTEN", r"^ +free  energy   TOTEN += +(?P<value>\S+) eV", "eV"),
    ),
    figure_of_merit="Elapsed time", unit="s", higher_is_better=False, time="Elapsed time",
    closing=r"^ +Elapsed time \(sec\): .*\n", closed_by="'Elapsed time (sec)'",
    facts={
        "version": r"^ vasp\.(\S+)",
        "ranks": r"^ running +(?:on +)?(\d+) (?:total cores|mpi-ranks|nodes)",
        "threads": r"^ running +\d+ mpi-ranks, with +(\d+) threads",
        "nodes": r"^ running +\d+ mpi-ranks, with .* on +(\d+) nodes",
        "ions": r" number of ions +NIONS = +(\d+)",
        "electrons": r"^ +NELECT = +(\S+)",
        "cutoff": r"^ +ENCUT += +(\S+) eV",
        "kpoints": r"^ +k-points +NKPTS = +(\d+)",
        "bands": r" number of bands +NBANDS= *(\d+)",
        "KPAR": r"^ distrk: .* cores, +(\d+) groups",
        "NCORE": r"^ distr: +one band on +(?:NCORES?(?:_PER_BAND)?= *)?(\d+) cores",
        "IALGO": r"^ +IALGO += +(\d+)",
    },
    settings=("KPAR", "NCORE", "IALGO"),
    problem=("ions", "electrons", "cutoff", "kpoints", "bands"), finish=_finish,
    laws=(Law(("Total CPU time",), ("User time", "System time"), add=True),), given="the OUTCAR of VASP",
)  # fmt: skip
