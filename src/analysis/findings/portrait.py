"""What a campaign is like where nothing is compared: shares of MPI and calls, messages, memory, energy."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from analysis.base.words import Level, decimals, in_order, significant
from analysis.claims.model import Expectation
from analysis.claims.resolution import resolve
from analysis.claims.verdicts import HOLDS
from analysis.datasets.profile import HOUSEKEEPING
from analysis.estimates.by_profile import SENDING
from analysis.estimates.campaign import Campaign, NotCoveredError
from analysis.estimates.finding import Finding
from analysis.estimates.measures import MEASURES
from analysis.estimates.quantities import findings
from analysis.estimates.question import Question
from analysis.estimates.stats import Estimate
from analysis.findings import sentences
from analysis.findings.conclusion import IS, SEEN, SHOWN, Conclusion, as_claim
from analysis.findings.naming import display, listed, slug
from analysis.findings.regions import differing, pinned, regions
from analysis.findings.shown import measure_name

_SMALL = 1024  # B, up to which a message is said to be small
_CALLS = 3  # of the most time, each by itself
_MAIN, _PLACES = ("case", "nodes", "ranks"), 3  # what a sentence names of more places than so many
_STRATA, _ALIKE = 3, 2.0  # values of more strata than this are one fact if none is so many times another
_SIZES = 12  # a set of message sizes is listed up to so many
_BYTES = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3))
# An estimate of the next campaign may lie so far from the ends of this one's interval, relative to them.
_ROOM = 0.1


@dataclass(frozen=True)
class Fact:
    """Something that a run is asked for: with {} for the value and {app} for the application."""

    topic: str
    variable: str
    text: str
    unit: str = ""
    scale: float = 1.0
    members: tuple[Level, ...] = ()


def portrait(campaign: Campaign) -> Iterator[Conclusion]:
    """Say what the runs of each application and case are like; benchmarks of messages are left out."""
    runs = campaign.runs
    runs = runs[runs["valid"] & ~runs["run"].isin(set(campaign.frame("micro")["run"]))]
    for (application, case), part in runs.groupby(["application", "case"], sort=True):
        select: dict[str, Any] = {"application": str(application)}
        if runs.loc[runs["application"] == application, "case"].nunique() > 1 and case:
            select["case"] = str(case)
        for fact in _facts(campaign, part):
            yield from _concluded(fact, campaign, select)
        yield from _sizes(campaign, select)


def _facts(campaign: Campaign, runs: pd.DataFrame) -> Iterator[Fact]:
    table = campaign.frame("calls")
    table = table[table["run"].isin(runs["run"])]
    if len(table):
        yield from _profiled(table)
    if runs["node_memory_slurm"].notna().any():
        yield Fact("memory", "node_memory_slurm", "{app} takes {} of memory on a node, by Slurm", "B")
    if not runs["target_time"].gt(0).any():  # else a run is as long as it is told to be
        if len(table):
            yield Fact("data volume", "rank_bytes", "a rank of {app} hands {} to MPI", "B")
        yield Fact("energy and cost", "jobs_per_day", "the nodes finish {} of {app}", "jobs a day")
    if runs["energy"].notna().any():
        yield Fact("energy and cost", "energy_per_job", "a job of {app} takes {}", "Wh")
    if runs["mean_power"].notna().any():
        yield Fact("energy and cost", "mean_power", "{app} draws {}", "W")


def _profiled(table: pd.DataFrame) -> Iterator[Fact]:
    """List what a profile says, from the table of calls of some runs."""
    time, calls, sizes = "compute and MPI time", "MPI calls", "message sizes"
    yield Fact(time, "mpi_fraction", "MPI takes {} of the time of {app}", "%", 100)
    yield Fact(time, "imbalance", "the slowest rank of {app} computes {} longer than the mean", "%", 100)
    for call in _largest(table, "time", _CALLS):
        yield Fact(calls, "call_share", f"{call} takes {{}} of the MPI time of {{app}}", "%", 1.0, (call,))
    for call in _largest(table[~table["call"].isin(HOUSEKEEPING)], "count", 1):
        text = f"{call} is made most often, {{}} of the calls of {{app}}"
        yield Fact(calls, "count_share", text, "%", 1.0, (call,))
    yield Fact(calls, "distinct_calls", "{app} makes {} kinds of MPI calls")
    text = f"{{}} of the messages of {{app}} have {_SMALL:,} B at most"
    yield Fact(sizes, "size_share", text, "%", 1.0, (0, _SMALL))
    for call in _largest(table[table["call"].isin(SENDING)], "bytes", 1):
        yield Fact(sizes, "bytes_per_call", f"{call} carries {{}} a call in {{app}}", "B", 1.0, (call,))
    yield Fact("memory", "rank_memory", "a rank of {app} takes {} of memory", "B")


def _largest(table: pd.DataFrame, column: str, most: int) -> list[str]:
    """Name the calls with the largest mean share of a column in their runs."""
    table = table[table[column] > 0]
    if table.empty:
        return []
    shares = table[column] / table.groupby("run")[column].transform("sum")
    return list(shares.groupby(table["call"]).sum().sort_values(ascending=False, kind="stable").index[:most])


def _concluded(fact: Fact, campaign: Campaign, select: dict[str, Any]) -> Iterator[Conclusion]:
    """Say a fact where its interval can be trusted, and elsewhere that it was seen."""
    question = Question("level", fact.variable, select, members=fact.members, scale=fact.scale)
    try:
        found = findings(question, campaign)
    except NotCoveredError:
        return
    if MEASURES[fact.variable].exact:
        if not found[0].estimate.value:
            return
        yield from _said(fact, campaign, question, found)
        return
    values = [one.estimate.value for one in found if math.isfinite(one.estimate.value)]
    if not values or (len(found) > _STRATA and max(values) > _ALIKE * min(values)):
        return  # it depends on what is run where: a comparison says more
    sure = [at for at, one in enumerate(found) if one.estimate.settles]
    strata = [one.stratum for one in found]
    for chosen, fits in regions(strata, sure) if sure else ():
        narrowed = {**select, **_shared(campaign, [strata[at] for at in fits], question), **chosen}
        yield from _said(fact, campaign, replace(question, select=narrowed), [found[at] for at in fits])
    rest = [one for at, one in enumerate(found) if at not in sure and math.isfinite(one.estimate.value)]
    if rest:
        alike = _shared(campaign, [one.stratum for one in rest], question)
        yield _conclusion(fact, campaign, replace(question, select={**select, **alike}), rest, SEEN)


def _shared(campaign: Campaign, strata: Sequence[Any], question: Question) -> dict[str, Level]:
    runs = campaign.runs
    own = runs[runs["valid"] & (runs["application"] == (question.select or {})["application"])]
    return pinned(own, strata, ("profiler",) if MEASURES[question.variable].profile else ())


def _said(
    fact: Fact, campaign: Campaign, question: Question, found: Sequence[Finding]
) -> Iterator[Conclusion]:
    one = _conclusion(fact, campaign, question, found, IS)
    again = findings(question, campaign)
    if resolve(as_claim(one, campaign.name), again).word == HOLDS:
        yield one


def _conclusion(
    fact: Fact, campaign: Campaign, question: Question, found: Sequence[Finding], word: str
) -> Conclusion:
    estimates = [one.estimate for one in found]
    select = question.select or {}
    names = differing([one.stratum for one in found]) if found[0].stratum else []
    places = sentences.spoken(campaign, select, names, ("application",))
    places = places if len(places) <= _PLACES else [name for name in places if name in _MAIN]
    place = sentences.where(campaign, select, places)
    rest = sentences.where(campaign, select, [name for name in select if name not in places])
    rest = ", ".join(filter(None, (rest, _profiled_by(campaign, question))))
    name = display(campaign, "application", select["application"])
    value = _values(fact, estimates)
    text = sentences.said(fact.text.format(value, app=name))
    sure = _sure(fact, estimates) if word == IS else f"in {_runs(found)}"
    place = f", {place}" if place else ""
    first = min(found, key=lambda one: one.estimate.n)
    return Conclusion(
        id=slug(campaign.name, select["application"], fact.variable, *fact.members, *_flat(select)),
        topic=fact.topic,
        question=question,
        expect=_expected(fact, estimates),
        finding=first,
        sentence=f"{text}{place} ({sure})" if sure else f"{text}{place}",
        footnote=sentences.footnote(campaign, first, fact.unit, rest),
        word=word,
        size=0.0,
        p=None,
        q=None,
        page="",
        shown=_shown(fact, campaign, found, names),
    )


def _profiled_by(campaign: Campaign, question: Question) -> str:
    """Say which profiler speaks, and what was put together for it."""
    if question.variable in MEASURES and not MEASURES[question.variable].profile:
        return ""
    words = [f"profiled by {display(campaign, 'profiler', campaign.profiler)}"] if campaign.profiler else []
    words += [f"any {one.replace('_', ' ')}" for one in campaign.pool]
    return ", ".join(words)


def _runs(found: Sequence[Finding]) -> str:
    n = sum(one.estimate.n for one in found)
    return "a single run" if n == 1 else f"{n} runs" + (" of unlike kinds" if len(found) > 1 else "")


def _flat(select: Mapping[str, Any]) -> list[Level]:
    places = [level for name, level in select.items() if name not in ("application", "profiler")]
    return [each for one in places for each in (one if isinstance(one, list) else [one])]


def _values(fact: Fact, estimates: Sequence[Estimate]) -> str:
    """Spell the value, or from which to which values go."""
    least, most = (pick(estimates, key=lambda one: one.value) for pick in (min, max))
    texts = [spell(fact.unit, one.value, one) for one in (least, most)]
    if estimates[0].level == 1 and estimates[0].low != estimates[0].high:  # an exact one is its range
        texts = [spell(fact.unit, end, None) for end in (estimates[0].low, estimates[0].high)]
    return texts[0] if texts[0] == texts[1] else f"{texts[0]} to {texts[1]}"


def _sure(fact: Fact, estimates: Sequence[Estimate]) -> str:
    if estimates[0].level == 1:
        return ""
    low, high = min(one.low for one in estimates), max(one.high for one in estimates)
    texts = [spell(fact.unit, end, estimates[0]) for end in (low, high)]
    ends = " to ".join(texts)
    if len(set(texts)) == 1:
        return f"all {estimates[0].n} runs alike" if len(estimates) == 1 else ""
    return ends if len(estimates) == 1 else f"intervals from {ends}"


def spell(unit: str, value: float, like: Estimate | None) -> str:
    """Spell a value in its unit, bytes in thousands; an interval says with how many digits."""
    if unit == "B":
        name, size = next(((name, size) for name, size in _BYTES if value >= size), ("B", 1.0))
        return f"{significant(value / size, 3)} {name}"
    if unit == "%" and like is not None:
        places = min(max(decimals(like, 1), 0), 2)
        return f"{value:.{places}f} %"
    return f"{significant(value, 3)} {unit}".strip()


def _expected(fact: Fact, estimates: Sequence[Estimate]) -> Expectation:
    """Expect what was found, an exact one as it is."""
    low, high = min(one.low for one in estimates), max(one.high for one in estimates)
    if estimates[0].level == 1:
        return Expectation(relation="range", low=low, high=high, unit=fact.unit)
    if low != low:  # single runs
        low = high = estimates[0].value
    width = max(high - low, _ROOM * abs(high)) / 2
    return Expectation(relation="range", low=max(low - width, 0.0), high=high + width, unit=fact.unit)


def _sizes(campaign: Campaign, select: dict[str, Any]) -> Iterator[Conclusion]:
    """List the sizes of messages, where all runs have the same few."""
    try:
        (found,) = findings(Question("set", "message_sizes", select), campaign)
    except NotCoveredError:
        return
    members = in_order(found.members or ())
    question = Question("set", "message_sizes", select, members=tuple(members))
    again = findings(question, campaign)
    if not members or len(members) > _SIZES or again[0].unequal:
        return
    name = display(campaign, "application", select["application"])
    sizes = listed([f"{size:,}" for size in members if not isinstance(size, str)])
    fact = Fact("message sizes", "message_sizes", "")
    one = _conclusion(replace(fact, text="{}{app}"), campaign, question, again, IS)
    expect = Expectation(relation="equal", members=list(members), unit="B")
    place = sentences.where(campaign, select, [at for at in select if at != "application"])
    text = f"The messages of {name} have {sizes} B{', ' if place else ''}{place}"
    yield replace(one, sentence=text, expect=expect)


def _shown(fact: Fact, campaign: Campaign, found: Sequence[Finding], names: Sequence[str]) -> pd.DataFrame:
    rows = []
    for one in found:
        place = ", ".join(display(campaign, name, one.stratum[name]) for name in names)
        estimate = one.estimate
        rows.append(("", place, estimate.value, estimate.low, estimate.high, estimate.n))
    table = pd.DataFrame(rows, columns=list(SHOWN))
    table.attrs.update(unit=fact.unit, xlabel="", ylabel=measure_name(fact.variable))
    return table
