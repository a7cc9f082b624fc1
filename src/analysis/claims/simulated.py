"""Claims compared with simulated runs of a real code: what the draws permit.

Each draw answers the claim's question by itself, from the same draw on both sides. A claim is permitted if
what it allows lies among the answers; that confirms nothing. It is not permitted if that lies beyond all
answers, also if each is off by the error of the simulation; if by less, the simulation cannot tell.

The simulation has no noise of the system and no congestion control. A machine may have had what it does not
permit from these. The reason of a word says how many draws lie on either side of what the claim allows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.base.words import percent
from analysis.claims import bands
from analysis.claims.model import Claim
from analysis.estimates.campaign import Campaign
from analysis.estimates.finding import Finding
from analysis.estimates.stats import Estimate
from analysis.model.draws import central

PERMITS, FORBIDS = "simulated: permits", "simulated: does not permit"


@dataclass(frozen=True)
class Permission:
    """The word of a claim, why it is that, and the answers of the draws with the runs that they are from."""

    word: str
    reason: str
    finding: Finding


def judge(claim: Claim, campaign: Campaign) -> Permission:
    """Compare a claim with a simulated campaign.

    Raises `NotCoveredError` if the campaign has no cells for it or its quantity has no band.
    """
    one, low, high = bands.settled(claim, campaign)
    values = one.values
    least, most = central(values)
    widest, farthest = one.band
    below, above = int(np.sum(values < low)), int(np.sum(values > high))
    said = f"{below} of {len(values)} draws lie below what it allows, {above} above"
    if most >= low and least <= high:
        word, why = PERMITS, f"it lies among the answers of the draws, which confirms nothing; {said}"
    elif farthest >= low and widest <= high:
        word = bands.TOO_WIDE
        why = f"it lies beyond all draws, by less than the error of the simulation, {percent(one.error)}"
    else:
        word = FORBIDS
        why = f"it lies beyond all draws, also if each is off by {percent(one.error)}"
    arithmetic = (
        f"draws from {values.min():.4g} to {values.max():.4g}, median {np.median(values):.4g}; "
        f"with an error of {percent(one.error)} {widest:.4g} to {farthest:.4g}"
    )
    estimate = Estimate(float(np.median(values)), least, most, len(values))
    return Permission(word, why, Finding(estimate, one.compared, arithmetic, one.runs))
