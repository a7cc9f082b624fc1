"""What a campaign holds: its runs, the factors in which they differ, what was recorded beside them."""

from __future__ import annotations

from collections import Counter

import pandas as pd
from IPython.display import Markdown

from analysis.base.words import in_order, number
from analysis.estimates import tables
from analysis.estimates.campaign import Campaign
from analysis.estimates.groups import strata_names
from analysis.estimates.selection import measure_of
from analysis.estimates.stats import Estimate
from analysis.pages.notebook import Book, TextTable, closing, shown
from analysis.pages.runs import question, unit_of
from analysis.schema.factors import FACTORS, is_known

_MOST = 60  # kinds of run in the table
_LEVELS = 12  # of a factor


def factor_table(campaign: Campaign) -> pd.DataFrame:
    """List the factors that any run names: ``factor levels``, each level with its number of runs."""
    runs = campaign.runs
    rows = []
    for factor in FACTORS:
        counts = runs[factor].value_counts()
        levels = [level for level in in_order(counts.index.tolist()) if is_known(level)]
        if not levels or levels == ["none"]:
            continue
        listed = [f"{_level(level)} ({counts[level]})" for level in levels[:_LEVELS]]
        more = [f"and {len(levels) - _LEVELS} more"] if len(levels) > _LEVELS else []
        rows.append((factor.replace("_", " "), len(levels), ", ".join([*listed, *more])))
    return pd.DataFrame(rows, columns=["factor", "levels", "runs of each"])


def _level(level: object) -> str:
    return level if isinstance(level, str) else f"{level:g}"


def kinds(campaign: Campaign) -> pd.DataFrame:
    """List the kinds of run: what sets each apart, its number of runs, and the median of what it measures.

    Columns ``application runs n measure median``, the last with its interval; of more than 60 kinds the most
    repeated.
    """
    runs = campaign.runs
    runs = runs[runs["valid"]]
    found = []
    for application, part in runs.groupby("application", sort=True):
        levels = [
            {name: level if is_known(level) else "" for name, level in zip(FACTORS, row, strict=True)}
            for row in part[list(FACTORS)].itertuples(index=False)
        ]
        named = part.assign(runs=[name or "all runs" for name in strata_names(levels)])
        measure = measure_of(campaign.own(part))
        asked = question(campaign.own(part), measure)
        values = named.assign(value=part["figure_of_merit"])
        if measure != "figure_of_merit":
            times = part["figure_of_merit"].where(part["figure_of_merit_unit"] == "s")
            values = named.assign(value=times.fillna(part["elapsed"]))
        table = tables.summary(values, ["runs"], "value", measure)
        unit = unit_of(asked, part)
        rows = table[["median", "low", "high", "n", "confidence"]].itertuples(index=False)
        spelt = [
            number(Estimate(value, low, high, n, level=level), unit) for value, low, high, n, level in rows
        ]
        found.append(table.assign(application=application, measure=measure.replace("_", " "), median=spelt))
    columns = ["application", "runs", "n", "measure", "median"]
    if not found:
        return pd.DataFrame(columns=columns)
    whole = tables.stacked(*found).sort_values("n", ascending=False, kind="stable").head(_MOST)
    return whole[columns].sort_index()


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


def tally(book: Book) -> TextTable | Markdown:
    """Count the verdicts on the reports' claims that were tested, in a table ``report verdict claims``."""
    told = ((one.report, one.verdict) for one in book.verdicts() if one.verdict != "not tested")
    rows = [(*what, n) for what, n in Counter(told).items()]
    if not rows:
        return closing([])
    return shown(pd.DataFrame(rows, columns=["report", "verdict", "claims"]))
