"""EAR (Energy Aware Runtime): CSV of loops (a row per period) or applications (a row per node)."""

import math
import re

from analysis.base.units import SECOND
from analysis.readers.power.headings import split
from analysis.readers.power.log import MeterLog, MeterReadings
from analysis.readers.power.rows import Rows, reads
from analysis.readers.sacct import RESERVED_STEP
from analysis.readers.text import contains, integer, plain, quantity

_POWER = re.compile(r"^(avg[._-])?dc[._-]node[._-]power(_w)?$|^dc[._-]power(_w)?$|^power(_w)?$")
_SNIFF = re.compile(rb"(?m)^[\w.;# -]*;(avg[._])?dc[._-](node[._-])?power")
_LATE = 3.0  # a loop's period varies with the length of its iterations
_BATCH = "4294967291"  # Slurm's code for the batch script, in which the numbered steps run


def sniff(head: bytes, name: str) -> bool:
    """Tell whether a semicolon-separated heading has EAR's node power."""
    return contains(head.lower(), _SNIFF, b"power")


@reads("EAR", "node, DC side of the power supplies")
def parse(log: MeterLog) -> MeterReadings:
    """Parse EAR's CSV, a meter per node: means over each loop period or over the whole application.

    A cell of one space is a blank.
    """
    rows = Rows(log)
    header: list[str] = []
    found: list[tuple[str, dict[str, str], int]] = []
    for number, line in enumerate(log.lines(), 1):
        cells = split(line, ";")
        lower = [re.sub(r"[ .-]", "_", cell.lower()) for cell in cells]
        if any(_POWER.match(cell) for cell in lower):
            header = lower
        elif header and line.strip():
            if len(cells) < len(header) - 1:  # a row may lack its last, empty cell
                log.faults.damage(number, f"{len(cells)} of {len(header)} columns", "the row is not used")
                continue
            cell = dict(zip(header, cells, strict=False))
            found.append((cell.get("stepid", cell.get("step_id", "")), cell, number))
    numbered = [entry for entry in found if not (entry[0].isdecimal() and integer(entry[0]) >= RESERVED_STEP)]
    # The script's energy contains that of its steps; alone it is that of an mpirun in it.
    for _, cell, number in numbered or [entry for entry in found if entry[0] == _BATCH]:
        _add(rows, cell, number)
    readings = rows.readings("row with a node, a time and its DC power", mean=True)
    if "timestamp" in header:
        readings.longest = _LATE
    return readings


def _add(rows: Rows, cell: dict[str, str], number: int) -> None:
    """Add the readings of one row: an application gives its start as well."""
    node = next((cell[key] for key in ("nodename", "node_id", "node") if cell.get(key)), "node")
    value = quantity(next(cell[key] for key in cell if _POWER.match(key)), decimal_comma=True)[0]
    if cell.get("timestamp"):
        rows.add(number, node, value, stamp=cell["timestamp"])
        return
    start, end = (
        next((cell[k] for k in (f"{which}_time", f"job_{which}_time", f"{which}_date") if cell.get(k)), "")
        for which in ("start", "end")
    )
    seconds = plain(cell.get("time_sec", ""), decimal_comma=True)
    if not start and seconds > 0:  # the short list has durations only
        begin = rows.clock.start()
        start, end = (f"{time:019d}" for time in (begin, begin + round(seconds * SECOND)))
    if start and end:
        rows.add(number, node, math.nan, stamp=start)
        rows.add(number, node, value, stamp=end)
