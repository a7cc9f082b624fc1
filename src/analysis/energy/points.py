"""Where a meter measures, as far as energies can be held against each other.

The same job takes less at the CPU packages than at the node's input, which holds its memory, fans and
the loss of its power supply. Energies of different points are not compared
(`analysis.estimates.uncertainty`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

INPUT = "input"
PACKAGE = "CPU package"
GPU = "GPU"
DIRECT = "node, behind the power supply"
UNSAID = "not said"

# From what holds everything to what holds least; the first that sees all nodes of a run counts.
ORDER = (INPUT, UNSAID, DIRECT, PACKAGE, GPU)

_PATTERNS = (
    (INPUT, r"^input"),  # what has been brought to the input says so first
    (PACKAGE, r"\bcpu\b|\brapl\b|package and memory"),
    (GPU, r"\bgpu\b"),
    (DIRECT, r"\bdc\b|behind the power suppl|downstream"),
    (INPUT, r"input|inlet|outlet|\bpdu\b|\bac\b|wall|mains|feed|rack|chassis|upstream"),
)


def point(location: str) -> str:
    """Return the point of measurement that a location in words stands for.

    Parameters
    ----------
    location : str
        As the attribute of that name of a power dataset; several of one run are joined by `` + ``.

    Returns
    -------
    str
        One of `ORDER`, or the location itself where it is none of them.
    """
    points = dict.fromkeys(_one(part) for part in location.split(" + "))
    return " + ".join(points)


def outermost_first(points: Iterable[str]) -> list[str]:
    """Return points of measurement in `ORDER`, those that are none of it last."""
    return sorted(points, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))


def downstream(location: str) -> bool:
    """Tell whether a location is known to be behind the node's power supply."""
    return point(location) in (DIRECT, PACKAGE, GPU)


def _one(location: str) -> str:
    text = location.strip().lower()
    if text in ("", UNSAID):
        return UNSAID
    return next((name for name, pattern in _PATTERNS if re.search(pattern, text)), location.strip())
