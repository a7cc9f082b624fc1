"""Single runs of many cells: each cell gives a ratio or a trend, and the cells are the sample.

Other people's tables mostly have one run per cell. A cell alone has no interval, and medians of times over
cells would mix unlike problems. But the two sides of a cell are alike in everything else, and ratios of cells
can be compared. Their median says what the usual cell shows. Its interval is over cells, not over repeats,
and holds for cells like these.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.stats import combine_pvalues

from analysis.base.words import Level
from analysis.estimates import stats
from analysis.estimates.finding import Finding

_QUANTITIES = ("speedup", "gain", "reduction", "efficiency", "equality", "interaction", "trend")
_SHOWN = 12


def matched(quantity: str, found: Sequence[Finding], factors: Sequence[str]) -> list[Finding]:
    """Put findings that differ in some factors alone into one: their median, with an interval over cells."""
    if not factors or quantity not in _QUANTITIES:
        return list(found)
    groups: dict[tuple[tuple[str, Level], ...], list[Finding]] = {}
    for one in found:
        key = tuple((name, level) for name, level in one.stratum.items() if name not in factors)
        groups.setdefault(key, []).append(one)
    return [_one(group, factors) if len(group) > 1 else group[0] for group in groups.values()]


def _one(group: Sequence[Finding], factors: Sequence[str]) -> Finding:
    values = sorted(one.estimate.value for one in group)
    listed = ", ".join(f"{value:.3g}" for value in values[:_SHOWN])
    more = f" to {values[-1]:.3g}" if len(values) > _SHOWN else ""
    differing = [name for name in factors if len({one.stratum.get(name) for one in group}) > 1]
    names = ", ".join(name.replace("_", " ") for name in differing)
    first, heads = group[0], {one.compared.partition(";")[0] for one in group}
    head = heads.pop() if len(heads) == 1 else "each cell along its own levels"
    return replace(
        first,
        estimate=stats.median(values),
        compared=f"{head}; median of {len(group)} cells, which differ in {names}",
        arithmetic=f"of each cell: {listed}{more}",
        runs=tuple(dict.fromkeys(run for one in group for run in one.runs)),
        base=None,
        equivalence=None,
        steps=(),
        chance=_chance(group),
        stratum={name: level for name, level in first.stratum.items() if name not in factors},
        confounded=next((one.confounded for one in group if one.confounded), None),
    )


def _chance(group: Sequence[Finding]) -> float | None:
    """Combine the p-values of trends, each in its direction, by Stouffer's method."""
    if any(one.chance is None for one in group):
        return None
    rising = np.array([one.estimate.value > 0 for one in group])
    halves = np.array([one.chance for one in group], dtype="f8") / 2
    sides = np.clip(np.where(rising, halves, 1 - halves), 1e-12, 1 - 1e-12)
    found = float(combine_pvalues(sides, method="stouffer").pvalue)
    return 2 * min(found, 1 - found)
