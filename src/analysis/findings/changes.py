"""What else changed in a cell that became better or worse: MPI time, calls, messages. Not tested."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from analysis.base.words import significant
from analysis.datasets.profile import HOUSEKEEPING
from analysis.estimates.campaign import Campaign
from analysis.estimates.measures import SENDING, rows_of
from analysis.findings.matching import MatchedCell, names

Pair = tuple[float, float]  # before and after
# So many calls are named, those whose time changed most.
_CALLS = 2
_UNITS = {"MPI time": "s per rank", "mean message": "B"}


@dataclass(frozen=True, slots=True)
class CallChange:
    """A call before and after: s per rank, % of MPI time, calls over all ranks; medians over runs."""

    call: str
    time: Pair
    share: Pair
    count: Pair

    def __str__(self) -> str:
        time, share, count = map(_text, (self.time, self.share, self.count))
        return f"{self.call} {time} s per rank ({share} % of MPI time, {count} calls)"


@dataclass(frozen=True)
class CellChange:
    """What changed in a cell; `profiled` is the profiler of the runs that it is from."""

    cell: int
    name: str
    profiled: str
    calls: tuple[CallChange, ...]
    totals: Mapping[str, Pair]

    def __str__(self) -> str:
        under = f" (under {self.profiled})" if self.profiled else ""
        totals = (
            f"{name} {_text(pair)} {_UNITS.get(name, '')}".rstrip() for name, pair in self.totals.items()
        )
        return f"{self.name}{under}: " + "; ".join([*totals, *map(str, self.calls)])


def _text(pair: Pair) -> str:
    before, after = (significant(value, 3) for value in pair)
    return f"{before} → {after}" if before != after else f"{before} as before"


def cell_changes(
    cells: Sequence[MatchedCell], chosen: Iterable[int], before: Campaign, after: Campaign
) -> Iterator[CellChange]:
    """Compare medians of the profiles of some of the cells.

    For a cell without profiles, the runs that differ from it in the profiler alone are used. Cells without
    any values are left out.
    """
    spelt, _ = names(cells)
    for at in chosen:
        cell, profiler = cells[at], ""
        calls: tuple[CallChange, ...] = ()
        totals: dict[str, Pair] = {}
        for one in (cell, *_profiled(cells, cell)):
            calls, totals = _calls(one, before, after)
            if calls:
                profiler = str(one.factors["profiler"])
                break
        if calls or totals:
            yield CellChange(at, spelt[at], profiler, calls, totals)


def _profiled(cells: Sequence[MatchedCell], cell: MatchedCell) -> list[MatchedCell]:
    own = {**cell.factors, "profiler": ""}
    return [one for one in cells if one is not cell and {**one.factors, "profiler": ""} == own]


def _calls(
    cell: MatchedCell, before: Campaign, after: Campaign
) -> tuple[tuple[CallChange, ...], dict[str, Pair]]:
    sides = ((before, cell.before), (after, cell.after))
    tables = [_by_call(*side) for side in sides]
    if any(table.empty for table in tables):
        return (), {}
    # A call that one side did not make took no time in it.
    both = pd.concat(tables, axis=1, keys=("before", "after")).fillna(0.0)
    both = both.drop(list(HOUSEKEEPING), errors="ignore")
    change = (both["after"]["time"] - both["before"]["time"]).abs()
    largest = change[change > 0].sort_values(ascending=False).index[:_CALLS]

    def pair(call: str, name: str) -> Pair:
        return float(both["before"][name][call]), float(both["after"][name][call])

    calls = tuple(
        CallChange(str(one), *(pair(one, n) for n in ("time", "share", "count"))) for one in largest
    )
    totals = pd.concat([_totals(*side) for side in sides], axis=1).dropna()
    return calls, {str(name): (float(a), float(b)) for name, a, b in totals.itertuples(name=None)}


def _by_call(campaign: Campaign, runs: pd.DataFrame) -> pd.DataFrame:
    """Return the medians over runs of time (s per rank), share (% of MPI time) and count of each call."""
    table = rows_of(campaign, "calls", runs)
    if table.empty:
        return pd.DataFrame()
    each = table.groupby(["run", "call"])[["time", "count"]].sum().reset_index()
    each["share"] = 100 * each["time"] / each.groupby("run")["time"].transform("sum")
    each["time"] /= each["run"].map(runs.set_index("run")["ranks"])
    # A call that a run did not make took no time in it.
    medians = each.pivot(index="run", columns="call").fillna(0.0).median()
    return pd.DataFrame(medians.unstack(0))


def _totals(campaign: Campaign, runs: pd.DataFrame) -> pd.Series:
    """Return the medians over runs of MPI time (s per rank), messages, and their mean size (B)."""
    calls = rows_of(campaign, "calls", runs)
    seconds = calls.groupby("run")["time"].sum() / runs.set_index("run")["ranks"]
    sent = rows_of(campaign, "messages", runs)
    sent = sent[sent["call"].isin(SENDING)]
    sums = sent.assign(bytes=sent["size"] * sent["count"]).groupby("run")[["bytes", "count"]].sum()
    size = sums["bytes"] / sums["count"]
    values = {"MPI time": seconds, "messages": sums["count"], "mean message": size}
    return pd.Series({name: float(one.median()) for name, one in values.items()})
