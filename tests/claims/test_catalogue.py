"""Every statement of the five reports is a claim, or held against others, or untestable with a reason."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from analysis.base import project
from analysis.claims import evaluate
from analysis.claims.audit import audit_path
from analysis.claims.model import Report, load_report
from analysis.claims.relations import load_audit, span_of
from analysis.datasets.profile import HOUSEKEEPING
from analysis.estimates.campaign import load_campaign

REPORTS = ("lsdyna2014", "lsdyna2009", "sharp2019", "hpcg2014", "openatom2010")
IDS = Path(__file__).parents[1] / "data" / "claims" / "catalogue_ids.txt"
# Claims that no statement of the catalogue stands for by itself.
OURS = {
    "lsdyna2014-ic-40gbe-stops-before-32-nodes",
    # Second halves of a sentence with two or three figures.
    "openatom2010-bg-ib-speed-of-switches",
    "lsdyna2009-bg-ib-120-between-switches",
    "openatom2010-bg-ib-latency-1us",
    "sharp2019-hdr-ports-of-100",
}


def reports() -> list[Report]:
    found = [load_report(project.claims(name)) for name in REPORTS]
    # grep -c '^  - id:' config/claims/*.yaml
    assert [len(report.claims) for report in found] == [60, 42, 9, 33, 33]
    return found


def not_testable() -> dict[str, str]:
    untestable: dict[str, str] = project.load_yaml(project.root() / "config" / "claims" / "not_testable.yaml")
    return untestable


def test_catalogue__all_228_statements_are_accounted_for_and_none_twice() -> None:
    catalogue = IDS.read_text(encoding="utf-8").split()
    assert len(catalogue) == len(set(catalogue)) == 228
    claimed = [name for report in reports() for claim in report.claims for name in claim.ids]
    found = Counter([*claimed, *not_testable()])
    assert [name for name, times in found.items() if times > 1] == []
    assert set(claimed) >= OURS
    # What the report's own figures settle needs no claim of its own.
    assert set(found) | audited() == {*catalogue, *OURS}


def audited() -> set[str]:
    """Statements that a relation between a report's own figures speaks to."""
    audits = [load_audit(audit_path(name)) for name in REPORTS]
    return {name for audit in audits for one in audit.relations for name in one.claims}


def test_catalogue__what_cannot_be_tested_says_why() -> None:
    reasons = not_testable()
    assert len(reasons) == 50
    for name, reason in reasons.items():
        assert isinstance(reason, str), name
        assert len(reason.split()) >= 3, name


def test_catalogue__a_claim_belongs_to_its_report_and_says_where_it_stands() -> None:
    claims = [(report.name, claim) for report in reports() for claim in report.claims]
    assert len(claims) == 177
    for name, claim in claims:
        assert {one.split("-")[0] for one in (claim.id, *claim.ids)} == {name}
        assert claim.source.section, claim.id
        assert claim.source.lines, claim.id
        assert claim.topic, claim.id


def test_catalogue__members_are_calls_and_sizes() -> None:
    claims = [claim for report in reports() for claim in report.claims]
    calls = {
        claim.id: [one for one in (*claim.question.members, *claim.expect.members) if isinstance(one, str)]
        for claim in claims
        if claim.question.variable != "stated_figure"  # metrics of the table of figures
    }
    assert sum(bool(names) for names in calls.values()) == 28
    for name, names in calls.items():
        assert all(call.startswith("MPI_") for call in names), name
        assert not HOUSEKEEPING & set(names), name
    shares = [claim for claim in claims if claim.question.variable == "size_share"]
    assert len(shares) == 7
    for claim in shares:
        low, high = (one for one in claim.question.members if not isinstance(one, str))
        assert low <= high, claim.id


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize("campaign", ["vm-hpcg", "vm-profiles"])
@pytest.mark.datasets("vm-hpcg", "vm-profiles")
def test_catalogue__every_claim_is_evaluated_on_a_real_campaign(name: str, campaign: str) -> None:
    report = load_report(project.claims(name))
    verdicts = evaluate(report, load_campaign(campaign))
    assert [one.claim for one in verdicts] == [claim.id for claim in report.claims]
    tested = [one for one in verdicts if one.verdict != "not tested"]
    assert bool(tested) == (name == "hpcg2014")
    assert all(one.runs for one in tested)
    assert all(one.reason for one in verdicts)


