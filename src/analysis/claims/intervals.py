"""Interval arithmetic on printed figures: what a rounded number may have been, carried through a formula.

A figure occurs at most once in what is compared (`Expression.names` lets the loader see to that), so the ends
of the result are exact: they are reached by values that the figures may have had.
"""

from __future__ import annotations

import ast
import math
import operator
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from analysis.base.words import attached, significant

# Beyond any formula that a reader could check; a long one could nest too deeply.
_LONGEST = 400
# Rounding noise of binary arithmetic, relative to the numbers compared.
_NOISE = 1e-9


class ExpressionError(ValueError):
    """An expression that cannot be computed; the message says why."""


@dataclass(frozen=True, slots=True)
class PrintedRange:
    """A number as printed with the range that it may lie in; ends are infinite where nothing bounds it.

    Numbers that are added, subtracted, multiplied or divided do not depend on each other.
    """

    value: float
    low: float
    high: float

    @classmethod
    def exactly(cls, value: float) -> PrintedRange:
        """Return a number without doubt."""
        return cls(value, value, value)

    @property
    def exact(self) -> bool:
        """Whether the range is a point."""
        return self.low == self.high

    def text(self, unit: str = "") -> str:
        """Write the number with its unit, and the range behind it: ``25 % (24.22 to 25.79)``."""
        text = attached(significant(self.value), unit)
        if self.exact:
            return text
        if math.isinf(self.high):
            return f"{text} (at least {significant(self.low)})"
        return f"{text} ({significant(self.low)} to {significant(self.high)})"

    def __add__(self, other: PrintedRange) -> PrintedRange:
        return PrintedRange(self.value + other.value, self.low + other.low, self.high + other.high)

    def __neg__(self) -> PrintedRange:
        return PrintedRange(-self.value, -self.high, -self.low)

    def __sub__(self, other: PrintedRange) -> PrintedRange:
        return self + -other

    def __mul__(self, other: PrintedRange) -> PrintedRange:
        return self._corners(other, lambda x, y: 0.0 if 0.0 in (x, y) else x * y)

    def __truediv__(self, other: PrintedRange) -> PrintedRange:
        if other.low <= 0 <= other.high:
            raise ExpressionError(f"divides by {other.text()}, which may be 0")
        return self._corners(other, lambda x, y: math.copysign(1, y) * x if math.isinf(x) else x / y)

    def _corners(self, other: PrintedRange, operation: Callable[[float, float], float]) -> PrintedRange:
        # Both operations are monotone in each argument while the other is fixed.
        ends = [operation(x, y) for x in (self.low, self.high) for y in (other.low, other.high)]
        return PrintedRange(operation(self.value, other.value), min(ends), max(ends))


_OPERATORS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


@dataclass(frozen=True)
class Expression:
    """A formula over named figures: ``+ - * /``, brackets, numbers and names, nothing else.

    For example ``100 / (1 - shorter / 100) - 100``; `names` counts how often each figure occurs. Anything
    else raises `ExpressionError`: a formula is never run as code.
    """

    text: str
    names: Counter[str] = field(init=False, compare=False)
    _tree: ast.expr = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if len(self.text) > _LONGEST:
            raise ExpressionError(f"has {len(self.text)} characters, {_LONGEST} at most are a formula")
        try:
            tree = ast.parse(self.text, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise ExpressionError(f"{self.text!r} is no formula") from None
        names = Counter(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
        _evaluate(tree, None)
        object.__setattr__(self, "_tree", tree)
        object.__setattr__(self, "names", names)

    def evaluate(self, figures: Mapping[str, PrintedRange]) -> PrintedRange:
        """Compute the formula; raises `ExpressionError` if a divisor may be 0, or a name has no figure."""
        found = _evaluate(self._tree, figures)
        assert found is not None
        return found

    def spelt(self, texts: Mapping[str, str]) -> str:
        """Write the formula with the figures as printed in the place of their names."""
        tree = ast.parse(self.text, mode="eval").body
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                node.id = texts[node.id]
        return ast.unparse(tree).replace(" * ", " × ").replace(" - ", " − ")


def _evaluate(node: ast.expr, figures: Mapping[str, PrintedRange] | None) -> PrintedRange | None:
    """Compute a formula; without figures it is only checked."""
    match node:
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            a, b = _evaluate(left, figures), _evaluate(right, figures)
            return None if figures is None else _OPERATORS[type(op)](a, b)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            found = _evaluate(operand, figures)
            return None if found is None else -found
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool) and math.isfinite(
            value
        ):
            return PrintedRange.exactly(float(value)) if figures is not None else None
        case ast.Name(id=name):
            if figures is not None and name not in figures:
                raise ExpressionError(f"no figure is called {name!r}")
            return figures[name] if figures is not None else None
        case _:
            raise ExpressionError(f"{ast.unparse(node)!r} is not one of + - * /, a number or a figure's name")


def equal(a: PrintedRange, b: PrintedRange) -> bool:
    """Tell whether two numbers may be the same.

    Two ranges that touch at one point do not meet: a number on the edge is rounded one way only.
    """
    low, high = max(a.low, b.low), min(a.high, b.high)
    noise = _noise(a, b)
    return high - low >= -noise if a.exact or b.exact else high - low > noise


def greater(a: PrintedRange, b: PrintedRange) -> bool:
    """Tell whether `a` may be greater than `b`."""
    return a.high > b.low + _noise(a, b)


def at_least(a: PrintedRange, b: PrintedRange) -> bool:
    """Tell whether `a` may be `b` or greater."""
    return a.high >= b.low - _noise(a, b)


def _noise(a: PrintedRange, b: PrintedRange) -> float:
    finite = [abs(end) for end in (a.low, a.high, b.low, b.high) if math.isfinite(end)]
    return _NOISE * max(finite, default=1.0)
