"""What a campaign says by itself, on a page: sentences, a forest of ratios, the table of all conclusions."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure

from analysis.base.words import counted, percent
from analysis.estimates.campaign import Campaign
from analysis.estimates.sentences import Statement
from analysis.findings.conclusion import (
    CONFOUNDED,
    DIFFERS,
    EQUAL,
    GROWS,
    OPEN,
    SEEN,
    SESSION,
    STANDING,
    TOPICS,
    UNKNOWN,
    UNORDERED,
    Conclusion,
    reason,
)
from analysis.pages import figures
from analysis.pages.notebook import TextTable

_RATIOS = (DIFFERS, GROWS, EQUAL)  # what the forest has a ratio of
_EACH = 4  # ratios of one topic
_FIRST = 4  # sentences of the answer
# Why a comparison is not decided.
_UNCLEAR = "without a clear difference"
_LACKS = {
    SEEN: "with too few runs",
    SESSION: "of runs not made in turn",
    UNORDERED: "of runs in unknown order",
}


def finding_sentences(campaign: Campaign, found: Sequence[Conclusion], q: float) -> list[str]:
    """Say the surest and largest of what was found, one sentence a topic, and how much was not decided."""
    sure = [one for one in found if one.word in STANDING]
    mixed = [f"{one.sentence}." for one in found if one.word == CONFOUNDED][:_FIRST]
    cells = counted(len(campaign.doubts), "cell")
    what = f"Nothing is concluded from {cells} whose runs may be no repeats; see what is open."
    asked = [what] if campaign.doubts else []
    if not sure:
        return [*(mixed or [_nothing(found)]), *asked]
    first = {one.topic: one for one in reversed(sure)}
    topics = list(dict.fromkeys(one.topic for one in sure))[:_FIRST]
    compared = sum(one.q is not None for one in sure)
    rest = sum(one.word == UNKNOWN for one in found)
    of_them = "" if compared == len(sure) else f", {compared} of them from comparisons"
    at = f"{of_them} at {percent(q)} false discoveries" if compared else ", none of them from a comparison"
    open_ = f"; {counted(rest, 'comparison')} cannot be decided" if rest else ""
    return [
        *(f"{first[topic].sentence}." for topic in topics),
        *mixed,
        f"In all {counted(len(sure), 'conclusion')}{at}{open_}.",
        *asked,
    ]


def _nothing(found: Sequence[Conclusion]) -> str:
    """Say why no comparison is decided: there is none, or how many lack what."""
    compared = [one for one in found if one.question.compare is not None]
    if not compared:
        return "Nothing can be compared: no two groups of runs agree in everything but one factor."
    lack = [
        _LACKS.get(one.word, _UNCLEAR if one.finding.estimate.settles else _LACKS[SEEN]) for one in compared
    ]
    counts = [
        f"{lack.count(what)} {what}" for what in dict.fromkeys((*_LACKS.values(), _UNCLEAR)) if what in lack
    ]
    return f"No comparison is decided: {'; '.join(counts)}."


def forest(campaign: Campaign, found: Sequence[Conclusion], most: int = 16) -> pd.DataFrame:
    """Return the ratios of conclusions, ranked: ``name ratio low high word``; ends may be NaN."""
    rows = []
    topics: dict[str, int] = {}
    for one in (one for one in found if one.word in _RATIOS):
        topics[one.topic] = topics.get(one.topic, 0) + 1
        if topics[one.topic] <= _EACH:
            estimate = one.finding.estimate
            rows.append((_label(campaign, one), estimate.value, estimate.low, estimate.high, one.word))
    return pd.DataFrame(rows[:most], columns=["name", "ratio", "low", "high", "word"])


def _label(campaign: Campaign, one: Conclusion) -> str:
    """Name a comparison in two short lines: what over what, and where."""
    answer = Statement(one.question, [one.finding], campaign)
    compare, place = one.question.compare, answer.place.removeprefix("in ")
    if compare and compare.along:
        factor, high, low = compare.along
        place += f", {factor.replace('_', ' ')} {high} over {low}"
    return f"{_cut(answer.names[0])} over {_cut(answer.names[1])}\n{_cut(place, 60)}"


def _cut(name: str, most: int = 30) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def draw_forest(campaign: Campaign, found: Sequence[Conclusion], most: int = 16) -> Figure:
    """Draw the ratios of `forest` on a logarithmic axis; the weakest stratum is drawn of many."""
    table = forest(campaign, found, most)
    fig, ax = figures.new_figure(
        campaign.evidence, campaign.name, width=9.4, height=1.4 + 0.46 * max(len(table), 2)
    )
    figures.ratio_rows(table, ax=ax, xlabel="times as fast, as much or as large (log scale)")
    return fig


def findings_table(found: Sequence[Conclusion]) -> TextTable:
    """Make the table of all conclusions, in the order of the topics: ``topic conclusion rests on q page``."""
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


def undecided_table(campaign: Campaign, found: Sequence[Conclusion]) -> TextTable:
    """Make the table of what is open: cells in doubt, several causes, not decided, seen in too few runs."""
    rest = [one for one in found if one.word in OPEN]
    rows = [("in doubt", one.found, "", one.name) for one in campaign.doubts]
    rows += [(one.word, one.row, reason(one), f"{one.sentence}; {one.footnote}") for one in rest]
    return TextTable(pd.DataFrame(rows, columns=["word", "comparison", "why, and remedy", "rests on"]))
