"""SPEC PTDaemon: ``Time,12-23-2020 10:21:51.496,Watts,23.43,Volts,…``."""

import re

from analysis.readers.power.log import MeterLog, MeterReadings
from analysis.readers.power.rows import Rows, reads
from analysis.readers.text import contains, plain

_SNIFF = re.compile(rb"(?m)^Time,[^,]+,Watts,")


def sniff(head: bytes, name: str) -> bool:
    """Tell whether these are PTDaemon's pairs of key and value."""
    return contains(head, _SNIFF, b",Watts,")


@reads("SPEC PTDaemon", "AC input, power analyser")
def parse(log: MeterLog) -> MeterReadings:
    """Parse PTDaemon's log; a negative reading is its sign of an error and left blank."""
    rows = Rows(log, order="mdy")
    for number, line in enumerate(log.lines(), 1):
        # An analyser of several channels has their sum first, then the values of each behind its name.
        cells = line.partition(",Ch1,")[0].split(",")
        pairs = dict(zip(cells[::2], cells[1::2], strict=False))
        if "Time" not in pairs:
            continue
        value = plain(pairs.get("Watts", ""))
        if not value >= 0:
            log.faults.note(number, f"Watts is {pairs.get('Watts')!r}", "the reading is left blank")
            value = float("nan")
        rows.add(number, log.options.meter or "analyser", value, stamp=pairs["Time"])
    return rows.readings("row Time,…,Watts,…")
