"""GPU power sampled by ``nvidia-smi dmon`` (``-o T``, ``-o DT``) and by ``dcgmi dmon`` (fields 155, 156)."""

import re

from analysis.base.errors import ReadError
from analysis.readers.power.log import MeterLog, MeterReadings
from analysis.readers.power.rows import Rows, reads
from analysis.readers.text import BLANK, is_number
from analysis.readers.text import number as to_number

# Their short names: of nvidia-smi, and DCGM's of field 155; 156 is a counter in mJ.
_POWER, _ENERGY = ("pwr", "POWER"), ("TOTEC",)
_HEAD = re.compile(r"#\s*(?:(?:Date\s+)?(?:Time\s+)?gpu(?:Idx)?|Entity)\s")
_STEP = 1.0  # s, what both take if they are not asked for another


def sniff(head: bytes, name: str) -> bool:
    """Tell whether a line has the headings of one of the two, with a column of power or energy."""
    begin = head[:16_384]
    lines = begin.decode(errors="replace").split("\n") if b"gpu" in begin or b"Entity" in begin else ()
    return any(_HEAD.match(line) and set(line.split()) & {*_POWER, *_ENERGY} for line in lines)


@reads("nvidia-smi dmon or dcgmi dmon", "GPU board", meter_kind="gpu")
def parse(log: MeterLog) -> MeterReadings:
    """Parse a reading per GPU and line; without ``-o T`` a log has no times: pass start and interval."""
    rows, heads = Rows(log), list[str]()
    for number, line in rows.lines():
        if _HEAD.match(line):
            # "GPU 0" is one entity of two words.
            heads = line.lstrip("#").replace("Entity", "kind Entity").split()
            continue
        cells = line.split()
        if not cells or line.startswith("#") or not heads or cells[0] in ("ID", "Id"):
            continue
        if len(cells) != len(heads):
            found = f"{len(cells)} cells under {len(heads)} headings"
            log.faults.damage(number, found, "the line is not used")
            continue
        row = dict(zip(heads, cells, strict=True))
        column = next((name for name in (*_ENERGY, *_POWER) if name in row), "")
        if not column or row.get("kind", "GPU") not in ("GPU", "CPU"):
            continue
        text = row[column]
        if not is_number(text) and text.lower() not in BLANK:
            log.faults.damage(number, f"{text[:40]!r} is no {column}", "the line is not used")
            continue
        value = to_number(text) * (1e-3 if column in _ENERGY else 1)
        day = re.sub(r"^(\d{4})/?(\d\d)/?(\d\d)$", r"\1-\2-\3", row.get("Date", ""))
        stamp = f"{day} {row.get('Time', '')}".strip() or None
        rows.add(number, row.get("gpu") or row.get("gpuIdx") or row["Entity"], value, stamp=stamp)
    if not heads:
        raise ReadError.at(log.source, 0, "no headings of dmon with power", "log with -s p, or -e 155")
    return rows.readings("line with the power of a GPU", counter=_ENERGY[0] in heads, step=_STEP)
