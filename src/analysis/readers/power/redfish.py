"""Redfish: Power, EnvironmentMetrics, PowerSupplyMetrics, PDU metrics, sensors, telemetry reports."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import xarray as xr

from analysis.errors import ReadError
from analysis.readers.power import snapshots
from analysis.readers.power.base import PowerLog
from analysis.readers.power.clock import Clock
from analysis.readers.power.documents import documents

# Keys of a reading; the input of a power supply is what its rack pays for.
_READINGS = ("PowerWatts", "InputPowerWatts", "OutputPowerWatts")


def sniff(head: bytes, name: str) -> bool:
    """Tell whether these are Redfish resources about power."""
    return (b"@odata" in head or b"PowerControl" in head) and (b"Power" in head or b"ReadingUnits" in head)


def parse(data: bytes, source: str = "<memory>", **options: Any) -> xr.Dataset:
    """Parse one or several Redfish resources.

    Parameters
    ----------
    data : bytes
    source : str, optional
    **options
        See `analysis.readers.power.base.Options`.
        A resource has no time of its own: the logger's line before it, a key ``timestamp`` around
        it, or ``start`` gives it.

    Returns
    -------
    Dataset
        Kind ``power``; NaN where the controller says null.

    Raises
    ------
    ReadError
        If no resource holds a reading.
    """
    log = PowerLog(data, source, options)
    clock = Clock(log)
    rows = [
        (stamp or when, line, meter, power)
        for when, line, document in documents(log, clock)
        for meter, power, stamp in _resource(document)
    ]
    if not rows and log.faults.faults:
        fault = log.faults.faults[0]
        raise ReadError.at(source, fault.line, fault.found, "no reading of power could be saved")
    readings = snapshots.readings(log, clock, rows, "reading of power in these resources")
    return log.dataset(readings, tool="Redfish", location="chassis, by the BMC")


def _resource(node: Any, chassis: str = "") -> Iterator[tuple[str, float, str]]:
    """Find readings anywhere in a document: (meter, W, stamp)."""
    if isinstance(node, list):
        for part in node:
            yield from _resource(part, chassis)
        return
    if not isinstance(node, dict):
        return
    chassis = _chassis(str(node.get("@odata.id", ""))) or chassis
    if "PowerControl" in node:
        for i, part in enumerate(node["PowerControl"] or []):
            name = str(part.get("Name") or part.get("MemberId") or i)
            yield f"{chassis}/{name}" if chassis else name, _number(part.get("PowerConsumedWatts")), ""
        return
    for key in _READINGS:
        if isinstance(node.get(key), dict):
            yield f"{chassis} {key}".strip(), _number(node[key].get("Reading")), ""
    if node.get("ReadingUnits") == "W":
        name = str(node.get("Id") or node.get("Name") or "sensor")
        yield f"{chassis}/{name}" if chassis else name, _number(node.get("Reading")), ""
    if "MetricValues" in node:
        for value in node["MetricValues"]:
            if "Watts" in str(value.get("MetricId", "")) + str(value.get("MetricProperty", "")):
                name = str(value.get("MetricProperty") or value["MetricId"])
                yield name, _number(value.get("MetricValue")), str(value.get("Timestamp", ""))
        return
    for key, part in node.items():
        if key not in _READINGS:
            yield from _resource(part, chassis)


def _chassis(path: str) -> str:
    parts = path.split("/")
    return next(
        (parts[i + 1] for i, p in enumerate(parts[:-1]) if p in ("Chassis", "RackPDUs", "Systems")), ""
    )


def _number(value: Any) -> float:
    try:
        return math.nan if value is None or isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        return math.nan
