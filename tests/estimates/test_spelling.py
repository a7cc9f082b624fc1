"""Levels in sentences: what a sentence is about has a noun, and a verb that agrees."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from analysis.estimates import spelling, tables
from analysis.estimates.numerals import spell_all
from analysis.estimates.spelling import ahead, alternatives, noun, place
from analysis.estimates.stats import Estimate
from analysis.schema.factors import SPOKEN
from tests.estimates.hand import campaign, repeats


@pytest.mark.parametrize(
    ("factor", "levels", "said"),
    [
        (
            "dimm",
            ("dual-rank", "single-rank"),
            "dual-rank modules are 1.05 times as fast as single-rank modules",
        ),
        (
            "dimm",
            ("ddr3-1600-dual-rank", "single rank"),
            "dual-rank DDR3-1600 modules are 1.05 times as fast as single-rank modules",
        ),
        ("frequency", (2.25, 2.0), "runs at 2.25 GHz are 1.05 times as fast as runs at 2 GHz"),
        ("target_time", (45, 10), "runs of 45 s reach 1.05 times the rate of runs of 10 s"),
        ("mpi", ("Open MPI 5", "MPICH 4"), "Open MPI 5 is 1.05 times as fast as MPICH 4"),
        ("nodes", (2, 1), "2 nodes are 1.05 times as fast as 1 node"),
        ("nodes", (1, 2), "1 node is 1.05 times as fast as 2 nodes"),
        ("build", ("-O3", "-O2"), "build -O3 is 1.05 times as fast as build -O2"),
    ],
)
def test_ahead__a_level_has_its_noun_and_the_verb_agrees(
    factor: str, levels: tuple[str | int, str | int], said: str
) -> None:
    own = campaign(repeats([1.0, 1.1]))
    names = noun(own, factor, levels[0]), noun(own, factor, levels[1])
    assert ahead("elapsed", factor, levels, names, "1.05") == said


def test_place__memory_has_its_noun_after_its_levels() -> None:
    own = campaign(repeats([1.0, 1.1]))
    assert place(own, "dimm", ["dual-rank"]) == "with dual-rank modules"
    assert place(own, "dimm", ["dual-rank", "single-rank"]) == "with dual-rank and single-rank modules"
    assert place(own, "dimm", list("abcdefgh")) == "with all memory modules (8)"


@pytest.mark.parametrize(("names", "said"), [("a", "a"), ("ab", "a or b"), ("abcd", "a, b, c or d")])
def test_alternatives__have_one_or(names: str, said: str) -> None:
    assert alternatives(list(names)) == said


def test_spell_all__of_exact_values_has_no_intervals() -> None:
    exact = [Estimate(value, value, value, 1, None, 1.0) for value in (1.0, 1.21)]
    assert spell_all(exact, "×") == ("1 to 1.21×", "exact")
    assert spell_all([exact[0], Estimate(2.0, 1.5, 2.5, 6, None, 0.95)]) == (
        "1 to 2.0", "intervals from 1.00 to 2.5"
    )  # fmt: skip


def test_strata_names__has_the_campaigns_own_names() -> None:
    found = [{"interconnect": "veth", "nodes": 1}, {"interconnect": "ib-fdr", "nodes": 2}]
    own = replace(campaign(repeats([1.0])), names={"interconnect": {"veth": "the open link"}})
    assert spelling.strata_names(found, own) == ["the open link", "ib-fdr"]
    assert spelling.strata_names(found) == ["veth", "ib-fdr"]


def test_named__a_table_has_the_campaigns_own_names_and_keeps_its_other_columns() -> None:
    own = replace(campaign(repeats([1.0, 1.1])), names={"interconnect": {"veth": "the open link"}})
    frame = pd.DataFrame({"interconnect": ["veth", "ib-fdr"], "value": [1.0, 2.0]})
    found = tables.named(own, frame, "interconnect")
    assert list(found["interconnect"]) == ["the open link", "FDR InfiniBand"]
    assert list(found["value"]) == [1.0, 2.0]
    assert list(frame["interconnect"]) == ["veth", "ib-fdr"]


def test_noun__of_jobs_on_one_node_ranks_per_node_are_ranks() -> None:
    one, two = (
        campaign(repeats([1.0, 1.1], nodes=1)),
        campaign([*repeats([1.0], nodes=1), *repeats([1.1], nodes=2)]),
    )
    assert noun(one, "ranks_per_node", 2) == "2 ranks"
    assert noun(two, "ranks_per_node", 2) == "2 ranks per node"


def test_differing__the_problem_of_an_output_is_named_where_nothing_else_tells_runs_apart() -> None:
    """A folder called after the case, in which outputs state 1,000 and a million atoms."""
    one = {"case": "lj", "nodes": 1, "problem": "atoms=1000"}
    assert spelling.differing([one, {**one, "problem": "atoms=1000000"}]) == ["problem"]
    assert spelling.differing([one, {**one, "case": "eam", "problem": "atoms=32000"}]) == ["case"]


def test_pinned__a_problem_that_follows_from_its_case_is_no_condition_of_its_own() -> None:
    runs = pd.DataFrame({name: [1, 1, 1] for name in SPOKEN})
    runs = runs.assign(case=["lj", "lj", "eam"], problem=["atoms=1", "atoms=1", "atoms=9"])
    of_lj = [{"case": "lj", "problem": "atoms=1"}]
    assert spelling.pinned(runs, of_lj, ()) == {"case": "lj"}
    runs = runs.assign(problem=["atoms=1", "atoms=2", "atoms=9"])
    assert spelling.pinned(runs, of_lj, ()) == {"case": "lj", "problem": "atoms=1"}
