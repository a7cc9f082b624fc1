"""The one style: inks, colours and markers fixed per factor level, and the evidence label."""

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from analysis.base.errors import BenchbookError, ConfigError
from analysis.pages.figures.table import note

INK, GREY, LINE, PAPER = "#15191e", "#58626d", "#d5dade", "#ffffff"
# Colour-blind safe (after Okabe and Ito), darkened until each has a contrast of 3 to white. The site
# maps each to a lighter one of the same hue on a dark page, see `analysis.pages.figures.svg`.
HUES = {
    "blue": "#0072b2", "orange": "#c77700", "green": "#007a5a", "purple": "#a85590", "red": "#c04a00",
    "sky": "#3a93c4", "olive": "#7a7a00", "grey": "#6b7280",
}  # fmt: skip
_NAMES = tuple(HUES)
_LETTERS = 84  # across a figure
_MARKERS = dict(zip(_NAMES, "os^DvPXp", strict=True))

# A level keeps its colour on every page. Levels of one factor that meet in a figure have different ones.
LEVELS = {
    # interconnects, fast to slow
    **dict.fromkeys(("ib-fdr", "ib-edr", "ib-hdr", "fdr", "ib", "infiniband", "open", "veth-open"), "blue"),
    **dict.fromkeys(("ib-qdr", "ib-ddr", "roce", "40gbe"), "sky"),
    **dict.fromkeys(("10gbe", "10g", "10gbit", "veth-10gbit"), "orange"),
    **dict.fromkeys(("1gbe", "1g", "1gbit", "gige", "veth-1gbit"), "red"),
    **{"the open link": "blue", "the link of 10 gbit/s": "orange", "the link of 1 gbit/s": "red"},
    **dict.fromkeys(("shared-memory", "shm"), "grey"),
    "fdr infiniband": "blue",
    "qdr infiniband": "sky",
    "ib-ndr": "purple",
    # MPI libraries
    **dict.fromkeys(("openmpi", "open mpi", "hpc-x"), "green"),
    **dict.fromkeys(("mpich", "platform-mpi"), "purple"),
    **dict.fromkeys(("intel-mpi", "mvapich2"), "olive"),
    # MPI calls
    **dict.fromkeys(("mpi_send", "mpi_isend"), "blue"),
    **dict.fromkeys(("mpi_recv", "mpi_irecv"), "sky"),
    **dict.fromkeys(("mpi_wait", "mpi_waitall", "mpi_waitany"), "orange"),
    **dict.fromkeys(("mpi_allreduce", "mpi_reduce"), "green"),
    **dict.fromkeys(("mpi_alltoall", "mpi_alltoallv", "mpi_allgather"), "purple"),
    "mpi_bcast": "red",
    "mpi_barrier": "olive",
    "other": "grey",
}
# What a figure says of the evidence that it was drawn from.
_NOTES = {
    "measured": "measured", "published": "published numbers", "reported": "the report's own numbers",
    "simulated": "simulated", "modelled": "modelled",
    "synthetic": "synthetic: a test of the pipeline, no evidence",
}  # fmt: skip


def refused(found: str, remedy: str) -> BenchbookError:
    """Return the error of a figure that cannot be drawn."""
    return ConfigError.at("figure", 0, found, remedy)


def legend_beside(ax: Axes, pad: float = 0.2) -> None:
    """Put the legend to the right of the axes; `pad` is the space from marks to words, in letters."""
    ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0), handletextpad=pad)


