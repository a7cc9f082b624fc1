"""What moved with a difference: MPI time and the calls that hold it, messages, watts. Told, not tested."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.base.words import Level, significant
from analysis.datasets.profile import HOUSEKEEPING
from analysis.estimates.by_profile import SENDING
from analysis.estimates.by_run import rows_of
from analysis.estimates.campaign import Campaign
from analysis.findings.compare import BETTER, WORSE, Differences
from analysis.findings.matching import MatchedCell, names

# So many calls are named, those whose time changed most.
_CALLS = 2


@dataclass(frozen=True, slots=True)
class CallMoved:
    """A call before and after: s a rank, % of MPI time, calls over all ranks; medians over runs."""

    call: str
    time: tuple[float, float]
    share: tuple[float, float]
    count: tuple[float, float]

    def __str__(self) -> str:
        time, share, count = (_pair(one) for one in (self.time, self.share, self.count))
        return f"{self.call} {time} s a rank ({share} % of MPI time, {count} calls)"


@dataclass(frozen=True)
class Moved:
    """What moved in a cell that became better or worse; `profiled` is the profiler of the runs it is from."""

    cell: int
    name: str
    profiled: str
    calls: tuple[CallMoved, ...]
    totals: Mapping[str, tuple[float, float]]

    def __str__(self) -> str:
        words = [f"{name} {_pair(pair)} {unit}".rstrip() for (name, unit), pair in self._totals()]
        under = f" (under {self.profiled})" if self.profiled else ""
        return f"{self.name}{under}: " + "; ".join([*words, *map(str, self.calls)])

    def _totals(self) -> list[tuple[tuple[str, str], tuple[float, float]]]:
        units = {"MPI time": "s a rank", "mean message": "B", "mean power": "W"}
        return [((name, units.get(name, "")), pair) for name, pair in self.totals.items()]


def _pair(pair: tuple[float, float]) -> str:
    before, after = (significant(value, 3) for value in pair)
    return f"{before} → {after}" if before != after else f"{before} as before"


def moved(found: Differences, before: Campaign, after: Campaign) -> list[Moved]:
    """Say of each cell that became better or worse what else moved, medians of its runs.

    Of a cell without profiles the runs that differ from it in the profiler alone are asked. Cells of which
    nothing is known are left out.
    """
    spelt, _ = names(found.cells)
    out = []
    for at in dict.fromkeys(row.cell for row in found.rows if row.word in (WORSE, BETTER)):
        cell = found.cells[at]
        profiler = ""
        for one in (cell, *_profiled(found.cells, cell)):
            calls, totals = _calls(one, before, after)
            if calls:
                profiler = str(one.factors["profiler"])
                break
        watts = [float(side["mean_power"].median()) for side in (cell.before, cell.after)]
        if np.isfinite(watts).all():
            totals = totals | {"mean power": (watts[0], watts[1])}
        if calls or totals:
            out.append(Moved(at, spelt[at], profiler, calls, totals))
    return out


def _profiled(cells: tuple[MatchedCell, ...], cell: MatchedCell) -> list[MatchedCell]:
    def rest(one: MatchedCell) -> dict[str, Level]:
        return {name: level for name, level in one.factors.items() if name != "profiler"}

    return [one for one in cells if one is not cell and rest(one) == rest(cell)]


def _calls(
    cell: MatchedCell, before: Campaign, after: Campaign
) -> tuple[tuple[CallMoved, ...], dict[str, tuple[float, float]]]:
    sides = [_by_call(before, cell.before), _by_call(after, cell.after)]
    if any(side.empty for side in sides):
        return (), {}
    both = sides[0].add_suffix("_before").join(sides[1].add_suffix("_after"), how="outer").fillna(0.0)
    both = both[~both.index.isin(HOUSEKEEPING)]
    change = (both["time_after"] - both["time_before"]).abs()
    largest = change[change > 0].sort_values(ascending=False).index[:_CALLS]

    def pair(call: str, name: str) -> tuple[float, float]:
        return float(both[f"{name}_before"][call]), float(both[f"{name}_after"][call])

    calls = tuple(CallMoved(str(one), *(pair(one, n) for n in ("time", "share", "count"))) for one in largest)
    totals = {
        name: (value, other)
        for (name, value), other in zip(
            _totals(before, cell.before).items(), _totals(after, cell.after).values(), strict=True
        )
        if np.isfinite([value, other]).all()
    }
    return calls, totals


def _by_call(campaign: Campaign, runs: pd.DataFrame) -> pd.DataFrame:
    """Return the medians over runs of time (s a rank), share (% of MPI time) and count of each call."""
    table = rows_of(campaign, "calls", runs)
    if table.empty:
        return pd.DataFrame()
    each = table.groupby(["run", "call"])[["time", "count"]].sum().reset_index()
    each["share"] = 100 * each["time"] / each.groupby("run")["time"].transform("sum")
    each["time"] /= each["run"].map(runs.set_index("run")["ranks"])
    # A call that a run did not make took no time in it.
    return pd.DataFrame(
        {
            name: each.pivot(index="run", columns="call", values=name).fillna(0.0).median()
            for name in ("time", "share", "count")
        }
    )


def _totals(campaign: Campaign, runs: pd.DataFrame) -> dict[str, float]:
    """Return the medians over runs of MPI time (s a rank), messages, and their mean size (B)."""
    calls = rows_of(campaign, "calls", runs)
    seconds = calls.groupby("run")["time"].sum() / runs.set_index("run")["ranks"]
    sent = rows_of(campaign, "messages", runs)
    sent = sent[sent["call"].isin(SENDING)]
    sums = sent.assign(bytes=sent["size"] * sent["count"]).groupby("run")[["bytes", "count"]].sum()
    size = sums["bytes"] / sums["count"]
    values = {"MPI time": seconds, "messages": sums["count"], "mean message": size}
    return {name: float(one.median()) if len(one) else np.nan for name, one in values.items()}
