"""Energy as money and as greenhouse gases, of single numbers with units, by both reports' formulas."""

from __future__ import annotations

import numpy as np

from analysis.base.errors import BenchbookError
from analysis.base.units import amount, price_per_kwh

JOULES_PER_KWH = 3.6e6
YEAR_HOURS = 8760.0  # 365 days


def energy_at_power(power: str | float, elapsed: str | float, *, nodes: int = 1) -> float:
    """Return the energy of a job whose nodes draw a constant power.

    Parameters
    ----------
    power : str or float
        Of a node; W if a number.
    elapsed : str or float
        s if a number.
    nodes : int, optional

    Returns
    -------
    float
        J.

    Notes
    -----
    E = nodes x P x t, the LS-DYNA report of 2009: at a fixed number of nodes energy is proportional
    to run time, and the reduction of one is that of the other.
    """
    return nodes * amount(power, "W") * amount(elapsed, "s")


def cost(energy: str | float, tariff: str | float, *, pue: float = 1.0, jobs: float = 1.0) -> float:
    """Return what the energy of a number of jobs costs.

    Parameters
    ----------
    energy : str or float
        Of a job; J if a number.
    tariff : str or float
        Like ``0.20 USD/kWh``; per kWh if a number.
    pue : float, optional
        Power usage effectiveness of the building, 1 or more.
    jobs : float, optional

    Returns
    -------
    float
        In the tariff's currency.

    Notes
    -----
    cost = jobs x E / 3.6e6 x PUE x price. (The OpenAtom report of 2010 prints "$/KWh = KWh * $0.20",
    which means $ = kWh x 0.20 $/kWh.)
    """
    kwh = amount(energy, "J") / JOULES_PER_KWH
    return jobs * kwh * effectiveness(pue) * price_per_kwh(tariff)[0]


def emissions(energy: str | float, intensity: str | float, *, pue: float = 1.0, jobs: float = 1.0) -> float:
    """Return the greenhouse gases of a number of jobs, from the use of electricity alone.

    Parameters
    ----------
    energy : str or float
        Of a job; J if a number.
    intensity : str or float
        Declared carbon intensity like ``400 g CO2e/kWh``; kg per kWh if a number.
    pue, jobs : float, optional
        As in `cost`.

    Returns
    -------
    float
        kg CO2e = jobs x E / 3.6e6 x PUE x intensity.
    """
    kwh = amount(energy, "J") / JOULES_PER_KWH
    return jobs * kwh * effectiveness(pue) * amount(intensity, "kg/kWh")


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
    """Return the power of a node that a printed saving implies.

    Parameters
    ----------
    saving : float or str
        Per year, in the tariff's currency.
    tariff : str or float
    nodes : int
    speedup, baseline_speedup : float
        Of the treatment and of what it is compared with, over the level whose jobs are the year's work.
    pue, hours : float, optional

    Returns
    -------
    float
        W.

    Notes
    -----
    Constant power at every level: saving = nodes x P x hours x PUE x price x (1/s_b - 1/s_t), solved
    for P. The savings of the OpenAtom report of 2010, 10,400 USD over GigE and 3,200 USD over 10GigE
    at 0.20 USD/kWh, 16 nodes and speedups of 6.71 and 2.45, imply 436 W and 440 W.
    """
    price, currency = price_per_kwh(tariff)
    money = amount(saving, currency or "dimensionless")
    part = 1 / baseline_speedup - 1 / speedup
    if part <= 0:
        raise BenchbookError.at("implied_node_power", 0, "the treatment is not faster", "swap the two")
    return money / (nodes * hours * effectiveness(pue) * price * part) * 1000


def effectiveness(value: float) -> float:
    """Check a power usage effectiveness and return it.

    Raises
    ------
    BenchbookError
        If it is below 1: no building draws less than the machine in it.
    """
    if not 1 <= value < np.inf:
        found = f"a PUE of {value:g}"
        raise BenchbookError.at("pue", 0, found, "it is the building's energy over the machine's: 1 or more")
    return float(value)
