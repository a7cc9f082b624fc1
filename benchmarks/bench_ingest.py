"""Processor time of the ingest of many runs, and of one run more, beside reading and hashing their files.

The runs are copies of the shipped campaign's runs without a profile, each with its own record, in a temporary
project. Prints ms a run in processor time (children included) and in wall time; asserts nothing.

usage: bench_ingest.py [--small] [--runs N]    (10,000 runs; some two minutes)
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import itertools
import json
import os
import shutil
import tempfile
from pathlib import Path

from benchmarks.bench_import import project, spent

ROOT = Path(__file__).parents[1]
RAW = ROOT / "data/raw/vm-hpcg/runs"
RUNS, SMALL = 10_000, 20


def add(raw: Path, at: int) -> None:
    """Add a run: a copy of one of ours, with its own name, job and repetition."""
    plain = sources()
    source = plain[at % len(plain)]
    folder = shutil.copytree(source, raw / "runs" / f"{source.name}-{at:05d}")
    record = json.loads((folder / "run.json").read_text())
    own = {
        "run": folder.name,
        "campaign": raw.name,
        "job_id": str(10_000 + at),
        "repeat": 1 + at // len(plain),
    }
    (folder / "run.json").write_text(json.dumps(record | own))


@functools.cache
def sources() -> list[Path]:
    """List the shipped runs without a profile."""
    return [path for path in sorted(RAW.iterdir()) if _profiler(path) is None]


def _profiler(folder: Path) -> str | None:
    found: str | None = json.loads((folder / "run.json").read_text())["profiler"]
    return found


def hashes(raw: Path) -> None:
    """Read and hash all files of a campaign: the least that a first ingest has to do."""
    for path in raw.rglob("*"):
        if path.is_file():
            hashlib.sha256(path.read_bytes()).hexdigest()


def main() -> None:
    """Print a line for a first ingest, one with a run more, one with nothing new, and the peer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help=f"{SMALL} runs")
    parser.add_argument("--runs", type=int, default=0)
    options = parser.parse_args()
    count = options.runs or (SMALL if options.small else RUNS)
    with tempfile.TemporaryDirectory() as folder:
        base = project(Path(folder) / "project")
        raw, out = base / "data/raw/many", base / "data/processed/many"
        for at in range(count):
            add(raw, at)
        os.chdir(base)
        from analysis.datasets.campaign import ingest

        numbers = itertools.count(count)

        def one_more() -> None:
            add(raw, next(numbers))
            ingest(raw, out)

        for name, work in (
            ("read and SHA-256", lambda: hashes(raw)),
            ("first ingest", lambda: ingest(raw, out)),
            ("one run more", one_more),
            ("nothing new", lambda: ingest(raw, out)),
        ):
            processor, wall = spent(work)
            each = f"{1000 * processor / count:6.2f} ms of processor time a run"
            print(f"ingest: {name:16s} {count} runs: {each}, {processor:.2f} s; {wall:.1f} s of wall time")


if __name__ == "__main__":
    main()
