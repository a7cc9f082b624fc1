"""How many claims have a word: counted by hand on a few verdicts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from analysis.base import project
from analysis.claims.counts import counts
from analysis.claims.model import load_report
from analysis.claims.verdict import Verdict
from tests.site.mock import tell


def one(claim: str, verdict: str, **more: Any) -> Verdict:
    return tell(claim, "links", "It is so", verdict, **more)


def test_counts__of_a_few_verdicts_by_hand() -> None:
    report = load_report(project.claims("sharp2019"))  # five claims, four look-ups
    first, second, third, *_ = (claim.id for claim in report.claims)
    fact = next(claim.id for claim in report.claims if claim.looked_up)
    runs: dict[str, Any] = {"campaign": "a", "runs": ["1", "2"]}
    other = {"distance": "analogue", "campaign": "b", "runs": ["1"]}
    part = {"distance": "analogue", "campaign": "a", "runs": ["2"]}
    disagrees = "disagrees, order of runs not known"
    found = [
        one(first, "seen", distance="scaled", **runs),
        one(first, "an analogue shows it", distance="analogue", **runs),  # the same runs
        one(second, disagrees, **other),
        one(second, disagrees, **part),  # one of the two runs of the first set
        one(third, "cannot tell", distance="same", **runs),
        one(third, "inside the band", evidence="modelled", distance=""),
        one(third, "inconsistent", evidence="reported", distance=""),
        one(fact, "a source confirms it", evidence="published", distance="looked-up"),
        one("not-of-the-report", "holds"),
    ]  # fmt: skip
    assert counts(found, [report]).as_dict() == {
        "claims": 5, "looked_up": 4, "worded": 2, "same": 0, "scaled": 1, "analogue": 1,
        "contradicted": 1, "sets": 3, "nested": 1,
    }  # fmt: skip
    assert counts(found, [replace(report, own=True)]).claims == 0
