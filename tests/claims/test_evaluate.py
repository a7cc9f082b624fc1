"""A campaign written to disk by hand, loaded and evaluated; the words of a verdict."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import pytest

from analysis import cli
from analysis.base import project
from analysis.base.errors import BenchbookError
from analysis.base.words import number, stop
from analysis.claims import evaluate, verdict_table
from analysis.claims.model import load_report
from analysis.claims.rules import expected_text
from analysis.estimates.campaign import load_campaign
from analysis.estimates.stats import Estimate
from analysis.schema import storage
from tests.estimates.hand import HEAD, campaign, claim, repeats

DECLARED = """title: Two links
evidence: {evidence}
hardware: a drawing
levels:
  interconnect:
    fast: {{ is: open, distance: scaled, differs: a link without a name }}
    slow: {{ is: [one, ten] }}
"""
FASTER = """  - id: faster
    topic: links
    statement: The fast link is 3 times as fast
    source: { section: Links, lines: [7] }
    quantity: speedup
    variable: elapsed
    compare: { factor: interconnect, treatment: fast, baseline: slow }
    expect: { relation: about, value: 3, tolerance: 10% }
"""


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A project with one campaign: 10 s over the open link, 30 s and 40 s over the others."""
    rows = [
        r
        for link, s in (("open", 10.0), ("one", 30.0), ("ten", 40.0))
        for r in repeats([s] * 6, interconnect=link)
    ]
    rows += [{**row, "valid": False, "reason": "failed"} for row in repeats([1.0], interconnect="open")]
    tree = campaign(rows).tree
    groups = {name: node.to_dataset() for name, node in tree.children.items()}
    storage.write_tree(groups, tmp_path / "data" / "processed" / "two" / "campaign.nc", {})
    shutil.copytree(project.root() / "workflow" / "schemas", tmp_path / "workflow" / "schemas")
    (tmp_path / "config" / "campaigns").mkdir(parents=True)
    (tmp_path / "config" / "config.yaml").write_text("campaigns: [two]\n", encoding="utf-8")
    declare(tmp_path, "measured")
    (tmp_path / "report.yaml").write_text(HEAD + FASTER, encoding="utf-8")
    return tmp_path


def declare(base: Path, evidence: str) -> None:
    text = DECLARED.format(evidence=evidence)
    (base / "config" / "campaigns" / "two.yaml").write_text(text, encoding="utf-8")


def test_evaluate__a_level_that_stands_for_two_must_hold_for_both(base: Path) -> None:
    (got,) = evaluate(load_report(base / "report.yaml"), load_campaign("two", base))
    # 3 times over the one, 4 times over the ten: the second is of another size.
    assert (got.verdict, got.estimate, got.n, got.n_baseline) == ("seen, larger", 4.0, 6, 6)
    assert (
        got.reason
        == "clear in direction, and the whole interval is beyond the claim (1 of 2 comparisons say so)"
    )
    assert got.base == {"value": 40.0, "unit": "s", "label": "ten"}
    assert (got.distance, got.bound) == ("scaled", None)
    assert got.distances[0] == {
        "factor": "interconnect",
        "wanted": "fast",
        "found": "open",
        "distance": "scaled",
        "why": "a link without a name",
        "effect": "",
    }
    assert (got.estimate_text, got.expected_text) == ("4× (exact)", "about 3× (± 10 %)")
    assert (got.expected_low, got.expected_high) == (2.7, 3.3)
    assert got.arithmetic.split(" | ") == ["40 (n 6) / 10 (n 6) = 4", "30 (n 6) / 10 (n 6) = 3"]
    assert len(got.runs) == len(set(got.runs)) == len(got.inputs) == 18  # the failed run is not among them
    assert "r18" not in got.runs
    assert got.source == {"section": "Links", "lines": [7]}


def test_evaluate__the_words_are_those_of_the_evidence(base: Path) -> None:
    declare(base, "synthetic")
    (got,) = evaluate(load_report(base / "report.yaml"), load_campaign("two", base))
    assert got.verdict == "not recovered"


