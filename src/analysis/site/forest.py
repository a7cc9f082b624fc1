"""The marks of the forest plot: one small inline SVG a row, all ratio rows on one logarithmic axis.

Positions are percentages of the cell, so that the drawing keeps its proportions at every width, and
the marks are `<use>` of shapes that the page defines once.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from analysis.base.words import significant
from analysis.claims.verdict import Verdict
from analysis.site.words import VERDICTS

LANE = 26  # height of one lane, px
_LADDER = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)
_MARGIN = 5.0  # free percentage at either end, for marks and end labels


@dataclass(frozen=True, slots=True)
class Axis:
    """A horizontal scale in the unit of the values; `common` is the ratio axis that all rows share."""

    low: float
    high: float
    ticks: tuple[float, ...]
    log: bool = False
    unit: str = ""
    common: bool = False

    def at(self, value: float) -> float | None:
        """Return the place of a value in percent of the width; None where a log axis has none."""
        if self.log and value <= 0:
            return None
        low, high, here = (math.log(one) if self.log else one for one in (self.low, self.high, value))
        share = min(1.0, max(0.0, (here - low) / (high - low)))
        return round(_MARGIN + share * (100 - 2 * _MARGIN), 2)

    def covers(self, value: float) -> bool:
        """Tell whether a value lies on the axis rather than beyond an end."""
        slack = 1e-9 * (abs(self.low) + abs(self.high))
        return self.low - slack <= value <= self.high + slack


def ratio_axis(verdicts: Iterable[Verdict]) -> Axis:
    """Lay the common logarithmic axis around every ratio that will be drawn."""
    values = [v for r in map(as_ratio, verdicts) if r.scale == "ratio" for v in _values(r) if v > 0]
    low = max((s for s in _LADDER if s <= min([0.5, *values])), default=_LADDER[0])
    high = min((s for s in _LADDER if s >= max([2.0, *values])), default=_LADDER[-1])
    return Axis(low, high, tuple(s for s in _LADDER if low <= s <= high), log=True, common=True)


def as_ratio(verdict: Verdict) -> Verdict:
    """Return a verdict with its numbers as ratios."""
    if verdict.scale != "ratio" or verdict.unit != "%":
        return verdict
    sign = -1 if verdict.quantity == "reduction" else 1
    numbers = (None if v is None else 1 + sign * v / 100 for v in _numbers(verdict))
    estimate, low, high, expected, expected_low, expected_high = numbers
    if sign < 0:
        low, high, expected_low, expected_high = high, low, expected_high, expected_low
    return replace(
        verdict, unit="×", estimate=estimate, low=low, high=high, expected=expected,
        expected_low=expected_low, expected_high=expected_high,
    )  # fmt: skip


def own_axis(verdicts: Sequence[Verdict]) -> Axis | None:
    """Lay the small scale of a claim that is no ratio: shares on 0 to 100 %, levels on their own range."""
    values = [v for r in verdicts for v in _values(r)]
    if not values:
        return None
    unit = next((r.unit for r in verdicts if r.unit and r.unit != "1"), "")
    if verdicts[0].scale == "share":
        top = 100.0 if unit == "%" or max(values) > 1 else 1.0
        return Axis(0.0, top, (0.0, top / 2, top), unit=unit if top == 100 else "")
    low, high = min(values), max(values)
    if low > 0 and high / low > 50:
        ends = 10.0 ** math.floor(math.log10(low)), 10.0 ** math.ceil(math.log10(high))
        return Axis(*ends, ends, log=True, unit=unit)
    if low == high:  # a single value: show how far from nothing it is
        low, high = min(0.0, 1.5 * low), max(0.0, 1.5 * high) or 1.0
    width = high - low
    low = 0.0 if 0 <= low < 0.75 * high else low - (0.5 if low > 0 else 0.05) * width
    high += 0.05 * width
    step = 0.5 * 10.0 ** math.floor(math.log10(max(high - low, 1e-12)))
    low, high = math.floor(low / step) * step, math.ceil(high / step) * step
    return Axis(low, high, (low, high), unit=unit)


def has_numbers(verdict: Verdict) -> bool:
    """Tell whether a verdict has anything to draw."""
    return bool(_values(verdict))


def _numbers(verdict: Verdict) -> tuple[float | None, ...]:
    ends = (verdict.expected, verdict.expected_low, verdict.expected_high)
    return (verdict.estimate, verdict.low, verdict.high, *ends)


def _values(verdict: Verdict) -> list[float]:
    return [v for v in _numbers(verdict) if v is not None]


def tick_label(axis: Axis, value: float) -> str:
    """Write a tick: ``2×`` on the ratio axis, number and unit elsewhere."""
    if axis.common:
        return f"{value:g}×"
    text = significant(value)
    return f"{text} {axis.unit}".strip() if value == axis.high else text


def scale(axis: Axis) -> Markup:
    """Draw the tick labels of the common axis, for the head of a group."""
    labels = Markup("").join(
        Markup('<text x="{}%" y="60%"{}>{}</text>').format(
            axis.at(t), Markup(' class="one"') if t == 1 else "", tick_label(axis, t)
        )
        for t in axis.ticks
    )
    return Markup('<svg class="scale" width="100%" height="20" aria-hidden="true">{}</svg>').format(labels)


def draw(verdicts: Sequence[Verdict], axis: Axis, claim: Verdict) -> Markup:
    """Draw the value that `claim` expects and the estimates of its verdicts, one lane each, in this order.

    An ``<svg>`` with an accessible name; the text next to it has the same values.
    """
    lanes = len(verdicts)
    parts = [_grid(axis, lanes), _expected([as_ratio(claim)], axis, lanes)]
    parts += [
        _estimate(as_ratio(r), axis, 100 * (i + 0.5) / lanes)
        for i, r in enumerate(verdicts)
        if comparable(r, claim) and r.estimate is not None
    ]
    body = Markup('<svg class="forest {}" width="100%" height="{}" role="img" aria-label="{}">{}</svg>')
    kind = "ratio" if claim.scale == "ratio" else "own"
    return body.format(kind, LANE * lanes + 8, describe(verdicts, claim), Markup("").join(parts))


def comparable(verdict: Verdict, claim: Verdict) -> bool:
    """Tell whether a verdict's estimate has the claim's own quantity, so that both fit on one axis."""
    same = as_ratio(verdict).unit == as_ratio(claim).unit and verdict.scale == claim.scale
    return same and (verdict.evidence != "reported" or claim.evidence == "reported")


def describe(verdicts: Sequence[Verdict], claim: Verdict) -> str:
    """Say in words what a row's drawing shows."""
    said = [f"Claimed {claim.expected_text}" if claim.expected_text else "No value claimed"]
    said += [f"{r.evidence} {r.estimate_text}" for r in verdicts if r.estimate_text]
    return "; ".join(said) + "."


