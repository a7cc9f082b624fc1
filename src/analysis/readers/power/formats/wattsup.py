"""Watts up? meters: records ``#d,-,18,<tenths of W>,<tenths of V>,…;``."""

import re

from analysis.readers.power.log import MeterLog, MeterReadings
from analysis.readers.power.rows import Rows, reads

_RECORD = re.compile(r"^(?P<stamp>.*?)#d,-,\d+,(?P<tenths>\d{1,9}|_)[,;](?P<rest>.*)$")


def sniff(head: bytes, name: str) -> bool:
    """Tell whether these are the meter's data records."""
    return b"#d,-," in head


# The maker states 1.5 % of the reading (and 0.3 W, which counts below 20 W).
@reads("Watts up?", "AC input, plug meter", accuracy=0.015)
def parse(log: MeterLog) -> MeterReadings:
    """Parse data records; ``_`` is a field that the meter does not log.

    Records have no time unless the logger wrote one before them: then the options ``start`` and
    ``interval`` (1 s by default) place them.
    """
    rows = Rows(log)
    for number, line in rows.lines():
        record = _RECORD.match(line.strip("\x00"))
        if record is None:
            continue
        if not record["rest"].rstrip().endswith(";"):
            log.faults.damage(number, "a record without its closing ';'", "not used")
            continue
        watts = float("nan") if record["tenths"] == "_" else int(record["tenths"]) / 10
        own = record["stamp"].strip(" ,;\t")
        rows.add(number, log.options.meter or "wattsup", watts, stamp=own or rows.stamp)
    return rows.readings("record '#d'", step=1.0, loose=bool(rows.stamp))
