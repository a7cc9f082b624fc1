"""Points with intervals: the figure of every comparison."""

import re
import textwrap
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import NDArray

from analysis.pages.figures.names import name_ends
from analysis.pages.figures.style import GREY, INK, legend_beside, looks, name_bars, refused, whiskers

Floats = NDArray[np.float64]
_ACROSS = 7  # levels side by side; more are rows
_WIDTH, _ROW = 84, 46  # letters that fit below the width of a figure, and left of a row


def interval_points(
    frame: pd.DataFrame,
    *,
    ax: Axes,
    x: str,
    y: str,
    low: str,
    high: str,
    hue: str | None = None,
    xlabel: str,
    ylabel: str,
    log2: bool = False,
    one: bool = False,
    ends: bool = True,
    styles: Mapping[str, tuple[str, str]] | None = None,
) -> Axes:
    """Draw points with their intervals, one row a point; `low` and `high` are the ends, in the unit of `y`.

    Points are joined by lines only if `x` has an order: numbers or an ordered categorical. Each level in
    `hue` has its fixed colour and marker, those of `styles` first, and with `ends` its name at the line's
    end; labels have the unit in brackets. `log2` makes a logarithmic x axis with ticks at the values of the
    data, `one` draws the line of no difference. Raises `ConfigError` if a column is missing, or an estimate
    lies outside its interval.
    """
    _need(frame, [x, y, low, high, *([hue] if hue else [])])
    slack = 1e-9 * frame[y].abs()  # a resampled median of equal values is rounded in another order
    outside = frame[(frame[y] < frame[low] - slack) | (frame[y] > frame[high] + slack)]
    if len(outside):
        row = outside.iloc[0]
        found = f"{y} {row[y]} is outside [{row[low]}, {row[high]}] at {x} {row[x]}"
        raise refused(found, "check the interval")
    places, ordered, labels = _places(frame[x])
    levels = [str(v) for v in frame[hue].drop_duplicates()] if hue else [""]
    styles = {**looks(levels), **(styles or {})}
    if one:
        ax.axhline(1, color=GREY, linewidth=1.2, zorder=1)
    last = []
    for i, level in enumerate(levels):
        mask = (frame[hue].astype(str) == level).to_numpy() if hue else np.ones(len(frame), bool)
        shift = 0.0 if ordered or hue == x else 0.16 * (i - (len(levels) - 1) / 2)
        order = np.argsort(places[mask], kind="stable")
        part = frame[mask].iloc[order]
        xs = places[mask][order] + shift
        ys = part[y].to_numpy(dtype=float)
        whiskers(
            ax, xs, ys, styles[level] if level else (INK, "o"), yends=(part[low], part[high]), capsize=3.5,
            linestyle="-" if ordered and np.isfinite(ys).sum() > 1 else "none", linewidth=1.8, series=level,
            facts=part,
        )  # fmt: skip
        last.append((float(xs[-1]), float(ys[-1]), level))
    _finish(ax, places, labels, ordered and log2, xlabel, ylabel)
    if hue and hue != x and ends:  # otherwise the axis names the levels already
        name_ends(ax, last, ordered, styles)
    return ax


def strip_with_interval(
    frame: pd.DataFrame,
    *,
    ax: Axes,
    x: str,
    y: str,
    summary: pd.DataFrame,
    xlabel: str,
    ylabel: str,
    order: Sequence[str] | None = None,
) -> Axes:
    """Draw every raw value `y` of each level `x`, and the median with its interval next to them.

    The levels are side by side, many of them in rows, for which `strip_height` is high enough. `summary` has
    one row per level: `x`, ``median``, ``low``, ``high``, in the unit of `y`; `order` is that of the levels
    from left to right. Raises `ConfigError` if a column is missing.
    """
    _need(frame, [x, y])
    _need(summary, [x, "median", "low", "high"])
    levels = list(order) if order is not None else [str(v) for v in frame[x].drop_duplicates()]
    styles, names, rows = looks(levels), frame[x].astype(str), len(levels) > _ACROSS
    for i, level in enumerate(levels):
        values = frame.loc[names == level, y].to_numpy(float)
        shade, mark = styles[level]
        # Places of the raw points are even, not random: the same data give the same figure.
        spread = np.linspace(-0.13, 0.13, len(values)) if len(values) > 1 else np.zeros(len(values))
        places = i - 0.12 + spread
        across, up = (values, places) if rows else (places, values)
        ax.scatter(
            across, up, color=shade, marker=mark, s=34, alpha=0.75,
            linewidth=0,
        )  # fmt: skip
        own = summary[summary[x].astype(str) == level]
        at, middle, ends = np.full(len(own), i + 0.2), own["median"].to_numpy(), (own["low"], own["high"])
        across, up = (middle, at) if rows else (at, middle)
        whiskers(
            ax, across, up, (INK, "D"),
            xends=ends if rows else (), yends=() if rows else ends,
            markersize=6.5, markeredgecolor=INK, capsize=4, elinewidth=1.8, zorder=4,
            series=f"{level}, median", facts=own,
        )  # fmt: skip
    counts = [int((names == level).sum()) for level in levels]
    if rows:
        labels = [f"{wrapped(v, _ROW)}, n = {n}" for v, n in zip(levels, counts, strict=True)]
        name_bars(ax, labels, ylabel)
        ax.set_ylim(len(levels) - 0.5, -0.5)
        return ax
    room = _WIDTH // len(levels)
    ax.set_xticks(
        range(len(levels)), [f"{wrapped(v, room)}\nn = {n}" for v, n in zip(levels, counts, strict=True)]
    )
    ax.set_xlim(-0.6, len(levels) - 0.4)
    ax.set(xlabel=xlabel, ylabel=ylabel)
    return ax


