"""Energy and money in words: what jobs cost, what that rests on, and what meters saw of a run."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from analysis.base.units import JOULES_PER_WH
from analysis.base.words import NOT_STATED, Level, significant
from analysis.estimates.campaign import Campaign
from analysis.estimates.power import run_of
from analysis.schema.factors import level_name


def cost_sentences(table: pd.DataFrame, factor: str, baseline: Level, currency: str) -> list[str]:
    """Say what each level of `yearly_costs` saves over the baseline in a year, one sentence a stratum."""
    out = []
    for stratum, part in table.groupby("runs", sort=False):
        name = str(stratum)
        base = part[part[factor] == baseline]["cost_a_year"]
        if base.empty:
            continue
        others = part[part[factor] != baseline]
        pairs = zip(others[factor], others["cost_a_year"], strict=True)
        saved = ", with ".join(
            f"{level_name(factor, level)}: {significant(float(base.iloc[0]) - float(cost), 3)}"
            for level, cost in pairs
        )
        head = f"{name}: a" if name else "A"
        whole = f"{significant(float(base.iloc[0]), 3)} {currency} a year with {level_name(factor, baseline)}"
        out.append(f"{head}s many jobs cost {whole}; saved with {saved} {currency}.")
    return out


def assumption_sentence(
    price: float, currency: str, pue: float, carbon: float, *, price_source: str, carbon_source: str
) -> str:
    """Name what a cost depends on besides the runs: price and kg CO2e per kWh with their source, and PUE."""
    return (
        f"At {price:g} {currency} a kWh ({price_source}), {carbon:g} kg CO2e a kWh ({carbon_source}) "
        f"and a PUE of {pue:g}."
    )


def power_sentences(campaign: Campaign, runs: Mapping[str, str]) -> list[str]:
    """Say what the runs' energies are and how much of them the meters saw, one sentence a run."""
    out = []
    for name, row in ((name, run_of(campaign, run)) for name, run in runs.items()):
        wh, low, high = (float(row[key]) / JOULES_PER_WH for key in ("energy", "energy_low", "energy_high"))
        bounds = f" (gaps leave {significant(low)} to {significant(high)} open)" if low < high else ""
        took = (
            f"in {significant(float(row['elapsed']))} s, {significant(float(row['mean_power']))} W on average"
        )
        seen = f"readings cover {100 * float(row['energy_covered']):.1f} %"
        out.append(f"{name}: {significant(wh)} Wh{bounds} {took}{_work(row)}; {seen}{_standing(row, wh)}.")
    return out


def _work(row: Mapping[str, Any]) -> str:
    """Say what a run did with a joule if its figure of merit is a rate; nothing of another figure."""
    rate, unit = float(row["figure_of_merit"]), str(row["figure_of_merit_unit"])
    if not unit.endswith("/s") or not rate > 0:
        return ""
    each = significant(rate / float(row["mean_power"]))
    return f"; at {significant(rate)} {unit}, {each} {unit.removesuffix('/s')} for a joule"


def _standing(row: Mapping[str, Any], wh: float) -> str:
    """Say where a run was metered, how exactly, and how its meters were split."""
    spread = float(row["energy_uncertainty"]) / JOULES_PER_WH
    known = "" if np.isfinite(row["energy_accuracy"]) else ", the meters' accuracy not being stated"
    text = f"; standard uncertainty {100 * spread / wh:.2g} %{known}" if np.isfinite(spread) else ""
    text += f"; metered at: {row['energy_location'] or NOT_STATED}"
    if np.isfinite(row["idle_power"]):
        text += f"; without a job {significant(float(row['idle_power']))} W"
    return text + (f"; shared: {row['energy_rule']}" if row["energy_rule"] else "")
