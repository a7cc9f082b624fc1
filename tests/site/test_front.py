"""The front page: each card follows its verdict; contradictions, weight, first screen, menu."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.base.errors import ConfigError
from analysis.claims.model import Report
from analysis.claims.verdict import Verdict
from analysis.site import board as scoreboard
from analysis.site import front
from analysis.site.build import Front, build
from tests.browser import CHROMIUM, Browser
from tests.site import mock as site_mock

QUESTIONS = (
    {"name": "Link", "question": "Is InfiniBand worth it?", "topics": ["Interconnect"], "claim": "fdr-10gbe"},
    {"name": "CPU", "question": "Is a newer CPU faster?", "topics": ["CPU"], "claim": "dyna-ivb-snb"},
    {"name": "Energy", "question": "Wh per job?", "topics": ["Energy"], "claim": "dyna-power"},
    {"name": "Profile", "topics": ["Profile"]},
)
PRICES = {"fdr-10gbe": "12 runs, 192.5 node hours", "dyna-power": "no price, because nothing starts it"}
TOPICS = {"interconnect": ["Interconnect"], "mpi-time": ["Profile"]}
ASKED = Front(QUESTIONS, PRICES, TOPICS)


def page(folder: Path, found: list[Verdict], asked: Front = ASKED) -> str:
    build(found, site_mock.pages(folder), site_mock.PROVENANCE, folder / "out", asked=asked)
    return (folder / "out/index.html").read_text()


def card(text: str, number: int) -> str:
    """Return the words of a card."""
    section = text[text.index(f'id="answer-{number}"') :].partition("</section>")[0]
    section = section[section.index("<h2") :]
    return " ".join(re.sub(r"<[^>]+>", " ", section).split())


def altered(claim: str, **changes: Any) -> list[Verdict]:
    return [replace(one, **changes) if one.claim == claim else one for one in site_mock.verdicts()]


def test_card__is_the_verdict_its_number_what_it_rests_on_and_the_price(tmp_path: Path) -> None:
    text = page(tmp_path, site_mock.verdicts())
    assert card(text, 1) == (
        "Is InfiniBand worth it? The report: “FDR InfiniBand is 4.5 times faster than 10GbE” "
        "✕ does not hold Speed-up 0.98× [0.95, 1.02] The runs do not show what the report claims. "
        "Rests on 12 measured runs, on the same hardware and software. "
        "Settling it: 12 runs, 192.5 node hours. Evidence All 6 claims"
    )
    assert "No run here can test this sentence. Rests on the report's own numbers." in card(text, 2).replace(
        "&#39;", "'"
    )
    assert "– not tested" in card(text, 3)
    assert "Rests on nothing. Settling it: no price, because nothing starts it." in card(text, 3)
    assert 'id="answer-4"' not in text


def test_card__changes_with_its_verdict_and_no_other(tmp_path: Path) -> None:
    before = page(tmp_path, site_mock.verdicts())
    changes = {"verdict": "holds", "estimate_text": "4.51× [4.4, 4.6]"}
    after = page(tmp_path, altered("fdr-10gbe", **changes))
    assert "✓ holds Speed-up 4.51× [4.4, 4.6] The runs show what the report claims." in card(after, 1)
    assert [card(after, n) for n in (2, 3)] == [card(before, n) for n in (2, 3)]


def test_card__of_a_claim_that_is_gone_says_so(tmp_path: Path) -> None:
    text = page(tmp_path, [one for one in site_mock.verdicts() if one.claim != "fdr-10gbe"])
    assert card(text, 1) == (
        "Is InfiniBand worth it? No report of this build has the claim fdr-10gbe . "
        "Name another one under front in config/config.yaml ."
    )
    assert "consistent" in card(text, 2)


@pytest.mark.parametrize(
    ("distances", "n", "rests"),
    [
        ([], 1, "1 published run, at another scale"),
        ([{"factor": "application", "distance": "analogue", "found": "OpenFOAM"}], 5,
         "5 published runs of OpenFOAM, at another scale"),
    ],
)  # fmt: skip
def test_card__names_the_application_that_ran_instead(distances: list[Any], n: int, rests: str) -> None:
    numbers, runs = (1.5, 1.5, 1.5), [f"{i:03d}" for i in range(n)]
    found = site_mock.ratio("c", "t", "s", "cannot tell", numbers, 7.0, evidence="published", runs=runs)
    row = scoreboard.rows(
        scoreboard.board([replace(found, distance="scaled", distances=distances)]), every=True
    )
    assert front.Card("Link", "q", "c", row[0], ("t",), 1, "").rests == rests


def test_contradictions__have_both_numbers_and_their_place(tmp_path: Path) -> None:
    changes = {
        "arithmetic": "~20 + ~24 = 44 % (42 to 46) against 50 %; MPI_Wait alone: 49 %",
        "source": {"section": "MPI profiling", "lines": [154, 155]},
        "reason": "the sum is not greater than a half",
        "note": "one call alone has more",
    }
    text = page(tmp_path, altered("dyna-dimm", **changes))
    section = text[text.index('id="contradictions"') :].partition("</section>")[0]
    assert "1 contradiction inside the reports" in section
    assert section.count("<li>") == 1
    assert (
        'the sum is not greater than a half. <b class="number">~20 + ~24 = 44 % (42 to 46) against 50 %</b> '
        "One call alone has more. <span" in section
    )
    assert "LS-DYNA best practices (2014), MPI profiling, lines 154 and 155 of its text" in section
    without = page(tmp_path, altered("dyna-dimm", evidence="reported", verdict="consistent"))
    assert 'id="contradictions"' not in without


def test_counts__say_of_what_they_are_so_that_they_add_up(tmp_path: Path) -> None:
    own = Report("own", "Our questions", "", "", (), own=True)
    claims = {one.claim for one in site_mock.verdicts()}
    judged = [replace(site_mock.SILENT, id=one) for one in sorted(claims - {"dyna-dimm", "background-1"})]
    reports = (Report("hpcg2014", "HPCG", "Somebody", "2014-01", tuple(judged)), own)
    build(
        site_mock.verdicts(),
        site_mock.pages(tmp_path),
        site_mock.PROVENANCE,
        tmp_path / "out",
        reports=reports,
    )
    text = " ".join(re.sub(r"<[^>]+>", " ", (tmp_path / "out/index.html").read_text()).split())
    assert "36 claims of the reports, by what they rest on" in text
    assert (
        "38 rows: the 36 claims that are counted above, 1 question of our own and "
        "1 check of printed numbers that belong to no such claim." in text
    )
    assert "38 of 38 rows" in text
    assert "1 contradiction inside the reports" in text
    assert (
        "Counted below as a claim's own contradiction: 0. "
        "The others are between printed numbers that belong to no claim: 1." in text
    )


def test_menu__groups_pages_by_question_each_once(tmp_path: Path) -> None:
    text = page(tmp_path, site_mock.verdicts())
    nav = text[text.index('<nav class="menu"') :].partition("</nav>")[0]
    assert re.findall(r"<h2>([^<]+)", nav) == ["Benchbook", "Link", "Profile", "Sources and checks"]
    links = re.findall(r'href="([^"]+)"', nav)
    assert len(links) == len(set(links)) == 5 + len(site_mock.PAGES)  # three of the site, two questions
    link = nav[nav.index("<h2>Link") :].partition("</section>")[0]
    assert re.findall(r'href="([^"]+)"', link) == ["question-link.html", "interconnect.html"]


def test_menu__a_title_is_there_once() -> None:
    pages = [front.PageContent(name, Path(), "measured", name, "How?") for name in ("a", "b")]
    front.distinguish(pages)
    assert [one.title for one in pages] == ["How? (a)", "How? (b)"]
    with pytest.raises(ConfigError, match=r"two pages are titled 'How\? \(a\)'; give one of them"):
        front.distinguish([front.PageContent(name, Path(), "measured", "a", "How?") for name in ("a", "b")])


# ---- in a browser


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("front")
    # As many claims as the reports have and more: the weight must not follow their number.
    many = [
        replace(one, claim=f"{one.claim}-{copy}" if copy else one.claim)
        for copy in range(8)
        for one in site_mock.verdicts()
    ]
    many = [one for one in many if one.claim.startswith("dyna-dimm-") is False]
    build(
        many,
        site_mock.pages(folder),
        site_mock.PROVENANCE,
        folder / "out",
        reports=site_mock.REPORTS,
        asked=ASKED,
    )
    return folder / "out"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Any:
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine")
    with Browser(tmp_path_factory.mktemp("profile")) as one:
        yield one


SEEN = """[...document.querySelectorAll('.card')].filter((card) => {
  const outcome = card.querySelector('.outcome');
  return outcome && outcome.getBoundingClientRect().bottom <= innerHeight;
}).map((card) => card.querySelector('h2').textContent)"""


@pytest.mark.parametrize(("width", "height"), [(1360, 900), (390, 844)])
def test_front__first_screen_answers_three_questions(
    browser: Browser, site: Path, width: int, height: int
) -> None:
    browser.size(width, height)
    browser.open((site / "index.html").as_uri())
    assert browser.run(SEEN)[:3] == ["Is InfiniBand worth it?", "Is a newer CPU faster?", "Wh per job?"]
    head = browser.run(
        "document.querySelector('header').innerText + ' ' + document.querySelector('.head').innerText"
    )
    assert len(re.findall(r"\d+", head)) <= 12
    assert browser.run("document.documentElement.scrollWidth") <= width


LONG = """(() => {
  const cards = document.querySelector('.cards');
  const card = cards.querySelector('.card .number').closest('.card');
  const say = (name, text) => { card.querySelector(name).textContent = text; };
  say('h2', 'Does a faster link save energy (Wh) per job?');
  say('.quote', 'The report: “FDR InfiniBand is over 7 times as fast as 1GbE at 32 nodes”');
  say('.pill', '↗ direction agrees, order of runs not known');
  say('.number', '1.42× (1.01 to 1.65, 88 % interval)');
  say('.meaning', 'Runs show the direction but not the size, and the way they were run weakens that.');
  say('.small.quiet', 'Rests on 9 published runs, at another scale. Settling it: 12 runs, 192.5 node hours.');
  cards.replaceChildren(...Array.from({ length: 7 }, () => card.cloneNode(true)));
  return Math.max(...[...cards.children].map((one) => one.getBoundingClientRect().bottom));
})()"""


def test_front__seven_long_cards_fit_a_first_screen(browser: Browser, site: Path) -> None:
    browser.size(1360, 900)
    browser.open((site / "index.html").as_uri())
    assert 600 < browser.run(LONG) <= 900


def test_front__is_light_however_many_claims_there_are(browser: Browser, site: Path) -> None:
    assert (site / "index.html").stat().st_size < 400_000
    browser.open((site / "index.html").as_uri())
    assert browser.run("document.querySelectorAll('*').length") < 4000
    assert browser.run("document.querySelectorAll('.row').length") == 0


def test_front__rows_and_details_load_on_opening_from_a_file(browser: Browser, site: Path) -> None:
    browser.open((site / "index.html").as_uri() + "#fdr-10gbe")
    browser.until("document.querySelector('#fdr-10gbe .detail .record') !== null")
    assert browser.run("document.querySelector('#fdr-10gbe details').open") is True
    filled = "[...document.querySelectorAll('.row .record')].map((one) => one.closest('.row').id)"
    assert set(browser.run(filled)) == {"fdr-10gbe"}
    topics = "[...new Set([...document.querySelectorAll('.row')].map((row) => row.closest('.group').id))]"
    assert browser.run(topics) == ["topic-Interconnect"]
    assert browser.errors == []


def test_front__menu_closes_on_escape_and_on_a_click_outside(browser: Browser, site: Path) -> None:
    browser.size(1360, 900)
    browser.open((site / "interconnect.html").as_uri())
    shown = "document.getElementById('menu').matches(':popover-open')"
    press = "(() => { document.querySelector('.opener').click(); return " + shown + "; })()"
    assert browser.run(press) is True
    browser.key("Escape")
    assert browser.run(shown) is False
    assert browser.run(press) is True
    browser.click(5, 890)
    assert browser.run(shown) is False


@pytest.mark.parametrize(("word", "untestable"), [("not tested", True), ("cannot tell", False)])
def test_card__says_of_a_claim_that_nothing_tests_that_no_run_can(word: str, untestable: bool) -> None:
    found = site_mock.ratio("c", "t", "s", word, (1.5, 1.5, 1.5), 7.0, evidence="published", runs=["001"])
    (row,) = scoreboard.rows(scoreboard.board([replace(found, distance="scaled")]), every=True)
    assert front.Card("Link", "q", "c", row, ("t",), 1, "").untestable is untestable
