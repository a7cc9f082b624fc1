"""GEOPM report: start time, and per host the totals of the application."""

import math
import re

from analysis.base.units import SECOND
from analysis.readers.power.clock import Stamps
from analysis.readers.power.log import MeterLog, MeterReadings
from analysis.readers.power.rows import reads, spans
from analysis.readers.text import contains
from analysis.readers.text import number as to_number

_HEAD = re.compile(rb"(?m)^#+ geopm ")
_LINE = re.compile(
    r"^(?P<indent>\s*+)(?P<dash>- *+)?+(?P<key>[^:]+?)(?: \((?P<unit>[^()]*)\))?:\s*+(?P<value>.*)$"
)
_TOTALS = "Application Totals"
_SECTIONS = ("Regions", "Epoch Totals", "Unmarked Totals", _TOTALS, "Frequency map", "Policy")


def sniff(head: bytes, name: str) -> bool:
    """Tell whether this is a GEOPM report."""
    return b"GEOPM Version:" in head or contains(head, _HEAD, b" geopm ")


@reads("GEOPM", "CPU package and memory, by RAPL")
def parse(log: MeterLog) -> MeterReadings:
    """Parse the totals of each host: energy counters at the start and end of the application.

    Meters are ``host/package`` and ``host/dram`` (boards and GPUs where reported).
    """
    clock = Stamps(log)
    begin = math.nan
    host, section, hosts_indent = "", "", -1
    seconds: dict[str, float] = {}
    joules: dict[tuple[str, str], float] = {}
    stated: dict[tuple[str, str], float] = {}
    for number, line in enumerate(log.lines(), 1):
        match = _LINE.match(line) if line.strip() else None
        if match is None:
            continue
        key, value = match["key"].strip(), match["value"].strip()
        depth = len(match["indent"]) - hosts_indent
        if key == "Start Time":
            begin = float(clock.utc([value], [number])[0])
        elif key == "Hosts":
            hosts_indent = len(match["indent"])
        elif hosts_indent >= 0 and not value and not match["dash"] and depth in (2, 4):
            section = key
            host = host if key.startswith(_SECTIONS) else key
        elif section == _TOTALS and key == "runtime":
            seconds[host] = to_number(value)
        elif section == _TOTALS and key in ("sync-runtime", "power"):
            stated[host, key] = to_number(value)
        elif section == _TOTALS and key.endswith("-energy") and (match["unit"] or "J") in ("J", "joules"):
            joules[host, key.removesuffix("-energy")] = to_number(value)
    for h in seconds:
        took, watts = (stated.get((h, key), math.nan) for key in ("sync-runtime", "power"))
        energy = joules.get((h, "package"), math.nan)
        if abs(watts * took - energy) > 1e-4 * energy:
            found = f"{h}: {watts:g} W of the package for {took:g} s, {energy:g} J"
            log.faults.damage(0, found, "a number is damaged: get the report again")
    for h in (h for h, length in seconds.items() if not length > 0):
        log.faults.damage(0, f"{h}: no runtime of the application", "the host is left out")
    whole = [(h, part, energy) for (h, part), energy in joules.items() if seconds.get(h, math.nan) > 0]
    if not whole:
        raise log.empty(f"host with {_TOTALS} of runtime and energy")
    start = int(begin) if begin == begin else clock.start()
    return spans(log, [(f"{h}/{part}", start, start + round(seconds[h] * SECOND), e) for h, part, e in whole])
