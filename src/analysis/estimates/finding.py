"""What was found for a question in one stratum, and how it is put into words."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.base.words import Level
from analysis.estimates import stats
from analysis.estimates.stats import NO_DAY, Estimate
from analysis.schema.factors import BRIEF, display_name, labelled, level_name

Cell = Mapping[str, Level]  # the levels of all factors
# What two sides may differ in, next to factors: how they were measured.
DAY, ORDER, HOST = "day", "order", "host"
_DAY = 86_400 * 10**9  # ns
_FEW = 30  # runs of which all columns are made objects sooner than some are chosen
_TALL = 1_000  # runs whose factors are compared one after the other: all at once are as many objects
UNKNOWN_ORDER = "the order of its runs is not known, so its sides may have been run one after the other"
ONE_AFTER_ANOTHER = "its sides were run one after the other, not in turn"
IN_ORDER = f"{ONE_AFTER_ANOTHER}, and nothing says that this was one session"
AT_ONCE = "its sides ran at the same time, as jobs that may disturb each other"
SAME_FIRST = "in each pair, or in nearly each, the same side was run first"
OTHER_SYSTEMS = "its sides are different systems, which may differ in more than is compared"
OTHER_HOURS = "its sides were run at different times of day"
# How a sentence is limited by that, and the words for a claim that its runs agree with or contradict.
LIMITED = {
    ONE_AFTER_ANOTHER: ("in that session", "in that session only", "not in that session"),
    IN_ORDER: ("in that order of runs", "in that order of runs only", "not in that order of runs"),
    AT_ONCE: ("in runs at the same time", "in runs at the same time only", "not in runs at the same time"),
    SAME_FIRST: ("in that order of runs", "in that order of runs only", "not in that order of runs"),
    OTHER_HOURS: ("at those times of day", "at those times of day only", "not at those times of day"),
    UNKNOWN_ORDER: (
        "in runs whose order is not known",
        "agrees, order of runs not known",
        "disagrees, order of runs not known",
    ),
    OTHER_SYSTEMS: ("between different systems", "agrees, systems differ", "disagrees, systems differ"),
}


# How a size that the runs rule out ends a word; without it the size is open.
RULED_OUT = (", smaller", ", larger")


def directed(agrees: str, size: str = "") -> str:
    """Return the word of `LIMITED` for runs that agree with a claim in its direction, not in its size.

    `size` is one of `RULED_OUT`; any other leaves the claimed size open.
    """
    return f"direction {agrees}{size if size in RULED_OUT else ''}"


@dataclass(frozen=True)
class Confounded:
    """What always differs between the two sides of a comparison, so that an effect has no single cause.

    `causes` are factors, the compared `factor` among them, then `DAY ORDER HOST`; `sides` the cells of
    treatment and baseline; `missing` the cells in between, in which one cause differs from one to the next,
    and `repeats` how many runs of each cell would tell.
    """

    factor: str
    causes: tuple[str, ...]
    sides: tuple[Cell, Cell]
    missing: tuple[Cell, ...]
    repeats: int

    @property
    def in_session(self) -> bool:
        """Whether the order of the runs is the only other cause: the effect is one of that session."""
        return self.causes[1:] == (ORDER,)


@dataclass(frozen=True, slots=True)
class Remark:
    """What a reader must know of the runs of one level: a drift, far runs, or other days.

    `value` is the relative change over so many `days`, how many times their median the farthest of `count`
    runs is, or the share of runs of days that the other side has not.
    """

    kind: Literal["drift", "far", "days"]
    level: Level
    value: float
    days: float = 0.0
    count: int = 1


@dataclass(frozen=True)
class Finding:
    """An estimate, in the unit of the question, with the runs and numbers behind it.

    `compared` names the two sides and what both have in common; `arithmetic` is the calculation; `base` has
    the value, unit and name of the baseline. `steps` are the ratios of the steps of an order or a saturation,
    of the `strata` of a crossover, or at the lower and upper end of an interaction. `chance` is the p-value
    of a trend, `middle` Kendall's tau of the medians of its levels. `members` is the set that was found;
    `unequal` names the runs whose set differs from the claimed one. `stratum` has the factors in which all
    runs agree. `confounded` is what else differs between all runs of the two sides; `remarks` are a drift and
    the like. `session` states why a comparison has no full word (a key of `LIMITED`), empty if its sides were
    interleaved.
    """

    estimate: Estimate
    compared: str
    arithmetic: str
    runs: tuple[str, ...]
    base: tuple[float, str, str] | None = None
    equivalence: stats.Equivalence | None = None
    steps: tuple[Estimate, ...] = ()
    chance: float | None = None
    middle: float | None = None
    session: str = ""
    members: frozenset[Level] | None = None
    unequal: tuple[str, ...] = field(default=())
    stratum: Mapping[str, Level] = field(default_factory=dict)
    strata: tuple[Mapping[str, Level], ...] = ()
    confounded: Confounded | None = None
    remarks: tuple[Remark, ...] = ()


def parted(frame: pd.DataFrame, names: Sequence[str]) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """Split runs as `parts` does, with the levels of each part."""
    table = _table(frame, names) if 0 < len(frame) <= _TALL else None
    if table is None or _varies(table).any():
        yield from ((first_levels(part, names), part) for part in parts(frame, names))
    else:  # one look at them tells both
        yield dict(zip(names, table[0].tolist(), strict=True)), frame


def parts(frame: pd.DataFrame, names: Sequence[str]) -> Iterator[pd.DataFrame]:
    """Split runs into those that agree in every factor named, in the order of their levels."""
    known = varying(frame, names)
    if known:
        yield from (part for _, part in frame.groupby(known, sort=True, dropna=False))
    elif len(frame):
        yield frame


def varying(frame: pd.DataFrame, names: Iterable[str]) -> list[str]:
    """Return the factors in which runs differ: pandas takes as long to group by one that all share."""
    if not len(frame):
        return []
    if len(frame) > _TALL:
        return [name for name in names if _varies(frame[name].to_numpy()[:, None])[0]]
    chosen = list(names)
    return [name for name, varies in zip(chosen, _varies(_table(frame, chosen)), strict=True) if varies]


def _table(frame: pd.DataFrame, names: Sequence[str]) -> NDArray[np.object_]:
    """Return some columns of few runs as objects: it takes longer to get each column than to compare it."""
    # And longer to choose columns by name.
    at = {name: place for place, name in enumerate(frame.columns.tolist())}
    places = [at[name] for name in names]
    if len(frame) <= _FEW:  # and of a few rows longer than to make objects of all
        few: NDArray[np.object_] = frame.to_numpy(dtype=object)[:, places]
        return few
    found: NDArray[np.object_] = frame.take(places, axis=1).to_numpy(dtype=object)
    return found


def _varies(table: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell of each column whether its values differ; blanks are alike."""
    blank = pd.isna(table[0])
    differ: NDArray[np.bool_] = np.any(np.asarray(table != table[0], dtype=bool), axis=0)
    if blank.any():
        differ[blank] = np.any(~pd.isna(table[:, blank]), axis=0)
    return differ


