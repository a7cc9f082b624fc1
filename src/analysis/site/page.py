"""From an executed notebook to a page: question, answer, figures, verdicts, method, code."""

from __future__ import annotations

import ast
import base64
import html
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from analysis.base import project
from analysis.base.errors import BenchbookError, ConfigError
from analysis.estimates.campaign import Campaign
from analysis.site import safety
from analysis.site.words import EVIDENCE

RESERVED = frozenset({"index", "provenance"})
_HEADING = re.compile(r"^#\s+(.+?)\s*#*\s*$", re.MULTILINE)
_RICH = ("image/svg+xml", "image/png", "image/jpeg", "text/html", "text/markdown", "text/plain")


@dataclass(frozen=True, slots=True)
class PageInput:
    """A page to build: name of its file (``a-z 0-9 - _``), executed notebook, what everything on it rests on.

    The title is a short one for the navigation; the notebook's first heading where empty. A title that asks
    is the page's question. `sources` are title and address of what published figures are from; `group` is the
    campaign among whose pages it is listed, empty for the pages of the build.
    """

    name: str
    path: Path
    evidence: str
    campaign: str
    title: str = ""
    sources: tuple[tuple[str, str], ...] = ()
    group: str = ""


def inputs(
    entries: Iterable[Mapping[str, Any]], campaigns: Mapping[str, Campaign], folder: Path
) -> list[PageInput]:
    """Name the executed notebooks of a configuration's pages, with what they rest on."""
    found = []
    for entry in entries:
        name, used = entry["name"], project.as_list(entry, "campaign")
        classes = list(dict.fromkeys(campaigns[one].evidence for one in used)) or [entry["evidence"]]
        path = folder / f"{name}.ipynb"
        cited = tuple(dict.fromkeys(pair for one in used for pair in campaigns[one].references.values()))
        title = entry.get("title", "")
        group = entry.get("group", "")
        found.append(PageInput(name, path, ", ".join(classes), ", ".join(used), title, cited, group))
    return found


@dataclass(frozen=True, slots=True)
class Code:
    """A code cell: its execution count and its highlighted source."""

    count: int | None
    source: Markup


@dataclass(slots=True)
class Page:
    """What a page's template fills in.

    The question is the notebook's first heading, or that of the output of the cell tagged ``question``, and
    `intro` the text below it; the answer is the first output
    of the cell tagged ``answer``, `figure` the first figure, `verdicts` the outputs of cells so tagged and
    `body` all other text and output, in the notebook's order; `errors` are ``cell N: Name: message``.
    """

    name: str
    title: str
    evidence: str
    campaign: str
    sources: tuple[tuple[str, str], ...] = ()
    group: str = ""
    question: str = ""
    answer: Markup = field(default_factory=Markup)
    intro: Markup = field(default_factory=Markup)
    figure: Markup = field(default_factory=Markup)
    verdicts: list[Markup] = field(default_factory=list)
    body: list[Markup] = field(default_factory=list)
    code: list[Code] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def classes(self) -> list[str]:
        """Evidence classes of the campaigns that are on it."""
        return self.evidence.split(", ")

    @property
    def answer_text(self) -> str:
        """The answer without markup, for lists of pages."""
        return " ".join(html.unescape(re.sub(r"<[^>]+>", "", str(self.answer))).split())


def read(page: PageInput) -> Page:
    """Read an executed notebook into a page.

    Raises `ConfigError` if the name or evidence class cannot be used, or the file is no notebook, and
    `BenchbookError` if a cell holds something that loads from the network or runs in the reader's browser.
    """
    _check(page)
    import nbformat  # takes long to import: only builds of pages pay for it

    try:
        notebook = nbformat.read(page.path, as_version=4)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, nbformat.ValidationError) as error:
        what = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
        found = f"is no readable notebook ({what})"
        raise ConfigError.at(str(page.path), 0, found, "execute it again") from None
    out = Page(page.name, page.title, page.evidence, page.campaign, page.sources, page.group)
    for position, cell in enumerate(notebook.cells, start=1):
        where = f"{page.path} cell {position}"
        if cell.cell_type == "markdown":
            _add_text(out, cell.source, where)
        elif cell.cell_type == "code":
            _add_code(out, cell, position, where)
    # A notebook that is executed on many things asks in general; what one page asks, its title says.
    out.question = page.title if page.title.endswith("?") else out.question or page.title or page.name
    out.title = page.title or out.question
    return out


def _check(page: PageInput) -> None:
    reserved = page.name in RESERVED or page.name.startswith("report-")
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", page.name) or reserved:
        remedy = "use a-z 0-9 - _, not index or provenance, nor report- at the beginning"
        raise ConfigError.at(str(page.path), 0, f"{page.name!r} is no page name", remedy)
    for evidence in page.evidence.split(", "):
        if evidence not in EVIDENCE:
            remedy = "use " + ", ".join(EVIDENCE)
            raise ConfigError.at(str(page.path), 0, f"evidence {evidence!r} is not a class", remedy)


def _add_text(out: Page, source: str, where: str) -> None:
    heading = None if out.question else _HEADING.search(source)
    if heading:
        out.question = _plain(heading[1])
        source = source[: heading.start()] + source[heading.end() :]
    if not source.strip():
        return
    text = _text(source, where)
    if heading:
        out.intro = text
    else:
        out.body.append(text)


