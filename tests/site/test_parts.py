"""Parts of long pages: left out of the page, and there when opened, asked for, looked for or printed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from axe_core_python.base import AXE_SCRIPT

from analysis.base import project
from analysis.claims.verdict import read_verdicts
from analysis.estimates.campaign import load_campaign
from analysis.site.build import build
from analysis.site.parts import by_place, sums
from analysis.site.provenance import gather
from tests.browser import CHROMIUM, Browser
from tests.site import mock as site_mock
from tests.site.test_access import FOUND

ROOT = project.root(__file__)
ROWS = "document.querySelectorAll('.row').length"
MANY = [(f"data/raw/big/runs/{at:04d}/stdout.txt", f"{at:064x}") for at in range(400)]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site whose page `interconnect` has 120 rows in three topics, and whose provenance has 460 files."""
    folder = tmp_path_factory.mktemp("parts")
    plain = site_mock.ratio("x", "Links", "One is faster", "holds", (2.0, 1.8, 2.2), 2.0, page="interconnect")
    topics = ("Links", "Memory", "Energy")
    many = [
        replace(plain, claim=f"row-{at}", ids=[f"row-{at}"], topic=topics[at % 3], statement=f"Sentence {at}")
        for at in range(120)
    ]
    facts = replace(site_mock.PROVENANCE, inputs=(*MANY, *site_mock.PROVENANCE.inputs))
    build(many, site_mock.pages(folder), facts, folder / "out")
    return folder / "out"


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine")
    with Browser(tmp_path) as one:
        yield one
        assert one.errors == []


def test_parts__long_pages_are_without_them(site: Path) -> None:
    text = (site / "interconnect.html").read_text()
    assert "Sentence 7<" not in text
    assert text.count(' data-part="') == 3
    provenance = (site / "provenance.html").read_text()
    assert MANY[7][0] not in provenance
    assert site_mock.PROVENANCE.inputs[7][0] in provenance  # 60 files are no long table
    listed = (site / "data/sha256sums.txt").read_text()
    assert f"{MANY[7][1]}  {MANY[7][0]}\n" in listed
    assert listed.count("\n") == 460


def test_parts__have_every_row_once(site: Path) -> None:
    found = []
    for path in site.glob("data/interconnect-topic-*.js"):
        given = path.read_text().removeprefix("benchbook.take(").removesuffix(");\n")
        name, text = json.loads(f"[{given}]")
        assert path.name == f"{name}.js"
        found += [int(one.partition("<")[0]) for one in text.split("Sentence ")[1:] if one[:3].strip("<")]
    assert sorted(set(found)) == list(range(120))


def test_page__opens_its_parts(browser: Browser, site: Path) -> None:
    browser.open((site / "interconnect.html").as_uri())
    assert browser.run(ROWS) == 0
    browser.run("document.querySelector('.group > details').open = true")
    browser.until(f"{ROWS} === 40")
    browser.run("document.querySelector('.row > details').open = true")
    browser.until("document.querySelector('.row .record .arithmetic') !== null")
    browser.open((site / "provenance.html").as_uri())
    browser.run("document.querySelector('[data-part]').closest('details').open = true")
    browser.until("document.querySelectorAll('[data-part] tbody tr').length === 400")


def test_page__a_rows_address_opens_it(browser: Browser, site: Path) -> None:
    browser.open((site / "interconnect.html").as_uri() + "#row-77")
    browser.until("document.querySelector('#row-77 .record') !== null")
    assert browser.run("document.getElementById('row-77').checkVisibility()")
    browser.run("location.hash = '#row-3'")
    browser.until("document.querySelector('#row-3 .record') !== null")


def read(browser: Browser) -> None:
    """Wait until the page has read its parts, unasked."""
    browser.until("document.querySelectorAll('script[src*=interconnect-]').length === 3")
    parts = "[...document.querySelectorAll('[data-part]')].map((one) => one.dataset.part)"
    browser.run(f"Promise.all({parts}.map(benchbook.load)).then(() => true)")


def test_page__the_browsers_own_search_and_paper_have_all_rows(browser: Browser, site: Path) -> None:
    browser.open((site / "interconnect.html").as_uri())
    read(browser)
    browser.run("dispatchEvent(new KeyboardEvent('keydown', { key: 'f', ctrlKey: true }))")
    assert browser.run(ROWS) == 120
    browser.open((site / "interconnect.html").as_uri())
    read(browser)
    assert browser.run(ROWS) == 0
    visible = "[...document.querySelectorAll('.row')].filter((one) => one.checkVisibility())"
    browser.run(f"addEventListener('beforeprint', () => {{ window.printed = {visible}.length }})")
    browser.call("Page.printToPDF")
    assert browser.run("window.printed") == 120
    assert browser.run("document.querySelectorAll('.group > details[open]').length") == 0


def test_page__a_part_that_is_gone_says_what_to_do(browser: Browser, site: Path, tmp_path: Path) -> None:
    for name in ("interconnect.html", "site.js"):
        (tmp_path / name).write_text((site / name).read_text())
    browser.open((tmp_path / "interconnect.html").as_uri())
    browser.run("document.querySelector('.group > details').open = true")
    browser.until("document.querySelector('[data-part]').textContent !== ''")
    said = browser.run("document.querySelector('[data-part]').textContent")
    assert said == "data/interconnect-topic-Links.js is missing: build the site again with make report"


@pytest.mark.parametrize("page", ["interconnect", "provenance"])
def test_page__has_no_violation_with_its_parts(browser: Browser, site: Path, page: str) -> None:
    for width in (1360, 390):
        browser.size(width, 844)
        browser.open((site / f"{page}.html").as_uri())
        browser.run(f"{AXE_SCRIPT};1")
        assert browser.run(FOUND) == []
        browser.run(
            "document.querySelectorAll('.group > details, .fold').forEach((one) => (one.open = true))"
        )
        browser.until("[...document.querySelectorAll('[data-part]')].every((one) => one.dataset.filled)")
        assert browser.run(FOUND) == []
        assert browser.run("document.documentElement.scrollWidth") <= width


def test_by_place__groups_files_by_campaign() -> None:
    files = [
        (path, "") for path in ("config/audit/a.yaml", "data/raw/a/x", "data/raw/a/y", "data/raw/b/x", "z")
    ]
    assert [(place, len(some)) for place, some in by_place(files)] == [
        *(("config", 1), ("data/raw/a", 2), ("data/raw/b", 1), ("z", 1))
    ]
    assert sums([("a", "12"), ("b", "")]) == "12  a\n"


@pytest.mark.datasets("vm-hpcg", "modelled")
def test_gather__names_files_that_are_there_with_their_sums() -> None:
    path = ROOT / "results/verdicts.json"
    if not path.is_file():
        pytest.skip("not built: run `make datasets`")
    campaigns = [load_campaign(name, ROOT) for name in ("vm-hpcg", "modelled")]
    of_them = [one for one in read_verdicts(path) if one.campaign in ("vm-hpcg", "modelled", "")]
    found = gather(campaigns, of_them, "").inputs
    assert len(found) > 600
    assert any(path.startswith("config/model/") for path, _ in found)
    for name, digest in found:
        assert hashlib.sha256((ROOT / name).read_bytes()).hexdigest() == digest, name
