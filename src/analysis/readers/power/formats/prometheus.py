"""Answers of Prometheus' ``query_range``: series of power in W, or of energy counters in J or mJ."""

import json
import re
from typing import Any

from analysis.base.errors import ReadError
from analysis.readers.power.json import numeric
from analysis.readers.power.log import MeterLog, MeterReadings
from analysis.readers.power.rows import Rows, reads

_UNITS = (
    (re.compile(r"ENERGY_CONSUMPTION|millijoules", re.I), 1e-3, True),
    (re.compile(r"microjoules", re.I), 1e-6, True),
    (re.compile(r"joules", re.I), 1.0, True),
    (re.compile(r"microwatt", re.I), 1e-6, False),
    (re.compile(r"milliwatt|_mW\b", re.I), 1e-3, False),
    (re.compile(r"watt|power", re.I), 1.0, False),
)
# Labels that tell meters apart; the others say the same of all or repeat these.
_NAMES = (
    "instance", "Hostname", "node", "host", "gpu", "chip", "sensor", "zone", "path", "mode", "name", "id",
)  # fmt: skip


def sniff(head: bytes, name: str) -> bool:
    """Tell whether it begins as an answer of Prometheus with a matrix."""
    return head.lstrip().startswith(b"{") and b'"resultType"' in head and b'"matrix"' in head


@reads("Prometheus", "as the exporter has it")
def parse(log: MeterLog) -> MeterReadings:
    """Parse every series whose metric names a power or an energy; the labels name the meter."""
    try:
        answer = json.loads(log.data)
        series = [one for one in answer["data"]["result"] if isinstance(one, dict)]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ReadError.at(log.source, 1, "no whole answer of query_range", "save it again") from error
    rows, kinds = Rows(log), set[bool]()
    for line in series:
        labels: dict[str, Any] = line["metric"] if isinstance(line.get("metric"), dict) else {}
        metric = str(labels.get("__name__", "power"))  # a query that computes has no name
        found = next((one[1:] for one in _UNITS if one[0].search(metric)), None)
        if found is None:
            log.faults.note(0, f"{metric} is no power", "its series is not used")
            continue
        kinds.add(found[1])
        meter = "/".join(str(labels[name]) for name in _NAMES if labels.get(name)) or metric
        for pair in line["values"] if isinstance(line.get("values"), list) else ():
            if isinstance(pair, list) and len(pair) == 2 and numeric(pair[0]) > 0:
                rows.add(0, meter, numeric(pair[1]) * found[0], stamp=f"{numeric(pair[0]):.3f}")
            else:
                log.faults.damage(0, f"{str(pair)[:40]} is no time with a value", "not used")
    if len(kinds) > 1:
        found_both = "powers and energy counters in one answer"
        raise ReadError.at(log.source, 0, found_both, "ask for one of them, or each into a file of its own")
    return rows.readings("series of a power or an energy", counter=True in kinds)
