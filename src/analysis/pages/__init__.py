"""What the notebooks' questions share: comparisons, series along a factor, calls, energy; and their words.

A question picks runs by the levels of factors, measures them, and keeps together only runs that are
alike in everything it does not ask for. Its paragraph is computed from the numbers of its figure.
"""

from analysis.estimates.numerals import medians
from analysis.estimates.power import levels, metered, meters, power
from analysis.estimates.selection import by_energy, first_varying, kind_of_run, repeated, size_bounds
from analysis.estimates.tables import mean_shares, messages, repeats, size_shares, spread, yearly_costs
from analysis.findings.history import over_time
from analysis.pages.choices import FactorAnswers, comparisons, scalings, widest
from analysis.pages.comparison import Compared, Stratum, compare
from analysis.pages.drawing import draw, draw_pareto, draw_power, draw_series
from analysis.pages.energy import assumption_sentence, cost_sentences, power_sentences
from analysis.pages.findings import draw_forest, finding_sentences, findings_table, forest, undecided_table
from analysis.pages.history import answer_sentences, draw_history, series_table, step_table
from analysis.pages.holdings import draw_repeats, spread_sentences
from analysis.pages.links import Link, link_sentences, links
from analysis.pages.panels import Panel, draw_panel, look_up_sentences, panel, stated_tables
from analysis.pages.profiles import Curves, call_sentences, claimed, in_bytes, profile_curves
from analysis.pages.scaling import (
    named_by_base,
    scaling,
    scaling_sentences,
    series,
    series_sentences,
    size_sentence,
    sizes,
)
from analysis.pages.upgrade import draw_upgrade, left_over, upgrade_counts, upgrade_sentences, upgrade_table
