"""The machine that runs were measured on, in one line, from the facts in their records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

# In a campaign's `hardware`, stands for what the runs say.
MACHINE = "${machine}"
KIB_PER_GIB = 2**20


def hardware(text: str, runs: Path) -> str:
    """Put what the runs say into a campaign's line about its hardware.

    Parameters
    ----------
    text : str
        As declared; ``${machine}`` in it is replaced by `machines`.
    runs : Path
        Folder of the campaign's runs.

    Returns
    -------
    str
        One line.
    """
    line = " ".join(text.split())
    return line.replace(MACHINE, machines(runs)) if MACHINE in line else line


def machines(runs: Path) -> str:
    """Name the machines of some runs.

    Parameters
    ----------
    runs : Path
        Folder of runs, each with its ``run.json``.

    Returns
    -------
    str
        Like ``2 cores of an AMD EPYC 9654, 24 GiB``; of several machines all, in the order of their
        names. GiB are those of the system, whole.
    """
    found = set()
    for path in runs.glob("*/run.json"):
        try:
            facts = json.loads(path.read_bytes())["facts"]["facts"]
        except (OSError, ValueError, KeyError, TypeError):
            continue  # a record of another tool, or a broken one, which the ingest names
        found.add(_machine({name: fact.get("value") for name, fact in facts.items()}))
    return " and ".join(sorted(found - {""})) or "a machine that its runs do not name"


def _machine(values: dict[str, Any]) -> str:
    model, threads = values.get("cpu.Model name"), values.get("cpu.CPU(s)")
    memory = values.get("memory.total")  # KiB
    if not model or not threads:
        return ""
    # lscpu counts what can run at once; with two threads a core that is twice the cores.
    cores = int(threads) // int(values.get("cpu.Thread(s) per core") or 1)
    size = f", {memory / KIB_PER_GIB:.0f} GiB" if isinstance(memory, (int, float)) else ""
    return f"{cores} core{'s' if cores > 1 else ''} of {model}{size}"
