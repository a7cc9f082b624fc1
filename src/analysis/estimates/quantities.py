"""Quantities: from a claim and a campaign to estimates, one for each stratum.

A stratum is a group of runs that differ in nothing but the compared factor (and what follows from
it). Several strata mean that the campaign varies something the claim does not speak of; then each
is estimated by itself and the claim's ``aggregate`` says whether all must agree or the best counts.

=============  ==================================================================================
quantity       estimate
=============  ==================================================================================
speedup        how many times the treatment is better than the baseline (times: smaller is better)
gain           the same as a percentage above 1
reduction      how many percent less the treatment takes
efficiency     speedup over the ratio of ranks, in percent
equality       ratio of the medians, with a test of equivalence
ordering       the weakest step of an order, as a speedup
trend          Kendall's tau along an order
saturation     the level after which a step gains less than the threshold
interaction    how many times larger a speedup is at one level of another factor than at another
crossover      speedups that favour each side somewhere
cost           currency a year, or what is saved of it
level          the median of a measure
set            a set of things
=============  ==================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import pandas as pd

from analysis.claims.model import Claim, Comparison, Level
from analysis.claims.words import in_order
from analysis.estimates import cost, ratios, scaling, stats, uncertainty
from analysis.estimates.campaign import Campaign, NotCoveredError
from analysis.estimates.finding import Finding, common, listed
from analysis.estimates.groups import Groups, cells, groups, strata, values
from analysis.estimates.measures import MEASURES, SETS
from analysis.estimates.stats import Estimate

__all__ = ["Finding", "findings"]

_OF_A_STRATUM: dict[str, Callable[[Claim, Comparison, Groups], list[Finding]]] = {
    "speedup": ratios.ratio,
    "gain": ratios.ratio,
    "reduction": ratios.ratio,
    "efficiency": ratios.ratio,
    "equality": ratios.ratio,
    "ordering": ratios.ordering,
    "trend": ratios.trend,
    "saturation": scaling.saturation,
    "cost": cost.saving,
}


def findings(claim: Claim, campaign: Campaign) -> list[Finding]:
    """Estimate a claim's quantity in every stratum that a campaign has for it.

    Parameters
    ----------
    claim : Claim
    campaign : Campaign

    Returns
    -------
    list of Finding
        At least one.

    Raises
    ------
    NotCoveredError
        If the campaign has no runs for it; the message says what is missing.
    ConfigError
        If the claim asks for a mean of what has none.
    """
    if claim.each:
        single = [replace(claim, members=(member,), each=False) for member in claim.members]
        return [finding for one in single for finding in findings(one, campaign)]
    if claim.quantity == "set":
        return [_set(claim, campaign)]
    frame = values(claim, campaign)
    spec = MEASURES[claim.variable]
    if claim.tariff is not None:
        frame = cost.with_time(frame, campaign)
    if claim.compare is not None:
        return _compared(claim, claim.compare, campaign, frame)
    if spec.exact:
        found = frame["value"]
        middle = Estimate(float(found.median()), float(found.min()), float(found.max()), len(found))
        # One value where the quantity depends on nothing else; otherwise its whole range.
        return [Finding(middle, common(frame), f"every run: {listed(found)}", tuple(frame["run"]))]
    parts = strata(frame, (), campaign, spec)
    if claim.tariff is not None:
        return [cost.level(claim, part) for _, part in parts]
    return [_level(claim, stratum, part) for stratum, part in parts]


def _level(claim: Claim, stratum: Mapping[str, Level], part: pd.DataFrame) -> Finding:
    estimate, note = uncertainty.carry(claim.variable, stats.median(part["value"]), float, part)
    return Finding(
        estimate,
        compared=common(part),
        arithmetic=f"median of {listed(part['value'])}{note}",
        runs=tuple(part["run"]),
        stratum=stratum,
    )


def _compared(claim: Claim, compare: Comparison, campaign: Campaign, frame: pd.DataFrame) -> list[Finding]:
    if claim.quantity == "interaction":
        of_cell = scaling.interaction if claim.tariff is None else cost.growth
        return [one for cell in cells(claim, campaign, frame) for one in of_cell(claim, compare, cell)]
    found = groups(claim, campaign, frame)
    if claim.quantity == "crossover":
        return scaling.crossover(claim, compare, found)
    if claim.aggregate == "mean":
        return ratios.mean_ratio(claim, compare, found)
    estimate = _OF_A_STRATUM[claim.quantity]
    return [finding for one in found for finding in estimate(claim, compare, one)]


def _set(claim: Claim, campaign: Campaign) -> Finding:
    selection = dict(claim.select or {})
    if campaign.profiler:
        selection["profiler"] = campaign.profiler
    runs = campaign.select(selection, timing=False)
    sets = SETS[claim.variable](campaign, runs, claim.expect.members)
    if not sets:
        raise NotCoveredError(f"no selected run of {campaign.name} has {claim.variable.replace('_', ' ')}")
    union = frozenset().union(*sets.values())
    expected = set(claim.expect.members)
    n = float(len(union))
    return Finding(
        Estimate(n, n, n, len(sets)),
        compared=common(runs[runs["run"].isin(sets)]),
        arithmetic="; ".join(
            f"run {run}: {', '.join(map(str, in_order(found)))}" for run, found in sets.items()
        ),
        runs=tuple(sets),
        members=union,
        unequal=tuple(run for run, found in sets.items() if found != expected),
    )
