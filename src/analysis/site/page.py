"""From an executed notebook to a page: question, answer, figures, verdicts, method, code; nothing active."""

import ast
import base64
import html
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache, lru_cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from analysis.base import project
from analysis.base.errors import BenchbookError, ConfigError
from analysis.estimates.campaign import Campaign
from analysis.site import passport
from analysis.site.words import EVIDENCE

RESERVED = frozenset({"index", "provenance"})
_HEADING = re.compile(r"^#\s+(.+?)\s*#*\s*$", re.MULTILINE)
_RICH = ("image/svg+xml", "image/png", "image/jpeg", "text/html", "text/markdown", "text/plain")


@dataclass(slots=True)
class PageInput:
    """A page to build: name of its file (``a-z 0-9 - _``), executed notebook, its evidence and campaign.

    The short title is for the navigation; if empty, the notebook's first heading is used. A title that ends
    with ``?`` is the page's question. `sources` are title and address of the sources of published figures;
    `group` is the campaign that lists the page, empty for the pages of the build. `hardware` is what its
    campaigns ran on, `terms` what its figures and levels are called.
    """

    name: str
    path: Path
    evidence: str
    campaign: str
    title: str = ""
    sources: tuple[tuple[str, str], ...] = ()
    group: str = ""
    hardware: str = ""
    terms: str = ""


def inputs(
    entries: Iterable[Mapping[str, Any]], campaigns: Mapping[str, Campaign], folder: Path
) -> list[PageInput]:
    """List the executed notebooks of a configuration's pages, with their evidence and sources."""
    found = []
    for entry in entries:
        name, used = entry["name"], project.as_list(entry, "campaign")
        classes = list(dict.fromkeys(campaigns[one].evidence for one in used)) or [entry["evidence"]]
        path = folder / f"{name}.ipynb"
        cited = tuple(dict.fromkeys(pair for one in used for pair in campaigns[one].references.values()))
        title = entry.get("title", "")
        group = entry.get("group", "")
        hardware = "; ".join(campaigns[one].hardware for one in used)
        found.append(
            PageInput(
                name, path, ", ".join(classes), ", ".join(used), title, cited, group, hardware, terms(entry)
            )
        )
    return found


def terms(entry: Mapping[str, Any]) -> str:
    """Return the words of a page's entry that a reader may search for: topics, titles of panels, levels."""
    said = [*entry.get("topics", ())]
    for one in entry.get("parameters", {}).get("panels", ()):
        said += [one.get("title", ""), one.get("what", ""), *map(str, one.get("names", {}).values())]
    return " ".join(dict.fromkeys(said))


@dataclass(frozen=True, slots=True)
class Code:
    """A code cell: its execution count and its highlighted source."""

    count: int | None
    source: Markup


@dataclass(slots=True)
class PageContent(PageInput):
    """A page and its content, for its template.

    The question is the notebook's first heading, or that of the output of the cell tagged ``question``, and
    `intro` the text below it; the answer is the first output
    of the cell tagged ``answer``, `figure` the first figure, `verdicts` the outputs of cells so tagged and
    `body` all other text and output, in the notebook's order; `errors` are ``cell N: Name: message``,
    `faults` what is wrong with its figures, ``figure N: faults``. `files`
    are the pictures and tables of its figures, by name; `cited` says how to cite the site that it is part of,
    empty for a page alone, whose figures have none.
    """

    question: str = ""
    answer: Markup = field(default_factory=Markup)
    intro: Markup = field(default_factory=Markup)
    figure: Markup = field(default_factory=Markup)
    verdicts: list[Markup] = field(default_factory=list)
    body: list[Markup] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    code: list[Code] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    cited: str = ""

    @property
    def classes(self) -> list[str]:
        """Evidence classes of its campaigns."""
        return self.evidence.split(", ")

    @property
    def answer_text(self) -> str:
        """The answer without markup, for lists of pages."""
        return " ".join(html.unescape(re.sub(r"<[^>]+>", "", str(self.answer))).split())


def read(page: PageInput, cited: str = "") -> PageContent:
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
    out = PageContent(**{one.name: getattr(page, one.name) for one in fields(page)}, cited=cited)
    for position, cell in enumerate(notebook.cells, start=1):
        where = f"{page.path} cell {position}"
        if cell.cell_type == "markdown":
            _add_text(out, cell.source, where)
        elif cell.cell_type == "code":
            _add_code(out, cell, position, where)
    # A notebook for many pages asks a general question; the title of a page asks its own.
    out.question = page.title if page.title.endswith("?") else out.question or page.title or page.name
    out.title = page.title or out.question
    return out


