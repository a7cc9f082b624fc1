"""Energy as money and greenhouse gases: costs, the yearly cost of a machine's jobs, what one level saves.

Energies are in J, times in s, prices per kWh, intensities in kg CO2e per kWh. Numbers may be arrays of any
one shape; a text like ``2 kWh`` or ``0.20 USD/kWh`` is converted to these units first. ``pue`` is the power
usage effectiveness of the building, 1 or more.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from analysis.base.errors import BenchbookError
from analysis.base.units import JOULES_PER_KWH, YEAR_HOURS, amount, price_per_kwh
from analysis.estimates import stats, uncertainty
from analysis.estimates.campaign import Campaign, NotCoveredError
from analysis.estimates.finding import (
    Finding,
    common,
    group_level,
    group_name,
    measuring_days,
    median_text,
    runs_of,
)
from analysis.estimates.groups import Groups, Pair
from analysis.estimates.intervals import Array
from analysis.estimates.measures import MEASURES
from analysis.estimates.question import Comparison, Question, Tariff
from analysis.estimates.stats import Estimate

YEAR = YEAR_HOURS * 3600  # s

Numbers = Any  # a float or an array
Function = Callable[..., Array]
# A group of runs and the column whose median is taken.
Column = tuple[pd.DataFrame, str]


def cost(energy: Numbers, tariff: Numbers, *, pue: float = 1.0, jobs: Numbers = 1.0) -> Numbers:
    """Return the cost of the energy of a number of jobs, in the tariff's currency.

    jobs x E / 3.6e6 x price x PUE. (The OpenAtom report of 2010 prints "$/KWh = KWh * $0.20", which
    means $ = kWh x 0.20 $/kWh.)
    """
    price = price_per_kwh(tariff)[0] if isinstance(tariff, str) else tariff
    return _billed(energy, price, pue, jobs)


def yearly_cost(energy: Numbers, seconds: Numbers, tariff: Numbers, *, pue: float = 1.0) -> Numbers:
    """Return the cost of a year of the same job, one every so many `seconds`.

    The rule of the OpenAtom report of 2010 ("to achieve same number of jobs over GigE"): the jobs that one
    level does in a year, at the energy that another one takes for each.
    """
    return cost(energy, tariff, pue=pue, jobs=YEAR / seconds)


def emissions(energy: Numbers, intensity: Numbers, *, pue: float = 1.0, jobs: Numbers = 1.0) -> Numbers:
    """Return the greenhouse gases of a number of jobs in kg CO2e, from the use of electricity alone."""
    kilograms = amount(intensity, "kg/kWh") if isinstance(intensity, str) else intensity
    return _billed(energy, kilograms, pue, jobs)


def _billed(energy: Numbers, rate: Numbers, pue: float, jobs: Numbers) -> Numbers:
    """Multiply the building's energy by a rate per kWh; no building draws less than the machine in it."""
    if not 1 <= pue < np.inf:
        remedy = "it is the building's energy over the machine's: 1 or more"
        raise BenchbookError.at("pue", 0, f"a PUE of {pue:g}", remedy)
    joules = amount(energy, "J") if isinstance(energy, str) else energy
    return jobs * joules / JOULES_PER_KWH * rate * pue


def with_time(frame: pd.DataFrame, campaign: Campaign) -> pd.DataFrame:
    """Add the column ``seconds``, from launch to exit, to measured runs."""
    seconds = MEASURES["elapsed"].compute(campaign, frame, ())
    return frame.assign(seconds=frame["run"].map(seconds)).dropna(subset=["seconds"])


def level(question: Question, part: pd.DataFrame, pace: pd.DataFrame | None = None) -> Finding:
    """Estimate the cost of a year of the same job, without pause, or as often as other runs, `pace`, are.

    Here and below `NotCoveredError` refuses single runs.
    """
    tariff = _tariff(question)
    refuse_single(part, part if pace is None else pace)
    columns = [(part, "value"), (part if pace is None else pace, "seconds")]
    estimate, note = _estimated(partial(yearly_cost, tariff=tariff.price, pue=tariff.pue), columns)
    return Finding(
        estimate.counted(len(part)),
        compared=common(part),
        arithmetic=f"{_job(part)}; {_rate(tariff)}{note}",
        runs=runs_of(part),
    )


def refuse_single(*parts: pd.DataFrame) -> None:
    """Refuse to turn the energy of a single run into money: nobody knows how much it scatters."""
    if min(map(len, parts)) < 2:
        raise NotCoveredError("a single run carries no money: repeat it")


