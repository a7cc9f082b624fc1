"""The figure of a slide, in the style of the pages: one colour a level in all of them."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import StrMethodFormatter

from analysis.base.words import attached, significant
from analysis.decks.charts import Styles
from analysis.decks.portrait import natural
from analysis.decks.slide import Deck
from analysis.pages import figures
from analysis.pages.drawing import doubling, scaled
from analysis.pages.figures.style import looks, shared_looks

# Inches. A slide shows a figure half as large again, so that its letters are of 15 px at a width of 1280.
WIDE, SPLIT, HEIGHT = 7.9, 5.0, 3.1
_SERIES, _PLACES = 7, 14  # drawn at most; the rest is said to be left out
_THOUSANDS = 10_000  # from which on an axis has separators
_NAME, _LEGEND = 20, 48  # letters of a name in a line, and of one in a legend
_ACROSS = 58  # letters of a line of the legend
_ENDS = 4  # lines that are named at their ends, else in a legend
_SHORT = 5  # places that stand beside each other; more of them, or long names, stand in rows


def styles(deck: Deck) -> Styles:
    """Give every level of all the slides its colour and marker."""
    return shared_looks([_levels(slide.shown) for slide in deck.slides if slide.shown is not None])


def _levels(shown: pd.DataFrame) -> list[str]:
    """Return what colours tell apart: the series, or of a single one the levels along the axis."""
    table, _ = _bounded(shown)
    column = "x" if _named_places(table) and table["series"].nunique() < 2 else "series"
    names = dict.fromkeys(str(level) for level in table[column])
    return [name for name in names if name]


def _named_places(shown: pd.DataFrame) -> bool:
    return not pd.api.types.is_numeric_dtype(shown["x"])


def _wrapped(name: str) -> str:
    return "\n".join(textwrap.wrap(name, _NAME, max_lines=3, placeholder=" …")) or name


def _named(name: str) -> str:
    return textwrap.shorten(name, _LEGEND, placeholder=" …") if len(name) > _LEGEND else name


def drawn(shown: pd.DataFrame, evidence: str, styles: Styles, *, wide: bool, description: str) -> str:
    """Draw a conclusion's figure as an SVG element."""
    figures.use_style()
    table, left = _bounded(shown)
    styles = {cut(name): look for name, look in styles.items() for cut in (_wrapped, _named)}
    table = table.assign(series=[_named(str(one)) for one in table["series"]])
    if _named_places(table):
        table = table.assign(x=[_wrapped(str(one)) for one in table["x"]])
    ylabel = _label(shown.attrs.get("ylabel", ""), shown.attrs.get("unit", ""))
    xlabel = "; ".join(filter(None, (shown.attrs.get("xlabel", ""), left)))
    fig, ax = _figure(evidence, WIDE if wide else SPLIT)
    named = _named_places(table)
    hue = "x" if named and table["series"].nunique() < 2 else "series"
    levels = [str(one) for one in table[hue].drop_duplicates() if str(one)]
    styles = {**looks(levels), **styles}
    above = hue == "series" and (named or max(map(len, levels), default=0) > _NAME or len(levels) > _ENDS)
    if named and (table["x"].nunique() > _SHORT or hue == "series"):
        across = "; ".join(filter(None, (ylabel, left)))
        figures.interval_rows(table, ax=ax, x="x", hue=hue, xlabel=across, legend=False, styles=styles)
    else:
        table = table if named else table.sort_values("x", kind="stable")
        figures.interval_points(
            table, ax=ax, x="x", y="median", low="low", high="high", hue=hue if levels else None,
            xlabel=xlabel, ylabel=ylabel, log2=doubling(table["x"]), ends=not above, styles=styles,
        )  # fmt: skip
        _scale(ax, table["median"], share=shown.attrs.get("unit") == "%")
    if above:
        _legend(ax, levels, styles)
    return figures.svg(fig, description=description)


def _scale(ax: Axes, values: pd.Series, *, share: bool) -> None:
    """Begin the axis of shares at zero; others as on the pages, with separators in large numbers."""
    if share:
        figures.from_zero(ax)
        return
    scaled(ax, values)
    if ax.get_yscale() == "linear" and values.max() >= _THOUSANDS:
        ax.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))


def _legend(ax: Axes, levels: Sequence[str], styles: Styles) -> None:
    """Name the levels above the axes, where they take no width."""
    handles = [
        Line2D([], [], color=styles[one][0], marker=styles[one][1], linestyle="none", markersize=7)
        for one in levels
    ]
    columns = max(1, min(len(levels), _ACROSS // (8 + max(map(len, levels)))))
    ax.figure.legend(
        handles, levels, frameon=False, loc="outside upper left", ncols=columns, handletextpad=0.2,
        columnspacing=1.2,
    )  # fmt: skip


def _figure(evidence: str, width: float) -> tuple[Figure, Axes]:
    """Make a figure; the slide has the label of its evidence, but what is synthetic is hatched too."""
    if evidence == "synthetic":
        return figures.new_figure(evidence, width=width, height=HEIGHT)
    fig = Figure(figsize=(width, HEIGHT), layout="constrained")
    return fig, fig.add_subplot()


def _bounded(shown: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Keep the series with the most points, and of names those at both ends; say how many are left out.

    Of names the fewer are the series, the others the rows.
    """
    table = shown[shown["median"].notna()]
    if _named_places(table) and 1 < table["x"].nunique() < table["series"].nunique():
        table = table.rename(columns={"x": "series", "series": "x"})
        table = table.sort_values("x", key=lambda names: names.map(natural), kind="stable")
    counts = table["series"].value_counts(sort=False)
    kept = set(counts.sort_values(ascending=False, kind="stable").index[:_SERIES])
    words = [f"{_SERIES} of {len(counts)} series"] if len(counts) > _SERIES else []
    table = table[table["series"].isin(kept)]
    places = table["x"].drop_duplicates()
    if _named_places(table) and len(places) > _PLACES:
        half = _PLACES // 2
        table = table[table["x"].isin([*places[:half], *places[-half:]])]
        words.append(f"{2 * half} of {len(places)} shown")
    return table, ", ".join(words)


def _label(name: str, unit: str) -> str:
    return f"{name} ({unit})" if unit and unit != "jobs a day" else name or unit


def described(shown: pd.DataFrame, sentence: str) -> str:
    """Say in words what a figure shows: the sentence, and the largest and the least value."""
    unit = str(shown.attrs.get("unit", ""))
    ends = [attached(significant(float(one)), unit) for one in (shown["median"].min(), shown["median"].max())]
    return f"{sentence}. Medians from {ends[0]} to {ends[1]}."
