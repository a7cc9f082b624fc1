"""What a campaign holds: its runs, the factors in which they differ, and how far its repeats scatter."""

from collections import Counter

import pandas as pd
from IPython.display import Markdown
from matplotlib.figure import Figure

from analysis.base.words import Level, counted, displayed, general, in_order, significant
from analysis.estimates.campaign import Campaign
from analysis.estimates.tables import spread
from analysis.pages import figures
from analysis.pages.notebook import Book, TextTable, closing, shown
from analysis.schema.factors import FACTORS, is_known, label

_LEVELS = 12  # of a factor
_REASONS = 3  # for which runs do not count


def factor_table(campaign: Campaign) -> pd.DataFrame:
    """List the factors that any run names: ``factor levels``, each level with its number of runs."""
    runs = campaign.runs
    rows = []
    for factor in FACTORS:
        counts = runs[factor].value_counts()
        levels = [level for level in in_order(counts.index.tolist()) if is_known(level)]
        if not levels or levels == ["none"]:
            continue
        listed = [f"{_level(campaign, factor, level)} ({counts[level]})" for level in levels[:_LEVELS]]
        more = [f"and {len(levels) - _LEVELS} more"] if len(levels) > _LEVELS else []
        rows.append((label(factor), len(levels), ", ".join([*listed, *more])))
    return pd.DataFrame(rows, columns=["factor", "levels", "runs of each"])


def _level(campaign: Campaign, factor: str, level: Level) -> str:
    return campaign.own_name(factor, level) or (level if isinstance(level, str) else f"{level:g}")


def holding_sentences(campaign: Campaign) -> list[str]:
    """State the number of runs, their applications, the factors that differ, and the other records."""
    runs = campaign.runs
    counted = int(runs["valid"].sum())
    each = runs["application"].value_counts().items()
    programs = " and ".join(f"{n} of {campaign.application_name(str(name))}" for name, n in each)
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
    told = ((one.report, displayed(one.verdict)) for one in book.verdicts() if one.verdict != "not tested")
    rows = [(*what, n) for what, n in Counter(told).items()]
    if not rows:
        return closing([])
    return shown(pd.DataFrame(rows, columns=["report", "verdict", "claims"]))


# ---- repeats


def draw_repeats(campaign: Campaign, table: pd.DataFrame) -> Figure:
    """Draw each run's deviation of `repeats`, and the median's interval, in % of the median of its kind."""
    found = spread(table)
    middle = found["median"]
    relative = {end: 100.0 * (found[end] / middle - 1.0) for end in ("median", "low", "high")}
    fig, ax = figures.new_figure(campaign.evidence, campaign.name, height=figures.strip_height(len(found)))
    figures.strip_with_interval(
        table, ax=ax, x="runs", y="deviation", summary=found.assign(**relative), order=list(found["runs"]),
        xlabel="kind of run", ylabel="deviation from the median (%)",
    )  # fmt: skip
    return fig


def spread_sentences(campaign: Campaign, table: pd.DataFrame) -> list[str]:
    """Say which kinds of run repeat widest and closest, at what load, and how many runs do not count.

    A kind that was run once has no repeats, so that nothing lies close to anything.
    """
    found = spread(table)
    alone = int((found["n"] < 2).sum())
    found = found[found["n"] > 1]
    found = found.assign(width=found["highest"] - found["lowest"]).sort_values(["width", "runs"])
    out = []
    if len(found):
        widest, closest = found.iloc[-1], found.iloc[0]
        middle = f"{significant(widest['median'], 3)} {widest['unit']}".strip()
        where = f"{_ends(widest)} from their median of {middle}, n = {widest['n']}"
        first = f"The repeats of {widest['runs']} lie {where}"
        others = f"; those of {closest['runs']}, the closest, {_ends(closest)}" if len(found) > 1 else ""
        out.append(f"{first}{others}.")
    if alone:
        kinds = "1 kind of run was" if alone == 1 else f"{alone} kinds of run were"
        out.append(f"{kinds} measured once, which says nothing of repeats.")
    loads = table["load_before"].dropna()
    if len(loads):
        span = f"{loads.min():.1f} to {loads.max():.1f}"
        out.append(f"The machine's load when they began was {span}, that of the runs before them included.")
    lost = campaign.runs[~campaign.runs["valid"]]
    if len(lost):
        why = ", ".join([one for one in lost["reason"].value_counts().index if one][:_REASONS])
        what = f"{counted(len(lost), 'run')} {'count' if len(lost) > 1 else 'counts'} in no statistic"
        out.append(f"{what}{f' ({why})' if why else ''}.")
    return out


def _ends(row: pd.Series) -> str:
    low, high = (general(row[name], "+.1f") for name in ("lowest", "highest"))
    return f"{low} to {high} %"
