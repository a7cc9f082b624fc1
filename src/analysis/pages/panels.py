"""A page on tables of other people: panels of medians by two factors, looked-up figures, and their words."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from analysis.base.words import Level, attached, counted, significant
from analysis.claims import Verdict
from analysis.claims.distance import LOOK_UP
from analysis.claims.rules import FAILS, HOLDS
from analysis.claims.verdicts import SOURCE_WORDS
from analysis.estimates import tables
from analysis.estimates.campaign import Campaign, NotCoveredError
from analysis.estimates.measures import MEASURES, shown_unit
from analysis.estimates.numerals import medians
from analysis.estimates.spelling import display, measure_name
from analysis.pages import figures
from analysis.pages.drawing import draw_series
from analysis.pages.notebook import sentence
from analysis.schema.factors import at_level, label

SIZE = "size"  # the one axis that is no column of the runs
_NUMBERS = ("median", "low", "high", "unit", "n", "confidence")
_POINTS = 2  # points of an axis of words that a sentence names, those with the most curves and runs


@dataclass(frozen=True)
class Panel:
    """A measure along `x`, a curve for each level of another factor.

    `table` has the columns x, ``series median low high n confidence``, the median in `unit`; `more` says
    whether more is better.
    """

    title: str
    what: str
    axis: str
    x: str
    unit: str
    more: bool
    table: pd.DataFrame

    @property
    def sentence(self) -> str:
        """What the medians say, best first: along numbers the ends of a curve, else the curves at a point."""
        return f"{self.title}: {'; '.join(self._ends() if self._numeric else self._points())}."

    @property
    def description(self) -> str:
        """Say what the figure shows."""
        return f"{self.title}: {self.what} by {self.axis}, {medians(self.table)}"

    @property
    def named(self) -> pd.DataFrame:
        """The table with its title in front, so that the tables of several panels can be stacked."""
        numbers = self.table.rename(columns={self.x: "at"}).assign(panel=self.title, unit=self.unit)
        return numbers[["panel", *(c for c in ("at", "series") if c in numbers), *_NUMBERS]]

    @property
    def _numeric(self) -> bool:
        return pd.api.types.is_numeric_dtype(self.table[self.x])

    def _ends(self) -> Iterator[str]:
        curves = [part.sort_values(self.x) for _, part in self.table.groupby("series", sort=False)]
        # Of messages the end says most at which the measure is the link's own.
        ends = ([-1] if self.more else [0]) if self.x == SIZE else [0, -1]
        curves.sort(key=lambda part: part["median"].iloc[ends[-1]], reverse=self.more)
        for part in curves if self.x != SIZE else [curves[0], *curves[1:][-1:]]:
            each = (f"{self._value(part['median'].iloc[end])} {self._place(part, end)}" for end in ends)
            yield f"{part['series'].iloc[0]} {', '.join(each)}"

    def _value(self, value: float) -> str:
        return attached(significant(float(value), 3), self.unit)

    def _place(self, part: pd.DataFrame, end: int) -> str:
        at = int(part[self.x].iloc[end])
        return f"at {at:,} B" if self.x == SIZE else at_level(self.x, at)

    def _points(self) -> Iterator[str]:
        curves = self.table.groupby(self.x, sort=False)
        alone = self.table["series"].nunique() == 1
        several = bool((self.table["n"] > 1).any())
        ends = self.table[self.x].iloc[[0, -1]]
        sizes = pd.DataFrame({"curves": curves.size(), "n": curves["n"].sum()})
        named = set(ends if alone else sizes.nlargest(_POINTS, ["curves", "n"]).index)
        for at, part in ((at, part) for at, part in curves if at in named):
            best = part.sort_values("median", ascending=not self.more)
            rows = zip(best["series"], best["median"], best["n"], strict=True)
            each = (
                f"{'' if alone else name} {self._value(value)}{f' (n = {n})' if several else ''}"
                for name, value, n in rows
            )
            yield f"{at} {', '.join(one.strip() for one in each)}"


def panel(
    campaign: Campaign,
    *,
    title: str,
    variable: str,
    x: str,
    by: str,
    what: str = "",
    axis: str = "",
    select: Mapping[str, Any] | None = None,
    order: Sequence[Level] = (),
    names: Mapping[str, str] | None = None,
    per: str = "",
) -> Panel:
    """Take the medians of a measure along `x` for each level of `by`, both columns of the runs.

    `x` may be the message size, for a latency or a bandwidth. `select` names columns of the runs and their
    values; `order` the levels of `x`, and those that are shown, from left to right; `names` what a level is
    called, `axis` what `x` is. `per` is a count that the measure is divided by, or `mean_power`: a rate for a
    watt is work for a joule. Raises `NotCoveredError` without any run.
    """
    runs = tables.counted(campaign, **(select or {}))
    if x == SIZE:
        micro = campaign.frame("micro").merge(runs[["run", by]], on="run")
        values = micro.assign(value=micro[variable])
    else:
        values = runs.assign(value=runs["run"].map(MEASURES[variable].compute(campaign, runs, ())))
    if per:
        values = values.assign(value=values["value"] / values[per])
    values = values[values["value"].notna() & (values[x].isin(order) if order else True)]
    if values.empty:
        raise NotCoveredError(f"no run of {campaign.name} has a {variable} for {title}")
    found = tables.summary(values, [x, by], "value", variable if variable in MEASURES else "")
    rank = {level: at for at, level in enumerate(order or found[x].drop_duplicates())}
    found = found.sort_values(x, key=lambda levels: levels.map(rank), kind="stable")
    levels = {column: list(found[column]) for column in (x, by)}
    series = [(names or {}).get(str(one)) or display(campaign, by, one) for one in levels[by]]
    at = [(names or {}).get(str(one), one) for one in levels[x]]
    found = found.assign(**{x: at, "series": series})
    unit = shown_unit(variable, runs)
    unit = f"{unit.removesuffix('/s')}/J" if per == "mean_power" else unit
    columns = [*dict.fromkeys((x, "series")), "median", "low", "high", "n", "confidence"]
    table = found[columns].reset_index(drop=True)
    more = MEASURES[variable].higher_is_better
    return Panel(title, what or measure_name(variable), axis or label(x), x, unit, more, table)


def draw_panel(one: Panel, campaign: Campaign) -> Figure:
    """Draw a panel: medians with intervals, joined along numbers."""
    values = f"{one.what} ({one.unit})" if one.unit not in ("", one.what) else one.what
    if pd.api.types.is_numeric_dtype(one.table[one.x]):
        fig = draw_series(
            one.table, evidence=campaign.evidence, campaign=campaign.name, x=one.x, ylabel=values
        )
        if one.x != SIZE:
            fig.axes[0].set_xlabel(one.axis)
        return fig
    height = max(4.2, 0.46 * one.table[one.x].nunique() + 1.6)
    fig, ax = figures.new_figure(campaign.evidence, campaign.name, height=height)
    figures.interval_rows(one.table, ax=ax, x=one.x, hue="series", xlabel=values)
    return fig


# ---- figures of products and programs, which are looked up and not measured


def look_up_sentences(verdicts: Sequence[Verdict]) -> list[str]:
    """Say how many statements sources confirm, and which they contradict; nothing without a look-up."""
    found = [one for one in verdicts if one.distance == LOOK_UP]
    confirmed = sum(one.verdict in SOURCE_WORDS[HOLDS] for one in found)
    wrong = [one for one in found if one.verdict in SOURCE_WORDS[FAILS]]
    counts = f"sources confirm {confirmed}, contradict {len(wrong)}"
    text = f"Of {counted(len(found), 'statement')} that were looked up, {counts}"
    text += f" and leave {len(found) - confirmed - len(wrong)} open."
    return [text, *map(sentence, wrong)] if found else []


def stated_tables(campaign: Campaign) -> list[pd.DataFrame]:
    """Return the figures that sources state and the sources, of a campaign that has such figures."""
    if "figures" not in campaign.tree.children:
        return []
    stated = campaign.frame("figures")[["case", "metric", "value", "unit", "remark", "source", "place"]]
    sources = [(key, *named) for key, named in campaign.references.items()]
    return [stated, pd.DataFrame(sources, columns=["source", "title", "address"])]
