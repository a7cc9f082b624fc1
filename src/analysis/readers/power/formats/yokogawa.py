"""Yokogawa WT analysers: CSV with ``Store No.``, Date, Time, Millisecond and ``P-E1`` … ``P-SIGMA``."""

import re

from analysis.readers.power import csv
from analysis.readers.power.headings import Headings
from analysis.readers.power.log import MeterLog, MeterReadings
from analysis.readers.power.rows import reads
from analysis.readers.text import contains

_MODEL = re.compile(rb"(?im)^\W*store ?no|^\W*model.{0,9}WT\d")
_TIMES = (r"^date$+^time$+^(milli ?second|ms)", r"^date$+^time$", r"^(date ?/? ?time|time ?stamp|date)")
_NAME = r"^p(\(ac\+dc\))?[ _-]?\(?(e(lement)?[ _-]?)?{which}\)?(?![a-z])"
_SIGMA, _ELEMENT = _NAME.format(which="(sigma|σ|Σ|s)[abc]?"), _NAME.format(which=r"\d")


def sniff(head: bytes, name: str) -> bool:
    """Tell whether there are powers, with a store number in the headings or a WT's model above them."""
    wt = contains(head.lower(), _MODEL, b"store", b"model")
    return wt and re.search(rb'(?im)[,;"\t] *+P(\(AC\+DC\))?[ _-]?\(?(E|element|sigma|\d)', head) is not None


@reads("Yokogawa WT", "AC input, power analyser")
def parse(log: MeterLog) -> MeterReadings:
    """Parse an analyser's stored samples: a meter per element, or their sum where the file has it."""
    heading = next(
        (row for row in log.data.splitlines() if re.match(rb"(?i)\W*store|.*date.*time", row)), b""
    )
    cells = re.split(r"[,;\t]", heading.decode(errors="replace").lower().replace('"', ""))
    total = any(re.search(_SIGMA, cell.strip()) for cell in cells)
    headings = Headings(time=_TIMES, power=_SIGMA if total else _ELEMENT, energy="", meter="", unit="")
    readings = csv.read(log, headings, short=False)
    if len(readings.names) == 1:
        readings.names = [log.options.meter or "analyser"]
    return readings
