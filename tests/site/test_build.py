"""The site as files: complete, self-contained, reproducible, and safe with hostile text."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from analysis.base.errors import BenchbookError, ConfigError
from analysis.claims.model import load_report
from analysis.claims.verdict import read_verdicts
from analysis.site.build import build
from analysis.site.page import PageInput, active, loads
from analysis.site.provenance import Provenance
from tests.site import mock as site_mock

ROOT = Path(__file__).parents[2]
FIGURE = (
    '<svg role="img" aria-labelledby="a"><desc id="a">Rates by link</desc><path style="fill: #000"/></svg>'
)


class Parsed(HTMLParser):
    """Ids, links and element counts of a page; balanced tags are checked on the way."""

    VOID = frozenset({"meta", "link", "input", "img", "br", "hr", "path", "circle", "rect", "line", "use"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.hrefs: list[str] = []
        self.fragments: list[str] = []
        self.tags: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name == "href":
                (self.fragments if (value or "").startswith("#") else self.hrefs).append(value or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        optional = {"li", "p", "tr", "td", "th", "option"}
        while self.open[-1] != tag and self.open[-1] in optional:
            self.open.pop()
        assert self.open.pop() == tag, f"</{tag}> at {self.getpos()}"


def data(site: Path) -> dict[str, dict[str, Any]]:
    """Return what the scripts of a site register: name -> value."""
    read = [re.fullmatch(r"benchbook\.take\((.*)\);\n", one.read_text()) for one in site.glob("data/*.js")]
    return dict(json.loads(f"[{one[1]}]") for one in read if one)


def rows(site: Path) -> str:
    """Return the rows of the scoreboard with their details, as the front page shows them when opened."""
    topics = [one for name, one in data(site).items() if name.startswith("topic-")]
    return "".join(one["rows"] + "".join(one["details"].values()) for one in topics)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    build(
        site_mock.verdicts(),
        site_mock.pages(folder, FIGURE),
        site_mock.PROVENANCE,
        folder / "out",
        reports=site_mock.REPORTS,
        recovered=[replace(site_mock.verdicts()[0], evidence="synthetic", verdict="recovered")],
        title="Mock",
    )
    return folder / "out"


def test_build__writes_every_page(site: Path) -> None:
    names = {p.name for p in site.iterdir()}
    assert names == {
        "index.html", "provenance.html", "verdicts.json", "interconnect.html", "settings.html",
        "mpi-library.html", "mpi-time.html", "messages.html", "memory.html", "placement.html",
        "report-hpcg2014.html", "report-lsdyna2014.html", "site.js", "board.js", "data",
    }  # fmt: skip


def test_build__a_row_without_a_scale_shows_each_estimate(tmp_path: Path) -> None:
    plain = replace(site_mock.verdicts()[0], scale="word", unit="τ", page=None)
    found = {"measured": "0.988 τ (0.913 to 1.000)", "published": "0.70 τ (0.40 to 1.00)"}
    some = [replace(plain, evidence=name, estimate_text=text) for name, text in found.items()]
    build(some, [], Provenance(), tmp_path)
    text = rows(tmp_path).partition('<div class="record"')[0]
    assert [text.count(one) for one in found.values()] == [1, 1]


def test_build__each_claim_is_one_row(site: Path) -> None:
    found = re.findall(r'<li class="row \w+" id="([^"]+)"', rows(site))
    assert len(found) == 39
    assert sorted(found) == sorted({v.claim for v in site_mock.verdicts()} | {"silent"})
    topics = {name: one for name, one in data(site).items() if name.startswith("topic-")}
    assert {anchor for one in topics.values() for anchor in one["details"]} == set(found)
    assert {f'id="{name}"' for name in topics} <= set(
        re.findall(r'id="topic-[^"]+"', (site / "index.html").read_text())
    )


def test_build__nothing_is_loaded(site: Path) -> None:
    pages = list(site.glob("*.html"))
    assert len(pages) == 11
    found = {p.name: loads(p.read_text()) for p in pages}
    assert found.pop("index.html") == ["site.js", "board.js"]
    assert set(map(tuple, found.values())) == {("site.js",)}
    assert not loads(rows(site))


def test_build__runs_no_script_but_its_own(site: Path) -> None:
    found = {p.name: active(p.read_text()) for p in site.glob("*.html")}
    assert found.pop("index.html") == ["<script>", "<script>"]
    assert set(map(tuple, found.values())) == {("<script>",)}
    assert not active(rows(site))
    # None of the files has a script within: each is one of the two that are read from beside it.
    assert not re.search(
        r"<script(?! src=\"(?:site|board)\.js\"></script>)",
        "".join(p.read_text() for p in site.glob("*.html")),
    )


def test_build__links_and_fragments_resolve(site: Path) -> None:
    ids = {p.name: Parsed(p.read_text()).ids for p in site.glob("*.html")}
    ids["index.html"] += Parsed(rows(site)).ids
    assert len(ids) == 11
    for page in site.glob("*.html"):
        parsed = Parsed(page.read_text())
        assert parsed.hrefs, page.name
        for href in parsed.hrefs:
            name, _, fragment = href.partition("#")
            if name.startswith("../selftest/"):
                continue  # another build's site
            if name.startswith("data:"):
                continue  # a file within the page
            assert fragment in ("", *ids.get(name, ())), f"{page.name} links to {href}"
            href = name
            assert href == "data:," or (site / href).is_file(), f"{page.name} links to {href}"
        for fragment in parsed.fragments:
            filtered = page.name == "index.html" and fragment.startswith("#?")
            assert filtered or fragment[1:] in ids[page.name], f"{page.name} has no {fragment}"


def test_build__ids_are_unique_and_tags_balanced(site: Path) -> None:
    pages = list(site.glob("*.html"))
    assert len(pages) == 11
    for page in pages:
        parsed = Parsed(page.read_text())
        # The mock draws the same figure once a page: its id is there once too.
        assert sorted(parsed.ids) == sorted(set(parsed.ids))
        assert set(parsed.open) <= {"html", "body"}


def test_build__same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    def run(name: str) -> dict[str, bytes]:
        inputs = site_mock.pages(tmp_path, FIGURE)
        written = build(site_mock.verdicts(), inputs, site_mock.PROVENANCE, tmp_path / name)
        return {str(p.relative_to(tmp_path / name)): p.read_bytes() for p in written}

    first, second = run("one"), run("two")
    assert {"index.html", "site.js", "data/search.js", "data/topic-Interconnect.js"} <= set(first)
    assert first == second


def test_build__hostile_text_stays_text(site: Path) -> None:
    text = rows(site)
    assert (
        "&lt;script&gt;alert(&#34;x&#34;)&lt;/script&gt; &amp; &#34;quotes&#34; beat &lt;b&gt;bold&lt;/b&gt;"
        in text
    )
    assert "&lt;img src=x onerror=alert(1)&gt;" in text
    assert "1 &lt; 2 &amp;&amp; 3 &gt; 2" in text
    for shown in (text, (site / "index.html").read_text()):
        assert "<img" not in shown
        assert "<b>bold" not in shown


def test_build__verdicts_json_is_the_input(site: Path) -> None:
    # The points of a figure are not in it, and no page promises them there.
    foot = (site / "interconnect.html").read_text().partition("<footer")[2]
    assert "verdicts.json</a> has the verdicts with their numbers, the CSV of a figure its points" in foot
    assert read_verdicts(site / "verdicts.json") == site_mock.verdicts()


def test_build__an_end_that_is_none_is_not_shown(tmp_path: Path) -> None:
    verdict = replace(site_mock.verdicts()[0], page=None, high=None, low=None, estimate_text="1.18×")
    build([verdict], [], Provenance(), tmp_path)
    assert "<dt>Estimate</dt><dd>1.18×</dd>" in rows(tmp_path)
    assert not re.search(r"\b(nan|inf|None)\b", rows(tmp_path))


def test_build__a_report_has_a_page_with_every_claim(site: Path) -> None:
    text = (site / "report-lsdyna2014.html").read_text()
    claims = re.findall(r'<li class="(\w+)" id="([^"]+)">', text)
    wanted = {v.claim for v in site_mock.verdicts() if v.report == "lsdyna2014"} | {"silent"}
    assert {name for _, name in claims} == wanted
    assert ("none", "silent") in claims
    assert "Somebody · 2014-05" in text
    section = text[text.index('id="dyna-turbo"') :].partition("</ul>")[0]
    assert "<span>1.09× [1.05, 1.13]</span>" in section
    assert "mock-published · n 6 against 6" in section
    silent = text[text.index('id="silent"') :]
    assert "nothing supports it" in silent.partition("</ul>")[0]
    assert 'href="report-lsdyna2014.html"' in (site / "index.html").read_text()


def test_build__a_claim_says_whether_its_path_was_tested(site: Path, tmp_path: Path) -> None:
    text = rows(site)
    said = re.findall(r'synthetic files: <a href="\.\./selftest/site/index\.html#([^"]+)">([^<]+)</a>', text)
    assert said == [("size-135", "recovered")]
    assert "which has not been run here" not in text
    report = load_report(ROOT / "config/claims/openatom2010.yaml")
    build([], [], Provenance(), tmp_path, reports=[report], selftest={"openatom2010"})
    text = rows(tmp_path)
    assert text.count("<code>make selftest</code>, which has not been run here") == len(report.claims)


def test_build__page_shows_the_rows_that_it_computed(site: Path) -> None:
    found = re.findall(r'<li class="row \w+" id="([^"]+)"', (site / "interconnect.html").read_text())
    assert found == ["fdr-1gbe", "fdr-10gbe", "fdr-beats", "scale-fdr", "beyond-one"]


def test_build__removes_only_its_own_stale_pages(tmp_path: Path) -> None:
    (tmp_path / "mine.html").write_text("<p>not Benchbook's</p>")
    build([], site_mock.pages(tmp_path)[:1], Provenance(), tmp_path)
    assert (tmp_path / "interconnect.html").is_file()
    build([], [], Provenance(), tmp_path)
    assert not (tmp_path / "interconnect.html").exists()
    assert (tmp_path / "mine.html").is_file()
    assert not (tmp_path / "data/topic-Interconnect.js").exists()


def test_build__without_verdicts_the_front_page_shows_what_runs_answer(tmp_path: Path) -> None:
    """As in a project of one's own before its first claim: no empty board, and the pages are open."""
    build([], site_mock.pages(tmp_path)[:1], Provenance(), tmp_path)
    front = (tmp_path / "index.html").read_text()
    assert "<h1>What do these runs show?</h1>" in front
    assert "There are no claims yet. <code>benchbook claim new</code>" in front
    assert '<details class="questions all" open><summary>1 page with its answer</summary>' in front
    for missing in ("All claims", "How to read it", 'id="filter"', "seven questions"):
        assert missing not in front
    assert "#claims" not in (tmp_path / "data/search.js").read_text()
    build([], [], Provenance(), tmp_path)
    assert "There are no claims yet." in (tmp_path / "index.html").read_text()


