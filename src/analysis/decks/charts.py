"""Native charts of a slide: points with their intervals, whose numbers stay editable in the file."""

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import pandas as pd
from pptx.chart.chart import Chart
from pptx.chart.data import CategoryChartData, XyChartData
from pptx.dml.color import RGBColor
from pptx.enum.chart import (
    XL_CHART_TYPE,
    XL_LABEL_POSITION,
    XL_LEGEND_POSITION,
    XL_MARKER_STYLE,
    XL_TICK_LABEL_POSITION,
)
from pptx.oxml import parse_xml
from pptx.oxml.ns import nsdecls, qn
from pptx.shapes.graphfrm import GraphicFrame
from pptx.slide import Slide
from pptx.util import Length, Pt

from analysis.pages.figures.style import GREY, INK, LINE, looks

WIDE = 8.0  # values that span this factor get a logarithmic axis
LONGEST = 48  # letters of a level under its axis; the headline has it whole
_MARKERS = {
    "o": XL_MARKER_STYLE.CIRCLE, "s": XL_MARKER_STYLE.SQUARE, "^": XL_MARKER_STYLE.TRIANGLE,
    "D": XL_MARKER_STYLE.DIAMOND, "v": XL_MARKER_STYLE.TRIANGLE, "P": XL_MARKER_STYLE.PLUS,
    "X": XL_MARKER_STYLE.X, "p": XL_MARKER_STYLE.STAR,
}  # fmt: skip
Styles = Mapping[str, tuple[str, str]]
Box = tuple[Length, Length, Length, Length]


def rgb(colour: str) -> RGBColor:
    """Make a colour of ``#rrggbb``."""
    found: RGBColor = RGBColor.from_string(colour.removeprefix("#").upper())
    return found


def add(slide: Slide, points: pd.DataFrame, box: Box, styles: Styles | None = None) -> GraphicFrame:
    """Draw points with intervals into a box (left, top, width, height) of a slide.

    `points` has columns ``series x median low high n`` and attrs ``unit xlabel ylabel``, as a conclusion has
    them. A numeric axis of three values or more has its lines; levels have none, for they have no order.
    `styles` are colour and marker of levels that other slides have too.
    """
    points = points[points["median"].notna()]
    numeric = pd.api.types.is_numeric_dtype(points["x"]) and points["x"].nunique() > 2
    frame = (_curves if numeric else _levels)(slide, points, box, styles or {})
    chart = frame.chart
    chart.font.size, chart.font.color.rgb = Pt(13), rgb(INK)
    chart.has_title = False
    chart.has_legend = points["series"].nunique() > 1
    if chart.has_legend and chart.legend is not None:
        chart.legend.position, chart.legend.include_in_layout = XL_LEGEND_POSITION.TOP, False
        chart.legend.font.size = Pt(12)
    _axes(chart, points, numeric=numeric)
    frame._element.find(qn("p:nvGraphicFramePr")).find(qn("p:cNvPr")).set("descr", described(points))
    return frame


def described(points: pd.DataFrame) -> str:
    """Describe a figure for readers who cannot see it: what is drawn, and every point."""
    unit, what, along = (str(points.attrs.get(key, "")) for key in ("unit", "ylabel", "xlabel"))
    words = []
    for row in points.itertuples():
        name = ", ".join(filter(None, (str(row.series), _text(row.x))))
        ends = f" ({row.low:.4g} to {row.high:.4g})" if math.isfinite(cast("float", row.low)) else ""
        words.append(f"{name}: {row.median:.4g}{ends}, n {row.n}")
    return f"{what} in {unit} by {along}. " + "; ".join(words)


def _text(x: object) -> str:
    return f"{x:g}" if isinstance(x, (int, float)) else str(x)


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"


def _as_text(data: Any) -> Any:
    """Let a name that begins like a formula or a link be a text in the workbook of a chart."""
    writer = data._workbook_writer
    opened = writer._open_worksheet

    @contextlib.contextmanager
    def open_worksheet(file: Any) -> Iterator[tuple[Any, Any]]:
        with opened(file) as (workbook, worksheet):
            worksheet.strings_to_formulas = worksheet.strings_to_urls = False
            yield workbook, worksheet

    writer._open_worksheet = open_worksheet
    return data


