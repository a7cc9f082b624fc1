"""NAMD 2 and 3: standard output; the lines ``Info: Benchmark time`` and the wall clock at the end."""

from collections import defaultdict

from analysis.readers.merits.output import Merit, Output, TextFormat, agree
from analysis.readers.text import number

_LINE = r"^Info: Benchmark time: \d+ CPUs "
_RATES = _LINE + r"(?P<step>\S+) s/step (?P<rate>\S+) (?P<unit>days/ns|ns/day)"
_MEAN = r"^PERFORMANCE: +\d+ +averaging (?P<rate>\S+) ns/day, (?P<step>\S+) sec/step"
_BOUND = r"^Pe \d+ physical rank \d+ binding to \w+ device (?P<gpu>\d+) on (?P<host>[^\s:]+)"
_DAY = 86_400.0


def _finish(output: Output) -> None:
    """Compare both rates of each line with the time step, or where that is not known with each other."""
    bound: dict[str, set[str]] = defaultdict(set)  # of the first two nodes
    for _, match in output.find(_BOUND):
        bound[match["host"]].add(match["gpu"])
    if len(each := {len(gpus) for gpus in bound.values()}) == 1:
        output.facts["gpus_per_node"] = str(each.pop())
    fs = number(output.facts["timestep"])
    first: tuple[str, str] | None = None
    for line, row in output.find(_RATES):
        step, rate, days = row["step"], row["rate"], row["unit"] == "days/ns"
        found = f"{step} s/step and {rate} {row['unit']}"
        if fs > 0:
            own = ((step,), (rate,)) if days else ((step, rate), ())
            agrees = agree(*own, factor=fs * 1e-6 * _DAY, slack=1e-3)
            output.verify(line, agrees, f"{found}, a step of {fs:g} fs")
        elif first:
            both = ((step, first[1]), (rate, first[0])) if days else ((step, rate), first)
            output.verify(line, agree(*both, slack=1e-3), f"{found}, before {first[0]} and {first[1]}")
        first = first or (step, rate)
    for line, row in output.find(_MEAN) if fs > 0 else ():
        found = f"{row['rate']} ns/day and {row['step']} s/step, a step of {fs:g} fs"
        agrees = agree((row["rate"], row["step"]), factor=fs * 1e-6 * _DAY, slack=1e-3)
        output.verify(line, agrees, found)


FORMAT = TextFormat(
    engine="namd", tool="NAMD", marks=(b"Info: NAMD ",), near=r"\bNAMD\b", first_line=r"^Info: NAMD \d",
    merits=(
        Merit("s/step", _LINE + r"(?P<value>\S+) s/step", "s"),
        Merit("days/ns", _LINE + r"\S+ s/step (?P<value>\S+) days/ns", "days/ns"),
        Merit("ns/day", _LINE + r"\S+ s/step (?P<value>\S+) ns/day", "ns/day"),
        Merit("mean ns/day", r"^PERFORMANCE: +\d+ +averaging (?P<value>\S+) ns/day", "ns/day"),
        Merit("WallClock", r"^WallClock: +(?P<value>\S+)", "s"),
    ),
    # NAMD means its lines to be averaged; the last is past the balancing of load.
    figure_of_merit="s/step",
    unit="s", higher_is_better=False, closing=r"^WallClock: .*\n", closed_by="'WallClock:'",
    opening=r"^Info: NAMD ",
    facts={
        "version": r"^Info: NAMD (\S+)",
        "ranks": r"^Info: Running on \d+ processors, (\d+) nodes|^Info: Running on (\d+) processors\.",
        "nodes": r"^Info: Running on \d+ processors, \d+ nodes, (\d+) physical",
        "platform": r"^Info: NAMD \S+ for (\S+)",
        "charm": r"^Info: Based on Charm\+\+/Converse \S+ for (\S+)",
        "size": r"^Info: (\d+ ATOMS)",
        "atoms": r"^Info: (\d+) ATOMS",
        "timestep": r"^Info: TIMESTEP +(\S+)",
    },
    settings=("platform", "charm"),
    time="WallClock", problem=("atoms", "timestep"), finish=_finish,
)  # fmt: skip
