"""EAR's ``eacct``: the list of jobs and steps with ``TIME(s)``, ``POWER(W)`` and ``ENERGY(J)``."""

import re

from analysis.base.units import SECOND
from analysis.readers.power.clock import Stamps
from analysis.readers.power.log import MeterLog, MeterReadings
from analysis.readers.power.rows import reads, spans
from analysis.readers.text import number as to_number

# A row a step, or with -l a row a node of each step. 3.x has ``POWER(Watts)``, 4.x ``POWER(s)`` with -l;
# 5.2 calls the node ``NODE`` and says ``ENERGY(KWh)``.
_HEAD = re.compile(
    r"\s*JOB-STEP\s+(?P<node>NODE(?: ID)?\s+)?USER(?: ID)?\s+APPLICATION\b.*\bTIME\(s\)\s+POWER\(\w+\)"
    r".*\bENERGY\((?P<unit>J|KWh)\)"
)
# Nodes (without -l), frequencies, TIME(s), POWER(W), GBS, CPI, ENERGY; an application's name may have blanks.
_STEP = re.compile(
    r"\s*(?P<job>\d+)-(?P<step>\w+) ++(?P<first>\S++) .*?"
    r"(?: (?P<nodes>\d++) ++[\d.]++(?:/\S++)?| [\d.]++/\S++) ++(?P<seconds>\d++\.\d++)"
    r" ++(?P<power>\d++\.\d++) ++\S++ ++\S++ ++(?P<energy>\d++(?:\.\d++)?+) "
)
_UNITS = {"J": 1.0, "KWh": 3.6e6}
_BATCH = "sb"
_SLACK = 2e-3  # of power times time; EAR has them of its own counters

_Step = tuple[str, str, str, float, float]  # job, step, node or nothing, s, J


def sniff(head: bytes, name: str) -> bool:
    """Tell whether these are the headings of eacct's list."""
    return b"JOB-STEP" in head and any(map(_HEAD.match, head.decode(errors="replace").splitlines()))


@reads("EAR eacct", "node, DC side of the power supplies")
def parse(log: MeterLog) -> MeterReadings:
    """Parse energies over the time of steps, a meter for each; a job's batch step contains the job's others.

    With ``-l`` each node of a step has a meter. The list has no dates: the option ``start`` places all of its
    steps.
    """
    lines = log.lines()
    head = next((at for at, line in enumerate(lines) if _HEAD.match(line)), len(lines))
    title = _HEAD.match(lines[head]) if head < len(lines) else None
    steps: list[_Step] = []
    for number, line in enumerate(lines[head + 1 :], head + 2):
        if title and (step := _step(line, title, number, log)):
            steps.append(step)
        elif line.strip():
            log.faults.damage(number, "no step with a time and an energy", "the row is not used")
    batch = {job for job, step, *_ in steps if step == _BATCH}
    whole = [one for one in steps if one[1] == _BATCH or one[0] not in batch]
    if not whole:
        raise log.empty("step with a time and an energy")
    if len(whole) < len(steps):
        log.faults.note(head + 1, f"{len(steps) - len(whole)} steps within batch steps", "not added to them")
    begin = Stamps(log).start()
    meters = [f"{job}-{step}/{node}".rstrip("/") for job, step, node, *_ in whole]
    times = [(begin, begin + round(took * SECOND), joules) for *_, took, joules in whole]
    return spans(log, [(meter, *time) for meter, time in zip(meters, times, strict=True)])


def _step(line: str, title: re.Match[str], number: int, log: MeterLog) -> _Step | None:
    """Read a row, its energy held against its power and time, whose product over the nodes it is."""
    row = _STEP.match(f"{line} ")
    seconds, unit = to_number(row["seconds"]) if row else 0.0, _UNITS[title["unit"]]
    if row is None or not seconds > 0 or not (title["node"] or row["nodes"]):
        return None
    nodes = 1 if title["node"] else int(row["nodes"])
    energy, power = to_number(row["energy"]) * unit, to_number(row["power"]) * nodes
    if abs(power * seconds - energy) > _SLACK * energy + unit + power * 0.01:
        found = f"{power:g} W for {seconds:g} s, {energy:g} J"
        log.faults.damage(number, found, "a number is damaged: get the list again")
    return row["job"], row["step"], row["first"] if title["node"] else "", seconds, energy
