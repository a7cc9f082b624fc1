"""A deck as one self-contained HTML file that prints a slide a page; nothing is loaded from the network."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import jinja2
from markupsafe import Markup

from analysis.base.files import write_text
from analysis.base.words import significant
from analysis.decks import figure, fitting
from analysis.decks.slide import Deck, Slide
from analysis.findings.conclusion import SHOWN

_BESIDE = 7  # values beside a figure
# Letters of a headline from which on it is set smaller.
_SIZES = ((215, "longest"), (130, "long"), (70, "middle"))


def write(deck: Deck, path: Path) -> None:
    """Write a deck as HTML; the same deck gives the same bytes."""
    styles = figure.styles(deck)
    slides = []
    for slide in deck.slides:
        drawn = ""
        if slide.shown is not None:
            drawn = figure.drawn(
                slide.shown, slide.label, styles, wide=not (slide.bullets or _values(slide)),
                description=figure.described(slide.shown, slide.headline),
            )  # fmt: skip
        slides.append((slide, Markup(drawn), _values(slide)))
    template = _environment().get_template("deck.html.j2")
    write_text(path, template.render(deck=deck, slides=slides))


def _values(slide: Slide) -> list[tuple[str, str, str, str]]:
    """Return what stands beside a figure that nothing else is said of: name, median, interval and n."""
    if slide.shown is None or slide.bullets or len(slide.shown) > _BESIDE:
        return []
    unit = str(slide.shown.attrs.get("unit", ""))
    rows = [(str(slide.shown.attrs.get("xlabel", "")), unit or "median", "interval", "n")]
    for series, x, median, low, high, n in slide.shown[list(SHOWN)].itertuples(index=False):
        place = x if isinstance(x, str) else f"{x:g}"
        ends = f"{significant(low, 3)} to {significant(high, 3)}" if math.isfinite(low) else "none"
        name = ", ".join(filter(None, (series, place)))
        rows.append((fitting.cut(name, 60), significant(median, 3), ends, f"{n:,}"))
    return rows


@cache
def _environment() -> jinja2.Environment:
    own = jinja2.PackageLoader("analysis.decks", "templates")
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader([own, jinja2.PackageLoader("analysis.site", "templates")]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    names = ("colours.css", "deck.css")
    texts = [environment.loader.get_source(environment, name)[0] for name in names]  # type: ignore[union-attr]
    environment.globals.update(
        style=Markup("".join(texts)), parted=_parted, length=_length, shares=fitting.shares
    )
    return environment


def _parted(sentence: str) -> tuple[str, str]:
    """Part a sentence from the interval in brackets at its end."""
    main, mark, rest = sentence.rpartition(" (")
    return (main, f"({rest}") if mark and rest.endswith(")") and "(" not in rest else (sentence, "")


def _length(headline: str) -> str:
    return next((name for letters, name in _SIZES if len(headline) > letters), "short")
