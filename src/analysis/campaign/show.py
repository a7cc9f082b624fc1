"""``benchbook plan`` and ``progress``: the expanded matrix as a table with its cost, and how far it is."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from analysis import project
from analysis.campaign import folders, workflow
from analysis.campaign.declarations import load
from analysis.campaign.estimate import Cost, cost, duration, queue_guess
from analysis.campaign.matrix import DEFAULTS, Plan, Run, expand
from analysis.campaign.progress import Observer
from analysis.campaign.watch import sentence


def plan(name: str, *, runs: bool = False, as_json: bool = False) -> int:
    """Print the plan of a campaign.

    Parameters
    ----------
    name : str
        Campaign.
    runs : bool, optional
        One line a run, in the order in which they are submitted, instead of one a subset.
    as_json : bool, optional
        A list of objects, one a run.

    Returns
    -------
    int
        0.

    Raises
    ------
    ConfigError
        If the campaign cannot be planned; one fault for each thing wrong with it.
    """
    found = expand(load(name))
    done = folders.recorded(found.declared.base, name)
    if as_json:
        print(json.dumps([_row(run, run.name in done) for run in found.runs], indent=1))
    elif runs:
        _print_table([_row(run, run.name in done) for run in found.runs])
    else:
        _print_plan(found, done)
    return 0


def progress(name: str, *, as_json: bool = False) -> int:
    """Print how far a campaign is, as the workflow that measures it does; from any shell.

    Parameters
    ----------
    name : str
        Campaign.
    as_json : bool, optional
        The fields of `analysis.campaign.progress.Progress` as an object.

    Returns
    -------
    int
        0.

    Raises
    ------
    ConfigError
        If there is no such campaign, or it cannot be planned.
    """
    base = project.root()
    now = time.time()
    state = Observer(workflow.plan(name, base), workflow.all_runs(name, base)).look(now)
    if as_json:
        print(json.dumps(asdict(state), indent=1))
    else:
        print(sentence(state, now))
        for text in workflow.failures(name, base):
            print(text)
    return 0


def _row(run: Run, done: bool) -> dict[str, Any]:
    head = {"order": run.order, "run": run.name, "measured": done, "subset": run.subset}
    return {**head, "application": run.application, "case": run.case, **run.factors, "repeat": run.repeat}


def _print_plan(found: Plan, done: set[str]) -> None:
    declared = found.declared
    print(f"{declared.name}: {declared.campaign.document['title']}")
    print(f"on {declared.cluster_name}: {declared.cluster.document['title']}\n")
    subsets = [str(subset["name"]) for subset in declared.matrix["subsets"]]
    parts = [(name, [run for run in found.runs if run.subset == name]) for name in subsets]
    rows = [_cost_row(found, name, mine) for name, mine in parts]
    _print_table([*rows, _cost_row(found, "all", found.runs)])
    print()
    for subset in declared.matrix["subsets"]:
        print(f"{subset['name']}: {' '.join(str(subset['why']).split())}")
    for count, why in found.excluded:
        print(f"left out: {count} combinations: {' '.join(why.split())}")
    if found.shared:
        print(f"{found.shared} combinations stand in more than one subset and run once")
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
    if more := [name for name in done - names if ".failed-" not in name]:
        print(f"beside them: {len(more)} runs that the matrix does not declare; they count like the others")
    if left:
        print(f"left: {_told(cost(found, left))}")
        print(f"queue: {queue_guess(found, left)}")
        how = "--profile slurm" if declared.launch["scheduler"] == "slurm" else "--cores all"
        print(f"start: snakemake {how} measure --config measure={declared.name}")


def _further(found: Plan) -> list[Run]:
    """Return the repeats that adaptive cells may come to beside those of the plan."""
    there = {run.name for run in found.runs}
    names = (
        f"{cell}-r{repeat:02d}" for cell, (_, most) in found.adaptive.items() for repeat in range(1, most + 1)
    )
    return [found.run(name) for name in names if name not in there]


def _told(price: Cost) -> str:
    hours = f"{price.node_hours:.2f} node hours expected, {price.node_hours_limit:.2f} at the time limits"
    return f"{price.runs} runs, {hours}; {duration(price.duration)} if all nodes are free"


def _cost_row(found: Plan, name: str, runs: Sequence[Run]) -> dict[str, Any]:
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
    # A column in which nothing was chosen says nothing.
    keys = [key for key in rows[0] if key not in DEFAULTS or any(row[key] != "" for row in rows)]
    cells = [[str(row[key]).replace("True", "yes").replace("False", "no") for key in keys] for row in rows]
    widths = [max(len(key), *(len(row[at]) for row in cells)) for at, key in enumerate(keys)]
    numeric = [isinstance(rows[0][key], int) or _is_number(cells, at) for at, key in enumerate(keys)]
    for line in [keys, *cells]:
        pairs = zip(line, widths, numeric, strict=True)
        print(
            "  ".join(
                f"{text:>{width}}" if right else f"{text:<{width}}" for text, width, right in pairs
            ).rstrip()
        )


def _is_number(cells: Sequence[Sequence[str]], at: int) -> bool:
    return all(row[at].replace(".", "", 1).isdecimal() for row in cells)