_TIE = "\N{NO-BREAK SPACE}"


def strip_height(levels: int) -> float:
    """Return the height in inches of a figure of `strip_with_interval` with so many levels."""
    return 4.4 if levels <= _ACROSS else 1.2 + 0.42 * levels


def wrapped(text: str, room: int) -> str:
    """Break a text into lines of about so many letters, between words; a number stays with its unit."""
    whole = re.sub(r"(?<=\d) (?=[A-Za-zµ]{1,3}\b|%)", _TIE, text)
    lines = textwrap.fill(whole, max(room, 8), break_long_words=False, break_on_hyphens=False)
    return lines.replace(_TIE, " ")


def interval_rows(
    frame: pd.DataFrame,
    *,
    ax: Axes,
    x: str,
    hue: str,
    xlabel: str,
    legend: bool = True,
    styles: Mapping[str, tuple[str, str]] | None = None,
) -> Axes:
    """Draw medians with their intervals in rows, one a level of `x` with its name, the first on top.

    Columns `x`, `hue`, ``median low high``, in the unit of `xlabel`; the axis begins at zero. Each level of
    `hue` has its fixed colour and marker, of `styles` first. Raises `ConfigError` if a column is missing.
    """
    _need(frame, [x, hue, "median", "low", "high"])
    rows = [str(v) for v in frame[x].drop_duplicates()]
    levels = [str(v) for v in frame[hue].drop_duplicates()]
    for i, level in enumerate(levels):
        look = {**looks(levels), **(styles or {})}[level]
        part = frame[frame[hue].astype(str) == level]
        shift = 0.0 if hue == x else 0.18 * (i - (len(levels) - 1) / 2)
        ys = [rows.index(str(v)) + shift for v in part[x]]
        whiskers(ax, part["median"], ys, look, xends=(part["low"], part["high"]), label=level, facts=part)
    name_bars(ax, rows, xlabel)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_xlim(0, 1.06 * float(np.nanmax(frame[["median", "high"]].to_numpy(float))))
    if len(levels) > 1 and hue != x and legend:
        legend_beside(ax)
    return ax


def ratio_rows(frame: pd.DataFrame, *, ax: Axes, xlabel: str) -> Axes:
    """Draw ratios with their intervals in rows on a logarithmic axis, the first on top, and the line at 1.

    Columns ``name ratio low high word``; each word has its colour and marker. Raises `ConfigError` if a
    column is missing or there is no row.
    """
    _need(frame, ["name", "ratio", "low", "high", "word"])
    words = [str(word) for word in frame["word"].drop_duplicates()]
    ax.axvline(1, color=GREY, linewidth=1.2, zorder=1)
    for word, look in looks(words).items():
        part = frame[(frame["word"] == word).to_numpy()]
        ys = np.arange(len(frame))[(frame["word"] == word).to_numpy()]
        whiskers(ax, part["ratio"], ys, look, xends=(part["low"], part["high"]), label=word, facts=part)
    ax.set_xscale("log")
    name_bars(ax, [str(name) for name in frame["name"]], xlabel)
    ax.set_ylim(len(frame) - 0.5, -0.5)
    if len(words) > 1:
        legend_beside(ax)
    return ax


def upper_bound(ax: Axes, value: float, label: str) -> None:
    """Draw an upper bound (peak, ideal speedup) as a dashed line with its name, in the unit of the y axis."""
    bottom, top = ax.get_ylim()
    ax.set_ylim(bottom, max(top, value + 0.08 * (value - bottom)))
    ax.axhline(value, color=GREY, linestyle=(0, (5, 3)), linewidth=1.3, zorder=1)
    ax.annotate(
        label, (0.005, value), xycoords=("axes fraction", "data"), xytext=(0, 3), textcoords="offset points",
        size=9.5, color=GREY,
    )  # fmt: skip


def from_zero(ax: Axes) -> None:
    """Let the y axis begin at zero and end above the highest mark; all is drawn by now, and positive."""
    ax.set_ylim(0, 1.06 * max(float(ax.dataLim.y1), np.finfo(float).tiny))


def _need(frame: pd.DataFrame, columns: Sequence[str]) -> None:
    if missing := [c for c in columns if c not in frame.columns]:
        raise refused(f"has no column {missing[0]!r}", f"columns are {list(frame.columns)}")
    if frame.empty:
        found = f"has no rows: no run gives {', '.join(dict.fromkeys(columns))}"
        raise refused(found, "measure such runs, or name others in the parameters")


def _places(values: pd.Series) -> tuple[Floats, bool, list[str] | None]:
    """Return where each value stands on the x axis, whether that axis has an order, and its labels."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        labels = [str(c) for c in values.cat.categories]
        return values.cat.codes.to_numpy().astype(float), bool(values.cat.ordered), labels
    if pd.api.types.is_numeric_dtype(values):
        return values.to_numpy(dtype=float), True, None
    labels = [str(v) for v in values.drop_duplicates()]
    return np.array([labels.index(str(v)) for v in values], dtype=float), False, labels


def _finish(ax: Axes, places: Floats, labels: list[str] | None, log2: bool, xlabel: str, ylabel: str) -> None:
    ax.set(xlabel=xlabel, ylabel=ylabel)
    if labels is not None:
        ax.set_xticks(range(len(labels)), [wrapped(label, _WIDTH // len(labels) - 1) for label in labels])
        ax.set_xlim(-0.5, len(labels) - 0.5)
    else:
        if log2:
            ax.set_xscale("log", base=2)
        ticks = np.unique(places)
        if len(ticks) <= 12:
            ax.set_xticks(ticks, [f"{t:g}" if t < 1e6 else f"{t:,.0f}" for t in ticks])
            ax.minorticks_off()
