"""The picture of energy against time to solution."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis import figures
from analysis.figures.style import GREY, PAPER, looks

_PANEL = 3.4  # inches a panel
_NEAR = 0.1  # of an axis


def draw_pareto(table: pd.DataFrame, factor: str, *, evidence: str, campaign: str) -> Figure:
    """Draw the energy of a job against its time, a panel for each stratum.

    Parameters
    ----------
    table : DataFrame
        From `analysis.questions.bills`.
    factor : str
        Its levels are the points.
    evidence, campaign : str
        As in `analysis.figures.new_figure`.

    Returns
    -------
    Figure
        Medians with the ends of their intervals in both directions. A dashed line joins the levels that
        no other one beats in both; the mark of a level that is beaten is hollow.
    """
    strata = list(table.groupby("runs", sort=False))
    fig, ax = figures.new_figure(evidence, campaign, height=1.0 + _PANEL * len(strata))
    ax.remove()
    panels = fig.subplots(len(strata), 1, sharex=True, squeeze=False)[:, 0]
    styles = looks([str(level) for level in table[factor].drop_duplicates()])
    for panel, (name, part) in zip(panels, strata, strict=True):
        front = part[part["pareto"]].sort_values("time_s")
        panel.plot(
            front["time_s"], front["energy_Wh"], color=GREY, linestyle=(0, (4, 3)), linewidth=1.2, zorder=1
        )
        for _, row in part.iterrows():
            _point(panel, row, str(row[factor]), styles[str(row[factor])], above=_crowded(row, part, table))
        if name:
            panel.set_title(str(name), loc="left", size=10.5)
        panel.set(ylabel="energy of a job (Wh)", ylim=(0, 1.15 * float(part["energy_Wh"].max())))
    panels[-1].set(xlabel="time from launch to exit (s)", xlim=(0, 1.12 * float(table["time_s"].max())))
    return fig


def _crowded(row: pd.Series, part: pd.DataFrame, table: pd.DataFrame) -> bool:
    """Tell whether a mark stands close above another one, whose name is below it."""
    beside = (part["time_s"] - row["time_s"]).abs() < _NEAR * float(table["time_s"].max())
    under = row["energy_Wh"] - part["energy_Wh"]
    return bool((beside & (under > 0) & (under < _NEAR * float(part["energy_Wh"].max()))).any())


def _point(ax: Axes, row: pd.Series, level: str, style: tuple[str, str], *, above: bool) -> None:
    shade, mark = style
    x, y = float(row["time_s"]), float(row["energy_Wh"])
    reach = [
        None if pd.isna(row[low]) else [[max(middle - row[low], 0.0)], [max(row[high] - middle, 0.0)]]
        for middle, low, high in ((x, "time_low", "time_high"), (y, "energy_low", "energy_high"))
    ]
    ax.errorbar(
        [x], [y], xerr=reach[0], yerr=reach[1], color=shade, marker=mark, markersize=8, capsize=3.5,
        markerfacecolor=shade if row["pareto"] else PAPER, markeredgecolor=shade, linestyle="none", zorder=3,
    )  # fmt: skip
    ax.annotate(
        level, (x, y), xytext=(8, 4 if above else -4), textcoords="offset points", ha="left",
        va="bottom" if above else "top", size=10, color=shade,
    )  # fmt: skip
