"""``perf stat`` of a whole run (without ``-I``) with power/energy-* events: ``-x,``, ``-x;`` or the table."""

import math
import re

from analysis.base.units import SECOND
from analysis.readers.format import Format
from analysis.readers.power.formats.perf import EVENT, PART, VALUE, begin, meter
from analysis.readers.power.log import MeterLog, MeterReadings
from analysis.readers.power.rows import reads, spans
from analysis.readers.text import plain

FORMAT = Format(
    engine="perf_stat", kind="power", marks=(b"Joules power/energy-",),
    near="Performance counter stats|power/energy",
)  # fmt: skip
# In CSV the time counted, in ns, comes last.
_TOTAL = re.compile(rf"^\s*+{PART}\s*+{VALUE}Joules[,;|\s]++{EVENT}(?:[,;|](?P<nanoseconds>\d+)[,;|])?")
_INTERVAL = re.compile(r"^\s*\d+[.,]\d{9}[,;|\s]")
_ELAPSED = re.compile(r"^\s*(?P<value>\d[\d.,]*)(?: \+- \S+)? +seconds time elapsed")
_RUNS = re.compile(r"^ *Performance counter stats for .*\((?P<runs>\d+) runs\)")


def sniff(head: bytes, name: str) -> bool:
    """Tell whether these are perf's energies of a whole run: no row of them begins with a time."""
    lines = head.decode(errors="replace").splitlines() if b"power/energy-" in head else []
    rows = [line for line in lines if "power/energy-" in line]
    return any(map(_TOTAL.match, rows)) and not any(map(_INTERVAL.match, rows))


@reads("perf stat", "CPU package, by RAPL")
def parse(log: MeterLog) -> MeterReadings:
    """Parse energies of a run, a meter per event and socket.

    Without ``# started on`` (perf writes it with ``-o``) or the option ``start``, times count from 1970.
    """
    found: list[tuple[str, float, float, int]] = []
    elapsed = math.nan
    for number, line in enumerate(log.lines(), 1):
        row, took, runs = (one.match(line) for one in (_TOTAL, _ELAPSED, _RUNS))
        if runs:
            what = f"the mean of {runs['runs']} runs"
            log.faults.note(number, what, "it is the energy of one of them; log each run by itself")
        elif took:
            elapsed = plain(took["value"], decimal_comma=True)
        elif row and not _INTERVAL.match(line):
            joules = plain(row["value"], decimal_comma=True)
            if math.isnan(joules):
                log.faults.damage(number, f"{row['event']} was not counted", "not used; run perf as root")
                continue
            found.append((meter(row), joules, float(row["nanoseconds"] or "nan") / SECOND, number))
    rows = [(name, joules, elapsed if elapsed > 0 else own, at) for name, joules, own, at in found]
    for number in (at for *_, seconds, at in rows if not seconds > 0):
        log.faults.damage(number, "an energy without the time elapsed", "not used; the file may be cut")
    rows = [one for one in rows if one[2] > 0]
    if not rows:
        raise log.empty("power/energy event with a time")
    zero = begin(log)
    return spans([(name, zero, zero + round(took * SECOND), joules) for name, joules, took, _ in rows])
