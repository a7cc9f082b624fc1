"""Figures as SVG: the same bytes for the same data, with a description, at home on light and dark."""

import hashlib
import html
import io
import re
from typing import Any

import matplotlib as mpl
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatterSciNotation

from analysis.pages.figures.faults import faults
from analysis.pages.figures.names import part_names
from analysis.pages.figures.style import GREY, HUES, INK, LINE, PAPER, refused
from analysis.pages.figures.table import as_csv

# Each colour of the style becomes a custom property with itself as fallback: a page that defines the
# property (the site, light and dark) recolours the figure, everything else shows it as drawn.
_PROPERTIES = {
    INK: "--ink",
    GREY: "--grey",
    LINE: "--line",
    PAPER: "--figure-paper",
    **{c: f"--f-{n}" for n, c in HUES.items()},
}
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_FONTS = "system-ui, 'Segoe UI', Roboto, 'Liberation Sans', Arial, sans-serif"


def svg(fig: Figure, *, description: str) -> str:
    """Write a figure as an SVG element without XML declaration; the same figure gives the same text.

    The description says what it shows, with its main values: it is the alternative text and the caption.
    Raises `ConfigError` if it is empty.
    """
    if not description.strip():
        raise refused("has no description", "say in a sentence what it shows")
    salt = hashlib.sha256(description.encode()).hexdigest()[:8]
    _letter_powers(fig)
    engine = fig.get_layout_engine()
    if engine is not None:
        # Constrained layout moves a little at each drawing: settled once, it gives the same bytes ever after.
        engine.execute(fig)
    if part_names(fig) and engine is not None:
        engine.execute(fig)
    fig.set_layout_engine("none")
    buffer = io.StringIO()
    no_metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with mpl.rc_context({"svg.hashsalt": salt, "svg.fonttype": "none"}):
        # Not `savefig`: before it draws, it draws once more for a layout that is settled.
        FigureCanvasSVG(fig).print_svg(buffer, metadata=no_metadata)  # type: ignore[no-untyped-call]
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    # The layout was measured in DejaVu Sans, which is wider than what a browser will take.
    text = re.sub(r"'DejaVu Sans'[^;\"]*", _FONTS, text)
    text = _identify(_recolour(text), salt)
    head = (
        f' role="img" aria-labelledby="{salt}-desc"><desc id="{salt}-desc">{html.escape(description)}</desc>'
    )
    return re.sub(r">", lambda _: head, text, count=1).strip()


def show(fig: Figure, *, description: str) -> None:
    """Show a figure of `new_figure` in a notebook, as `svg` with its description, and note its `faults`."""
    from IPython.display import publish_display_data

    drawn = svg(fig, description=description)
    data = {"image/svg+xml": drawn, "text/csv": as_csv(fig, description), "text/plain": description}
    found = faults(fig, description)
    metadata = {"image/svg+xml": {"faults": found}} if found else {}
    publish_display_data(data, metadata)  # type: ignore[no-untyped-call]


def zoomable(fig: Figure) -> Any:
    """Make a figure a widget with a toolbar to zoom, move and save, for the last expression of a cell.

    It needs a running kernel: pages get `show`.
    """
    from ipympl.backend_nbagg import Canvas, FigureManager  # only those who zoom wait for it

    canvas = Canvas(fig)
    canvas.header_visible = False
    FigureManager(canvas, 0)
    return canvas


class _Powers(LogFormatterSciNotation):
    """Labels of a logarithmic axis: plain numbers where they are short, else powers, in letters.

    As formulas they would be parsed anew for every page, half of its time.
    """

    def __call__(self, x: float, pos: int | None = None) -> str:
        formula = super().__call__(x, pos).removeprefix(r"$\mathdefault{").removesuffix("}$")
        low, high = sorted(self.axis.get_view_interval())  # type: ignore[union-attr]
        if formula and low >= 1e-3 and high <= 1e4:
            return f"{x:g}"
        text = re.sub(r"\^\{(-?\d+)\}", lambda power: power[1].translate(_RAISED), formula)
        return text.replace(r"\times", "×")


def _letter_powers(fig: Figure) -> None:
    for axis in (axis for ax in fig.axes for axis in (ax.xaxis, ax.yaxis)):
        major, minor = axis.get_major_formatter(), axis.get_minor_formatter()
        if type(major) is LogFormatterSciNotation:
            axis.set_major_formatter(_Powers(major._base))  # type: ignore[attr-defined]
        if type(minor) is LogFormatterSciNotation:
            axis.set_minor_formatter(_Powers(minor._base, minor.labelOnlyBase))  # type: ignore[attr-defined]


def _recolour(text: str) -> str:
    def replace(match: re.Match[str]) -> str:
        name = _PROPERTIES.get(match[2].lower())
        return f"{match[1]}var({name}, {match[2]})" if name else match[0]

    # The ground of a hatch is an attribute, in which a custom property has no effect.
    text = re.sub(r' (fill|stroke)="(#[0-9a-fA-F]{6})"', r' style="\1: \2"', text)
    return re.sub(r"((?:fill|stroke): )(#[0-9a-fA-F]{6})", replace, text)


def _identify(text: str, salt: str) -> str:
    """Keep only the ids that something refers to, made unique among the figures of a page."""
    used = set(re.findall(r"(?:url\(#|href=\"#)([^)\"]+)", text))
    text = re.sub(r' id="([^"]+)"', lambda m: f' id="{salt}-{m[1]}"' if m[1] in used else "", text)
    return re.sub(r"(url\(#|href=\"#)", lambda m: m[1] + salt + "-", text)
