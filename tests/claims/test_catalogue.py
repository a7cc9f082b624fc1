"""Every statement of the five reports is either a claim or said to be untestable, once, with a reason."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from analysis.base import project
from analysis.base.errors import SchemaError
from analysis.claims import evaluate
from analysis.claims.model import Report, load_report
from analysis.datasets.profile import HOUSEKEEPING
from analysis.estimates.campaign import load_campaign

REPORTS = ("lsdyna2014", "lsdyna2009", "sharp2019", "hpcg2014", "openatom2010")
IDS = Path(__file__).parents[1] / "data" / "claims" / "catalogue_ids.txt"
# Claims that no statement of the catalogue stands for by itself.
OURS = {"lsdyna2014-ic-40gbe-stops-before-32-nodes", "lsdyna2009-bg-ib-120-between-switches"}


def reports() -> list[Report]:
    return [load_report(project.claims(name)) for name in REPORTS]


def not_testable() -> dict[str, str]:
    untestable: dict[str, str] = project.load_yaml(project.root() / "config" / "claims" / "not_testable.yaml")
    return untestable


def test_catalogue__all_228_statements_are_accounted_for_and_none_twice() -> None:
    catalogue = IDS.read_text(encoding="utf-8").split()
    assert len(catalogue) == len(set(catalogue)) == 228
    claimed = [name for report in reports() for claim in report.claims for name in claim.ids]
    found = Counter([*claimed, *not_testable()])
    assert [name for name, times in found.items() if times > 1] == []
    assert set(found) - OURS == set(catalogue)
    assert len(claimed) - len(OURS) + len(not_testable()) == 228


def test_catalogue__what_cannot_be_tested_says_why() -> None:
    for name, reason in not_testable().items():
        assert isinstance(reason, str), name
        assert len(reason.split()) >= 3, name


def test_catalogue__a_claim_belongs_to_its_report_and_says_where_it_stands() -> None:
    for report in reports():
        for claim in report.claims:
            assert {name.split("-")[0] for name in (claim.id, *claim.ids)} == {report.name}
            assert claim.source.section, claim.id
            assert claim.source.lines, claim.id
            assert claim.topic, claim.id


def test_catalogue__members_are_calls_and_sizes() -> None:
    for report in reports():
        for claim in report.claims:
            calls = [one for one in (*claim.question.members, *claim.expect.members) if isinstance(one, str)]
            assert all(call.startswith("MPI_") for call in calls), claim.id
            assert not HOUSEKEEPING & set(calls), claim.id
            if claim.question.variable == "size_share":
                sizes = [one for one in claim.question.members if not isinstance(one, str)]
                assert sizes == sorted(sizes), claim.id
                assert len(sizes) == 2, claim.id


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize("campaign", ["vm-hpcg", "vm-profiles"])
def test_catalogue__every_claim_is_evaluated_on_a_real_campaign(name: str, campaign: str) -> None:
    if not (project.processed(campaign) / "campaign.nc").is_file():
        pytest.skip(f"the datasets of {campaign} have not been built")
    report = load_report(project.claims(name))
    try:
        built = load_campaign(campaign)
    except SchemaError:
        pytest.skip(f"the datasets of {campaign} are older than the registry")
    verdicts = evaluate(report, built)
    assert [one.claim for one in verdicts] == [claim.id for claim in report.claims]
    tested = [one for one in verdicts if one.verdict != "not tested"]
    assert bool(tested) == (name == "hpcg2014")
    assert all(one.runs for one in tested)
    assert all(one.reason for one in verdicts)
