"""The audit as tables and as a figure, for the notebook."""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from analysis.base import project
from analysis.base.words import displayed
from analysis.claims.audit import CONSISTENT, COULD_NOT_FAIL, INCONSISTENT, NOT_CHECKABLE, audit_path, outcome
from analysis.claims.intervals import PrintedRange
from analysis.claims.model import load_report
from analysis.claims.relations import load_audit
from analysis.pages.figures.points import wrapped
from analysis.pages.figures.style import GREY, HUES, INK, LINE, legend_above

WORDS = (CONSISTENT, COULD_NOT_FAIL, NOT_CHECKABLE, INCONSISTENT)
_LOOKS = {
    CONSISTENT: ("green", "o"),
    COULD_NOT_FAIL: ("sky", "s"),
    NOT_CHECKABLE: ("grey", "p"),
    INCONSISTENT: ("red", "X"),
}


def relations(reports: Sequence[str]) -> pd.DataFrame:
    """Compute the audits of some reports, one row a relation.

    Columns ``report title relation statement claims kind unit verdict why arithmetic``, ``margin``, the least
    share by which a figure would have to change for the opposite (NaN where none does), and the two sides
    ``left left_low left_high right right_low right_high`` in `unit` (NaN where nothing is computed, infinite
    ends where nothing bounds a figure), of the reading that agrees or the first.
    """
    rows = []
    for report in reports:
        judged = load_report(project.claims(report))
        for relation in load_audit(audit_path(report)).relations:
            found = outcome(relation)
            first = found.compared[0] if found.compared else None
            row: dict[str, str | float] = {
                "report": report,
                "title": f"{judged.title}, {judged.date}",
                "relation": relation.id,
                "statement": relation.statement,
                "claims": ", ".join(relation.claims),
                "kind": relation.relation,
                "unit": relation.unit,
                "verdict": found.verdict,
                "why": found.reason,
                "arithmetic": found.arithmetic,
                "margin": found.margin,
            }
            nothing = PrintedRange(math.nan, math.nan, math.nan)
            sides = {"left": first.left, "right": first.right} if first else {}
            for side in ("left", "right"):
                span = sides.get(side, nothing)
                row |= {side: span.value, f"{side}_low": span.low, f"{side}_high": span.high}
            rows.append(row)
    return pd.DataFrame(rows)


def counts(table: pd.DataFrame) -> pd.DataFrame:
    """Count verdicts by report, in the order of `table`; verdicts that none has are left out."""
    found: pd.DataFrame = pd.crosstab(table["title"], table["verdict"]).reindex(table["title"].unique())
    return pd.DataFrame(found[[word for word in WORDS if word in found]])


def agreements(table: pd.DataFrame) -> pd.DataFrame:
    """Choose the relations that require two rounded numbers to be equal.

    Rows of `table` whose sides must be equal, positive and bounded, with ``ratio low high``, the left
    side over the printed right one, and ``band_low band_high``, the right side over the same.
    """
    same = table[(table["kind"] == "equal") & (table["left_low"] > 0) & (table["right_low"] > 0)]
    same = same.loc[np.isfinite(same["left_high"]) & np.isfinite(same["right_high"])]
    base = same["right"]
    scaled: pd.DataFrame = same.assign(
        ratio=same["left"] / base,
        low=same["left_low"] / base,
        high=same["left_high"] / base,
        band_low=same["right_low"] / base,
        band_high=same["right_high"] / base,
    )
    return scaled


def draw_agreements(table: pd.DataFrame, *, ax: Axes) -> Axes:
    """Draw both sides of each relation of `agreements`, over the printed right one, on a logarithmic axis.

    A bar is what the right side may have been before it was rounded, a mark with its whisker the left
    side: they agree where they overlap.
    """
    numbers = table[["ratio", "low", "high", "band_low", "band_high"]].to_numpy(dtype=float)
    for place, (ratio, low, high, *band) in enumerate(numbers):
        hue, mark = _LOOKS[str(table["verdict"].iloc[place])]
        ax.plot(band, (place, place), color=LINE, linewidth=9, solid_capstyle="butt", zorder=1)
        ax.errorbar(
            [ratio], [place], xerr=[[ratio - low], [high - ratio]], color=HUES[hue], marker=mark,
            markersize=8, capsize=3.5, elinewidth=1.6, linestyle="none", zorder=3,
        )  # fmt: skip
    names = [wrapped(one, 62) for one in table["statement"]]
    ax.set_yticks(range(len(table)), names, color=INK, size=8.5)
    ax.invert_yaxis()
    ax.set_xscale("log", base=2)
    ticks = (0.5, 0.7, 1.0, 1.5, 2.0)
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    ax.axvline(1.0, color=GREY, linestyle=(0, (5, 3)), linewidth=1.3, zorder=0)
    ax.set(xlabel="left side over the printed right side (1)", ylabel="")
    for word in [word for word in WORDS if word in set(table["verdict"])]:
        hue, mark = _LOOKS[word]
        ax.plot([], [], color=HUES[hue], marker=mark, linestyle="none", markersize=8, label=displayed(word))
    legend_above(ax)
    return ax
