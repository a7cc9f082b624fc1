"""Planted lies: of half and twice a claim one is outside of its band, or the band is too wide to tell."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analysis.base import project
from analysis.claims import bands
from analysis.claims.model import Claim, load_report
from analysis.estimates.campaign import Campaign, NotCoveredError, load_campaign

REPORTS = ("hpcg2014", "lsdyna2014", "lsdyna2009", "openatom2010", "sharp2019")
pytestmark = pytest.mark.skipif(
    not (project.processed("modelled") / "campaign.nc").is_file(), reason="no datasets: run make datasets"
)


def _word(claim: Claim, campaign: Campaign) -> str:
    return bands.judge(claim, campaign).word


def _lie(claim: Claim, factor: float) -> Claim:
    """Make the claim's effect `factor` times as great; a claim of a value says it exactly."""
    value = claim.expect.value
    assert value is not None
    told = {"relation": "about", "value": factor * value, "tolerance": 0.1}
    # Another claim has another name: bands are kept by it.
    return replace(claim, id=f"{claim.id}-{factor:g}", expect=claim.expect.model_copy(update=told))


def _claims(campaign: Campaign) -> list[Claim]:
    """List the claims of a ratio that the model has cells for and can tell something of."""
    found = []
    for name in REPORTS:
        for claim in load_report(project.claims(name)).claims:
            ratio = claim.question.quantity in ("speedup", "gain") and claim.expect.value
            try:
                if ratio and _word(claim, campaign) != bands.TOO_WIDE:
                    found.append(claim)
            except NotCoveredError:
                continue
    return found


def test_judge__of_half_and_twice_a_claim_one_is_found_out() -> None:
    campaign = load_campaign("modelled")
    claims = _claims(campaign)
    assert len(claims) >= 3
    lies = [[_word(_lie(claim, factor), campaign) for factor in (0.5, 2.0)] for claim in claims]
    # One of the two can be what the hardware permits, as half of a claim that is outside. Both can only where
    # a claim is true of several comparisons, of which another one settles each lie.
    both = [pair.count(bands.INSIDE) == 2 for pair in lies]
    assert sum(both) <= len(claims) / 5
    assert sum(word != bands.INSIDE for pair in lies for word in pair) >= len(claims)