def _check(page: PageInput) -> None:
    reserved = page.name in RESERVED or page.name.startswith(("report-", "question-"))
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", page.name) or reserved:
        remedy = "use a-z 0-9 - _, not index or provenance, nor report- or question- at the beginning"
        raise ConfigError.at(str(page.path), 0, f"{page.name!r} is no page name", remedy)
    for evidence in page.evidence.split(", "):
        if evidence not in EVIDENCE:
            remedy = "use " + ", ".join(EVIDENCE)
            raise ConfigError.at(str(page.path), 0, f"evidence {evidence!r} is not a class", remedy)


def _add_text(out: PageContent, source: str, where: str) -> None:
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


def _add_code(out: PageContent, cell: Any, position: int, where: str) -> None:
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
        rendered = _output(output, where, out)
        if not rendered:
            continue
        if "verdicts" in tags:
            out.verdicts.append(rendered)
        elif not out.figure and ("figure" in tags or 'class="figure"' in rendered[:40]):
            out.figure = rendered
        else:
            out.body.append(rendered)


def _output(output: Any, where: str, out: PageContent) -> Markup:
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
        given = _passport(out, text, data.get("text/csv", ""))
        number = sum(name.endswith(".svg") for name in out.files)
        if found := output.get("metadata", {}).get(kind, {}).get("faults"):
            out.faults.append(f"figure {number}: {'; '.join(map(str, found))}")
        return _figure(_safe(text[text.find("<svg") :], where), text, given, number)
    if kind.startswith("image/"):
        # Decoded and encoded again: what is no base64 cannot leave the attribute.
        packed = base64.b64encode(base64.b64decode("".join(text.split()))).decode()
        alt = html.escape(_strip_ansi(data.get("text/plain", "figure")), quote=True)
        return _figure(Markup(f'<img src="data:{kind};base64,{packed}" alt="{alt}">'), "")
    if kind == "text/html":
        wordy = _WORDY.sub(r'<td class="long"\1>\2</td>', str(_safe(text, where)))
        safe = Markup(_COUNTS.sub(r"\1&nbsp;/&nbsp;\2", wordy))
        return Markup('<div class="out table" tabindex="0">{}</div>').format(safe)
    if kind == "text/markdown":
        return _text(text, where)
    return _printed(text)


def _printed(text: str) -> Markup:
    return Markup('<pre class="out" tabindex="0">{}</pre>').format(_strip_ansi(text))


def _text(source: str, where: str) -> Markup:
    return Markup('<div class="text">{}</div>').format(rendered(source, where))


def _passport(out: PageContent, svg: str, table: str) -> Markup:
    """Write the files of a figure, and link to them: table, CSV, SVG, PNG, notebook, address, citation."""
    if not out.cited:
        return Markup("")
    number = 1 + sum(name.endswith(".svg") for name in out.files)
    name, address = f"{out.name}-figure-{number}", f"{out.name}.html#figure-{number}"
    citation = f"{out.question or out.title}, figure {number} ({out.evidence}). {out.cited}, {address}."
    out.files[f"{name}.svg"] = svg[svg.find("<svg") :]
    shown = Markup("")
    if table:
        out.files[f"{name}.csv"] = f"# {citation}\n{table}"
        shown = Markup('<details class="fold"><summary>Table</summary>{}</details>').format(
            passport.table(passport.read(table))
        )
    csv = Markup('<a download href="data/{}.csv">CSV</a> ').format(name) if table else Markup("")
    return Markup(
        '{}<p class="passport">{}<a download href="data/{name}.svg">SVG</a> '
        '<button type="button" data-png="{name}.png">PNG</button> '
        '<a download href="data/{page}.ipynb">Notebook</a> '
        '<button type="button" data-copy="#figure-{number}" data-page="{page}.html">Copy link</button> '
        '<button type="button" data-copy="{citation}">Copy citation</button></p>'
    ).format(shown, csv, name=name, page=out.name, number=number, citation=citation)


def _figure(image: Markup, svg: str, given: str | Markup = "", number: int = 0) -> Markup:
    found = re.search(r"<desc[^>]*>(.*?)</desc>", svg, re.DOTALL)
    caption = Markup("<figcaption>{}</figcaption>").format(html.unescape(found[1])) if found else Markup("")
    anchor = Markup(' id="figure-{}"').format(number) if number else Markup("")
    return Markup('<figure class="figure"{}><div class="canvas" tabindex="0">{}</div>{}{}</figure>').format(
        anchor, image, caption, given
    )


