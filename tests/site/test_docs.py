"""The documentation as pages of the site: links, menus, what is refused."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from analysis.base.errors import BenchbookError, ConfigError
from analysis.base.words import displayed
from analysis.claims.distance import DISTANCES
from analysis.site.build import build
from analysis.site.words import EVIDENCE, VERDICTS
from tests.site import mock as site_mock

ROOT = Path(__file__).parents[2]


def written(folder: Path, **pages: str) -> Path:
    for name, text in pages.items():
        path = folder / f"{name.replace('_', '/')}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def site(tmp_path: Path, docs: Path) -> Path:
    build([], site_mock.pages(tmp_path), site_mock.PROVENANCE, tmp_path / "out", docs=docs)
    return tmp_path / "out"


def test_docs__own_pages_are_built_and_every_link_leads_somewhere(tmp_path: Path) -> None:
    out = site(tmp_path, ROOT / "docs")
    pages = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    assert {path.relative_to(out / "docs") for path in (out / "docs").rglob("*.html")} == pages | {
        Path("index.html")
    }
    for page in (out / "docs").rglob("*.html"):
        for link in re.findall(r'href="([^"#:]+)(?:#[^"]*)?"', page.read_text(encoding="utf-8")):
            assert (page.parent / link).is_file(), f"{page.name}: {link}"
    texts = {
        page.relative_to(out / "docs"): page.read_text("utf-8") for page in (out / "docs").rglob("*.html")
    }
    every = {page: re.findall(r' id="([^"]+)"', text) for page, text in texts.items()}
    assert [(page, one) for page, ids in every.items() for one in ids if ids.count(one) > 1] == []
    anchors = {page: set(ids) for page, ids in every.items()}
    leading = [
        (page, page if not name else Path(os.path.normpath(page.parent / name)), anchor)
        for page, text in texts.items()
        for name, anchor in re.findall(r'<a\b[^>]* href="([\w./-]*)#([^"]+)"', text)
    ]
    assert len(leading) > 50
    assert [one for one in leading if one[1] in anchors and one[2] not in anchors[one[1]]] == []
    assert 'href="docs/index.html"' in (out / "index.html").read_text(encoding="utf-8")


def test_docs__headings_of_one_name_have_their_own_address(tmp_path: Path) -> None:
    text = "# One\n\nFirst.\n\n## A b\n\n## Published\n\n## A b\n\n### A b\n\n## Menu\n"
    page = (site(tmp_path, written(tmp_path / "docs", one=text)) / "docs/one.html").read_text("utf-8")
    ids = re.findall(r'<h[23] id="([^"]+)"', page)
    assert ids == ["a-b", "published", "a-b-1", "a-b-2", "menu-1"]
    assert page.count('id="published"') == page.count('id="menu"') == 1


def test_docs__links_are_kept_across_folders(tmp_path: Path) -> None:
    docs = written(
        tmp_path / "docs",
        one="# One\n\nFirst. Second.\n\n[two](deep/two.md#here) [far](https://example.org/x.md)\n",
        deep_two="# Two\n\n[one](../one.md)\n\n```sh\nls <x>\n```\n",
    )
    out = site(tmp_path, docs)
    one = (out / "docs/one.html").read_text(encoding="utf-8")
    assert '<a href="deep/two.html#here">two</a>' in one
    assert '<a href="https://example.org/x.md">far</a>' in one
    two = (out / "docs/deep/two.html").read_text(encoding="utf-8")
    assert '<a href="../one.html">one</a>' in two
    assert '<a href="../../index.html">Answers</a>' in two
    assert "&lt;x&gt;" in two
    assert '<span class="a">First.</span>' in (out / "docs/index.html").read_text(encoding="utf-8")


def test_docs__a_page_that_is_gone_leaves_the_site(tmp_path: Path) -> None:
    docs = written(tmp_path / "docs", one="# One\n", deep_two="# Two\n")
    out = site(tmp_path, docs)
    (docs / "deep/two.md").unlink()
    site(tmp_path, docs)
    assert [path.name for path in sorted((out / "docs").rglob("*.html"))] == ["index.html", "one.html"]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("# A\n\nx\n\n[b](b.md)\n", r"a\.md:5: links to b\.md, which is not there"),
        ("no heading\n", r"a\.md:1: begins with no heading"),
        ("# A\n\n![x](https://example.org/x.png)\n", "loads 'https://example.org/x.png'"),
    ],
)
def test_docs__what_cannot_be_a_page_is_one_line(tmp_path: Path, text: str, what: str) -> None:
    with pytest.raises((ConfigError, BenchbookError), match=what):
        site(tmp_path, written(tmp_path / "docs", a=text))


def test_docs__are_listed_by_kind_in_the_order_of_the_readme(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(
        "# P\n\n[c](docs/c.md)\n\n## More\n\n**Tutorial**\n- [b](docs/b.md)\n\n"
        "**How-to**\n- [c](docs/c.md)\n- [a](docs/a.md)\n"
    )
    docs = written(tmp_path / "docs", a="# Aa\n", b="# Bb\n", c="# Cc\n", deep_d="# Dd\n")
    text = (site(tmp_path, docs) / "docs/index.html").read_text(encoding="utf-8")
    listed = re.search(r'<nav class="questions".*?</nav>', text, re.DOTALL)
    assert listed is not None
    words = re.findall(r"<h2>(.+?)</h2>|<a [^>]*>(.+?)</a>", listed[0])
    assert ["".join(one) for one in words] == ["Tutorial", "Bb", "How-to", "Cc", "Aa", "Reference", "Dd"]


def test_docs__the_glossary_explains_every_word_of_a_verdict() -> None:
    text = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
    explained = set(re.findall(r"^\| (.+?) \| \S.{20,} \|$", text, re.MULTILINE))
    assert set(map(displayed, VERDICTS)) - explained == set()
    assert set(EVIDENCE) - explained == set()
    assert set(DISTANCES) - explained == set()
