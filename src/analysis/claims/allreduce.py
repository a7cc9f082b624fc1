"""The share of MPI_Allreduce: HPCG prints its time, and the report the shares that it follows from.

HPCG 2.4 prints the mean time of a rank in the reductions of its dot products, and no other MPI time.
Its share of the run time can be held against the product of two shares that the report prints:
24 % of an MPI time that is 28 % of the run time.
"""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from analysis.base.words import number
from analysis.claims.model import Claim, Expectation
from analysis.claims.relations import span_of
from analysis.claims.spans import Expression, Span
from analysis.claims.verdict import Verdict, finite
from analysis.claims.verdicts import judge
from analysis.estimates import stats
from analysis.estimates.campaign import Campaign
from analysis.estimates.finding import Finding
from analysis.estimates.question import Question

CLAIM = "hpcg2014-prof-allreduce-24pct"
# As the report prints them, both with a tilde or "about".
MPI_SHARE, ALLREDUCE_SHARE = "28", "24"


def expected() -> Span:
    """Return the share of run time, in percent, that the report's two printed shares give."""
    shares = {"mpi": span_of(MPI_SHARE, "about"), "call": span_of(ALLREDUCE_SHARE, "about")}
    return Expression("mpi * call / 100").evaluate(shares)


def allreduce_shares(campaign: Campaign) -> pd.DataFrame:
    """Share of MPI_Allreduce in the run time of every HPCG run that prints it.

    Columns of ``runs`` and ``allreduce_time`` (s, mean over ranks) and ``share`` (percent of the rated
    phase).
    """
    figures = campaign.frame("figures")
    times = figures[figures["metric"] == "allreduce_time"].set_index("run")["value"]
    runs = campaign.runs[campaign.runs["run"].isin(times.index)]
    runs = runs.assign(allreduce_time=runs["run"].map(times))
    return runs.assign(share=100 * runs["allreduce_time"] / runs["benchmark_time"])


def allreduce_verdict(untested: Verdict, campaign: Campaign) -> Verdict:
    """Judge the report's share of MPI_Allreduce by the runs at 16³; without such runs, what the engine says.

    One estimate a system (environment), of which the one with the most runs is shown.
    """
    shares = allreduce_shares(campaign)
    small = shares[shares["local_size"] == 16]
    if small.empty:
        return untested
    span = expected()
    want = Expectation(relation="range", low=span.low, high=span.high, unit="%")
    claim = Claim(CLAIM, untested.report, untested.topic, untested.statement, Question("level"), want)
    parts = sorted(
        (part for _, part in small.groupby("build", sort=True)), key=lambda part: len(part), reverse=True
    )
    found = [_finding(part) for part in parts]
    verdict, reason = judge(claim, found[0])
    low, high = small["share"].min(), small["share"].max()
    beside = "all above" if low > span.high else "all below" if high < span.low else "not all beside"
    ends = f"{span.low:.2g} % to {span.high:.2g} %"
    return replace(
        untested,
        verdict=verdict,
        reason=f"{reason}; {len(small)} runs on {len(parts)} systems from {low:.1f} % to {high:.1f} % "
        f"of the run time, {beside} the {ends} that the report's shares give",
        estimate=found[0].estimate.value,
        low=finite(found[0].estimate.low),
        high=finite(found[0].estimate.high),
        expected=span.value,
        expected_low=span.low,
        expected_high=span.high,
        unit="%",
        n=found[0].estimate.n,
        scale="share",
        estimate_text=number(found[0].estimate, "%") + " of run time",
        expected_text=f"{span.value:.3g} % of run time",
        compared=" | ".join(one.compared for one in found),
        arithmetic=f"{ALLREDUCE_SHARE} % of {MPI_SHARE} % = {span.value:.3g} %; "
        + " | ".join(one.arithmetic for one in found),
        runs=[run for one in found for run in one.runs],
        differs=[
            "share of the run time, as no other MPI time is printed",
            "8 nodes with 64 ranks where the report has 4 with 80",
            "QDR InfiniBand",
        ],
    )


def _finding(part: pd.DataFrame) -> Finding:
    rows = zip(part["allreduce_time"], part["benchmark_time"], part["share"], strict=True)
    name = str(part["build"].iloc[0])
    return Finding(
        stats.median(part["share"]),
        compared=f"16³ on {name}, 8 nodes, 64 ranks",
        arithmetic=f"{name}: " + ", ".join(f"{a:g} s / {b:g} s = {share:.3g} %" for a, b, share in rows),
        runs=tuple(part["run"]),
    )
