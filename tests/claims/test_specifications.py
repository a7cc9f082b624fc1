"""What is looked up, worked out again from what each source prints."""

from __future__ import annotations

import pytest

from analysis.base import models, project
from analysis.claims import evaluate
from analysis.claims.model import load_report
from analysis.datasets.campaign import ingest
from analysis.datasets.published import references
from analysis.estimates.campaign import Campaign
from analysis.schema import storage
from analysis.schema.campaigns import CampaignFile

NAME = "published-specifications"


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    folder = tmp_path_factory.mktemp(NAME)
    ingest(project.raw(NAME), folder)
    views = tuple(models.load(CampaignFile, project.declaration(NAME)).views)
    tree = storage.read_tree(folder / "campaign.nc")
    return Campaign(
        NAME, tree, "Looked up", "published", "none", views=views, references=references(project.raw(NAME))
    )


CONFIRMED = "a source confirms it"
# Claim, what its source states, and the word for it.
LOOKED_UP = [
    ("openatom2010-bg-opteron-4flops", 47_500 / 4096 / 2.9, CONFIRMED),  # Gflop/s over cores and GHz
    # links, ways, B, transfers a clock of 1 GHz
    ("openatom2010-bg-opteron-ht-24gbs", 3 * 2 * 2 * 2, "a forum post confirms it"),
    ("openatom2010-bg-opteron-mem-12-8gbs", 2 * 8 * 0.8, CONFIRMED),  # channels, B, GT/s
    ("openatom2010-bg-opteron-same-envelope", 115 / 95, "cannot tell"),  # W
    ("openatom2010-bg-ib-speeds", 4 * 10, CONFIRMED),  # lanes, Gbit/s
    ("openatom2010-bg-ib-speed-of-switches", 12 * 10, CONFIRMED),
    ("lsdyna2009-bg-top500-clusters-over-50pct", 54, CONFIRMED),
    ("lsdyna2009-bg-ib-most-deployed", 141 / 42, CONFIRMED),  # systems
    ("lsdyna2009-bg-amd-scaling-32-cores", 8 * 4, CONFIRMED),
    ("lsdyna2009-bg-amd-cache-bw-doubled", 128 / 64, CONFIRMED),  # bit a cycle
    ("lsdyna2009-bg-amd-same-thermal", 115 / 95, "cannot tell"),  # W
    ("lsdyna2009-bg-ib-40-120-gbps", 4 * 10, CONFIRMED),
    ("lsdyna2009-bg-ib-120-between-switches", 12 * 10, CONFIRMED),
    ("sharp2019-hdr-radix-40-80", 40, CONFIRMED),
    ("sharp2019-hdr-ports-of-100", 2 * 40, CONFIRMED),
    ("hpcg2014-size-min-16", 16, CONFIRMED),
    ("hpcg2014-bg-exercises-key-kernels", 5, CONFIRMED),
]


@pytest.mark.parametrize(("name", "stated", "word"), LOOKED_UP)
def test_evaluate__what_is_looked_up_by_hand(campaign: Campaign, name: str, stated: float, word: str) -> None:
    report = load_report(project.claims(name.partition("-")[0]))
    one = next(v for v in evaluate(report, campaign) if v.claim == name)
    assert one.estimate == pytest.approx(stated, abs=1e-4)
    assert (one.low, one.high) == (one.estimate, one.estimate)
    assert one.verdict == word


def test_evaluate__a_single_specification_is_no_sample_of_one(campaign: Campaign) -> None:
    report = load_report(project.claims("sharp2019"))
    one = next(v for v in evaluate(report, campaign) if v.claim == "sharp2019-hdr-sharp2")
    assert (one.n, one.distance, one.verdict) == (1, "looked-up", CONFIRMED)


def test_evaluate__every_claim_that_is_looked_up_has_its_figure(campaign: Campaign) -> None:
    asked = 0
    for name in ("hpcg2014", "lsdyna2009", "openatom2010", "sharp2019"):
        report = load_report(project.claims(name))
        looked_up = {c.id for c in report.claims if c.question.variable == "stated_figure"}
        tested = {one.claim for one in evaluate(report, campaign) if one.verdict != "not tested"}
        assert tested == looked_up
        asked += len(looked_up)
    assert asked == 19
