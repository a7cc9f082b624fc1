"""Redfish: Power, EnvironmentMetrics, PowerSupplyMetrics, PDU metrics, sensors, telemetry reports."""

import re
from collections.abc import Iterator
from typing import Any

from analysis.readers.power.json import documents, numeric
from analysis.readers.power.log import MeterLog, MeterReadings
from analysis.readers.power.rows import Rows, reads

# Keys of a reading; the input of a power supply is what its rack pays for.
_READINGS = ("PowerWatts", "InputPowerWatts", "OutputPowerWatts")
# Parts of a resource's path that do not tell one from another.
_COMMON = re.compile(
    "|redfish|v1|Chassis|Systems|.*PDUs|Power(Equipment|Subsystem|Supplies|Distribution)?|Processors|Memory"
    "|Sensors|Outlets|(Environment|Processor)?Metrics"
)

# Dell's MetricId: SystemInputPower, TotalCPUPower, SystemPowerConsumption; all in W.
_POWER = re.compile(r"(?<!Apparent)(?<!Reactive)Power(Consumption)?$")


def sniff(head: bytes, name: str) -> bool:
    """Tell whether these are Redfish resources about power."""
    return (b"@odata" in head or b"PowerControl" in head) and (b"Power" in head or b"ReadingUnits" in head)


@reads("Redfish", "chassis, by the BMC")
def parse(log: MeterLog) -> MeterReadings:
    """Parse one or several resources; null is a blank.

    A resource has no time of its own: the logger's line before it, a key ``timestamp`` around it, or
    the option ``start`` gives it.
    """
    rows = Rows(log)
    for when, line, document in documents(log, rows.clock):
        for meter, power, stamp in _readings(document):
            rows.add(line, meter, power, stamp=stamp or when)
    return rows.readings("reading of power in these resources", loose=True)


def _readings(node: Any, place: str = "") -> Iterator[tuple[str, float, str]]:
    """Find readings anywhere in a document: (meter, W, stamp)."""
    if isinstance(node, list):
        for part in node:
            yield from _readings(part, place)
    if not isinstance(node, dict):
        return
    path = str(node.get("@odata.id", "")).partition("#")[0].split("/")
    place = "/".join(part for part in path if not _COMMON.fullmatch(part)) or place
    controls = [part for part in _dicts(node, "PowerControl") if "PowerConsumedWatts" in part]
    named = [str(part.get("Name") or part.get("MemberId") or i) for i, part in enumerate(controls)]
    for i, (name, part) in enumerate(zip(named, controls, strict=True)):
        own = name if named.count(name) == 1 else f"{name} {part.get('MemberId', i)}"
        yield f"{place}/{own}".lstrip("/"), numeric(part["PowerConsumedWatts"]), ""
    for key in _READINGS:
        if isinstance(node.get(key), dict) and "Reading" in node[key]:
            yield f"{place} {key}".strip(), numeric(node[key]["Reading"]), ""
    if node.get("ReadingUnits") == "W":
        name = str(node.get("Id") or node.get("Name") or "sensor")
        yield (
            (place if place.endswith(name) else f"{place}/{name}".lstrip("/")),
            numeric(node.get("Reading")),
            "",
        )
    for value in _dicts(node, "MetricValues"):
        what, name = str(value.get("MetricId", "")), str(value.get("MetricProperty") or value.get("MetricId"))
        if "Watts" in name + what or _POWER.search(what):
            yield name, numeric(value.get("MetricValue")), str(value.get("Timestamp", ""))
    for key, part in node.items():
        if key not in (*_READINGS, "PowerControl", "MetricValues"):
            yield from _readings(part, place)


def _dicts(node: dict[str, Any], key: str) -> list[dict[str, Any]]:
    found = node.get(key)
    return [part for part in found if isinstance(part, dict)] if isinstance(found, list) else []
