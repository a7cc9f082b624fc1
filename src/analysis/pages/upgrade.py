"""Two campaigns before and after, as a page has them: answer, figure of ratios, tables."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.base.words import number, significant
from analysis.findings.compare import BETTER, EQUAL, LISTED, UNKNOWN, WORDS, WORSE, Difference, Differences
from analysis.pages import figures
from analysis.pages.figures.style import GREY, HUES, LINE, PAPER, legend_beside

# Rows of the figure: what changed, and of the rest as many as there is room for.
_ROWS = 40
# A ratio further from 1 is drawn at the edge.
_FAR = 4.0
_LOOKS = {WORSE: ("red", "v"), BETTER: ("blue", "^"), EQUAL: ("green", "o"), UNKNOWN: ("grey", "s")}
# Ticks in % on both sides of 1, by how far the widest interval reaches.
_TICKS = ((1.12, (2, 5, 10)), (1.35, (10, 20, 30)), (2.1, (20, 50, 100)), (np.inf, (50, 100, 300)))


def upgrade_sentences(found: Differences) -> list[str]:
    """Say what became worse and better, the largest of each first, and what is not clear."""
    out = []
    for word in (WORSE, BETTER):
        rows = [row for row in found.rows if row.word == word]
        if not rows:
            out.append(f"Nothing is shown to have become {word}.")
            continue
        many = (
            f"{len(rows)} of {len(found.rows)} comparisons became {word}; the most, " if len(rows) > 1 else ""
        )
        out.append(f"{many}{rows[0].measure_text()} of {rows[0].name} became {word}: {_change(rows[0])}.")
    equal, unknown = found.counts[EQUAL], found.counts[UNKNOWN]
    out.append(f"{equal} are equal within {100 * found.margin:g} %; {unknown} are not clear.")
    return out


def _change(row: Difference) -> str:
    values = f"{significant(row.before, 3)} → {row.value_text(row.after, 3)}"
    return f"{values}, {number(row.ratio, '×')}, n = {row.ratio.n_baseline} and {row.ratio.n}"


def upgrade_table(found: Differences) -> pd.DataFrame:
    """Return the comparisons as text, worst first: measure, cell, both medians, ratio with interval, q, n."""
    return pd.DataFrame([row.texts for row in found.rows if row.word in LISTED])


def upgrade_counts(found: Differences) -> pd.DataFrame:
    """Count the comparisons of each measure by word."""
    rows = [{"measure": row.measure.replace("_", " "), "word": row.word} for row in found.rows]
    counts = pd.DataFrame(rows).groupby(["measure", "word"]).size().unstack("word", fill_value=0)
    return counts.reindex(columns=[WORSE, BETTER, EQUAL, UNKNOWN], fill_value=0).reset_index()


def left_over(found: Differences) -> pd.DataFrame:
    """List what replaced what, what else changed, what is on one side only, and notes."""
    rows = [("changed", str(each)) for each in found.matching.renamed]
    rows += [("every cell, unless it says otherwise", found.usual)] if found.usual else []
    rows += [("changed with it", str(each)) for each in found.changes]
    for name, cells in found.lone:
        reasons = pd.Series([cell.reason for cell in cells], dtype=object).value_counts()
        rows += [(f"only in {name}", f"{count} cells: {reason}") for reason, count in reasons.items()]
    return pd.DataFrame([*rows, *(("note", text) for text in found.notes)], columns=["what", "which"])


def draw_upgrade(found: Differences) -> Figure:
    """Draw after over before with intervals, worst on top; to the right is more, better or not.

    Comparisons with too few runs are only in the table.
    """
    rows = [row for row in found.rows if row.ratio.settles]
    clear = [row for row in rows if row.word in (WORSE, BETTER)]
    # Of a table's other sizes the one that differs most represents all.
    others = {(row.word, row.measure, row.cell): row for row in rows[::-1] if row not in clear}
    rows = [*clear, *list(others.values())[::-1][: max(_ROWS - len(clear), 0)]]
    evidence = next((name for name in found.evidence if name == "synthetic"), found.evidence[1])
    title, height = f"{found.before} → {found.after}", 1.6 + 0.26 * max(len(rows), 3)
    fig, ax = figures.new_figure(evidence, title, width=9.6, height=height)
    ax.axvspan(1 / (1 + found.margin), 1 + found.margin, color=LINE, alpha=0.6, linewidth=0, zorder=0)
    ax.axvline(1, color=GREY, linewidth=1.2, zorder=1)
    for word in WORDS:
        _points(ax, [(at, row) for at, row in enumerate(rows) if row.word == word], word)
    ax.set_yticks(range(len(rows)), [f"{row.name} · {row.measure_text()}" for row in rows], size=9)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    _ticks(ax, rows)
    ax.set(xlabel=f"after / before; the band is ±{100 * found.margin:g} %", ylabel="")
    ax.grid(True, axis="x")
    ax.grid(False, axis="y")
    ax.tick_params(axis="y", length=0)
    if rows:
        legend_beside(ax)
    return fig


def _points(ax: Axes, places: Sequence[tuple[int, Difference]], word: str) -> None:
    if not places:
        return
    hue, mark = _LOOKS[word]
    ends = np.array([[row.ratio.value, row.ratio.low, row.ratio.high] for _, row in places])
    ends = ends.clip(1 / _FAR, _FAR)
    ax.errorbar(
        ends[:, 0], [at for at, _ in places], xerr=np.abs(ends[:, 1:] - ends[:, :1]).T, color=HUES[hue],
        marker=mark, markersize=7, markeredgecolor=PAPER, markeredgewidth=0.8, capsize=3, elinewidth=1.6,
        linestyle="none", zorder=3, label=word,
    )  # fmt: skip


def _ticks(ax: Axes, rows: Sequence[Difference]) -> None:
    far = max((abs(np.log(end)) for row in rows for end in (row.ratio.low, row.ratio.high)), default=0.1)
    widest = min(float(np.exp(far)), _FAR)
    steps = next(steps for end, steps in _TICKS if widest < end)
    marks = [1 / (1 + step / 100) for step in steps[::-1]] + [1.0] + [1 + step / 100 for step in steps]
    ax.set_xscale("log")
    ax.set_xlim(1 / (widest * 1.03), widest * 1.03)
    ax.set_xticks(marks, [f"{mark:.3g}" for mark in marks])
    ax.minorticks_off()
