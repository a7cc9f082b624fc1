"""Energy as money and as greenhouse gases, by both reports' formulas.

Energies are in J, times in s, prices per kWh, intensities in kg CO2e per kWh. Numbers may be arrays of any
one shape; a text like ``2 kWh`` or ``0.20 USD/kWh`` is brought to these units first. ``pue`` is the power
usage effectiveness of the building, 1 or more.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from analysis.base.errors import BenchbookError
from analysis.base.units import JOULES_PER_KWH, YEAR_HOURS, amount, price_per_kwh

Numbers = Any  # a float or an array


def cost(energy: Numbers, tariff: Numbers, *, pue: float = 1.0, jobs: Numbers = 1.0) -> Numbers:
    """Return what the energy of a number of jobs costs, in the tariff's currency.

    jobs x E / 3.6e6 x price x PUE. (The OpenAtom report of 2010 prints "$/KWh = KWh * $0.20", which
    means $ = kWh x 0.20 $/kWh.)
    """
    price = price_per_kwh(tariff)[0] if isinstance(tariff, str) else tariff
    return jobs * _joules(energy) / JOULES_PER_KWH * price * effectiveness(pue)


def yearly_cost(
    energy: Numbers, seconds: Numbers, tariff: Numbers, *, pue: float = 1.0, hours: float = YEAR_HOURS
) -> Numbers:
    """Return the cost of doing a job over and over for a year, one every so many `seconds`.

    The rule of the OpenAtom report of 2010 ("to achieve same number of jobs over GigE"): of the jobs
    that one level does in a year, at the energy that another one takes for each.
    """
    return cost(energy, tariff, pue=pue, jobs=hours * 3600 / seconds)


def emissions(energy: Numbers, intensity: Numbers, *, pue: float = 1.0, jobs: Numbers = 1.0) -> Numbers:
    """Return the greenhouse gases of a number of jobs in kg CO2e, from the use of electricity alone."""
    kilograms = amount(intensity, "kg/kWh") if isinstance(intensity, str) else intensity
    return jobs * _joules(energy) / JOULES_PER_KWH * kilograms * effectiveness(pue)


def implied_node_power(
    saving: str | float,
    *,
    tariff: str | float,
    nodes: int,
    speedup: float,
    baseline_speedup: float = 1.0,
    pue: float = 1.0,
    hours: float = YEAR_HOURS,
) -> float:
    """Return the power of a node in W that a printed saving a year implies, the same at every level.

    Saving = nodes x P x hours x PUE x price x (1/s_b - 1/s_t), solved for P: 10,400 USD over GigE and
    3,200 USD over 10GigE in the OpenAtom report of 2010, at 0.20 USD/kWh, 16 nodes and speedups of 6.71
    and 2.45, imply 436 W and 440 W.
    """
    price, currency = price_per_kwh(tariff)
    money = amount(saving, currency or "dimensionless")
    part = 1 / baseline_speedup - 1 / speedup
    if part <= 0:
        raise BenchbookError.at("implied_node_power", 0, "the treatment is not faster", "swap the two")
    return money / (nodes * hours * effectiveness(pue) * price * part) * 1000


def effectiveness(value: float) -> float:
    """Check a power usage effectiveness and return it: no building draws less than the machine in it."""
    if not 1 <= value < np.inf:
        found = f"a PUE of {value:g}"
        raise BenchbookError.at("pue", 0, found, "it is the building's energy over the machine's: 1 or more")
    return float(value)


def _joules(energy: Numbers) -> Numbers:
    return amount(energy, "J") if isinstance(energy, str) else energy
