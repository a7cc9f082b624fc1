"""Claims compared with simulated runs: words, ratios by hand, and what they are not counted as."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from analysis.base.errors import ConfigError
from analysis.claims import evaluate, load_report, simulated
from analysis.claims.counts import has_word
from analysis.claims.model import Claim
from analysis.estimates.campaign import Campaign, load_campaign
from analysis.findings.search import conclusions
from analysis.site.words import EVIDENCE, ground_of

pytestmark = pytest.mark.datasets("simulated")
ROOT = Path(__file__).parents[2]
REPORT = load_report(ROOT / "config/claims/hpcg2014.yaml")
OVER_1GBE = "hpcg2014-ic-fdr-over-1gbe-5x"


def asked(name: str) -> tuple[Claim, Campaign]:
    """Return a claim and the campaign as its view has it."""
    claim = next(one for one in REPORT.claims if one.id == name)
    campaign = load_campaign("simulated")
    view = campaign.view_for(REPORT.name, claim.topic, claim.id)
    assert view is not None
    select = {key: one for key, one in (claim.question.select or {}).items() if key not in view.apart}
    return replace(claim, question=replace(claim.question, select=select)), campaign.seen(view)


def test_verdicts__are_the_ratios_of_the_table_by_draw() -> None:
    """By hand: the seconds of a step over 1GbE over those over FDR, on 4 nodes, draw by draw."""
    runs = pd.read_csv(ROOT / "data/raw/simulated/runs.csv")
    runs = runs[(runs["application"] == "hpcg") & (runs["nodes"] == 4)]
    by = runs.assign(draw=runs["run"].str[-2:]).pivot(index="draw", columns="interconnect", values="elapsed")
    ratio = by["1gbe"] / by["ib-fdr"]
    found = {one.claim: one for one in evaluate(REPORT, load_campaign("simulated"))}
    one = found[OVER_1GBE]
    assert (one.estimate, one.low, one.high) == pytest.approx(
        (ratio.median(), ratio.min(), ratio.max()), rel=2e-3
    )
    assert one.n == 20
    assert one.verdict == simulated.PERMITS
    assert f"{(ratio < 5).sum()} of 20 draws lie below" in one.reason
    assert one.evidence == "simulated"
    assert one.distance == "scaled"
    assert len(one.runs) == 40
    assert one.inputs[0]["path"] == "data/raw/simulated/runs.csv"


def test_verdicts__are_on_links_alone_and_no_words_of_runs() -> None:
    found = evaluate(REPORT, load_campaign("simulated"))
    tested = [one for one in found if one.verdict != "not tested"]
    assert {one.topic for one in tested} == {"interconnect"}
    assert len(tested) == 5
    assert not any(map(has_word, tested))
    assert {ground_of(one.evidence, one.distance, one.verdict) for one in tested} == {"simulated"}
    assert {one.verdict for one in found} <= EVIDENCE["simulated"].words


@pytest.mark.parametrize(
    ("beyond", "word"), [(1.1, "too wide to tell"), (1.4, simulated.FORBIDS), (0.9, simulated.PERMITS)]
)
def test_judge__a_value_beyond_all_draws(beyond: float, word: str) -> None:
    """Beyond the greatest ratio by 10 % lies within the error of 30 %, by 40 % it does not."""
    claim, campaign = asked(OVER_1GBE)
    most = simulated.judge(claim, campaign).finding.estimate.high
    moved = replace(claim, expect=claim.expect.model_copy(update={"value": beyond * most}))
    assert simulated.judge(moved, campaign).word == word


def test_classes__stand_between_published_and_modelled() -> None:
    assert list(EVIDENCE)[:4] == ["measured", "published", "simulated", "modelled"]


def test_findings__are_refused() -> None:
    with pytest.raises(ConfigError, match="is simulated: its draws are no runs"):
        conclusions(load_campaign("simulated"))
