"""The numbers that a figure draws, as CSV: what is on the axes, read from the axes themselves."""

import hashlib
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import PathCollection, QuadMesh
from matplotlib.container import BarContainer, ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedFormatter, FuncFormatter

COLUMNS = (
    *("panel", "series", "x", "x_label", "y", "y_label"),
    *("x_low", "x_high", "y_low", "y_high", "value", "n", "level", "x_axis", "y_axis"),
)
_FACTS = "_benchbook_facts"  # what an artist knows of its points in addition to their places


def note(artist: Any, series: str, n: Any = None, level: Any = None) -> None:
    """Give the points of an artist the name of their series, their n and the levels of their intervals."""
    setattr(artist, _FACTS, {"series": series, "n": n, "level": level})


def points(fig: Figure) -> pd.DataFrame:
    """Read the points of a drawn figure, one row a point, columns `COLUMNS`.

    Numbers are in the units of the axes, whose labels are ``x_axis`` and ``y_axis``; a place that stands for
    a word has it in ``x_label`` or ``y_label``. Cells of a matrix have a ``value``.
    """
    found = [
        {"panel": ax.get_title(loc="left") or ax.get_title() or number, **_axes(ax), **row}
        for number, ax in enumerate(fig.axes, start=1)
        if ax.get_label() != "<colorbar>"
        for row in rows(ax)
    ]
    return pd.DataFrame(found, columns=list(COLUMNS)).dropna(axis="columns", how="all")


def as_csv(fig: Figure, description: str) -> str:
    """Write the points as CSV, below lines with ``#``: what it shows, and the SHA-256 of what follows."""
    table = points(fig)
    if table.empty:
        return ""
    body = table.to_csv(index=False, lineterminator="\n", float_format="%.10g")
    digest = hashlib.sha256(body.encode()).hexdigest()
    return f"# {' '.join(description.split())}\n# SHA-256 of the lines below: {digest}\n{body}"


def _axes(ax: Axes) -> dict[str, str]:
    return {"x_axis": " ".join(ax.get_xlabel().split()), "y_axis": " ".join(ax.get_ylabel().split())}


def rows(ax: Axes) -> Iterator[dict[str, Any]]:
    """Give the points of one panel, with the columns that they have."""
    drawn: set[int] = set()
    for one in ax.containers:
        if isinstance(one, ErrorbarContainer) and one[0] is not None:
            drawn |= {id(one[0]), *map(id, one[1])}
            yield from _named(ax, one[0], one.get_label(), _ends(one))
        elif isinstance(one, BarContainer):
            yield from _bars(ax, one)
    for line in ax.lines:
        inside = all(line.get_transform().contains_branch_seperately(ax.transData))
        if id(line) not in drawn and inside and np.size(line.get_xydata()):
            yield from _named(ax, line, line.get_label(), {})
    for part in ax.collections:
        if isinstance(part, PathCollection) and np.size(part.get_offsets()):
            yield from _placed(ax, np.asarray(part.get_offsets()), _series(part, part.get_label()), {}, {})
        elif isinstance(part, QuadMesh):
            yield from _cells(part)


def _ends(one: ErrorbarContainer) -> dict[str, np.ndarray]:
    """Return the ends of the intervals of error bars, by column."""
    found: dict[str, np.ndarray] = {}
    kinds = [kind for kind, there in (("x", one.has_xerr), ("y", one.has_yerr)) if there]
    for kind, lines in zip(kinds, one[2], strict=True):
        at = "xy".index(kind)
        segments = [np.asarray(segment) for segment in lines.get_segments()]
        found[f"{kind}_low"] = np.array([s[0][at] if len(s) else math.nan for s in segments])
        found[f"{kind}_high"] = np.array([s[-1][at] if len(s) else math.nan for s in segments])
    return found


def _named(ax: Axes, line: Line2D, label: object, ends: dict[str, np.ndarray]) -> Iterator[dict[str, Any]]:
    facts = getattr(line, _FACTS, {})
    more = {key: facts[key] for key in ("n", "level") if facts.get(key) is not None}
    places = np.asarray(line.get_xydata(), dtype=float)
    yield from _placed(ax, places, _series(line, label), ends, more)


def _placed(
    ax: Axes, places: np.ndarray, series: str, ends: dict[str, np.ndarray], more: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    for at, (x, y) in enumerate(places):
        if math.isfinite(x) and math.isfinite(y):
            row = {"series": series, "x": x, "y": y}
            row |= {"x_label": _label(ax.xaxis, x), "y_label": _label(ax.yaxis, y)}
            row |= {key: values[at] for key, values in ends.items()}
            yield row | {key: np.asarray(values)[at] for key, values in more.items()}


def _bars(ax: Axes, bars: BarContainer) -> Iterator[dict[str, Any]]:
    flat = bars.orientation == "horizontal"
    for one in bars.patches:
        middle = one.get_y() + one.get_height() / 2 if flat else one.get_x() + one.get_width() / 2
        x, y = (one.get_width(), middle) if flat else (middle, one.get_height())
        if x if flat else y:
            labels = {"x_label": _label(ax.xaxis, x), "y_label": _label(ax.yaxis, y)}
            yield {"series": _series(bars, bars.get_label()), "x": x, "y": y, **labels}


def _cells(mesh: QuadMesh) -> Iterator[dict[str, Any]]:
    values: np.ndarray = np.ma.filled(np.ma.asarray(mesh.get_array(), dtype=float), np.nan)
    if values.ndim == 2:
        for (row, column), value in np.ndenumerate(values):
            if math.isfinite(value):
                yield {"x": column, "y": row, "value": value}


def _series(artist: Any, label: object) -> str:
    own = getattr(artist, _FACTS, {}).get("series")
    text = str(own if own is not None else label)
    return "" if text.startswith("_") else text


def _label(axis: Axis, place: float) -> str | None:
    """Return the word at a place of an axis of words."""
    formatter, ticks = axis.get_major_formatter(), np.asarray(axis.get_majorticklocs(), dtype=float)
    if not isinstance(formatter, FixedFormatter | FuncFormatter) or not len(ticks):
        return None
    nearest = int(np.argmin(np.abs(ticks - place)))
    word = " ".join(str(formatter(float(ticks[nearest]), nearest)).split())
    number = word.replace(".", "", 1).replace(",", "").replace("−", "").isdecimal()
    return None if number or not word or abs(ticks[nearest] - place) > 0.5 else word
