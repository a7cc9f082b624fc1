"""Processor time that a campaign's runs add to the graph of a build: a first one, and one with nothing new.

What Snakemake does with the campaigns at each start, in one process: the stamp of a campaign's raw files, and
which pages its records can fill. The runs are those of `bench_ingest`. Beside it, the same without what was
kept. Prints ms a run; asserts nothing.

usage: bench_graph.py [--runs N]    (10,000 runs; half a minute)
"""

from __future__ import annotations

import argparse
import gc
import shutil
import statistics
import tempfile
from pathlib import Path

from analysis.base import project
from analysis.base.files import stamp
from analysis.estimates import contents
from benchmarks.bench_import import spent
from benchmarks.bench_ingest import add

ROOT = Path(__file__).parents[1]
RUNS, TIMES = 10_000, 5
CONFIG = "campaigns: [many]\nreports: {}\npages: []\n"


def made(base: Path, runs: int) -> Path:
    """Make a project with one campaign of that many runs, and all questions."""
    for name in ("config/applications", "config/campaigns", "notebooks"):
        (base / name).mkdir(parents=True)
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        (base / "notebooks" / path.name).touch()
    shutil.copy(ROOT / contents.QUESTIONS, base / contents.QUESTIONS)
    (base / project.CONFIG).write_text(CONFIG, encoding="utf-8")
    shutil.copy(ROOT / "config/campaigns/vm-hpcg.yaml", base / "config/campaigns/many.yaml")
    for at in range(runs):
        add(base / "data/raw/many", at)
    return base


def build(base: Path, *, keep: bool) -> None:
    """Do what a build's graph needs of a campaign, with or without what an earlier build kept."""
    noted = stamp(project.raw("many", base), base / ".snakemake/raw-files/many.json")
    config = project.load_yaml(base / project.CONFIG)
    contents.complete(config, base, stamped=(lambda name: noted) if keep else None)
    if not any(page.get("derived") for page in config["pages"]):
        raise SystemExit("the campaign has no page")


def main() -> None:
    """Print a line for a first build, one for the next ones, and one for those that keep no answers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        base = made(Path(folder), runs)
        gc.disable()
        first, _ = spent(lambda: build(base, keep=True))
        each: dict[bool, list[float]] = {True: [], False: []}
        for _ in range(TIMES):
            for keep, found in each.items():
                found.append(spent(lambda keep=keep: build(base, keep=keep))[0])
    for name, seconds in (
        ("first build", first),
        ("nothing new", statistics.median(each[True])),
        ("answers not kept", statistics.median(each[False])),
    ):
        print(f"graph: {name:16s} {runs} runs: {1000 * seconds / runs:.3f} ms of processor time a run")


if __name__ == "__main__":
    main()
