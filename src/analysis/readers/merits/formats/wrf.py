"""WRF 3 and 4, ``rsl.out.0000`` or ``rsl.error.0000`` of wrf.exe: mean time of a step of the outer domain."""

from contextlib import suppress
from datetime import datetime
from itertools import pairwise

from analysis.readers.merits.output import Output, TextFormat
from analysis.readers.text import number

_STEP = r"^ ?Timing for main: time (?P<time>\S+) on domain +(?P<domain>\d+): +(?P<value>\S+) elapsed seconds"
_WRITE = r"^ ?Timing for [Ww]riting .* for domain +\d+: +(?P<value>\S+) elapsed seconds"
_TASKS = r"^ ?Ntasks in X +(?P<x>\d+) *, ntasks in Y +(?P<y>\d+)"
_QUILTING = r"^ ?Quilting with +(?P<groups>\d+) groups of +(?P<tasks>\d+) I/O tasks"
_GRID = r"^ *ids,ide,jds,jde +1 +(?P<x>\d+) +1 +(?P<y>\d+) *$"
_PHYSICS = r"^ *(?P<name>[a-z]\w+_physics): +(?P<schemes>\d[\d ]*)$"
_CLOSING = r"^.*wrf: SUCCESS COMPLETE WRF"


def _finish(output: Output) -> None:
    """Add the mean step of the outer domain without the first, which sets up much, and the sum of all."""
    steps = [(line, match) for line, match in output.find(_STEP) if match["domain"] in ("1", "01")]
    tasks = [int(match["x"]) * int(match["y"]) for _, match in output.find(_TASKS)]
    servers = [int(match["groups"]) * int(match["tasks"]) for _, match in output.find(_QUILTING)]
    output.facts["ranks"] = tasks[0] + sum(servers[:1]) if tasks else ""
    output.facts["grid"] = "+".join(f"{match['x']}x{match['y']}" for _, match in output.find(_GRID))
    schemes = dict.fromkeys(f"{match['name'][:-8]}{match['schemes']}" for _, match in output.find(_PHYSICS))
    output.facts["physics"] = "+".join("".join(one.split()) for one in schemes)
    times = [number(match["value"]) for _, match in steps]
    for (line, match), seconds in zip(steps, times, strict=True):
        if not seconds >= 0:
            output.add("time of a step", match["value"], "s", line)  # which names what it is
    # Steps of a run that stopped are not those of the others.
    if len(times) < 2 or not all(seconds >= 0 for seconds in times) or not output.ends(_CLOSING):
        return
    _simulated(output, [match["time"] for _, match in steps])
    last, decimals = steps[-1][0], len(steps[0][1]["value"].partition(".")[2])
    output.add("mean time of a step", f"{sum(times[1:]) / (len(times) - 1):.{decimals + 1}f}", "s", last)
    output.add("time of all steps", f"{sum(times):.{decimals}f}", "s", last)
    written = [number(match["value"]) for _, match in output.find(_WRITE)]
    output.add("time of writing", f"{sum(written):.{decimals}f}", "s", last)


def _simulated(output: Output, stamps: list[str]) -> None:
    """Add from when to when it was simulated, and in which steps."""
    output.facts["simulated"] = f"{stamps[0]}..{stamps[-1]}"
    with suppress(ValueError):  # with fractions of a second, or damaged
        dates = [datetime.strptime(one, "%Y-%m-%d_%H:%M:%S") for one in stamps]
        each = {(after - before).total_seconds() for before, after in pairwise(dates)}
        output.facts["dt"] = f"{each.pop():g}" if len(each) == 1 else "varies"


FORMAT = TextFormat(
    engine="wrf", tool="WRF", marks=(b"Timing for main: time ",), near=r"\bWRF\b", opening="",
    closing=_CLOSING, closed_by="'SUCCESS COMPLETE WRF'",
    facts={
        "version": r"^ *WRF V(\S+) MODEL",
        "threads": r"^ *WRF NUMBER OF TILES FROM OMP_GET_MAX_THREADS = +(\d+)",
        "nproc_x": r"^ ?Ntasks in X +(\d+)",
        "dx": r"^ *Domain # 1: dx = +(\S+) m",
    },
    figure_of_merit="mean time of a step", unit="s", higher_is_better=False, time="time of all steps",
    problem=("grid", "dx?", "physics?", "dt", "simulated"), settings=("nproc_x",), finish=_finish,
    given="the rsl.out.0000 or rsl.error.0000 of wrf.exe",
)  # fmt: skip
