"""What a reading leaves open, of a power meter or a rounded time, put into the interval of a claim.

An interval from repeats knows nothing of the meter: it errs alike in all of them, and a gap in the
log leaves the energy of a run between two bounds. Nor does it know that a time is printed in whole
seconds: repeats that lie closer are all rounded alike. All of this widens the interval.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd

from analysis.energy.points import point
from analysis.estimates.stats import LEVEL, Estimate

# Measures that rest on a meter.
METERED = ("energy", "energy_per_job", "mean_power")
# Measures that are the figure of merit as the application prints it, the first where that is a time.
PRINTED = ("application_time", "figure_of_merit")
# The factor that runs must have in common for their energies to be compared.
POINT = "metered_at"
# 95 % of a normal distribution, to bring a standard uncertainty beside a 95 % interval.
COVERAGE = 1.96


@dataclass(frozen=True, slots=True)
class Bounded:
    """A median that an estimate is made of.

    `low` and `high` are the medians of the runs' bounds: where the median lies however the gaps were filled;
    `uncertainty` is standard, of the meters or of rounding.
    """

    value: float
    low: float
    high: float
    uncertainty: float = 0.0


def with_point(frame: pd.DataFrame, variable: str) -> pd.DataFrame:
    """Add the factor `POINT`, where the energy of a run was metered, to runs measured by `variable`."""
    if variable not in METERED:
        return frame
    return frame.assign(**{POINT: frame["energy_location"].map(point)})


def mixed(frame: pd.DataFrame) -> str:
    """Say that runs were metered at different points; empty if they were not."""
    points = sorted(set(frame[POINT])) if POINT in frame else []
    if len(points) < 2:
        return ""
    return f": metered at {' and at '.join(points)}, and energies of different points are not compared"


def missing(runs: pd.DataFrame, variable: str) -> str:
    """Say why runs have no energy, most frequent reason first; empty for what no meter gives."""
    reasons = runs["energy_reason"].value_counts() if variable in METERED else pd.Series(dtype=int)
    found = [f"{reason} ({count} runs)" for reason, count in reasons.items() if reason]
    return f": {'; '.join(found[:3])}" if found else ""


def exact(values: pd.Series, uncertainty: float = 0.0) -> Bounded:
    """Return the median of values without gaps, such as those that no meter gave."""
    middle = float(values.median())
    return Bounded(middle, middle, middle, uncertainty)


def metered(part: pd.DataFrame) -> Bounded:
    """Return the median of a group's metered values, with what the meters leave open.

    Runs have ``value``, in proportion to ``energy``, and ``energy_low energy_high energy_uncertainty`` in J;
    blanks leave nothing open.
    """
    unit = part["value"] / part["energy"]
    low, high = (
        float((part[name] * unit).fillna(part["value"]).median()) for name in ("energy_low", "energy_high")
    )
    spread = float((part["energy_uncertainty"] * unit).fillna(0.0).median())
    return Bounded(float(part["value"].median()), low, high, spread)


def rounded(variable: str, part: pd.DataFrame) -> Bounded:
    """Return the median of values of a measure of `PRINTED`, with what rounding leaves open.

    Runs have ``value``, in proportion to ``figure_of_merit``, and ``figure_of_merit_resolution``; a blank
    leaves nothing open. The true value lies within half a step of what is printed, anywhere: a standard
    uncertainty of step / √12. The median of the steps is used for all, and repeats do not make it smaller.
    """
    steps = _steps(variable, part) * part["value"] / part["figure_of_merit"]
    return exact(part["value"], float(steps.fillna(0.0).median()) / np.sqrt(12))


def _steps(variable: str, part: pd.DataFrame) -> pd.Series:
    """Return the step in which each value is printed, in the unit of the figure of merit; NaN without one."""
    if "figure_of_merit_resolution" not in part:  # datasets of older builds
        return pd.Series(np.nan, part.index)
    steps = part["figure_of_merit_resolution"]
    # Of a figure of merit that is no time, the time is that from launch to exit.
    return steps.where(part["figure_of_merit_unit"] == "s") if variable == "application_time" else steps


def _medians(variable: str, parts: Sequence[pd.DataFrame]) -> list[Bounded]:
    """Return what the readings behind each group leave open; nothing for what no reading gave."""
    if variable in METERED:
        return [metered(part) for part in parts]
    if variable in PRINTED and not all(pd.isna(_steps(variable, part).to_numpy()).all() for part in parts):
        return [rounded(variable, part) for part in parts]
    return []


def widened(estimate: Estimate, function: Callable[..., Any], medians: Sequence[Bounded]) -> Estimate:
    """Widen an estimate, a function of medians monotone in each, by the uncertainty of the meters.

    The distance from the value to an end of its interval, if there is one, becomes g + sqrt(h² + (1.96 u)²).
    h is the distance from the repeats. u² is the sum of the squared changes by one standard uncertainty of
    each median; ±1.96 standard uncertainties hold 95 % of a normal distribution. g is the change in that
    direction with the bounds of all gaps at their worst. An error that both sides of a ratio share is not
    assumed to cancel, because an accuracy is a limit and not an error.
    """
    return _widened(estimate, function, medians, LEVEL) if estimate.bounded else estimate


def _coverage(level: float) -> float:
    """Return how many standard uncertainties stand beside an interval of a level, at least those of 95 %."""
    one = NormalDist().inv_cdf
    return COVERAGE if level <= LEVEL else COVERAGE * one((1 + level) / 2) / one((1 + LEVEL) / 2)


def _widened(
    plain: Estimate, function: Callable[..., Any], medians: Sequence[Bounded], level: float
) -> Estimate:
    estimate = plain.at(level)
    middle = [one.value for one in medians]
    value = float(function(*middle))

    def moved(index: int, to: float) -> float:
        return float(function(*(to if i == index else m for i, m in enumerate(middle)))) - value

    spread = np.hypot.reduce([0.0, *(moved(i, one.value + one.uncertainty) for i, one in enumerate(medians))])
    ends = [sorted((one.low, one.high), key=partial(moved, i)) for i, one in enumerate(medians)]
    least, most = (float(function(*chosen)) for chosen in zip(*ends, strict=True))
    noise = _coverage(level) * float(spread)
    low = estimate.value + min(least - value, 0.0) - float(np.hypot(estimate.value - estimate.low, noise))
    high = estimate.value + max(most - value, 0.0) + float(np.hypot(estimate.high - estimate.value, noise))
    return replace(estimate, low=low, high=high, again=partial(_widened, plain, function, medians))


def widened_for(
    variable: str, estimate: Estimate, function: Callable[..., Any], *parts: pd.DataFrame
) -> tuple[Estimate, str]:
    """Widen an estimate made of the medians of groups by what the readings behind a measure leave open.

    Also returns a note on that, to go behind the arithmetic; empty where neither a meter gave the values nor
    a program rounded them.
    """
    medians = _medians(variable, parts)
    if not medians:
        return estimate, ""
    # How an energy was metered and split is worth a note without an interval too.
    text = _note(variable, medians, parts) if estimate.bounded or variable in METERED else ""
    return widened(estimate, function, medians), text


def margin_left(variable: str, margin: float, *parts: pd.DataFrame) -> float:
    """Return the margin of equality that is left when the readings have taken their part of it.

    (1 + margin) / (1 + w) - 1, w being what the readings add to a ratio of the two medians; 0 if nothing is
    left.
    """
    medians = _medians(variable, parts)
    if not medians or not medians[0].value * medians[1].value:
        return margin
    ratio = medians[0].value / medians[1].value
    one = widened(Estimate(1.0, 1.0, 1.0, 1), lambda x, y: x / y / ratio, medians)
    return max((1 + margin) / (1 + max(one.high - 1, 1 - one.low)) - 1, 0.0)


def note(variable: str, *parts: pd.DataFrame) -> str:
    """Say what an interval holds besides the scatter of repeats, to go behind the arithmetic, or nothing."""
    return _note(variable, _medians(variable, parts), parts)


def _note(variable: str, medians: Sequence[Bounded], parts: Sequence[pd.DataFrame]) -> str:
    if not medians:
        return ""
    if variable not in METERED:
        steps = sorted({step for part in parts for step in _steps(variable, part).dropna()})
        unit = parts[0]["figure_of_merit_unit"].iloc[0]
        return f"; the interval holds the rounding to {' and '.join(f'{step:g}' for step in steps)} {unit}"
    shares = " and ".join(f"{100 * one.uncertainty / one.value:.2g} %" for one in medians)
    text = f"; the interval holds the meters' standard uncertainty of {shares}"
    if any(one.low < one.high for one in medians):
        text += " and the bounds of gaps"
    if any(part["energy_accuracy"].isna().any() for part in parts):
        text += ", but not their accuracy, which is not stated"
    rules = {rule for part in parts for rule in part["energy_rule"] if rule}
    return text + "".join(f"; {rule}" for rule in sorted(rules))
