"""What can be asked of a campaign is said once: where runs are compared, a page and a search both do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analysis.base import project
from analysis.estimates import contents
from analysis.estimates.asking import ASKS, answerable, compared, incomparable
from analysis.estimates.campaign import load_campaign
from analysis.findings.plans import plans
from analysis.schema.factors import FACTORS, TABLE

from .hand import campaign, repeats

ROOT = Path(__file__).parents[2]
LINKED = "nodes and interconnect change together: the findings compare each link with one node"
# Factors of which a campaign has a page, and those that its findings compare and no page of their own does.
SHIPPED = {
    "vm-hpcg": (
        {"case", "target_time", "build", "mpi", "profiler"}
        | {"interconnect", "ranks_per_node", "concurrent_jobs"},
        {"nodes": LINKED},
    ),
    "vm-exchange": ({"interconnect"}, {"nodes": LINKED}),
    "vm-profiles": (set(), {}),
    "vm-lulesh": ({"profiler"}, {}),
    "vm-ranks": (set(), {}),
    "vm-water": (set(), {}),
    "vm-openatom": (set(), {}),
    "vm-plate": (set(), {}),
    "published-mlperf": ({"cluster"}, {}),
}  # fmt: skip


@pytest.mark.datasets(*SHIPPED)
@pytest.mark.parametrize("name", SHIPPED)
def test_asking__a_shipped_campaign_has_a_page_for_what_its_findings_compare(name: str) -> None:
    answers = {
        compared(question.varies): why
        for question, why in answerable(contents.questions(ROOT), name, ROOT)
        if question.varies
    }
    pages, reasons = SHIPPED[name]
    assert {factor for factor, why in answers.items() if not why} == pages
    assert {plan.factor for plan in plans(load_campaign(name))} == pages | reasons.keys()
    assert {factor: answers[factor] for factor in reasons} == reasons


def test_asking__tables_of_others_have_the_pages_that_the_configuration_names() -> None:
    config = contents.load_config(ROOT)
    tables = {name for name in config["campaigns"] if not (project.raw(name, ROOT) / "runs").is_dir()}
    assert len(tables) == len(config["campaigns"]) - len(SHIPPED)
    assert [one["name"] for one in config["pages"] if one.get("derived") and one["campaign"] in tables] == []


# Two levels of each factor; a larger problem is another grid.
LEVELS: dict[str, tuple[Any, Any]] = {
    **{one.name: ("a", "b") if not one.numeric else (1, 2) for one in TABLE},
    "application": ("app", "other"),
    "local_size": (16, 32),
}
# What neither compares by itself: nothing is equal in two applications, and more ranks are more nodes, or
# more ranks on a node, by which the findings compare them.
NEITHER, ONLY_A_PAGE = {"application", "problem"}, {"ranks", "local_size"}


@pytest.mark.parametrize("factor", FACTORS)
def test_asking__a_page_and_a_search_compare_the_same_factors(factor: str) -> None:
    rows = [
        row | ({"profiler": "none", "local_size": 16} if factor not in ("profiler", "local_size") else {})
        for level in LEVELS[factor]
        for row in repeats([1.0, 1.1], "figure_of_merit", figure_of_merit_unit="Gflop/s", **{factor: level})
    ]
    if factor in ("interconnect", "cluster"):
        rows = [row | {"nodes": 2, "ranks": 2, "ranks_per_node": 1} for row in rows]
    if factor == "case":
        rows = [row | {"local_size": 16 if row["case"] == "a" else 32} for row in rows]
    if factor == "concurrent_jobs":  # two jobs of one rank, or one of two
        rows = [row | {"ranks": 2 // row["concurrent_jobs"], "order": at // 2} for at, row in enumerate(rows)]
    why = incomparable(rows, factor)
    planned = {plan.factor for plan in plans(campaign(rows))}
    if factor in NEITHER:
        assert planned == set()
        assert factor not in {compared(ask.factor) for ask in ASKS}
    elif factor in ONLY_A_PAGE:
        assert (why, planned) == ("", set())
    else:
        assert (why, planned) == ("", {factor})


def test_asking__on_one_node_no_link_is_used() -> None:
    rows = [
        row | {"profiler": "none"}
        for link in ("a", "b")
        for row in repeats([1.0], "figure_of_merit", figure_of_merit_unit="Gflop/s", interconnect=link)
    ]
    assert incomparable(rows, "interconnect") == "on one node no link is used"
    assert list(plans(campaign(rows))) == []


def test_asking__every_factor_that_is_compared_is_asked() -> None:
    asked = [compared(one.varies) for one in contents.questions(ROOT) if one.varies]
    assert sorted(asked) == sorted({ask.factor for ask in ASKS} | {"ranks"})


def test_asking__a_table_of_ones_own_has_the_pages_that_its_rows_can_fill(tmp_path: Path) -> None:
    raw = tmp_path / "data/raw/mine"
    raw.mkdir(parents=True)
    rows = [
        f"{link}{n},myapp,big,2,{link},{100 + n},2026-05-0{n}"
        for link in ("hdr100", "eth0")
        for n in (1, 2, 3)
    ]
    rows.append("bad,myapp,big,4,eth0,1,2026-05-04")
    heading = "run,application,case,nodes,interconnect,elapsed,start"
    (raw / "runs.csv").write_text("\n".join([heading, *rows, ""]))
    found = {
        question.kind for question, why in answerable(contents.questions(ROOT), "mine", tmp_path) if not why
    }
    assert {"findings", "holdings", "repeats", "history", "interconnect", "scaling"} <= found
    assert not {"mpi-library", "mpi-calls"} & found
    # With a source it is a table of others, which the configuration gives its pages.
    (raw / "sources.csv").write_text("source,title,address\n")
    assert not [one for one, why in answerable(contents.questions(ROOT), "mine", tmp_path) if not why]
