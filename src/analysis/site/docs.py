"""The documentation as pages of the site: Markdown from `docs/`, with the links between its pages."""

import html
import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from analysis.base.errors import ConfigError
from analysis.site.page import rendered

_LINK = re.compile(r'(<a\b[^>]*\bhref=")([^":#]+)\.md(#[^"]*)?(")')


@dataclass(frozen=True, slots=True)
class Doc:
    """A page of the documentation; `name` is its path below the folder, without a suffix."""

    name: str
    title: str
    summary: str
    body: Markup

    @property
    def up(self) -> str:
        """The way from the page to the site's index."""
        return "../" * (self.name.count("/") + 1)


def pages(folder: Path, render: Callable[..., str]) -> dict[str, str]:
    """Render every ``*.md`` below a folder: file of the site, like ``docs/claims.html``, to its text.

    ``docs/index.html`` lists them; `render` takes the name of a template and its values. Raises `ConfigError`
    if a page has no heading or links to one that does not exist, `BenchbookError` if one loads something
    from the network.
    """
    paths = sorted(folder.rglob("*.md"), key=lambda path: (len(path.parts), path))
    names = [path.relative_to(folder).with_suffix("").as_posix() for path in paths]
    docs = [_read(path, name, names) for path, name in zip(paths, names, strict=True)]
    found = {f"docs/{doc.name}.html": render("docs.html.j2", doc=doc, docs=docs, up=doc.up) for doc in docs}
    return {"docs/index.html": render("docs.html.j2", doc=None, docs=docs, up="../"), **found}


def _read(path: Path, name: str, names: list[str]) -> Doc:
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

    body = _LINK.sub(link, rendered(text[heading.end() :], str(path)))
    return Doc(name, heading[1], _first_sentence(body), Markup(body))


def _first_sentence(body: str) -> str:
    paragraph = re.search(r"<p>(.*?)</p>", body, re.DOTALL)
    words = " ".join(html.unescape(re.sub(r"<[^>]+>", "", paragraph[1] if paragraph else "")).split())
    return re.split(r"(?<=[.])\s", words)[0]
