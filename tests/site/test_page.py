"""A notebook becomes a page: question, answer, figures, verdicts, method, code, errors."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
import xarray as xr
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from analysis.base.errors import ConfigError
from analysis.estimates.campaign import Campaign
from analysis.site.page import PageContent, PageInput, active, inputs, loads, read, terms
from tests.site import mock as site_mock


def page_of(path: Path, *cells: Any) -> PageContent:
    nbformat.write(new_notebook(cells=list(cells)), path / "n.ipynb")
    return read(PageInput("n", path / "n.ipynb", "measured", "mock"))


def code(source: str, *outputs: Any, tag: str = "") -> Any:
    return new_code_cell(source, outputs=list(outputs), metadata={"tags": [tag]} if tag else {})


def test_read__takes_the_notebook_apart(tmp_path: Path) -> None:
    page = read(site_mock.pages(tmp_path, "<svg><desc>Rates &amp; links</desc></svg>")[0])
    assert page.question == "How much does the interconnect matter?"
    assert page.title == "Interconnect"
    assert page.answer == "<p>The answer about interconnect is 1.52× [1.44, 1.61].</p>"
    assert page.answer_text == "The answer about interconnect is 1.52× [1.44, 1.61]."
    assert "<figcaption>Rates &amp; links</figcaption>" in page.figure
    assert len(page.verdicts) == 1
    assert "<td>fdr-1gbe</td>" in page.verdicts[0]
    assert "<em>Interconnect comparison</em>" in page.intro
    assert "<h2" in page.body[0]
    assert "How it was measured" in page.body[0]
    assert [c.count for c in page.code] == [1, 2, 3, 4]
    assert page.errors == []


def test_inputs__a_page_names_its_sources_and_its_title_may_ask(tmp_path: Path) -> None:
    first = site_mock.pages(tmp_path, "<svg/>")[0]
    tree = xr.DataTree()
    references = {"a": ("Runs of others", "https://example.org/a"), "b": ("More", "https://example.org/b")}
    campaign = Campaign("mock", tree, "", "published", "", references=references)
    entry = {"name": first.path.stem, "campaign": "mock", "title": "What do others see?"}
    (found,) = inputs([entry], {"mock": campaign}, first.path.parent)
    assert found.sources == tuple(references.values())
    page = read(found)
    assert (page.question, page.sources) == ("What do others see?", found.sources)


def test_read__a_page_may_rest_on_several_classes(tmp_path: Path) -> None:
    path = tmp_path / "n.ipynb"
    nbformat.write(new_notebook(), path)
    assert read(PageInput("n", path, "measured, modelled", "a, b")).classes == ["measured", "modelled"]
    with pytest.raises(ConfigError, match="evidence 'hearsay' is not a class"):
        read(PageInput("n", path, "measured, hearsay", "a, b"))


def test_read__shows_an_error_and_says_so_at_the_top(tmp_path: Path) -> None:
    trace = ["\x1b[31mValueError\x1b[0m: no <runs> left"]
    page = page_of(
        tmp_path,
        new_markdown_cell("# Q?"),
        code("f()", new_output("error", ename="ValueError", evalue="no <runs> left", traceback=trace)),
    )
    assert page.errors == ["cell 2: ValueError: no <runs> left"]
    assert "no &lt;runs&gt; left" in page.body[0]
    assert 'role="alert"' in page.body[0]
    assert "\x1b" not in page.body[0]


def test_read__no_line_of_an_answer_ends_within_an_option(tmp_path: Path) -> None:
    said = "Build -O3 is faster than -march=native -funroll-loops, by 16 - 3 (−4 to -5)."
    page = page_of(tmp_path, code("f()", new_output("execute_result", {"text/markdown": said}), tag="answer"))
    whole = re.findall(r'<span class="whole">(.*?)</span>', str(page.answer))
    assert whole == ["-O3", "-march=native", "-funroll-loops"]
    assert page.answer_text == said


def test_read__the_list_of_a_long_answer_waits_behind_its_first_line(tmp_path: Path) -> None:
    output = new_output("execute_result", {"text/markdown": "First.\n\n2 more:\n\n- Second.\n- Third."})
    page = page_of(tmp_path, code("f()", output, tag="answer"))
    folded = '<details class="fold"><summary>2 more</summary><ul>'
    assert str(page.answer).startswith(f"<p>First.</p>\n{folded}")
    assert page.answer_text == "First. 2 more Second. Third."


def test_read__an_answer_that_failed_is_no_answer(tmp_path: Path) -> None:
    page = page_of(
        tmp_path, code("f()", new_output("error", ename="E", evalue="x", traceback=["x"]), tag="answer")
    )
    assert page.answer == ""
    assert page.errors == ["cell 1: E: x"]


@pytest.mark.parametrize(
    ("output", "answer"),
    [
        (new_output("stream", name="stdout", text="5 < 6\n"), "<p>5 &lt; 6</p>"),
        (new_output("execute_result", {"text/plain": "'It\\'s 5.'"}), "<p>It&#39;s 5.</p>"),
        (new_output("execute_result", {"text/plain": "5.0"}), "<p>5.0</p>"),
        (
            new_output("display_data", {"text/markdown": "It is **5**.", "text/plain": "x"}),
            "<p>It is <strong>5</strong>.</p>",
        ),
    ],
)
def test_read__answer_is_one_paragraph(tmp_path: Path, output: Any, answer: str) -> None:
    assert str(page_of(tmp_path, code("f()", output, tag="answer")).answer).strip() == answer


def test_read__png_is_embedded_and_text_escaped(tmp_path: Path) -> None:
    png = new_output("display_data", {"image/png": "aGVsbG8=\n", "text/plain": 'a "plot"'})
    page = page_of(
        tmp_path,
        code("plot()", png, tag="figure"),
        code("print()", new_output("stream", name="stdout", text="<b>")),
    )
    assert 'src="data:image/png;base64,aGVsbG8=" alt="a &quot;plot&quot;"' in page.figure
    assert page.body == ['<pre class="out" tabindex="0">&lt;b&gt;</pre>']


def test_read__later_figures_stay_below_their_headings(tmp_path: Path) -> None:
    first, second = (
        new_output("display_data", {"image/svg+xml": f"<svg><desc>{name}</desc></svg>"}) for name in "ab"
    )
    page = page_of(
        tmp_path,
        new_markdown_cell("# Q?\n\nWhy."),
        code("one()", first, tag="figure"),
        new_markdown_cell("## More"),
        code("two()", second, tag="figure"),
    )
    assert "<figcaption>a</figcaption>" in page.figure
    assert "More</h2>" in page.body[0]
    assert "<figcaption>b</figcaption>" in page.body[1]


def test_read__warnings_on_stderr_are_left_out(tmp_path: Path) -> None:
    page = page_of(
        tmp_path,
        code(
            "f()",
            new_output("stream", name="stderr", text="w"),
            new_output("stream", name="stdout", text="o"),
        ),
    )
    assert page.body == ['<pre class="out" tabindex="0">o</pre>']


def test_read__code_is_escaped(tmp_path: Path) -> None:
    source = str(page_of(tmp_path, code("a = '<script>' < 1")).code[0].source)
    assert "&lt;script&gt;" in source
    assert active(source) == []


def test_read__heading_keeps_names_with_underscores(tmp_path: Path) -> None:
    assert (
        page_of(tmp_path, new_markdown_cell("# What is `MPI_Wait` in *t_w* of **it**?")).question
        == "What is MPI_Wait in t_w of it?"
    )


@pytest.mark.parametrize("name", ["index", "provenance", "report-x", "../up", "A", ""])
def test_read__refuses_a_name_that_is_no_page(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="is no page name; use a-z 0-9 - _, not index or prov"):
        read(PageInput(name, tmp_path / "n.ipynb", "measured", "mock"))


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"cells": 3, "nbformat": 4}', None])
def test_read__refuses_what_is_no_notebook(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "n.ipynb"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ConfigError, match=r"n\.ipynb: is no readable notebook \(.*\); execute it again"):
        read(PageInput("n", path, "measured", "mock"))


@pytest.mark.parametrize(
    ("html", "found"),
    [
        ('<a href="https://example.org">a link is no load</a>', []),
        ('<link rel="stylesheet" href="x.css">', ["x.css"]),
        ('<image xlink:href="http://example.org/i.png"/>', ["http://example.org/i.png"]),
        ('<use href="#mark"/><image href="data:image/png;base64,AA=="/>', []),
        ("<style>a{b:url( 'c.woff' )}</style>", ["c.woff"]),
        ('<rect style="fill: url(#hatch)"/>', []),
        ('<meta http-equiv="refresh" content="0; url=https://example.org">', ["https://example.org"]),
        ('<video poster="p.png" src="v.mp4">', ["p.png", "v.mp4"]),
    ],
)
def test_loads__tells_loads_from_links(html: str, found: list[str]) -> None:
    assert loads(html) == found


def test_terms__topics_panels_and_the_names_of_levels() -> None:
    panel = {"title": "Latency", "what": "latency", "names": {"azure/aks": "Azure, Kubernetes"}}
    entry = {"topics": ["links"], "parameters": {"panels": [panel, panel]}}
    assert terms(entry) == "links Latency latency Azure, Kubernetes"
    assert terms({"parameters": {"variable": ""}}) == ""


def test_read__counts_of_two_sides_stay_on_a_line(tmp_path: Path) -> None:
    table = "<table><tr><td>6 / 12</td><td>6 / 12 runs</td></tr></table>"
    page = page_of(tmp_path, code("t", new_output("display_data", {"text/html": table})))
    assert "<td>6&nbsp;/&nbsp;12</td><td>6 / 12 runs</td>" in page.body[0]