def _curves(slide: Slide, points: pd.DataFrame, box: Box, styles: Styles) -> GraphicFrame:
    """Draw curves along a numeric axis."""
    data = _as_text(XyChartData())
    parts = {str(name): part.sort_values("x") for name, part in points.groupby("series", sort=False)}
    for name, part in parts.items():
        series = data.add_series(name or str(points.attrs.get("ylabel", "")))
        for x, y in zip(part["x"], part["median"], strict=True):
            series.add_data_point(float(x), float(y))
    frame: Any = slide.shapes.add_chart(XL_CHART_TYPE.XY_SCATTER_LINES, *box, data)
    look = {**looks(list(parts)), **styles}
    for series, (name, part) in zip(frame.chart.plots[0].series, parts.items(), strict=True):
        hue, marker = look[name]
        series.format.line.color.rgb, series.format.line.width = rgb(hue), Pt(2)
        series.smooth = False
        _mark(series.marker, hue, marker)
        _errors(series, part, hue, before=("c:xVal",), direction=True)
    return cast("GraphicFrame", frame)


def _levels(slide: Slide, points: pd.DataFrame, box: Box, styles: Styles) -> GraphicFrame:
    """Draw levels: points where there is one series, else columns next to each other, from zero."""
    what = str(points.attrs.get("ylabel", ""))
    levels = list(dict.fromkeys(points["x"]))
    names = list(dict.fromkeys(map(str, points["series"])))
    data = _as_text(CategoryChartData())
    data.categories = [_short(_text(level)) or what for level in levels]
    parts = []
    for name in names:
        part = points[points["series"].astype(str) == name].drop_duplicates("x")
        parts.append(part.set_index("x").reindex(levels))
        values = [float(value) if math.isfinite(value) else None for value in parts[-1]["median"]]
        data.add_series(_short(name) or what, values)
    single = len(names) == 1
    kind = XL_CHART_TYPE.LINE_MARKERS if single else XL_CHART_TYPE.COLUMN_CLUSTERED
    frame: Any = slide.shapes.add_chart(kind, *box, data)
    (plot,) = frame.chart.plots
    look = {**looks(names), **styles}
    for series, name, part in zip(plot.series, names, parts, strict=True):
        if single:
            _points(series, [_text(level) for level in levels], styles)
            _values(series, part["median"])
        else:
            series.format.fill.solid()
            series.format.fill.fore_color.rgb = rgb(look[name][0])
        _errors(series, part, INK, before=("c:cat", "c:val"))
    if not single:
        plot.gap_width, plot.overlap = 80, -10
    return cast("GraphicFrame", frame)


def _points(series: Any, levels: Sequence[str], styles: Styles) -> None:
    """Give each level its colour and mark, and no line between them."""
    series.format.line.fill.background()
    series.smooth = False
    look = {**looks(levels), **styles}
    for place, (hue, marker) in enumerate(look[level] for level in levels):
        _mark(series.points[place].marker, hue, marker)


def _values(series: Any, values: pd.Series) -> None:
    """Write its value next to each point, with three digits."""
    labels = series.data_labels
    labels.show_value, labels.position = True, XL_LABEL_POSITION.RIGHT
    labels.font.size = Pt(13)
    digits = max(0, 2 - math.floor(math.log10(float(values.abs().max()) or 1.0)))
    labels.number_format = "#,##0" + ("." + "0" * digits if digits else "")
    labels.number_format_is_linked = False


def _mark(marker: Any, hue: str, shape: str) -> None:
    marker.style, marker.size = _MARKERS[shape], 11
    marker.format.fill.solid()
    marker.format.fill.fore_color.rgb = rgb(hue)
    marker.format.line.color.rgb = rgb(hue)


