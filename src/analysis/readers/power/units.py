"""Powers and energies as meters print them: units in the cell or in the heading, decimal commas."""

from __future__ import annotations

import math
import re

from analysis.readers.text import number

# What a meter writes where it has no reading.
BLANK = frozenset(
    text.lower()
    for text in (
        *("", "-", "--", "_", "n/a", "na", "[n/a]", "nan", "null", "none", "nil", "inf", "unknown", "error"),
        *("[not supported]", "not supported", "[unknown error]", "<not counted>", "<not supported>", "ns"),
        *(
            "no reading",
            "noreading",
            "disabled",
            "unavailable",
            "not available",
            "[insufficient permissions]",
        ),
    )
)

# Powers in W, energies in J; letters as printed, since m and M differ. All in small letters, as in
# a heading power_mw, m is milli: no log of a computer's meters is in megawatts.
WATT = {"w": 1.0, "watt": 1.0, "watts": 1.0, "kw": 1e3, "kilowatt": 1e3, "kilowatts": 1e3}
_EXACT_WATT = {
    "mW": 1e-3,
    "MW": 1e6,
    "uW": 1e-6,
    "µW": 1e-6,
    "μW": 1e-6,
    "milliwatts": 1e-3,
    "mw": 1e-3,
    "uw": 1e-6,
}
JOULE = {"j": 1.0, "joule": 1.0, "joules": 1.0, "kj": 1e3, "ws": 1.0, "wh": 3600.0, "kwh": 3.6e6}
_EXACT_JOULE = {
    "mJ": 1e-3,
    "MJ": 1e6,
    "uJ": 1e-6,
    "µJ": 1e-6,
    "μJ": 1e-6,
    "uj": 1e-6,
    "nJ": 1e-9,
    "MWh": 3.6e9,
}
_EXACT_JOULE |= {"mWh": 3.6, "mwh": 3.6, "microjoules": 1e-6, "mj": 1e-3}

# Other quantities that may stand in a column called power.
OTHER = {
    "va": "apparent power",
    "var": "reactive power",
    "kva": "apparent power",
    "a": "current",
    "v": "voltage",
}

# Units in a heading that say that the column is no power and no energy.
FOREIGN = frozenset(
    (*OTHER, "%", "percent", "pct", "kvar", "ma", "kv", "mv", "hz", "c", "°c", "f", "dbm", "rpm", "pf")
)

_CELL = re.compile(r"([+-]?[\d.,' \u00a0]*\d(?:[.,])?(?:[eE][+-]?\d+)?)\s*([^\d\s.,+-][^\d]*?)?\s*")


def watts(unit: str) -> float:
    """Return W per unit of power; NaN if it is none."""
    unit = unit.strip()
    return _EXACT_WATT.get(unit, WATT.get(unit.lower(), math.nan))


def joules(unit: str) -> float:
    """Return J per unit of energy; NaN if it is none."""
    unit = unit.strip()
    return _EXACT_JOULE.get(unit, JOULE.get(unit.lower(), math.nan))


def plain(text: str, *, decimal_comma: bool = False) -> float:
    """Read a number with its marks of thousands.

    Parameters
    ----------
    text : str
    decimal_comma : bool, optional
        How to take ``1,234``: as 1.234, or (the default) as 1234.

    Returns
    -------
    float
        ``1,234.5`` and ``1.234,5`` are both 1234.5, ``12,5`` is 12.5; NaN if it is no number.
    """
    text = text.strip().replace(" ", "").replace("\u00a0", "").replace("'", "")
    point, comma = text.rfind("."), text.rfind(",")
    if point >= 0 and comma >= 0:
        mark, other = (",", ".") if comma > point else (".", ",")
        return number(text.replace(other, "").replace(mark, "."))
    if text.count(",") > 1:
        return number(text.replace(",", ""))
    thousands = comma > 0 and not decimal_comma and len(text) - comma == 4 and text[comma + 1 :].isdigit()
    return number(text.replace(",", "") if thousands and text.lstrip("+-")[0] != "0" else text)


def quantity(cell: str, *, decimal_comma: bool = False) -> tuple[float, str]:
    """Split a cell like ``12 W`` or ``0,00 Joules`` into number and unit.

    Returns
    -------
    value : float
        NaN for a blank and for what is no number.
    unit : str
        As printed, empty without one; ``?`` if the cell is neither blank nor a number.
    """
    text = cell.strip().strip('"').strip()
    if text.lower() in BLANK:
        return math.nan, ""
    match = _CELL.fullmatch(text)
    if match is None:
        return math.nan, "?"
    value = plain(match[1], decimal_comma=decimal_comma)
    return (value, match[2] or "") if not math.isnan(value) else (math.nan, "?")


def of_heading(heading: str) -> str:
    """Return the unit in a column heading like ``power.draw [W]``, ``Power (kW)``, ``energy_uj``."""
    heading = heading.strip()
    match = re.search(r"[\[(]\s*([A-Za-zµμ°%]+)\s*[\])]\s*:?$", heading)
    if match:
        return match[1]
    last = re.split(r"[_\s.\-/]+", heading)[-1]
    known = last.lower() in FOREIGN or not (math.isnan(watts(last)) and math.isnan(joules(last)))
    return last if known else ""
