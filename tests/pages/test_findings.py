"""The page of findings: sentences, the forest and the tables hold what the search has concluded."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from analysis import pages
from analysis.findings.conclusion import STANDING, TOPICS, Conclusion
from analysis.findings.search import conclusions
from analysis.pages import figures
from tests.estimates.hand import campaign, repeats
from tests.findings.test_search import SPREAD, rates

CAMPAIGN = campaign(
    [
        *(row for nodes in (1, 2) for row in rates(5.0 * nodes, mpi="a", nodes=nodes)),
        *(row for nodes in (1, 2) for row in rates(6.0 * nodes, mpi="b", nodes=nodes)),
        *(row for mpi in "ab" for row in rates(3.0, mpi=mpi, application="same")),
        *(row for mpi in "ab" for row in rates(3.0, SPREAD[:1], mpi=mpi, application="single")),
    ]
)


@pytest.fixture(scope="module")
def found() -> list[Conclusion]:
    return conclusions(CAMPAIGN)


def test_findings__the_answer_has_the_first_of_each_topic(found: list[Conclusion]) -> None:
    said = pages.finding_sentences(CAMPAIGN, found, 0.05)
    assert any("b is 1.200 times as fast as a" in one for one in said)
    assert any(one.startswith("2 nodes are 2.000 times as fast as 1 node") for one in said)
    assert said[-1].startswith(f"In all {sum(one.word in STANDING for one in found)} conclusions")


def test_findings__without_a_comparison_the_answer_names_no_rate(found: list[Conclusion]) -> None:
    apart = [replace(one, p=None, q=None) for one in found if one.word in STANDING][:2]
    said = pages.finding_sentences(CAMPAIGN, apart, 0.05)
    assert said[-1] == "In all 2 conclusions, none of them from a comparison."


def test_findings__a_campaign_with_one_kind_of_run_says_that_nothing_can_be_compared() -> None:
    single = campaign(rates(1.0, SPREAD[:1], mpi="a"))
    said = pages.finding_sentences(single, conclusions(single), 0.05)
    assert said == ["Nothing can be compared: no two groups of runs agree in everything but one factor."]


def test_findings__what_is_not_decided_says_why() -> None:
    few = campaign([*rates(1.0, SPREAD[:2], mpi="a"), *rates(1.1, SPREAD[:2], mpi="b")])
    assert pages.finding_sentences(few, conclusions(few), 0.05) == [
        "No comparison is decided: 1 with too few runs."
    ]
    wide = [
        value * step for value, step in zip((1.0,) * 8, (0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4), strict=True)
    ]
    same = campaign([*rates(1.0, wide, mpi="a"), *rates(1.0, wide, mpi="b")])
    assert pages.finding_sentences(same, conclusions(same), 0.05) == [
        "No comparison is decided: 1 without a clear difference."
    ]


def test_findings__the_forest_has_the_ratios(found: list[Conclusion]) -> None:
    table = pages.forest(CAMPAIGN, found)
    assert set(table["word"]) == {"differs", "equal"}
    lead = table[table["name"].str.startswith("b over a")].iloc[0]
    assert lead["ratio"] == pytest.approx(1.2)
    assert lead["low"] > 1
    assert len(pages.forest(CAMPAIGN, found, 1)) == 1
    ax = pages.draw_forest(CAMPAIGN, found).axes[0]
    assert [text.get_text() for text in ax.get_yticklabels()] == list(table["name"])
    drawn = np.sort(
        np.concatenate([line.get_xdata() for line in ax.lines if line.get_marker() in "os^DvPXp"])
    )
    assert set(np.round(table["ratio"], 9)) <= set(np.round(drawn.astype(float), 9))
    assert figures.svg(pages.draw_forest(CAMPAIGN, found), description="d").startswith("<svg")


def test_findings__the_tables_hold_all_of_them(found: list[Conclusion]) -> None:
    sure, rest = pages.findings_table(found).frame, pages.undecided_table(CAMPAIGN, found).frame
    assert len(sure) + len(rest) == len(found)
    assert set(sure["topic"]) <= set(TOPICS.values())
    assert list(sure["topic"]) == sorted(sure["topic"], key=list(TOPICS.values()).index)
    assert set(rest["word"]) == {"seen"}


def test_findings__a_cell_in_doubt_is_counted_in_the_answer_and_asked_about_in_the_table() -> None:
    groups = [10.0, 13.0] * 6
    noise = [0.001 * at for at in range(12)]
    mixed = [value + more for value, more in zip(groups, noise, strict=True)]
    doubted = campaign([*repeats(mixed, mpi="a"), *repeats([5.0 + more for more in noise], mpi="b")])
    assert len(doubted.runs) == 24
    assert len(doubted.doubts) == 1
    said = pages.finding_sentences(doubted, [], 0.05)
    assert said[-1].startswith("Nothing is concluded from 1 cell whose runs may be no repeats; see")
    (row,) = pages.undecided_table(doubted, []).frame.to_dict("records")
    assert row["word"] == "in doubt"
    assert "12 runs fall into groups of 6 and 6 that differ by 30 %" in row["comparison"]
    assert "MPI library a" in row["rests on"]
