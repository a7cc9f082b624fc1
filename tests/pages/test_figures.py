"""Figures: what is drawn where, what is joined, and the same bytes for the same data."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.textpath import TextPath

from analysis.base.errors import ConfigError
from analysis.estimates.campaign import load_campaign
from analysis.estimates.spelling import display
from analysis.pages import figures
from analysis.pages.figures import bars as counts
from analysis.pages.figures.style import HUES, hue_names, looks
from analysis.pages.figures.table import as_csv
from analysis.site.page import active, loads
from analysis.site.words import VERDICTS


@pytest.fixture(autouse=True)
def _style() -> None:
    figures.use_style()


def points(x: list[object], **more: object) -> pd.DataFrame:
    n = len(x)
    values = np.arange(1.0, n + 1)
    return pd.DataFrame({"x": x, "y": values, "low": values - 0.1, "high": values + 0.2} | more)


def draw(frame: pd.DataFrame, **more: object) -> tuple[Figure, Axes]:
    fig, ax = figures.new_figure("measured", "mock")
    columns = {"x": "x", "y": "y", "low": "low", "high": "high"}
    figures.interval_points(frame, ax=ax, **columns, xlabel="nodes", ylabel="elapsed (s)", **more)  # type: ignore[arg-type]
    return fig, ax


def texts(ax: Axes) -> list[str]:
    return [t.get_text() for t in ax.texts]


def test_interval_points__draws_points_and_ends_of_intervals() -> None:
    _, ax = draw(points([1, 2, 4]))
    line = ax.lines[0]
    assert line.get_xydata().tolist() == [[1, 1], [2, 2], [4, 3]]
    whiskers = [s[:, 1].tolist() for s in ax.collections[0].get_segments()]
    assert whiskers == [pytest.approx([0.9, 1.2]), pytest.approx([1.9, 2.2]), pytest.approx([2.9, 3.2])]
    assert ax.get_ylabel() == "elapsed (s)"


@pytest.mark.parametrize(
    ("x", "joined"),
    [
        ([4, 1, 2], True),
        (["ib-fdr", "10gbe", "1gbe"], False),
        (pd.Categorical(["a", "b", "c"], ordered=True), True),
        (pd.Categorical(["a", "b", "c"]), False),
    ],
)
def test_interval_points__joins_only_along_an_ordered_axis(x: list[object], joined: bool) -> None:
    _, ax = draw(points(x))
    assert (ax.lines[0].get_linestyle() == "-") is joined
    xs = ax.lines[0].get_xdata()
    assert list(xs) == sorted(xs)


def test_interval_points__names_lines_at_their_ends() -> None:
    frame = points([1, 2, 1, 2], net=["ib-fdr", "ib-fdr", "1gbe", "1gbe"])
    _, ax = draw(frame, hue="net")
    assert sorted(texts(ax)) == ["1gbe", "ib-fdr"]
    assert ax.get_legend() is None
    ends = {t.get_text(): t.xy for t in ax.texts}
    assert ends["ib-fdr"] == (2, 2)
    assert ends["1gbe"] == (2, 4)


def test_interval_points__refuses_an_estimate_outside_its_interval() -> None:
    frame = points([1, 2]).assign(high=[1.2, 1.5])
    with pytest.raises(
        ConfigError, match=r"figure: y 2.0 is outside \[1.9, 1.5\] at x 2\.0; check the interval"
    ):
        draw(frame)


def test_interval_points__refuses_a_missing_column() -> None:
    with pytest.raises(ConfigError, match=r"figure: has no column 'high'; columns are \['x', 'y', 'low'\]"):
        draw(points([1, 2]).drop(columns="high"))


def test_strip__shows_every_raw_value_and_the_median() -> None:
    raw = pd.DataFrame({"net": ["a"] * 3 + ["b"] * 2, "t": [1.0, 2.0, 3.0, 8.0, 9.0]})
    summary = pd.DataFrame({"net": ["a", "b"], "median": [2.0, 8.5], "low": [1.0, 8.0], "high": [3.0, 9.0]})
    _, ax = figures.new_figure("measured")
    figures.strip_with_interval(
        raw, ax=ax, x="net", y="t", summary=summary, xlabel="link", ylabel="elapsed (s)"
    )
    drawn = [c.get_offsets()[:, 1].tolist() for c in ax.collections if len(c.get_offsets())]
    assert drawn[0] == [1.0, 2.0, 3.0]
    assert [8.0, 9.0] in drawn
    assert [line.get_ydata()[0] for line in ax.lines if line.get_marker() == "D"] == [2.0, 8.5]
    assert [t.get_text() for t in ax.get_xticklabels()] == ["a\nn = 3", "b\nn = 2"]


def test_upper_bound__widens_the_axis() -> None:
    _, ax = draw(points([1, 2, 3]))
    figures.upper_bound(ax, 10.0, "peak 10 s")
    assert ax.get_ylim()[1] > 10
    assert texts(ax) == ["peak 10 s"]
    assert ax.lines[-1].get_ydata() == [10.0, 10.0]


def test_heatmap__leaves_pairs_that_never_spoke_empty() -> None:
    _, ax = figures.new_figure("measured")
    figures.heatmap([[0, 38.2], [38.1, np.nan]], ax=ax, label="sent (MB)")
    values = np.ma.filled(ax.collections[0].get_array(), np.nan).ravel()
    np.testing.assert_array_equal(values, [np.nan, 38.2, 38.1, np.nan])
    assert texts(ax) == ["38.2", "38.1"]
    assert ax.collections[0].colorbar.ax.get_ylabel() == "sent (MB)"


def test_heatmap__refuses_a_matrix_without_traffic() -> None:
    _, ax = figures.new_figure("measured")
    with pytest.raises(ConfigError, match=r"matrix of shape \(2, 2\) holds nothing to draw"):
        figures.heatmap(np.zeros((2, 2)), ax=ax, label="sent (MB)")


def test_heatmap__of_many_ranks_is_an_image_of_constant_size() -> None:
    fig, ax = figures.new_figure("measured")
    figures.heatmap(np.eye(256) + 1, ax=ax, label="sent (MB)")
    text = figures.svg(fig, description="Everyone talks to everyone.")
    assert len(text) < 60_000
    assert loads(text) == []


def test_size_histogram__has_a_place_for_each_size() -> None:
    frame = pd.DataFrame(
        {
            "call": ["MPI_Send", "MPI_Send", "MPI_Send", "MPI_Barrier", "MPI_Wait"],
            "size": [8, 2048, 8, 0, -1],
            "count": [3, 5, 4, 2, 300],
        }
    )
    _, ax = figures.new_figure("measured")
    figures.size_histogram(frame, ax=ax)
    assert [t.get_text() for t in ax.get_xticklabels()] == ["0 B", "8 B", "2 KiB"]
    assert ax.get_xticks().tolist() == [1.5, 3.0, 11.0]  # log2 of 8 and 2048; 0 stands one and a half below 8
    drawn = {line.get_label(): line.get_xydata().tolist() for line in ax.lines}
    assert drawn == {"MPI_Send": [[3.0, 7.0], [11.0, 5.0]], "MPI_Barrier": [[1.5, 2.0]]}
    assert ax.get_title(loc="left") == "300 calls of unknown size are not shown"


def test_share_bars__of_a_single_run_reach_their_numbers_without_an_interval() -> None:
    frame = pd.DataFrame(
        {"call": ["MPI_Iprobe", "MPI_Test"], "s": [99.0, 0.6], "low": np.nan, "high": np.nan}
    )
    _, ax = figures.new_figure("measured")
    figures.share_bars(frame, ax=ax, name="call", share="s", low="low", high="high", xlabel="share (%)")
    assert ax.get_xlim() == (0, 100)
    assert [text.xy[0] for text in ax.texts] == [99.0, 0.6]  # where a number stands; NaN hid it


def test_share_bars__are_shares_of_the_whole() -> None:
    frame = pd.DataFrame({"call": ["MPI_Send", "MPI_Wait"], "s": [51.0, 12.0], "c": [20.0, np.nan]})
    _, ax = figures.new_figure("measured")
    figures.share_bars(frame, ax=ax, name="call", share="s", claimed="c", xlabel="share of MPI time (%)")
    assert [b.get_width() for b in ax.patches] == [51.0, 12.0]
    assert ax.get_xlim() == (0, 100)
    assert texts(ax) == ["51 %", "12 %"]
    with pytest.raises(ConfigError, match=r"share 120 is not in 0\.\.100"):
        figures.share_bars(frame.assign(s=120.0), ax=ax, name="call", share="s", xlabel="share (%)")


def test_colour__is_fixed_for_each_level() -> None:
    assert figures.colour("ib-fdr") == figures.colour("IB-FDR") == "#0072b2"
    assert figures.colour("1gbe") == "#c04a00"
    assert [mark for _, mark in looks(["ib-fdr", "1gbe"]).values()] == ["o", "v"]
    alone, together = hue_names(["10gbe"]), hue_names(["weird", "other link", "10gbe"])
    assert together["10gbe"] == alone["10gbe"] == "orange"


def test_colour__levels_that_meet_differ() -> None:
    levels = [f"level {i}" for i in range(8)]
    assert len(set(hue_names(levels).values())) == 8


def test_colour__each_hue_is_legible_on_white() -> None:
    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return float(np.dot([0.2126, 0.7152, 0.0722], linear))

    assert {name: 1.05 / (luminance(c) + 0.05) >= 3 for name, c in HUES.items()} == dict.fromkeys(HUES, True)


def test_colour__the_site_defines_every_hue_for_light_and_dark() -> None:
    css = (Path(figures.__file__).parents[2] / "site" / "templates" / "colours.css").read_text()
    assert len(HUES) == 8
    for name, colour in HUES.items():
        found = re.findall(rf"--f-{name}: (#\w+)", css)
        assert found[0] == colour
        assert len(found) == 2


def test_new_figure__says_what_it_rests_on() -> None:
    fig, _ = figures.new_figure("measured", "vm")
    assert [t.get_text() for t in fig.texts] == ["measured · vm"]
    fig, _ = figures.new_figure("synthetic", "vm")
    assert [t.get_text() for t in fig.texts] == ["synthetic: a test of the pipeline, no evidence · vm"]
    assert "<pattern" in figures.svg(fig, description="Synthetic.")
    with pytest.raises(ConfigError, match="evidence 'hearsay' is not a class"):
        figures.new_figure("hearsay")


def test_svg__same_data_give_the_same_bytes() -> None:
    first, _ = draw(points([1, 2, 4], net=["a", "a", "a"]), hue="net")
    second, _ = draw(points([1, 2, 4], net=["a", "a", "a"]), hue="net")
    text = figures.svg(first, description="A line.")
    assert text == figures.svg(second, description="A line.")
    assert text == figures.svg(first, description="A line.")  # drawing it twice moves nothing


def test_svg__is_described_self_contained_and_without_a_date() -> None:
    fig, _ = draw(points([1, 2, 4]))
    text = figures.svg(fig, description="5 < 6 & more")
    assert text.startswith("<svg ")
    assert "5 &lt; 6 &amp; more</desc>" in text
    assert loads(text) == []
    assert active(text) == []
    assert "<metadata" not in text
    assert "<dc:date" not in text
    with pytest.raises(ConfigError, match="has no description"):
        figures.svg(fig, description=" ")


def test_svg__colours_follow_the_page() -> None:
    fig, _ = draw(points([1, 2]), hue=None)
    text = figures.svg(fig, description="A line.")
    assert "stroke: var(--ink, #15191e)" in text
    assert "fill: var(--figure-paper, #ffffff)" in text
    assert not re.search(r"(fill|stroke)(: |=\")#(15191e|58626d|d5dade|ffffff)", text)


def test_svg__ids_of_two_figures_do_not_meet() -> None:
    fig, _ = draw(points([1, 2]))
    ids = [set(re.findall(r' id="([^"]+)"', figures.svg(fig, description=d))) for d in ("one", "two")]
    assert ids[0]
    assert not ids[0] & ids[1]
    text = figures.svg(fig, description="one")
    assert set(re.findall(r"(?:url\(#|href=\"#)([^)\"]+)", text)) <= ids[0]


def test_show__publishes_the_svg_with_its_description(monkeypatch: pytest.MonkeyPatch) -> None:
    published: list[tuple[dict[str, str], dict[str, Any]]] = []
    monkeypatch.setattr("IPython.display.publish_display_data", lambda *one: published.append(one))
    for x in ([1, 2], [1]):
        figures.show(draw(points(x))[0], description="A line.")
    assert [sorted(data) for data, _ in published] == [["image/svg+xml", "text/csv", "text/plain"]] * 2
    assert published[0][0]["text/plain"] == "A line."
    assert [metadata for _, metadata in published] == [
        {},
        {"image/svg+xml": {"faults": ["data use 0 % of the x axis"]}},
    ]


def test_svg__names_of_lines_that_end_together_move_apart() -> None:
    frame = points([1, 2] * 3, net=["a", "a", "b", "b", "c", "c"]).assign(y=5.0, low=4.0, high=6.0)
    fig, ax = draw(frame, hue="net")
    ax.set_yscale("log")  # after the names were written: the scale that counts is the last one
    figures.svg(fig, description="Three lines that end in one point.")
    assert [t.xyann for t in ax.texts] == [(9, 0.0), (9, 12.5), (9, 25.0)]


def test_svg__names_at_the_top_move_down_into_the_axes() -> None:
    frame = points([1, 2] * 3, net=["a", "a", "b", "b", "c", "c"]).assign(y=[1.0, 1.0, 9.9, 9.9, 10.0, 10.0])
    fig, ax = draw(frame.assign(low=frame["y"], high=frame["y"]), hue="net")
    ax.set_ylim(0, 10)
    figures.svg(fig, description="Two of three lines end at the top.")
    moved = {text.get_text(): text.xyann[1] for text in ax.texts}
    assert moved["a"] == moved["c"] == 0
    # One line of text, 12.5 points, below the name that ends at the top.
    height = ax.get_window_extent().height * 72 / fig.dpi
    assert moved["b"] == pytest.approx(0.01 * height - 12.5, abs=1e-6)


def test_svg__a_name_that_a_longer_curve_would_cross_is_in_a_legend() -> None:
    """Radioss on AWS: two clusters end at 4 nodes, under the curve of a third that goes on to 8."""
    frame = points([1, 2, 4, 8, 1, 2, 4, 1, 2, 4], net=["m8g.48xlarge"] * 4 + ["hpc7a"] * 3 + ["hpc8a"] * 3)
    frame = frame.assign(y=[1, 1.8, 3.15, 3.85, 1, 1.75, 3.1, 1, 1.7, 2.9])
    frame = frame.assign(low=frame["y"], high=frame["y"])
    fig, ax = draw(frame, hue="net", log2=True)
    ax.set_ylim(0, 8.5)
    figures.svg(fig, description="Three curves, two of which end early.")
    assert list(ax.texts) == []
    legend = ax.get_legend()
    in_order = ["m8g.48xlarge", "hpc7a", "hpc8a"]  # as high as their ends
    assert [text.get_text() for text in legend.get_texts()] == in_order
    marks = {line.get_label(): (line.get_color(), line.get_marker()) for line in legend.legend_handles}
    drawn = {container[0].get_color(): container[0].get_marker() for container in ax.containers}
    assert dict(marks.values()) == drawn
    assert len(drawn) == 3


def test_svg__names_far_from_their_ends_are_in_a_legend() -> None:
    nets = [net for net in "abcd" for _ in range(2)]
    fig, ax = draw(points([1, 2] * 4, net=nets).assign(y=5.0, low=4.0, high=6.0), hue="net")
    figures.svg(fig, description="Four lines that end in one point.")
    assert list(ax.texts) == []
    assert sorted(text.get_text() for text in ax.get_legend().get_texts()) == ["a", "b", "c", "d"]


def test_svg__names_of_lines_that_end_elsewhere_do_not_push_each_other() -> None:
    frame = points([1, 2, 3, 1, 100], net=["a"] * 3 + ["b"] * 2).assign(y=[9.0, 7.0, 5.0, 1.0, 5.0])
    fig, ax = draw(frame.assign(low=frame["y"], high=frame["y"]), hue="net")
    ax.set_ylim(0, 10)
    figures.svg(fig, description="Two lines end at one height, far from each other.")
    assert {text.get_text(): text.xyann for text in ax.texts} == {"a": (9, 0.0), "b": (9, 0.0)}


def test_from_zero__keeps_the_highest_mark_below_the_top() -> None:
    _, ax = figures.new_figure("measured", "mock")
    ax.plot([0, 1], [99.0, 100.0])
    figures.from_zero(ax)
    assert ax.get_ylim() == pytest.approx((0, 106))


def test_size_histogram__two_sizes_side_by_side_have_upright_labels() -> None:
    """LULESH under IPM: 2 and 2.5 KiB are a third of a power of two apart, on an axis of eleven."""
    sizes = [8, 24, 48, 80, 256, 512, 896, 2048, 2560, 5120]
    fig, ax = figures.new_figure("measured", "x")
    figures.size_histogram(pd.DataFrame({"call": "MPI_Isend", "size": sizes, "count": 10}), ax=ax)
    drawn = [label.get_text() for label in ax.get_xticklabels() if label.get_visible()]
    assert drawn == ["8 B", "24 B", "48 B", "80 B", "256 B", "512 B", "896 B", "2 KiB", "2.5 KiB", "5 KiB"]
    assert {label.get_rotation() for label in ax.get_xticklabels()} == {90}
    assert ",2 KiB," in as_csv(fig, "sizes")


# The last as LAMMPS sends with 32 ranks: more sizes than are named, so powers of two from 4 B to 64 KiB.
@pytest.mark.parametrize(
    ("sizes", "turned"),
    [
        ((8, 2048), 0),
        ((512, 1024, 2**20), 0),
        ((1, 2, 2**20), 45),
        ((4, 8, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128, 40960), 45),
    ],
)
def test_size_histogram__labels_that_would_touch_are_turned(sizes: tuple[int, ...], turned: int) -> None:
    _, ax = figures.new_figure("measured", "mock")
    frame = pd.DataFrame({"size": sizes, "count": 1, "call": "MPI_Send"})
    figures.size_histogram(frame, ax=ax)
    assert {label.get_rotation() for label in ax.get_xticklabels()} == {turned}


def test_colour__links_of_the_same_rate_share_theirs() -> None:
    assert figures.colour("veth-1gbit") == figures.colour("1gbe")
    assert figures.colour("veth-10gbit") == figures.colour("10gbe")
    assert figures.colour("veth-open") == figures.colour("ib-fdr")
    for name in ("1gbit", "10gbit"):  # under the name that the campaign gives it too
        named = display(load_campaign("vm-hpcg"), "interconnect", f"veth-{name}")
        assert named.startswith("the link of")
        assert figures.colour(named) == figures.colour(f"veth-{name}")


def test_svg__labels_of_a_logarithmic_axis_are_letters() -> None:
    fig, ax = figures.new_figure("measured")
    ax.plot([1, 10, 1e5], [2, 3, 6])
    ax.set(xscale="log", yscale="log")
    labels = re.findall(r">([^<]*)</text>", figures.svg(fig, description="x"))
    assert labels == ["10⁰", "10¹", "10²", "10³", "10⁴", "10⁵", "2", "3", "4", "6", "measured"]


def test_svg__long_labels_are_not_cut() -> None:
    """Measured at the resolution of SVG, where widths are rounded to its pixels, they once were."""
    figures.use_style()
    fig, ax = figures.new_figure("measured")
    text = "lsdyna2009 · number of the topology figure"
    ax.plot(range(3), [text, "b", "c"])
    figures.svg(fig, description="x")
    label = ax.get_yticklabels()[0]
    width = TextPath((0, 0), text, prop=label.get_fontproperties()).get_extents().width / 72
    assert label.get_window_extent().x1 / fig.dpi - width >= 0.02  # inches from the left edge


def test_count_bars__has_a_look_for_every_word_of_a_verdict() -> None:
    # The words without a size head those that have one.
    assert set(VERDICTS) - {"holds in direction", "seen", "not tested"} == set(counts._LOOKS)


def test_count_bars__stand_in_one_order() -> None:
    fig, ax = figures.new_figure("measured", "two")
    table = pd.DataFrame({"does not hold": [1], "seen, smaller": [2], "holds": [3]}, index=["links"])
    figures.count_bars(table, ax=ax, xlabel="claims (count)")
    (legend,) = fig.legends
    assert [text.get_text() for text in legend.get_texts()] == ["holds", "seen, smaller", "does not hold"]


def test_wrapped__a_number_stays_with_its_unit() -> None:
    assert figures.wrapped("Allreduce of 4 B", 14) == "Allreduce of\n4 B"
    assert figures.wrapped("4 nodes of one machine", 8) == "4 nodes\nof one\nmachine"
