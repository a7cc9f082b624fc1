"""Conclusions in words: the winner first, by how much, and where; and what stands below."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from analysis.base.words import Level, attached, decimals, number, significant
from analysis.estimates.campaign import Campaign
from analysis.estimates.finding import Finding, days_said
from analysis.estimates.stats import Estimate
from analysis.findings.naming import PLACES, display, noun, place, plural
from analysis.findings.plans import Plan

# How a winner is said to be ahead, singular and plural, with {} for how many times; else it is faster.
_AHEAD = {
    "bandwidth": ("carries {} times as much as", "carry {} times as much as"),
    "energy_per_job": (
        "is {} times as economical with energy as",
        "are {} times as economical with energy as",
    ),
    "throughput": ("does {} times the work of", "do {} times the work of"),
    "jobs_per_day": ("does {} times the jobs a day of", "do {} times the jobs a day of"),
}
_RATE = ("reaches {} times the rate of", "reach {} times the rate of")
_FAST = ("is {} times as fast as", "are {} times as fast as")
_WORDS = frozenset(
    ["a", "the", "no", "every", "beyond", "build", "version", "tuning", "placement", "memory", "runs"]
)
# How runs are meant to be, which nobody says.
_PLAIN = {"concurrent_jobs": [1], "profiler": ["none"]}


def said(text: str) -> str:
    """Begin a sentence with a capital letter, but no name."""
    return text[:1].upper() + text[1:] if text.partition(" ")[0] in _WORDS else text


def times(estimates: Sequence[Estimate]) -> str:
    """Spell one ratio, or from which to which several go: ``1.12``, ``1.03 to 1.31``."""
    ordered = sorted(estimates, key=lambda one: one.value)
    least, most = ratio(ordered[0]), ratio(ordered[-1])
    return least if least == most else f"{least} to {most}"


def ratio(estimate: Estimate) -> str:
    """Spell a ratio with as many digits as its interval supports, two decimals below ten at least."""
    if estimate.value >= 10:
        return f"{estimate.value:,.{min(max(decimals(estimate, 1), 0), 1)}f}"
    return f"{estimate.value:.{min(max(decimals(estimate, 1), 2), 3)}f}"


def interval(estimate: Estimate, unit: str = "") -> str:
    """Spell an interval without its value: ``1.08 to 1.17``, with its level below 95 %."""
    text = number(estimate, unit)
    return text[text.index("(") + 1 : -1] if "(" in text else "no interval"


def in_brackets(found: Sequence[Finding], *, middle: bool = False) -> str:
    """Say how sure ratios are: the interval of one, or of several each of their intervals' ends."""
    if len(found) == 1:
        one = found[0].estimate
        return f"({ratio(one)} times, {interval(one)})" if middle else f"({interval(one)})"
    ends = [one.estimate for one in found]
    spans = f"intervals from {min(one.low for one in ends):.2f} to {max(one.high for one in ends):.2f}"
    return f"({times(ends)} times, {spans})" if middle else f"({spans})"


def ahead(plan: Plan, campaign: Campaign, winner: Level, loser: Level, by: str) -> str:
    """Say that one level is ahead of another, ``by`` times."""
    phrase = _AHEAD.get(plan.measured.variable, _FAST)
    if plan.factor in ("case", "target_time"):  # another amount of work: a rate, and no speed
        phrase = _RATE
    verb = phrase[plural(plan.factor, winner)].format(by)
    said_so = f"{subject(plan, campaign, winner)} {verb} {subject(plan, campaign, loser)}"
    return f"{said_so}, node for node," if plan.factor == "cluster" else said_so


def subject(plan: Plan, campaign: Campaign, level: Level) -> str:
    """Name a level as what a sentence is about."""
    name = noun(campaign, plan.factor, level)
    if plan.factor == "profiler":
        return "a run without a profiler" if level == "none" else f"a run under {name}"
    if plan.factor == "concurrent_jobs" and level == 1:
        return "1 job on as many ranks"
    if plan.factor == "nodes" and level != 1 and (link := plan.where.get(level, {}).get("interconnect")):
        return f"{name} {place(campaign, 'interconnect', [link])}"
    return name


def spoken(
    campaign: Campaign, select: Mapping[str, Any], differing: Collection[str], apart: Collection[str]
) -> list[str]:
    """Choose of the selected factors those that a sentence names: in which runs differ, and the main ones."""
    runs = campaign.runs
    runs = runs[runs["valid"] & (runs["application"] == select.get("application"))]
    main = [name for name in ("case", "nodes", "interconnect") if runs[name].nunique() > 1]
    if select.get("nodes") == 1 and "interconnect" in main and "interconnect" not in differing:
        main.remove("interconnect")
    return [name for name in PLACES if name in select and name not in apart and name in (*main, *differing)]


def where(campaign: Campaign, select: Mapping[str, Any], names: Collection[str]) -> str:
    """Say where something holds: ``at 16³, on 2 nodes``; empty without names."""
    words = []
    given: dict[str, list[Level]] = {
        name: one if isinstance(one, list) else [one]
        for name, one in select.items()
        if name in names and not isinstance(one, Mapping)
    }
    for name, levels in ((name, given[name]) for name in PLACES if name in given):
        if levels == _PLAIN.get(name):
            continue
        # More ranks follow from more nodes.
        if name == "ranks" and len(levels) > 1 and len(given.get("nodes", ())) == len(levels):
            continue
        words.append(place(campaign, name, levels))
    return ", ".join(words)


def within(campaign: Campaign, select: Mapping[str, Any], names: Collection[str]) -> str:
    """Say of which application and where: ``in HPCG, at 16³``."""
    application = display(campaign, "application", select["application"])
    return ", ".join(filter(None, (f"in {application}", where(campaign, select, names))))


def footnote(campaign: Campaign, finding: Finding, unit: str, rest: str = "") -> str:
    """Say what a finding rests on: runs, base value, level of the interval, conditions, days, evidence."""
    estimate = finding.estimate
    words = [f"n {estimate.n}" + (f" / {estimate.n_baseline}" if estimate.n_baseline is not None else "")]
    if finding.base:
        value, own, _ = finding.base
        words.append(f"base {attached(significant(value, 3), shown_unit(own or unit))}")
    if estimate.bounded:
        words.append(f"interval at {estimate.level:.0%}")
    elif not math.isfinite(estimate.low):
        words.append("no interval: too few runs")
    return "; ".join(filter(None, (", ".join(words), rest, days_said(estimate), campaign.evidence)))


def shown_unit(unit: str) -> str:
    """Return a unit as it is shown."""
    return "µs" if unit == "us" else unit
