"""``ipmitool dcmi power reading``, repeated, with the logger's or the controller's time stamps."""

from analysis.readers.power import blocks
from analysis.readers.power.log import MeterLog, MeterReadings
from analysis.readers.power.rows import reads

LABELS = blocks.Labels("Instantaneous power reading", "IPMI timestamp", "Power reading state is", "activated")


def sniff(head: bytes, name: str) -> bool:
    """Tell whether these are blocks of ``dcmi power reading``."""
    return b"Instantaneous power reading" in head


@reads("ipmitool dcmi", "node input, by the BMC")
def parse(log: MeterLog) -> MeterReadings:
    """Parse a log of ``ipmitool dcmi power reading``; a prefix ``node01:`` names the meter."""
    return blocks.read(log, LABELS, order="mdy")
