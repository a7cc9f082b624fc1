"""What the notebooks' questions share: comparisons, courses along a factor, calls, energy; and their words.

A question picks runs by the levels of factors, measures them, and keeps together only runs that are
alike in everything it does not ask for. Its paragraph is computed from the numbers of its figure.
"""

from analysis.pages.calls import call_sentences, claimed, messages, shares, size_shares
from analysis.pages.comparison import Compared, Part, compare
from analysis.pages.drawing import draw, draw_course, draw_pareto, draw_power
from analysis.pages.energy import assumption_sentence, bill_sentences, bills
from analysis.pages.power import levels, metered, meters, power, power_sentences
from analysis.pages.repeats import draw_repeats, repeats, spread, spread_sentences
from analysis.pages.runs import measured, place
from analysis.pages.scaling import course, course_sentences, scaling, scaling_sentences, size_sentence, sizes

__all__ = [
    "Compared",
    "Part",
    "assumption_sentence",
    "bill_sentences",
    "bills",
    "call_sentences",
    "claimed",
    "compare",
    "course",
    "course_sentences",
    "draw",
    "draw_course",
    "draw_pareto",
    "draw_power",
    "draw_repeats",
    "levels",
    "measured",
    "messages",
    "metered",
    "meters",
    "place",
    "power",
    "power_sentences",
    "repeats",
    "scaling",
    "scaling_sentences",
    "shares",
    "size_sentence",
    "size_shares",
    "sizes",
    "spread",
    "spread_sentences",
]
