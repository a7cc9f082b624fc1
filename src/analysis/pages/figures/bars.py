"""Bars: counts of words, stacked, and shares of a whole."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from analysis.base.words import displayed
from analysis.claims.rules import FAILS, HOLDS
from analysis.claims.simulated import FORBIDS, PERMITS
from analysis.claims.verdicts import AGREES, DISAGREES, SOURCE_WORDS
from analysis.estimates.finding import RULED_OUT, directed
from analysis.pages.figures.points import wrapped
from analysis.pages.figures.style import (
    GREY,
    HUES,
    INK,
    PAPER,
    legend_above,
    looks,
    name_bars,
    refused,
    whiskers,
)  # fmt: skip

# Verdicts differ by hatch as well as by colour, so that they can be told apart in grey.
_SIZES = (", larger", ", size open", ", smaller")
_LOOKS = {
    **dict.fromkeys(("holds", "consistent", "recovered", PERMITS, "inside the band"), ("green", "")),
    **{f"holds in direction{size}": ("sky", "//") for size in _SIZES},
    "seen at this scale": ("sky", ""),
    **{f"seen{size}": ("sky", "\\\\") for size in _SIZES},
    "an analogue shows it": ("olive", ""),
    **{f"an analogue shows the direction{size}": ("olive", "") for size in ("", *RULED_OUT)},
    **dict.fromkeys(AGREES, ("sky", "oo")),
    **{directed(agrees, size): ("sky", "OO") for agrees in AGREES for size in ("", *RULED_OUT)},
    **dict.fromkeys(SOURCE_WORDS[HOLDS], ("green", "..")),
    **dict.fromkeys(("cannot tell", "not checkable"), ("grey", "..")),
    "could not fail": ("sky", ".."),
    "too wide to tell": ("grey", "//"),
    "out of reach here": ("grey", "oo"),
    "an analogue does not show it": ("olive", "xx"),
    "not seen at this scale": ("orange", "xx"),
    **dict.fromkeys(DISAGREES, ("orange", "oo")),
    **dict.fromkeys(SOURCE_WORDS[FAILS], ("red", "..")),
    **dict.fromkeys(
        ("does not hold", "inconsistent", "not recovered", FORBIDS, "outside the band"), ("red", "xx")
    ),
}


def count_bars(table: pd.DataFrame, *, ax: Axes, xlabel: str) -> Axes:
    """Draw counts, shape (topic, verdict), as stacked horizontal bars; `xlabel` says what is counted.

    Verdicts are ordered from support to contradiction.
    """
    words: list[str] = sorted(map(str, table.columns), key=list(_LOOKS).index)
    table = table[words]
    places = np.arange(len(table))
    left = np.zeros(len(table))
    for word in map(str, table.columns):
        hue, hatch = _LOOKS[word]
        counts = table[word].to_numpy(dtype=float)
        ax.barh(
            places, counts, left=left, height=0.62, color=HUES[hue], hatch=hatch, edgecolor=PAPER,
            linewidth=0, label=displayed(word),
        )  # fmt: skip
        for place, start, count in zip(places, left, counts, strict=True):
            if count:
                ax.annotate(
                    f"{count:g}", (start + count / 2, place), ha="center", va="center", color=INK, size=10,
                    bbox={"boxstyle": "round,pad=0.2", "facecolor": PAPER, "edgecolor": "none"},
                )  # fmt: skip
        left += counts
    name_bars(ax, [wrapped(str(name), 40) for name in table.index], xlabel)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.grid(True, axis="x", color=GREY, alpha=0.3)
    legend_above(ax)
    return ax


def share_bars(
    frame: pd.DataFrame,
    *,
    ax: Axes,
    name: str,
    share: str,
    low: str | None = None,
    high: str | None = None,
    claimed: str | None = None,
    xlabel: str,
) -> Axes:
    """Draw shares of a whole, in percent, as bars, with intervals and the claimed share.

    `name`, `share`, `low`, `high` and `claimed` are columns; a claimed share (NaN where none) is a hollow
    diamond. Raises `ConfigError` if a share is not within 0 to 100 %.
    """
    shares = frame[share].to_numpy(dtype=float)
    if ((shares < 0) | (shares > 100)).any():
        raise refused(f"share {shares.max():g} is not in 0..100", "give shares in percent")
    names = [str(v) for v in frame[name]]
    styles = looks(names)
    places = np.arange(len(names))
    ax.barh(places, shares, height=0.62, color=[styles[n][0] for n in names], alpha=0.85)
    ends = shares.copy()  # where the number stands: beyond bar, interval and a claim close by
    if low and high:
        whiskers(ax, shares, places, (INK, ""), xends=(frame[low], frame[high]), capsize=4)
        ends = np.fmax(shares, frame[high].to_numpy(float))  # a single run has no interval
    if claimed:
        values = frame[claimed].to_numpy(dtype=float)
        ax.plot(values, places, "D", color=INK, markerfacecolor=PAPER, markersize=8.5, markeredgewidth=1.5)
        ax.plot([], [], "D", color=INK, markerfacecolor=PAPER, markersize=8.5, label="the report's claim")
        ax.legend(frameon=False, loc="lower right")
        ends = np.where((values > ends - 3) & (values < ends + 10), np.fmax(ends, values), ends)
    for x, y, value in zip(ends, places, shares, strict=True):
        text = f"{value:.3g} %"
        ax.annotate(text, (x, y), xytext=(9, 0), textcoords="offset points", va="center", size=10, color=INK)
    name_bars(ax, names, xlabel)
    furthest = float(np.nanmax([*ends, *(frame[claimed].to_numpy(dtype=float) if claimed else ())]))
    ax.set_xlim(0, 100 if furthest > 40 else 50)
    return ax
