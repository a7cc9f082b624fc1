"""How sentences and figures spell estimates: a value with its interval, several, and what bars show."""

import math
from collections.abc import Iterable, Sequence

import pandas as pd

from analysis.base.words import FULL, attached, decimals, number, percent, rounded, significant
from analysis.estimates.stats import MIN_LEVEL, Estimate

_BYTES = (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3))
_UNITS = {"us": "µs", "jobs/day": "jobs per day"}


def display_unit(unit: str) -> str:
    """Return a unit as people write it."""
    return _UNITS.get(unit, unit)


def of_bytes(largest: float) -> tuple[str, float]:
    """Return the unit in which so many bytes are readable, and how many bytes it has."""
    return next(((name, size) for name, size in _BYTES if largest >= size), ("B", 1.0))


def in_fitting_bytes(rows: pd.DataFrame, unit: str) -> tuple[pd.DataFrame, str]:
    """Give columns ``median low high`` in kB, MB, GB or TB the unit in which the smallest is 1 or more."""
    size = dict(_BYTES).get(unit)
    if size is None:
        return rows, unit
    fitting, its = of_bytes(size * float(rows["median"].min()))
    columns = ["median", "low", "high"]
    return rows.assign(**{name: rows[name] * (size / its) for name in columns}), fitting


def times_of(scale: float, unit: str) -> str:
    """Return what a scale does beyond the unit, in bytes or none, of its result: 2e-8 of B makes 20 GB."""
    return significant(scale * dict(_BYTES).get(unit.removesuffix("/s"), 0.01 if unit == "%" else 1.0))


def spell(estimate: Estimate, unit: str = "") -> tuple[str, str]:
    """Spell a value and its interval, a level below 95 % too: ``1.36`` and ``1.2 to 1.5, 94 % interval``."""
    if _is_exact(estimate):
        return attached(significant(estimate.value), unit), "exact"
    if _is_alike(estimate):
        return attached(significant(estimate.value), unit), f"all {estimate.n} runs alike"
    value, _, sure = number(estimate, unit).partition(" (")
    return value, sure.removesuffix(")")


def _is_alike(estimate: Estimate) -> bool:
    return estimate.bounded and estimate.low == estimate.high


def _is_exact(estimate: Estimate) -> bool:
    return _is_alike(estimate) and estimate.level >= FULL


def spell_all(estimates: Sequence[Estimate], unit: str = "") -> tuple[str, str]:
    """Spell the values of several strata, from the least to the greatest, and the ends of their intervals."""
    if unit == "B":
        unit, size = of_bytes(max(one.value for one in estimates))
        estimates = [one.transformed(lambda value, size=size: value / size) for one in estimates]  # type: ignore[misc]
    unit = display_unit(unit)
    if len(estimates) == 1:
        return spell(estimates[0], unit)
    exact = all(map(_is_exact, estimates))
    ordered = sorted(estimates, key=lambda one: one.value)
    ends = [spell(one)[0] for one in (ordered[0], ordered[-1])]
    text = attached(" to ".join(dict.fromkeys(ends)), unit)
    bounded = [one for one in estimates if one.bounded]
    if exact or not bounded:
        return text, "exact" if exact else "no interval"
    if all(map(_is_alike, estimates)):
        return text, "all runs alike"
    low, high = min(bounded, key=lambda one: one.low), max(bounded, key=lambda one: one.high)
    if math.isinf(high.high):
        return text, f"at least {rounded(low.low, decimals(low))}"
    levels = sorted({percent(one.level): one.level for one in bounded}.items(), key=lambda pair: pair[1])
    at = " to ".join(dict.fromkeys((levels[0][0], levels[-1][0])))
    ends = [rounded(low.low, decimals(low)), rounded(high.high, decimals(high))]
    return text, f"intervals from {' to '.join(ends)}{'' if levels[0][1] >= FULL else f', at {at}'}"


_RANGES = "bars are ranges, or wider for several days"


def medians(table: pd.DataFrame, *others: pd.DataFrame) -> str:
    """Say what a figure shows, by its columns ``n confidence``: ``medians of 6 runs with 95 % intervals``.

    What no verdict could rest on is called a range, and no interval; of runs of two to five days it also has
    what days do. Counts that repeat exactly, by columns ``low high``, have no spread.
    """
    every = [(int(n), level) for one in (table, *others) for n, level in one[["n", "confidence"]].to_numpy()]
    sure = [(n, round(100 * level)) for n, level in every if level >= MIN_LEVEL]
    ranges = any(level < MIN_LEVEL for _, level in every)
    if table["n"].max() == 1 and not sure:
        return "single values, without intervals"
    text = f"medians of {_ends(table['n'])} runs"
    if all({"low", "high"} <= set(one) and one["low"].equals(one["high"]) for one in (table, *others)):
        return text + " that show no spread"
    if not sure:
        few = f"; {_RANGES}: too few runs for an interval"
        return text + (few if ranges else " without intervals")
    text += f" with {_ends(level for _, level in sure)} % intervals"
    if len(sure) < len(every):
        text += f" from {min(n for n, _ in sure)} runs on" + (f"; other {_RANGES}" if ranges else "")
    return text


def _ends(values: Iterable[float]) -> str:
    ordered = sorted(values)
    return " to ".join(dict.fromkeys(f"{one:.0f}" for one in (ordered[0], ordered[-1])))
