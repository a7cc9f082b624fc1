"""The documentation as pages of the site: Markdown from `docs/`, with the links between its pages."""

import html
import posixpath
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from markupsafe import Markup

from analysis.base.errors import ConfigError
from analysis.site.page import rendered

# README names each kind in bold at the start of a line; what it does not link is reference.
_KIND = re.compile(r"^\*\*(.+?)\*\*|\]\(docs/([\w/-]+)\.md\)", re.MULTILINE)
_REFERENCE = "Reference"
_HEADING = re.compile(r"<(h[2-6])\b[^>]*>(.*?)</\1>", re.DOTALL)
# Ids of the bar around each page.
_TAKEN = ("content", "find", "found", "hits", "menu")
_LINK = re.compile(r'(<a\b[^>]*\bhref=")([^":#]+)\.md(#[^"]*)?(")')


@dataclass(frozen=True, slots=True)
class Doc:
    """A page of the documentation; `name` is its path below the folder, without a suffix.

    `kind` is the heading of README under which the page is linked: how-to, reference and so on.
    """

    name: str
    kind: str
    title: str
    summary: str
    body: Markup

    @property
    def up(self) -> str:
        """The way from the page to the site's index."""
        return "../" * (self.name.count("/") + 1)


def read(folder: Path) -> list[Doc]:
    """Read every ``*.md`` below a folder, ordered for a reader.

    Sorted by kind, in the order of the README next to the folder. Raises `ConfigError` if a page has no
    heading or links to one that does not exist, `BenchbookError` if one loads something from the network.
    """
    paths = sorted(folder.rglob("*.md"), key=lambda path: (len(path.parts), path))
    names = [path.relative_to(folder).with_suffix("").as_posix() for path in paths]
    kinds = _kinds(folder.parent / "README.md")
    docs = [
        _read(path, name, names, kinds.get(name, _REFERENCE)) for path, name in zip(paths, names, strict=True)
    ]
    order = [*kinds, *(name for name in names if name not in kinds)]
    titles = list(dict.fromkeys(kinds.values()))
    return sorted(docs, key=lambda one: ((*titles, one.kind).index(one.kind), order.index(one.name)))


def pages(docs: Sequence[Doc], render: Callable[..., str]) -> dict[str, str]:
    """Render pages of the documentation: file of the site, like ``docs/claims.html``, to its text.

    ``docs/index.html`` lists them by kind; `render` takes the name of a template and its values.
    """
    if not docs:
        return {}
    listed = [(kind, list(found)) for kind, found in groupby(docs, key=lambda one: one.kind)]
    found = {f"docs/{doc.name}.html": render("docs.html.j2", doc=doc, docs=listed, up=doc.up) for doc in docs}
    return {"docs/index.html": render("docs.html.j2", doc=None, docs=listed, up="../"), **found}


def _kinds(readme: Path) -> dict[str, str]:
    """Return the pages that a README links, in its order, each with the kind above it."""
    found: dict[str, str] = {}
    kind = _REFERENCE
    text = readme.read_text(encoding="utf-8") if readme.is_file() else ""
    for bold, name in _KIND.findall(text.partition("\n## More\n")[2]):
        kind = bold or kind
        if name:
            found.setdefault(name, kind)
    return found


def _read(path: Path, name: str, names: list[str], kind: str) -> Doc:
    text = path.read_text(encoding="utf-8")
    heading = re.match(r"# (.+)\n+", text)
    if not heading:
        raise ConfigError.at(str(path), 1, "begins with no heading", "begin with '# ' and a title")

    def link(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(name), found[2]))
        if target not in names:
            line = 1 + text[: max(text.find(f"({found[2]}.md"), 0)].count("\n")
            what = f"links to {found[2]}.md, which is not there"
            raise ConfigError.at(str(path), line, what, "correct the link")
        return f"{found[1]}{found[2]}.html{found[3] or ''}{found[4]}"

    body = _HEADING.sub(_anchors(), _LINK.sub(link, rendered(text[heading.end() :], str(path))))
    body = body.replace("<pre>", '<pre tabindex="0">')  # the keyboard scrolls what is wider than the page
    body = body.replace("<table>", '<div class="table" tabindex="0"><table>').replace(
        "</table>", "</table></div>"
    )
    body = body.replace("<th></th>", "<td></td>")  # nothing to be read out
    body = re.sub(
        r"<code>(--?[\w-]{1,24})</code>", r'<code class="whole">\1</code>', body
    )  # no line ends in it
    return Doc(name, kind, heading[1], _first_sentence(body), Markup(body))


def _anchors() -> Callable[[re.Match[str]], str]:
    """Give each heading the id that links in Markdown use: its words in small letters, joined by dashes.

    The second of a name ends in ``-1``, and so on.
    """
    given = dict.fromkeys(_TAKEN, 1)

    def anchor(found: re.Match[str]) -> str:
        words = html.unescape(re.sub(r"<[^>]+>", "", found[2])).lower()
        name = re.sub(r"[^\w -]", "", words).strip().replace(" ", "-")
        number = given.get(name, 0)
        given[name] = number + 1
        return f'<{found[1]} id="{name}{f"-{number}" if number else ""}">{found[2]}</{found[1]}>'

    return anchor


def _first_sentence(body: str) -> str:
    paragraph = re.search(r"<p>(.*?)</p>", body, re.DOTALL)
    words = " ".join(html.unescape(re.sub(r"<[^>]+>", "", paragraph[1] if paragraph else "")).split())
    return re.split(r"(?<=[.])\s", words)[0]
