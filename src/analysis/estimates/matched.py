"""Single runs of many cells: each cell gives a ratio or a trend, and the cells are the sample.

Other people's tables mostly have one run per cell. A cell alone has no interval, and medians of times over
cells would mix unlike problems. But the two sides of a cell are alike in everything else, and ratios of cells
can be compared. Their median says what the usual cell shows. Its interval is over cells, not over repeats,
and holds for cells like these.

"Up to" speaks of the largest cell. Of single runs nobody knows how far noise has raised the largest one, or
lowered a larger one: it has a bound on one side alone. If no cell were truly above a value, each would be
seen above it in at most half of all cases, so the bound is that of the median.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from scipy.stats import combine_pvalues

from analysis.base.words import Level
from analysis.estimates import stats
from analysis.estimates.campaign import NotCoveredError
from analysis.estimates.finding import Finding
from analysis.estimates.question import Question
from analysis.estimates.stats import LEVEL, Equivalence, Estimate

_QUANTITIES = ("speedup", "gain", "reduction", "efficiency", "equality", "interaction", "trend")
_SHOWN = 12
EXTREMES = {"max": "largest", "min": "least"}  # cells, by what a question takes of them


def matched(question: Question, found: Sequence[Finding], factors: Sequence[str]) -> list[Finding]:
    """Put findings that differ in some factors alone into one: their median, with an interval over cells.

    Of "up to" and "at worst" their extreme, with a bound on one side. Cells that share a run raise
    `NotCoveredError`.
    """
    if not factors or question.quantity not in _QUANTITIES:
        return list(found)
    groups: dict[tuple[tuple[str, Level], ...], list[Finding]] = {}
    for one in found:
        key = tuple((name, level) for name, level in one.stratum.items() if name not in factors)
        groups.setdefault(key, []).append(one)
    return [_one(question, group, factors) if len(group) > 1 else group[0] for group in groups.values()]


def _one(question: Question, group: Sequence[Finding], factors: Sequence[str]) -> Finding:
    _apart(group)
    values = sorted(one.estimate.value if one.middle is None else one.middle for one in group)
    which = EXTREMES.get(question.aggregate, "median")
    listed = ", ".join(f"{value:.3g}" for value in values[:_SHOWN])
    more = f" to {values[-1]:.3g}" if len(values) > _SHOWN else ""
    differing = [name for name in factors if len({one.stratum.get(name) for one in group}) > 1]
    names = ", ".join(name.replace("_", " ") for name in differing)
    first, heads = group[0], {one.compared.partition(";")[0] for one in group}
    head = heads.pop() if len(heads) == 1 else "each cell along its own levels"
    return replace(
        first,
        estimate=stats.median(values) if which == "median" else _extreme(values, which == "largest"),
        compared=f"{head}; {which} of {len(group)} cells, which differ in {names}",
        arithmetic=f"of each cell: {listed}{more}",
        runs=tuple(dict.fromkeys(run for one in group for run in one.runs)),
        base=None,
        equivalence=_equivalence(values, question.margin) if question.quantity == "equality" else None,
        steps=(),
        middle=None,
        chance=_chance(group),
        stratum={name: level for name, level in first.stratum.items() if name not in factors},
        confounded=next((one.confounded for one in group if one.confounded), None),
    )


def _apart(group: Sequence[Finding]) -> None:
    """Refuse cells that share a run: one slow baseline lifts the ratios of all its cells at once."""
    count = Counter(run for one in group for run in set(one.runs))
    shared = sorted(run for run, cells in count.items() if cells > 1)
    if shared:
        raise NotCoveredError(
            f"{len(group)} cells are not independent: {count[shared[0]]} of them share the run {shared[0]}"
        )


def _extreme(values: Sequence[float], largest: bool, level: float = LEVEL) -> Estimate:
    """Estimate the largest or the least of the true values of cells with single runs."""
    middle = stats.median(values).at(level)
    ends = (middle.low, math.inf) if largest else (-math.inf, middle.high)
    return replace(
        middle, value=max(values) if largest else min(values), low=ends[0], high=ends[1],
        half_open=middle.bounded, again=partial(_extreme, values, largest),
    )  # fmt: skip


def _equivalence(ratios: Sequence[float], margin: float) -> Equivalence:
    """Test whether cells are equal within a margin: each of them must be, and the sign test on each side."""
    within = all(1 / (1 + margin) <= ratio <= 1 + margin for ratio in ratios)
    p = 0.5 ** len(ratios) if within else 1.0
    return Equivalence(margin, p, p)


def _chance(group: Sequence[Finding]) -> float | None:
    """Combine the p-values of trends, each in its direction, by Stouffer's method."""
    if any(one.chance is None for one in group):
        return None
    rising = np.array([one.estimate.value > 0 for one in group])
    halves = np.array([one.chance for one in group], dtype="f8") / 2
    sides = np.clip(np.where(rising, halves, 1 - halves), 1e-12, 1 - 1e-12)
    found = float(combine_pvalues(sides, method="stouffer").pvalue)
    return 2 * min(found, 1 - found)
