"""Processor time of testing all claims of all reports on a campaign of many runs, and of one page's claims.

The runs are copies of the shipped campaign of HPCG, with its profiles, under names of their own and with
values a percent apart, in memory. Prints s of processor time, and asserts nothing; no peer tests claims.

usage: bench_claims.py [--runs N]    (10,000 runs)
"""

from __future__ import annotations

import argparse
import math
import resource
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import xarray as xr

from analysis.claims.evaluation import evaluate
from analysis.claims.model import Report, load_report
from analysis.claims.verdicts import NOT_TESTED
from analysis.datasets import ingest
from analysis.estimates.campaign import Campaign, load_campaign

ROOT = Path(__file__).parents[1]
NAME = "vm-hpcg"
VALUES = ("figure_of_merit", "elapsed", "benchmark_time", "latency", "bandwidth", "time", "mpi_time")
NOISE = 0.01
TOPIC = "interconnect"  # of the one page


def loaded(base: Path) -> Campaign:
    """Ingest the shipped campaign into a project that has the files of this one."""
    for part in ("config", "data/raw"):
        (base / part).parent.mkdir(parents=True, exist_ok=True)
        (base / part).symlink_to(ROOT / part)
    ingest(base / "data/raw" / NAME, base / "data/processed" / NAME)
    return load_campaign(NAME, base)


def many(campaign: Campaign, runs: int) -> Campaign:
    """Repeat a campaign until it has so many runs or more, each with a name, and values, of its own."""
    rng = np.random.default_rng(20)
    times = math.ceil(runs / len(campaign.runs))
    groups = {}
    for name, node in campaign.tree.children.items():
        whole = node.to_dataset().load()
        groups[name] = whole if name in ("files", "meters") else repeated(whole, times, rng)
    return replace(campaign, tree=xr.DataTree.from_dict(groups))


def repeated(whole: xr.Dataset, times: int, rng: np.random.Generator) -> xr.Dataset:
    """Put copies of a table under each other."""
    (rows,) = whole.dims
    copies = []
    for at in range(times):
        own = {
            name: whole[name] * rng.lognormal(0, NOISE, whole.sizes[rows]) for name in VALUES if name in whole
        }
        runs = (rows, np.array([f"{run}-{at}" for run in whole["run"].values], dtype=object))
        copies.append(whole.assign(own).drop_vars("run").assign_coords(run=runs))
    return xr.concat(copies, rows)


def evaluated(campaign: Campaign, reports: list[Report], topics: list[str] | None = None) -> str:
    """Test claims; return what that took, as one line."""
    began = time.process_time()
    found = [one for report in reports for one in evaluate(report, campaign, topics=topics)]
    spent = time.process_time() - began
    with_word = sum(one.verdict != NOT_TESTED for one in found)
    return f"{len(found)} claims, {with_word} of them tested: {spent:.1f} s of processor time"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    options = parser.parse_args()
    reports = [load_report(path) for path in sorted((ROOT / "config/claims").glob("*[0-9].yaml"))]
    reports.append(load_report(ROOT / "config/claims/house.yaml"))
    with tempfile.TemporaryDirectory() as folder:
        small = loaded(Path(folder))
        evaluated(replace(small), reports)  # what is drawn once for all is no part of it
        campaign = many(small, options.runs)
    print(f"claims: {len(campaign.runs)} runs, one page: {evaluated(replace(campaign), reports, [TOPIC])}")
    every = evaluated(replace(campaign), reports)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"claims: {len(campaign.runs)} runs, all reports: {every}, peak {peak:.0f} MB")


if __name__ == "__main__":
    main()
