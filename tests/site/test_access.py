"""axe in a real browser: no violation on any kind of page, by day and by night, wide and narrow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_core_python.base import AXE_SCRIPT

from analysis.site.build import build
from tests.browser import CHROMIUM, Browser
from tests.site import mock as site_mock
from tests.site.test_front import ASKED

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
ROOT = Path(__file__).parents[2]
# A figure as wide as those of the pages, with a table: both scroll on a telephone.
FIGURE = '<svg role="img" aria-label="Rates" viewBox="0 0 860 440"><rect width="860" height="440"/></svg>'
PAGES = (
    "index",
    "interconnect",
    "memory",
    "question-energy",
    "report-hpcg2014",
    "provenance",
    "docs/index",
    "docs/tutorial",
    "docs/compare",
    "docs/formats",
)
FOUND = """axe.run(document, { resultTypes: ["violations"] }).then((found) => found.violations.map(
  (one) => `${one.id}: ${one.nodes.map((node) => node.target.join(" ")).slice(0, 3).join(", ")}`))"""

BUILT = ROOT / "results" / "site"
# Words of which a reader on a telephone sees the parts in different lines.
BROKEN = r"""(() => {
  const broken = [], range = document.createRange();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const { data, parentElement } = walker.currentNode;
    if (parentElement.closest("script, style, svg") || !parentElement.checkVisibility()) continue;
    for (const word of data.matchAll(/[\p{L}\p{N}]{3,}/gu)) {
      if (word[0].length > 30) continue;  // a digest is no word
      range.setStart(walker.currentNode, word.index);
      range.setEnd(walker.currentNode, word.index + word[0].length);
      const parts = [...range.getClientRects()].filter((part) => part.width > 0);
      if (new Set(parts.map((part) => Math.round(part.top))).size > 1) broken.push(word[0]);
    }
  }
  return broken;
})()"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("access")
    build(
        site_mock.verdicts(),
        site_mock.pages(folder, FIGURE),
        site_mock.PROVENANCE,
        folder / "out",
        reports=site_mock.REPORTS,
        docs=ROOT / "docs",
        asked=ASKED,
    )
    return folder / "out"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as one:
        yield one


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("page", PAGES)
def test_page__has_no_violation(browser: Browser, site: Path, page: str, dark: bool) -> None:
    browser.media(dark=dark)
    for width in (1360, 390):
        browser.size(width, 844)
        browser.open((site / f"{page}.html").as_uri())
        browser.run(f"{AXE_SCRIPT};1")
        assert browser.run(FOUND) == []
        assert browser.run("document.documentElement.scrollWidth") <= width


@pytest.mark.slow
@pytest.mark.skipif(not BUILT.is_dir(), reason="no site is built: run `make report`")
@pytest.mark.parametrize(("dark", "width"), [(False, 1360), (True, 390)])
def test_site__every_page_that_was_built_has_no_violation_and_no_broken_word(
    browser: Browser, dark: bool, width: int
) -> None:
    """Each kind of page is looked at in all four ways above; here each page in two, which takes minutes."""
    found = {}
    browser.media(dark=dark)
    browser.size(width, 844)
    for page in sorted(BUILT.rglob("*.html")):
        browser.open(page.as_uri())
        browser.run(f"{AXE_SCRIPT};1")
        faults = [*browser.run(FOUND), *browser.run(BROKEN)]
        if faults or browser.run("document.documentElement.scrollWidth") > width:
            found[str(page.relative_to(BUILT))] = faults
    assert found == {}


def test_words__a_broken_one_is_seen(browser: Browser, site: Path) -> None:
    browser.size(390, 844)
    browser.open((site / "index.html").as_uri())
    assert browser.run(BROKEN) == []
    browser.run("""document.querySelector("main").insertAdjacentHTML("afterbegin",
      "<p style='width: 3ch; overflow-wrap: anywhere'>published</p>")""")
    assert browser.run(BROKEN) == ["published"]


def test_question__a_campaign_with_many_words_fits_a_telephone(browser: Browser, site: Path) -> None:
    browser.size(390, 844)
    browser.open((site / "question-energy.html").as_uri())
    browser.run("""for (const one of document.querySelectorAll(".voices .tones"))
      while (one.children.length < 8) one.append(one.firstElementChild.cloneNode(true));""")
    assert browser.run("document.querySelectorAll('.voices .tones > span').length") >= 8
    assert browser.run("document.documentElement.scrollWidth") <= 390


def test_board__has_no_violation_when_opened(browser: Browser, site: Path) -> None:
    browser.size(1360, 900)
    browser.open((site / "index.html").as_uri() + "#fdr-1gbe")
    browser.until("document.querySelector('#fdr-1gbe .detail .record') !== null")
    browser.run("document.getElementById('menu').showPopover()")
    browser.run(f"{AXE_SCRIPT};1")
    assert browser.run(FOUND) == []


def test_board__an_opened_row_with_distances_fits_a_telephone(browser: Browser, site: Path) -> None:
    browser.size(390, 844)
    browser.open((site / "index.html").as_uri() + "#fdr-1gbe")
    browser.until("document.querySelector('#fdr-1gbe .detail .record') !== null")
    browser.run("""document.querySelector('#fdr-1gbe .detail .record').insertAdjacentHTML('beforeend',
      `<table class="apart"><caption>Distance</caption><thead><tr>${"<th>what ran</th>".repeat(5)}
      </tr></thead><tbody><tr>${"<td>Interconnect</td>".repeat(5)}</tr></tbody></table>`)""")
    assert browser.run("document.documentElement.scrollWidth") <= 390
    assert browser.run("getComputedStyle(document.querySelector('#fdr-1gbe .apart td')).display") == "block"


def test_axe__finds_what_is_wrong(browser: Browser, site: Path) -> None:
    browser.open((site / "index.html").as_uri())
    browser.run("document.querySelector('main').append(document.createElement('img'))")
    browser.run(f"{AXE_SCRIPT};1")
    assert [one.partition(":")[0] for one in browser.run(FOUND)] == ["image-alt"]


def test_page__has_no_word_that_only_a_mouse_can_read(site: Path) -> None:
    texts = {path.name: path.read_text() for path in [*site.glob("*.html"), *site.glob("data/*.js")]}
    assert len(texts) > 15
    assert [name for name, text in texts.items() if " title=" in text] == []


def test_print__has_the_citation_and_no_controls(browser: Browser, site: Path) -> None:
    browser.media(printed=True)
    browser.open((site / "index.html").as_uri())
    shown = "(name) => getComputedStyle(document.querySelector(name)).display !== 'none'"
    assert browser.run(f"['.cite', '.card'].every({shown})") is True
    assert browser.run(f"['.find', '.opener', '.filter'].some({shown})") is False
    assert browser.run("document.querySelector('footer .cite').textContent").startswith(
        "Cite: Benchbook, commit 0123"
    )
    browser.media()
