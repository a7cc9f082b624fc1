"""Points of measurement: only energies of the same point can be compared.

The same job takes less at the CPU packages than at the node's input, which includes its memory, fans and
the loss of its power supply. Energies of different points are not compared
(`analysis.estimates.uncertainty`).
"""

import re
from collections.abc import Callable, Iterable
from itertools import groupby

from analysis.base.words import NOT_STATED

INPUT = "input"
SLURM = "node, as Slurm has it"
PACKAGE = "CPU package"
GPU = "GPU"
DIRECT = "node, behind the power supply"

# From the point that includes most to the one that includes least: points, and the types of the sampler's
# meters (`analysis.measure.power`), which are more exact than a location in words. Points of one line add up.
LAYERS = (
    ("snmp",), ("redfish",), ("ipmitool",), (INPUT,), (NOT_STATED,), ("slurm", SLURM), (DIRECT,),
    (PACKAGE, "powercap", GPU, "nvidia-smi"),
)  # fmt: skip
_PLACES = {name: (depth, i) for depth, layer in enumerate(LAYERS) for i, name in enumerate(layer)}

# Tools that measure the node on which they run, and whose meters do not name it.
OF_ONE_NODE = frozenset((
    "perf stat", "turbostat", "likwid-powermeter", "powerstat", "powercap", "nvidia-smi", "rocm-smi",
    "amd-smi", "nvidia-smi dmon or dcgmi dmon",
))  # fmt: skip

_PATTERNS = (
    (INPUT, r"^input"),  # a value converted to the input begins so
    (SLURM, r"\bslurm\b"),
    (PACKAGE, r"\bcpu\b|\brapl\b|package and memory"),
    (GPU, r"\bgpu\b"),
    (DIRECT, r"\bdc\b|behind the power suppl|downstream"),
    (INPUT, r"input|inlet|outlet|\bpdu\b|\bac\b|wall|mains|feed|rack|chassis|upstream"),
)


def point(location: str) -> str:
    """Return the point of measurement of a location in words, or the location itself.

    Several locations of one run are joined by `` + ``.
    """
    return " + ".join(dict.fromkeys(_one(part) for part in location.split(" + ")))


def layers(names: Iterable[str]) -> list[list[str]]:
    """Put points and types of meters in layers, the outermost first; unknown ones come last, each alone."""
    given = set(names)
    known = sorted(given.intersection(_PLACES), key=_PLACES.__getitem__)
    found = [list(layer) for _, layer in groupby(known, key=lambda name: _PLACES[name][0])]
    return [*found, *([name] for name in sorted(given.difference(_PLACES)))]


def outermost(names: Iterable[str], sees_all: Callable[[str], bool]) -> list[str]:
    """Return the outermost layer in which a single point covers all nodes of a run; empty without one.

    Packages of one node and GPUs of another are not added up, because neither covers the run.
    """
    return next((layer for layer in layers(names) if any(map(sees_all, layer))), [])


def _one(location: str) -> str:
    text = location.strip().lower()
    if text in ("", NOT_STATED):
        return NOT_STATED
    return next((name for name, pattern in _PATTERNS if re.search(pattern, text)), location.strip())
