"""What a campaign can be asked: in which factors its runs differ, by which measures, which pairs of levels.

Everything here looks at factors and at which values are there, never at the values: a pair that was chosen
for its difference would have no p-value.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from analysis.base.words import Level, in_order
from analysis.estimates.asking import ASKS, Ask
from analysis.estimates.campaign import Campaign, NotCoveredError
from analysis.estimates.confounding import aliased
from analysis.estimates.finding import Finding, varying
from analysis.estimates.groups import measured, strata
from analysis.estimates.measures import MEASURES, TIMES, unit_of
from analysis.estimates.quantities import findings_of
from analysis.estimates.question import Comparison, Question
from analysis.schema.factors import BY_NAME, is_known

NOTHING = "Nothing can be compared: no factor has two levels in runs that are alike otherwise"
_WITHOUT_NODES = (
    "Nothing can be compared: runs differ in their ranks, and the nodes of none are known; "
    "give them to `benchbook import` with --set nodes=... or --table"
)
PARTS = BY_NAME["cluster"].parts
# Factors that are compared in a way of their own: machines node for node, jobs that share nodes.
_OWN_WAYS = ("cluster", "concurrent_jobs")
_WORK = ("jobs_per_day", "throughput")  # what jobs that share nodes do together
# Topics in which only the greatest level is compared with the least.
ENDS = ("scaling",)
MICRO = {
    "latency": 8,
    "bandwidth": 4_194_304,
}  # message sizes that are compared, B; the nearest below is taken


StratumKey = tuple[tuple[str, Level], ...]


def stratum_key(stratum: Mapping[str, Level]) -> StratumKey:
    """Return a stratum as a key of a mapping."""
    return tuple(sorted(stratum.items()))


@dataclass(frozen=True)
class Measured:
    """Something that is measured of an application's runs: a measure, with the runs that have it."""

    application: str
    variable: str
    select: Mapping[str, Any]
    members: tuple[Level, ...] = ()

    def question(self, quantity: str = "level", **more: Any) -> Question:
        """Ask for it."""
        return Question(quantity, self.variable, dict(self.select), members=self.members, **more)


@dataclass(frozen=True)
class Plan:
    """One factor of an application, by one measure: pairs of a level and its baseline.

    `frame` has the measured runs, `where` the values of the factors that change with it, for each level. If
    it is `aliased`, these do not follow from it by nature. `ends` are the greatest and the least level of
    each stratum (`stratum_key`) where only these are compared.
    """

    measured: Measured
    factor: str
    topic: str
    varying: tuple[str, ...]
    frame: pd.DataFrame = field(repr=False)
    pairs: tuple[tuple[Level, Level], ...] = ()
    levels: tuple[Level, ...] = ()
    where: Mapping[Level, Mapping[str, Level]] = field(default_factory=dict)
    aliased: bool = False
    ends: Mapping[StratumKey, tuple[Level, Level]] = field(default_factory=dict)

    def compare(self, one: Level, other: Level, along: tuple[str, Level, Level] | None = None) -> Comparison:
        """Return the comparison of one level with another."""
        where = (self.where[one], self.where[other]) if self.where else ()
        mixed = self.varying if self.aliased else ()
        return Comparison(self.factor, (one, other), self.varying, where, along=along, mixed=mixed)

    def answers(self, one: Level, other: Level, campaign: Campaign) -> list[Finding]:
        """Compare one level with another in every stratum that has measured runs of both.

        Raises `NotCoveredError` if there is no such stratum, or a side would mix different things.
        """
        question = self.measured.question("speedup", compare=self.compare(one, other))
        return findings_of(question, campaign, self.frame[self.frame[self.factor].isin([one, other])])

    @property
    def unit(self) -> str:
        """Unit of the measured values."""
        printed = self.measured.variable == "throughput"
        return unit_of("figure_of_merit" if printed else self.measured.variable, self.frame)

    @property
    def timed(self) -> bool:
        """Whether less is faster."""
        return self.unit in TIMES


