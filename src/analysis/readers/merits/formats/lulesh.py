"""LULESH 2.0 (explicit hydrodynamics): the rate of its elements, elapsed and grind time.

The program calls its rate z/s; it is a thousand elements (zones) per second, as 1000 / (us/z/c) shows.
"""

from analysis.readers.merits.output import Law, Merit, Output, TextFormat, agree, step
from analysis.readers.text import number

_OVERALL = r"^Grind time .*\( *(\S+) overall\)"


def _finish(output: Output) -> None:
    """Take the digits of the time from the line below it, and compare that line's last number.

    Releases with C++ streams print the elapsed time there; older ones the grind time of all ranks.
    """
    facts = output.facts
    kept = {row.merit: row for row in output.rows}
    overall = output.first(_OVERALL)
    size, cycles, ranks = (number(facts[name]) for name in ("side", "iterations", "ranks"))
    facts["size"] = f"{facts['side']}^3 elements a rank" if facts["side"] else ""
    if not ({"Elapsed time", "Grind time"} <= kept.keys() and overall):
        # Of a file that is cut between the two lines: the digits of its time are not there.
        output.rows[:] = [row for row in output.rows if row.merit != "Elapsed time"]
        return
    grind, elapsed = (kept[name] for name in ("Grind time", "Elapsed time"))
    per_rank = agree((f"{grind.value:.8g}",), (overall,), factor=ranks)
    exact = agree((overall,), (f"{grind.value:.8g}",), factor=1e-6 * cycles * size**3)
    found = f"{overall} overall is neither the elapsed time nor the grind time of all ranks"
    output.verify(elapsed.line, exact or per_rank, found)
    if exact:
        digits = elapsed._replace(value=number(overall), resolution=step(overall))
        output.rows[output.rows.index(elapsed)] = digits


FORMAT = TextFormat(
    engine="lulesh", tool="LULESH",
    # With -q it prints no banner.
    marks=(
        (b"Running problem size ", b"To run other sizes, use -s <integer>."),
        (b"Final Origin Energy", b"Grind time (us/z/c)"),
    ),
    near="(?i)lulesh",
    first_line=r"^Running problem size \d+\^3 per domain",
    merits=(
        Merit("FOM", r"^FOM += +(?P<value>\S+) \(z/s\)"),
        Merit("Elapsed time", r"^Elapsed time += +(?P<value>\S+) \(s\)", "s"),
        Merit("Grind time", r"^Grind time \(us/z/c\) += +(?P<value>\S+) \(per dom\)", "us/element/cycle"),
    ),
    figure_of_merit="FOM", unit="kz/s", time="Elapsed time",
    closing=r"^FOM +=.*\n", closed_by="'FOM'",
    facts={
        "ranks": r"^ +MPI tasks += +(\d+)",
        "threads": r"^Num threads: (\d+)",
        "side": r"^ +Problem size += +(\d+)",
        "iterations": r"^ +Iteration count += +(\d+)",
        "elements": r"^Total number of elements: (\d+)",
        "processors": r"^Num processors: (\d+)",
    },
    laws=(
        Law(("FOM", "Grind time"), ("ranks",), factor=1000),
        Law(("Grind time", "iterations", "side", "side", "side"), ("Elapsed time",), factor=1e6),
        Law(("side", "side", "side", "ranks"), ("elements",)),
        Law(("processors",), ("ranks",)),
    ),
    problem=("side", "iterations"), finish=_finish,
)  # fmt: skip