def test_evaluate__the_command_writes_json_and_names_what_is_missing(
    base: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(base)
    assert cli.main(["stage", "verdicts", "two", "out/two.json", "report.yaml"]) == 0
    (record,) = json.loads((base / "out" / "two.json").read_text(encoding="utf-8"))
    assert (record["claim"], record["verdict"], record["estimate"]) == ("faster", "seen, larger", 4.0)
    shutil.rmtree(base / "data")
    assert cli.main(["stage", "verdicts", "two", "out/two.json", "report.yaml"]) == 1
    assert "campaign.nc: " in capsys.readouterr().err


def test_evaluate__a_campaign_that_is_not_declared_cannot_be_loaded(base: Path) -> None:
    with pytest.raises(BenchbookError, match=r"three\.yaml: "):
        load_campaign("three", base)


def test_evaluate__a_record_is_json_even_without_an_end(tmp_path: Path) -> None:
    text = "quantity: saturation\nvariable: elapsed\ncompare: { factor: nodes, order: { min: 1, max: 8 } }\n"
    one = claim(tmp_path, text + "expect: { relation: at-least, value: 2, unit: nodes }")
    rows = [row for nodes, s in ((1, 8.0), (2, 4.0)) for row in repeats([s] * 6, nodes=nodes)]
    report = load_report(tmp_path / "one.yaml")
    (got,) = evaluate(report, campaign(rows))
    assert (got.claim, got.verdict, got.high, got.expected_high) == (one.id, "holds", None, None)
    json.dumps(got.as_dict(), allow_nan=False)


def test_evaluate__the_table_says_what_was_not_tested(tmp_path: Path) -> None:
    claim(
        tmp_path,
        "quantity: level\nvariable: elapsed\nselect: { cpu: z80 }\nexpect: { relation: equal, value: 1 }",
    )
    table = verdict_table(evaluate(load_report(tmp_path / "one.yaml"), campaign(repeats([1.0] * 6))))
    row = table.iloc[0]
    assert (row["estimate"], row["n"], row["verdict"]) == ("–", "", "not tested")
    assert row["why"] == "no run of hand stands for cpu z80"


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (Estimate(8, 8, 8, 6), "8 nodes"),
        (Estimate(8, 4, 16, 6), "8 nodes (4 to 16)"),
        (Estimate(32, 32, math.inf, 6), "not before 32 nodes"),
        (Estimate(8, 4, math.inf, 6), "8 nodes (4 or more)"),
    ],
)
def test_text__where_scaling_stops(estimate: Estimate, text: str) -> None:
    assert stop(estimate, "nodes") == text


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (Estimate(80.612345, 80.612331, 80.612361, 6), "80.61 % (within 0.01)"),
        (Estimate(0.0123456, 0.0123450, 0.0123462, 6), "0.01235 % (within 0.00001)"),
        (Estimate(-9.612345, -9.612361, -9.612331, 6), "−9.612 % (within 0.001)"),
        (Estimate(10_439.2, 10_408.4, 10_471.6, 6), "10,439 % (10,408 to 10,472)"),
        (Estimate(1.36, 1.222, 1.543, 6), "1.36 % (1.22 to 1.54)"),
        (Estimate(11.1, -0.3, 23.2, 6), "11.1 % (−0.3 to 23.2)"),
        (Estimate(11.1, 0.0, 23.2, 6), "11 % (0 to 23)"),
        (Estimate(86.363636, 86.363636, 86.363636, 6), "86.36 % (exact)"),
    ],
)
def test_text__no_more_than_four_figures_however_narrow_the_interval(estimate: Estimate, text: str) -> None:
    assert number(estimate, "%") == text


def test_text__a_claim_expects_bytes_as_people_read_them(tmp_path: Path) -> None:
    expect = "{ relation: range, low: 129366000, high: 136512000, unit: B }"
    text = f"quantity: level\nvariable: rank_bytes\nexpect: {expect}\n"
    assert expected_text(claim(tmp_path, text)) == "129.366 to 136.512 MB"


@pytest.mark.parametrize(
    ("expect", "text"),
    [
        ("range, low: 9, high: 27", "9 to 27 %"),
        ("range, low: 8, high: 8", "8 %"),
        ("range, low: 9, high: 27, tolerance: 10%", "9 to 27 % (± 10 %)"),
        ("about, value: 20, tolerance: 10%", "about 20 % (± 10 %)"),
        ("at-most, value: 20", "at most 20 %"),
    ],
)
def test_text__what_a_claim_expects(tmp_path: Path, expect: str, text: str) -> None:
    head = "quantity: reduction\nvariable: elapsed\ncompare: { factor: mpi, treatment: a, baseline: b }\n"
    assert expected_text(claim(tmp_path, f"{head}expect: {{ relation: {expect} }}")) == text