def nothing(campaign: Campaign) -> str:
    """Say why nothing was compared, with the commonest reason for which runs do not count."""
    counted = campaign.runs[campaign.runs["valid"]]
    if counted["ranks"].nunique() > 1 and not (counted["nodes"] > 0).any():
        return _WITHOUT_NODES
    left = campaign.runs.loc[~campaign.runs["valid"], "reason"]
    if left.empty:
        return NOTHING
    why = left.value_counts().index[0]
    return f"{NOTHING}; {len(left)} of {len(campaign.runs)} runs count in no statistic, most often: {why}"


def plans(campaign: Campaign) -> Iterator[Plan]:
    """List what can be compared: of every application each factor that comparable runs differ in."""
    for one in (*performance(campaign), *_works(campaign)):
        try:
            frame = measured(one.question(), campaign)
        except NotCoveredError:
            continue
        timed = unit_of(one.variable, frame) in TIMES
        if one.variable in _WORK:
            yield from _at_once(one, frame, campaign.runs)
            continue
        differ = {*varying(frame, dict.fromkeys(ask.factor for ask in ASKS))} - {*_OWN_WAYS}
        for ask in ASKS:
            if ask.factor in differ and _meaningful(one, ask.factor, frame, timed):
                yield from _plan(one, ask, frame, campaign)
        if _meaningful(one, "cluster", frame, timed):
            yield from _machines(one, frame, campaign)
        if _meaningful(one, "nodes", frame, timed):
            yield from _links(one, frame, campaign)
        yield from _together(one, frame, timed)


def performance(campaign: Campaign) -> Iterator[Measured]:
    """List how fast an application ran: by its figure of merit, its tables of messages, or the clock."""
    runs, micro = campaign.runs, campaign.frame("micro")
    runs = runs[runs["valid"] & runs["timing"]]
    for application, part in runs.groupby("application", sort=True):
        name = str(application)
        base, table = _plain(part, name), micro[micro["run"].isin(part["run"])]
        if part["figure_of_merit"].notna().any():
            yield Measured(name, "figure_of_merit", base)
        elif len(table):
            yield from _micro(table, part, base)
        elif part["elapsed"].notna().any() and not part["target_time"].gt(0).any():
            yield Measured(name, "elapsed", base)
        if part["energy"].notna().any():
            yield Measured(name, "energy_per_job", base)


def _plain(part: pd.DataFrame, application: str) -> dict[str, Any]:
    """Select runs as they are meant to run: alone on their cores."""
    select: dict[str, Any] = {"application": application}
    if part["concurrent_jobs"].nunique() > 1 and (part["concurrent_jobs"] == 1).any():
        select["concurrent_jobs"] = 1
    return select


def _micro(table: pd.DataFrame, part: pd.DataFrame, base: Mapping[str, Any]) -> Iterator[Measured]:
    """List the tables of messages: a case by itself, a small message's time and a large one's bandwidth."""
    table = table.assign(case=table["run"].map(part.set_index("run")["case"]))
    for case, rows in table.groupby("case", sort=True):
        for variable, at in MICRO.items():
            if variable not in rows or not rows[variable].notna().any():
                continue
            # A table of bandwidths has times too, which say the same.
            if variable == "latency" and rows["bandwidth"].notna().any():
                continue
            known = rows.loc[rows[variable].notna()].groupby("size")["run"].nunique()
            shared = known[known == known.max()].index  # sizes that the most runs have
            below = [size for size in shared if size <= at]
            size = max(below) if below else min(shared)
            yield Measured(str(base["application"]), variable, {**base, "case": str(case)}, (int(size),))


def _meaningful(one: Measured, factor: str, frame: pd.DataFrame, timed: bool) -> bool:
    """Tell whether a difference in a factor would say anything of what is measured, as a time or a rate."""
    if frame[factor].nunique(dropna=True) < 2:
        return False
    sized = (frame["nodes"] > 0) | (frame["ranks"] > 0)
    if one.variable not in MICRO and not sized.any() and (frame["evidence"] == "published").all():
        return False  # systems of unlike sizes
    if factor == "case":  # a larger problem takes longer, and that says nothing
        sizes = frame["local_size"]
        return not timed and one.variable == "figure_of_merit" and bool((sizes > 0).all())
    if factor == "target_time":
        return not timed and one.variable == "figure_of_merit"
    if factor == "version":  # else it follows from the build
        return frame["build"].nunique() == 1
    return True


