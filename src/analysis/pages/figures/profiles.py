"""Figures of a profile: who sends to whom, and message sizes."""

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from numpy.typing import ArrayLike

from analysis.pages.figures.style import GREY, legend_beside, looks, refused

_EMPTY = "#f1f3f4"  # the ground of a matrix: light on dark pages too, or its dark cells would vanish
_BINARY = ("B", "KiB", "MiB", "GiB", "TiB")


def heatmap(matrix: ArrayLike, *, ax: Axes, label: str) -> Axes:
    """Draw a communication matrix, shape (rank, peer); pairs without messages are 0 or NaN and stay empty.

    `label` is the label of the colour scale, with the unit: ``sent (MB)``. Raises `ConfigError` if `matrix`
    is not a matrix, or has no positive value.
    """
    values = np.asarray(matrix, dtype=float)
    if values.ndim != 2 or not (values > 0).any():
        found = f"matrix of shape {values.shape} holds nothing to draw"
        remedy = "it needs a run with a profile of who sends to whom, IPM with IPM_LOG=full"
        raise refused(found, f"{remedy}; name one in the parameters")
    spoken = np.where(values > 0, values, np.nan)
    low, high = float(np.nanmin(spoken)), float(np.nanmax(spoken))
    norm = LogNorm(low, high) if high > 30 * low else None
    small = max(values.shape) <= 16
    sns.heatmap(
        spoken, ax=ax, cmap="cividis_r", norm=norm, vmin=None if norm else 0, vmax=None if norm else high,
        square=True, linewidths=1 if small else 0, linecolor=_EMPTY,
        annot=small and max(values.shape) <= 8, fmt=".3g", annot_kws={"size": 10},
        cbar_kws={"label": label, "shrink": 0.85},
    )  # fmt: skip
    for text in ax.texts:  # on a dark cell: white on every page, not the page's paper
        text.set_color("#fffffe" if text.get_color() in ("w", "white", "#ffffff") else "#15191f")
    if not small:
        ax.collections[0].set_rasterized(True)  # 4,096 cells are an image of 5 kB or paths of 800 kB
    step = max(1, int(2 ** np.ceil(np.log2(max(values.shape) / 16))))
    for axis, n in ((ax.xaxis, values.shape[1]), (ax.yaxis, values.shape[0])):
        axis.set_ticks(np.arange(0, n, step) + 0.5, [str(i) for i in range(0, n, step)], rotation=0)
    ax.set(xlabel="receiving rank", ylabel="sending rank", facecolor=_EMPTY)
    ax.tick_params(length=0)
    ax.grid(False)
    for side in ax.spines.values():
        side.set(visible=True, edgecolor=GREY, linewidth=0.8)
    return ax


def size_histogram(frame: pd.DataFrame, *, ax: Axes) -> Axes:
    """Draw the number of messages by size and call: columns ``call size count``, size in B.

    Size is on a log2 axis with a separate 0, count on a log10 axis. Sizes below 0 (unknown) are left out and
    listed. Raises `ConfigError` if no message has a known size.
    """
    known = frame[(frame["size"] >= 0) & (frame["count"] > 0)]
    if known.empty:
        remedy = "it needs runs with a full profile of message sizes, by IPM or mpiP"
        raise refused("no message has a known size", f"{remedy}; name such runs in the parameters")
    table = known.groupby(["call", "size"], sort=False)["count"].sum().reset_index()
    sizes = sorted(table["size"].unique())
    positive = [s for s in sizes if s > 0]
    zero = np.log2(positive[0]) - 1.5 if positive else 0.0  # log2 has no place for 0: it gets its own
    place = {s: np.log2(s) if s > 0 else zero for s in sizes}
    levels = [str(c) for c in table.groupby("call")["count"].sum().sort_values(ascending=False).index]
    table["order"] = [levels.index(str(c)) for c in table["call"]]
    table = table.sort_values(["size", "order"])
    lane = table.groupby("size").cumcount() - (table.groupby("size")["size"].transform("size") - 1) / 2
    table["x"] = [place[s] + 0.16 * i for s, i in zip(table["size"], lane, strict=True)]
    styles = looks(levels)
    for level in levels:
        part = table[table["call"].astype(str) == level]
        xs, ys = part["x"].to_numpy(float), part["count"].to_numpy(float)
        shade, mark = styles[level]
        ax.vlines(xs, 0.7, ys, color=shade, linewidth=2, alpha=0.55)
        ax.plot(xs, ys, mark, color=shade, markersize=6.5, label=level)
    ax.set_yscale("log")
    ax.set_ylim(bottom=0.7)
    places = np.array([place[s] for s in sizes] if len(sizes) <= 14 else _powers(positive))
    ticks = sizes if len(sizes) <= 14 else [2 ** int(p) for p in _powers(positive)]
    names = [_binary(float(s)) for s in ticks]
    # A label is less than a fourteenth of the axis wide; turned, a twenty-fourth; upright, half of that. The
    # larger of two that are closer keeps its.
    gap = np.diff(places).min() / np.ptp(places) if len(ticks) > 1 else 1
    ax.set_xticks(places, names, rotation=0 if gap > 1 / 14 else 45 if gap >= 1 / 24 else 90)
    for i in np.flatnonzero(np.diff(places) < np.ptp(places) / 48):  # the figure's table keeps its word
        ax.get_xticklabels()[i].set_visible(False)
    ax.set(xlabel="message size", ylabel="messages (count)")
    legend_beside(ax)
    unknown = float(frame.loc[frame["size"] < 0, "count"].sum())
    if unknown:
        ax.set_title(f"{unknown:,.0f} calls of unknown size are not shown", size=9.5, color=GREY, loc="left")
    return ax


def _powers(sizes: list[float]) -> list[float]:
    first, last = int(np.floor(np.log2(sizes[0]))), int(np.ceil(np.log2(sizes[-1])))
    step = max(1, round((last - first) / 10))
    return [float(p) for p in range(first, last + 1, step)]


def _binary(size: float) -> str:
    power = 0
    while size >= 1024 and power < len(_BINARY) - 1:
        size, power = size / 1024, power + 1
    return f"{size:g} {_BINARY[power]}"
