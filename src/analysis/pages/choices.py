"""What is chosen where nobody has: measure, axis, baseline and runs of a question, from a campaign's runs.

A page that is made by itself gives its notebook no levels, no selection and no axis. What is chosen here is
said on the page; with a baseline, a selection or an axis given nothing is chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from analysis.base.words import Level
from analysis.estimates import groups, tables
from analysis.estimates.campaign import Campaign, NotCoveredError
from analysis.estimates.groups import strata
from analysis.estimates.measures import MEASURES, TIMES
from analysis.estimates.measures import unit_of as unit_of_measure
from analysis.pages.comparison import Compared, Stratum, compare
from analysis.pages.runs import Select, question
from analysis.pages.scaling import scaling, series
from analysis.schema.factors import FACTORS, FOLLOWS

# Tables over message sizes, which have no speed of their own.
_BARE = ("osu", "imb")
# What stands for "nothing special" among the levels of a factor.
_PLAIN = ("none", "untuned", "default")
_AXES = ("nodes", "ranks", "case", "interconnect")
# What changes along an axis by nature; within a point of it all runs are alike.
_ALONG: Mapping[str, tuple[str, ...]] = {
    "nodes": ("ranks",),
    "ranks": ("nodes",),
    "interconnect": ("nodes", "ranks_per_node"),
}
# What changes with a compared factor by nature.
_WITH: Mapping[str, tuple[str, ...]] = {
    "local_size": ("case",),
    "nodes": ("ranks",),
    "ranks": ("nodes",),
    "ranks_per_node": ("nodes", "ranks", "placement"),
    "concurrent_jobs": ("ranks", "ranks_per_node", "placement"),
    "build": ("version",),
}
_SPLITS = ("interconnect", "mpi", "cluster", "cpu", "build", "case")
_DRAWN = 3  # figures of one question; what is beyond stands in the table
_SAID = 2  # sentences for each of them
_KINDS = 12  # kinds of run in one figure


@dataclass(frozen=True)
class Answers:
    """What one question finds, application by application; `beside` differs along with the factor."""

    compared: tuple[Compared, ...]
    beside: tuple[str, ...] = ()
    most: int = 1000

    @property
    def drawn(self) -> list[tuple[Compared, Stratum]]:
        """The strata with the most to see, in the order of the table."""
        every = [(one, part) for one in self.compared for part in one.parts]
        kept = sorted(every, key=lambda pair: _weight(*pair), reverse=True)[: self.most]
        return [pair for pair in every if any(pair[1] is part for _, part in kept)]

    @property
    def sentences(self) -> list[str]:
        """What the strata that are drawn say, and how many more there are."""
        out = [text for one, part in self.drawn for text in replace(one, parts=(part,)).sentences]
        every = sum(part.ratios[one.factor].nunique() for one in self.compared for part in one.parts)
        out = out[: _SAID * self.most]
        if left := every - len(out):
            out.append(f"{left} more comparison{'s stand' if left > 1 else ' stands'} in the table below.")
        if self.beside:
            listed = ", ".join(name.replace("_", " ") for name in self.beside)
            out.append(f"No runs differ in this alone: {listed} change with it, and may be what is seen.")
        return out

    @property
    def table(self) -> pd.DataFrame:
        """All ratios, below each other."""
        return tables.stacked(*(one.table for one in self.compared))


def _weight(one: Compared, part: Stratum) -> tuple[int, int]:
    return len(part.ratios), int(part.medians["n"].sum())


def comparisons(
    campaign: Campaign,
    factor: str,
    baseline: Level = "",
    *,
    along: str = "",
    variable: str = "",
    select: Select | None = None,
    varying: Sequence[str] = (),
    beside: Sequence[str] = (),
    members: Sequence[Level] = (),
) -> Answers:
    """Hold the levels of a factor against a baseline, as `compare`; what is not given is chosen.

    Without a baseline each application's runs are compared by its figure of merit, or else by time, along
    the axis with the most points at which levels meet. Where no runs differ in the factor alone, factors
    `beside` may differ too. Raises `NotCoveredError` if no runs can be compared.
    """
    if baseline != "":
        found = compare(
            campaign, factor, baseline, along=along or "nodes", variable=variable or "application_time",
            select=select, varying=varying, members=members,
        )  # fmt: skip
        return Answers((found,))
    asked = [_Asked(part, factor) for part in _applications(campaign, select, factor)]
    for allowed in ((), tuple(beside)):
        told = [one for each in asked if (one := each.answer(allowed)) is not None]
        if told:
            names = tuple(dict.fromkeys(name for _, names in told for name in names))
            return Answers(tuple(one for one, _ in told), names, _DRAWN)
        if not beside:
            break
    name = factor.replace("_", " ")
    raise NotCoveredError(f"no two kinds of run differ in {name} alone, or have a value to compare")


def _applications(campaign: Campaign, select: Select | None, factor: str) -> Iterator[Campaign]:
    """Take each application's runs whose times count, those without a profiler if there are any."""
    runs = campaign.select(select, timing=True) if select else tables.counted(campaign)
    runs = runs[~runs["application"].isin(_BARE)]
    if factor == "tuning" and (runs["tuning"] != "").any():
        runs = runs.assign(tuning=runs["tuning"].replace("", "untuned"))
    if factor in FACTORS:
        runs = runs[np.array([not unknown(level) for level in runs[factor]], dtype=bool)]
    for _, part in runs.groupby("application", sort=True):
        plain = part[part["profiler"] == "none"]
        yield campaign.own(part if factor == "profiler" or plain.empty else plain)


