"""How far repeats of the same run lie apart: what a machine's measurements are good for."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from analysis.base.words import significant
from analysis.estimates import groups, stats, tables
from analysis.estimates.campaign import Campaign
from analysis.estimates.groups import strata_names
from analysis.pages import figures
from analysis.pages.runs import Select, question, unit_of
from analysis.schema.factors import FACTORS


def repeats(
    campaign: Campaign, variable: str = "figure_of_merit", select: Select | None = None
) -> pd.DataFrame:
    """Hold every run against the median of the runs that are alike in all factors.

    One row a run: ``runs`` (what sets its kind apart), ``value``, ``unit``, ``deviation`` (% of the median of
    its kind) and ``load_before`` (of the machine, NaN where it is not known). Raises `NotCoveredError` if no
    selected run has a value.
    """
    asked = question(campaign, variable, select)
    frame = groups.measured(asked, campaign)
    kinds = [part for _, part in frame.groupby(list(FACTORS), sort=True, dropna=False)]
    names = strata_names([{factor: part[factor].iloc[0] for factor in FACTORS} for part in kinds])
    parts = []
    for name, part in zip(names, kinds, strict=True):
        middle = stats.median(part["value"]).value
        parts.append(
            part[["value", "load_before"]].assign(
                runs=name or "all runs",
                unit=unit_of(asked, part),
                deviation=100.0 * (part["value"] / middle - 1.0),
            )
        )
    return tables.stacked(*parts)


def spread(table: pd.DataFrame) -> pd.DataFrame:
    """Sum up the `repeats` of each kind of run.

    Columns ``runs unit median low high n confidence`` (interval of the median), ``lowest`` and ``highest``
    (run, % of the median).
    """
    ends = table.groupby("runs", sort=False)["deviation"].agg(["min", "max"])
    found = tables.summary(table, ["runs", "unit"], "value")
    return found.assign(lowest=found["runs"].map(ends["min"]), highest=found["runs"].map(ends["max"]))


def draw_repeats(campaign: Campaign, table: pd.DataFrame) -> Figure:
    """Draw each run's deviation of `repeats`, and the median's interval, in % of the median of its kind."""
    found = spread(table)
    middle = found["median"]
    relative = {end: 100.0 * (found[end] / middle - 1.0) for end in ("median", "low", "high")}
    fig, ax = figures.new_figure(campaign.evidence, campaign.name)
    figures.strip_with_interval(
        table, ax=ax, x="runs", y="deviation", summary=found.assign(**relative), order=list(found["runs"]),
        xlabel="kind of run", ylabel="deviation from the median (%)",
    )  # fmt: skip
    return fig


def spread_sentences(campaign: Campaign, table: pd.DataFrame) -> list[str]:
    """Say which kinds of run repeat widest and closest, at what load, and how many runs failed.

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
    failed = int((~campaign.runs["valid"]).sum())
    if failed:
        what = "1 run failed and counts" if failed == 1 else f"{failed} runs failed and count"
        out.append(f"{what} in no statistic.")
    return out


def _ends(row: pd.Series) -> str:
    low, high = (f"{row[name]:+.1f}".replace("-", "−") for name in ("lowest", "highest"))
    return f"{low} to {high} %"
