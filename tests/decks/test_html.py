"""Slides as HTML and PDF: self-contained, the same bytes, one a page, nothing over an edge."""

from __future__ import annotations

import json
import re
import subprocess
from html import unescape
from pathlib import Path

import pandas as pd
import pytest

from analysis import cli
from analysis.decks import figure, html, pptx
from analysis.decks.content import deck
from analysis.decks.slide import Deck, Slide
from analysis.estimates.campaign import Campaign, load_campaign
from analysis.findings.conclusion import POINTS
from tests.decks import campaigns

needs_chromium = pytest.mark.skipif(not html.browser(), reason="no Chromium")

# Names every box of a slide that its content runs over, and every letter below 14 px.
SCRIPT = """<script>addEventListener("load", () => {
  const found = [];
  const name = (slide, one) => `${slide.id} ${one.tagName}.${one.className?.baseVal ?? one.className}`;
  for (const slide of document.querySelectorAll(".slide")) {
    const page = slide.getBoundingClientRect();
    const boxes = slide.querySelectorAll(".body, h1, h2, ul, li, table, td, th, .notes, figure");
    for (const one of [slide, ...boxes]) {
      const [wide, high] = [one.scrollWidth - one.clientWidth, one.scrollHeight - one.clientHeight];
      if (wide > 1 || high > 1) found.push(`${name(slide, one)} lacks ${wide} x ${high} px`);
    }
    for (const one of slide.querySelectorAll("text, li, td, th, p, h1, h2")) {
      const box = one.getBoundingClientRect();
      if (box.right > page.right + 1 || box.bottom > page.bottom + 1 || box.left < page.left - 1)
        found.push(`${name(slide, one)} leaves the slide: ${one.textContent}`);
      const drawn = one.getScreenCTM ? one.getScreenCTM() : { c: 0, d: 1 };
      const scale = Math.hypot(drawn.c, drawn.d) * 1280 / page.width;
      if (parseFloat(getComputedStyle(one).fontSize) * scale < 13.9)
        found.push(`${name(slide, one)} is small: ${one.textContent}`);
    }
  }
  document.body.innerHTML = `<pre id="found">${JSON.stringify(found).replaceAll("<", "&lt;")}</pre>`;
});</script>"""


def overflowing(deck: Deck, folder: Path) -> list[str]:
    """Let Chromium lay out the slides at 1280 px, and say what runs over."""
    path = folder / "deck.html"
    html.write(deck, path)
    path.write_text(path.read_text(encoding="utf-8").replace("</body>", SCRIPT + "</body>"), encoding="utf-8")
    profile = f"--user-data-dir={folder / 'profile'}"
    window = ["--window-size=1280,720", "--hide-scrollbars", "--dump-dom", path.as_uri()]
    done = subprocess.run(
        [html.browser(), *html.OPTIONS, profile, *window],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    match = re.search(r'<pre id="found">(.*?)</pre>', done.stdout, re.DOTALL)
    assert match is not None, done.stderr[-500:]
    return list(json.loads(unescape(match[1])))


def points(*rows: tuple[object, ...], unit: str = "s") -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=list(POINTS[:-1])).assign(confidence=0.95)
    table.attrs = {"unit": unit, "xlabel": "link", "ylabel": "time"}
    return table


def test_html__is_the_same_bytes_and_loads_nothing(tmp_path: Path) -> None:
    content = deck(campaigns.planted())
    first, second = tmp_path / "1.html", tmp_path / "2.html"
    html.write(content, first)
    html.write(deck(campaigns.planted()), second)
    assert first.read_bytes() == second.read_bytes()
    text = first.read_text(encoding="utf-8")
    assert re.findall(r"""(?:src|href)\s*=\s*["'](?!#|data:)[^"']*""", text) == []
    assert re.findall(r"@import|url\((?!#)", text) == []
    assert "<script" not in text
    assert "@page { size: 13.333in 7.5in; margin: 0; }" in text
    assert "--figure-paper: var(--paper)" in text  # figures are dark on a dark screen
    assert text.count("<section ") == len(content.slides)


def test_html__says_what_the_slides_say(tmp_path: Path) -> None:
    content = deck(campaigns.hostile())
    html.write(content, tmp_path / "deck.html")
    text = (tmp_path / "deck.html").read_text(encoding="utf-8")
    plain = " ".join(
        unescape(re.sub(r"<[^>]*>", " ", re.sub(r"<svg.*?</svg>", "", text, flags=re.DOTALL))).split()
    )
    said = [text for slide in content.slides for text in (slide.headline, *slide.bullets, slide.footnote)]
    assert [one for one in said if " ".join(one.split()) not in plain] == []
    assert "<b>" not in text  # a name is text


