"""The forecast of the reports' applications as sentences, a table and a figure, for the notebook."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from analysis.base import models, project
from analysis.base.errors import ConfigError
from analysis.base.words import significant
from analysis.model.forecast import forecast, inputs_of
from analysis.model.inputs import Inputs
from analysis.pages import figures
from analysis.pages.figures.style import GREY, LINE, PAPER, looks
from analysis.schema.campaigns import CampaignFile, ModelledCells

MARK = "a forecast, not evidence: no verdict rests on it"
_HATCHES = ("////", "\\\\\\\\", "....", "xxxx")
_ROW, _BAR = 1.62, 0.26  # inches of a row of panels; width of a bar
# What the model leaves out, and in which direction that moves a forecast: of a link over the report's, and of
# more nodes over the report's.
LEFT_OUT = (
    ("noise of the system, and imbalance that grows with the ranks", "too far from 1", "too good"),
    ("congestion in switches, and cables shared by nodes", "too near to 1", "too good"),
    ("more tiers of switches, each some 0.1 to 0.3 µs more", "too far from 1", "too good"),
    ("parts that come to fit their caches", "too near to 1", "too bad"),
    ("processors of today on the newer link: here they are the report's", "too near to 1", "not known"),
    ("reductions by the switches: no published number beyond 128 nodes is known", "not known", "too bad"),
    ("messages of a modelled structure that are combined", "not known", "too bad"),
)


def forecasts(
    campaign: str, cells: Mapping[str, Sequence[Any]], links: Sequence[str], nodes: Sequence[int]
) -> pd.DataFrame:
    """Forecast cells by their title: as `analysis.model.forecast.forecast`, with ``title link_title``.

    A cell is model, cluster, case, the report's number of nodes and link, and ranks per node if not all
    cores. Widened as the bands of the modelled `campaign`, and further with distance. Raises `ConfigError` if
    it is not modelled.
    """
    inputs = inputs_of(project.root())
    declared = models.load(CampaignFile, project.declaration(campaign)).model
    if declared is None:
        raise ConfigError.at(campaign, 0, "is not modelled", "name a campaign that declares a model")
    found = [
        forecast(
            inputs,
            declared.widening,
            [dict(zip(ModelledCells.model_fields, cell, strict=False))],
            links,
            nodes,
        ).assign(title=title)
        for title, cell in cells.items()
    ]
    whole = pd.concat(found, ignore_index=True)
    return whole.assign(link_title=[short(inputs, link) for link in whole["link"]])


def short(inputs: Inputs, link: str) -> str:
    """Return the title of a link without its path."""
    return inputs.links[link].title.partition(" over ")[0]


def sentences(found: pd.DataFrame) -> list[str]:
    """Return sentences on what the bands decide, and where there are none."""
    some = found[found["sense"]]
    ahead, behind = (some["ratio_least"] > 1).sum(), (some["ratio_most"] < 1).sum()
    least, most = some["ratio"].min(), some["ratio"].max()
    counts = f"{found['nodes'].min():,} to {found['nodes'].max():,} nodes"
    links = " and ".join(found["link_title"].drop_duplicates())
    if ahead + behind:
        decided = f"of {len(some)} widened bands {ahead} put the newer link ahead and {behind} behind"
    else:
        decided = f"each of {len(some)} widened bands holds 1: the newer link may be faster or slower"
    return [
        f"This is {MARK}.",
        f"With {links} at {counts}, on the reports' processors, the middle of the model is {least:.2f} to "
        f"{most:.2f} times the speed of the reports' InfiniBand; {decided}.",
        f"{(~found['sense']).sum()} of {len(found)} cells have no band because their parts are too small.",
    ]


def table(found: pd.DataFrame) -> pd.DataFrame:
    """List the fewest and the most nodes that have a band: columns of text, bands of draws and widened."""
    rows = []
    for (title, link), part in found[found["sense"]].groupby(["title", "link_title"], sort=False):
        for _, row in part.iloc[[0, -1]].iterrows():
            rows.append(
                {
                    "application": title,
                    "link": link,
                    "nodes": int(row["nodes"]),
                    "over_the_report's_link": _band(row, "ratio", "low", "high"),
                    "widened": _ends(row, "ratio"),
                    "over_the_report's_run": _band(row, "speedup", "low", "high"),
                    "widened_too": _ends(row, "speedup"),
                }
            )
    return pd.DataFrame(rows)


def stops(found: pd.DataFrame) -> pd.DataFrame:
    """List what a rank has at the fewest and the most nodes, and where it is too little."""
    rows = []
    for title, part in found.drop_duplicates(["title", "nodes"]).groupby("title", sort=False):
        first, last = part.iloc[0], part.iloc[-1]
        sense = part[part["sense"]]["nodes"]
        rows.append(
            {
                "application": title,
                f"of_a_rank_at_{first['nodes']}_nodes": _part(first),
                f"at_{last['nodes']}": _part(last),
                "forecast_up_to": f"{sense.max():,} nodes" if len(sense) else "nowhere",
            }
        )
    return pd.DataFrame(rows)


def _part(row: pd.Series) -> str:
    return f"{significant(row['part'])} {row['unit']}" if row["unit"] else "nothing"


def left_out() -> pd.DataFrame:
    """List what the model leaves out, and in which direction that moves a forecast."""
    return pd.DataFrame(LEFT_OUT, columns=["left out", "link over link is", "more nodes are"])


def _band(row: pd.Series, name: str, low: str, high: str) -> str:
    middle, least, most = (significant(row[one], 3) for one in (name, f"{name}_{low}", f"{name}_{high}"))
    return f"{middle}× ({least} to {most})"


def _ends(row: pd.Series, name: str) -> str:
    return f"{significant(row[f'{name}_least'], 2)} to {significant(row[f'{name}_most'], 2)}"


def draw(found: pd.DataFrame) -> Figure:
    """Draw for each application the link over the report's, and all over the report's own run, by nodes.

    Hatched bars are the draws, whiskers the widened ends.
    """
    titles = list(found["title"].drop_duplicates())
    fig, ax = figures.new_figure("modelled", MARK, height=1.1 + _ROW * len(titles), hatched=True)
    ax.remove()
    panels = fig.subplots(len(titles), 2, sharex=True, squeeze=False)
    for title, (left, right) in zip(titles, panels, strict=True):
        part = found[found["title"] == title]
        _bars(left, part, "ratio")
        _bars(right, part, "speedup")
        left.set_title(title, loc="left", size=10.5)
    for axes, label in zip(panels[0], ("over the report's link", "over the report's own run"), strict=True):
        axes.annotate(
            f"times as fast {label} (1)", (0, 1), xycoords="axes fraction", xytext=(0, 20), size=9.5,
            textcoords="offset points", color=GREY,
        )  # fmt: skip
    for axes in panels[-1]:
        axes.set(xlabel="nodes")
    handles, labels = panels[0][0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    return fig


def _bars(ax: Axes, part: pd.DataFrame, name: str) -> None:
    counts = sorted(part["nodes"].unique())
    links = list(part["link"].drop_duplicates())
    for at, (link, (shade, mark)) in enumerate(looks(links).items()):
        one = part[(part["link"] == link) & part["sense"]]
        places = np.array([counts.index(n) for n in one["nodes"]]) + _BAR * (at - (len(links) - 1) / 2) * 1.3
        middle, low, high = (one[f"{name}{end}"].to_numpy(float) for end in ("", "_low", "_high"))
        reach = [middle - one[f"{name}_least"].to_numpy(float), one[f"{name}_most"].to_numpy(float) - middle]
        ax.bar(
            places, high - low, _BAR, bottom=low, facecolor=PAPER, edgecolor=shade, linewidth=0.9,
            hatch=_HATCHES[at % len(_HATCHES)], zorder=2,
        )  # fmt: skip
        ax.errorbar(
            places, middle, reach, color=shade, marker=mark, markersize=6, markeredgecolor=PAPER, capsize=3,
            elinewidth=1.2, linestyle="none", zorder=3,
            label=f"forecast, {one['link_title'].iloc[0]}" if len(one) else None,
        )  # fmt: skip
    ax.axhline(1.0, color=GREY, linestyle=(0, (5, 3)), linewidth=1.2, zorder=1)
    ax.set_yscale("log")
    none = part[~part["sense"]]["nodes"]
    if len(none):  # parts only become smaller
        first = counts.index(none.min())
        ax.axvspan(first - 0.5, len(counts) - 0.5, color=LINE, alpha=0.6, linewidth=0, zorder=1.5)
        where = (first + len(counts) - 1) / 2
        ax.annotate("parts\ntoo small", (where, 0.5), xycoords=("data", "axes fraction"), ha="center",
                    va="center", size=8.5, color=GREY, zorder=4,
                    bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 1.5})  # fmt: skip
    _axes(ax, counts, part[[f"{name}_least", f"{name}_most"]].to_numpy(float))


def _axes(ax: Axes, counts: Sequence[int], ends: NDArray[np.float64]) -> None:
    ax.set_xticks(range(len(counts)), [f"{n:,}" for n in counts])
    ax.set_xlim(-0.5, len(counts) - 0.5)
    least, most = float(np.nanmin(ends)) / 1.2, float(np.nanmax(ends)) * 1.2
    ticks = [t for t in (0.1, 0.25, 0.5, 1, 2, 4, 10, 30, 100, 300, 1000, 3000) if least <= t <= most]
    ax.set_yticks(ticks, [f"{t:g}" for t in ticks])
    ax.minorticks_off()
