"""Counts of words, stacked: how many claims of each topic hold."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from analysis.pages.figures.style import GREY, HUES, INK, PAPER, name_bars

# Verdicts differ by hatch as well as by colour, so that they can be told apart in grey.
_SIZES = (", larger", ", size open", ", smaller")
_LOOKS = {
    **dict.fromkeys(("holds", "consistent", "recovered", "inside the band"), ("green", "")),
    **{f"holds in direction{size}": ("sky", "//") for size in _SIZES},
    "seen at this scale": ("sky", ""),
    **{f"seen{size}": ("sky", "\\\\") for size in _SIZES},
    **dict.fromkeys(("an analogue shows it", "an analogue shows the direction"), ("olive", "")),
    **dict.fromkeys(("cannot tell", "not checkable"), ("grey", "..")),
    "could not fail": ("sky", ".."),
    "too wide to tell": ("grey", "//"),
    "out of reach here": ("grey", "oo"),
    "an analogue does not show it": ("olive", "xx"),
    "not seen at this scale": ("orange", "xx"),
    **dict.fromkeys(("does not hold", "inconsistent", "not recovered", "outside the band"), ("red", "xx")),
}


def count_bars(table: pd.DataFrame, *, ax: Axes, xlabel: str) -> Axes:
    """Draw counts, shape (topic, verdict), as stacked horizontal bars; `xlabel` says what is counted.

    Verdicts stand in the order of what they say for a claim.
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
            linewidth=0, label=word,
        )  # fmt: skip
        for place, start, count in zip(places, left, counts, strict=True):
            if count:
                ax.annotate(
                    f"{count:g}", (start + count / 2, place), ha="center", va="center", color=INK, size=10,
                    bbox={"boxstyle": "round,pad=0.2", "facecolor": PAPER, "edgecolor": "none"},
                )  # fmt: skip
        left += counts
    name_bars(ax, [str(name) for name in table.index], xlabel)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.grid(True, axis="x", color=GREY, alpha=0.3)
    ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1.0), ncols=4)
    return ax