def test_figure__has_one_colour_a_level_in_all_slides() -> None:
    one = points(("", "A", 1.0, 0.9, 1.1, 6), ("", "B", 2.0, 1.9, 2.1, 6))
    other = points(("C", 1.0, 1.0, 0.9, 1.1, 6), ("B", 1.0, 2.0, 1.9, 2.1, 6), ("B", 2.0, 2.0, 1.9, 2.1, 6))
    slides = tuple(Slide("question", "h", points=drawn, label="measured") for drawn in (one, other))
    found = figure.styles(Deck("t", "", "", slides))
    assert set(found) == {"A", "B", "C"}
    assert len({found["A"], found["B"]}) == len({found["B"], found["C"]}) == 2
    svg = figure.drawn(other, "measured", found, wide=True, description="two levels")
    assert found["B"][0] in svg
    assert "time (s)" in svg
    assert "synthetic" not in svg


def test_figure__of_generated_runs_is_hatched() -> None:
    drawn = points(("", "A", 1.0, 0.9, 1.1, 6), ("", "B", 2.0, float("nan"), float("nan"), 1))
    svg = figure.drawn(drawn, "synthetic", {}, wide=False, description="two levels")
    assert "<pattern" in svg
    assert "no evidence" in svg


def test_pdf__says_why_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "BROWSERS", ("no-such-browser",))
    why = html.print_pdf(tmp_path / "deck.html", tmp_path / "deck.pdf")
    assert why == "none of no-such-browser is installed; open the HTML file and print it"
    assert not (tmp_path / "deck.pdf").exists()


@pytest.mark.slow
@needs_chromium
def test_pdf__has_a_page_a_slide(tmp_path: Path) -> None:
    content = deck(campaigns.hostile())
    html.write(content, tmp_path / "deck.html")
    assert html.print_pdf(tmp_path / "deck.html", tmp_path / "deck.pdf") == ""
    data = (tmp_path / "deck.pdf").read_bytes()
    assert len(re.findall(rb"/Type\s*/Page\b", data)) == len(content.slides)
    assert set(re.findall(rb"/MediaBox \[([^\]]*)\]", data)) == {b"0 0 960 540"}


@pytest.mark.slow
@needs_chromium
@pytest.mark.parametrize("evidence", ["measured", "synthetic"])
def test_html__of_long_names_runs_over_no_edge(evidence: str, tmp_path: Path) -> None:
    assert overflowing(deck(campaigns.hostile(evidence), title="A long title " * 40), tmp_path) == []


@pytest.mark.slow
@needs_chromium
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.datasets(name))
        for name in ("vm-hpcg", "vm-profiles", "published-openfoam")
    ],
)
def test_html__of_a_campaign_runs_over_no_edge(name: str, tmp_path: Path) -> None:
    campaign: Campaign = load_campaign(name)
    assert overflowing(deck(campaign), tmp_path) == []


@pytest.mark.slow
@needs_chromium
def test_overflowing__finds_a_text_that_is_too_long(tmp_path: Path) -> None:
    crowded = Slide("question", "h " * 400, bullets=("word " * 900,), label="measured")
    assert overflowing(Deck("t", "", "", (crowded,)), tmp_path)


@pytest.mark.datasets("vm-hpcg")
def test_report__writes_the_files_and_names_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("analysis.cli.findings.built", lambda names: None)
    monkeypatch.setattr("analysis.base.project.root", lambda *_: Path(__file__).parents[2])
    assert cli.main(["report", "vm-profiles", "--out", "here", "--no-pdf", "--title", "Two cores"]) == 0
    told = capsys.readouterr()
    assert told.out.splitlines() == ["here/vm-profiles.html", "here/vm-profiles.pptx"]
    assert "drawing" in told.err
    first = (tmp_path / "here/vm-profiles.pptx").read_bytes()
    pptx.write(deck(load_campaign("vm-profiles"), title="Two cores"), tmp_path / "again.pptx")
    assert (tmp_path / "again.pptx").read_bytes() == first


def test_report__refuses_in_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for name in ("nobody", "../etc"):
        assert cli.main(["report", name]) == 1
        assert len(capsys.readouterr().err.strip().splitlines()) == 1
