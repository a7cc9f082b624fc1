"""Cray ``/sys/cray/pm_counters``: lines ``energy: 19213436 J 1583939373021443 us``, sampled."""

import re

from analysis.readers.power.log import MeterLog, MeterReadings
from analysis.readers.power.rows import Rows, reads
from analysis.readers.text import contains

_LINE = re.compile(
    r"^(?:(?P<node>[A-Za-z][\w-]*\d):\s*)?"
    r"(?:(?:\S*pm_counters/)?(?P<name>(?:[a-z]+\d*_)?(?:energy|power))(?:\s++[:=,]?|[:=,])\s*+)?"
    r"(?P<value>\d+)\s*(?P<unit>[JW])(?:\s+(?P<us>\d{15,16})\s*us)?\s*$"
)
_ENDS = (b"us\n", b"us\r", b"us ", b"us\t")
_MARK = re.compile(rb"\d{15}\s*us|pm_counters/")


def sniff(head: bytes, name: str) -> bool:
    """Tell whether these are Cray's power counters."""
    if not contains(head + b"\n", _MARK, *_ENDS, b"pm_counters/"):
        return False
    found = map(_LINE.match, head.decode(errors="replace").splitlines())
    return any(m and (m["us"] or "pm_counters/" in m[0]) for m in found)


@reads("Cray pm_counters", "node, DC input of the blade")
def parse(log: MeterLog) -> MeterReadings:
    """Parse samples of the node's counters; energy is used where it is logged, else power.

    Meters are ``node cpu memory accel0 …``, each after its node's name if the line has it.
    """
    kinds = {"J": Rows(log), "W": Rows(log)}
    found = [(n, kinds["J"].stamp, _LINE.match(line.strip())) for n, line in kinds["J"].lines()]
    named = any(match and match["name"] for *_, match in found)
    stamp = kinds["J"].stamp
    for number, before, match in found:
        if match and named and not match["name"]:
            log.faults.damage(number, "a value without its name among others", "the line is cut; not used")
        elif match and (match["us"] or before):
            # A file of one counter, appended again and again, does not name it.
            part = (match["name"] or "").rpartition("_")[0] or log.options.meter or "node"
            meter = f"{match['node']}/{part}" if match["node"] else part
            when = match["us"].zfill(16) if match["us"] else before
            kinds[match["unit"]].add(number, meter, float(match["value"]), stamp=when)
    counters = bool(kinds["J"])
    rows, what = kinds["J" if counters else "W"], "line with a value and a time"
    return rows.readings(what, counter=counters, loose=bool(stamp))
