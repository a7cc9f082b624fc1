"""The figure of a slide, in the style of the pages: one colour a level in all of them."""

import textwrap
from collections.abc import Collection, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import StrMethodFormatter

from analysis.base.words import attached, significant
from analysis.decks.charts import Styles
from analysis.decks.points import in_natural_order
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
_ROW = {True: 40, False: 28}  # letters of a name in a row of a wide figure, and of one beside sentences
_LETTERS = 60  # of names beside each other
_ROWS = 6  # rows of a figure whose names have two lines at most


def styles(deck: Deck) -> Styles:
    """Give every level of all the slides its colour and marker."""
    return shared_looks([_levels(slide.points) for slide in deck.slides if slide.points is not None])


def _levels(points: pd.DataFrame) -> list[str]:
    """Return what colours tell apart: the series, or of a single one the levels along the axis."""
    table, _ = _bounded(points)
    column = "x" if _named_places(table) and table["series"].nunique() < 2 else "series"
    names = dict.fromkeys(str(level) for level in table[column])
    return [name for name in names if name]


def _named_places(points: pd.DataFrame) -> bool:
    return not pd.api.types.is_numeric_dtype(points["x"])


def _places(names: Sequence[str], line: int = 2 * _NAME) -> dict[str, str]:
    """Break names of rows into as many lines as there is room for; no two are cut to the same.

    `line` is the letters of a name that has one line.
    """
    lines = 3 if len(names) <= _SHORT else 2 if len(names) <= _ROWS else 1
    width = line if lines == 1 else _NAME * lines
    out: dict[str, str] = {}
    for name, brief in zip(names, _brief(names, width), strict=True):
        cut = _cut(brief, width)
        text = cut if lines == 1 else "\n".join(textwrap.wrap(cut, _NAME)[:lines])
        out[name] = text if text not in out.values() else f"{text} ({len(out) + 1})"
    return out


def _brief(names: Sequence[str], width: int) -> list[str]:
    """Leave out parts that are not needed to tell long names apart, the longest first."""
    parts = [name.split(", ") for name in names]
    if len({len(one) for one in parts}) != 1:
        return list(names)
    kept = list(range(len(parts[0])))
    out = list(names)
    for at in sorted(kept, key=lambda at: -max(len(one[at]) for one in parts)):
        rest = [one for one in kept if one != at]
        shorter = [", ".join(one[where] for where in rest) for one in parts]
        if max(map(len, out), default=0) > width and len(set(shorter)) == len(set(names)):
            kept, out = rest, shorter
    return out


def _beside(names: Collection[str]) -> bool:
    """Tell whether names have room beside each other."""
    widest = max((len(line) for name in names for line in name.split("\n")), default=0)
    return len(names) <= _SHORT and len(names) * widest <= _LETTERS


def _cut(name: str, width: int) -> str:
    """Leave out the middle of a long name: what comes first and last tells names apart."""
    head = width // 3
    return name if len(name) <= width else f"{name[:head].rstrip()} … {name[head + 3 - width :].lstrip()}"


def _named(name: str) -> str:
    return textwrap.shorten(name, _LEGEND, placeholder=" …") if len(name) > _LEGEND else name


def drawn(points: pd.DataFrame, evidence: str, styles: Styles, *, wide: bool, description: str) -> str:
    """Draw a conclusion's figure as an SVG element."""
    figures.use_style()
    table, left = _bounded(points)
    rows = (
        _places([str(one) for one in table["x"].drop_duplicates()], _ROW[wide])
        if _named_places(table)
        else {}
    )
    styles = {cut: look for name, look in styles.items() for cut in {rows.get(name, name), _named(name)}}
    table = table.assign(series=[_named(str(one)) for one in table["series"]])
    if rows:
        table = table.assign(x=[rows[str(one)] for one in table["x"]])
    ylabel = _label(points.attrs.get("ylabel", ""), points.attrs.get("unit", ""))
    xlabel = "; ".join(filter(None, (points.attrs.get("xlabel", ""), left)))
    fig, ax = _figure(evidence, WIDE if wide else SPLIT)
    named = _named_places(table)
    hue = "x" if named and table["series"].nunique() < 2 else "series"
    levels = [str(one) for one in table[hue].drop_duplicates() if str(one)]
    styles = {**looks(levels), **styles}
    above = hue == "series" and (named or max(map(len, levels), default=0) > _NAME or len(levels) > _ENDS)
    if named and (hue == "series" or not _beside(rows.values())):
        across = "; ".join(filter(None, (ylabel, left)))
        figures.interval_rows(table, ax=ax, x="x", hue=hue, xlabel=across, legend=False, styles=styles)
    else:
        table = table if named else table.sort_values("x", kind="stable")
        figures.interval_points(
            table, ax=ax, x="x", y="median", low="low", high="high", hue=hue if levels else None,
            xlabel=xlabel, ylabel=ylabel, log2=doubling(table["x"]), ends=not above, styles=styles,
        )  # fmt: skip
        _scale(ax, table["median"], share=points.attrs.get("unit") == "%")
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


def _bounded(points: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Keep the series with the most points, and of names those at both ends; say how many are left out.

    Of names the fewer are the series, the others the rows.
    """
    table = points[points["median"].notna()]
    if _named_places(table) and 1 < table["x"].nunique() < table["series"].nunique():
        table = table.rename(columns={"x": "series", "series": "x"})
        table = in_natural_order(table)
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
    return f"{name} ({unit})" if unit and unit != "jobs per day" else name or unit


def described(points: pd.DataFrame, sentence: str) -> str:
    """Say in words what a figure shows: the sentence, and the largest and the least value."""
    unit = str(points.attrs.get("unit", ""))
    ends = [
        attached(significant(float(one)), unit) for one in (points["median"].min(), points["median"].max())
    ]
    return f"{sentence}. Medians from {ends[0]} to {ends[1]}."