# Claim, the figure as the report prints it, and the word before it (none is a plain figure).
PRINTED = [
    ("hpcg2014-size-135pct-over-104", "135", "up to"),
    ("hpcg2014-ic-fdr-over-1gbe-5x", "5", "over"),
    ("hpcg2014-ic-fdr-over-10gbe-4-5x", "4.5", "rounded"),
    ("hpcg2014-cc-2pct", "2", "about"),
    ("hpcg2014-cpu-athena-234pct", "234", "up to"),
    ("hpcg2014-prof-wait-49pct", "49", "about"),
    ("hpcg2014-prof-allreduce-24pct", "24", "about"),
    ("hpcg2014-prof-send-20pct", "20", "about"),
    ("hpcg2014-prof-28pct-mpi", "28", "about"),
    ("lsdyna2014-cpu-ivb-over-snb-20pct", "20", "up to"),
    ("lsdyna2014-cpu-ivb-over-nhm-167pct", "167", "up to"),
    ("lsdyna2014-ic-fdr-over-1gbe-7x", "7", "over"),
    ("lsdyna2014-ic-fdr-over-10gbe-almost-5x", "5", "almost"),
    ("lsdyna2014-ic-fdr-over-40gbe-almost-5x", "5", "almost"),
    ("lsdyna2014-mem-dual-1600-over-single-1866-8-9pct", "8.9", "rounded"),
    ("lsdyna2014-mpi-platform-over-openmpi-10pct", "10", "up to"),
    ("lsdyna2014-place-two-jobs-77pct", "77", "up to"),
    ("lsdyna2014-prof-calls-wait-31pct", "31", "rounded"),
    ("lsdyna2014-prof-time-bcast-24pct", "24", "rounded"),
    ("lsdyna2014-prof-data-10gb-per-rank-2n", "10", "about"),
    ("lsdyna2014-prof-data-4gb-per-rank-32n", "4", "about"),
    ("lsdyna2014-prof-aggregate-2tb-32n", "2", "about"),
    ("lsdyna2014-mem-38gb-per-node", "38", "about"),
    ("lsdyna2009-cpu-shanghai-20pct-runtime", "20", "rounded"),
    ("lsdyna2009-ic-neon-gige-61pct-24n", "61", "up to"),
    ("lsdyna2009-ic-3vc-10gige-40pct-24n", "40", "up to"),
    ("lsdyna2009-place-8jobs-factor-2", "2", "up to"),
    ("lsdyna2009-pwr-ib-60pct-per-job", "60", "up to"),
    ("openatom2010-mpi-ompi-7pct", "7", "up to"),
    ("openatom2010-mpi-mvapich2-15pct", "15", "up to"),
    ("openatom2010-ibv-29pct-over-tuned-ompi", "29", "up to"),
    ("openatom2010-ibv-29pct-over-mpi", "29", "up to"),
    ("openatom2010-ic-ib-over-10gige-174pct", "174", "up to"),
    ("openatom2010-ic-ib-over-gige-571pct", "571", "up to"),
    ("openatom2010-place-35pct-same-processes", "35", "up to"),
    ("openatom2010-bg-opteron-ht-24gbs", "24", "up to"),
    ("openatom2010-bg-opteron-mem-12-8gbs", "12.8", "up to"),
    ("sharp2019-allreduce-sharp-over-roce-210pct", "210", "rounded"),
    ("sharp2019-allreduce-sharp-over-edr-109pct", "109", "rounded"),
    ("sharp2019-lsdyna-hdr100-over-opa-18pct", "18", "rounded"),
    ("sharp2019-lsdyna-hdr-over-opa-104pct", "104", "rounded"),
]


@pytest.mark.parametrize(("name", "printed", "reading"), PRINTED)
def test_catalogue__a_claim_allows_what_its_printed_figure_does(
    name: str, printed: str, reading: str
) -> None:
    claim = load_report(project.claims(name.partition("-")[0])).claim(name)
    span = span_of(printed, reading)
    assert claim.expect.band == pytest.approx((span.low, span.high), nan_ok=True)
    assert claim.expect.value == float(printed)
    # "Up to" is said of the largest of all, not of each.
    compared = claim.question.compare is not None
    assert (claim.question.aggregate == "max") == compared or reading != "up to"


def test_catalogue__up_to_521_mb_has_no_least() -> None:
    claim = load_report(project.claims("hpcg2014")).claim("hpcg2014-prof-up-to-521mb")
    assert claim.expect.band == (float("-inf"), span_of("521", "up to").high)


def test_catalogue__money_is_printed_in_hundreds() -> None:
    report = load_report(project.claims("openatom2010"))
    for name, printed in (("3200-vs-10gige", "3200"), ("10400-vs-gige", "10400")):
        span = span_of(printed, "up to", 100)
        assert report.claim(f"openatom2010-pwr-{name}").expect.band == (span.low, span.high)


def test_catalogue__a_profile_of_80_processes_is_about_80() -> None:
    report = load_report(project.claims("hpcg2014"))
    shares = [claim for claim in report.claims if claim.source.lines and 153 <= claim.source.lines[0] <= 156]
    assert len(shares) == 6
    for claim in shares:
        assert claim.conditions["nodes"] * claim.conditions["ranks_per_node"] == 80, claim.id


@pytest.mark.parametrize(
    "name",
    [
        "hpcg2014-ic-fdr-superior-scalability",
        "lsdyna2014-ic-fdr-superior-scalability",
        "lsdyna2009-ic-ib-superior-both-cases",
        "openatom2010-ic-advantage-grows",
    ],
)
def test_catalogue__scaling_better_is_a_growing_lead(name: str) -> None:
    question = load_report(project.claims(name.partition("-")[0])).claim(name).question
    assert question.quantity == "interaction"
    assert question.compare is not None
    assert question.compare.along is not None
    assert question.compare.along[0] == "nodes"


NEEDED = {
    "machine": {
        *("application", "version", "case", "cluster", "cpu", "interconnect", "mpi"),
        *("nodes", "ranks_per_node", "placement"),
    },
    "software": {"application", "case"},
}
# What HPCG's input and rules say of every case and number of ranks; and a price is of no machine.
OF_ANY = ("hpcg2014-size-local-sets-global", "hpcg2014-dur-official-3600s", "openatom2010-pwr-tariff-0-20")


@pytest.mark.parametrize("name", REPORTS)
def test_catalogue__a_claim_says_under_which_conditions_it_is_made(name: str) -> None:
    claims = [claim for claim in load_report(project.claims(name)).claims if claim.id not in OF_ANY]
    assert len(claims) >= 9
    for claim in claims:
        given = set(claim.conditions)
        if compare := claim.question.compare:
            given |= {compare.factor, *(compare.along or ())[:1]}
        assert given >= NEEDED[claim.about], (claim.id, NEEDED[claim.about] - given)
        looked_up = claim.conditions["application"] == "specification"
        assert looked_up or given & {"ranks", "nodes"}, claim.id
