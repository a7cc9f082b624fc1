"""``perf stat`` of whole runs (no ``-I``) with power/energy-* events: CSV, JSON or the table."""

import math
import re
from collections.abc import Iterator

from analysis.base.units import SECOND
from analysis.readers.format import Format
from analysis.readers.power.formats.perf import EVENT, JSON, PART, STARTED, VALUE, begin, meter
from analysis.readers.power.log import MeterLog, MeterReadings
from analysis.readers.power.rows import reads, spans
from analysis.readers.text import plain

FORMAT = Format(
    engine="perf_stat", kind="power", marks=(b"Joules power/energy-",),
    near="Performance counter stats|power/energy",
)  # fmt: skip
# In CSV the time counted, in ns, comes last.
_TOTAL = re.compile(rf"^\s*+{PART}\s*+{VALUE}Joules[,;|\s]++{EVENT}(?:[,;|](?P<nanoseconds>\d+)[,;|])?")
_INTERVAL = re.compile(r"^\s*\d+[.,]\d{9}[,;|\s]|^\{\"interval\"")
_ELAPSED = re.compile(r"^\s*(?P<value>\d[\d.,]*)(?: \+- \S+)? +seconds time elapsed")
_RUNS = re.compile(r"^ *Performance counter stats for .*\((?P<runs>\d+) runs\)")
_Energies = dict[str, tuple[float, float, int]]  # meter -> J, s that it counted, line


def sniff(head: bytes, name: str) -> bool:
    """Tell whether these are perf's energies of a whole run: no row of them begins with a time."""
    lines = head.decode(errors="replace").splitlines() if b"power/energy-" in head else []
    rows = [line for line in lines if "power/energy-" in line]
    return any(_TOTAL.match(row) or JSON.match(row) for row in rows) and not any(map(_INTERVAL.match, rows))


@reads("perf stat", "CPU package, by RAPL")
def parse(log: MeterLog) -> MeterReadings:
    """Parse energies of runs, a meter per event and socket.

    Without ``# started on`` (perf writes it with ``-o``) or the option ``start``, times count from 1970. Of
    several results in a file (``--append``) each needs its own.
    """
    starts, timed = list[str](), list[list[tuple[str, float, float]]]()
    for started, elapsed, rows in _results(log):
        known = [(name, one[0], elapsed if elapsed > 0 else one[1]) for name, one in rows.items()]
        for name in (name for name, _, seconds in known if not seconds > 0):
            why = "not used; the file may be cut"
            log.faults.damage(rows[name][2], "an energy without the time elapsed", why)
        if whole := [one for one in known if one[2] > 0]:
            starts.append(started)
            timed.append(whole)
    if not timed:
        raise log.empty("power/energy event with a time")
    zeros = zip(begin(log, starts), timed, strict=True)
    return spans(log, [(name, at, at + round(s * SECOND), j) for at, whole in zeros for name, j, s in whole])


def _results(log: MeterLog) -> Iterator[tuple[str, float, _Energies]]:
    """Give the results of a file: their start as perf writes it, the s that they took, their energies.

    One begins with its start, or with an event behind a time or that the result has already.
    """
    started, elapsed, rows = "", math.nan, _Energies()
    for number, line in enumerate(log.lines(), 1):
        row = (_TOTAL.match(line) or JSON.match(line)) if not _INTERVAL.match(line) else None
        head, took, runs = (one.match(line) for one in (STARTED, _ELAPSED, _RUNS))
        if runs:
            what = f"the mean of {runs['runs']} runs"
            log.faults.note(number, what, "it is the energy of one of them; log each run by itself")
        if head or (row and (elapsed > 0 or meter(row) in rows)):
            yield started, elapsed, rows
            started, elapsed, rows = head[1] if head else "", math.nan, {}
        elapsed = plain(took["value"], decimal_comma=True) if took else elapsed
        joules = plain(row["value"], decimal_comma=True) if row else math.nan
        if row and not math.isnan(joules):
            rows[meter(row)] = joules, float(row["nanoseconds"] or "nan") / SECOND, number
        elif row and row["cpus"] != "0":  # perf lists cores of which no CPU reads the package's counter
            log.faults.damage(number, f"{row['event']} was not counted", "not used; run perf as root")
    yield started, elapsed, rows
