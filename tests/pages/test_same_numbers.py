"""A page and a verdict ask the same question: where both show a ratio, it is the same one, ends included."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from analysis import pages
from analysis.base import project
from analysis.claims import Claim, load_report
from analysis.estimates.campaign import Campaign, NotCoveredError, load_campaign
from analysis.estimates.finding import Finding
from analysis.estimates.quantities import findings

MEASURED = "vm-hpcg"
REPORTS = ("house", "hpcg2014", "lsdyna2014", "lsdyna2009", "openatom2010", "sharp2019")

pytestmark = pytest.mark.datasets(MEASURED)

Ends = tuple[float, float, float]


@pytest.fixture(scope="module")
def campaign() -> Campaign:
    return load_campaign(MEASURED)


def answered(campaign: Campaign) -> Iterator[tuple[Claim, list[Finding]]]:
    """Claims that hold levels against each other, with what this campaign answers."""
    for name in REPORTS:
        for claim in load_report(project.claims(name)).claims:
            if claim.question.quantity in ("speedup", "gain", "reduction", "efficiency"):
                try:
                    yield claim, findings(claim.question, campaign)
                except NotCoveredError:
                    continue


def in_percent(claim: Claim, ends: Ends) -> Ends:
    """Turn a page's ratio into the quantity of a claim."""
    if claim.question.quantity == "gain":
        return tuple(100 * (end - 1) for end in ends)  # type: ignore[return-value]
    if claim.question.quantity == "reduction":
        middle, low, high = (100 * (1 - 1 / end) for end in ends)
        return middle, high, low
    return ends


def shown(claim: Claim, finding: Finding, campaign: Campaign) -> Ends | None:
    """Return the ratio that a comparison page draws from the same runs, None if it refuses their mixture."""
    asked, compare = claim.question, claim.question.compare
    assert compare is not None
    along = "nodes" if compare.factor != "nodes" else "interconnect"
    runs = campaign.runs.set_index("run").loc[list(finding.runs)]
    # The treatment's runs stand first.
    level, base = runs[compare.factor].iloc[0], runs[compare.factor].iloc[-1]
    select = {**(asked.select or {}), compare.factor: [level, base]}
    kind: dict[str, Any] = {"variable": asked.variable, "members": asked.members, "scale": asked.scale}
    varying = [name for name in compare.varying if name != along]
    try:
        found = pages.compare(
            campaign, compare.factor, base, along=along, select=select, varying=varying, **kind
        )
    except NotCoveredError:
        return None
    for part in found.parts:
        for row in part.ratios.to_dict("records"):
            at = part.values[part.values[along] == row[along]]
            if set(at["run"]) == set(finding.runs) and row[compare.factor] == level:
                return row["ratio"], row["low"], row["high"]
    return None


def test_every_ratio_of_a_comparison_page_is_that_of_the_verdict(campaign: Campaign) -> None:
    checked = set()
    for claim, found in answered(campaign):
        if claim.question.quantity == "efficiency" or claim.question.aggregate == "mean":
            continue
        for finding in found:
            ends = shown(claim, finding, campaign)
            if ends is not None:
                estimate = finding.estimate
                assert in_percent(claim, ends) == pytest.approx(
                    (estimate.value, estimate.low, estimate.high), rel=1e-12, nan_ok=True
                )
                checked.add(claim.id)
    # Of jobs at once and of Athena the notebook's selection cannot tell apart what a claim's `where` does.
    assert checked == {
        "house-links-bandwidth",
        "hpcg2014-ic-fdr-beats-ethernet",
        "hpcg2014-ic-fdr-over-1gbe-5x",
        "hpcg2014-ic-fdr-over-10gbe-4-5x",
        "hpcg2014-ic-advantage-beyond-1-node",
        "hpcg2014-cc-2pct",
        "hpcg2014-cc-little-advantage",
        "hpcg2014-size-small-is-faster",
        "hpcg2014-size-135pct-over-104",
    }


def test_every_efficiency_of_a_scaling_page_is_that_of_the_verdict(campaign: Campaign) -> None:
    checked = 0
    for claim, found in answered(campaign):
        compare = claim.question.compare
        if claim.question.quantity != "efficiency" or compare is None:
            continue
        for finding in found:
            runs = campaign.runs.set_index("run").loc[list(finding.runs)]
            ends = [runs[compare.factor].iloc[i] for i in (0, -1)]
            select = {**(claim.question.select or {}), compare.factor: ends}
            kind: dict[str, Any] = {"variable": claim.question.variable, "varying": compare.varying}
            table = pages.scaling(campaign, factor="cpu", along=compare.factor, select=select, **kind)
            same = table[(table[compare.factor] == ends[0]) & (table["n"] == finding.estimate.n)]
            values = same[["efficiency", "efficiency_low", "efficiency_high"]].to_numpy().tolist()
            estimate = finding.estimate
            assert [estimate.value, estimate.low, estimate.high] in values
            checked += 1
    assert checked
