"""What a campaign holds: its runs, the factors in which they differ, what was recorded beside them."""

from __future__ import annotations

from collections import Counter

import pandas as pd

from analysis.base.words import in_order, labelled
from analysis.estimates import tables
from analysis.estimates.campaign import FOLLOWS, Campaign
from analysis.estimates.question import FACTORS
from analysis.pages.choices import measure_of, own, unknown
from analysis.pages.notebook import Book
from analysis.pages.runs import question, unit_of

_MOST = 60  # kinds of run in the table
_LEVELS = 12  # of a factor


def factor_table(campaign: Campaign) -> pd.DataFrame:
    """List the factors that any run names: ``factor levels``, each level with its number of runs."""
    runs = campaign.runs
    rows = []
    for factor in FACTORS:
        counts = runs[factor].value_counts()
        levels = [level for level in in_order(counts.index.tolist()) if not unknown(level)]
        if not levels or levels == ["none"]:
            continue
        shown = [f"{_level(level)} ({counts[level]})" for level in levels[:_LEVELS]]
        more = [f"and {len(levels) - _LEVELS} more"] if len(levels) > _LEVELS else []
        rows.append((factor.replace("_", " "), len(levels), ", ".join([*shown, *more])))
    return pd.DataFrame(rows, columns=["factor", "levels", "runs of each"])


def _level(level: object) -> str:
    return level if isinstance(level, str) else f"{level:g}"


def kinds(campaign: Campaign) -> pd.DataFrame:
    """List the kinds of run: what sets each apart, its number of runs, and the median of what it measures.

    Columns ``application runs n measure median low high unit``; of more than 60 kinds the most repeated.
    """
    runs = campaign.runs
    runs = runs[runs["valid"]]
    found = []
    for application, part in runs.groupby("application", sort=True):
        varying = [name for name in FACTORS if part[name].nunique(dropna=False) > 1]
        varying = [name for name in varying if not any(name in FOLLOWS.get(one, ()) for one in varying)]
        named = part.assign(runs=[_kind(varying, row) for row in part[varying].itertuples(index=False)])
        shown = own(campaign, part)
        measure = measure_of(shown)
        asked = question(shown, measure)
        values = named.assign(value=part["figure_of_merit"])
        if measure != "figure_of_merit":
            times = part["figure_of_merit"].where(part["figure_of_merit_unit"] == "s")
            values = named.assign(value=times.fillna(part["elapsed"]))
        table = tables.summary(values, ["runs"], "value", measure)
        unit = unit_of(asked, part)
        found.append(table.assign(application=application, measure=measure.replace("_", " "), unit=unit))
    if not found:
        return pd.DataFrame(columns=["application", "runs", "n", "measure", "median", "low", "high", "unit"])
    whole = tables.stacked(*found).sort_values("n", ascending=False, kind="stable").head(_MOST)
    return whole[["application", "runs", "n", "measure", "median", "low", "high", "unit"]].sort_index()


def _kind(factors: list[str], row: tuple[object, ...]) -> str:
    told = zip(factors, row, strict=True)
    return ", ".join(labelled(name, level) for name, level in told if not unknown(level)) or "all runs"  # type: ignore[arg-type]


def holding_sentences(campaign: Campaign) -> list[str]:
    """Say how many runs there are, of what, in what they differ, and what was recorded beside them."""
    runs = campaign.runs
    counted = int(runs["valid"].sum())
    programs = " and ".join(f"{n} of {name}" for name, n in runs["application"].value_counts().items())
    whole = f"{len(runs)} run{'s' if len(runs) != 1 else ''} ({programs})"
    out = [f"{whole}; {counted if counted < len(runs) else 'all'} may enter statistics."]
    table = factor_table(campaign)
    varying = table[table["levels"] > 1]
    listed = [f"{row.factor} ({row.levels})" for row in varying.itertuples()]
    out.append(f"They differ in {', '.join(listed)}." if listed else "They differ in no factor.")
    profiled = campaign.frame("calls")["run"].nunique()
    tabled = campaign.frame("micro")["run"].nunique()
    metered = int(runs["energy"].notna().sum())
    beside = [(profiled, "an MPI profile"), (tabled, "a table over message sizes"), (metered, "an energy")]
    told = [f"{n} {'have' if n > 1 else 'has'} {what}" for n, what in beside if n]
    return [*out, *([f"Of them {', '.join(told)}."] if told else [])]


def tally(book: Book) -> pd.DataFrame:
    """Count the verdicts on claims that were tested: ``report verdict claims``."""
    told = ((one.report, one.verdict) for one in book.verdicts() if one.verdict != "not tested")
    rows = [(*what, n) for what, n in Counter(told).items()]
    return pd.DataFrame(rows, columns=["report", "verdict", "claims"])
