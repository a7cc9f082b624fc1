"""NWChem: standard output; wall-clock time of all tasks together and of each."""

from analysis.readers.merits.output import Merit, TextFormat

FORMAT = TextFormat(
    engine="nwchem", tool="NWChem", marks=(b"Northwest Computational Chemistry Package",),
    near="(?i)nwchem",
    merits=(
        Merit("Total wall", r"^ *Total times +cpu: +\S+ +wall: +(?P<value>[\d.]+)s", "s"),
        Merit("Total cpu", r"^ *Total times +cpu: +(?P<value>[\d.]+)s", "s"),
        Merit("Task wall", r"^ *Task +times +cpu: +\S+ +wall: +(?P<value>[\d.]+)s", "s"),
        Merit("Total energy", r"^ *Total \w+ energy = +(?P<value>\S+)", "Hartree"),
    ),
    figure_of_merit="Total wall", unit="s", higher_is_better=False, closing=r"^ *Total times +cpu: .*\n",
    closed_by="'Total times'", opening=r"^ *Northwest Computational Chemistry Package",
    facts={
        "version": r"Northwest Computational Chemistry Package \(NWChem\) (\S+)",
        "ranks": r"^ *nproc +=? +(\d+)",
    },
    time="Total wall",
)  # fmt: skip
