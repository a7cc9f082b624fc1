"""A median, and the ratio of two, with the arithmetic that a verdict shows."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from analysis.estimates import stats, uncertainty
from analysis.estimates.conditions import on_other_days
from analysis.estimates.differences import in_pairs, ratio_of
from analysis.estimates.finding import measuring_days, median_text
from analysis.estimates.intervals import Array
from analysis.estimates.measures import MEASURES, TIMES, unit_of
from analysis.estimates.question import Question
from analysis.estimates.stats import NO_DAY, Estimate


def median_of(variable: str, part: pd.DataFrame) -> tuple[Estimate, str]:
    """Return the median of a group's values and a remark on its interval.

    The interval includes the errors of meters and of rounding; so do all intervals below. It holds nothing
    below zero or above the whole of a share, as a few days would have it: the ``most`` of the runs.
    """
    found = stats.median(part["value"], measuring_days(part))
    estimate, note = uncertainty.widened_for(variable, found, float, part)
    most = part["most"].iloc[0] if "most" in part else math.inf
    return estimate.within(min(float(part["value"].min()), 0.0), most), note


def of_medians(function: Callable[..., Array], parts: Sequence[pd.DataFrame]) -> Estimate:
    """Estimate a function of the medians of groups, each resampled by itself."""
    days = [measuring_days(part) for part in parts]
    return stats.of_medians(function, *(part["value"] for part in parts), days=days)


def better_is_more(question: Question, part: pd.DataFrame) -> bool:
    """Tell whether "faster" means a larger value: a smaller time is a higher speed."""
    more = MEASURES[question.variable].higher_is_better
    return more and unit_of(question.variable, part) not in TIMES


def faster(question: Question, x: pd.DataFrame, y: pd.DataFrame) -> tuple[Estimate, str]:
    """Say how many times one group is better than another, with the arithmetic."""
    estimate, text, note = speed_of(question, x, y)
    return estimate, text + note


def speed_of(question: Question, x: pd.DataFrame, y: pd.DataFrame) -> tuple[Estimate, str, str]:
    """Return how many times as fast, or as much, one group is, the arithmetic and a remark on it."""
    upright = question.quantity == "equality" or better_is_more(question, x)
    top, bottom = (x, y) if upright else (y, x)
    ratio, note = ratio_of(question.variable, top, bottom, between_days=on_other_days(top, bottom))
    text = f"{quotient(top, bottom, ratio)} {ratio.value:.4g}"
    counts = (ratio.n, ratio.n_baseline or 0)
    return ratio.counted(*(counts if upright else counts[::-1])), text, note


def quotient(top: pd.DataFrame, bottom: pd.DataFrame, ratio: Estimate) -> str:
    """Spell two medians and how their ratio follows from them: in one, or from that of each job or day."""
    top, bottom = counted(ratio, top, bottom)
    medians = f"{median_text(top['value'])} / {median_text(bottom['value'])}"
    if in_pairs(top, bottom):
        return f"{medians}; by pairs of one job{', by days' * ratio.by_days}"
    return f"{medians} =" if not ratio.by_days else f"{medians}; by days"


def counted(ratio: Estimate, top: pd.DataFrame, bottom: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the runs behind a ratio, without those that are left out for their day."""
    if not ratio.beside or ratio.by_days:
        return top, bottom
    days = measuring_days(top), measuring_days(bottom)
    sides = [{*one.tolist()} - {NO_DAY} for one in days]
    shared = [
        day
        for day in sides[0] & sides[1] or sides[0] | sides[1]
        if top["value"][days[0] == day].median() or bottom["value"][days[1] == day].median()  # not 0 / 0
    ]
    return top[np.isin(days[0], shared)], bottom[np.isin(days[1], shared)]


def base_of(question: Question, part: pd.DataFrame, name: str) -> tuple[float, str, str]:
    """Return the absolute value of the base of a ratio, its unit and its name."""
    unit = unit_of(question.variable, part) if question.scale == 1 or _printed(question) else ""
    return float(np.median(part["value"])), unit, name


def _printed(question: Question) -> bool:
    return question.variable == "figure_of_merit"


def upright(quantity: str, estimate: Estimate) -> Estimate:
    """Return how many times better the treatment is, from an estimate in the unit of its quantity."""
    if quantity == "gain":
        return estimate.transformed(lambda more: 1 + more / 100)
    if quantity == "reduction":
        return estimate.transformed(lambda less: math.inf if less >= 100 else 1 / (1 - less / 100))
    return estimate


def inverse(estimate: Estimate) -> Estimate:
    """Return a ratio seen from the other side."""
    return estimate.transformed(lambda ratio: math.inf if ratio <= 0 else 1 / ratio)


def in_margin(estimate: Estimate, margin: float) -> bool:
    """Tell whether the whole interval of a ratio is within a relative margin of one."""
    return estimate.low >= 1 / (1 + margin) and estimate.high <= 1 + margin


def ends_in_margin(estimate: Estimate, margin: float) -> bool:
    """Tell whether one end of the interval is: else neither the ratio nor an extreme with it is within."""
    return any(1 / (1 + margin) <= end <= 1 + margin for end in (estimate.low, estimate.high))


def side(estimate: Estimate) -> int:
    """Return 1 if a ratio is clearly above one, -1 if clearly below, else 0; a verdict could rest on it."""
    return 0 if not estimate.settles else 1 if estimate.low > 1 else -1 if estimate.high < 1 else 0
