"""Calls and messages of a profile: shares of counts and times, sizes, and what the reports claim of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd

from analysis.claims.model import Report
from analysis.estimates import tables
from analysis.estimates.by_profile import SENDING
from analysis.estimates.campaign import Campaign
from analysis.pages.runs import Select, measured, refuse_mixture
from analysis.schema.factors import FACTORS


def shares(campaign: Campaign, of: str, select: Select | None = None, *, least: float = 1.0) -> pd.DataFrame:
    """Share of each call in MPI ``time``, or in the ``count`` of calls, of alike runs.

    Columns ``call median low high n``, in percent, the largest first. Calls below `least` percent in every
    run are put together as ``other``; calls that only look up or manage are not counted. Raises
    `NotCoveredError` if no profiled run is selected, or the runs differ in a factor.
    """
    runs = _alike(campaign, select)
    found = tables.call_shares(campaign, runs, least, of=of)
    # A run that never makes a call has a share of 0, which is no missing value.
    full = found.pivot(index="run", columns="call", values="share").fillna(0.0)
    long = full.melt(value_name="share")
    return tables.summary(long, ["call"], "share").sort_values("median", ascending=False, ignore_index=True)


def claimed(reports: Iterable[Report], variable: str) -> dict[str, float]:
    """Return the ``call_share`` or ``count_share`` in percent that the reports claim of single calls."""
    return {
        str(claim.question.members[0]): float(claim.expect.value)
        for report in reports
        for claim in report.claims
        if claim.question.variable == variable
        and len(claim.question.members) == 1
        and claim.expect.value is not None
    }


def messages(campaign: Campaign, select: Select | None = None) -> pd.DataFrame:
    """Count messages handed to MPI over all ranks, mean over alike runs: ``call size count``, size in B."""
    runs = _alike(campaign, select)
    found = campaign.frame("messages").merge(runs[["run"]], on="run")
    found = found[found["call"].isin(SENDING)]
    total = found.groupby(["call", "size"])[["count"]].sum().reset_index()
    total["count"] = total["count"] / len(runs)
    return total


def size_shares(campaign: Campaign, bounds: Sequence[int], select: Select | None = None) -> pd.DataFrame:
    """Say which share of the messages has at most a given size in B, by call and over all calls.

    Columns ``call messages`` and one a bound, ``up to 64 B``, in percent; the last row is ``all``.
    """
    found = messages(campaign, select)
    groups = [*found.groupby("call"), ("all", found)]
    rows = []
    for call, part in groups:
        total = part["count"].sum()
        below = [100 * part.loc[part["size"] <= bound, "count"].sum() / total for bound in bounds]
        rows.append((call, round(float(total)), *map(float, below)))
    return pd.DataFrame(rows, columns=["call", "messages", *(f"up to {bound} B" for bound in bounds)])


def call_sentences(table: pd.DataFrame, whole: str, *, most: int = 3) -> str:
    """Name the largest shares: ``MPI_Recv 36.1 %, MPI_Allreduce 27.0 % of MPI time``."""
    rows = table[table["call"] != "other"].head(most)
    listed = ", ".join(f"{row.call} {row.median:.1f} %" for row in rows.itertuples())
    return f"{listed} of {whole} (n = {int(table['n'].min())})."


def _alike(campaign: Campaign, select: Select | None) -> pd.DataFrame:
    runs = measured(campaign, "distinct_calls", select).drop(columns="value")
    refuse_mixture(runs, (), [factor for factor in FACTORS if factor not in campaign.pool])
    return runs
