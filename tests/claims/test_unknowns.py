"""What a band is due to: shares of the spread, and the assumed end that a claim hangs on."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from analysis.base import project
from analysis.claims import bands, unknowns
from analysis.claims.model import load_report
from analysis.estimates.campaign import NotCoveredError, load_campaign
from analysis.model.inputs import Range

SOURCE = "assumed: nobody has published one"


def _known(source: str = SOURCE) -> dict[str, unknowns.DrawnUnknown]:
    """Return two unknowns that are drawn at all corners of a square, four draws each."""
    ends = {"a": [1.0, 1.0, 4.0, 4.0], "b": [1.0, 4.0, 1.0, 4.0]}
    known = Range(low=1, high=4, unit="s", source=source)
    return {name: unknowns.DrawnUnknown(np.array(values), known) for name, values in ends.items()}


def test_shares__of_a_product_by_hand() -> None:
    # ln(a^2 b) has 4 parts of the variance from a and 1 from b; c is not asked for.
    ratios = pd.Series([1.0, 4.0, 16.0, 64.0])
    assert unknowns.shares(ratios, ["a", "b"], _known()) == pytest.approx({"a": 0.8, "b": 0.2})
    assert unknowns.shares(ratios, ["b"], _known()) == pytest.approx({"b": 0.2})
    assert unknowns.shares(pd.Series([1.0] * 4), ["a", "b"], _known()) == {}


@pytest.mark.parametrize(
    ("numbers", "share", "source", "text"),
    [
        ([2, 3, 3], 0.8, SOURCE, "a above 2 s"),
        ([0, 1, 1], 0.8, SOURCE, "a below 2 s"),
        ([1, 2, 3], 0.8, SOURCE, ""),  # both halves
        ([2, 3], 0.8, SOURCE, ""),  # too few
        ([2, 3, 3], 0.4, SOURCE, ""),  # most of the spread is due to others
        ([2, 3, 3], 0.8, "a table of the vendor", ""),
    ],
)
def test_hanging__nearly_all_draws_in_one_half_of_an_assumed_range(
    numbers: list[int], share: float, source: str, text: str
) -> None:
    assert unknowns.hanging(np.array(numbers), {"a": share, "b": 0.2}, _known(source)) == text


@pytest.mark.datasets("modelled")
@pytest.mark.parametrize(
    ("report", "claim", "word", "text"),
    [
        # 18 % either way: the DIMMs can differ in nothing.
        ("lsdyna2014", "mem-dual-1600-over-single-1866-8-9pct", bands.TOO_WIDE, "by less than 2.5 % of"),
        ("lsdyna2014", "cpu-ivb-over-snb-20pct", bands.TOO_WIDE, "no effect is permitted too"),
        ("lsdyna2009", "pwr-ib-60pct-per-job", bands.TOO_WIDE, "by less than 2.5 % of the draws"),
        # Eight of 300 draws reach it, and 2.5 % are 7.5, give or take 5.4 by chance.
        (
            "openatom2010",
            "ic-ib-over-gige-571pct",
            bands.TOO_WIDE,
            "2.5 % of the draws reach it depends on chance",
        ),
        ("hpcg2014", "ic-fdr-over-10gbe-4-5x", bands.INSIDE, "hangs on one assumed end: nic.tcp above"),
        ("lsdyna2009", "cpu-shanghai-beats-barcelona", bands.INSIDE, "permitted, which confirms nothing"),
    ],
)
def test_judge__inside_needs_draws_and_a_band_without_no_effect(
    report: str, claim: str, word: str, text: str
) -> None:
    (asked,) = (one for one in load_report(project.claims(report)).claims if one.id == f"{report}-{claim}")
    held = bands.judge(asked, load_campaign("modelled"))
    assert (held.word, text in held.reason) == (word, True)


@pytest.mark.datasets("modelled")
def test_judge__no_word_inside_rests_on_few_draws_or_has_no_effect_in_its_band() -> None:
    campaign, seen = load_campaign("modelled"), 0
    for name in ("hpcg2014", "lsdyna2014", "lsdyna2009", "openatom2010", "sharp2019"):
        for claim in load_report(project.claims(name)).claims:
            try:
                held = bands.judge(claim, campaign)
            except NotCoveredError:
                continue
            if held.word != bands.INSIDE or claim.question.quantity not in ("speedup", "gain", "reduction"):
                continue
            seen += 1
            none = 1.0 if claim.question.quantity == "speedup" else 0.0
            low, high = held.answers.band
            assert held.reached >= 0.025, claim.id
            assert not low <= none <= high, claim.id
    assert seen >= 4