def unknown(level: Any) -> bool:
    """Tell whether a level says nothing."""
    return level in ("", -1) or (isinstance(level, float) and np.isnan(level))


def measure_of(campaign: Campaign, factor: str = "") -> str:
    """Choose the measure of speed of one application's runs: its own figure, or else the time."""
    runs = campaign.runs
    printed = runs["figure_of_merit"].notna()
    rate = printed.any() and (runs.loc[printed, "figure_of_merit_unit"] != "s").all()
    if factor == "concurrent_jobs":
        return "throughput" if rate else "jobs_per_day"
    return "figure_of_merit" if rate else "application_time"


class _Asked:
    """One application's runs, asked for one factor."""

    def __init__(self, campaign: Campaign, factor: str) -> None:
        self.campaign, self.factor = campaign, factor
        self.variable = measure_of(campaign, factor)
        if factor == "concurrent_jobs":
            self.campaign = campaign.own(_same_cores(campaign.runs))
        self.select = {"profiler": sorted(set(self.campaign.runs["profiler"]))}

    def answer(self, beside: Sequence[str]) -> tuple[Compared, tuple[str, ...]] | None:
        """Compare along the best axis; None if no levels meet anywhere."""
        try:
            frame = groups.measured(question(self.campaign, self.variable, self.select), self.campaign)
        except NotCoveredError:
            return None
        tied = tuple(name for name in beside if _differs_with(frame, self.factor, name))
        found = [(self._met(frame, axis, tied), -at, axis) for at, axis in enumerate(_AXES)]
        met, _, axis = max(one for one in found if one[2] != self.factor)
        if not met:
            return None
        varying = self._varying(axis, tied)
        base = self._baseline(frame, axis, varying)
        kind: dict[str, Any] = {"along": axis, "variable": self.variable, "select": self.select}
        try:
            return compare(self.campaign, self.factor, base, varying=varying, **kind), tied
        except NotCoveredError:
            return None

    def _varying(self, axis: str, tied: Sequence[str]) -> tuple[str, ...]:
        natural = (*_ALONG.get(axis, ()), *_WITH.get(self.factor, ()), *tied)
        return tuple(name for name in dict.fromkeys(natural) if name not in (axis, self.factor))

    def _strata(self, frame: pd.DataFrame, axis: str, varying: Sequence[str]) -> Iterator[list[pd.DataFrame]]:
        """Go through the strata in which levels meet: the runs of each point of the axis."""
        spec = MEASURES[self.variable]
        for _, part in strata(frame, (self.factor, axis, *varying), self.campaign, spec):
            met = [one for _, one in part.groupby(axis, sort=True) if one[self.factor].nunique() > 1]
            if met:
                yield met

    def _met(self, frame: pd.DataFrame, axis: str, tied: Sequence[str]) -> int:
        """Count the points of an axis at which two levels meet, in the stratum that has the most."""
        if all(map(unknown, frame[axis])):
            return 0
        varying = self._varying(axis, tied)
        found = list(self._strata(frame, axis, varying))
        if not all(_pure(one, self.factor, varying) for met in found for one in met):
            return 0
        return max(map(len, found), default=0)

    def _baseline(self, frame: pd.DataFrame, axis: str, varying: Sequence[str]) -> Level:
        """Take the level that meets others most often: of numbers the least, of words the slowest."""
        times = unit_of_measure(self.variable, frame) in TIMES
        seen: dict[Level, list[float]] = {}
        for part in (one for met in self._strata(frame, axis, varying) for one in met):
            middle = part.groupby(self.factor)["value"].median()
            with np.errstate(divide="ignore", invalid="ignore"):
                speed = np.log(middle / middle.max()) * (-1 if times else 1)
            for level, value in speed.items():
                seen.setdefault(level, []).append(float(value))
        most = max(map(len, seen.values()))
        often = [level for level, values in seen.items() if len(values) == most]
        if plain := [level for level in often if str(level) in _PLAIN]:
            return plain[0]
        if not isinstance(often[0], str):
            return min(often)
        return min(often, key=lambda level: (float(np.mean(seen[level])), level))


