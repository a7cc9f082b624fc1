"""Drafts of conclusions: from what was tested, strata that share an outcome are one; and from measures."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from analysis.base.words import Level, in_order
from analysis.datasets.profile import HOUSEKEEPING
from analysis.estimates.campaign import Campaign, NotCoveredError
from analysis.estimates.differences import MARGIN
from analysis.estimates.finding import Finding
from analysis.estimates.groups import measured, strata
from analysis.estimates.measures import MEASURES, SENDING
from analysis.estimates.quantities import findings
from analysis.estimates.question import Question
from analysis.estimates.spelling import Stratum, regions
from analysis.findings.conclusion import (
    CONFOUNDED,
    CROSSES,
    DIFFERS,
    EQUAL,
    GROWS,
    IS,
    SEEN,
    SESSION,
    STANDING,
    STOPS,
    UNKNOWN,
    UNORDERED,
    ConclusionDraft,
)
from analysis.findings.plans import Plan
from analysis.findings.shapes import Shape
from analysis.findings.trials import PASSED, Series, Trial

_SYSTEM = ("cluster", "interconnect", "case")
_SMALL = 1024  # B, up to which a message is said to be small
_CALLS = 3  # of the most time, each by itself
_STRATA, _ALIKE = 3, 2.0  # values of more strata than this are one fact if none is so many times another
_SIZES = 12  # a set of message sizes is listed up to so many

# What is asked of runs: topic, question, unit.
Fact = tuple[str, Question, str]


def of_pairs(series: Series, campaign: Campaign) -> Iterator[ConclusionDraft]:
    """Combine the strata in which a pair of levels has the same outcome."""
    universe = [trial.finding.stratum for trial in series.trials]
    turned = cache(lambda: series.plan.answers(series.other, series.one, campaign))
    kinds: dict[tuple[Any, ...], list[int]] = {}
    for at, trial in enumerate(series.trials):
        up = trial.up if trial.word in (DIFFERS, CONFOUNDED, SESSION, UNORDERED) else True
        # How one system scales with one problem says nothing of another.
        system = _SYSTEM if series.plan.topic == "scaling" else ()
        named = trial.word == CONFOUNDED and trial.finding.confounded
        mixed = named.causes if named else ()
        key = (trial.word, up, *(trial.finding.stratum.get(name) for name in system), mixed)
        kinds.setdefault(key, []).append(at)
    for (word, up, *_), chosen in kinds.items():
        trials = [series.trials[at] for at in chosen]
        if word in STANDING:
            for select, fits in regions(universe, chosen):
                own = [series.trials[at] for at in fits]
                found = _seen(up, own, turned) if word == DIFFERS else ()
                yield _pair(series, word, up, own, chosen=select, found=found)
        elif word != PASSED and (word != UNKNOWN or not series.plan.aliased):
            up = 2 * sum(trial.up for trial in trials) >= len(trials)  # the side ahead more often comes first
            yield _pair(series, word, up, trials, found=_seen(up, trials, turned))
    if {(DIFFERS, up, ()) for up in (True, False)} <= kinds.keys():
        yield _crossing(series)


def _pair(series: Series, word: str, up: bool, trials: Sequence[Trial], **more: Any) -> ConclusionDraft:
    """Draft that two levels differ, are equal, or that nothing is decided, where some strata have them."""
    plan, equal = series.plan, word == EQUAL
    levels = (series.one, series.other) if up else (series.other, series.one)
    asked = plan.measured.question("equality" if equal else "speedup", compare=plan.compare(*levels))
    return _of(
        plan, word, replace(asked, margin=MARGIN if equal else 0.0), levels,
        [trial.finding.stratum for trial in trials],
        p=_largest(trial.p_equal if equal else trial.p for trial in trials),
        q=_largest(trial.q for trial in trials), **more,
    )  # fmt: skip


def _seen(up: bool, trials: Sequence[Trial], turned: Callable[[], list[Finding]]) -> list[Finding]:
    """Return what was found of a pair in some strata, from the side that comes first.

    `turned` asks the pair from its other side.
    """
    if up:
        return [trial.finding for trial in trials]
    strata = [trial.finding.stratum for trial in trials]
    return [one for one in turned() if one.stratum in strata]


def _crossing(series: Series) -> ConclusionDraft:
    """Draft that each side is ahead somewhere."""
    plan, levels = series.plan, (series.one, series.other)
    asked = plan.measured.question("crossover", compare=plan.compare(*levels))
    trials = [one for one in series.trials if one.word == DIFFERS]
    sides = [[one for one in trials if one.up is up] for up in (True, False)]
    return _of(
        plan, CROSSES, asked, levels, [trial.finding.stratum for trial in series.trials],
        p=max(min(trial.p or 0.0 for trial in side) for side in sides),
        q=max(min(trial.q or 0.0 for trial in side) for side in sides),
    )  # fmt: skip


def of_shapes(shapes: Sequence[Shape], q_values: Sequence[float], limit: float) -> Iterator[ConclusionDraft]:
    """Draft that shapes are there which are no chance; those of one kind in several strata are one."""
    tested: dict[tuple[Any, ...], list[Stratum]] = {}
    same: dict[tuple[Any, ...], list[tuple[Shape, float]]] = {}
    for shape, q in zip(shapes, q_values, strict=True):
        tested.setdefault((shape.word, id(shape.plan)), []).append(shape.strata[0])
        if q <= limit:
            same.setdefault((shape.word, id(shape.plan), *shape.kind), []).append((shape, q))
    for (word, plan, *_), group in same.items():
        universe = tested[word, plan]
        chosen = [universe.index(shape.strata[0]) for shape, _ in group]
        single = word == GROWS or len(group) == 1
        for select, fits in [({}, [at]) for at in chosen] if single else regions(universe, chosen):
            members = [one for one, at in zip(group, chosen, strict=True) if at in fits]
            yield _shaped([shape for shape, _ in members], max(q for _, q in members), select)


def _shaped(shapes: Sequence[Shape], q: float, select: dict[str, Any]) -> ConclusionDraft:
    """Put a shape that some strata have in common into one draft; one stratum was asked for it already."""
    first, p = shapes[0], max(one.p for one in shapes)
    levels = (first.levels[0], first.levels[-1]) if first.word == STOPS else first.levels
    if len(shapes) == 1:
        found, strata = [first.finding], first.strata
        return _of(first.plan, first.word, first.question, levels, strata, narrow=True, found=found, p=p, q=q)
    strata = tuple(one.strata[0] for one in shapes)
    asked = replace(first.question, select=dict(first.plan.measured.select))
    return _of(first.plan, first.word, asked, levels, strata, chosen=select, p=p, q=q)


def _of(
    plan: Plan, word: str, question: Question, levels: Sequence[Level], strata: Sequence[Stratum], **more: Any
) -> ConclusionDraft:
    variable = plan.measured.variable
    named = (plan.measured.application, "" if variable == "figure_of_merit" else variable, plan.factor)
    return ConclusionDraft(
        word, question, named, strata, levels=levels, plan=plan, topic=plan.topic, unit=plan.unit, **more
    )


def _largest(values: Iterable[float | None]) -> float | None:
    known = list(values)
    return None if None in known else max(value for value in known if value is not None)


# ---- what runs are like where nothing is compared: shares of calls, messages, memory, energy


def of_measures(campaign: Campaign) -> Iterator[ConclusionDraft]:
    """Say what the runs of each application and case are like; benchmarks of messages are left out.

    The profile of a single rank says nothing of how ranks communicate.
    """
    runs, calls, micro = campaign.runs, campaign.frame("calls"), set(campaign.frame("micro")["run"])
    runs = runs[runs["valid"] & ~runs["run"].isin(micro)]
    alone = set(runs.loc[runs["ranks"] == 1, "run"])
    calls = calls[~calls["run"].isin(alone)]
    cases = runs.groupby("application", sort=False)["case"].nunique().to_dict()
    for (application, case), part in runs.groupby(["application", "case"], sort=True):
        select: dict[str, Any] = {"application": str(application)}
        if cases[application] > 1 and case:
            select["case"] = str(case)
        for topic, question, unit in _facts(part, calls[calls["run"].isin(part["run"])]):
            profiled = question.quantity == "set" or MEASURES[question.variable].profile
            several = {"ranks": {"min": 2}} if profiled and not alone.isdisjoint(part["run"]) else {}
            asked = replace(question, select=select | several)
            yield from _drafted(topic, asked, unit, campaign)


def _facts(runs: pd.DataFrame, calls: pd.DataFrame) -> Iterator[Fact]:
    """List what is asked of runs, with the table of their calls."""

    def fact(topic: str, variable: str, unit: str = "", *members: Any, scale: float = 1.0) -> Fact:
        return topic, Question("level", variable, members=members, scale=scale), unit

    if len(calls):
        yield fact("compute and MPI time", "mpi_fraction", "%", scale=100)
        yield fact("compute and MPI time", "imbalance", "%", scale=100)
        for call in _most_used(calls, "time", _CALLS):
            yield fact("MPI calls", "call_share", "%", call)
        for call in _most_used(calls[~calls["call"].isin(HOUSEKEEPING)], "count", 1):
            yield fact("MPI calls", "count_share", "%", call)
        yield fact("MPI calls", "distinct_calls")
        yield fact("message sizes", "size_share", "%", 0, _SMALL)
        for call in _most_used(calls[calls["call"].isin(SENDING)], "bytes", 1):
            yield fact("message sizes", "bytes_per_call", "B", call)
        yield "message sizes", Question("set", "message_sizes"), "B"
        yield fact("memory", "rank_memory", "B")
    if runs["node_memory_slurm"].notna().any():
        yield fact("memory", "node_memory_slurm", "B")
    if not runs["target_time"].gt(0).any():  # else a run is as long as it was asked to be
        if len(calls):
            yield fact("data volume", "rank_bytes", "B")
        yield fact("energy and cost", "jobs_per_day", "jobs per day")
    if runs["energy"].notna().any():
        yield fact("energy and cost", "energy_per_job", "Wh")
    if runs["mean_power"].notna().any():
        yield fact("energy and cost", "mean_power", "W")


def _most_used(table: pd.DataFrame, column: str, most: int) -> list[str]:
    """Name the calls with the largest mean share of a column in their runs."""
    table = table[table[column] > 0]
    if table.empty:
        return []
    shares = table[column] / table.groupby("run")[column].transform("sum")
    return list(shares.groupby(table["call"]).sum().sort_values(ascending=False, kind="stable").index[:most])


def _drafted(topic: str, question: Question, unit: str, campaign: Campaign) -> Iterator[ConclusionDraft]:
    """Draft a fact where its interval can be trusted, and elsewhere that it was seen."""
    try:
        if _unlike(question, campaign):
            return  # it depends on what is run where: a comparison says more
        found = findings(question, campaign)
    except NotCoveredError:
        return
    if question.quantity == "set":
        members = tuple(in_order(found[0].members or ()))
        if 0 < len(members) <= _SIZES:
            yield _measure(IS, topic, replace(question, members=members), unit, narrow=True)
        return
    if MEASURES[question.variable].exact:
        if found[0].estimate.value:
            yield _measure(IS, topic, question, unit, narrow=True)
        return
    finite = [one for one in found if math.isfinite(one.estimate.value)]
    sure = [at for at, one in enumerate(found) if one.estimate.settles]
    strata = [one.stratum for one in found]
    for chosen, fits in regions(strata, sure) if sure else ():
        yield _measure(IS, topic, question, unit, strata=[strata[at] for at in fits], chosen=chosen)
    if rest := [one for one in finite if not one.estimate.settles]:
        yield _measure(SEEN, topic, question, unit, strata=[one.stratum for one in rest], found=rest)


def _unlike(question: Question, campaign: Campaign) -> bool:
    """Tell whether the medians of many strata are too unlike to be one fact, without their intervals."""
    spec = MEASURES.get(question.variable)
    if spec is None or spec.exact:
        return False
    found = strata(measured(question, campaign), (), campaign, spec)
    middles = [float(np.median(part["value"])) for _, part in found]
    return len(middles) > _STRATA and max(middles) > _ALIKE * min(middles)


def _measure(word: str, topic: str, question: Question, unit: str, **more: Any) -> ConclusionDraft:
    asked = () if question.quantity == "set" else question.members
    named = ((question.select or {})["application"], question.variable, *asked)
    return ConclusionDraft(word, question, named, topic=topic, unit=unit, **more)
