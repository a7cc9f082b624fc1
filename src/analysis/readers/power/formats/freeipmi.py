"""FreeIPMI: blocks of ``ipmi-dcmi --get-system-power-statistics``, and sensors of ``ipmi-sensors``."""

import math

from analysis.base import units
from analysis.readers.power import blocks, csv
from analysis.readers.power.headings import Headings, split
from analysis.readers.power.log import MeterLog, MeterReadings
from analysis.readers.power.rows import Rows, reads
from analysis.readers.text import quantity

LABELS = blocks.Labels("Current Power", "Time Stamp", "Power Measurement", "active")
SENSORS = Headings(power=r"^reading$", energy="", meter=r"^name$|^node|^host", unit=r"^units?$")


def sniff(head: bytes, name: str) -> bool:
    """Tell whether these are FreeIPMI's power statistics or comma-separated sensors."""
    blocks_of_dcmi = b"Current Power" in head and b"Power Measurement" in head
    return blocks_of_dcmi or (b"Reading,Units" in head and b"Name" in head)


@reads("FreeIPMI", "node input, by the BMC")
def parse(log: MeterLog) -> MeterReadings:
    """Parse FreeIPMI's output; of sensors only those in W count, a meter each."""
    if b"Current Power" in log.data:
        return blocks.read(log, LABELS, order="mdy")
    if b"ID,Name" in log.data and not _timed(log.data):
        return _snapshots(log)
    return csv.read(log, SENSORS, short=False)


def _timed(data: bytes) -> bool:
    heading = next((line for line in data.splitlines() if b"Reading,Units" in line), b"")
    return b"time" in heading.lower() or b"date" in heading.lower()


def _snapshots(log: MeterLog) -> MeterReadings:
    """Read outputs without a time column, each after a line with the logger's stamp."""
    rows = Rows(log, order="mdy")
    for number, line in rows.lines():
        cells = split(line, ",")
        if len(cells) < 5 or math.isnan(units.watts(cells[4])):
            continue  # another sensor, or the headings
        rows.add(number, cells[1], quantity(cells[3])[0] * units.watts(cells[4]))
    return rows.readings("sensor in W")
