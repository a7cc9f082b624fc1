"""Numbers as words: as many digits as the interval supports, and what a claim expects."""

from __future__ import annotations

import math
from collections.abc import Iterable

from analysis.claims.model import Claim, Expectation, Level
from analysis.estimates.stats import Estimate

# An interval of synthetic values can be as narrow as their rounding; more digits than these tell nobody more.
FIGURES = 4

_UNITS = {
    "gain": "%",
    "reduction": "%",
    "efficiency": "%",
    "speedup": "×",
    "ordering": "×",
    "equality": "×",
    "interaction": "×",
    "crossover": "×",
    "trend": "τ",
}


def unit_of(claim: Claim) -> str:
    """Return the unit in which a claim's estimate is given."""
    return _UNITS.get(claim.quantity, claim.expect.unit)


def digits(estimate: Estimate, figures: int = 2) -> int:
    """Return how many decimals an interval supports: some figures of its half width.

    Parameters
    ----------
    estimate : Estimate
    figures : int, optional
        Of the half width.

    Returns
    -------
    int
        Negative for tens and hundreds; where there is no interval as many as make one significant
        figure more than `figures` of the value. However narrow it is, no more than make `FIGURES`
        significant figures of its larger end.
    """
    width = (estimate.high - estimate.low) / 2 if estimate.bounded else 0.0
    if width > 0:
        most = FIGURES - 1 - math.floor(math.log10(max(abs(estimate.low), abs(estimate.high))))
        return min(figures - 1 - math.floor(math.log10(width)), max(most, 0))
    size = abs(estimate.value)
    return figures - math.floor(math.log10(size)) if size > 0 else 0


def number(estimate: Estimate, unit: str) -> str:
    """Spell an estimate: ``1.36× (1.22 to 1.54)``.

    Parameters
    ----------
    estimate : Estimate
    unit : str

    Returns
    -------
    str
        Empty if there is no value.
    """
    if not math.isfinite(estimate.value):
        return ""
    places = digits(estimate)
    value = attached(_rounded(estimate.value, places), unit)
    if not estimate.bounded:
        return f"{value} (no interval)"
    if estimate.low == estimate.high:
        exact = f"{estimate.value:g}".replace("-", "−")
        return f"{attached(exact, unit)} (exact)"
    return f"{value} ({_rounded(estimate.low, places)} to {_rounded(estimate.high, places)})"


def stop(estimate: Estimate, unit: str) -> str:
    """Spell the level at which scaling stops: ``8 nodes (4 to 16)``, ``not before 32 nodes``."""
    if estimate.low == estimate.high:
        return attached(f"{estimate.low:g}", unit)
    if estimate.value == estimate.low and math.isinf(estimate.high):
        return f"not before {attached(f'{estimate.low:g}', unit)}"
    end = "or more" if math.isinf(estimate.high) else f"to {estimate.high:g}"
    return f"{attached(f'{estimate.value:g}', unit)} ({estimate.low:g} {end})"


def _rounded(value: float, places: int) -> str:
    return f"{round(value, places):,.{max(places, 0)}f}".replace("-", "−")


def attached(value: str, unit: str) -> str:
    """Put a unit behind a number: a multiplication sign close, other units after a space."""
    return f"{value}{unit}" if unit in ("", "×") else f"{value} {unit}"


def in_order(levels: Iterable[Level]) -> list[Level]:
    """Sort levels: numbers by size, then words."""
    return sorted(
        levels, key=lambda level: (isinstance(level, str), str(level) if isinstance(level, str) else level)
    )


def expected_text(claim: Claim) -> str:
    """Say what a claim expects, in a few words."""
    expect, unit = claim.expect, unit_of(claim)
    if claim.quantity == "equality":
        kind = "different by" if expect.relation == "different" else "equal within"
        return f"{kind} {expect.tolerance:.0%}"
    if claim.quantity == "crossover":
        return "each ahead somewhere"
    if claim.quantity == "trend":
        return expect.relation
    if claim.quantity == "ordering":
        levels = claim.compare.levels if claim.compare else ()
        return " > ".join(map(str, levels))
    if claim.quantity == "set":
        return attached(", ".join(map(str, expect.members)), unit)
    return _bounded(expect, unit)


def _bounded(expect: Expectation, unit: str) -> str:
    value = "" if expect.value is None else attached(f"{expect.value:,g}".replace("-", "−"), unit)
    if expect.relation == "at-least":
        return f"at least {value}"
    if expect.relation == "at-most":
        return f"at most {value}"
    if expect.relation == "range":
        text = f"{expect.low:g} to {attached(f'{expect.high:g}', unit)}"
        return f"{text} (± {expect.tolerance:.0%})" if expect.tolerance else text
    if expect.relation == "equal" or not expect.tolerance:
        return value
    return f"about {value} (± {expect.tolerance:.0%})"