def legend_above(ax: Axes) -> None:
    """Put the legend above the axes, over the whole width of the figure."""
    fig = ax.get_figure(root=True)
    assert fig is not None
    handles, labels = ax.get_legend_handles_labels()
    widest = max(map(len, labels), default=0) + 6  # with the mark and the space to the next
    fig.legend(
        handles, labels, loc="outside upper left", ncols=max(1, _LETTERS // widest), frameon=False,
        columnspacing=1.2, handletextpad=0.3,
    )  # fmt: skip


def name_bars(ax: Axes, names: Sequence[str], xlabel: str) -> None:
    """Name horizontal bars, the first on top, and leave the grid to their lengths."""
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.set(xlabel=xlabel, ylabel="")
    ax.grid(True, axis="x")
    ax.grid(False, axis="y")
    ax.tick_params(axis="y", length=0)


def whiskers(
    ax: Axes,
    x: ArrayLike,
    y: ArrayLike,
    look: tuple[str, str],
    *,
    xends: Sequence[ArrayLike] = (),
    yends: Sequence[ArrayLike] = (),
    series: str = "",
    facts: pd.DataFrame | None = None,
    **more: Any,
) -> None:
    """Draw marks of a colour and a shape with the intervals of their x or y, two ends each.

    `series` names them in the figure's table; `facts` has their ``n`` and ``confidence``, if it knows them.
    """
    middles, reach = (np.asarray(x, float), np.asarray(y, float)), []
    for middle, ends in zip(middles, (xends, yends), strict=True):
        low, high = (np.asarray(end, float) for end in ends) if len(ends) else (middle, middle)
        reach.append(np.vstack([middle - low, high - middle]).clip(0) if len(ends) else None)
    kind: dict[str, Any] = {"linestyle": "none", "zorder": 3, "color": look[0], "marker": look[1]}
    kind |= {
        "markersize": 7, "markeredgecolor": PAPER, "markeredgewidth": 0.8, "elinewidth": 1.6, "capsize": 3,
    }  # fmt: skip
    drawn = ax.errorbar(*middles, xerr=reach[0], yerr=reach[1], **kind | more)
    known = {} if facts is None else {key: facts[key] for key in ("n", "confidence") if key in facts}
    note(drawn[0], series or str(more.get("label", "")), known.get("n"), known.get("confidence"))


def use_style() -> None:
    """Set seaborn's and matplotlib's style for every figure that follows."""
    sns.set_theme(context="notebook", style="ticks", palette=list(HUES.values()), rc={
        "font.family": "DejaVu Sans",  # comes with matplotlib: the layout is the same everywhere
        "font.size": 10.5, "axes.labelsize": 10.5, "axes.titlesize": 11.5, "xtick.labelsize": 10,
        "ytick.labelsize": 10, "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY,
        "axes.labelcolor": INK, "axes.linewidth": 0.9, "axes.grid": True, "axes.grid.axis": "y",
        "axes.axisbelow": True, "grid.color": LINE, "grid.linewidth": 0.8, "text.color": INK,
        "xtick.color": GREY, "ytick.color": GREY, "xtick.labelcolor": INK, "ytick.labelcolor": INK,
        "figure.facecolor": PAPER, "axes.facecolor": "none", "lines.linewidth": 1.8, "svg.fonttype": "none",
        "hatch.linewidth": 0.8,
    })  # fmt: skip


def hue_names(levels: Sequence[str]) -> dict[str, str]:
    """Give each level of a factor its hue."""
    given: dict[str, str] = {}
    known = [level for level in levels if level.lower() in LEVELS]
    for level in [*known, *(level for level in levels if level not in known)]:
        start = LEVELS.get(level.lower()) or _NAMES[zlib.crc32(level.lower().encode()) % (len(_NAMES) - 1)]
        order = _NAMES[_NAMES.index(start) :] + _NAMES[: _NAMES.index(start)]
        given.setdefault(level, next((n for n in order if n not in given.values()), start))
    return {level: given[level] for level in levels}


def colour(level: str) -> str:
    """Return the fixed colour of a factor level as ``#rrggbb``, upper and lower case alike."""
    return HUES[hue_names([level])[level]]


def looks(levels: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return colour and marker of each level that meets in one figure; the marker tells them in grey."""
    return {level: (HUES[name], _MARKERS[name]) for level, name in hue_names(levels).items()}


def shared_looks(meetings: Sequence[Sequence[str]]) -> dict[str, tuple[str, str]]:
    """Return colour and marker of the levels of several figures, the same in all of them.

    `meetings` are the levels of each figure: those that meet have different colours, as far as there are
    enough of them.
    """
    given: dict[str, str] = {}
    for levels in meetings:
        for level in levels:
            taken = {given[one] for one in levels if one in given}
            wanted = (LEVELS.get(level.lower(), _NAMES[0]), *_NAMES)
            given.setdefault(level, next((n for n in wanted if n not in taken), wanted[0]))
    return {level: (HUES[name], _MARKERS[name]) for level, name in given.items()}


def new_figure(
    evidence: str, campaign: str = "", *, width: float = 8.6, height: float = 4.4, hatched: bool = False
) -> tuple[Figure, Axes]:
    """Make a figure that says what it rests on: the class `evidence` of its evidence, and the campaign.

    Sizes are in inches; ``synthetic``, or `hatched` of what is no evidence either, puts a hatched band across
    the figure. It is unknown to pyplot, so that a notebook shows it once, through `show`. Raises
    `ConfigError` if there is no such evidence class.
    """
    if evidence not in _NOTES:
        raise refused(f"evidence {evidence!r} is not a class", "use " + ", ".join(_NOTES))
    fig = Figure(figsize=(width, height), layout="constrained")
    ax = fig.add_subplot()
    label = " · ".join(filter(None, (_NOTES[evidence], campaign)))
    top = 1.0
    if evidence == "synthetic" or hatched:
        band = 0.30 / height
        fig.add_artist(
            Rectangle(
                (0, 1 - band), 1, band, transform=fig.transFigure, facecolor=PAPER, edgecolor=GREY,
                hatch="////", linewidth=0, zorder=5,
            )
        )  # fmt: skip
        top = 1 - band
    box = {"facecolor": PAPER, "edgecolor": "none", "pad": 2.5}
    fig.text(
        0.995, 1 - 0.15 / height, label, ha="right", va="center", size=9, color=GREY, zorder=6,
        bbox=box, gid="evidence",
    )  # fmt: skip
    # Room for the label: constrained layout keeps what is drawn below it.
    fig.get_layout_engine().set(rect=(0, 0, 1, min(top, 1 - 0.30 / height)))  # type: ignore[union-attr, call-arg]
    return fig, ax