def saving(question: Question, compare: Comparison, pair: Pair, groups: Groups) -> Finding:
    """Estimate what the treatment saves over the baseline in a year.

    (energy of a job of the baseline - of the treatment) x jobs per year x price x PUE, the jobs being those
    that the tariff's level does in a year; without such a level each side does its own.
    """
    treatment, baseline = pair
    refuse_single(*pair, *([] if groups.reference is None else [groups.reference]))
    function, columns = _terms(question, pair, groups)
    estimate, note = _estimated(function, columns)
    name = group_name(compare.factor, baseline)
    text = f"{_job(treatment)} against {_job(baseline)}"
    if groups.reference is not None:
        slow = groups.reference
        text += (
            f"; as many jobs as {group_name(compare.factor, slow)}, one in {median_text(slow['seconds'])} s"
        )
    return Finding(
        estimate.counted(len(treatment), len(baseline)),
        compared=f"{group_name(compare.factor, treatment)} against {name}; {common(treatment, baseline)}",
        arithmetic=f"{text}; {_rate(_tariff(question))}{note}",
        runs=_runs(pair, groups),
        stratum=groups.stratum,
    )


def growth(
    question: Question, compare: Comparison, pairs: tuple[Pair, Pair], cell: tuple[Groups, Groups]
) -> Finding:
    """Estimate how many times larger a saving is at the upper level of another factor than at the lower."""
    top, bottom = pairs
    refuse_single(*top, *bottom)
    large, columns = _terms(question, top, cell[0])
    small, others = _terms(question, bottom, cell[1])
    estimate, note = _estimated(partial(_quotient, large, small, len(columns)), [*columns, *others])
    names = [group_name(compare.factor, part) for part in top]
    assert compare.along is not None
    factor = compare.along[0]
    high, low = (group_level(factor, pair[0]) for pair in pairs)
    n, n_baseline = (min(map(len, side)) for side in zip(top, bottom, strict=True))
    return Finding(
        estimate.counted(n, n_baseline),
        compared=f"{names[0]} against {names[1]}, at {factor} {high} and {low}; {common(*top, *bottom)}",
        arithmetic=f"saving at {high} / saving at {low}; {_rate(_tariff(question))}{note}",
        runs=(*_runs(top, cell[0]), *_runs(bottom, cell[1])),
        stratum=cell[0].stratum,
    )


def _quotient(large: Function, small: Function, k: int, *medians: Array) -> Array:
    return np.asarray(large(*medians[:k]) / small(*medians[k:]))


def _estimated(function: Function, columns: Sequence[Column]) -> tuple[Estimate, str]:
    """Estimate a function of medians, its interval with what the meters leave open, and say so."""
    days = [measuring_days(part) for part, _ in columns]
    estimate = stats.of_medians(function, *(part[name] for part, name in columns), days=days)
    medians = [
        uncertainty.metered(part) if name == "value" else uncertainty.exact(part[name])
        for part, name in columns
    ]
    metered_parts = [part for part, name in columns if name == "value"]
    return uncertainty.widened(estimate, function, medians), uncertainty.note("energy", *metered_parts)


def _terms(question: Question, pair: Pair, groups: Groups) -> tuple[Function, list[Column]]:
    """Return the saving as a function of medians, and the columns whose medians those are."""
    tariff = _tariff(question)
    treatment, baseline = pair
    yearly = partial(yearly_cost, tariff=tariff.price, pue=tariff.pue)
    energies = [(treatment, "value"), (baseline, "value")]
    if groups.reference is not None:
        return lambda a, b, seconds: yearly(b - a, seconds), [*energies, (groups.reference, "seconds")]
    times = [(treatment, "seconds"), (baseline, "seconds")]
    return lambda a, b, s, t: yearly(b, t) - yearly(a, s), [*energies, *times]


def _tariff(question: Question) -> Tariff:
    assert question.tariff is not None  # the schema sees to it
    return question.tariff


def _runs(pair: Pair, groups: Groups) -> tuple[str, ...]:
    parts = pair if groups.reference is None else (*pair, groups.reference)
    return tuple(dict.fromkeys(runs_of(*parts)))


def _job(part: pd.DataFrame) -> str:
    return f"{median_text(part['value'] / JOULES_PER_KWH)} kWh per job in {median_text(part['seconds'])} s"


def _rate(tariff: Tariff) -> str:
    site = "" if tariff.pue == 1 else f", PUE {tariff.pue:g}"
    return f"{tariff.price:g} a kWh{site}, {YEAR:g} s a year"
