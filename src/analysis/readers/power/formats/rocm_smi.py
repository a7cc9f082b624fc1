"""``rocm-smi --showpower --json``, once or repeated."""

import re

from analysis.readers.power.json import documents
from analysis.readers.power.log import MeterLog, MeterReadings
from analysis.readers.power.rows import Rows, reads
from analysis.readers.text import quantity

_KEY = re.compile(
    r"^(Average|Current)( Socket)? Graphics Package Power|^(Current )?Socket Power", re.IGNORECASE
)


def sniff(head: bytes, name: str) -> bool:
    """Tell whether this is rocm-smi's JSON with powers."""
    return b'"card0"' in head and b"Power (W)" in head


@reads("rocm-smi", "GPU package", meter_kind="gpu")
def parse(log: MeterLog) -> MeterReadings:
    """Parse rocm-smi's JSON, a meter per card; MI300 shows the present power, older cards an average.

    The option ``start`` is the time of a single document; several need a line with the time before each.
    """
    rows = Rows(log)
    for stamp, line, document in documents(log, rows.clock):
        for card, values in document.items() if isinstance(document, dict) else ():
            found = [key for key in values if _KEY.match(key)] if isinstance(values, dict) else []
            if found and card.startswith("card"):
                current = next((key for key in found if key.lower().startswith("current")), found[0])
                rows.add(line, card, quantity(str(values[current]))[0], stamp=stamp)
    return rows.readings("card with a power", loose=True)
