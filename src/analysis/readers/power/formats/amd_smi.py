"""``amd-smi metric --power --json``, once or repeated; the successor of rocm-smi."""

from typing import Any

from analysis.base import units
from analysis.readers.power.json import documents
from analysis.readers.power.log import MeterLog, MeterReadings
from analysis.readers.power.rows import Rows, reads
from analysis.readers.text import quantity

# By card and version: the present power goes before an average.
_KEYS = ("socket_power", "current_socket_power", "average_socket_power")


def sniff(head: bytes, name: str) -> bool:
    """Tell whether this is amd-smi's JSON with powers."""
    return b'"gpu"' in head and b'"power"' in head and b"socket_power" in head


@reads("amd-smi", "GPU socket", meter_kind="gpu")
def parse(log: MeterLog) -> MeterReadings:
    """Parse amd-smi's JSON, a meter per GPU; ``N/A`` is a blank.

    The option ``start`` is the time of a single document; several need a line with the time before each.
    """
    rows = Rows(log)
    for stamp, line, document in documents(log, rows.clock):
        gpus = document.get("gpu_data", [document]) if isinstance(document, dict) else document
        for gpu in (g for g in gpus if isinstance(g, dict) and isinstance(g.get("power"), dict)):
            cells = {key: _watts(gpu["power"][key]) for key in _KEYS if key in gpu["power"]}
            if cells:
                known = [value for value in cells.values() if value == value]
                rows.add(line, f"gpu{gpu.get('gpu', '')}", (known or [float("nan")])[0], stamp=stamp)
    return rows.readings("GPU with a power", loose=True)


def _watts(cell: Any) -> float:
    """Read ``{"value": 142, "unit": "W"}``, or the bare number of older versions."""
    value, unit = (cell.get("value"), cell.get("unit", "W")) if isinstance(cell, dict) else (cell, "W")
    return quantity(str(value))[0] * units.watts(str(unit))