def _add_code(out: Page, cell: Any, position: int, where: str) -> None:
    tags = set(cell.metadata.get("tags", []))
    if cell.source.strip():
        out.code.append(Code(cell.execution_count, _highlight(cell.source)))
    outputs = [o for o in cell.outputs if not (o.output_type == "stream" and o.name == "stderr")]
    if "question" in tags and outputs and "text/markdown" in outputs[0].get("data", {}):
        out.question = ""  # the notebook's own heading is a general one
        _add_text(out, outputs.pop(0).data["text/markdown"], where)
    if "answer" in tags and outputs and not out.answer and outputs[0].output_type != "error":
        out.answer = _inline(outputs.pop(0), where)
    for output in outputs:
        if output.output_type == "error":
            message = _strip_ansi(str(output.evalue)).splitlines()
            out.errors.append(f"cell {position}: {output.ename}: {message[0] if message else ''}")
        rendered = _output(output, where)
        if not rendered:
            continue
        if "verdicts" in tags:
            out.verdicts.append(rendered)
        elif not out.figure and ("figure" in tags or 'class="figure"' in rendered[:40]):
            out.figure = rendered
        else:
            out.body.append(rendered)


def _output(output: Any, where: str) -> Markup:
    if output.output_type == "error":
        from nbconvert.filters import ansi2html

        # It escapes before it colours.
        body = Markup(ansi2html("\n".join(output.traceback)))  # type: ignore[no-untyped-call]
        return Markup('<pre class="error" role="alert">{}</pre>').format(body)
    if output.output_type == "stream":
        return _printed(output.text) if output.text else Markup("")
    data: Mapping[str, str] = output.data
    kind = next((k for k in _RICH if k in data), None)
    if kind is None:
        return Markup("")
    text = data[kind]
    if kind == "image/svg+xml":
        return _figure(_safe(text[text.find("<svg") :], where), text)
    if kind.startswith("image/"):
        # Decoded and encoded again: what is no base64 cannot leave the attribute.
        packed = base64.b64encode(base64.b64decode("".join(text.split()))).decode()
        alt = html.escape(_strip_ansi(data.get("text/plain", "figure")), quote=True)
        return _figure(Markup(f'<img src="data:{kind};base64,{packed}" alt="{alt}">'), "")
    if kind == "text/html":
        return Markup('<div class="out table" tabindex="0">{}</div>').format(_safe(text, where))
    if kind == "text/markdown":
        return _text(text, where)
    return _printed(text)


def _printed(text: str) -> Markup:
    return Markup('<pre class="out">{}</pre>').format(_strip_ansi(text))


def _text(source: str, where: str) -> Markup:
    return Markup('<div class="text">{}</div>').format(rendered(source, where))


def _figure(image: Markup, svg: str) -> Markup:
    found = re.search(r"<desc[^>]*>(.*?)</desc>", svg, re.DOTALL)
    caption = Markup("<figcaption>{}</figcaption>").format(html.unescape(found[1])) if found else Markup("")
    return Markup('<figure class="figure"><div class="canvas">{}</div>{}</figure>').format(image, caption)


def _inline(output: Any, where: str) -> Markup:
    """Render the answer: one paragraph, whatever kind of output it was printed as."""
    data = output.get("data", {})
    if "text/markdown" in data:
        return rendered(data["text/markdown"], where)
    if "text/html" in data:
        return _safe(data["text/html"], where)
    text = _strip_ansi(output.get("text") or data.get("text/plain") or "").strip()
    try:  # a cell that ends in a string shows its repr
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        value = None
    return Markup("<p>{}</p>").format(value if isinstance(value, str) else text)


def _safe(fragment: str, where: str) -> Markup:
    if found := safety.loads(fragment):
        raise BenchbookError.at(where, 0, f"loads {found[0][:80]!r}", "put the data into the notebook itself")
    if found := safety.active(fragment):
        raise BenchbookError.at(where, 0, f"holds {found[0]!r}", "write an output that runs nothing")
    return Markup(fragment)


def rendered(source: str, where: str) -> Markup:
    """Render Markdown that loads nothing and runs nothing; `where` names it in the error."""
    return _safe(_markdown(source), where)


def _markdown(source: str) -> str:
    from nbconvert.filters.markdown_mistune import markdown2html_mistune

    rendered: str = markdown2html_mistune(source)
    rendered = re.sub(r'<a class="anchor-link"[^>]*>.*?</a>', "", rendered)
    # The question is the page's only h1.
    return re.sub(r"<(/?)h1\b", r"<\1h2", rendered)


@cache
def _highlighter() -> Any:
    from nbconvert.filters.highlight import Highlight2HTML

    return Highlight2HTML(pygments_lexer="python")  # type: ignore[no-untyped-call]


def _highlight(source: str) -> Markup:
    marked: str = _highlighter()(source)
    found = re.search(r"<pre>(.*)</pre>", marked, re.DOTALL)  # without the frame of its own
    return Markup(re.sub(r"^<span></span>", "", found[1])) if found else escape(source)


def _plain(markdown: str) -> str:
    return re.sub(r"(\*{1,2}|`)(.+?)\1", r"\2", markdown)


def _strip_ansi(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text)
