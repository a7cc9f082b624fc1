"""Interval arithmetic on printed figures: what a rounded number may have been, carried through.

A figure occurs at most once in what is compared (`Expression.names` lets the loader hold on to
that), so the ends of the result are exact: they are reached by values that the figures may have had.
"""

from __future__ import annotations

import ast
import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from analysis.base.words import attached, significant

Operation = Callable[[float, float], float]

# Beyond any formula that a reader could check; a long one could nest too deeply.
_LONGEST = 400


@dataclass(frozen=True, slots=True)
class Span:
    """A number as printed with the range that it may lie in; ends are infinite where nothing bounds it."""

    value: float
    low: float
    high: float

    @classmethod
    def exactly(cls, value: float) -> Span:
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


class ExpressionError(ValueError):
    """An expression that cannot be computed; the message says why."""


def add(a: Span, b: Span) -> Span:
    """Add two numbers that do not depend on each other."""
    return Span(a.value + b.value, a.low + b.low, a.high + b.high)


def subtract(a: Span, b: Span) -> Span:
    """Subtract `b` from `a`."""
    return Span(a.value - b.value, a.low - b.high, a.high - b.low)


def multiply(a: Span, b: Span) -> Span:
    """Multiply two numbers that do not depend on each other."""
    return _corners(a, b, lambda x, y: 0.0 if 0.0 in (x, y) else x * y)


def divide(a: Span, b: Span) -> Span:
    """Divide `a` by `b`; raises `ExpressionError` if `b` may be nothing."""
    if b.low <= 0 <= b.high:
        raise ExpressionError(f"divides by {b.text()}, which may be 0")
    return _corners(a, b, lambda x, y: math.copysign(1, y) * x if math.isinf(x) else x / y)


def _corners(a: Span, b: Span, operation: Operation) -> Span:
    # Both operations are monotone in each argument while the other is fixed.
    ends = [operation(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    return Span(operation(a.value, b.value), min(ends), max(ends))


_OPERATIONS: dict[type[ast.operator], Callable[[Span, Span], Span]] = {
    ast.Add: add,
    ast.Sub: subtract,
    ast.Mult: multiply,
    ast.Div: divide,
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
        _check(tree)
        object.__setattr__(self, "_tree", tree)
        names = Counter(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
        object.__setattr__(self, "names", names)

    def evaluate(self, figures: Mapping[str, Span]) -> Span:
        """Compute the formula.

        Raises `ExpressionError` if a divisor may be nothing, or a name has no figure.
        """
        return _evaluate(self._tree, figures)

    def spelt(self, texts: Mapping[str, str]) -> str:
        """Write the formula with the figures as printed in the place of their names."""
        tree = ast.parse(self.text, mode="eval").body
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                node.id = texts[node.id]
        return ast.unparse(tree).replace(" * ", " × ").replace(" - ", " − ")


def _check(node: ast.expr) -> None:
    match node:
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATIONS:
            _check(left)
            _check(right)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            _check(operand)
        case ast.Constant(value=int() | float() as value) if _is_number(value):
            pass
        case ast.Name():
            pass
        case _:
            raise ExpressionError(f"{ast.unparse(node)!r} is not one of + - * /, a number or a figure's name")


def _is_number(value: float) -> bool:
    return not isinstance(value, bool) and math.isfinite(value)


def _evaluate(node: ast.expr, figures: Mapping[str, Span]) -> Span:
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            return _OPERATIONS[type(op)](_evaluate(left, figures), _evaluate(right, figures))
        case ast.UnaryOp(operand=operand):
            return subtract(Span.exactly(0.0), _evaluate(operand, figures))
        case ast.Constant(value=value):
            return Span.exactly(float(value))  # type: ignore[arg-type]
        case ast.Name(id=name) if name in figures:
            return figures[name]
        case _:
            raise ExpressionError(f"no figure is called {ast.unparse(node)!r}")


# Rounding noise of binary arithmetic, relative to the numbers compared.
_NOISE = 1e-9


def equal(a: Span, b: Span) -> bool:
    """Tell whether two numbers may be the same.

    Two ranges that touch at one point do not meet: a number on the edge is rounded one way only.
    """
    low, high = max(a.low, b.low), min(a.high, b.high)
    noise = _noise(a, b)
    return high - low >= -noise if a.exact or b.exact else high - low > noise


def greater(a: Span, b: Span) -> bool:
    """Tell whether `a` may be greater than `b`."""
    return a.high > b.low + _noise(a, b)


def at_least(a: Span, b: Span) -> bool:
    """Tell whether `a` may be `b` or greater."""
    return a.high >= b.low - _noise(a, b)


def _noise(a: Span, b: Span) -> float:
    finite = [abs(end) for end in (a.low, a.high, b.low, b.high) if math.isfinite(end)]
    return _NOISE * max(finite, default=1.0)
