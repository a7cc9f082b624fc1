"""Faults of a drawn figure: what a reader would stumble over, each in a few words."""

import math
import re
from collections.abc import Iterator
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from analysis.base.words import percent
from analysis.estimates.measures import SENDING
from analysis.pages.figures.names import AIR, astray, crossed, ends_of
from analysis.pages.figures.table import points, rows
from analysis.schema.factors import TABLE, display_name

_LEAST = 1 / 3  # of an axis that data use, of a figure that its plot uses
_WIDE = 30.0  # times the least ratio, beyond which ratios on a linear axis lie on each other
_SPACE, _SLACK = 4, 2  # pixels
_DPI = 144  # fine enough that letters are as wide as in the SVG
_INTERVAL = re.compile(r"\bintervals?\b")
_NO_INTERVAL = re.compile(r"(without|no|for an) intervals?")
# A report's identifier, or the name of a column; MPI calls and SPECpower's operations are names.
_IDENTIFIER = re.compile(r"\b[a-z]{2,}(19|20)\d\d\b|\b(?!mpi_|ssj_)[a-z]+(?:_[a-z0-9]+)+\b")

Placed = tuple[str, Bbox, Text]


def faults(fig: Figure, description: str) -> list[str]:
    """List what is wrong with a figure whose layout is settled; `description` is its caption.

    These are texts that overlap, are cut off, are crossed by a line or are identifiers; data that use less
    than a third of an axis; ratios too close to read on a linear axis; a plot that its labels squeeze; a line
    through one point; a caption that claims an interval where none is drawn.
    """
    texts = list(_texts(fig))
    found = [*_overlaps(texts), *_cut(fig, texts), *_identifiers(texts)]
    for ax in (ax for ax in fig.axes if ax.get_label() != "<colorbar>" and ax.get_visible()):
        found += [*_unused(fig, ax), *_wide(ax), *_single(ax), *_crossed(ax, texts)]
    return list(dict.fromkeys([*found, *_claimed(fig, description)]))


def _texts(fig: Figure) -> Iterator[Placed]:
    """Give the texts that are drawn, with their places in pixels."""
    fig.set_dpi(_DPI)
    renderer: Any = FigureCanvasAgg(fig).get_renderer()  # type: ignore[no-untyped-call]
    fig.draw_without_rendering()  # puts labels and legends where they are at this resolution
    hidden = set()
    for ax in fig.axes:
        for axis in (ax.xaxis, ax.yaxis):
            low, high = sorted(axis.get_view_interval())
            slack = 1e-9 * (high - low)
            for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
                inside = low - slack <= tick.get_loc() <= high + slack
                shown = [one for one in (tick.label1, tick.label2) if inside and one.get_visible()]
                hidden |= {id(one) for one in (tick.label1, tick.label2) if one not in shown}
    for text in fig.findobj(Text):
        assert isinstance(text, Text)
        string = " ".join(text.get_text().split())
        if string and text.get_visible() and id(text) not in hidden:
            yield string, text.get_window_extent(renderer), text


def _overlaps(texts: list[Placed]) -> Iterator[str]:
    pairs = [
        f"“{one}” and “{other}”"
        for (one, a, first), (other, b, second) in combinations(texts, 2)
        if _meet(a, b) and not (first.get_rotation() % 90 and second.get_rotation() % 90)
    ]
    for (one, a, first), (other, b, second) in pairwise(texts):
        angle = math.radians(first.get_rotation())
        if first.get_rotation() % 90 and first.get_rotation() == second.get_rotation():
            tall = a.height / (math.sin(angle) + math.cos(angle)) / max(len(one) / 4, 1)
            if 0 < (b.x1 - a.x1) * math.sin(angle) < tall:
                pairs.append(f"“{one}” and “{other}”")
    if pairs:
        more = f" and {len(pairs) - 1} more pairs" if len(pairs) > 1 else ""
        yield f"texts overlap: {pairs[0]}{more}"


def _meet(a: Bbox, b: Bbox) -> bool:
    across = min(a.x1, b.x1) - max(a.x0, b.x0)
    along = min(a.y1, b.y1) - max(a.y0, b.y0)
    # Words in a line need a space between them.
    near = -_SPACE if along > 0.5 * min(a.height, b.height) else _SLACK
    return bool(across > near and along > AIR * min(a.height, b.height) + _SLACK)


def _cut(fig: Figure, texts: list[Placed]) -> Iterator[str]:
    (left, low), (right, top) = fig.bbox.get_points()
    cut = [
        f"“{string}” is cut off"
        for string, box, _ in texts
        if box.x0 < left - _SLACK or box.x1 > right + _SLACK or box.y0 < low - _SLACK or box.y1 > top + _SLACK
    ]
    if cut:
        yield cut[0] + (f" and {len(cut) - 1} more texts" if len(cut) > 1 else "")


