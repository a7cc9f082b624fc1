"""CP2K 2.6 to 2026: standard output; time of the whole, energy."""

from datetime import datetime

from analysis.readers.merits.output import Merit, Output, TextFormat

_CLOCK = r"\*\*  PROGRAM {} AT +(?P<time>\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+)"
_TIMING = r"^ CP2K +1 +1\.0 +(?P<self>\S+) +(?P<most>\S+) +(?P<mean>\S+) +(?P<value>\S+)$"


def _finish(output: Output) -> None:
    """Compare the time of the timing report with the clock times of the beginning and the end."""
    begins, ends = (list(output.find(_CLOCK.format(word))) for word in ("STARTED", "ENDED"))
    loose = sum(1 for _ in output.find(r"SCF run NOT converged"))
    if loose:
        output.faults.note(0, f"{loose} runs of SCF did not converge", "times count, energies may not")
    whole = [row for row in output.rows if row.merit == "CP2K"]
    if len(begins) == len(ends) == len(whole) == 1:
        begin, end = (at[0][1]["time"] for at in (begins, ends))
        try:
            passed = (datetime.fromisoformat(end) - datetime.fromisoformat(begin)).total_seconds()
        except ValueError:
            output.verify(ends[0][0], False, f"{begin} or {end} is no time")
            return
        took = whole[0].value
        found = f"{took} s in CP2K, {passed:.3f} s between its beginning and its end"
        output.verify(whole[0].line, -1 < passed - took < 60 + 0.1 * passed, found)


FORMAT = TextFormat(
    engine="cp2k", tool="CP2K", marks=(b"CP2K| version string:",), near="(?i)cp2k",
    first_line=r"^ .*\*\*  PROGRAM STARTED AT", opening=r"^ CP2K\| version string:",
    merits=(
        Merit("CP2K", _TIMING, "s"),
        Merit("Total energy", r"^ ENERGY\| Total FORCE_EVAL \( QS \) energy \S+ +(?P<value>\S+)$", "Hartree"),
    ),
    figure_of_merit="CP2K", unit="s", higher_is_better=False, time="CP2K",
    closing=r"^ .*\*\*  PROGRAM ENDED AT", closed_by="'PROGRAM ENDED'",
    facts={
        "version": r"^ CP2K\| version string: +CP2K version (\S+)",
        "ranks": r"^ GLOBAL\| Total number of message passing processes +(\d+)",
        "threads": r"^ GLOBAL\| Number of threads for this process +(\d+)",
        "task": r"^ GLOBAL\| Run type +(\S+)",
        "project": r"^ GLOBAL\| Project name +(\S+)",
        "atoms": r"^ +- Atoms: +(\d+)",
        "functions": r"^ +- Spherical basis functions: +(\d+)",
        "electrons": r"^ Number of electrons: +(\d+)",
        "visible_gpus_per_node": r"^ (?:DBCSR\| )?ACC: Number of devices/node +(\d+)",
        "diagonalization": r"^ GLOBAL\| Preferred diagonalization lib\S* +(\S+)",
        "fft": r"^ GLOBAL\| Preferred FFT library +(\S+)",
    },
    settings=("diagonalization", "fft", "visible_gpus_per_node"),
    problem=("task", "project", "atoms", "functions", "electrons"), finish=_finish,
)  # fmt: skip