def _errors(
    series: Any, part: pd.DataFrame, colour: str, *, before: Sequence[str], direction: bool = False
) -> None:
    """Add the intervals as error bars; schema order has them before the values."""
    plus, minus = part["high"] - part["median"], part["median"] - part["low"]
    if not plus.notna().any():
        return
    side = '<c:errDir val="y"/>' if direction else ""
    bars = parse_xml(
        f'<c:errBars {nsdecls("c", "a")}>{side}<c:errBarType val="both"/><c:errValType val="cust"/>'
        f'<c:noEndCap val="0"/>{_literal("plus", plus)}{_literal("minus", minus)}'
        f'<c:spPr><a:ln w="19050"><a:solidFill><a:srgbClr val="{rgb(colour)}"/></a:solidFill></a:ln></c:spPr>'
        "</c:errBars>"
    )
    element = series._element
    next(found for name in before if (found := element.find(qn(name))) is not None).addprevious(bars)


def _literal(tag: str, values: pd.Series) -> str:
    points = "".join(
        f'<c:pt idx="{at}"><c:v>{value!r}</c:v></c:pt>'
        for at, value in enumerate(map(float, values))
        if math.isfinite(value)
    )
    head = f'<c:formatCode>General</c:formatCode><c:ptCount val="{len(values)}"/>'
    return f"<c:{tag}><c:numLit>{head}{points}</c:numLit></c:{tag}>"


def _axes(chart: Chart, points: pd.DataFrame, *, numeric: bool) -> None:
    attrs = {key: str(points.attrs.get(key, "")) for key in ("unit", "xlabel", "ylabel")}
    x, y = chart.category_axis, chart.value_axis
    for axis, text in ((x, attrs["xlabel"]), (y, f"{attrs['ylabel']} ({attrs['unit'] or '1'})")):
        axis.has_title = True
        axis.axis_title.text_frame.text = text
        for run in axis.axis_title.text_frame.paragraphs[0].runs if text else ():
            run.font.size, run.font.bold, run.font.color.rgb = Pt(13), False, rgb(INK)
        axis.format.line.color.rgb = rgb(GREY)
        axis.tick_label_position = XL_TICK_LABEL_POSITION.LOW
    x.has_major_gridlines, y.has_major_gridlines = False, True
    y.major_gridlines.format.line.color.rgb = rgb(LINE)
    bars, share = not numeric and points["series"].nunique() > 1, attrs["unit"] == "%"
    ends = pd.concat([points["median"], points["low"], points["high"]]).dropna()
    low, high = float(ends.min()), float(ends.max())
    if low > 0 and points["median"].max() > WIDE * points["median"].min() and not bars and not share:
        _logarithmic(y, low, high, 10 if high > 50 * low else 2)
    elif low >= 0:
        y.minimum_scale = 0.0
        y.maximum_scale, y.major_unit = nice_top(high)
    whole = y.minimum_scale is not None and y.minimum_scale >= 1
    _number_format(y, "#,##0" if whole else "General")
    if numeric:
        lowest, highest = float(points["x"].min()), float(points["x"].max())
        if lowest > 0 and highest >= WIDE * lowest:
            _logarithmic(x, lowest, highest, 10 if highest > 1e4 * lowest else 2)
        else:
            x.minimum_scale = 0.0 if lowest >= 0 else None
            x.maximum_scale, x.major_unit = nice_top(highest)
        _number_format(x, "General")


def _number_format(axis: Any, form: str) -> None:
    axis.tick_labels.number_format, axis.tick_labels.number_format_is_linked = form, False


def nice_top(high: float) -> tuple[float, float]:
    """Return the end of an axis from nought that has `high` on it, and the step of its marks."""
    if high <= 0:
        return 1.0, 0.5
    step = 10.0 ** math.floor(math.log10(high))
    unit = next(step * part for part in (0.2, 0.5, 1.0, 2.0) if high * 1.04 <= 6 * step * part)
    return round(unit * math.ceil(high * 1.04 / unit), 12), round(unit, 12)


def _logarithmic(axis: Any, low: float, high: float, base: int) -> None:
    scaling = axis._element.find(qn("c:scaling"))
    scaling.insert(0, parse_xml(f'<c:logBase {nsdecls("c")} val="{base}"/>'))
    axis.minimum_scale = float(base) ** math.floor(math.log(low, base) + 1e-9)
    axis.maximum_scale = float(base) ** math.ceil(math.log(high, base) - 1e-9)
    if axis.minimum_scale == axis.maximum_scale:
        axis.maximum_scale *= base
    axis.major_unit = float(base)
