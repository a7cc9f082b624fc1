"""What stands on slides: conclusions in their own words and the reports' order, and what is not known."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from analysis.base import project
from analysis.decks import content, facts
from analysis.decks.content import MOST, deck
from analysis.decks.slide import BESIDE, HEAD, Deck, head, pages
from analysis.estimates.campaign import Campaign, load_campaign
from analysis.findings.conclusion import STANDING, TOPICS, UNKNOWN, reason
from analysis.findings.search import conclusions
from analysis.provenance.facts import facts as node_facts
from tests.decks import campaigns
from tests.estimates.hand import campaign as hand
from tests.estimates.hand import repeats


def texts(one: Deck) -> set[str]:
    cells = {cell for slide in one.slides for row in slide.table for cell in row}
    return cells | {text for slide in one.slides for text in (slide.headline, *slide.bullets)}


@pytest.mark.datasets("vm-hpcg")
def test_deck__says_every_conclusion_in_its_own_words() -> None:
    campaign = load_campaign("vm-hpcg")
    found = conclusions(campaign)
    assert {one.sentence for one in found if one.word in STANDING} <= texts(deck(campaign))
    open_ = [slide for slide in deck(campaign).slides if slide.topic == "Open"]
    undecided = {row[0] for slide in open_ for row in slide.table[1:]}
    doubted = {one.name for one in campaign.doubts}
    assert undecided == {one.row for one in found if one.word not in STANDING} | doubted
    assert all(row[1] for slide in open_ for row in slide.table)


@pytest.mark.datasets("vm-hpcg")
def test_deck__has_the_order_of_the_reports() -> None:
    slides = deck(load_campaign("vm-hpcg")).slides
    assert [slides[0].kind, slides[1].kind] == ["title", "facts"]
    topics = [slide.topic for slide in slides if slide.kind == "question"]
    names = [name for topic in topics for name in topic.split(", ")]
    assert list(dict.fromkeys(names)) == [name for name in TOPICS.values() if name in names]
    assert len(set(names)) > 10
    assert max(map(topics.count, topics)) <= MOST
    kinds = list(dict.fromkeys(slide.kind for slide in slides))
    assert kinds == ["title", "facts", "question", "summary", "list", "method"]
    assert {slide.label for slide in slides} == {"measured"}


def test_deck__names_unknown_nodes_where_nothing_can_be_compared_for_want_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(content, "conclusions", lambda *_, **__: [])
    rows = [{**one, "nodes": -1, "ranks_per_node": -1} for one in repeats([1.0] * 6, mpi="a")]
    apart = hand([{**row, "ranks": 2 + at % 2} for at, row in enumerate(rows)])
    cause = "Nothing can be compared: runs differ in their ranks, and the nodes of none are known"
    assert cause in deck(apart).slides[0].bullets


def test_deck__an_order_that_comparisons_say_already_is_in_the_appendix() -> None:
    speeds = {"a": 10.0, "b": 12.0, "c": 15.0}
    rows = [
        row
        for mpi, speed in speeds.items()
        for row in repeats(
            [speed * (1 + one) for one in campaigns.SPREAD], "figure_of_merit",
            figure_of_merit_unit="Gflop/s", mpi=mpi,
        )
    ]  # fmt: skip
    slides = deck(hand(rows)).slides
    order = "c is ahead of b, then of a in app (by 1.250, then 1.200 times)"
    where = [slide.topic for slide in slides if order in texts(Deck("", "", "", (slide,)))]
    assert where == ["Appendix"]
    assert sum("times as fast as" in slide.headline for slide in slides) == 1


def test_deck__shows_a_planted_effect_with_its_base_and_its_points() -> None:
    slides = deck(campaigns.planted(), title="Two libraries").slides
    assert slides[0].headline == "Two libraries"
    assert "24 valid runs of 25" in slides[0].bullets
    found = next(slide for slide in slides if slide.topic == TOPICS["MPI library"])
    assert found.headline.startswith("Open MPI 4.1.4 is 2.000 times as fast as MPICH 4.0.2")
    assert found.points is not None
    by_name = found.points.set_index(["series", "x"])["median"]
    assert by_name["Open MPI 4.1.4", "small"] == pytest.approx(10.01)
    assert by_name["MPICH 4.0.2", "large"] == pytest.approx(160.16)
    assert "n 6 / 6" in found.footnote
    assert "q " in found.footnote
    assert "measured" in found.footnote
    lines = next(slide for slide in slides if slide.kind == "method").bullets
    assert "24 runs in 4 settings; a setting was run 6 times." in lines
    assert "1 run was left out: 1 exit code 1." in lines


def test_deck__of_single_runs_shows_them_and_concludes_nothing() -> None:
    slides = deck(campaigns.single()).slides
    assert "No conclusion: what was seen rests on too few runs" in slides[0].bullets
    values = next(slide for slide in slides if slide.headline == "Values as seen")
    assert [row[2] for row in values.table[1:]] == ["80 s", "40 s", "20 s"]
    assert "summary" not in {slide.kind for slide in slides}


def test_deck__of_runs_whose_order_is_not_known_shows_what_was_seen() -> None:
    """On 2 and 4 ranks, of nodes that are not counted: each setting has a row, and sentences the ranks."""
    rows = [
        {**row, "order": -1}
        for ranks, scale in ((2, 1.0), (4, 2.0))
        for tuning, factor in (("one", 1.0), ("other", 1.25))
        for row in repeats(
            [scale * factor * (1 + at / 1000) for at in range(8)], "figure_of_merit",
            **{"tuning": tuning, "ranks": ranks, "nodes": -1, "figure_of_merit_unit": "steps/s"},
        )
    ]  # fmt: skip
    rows[0]["order"] = 0  # that of one run alone orders none
    slides = deck(hand(rows)).slides
    assert "No conclusion: what was seen is from runs whose order is not known" in slides[0].bullets
    said = [text for one in slides if one.kind == "question" for text in (one.headline, *one.bullets)]
    assert [text for text in said if "tuning other is 1.25" in text.lower() and "2 and 4 ranks" in text]
    values = next(one for one in slides if one.headline == "Values as seen")
    assert [row[:2] for row in values.table[1:]] == [
        ("one, 2 ranks", "8"), ("one, 4 ranks", "8"), ("other, 2 ranks", "8"), ("other, 4 ranks", "8"),
    ]  # fmt: skip
    assert [row[3] for row in values.table[1:]] == ["1.003", "2.007", "1.254", "2.509"]


def test_cluster__names_what_no_run_states() -> None:
    known = facts.under_test(campaigns.planted())
    assert dict(known.rows)["CPU"] == "EPYC 9654"
    assert dict(known.rows)["MPI"] == "MPICH 4.0.2, Open MPI 4.1.4"
    assert {"memory", "compiler", "memory modules", "Slurm", "dates"} <= set(known.unknown)
    assert not {"Memory", "Compiler"} & set(dict(known.rows))


def test_cluster__has_the_facts_that_its_nodes_gave(tmp_path: Path) -> None:
    record = node_facts()
    gib = record["facts"]["memory.total"]["value"] / 2**20
    run = project.raw("hand", tmp_path) / "runs" / "1"
    run.mkdir(parents=True)
    (run / "run.json").write_text(json.dumps({"facts": record}), encoding="utf-8")
    broken = run.with_name("2")
    broken.mkdir()
    (broken / "run.json").write_text('{"facts": {"facts": 3}', encoding="utf-8")
    rows = dict(facts.under_test(campaigns.single(), tmp_path).rows)
    assert rows["Memory"] == f"{round(gib)} GiB"
    assert record["facts"]["kernel.osrelease"]["value"] in rows["System"]
    assert str(record["facts"]["cpu.Model name"]["value"]) in rows["CPU"]


@pytest.mark.parametrize(
    ("campaign", "count"), [(campaigns.hostile(), 11), (campaigns.single(), 5)], ids=["long", "single"]
)
def test_deck__keeps_every_text_within_bounds(campaign: Campaign, count: int) -> None:
    slides = deck(campaign, title="A title " * 60).slides
    assert len(slides) == count
    for slide in slides:
        assert len(slide.headline) <= HEAD
        assert sum(map(len, slide.bullets)) <= BESIDE or slide.kind == "method"


def test_head__is_split_and_keeps_every_word() -> None:
    text = " ".join(f"word{n}" for n in range(120))
    first, rest = head(text)
    assert " ".join([first, *rest]).replace("… ", "").replace(" …", "") == text
    assert head("short") == ("short", [])


def test_pages__are_as_few_as_fit_and_keep_every_row() -> None:
    rows = [("Question", "Finding"), *((f"{n}", "x" * 300) for n in range(12))]
    parts = pages(rows)
    assert [row for part in parts for row in part[1:]] == rows[1:]
    assert {part[0] for part in parts} == {rows[0]}
    assert max(len(part) for part in parts) - min(len(part) for part in parts) <= 2


@pytest.mark.datasets("vm-hpcg")
def test_reason__says_why_nothing_was_decided() -> None:
    found = [one for one in conclusions(load_campaign("vm-hpcg")) if one.word == UNKNOWN]
    reasons = {one.sentence: reason(one) for one in found}
    few = [why for text, why in reasons.items() if "under mpiP" in text]
    assert few == ["3 runs a side; 6 give an interval at 95 %"]
    assert any("includes 1 and is wider than 5 %" in why for why in reasons.values())
    wide = next(one for one in found if "wider" in reasons[one.sentence])
    estimate = replace(wide.finding.estimate, low=0.9987, high=1.0046)
    near = replace(wide, q=0.074, finding=replace(wide.finding, estimate=estimate))
    said = "0.999 to 1.005 times is within 5 % of 1, but not significant among all comparisons, q 0.074"
    assert reason(near) == f"{said}; more runs"
