"""NWChem: standard output; wall-clock time of all tasks together and of each."""

import re

from analysis.readers.merits.output import Merit, Output, TextFormat

# What it computes, in the order of its titles.
_MODULE = r"^ {9,}NWChem (?!Input )(?P<name>[A-Z].*?)(?: Module)?\s*$"

# Either a method by its name, and what it is made of, or the parts alone.
_FUNCTIONAL = r"^ +XC Information\n +-+\n((?: +\S.*\n)+)"
_COEFFICIENT = re.compile(r" (?:Method|Functional) .*| \d\.\d.*")


def _finish(output: Output) -> None:
    """Name the modules that ran: the same molecule by another method is another problem."""
    names = dict.fromkeys(match["name"] for _, match in output.find(_MODULE))
    output.facts["modules"] = "+".join(names)
    functional = output.first(_FUNCTIONAL).splitlines()
    parts = [_COEFFICIENT.sub("", one).strip() for one in functional]
    output.facts["functional"] = "+".join(parts[:1] if "Method" in "".join(functional[:1]) else parts)


FORMAT = TextFormat(
    engine="nwchem", tool="NWChem", marks=(b"Northwest Computational Chemistry Package",),
    near="(?i)nwchem", first_line=r"^ *Northwest Computational Chemistry Package \(NWChem\) \d",
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
        "atoms": r"^ *No\. of atoms +: +(\d+)|^ *atoms +=? +(\d+)",
        "functions": r"^ *AO basis - number of functions: +(\d+)|^ *functions +=? +(\d+)",
    },
    time="Total wall", problem=("modules", "functional?", "atoms", "functions"), finish=_finish,
)  # fmt: skip