def _grid(axis: Axis, lanes: int) -> Markup:
    if axis.common:
        return Markup("").join(
            Markup('<line class="{}" x1="{}%" x2="{}%" y1="0" y2="100%"/>').format(
                "one" if t == 1 else "grid", axis.at(t), axis.at(t)
            )
            for t in axis.ticks
        )
    # Under a single lane the rail runs through the mark; under several it is their common floor.
    y, lift = ("50%", 0) if lanes == 1 else ("100%", -19)
    out = Markup('<line class="rail" x1="{}%" x2="{}%" y1="{}" y2="{}"/>').format(
        axis.at(axis.low), axis.at(axis.high), y, y
    )
    for t in axis.ticks:
        out += Markup('<use href="#tick" x="{}%" y="{}"/>').format(axis.at(t), y)
        if t in (axis.low, axis.high):
            out += Markup('<text x="{}%" y="{}" dy="15">{}</text>').format(axis.at(t), y, tick_label(axis, t))
    return Markup('<g transform="translate(0,{})">{}</g>').format(lift, out) if lift else out


def _expected(verdicts: Sequence[Verdict], axis: Axis, lanes: int) -> Markup:
    first = next((r for r in verdicts if r.expected is not None or r.expected_low is not None), verdicts[0])
    out = Markup("")
    low, high = first.expected_low, first.expected_high
    if low is not None or high is not None:
        start = axis.at(low) if low is not None else _MARGIN
        end = axis.at(high) if high is not None else 100 - _MARGIN
        if start is not None and end is not None and end > start:
            out += Markup('<rect class="claimed" x="{}%" width="{}%" y="0" height="100%"/>').format(
                start, round(end - start, 2)
            )
    value = first.expected if first.expected is not None else low if low is not None else high
    place = axis.at(value) if value is not None else None
    if place is None:
        return out
    if lanes > 1:
        out += Markup('<line class="claimed" x1="{}%" x2="{}%" y1="0" y2="100%"/>').format(place, place)
    return out + Markup('<use href="#claimed" x="{}%" y="{}%"/>').format(place, round(50 / lanes, 2))


def _estimate(verdict: Verdict, axis: Axis, y: float) -> Markup:
    assert verdict.estimate is not None
    place = axis.at(verdict.estimate)
    if place is None:
        return Markup("")
    y = round(y, 2)
    out = Markup("")
    ends = (verdict.low, verdict.high)
    sides = zip(ends, (axis.low, axis.high), strict=True)
    low, high = (axis.at(edge if value is None else value) for value, edge in sides)
    # An interval that is open on one side goes beyond the axis there.
    if low is not None and high is not None and ends != (None, None):
        out += Markup('<line class="whisker" x1="{}%" x2="{}%" y1="{}%" y2="{}%"/>').format(low, high, y, y)
        for end, value in zip((low, high), ends, strict=True):
            mark = "cap" if value is not None and axis.covers(value) else "beyond"
            out += Markup('<use href="#{}" x="{}%" y="{}%"/>').format(mark, end, y)
    shape = Markup('<use href="#{}" x="{}%" y="{}%"/>').format(verdict.evidence, place, y)
    return Markup('<g class="mark {} {}">{}{}</g>').format(
        VERDICTS[verdict.verdict].tone, verdict.evidence, out, shape
    )


def chips(verdict: Verdict) -> list[tuple[str, str]]:
    """Split a claimed and a found set into members."""
    if verdict.scale != "set":
        return []
    claimed, found = (_members(text, verdict.unit) for text in (verdict.expected_text, verdict.estimate_text))
    if len(claimed) < 2 or (verdict.tested and not found):
        return []
    if not verdict.tested:
        return [(m, "missing") for m in claimed]
    out = [(m, "both" if m in found else "missing") for m in claimed]
    return out + [(m, "extra") for m in found if m not in claimed]


def _members(text: str, unit: str) -> list[str]:
    parts = [p.strip() for p in re.split(r"[,;]| and ", text)]
    if unit:
        parts = [p.removesuffix(unit).strip() for p in parts]
    return [p for p in parts if p and len(p) <= 16]
