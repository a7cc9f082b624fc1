"""How a campaign was measured, what was left out of it, and why something was not decided."""

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from analysis.base.words import attached, counted, percent, significant
from analysis.decks.slide import Slide, cut, listed, tabled
from analysis.estimates.campaign import Campaign
from analysis.estimates.differences import MARGIN
from analysis.estimates.spelling import display, nameable
from analysis.findings.conclusion import Conclusion, reason
from analysis.schema.factors import FACTORS, FOLLOWS

_REASONS = 5  # why runs were left out, the most frequent
_SEEN = 36  # rows of a table of values that were seen
_EACH = 24  # runs up to so many are shown one by one


def method_slides(campaign: Campaign, q: float, undecided: Sequence[Conclusion]) -> Iterator[Slide]:
    """Say what was not decided, how it was measured, and of published figures whose they are."""
    doubts = ((one.name, one.found) for one in campaign.doubts)
    rows = [("Not decided", "Why, and remedy")]
    rows += [*doubts, *((one.row, reason(one)) for one in undecided)]
    lines = [_counted(campaign.runs), *_left_out(campaign), *_statistics(q)]
    if campaign.evidence == "published":
        lines.insert(0, "Values and conditions are as their sources print them; nothing was measured anew.")
    if campaign.evidence == "synthetic":
        lines.insert(0, "The runs were generated around a declared truth: they are no evidence.")
    yield from listed(rows, "What could not be decided", "Open", campaign)
    yield Slide("method", "How it was measured", "Method", tuple(lines), label=campaign.evidence)
    sources = [("Source", "Address"), *campaign.references.values()]
    yield from tabled(sources, "list", "Sources", "Method", label=campaign.evidence)


def _counted(runs: pd.DataFrame) -> str:
    own = runs[runs["valid"]]
    repeats = own.groupby(list(FACTORS), dropna=False, observed=True).size()
    if repeats.empty:
        return f"{len(runs):,} runs, none of them valid."
    least, most, middle = repeats.min(), repeats.max(), repeats.median()
    times = f"{least} times" if least == most else f"{least} to {most} times, {middle:g} in the middle"
    times = "once" if most == 1 else times
    text = f"{len(own):,} runs in {len(repeats):,} settings; a setting was run {times}"
    days = own["start"].dropna().dt.date.nunique()
    if (own["evidence"] == "synthetic").any() or not days:
        return f"{text}."
    return f"{text}, on {counted(days, 'day')}."


def _left_out(campaign: Campaign) -> Iterator[str]:
    runs = campaign.runs
    failed = runs[~runs["valid"]]
    if len(failed):
        counts = failed["reason"].replace("", "no reason stated").value_counts()
        counts = counts.sort_index().sort_values(ascending=False, kind="stable")
        words = [f"{count} {cut(str(why), 90)}" for why, count in counts.items()][:_REASONS]
        more = f" and {len(counts) - _REASONS} more reasons" if len(counts) > _REASONS else ""
        one = "run was left out" if len(failed) == 1 else "runs were left out"
        yield f"{len(failed):,} {one}: {', '.join(words)}{more}."
    elif not campaign.lost:
        yield "No run was left out."
    if campaign.lost:
        yield f"{cut(campaign.lost, 150)}."
    doubted = {run for one in campaign.doubts for run in one.runs}
    if doubted:
        cells = counted(len(campaign.doubts), "setting")
        yield f"{counted(len(doubted), 'run')} of {cells} may be no repeats of each other."
    untimed = int((runs["valid"] & ~runs["timing"] & ~runs["run"].isin(doubted)).sum())
    if untimed:
        yield f"The times of {counted(untimed, 'run')} may not be used: such runs show structure alone."


def _statistics(q: float) -> tuple[str, ...]:
    return (
        "A value is the median of its repeats; a ratio is that of two medians of runs that are alike in "
        "every factor but the compared one. No ratios are averaged, and no distribution is assumed.",
        "Intervals come from order statistics, at 95 % from six repeats on; with fewer the level is lower, "
        "and is given. What rests on fewer than four repeats per side is not decided.",
        "Everything that could be compared was tested; the rate of false discoveries over all tests is "
        f"controlled at {q:.2g} (Benjamini and Hochberg). q is the lowest rate at which a "
        "conclusion is significant.",
        f"Equal means within {percent(MARGIN)}: two one-sided rank tests and the whole interval. "
        "A test that finds no difference has not shown that two are equal.",
    )


def seen(campaign: Campaign) -> Iterator[Slide]:
    """Give the values of a campaign from which nothing can be concluded."""
    runs = campaign.runs
    own = runs[runs["valid"] & runs["figure_of_merit"].notna()]
    note = "Values as they were seen; nothing is concluded from their differences."
    rows = values(campaign, own)[: 1 + _SEEN] if len(own) else []
    yield from tabled(rows, "list", "Values as seen", "No conclusion", footnote=note, label=campaign.evidence)


def values(campaign: Campaign, runs: pd.DataFrame) -> list[tuple[str, ...]]:
    """Return a table of figures of merit: one row a run, or a setting, or a case."""
    moving = _moving(runs)
    if len(runs) <= _EACH:
        return _of_each(campaign, runs, moving)
    settings = runs.groupby(moving, dropna=False, observed=True).ngroups if moving else 1
    return _of_settings(campaign, runs, moving if 1 < settings <= _SEEN else ["application", "case"])


def _moving(runs: pd.DataFrame) -> list[str]:
    """Return the factors in which runs differ, without those that follow from others."""
    derived = {name for names in FOLLOWS.values() for name in names}
    return [name for name in FACTORS if name not in derived and runs[name].nunique(dropna=False) > 1]


def _of_each(campaign: Campaign, runs: pd.DataFrame, moving: Sequence[str]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("Run", "n", "Value")]
    for run in runs.to_dict("records"):
        words = [_level(campaign, name, run[name]) for name in moving]
        value = attached(significant(float(run["figure_of_merit"])), str(run["figure_of_merit_unit"]))
        rows.append((", ".join(filter(None, words)) or str(run["run"]), "1", value))
    return rows


def _of_settings(campaign: Campaign, runs: pd.DataFrame, keys: Sequence[str]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("What", "Runs", "Least", "Median", "Most", "Unit")]
    for names, part in runs.groupby([*keys, "figure_of_merit_unit"], sort=True, dropna=False, observed=True):
        words = [_level(campaign, name, level) for name, level in zip(keys, names[:-1], strict=True)]
        of_all = part["figure_of_merit"]
        ends = [significant(float(one)) for one in (of_all.min(), of_all.median(), of_all.max())]
        rows.append((", ".join(filter(None, words)), f"{len(part):,}", *ends, str(names[-1])))
    return rows


def _level(campaign: Campaign, factor: str, level: Any) -> str:
    return display(campaign, factor, level) if nameable(level) and level != "none" else ""
