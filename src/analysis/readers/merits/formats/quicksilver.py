"""Quicksilver (Monte Carlo transport of LLNL): segments per second of tracking."""

from analysis.readers.merits.output import Merit, Output, TextFormat, agree
from analysis.readers.text import number

_PROBLEM = ("nParticles", "nSteps", "nx", "ny", "nz")
_SETTINGS = ("inputFile", "loadBalance", "xDom", "yDom", "zDom", "nBatches", "boundaryCondition")
_CYCLE = r"^ +\d+(?: +\d+){11} +(?P<segments>\d+) +\d\S*(?: +\d\S*){3}$"


def _finish(output: Output) -> None:
    """Compare each figure of merit with the segments of its cycles and its time of tracking."""
    cycles = [(line, number(cycle["segments"])) for line, cycle in output.find(_CYCLE)]
    before = 0
    for rate in [row for row in output.rows if row.merit == "Figure Of Merit"]:
        segments = sum(count for line, count in cycles if before < line < rate.line)
        for took in output.rows:
            if segments and took.merit == "cycleTracking" and before < took.line < rate.line:
                found = f"{rate.value:g} segments/s, {segments:.0f} of them in {took.value / 1e6:g} s"
                agrees = agree((f"{rate.value:.3e}", f"{took.value:.3e}"), factor=segments * 1e6)
                output.verify(rate.line, agrees, found)
        before = rate.line


FORMAT = TextFormat(
    engine="quicksilver", tool="Quicksilver", marks=(b"Quicksilver Version     :",), near="(?i)quicksilver",
    merits=(
        Merit("Figure Of Merit", r"^Figure Of Merit +(?P<value>\S+) \[Num Segments /", "1/s"),
        Merit("cycleTracking", r"^cycleTracking +\d+ +\S+ +\S+ +(?P<value>\S+)", "us"),
        Merit("main", r"^main +\d+ +\S+ +\S+ +(?P<value>\S+)", "us"),
    ),
    figure_of_merit="Figure Of Merit", unit="1/s", closing=r"^Figure Of Merit .*\n",
    closed_by="'Figure Of Merit'", first_line=r"^Quicksilver Version +:",
    passed="^PASS::", failed="^ ?FAIL::",
    facts={
        "version": r"^Quicksilver Version +: (\S+)",
        "ranks": r"^Number of MPI ranks +: (\d+)",
        "threads": r"^Number of OpenMP Threads: (\d+)",
        **{name: rf"^ +{name}: (\S+)$" for name in (*_PROBLEM, *_SETTINGS)},
        "size": r"^ +inputFile: (\S+)$",
    },
    problem=_PROBLEM, settings=_SETTINGS, finish=_finish,
)  # fmt: skip
