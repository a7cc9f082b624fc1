"""Records of the audit: one for each claim, in the words of reported evidence, ready for the site."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analysis.base import project
from analysis.claims.audit import audit_path, evaluate_report, outcome
from analysis.claims.model import load_report
from analysis.claims.relations import load_audit
from analysis.cli import main
from analysis.site.board import check

IDS = Path(__file__).parents[1] / "data" / "claims" / "catalogue_ids.txt"

REPORTS = ("hpcg2014", "lsdyna2009", "lsdyna2014", "openatom2010", "sharp2019")


@pytest.mark.parametrize("report", REPORTS)
def test_evaluate__the_site_can_draw_every_record(report: str) -> None:
    read = evaluate_report(report)
    check(read, frozenset({"audit"}))
    found = [one.as_dict() for one in read]
    assert {(one.evidence, one.campaign, one.page) for one in read} == {("reported", "audit", "audit")}
    assert {one.verdict for one in read} <= {"consistent", "could not fail", "inconsistent", "not checkable"}
    assert all(one.reason for one in read)
    path, sha = found[0]["inputs"][0]["path"], found[0]["inputs"][0]["sha256"]
    assert path == f"config/audit/{report}.yaml"
    assert len(sha) == 64


@pytest.mark.parametrize("report", REPORTS)
def test_evaluate__speaks_to_claims_that_are_there(report: str) -> None:
    known = {name for claim in load_report(project.claims(report)).claims for name in (*claim.ids, claim.id)}
    catalogue = IDS.read_text(encoding="utf-8").split()
    named = [name for relation in load_audit(audit_path(report)).relations for name in relation.claims]
    assert [name for name in named if name not in known and name not in catalogue] == []
    assert len(named) == len(set(named)), "two relations speak to one claim: which of them is its verdict?"


def test_evaluate__takes_statement_and_topic_from_the_claim() -> None:
    by_claim = {one.claim: one for one in evaluate_report("hpcg2014")}
    one = by_claim["hpcg2014-prof-majority-send-allreduce"]
    assert one.statement == "Most MPI time goes to MPI_Send and MPI_Allreduce"
    assert one.topic == "MPI calls"
    assert one.verdict == "inconsistent"
    assert (one.estimate, one.low, one.high) == (44, 42, 46)
    assert (one.expected, one.expected_low, one.expected_high) == (50, 50, 50)
    # What the report claims, and beside it what its own figures give.
    assert one.expected_text == "at least 50 %"
    assert one.estimate_text == "44 % (42 to 46) against 50 %"
    assert one.scale == "word"
    assert one.source == {"section": "MPI profiling", "lines": [154]}
    assert one.reason == "the sum of the two shares is not greater than a half"
    assert one.arithmetic.startswith("~20 + ~24 = 44 % (42 to 46) against 50 %")


def test_evaluate__a_relation_without_a_claim_has_a_record_of_its_own() -> None:
    by_claim = {one.claim: one for one in evaluate_report("lsdyna2014")}
    one = by_claim["lsdyna2014-audit-cores"]
    assert one.ids == ["lsdyna2014-audit-cores"]
    assert (one.estimate, one.expected, one.unit, one.scale) == (512, 640, "cores", "level")
    assert (one.estimate_text, one.expected_text) == ("512 cores", "equal to 640 cores")
    assert one.reason == "the number of cores of dual octa-core nodes and that of the cluster do not agree"


def test_evaluate__unbounded_ends_are_null() -> None:
    by_claim = {one.claim: one for one in evaluate_report("lsdyna2014")}
    one = by_claim["lsdyna2014-ic-summary-over-5x-10-40gbe"]
    assert (one.low, one.high, one.expected_low, one.expected_high) == (4.5, 5.0, 5.0, None)
    assert one.verdict == "inconsistent"


def test_evaluate__an_inconsistency_counts_once() -> None:
    """Three claims say almost or over five: one of them is wrong, not three."""
    said = "the speed-up under the chart and the one in the summary"
    five = {one.claim: one for one in evaluate_report("lsdyna2014") if said in one.reason}
    counted = "lsdyna2014-ic-summary-over-5x-10-40gbe"
    assert {name: one.verdict for name, one in five.items()} == {
        counted: "inconsistent",
        "lsdyna2014-ic-fdr-over-10gbe-almost-5x": "not checkable",
        "lsdyna2014-ic-fdr-over-40gbe-almost-5x": "not checkable",
    }
    aside = five["lsdyna2014-ic-fdr-over-10gbe-almost-5x"].reason
    assert aside == f"{five[counted].reason}; it is counted once, at {counted}"


@pytest.mark.parametrize("report", REPORTS)
def test_evaluate__as_many_inconsistencies_as_relations(report: str) -> None:
    relations = [outcome(one).verdict for one in load_audit(audit_path(report)).relations]
    records = [one.verdict for one in evaluate_report(report)]
    assert relations.count("inconsistent") == records.count("inconsistent")


def test_evaluate__what_could_not_fail_says_why() -> None:
    by_claim = {one.claim: one for one in evaluate_report("lsdyna2014")}
    one = by_claim["lsdyna2014-prof-p2p-majority-of-calls"]
    assert one.verdict == "could not fail"
    assert one.reason.endswith("; no result printed within a factor of 2 would make it otherwise")
    one = by_claim["lsdyna2014-place-two-jobs-77pct"]
    assert one.verdict == "could not fail"
    assert one.reason.endswith("; were it otherwise, that would be to blame")
    assert one.arithmetic.endswith("; it breaks with gain 101 (+31 %)")


@pytest.mark.parametrize("report", REPORTS)
def test_evaluate__reads_a_figure_as_its_claim_does(report: str) -> None:
    """What a claim and the audit both print has one width."""
    claims = {claim.id: claim for claim in load_report(project.claims(report)).claims}
    by_id = {name: claim for claim in claims.values() for name in (*claim.ids, claim.id)}
    held = 0
    for relation in load_audit(audit_path(report)).relations:
        for expect in (by_id[name].expect for name in relation.claims if name in by_id):
            for name, figure in relation.figures.items():
                # The same number in the same unit; a count of nodes is no result.
                if (figure.value, figure.unit) == (expect.value, expect.unit) and figure.reading != "exact":
                    span = figure.span
                    assert expect.band == pytest.approx((span.low, span.high)), (relation.id, name)
                    held += 1
    assert held or report in ("openatom2010", "sharp2019", "lsdyna2009")


def test_evaluate__two_terabytes_have_one_reading() -> None:
    claim = load_report(project.claims("lsdyna2014")).claim("lsdyna2014-prof-aggregate-2tb-32n")
    (relation,) = (r for r in load_audit(audit_path("lsdyna2014")).relations if r.id == "data-of-all-ranks")
    total = relation.figures["total"].span
    assert (total.low, total.high) == claim.expect.band == (1, 3)


def test_evaluate__words_tell_must_from_may() -> None:
    reasons = {
        relation.id: outcome(relation).reason for relation in load_audit(audit_path("lsdyna2009")).relations
    }
    # 1.195 at least is more than 2.6/2.4 = 1.083; 1.205 at most is more than 800/667 = 1.199.
    assert reasons["gain-beyond-clock"].startswith("the gain in jobs is greater than the ratio of the core")
    assert reasons["jobs-and-clocks"].startswith("the gain in jobs can be at most the ratio of the memory")


def test_evaluate__a_changed_figure_changes_the_verdict(tmp_path: Path) -> None:
    text = audit_path("lsdyna2009").read_text()
    old = 'more: { printed: 20, unit: "%", meaning: more jobs per day, lines: [288] }\n    left: { is: 100'
    assert text.count(old) == 1
    path = tmp_path / "lsdyna2009.yaml"
    path.write_text(text.replace(old, old.replace("20", "25")))
    found = {one.id: outcome(one).verdict for one in load_audit(path).relations}
    assert found["run-time-and-jobs"] == "consistent"


def test_main__writes_records_or_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "deep" / "audit.json"
    assert main(["stage", "verdicts", "audit", str(out), "openatom2010"]) == 0
    found = json.loads(out.read_text())
    assert capsys.readouterr().out == f"{len(found)} verdicts\n"
    assert {one["claim"] for one in found} > {"openatom2010-pwr-3200-vs-10gige"}
    assert main(["stage", "verdicts", "audit", str(out), "none2000"]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "none2000.yaml:" in said
