"""A run's folder with its record and one output."""

from __future__ import annotations

import json
from pathlib import Path

from analysis.datasets.applications import load_applications
from analysis.datasets.run import RunFolder, read_run

ROOT = Path(__file__).parents[2]
APPLICATIONS = load_applications(ROOT / "config/applications")


def read_folder(
    folder: Path,
    application: str,
    output: bytes,
    *,
    case: str = "a",
    ranks: int = -1,
    name: str = "stdout.txt",
) -> RunFolder:
    """Write a run of an hour, on nodes that are not known, whose output is in one file, and read it."""
    record = {
        "run": folder.name,
        "campaign": "x",
        "evidence": "measured",
        "application": application,
        "case": case,
        "nodes": None,
        "ranks": ranks,
        "concurrent_jobs": 1,
        "start": 1795220000.0,
        "end": 1795223600.0,
        "exit_code": 0,
        "profiler": None,
    }
    folder.mkdir()
    (folder / "run.json").write_text(json.dumps(record), encoding="utf-8")
    (folder / name).write_bytes(output)
    return read_run(folder, APPLICATIONS)