def test_build__two_pages_of_one_name_are_an_error(tmp_path: Path) -> None:
    page = site_mock.pages(tmp_path)[0]
    with pytest.raises(ConfigError, match=r"pages: page 'interconnect' is listed twice; rename one"):
        build([], [page, page], Provenance(), tmp_path)


def test_build__provenance_names_failed_runs_and_sums(site: Path) -> None:
    text = (site / "provenance.html").read_text()
    assert "221, 2 failed" in text
    assert "exit status 127: command not found" in text
    assert len(re.findall(r"<code>[0-9a-f]{64}</code>", text)) == 60
    # sha256sum of the 14 bytes "000/stdout.txt"
    assert "runs/000/stdout.txt" in text
    assert site_mock.mock_input("000/stdout.txt")["sha256"] in text


def test_build__synthetic_page_carries_its_banner(site: Path) -> None:
    assert "<strong>Synthetic.</strong>" in (site / "memory.html").read_text()
    assert "<strong>Synthetic.</strong>" not in (site / "settings.html").read_text()


@pytest.mark.parametrize(
    ("output", "what"),
    [
        ('<img src="https://example.org/a.png">', "loads 'https://example.org/a.png'"),
        ('<div style="background: url(//example.org/b)">x</div>', "loads '//example.org/b'"),
        ("<style>@import 'c.css';</style>", "loads 'c.css'"),
        ("<script>1</script>", "holds '<script>'"),
        ('<p onclick="x()">y</p>', "holds 'onclick=x()'"),
    ],
)
def test_build__refuses_output_that_loads_or_runs(tmp_path: Path, output: str, what: str) -> None:
    import nbformat
    from nbformat.v4 import new_code_cell, new_notebook, new_output

    cell = new_code_cell("x", outputs=[new_output("display_data", {"text/html": output})])
    nbformat.write(new_notebook(cells=[cell]), tmp_path / "bad.ipynb")
    with pytest.raises(BenchbookError) as caught:
        build(
            [], [PageInput("bad", tmp_path / "bad.ipynb", "measured", "mock")], Provenance(), tmp_path / "out"
        )
    assert f"bad.ipynb cell 1: {what}; " in str(caught.value)
    assert not (tmp_path / "out").exists()