def _pure(part: pd.DataFrame, factor: str, varying: Sequence[str]) -> bool:
    """Tell whether each level's runs are alike in what may differ between levels."""
    each = part.groupby(factor)[list(varying)].nunique() if varying else pd.DataFrame()
    return bool((each <= 1).all().all())


def _differs_with(frame: pd.DataFrame, factor: str, other: str) -> bool:
    """Tell whether another factor has one level for each of the factor's, and not the same for all."""
    if other in (factor, *FOLLOWS.get(factor, ())):
        return False
    return bool((frame.groupby(factor)[other].nunique() <= 1).all()) and frame[other].nunique() > 1


def _same_cores(runs: pd.DataFrame) -> pd.DataFrame:
    """Keep the runs whose jobs, all that ran at once, have the same ranks in all."""
    total = runs["ranks"] * runs["concurrent_jobs"]
    levels = runs.groupby(total)["concurrent_jobs"].nunique()
    kept: pd.DataFrame = runs[total == levels[levels == levels.max()].index.max()]
    return kept


# ---- curves and kinds


def scalings(
    campaign: Campaign,
    *,
    factor: str = "",
    along: str = "nodes",
    variable: str = "",
    select: Select | None = None,
    varying: Sequence[str] = (),
) -> pd.DataFrame:
    """Follow the speed along a count, as `scaling`; without a factor of the curves it is chosen.

    Raises `NotCoveredError` if no runs differ in the count alone.
    """
    if factor:
        return scaling(
            campaign, factor=factor, along=along, variable=variable or "application_time", select=select,
            varying=varying or ("ranks",),
        )  # fmt: skip
    found = []
    for part in _applications(campaign, select, along):
        varied = [name for name in _SPLITS if part.runs[name].nunique() > 1]
        kind = {"profiler": sorted(set(part.runs["profiler"]))}
        for free in (("ranks",),) if along == "nodes" else (("nodes",), ("ranks_per_node",)):
            try:
                table = scaling(
                    part, factor=(*varied, "application")[0], along=along, variable=measure_of(part),
                    select=kind, varying=free,
                )  # fmt: skip
            except NotCoveredError:
                continue
            found.append((str(part.runs["application"].iloc[0]), table))
            break
    if not found:
        raise NotCoveredError(f"no two kinds of run differ in {along} alone")
    several = len(found) > 1
    named = [
        table.assign(runs=(f"{name}, " + table["runs"]).str.removesuffix(", ") if several else table["runs"])
        for name, table in found
    ]
    return tables.stacked(*named)


def widest(table: pd.DataFrame, most: int = _DRAWN) -> pd.DataFrame:
    """Keep the kinds of run of a table of curves with the most points, at most so many."""
    sizes = table.groupby("runs", sort=False).size().sort_values(ascending=False, kind="stable")
    return table[table["runs"].isin(sizes.index[:most])]


def alike(
    campaign: Campaign,
    variable: str,
    select: Select | None = None,
    along: str | None = None,
    *,
    sized: bool = False,
) -> tuple[Campaign, str, str]:
    """Choose one kind of run that has a measure: of all that there are the one that shows most.

    Returns the campaign with these runs alone, the axis, and what they are in a sentence. With `along` None
    all runs of the kind are alike, and those with the most ranks are taken; with an empty text the kind is a
    curve along nodes or ranks, the longest. With a selection, or an axis, nothing is chosen. `sized` asks for
    profiles that know the sizes of messages.
    """
    if select or along:
        return campaign, along or "nodes", ""
    frame = groups.measured(question(campaign, variable), campaign.own())
    if sized:
        messages = campaign.frame("messages")
        frame = frame[frame["run"].isin(set(messages.loc[messages["size"] > 0, "run"]))]
    axes = [""] if along is None else ["nodes", "ranks"]
    best: tuple[tuple[int, int, bool, int], str, pd.DataFrame] | None = None
    kinds = 0
    for axis in axes:
        loose = {axis, "ranks", "ranks_per_node", "nodes"} if axis == "ranks" else {axis, "ranks"}
        fixed = [
            name for name in FACTORS if name not in (loose if axis else ()) and name not in campaign.pool
        ]
        parts = [part for _, part in frame.groupby(fixed, sort=True, dropna=False)]
        kinds = max(kinds, len(parts))
        for part in parts:
            if axis and not _pure(
                part, axis, [name for name in FACTORS if name not in (axis, "ranks", *campaign.pool)]
            ):
                continue
            # Of two profilers IPM costs less and knows more.
            exact = bool((part["profiler"] == "ipm").all())
            size = (part[axis].nunique() if axis else 1, int(part["ranks"].max()), exact, len(part))
            if best is None or size > best[0]:
                best = size, axis, part
    if best is None:
        what = "a profile that knows the sizes of messages" if sized else f"a value for {variable}"
        raise NotCoveredError(f"no runs of one kind have {what}")
    _, axis, part = best
    return campaign.own(part.drop(columns="value")), axis or "nodes", _kind_sentence(part, axis, kinds)


