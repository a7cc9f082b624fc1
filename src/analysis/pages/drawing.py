"""The figures of questions: ratio over absolute values, curves with intervals, power over time."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import AutoLocator, ScalarFormatter

from analysis.base.words import in_order, significant
from analysis.pages import figures
from analysis.pages.comparison import Compared, Stratum
from analysis.pages.figures.names import name_ends
from analysis.pages.figures.style import GREY, PAPER, looks, whiskers
from analysis.schema.factors import label

_PANEL = 3.4  # inches a panel of energies
_NEAR = 0.1  # of an axis
# A scale whose largest value is more than this many times the least is logarithmic.
_WIDE = 8.0


def draw(compared: Compared, part: Stratum) -> Figure:
    """Draw a part of a comparison: ratios to the baseline above, absolute values below.

    With a single point along the axis every run is shown instead.
    """
    where = " · ".join(filter(None, (compared.source.name, part.name)))
    medians = _named(compared, part.medians)
    if part.medians[compared.along].nunique() == 1:
        return _strip(compared, part, medians, where)
    fig, (top, bottom) = panels(compared.source.evidence, where, 2, 6.8)
    ratios = _named(compared, part.ratios)
    if not pd.api.types.is_numeric_dtype(medians[compared.along]):
        # Words stand where they first appear: both panels must have the same ones, in the same order.
        met = medians[compared.along].isin(set(ratios[compared.along]))
        medians, ratios = _in_order(compared, medians[met]), _in_order(compared, ratios)
    doubled = doubling(part.medians[compared.along])
    styles = looks(list(medians["level"].drop_duplicates()))  # a level looks the same in both panels
    base = compared.display(compared.baseline)
    figures.interval_points(
        ratios, ax=top, x=compared.along, y="ratio", low="low", high="high", hue="level", log2=doubled,
        xlabel="", ylabel=f"times {compared.phrase}\n{base}", one=True, styles=styles,
    )  # fmt: skip
    last = part.ratios.sort_values(compared.along).iloc[-1]
    value = f"{significant(float(last['base']))} {part.unit}".rstrip()
    where = f"at {compared.display(last[compared.along], compared.along)}"
    # Above the panel: beside the line of no difference stand the names of the curves.
    top.set_title(f"1× = {value} ({base}, {where})", loc="left", size=9.5, color=GREY)
    top.yaxis.label.set_multialignment("center")
    ends = part.ratios[["ratio", "low", "high"]].to_numpy(float)
    if np.nanmax(ends) > _WIDE * np.nanmin(ends):
        top.set_yscale("log")
    figures.interval_points(
        medians, ax=bottom, x=compared.along, y="median", low="low", high="high", hue="level", log2=doubled,
        xlabel=_axis(compared.along), ylabel=_value(compared, part), styles=styles,
    )  # fmt: skip
    scaled(bottom, part.medians["median"])
    return fig


def draw_series(
    table: pd.DataFrame,
    *,
    evidence: str,
    campaign: str,
    ylabel: str,
    x: str = "nodes",
    y: str = "median",
    ends: tuple[str, str] = ("low", "high"),
    hue: str = "series",
    ideal: Mapping[float, float] | None = None,
) -> Figure:
    """Draw curves with intervals along a factor, from `series` or `scaling` of `analysis.pages.scaling`.

    `ylabel` has the unit in brackets; `ends` are the columns of the interval; `ideal`, x -> upper bound, is
    drawn as a dashed line.
    """
    fig, ax = figures.new_figure(evidence, campaign)
    low, high = ends
    figures.interval_points(
        table, ax=ax, x=x, y=y, low=low, high=high, hue=hue, xlabel=_axis(x), ylabel=ylabel,
        log2=doubling(table[x]),
    )  # fmt: skip
    if ideal:
        ax.plot(list(ideal), list(ideal.values()), color=GREY, linestyle=(0, (5, 3)), linewidth=1.3, zorder=1)
        name_ends(ax, [(*list(ideal.items())[-1], "linear")], True, {"linear": (GREY, "")})
    if x == "time_s":  # measured, not chosen: no tick at each value
        ax.xaxis.set_major_locator(AutoLocator())
        ax.xaxis.set_major_formatter(ScalarFormatter())
    scaled(ax, table[y])
    return fig


def draw_power(
    logs: Mapping[str, pd.DataFrame],
    elapsed: Mapping[str, float],
    *,
    evidence: str,
    campaign: str,
    window: Sequence[float] = (),
) -> Figure:
    """Draw power over time, one panel a run; the job's window is shaded, gaps are gaps.

    Axes begin at zero and are common ones, but where one run draws a third of another's power or less.
    `logs` are from `analysis.estimates.power.power` and `elapsed` the lengths of the jobs in s, by the name
    of the run; `window` is what to zoom to, in s since the start of the job.
    """
    tops = [1.1e-3 * float(log["power"].max()) for log in logs.values()]
    common = max(tops) < 3 * min(tops)
    fig, each = panels(evidence, campaign, len(logs), 1.4 + 1.7 * len(logs), sharey=common)
    for panel, top, (name, log) in zip(each, tops, logs.items(), strict=True):
        shade = figures.colour(name.rpartition(", ")[0])
        panel.axvspan(0, elapsed[name], color=GREY, alpha=0.12, linewidth=0)
        panel.plot(log["seconds"], log["power"] / 1e3, color=shade, linewidth=1.3)
        panel.set_title(f"{name}; job of {elapsed[name]:,.0f} s", loc="left", size=10.5)
        panel.set(ylabel="power (kW)", ylim=(0, max(tops) if common else top))
    if len(window):
        each[-1].set_xlim(*window)
    each[-1].set(xlabel="time since the start of the job (s)")
    return fig


def panels(
    evidence: str, campaign: str, rows: int, height: float, *, sharey: bool = False
) -> tuple[Figure, list[Axes]]:
    """Make a figure of panels below each other on a common x axis."""
    fig, ax = figures.new_figure(evidence, campaign, height=height)
    ax.remove()
    return fig, list(fig.subplots(rows, 1, sharex=True, sharey=sharey, squeeze=False)[:, 0])


def _strip(compared: Compared, part: Stratum, medians: pd.DataFrame, where: str) -> Figure:
    values = _named(compared, part.values)
    height = figures.strip_height(values["level"].nunique())
    fig, ax = figures.new_figure(compared.source.evidence, where, height=height)
    base = compared.display(compared.baseline)
    order = [base, *(level for level in medians["level"] if level != base)]
    only = f"at {compared.display(part.medians[compared.along].iloc[0], compared.along)}"
    figures.strip_with_interval(
        values, ax=ax, x="level", y="value", summary=medians, order=order,
        xlabel=f"{label(compared.factor)}, {only}", ylabel=_value(compared, part),
    )  # fmt: skip
    if len(order) == len(ax.get_xticks()):  # in columns
        figures.from_zero(ax)
    return fig


def _named(compared: Compared, frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(level=[compared.display(level) for level in frame[compared.factor]])


def _in_order(compared: Compared, frame: pd.DataFrame) -> pd.DataFrame:
    """Sort an axis of words, numbers in them by size, and name its levels."""
    order = in_order(frame[compared.along].unique())
    frame = frame.sort_values(compared.along, key=lambda levels: levels.map(order.index), kind="stable")
    return frame.assign(
        **{compared.along: [compared.display(one, compared.along) for one in frame[compared.along]]}
    )


def _value(compared: Compared, part: Stratum) -> str:
    name = compared.what(part)
    return f"{name} ({part.unit})" if part.unit and part.unit != name else name


def _axis(name: str) -> str:
    units = {"size": "message size (B)", "time_s": "time from launch to exit (s)"}
    return units.get(name, label(name))


def doubling(values: pd.Series) -> bool:
    """Tell whether an axis spans so much that its steps are doublings rather than additions."""
    return bool(
        pd.api.types.is_numeric_dtype(values) and values.min() > 0 and values.max() >= 4 * values.min()
    )


def scaled(ax: Axes, values: pd.Series) -> None:
    """Give positive values a logarithmic axis where they span much, else one that begins at zero."""
    if values.min() > 0 and values.max() > _WIDE * values.min():
        ax.set_yscale("log")
    else:
        figures.from_zero(ax)


def draw_pareto(table: pd.DataFrame, factor: str, *, evidence: str, campaign: str) -> Figure:
    """Draw the energy of a job against its time, from `yearly_costs`, a panel for each stratum.

    Medians of the levels of `factor` with the ends of their intervals in both directions. A dashed line joins
    the levels that no other one beats in both; the mark of a level that is beaten is hollow.
    """
    strata = list(table.groupby("runs", sort=False))
    fig, each = panels(evidence, campaign, len(strata), 1.0 + _PANEL * len(strata))
    styles = looks([str(level) for level in table[factor].drop_duplicates()])
    for panel, (name, part) in zip(each, strata, strict=True):
        front = part[part["pareto"]].sort_values("time_s")
        panel.plot(
            front["time_s"], front["energy_Wh"], color=GREY, linestyle=(0, (4, 3)), linewidth=1.2, zorder=1
        )
        for _, row in part.iterrows():
            _point(panel, row, str(row[factor]), styles[str(row[factor])], above=_crowded(row, part, table))
        if name:
            panel.set_title(str(name), loc="left", size=10.5)
        panel.set(ylabel="energy of a job (Wh)", ylim=(0, 1.15 * float(part["energy_Wh"].max())))
    each[-1].set(xlabel="time from launch to exit (s)", xlim=(0, 1.12 * float(table["time_s"].max())))
    return fig


def _crowded(row: pd.Series, part: pd.DataFrame, table: pd.DataFrame) -> bool:
    """Tell whether a mark stands close above another one, whose name is below it."""
    beside = (part["time_s"] - row["time_s"]).abs() < _NEAR * float(table["time_s"].max())
    under = row["energy_Wh"] - part["energy_Wh"]
    return bool((beside & (under > 0) & (under < _NEAR * float(part["energy_Wh"].max()))).any())


def _point(ax: Axes, row: pd.Series, level: str, style: tuple[str, str], *, above: bool) -> None:
    x, y = float(row["time_s"]), float(row["energy_Wh"])
    whiskers(
        ax, [x], [y], style, xends=([row["time_low"]], [row["time_high"]]),
        yends=([row["energy_low"]], [row["energy_high"]]), markersize=8, capsize=3.5,
        markerfacecolor=style[0] if row["pareto"] else PAPER, markeredgecolor=style[0], series=level,
        facts=row.to_frame().T,
    )  # fmt: skip
    ax.annotate(
        level, (x, y), xytext=(8, 4 if above else -4), textcoords="offset points", ha="left",
        va="bottom" if above else "top", size=10, color=style[0],
    )  # fmt: skip