def _plan(
    one: Measured,
    ask: Ask,
    frame: pd.DataFrame,
    campaign: Campaign,
    where: Mapping[Level, Mapping[str, Level]] | None = None,
) -> Iterator[Plan]:
    factor, topic, varying = ask.factor, ask.topic, ask.varying
    if factor != "profiler":
        frame = _unprofiled(frame)
        select = {**one.select, **({"profiler": "none"} if "none" in set(frame["profiler"]) else {})}
        one = Measured(one.application, one.variable, select, one.members)
    if factor == "interconnect" and frame.loc[frame["nodes"] == 1, factor].nunique() > 1:
        # On one node no link is used.
        frame = frame[frame["nodes"] > 1]
        one = Measured(one.application, one.variable, {**one.select, "nodes": {"min": 2}}, one.members)
    found = list(strata(frame, (factor, *varying), campaign, MEASURES[one.variable]))
    there = {stratum_key(stratum): _levels(part, factor) for stratum, part in found}
    there = {key: levels for key, levels in there.items() if len(levels) > 1}
    if not there:
        return
    levels = _preferred(factor, frame, list(there.values()))
    pairs: dict[tuple[Level, Level], None] = {}
    ends: dict[StratumKey, tuple[Level, Level]] = {}
    for key, own in there.items():
        ordered = [level for level in levels if level in own]
        rest = ordered[1:]
        if topic in ENDS:
            rest, ends[key] = ordered[-1:], (ordered[-1], ordered[0])
        pairs |= dict.fromkeys((level, ordered[0]) for level in rest)
    if factor == "cluster":
        pairs = {pair: None for pair in pairs if _whole_machines(frame, *pair)}
    if one.variable in MICRO and topic == "interconnect":
        topic = "links"
    yield Plan(one, factor, topic, varying, frame, tuple(pairs), tuple(levels), where or {}, ends=ends)


def _machines(one: Measured, frame: pd.DataFrame, campaign: Campaign) -> Iterator[Plan]:
    """Compare clusters node for node: each with its most ranks on one, where known, and its parts."""
    counted = frame["ranks_per_node"] > 0
    frame = _unprofiled(frame[(frame["cluster"] != "") & (counted | (not counted.any()))])
    where: dict[Level, dict[str, Level]] = {}
    for cluster, part in frame.groupby("cluster", sort=True):
        most = int(part["ranks_per_node"].max())
        full = part[part["ranks_per_node"] == most]
        parts: dict[str, Level] = {name: str(full[name].mode().iloc[0]) for name in PARTS}
        where[str(cluster)] = {"ranks_per_node": most, **parts}
    if len(where) < 2:
        return
    kept = [
        all(row[name] == level for name, level in where[row["cluster"]].items())
        for row in frame[["cluster", "ranks_per_node", *PARTS]].to_dict("records")
    ]
    named = {
        cluster: {name: level for name, level in parts.items() if level not in ("", -1)}
        for cluster, parts in where.items()
    }
    (ask,) = (one for one in ASKS if one.factor == "cluster")
    yield from _plan(one, ask, frame[kept], campaign, named)


def _together(one: Measured, frame: pd.DataFrame, timed: bool) -> Iterator[Plan]:
    """List pairs of levels that differ in nothing alone, with what changes along with them."""
    frame = _unprofiled(frame)
    if "none" in set(frame["profiler"]):
        one = Measured(one.application, one.variable, {**one.select, "profiler": "none"}, one.members)
    problems = _meaningful(one, "case", frame, timed)
    for pair in aliased(frame, problems=problems):
        factor, sides = pair.factor, (pair.one, pair.other)
        levels = (sides[0][factor], sides[1][factor])
        where = {side[factor]: {name: side[name] for name in side if name != factor} for side in sides}
        varying = tuple(name for name in pair.one if name != factor)
        names = (factor, BY_NAME[factor].follows or "nodes")
        topic = next(topic for name in names for topic in BY_NAME[name].topics)
        yield Plan(one, factor, topic, varying, pair.rows, (levels,), levels[::-1], where, aliased=True)


