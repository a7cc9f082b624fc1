"""Copies of a shipped campaign with a change planted in raw files, consistently, taken through the ingest."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from analysis.datasets.campaign import ingest

ROOT = Path(__file__).parents[2]
RAW = ROOT / "data" / "raw" / "vm-hpcg"
Record = dict[str, Any]
# A run's folder and record are changed; False leaves the run out.
Plant = Callable[[Path, Record], bool | None]

_RATES = re.compile(
    r"^(GB/s Summary::[^=]+|GFLOP/s Summary::[^=]+"
    r"|Final Summary::HPCG result is VALID with a GFLOP/s rating of|Final Summary::HPCG 2.4 rating[^=]*)"
    r"=([\d.e+-]+)$",
    re.MULTILINE,
)
_TIMES = re.compile(
    r"^(Benchmark Time Summary::[^=]+|Final Summary::Results are valid but execution time \(sec\) is"
    r"|DDOT Timing Variations::[^=]+)"
    r"=([\d.e+-]+)$",
    re.MULTILINE,
)


def project(folder: Path) -> Path:
    """Make a project in a folder: the configuration of this one, no data."""
    shutil.copytree(ROOT / "config", folder / "config")
    (folder / "workflow").symlink_to(ROOT / "workflow")
    (folder / "notebooks").symlink_to(ROOT / "notebooks")
    return folder


def campaign(base: Path, name: str, plant: Plant, take: Callable[[Record], bool]) -> None:
    """Copy the runs that are taken of vm-hpcg, plant in each, and ingest them as a campaign of that name."""
    text = (ROOT / "config" / "campaigns" / "vm-hpcg.yaml").read_text(encoding="utf-8")
    (base / "config" / "campaigns" / f"{name}.yaml").write_text(text, encoding="utf-8")
    raw = base / "data" / "raw" / name
    for source in sorted((RAW / "runs").iterdir()):
        record = json.loads((source / "run.json").read_text())
        if not take(record):
            continue
        folder = Path(shutil.copytree(source, raw / "runs" / source.name))
        changed = record | {"campaign": name}
        if plant(folder, changed) is False:
            shutil.rmtree(folder)
        else:
            (folder / "run.json").write_text(json.dumps(changed))
    ingest(raw, base / "data" / "processed" / name)


def rated(folder: Path, factor: float) -> None:
    """Let HPCG take longer for the same operations: its times and rates are scaled, its work is not."""
    for path in folder.glob("HPCG-Benchmark*.txt"):
        text = path.read_text(encoding="utf-8")
        text, rates = _RATES.subn(lambda m: f"{m[1]}={float(m[2]) * factor:.6g}", text)
        text, times = _TIMES.subn(lambda m: f"{m[1]}={float(m[2]) / factor:.6g}", text)
        assert (rates, times) == (13, 10)
        path.write_text(text, encoding="utf-8")
