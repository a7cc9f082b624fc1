"""Scaphandre's JSON exporter: the power of each socket, in uW, as its reports have it."""

from typing import Any

from analysis.readers.power.json import documents, numeric
from analysis.readers.power.log import MeterLog, MeterReadings
from analysis.readers.power.rows import Rows, reads


def sniff(head: bytes, name: str) -> bool:
    """Tell whether these are reports of a host, its consumers and its sockets."""
    return all(one in head for one in (b'"host"', b'"consumers"', b'"consumption"', b'"timestamp"'))


@reads("Scaphandre", "CPU packages, by RAPL")
def parse(log: MeterLog) -> MeterReadings:
    """Parse reports, one after the other or in a list, a meter for each socket."""
    rows = Rows(log)
    for _, line, document in documents(log, rows.clock):
        for report in document if isinstance(document, list) else [document]:
            for socket in _sockets(report):
                watts = numeric(socket["consumption"]) / 1e6
                rows.add(line, f"socket{socket['id']}", watts, stamp=str(socket["timestamp"]))
    return rows.readings("socket with a power", loose=True)


def _sockets(report: Any) -> list[dict[str, Any]]:
    found = report.get("sockets") if isinstance(report, dict) else None
    keys = {"id", "consumption", "timestamp"}
    return [one for one in found or () if isinstance(one, dict) and keys <= one.keys()]
