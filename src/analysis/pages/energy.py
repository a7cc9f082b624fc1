"""Energy as a question of money: bills of a year by level."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from analysis.base.units import JOULES_PER_WH
from analysis.claims.model import Level
from analysis.energy.money import emissions
from analysis.estimates import stats
from analysis.estimates.campaign import Campaign
from analysis.estimates.conclusions import (
    energy_per_job,
    jobs_per_day,
    pareto_front,
    yearly_cost,
)
from analysis.estimates.cost import with_time
from analysis.estimates.groups import strata
from analysis.estimates.measures import MEASURES
from analysis.estimates.uncertainty import POINT
from analysis.pages.runs import Select, apart, measured, plain, refuse_mixture

_TIME = {"time_s": "value", "time_low": "low", "time_high": "high"}


def bills(
    campaign: Campaign,
    factor: str,
    *,
    select: Select | None = None,
    varying: Sequence[str] = (),
    price: float,
    pue: float = 1.0,
    jobs_of: Level | None = None,
    carbon: float = 0.0,
) -> pd.DataFrame:
    """Cost of a year of jobs, by level of a factor.

    Parameters
    ----------
    campaign : Campaign
    factor : str
    select, varying
        As in `analysis.pages.comparison.compare`.
    price : float
        Of a kWh.
    pue : float, optional
        Energy of the site over that of the machine.
    jobs_of : level, optional
        Every level does as many jobs as this one does in a year; by default as many as it can.
    carbon : float, optional
        kg CO2e a kWh; adds the column ``kg_CO2e_a_year``.

    Returns
    -------
    DataFrame
        Columns ``runs`` (what sets a stratum apart), factor, ``time_s time_low time_high energy_Wh
        energy_low energy_high jobs_a_day`` (medians; jobs that the level could do), ``cost_a_year low
        high n`` in the price's currency, ``pareto`` (no level of the stratum is as good in time and
        energy and better in one) and ``metered_at``. Intervals hold the meters' uncertainty as far as
        it is known.

    Raises
    ------
    NotCoveredError
        If no selected run has an energy.
    ConfigError
        If a group would mix different things.

    Notes
    -----
    cost = jobs a year x energy of a job x price x PUE, jobs = 365 x 86400 s / time of a job.
    """
    frame = with_time(measured(campaign, "energy", select), campaign)
    frame = frame.assign(elapsed=frame["seconds"])
    found = list(strata(frame, (factor, *varying), campaign, MEASURES["energy"]))
    reference = campaign.resolve(factor, jobs_of)[0] if jobs_of is not None else None
    rows = []
    for name, (_, values) in zip(apart([stratum for stratum, _ in found]), found, strict=True):
        refuse_mixture(values, [factor], varying)
        if reference is None or (values[factor] == reference).any():
            table = _bill(values, factor, price, pue, reference, carbon)
            rows.append(table.assign(runs=name, metered_at=values[POINT].iloc[0]))
    columns = ["runs", factor, *_TIME, "energy_Wh", "energy_low", "energy_high", "jobs_a_day"]
    columns += ["cost_a_year", "low", "high", "n", "kg_CO2e_a_year", "pareto", "metered_at"]
    whole = pd.concat(rows, ignore_index=True) if rows else pd.DataFrame(columns=columns)
    return whole[[column for column in columns if carbon or column != "kg_CO2e_a_year"]]


def _bill(
    values: pd.DataFrame, factor: str, price: float, pue: float, reference: Level | None, carbon: float
) -> pd.DataFrame:
    """Make the rows of one stratum."""
    energy = energy_per_job(values, factor).set_index(factor)
    levels = list(energy.index)
    paces = levels if reference is None else [reference] * len(levels)
    costs = [
        yearly_cost(values[values[factor].isin([level, pace])], factor, tariff=price, jobs_of=pace, pue=pue)
        .set_index(factor).loc[level]
        for level, pace in zip(levels, paces, strict=True)
    ]  # fmt: skip
    cost = pd.DataFrame(costs, index=levels)
    times = {level: stats.median(part["elapsed"]) for level, part in values.groupby(factor)}
    table = pd.DataFrame(
        {
            **{name: [getattr(times[level], end) for level in levels] for name, end in _TIME.items()},
            "energy_Wh": energy["energy"],
            "energy_low": energy["low_total"].fillna(energy["low"]),
            "energy_high": energy["high_total"].fillna(energy["high"]),
            "jobs_a_day": jobs_per_day(values, factor).set_index(factor)["jobs_per_day"],
            "cost_a_year": cost["cost"],
            "low": cost["cost_low"],
            "high": cost["cost_high"],
            "n": energy["n"],
            "kg_CO2e_a_year": [
                emissions(wh * JOULES_PER_WH, carbon, pue=pue, jobs=jobs)
                for wh, jobs in zip(energy["energy"], cost["jobs"], strict=True)
            ],
        },
        index=pd.Index(levels, name=factor),
    )
    table["pareto"] = pareto_front(table, time="time_s", energy="energy_Wh")
    return table.reset_index()


def bill_sentences(table: pd.DataFrame, factor: str, baseline: Level, currency: str) -> list[str]:
    """Say what each level saves over the baseline in a year, one sentence a stratum.

    Parameters
    ----------
    table : DataFrame
        From `bills`.
    factor : str
    baseline : level
    currency : str

    Returns
    -------
    list of str
    """
    out = []
    for stratum, part in table.groupby("runs", sort=False):
        name = str(stratum)
        base = part[part[factor] == baseline]["cost_a_year"]
        if base.empty:
            continue
        others = part[part[factor] != baseline]
        pairs = zip(map(str, others[factor]), others["cost_a_year"], strict=True)
        saved = ", ".join(f"{level} {plain(float(base.iloc[0]) - float(cost), 3)}" for level, cost in pairs)
        head = f"{name}: a" if name else "A"
        whole = f"{plain(float(base.iloc[0]), 3)} {currency} a year with {baseline}"
        out.append(f"{head}s many jobs cost {whole}; saved with {saved} {currency}.")
    return out


def assumption_sentence(
    price: float, currency: str, pue: float, carbon: float, *, price_source: str, carbon_source: str
) -> str:
    """Name what a bill rests on beside the runs.

    Parameters
    ----------
    price : float
        Of a kWh.
    currency : str
    pue : float
    carbon : float
        kg CO2e a kWh.
    price_source, carbon_source : str
        Who gives the two figures, or that they are assumed.

    Returns
    -------
    str
    """
    return (
        f"At {price:g} {currency} a kWh ({price_source}), {carbon:g} kg CO2e a kWh ({carbon_source}) "
        f"and a PUE of {pue:g}."
    )
