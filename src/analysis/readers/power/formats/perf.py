"""``perf stat -I`` with power/energy-* events: ``-x,``, ``-x;``, ``-j`` or the table for people."""

import re

from analysis.base.units import SECOND
from analysis.readers.power.clock import Stamps
from analysis.readers.power.log import MeterLog, MeterReadings
from analysis.readers.power.rows import intervals, reads
from analysis.readers.text import plain

# Optionally socket (die, core, node) and its CPUs; a value; an event.
PART = r"(?:(?P<part>(?:[SND]\d|CPU\d)[\w-]*+)[,;|\s]++(?:\d++[,;|\s])?)?+"
VALUE = r"(?P<value><not \w+>|\d++(?:[.,]\d++)*+)[,;|\s]++"
EVENT = r"(?P<event>power/[\w-]++/)"
_STARTED = re.compile(r"^# started on (.+)$", re.MULTILINE)
# A German locale with -x, writes 1,001048308,19,63,Joules: the nine digits of the time tell where it ends.
_ROW = re.compile(rf"^\s*(?P<time>\d+[.,]\d{{9}})[,;|\s]\s*+{PART}\s*+{VALUE}(?:Joules[,;|\s]*+)?{EVENT}")
_JSON = re.compile(
    r'^\{"interval" : (?P<time>\d+\.\d{9}), (?:"(?:socket|die|node|cpu|core)" : "(?P<part>[\w-]+)", )?'
    r'(?>.*?"counter-value" : "(?P<value>[^"]*)").*?"event" : "(?P<event>power/[\w-]+/)"'
)


def sniff(head: bytes, name: str) -> bool:
    """Tell whether these are intervals of perf's energy events."""
    lines = head.decode(errors="replace").splitlines() if b"power/energy-" in head else []
    return any(_ROW.match(line) or _JSON.match(line) for line in lines)


@reads("perf stat", "CPU package, by RAPL")
def parse(log: MeterLog) -> MeterReadings:
    """Parse energies per interval, a meter per event and socket.

    Without ``# started on`` (perf writes it with ``-o``) or the option ``start``, times count from 1970.
    """
    rows: list[tuple[int, str, float]] = []
    for number, line in enumerate(log.lines(), 1):
        row = _ROW.match(line) or _JSON.match(line)
        if row:
            at = round(float(row["time"].replace(",", ".")) * SECOND)
            rows.append((at, meter(row), plain(row["value"], decimal_comma=True)))
        elif "power/energy" in line and "Joules" in line and not line.startswith("#"):
            log.faults.damage(number, "an energy without a time", "run perf stat with -I")
    if not rows:
        raise log.empty("interval of a power/energy event")
    zero = begin(log)
    return intervals(zero, [(zero + at, name, joules, True) for at, name, joules in rows])


def meter(row: re.Match[str]) -> str:
    """Name the meter of a row: its part, if it has one, and its event."""
    return "/".join(part for part in (row["part"], row["event"].split("/")[1]) if part)


def begin(log: MeterLog) -> int:
    """Return when perf was started, ns since 1970: by the option ``start`` or as ``-o`` writes it, else 0."""
    clock = Stamps(log)
    started = [found[1] for line in log.lines() if (found := _STARTED.match(line))]
    return int(clock.utc(started[:1], [1])[0]) if started and not log.options.start else clock.start()
