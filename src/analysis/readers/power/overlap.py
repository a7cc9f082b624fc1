"""Meters of one log that measure what others of it do: their watts are not to be added."""

from __future__ import annotations

import re
from collections.abc import Sequence

# Tool -> patterns of meters that lie within others, or hold them, the innermost first.
_OVERLAPPING: dict[str, tuple[str, ...]] = {
    # Cores and graphics are in the package, and the platform holds it.
    "turbostat": ("^(cores|graphics|system)$",),
    "perf stat": ("energy-(cores|gpu|psys)$",),
    # A zone within a package that has no name is memory on some machines and cores on others.
    "powercap": (r"(?<![^\W_])(core|uncore|psys)(?![^\W\d_])", r"^intel-rapl(-mmio)?:\d+:\d+$"),
    "Cray pm_counters": (r"(^|/)(cpu|memory|accel\d*)$",),
    "GEOPM": ("/board$",),
    # Parts of a system; resources within others; a supply's output, its consumption, its input.
    "Redfish": (
        r"(?i)\b(cpu|memory|fan|storage|gpu|fpga)\b.*\bsub-?system|(^|[/ ])Total(?!Power)\w+Power$",
        "/.* (Input|Output)?PowerWatts$",
        " OutputPowerWatts$|(^|[/ ])SystemOutputPower$",
        "(^|[/ ])SystemPowerConsumption$",
    ),
}


def overlapping(tool: str, names: Sequence[str]) -> list[str]:
    """Name the meters of a tool's log that are not to be added to the others; never all of them."""
    found: list[str] = []
    for pattern in _OVERLAPPING.get(tool, ()):
        more = [name for name in names if name in found or re.search(pattern, name)]
        found = more if len(more) < len(names) else found
    return found
