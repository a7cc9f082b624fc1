"""turbostat: ``PkgWatt``, ``RAMWatt`` … of the summary rows."""

import math
import re

from analysis.readers.power.log import MeterLog, MeterReadings
from analysis.readers.power.rows import ends, intervals, reads
from analysis.readers.text import plain

METERS = {"Pkg": "package", "Cor": "cores", "GFX": "graphics", "RAM": "memory", "Sys": "system"}
_DEFAULT_INTERVAL = 5.0  # turbostat's own, s
_LAST = 9e9  # s since 1970; what is beyond does not fit 64 bits of ns
# Columns are apart by blanks or touch; with commas it is somebody's table, not turbostat's.
_HEADING = re.compile(r"^[^,;|]*(?:Pkg|Cor|RAM|GFX|Sys)(?:Watt|_J)(?![a-z])[^,;|]*$")
_Block = list[tuple[float, dict[str, float]]]


def sniff(head: bytes, name: str) -> bool:
    """Tell whether the text has turbostat's columns of watts or joules."""
    lines = head.decode(errors="replace").splitlines() if b"Watt" in head or b"_J" in head else []
    return any(_HEADING.match(line) for line in lines)


@reads("turbostat", "CPU package, by RAPL")
def parse(log: MeterLog) -> MeterReadings:
    """Parse the system's summary rows: means per interval of package, cores, graphics, memory, system.

    The options ``start`` and ``interval`` replace a missing ``Time_Of_Day_Seconds``.
    """
    blocks: list[_Block] = []
    rows: _Block = []
    header: list[str] = []
    key, took = -1, math.nan
    for number, line in enumerate(log.lines(), 1):
        if ("Watt" in line or "_J" in line) and _HEADING.match(line):
            # Two wide headings may touch: GFXWattRAMWatt.
            header = re.sub(r"(Watt|_J)(?=[A-Z])", r"\1 ", line).split()
            key = next((header.index(c) for c in ("CPU", "Core", "Die", "Package") if c in header), -1)
            blocks.append([])
        elif line.endswith(" sec") and plain(line[:-4]) > 0:
            took = plain(line[:-4])  # how long a program ran under turbostat
        elif header and line.strip():
            cells = line.split("\t") if "\t\t" in line or line.endswith("\t") else line.split()
            if key < 0 or (len(cells) > key and cells[key] == "-"):
                (blocks[-1] if key < 0 else rows).extend(_row(log, header, cells, number))
    rows = sorted([*rows, *(r for one in blocks for r in _summaries(one, blocks))], key=lambda r: r[0])
    if not rows:
        raise log.empty("summary row with watts")
    begin, times = ends(log, [s for s, _ in rows], took if len(rows) == 1 else math.nan, _DEFAULT_INTERVAL)
    means = [
        (int(end), METERS.get(name[:3], name), powers.get(name, math.nan), name.endswith("_J"))
        for name in dict.fromkeys(name for _, powers in rows for name in powers)
        for end, (_, powers) in zip(times, rows, strict=True)
    ]
    return intervals(begin, means)


def _row(log: MeterLog, header: list[str], cells: list[str], number: int) -> _Block:
    """Read time and powers of a row; nothing if it has no time."""
    # Headings and values touch left of the watts too: count from the right.
    at = {name: cells[i - len(header)] for i, name in enumerate(header) if len(header) - i <= len(cells)}
    powers = {name: plain(text) for name, text in at.items() if re.search(r"(Watt|_J)$", name)}
    timed = "Time_Of_Day_Seconds" in header
    stamp = plain(at.get("Time_Of_Day_Seconds", "")) if timed else math.nan
    if timed and not 0 < stamp < _LAST:
        log.faults.damage(number, "no time in a row of watts", "the row is not used")
        return []
    return [(stamp, powers)]


def _summaries(block: _Block, blocks: list[_Block]) -> _Block:
    """Leave out the rows of CPUs where no column tells them from the summary, which is the first."""
    blank = any(all(math.isnan(v) for v in powers.values()) for _, powers in block[1:])
    earlier = any(stamp < block[0][0] for stamp, _ in block[1:])
    alike = len(blocks) > 1 and {len(one) for one in blocks} == {len(block)}
    once = not any(abs(stamp - block[0][0]) > 1.0 for stamp, _ in block)  # s, for a round of all CPUs
    return block[:1] if once and (blank or earlier or alike) else block
