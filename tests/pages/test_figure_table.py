"""The CSV of a figure: read back, it gives each point and each end of an interval that is drawn."""

from __future__ import annotations

import hashlib
import io
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from analysis.pages import figures
from analysis.pages.drawing import draw_pareto
from analysis.pages.figures.table import as_csv


@pytest.fixture(autouse=True)
def _style() -> None:
    figures.use_style()


def curves(x: list[Any]) -> pd.DataFrame:
    """Two series of medians along x with intervals, n and the level of each."""
    values = np.arange(1.0, 2 * len(x) + 1)
    return pd.DataFrame(
        {
            **{"x": [*x, *x], "median": values, "low": values - 0.1, "high": values + 0.2},
            **{"series": ["FDR"] * len(x) + ["1GbE"] * len(x), "n": 6, "confidence": 0.94},
        }
    )


def along(x: list[Any], **more: Any) -> Figure:
    fig, ax = figures.new_figure("measured", "mock")
    columns: dict[str, Any] = {"x": "x", "y": "median", "low": "low", "high": "high", "hue": "series"}
    figures.interval_points(curves(x), ax=ax, **columns, xlabel="nodes", ylabel="time (s)", **more)
    return fig


def strip() -> Figure:
    fig, ax = figures.new_figure("measured", "mock")
    runs = pd.DataFrame({"level": ["a", "a", "a", "b", "b"], "value": [1.0, 2.0, 3.0, 5.0, 7.0]})
    summary = pd.DataFrame({"level": ["a", "b"], "median": [2.0, 6.0], "low": [1.0, 5.0], "high": [3.0, 7.0]})
    figures.strip_with_interval(
        runs, ax=ax, x="level", y="value", summary=summary, xlabel="link", ylabel="rate (GFLOP/s)"
    )
    return fig


def rows() -> Figure:
    fig, ax = figures.new_figure("measured", "mock")
    figures.interval_rows(curves(["a", "b"]), ax=ax, x="x", hue="series", xlabel="time (s)")
    return fig


def histogram() -> Figure:
    fig, ax = figures.new_figure("measured", "mock")
    frame = pd.DataFrame({"call": ["Send", "Send", "Recv"], "size": [0, 8, 8], "count": [3, 100, 40]})
    figures.size_histogram(frame, ax=ax)
    return fig


def pareto() -> Figure:
    one = {"runs": "", "time_s": 10.0, "time_low": 9.0, "time_high": 12.0, "pareto": True}
    one |= {
        "energy_Wh": 3.0,
        "energy_low": 2.5,
        "energy_high": 3.5,
        "link": "FDR",
        "n": 6,
        "confidence": 0.95,
    }
    other = one | {"time_s": 20.0, "time_low": 19.0, "time_high": 22.0, "link": "1GbE", "pareto": False}
    return draw_pareto(pd.DataFrame([one, other]), "link", evidence="measured", campaign="mock")


def read(fig: Figure) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(as_csv(fig, "Times by link")), comment="#")


def marks(ax: Axes) -> set[tuple[float, float]]:
    """Return where marks are drawn in the axes, without those of the legend."""
    lines = [line for line in ax.lines if line.get_marker() not in ("None", "", "|", "_", None)]
    spots = [line.get_xydata() for line in lines] + [
        np.asarray(part.get_offsets()) for part in ax.collections if not isinstance(part, LineCollection)
    ]
    return {(float(x), float(y)) for part in spots for x, y in part}


FIGURES = {
    "numbers": lambda: along([1, 2, 4], log2=True),
    "words": lambda: along(["16³", "32³"]),
    "strip": strip,
    "rows": rows,
    "histogram": histogram,
    "pareto": pareto,
}


@pytest.mark.parametrize("name", FIGURES)
def test_csv__redraws_every_point(name: str) -> None:
    fig = FIGURES[name]()
    table = read(fig)
    drawn = set().union(*(marks(ax) for ax in fig.axes))
    assert len(drawn) > 1
    found = {(x, y) for x, y in zip(table["x"], table["y"], strict=True)}
    missing = [one for one in drawn if not any(np.allclose(one, other) for other in found)]
    assert missing == []
    _, ax = figures.new_figure("measured")
    ax.plot(table["x"], table["y"], "o")
    assert len(marks(ax)) >= len(drawn)


def test_csv__has_unit_interval_n_and_level() -> None:
    table = read(along([1, 2, 4]))
    assert set(table["y_axis"]) == {"time (s)"}
    assert set(table["x_axis"]) == {"nodes"}
    first = table[(table["series"] == "1GbE") & (table["x"] == 2)].iloc[0]
    assert (first["y"], first["y_low"], first["y_high"]) == pytest.approx((5.0, 4.9, 5.2))
    assert (first["n"], first["level"]) == (6, 0.94)
    assert "x_label" not in table


def test_csv__names_what_a_place_stands_for() -> None:
    table = read(along(["16³", "32³"]))
    assert list(table["x_label"]) == ["16³", "32³", "16³", "32³"]
    assert set(read(rows())["y_label"]) == {"a", "b"}
    sizes = read(histogram())
    assert set(sizes["series"]) == {"Send", "Recv"}
    assert sorted(sizes["y"]) == [3, 40, 100]


def test_csv__begins_with_what_it_shows_and_a_checksum_of_the_rest() -> None:
    text = as_csv(along([1, 2]), "Times by link,\n6 runs each")
    first, second, body = text.split("\n", 2)
    assert first == "# Times by link, 6 runs each"
    assert second == f"# SHA-256 of the lines below: {hashlib.sha256(body.encode()).hexdigest()}"


def test_csv__of_a_matrix_has_its_cells() -> None:
    fig, ax = figures.new_figure("measured", "mock")
    figures.heatmap([[0, 5], [7, 0]], ax=ax, label="sent (MB)")
    table = read(fig)
    assert sorted(zip(table["y"], table["x"], table["value"], strict=True)) == [(0, 1, 5.0), (1, 0, 7.0)]


def test_csv__of_a_figure_without_points_is_empty() -> None:
    fig, _ = figures.new_figure("measured", "mock")
    assert as_csv(fig, "nothing") == ""