def _links(one: Measured, frame: pd.DataFrame, campaign: Campaign) -> Iterator[Plan]:
    """Compare nodes that a link joins with one node, within which there is none."""
    alone, joined = frame[frame["nodes"] == 1], frame[frame["nodes"] > 1]
    within = sorted(set(alone["interconnect"]))
    if len(within) != 1 or within[0] in set(joined["interconnect"]):
        return
    for link, part in joined.groupby("interconnect", sort=True):
        both = pd.concat([alone, part])
        where: dict[Level, dict[str, Level]] = {
            int(nodes): {"interconnect": str(link) if nodes > 1 else within[0]}
            for nodes in set(both["nodes"])
        }
        yield from _plan(one, Ask("nodes", "scaling", ("ranks", "interconnect")), both, campaign, where)


def _works(campaign: Campaign) -> Iterator[Measured]:
    """List the applications of which jobs shared nodes, by the work that these did together."""
    runs = campaign.runs
    runs = runs[runs["valid"] & runs["timing"]]
    for application, part in runs[runs["concurrent_jobs"] > 1].groupby("application", sort=True):
        unit = str(part["figure_of_merit_unit"].iloc[0])
        variable = "jobs_per_day" if unit in ("", *TIMES) else "throughput"
        plain = {"profiler": "none"} if "none" in set(part["profiler"]) else {}
        yield Measured(str(application), variable, {"application": str(application), **plain})


def _at_once(one: Measured, frame: pd.DataFrame, runs: pd.DataFrame) -> Iterator[Plan]:
    """Compare jobs that share nodes with one job on as many ranks as they have together."""
    part = runs[runs["valid"] & runs["timing"] & (runs["application"] == one.application)]
    part = part[part["concurrent_jobs"] > 1]
    ranks = part.groupby("concurrent_jobs")["ranks"].agg(lambda counts: counts.mode().iloc[0])
    for jobs, each in zip(map(int, ranks.index), map(int, ranks), strict=True):
        where: dict[Level, dict[str, Level]] = {jobs: {"ranks": each}, 1: {"ranks": jobs * each}}
        pairs, levels, varying = ((jobs, 1),), (1, jobs), ("ranks", "ranks_per_node")
        yield Plan(one, "concurrent_jobs", "placement", varying, frame, pairs, levels, where)


def _whole_machines(frame: pd.DataFrame, one: Level, other: Level) -> bool:
    """Tell whether two clusters differ in more than one part, which is then compared by itself."""
    sides = [frame[frame["cluster"] == level] for level in (one, other)]
    return sum(set(sides[0][part]) != set(sides[1][part]) for part in PARTS) != 1


def _unprofiled(frame: pd.DataFrame) -> pd.DataFrame:
    """Leave out profiled runs, which a profiler may have slowed, where there are others."""
    plain = (frame["profiler"] == "none").to_numpy()
    return frame[plain] if plain.any() and not plain.all() else frame


def _levels(part: pd.DataFrame, factor: str) -> set[Any]:
    """Return the levels of a stratum that are known: no blank, no count that is not known."""
    return {
        level
        for level in part[factor].dropna().unique()
        if (is_known(level) and level != 0) or factor == "tuning"
    }


def _preferred(factor: str, frame: pd.DataFrame, there: Sequence[set[Any]]) -> list[Level]:
    """Order levels as baselines: of numbers the least first, else what most strata, then most runs have."""
    known = {level for own in there for level in own}
    if not any(isinstance(level, str) for level in known):
        return in_order(level.item() if isinstance(level, np.generic) else level for level in known)
    if factor == "case":
        sizes = frame.groupby("case")["local_size"].first()
        return sorted(known, key=lambda level: int(sizes[level]))
    if factor == "profiler" and "none" in known:
        known = {level for level in known if level != "none"}
        return ["none", *sorted(known)]
    runs = frame[factor].value_counts()
    return sorted(known, key=lambda level: (-sum(level in own for own in there), -int(runs[level]), level))
