"""Energy as a question of money: costs of a year by level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from analysis.base.units import DAY, JOULES_PER_WH
from analysis.base.words import Level, significant
from analysis.estimates import cost, groups, stats
from analysis.estimates.campaign import Campaign
from analysis.estimates.finding import measuring_days
from analysis.estimates.groups import strata, strata_names
from analysis.estimates.measures import MEASURES
from analysis.estimates.quantities import median_of
from analysis.estimates.question import Question, Tariff
from analysis.estimates.tables import pareto_front
from analysis.estimates.uncertainty import POINT
from analysis.pages.runs import Select, question, refuse_mixture

_TIME = {"time_s": "value", "time_low": "low", "time_high": "high"}


def yearly_costs(
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
    """Cost of a year of jobs, by level of a factor: jobs a year x energy of a job x `price` of a kWh x PUE.

    Every level does as many jobs as `jobs_of`, by default as many as it can (365 x 86400 s / time of a job).
    Columns ``runs`` (what sets a stratum apart), factor, ``time_s time_low time_high energy_Wh energy_low
    energy_high jobs_a_day`` (medians), ``cost_a_year low high n confidence`` in the price's currency,
    with `carbon` (kg CO2e a kWh) ``kg_CO2e_a_year``, ``pareto`` (no level of the stratum is as good in time
    and energy and better in one) and ``metered_at``; intervals hold the meters' uncertainty as far as it is
    known. Raises `NotCoveredError` if no selected run has an energy, or a group would mix different things.
    """
    tariff = Tariff(price=price, pue=pue)
    asked = replace(question(campaign, "energy", select), quantity="cost", tariff=tariff)
    frame = cost.with_time(groups.measured(asked, campaign), campaign)
    found = list(strata(frame, (factor, *varying), campaign, MEASURES["energy"]))
    reference = campaign.resolve(factor, jobs_of)[0] if jobs_of is not None else None
    rows = []
    for name, (_, values) in zip(strata_names([stratum for stratum, _ in found]), found, strict=True):
        refuse_mixture(values, [factor], varying)
        if reference is None or (values[factor] == reference).any():
            pace = values[values[factor] == reference] if reference is not None else None
            parts = values.groupby(factor, sort=True, observed=True)
            table = pd.DataFrame(
                [{factor: level, **_row(asked, part, pace, carbon)} for level, part in parts]
            )
            table["pareto"] = pareto_front(table, time="time_s", energy="energy_Wh")
            rows.append(table.assign(runs=name, metered_at=values[POINT].iloc[0]))
    columns = ["runs", factor, *_TIME, "energy_Wh", "energy_low", "energy_high", "jobs_a_day"]
    columns += ["cost_a_year", "low", "high", "n", "confidence", "kg_CO2e_a_year", "pareto", "metered_at"]
    whole = pd.concat(rows, ignore_index=True) if rows else pd.DataFrame(columns=columns)
    return whole[[column for column in columns if carbon or column != "kg_CO2e_a_year"]]


def _row(asked: Question, part: pd.DataFrame, pace: pd.DataFrame | None, carbon: float) -> dict[str, float]:
    """Ask for time, energy and cost of one level, done as often as the jobs of `pace` follow each other."""
    pace = part if pace is None else pace
    time = stats.median(part["seconds"], measuring_days(part))
    energy, _ = median_of("energy_per_job", part.assign(value=part["energy"] / JOULES_PER_WH))
    year = cost.level(asked, part, pace).estimate
    jobs = cost.YEAR / float(pace["seconds"].median())
    pue = asked.tariff.pue if asked.tariff else 1.0
    return {
        **{name: getattr(time, end) for name, end in _TIME.items()},
        **{"energy_Wh": energy.value, "energy_low": energy.low, "energy_high": energy.high},
        "jobs_a_day": DAY / time.value,
        **{"cost_a_year": year.value, "low": year.low, "high": year.high, "n": year.n},
        "confidence": year.level if year.bounded else float("nan"),
        "kg_CO2e_a_year": cost.emissions(energy.value * JOULES_PER_WH, carbon, pue=pue, jobs=jobs),
    }


def cost_sentences(table: pd.DataFrame, factor: str, baseline: Level, currency: str) -> list[str]:
    """Say what each level of `yearly_costs` saves over the baseline in a year, one sentence a stratum."""
    out = []
    for stratum, part in table.groupby("runs", sort=False):
        name = str(stratum)
        base = part[part[factor] == baseline]["cost_a_year"]
        if base.empty:
            continue
        others = part[part[factor] != baseline]
        pairs = zip(map(str, others[factor]), others["cost_a_year"], strict=True)
        saved = ", ".join(
            f"{level} {significant(float(base.iloc[0]) - float(cost), 3)}" for level, cost in pairs
        )
        head = f"{name}: a" if name else "A"
        whole = f"{significant(float(base.iloc[0]), 3)} {currency} a year with {baseline}"
        out.append(f"{head}s many jobs cost {whole}; saved with {saved} {currency}.")
    return out


def assumption_sentence(
    price: float, currency: str, pue: float, carbon: float, *, price_source: str, carbon_source: str
) -> str:
    """Name what a cost rests on beside the runs: price and kg CO2e of a kWh, who gives them, and the PUE."""
    return (
        f"At {price:g} {currency} a kWh ({price_source}), {carbon:g} kg CO2e a kWh ({carbon_source}) "
        f"and a PUE of {pue:g}."
    )
