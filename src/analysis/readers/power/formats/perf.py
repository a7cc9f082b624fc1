"""``perf stat -I`` with power/energy-* events: ``-x,``, ``-x;``, ``-j`` or the table for people."""

import re
from collections.abc import Sequence

from analysis.base.units import SECOND
from analysis.readers.power.clock import Stamps
from analysis.readers.power.log import MeterLog, MeterReadings
from analysis.readers.power.rows import intervals, reads
from analysis.readers.text import plain

# Optionally socket (die, core, node) and its CPUs; a value; an event.
PART = r"(?:(?P<part>(?:[SND]\d|CPU\d)[\w-]*+)[,;|\s]++(?:(?P<cpus>\d++)[,;|\s])?)?+"
VALUE = r"(?P<value><not \w+>|\d++(?:[.,]\d++)*+)[,;|\s]++"
EVENT = r"(?P<event>power/[\w-]++/)"
STARTED = re.compile(r"^# started on (.+)$", re.MULTILINE)
# A German locale with -x, writes 1,001048308,19,63,Joules: the nine digits of the time tell where it ends.
_ROW = re.compile(rf"^\s*(?P<time>\d+[.,]\d{{9}})[,;|\s]\s*+{PART}\s*+{VALUE}(?:Joules[,;|\s]*+)?{EVENT}")
JSON = re.compile(
    r'^\{(?:"interval" : (?P<time>\d+\.\d{9}), )?'
    r'(?:"(?:socket|die|node|cpu|core)" : "(?P<part>[\w-]+)", )?(?:"\w+-number" : (?P<cpus>\d+), )?'
    r'(?>.*?"counter-value" : "(?P<value>[^"]*)").*?"event" : "(?P<event>power/[\w-]+/)"'
    r'(?:, "event-runtime" : (?P<nanoseconds>\d+))?'
)


def sniff(head: bytes, name: str) -> bool:
    """Tell whether these are intervals of perf's energy events."""
    lines = head.decode(errors="replace").splitlines() if b"power/energy-" in head else []
    return any(map(_interval, lines))


@reads("perf stat", "CPU package, by RAPL")
def parse(log: MeterLog) -> MeterReadings:
    """Parse energies per interval, a meter per event and socket.

    Without ``# started on`` (perf writes it with ``-o``) or the option ``start``, times count from 1970.
    """
    rows: list[tuple[int, str, float]] = []
    for number, line in enumerate(log.lines(), 1):
        row = _interval(line)
        if row:
            at = round(float(row["time"].replace(",", ".")) * SECOND)
            rows.append((at, meter(row), plain(row["value"], decimal_comma=True)))
        elif "power/energy" in line and "Joules" in line and not line.startswith("#"):
            log.faults.damage(number, "an energy without a time", "run perf stat with -I")
    if not rows:
        raise log.empty("interval of a power/energy event")
    started = next((found[1] for line in log.lines() if (found := STARTED.match(line))), "")
    (zero,) = begin(log, [started])
    return intervals(zero, [(zero + at, name, joules, True) for at, name, joules in rows])


def _interval(line: str) -> re.Match[str] | None:
    row = _ROW.match(line) or JSON.match(line)
    return row if row and row["time"] else None


def meter(row: re.Match[str]) -> str:
    """Name the meter of a row: its part, if it has one, and its event."""
    return "/".join(part for part in (row["part"], row["event"].split("/")[1]) if part)


def begin(log: MeterLog, started: Sequence[str]) -> list[int]:
    """Return when perf was started each time, ns since 1970, as ``-o`` writes it or by the option ``start``.

    The option goes first for one start. Without both it is 1970.
    """
    clock = Stamps(log)
    dated = all(started) and not (log.options.start and len(started) < 2)
    return clock.utc(started, [0] * len(started)).tolist() if dated else [clock.start()] * len(started)
