"""Two campaigns before and after, as a page has them: answer, figure of ratios, tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.base.words import number, significant
from analysis.findings.compare import BETTER, EQUAL, UNKNOWN, WORSE, Difference
from analysis.findings.upgrade import Upgrade
from analysis.pages import figures
from analysis.pages.figures.style import GREY, HUES, LINE, PAPER, legend_beside

# Rows of the figure: what moved, and of the rest as many as there is room for.
_ROWS = 40
# A ratio further from 1 is drawn at the edge.
_FAR = 4.0
_LOOKS = {WORSE: ("red", "v"), BETTER: ("blue", "^"), EQUAL: ("green", "o"), UNKNOWN: ("grey", "s")}


def upgrade_sentences(one: Upgrade) -> list[str]:
    """Say what became worse and better, the largest of each first, and what cannot be told."""
    found = one.found
    out = []
    for word in (WORSE, BETTER):
        rows = [row for row in found.rows if row.word == word]
        if not rows:
            out.append(f"Nothing is shown to have become {word}.")
            continue
        first = rows[0]
        many = f"{len(rows)} of {len(found.rows)} comparisons became {word}" if len(rows) > 1 else ""
        largest = f"{_measure(first)} of {first.name} became {word}: {_change(first)}"
        out.append(f"{many}; the most, {largest}." if many else f"{largest}.")
    equal, unknown = found.counts[EQUAL], found.counts[UNKNOWN]
    out.append(f"{equal} are equal within {100 * found.margin:g} %; of {unknown} it cannot be told.")
    return out


def _change(row: Difference) -> str:
    values = " → ".join(f"{significant(value, 3)}" for value in (row.before, row.after))
    n = f"n = {row.ratio.n_baseline} and {row.ratio.n}"
    return f"{f'{values} {row.unit}'.strip()}, {number(row.ratio, '×')}, {n}"


def _measure(row: Difference) -> str:
    word = row.measure.replace("_", " ")
    return f"{word} at {row.size:,} B" if row.size >= 0 else word


def upgrade_table(one: Upgrade, words: Sequence[str] = (WORSE, BETTER, UNKNOWN, EQUAL)) -> pd.DataFrame:
    """Return the comparisons as text, worst first: measure, cell, both medians, ratio with interval, q, n."""
    rows = [
        {
            "": row.word, "measure": _measure(row), "cell": row.name,
            "before": f"{significant(row.before)} {row.unit}".strip(),
            "after": f"{significant(row.after)} {row.unit}".strip(),
            "after / before": number(row.ratio, "×"), "q": "" if row.q is None else f"{row.q:.2g}",
            "n": f"{row.ratio.n_baseline}, {row.ratio.n}", "why": row.reason,
        }
        for row in one.found.rows
        if row.word in words
    ]  # fmt: skip
    return pd.DataFrame(rows)


def upgrade_counts(one: Upgrade) -> pd.DataFrame:
    """Count the comparisons of each measure by word."""
    rows = [{"measure": row.measure.replace("_", " "), "word": row.word} for row in one.found.rows]
    counts = pd.DataFrame(rows).groupby(["measure", "word"]).size().unstack("word", fill_value=0)
    return counts.reindex(columns=[WORSE, BETTER, EQUAL, UNKNOWN], fill_value=0).reset_index()


def left_over(one: Upgrade) -> pd.DataFrame:
    """List what was matched as changed, what moved with a difference, what is on one side only, and notes."""
    found = one.found
    rows = [("changed", str(each)) for each in found.matching.renamed]
    rows += [("every cell, unless it says otherwise", found.usual)] if found.usual else []
    rows += [("moved with it", str(each)) for each in one.moved]
    for name, cells in found.lone:
        reasons = pd.Series([cell.reason for cell in cells], dtype=object).value_counts()
        rows += [(f"only in {name}", f"{count} cells: {reason}") for reason, count in reasons.items()]
    return pd.DataFrame([*rows, *(("note", text) for text in found.notes)], columns=["what", "which"])


def draw_upgrade(one: Upgrade) -> Figure:
    """Draw after over before with intervals, worst on top; to the right is more, better or not.

    What cannot be told for want of runs is left to the table.
    """
    found = one.found
    rows = [row for row in found.rows if row.ratio.settles]
    moved = [row for row in rows if row.word in (WORSE, BETTER)]
    # Of a table's other sizes the one that moved most stands for all.
    others = {(row.word, row.measure, row.cell): row for row in rows[::-1] if row not in moved}
    rows = [*moved, *list(others.values())[::-1][: max(_ROWS - len(moved), 0)]]
    evidence = next((name for name in one.evidence if name == "synthetic"), one.evidence[1])
    fig, ax = figures.new_figure(
        evidence, f"{found.before} → {found.after}", width=9.6, height=1.6 + 0.26 * max(len(rows), 3)
    )
    ax.axvspan(1 / (1 + found.margin), 1 + found.margin, color=LINE, alpha=0.6, linewidth=0, zorder=0)
    ax.axvline(1, color=GREY, linewidth=1.2, zorder=1)
    for word, (hue, mark) in _LOOKS.items():
        _points(ax, [(at, row) for at, row in enumerate(rows) if row.word == word], word, HUES[hue], mark)
    ax.set_yticks(range(len(rows)), [f"{row.name} · {_measure(row)}" for row in rows], size=9)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_xscale("log")
    _ticks(ax, rows)
    ax.set(xlabel=f"after / before; the band is ±{100 * found.margin:g} %", ylabel="")
    ax.grid(True, axis="x")
    ax.grid(False, axis="y")
    ax.tick_params(axis="y", length=0)
    if rows:
        legend_beside(ax)
    return fig


def _points(ax: Axes, places: Sequence[tuple[int, Difference]], word: str, shade: str, mark: str) -> None:
    if not places:
        return
    ends = np.array([[row.ratio.value, row.ratio.low, row.ratio.high] for _, row in places]).clip(
        1 / _FAR, _FAR
    )
    reach = np.abs(ends[:, 1:] - ends[:, :1]).T
    ax.errorbar(
        ends[:, 0], [at for at, _ in places], xerr=reach, color=shade, marker=mark, markersize=7,
        markeredgecolor=PAPER, markeredgewidth=0.8, capsize=3, elinewidth=1.6, linestyle="none", zorder=3,
        label=word,
    )  # fmt: skip


def _ticks(ax: Axes, rows: Sequence[Difference]) -> None:
    far = max((abs(np.log(end)) for row in rows for end in (row.ratio.low, row.ratio.high)), default=0.1)
    widest = min(float(np.exp(far)), _FAR)
    steps = next(
        (
            steps
            for end, steps in ((1.12, (2, 5, 10)), (1.35, (10, 20, 30)), (2.1, (20, 50, 100)))
            if widest < end
        ),
        (50, 100, 300),
    )
    marks = [1 / (1 + step / 100) for step in steps[::-1]] + [1.0] + [1 + step / 100 for step in steps]
    ax.set_xlim(1 / (widest * 1.03), widest * 1.03)
    ax.set_xticks(marks, [f"{mark:.3g}" for mark in marks])
    ax.minorticks_off()
