"""``ipmitool dcmi power reading``, ``sdr`` or ``sensor`` in a loop, with the logger's or the BMC's time."""

import re

from analysis.readers.power import blocks
from analysis.readers.power.log import MeterLog, MeterReadings
from analysis.readers.power.rows import Rows, reads

LABELS = blocks.Labels("Instantaneous power reading", "IPMI timestamp", "Power reading state is", "activated")
# Of `sdr`, `sdr elist` and `sensor`; a logger may write the time before it.
_SENSOR = re.compile(
    r"^(?P<stamp>\d{4}-\d\d-\d\d[T ][\d:.]{5,18}(?:Z|[+-][\d:]+)?|\d{9,10}(?:\.\d+)?)?[ ,;]*"
    r"(?P<name>[A-Za-z][^|\n]*)\|"
    r"(?: *(?:[0-9A-Fa-f]+h|ok|\d+\.\d+) *\|){0,3} *(?P<watts>\d+(?:\.\d+)?) *(?:\| *)?Watts *(?:\||$)",
    re.MULTILINE,
)
_BYTES = re.compile(_SENSOR.pattern.encode(), re.MULTILINE)


def sniff(head: bytes, name: str) -> bool:
    """Tell whether these are blocks of ``dcmi power reading`` or sensors of power, read several times."""
    if b"Instantaneous power reading" in head:
        return True
    names = [match["name"] for match in _BYTES.finditer(head)] if b"Watts" in head else []
    return len(names) > len({*names})


@reads("ipmitool", "node input, by the BMC")
def parse(log: MeterLog) -> MeterReadings:
    """Parse a log of ipmitool; a prefix ``node01:`` names the meter of ``dcmi power reading``."""
    if b"Instantaneous power reading" in log.data:
        return blocks.read(log, LABELS, order="mdy")
    rows = Rows(log)
    for number, line in rows.lines():
        if found := _SENSOR.match(line.rstrip()):
            rows.add(number, found["name"].strip(), float(found["watts"]), stamp=found["stamp"])
    return rows.readings("sensor in Watts", loose=True)
