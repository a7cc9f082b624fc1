"""What a campaign says by itself, on a page: sentences, a forest of ratios, the table of all that stands."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure

from analysis.base.words import number
from analysis.estimates.campaign import Campaign
from analysis.findings import sentences
from analysis.findings.conclusion import DIFFERS, EQUAL, GROWS, SEEN, STANDING, TOPICS, UNKNOWN, Conclusion
from analysis.findings.naming import noun
from analysis.pages import figures
from analysis.pages.notebook import TextTable

_RATIOS = (DIFFERS, GROWS, EQUAL)  # what the forest has a ratio of
_EACH = 4  # ratios of one topic
_FIRST = 4  # sentences of the answer


def finding_sentences(campaign: Campaign, found: Sequence[Conclusion], q: float) -> list[str]:
    """Say the surest and largest of what was found, one sentence a topic, and how much was not decided."""
    sure = [one for one in found if one.word in STANDING]
    if not sure:
        return ["Nothing can be told from chance: the comparisons have too few runs, or no difference."]
    first: dict[str, Conclusion] = {}
    for one in sure:
        first.setdefault(one.topic, one)
    out = [f"{one.sentence}." for one in list(first.values())[:_FIRST]]
    compared = sum(one.q is not None for one in sure)
    rest = sum(one.word == UNKNOWN for one in found)
    out.append(
        f"In all {len(sure)} things can be said, {compared} of them of comparisons at {q:.0%} false "
        f"discoveries; {rest} comparison{'s' if rest != 1 else ''} cannot be decided."
    )
    return out


def forest(campaign: Campaign, found: Sequence[Conclusion], most: int = 16) -> pd.DataFrame:
    """Return the ratios of conclusions, ranked: ``name ratio low high word``; ends may be NaN."""
    rows = []
    topics: dict[str, int] = {}
    for one in (one for one in found if one.word in _RATIOS):
        topics[one.topic] = topics.get(one.topic, 0) + 1
        if topics[one.topic] > _EACH:
            continue
        estimate = one.finding.estimate
        shown = (estimate.low, estimate.high) if estimate.settles else (float("nan"),) * 2
        rows.append((_label(campaign, one), estimate.value, *shown, one.word))
    return pd.DataFrame(rows[:most], columns=["name", "ratio", "low", "high", "word"])


def _label(campaign: Campaign, one: Conclusion) -> str:
    """Name a comparison in two short lines: what over what, and where."""
    compare, select = one.question.compare, dict(one.question.select or {})
    assert compare is not None
    levels = [level for level in compare.levels[:2] if not isinstance(level, tuple)]
    names = [noun(campaign, compare.factor, level) for level in levels]
    place = sentences.within(campaign, select, ("case", "nodes", "cluster"))
    if compare.along:
        place += f", {compare.along[0].replace('_', ' ')} {compare.along[1]} against {compare.along[2]}"
    return f"{_cut(names[0])} over {_cut(names[1])}\n{_cut(place.removeprefix('in '), 60)}"


def _cut(name: str, most: int = 30) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def draw_forest(campaign: Campaign, found: Sequence[Conclusion], most: int = 16) -> Figure:
    """Draw the ratios of `forest` on a logarithmic axis; the weakest stratum stands for many."""
    table = forest(campaign, found, most)
    fig, ax = figures.new_figure(
        campaign.evidence, campaign.name, width=9.4, height=1.4 + 0.46 * max(len(table), 2)
    )
    figures.ratio_rows(table, ax=ax, xlabel="times as fast, as much or as large (log scale)")
    return fig


def findings_table(found: Sequence[Conclusion]) -> TextTable:
    """Make the table of what stands, in the order of the topics: ``topic conclusion rests on q page``."""
    order = list(TOPICS)
    sure = sorted((one for one in found if one.word in STANDING), key=lambda one: order.index(one.topic))
    rows = [
        (
            TOPICS[one.topic],
            one.sentence,
            one.footnote,
            "" if one.q is None else f"{one.q:.2g}",
            one.page or "–",
        )
        for one in sure
    ]
    return TextTable(pd.DataFrame(rows, columns=["topic", "conclusion", "rests on", "q", "page"]))


def undecided_table(found: Sequence[Conclusion]) -> TextTable:
    """Make the table of what is not decided, or was seen in too few runs."""
    rest = [one for one in found if one.word in (UNKNOWN, SEEN)]
    rows = [(one.word, one.sentence, number(one.finding.estimate, ""), one.footnote) for one in rest]
    return TextTable(pd.DataFrame(rows, columns=["word", "comparison", "weakest", "rests on"]))
