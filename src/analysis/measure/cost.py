"""What the runs of a plan cost, and how the plan is printed."""

import heapq
import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.base import project
from analysis.base.files import attempted
from analysis.base.words import table
from analysis.measure import folders
from analysis.measure.declare import load
from analysis.measure.matrix import MatrixPlan, Run, expand
from analysis.schema.campaigns import DEFAULTS

# Where an application's file does not say how long a case takes, a share of the time limit stands for it.
_SHARE_OF_LIMIT = 0.5


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of some runs: node hours as expected, start-up included, and if every job ran into its limit.

    `duration` is the time in s from first start to last end with all nodes of the cluster and no other user.
    """

    runs: int
    node_hours: float
    node_hours_limit: float
    duration: float


def seconds(run: Run, start_up: float) -> float:
    """Return how long a run's job is expected to take, in s, never more than its limit."""
    expected = _SHARE_OF_LIMIT * 60 * run.minutes if math.isnan(run.seconds) else run.seconds + start_up
    return min(expected, 60.0 * run.minutes)


def cost(plan: MatrixPlan, runs: Sequence[Run]) -> Cost:
    """Work out what some runs of a plan cost, in the order of submission, by a list schedule.

    Each run starts as soon as its nodes are free and all before it have started.
    """
    launch = plan.declared.launch
    start_up = launch.start_up
    free = [0.0] * launch.nodes  # when each node becomes free
    last = 0.0
    total = limit = 0.0
    for run in runs:
        took = seconds(run, start_up)
        taken = [heapq.heappop(free) for _ in range(run.nodes)]
        last = max(last, taken[-1])  # in order: no run overtakes
        for _ in taken:
            heapq.heappush(free, last + took)
        total += run.nodes * took / 3600
        limit += run.nodes * run.minutes / 60
    return Cost(len(runs), total, limit, max(free, default=0.0) if runs else 0.0)


def duration(span: float) -> str:
    """Write a time span, given in s, with as many digits as an estimate supports."""
    if span < 120:
        return f"{span:.0f} s"
    minutes = round(span / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60:02d} min"


def print_plan(name: str, *, runs: bool = False, as_json: bool = False) -> int:
    """Print the plan of a campaign."""
    base = project.root()
    found = expand(load(name, base))
    done = folders.recorded(base, name)
    if as_json:
        print(json.dumps([_row(run, run.name in done) for run in found.runs], indent=1))
    elif runs:
        _print_table([_row(run, run.name in done) for run in found.runs])
    else:
        _print_plan(found, done)
    return 0


def _row(run: Run, done: bool) -> dict[str, Any]:
    head = {"order": run.order, "run": run.name, "measured": done, "subset": run.subset}
    return {**head, "application": run.application, "case": run.case, **run.factors, "repeat": run.repeat}


def _print_plan(found: MatrixPlan, done: set[str]) -> None:
    declared = found.declared
    print(f"{declared.name}: {declared.campaign.content.title}")
    print(f"on {declared.cluster_name}: {declared.cluster.content.title}\n")
    subsets = [subset.name for subset in declared.matrix.subsets]
    parts = [(name, [run for run in found.runs if run.subset == name]) for name in subsets]
    rows = [_cost_row(found, name, mine) for name, mine in parts]
    _print_table([*rows, _cost_row(found, "all", found.runs)])
    print()
    for subset in declared.matrix.subsets:
        print(f"{subset.name}: {' '.join(subset.why.split())}")
    for count, why in found.excluded:
        print(f"left out: {count} combinations: {' '.join(why.split())}")
    if found.shared:
        print(f"{found.shared} combinations are in more than one subset and run once")
    if found.adaptive:
        most = max(most for _, most in found.adaptive.values())
        price = cost(found, [*found.runs, *_further(found)])
        print(
            f"{len(found.adaptive)} combinations: repeated until the median is known, at most {most} times;"
            f" with all of that {price.runs} runs, {price.node_hours:.2f} node hours expected"
        )
    left = [run for run in found.runs if run.name not in done]
    print(f"\nmeasured: {len(found.runs) - len(left)} of {len(found.runs)} runs")
    names = {name for run in (*found.runs, *_further(found)) for name in run.records}
    if more := [name for name in done - names if not attempted(name)]:
        print(f"in addition: {len(more)} runs that the matrix does not declare; they count like the others")
    if left:
        price = cost(found, left)
        hours = f"{price.node_hours:.2f} node hours expected, {price.node_hours_limit:.2f} at the time limits"
        print(f"left: {price.runs} runs, {hours}; {duration(price.duration)} if all nodes are free")
        if empty := to_fill_in(declared.cluster.path):
            print("\n".join(f"fill in before you start: {place}" for place in empty))
            return
        how = "--profile slurm" if declared.launch.scheduler == "slurm" else "--cores all"
        print(f"start: snakemake {how} measure --config measure={declared.name}")


def to_fill_in(path: Path) -> list[str]:
    """List the lines of a cluster's file that still have the ``/path/to`` that `new-campaign` writes."""
    lines = enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
    return [
        f"{os.path.relpath(path)}:{number}: {line.strip()}"
        for number, line in lines
        if "/path/to" in line and not line.lstrip().startswith("#")
    ]


def _further(found: MatrixPlan) -> list[Run]:
    """Return the repeats that adaptive cells may come to beside those of the plan."""
    there = {run.name for run in found.runs}
    names = (
        f"{cell}-r{repeat:02d}" for cell, (_, most) in found.adaptive.items() for repeat in range(1, most + 1)
    )
    return [found.run(name) for name in names if name not in there]


def _cost_row(found: MatrixPlan, name: str, runs: Sequence[Run]) -> dict[str, Any]:
    price = cost(found, runs)
    sizes = sorted({run.nodes for run in runs})
    return {
        "subset": name,
        "runs": price.runs,
        "cells": len({run.cell for run in runs}),
        "nodes": f"{sizes[0]}-{sizes[-1]}" if len(sizes) > 1 else "".join(map(str, sizes)),
        "node hours": f"{price.node_hours:.2f}",
        "at limits": f"{price.node_hours_limit:.2f}",
        "alone": duration(price.duration),
    }


def _print_table(rows: Sequence[dict[str, Any]]) -> None:
    # A column in which nothing was chosen is left out.
    keys = [key for key in rows[0] if key not in DEFAULTS or any(row[key] != "" for row in rows)]
    cells = [[str(row[key]).replace("True", "yes").replace("False", "no") for key in keys] for row in rows]
    columns = zip(keys, zip(*cells, strict=True), strict=True)
    right = [
        isinstance(rows[0][key], int) or all(cell.replace(".", "", 1).isdecimal() for cell in column)
        for key, column in columns
    ]
    print(table([keys, *cells], right))