def _identifiers(texts: list[Placed]) -> Iterator[str]:
    messages = any("message" in string for string, _, _ in texts)
    for string, _, text in texts:
        if text.get_gid() == "evidence":  # names the campaign, as its data do
            continue
        if found := _IDENTIFIER.search(string):
            yield f"“{found[0]}” is an identifier, no name"
        for word, row in ((word, row) for word in string.split(", ") for row in TABLE):
            if (name := display_name(row.name, word)) != word:
                yield f"“{word}” is an identifier of {name}"
        if messages and string.startswith("MPI_") and string not in SENDING:
            yield f"{string} sends no message"


def _unused(fig: Figure, ax: Axes) -> Iterator[str]:
    shared = [each for each in ax.figure.axes if each is ax or ax.get_shared_x_axes().joined(ax, each)]
    box, plot = ax.dataLim.frozen(), ax.get_window_extent()
    box.intervalx = Bbox.union([each.dataLim for each in shared]).intervalx
    if any(isinstance(one, QuadMesh) for one in ax.collections):
        return
    if plot.width < _LEAST * fig.bbox.width:
        yield f"the plot has {percent(plot.width / fig.bbox.width)} of the width"
    if not np.isfinite(box.get_points()).all():
        yield "nothing is drawn"
        return
    for name, axis, low, high in (("x", ax.xaxis, box.x0, box.x1), ("y", ax.yaxis, box.y0, box.y1)):
        first, last = sorted(axis.get_view_interval())
        low, high = max(low, first), min(high, last)
        if axis.get_scale() == "linear" and first <= 0 < low:
            low = 0.0  # lengths are read from there
        ends = axis.get_transform().transform(np.array([first, last, low, high], dtype=float))
        if not _of_words(axis) and (used := (ends[3] - ends[2]) / (ends[1] - ends[0])) < _LEAST:
            yield f"data use {percent(used)} of the {name} axis"


def _of_words(axis: Any) -> bool:
    """Tell whether the places of an axis are words, each with its tick."""
    labels = [one.get_text() for one in axis.get_ticklabels()]
    return bool(labels) and not any(
        re.fullmatch(r"[−\d.,⁰-⁹×·^{}$\\a-z]*\d\S*", one) for one in labels if one
    )


def _wide(ax: Axes) -> Iterator[str]:
    """Find ratios, and their intervals, that lie on each other on a linear axis."""
    table = pd.DataFrame(rows(ax))
    for name, axis in (("x", ax.xaxis), ("y", ax.yaxis)):
        if axis.get_scale() != "linear" or not re.match(r"(times|ratio|speedup)\b", axis.get_label_text()):
            continue
        ends = [one for one in (name, f"{name}_low", f"{name}_high") if one in table]
        values = table[ends].to_numpy(dtype=float)
        values = values[np.isfinite(values)]
        if values.size and 0 < values.min() * _WIDE < values.max():
            yield f"ratios from {values.min():.3g} to {values.max():.3g} on a linear {name} axis"


def _single(ax: Axes) -> Iterator[str]:
    for line in ax.lines:
        inside = all(line.get_transform().contains_branch_seperately(ax.transData))
        known = np.isfinite(np.asarray(line.get_xydata(), dtype=float)).all(axis=1).sum()
        if inside and known == 1 and line.get_linestyle() not in ("None", "none", " ", ""):
            yield "a line has one point"


def _crossed(ax: Axes, texts: list[Placed]) -> Iterator[str]:
    """Find texts that a line of the same panel crosses; one with a ground of its own may stand on it.

    The name of a curve may not, and has to be closer to the end of its own curve than to that of another.
    """
    own, names = {id(one) for one in ax.texts}, ends_of(ax)
    for string, box, text in texts:
        if id(text) in own and (text.get_bbox_patch() is None or text in names) and crossed(ax, box):
            yield f"a line crosses “{string}”"
        if astray(ax, text, box):
            yield f"“{string}” is at the end of another curve"


def _claimed(fig: Figure, description: str) -> Iterator[str]:
    if not _INTERVAL.search(_NO_INTERVAL.sub("", description)):
        return
    table = points(fig)
    drawn = any(
        f"{one}_low" in table and (table[f"{one}_low"] < table[f"{one}_high"]).any() for one in ("x", "y")
    )
    if not drawn:
        yield "the caption claims an interval and none is drawn"
