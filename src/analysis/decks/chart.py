"""The figure of a slide, in the style of the pages: one colour a level in all of them."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.base.words import attached, significant
from analysis.decks.slide import Deck
from analysis.pages import figures
from analysis.pages.drawing import doubling, scaled
from analysis.pages.figures.style import shared_looks

Styles = Mapping[str, tuple[str, str]]

# Inches. A slide shows a figure half as large again, so that its letters are of 15 px at a width of 1280.
WIDE, SPLIT, HEIGHT = 7.9, 5.0, 3.1
_SERIES, _PLACES = 7, 9  # drawn at most; the rest is said to be left out
_NAME = 20  # letters of a name in a line
_SHORT = 5  # places that stand beside each other; more of them, or long names, stand in rows


def styles(deck: Deck) -> Styles:
    """Give every level of all the slides its colour and marker."""
    return shared_looks([_levels(slide.shown) for slide in deck.slides if slide.shown is not None])


def _levels(shown: pd.DataFrame) -> list[str]:
    """Return what colours tell apart: the series, or of a single one the levels along the axis."""
    column = "x" if _named_places(shown) and shown["series"].nunique() < 2 else "series"
    names = dict.fromkeys(str(level) for level in _bounded(shown)[0][column])
    return [_wrapped(name) for name in names if name]


def _named_places(shown: pd.DataFrame) -> bool:
    return not pd.api.types.is_numeric_dtype(shown["x"])


def _wrapped(name: str) -> str:
    return "\n".join(textwrap.wrap(name, _NAME, max_lines=3, placeholder=" …")) or name


def drawn(shown: pd.DataFrame, evidence: str, styles: Styles, *, wide: bool, description: str) -> str:
    """Draw a conclusion's figure as an SVG element."""
    figures.use_style()
    table, left = _bounded(shown)
    table = table.assign(series=[_wrapped(str(one)) for one in table["series"]])
    ylabel = _label(shown.attrs.get("ylabel", ""), shown.attrs.get("unit", ""))
    xlabel = "; ".join(filter(None, (shown.attrs.get("xlabel", ""), left)))
    fig, ax = _figure(evidence, WIDE if wide else SPLIT)
    if _named_places(table):
        table = table.assign(x=[_wrapped(str(one)) for one in table["x"]])
        one = table["series"].nunique() < 2
        hue = "x" if one else "series"
        if table["x"].nunique() > _SHORT or not one:
            figures.interval_rows(table, ax=ax, x="x", hue=hue, xlabel=ylabel, styles=styles)
            return figures.svg(fig, description=description)
    else:
        table, hue = table.sort_values("x", kind="stable"), "series"
    several = table[hue].nunique() > 1
    figures.interval_points(
        table, ax=ax, x="x", y="median", low="low", high="high", hue=hue if several else None,
        xlabel=xlabel, ylabel=ylabel, log2=doubling(table["x"]), styles=styles,
    )  # fmt: skip
    scaled(ax, table["median"])
    return figures.svg(fig, description=description)


def _figure(evidence: str, width: float) -> tuple[Figure, Axes]:
    """Make a figure; the slide has the label of its evidence, but what is synthetic is hatched too."""
    if evidence == "synthetic":
        return figures.new_figure(evidence, width=width, height=HEIGHT)
    fig = Figure(figsize=(width, HEIGHT), layout="constrained")
    return fig, fig.add_subplot()


def _bounded(shown: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Keep the series with the most points, and of named places the first; say how many are left out."""
    table = shown[shown["median"].notna()]
    counts = table["series"].value_counts(sort=False)
    kept = set(counts.sort_values(ascending=False, kind="stable").index[:_SERIES])
    words = [f"{_SERIES} of {len(counts)} series"] if len(counts) > _SERIES else []
    table = table[table["series"].isin(kept)]
    places = table["x"].drop_duplicates()
    if _named_places(table) and len(places) > _PLACES:
        table = table[table["x"].isin(places[:_PLACES])]
        words.append(f"{_PLACES} of {len(places)} shown")
    return table, ", ".join(words)


def _label(name: str, unit: str) -> str:
    return f"{name} ({unit})" if unit and unit != "jobs a day" else name or unit


def described(shown: pd.DataFrame, sentence: str) -> str:
    """Say in words what a figure shows: the sentence, and the largest and the least value."""
    unit = str(shown.attrs.get("unit", ""))
    ends = [attached(significant(float(one)), unit) for one in (shown["median"].min(), shown["median"].max())]
    return f"{sentence}. Medians from {ends[0]} to {ends[1]}."
