"""powerstat: rows ``HH:MM:SS … Watts`` between a preamble and its statistics."""

import re

from analysis.readers.power.log import MeterLog, MeterReadings
from analysis.readers.power.rows import Rows, reads
from analysis.readers.text import contains, plain

_SNIFF = re.compile(rb"(?m)^\s*Time\s+User\s+Nice\s+Sys\s+Idle\s+IO\b.*\bWatts")
_HEADER = re.compile(r"^\s*Time\s+User\s+Nice\s+Sys\s+Idle\s+IO\b.*\bWatts")
_ROW = re.compile(r"^\s*\d{1,2}:\d{2}:\d{2}\s")


def sniff(head: bytes, name: str) -> bool:
    """Tell whether the text has powerstat's headings."""
    return contains(head, _SNIFF, b"Watts")


@reads("powerstat", "battery or RAPL, as powerstat chose")
def parse(log: MeterLog) -> MeterReadings:
    """Parse powerstat's samples; its averages and histograms are not readings.

    The rows have a time of day only: the option ``date`` is the day of the first.
    """
    rows = Rows(log)
    column, begun = -1, False
    for number, line in enumerate(log.lines(), 1):
        if _HEADER.match(line):
            column = line.split().index("Watts")  # the first, where domains repeat the heading
        elif begun and line.lstrip().startswith("-----"):
            column = -1  # statistics follow
        elif column >= 0 and _ROW.match(line):
            cells = line.split()
            if len(cells) <= column:
                log.faults.damage(number, f"{len(cells)} columns, watts is number {column + 1}", "not used")
                continue
            if cells[column].endswith("E"):
                log.faults.note(number, "powerstat marks the reading as an estimate", "kept")
            meter, watts = log.options.meter or "node", plain(cells[column].rstrip("E"))
            rows.add(number, meter, watts, stamp=cells[0])
            begun = True
    return rows.readings("sample of powerstat")
