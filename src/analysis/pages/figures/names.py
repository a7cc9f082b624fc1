"""Names of curves: at their ends where they can be read there, in a legend where they cannot."""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.path import Path
from matplotlib.text import Annotation, Text
from matplotlib.transforms import Bbox
from numpy.typing import NDArray

from analysis.pages.figures.style import INK, PAPER, legend_beside

Floats = NDArray[np.float64]
_END = "line-end"  # marks the names at the ends of lines
_LINE = 12.5  # of text at size 10, in points
_ASIDE = 9.0  # from the end of a curve to its name
_FAR = 2 * _LINE  # from its end a name is no longer seen to belong to it
# Of a text's height, what no letter uses; of its width, nothing.
AIR = 0.15
_SLACK = 1.0  # point: the linter draws finer than the placing of names


def name_ends(
    ax: Axes, ends: Sequence[tuple[float, float, str]], ordered: bool, styles: Mapping[str, tuple[str, str]]
) -> None:
    """Write each level's name where its line ends; a legend where there are no lines."""
    if not ordered:
        _legend(ax, [(level, *styles[level]) for _, _, level in ends], "none")
        return
    for x, y, level in ends:
        name = ax.annotate(
            level, (x, y), xytext=(_ASIDE, 0), textcoords="offset points", va="center", size=10, color=INK,
            annotation_clip=False, gid=_END, zorder=5,
            bbox={"facecolor": PAPER, "edgecolor": "none", "alpha": 0.8, "pad": 0.5},
        )  # fmt: skip
        name.look = styles[level]  # type: ignore[attr-defined]


def part_names(fig: Figure) -> bool:
    """Separate the names of lines that end close together; the scales must be final by now.

    Where a curve crosses a name, or a name has to go far from its end, all names of the panel move to a
    legend, from the highest end to the lowest. Return whether there is a new legend, which takes room.
    """
    moved = False
    renderer = FigureCanvasAgg(fig).get_renderer()  # type: ignore[no-untyped-call]
    for ax in fig.axes:
        if not (names := ends_of(ax)):
            continue
        ends = [float(ax.transData.transform(name.xy)[1]) for name in names]
        far = _separate(ax, names, ends, renderer)
        boxes = [(name, name.get_window_extent(renderer)) for name in names]
        if far or any(astray(ax, name, box) or crossed(ax, box) for name, box in boxes):
            order = np.argsort(ends, kind="stable")[::-1]
            looks = [(names[i].get_text(), *names[i].look) for i in order]
            for name in names:
                name.remove()
            _legend(ax, looks, "-")
            moved = True
    return moved


def _separate(ax: Axes, names: Sequence[Annotation], ends: Sequence[float], renderer: RendererBase) -> bool:
    """Put names that begin below or above each other a line apart; tell whether one is far from its end."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    per_point = figure.dpi / 72
    top, far = ax.get_window_extent().y1 / per_point, False
    for group in _columns([name.get_window_extent(renderer) for name in names]):
        heights = np.array([ends[i] for i in group]) / per_point
        order = np.argsort(heights, kind="stable")
        for i, offset in zip(order, _apart(heights[order], top) - heights[order], strict=True):
            names[group[i]].xyann = (_ASIDE, float(offset))
            far |= bool(abs(offset) > _FAR + 1e-6)
    return far


def _columns(boxes: Sequence[Bbox]) -> list[list[int]]:
    """Group places that share a part of their widths."""
    groups: list[list[int]] = []
    right = -np.inf
    for i in sorted(range(len(boxes)), key=lambda i: (boxes[i].x0, i)):
        if boxes[i].x0 > right:
            groups.append([])
        groups[-1].append(i)
        right = max(right, boxes[i].x1)
    return [sorted(group) for group in groups]


def ends_of(ax: Axes) -> list[Annotation]:
    """Return the names at the ends of the curves of a panel."""
    return [text for text in ax.texts if isinstance(text, Annotation) and text.get_gid() == _END]


def astray(ax: Axes, name: Text, box: Bbox) -> bool:
    """Tell whether a name that takes this place is closer to the end of another curve than to its own."""
    names = ends_of(ax)
    if name not in names:
        return False
    start = np.array([box.x0, (box.y0 + box.y1) / 2])
    away = [float(np.hypot(*(ax.transData.transform(one.xy) - start))) for one in names]
    figure = ax.get_figure(root=True)
    assert figure is not None
    return min(away) < away[names.index(name)] - _SLACK * figure.dpi / 72


def crossed(ax: Axes, box: Bbox) -> bool:
    """Tell whether a line, a whisker or a mark of a panel lies under a text that takes this place."""
    inner = Bbox.from_extents(box.x0, box.y0 + AIR * box.height, box.x1, box.y1 - AIR * box.height)
    return any(path.intersects_bbox(inner, filled=False) for path in _paths(ax)) or any(
        inner.contains(*place) for place in _marks(ax)
    )


def _paths(ax: Axes) -> list[Path]:
    paths = [
        one.get_transform().transform_path(one.get_path())
        for one in ax.lines
        if one.get_linestyle() not in ("None", "none", " ", "") and len(one.get_path())
    ]
    for part in ax.collections:
        if isinstance(part, LineCollection):
            paths += [part.get_transform().transform_path(path) for path in part.get_paths()]
    return paths


def _marks(ax: Axes) -> list[Floats]:
    marked = [one for one in ax.lines if one.get_marker() not in ("None", "none", " ", "")]
    return [place for one in marked for place in one.get_transform().transform(one.get_xydata())]


def _legend(ax: Axes, looks: Sequence[tuple[str, str, str]], style: Literal["-", "none"]) -> None:
    for level, shade, mark in looks:
        line = style if mark else "--"  # what is no measured curve is dashed
        handle = Line2D([], [], color=shade, marker=mark, linestyle=line, markersize=7, label=level)
        handle.set_markeredgecolor(PAPER)
        ax.add_line(handle)
    legend_beside(ax, 0.2 if style == "none" else 0.6)


def _apart(ends: Floats, top: float) -> Floats:
    """Put names that are sorted by height a line apart: upwards, and down again from the top of the axes."""
    places = ends.copy()
    for i in range(1, len(places)):
        places[i] = max(places[i], places[i - 1] + _LINE)
    for i in range(len(places) - 1, -1, -1):
        places[i] = min(places[i], places[i + 1] - _LINE if i + 1 < len(places) else max(top, ends[i]))
    return places
