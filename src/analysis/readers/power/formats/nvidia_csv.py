"""nvidia-smi without headings: rows of ``--query-gpu=timestamp,…,power.draw --format=csv,noheader``."""

import re

from analysis.base.errors import ReadError
from analysis.readers.power.formats.nvidia_smi import bursts
from analysis.readers.power.log import MeterLog, MeterReadings
from analysis.readers.power.rows import Rows, reads
from analysis.readers.text import integer, quantity

# Its own form of a time, and a cell in W: without units (nounits) the power cannot be told.
_ROW = re.compile(r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{3}, (?:.*, )?\d+\.\d+ W(?:,|\s*$)")
_POWER = re.compile(r"\d+(?:\.\d+)? W|\[?(?:N/A|Not Supported|Unknown Error)\]?")
_NAME = re.compile(r"GPU-[\w-]+|[0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:\S+")
_MOST_GPUS = 64


def sniff(head: bytes, name: str) -> bool:
    """Tell whether rows begin with nvidia-smi's time and have a power in W, without headings above."""
    if b" W" not in head[:4096]:
        return False
    lines = head[:4096].decode(errors="replace").split("\n")
    return any(map(_ROW.match, lines)) and "timestamp" not in lines[0]


@reads("nvidia-smi", "GPU board", meter_kind="gpu")
def parse(log: MeterLog) -> MeterReadings:
    """Parse readings per GPU, identified by uuid, bus id or index; the first cell in W is the draw."""
    table = [(number, line.split(", ")) for number, line in enumerate(log.lines(), 1) if line.strip()]
    width = len(table[0][1]) if table else 0
    for number, cells in table:
        if len(cells) != width:
            log.faults.damage(number, f"{len(cells)} of {width} columns", "the row is not used")
    whole = [(number, [cell.strip() for cell in cells]) for number, cells in table if len(cells) == width]
    columns = list(zip(*(cells for _, cells in whole), strict=True))
    powers = [at for at in range(1, width) if any(cell.endswith(" W") for cell in columns[at])]
    if not powers:
        raise log.empty("row with a time and a power in W")
    if len(powers) > 1:
        found = f"{len(powers)} columns in W without headings"
        log.faults.note(1, found, "the first is taken as power.draw; log without noheader")
    meter = next((at for at in range(1, width) if _NAME.fullmatch(columns[at][0])), 0) or _index(columns)
    rows = Rows(log)
    for number, cells in whole:
        if not _POWER.fullmatch(cells[powers[0]]):
            log.faults.damage(number, f"{cells[powers[0]][:40]!r} is no power", "the row is not used")
            continue
        name = cells[meter] if meter else log.options.meter or "gpu"
        rows.add(number, name, quantity(cells[powers[0]])[0], stamp=cells[0])
    readings = rows.readings("row with a time and a power in W")
    if len(readings.names) == 1 and bursts(readings.time):
        found = "rows of several GPUs with nothing that identifies the GPU"
        raise ReadError.at(log.source, 1, found, "log with index in --query-gpu")
    return readings


def _index(columns: list[tuple[str, ...]]) -> int:
    """Find the column of indices, which count up from 0 again and again; 0 if there is none."""
    for at in range(1, len(columns)):
        found = [integer(cell) for cell in columns[at]]
        most = max(found)
        if min(found) == 0 and most < _MOST_GPUS and found == [i % (most + 1) for i in range(len(found))]:
            return at
    return 0
