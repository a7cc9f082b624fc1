"""One table of quantities: what can be asked, what can be judged and what a file may say are the same."""

from __future__ import annotations

from analysis.base import project
from analysis.claims.rules import RULES
from analysis.estimates.quantities import QUANTITIES


def test_quantities__are_those_that_a_claim_may_name() -> None:
    schema = project.load_yaml(project.root() / "workflow" / "schemas" / "claims.schema.yaml")
    named = schema["$defs"]["ClaimEntry"]["properties"]["quantity"]["enum"]
    assert sorted(named) == sorted(QUANTITIES)


def test_quantities__each_has_a_rule() -> None:
    assert set(RULES) == set(QUANTITIES)


def test_quantities__each_says_what_it_means() -> None:
    meanings = [one.meaning for one in QUANTITIES.values()]
    assert all(meanings)
    assert len(set(meanings)) == len(QUANTITIES)
