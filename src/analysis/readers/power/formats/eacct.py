"""EAR's ``eacct``: the list of jobs and steps with ``TIME(s)``, ``POWER(W)`` and ``ENERGY(J)``."""

from __future__ import annotations

import re

from analysis.base.units import SECOND
from analysis.readers.power.clock import Clock
from analysis.readers.power.log import PowerLog, Readings
from analysis.readers.power.rows import reads, spans
from analysis.readers.text import number as to_number

_HEAD = re.compile(r"\s*JOB-STEP\s+USER\s+APPLICATION\b.*\bTIME\(s\)\s+POWER\(W\).*\bENERGY\(J\)")
# Nodes, frequencies, TIME(s), POWER(W), GBS, CPI, ENERGY(J); an application's name may have blanks.
_STEP = re.compile(
    r"\s*(?P<job>\d+)-(?P<step>\w+) .*? \d++ ++[^\s/]++/\S++ ++(?P<seconds>\d++\.\d++) ++\d++\.\d++"
    r" ++\S++ ++\S++ ++(?P<energy>\d++) "
)
_BATCH = "sb"


def sniff(head: bytes, name: str) -> bool:
    """Tell whether these are the headings of eacct's list."""
    return b"JOB-STEP" in head and any(map(_HEAD.match, head.decode(errors="replace").splitlines()))


@reads("EAR eacct", "node, DC side of the power supplies")
def parse(log: PowerLog) -> Readings:
    """Parse energies over the time of steps, a meter for each; a job's batch step holds the job's others.

    The list has no dates: the option ``start`` places all of its steps.
    """
    lines = log.lines()
    head = next((at for at, line in enumerate(lines) if _HEAD.match(line)), len(lines))
    steps: list[tuple[str, str, float, float]] = []
    for number, line in enumerate(lines[head + 1 :], head + 2):
        row = _STEP.match(f"{line} ")
        if row and to_number(row["seconds"]) > 0:
            steps.append((row["job"], row["step"], to_number(row["seconds"]), to_number(row["energy"])))
        elif line.strip():
            log.faults.damage(number, "no step with a time and an energy", "the row is not used")
    batch = {job for job, step, *_ in steps if step == _BATCH}
    whole = [one for one in steps if one[1] == _BATCH or one[0] not in batch]
    if not whole:
        raise log.empty("step with a time and an energy")
    if len(whole) < len(steps):
        log.faults.note(head + 1, f"{len(steps) - len(whole)} steps within batch steps", "not added to them")
    begin = Clock(log).start()
    return spans([(f"{j}-{s}", begin, begin + round(took * SECOND), joules) for j, s, took, joules in whole])
