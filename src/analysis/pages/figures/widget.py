"""A figure that can be zoomed in JupyterLab."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure


def zoomable(fig: Figure) -> Any:
    """Make a figure a widget with a toolbar to zoom, move and save, for the last expression of a cell.

    It needs a running kernel: pages get `show`.
    """
    from ipympl.backend_nbagg import Canvas, FigureManager  # only those who zoom wait for it

    canvas = Canvas(fig)
    canvas.header_visible = False
    FigureManager(canvas, 0)
    return canvas
