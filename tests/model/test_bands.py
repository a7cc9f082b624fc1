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
    return replace(claim, expect=claim.expect.model_copy(update=told))


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


def test_judge__half_and_twice_a_claim_are_never_both_permitted() -> None:
    campaign = load_campaign("modelled")
    claims = _claims(campaign)
    assert len(claims) >= 3
    for claim in claims:
        words = [_word(_lie(claim, factor), campaign) for factor in (0.5, 2.0)]
        # One of the two can be what the hardware permits, as half of a claim that is outside; never both.
        assert words.count(bands.INSIDE) < 2, claim.id


def test_judge__a_claim_far_off_is_outside_both_ways() -> None:
    campaign = load_campaign("modelled")
    for claim in _claims(campaign):
        assert _word(_lie(claim, 100.0), campaign) == bands.OUTSIDE