# The list of a long answer (`analysis.pages.notebook.answer`) waits behind its first line.
_LIST = re.compile(r"<p>(\d+ more):</p>\s*(<ul>.*</ul>)", re.DOTALL)
# A cell of words has room for a few of them in a line: a table may be wider than the page.
_WORDY = re.compile(r'<td( style="text-align: left")?>([^<]{18,})</td>')
# Counts of two sides, ``6 / 6``, stay on a line.
_COUNTS = re.compile(r"(?<=>)(\d+) / (\d+)(?=</td>)")
# A line does not end within an option: -funroll-loops, --yes.
_OPTION = re.compile(r"(?<=[\s>])(--?[A-Za-z][\w=-]*)(?=[\s<,.;:)])")
_FOLDED = r'<details class="fold"><summary>\1</summary>\2</details>'


def _inline(output: Any, where: str) -> Markup:
    """Render the answer: one paragraph, whatever kind of output it was printed as."""
    data = output.get("data", {})
    if "text/markdown" in data:
        return whole_options(_LIST.sub(_FOLDED, str(rendered(data["text/markdown"], where))))
    if "text/html" in data:
        return _safe(data["text/html"], where)
    text = _strip_ansi(output.get("text") or data.get("text/plain") or "").strip()
    try:  # a cell that ends in a string shows its repr
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        value = None
    return Markup("<p>{}</p>").format(value if isinstance(value, str) else text)


def whole_options(text: str) -> Markup:
    """Keep each option of a compiler or a command in one line, in paragraphs without blocks of code."""
    return Markup(_OPTION.sub(r'<span class="whole">\1</span>', text))


def _safe(fragment: str, where: str) -> Markup:
    if found := loads(fragment):
        raise BenchbookError.at(where, 0, f"loads {found[0][:80]!r}", "put the data into the notebook itself")
    if found := active(fragment):
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


# Attributes that make a browser load something; `href` only on elements where it is no link to follow.
_LOADING = {"src", "srcset", "poster", "data", "background", "action", "formaction", "ping", "manifest"}
_HREF_LOADS = {"link", "image", "use", "feimage", "base", "script", "pattern", "mpath"}
_ACTIVE = {"script", "iframe", "object", "embed", "frame", "applet", "portal"}
_CSS_LOAD = re.compile(r"""url\(\s*['"]?([^'")]*)|@import\s+['"]?([^'";]+)""", re.IGNORECASE)


class _Collector(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.loads: list[str] = []
        self.active: list[str] = []
        self._in_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _ACTIVE:
            self.active.append(f"<{tag}>")
        self._in_style = tag == "style"
        for name, value in attrs:
            value = (value or "").strip()
            if name.startswith("on") or value.lower().startswith("javascript:"):
                self.active.append(f"{name}={value[:40]}")
            elif name in _LOADING or (name in ("href", "xlink:href") and tag in _HREF_LOADS):
                self._note(value)
            elif tag == "meta" and name == "content" and re.match(r"\d+\s*;\s*url=", value, re.IGNORECASE):
                self._note(value.split("=", 1)[1])
            self.handle_css(value)

    def handle_endtag(self, tag: str) -> None:
        if tag == "style":
            self._in_style = False

    def handle_data(self, data: str) -> None:
        if self._in_style:
            self.handle_css(data)

    def handle_css(self, text: str) -> None:
        for match in _CSS_LOAD.finditer(text):
            self._note((match[1] or match[2] or "").strip())

    def _note(self, target: str) -> None:
        if target and not target.startswith(("#", "data:")):
            self.loads.append(target)


def loads(text: str) -> list[str]:
    """List what a browser would fetch to show a page or a fragment.

    These are targets of ``src``, of loading ``href``, of ``url()`` and ``@import``; links to follow,
    fragments and ``data:`` are no loads.
    """
    return _collect(text).loads


def active(text: str) -> list[str]:
    """List what would run or embed in a piece of HTML: scripts, frames, event handlers."""
    return _collect(text).active


@lru_cache(maxsize=1)  # both are called for the same piece, one after the other
def _collect(text: str) -> _Collector:
    collector = _Collector()
    collector.feed(text)
    collector.close()
    return collector
