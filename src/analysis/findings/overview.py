"""What a campaign's runs are like where nothing is compared: shares of calls, messages, memory, energy."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from analysis.base.words import in_order
from analysis.claims.model import Expectation
from analysis.datasets.profile import HOUSEKEEPING
from analysis.estimates.campaign import Campaign, NotCoveredError
from analysis.estimates.finding import Finding
from analysis.estimates.measures import MEASURES, SENDING
from analysis.estimates.quantities import findings
from analysis.estimates.question import Question
from analysis.estimates.sentences import Statement
from analysis.estimates.spelling import Stratum, slug
from analysis.findings.conclusion import IS, SEEN, Conclusion, borne_out
from analysis.findings.inference import pinned, regions
from analysis.findings.points import values

_SMALL = 1024  # B, up to which a message is said to be small
_CALLS = 3  # of the most time, each by itself
_STRATA, _ALIKE = 3, 2.0  # values of more strata than this are one fact if none is so many times another
_SIZES = 12  # a set of message sizes is listed up to so many
# An estimate of the next campaign may lie so far from the ends of this one's interval, relative to them.
_ROOM = 0.1

# What is asked of runs: topic, question, unit.
Fact = tuple[str, Question, str]


def overview(campaign: Campaign) -> Iterator[Conclusion]:
    """Say what the runs of each application and case are like; benchmarks of messages are left out."""
    runs, calls, micro = campaign.runs, campaign.frame("calls"), set(campaign.frame("micro")["run"])
    runs = runs[runs["valid"] & ~runs["run"].isin(micro)]
    for (application, case), part in runs.groupby(["application", "case"], sort=True):
        select: dict[str, Any] = {"application": str(application)}
        if runs.loc[runs["application"] == application, "case"].nunique() > 1 and case:
            select["case"] = str(case)
        for topic, question, unit in _facts(part, calls[calls["run"].isin(part["run"])]):
            asked = replace(question, select=select)
            yield from _concluded(topic, asked, unit, campaign)


def _facts(runs: pd.DataFrame, calls: pd.DataFrame) -> Iterator[Fact]:
    """List what is asked of runs, with the table of their calls."""

    def fact(topic: str, variable: str, unit: str = "", *members: Any, scale: float = 1.0) -> Fact:
        return topic, Question("level", variable, members=members, scale=scale), unit

    if len(calls):
        yield fact("compute and MPI time", "mpi_fraction", "%", scale=100)
        yield fact("compute and MPI time", "imbalance", "%", scale=100)
        for call in _largest(calls, "time", _CALLS):
            yield fact("MPI calls", "call_share", "%", call)
        for call in _largest(calls[~calls["call"].isin(HOUSEKEEPING)], "count", 1):
            yield fact("MPI calls", "count_share", "%", call)
        yield fact("MPI calls", "distinct_calls")
        yield fact("message sizes", "size_share", "%", 0, _SMALL)
        for call in _largest(calls[calls["call"].isin(SENDING)], "bytes", 1):
            yield fact("message sizes", "bytes_per_call", "B", call)
        yield "message sizes", Question("set", "message_sizes"), "B"
        yield fact("memory", "rank_memory", "B")
    if runs["node_memory_slurm"].notna().any():
        yield fact("memory", "node_memory_slurm", "B")
    if not runs["target_time"].gt(0).any():  # else a run is as long as it was asked to be
        if len(calls):
            yield fact("data volume", "rank_bytes", "B")
        yield fact("energy and cost", "jobs_per_day", "jobs a day")
    if runs["energy"].notna().any():
        yield fact("energy and cost", "energy_per_job", "Wh")
    if runs["mean_power"].notna().any():
        yield fact("energy and cost", "mean_power", "W")


def _largest(table: pd.DataFrame, column: str, most: int) -> list[str]:
    """Name the calls with the largest mean share of a column in their runs."""
    table = table[table[column] > 0]
    if table.empty:
        return []
    shares = table[column] / table.groupby("run")[column].transform("sum")
    return list(shares.groupby(table["call"]).sum().sort_values(ascending=False, kind="stable").index[:most])


def _concluded(topic: str, question: Question, unit: str, campaign: Campaign) -> Iterator[Conclusion]:
    """Conclude a fact where its interval can be trusted, and elsewhere that it was seen."""
    try:
        found = findings(question, campaign)
    except NotCoveredError:
        return
    spec, select = MEASURES.get(question.variable), question.select or {}
    if question.quantity == "set":
        members = tuple(in_order(found[0].members or ()))
        question = replace(question, members=members)
        if 0 < len(members) <= _SIZES:
            yield from _worded(topic, question, findings(question, campaign), unit, IS, campaign)
        return
    if spec is not None and spec.exact:
        if found[0].estimate.value:
            yield from _worded(topic, question, found, unit, IS, campaign)
        return
    finite = [one for one in found if math.isfinite(one.estimate.value)]
    least, most = (pick((one.estimate.value for one in finite), default=0.0) for pick in (min, max))
    if not finite or (len(found) > _STRATA and most > _ALIKE * least):
        return  # it depends on what is run where: a comparison says more
    sure = [at for at, one in enumerate(found) if one.estimate.settles]
    strata = [one.stratum for one in found]
    for chosen, fits in regions(strata, sure) if sure else ():
        narrowed = {**select, **_shared(campaign, [strata[at] for at in fits], question), **chosen}
        asked = replace(question, select=narrowed)
        yield from _worded(topic, asked, [found[at] for at in fits], unit, IS, campaign)
    if rest := [one for one in finite if not one.estimate.settles]:
        asked = replace(
            question, select={**select, **_shared(campaign, [one.stratum for one in rest], question)}
        )
        yield from _worded(topic, asked, rest, unit, SEEN, campaign)


def _shared(campaign: Campaign, strata: Sequence[Stratum], question: Question) -> dict[str, Any]:
    runs = campaign.runs
    own = runs[runs["valid"] & (runs["application"] == (question.select or {})["application"])]
    return pinned(own, strata, ("profiler",) if MEASURES[question.variable].profile else ())


def _worded(
    topic: str, question: Question, found: Sequence[Finding], unit: str, word: str, campaign: Campaign
) -> Iterator[Conclusion]:
    """Make a conclusion of its numbers, if the claim that it becomes holds of its runs."""
    select, expect = question.select or {}, _expected(question, found, unit)
    first = min(found, key=lambda one: one.estimate.n)
    if word == IS:
        decisive = borne_out(question, expect, findings(question, campaign))
        if decisive is None:
            return
        first = decisive
    answer = Statement(question, found, campaign, unit, decided=word != SEEN)
    levels = [level for name, level in select.items() if name not in ("application", "profiler")]
    flat = [each for one in levels for each in (one if isinstance(one, list) else [one])]
    asked = () if question.quantity == "set" else question.members
    yield Conclusion(
        id=slug(campaign.name, select["application"], question.variable, *asked, *flat),
        topic=topic,
        question=question,
        expect=expect,
        finding=first,
        sentence=answer.sentence,
        footnote=answer.footnote(first),
        word=word,
        size=0.0,
        p=None,
        q=None,
        points=values(answer),
    )


def _expected(question: Question, found: Sequence[Finding], unit: str) -> Expectation:
    """Expect what was found, an exact one as it is."""
    if question.quantity == "set":
        return Expectation(relation="equal", members=list(question.members), unit=unit)
    estimates = [one.estimate for one in found]
    low, high = min(one.low for one in estimates), max(one.high for one in estimates)
    if estimates[0].level == 1:
        return Expectation(relation="range", low=low, high=high, unit=unit)
    if low != low:  # single runs
        low = high = estimates[0].value
    width = max(high - low, _ROOM * abs(high)) / 2
    return Expectation(relation="range", low=max(low - width, 0.0), high=high + width, unit=unit)
