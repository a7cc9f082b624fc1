"""What energy means for whoever pays: Wh a job, jobs a day, money a year, and the trade-off with time.

Every function takes a tidy frame with a row per run and works on medians of repeats; energies come
from `analysis.energy.integral`. What single numbers cost or emit is in `analysis.energy.money`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from analysis.base.errors import BenchbookError
from analysis.base.units import DAY, JOULES_PER_WH, YEAR_HOURS, price_per_kwh
from analysis.energy import money
from analysis.estimates import stats, uncertainty
from analysis.estimates.stats import Array, Estimate


def energy_per_job(frame: pd.DataFrame, by: str | Sequence[str]) -> pd.DataFrame:
    """Estimate the energy of a job for each level of one or several factors.

    Parameters
    ----------
    frame : DataFrame
        A row per run: the factors, ``energy`` (J) and, if known, ``energy_low energy_high
        energy_uncertainty`` (J), as the kind ``runs`` has them.
    by : str or sequence of str
        Factors.

    Returns
    -------
    DataFrame
        The factors and, in Wh: ``energy`` (median), ``low`` and ``high`` (95 % bootstrap interval
        of the median over repeats; NaN below six), ``uncertainty`` (standard, of the meters; median
        over runs), ``low_total`` and ``high_total`` (with that and the bounds of gaps,
        `analysis.estimates.uncertainty.carried`); ``n``.

    Notes
    -----
    The meter's error is the same in all repeats, so repeats do not make it smaller. Without
    ``energy_uncertainty`` the total is NaN, not narrower.
    """

    def row(part: pd.DataFrame) -> dict[str, float]:
        estimate = stats.median(part["energy"] / JOULES_PER_WH)
        side = uncertainty.side(_metered(part, JOULES_PER_WH))
        known = bool(part["energy_uncertainty"].notna().all()) if "energy_uncertainty" in part else False
        total = uncertainty.carried(estimate, float, [side])
        return {
            "energy": estimate.value,
            "low": estimate.low,
            "high": estimate.high,
            "uncertainty": side.uncertainty if known else np.nan,
            "low_total": total.low if known else np.nan,
            "high_total": total.high if known else np.nan,
            "n": estimate.n,
        }

    return _by(frame, by, row)


def jobs_per_day(
    frame: pd.DataFrame, by: str | Sequence[str], *, concurrent: int = 1, pause: float = 0.0
) -> pd.DataFrame:
    """Estimate how many jobs a day holds for each level of factors.

    Parameters
    ----------
    frame : DataFrame
        A row per run: the factors and ``elapsed`` (s).
    by : str or sequence of str
    concurrent : int, optional
        Jobs that run at once, each of which takes ``elapsed``.
    pause : float, optional
        s between the end of a job and the start of the next.

    Returns
    -------
    DataFrame
        The factors, ``jobs_per_day`` with its 95 % interval ``low`` and ``high``, and ``n``.

    Notes
    -----
    concurrent x 86400 / (median elapsed + pause): the rate that belongs to the median time, never
    the mean of rates.
    """

    def row(part: pd.DataFrame) -> dict[str, float]:
        one = stats.median(part["elapsed"]).transformed(lambda t: concurrent * DAY / (t + pause))
        return {"jobs_per_day": one.value, "low": one.low, "high": one.high, "n": one.n}

    return _by(frame, by, row)


def pareto_front(frame: pd.DataFrame, *, time: str = "elapsed", energy: str = "energy") -> pd.Series:
    """Tell which rows are on the Pareto front of time to solution and energy.

    Parameters
    ----------
    frame : DataFrame
        A row per configuration (medians, not single runs).
    time, energy : str, optional
        Columns; less is better in both.

    Returns
    -------
    Series of bool
        By the frame's index: True if no other row is at least as good in both and better in one.
        A row without one of the two values is on no front.
    """
    seconds, joules = frame[time].to_numpy(dtype=float), frame[energy].to_numpy(dtype=float)
    no_worse = (seconds[None, :] <= seconds[:, None]) & (joules[None, :] <= joules[:, None])
    better = (seconds[None, :] < seconds[:, None]) | (joules[None, :] < joules[:, None])
    front = ~(no_worse & better).any(axis=1) & np.isfinite(seconds) & np.isfinite(joules)
    return pd.Series(front, index=frame.index, name="pareto")


def yearly_cost(
    frame: pd.DataFrame,
    factor: str,
    *,
    tariff: str | float,
    jobs_of: Any,
    pue: float = 1.0,
    hours: float = YEAR_HOURS,
) -> pd.DataFrame:
    """Estimate what a year's work costs at each level of a factor, the number of jobs being fixed.

    Parameters
    ----------
    frame : DataFrame
        A row per run: the factor, ``energy`` (J) with what is known of its meters, as for
        `energy_per_job`, and ``elapsed`` (s).
    factor : str
    tariff : str or float
        Like ``0.20 USD/kWh``.
    jobs_of : str
        Level that does its jobs without a pause all year: their number is the work of every level.
    pue, hours : float, optional
        Power usage effectiveness; hours of a year.

    Returns
    -------
    DataFrame
        A row per level: ``cost`` of the year and ``saving`` against `jobs_of`, each with the ends
        ``_low`` and ``_high`` of its 95 % interval, which holds the meters' uncertainty as far as it is
        known; ``jobs``, ``n``, ``currency``.

    Raises
    ------
    BenchbookError
        If the level has no run.

    Notes
    -----
    jobs = hours x 3600 / t(jobs_of); cost = jobs x E / 3.6e6 x PUE x price, on medians, all groups
    being resampled for the interval. This is the rule of the OpenAtom report of 2010 ("to achieve
    same number of jobs over GigE").
    """
    price, currency = price_per_kwh(tariff)
    reference = frame[frame[factor] == jobs_of]
    if reference.empty:
        known = ", ".join(sorted(map(str, frame[factor].unique())))
        raise BenchbookError.at("jobs_of", 0, f"no run with {factor} {jobs_of!r}", f"known: {known}")

    def own(energy: Array, seconds: Array) -> Array:
        return np.asarray(money.yearly_cost(energy, seconds, price, pue=pue, hours=hours))

    def less(energy: Array, base: Array, seconds: Array) -> Array:
        return own(base - energy, seconds)

    rows = []
    for level, part in frame.groupby(factor, sort=True, observed=True):
        sides = [uncertainty.side(_metered(one, 1.0)) for one in (part, reference)]
        pace = uncertainty.exact(reference["elapsed"])
        saved = stats.of_medians(less, part["energy"], reference["energy"], reference["elapsed"])
        saved = uncertainty.carried(saved, less, [*sides, pace])
        spent = stats.of_medians(own, part["energy"], reference["elapsed"])
        spent = uncertainty.carried(spent, own, [sides[0], pace])
        if level == jobs_of:  # against itself: not two independent groups
            saved = Estimate(0.0, 0.0, 0.0, len(part))
        rows.append({factor: level, **_ends("cost", spent), **_ends("saving", saved), "n": len(part)})
    out = pd.DataFrame(rows)
    return out.assign(jobs=hours * 3600 / float(reference["elapsed"].median()), currency=currency)


def _metered(part: pd.DataFrame, unit: float) -> pd.DataFrame:
    """Return a group with its energy as the value, in so many J, and blanks for what is not known."""
    names = ("energy_low", "energy_high", "energy_uncertainty")
    blank = {name: np.nan for name in names if name not in part}
    return part.assign(value=part["energy"] / unit, **blank)


def _ends(name: str, estimate: Estimate) -> dict[str, float]:
    return {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}


def _by(frame: pd.DataFrame, by: str | Sequence[str], row: Any) -> pd.DataFrame:
    names = [by] if isinstance(by, str) else list(by)
    rows = [
        dict(zip(names, level, strict=True)) | row(part)
        for level, part in frame.groupby(names, sort=True, observed=True)
    ]
    return pd.DataFrame(rows)
