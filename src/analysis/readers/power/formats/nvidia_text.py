"""nvidia-smi's text in a loop: its table, or ``nvidia-smi -q -d POWER``, with the time that both print."""

import re

from analysis.readers.power.log import MeterLog, MeterReadings
from analysis.readers.power.rows import Rows, reads
from analysis.readers.text import quantity

_TABLE, _LISTS = b"| NVIDIA-SMI ", b"==NVSMI LOG=="
# A job prints either once; what is listed of a GPU begins with its name, unless it is asked for less.
_SINGLE = re.compile(rb"^ +Product Name +:", re.MULTILINE)
_GPU = re.compile(r"\| +(\d+) +\S.*\||GPU ([0-9A-Fa-f]+:\S+)$")
_CELL = re.compile(r"\| *[^\s|]+ +[^\s|]+ +[^\s|]+ +(?P<watts>N/A|[^\s|/]+) */ *[^\s|]+ *\|")
_STAMP = re.compile(r"Timestamp +: +(\S.*)")
_DRAW = re.compile(r" {8}(?P<kind>Average |Instantaneous )?Power Draw +: +(?P<watts>\S+)")
_RANKS = ("Average ", None, "Instantaneous ")  # the later goes before
_SECTIONS = ("Power Readings", "GPU Power Readings")


def sniff(head: bytes, name: str) -> bool:
    """Tell whether the table is there again, or lists of powers are."""
    return head.count(_TABLE) > 1 or (_LISTS in head and b"Power Draw" in head and not _SINGLE.search(head))


@reads("nvidia-smi", "GPU board", meter_kind="gpu")
def parse(log: MeterLog) -> MeterReadings:
    """Parse readings per GPU; ``N/A`` is a blank, and an instant power goes before an average."""
    rows = Rows(log)
    gpu, section, rank, before = "", "", -1, 0
    for number, line in rows.lines():
        if found := _GPU.match(line):
            gpu, rank, before = found[1] or found[2], -1, number
        elif found := _STAMP.match(line):
            rows.stamp, rows.stamp_line = found[1].strip(), number
        elif before == number - 1 and (found := _CELL.match(line)):
            rows.add(number, gpu, quantity(found["watts"])[0])
        elif re.match(r" {4}\S", line):
            section = line.strip()
        elif (found := _DRAW.match(line)) and section in _SECTIONS:
            value, own = quantity(found["watts"])[0], _RANKS.index(found["kind"])
            if rank < 0 or (own > rank and value == value):
                if rank >= 0:
                    rows.drop()
                rows.add(number, gpu, value)
                rank = own
    return rows.readings("power of a GPU", loose=True)
