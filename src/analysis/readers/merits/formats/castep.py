"""CASTEP: the ``.castep`` file of a calculation; total time, its parts, final energy."""

from analysis.readers.merits.output import Law, Merit, TextFormat

_TIMES = ("Initialisation", "Calculation", "Finalisation", "Total")

FORMAT = TextFormat(
    engine="castep", tool="CASTEP", marks=((b"CASTEP version", b"Ab Initio Total Energy Program"),),
    near="(?i)castep", first_line=r"^ \|.*CASTEP version",  # to a file that is there it appends
    merits=(
        *(Merit(f"{name} time", rf"^{name} time +=\s+(?P<value>\S+) s", "s") for name in _TIMES),
        Merit("Final energy", r"^Final energy(?:, E| \(E\))? +=\s+(?P<value>\S+) +eV", "eV"),
        Merit("Peak Memory Use", r"^Peak Memory Use +=\s+(?P<value>\S+) kB", "kB"),
    ),
    figure_of_merit="Total time", unit="s", higher_is_better=False, time="Total time",
    closing=r"^Total time +=.*\n", closed_by="'Total time'", starts=r"^ \|.*CASTEP version",
    facts={
        "version": r"CASTEP version (\d+(?:\.\w+)*)",
        "ranks": r"^ ?Calculation parallelised over +(\d+) processes",
        "threads": r"^ ?Each process (?:may (?:be using|use up to)|using|(?:may be )?parallelised over)"
        r" +(\d+) threads",
        "ions": r"^ +Total number of ions in cell = +(\d+)",
        "cutoff": r"^ +plane wave basis set cut-off +: +(\S+)",
        "electrons": r"^ +number of +electrons +: +(\S+)",
        "kpoints": r"^ +Number of kpoints used = +(\d+)",
        "task": r"^ +type of calculation +: +(\S.*?) *$",
        "distribution": r"^ ?Data is distributed by (\S.*)$",
    },
    settings=("distribution",),
    problem=("task", "ions", "electrons", "cutoff", "kpoints"),
    laws=(Law(("Total time",), tuple(f"{name} time" for name in _TIMES[:3]), add=True),),
)  # fmt: skip
