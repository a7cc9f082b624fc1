"""Rows, counts and marks of the scoreboard, against values worked out by hand."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.base import project
from analysis.base.errors import ConfigError
from analysis.claims.model import Claim, Expectation, Report, load_report
from analysis.claims.verdict import Verdict
from analysis.estimates.question import Question
from analysis.site import board as scoreboard
from analysis.site import forest
from analysis.site.words import EVIDENCE, VERDICTS
from tests.site import mock as site_mock

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def board() -> scoreboard.Board:
    return scoreboard.board(site_mock.verdicts())


def one(**changes: Any) -> Verdict:
    return replace(site_mock.ratio("c", "t", "s", "holds", (2.0, 1.0, 4.0), 5.0), **changes)


def test_board__counts_are_those_of_the_mock(board: scoreboard.Board) -> None:
    assert {v.word: n for v, n in board.counts} == {
        "holds": 11, "holds in direction": 3, "does not hold": 7, "cannot tell": 4, "consistent": 1,
        "inconsistent": 1, "not checkable": 1, "recovered": 1, "not tested": 9,
    }  # fmt: skip
    assert board.total == 38


def test_board__sentence_counts_what_was_tested(board: scoreboard.Board) -> None:
    assert board.sentence == (
        "Of 38 claims, 1 is contradicted by the report's own figures; 25 were tested on the same hardware "
        "and software (11 shown, 3 shown in part, 7 not shown, 4 not clear); 1 by the report's own "
        "arithmetic only (1 consistent); "
        "1 on synthetic files (1 recovered); 10 were not tested."
    )


def test_board__sentence_of_a_self_test() -> None:
    told = [
        one(claim=c, evidence="synthetic", verdict=v) for c, v in (("a", "recovered"), ("b", "not tested"))
    ]
    assert scoreboard.board(told).sentence == (
        "Of 2 claims, 1 was tested on synthetic files (1 recovered); 1 was not tested."
    )


def test_board__sentence_of_one_claim() -> None:
    shown = [one(claim="a", verdict="holds", distance="same")]
    said = "was tested on the same hardware and software (1 shown)."
    assert scoreboard.board(shown).sentence == f"The only claim {said}"
    looked_up = one(claim="b", evidence="published", verdict="a source confirms it", distance="looked-up")
    assert scoreboard.board([*shown, looked_up]).sentence == (
        f"Of 1 claim, 1 {said} 1 more was looked up (1 confirmed by a source)."
    )


def test_board__counts_the_claims_of_judged_reports_by_what_they_rest_on() -> None:
    judged = load_report(ROOT / "config/claims/sharp2019.yaml")
    own = load_report(ROOT / "config/claims/house.yaml")
    first, second, third, fourth, *_ = (claim.id for claim in judged.claims)
    found = [
        one(claim=first, verdict="seen at this scale", distance="scaled"),
        one(claim=first, verdict="an analogue does not show it", distance="analogue"),
        one(claim=second, verdict="out of reach here", distance="out of reach"),
        one(claim=second, evidence="reported", verdict="consistent", distance=""),
        one(claim=second, evidence="reported", verdict="inconsistent", distance=""),
        one(claim=third, verdict="out of reach here", distance="out of reach"),
        one(claim=fourth, evidence="published", verdict="a source confirms it", distance="looked-up"),
        one(claim=own.claims[0].id),  # our own question: on the board, and in no count
        one(claim="sharp2019-audit-x", evidence="reported", verdict="inconsistent", distance=""),
    ]
    board = scoreboard.board(found, [judged, own])
    assert board.sentence == (
        "Of 8 claims, 1 is contradicted by the report's own figures; 1 was tested at another scale (1 shown)"
        "; 6 were not tested. "
        "1 more was looked up (1 confirmed by a source)."
    )
    rows = {row.claim.claim: row for group in board.groups for row in group.rows}
    assert [v.verdict for v in rows[second].verdicts] == ["inconsistent", "consistent", "out of reach here"]
    assert rows[first].lead.distance == "scaled"


def test_sentence__tells_a_direction_from_the_whole_claim() -> None:
    whole = one(claim="a", verdict="seen at this scale", distance="scaled")
    direction = one(claim="b", verdict="seen", distance="scaled")
    smaller = one(claim="c", verdict="seen, smaller", distance="scaled")
    board = scoreboard.board([whole, direction, smaller])
    assert board.sentence == "Of 3 claims, 3 were tested at another scale (1 shown, 2 shown in part)."


def test_board__the_nearest_leads_then_the_class() -> None:
    near = one(evidence="published", verdict="cannot tell", distance="same")
    far = one(verdict="seen at this scale", distance="scaled")
    like = one(verdict="an analogue shows it", distance="analogue")
    (group,) = scoreboard.board([like, far, near, one(verdict="holds", distance="same")]).groups
    assert [(v.evidence, v.distance) for v in group.rows[0].verdicts] == [
        ("measured", "same"),
        ("published", "same"),
        ("measured", "scaled"),
        ("measured", "analogue"),
    ]


def test_board__rows_group_by_topic_in_order_of_appearance(board: scoreboard.Board) -> None:
    assert [g.topic for g in board.groups][:4] == [
        "Problem size",
        "Interconnect",
        "Run duration",
        "Compiler flags",
    ]
    assert [r.anchor for r in board.groups[1].rows][:2] == ["fdr-1gbe", "fdr-10gbe"]


def test_board__one_mark_for_each_evidence_class(board: scoreboard.Board) -> None:
    row = board.groups[1].rows[0]
    assert [r.evidence for r in row.verdicts] == ["measured", "modelled", "synthetic"]
    assert re.findall(r'<use href="#(measured|modelled|synthetic)"', str(row.plot)) == [
        "measured", "modelled", "synthetic"
    ]  # fmt: skip
    assert str(row.plot).count('href="#claimed"') == 1
    assert row.lead.verdict == "holds in direction"


def test_board__a_claim_without_evidence_keeps_its_row() -> None:
    expect = Expectation(relation="about", value=2.0, tolerance=0.1, unit="GB")
    claims = tuple(Claim(name, "r", "memory", "s", Question("level"), expect) for name in ("c", "d"))
    board = scoreboard.board([one(report="r", topic="memory")], [Report("r", "R", "P", "2014", claims)])
    rows = scoreboard.rows(board, report="r")
    assert [(row.anchor, row.lead.verdict, row.missing) for row in rows] == [
        ("c", "holds", []),
        ("d", "not tested", ["nothing here tests it"]),
    ]
    assert rows[1].claim.expected_text == "about 2 GB (± 10 %)"
    assert rows[1].topic == "Memory"


def test_board__the_self_test_is_a_word_and_no_mark() -> None:
    recovered = one(evidence="synthetic", verdict="recovered")
    (row,) = scoreboard.rows(scoreboard.board([one(report="r")], recovered=[recovered]), report="r")
    assert row.recovered == "recovered"
    assert [r.evidence for r in row.verdicts] == ["measured"]


def test_board__a_self_test_that_was_not_built_is_said() -> None:
    report = load_report(ROOT / "config/claims/openatom2010.yaml")
    recovered = [one(claim=report.claims[0].id, evidence="synthetic", verdict="recovered")]
    found = scoreboard.board([], [report], recovered, {"openatom2010"})
    said = {row.claim.claim: row.recovered for group in found.groups for row in group.rows}
    assert said.pop(report.claims[0].id) == "recovered"
    assert set(said.values()) == {"not built"}
    assert {row.recovered for group in scoreboard.board([], [report]).groups for row in group.rows} == {""}


def test_row__says_what_is_missing() -> None:
    away = {"factor": "mpi", "wanted": "hpc-x", "found": "MPICH", "distance": "analogue", "why": "another"}
    fewer = {"factor": "ranks", "wanted": "192", "found": "40 ranks", "distance": "scaled", "why": ""}
    unsaid = {"factor": "nodes", "wanted": "not stated", "found": "2 nodes", "distance": "scaled", "why": ""}
    alike = {"factor": "case", "wanted": "16³", "found": "nx16", "distance": "same", "why": ""}
    open_ = one(
        report="r", verdict="cannot tell", reason="too few runs", distances=[away, fewer, unsaid, alike]
    )
    silent = one(report="r", verdict="not tested", campaign="other", reason="no run with DDR")
    (row,) = scoreboard.rows(scoreboard.board([open_, silent]), report="r")
    assert row.missing == [
        "too few runs",
        "mock-hpcg: not as in the report: mpi MPICH instead of hpc-x, 40 ranks instead of 192; "
        "the report does not give nodes",
    ]
    (row,) = scoreboard.rows(scoreboard.board([silent]), report="r")
    assert row.missing == ["no run with DDR"]


def test_board__claims_that_differ_in_punctuation_keep_their_own_anchor() -> None:
    raw = [site_mock.tell("a b", "t", "s"), site_mock.tell("a-b", "t", "s")]
    rows = scoreboard.board(raw).groups[0].rows
    assert [r.anchor for r in rows] == ["a-b", "a-b-2"]


def test_ratio_axis__places_by_logarithm(board: scoreboard.Board) -> None:
    # The mock's values run from 0.5 to 6.9: 0.5 to 10. ln 2 / ln 20 = 0.231378; 5 + 90 x 0.231378 = 25.82.
    assert board.axis.ticks == (0.5, 1.0, 2.0, 5.0, 10.0)
    assert board.axis.at(1.0) == 25.82
    assert board.axis.at(0.5) == 5.0
    assert board.axis.at(10.0) == 95.0
    assert board.axis.at(0.0) is None
    assert board.axis.at(-1.0) is None


def test_ratio_axis__ends_at_the_ladder_and_marks_what_lies_beyond() -> None:
    record = one(high=5000.0)
    axis = forest.ratio_axis([record])
    assert (axis.low, axis.high) == (0.5, 1000.0)
    drawn = str(forest.draw([record], axis, record))
    assert drawn.count('href="#beyond"') == 1
    assert drawn.count('href="#cap"') == 1


def test_draw__whisker_runs_from_low_to_high() -> None:
    record = one()  # 2 in [1, 4], claimed 5, on 0.5 to 5
    axis = forest.ratio_axis([record])
    # ln 2 / ln 10 = 0.30103, ln 4 / ln 10 = 0.60206, ln 8 / ln 10 = 0.90309; times 90, plus 5
    assert (axis.low, axis.high) == (0.5, 5.0)
    drawn = str(forest.draw([record], axis, record))
    assert '<line class="whisker" x1="32.09%" x2="86.28%" y1="50.0%" y2="50.0%"/>' in drawn
    assert '<use href="#measured" x="59.19%" y="50.0%"/>' in drawn
    assert '<use href="#claimed" x="95.0%" y="50.0%"/>' in drawn
    assert 'aria-label="Claimed 5×; measured 2.00× [1.00, 4.00]."' in drawn


def test_draw__an_interval_without_an_upper_end_goes_beyond_the_axis() -> None:
    record = one(high=None)
    axis = forest.ratio_axis([record])
    drawn = str(forest.draw([record], axis, record))
    assert '<line class="whisker" x1="32.09%" x2="95.0%" y1="50.0%" y2="50.0%"/>' in drawn
    assert '<use href="#beyond" x="95.0%" y="50.0%"/>' in drawn
    assert "whisker" not in str(forest.draw([one(low=None, high=None)], axis, record))


def test_own_axis__share_spans_the_whole() -> None:
    percent = one(scale="share", unit="%", estimate=12.0, low=9.0, high=15.0, expected=49.0)
    axis = forest.own_axis([percent])
    assert axis is not None
    assert (axis.low, axis.high, axis.at(12.0)) == (0.0, 100.0, 15.8)  # 5 + 90 x 0.12
    fraction = one(scale="share", unit="1", estimate=0.12, low=0.09, high=0.15, expected=0.49)
    axis = forest.own_axis([fraction])
    assert axis is not None
    assert (axis.high, axis.at(0.12)) == (1.0, 15.8)


@pytest.mark.parametrize(
    ("values", "ends"),
    [
        ((38.2, 521.0), (0.0, 550.0)),
        ((16.0, 16.0), (0.0, 30.0)),
        ((0.001, 5.0), (0.001, 10.0)),
        ((1.0, 60.0), (1.0, 100.0)),
        ((-2.0, 3.0), (-2.5, 3.5)),
    ],
)
def test_own_axis__level_covers_its_values(values: tuple[float, float], ends: tuple[float, float]) -> None:
    estimate, expected = values
    axis = forest.own_axis(
        [one(scale="level", unit="u", estimate=estimate, low=None, high=None, expected=expected)]
    )
    assert axis is not None
    assert (axis.low, axis.high) == pytest.approx(ends)


def test_chips__name_what_is_missing_and_what_is_extra() -> None:
    record = one(scale="set", unit="B", expected_text="0, 8, 16 B", estimate_text="8, 16, 1024 B")
    assert forest.chips(record) == [("0", "missing"), ("8", "both"), ("16", "both"), ("1024", "extra")]


def test_words__each_evidence_class_uses_known_words() -> None:
    assert {w for e in EVIDENCE.values() for w in e.words} == set(VERDICTS)
    # Colour is never the only carrier, and a consistent relation never looks like a claim that holds.
    signs: dict[str, set[str]] = {}
    for word in VERDICTS.values():
        signs.setdefault(word.tone, set()).add(word.sign)
    plain = [signs[tone] for tone in ("stands", "partly", "fails", "like", "unlike", "none")]
    assert all(len(found) == 1 for found in plain)
    assert len(set.union(*plain)) == len(plain)
    assert not signs["agrees"] & signs["stands"]
    assert not signs["odds"] & signs["fails"]
    assert all(word.meaning.endswith(".") for word in VERDICTS.values())
    # What has only its direction in common with the claim is not said to show the claim.
    sized = [
        word
        for word in VERDICTS
        if "direction" in word or word in ("seen", "seen, larger", "seen, size open")
    ]
    assert len(sized) > 8
    assert all(" direction" in VERDICTS[word].meaning for word in sized)
    shown = [word.shown for word in VERDICTS.values()]
    assert len(set(shown)) == len(shown)
    assert {VERDICTS[word].shown for word in ("inside the band", "outside the band", "could not fail")} == {
        "possible, not confirmed", "implausible by the model", "untestable by arithmetic",
    }  # fmt: skip


def test_check__a_measured_verdict_has_a_distance() -> None:
    with pytest.raises(ConfigError, match="no distance from the conditions of the claim"):
        scoreboard.check([one(distance="")], frozenset())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"verdict": "is true"}, "verdicts:1: c: verdict 'is true' is not a word of verdicts; use holds, "),
        ({"evidence": "synthetic"}, "verdicts:1: c: verdict 'holds' is not a word for synthetic evidence; "),
        ({"evidence": "hearsay"}, "verdicts:1: c: evidence 'hearsay' is not a class; use measured, "),
        ({"scale": "colour"}, "verdicts:1: c: scale 'colour' is not known; use ratio, "),
        ({"page": "nowhere"}, "verdicts:1: c: page 'nowhere' is not built; name it under 'pages' of"),
    ],
)
def test_check__a_bad_one_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        scoreboard.check([one(**changes)], frozenset())
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("quantity", "numbers", "ratios"),
    [("gain", (36.0, 22.0, 54.0), (1.36, 1.22, 1.54)), ("reduction", (20.0, 15.0, 30.0), (0.8, 0.7, 0.85))],
)
def test_as_ratio__percent_is_a_gain_or_a_reduction(
    quantity: str, numbers: tuple[float, ...], ratios: tuple[float, ...]
) -> None:
    estimate, low, high = numbers
    record = one(quantity=quantity, unit="%", estimate=estimate, low=low, high=high, expected=None)
    ratio = forest.as_ratio(record)
    assert (ratio.estimate, ratio.low, ratio.high) == pytest.approx(ratios)
    assert (ratio.unit, ratio.estimate_text) == ("×", record.estimate_text)
    assert forest.ratio_axis([record]).high == 2.0


def test_as_ratio__leaves_other_scales_alone() -> None:
    share = one(scale="share", unit="%", estimate=12.0)
    assert forest.as_ratio(share) is share


def test_board__untested_campaign_of_a_tested_claim_has_no_mark() -> None:
    raw = [
        site_mock.tell("c", "memory", "s", evidence="measured", campaign="other"),
        site_mock.ratio("c", "memory", "s", "holds", (2.0, 1.0, 4.0), 2.0),
    ]
    group = scoreboard.board(raw).groups[0]
    row = group.rows[0]
    assert (group.topic, row.lead.verdict, len(row.shown), len(row.verdicts)) == ("Memory", "holds", 1, 2)
    assert str(row.plot).count('href="#measured"') == 1


def test_chips__only_for_sets() -> None:
    assert forest.chips(one(scale="level", expected_text="3,600 s", estimate_text="1,800 s")) == []


def test_board__the_claim_is_told_by_its_own_record_not_by_the_audit() -> None:
    audit = one(evidence="reported", verdict="consistent", expected=1.0, expected_text="at least 1×")
    silent = one(evidence="measured", verdict="not tested", estimate=None, low=None, high=None)
    (row,) = (row for group in scoreboard.board([audit, silent]).groups for row in group.rows)
    assert row.lead.verdict == "consistent"
    assert row.claim.evidence == "measured"
    assert "at least 1×" not in str(row.plot)


def test_board__filters_offer_the_applications_and_factors_of_its_claims() -> None:
    board = scoreboard.board(
        [
            one(claim="a", application="hpcg", factor="interconnect"),
            one(claim="b", application="ls-dyna", factor="cpu"),
            one(claim="c", application="hpcg", factor=""),
        ]
    )
    assert board.values("application") == ["hpcg", "ls-dyna"]
    assert board.values("factor") == ["interconnect", "cpu"]


def test_board__says_what_would_test_a_claim_that_nothing_near_speaks_to() -> None:
    report = load_report(project.claims("lsdyna2014"))
    claim = report.claim("lsdyna2014-ic-summary-over-5x-10-40gbe")
    found = one(claim=claim.id, distance="scaled", verdict="seen at this scale")
    silent, near = (
        next(row for group in scoreboard.board(verdicts, [report]).groups for row in group.rows
             if row.claim.claim == claim.id)
        for verdicts in ([], [found])
    )  # fmt: skip
    assert "on 32 nodes" in silent.needed
    assert "ib-fdr, 10gbe and 40gbe" in silent.needed
    assert near.needed == ""