def _kind_sentence(part: pd.DataFrame, axis: str, kinds: int) -> str:
    told = []
    for factor in ("application", "case", "cluster", "interconnect", "mpi", "nodes", "ranks"):
        levels = [level for level in dict.fromkeys(part[factor]) if not unknown(level)]
        if factor != axis and len(levels) == 1 and not (axis and factor == "ranks"):
            told.append(f"{levels[0]}" if isinstance(levels[0], str) else f"{factor} {levels[0]}")
    others = f", one of {kinds} kinds of run that have this" if kinds > 1 else ""
    return f"Shown: {', '.join(told)}{others}."


def wherever(
    campaign: Campaign, variables: Mapping[str, str], *, along: str, select: Select | None = None
) -> pd.DataFrame:
    """Follow measures along a factor as `series`; an empty table where no run has one of them."""
    try:
        return series(campaign, variables, along=along, select=select)
    except NotCoveredError:
        return pd.DataFrame(columns=["series", along, "median", "low", "high", "n"])


def repeated(
    campaign: Campaign, variable: str = "", select: Select | None = None
) -> tuple[Campaign, str, Select]:
    """Choose the runs whose repeats are shown: of each application's kinds those with the most repeats."""
    if variable:
        return campaign, variable, select or {}
    best: tuple[int, Campaign, pd.DataFrame] | None = None
    for part in _applications(campaign, select, ""):
        runs = part.runs
        kind = runs.groupby(list(FACTORS), dropna=False, sort=True).ngroup()
        sizes = kind.value_counts().sort_index().sort_values(ascending=False, kind="stable")
        kept = sizes[sizes > 1].index[:_KINDS]
        chosen = runs[kind.isin(kept)]
        if len(chosen) and (best is None or len(chosen) > best[0]):
            best = len(chosen), part, chosen
    if best is None:
        raise NotCoveredError("no two runs whose times count are alike")
    shown = best[1].own(best[2])
    return shown, measure_of(shown), {"profiler": sorted(set(best[2]["profiler"]))}


def first_varying(campaign: Campaign, variable: str) -> str:
    """Name the factor by which a measure is shown: the first of a fixed order with two levels."""
    frame = groups.measured(question(campaign, variable), campaign.own())
    for factor in (*_SPLITS, "tuning", "nodes", "ranks_per_node", "concurrent_jobs"):
        if len({level for level in frame[factor] if not unknown(level)}) > 1:
            return factor
    return "application"


def by_energy(campaign: Campaign, factor: str = "", baseline: Level = "") -> tuple[Campaign, str, Level]:
    """Choose the factor by which energies are compared, and the level that takes most, if none is given.

    Raises `NotCoveredError` if no run has an energy, or all are alike.
    """
    if factor:
        return campaign, factor, baseline
    factor = first_varying(campaign, "energy")
    part = campaign.own()
    frame = groups.measured(question(part, "energy"), part)
    if frame[factor].nunique() < 2:
        raise NotCoveredError("the runs with an energy are alike in every factor that is compared")
    middle = frame.groupby(factor)["value"].median()
    return part, factor, middle.index[int(np.argmax(middle.to_numpy()))]


def in_bytes(table: pd.DataFrame, unit: str) -> tuple[pd.DataFrame, str]:
    """Show the medians of a table, in B, in a unit, or in a smaller one if they are below a tenth of it."""
    units = ["B", "kB", "MB", "GB", "TB"]
    largest = float(table["median"].max())
    at = units.index(unit)
    while at and largest < 0.1 * 1000.0**at:
        at -= 1
    scaled = {name: table[name] / 1000.0**at for name in ("median", "low", "high")}
    return table.assign(**scaled), units[at]


def sizes_of(table: pd.DataFrame) -> list[int]:
    """Choose bounds for a table of shares of messages by size: powers of four around what was sent."""
    sent = table.loc[table["size"] > 0, "size"]
    if sent.empty:
        return []
    low, high = (int(np.log2(float(end)) // 2) for end in (sent.min(), sent.max()))
    powers = [4**power for power in range(low + 1, high + 1)] or [4 ** (high + 1)]
    step = max(1, -(-len(powers) // 5))
    return powers[::step]
