"""RAPL energy counters of the powercap tree, sampled: CSV, or lines ``…/intel-rapl:0/energy_uj:123``."""

import re

from analysis.readers.power import csv
from analysis.readers.power.headings import Headings
from analysis.readers.power.log import MeterLog, MeterReadings
from analysis.readers.power.rows import Rows, reads

HEADINGS = Headings(power="", energy=r"energy.*uj|_uj$|energy", unit_default="uJ")
_LINE = re.compile(
    r"^(?P<path>(?=\S*intel-rapl)\S*/)(?P<file>energy_uj|max_energy_range_uj|name)"
    r"(?:\s++[:=,]?|[:=,])\s*+(?P<value>\S+)"
)
_RANGE = re.compile(r"max_energy_range_uj(?:\s++[:=,;]?|[:=,;])\s*+(?P<value>\d+)")
_NO_ZONE = re.compile(r"[^\w:.-]")


def sniff(head: bytes, name: str) -> bool:
    """Tell whether these are samples of powercap's counters."""
    return b"energy_uj" in head


@reads("powercap", "CPU package, by RAPL")
def parse(log: MeterLog) -> MeterReadings:
    """Parse samples of RAPL counters in µJ with their wraps, a meter per zone.

    The range of a counter is read from ``max_energy_range_uj`` where the log has it (a line or a
    comment; once for a zone or for all), else it is the option ``counter_range``.
    """
    if re.search(rb"(?m)^(?=\S*intel-rapl)\S*/energy_uj", log.data):
        return _tree(log)
    readings = csv.read(log, HEADINGS)
    readings.wrap = _ranges(log, readings.names) or readings.wrap
    return readings


def _ranges(log: MeterLog, names: list[str]) -> dict[str, float]:
    """Find ranges in comments: of a zone where one is named, else of all."""
    found: dict[str, float] = {}
    for line in re.findall(rb"(?m)^#.*$", log.data):
        text = line.decode(errors="replace")
        match = _RANGE.search(text)
        if match:
            zone = _NO_ZONE.split(text[: match.start()].rstrip("/,;_ \t"))[-1]
            own = [n for n in names if zone and zone in n] or names
            found |= dict.fromkeys(own, float(match["value"]) * 1e-6)
    return found


def _tree(log: MeterLog) -> MeterReadings:
    """Read ``grep . …/intel-rapl*/energy_uj``, repeated after a line with the time."""
    rows, wrap, names = Rows(log), {}, {}
    for number, line in rows.lines():
        match = _LINE.match(line)
        if match is None:
            continue
        zone = match["path"].rstrip("/").split("/")[-1]
        if match["file"] == "name":
            names[zone] = match["value"]
        elif not match["value"].isdigit():
            log.faults.damage(number, f"counter {match['value'][:20]!r} is no number", "not used")
        elif match["file"] == "energy_uj":
            rows.add(number, zone, float(match["value"]) * 1e-6)
        else:
            wrap[zone] = float(match["value"]) * 1e-6
    readings = rows.readings("counter after a line with its time", counter=True)
    default = log.options.counter_range
    wrap = wrap or (dict.fromkeys(readings.names, default) if default > 0 else {})
    label = {zone: f"{names[zone]} {zone}" if zone in names else zone for zone in readings.names}
    readings.wrap = {label[zone]: value for zone, value in wrap.items() if zone in label}
    readings.names = list(label.values())
    return readings
