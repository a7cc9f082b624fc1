"""A deck as PowerPoint, read back by python-pptx and as the XML that it is."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pptx import Presentation
from pptx.oxml.ns import qn
from pptx.util import Inches

from analysis.decks import charts, pptx
from analysis.decks import points as of_slides
from analysis.decks.slide import Deck, Slide
from analysis.estimates.question import Question

NAN = float("nan")
LONG = "Open MPI with everything that can be said of it " * 12
# What stands before what in a series and in a scaling, by the schema of the charts: PowerPoint insists.
SERIES = [
    "idx", "order", "tx", "spPr", "invertIfNegative", "marker", "dPt", "dLbls", "trendline", "errBars", "cat",
    "xVal", "val", "yVal", "smooth",
]  # fmt: skip
SCALING = ["logBase", "orientation", "max", "min"]


def points(*rows: tuple[Any, ...], unit: str = "Gflop/s", xlabel: str = "link") -> pd.DataFrame:
    found = pd.DataFrame(rows, columns=["series", "x", "median", "low", "high", "n"])
    found.attrs = {"unit": unit, "xlabel": xlabel, "ylabel": "rate"}
    return found


LEVELS = points(("", "open", 5.7, 5.5, 5.9, 6), ("", "1 Gbit/s", 4.2, NAN, NAN, 3))
CURVE = points(
    *(("HDR", n, 100.0 / n, 99.0 / n, 102.0 / n, 6) for n in (1, 2, 4, 8, 16)),
    *(("1GbE", n, 120.0 / n, NAN, NAN, 1) for n in (1, 2, 4, 8, 16)),
    unit="s",
    xlabel="nodes",
)
GROUPS = points(
    ("MPICH", "16³", 5.0, 4.0, 6.5, 6),
    ("Open MPI", "16³", 6.0, 5.0, 6.5, 6),
    ("MPICH", "32³", 7.0, 6.5, 7.5, 6),
)
ROWS = (("question", "found"), *((f"q {n}", LONG) for n in range(40)))
DECK = Deck(
    "A cluster",
    "what it does",
    "2026-11-21T10:00:00",
    (
        Slide("title", "A cluster", bullets=("two nodes",), label="measured", footnote="November 2026"),
        Slide("question", "The open link is 1.36 times as fast", "Interconnect", ("a", LONG), LEVELS, (),
              LONG, "measured"),
        Slide("question", "It scales", "Scaling", (), CURVE, footnote="n 6 / 6", label="measured"),
        Slide("question", LONG, "MPI library", (LONG,) * 6, GROUPS, label="synthetic"),
        Slide("summary", "What was found", table=ROWS),
    ),
)  # fmt: skip


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("deck") / "deck.pptx"
    pptx.write(DECK, target)
    return target


def slides(path: Path) -> list[Any]:
    return list(Presentation(str(path)).slides)


def chart(slide: Any) -> Any:
    (found,) = [shape.chart for shape in slide.shapes if shape.has_chart]
    return found


def errors(series: Any) -> dict[str, dict[int, float]]:
    bars = series._element.find(qn("c:errBars"))
    return {
        side: {
            int(one.get("idx")): float(one.find(qn("c:v")).text)
            for one in bars.find(qn(f"c:{side}")).iter(qn("c:pt"))
        }
        for side in ("plus", "minus")
    }


def test_pptx__texts_are_the_slides(path: Path) -> None:
    found = slides(path)
    assert [one.shapes.title.text for one in found[:3]] == [one.headline for one in DECK.slides[:3]]
    texts = [shape.text_frame.text for shape in found[1].shapes if shape.has_text_frame]
    assert {"Interconnect", "measured"} <= set(texts)
    assert any(text.startswith("a\nOpen MPI with") for text in texts)
    table = next(shape.table for shape in found[4].shapes if shape.has_table)
    assert [table.cell(0, 0).text, table.cell(1, 0).text] == ["question", "q 0"]


def test_pptx__levels_are_points_with_their_intervals(path: Path) -> None:
    (series,) = chart(slides(path)[1]).plots[0].series
    assert list(series.values) == [5.7, 4.2]
    assert list(chart(slides(path)[1]).plots[0].categories) == ["open", "1 Gbit/s"]
    assert errors(series) == {
        "plus": {0: pytest.approx(0.2)},
        "minus": {0: pytest.approx(0.2)},
    }  # none without an interval


def test_pptx__a_numeric_axis_has_curves_and_is_logarithmic(path: Path) -> None:
    found = chart(slides(path)[2])
    first, second = found.plots[0].series
    assert list(first.values) == [100.0, 50.0, 25.0, 12.5, 6.25]
    assert errors(first)["plus"][4] == pytest.approx(2 / 16)
    assert second._element.find(qn("c:errBars")) is None
    bases = [one.get("val") for one in found._chartSpace.iter(qn("c:logBase"))]
    assert bases == ["2", "2"]
    assert (found.value_axis.minimum_scale, found.value_axis.maximum_scale) == (4.0, 128.0)


def test_pptx__several_series_of_levels_are_columns_from_nought(path: Path) -> None:
    found = chart(slides(path)[3])
    assert [list(one.values) for one in found.plots[0].series] == [[5.0, 7.0], [6.0, None]]
    assert errors(found.plots[0].series[0]) == {"plus": {0: 1.5, 1: 0.5}, "minus": {0: 1.0, 1: 0.5}}
    assert found.value_axis.minimum_scale == 0
    assert found.value_axis.maximum_scale >= 7.5


def test_pptx__a_name_like_a_formula_or_a_link_is_a_text_in_the_workbook(tmp_path: Path) -> None:
    names = ["=cmd|'calc'!A1", "{=1+1}", "+1", "-1", "@SUM(A1)", "\t=1", "http://x.test/"]
    levels = points(*(("", name, 1.0 + at, NAN, NAN, 3) for at, name in enumerate(names)))
    curves = points(*((name, x, 1.0 + x, NAN, NAN, 3) for name in names for x in (1, 2, 4)))
    groups = points(*((name, level, 1.0, NAN, NAN, 3) for name in names for level in ("a", "=b")))
    slides = tuple(Slide("question", "It is so", "MPI", (), one) for one in (levels, curves, groups))
    pptx.write(Deck("=A1", "what it does", "2026-11-21T10:00:00", slides), tmp_path / "deck.pptx")
    with zipfile.ZipFile(tmp_path / "deck.pptx") as deck:
        books = [deck.read(name) for name in deck.namelist() if name.endswith(".xlsx")]
    assert len(books) == 3
    for book in books:
        with zipfile.ZipFile(io.BytesIO(book)) as parts:
            sheet = parts.read("xl/worksheets/sheet1.xml")
            texts = parts.read("xl/sharedStrings.xml")
        assert b"<f" not in sheet
        assert b"hyperlink" not in sheet
        assert b"=cmd|" in texts


def test_pptx__charts_keep_the_order_of_the_schema(path: Path) -> None:
    seen = 0
    for slide in slides(path)[1:4]:
        space = chart(slide)._chartSpace
        for tag, order in (("c:ser", SERIES), ("c:scaling", SCALING)):
            for one in space.iter(qn(tag)):
                names = [child.tag.rpartition("}")[2] for child in one]
                assert names == sorted(names, key=order.index)
                seen += 1
    assert seen >= 8


def test_pptx__everything_lies_on_its_slide(path: Path) -> None:
    found = slides(path)
    assert [len(slide.shapes) for slide in found] == [5, 7, 6, 6, 3]
    for slide in found:
        for shape in slide.shapes:
            assert shape.left >= 0
            assert shape.top >= 0
            assert shape.left + shape.width <= Inches(pptx.WIDTH)
            assert shape.top + shape.height <= Inches(pptx.HEIGHT)


def test_pptx__what_does_not_fit_is_shortened_and_whole_in_the_notes(path: Path) -> None:
    slide = slides(path)[3]
    title = slide.shapes.title
    assert title.text.endswith("…")
    assert LONG in slide.notes_slide.notes_text_frame.text
    size = title.text_frame.paragraphs[0].runs[0].font.size.pt
    lines = pptx.wrapped(title.text, title.width / Inches(1), int(size), bold=True)
    assert len(lines) * size * pptx.LINE_HEIGHT <= title.height.pt
    table = next(shape for shape in slides(path)[4].shapes if shape.has_table).table
    assert 2 < len(table.rows) < 41
    assert "q 39" in slides(path)[4].notes_slide.notes_text_frame.text


def test_pptx__a_short_text_keeps_its_size() -> None:
    assert pptx.fit("short", 5.0, 1.0, 28, 18) == (28, "short")
    assert pptx.wrapped("x" * 300, 2.0, 20) != ("x" * 300,)
    assert "".join(pptx.wrapped("x" * 300, 2.0, 20)) == "x" * 300


def test_pptx__a_chart_is_said_in_words(path: Path) -> None:
    (frame,) = [shape for shape in slides(path)[1].shapes if shape.has_chart]
    said = frame._element.find(qn("p:nvGraphicFramePr")).find(qn("p:cNvPr")).get("descr")
    assert said == "rate in Gflop/s by link. open: 5.7 (5.5 to 5.9), n 6; 1 Gbit/s: 4.2, n 3"


@pytest.mark.parametrize(
    ("high", "expected"), [(9.1, (10.0, 2.0)), (0.9, (1.0, 0.2)), (24.0, (25.0, 5.0)), (5.8, (8.0, 2.0))]
)
def test_charts__an_axis_ends_above_what_is_on_it(high: float, expected: tuple[float, float]) -> None:
    assert charts.nice_top(high) == expected


def test_points__bytes_become_readable() -> None:
    shown = of_slides.in_bytes(points(("", "16³", 1.99e9, 1.9e9, NAN, 6), unit="B"))
    assert shown.attrs["unit"] == "GB"
    np.testing.assert_allclose(shown[["median", "low"]].to_numpy(), [[1.99, 1.9]])
    assert of_slides.in_bytes(LEVELS) is LEVELS


def test_points__two_values_of_one_measure_share_a_figure() -> None:
    """One value alone has none, and so have two values of the same call: nothing tells them apart."""

    def share(call: str, value: float) -> Any:
        drawn = points(("", "app", value, value - 1, value + 1, 6), unit="%").assign(confidence=0.95)
        return SimpleNamespace(points=drawn, question=Question("level", "call_share", members=(call,)))

    campaign: Any = None  # no factor is needed to name the calls
    send, receive = share("MPI_Send", 20.0), share("MPI_Recv", 10.0)
    found = of_slides.joined([send, receive], campaign)
    assert found is not None
    assert dict(zip(found["x"], found["median"], strict=True)) == {"MPI_Send": 20.0, "MPI_Recv": 10.0}
    assert of_slides.joined([send], campaign) is None
    assert of_slides.joined([send, share("MPI_Send", 30.0)], campaign) is None


def test_pptx__same_deck_same_bytes(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The libraries ask their own clocks: a later one must change nothing.
    import time

    real = time.localtime
    monkeypatch.setattr(time, "localtime", lambda *given: real(86400.0 * 365 * 60))
    again = tmp_path / "deck.pptx"
    pptx.write(DECK, again)
    assert again.read_bytes() == path.read_bytes()
    with zipfile.ZipFile(path) as whole:
        (book, *_) = [name for name in whole.namelist() if name.endswith(".xlsx")]
        with zipfile.ZipFile(io.BytesIO(whole.read(book))) as inner:
            core = inner.read("docProps/core.xml").decode()
    assert re.findall(r"W3CDTF\">([^<]*)<", core) == ["2026-11-21T00:00:00Z"] * 2
