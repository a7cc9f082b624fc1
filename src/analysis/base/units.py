"""Amounts with units at the edge: ``250 W``, ``0.1 USD/kWh``, ``400 g CO2e/kWh``; inside they are floats."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np

from analysis.base.errors import BenchbookError

SECOND = 1_000_000_000  # ns
DAY = 86_400.0  # s
YEAR_HOURS = 8760.0  # 365 days
JOULES_PER_WH = 3600.0
JOULES_PER_KWH = 3.6e6

_CURRENCIES = ("USD", "EUR", "GBP", "CHF", "JPY", "CNY")

_AMOUNT = re.compile(r"\s*[+-]?\d+(\.\d+)?([eE][+-]?\d+)?\s*[A-Za-zµ%][A-Za-zµ0-9/*^() -]*")


@cache
def _units() -> Any:
    import pint  # a second of import, which only those pay who bring units

    registry: Any = pint.UnitRegistry()
    for name in _CURRENCIES:  # of no rate between each other: adding USD to EUR is an error
        registry.define(f"{name} = [currency_{name}]")
    return registry


def amount(given: str | float, unit: str) -> float:
    """Convert an amount with its unit into a number.

    Parameters
    ----------
    given : str or float
        Like ``250 W``, ``0.1 USD/kWh``, ``400 g/kWh``; a number is taken to be in `unit` already.
    unit : str
        Wanted unit, like ``W``.

    Returns
    -------
    float

    Raises
    ------
    BenchbookError
        If it is no finite amount of that kind.
    """
    if isinstance(given, int | float):
        value = float(given)
    else:
        # CO2e is what the kilograms are of, not a unit.
        text = re.sub(r"\s*CO2(e|eq)?\b", "", given)
        try:
            if not _AMOUNT.fullmatch(text):  # pint reads as far as it understands, and drops the rest
                raise ValueError(text)
            value = float(_units().Quantity(text).to(unit).magnitude)
        except Exception as error:  # pint raises errors of many kinds, and so do the parsers behind it
            found = f"{given!r} is no amount in {unit} ({type(error).__name__})"
            raise BenchbookError.at("amount", 0, found, f"write it like '1 {unit}'") from None
    if not np.isfinite(value):
        raise BenchbookError.at("amount", 0, f"{given!r} is not finite", f"write it like '1 {unit}'")
    return value


def price_per_kwh(tariff: str | float) -> tuple[float, str]:
    """Split a tariff into price and currency.

    Parameters
    ----------
    tariff : str or float
        Like ``0.20 USD/kWh``; a number has no currency.

    Returns
    -------
    price : float
        Per kWh.
    currency : str
        Empty for a number.

    Raises
    ------
    BenchbookError
        If it is no price of energy in a currency known here.
    """
    if isinstance(tariff, int | float):
        return amount(tariff, "1/kWh"), ""
    currency = next((name for name in _CURRENCIES if name in tariff), "")
    if not currency:
        found = f"{tariff!r} names no currency of {', '.join(_CURRENCIES)}"
        raise BenchbookError.at("tariff", 0, found, "write it like '0.20 USD/kWh'")
    return amount(tariff, f"{currency}/kWh"), currency
