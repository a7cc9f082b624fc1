"""Planted lies: of half and twice a claim one is outside of its band, or the band is too wide to tell."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from analysis.base import project
from analysis.claims import bands
from analysis.claims.model import Claim, load_report
from analysis.estimates.campaign import Campaign, NotCoveredError, load_campaign
from analysis.pages import bands as page

REPORTS = ("hpcg2014", "lsdyna2014", "lsdyna2009", "openatom2010", "sharp2019")
pytestmark = pytest.mark.datasets("modelled")


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


def test_overlaps__excludes_only_what_chance_does_not_explain() -> None:
    """Of three claims two are reached by other halves of the draws, and one by a single draw."""
    campaign = load_campaign("modelled")
    report = load_report(project.claims("hpcg2014"))
    names = [one.id for one in report.claims[:3]]
    halves = np.arange(300) < 150
    reached = dict(zip(names, (halves, ~halves, np.arange(300) == 0), strict=True))
    found = pd.DataFrame({"claim": names, "word": bands.INSIDE})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "_reached", lambda claim, campaign: reached[claim.id])
        pairs = page.overlaps(found, campaign, [report])
    assert pairs["excluded"].tolist() == [True, False, False]
    assert pairs.iloc[0][["draws_of_both", "by_chance"]].tolist() == [0, 75.0]
    rare = pairs[pairs["second"] == names[2]].set_index("first")
    assert rare["draws_of_both"].to_dict() == {names[0]: 1, names[1]: 0}
    assert rare["chance"].tolist() == pytest.approx([0.5, 0.5])  # one draw lies in one half or the other
    told = page.overlap_sentences(pairs)
    assert told[0] == (
        "Of 3 pairs of permitted claims of a report the model reaches 1 not together: "
        f"{names[0]} and {names[1]}."
    )
    assert told[1].startswith("1 pairs have no draw in common")


def test_simulated__a_word_follows_the_simulated_ratios() -> None:
    """Ratios four times as great put a claim inside that lies outside; unchanged ones change nothing."""
    campaign = load_campaign("modelled")
    (claim,) = [
        one
        for one in load_report(project.claims("lsdyna2014")).claims
        if one.id == "lsdyna2014-ic-fdr-over-10gbe-almost-5x"
    ]
    held = bands.judge(claim, campaign)
    assert held.word == bands.OUTSIDE
    word, band = bands.simulated(claim, campaign, [0.0, 0.0, 0.0])
    assert (word, band) == (held.word, pytest.approx(held.answers.band))
    word, band = bands.simulated(claim, campaign, [3.0, 3.0, 3.0])
    assert (word, band) == (bands.INSIDE, pytest.approx([4 * end for end in held.answers.band]))
    # Only the greatest is off: the lower end stays where it is.
    assert bands.simulated(claim, campaign, [0.0, 0.0, 1.0])[1][0] == pytest.approx(
        held.answers.band[0], rel=0.02
    )
    table = pd.DataFrame({"claim": claim.id, "difference": [3.0, 3.0, 3.0]})
    words = page.simulated_words(table, campaign, [load_report(project.claims("lsdyna2014"))])
    assert page.contradicted(words) == (
        f"The simulation contradicts 1 of 1 words: “{claim.statement}” is outside the band by the model and "
        "inside the band by the simulation."
    )


@pytest.mark.datasets("vm-water")
def test_table__a_campaign_without_a_model_is_named() -> None:
    with pytest.raises(NotCoveredError, match="vm-water has no cells of a model"):
        page.table([load_report(project.claims("hpcg2014"))], load_campaign("vm-water"))
