"""What the notebooks' questions share: comparisons, series along a factor, calls, energy; and their words.

A question picks runs by the levels of factors, measures them, and keeps together only runs that are
alike in everything it does not ask for. Its paragraph is computed from the numbers of its figure.
"""

from analysis.pages.calls import call_sentences, claimed, messages, shares, size_shares
from analysis.pages.choices import (
    Answers,
    alike,
    by_energy,
    comparisons,
    first_varying,
    in_bytes,
    repeated,
    scalings,
    sizes_of,
    wherever,
    widest,
)
from analysis.pages.comparison import Compared, Stratum, compare
from analysis.pages.drawing import draw, draw_pareto, draw_power, draw_series
from analysis.pages.energy import assumption_sentence, cost_sentences, yearly_costs
from analysis.pages.findings import (
    draw_forest,
    finding_sentences,
    findings_table,
    forest,
    undecided_table,
)
from analysis.pages.links import Link, link_sentences, links
from analysis.pages.panels import Panel, draw_panel, panel
from analysis.pages.power import levels, metered, meters, power, power_sentences
from analysis.pages.repeats import draw_repeats, repeats, spread, spread_sentences
from analysis.pages.scaling import scaling, scaling_sentences, series, series_sentences, size_sentence, sizes
from analysis.pages.upgrade import (
    draw_upgrade,
    left_over,
    upgrade_counts,
    upgrade_sentences,
    upgrade_table,
)

__all__ = [
    "Answers",
    "Compared",
    "Link",
    "Panel",
    "Stratum",
    "alike",
    "assumption_sentence",
    "by_energy",
    "call_sentences",
    "claimed",
    "compare",
    "comparisons",
    "cost_sentences",
    "draw",
    "draw_forest",
    "draw_panel",
    "draw_pareto",
    "draw_power",
    "draw_repeats",
    "draw_series",
    "draw_upgrade",
    "finding_sentences",
    "findings_table",
    "first_varying",
    "forest",
    "in_bytes",
    "left_over",
    "levels",
    "link_sentences",
    "links",
    "messages",
    "metered",
    "meters",
    "panel",
    "power",
    "power_sentences",
    "repeated",
    "repeats",
    "scaling",
    "scaling_sentences",
    "scalings",
    "series",
    "series_sentences",
    "shares",
    "size_sentence",
    "size_shares",
    "sizes",
    "sizes_of",
    "spread",
    "spread_sentences",
    "undecided_table",
    "upgrade_counts",
    "upgrade_sentences",
    "upgrade_table",
    "wherever",
    "widest",
    "yearly_costs",
]
