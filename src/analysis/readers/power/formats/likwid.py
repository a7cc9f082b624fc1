"""likwid-powermeter: run time, and the joules of each domain of each socket."""

import math
import re

from analysis.base.units import SECOND
from analysis.readers.format import Format
from analysis.readers.power.clock import Stamps
from analysis.readers.power.log import MeterLog, MeterReadings
from analysis.readers.power.rows import reads, spans
from analysis.readers.text import number as to_number

FORMAT = Format(
    engine="likwid", kind="power", marks=((b"Measure for socket", b"Energy consumed: "),),
    near="(?i)likwid",
)  # fmt: skip
_RUNTIME = re.compile(r"Runtime: (?P<value>\S+) s\s*")
_SOCKET = re.compile(r"Measure for (?P<part>socket \d+) on CPU \d+\s*")
_DOMAIN = re.compile(r"Domain (?P<name>\w+):?\s*")
_ENERGY = re.compile(r"Energy consumed: (?P<value>\S+) Joules\s*")
# Parts of what the package counts already.
_INNER = ("PP0", "PP1", "PLATFORM")


def sniff(head: bytes, name: str) -> bool:
    """Tell whether these are the energies that likwid-powermeter prints."""
    return b"Energy consumed: " in head and b"Measure for socket" in head


@reads("likwid-powermeter", "CPU package and memory, by RAPL")
def parse(log: MeterLog) -> MeterReadings:
    """Parse the energies of sockets, a meter per package and memory; cores are in the package."""
    seconds, socket, domain = math.nan, "", ""
    found: list[tuple[str, float, float]] = []
    for number, line in enumerate(log.lines(), 1):
        runtime, part = _RUNTIME.fullmatch(line), _SOCKET.fullmatch(line)
        opened, energy = _DOMAIN.fullmatch(line), _ENERGY.fullmatch(line)
        if runtime:
            seconds = to_number(runtime["value"])
        elif part:
            socket, domain = part["part"], ""
        elif opened:
            domain = opened["name"]
        elif energy and socket and domain not in _INNER:
            joules = to_number(energy["value"])
            if not (seconds > 0 and math.isfinite(joules) and domain):
                log.faults.damage(number, "an energy without a run time or a domain", "not used")
                continue
            found.append((f"{socket}/{domain}", seconds, joules))
    if not found:
        raise log.empty("energy of a socket with a run time")
    begin = Stamps(log).start()
    return spans(log, [(meter, begin, begin + round(took * SECOND), joules) for meter, took, joules in found])
