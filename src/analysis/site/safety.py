"""What a page may not contain: anything that is loaded from elsewhere, and anything that runs."""

from __future__ import annotations

import re
from functools import lru_cache
from html.parser import HTMLParser

# Attributes that make a browser fetch; `href` only on elements where it is no link to follow.
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


def loads(html: str) -> list[str]:
    """List what a browser would fetch to show a page or a fragment.

    These are targets of ``src``, of loading ``href``, of ``url()`` and ``@import``; links to follow,
    fragments and ``data:`` are no loads.
    """
    return _collect(html).loads


def active(html: str) -> list[str]:
    """List what would run or embed in a piece of HTML: scripts, frames, event handlers."""
    return _collect(html).active


@lru_cache(maxsize=1)  # both are asked of the same piece, one after the other
def _collect(html: str) -> _Collector:
    collector = _Collector()
    collector.feed(html)
    collector.close()
    return collector
