"""How runs were executed: other days or hosts of two sides, a drift along time, runs far from the rest."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from analysis.base.orders import p_of_order
from analysis.estimates.finding import DAY, HOST, ORDER, Remark, at_once, measuring_days
from analysis.estimates.spelling import plain
from analysis.estimates.stats import NO_DAY, covers_days

_BY_CHANCE = 0.05  # sides that runs in a random order separate as often as this were not kept apart
_UNEQUAL = 0.55  # Cramér's V of sides and hosts
_NO_CHANCE, _DRIFT, _FEW = 0.001, 0.05, 5  # a drift is no chance and so large; runs of which one can be far
# Other machines have other hosts, and are measured on other days, by nature.
_MACHINES = frozenset({"cluster", "cpu", "host_group"})
_IN_MACHINE = _MACHINES | {"dimm"}


def generated(*parts: pd.DataFrame) -> bool:
    """Tell whether any of some runs were generated, whose truth is declared."""
    return any((part["evidence"].to_numpy() == "synthetic").any() for part in parts)


def on_other_days(top: pd.DataFrame, bottom: pd.DataFrame) -> bool:
    """Tell whether two sides share no day, so that its effect may be taken for theirs.

    Sides of six days or more each, mixed in time, are compared day by day.
    """
    days = [one[one != NO_DAY] for one in map(measuring_days, (top, bottom))]
    if not all(map(len, days)) or not _apart(*([[day] for day in one] for one in days)):
        return False
    many = all(covers_days(len(set(one))) for one in days)
    return not many or max(days[0]) < min(days[1]) or max(days[1]) < min(days[0])


def conditions(changed: Iterable[str], top: pd.DataFrame, bottom: pd.DataFrame) -> Iterator[str]:
    """Name in what two sides were executed differently: day, order or hosts."""
    if generated(top, bottom) or _MACHINES & set(changed):
        return
    if on_other_days(top, bottom):
        yield DAY
    elif _one_after_the_other(top, bottom):
        yield ORDER
    hosts = [
        [set(filter(None, str(text).split(","))) for text in part["node_list"]] for part in (top, bottom)
    ]
    if not all(map(all, hosts)) or _IN_MACHINE & set(changed):
        return
    own, others = (set().union(*side) for side in hosts)
    # More nodes are the hosts of fewer with others, by nature.
    grown = "nodes" in changed and (own <= others or others <= own)
    if _apart(*hosts) or (not grown and _mostly_apart(*hosts)):
        yield HOST


def _one_after_the_other(top: pd.DataFrame, bottom: pd.DataFrame) -> bool:
    """Tell whether all runs of one side were before all of the other, and not by chance."""
    starts = [part["start"] for part in (top, bottom)]
    known = not any(one.isna().any() for one in starts)
    sides = [one.to_numpy("datetime64[ns]").astype("i8") for one in starts] if known else []
    if not known:
        sides = [part["order"].to_numpy() for part in (top, bottom)]
        if min(map(min, sides)) < 0:
            return False
    apart = max(sides[0]) < min(sides[1]) or max(sides[1]) < min(sides[0])
    apart = apart and not at_once(pd.concat([top, bottom]), np.repeat([0, 1], [len(top), len(bottom)]))
    return bool(apart) and 2 / math.comb(len(top) + len(bottom), len(top)) < _BY_CHANCE


def _apart(top: Sequence[Iterable[Any]], bottom: Sequence[Iterable[Any]]) -> bool:
    """Tell whether sides share no day or host, and runs put to sides by chance would have.

    Runs that share one belong together. Each side is a list of what its runs were on.
    """
    runs = [frozenset(one) for one in (*top, *bottom)]
    labels = {one: at for at, one in enumerate(dict.fromkeys(one for run in runs for one in run))}
    rows = [at for at, run in enumerate(runs) for _ in run]
    columns = [len(runs) + labels[one] for run in runs for one in run]
    size = len(runs) + len(labels)
    joined = coo_array((np.ones(len(rows)), (rows, columns)), shape=(size, size))
    group = connected_components(joined, directed=False)[1][: len(runs)]
    if set(group[: len(top)]) & set(group[len(top) :]):
        return False
    if len(set(group)) * 2 > len(runs):  # on many hosts or days: those of a few runs say nothing
        return False
    ways = [1] + [0] * len(top)  # in which whole groups make up a side of so many runs
    for own in np.unique(group, return_counts=True)[1].tolist():
        ways = [count + (ways[at - own] if at >= own else 0) for at, count in enumerate(ways)]
    return ways[len(top)] / math.comb(len(runs), len(top)) < _BY_CHANCE


def _mostly_apart(top: Sequence[Iterable[str]], bottom: Sequence[Iterable[str]]) -> bool:
    """Tell whether the sides used the same few hosts, but each mostly its own.

    That is 80 % of each side on hosts of its own, or as unequal by Cramér's V, and no chance.
    """
    names = [",".join(sorted(one)) for one in (*top, *bottom)]
    labels, codes = np.unique(names, return_inverse=True)
    if not 2 <= len(labels) <= len(names) // 4:
        return False
    table = np.array([np.bincount(part, minlength=len(labels)) for part in np.split(codes, [len(top)])])
    found = stats.chi2_contingency(table, correction=False)
    if found.statistic < _UNEQUAL**2 * len(names):
        return False
    p = stats.fisher_exact(table).pvalue if len(labels) == 2 else found.pvalue
    return bool(p < _BY_CHANCE / 2)


def remarks(factor: str, top: pd.DataFrame, bottom: pd.DataFrame) -> Iterator[Remark]:
    """Note what is odd about the runs of two levels: a drift, runs far from the rest, days of one alone."""
    parts = [(plain(part[factor].iat[0]), part) for part in (top, bottom)]
    for level, part in parts:
        if (change := drift(part)) is not None:
            yield Remark("drift", level, *change)
        if (far := far_runs(part)) is not None:
            yield Remark("far", level, far[0], count=far[1])
    days = [measuring_days(part) for _, part in parts]
    shared = set(days[0]) & set(days[1])
    if NO_DAY in {*days[0], *days[1]} or covers_days(len(shared)) or not shared:
        return  # by days, or the day is one of the causes
    shares = [float(np.mean([day not in shared for day in own])) for own in days]
    if max(shares) > 0.5:
        yield Remark("days", parts[int(np.argmax(shares))][0], max(shares))


def drift(part: pd.DataFrame) -> tuple[float, float] | None:
    """Return the relative change of a cell's runs along time and its days, None if there is no clear one.

    Clear is Kendall's tau with p < 0.001 and 5 % or more, by the median of all slopes (Theil and Sen).
    """
    values = part["value"].to_numpy("f8")
    if part["start"].isna().any() or generated(part) or (values <= 0).any():
        return None
    days = part["start"].to_numpy("datetime64[s]").astype("f8") / 86_400
    span = float(np.ptp(days))
    if span == 0 or not p_of_order(days, values) < _NO_CHANCE:
        return None
    change = math.expm1(float(stats.theilslopes(np.log(values), days).slope) * span)
    return (change, span) if abs(change) >= _DRIFT else None


def far_runs(part: pd.DataFrame) -> tuple[float, int] | None:
    """Return how many times the median the farthest run is and how many are far, None if none or many are.

    Far is eight times the scatter (1.48 times the median deviation) of five runs or more, and 1.4 times.
    """
    values = part["value"].to_numpy("f8")
    if len(values) < _FEW or (values <= 0).any():
        return None
    away = np.log(values) - np.median(np.log(values))
    far = np.abs(away) > max(8 * 1.4826 * float(np.median(np.abs(away))), math.log(1.4))
    count = int(far.sum())
    worst = float(values[np.argmax(np.abs(away))] / np.median(values))
    return (worst, count) if 0 < 4 * count <= len(values) else None
