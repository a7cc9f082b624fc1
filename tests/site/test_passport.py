"""What a row and a figure take along: CSV with unit, interval, n, level and checksum, picture, citation."""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest

from analysis.site import board as scoreboard
from analysis.site import passport
from analysis.site.build import build
from analysis.site.provenance import Provenance
from tests.browser import CHROMIUM, Browser
from tests.site import mock as site_mock

FACTS = Provenance(commit="0123456789abcdef0123456789abcdef01234567", date="2026-03-01")
FIGURE = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="60" height="40"><desc>Rates</desc>'
    '<rect width="9" height="9"/></svg>'
)
TABLE = "# Rates\n# SHA-256 of the lines below: 00\nseries,x,y\nFDR,1,2.5\n1GbE,1,1.5\n"


def row(**changes: object) -> tuple[scoreboard.ClaimRow, scoreboard.Board]:
    verdict = site_mock.ratio("fdr", "Interconnect", "FDR is 5 times faster", "holds", (4.8, 4.4, 5.3), 5.0)
    found = scoreboard.board([replace(verdict, level=0.94, page="interconnect", **changes)])
    return found.groups[0].rows[0], found


def test_row__csv_gives_its_numbers_back() -> None:
    text = passport.row_csv(row()[0], FACTS)
    assert text.startswith("# “FDR is 5 times faster” (HPCG performance and profiling (2014)): holds, 4.80×")
    (read,) = passport.read(text)
    (same,) = csv.DictReader(text.splitlines()[1:])  # as any reader of CSV that skips comments
    assert read == same
    numbers = {
        name: float(read[name])
        for name in ("estimate", "low", "high", "level", "n", "n_baseline", "expected")
    }
    assert numbers == {
        "estimate": 4.8, "low": 4.4, "high": 5.3, "level": 0.94, "n": 6, "n_baseline": 6, "expected": 5.0,
    }  # fmt: skip
    assert (read["unit"], read["verdict"], read["evidence"]) == ("", "holds", "measured")


def test_row__checksum_is_that_of_the_list_of_its_files() -> None:
    one, _ = row(inputs=[{"path": "b", "sha256": "22"}, {"path": "a", "sha256": "11"}])
    (read,) = passport.read(passport.row_csv(one, FACTS))
    assert read["checksum"] == hashlib.sha256(b"11  a\n22  b\n").hexdigest()
    one, _ = row(inputs=[])
    (read,) = passport.read(passport.row_csv(one, FACTS))
    assert read["checksum"] == ""


def test_row__citation_has_the_commit_its_date_and_the_address() -> None:
    assert passport.cite(row(verdict="holds in direction, smaller")[0], FACTS) == (
        "“FDR is 5 times faster” (HPCG performance and profiling (2014)): holds in direction, smaller, "
        "4.80× [4.40, 5.30] (measured). Benchbook, commit 0123456789ab, 2026-03-01, index.html#fdr."
    )


def test_row__picture_draws_the_point_at_its_place() -> None:
    one, found = row()
    given = passport.of_row(one, found.axis, FACTS, '<svg><defs><circle id="measured" r="4"/></defs></svg>')
    assert given.notebooks == ("interconnect",)
    picture = ElementTree.fromstring(unquote(given.svg.removeprefix("data:image/svg+xml,")))
    places = [
        use.get("x")
        for use in picture.iter("{http://www.w3.org/2000/svg}use")
        if use.get("href") == "#measured"
    ]
    assert places == [f"{found.axis.at(4.8)}%"]
    words = " ".join("".join(text.itertext()) for text in picture.iter("{http://www.w3.org/2000/svg}text"))
    assert "FDR is 5 times faster" in words
    assert "measured 4.80× [4.40, 5.30]" in words
    assert passport.of_row(row(scale="word")[0], found.axis, FACTS, "").svg == ""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("passport")
    pages = site_mock.pages(folder, FIGURE)
    for page in pages:
        text = page.path.read_text()
        page.path.write_text(
            text.replace('"image/svg+xml":', f'"text/csv": {json.dumps(TABLE)}, "image/svg+xml":')
        )
    build(site_mock.verdicts(), pages, FACTS, folder / "out")
    return folder / "out"


def test_figure__leaves_with_table_csv_svg_png_notebook_link_and_citation(site: Path) -> None:
    text = (site / "interconnect.html").read_text()
    figure = text[text.index('<figure class="figure" id="figure-1">') :].partition("</figure>")[0]
    links = re.findall(r'<a download href="([^"]+)">', figure)
    assert links == [f"data/interconnect{end}" for end in ("-figure-1.csv", "-figure-1.svg", ".ipynb")]
    for link in links:
        assert (site / link).is_file()
    assert (site / links[1]).read_text() == FIGURE
    assert '<button type="button" data-png="interconnect-figure-1.png">PNG</button>' in figure
    assert 'data-copy="#figure-1" data-page="interconnect.html"' in figure
    cited = (
        "How much does the interconnect matter?, figure 1 (measured). Benchbook, commit 0123456789ab, "
        "2026-03-01, interconnect.html#figure-1."
    )
    assert f'data-copy="{cited}"' in figure
    table = (site / links[0]).read_text()
    assert table == f"# {cited}\n{TABLE}"
    assert passport.read(table) == [
        {"series": "FDR", "x": "1", "y": "2.5"},
        {"series": "1GbE", "x": "1", "y": "1.5"},
    ]
    assert re.findall(r"<td>([^<]+)</td>", figure) == ["FDR", "1", "2.5", "1GbE", "1", "1.5"]


def test_figure__of_an_earlier_build_leaves_the_site(site: Path, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/old-figure-1.csv").write_text("x\n")
    build([], [], FACTS, tmp_path)
    assert sorted(path.name for path in (tmp_path / "data").iterdir()) == ["search.js", "sha256sums.txt"]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine")
    with Browser(tmp_path_factory.mktemp("profile")) as one:
        yield one


def test_figure__png_is_twice_its_size(browser: Browser, site: Path) -> None:
    browser.open((site / "interconnect.html").as_uri())
    size = browser.run(
        "benchbook.picture(benchbook.inline(document.querySelector('figure'))).then(async (url) => {"
        " const image = new Image(); image.src = url; await image.decode();"
        " return [url.slice(0, 15), image.naturalWidth, image.naturalHeight]; })"
    )
    assert size == ["data:image/png;", 120, 80]


def test_row__link_is_copied_as_an_address_of_the_board(browser: Browser, site: Path) -> None:
    browser.open((site / "interconnect.html").as_uri())
    assert browser.run("document.querySelectorAll('.detail .record').length") == 0  # read when it is opened
    browser.run("document.querySelector('#fdr-10gbe details').open = true")
    browser.until("document.querySelector('#fdr-10gbe .detail .record') !== null")
    copied = (
        "(async () => { let got = ''; navigator.clipboard.writeText = async (text) => { got = text; };"
        " const row = document.querySelector('#fdr-10gbe'); row.querySelector('[data-copy^=\"#\"]').click();"
        " await new Promise((done) => setTimeout(done, 50)); return got; })()"
    )
    assert browser.run(copied) == (site / "index.html").as_uri() + "#fdr-10gbe"


def test_figure__table_on_the_page_has_four_figures() -> None:
    shown = str(passport.table([{"x": "22.11", "y": "0.08230804", "z": "20"}]))
    assert "<td>22.11</td><td>0.08231</td><td>20</td>" in shown
