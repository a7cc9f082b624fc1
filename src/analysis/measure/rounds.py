"""Further repeats: cells whose median is not yet known as closely as the campaign asks."""

import math
import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from analysis.base import project
from analysis.datasets.applications import load_applications
from analysis.datasets.run import read_run
from analysis.estimates import stats
from analysis.measure import folders
from analysis.measure.matrix import MatrixPlan, Run


def more(plan: MatrixPlan) -> list[Run]:
    """Name the further repeats that a campaign asks for by what was measured, those that are there included.

    None for cells whose first repeats are not all there: what they need is not known yet.
    """
    if not plan.adaptive:
        return []
    base, campaign = plan.declared.base, plan.declared.name
    there = folders.recorded(base, campaign)
    first = defaultdict(list)
    for run in plan.runs:
        if run.cell in plan.adaptive:
            first[run.cell].append(run.name)
    found: list[Run] = []
    for cell, names in first.items():
        within, most = plan.adaptive[cell]
        have = sorted(name for name in there if re.fullmatch(rf"{re.escape(cell)}-r\d+", name))
        count = max(len(names), len(have))
        if set(names) <= there:
            values = figures([folders.finished(base, campaign) / name for name in have])
            count = wanted(values, within, most, count)
        found += [plan.run(f"{cell}-r{repeat:02d}") for repeat in range(len(names) + 1, count + 1)]
    return found


def wanted(values: Sequence[float], within: float, most: int, repeats: int) -> int:
    """Say how many repeats a cell needs: `repeats` as there are, or more, at most twice as many at a time.

    `values` are figures of merit, NaN of invalid runs; the ends of their median's interval may be `within` a
    share of it away. The width falls with the square root of n: n (w / within)^2 repeats are expected to do.
    """
    estimate = stats.median(values)
    if not estimate.full or estimate.value == 0:
        return min(most, max(repeats + 1, repeats + stats.MIN_REPEATS - estimate.n))
    width = max(estimate.high - estimate.value, estimate.value - estimate.low) / abs(estimate.value)
    if width <= within:
        return repeats
    return min(most, 2 * repeats, max(repeats + 1, math.ceil(repeats * (width / within) ** 2)))


def figures(runs: Sequence[Path]) -> list[float]:
    """Read the figure of merit of some runs, by their folders; wall-clock time where there is no single one.

    NaN where the run may not enter a statistic.
    """
    applications = load_applications(project.root() / "config" / "applications")
    found = []
    for folder in runs:
        row = read_run(folder, applications).row
        value = row["figure_of_merit"]
        found.append(math.nan if row["reason"] else row["elapsed"] if math.isnan(value) else value)
    return found
