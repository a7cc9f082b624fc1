"""Units: what one is in W, J, s or B, and amounts with units at the edge (``250 W``, ``0.1 USD/kWh``).

The sampler on a compute node imports this: nothing but the standard library is imported.
"""

import math
import re
from functools import cache
from typing import Any

from analysis.base.errors import BenchbookError

SECOND = 1_000_000_000  # ns
DAY = 86_400.0  # s
YEAR_HOURS = 8760.0  # 365 days
JOULES_PER_WH = 3600.0
JOULES_PER_KWH = 3.6e6

GIB = float(1 << 30)
# Exponents of 1,000 or, for memory, of 1,024.
PREFIXES = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}

# Units in any letters, and those that count as printed only, since m and M differ. All in small letters,
# as in a heading power_mw, m is milli: no log of a computer's meters is in megawatts.
_Table = tuple[dict[str, float], dict[str, float]]
_WATTS: _Table = (
    {"w": 1.0, "watt": 1.0, "watts": 1.0, "kw": 1e3, "kilowatt": 1e3, "kilowatts": 1e3},
    {"mW": 1e-3, "mw": 1e-3, "milliwatts": 1e-3, "MW": 1e6, "uW": 1e-6, "uw": 1e-6, "µW": 1e-6, "μW": 1e-6},
)
_JOULES: _Table = (
    {"j": 1.0, "joule": 1.0, "joules": 1.0, "kj": 1e3, "ws": 1.0, "wh": 3600.0, "kwh": 3.6e6},
    {"mJ": 1e-3, "mj": 1e-3, "MJ": 1e6, "uJ": 1e-6, "uj": 1e-6, "µJ": 1e-6, "μJ": 1e-6, "nJ": 1e-9}
    | {"microjoules": 1e-6, "mWh": 3.6, "mwh": 3.6, "MWh": 3.6e9},
)
_SECONDS: _Table = (
    {"s": 1.0, "sec": 1.0, "seconds": 1.0, "min": 60.0, "minutes": 60.0, "h": 3600.0, "hours": 3600.0}
    | {"ms": 1e-3, "milliseconds": 1e-3, "us": 1e-6, "µs": 1e-6, "microseconds": 1e-6}
    | {"ns": 1e-9, "nanoseconds": 1e-9},
    {},
)


def watts(unit: str) -> float:
    """Return W per unit of power; NaN if it is not one."""
    return _factor(unit, _WATTS)


def joules(unit: str) -> float:
    """Return J per unit of energy; NaN if it is not one."""
    return _factor(unit, _JOULES)


def seconds(unit: str) -> float:
    """Return s per unit of time; NaN if it is not one."""
    return _factor(unit, _SECONDS)


def _factor(unit: str, table: _Table) -> float:
    any_case, as_printed = table
    unit = unit.strip()
    return as_printed.get(unit, any_case.get(unit.lower(), math.nan))


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
    """Convert an amount like ``250 W`` or ``0.1 USD/kWh`` into a number of a unit; a number is in it.

    `BenchbookError` if it is no finite amount of that kind.
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
    if not math.isfinite(value):
        raise BenchbookError.at("amount", 0, f"{given!r} is not finite", f"write it like '1 {unit}'")
    return value


def price_per_kwh(tariff: str | float) -> tuple[float, str]:
    """Split a tariff like ``0.20 USD/kWh`` into the price of a kWh and its currency; a number has none.

    `BenchbookError` if it is no price of energy in a currency known here.
    """
    if isinstance(tariff, int | float):
        return amount(tariff, "1/kWh"), ""
    currency = next((name for name in _CURRENCIES if name in tariff), "")
    if not currency:
        found = f"{tariff!r} names no currency of {', '.join(_CURRENCIES)}"
        raise BenchbookError.at("tariff", 0, found, "write it like '0.20 USD/kWh'")
    return amount(tariff, f"{currency}/kWh"), currency