def first_levels(part: pd.DataFrame, names: Iterable[str]) -> dict[str, Any]:
    """Return what the first run of a group has in some columns, as numbers of Python."""
    row = dict(zip(part.columns.tolist(), part.iloc[0].tolist(), strict=True))
    return {name: row[name].item() if isinstance(row[name], np.generic) else row[name] for name in names}


def measuring_days(part: pd.DataFrame) -> NDArray[np.int64]:
    """Return the day of each run, days since 1970 in UTC, `NO_DAY` where its start is not known.

    Generated runs have none either: their dates are made up, and no day did anything to them.
    """
    if "day" in part:  # runs that were measured have it
        days: NDArray[np.int64] = part["day"].to_numpy()
        return days
    if "start" not in part or (part["evidence"].to_numpy() == "synthetic").any():
        return np.full(len(part), NO_DAY)
    start = part["start"].to_numpy().astype("datetime64[D]")
    return np.where(np.isnat(start), NO_DAY, start.astype("i8"))


def places_in_time(part: pd.DataFrame) -> NDArray[np.float64]:
    """Return the place of each run in time, 0 ... n - 1; NaN for all if it is not known of each.

    By the clock, and within one reading of it by the order of execution; by that alone where a clock is not
    known. Jobs that ran at once have neighbouring places by their order, and without one the same place: none
    was first. A day alone gives its runs no order.
    """
    order = part["order"].to_numpy("f8")
    start = part["start"].to_numpy("datetime64[ns]")
    clocked = not np.isnat(start).any()
    when = start.astype("i8").astype("f8") if clocked else np.zeros(len(part))
    # Numbers that all runs share order nothing.
    ordered = bool((order >= 0).all()) and (len(order) < 2 or len(set(order)) > 1)
    days = when[when % _DAY == 0]
    if not ordered and (not clocked or len(set(days)) < len(days)):
        return np.full(len(part), np.nan)
    if not ordered:
        return np.unique(when, return_inverse=True)[1].astype("f8")
    places = np.empty(len(part))
    places[np.lexsort((order, when))] = np.arange(len(part))
    return places


