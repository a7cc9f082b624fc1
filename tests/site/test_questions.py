"""The pages of questions: what each campaign says, for and against."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

from analysis.claims.verdict import Verdict
from analysis.site import board as scoreboard
from analysis.site.build import Front, build
from analysis.site.questions import Voice, question_pages
from tests.site import mock as site_mock

LINK = {"name": "Link", "question": "Is InfiniBand worth it?", "topics": ["Interconnect"]}
NOTHING = {"name": "Cooling", "question": "Water or air?", "topics": ["cooling"]}


def voices() -> tuple[Voice, ...]:
    board = scoreboard.board(site_mock.verdicts())
    (page,) = question_pages([LINK, NOTHING], board, [])
    return page.voices


def test_question__has_each_campaign_once_with_its_verdicts_counted() -> None:
    wanted = Counter(
        (one.evidence, one.campaign, one.verdict)
        for one in site_mock.verdicts()
        if one.topic == "Interconnect" and one.tested and one.campaign
    )
    assert len(wanted) > 3
    found = {
        (voice.lead.evidence, voice.lead.campaign, word.word): n
        for voice in voices()
        for word, n in voice.words
    }
    assert found == dict(wanted)


def test_question__nearest_campaign_is_first() -> None:
    found = [
        replace(said("holds", name), claim=f"c-{name}", campaign=name, distance=name, topic="Interconnect")
        for name in ("analogue", "same", "scaled")
    ]
    (page,) = question_pages([LINK], scoreboard.board(found), [])
    assert [voice.lead.campaign for voice in page.voices] == ["same", "scaled", "analogue"]


def said(verdict: str, sentence: str) -> Verdict:
    numbers = (1.5, 1.4, 1.6)
    return replace(
        site_mock.ratio(f"c-{sentence}", "t", "s", verdict, numbers, 7.0, evidence="measured"),
        sentence=sentence,
        distance="same",
    )


def test_voice__what_speaks_against_is_among_the_four_sentences() -> None:
    agree = [said("holds", f"IB is {n} times as fast") for n in range(2, 9)]
    voice = Voice((*agree, said("does not hold", "IB is as fast as Ethernet")))
    assert [one.sentence for one in voice.spoken] == [
        "IB is 2 times as fast",
        "IB is as fast as Ethernet",
        "IB is 3 times as fast",
        "IB is 4 times as fast",
    ]


def test_voice__one_sentence_of_two_claims_is_there_once() -> None:
    twice = said("holds", "IB is 2 times as fast")
    assert len(Voice((twice, replace(twice, claim="other"))).spoken) == 1


def test_question__page_has_claims_campaigns_and_pages(tmp_path: Path) -> None:
    asked = Front((LINK, NOTHING), {}, {"interconnect": ["Interconnect"]})
    build(
        site_mock.verdicts(), site_mock.pages(tmp_path), site_mock.PROVENANCE, tmp_path / "out", asked=asked
    )
    assert not (tmp_path / "out/question-cooling.html").exists()
    text = (tmp_path / "out/question-link.html").read_text()
    claims = {one.claim for one in site_mock.verdicts() if one.topic == "Interconnect"}
    assert set(re.findall(r'<li class="row [^"]*" id="([^"]+)"', text)) == claims
    campaigns = {voice.lead.campaign for voice in voices() if voice.lead.evidence != "reported"}
    assert campaigns <= set(re.findall(r"<b>([^<]+)</b>", text))
    assert 'href="interconnect.html"><span class="q">' in text
    assert 'id="answer"' not in text  # it has no card on the front page
    index = (tmp_path / "out/index.html").read_text()
    assert '<a href="question-link.html">All campaigns</a>' in index
    assert '"question-link.html"' in (tmp_path / "out/data/search.js").read_text()


def test_question__page_begins_with_the_answer_of_its_card(tmp_path: Path) -> None:
    found = [replace(one, sentence="the sentence") for one in site_mock.verdicts()]
    asked = Front(({**LINK, "claim": "fdr-10gbe"},), {"fdr-10gbe": "12 runs"}, {})
    build(found, site_mock.pages(tmp_path), site_mock.PROVENANCE, tmp_path / "out", asked=asked)
    text = (tmp_path / "out/question-link.html").read_text()
    head = " ".join(re.sub(r"<[^>]+>", " ", text[text.index("<h1>") : text.index('class="strip"')]).split())
    assert head.startswith(
        "Is InfiniBand worth it? The report: “FDR InfiniBand is 4.5 times faster than 10GbE” "
        "✕ does not hold Speed-up 0.98× [0.95, 1.02] "
        "The runs do not show what the report claims. the sentence. "
        "Rests on 12 measured runs, on the same hardware and software. Settling it: 12 runs. "
        "Of 6 claims, 5 were tested on the same hardware and software (2 shown, 1 shown in part, 1 not "
        "shown, "
    )
