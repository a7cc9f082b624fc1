"""Any CSV with time and power: rack PDUs, SNMP polls, home-made loggers; columns found or declared."""

import math

import numpy as np

from analysis.base import units
from analysis.base.errors import ReadError
from analysis.readers.power import csv
from analysis.readers.power.clock import Stamps
from analysis.readers.power.headings import Headings, find, of_heading, split
from analysis.readers.power.log import NAT, MeterLog, MeterReadings
from analysis.readers.power.rows import reads

HEADINGS = Headings(by_cells=True)
_HEAD_LINES = 25


def sniff(head: bytes, name: str) -> bool:
    """Tell whether the file begins with headings of time and power, and has stamps below them.

    Seconds that go back are the lengths of runs, in a table of their energies.
    """
    # After so many newlines there are at least as many lines, whatever else ends one.
    begin = b"\n".join(head.split(b"\n", _HEAD_LINES)[:_HEAD_LINES])
    lines = begin.decode("utf-8-sig", errors="replace").splitlines()[:_HEAD_LINES]
    try:
        layout = find(lines, HEADINGS, None, name)
    except ReadError:
        return False
    clocks = [Stamps(MeterLog(b"", name, {"date_order": order})) for order in ("mdy", "dmy")]
    rows = [split(line, layout.delimiter) for line in lines[layout.header :] if line.strip()]
    if layout.metric and layout.names[layout.unit].lower() == "series":  # Grafana's, of whatever quantity
        series = [row[layout.unit].partition("{")[0] for row in rows if len(row) > layout.unit]
        if all(math.isnan(units.watts(of_heading(name))) for name in series):
            return False
    stamps = [" ".join(row[i] for i in layout.time) for row in rows if len(row) > max(layout.time)]
    seconds = csv.elapsed(layout, stamps) if len(stamps) > 1 else None
    if seconds is not None and (np.diff(seconds) >= 0).all() and seconds[-1] > seconds[0]:
        return True
    return any(clock.utc([stamp], [0], report=False)[0] != NAT for stamp in stamps[:3] for clock in clocks)


@reads("CSV", "")
def parse(log: MeterLog) -> MeterReadings:
    """Parse a CSV of powers, long (a row per meter and time) or wide (a column per meter).

    The option ``columns`` maps the columns where their headings do not say enough (see
    `analysis.readers.power.headings`).
    """
    return csv.read(log, HEADINGS)
