"""The linter of figures: each fault that was once on a page is found, and a good figure has none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.base.errors import ConfigError
from analysis.pages import figures
from analysis.pages.drawing import draw_series
from analysis.pages.figures.faults import faults
from analysis.site.build import build
from analysis.site.page import PageInput
from analysis.site.provenance import Provenance

ROOT = Path(__file__).parents[2]
BUILT = sorted((ROOT / "results/notebooks").glob("*.ipynb"))


@pytest.fixture(autouse=True)
def _style() -> None:
    figures.use_style()


def curve(x: list[float], y: list[float], reach: float = 0.1, **more: object) -> tuple[Figure, Axes]:
    frame = pd.DataFrame({"x": x, "y": y})
    frame = frame.assign(low=frame["y"] * (1 - reach), high=frame["y"] * (1 + reach), **more)
    fig, ax = figures.new_figure("measured", "mock")
    figures.interval_points(
        frame, ax=ax, x="x", y="y", low="low", high="high", xlabel="nodes", ylabel="time (s)"
    )
    return fig, ax


def found(fig: Figure, description: str = "A figure") -> list[str]:
    figures.svg(fig, description=description)  # settles the layout
    return faults(fig, description)


def test_faults__a_good_figure_has_none() -> None:
    assert found(curve([1, 2, 4], [1, 2, 3])[0], "Medians of 6 runs with 95 % intervals") == []


def crowded(ax: Axes) -> None:
    ax.set_xticks([1, 2, 3, 4], [f"veth-open, MPICH 4.0.2, -O3, ranks {n}, target time 6" for n in range(4)])


def ticks_on_each_other(ax: Axes) -> None:
    ax.set_xlim(1, 1000)
    ax.set_xticks([48, 64, 1000], ["48", "64", "1000"])


def cut_off(ax: Axes) -> None:
    ax.annotate("beyond", (1.0, 0.5), xycoords="figure fraction", annotation_clip=False)


def crossed(ax: Axes) -> None:
    ax.annotate("in the way", (2.5, 2.5), ha="center", va="center")


def of_a_claim(ax: Axes) -> None:
    ax.set_title("lsdyna2014 ic fdr over 1gbe 7x")


def of_a_column(ax: Axes) -> None:
    ax.set_ylabel("figure_of_merit")


def of_a_level(ax: Axes) -> None:
    ax.set_title("ib-fdr", loc="left")


def no_message(ax: Axes) -> None:
    ax.set_xlabel("message size (B)")
    ax.set_title("MPI_Comm_rank")


def on_a_linear_axis(ax: Axes) -> None:
    ax.errorbar([1, 2], [1.0, 150.0], yerr=[0.1, 5.0])
    ax.set(ylabel="times as fast as 1GbE", ylim=(0, 160))


def in_an_empty_panel(ax: Axes) -> None:
    ax.set_xlim(1, 100)
    ax.set_xticks([1, 50, 100], ["1", "50", "100"])


def through_one_point(ax: Axes) -> None:
    ax.plot([2.0], [3.0], "-")


@pytest.mark.parametrize(
    ("spoil", "expected"),
    [
        (crowded, "texts overlap: “veth-open"),
        (ticks_on_each_other, "texts overlap: “48” and “64”"),
        (cut_off, "“beyond” is cut off"),
        (crossed, "a line crosses “in the way”"),
        (of_a_claim, "“lsdyna2014” is an identifier"),
        (of_a_column, "“figure_of_merit” is an identifier"),
        (of_a_level, "“ib-fdr” is an identifier of FDR InfiniBand"),
        (no_message, "MPI_Comm_rank sends no message"),
        (on_a_linear_axis, "ratios from 0.9 to 155 on a linear y axis"),
        (in_an_empty_panel, "data use 3 % of the x axis"),
        (through_one_point, "a line has one point"),
    ],
)
def test_faults__each_kind_is_found(spoil: Callable[[Axes], None], expected: str) -> None:
    fig, ax = curve([1, 2, 3, 4], [1, 2, 3, 4])
    spoil(ax)
    assert any(one.startswith(expected) for one in found(fig)), found(fig)


@pytest.mark.parametrize(
    ("reach", "caption", "wrong"),
    [
        (0.0, "medians of 1 run with 95 % intervals", True),
        (0.0, "single values, without intervals", False),
        (0.1, "medians of 6 runs with 95 % intervals", False),
    ],
)
def test_faults__a_caption_claims_intervals_only_where_some_are_drawn(
    reach: float, caption: str, wrong: bool
) -> None:
    said = found(curve([1, 2, 4], [1, 2, 3], reach)[0], caption)
    assert said == (["the caption claims an interval and none is drawn"] if wrong else [])


@pytest.mark.parametrize(
    ("name", "offset", "expected"),
    [
        ("high", (-60, 0), "a line crosses “high”"),
        ("low", (9, 45), "“low” is at the end of another curve"),
        ("low", (9, 4), ""),
    ],
)
def test_faults__the_name_of_a_curve_lies_on_none_and_is_at_its_own(
    name: str, offset: tuple[float, float], expected: str
) -> None:
    frame = pd.DataFrame({"x": [1, 2, 4] * 2, "y": [1, 2, 3, 4, 4, 4], "net": ["low"] * 3 + ["high"] * 3})
    frame = frame.assign(low=frame["y"], high=frame["y"])
    fig, ax = figures.new_figure("measured", "mock")
    figures.interval_points(
        frame, ax=ax, x="x", y="y", low="low", high="high", hue="net", xlabel="nodes", ylabel="time (s)"
    )
    figures.from_zero(ax)
    figures.svg(fig, description="Two curves")
    (moved,) = (text for text in ax.texts if text.get_text() == name)
    moved.xyann = offset
    assert [one for one in faults(fig, "Two curves") if name in one] == ([expected] if expected else [])


def test_faults__a_single_point_is_no_curve() -> None:
    assert "data use 0 % of the x axis" in found(curve([2], [0.13])[0])


def test_faults__labels_that_squeeze_the_plot_are_found() -> None:
    fig, ax = figures.new_figure("measured")
    ax.barh([0, 1], [1, 2])
    names = ["a name that is far too long for any figure of this width, and then some, and more"] * 2
    ax.set_yticks([0, 1], names)
    assert any(one.startswith("the plot has ") for one in found(fig))


@pytest.mark.parametrize("levels", [3, 7, 12])
def test_strip__of_many_kinds_of_run_has_no_fault(levels: int) -> None:
    rng = np.random.default_rng(1)
    names = [f"open link, MPICH 4.0.2, tuned as -march=native -flto, {n} ranks" for n in range(levels)]
    raw = pd.DataFrame({"kind": np.repeat(names, 6), "value": 10 + rng.normal(size=6 * levels)})
    groups = raw.groupby("kind", sort=False)["value"]
    summary = groups.agg(median="median", low="min", high="max").reset_index()
    fig, ax = figures.new_figure("measured", height=figures.strip_height(levels))
    labels = {"xlabel": "kind of run", "ylabel": "deviation from the median (%)"}
    figures.strip_with_interval(raw, ax=ax, x="kind", y="value", summary=summary, **labels)
    assert found(fig) == []


@pytest.mark.skipif(not BUILT, reason="no pages are built: run `make report`")
def test_faults__no_figure_of_the_site_has_one() -> None:
    drawn = 0
    for path in BUILT:
        for cell in nbformat.read(path, as_version=4).cells:
            for output in cell.get("outputs", []):
                if "image/svg+xml" in output.get("data", {}):
                    drawn += 1
                    assert not output.metadata.get("image/svg+xml", {}).get("faults"), path.name
    assert drawn > 60


@pytest.mark.parametrize("refuse", [True, False])
def test_build__a_line_for_each_figure_with_faults(
    refuse: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# Which?")])
    for found in (["a line has one point", "“nodes” is cut off"], [], ["nothing is drawn"]):
        output = nbformat.v4.new_output(
            "display_data",
            {"image/svg+xml": "<svg></svg>"},
            metadata={"image/svg+xml": {"faults": found}} if found else {},
        )
        notebook.cells.append(nbformat.v4.new_code_cell("draw()", outputs=[output]))
    nbformat.write(notebook, tmp_path / "one.ipynb")
    page = PageInput("one", tmp_path / "one.ipynb", "measured", "mock")
    lines = [
        "page one: figure 1: a line has one point; “nodes” is cut off; change how it is drawn",
        "page one: figure 3: nothing is drawn; change how it is drawn",
    ]
    if refuse:
        with pytest.raises(ConfigError) as error:
            build([], [page], Provenance(commit="0"), tmp_path / "site", refuse_figures=True)
        assert [line.partition(", or set")[0] for line in str(error.value).splitlines()] == lines
        assert not (tmp_path / "site").exists()
        return
    build([], [page], Provenance(commit="0"), tmp_path / "site")
    said = capsys.readouterr().err.splitlines()
    assert said == [f"warning: {line.rpartition(';')[0]}" for line in lines]
    assert (tmp_path / "site/one.html").is_file()


@pytest.mark.parametrize("shares", [(1.0,), (1.1, 1.0, 0.97, 0.8), (0.3, 0.5)])
def test_scaling__the_name_of_the_ideal_lies_on_no_curve(shares: tuple[float, ...]) -> None:
    counts = [1, 2, 4, 8, 16, 32]
    speedups = [(share, n, n * share if n > 1 else 1.0) for share in shares for n in counts]
    table = pd.DataFrame(speedups, columns=["series", "nodes", "speedup"])
    table = table.assign(low=table["speedup"] * 0.98, high=table["speedup"] * 1.02)
    fig = draw_series(
        table, x="nodes", y="speedup", ylabel="speedup", evidence="measured", campaign="mock",
        ideal=dict(zip(counts, counts, strict=True)),
    )  # fmt: skip
    figures.svg(fig, description="Speedup")
    assert faults(fig, "Speedup") == []


def test_names__the_linter_and_the_placing_agree_however_fine_the_drawing_is() -> None:
    """A name is nearer to another end by 1.6 pixels of the placing, and by 2.3 of the linter."""
    ends = {"baseline": 2.999, "tl": 2.708, "yield": 2.798}
    rows = [
        (name, n, 1 + (end - 1) * at) for name, end in ends.items() for n, at in ((1, 0), (2, 0.4), (4, 1))
    ]
    table = pd.DataFrame(rows, columns=["series", "nodes", "speedup"])
    table = table.assign(low=table["speedup"] * 0.98, high=table["speedup"] * 1.02)
    fig = draw_series(
        table, x="nodes", y="speedup", ylabel="speedup", evidence="measured", campaign="mock",
        ideal={1.0: 1.0, 2.0: 2.0, 4.0: 4.0},
    )  # fmt: skip
    figures.svg(fig, description="Speedup")
    assert faults(fig, "Speedup") == []
