"""Paper, in a real browser: nothing is cut, nothing waits behind a fold, and tables have their markup."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from nbformat import read, write
from nbformat.v4 import new_code_cell, new_output

from analysis.pages.notebook import answer
from analysis.site.build import build
from tests.browser import CHROMIUM, Browser
from tests.site import mock as site_mock

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
PAPER = 700  # px: the width of A4 between its margins
WORDS = "the largest messages of the exchange between neighbours, profiled by IPM"
SHOWN = "(name) => [...document.querySelectorAll(name)].some((one) => one.checkVisibility())"
# Estimates that take more than three lines.
SQUEEZED = """[...document.querySelectorAll(".estimate")].filter((one) => {
  const range = document.createRange();
  range.selectNodeContents(one);
  const line = parseFloat(getComputedStyle(one).lineHeight);
  return range.getBoundingClientRect().height > 3.5 * line;
}).map((one) => one.textContent)"""


def _table() -> str:
    head = "".join(f"<th>factor {one}</th>" for one in range(8))
    cells = "".join(f"<td>{1000 + one}</td>" for one in range(6))
    row = f'<tr>{cells}<td>{WORDS}</td><td style="text-align: left">{WORDS} and mpiP</td></tr>'
    return f'<table class="dataframe"><thead><tr>{head}</tr></thead><tbody>{row * 3}</tbody></table>'


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("print")
    pages = site_mock.pages(folder)
    book = read(pages[0].path, as_version=4)
    long = answer(*(f"In case {one} {WORDS} take {one} % of the time" for one in range(20)))
    book.cells[2].outputs = [new_output("display_data", {"text/markdown": long.data})]
    wide = [new_output("display_data", {"text/html": _table(), "text/plain": "…"})]
    book.cells.append(new_code_cell("table", execution_count=5, outputs=wide, id="wide"))
    write(book, pages[0].path)
    given = (site_mock.verdicts(), pages, site_mock.PROVENANCE, folder / "out")
    build(*given, reports=site_mock.REPORTS)
    return folder / "out"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as one:
        one.media(printed=True)
        one.size(PAPER, 1000)
        yield one


@pytest.mark.parametrize("page", ["index", "interconnect", "memory", "report-hpcg2014", "provenance"])
def test_print__nothing_is_wider_than_the_paper_and_no_number_is_squeezed(
    browser: Browser, site: Path, page: str
) -> None:
    browser.open((site / f"{page}.html").as_uri())
    assert browser.run("document.documentElement.scrollWidth") <= PAPER
    assert browser.run(SQUEEZED) == []
    assert browser.run(f"({SHOWN})('footer .cite')") is True


def test_print__a_long_answer_is_whole(browser: Browser, site: Path) -> None:
    browser.open((site / "interconnect.html").as_uri())
    assert browser.run("document.querySelector('.answer details').open") is False
    last = "document.querySelector('.answer li:last-child')"
    assert browser.run(f"{last}.textContent").startswith("In case 19")
    assert browser.run(f"{last}.getBoundingClientRect().height") > 0
    assert browser.run(f"({SHOWN})('.answer summary')") is False


def test_print__a_table_of_words_keeps_its_markup_and_breaks_in_its_cells_of_words(
    browser: Browser, site: Path
) -> None:
    browser.open((site / "interconnect.html").as_uri())
    cells = "[...document.querySelectorAll('.method td')]"
    assert browser.run(f"{cells}.length") == 24
    assert browser.run(f"{cells}.filter((one) => one.className === 'long').length") == 6
    assert browser.run("document.body.textContent.includes('<td')") is False
    heights = f"{cells}.slice(0, 6).map((one) => {{ const range = document.createRange();"
    heights += "range.selectNodeContents(one); return range.getClientRects().length; })"
    assert browser.run(heights) == [1] * 6


def test_print__groups_that_are_folded_say_where_their_claims_are(browser: Browser, site: Path) -> None:
    browser.open((site / "index.html").as_uri())
    assert browser.run(f"({SHOWN})('.group[data-total]')") is False
    assert browser.run(f"({SHOWN})('.paper')") is True
    assert "report-hpcg2014.html" in browser.run("document.querySelector('.paper').textContent")
    browser.run("document.querySelector('.group[data-total] > details').open = true")
    assert browser.run(f"({SHOWN})('.group[data-total]')") is True
    browser.media()
    assert browser.run(f"({SHOWN})('.paper')") is False
    browser.media(printed=True)
