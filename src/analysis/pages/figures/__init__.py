"""Figures of the notebooks: one seaborn style, one colour a factor level, an evidence label on each.

A notebook makes a figure with `new_figure`, draws with the helpers, and ends with `show`. Its SVG
is the same bytes for the same data, and follows the light or dark theme of the page.
"""

from analysis.pages.figures.bars import count_bars, share_bars
from analysis.pages.figures.points import (
    from_zero,
    interval_points,
    interval_rows,
    ratio_rows,
    strip_height,
    strip_with_interval,
    upper_bound,
    wrapped,
)
from analysis.pages.figures.profiles import heatmap, size_histogram
from analysis.pages.figures.style import colour, legend_above, new_figure, use_style
from analysis.pages.figures.svg import show, svg, zoomable

__all__ = [
    "colour", "count_bars", "from_zero", "heatmap", "interval_points", "interval_rows", "legend_above",
    "new_figure", "ratio_rows", "share_bars", "show", "size_histogram", "strip_height", "strip_with_interval",
    "svg", "upper_bound", "use_style", "wrapped", "zoomable",
]  # fmt: skip