def at_once(runs: pd.DataFrame, sides: NDArray[Any]) -> bool:
    """Tell whether half of the runs or more ran at the same time as one of another side, by their clocks.

    `sides` has the side of each run, shape (n,). A date without a time is no clock.
    """
    # Clocks of whole seconds: a run that follows within one did not run at the same time.
    start, last = runs["start"].to_numpy("datetime64[ms]"), runs["elapsed"].to_numpy("f8") - 1
    begin = start.astype("i8") / 1_000
    if np.isnat(start).any() or (begin % (_DAY / 10**9) == 0).any() or not np.isfinite(last).all():
        return False
    end = begin + np.maximum(last, 0)

    def met(own: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Count for each run those of `own` that had begun before its end and not ended at its start."""
        found: NDArray[np.intp] = np.searchsorted(np.sort(begin[own]), end)
        found -= np.searchsorted(np.sort(end[own]), begin, side="right")
        return found

    beside = np.zeros(len(runs), dtype=bool)
    for side in set(sides):
        beside[sides == side] = (met(sides != side) > 0)[sides == side]
    return bool(beside.mean() >= 1 / 2)


def days_said(estimate: Estimate) -> str:
    """Name the days of the runs, and how far the interval covers an effect of the day; empty if unknown."""
    days, beside = estimate.days, estimate.beside
    if not days:
        return ""
    left = f", and {beside} other run{'s are' if beside > 1 else ' is'} left out" * (beside > 0)
    if len(days) > 1:
        each = " and ".join(map(str, days))
        return f"the sides have {each} days, not the same ones: a day stands for a run{left}"
    if estimate.by_days:
        return f"over {days[0]} days, each of which counts once{left}"
    if days[0] == 1 and not beside:
        return "all runs are from one day: between days is not covered"
    if not days[0]:
        return f"the groups share no day{left}: between days is not covered"
    covered = "few to stand for other days" if days[0] > 1 else "between days is not covered"
    runs = f"all runs are from {days[0]} days"
    if beside:
        who = "the runs are from" if estimate.n_baseline is None else "both sides ran on"
        runs = f"{who} {days[0]} day{'s' * (days[0] > 1)}{left}"
    return f"{runs}: {covered}"


def group_name(factor: str, part: pd.DataFrame) -> str:
    """Name the level of `factor` that the runs of a group have."""
    return labelled(factor, part[factor].iloc[0])


def group_level(factor: str, part: pd.DataFrame) -> Level:
    """Return the level of `factor` that the runs of a group have, which can stand for a claim's own."""
    level: Level = part[factor].iloc[0]
    return level


def common(*parts: pd.DataFrame) -> str:
    """Name the factors in which all the runs agree, the uninteresting ones left out."""
    words = []
    columns = zip(*(_table(part, BRIEF).T.tolist() for part in parts), strict=True)
    for factor, sides in zip(BRIEF, columns, strict=True):
        values = sorted(value for value in set().union(*sides) if pd.notna(value))
        if len(values) == 1 and values[0] not in ("", "none", -1, 0):  # 0 s: no time was given to the run
            words.append(brief_level(factor, values[0]))
        elif len(values) > 1 and factor in ("interconnect", "nodes", "ranks"):
            words.append(f"{factor} {', '.join(map(str, values))}")
    return ", ".join(words)


def brief_level(factor: str, value: Any) -> str:
    """Spell a level in a short description of runs."""
    return f"under {display_name(factor, value)}" if factor == "profiler" else level_name(factor, value)


def median_text(values: pd.Series) -> str:
    """Spell a median with the number of values behind it."""
    return f"{np.median(values):.4g} (n {len(values)})"


def listed(values: pd.Series) -> str:
    """Spell out values in ascending order, or their range if they are many."""
    ordered = sorted(values)
    if len(ordered) <= 12:
        return ", ".join(f"{value:.4g}" for value in ordered)
    return f"{len(ordered)} values from {ordered[0]:.4g} to {ordered[-1]:.4g}"


def runs_of(*parts: pd.DataFrame) -> tuple[str, ...]:
    """Return the names of the runs of several groups."""
    return tuple(run for part in parts for run in part["run"])
