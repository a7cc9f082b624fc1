"""Intervals and formulas, against ends that are worked out by hand."""

from __future__ import annotations

import math

import pytest

from analysis.base.words import significant
from analysis.claims.intervals import Expression, ExpressionError, PrintedRange, at_least, equal, greater
from analysis.claims.relations import span_of


def ends(span: PrintedRange) -> tuple[float, float]:
    return pytest.approx(span.low), pytest.approx(span.high)


@pytest.mark.parametrize(
    ("printed", "reading", "step", "low", "high"),
    [
        ("20", "rounded", None, 19.5, 20.5),
        ("8.9", "rounded", None, 8.85, 8.95),
        ("3200", "up to", 100, 3150, 3250),
        ("2", "about", None, 1, 3),
        ("5", "almost", None, 4.5, 5),
        ("16", "under", None, 0, 16),
        ("7", "over", None, 7, math.inf),
        ("640", "exact", None, 640, 640),
        ("16 to 20", "range", None, 16, 20),
    ],
)
def test_model__a_printed_number_is_a_range(
    printed: str, reading: str, step: float | None, low: float, high: float
) -> None:
    span = span_of(printed, reading, step)
    assert (span.low, span.high) == (pytest.approx(low), pytest.approx(high))


def test_arithmetic__carries_ends_through_a_formula() -> None:
    # 100 / (1 - 0.195) - 100 = 24.22, 100 / (1 - 0.205) - 100 = 25.79
    gain = Expression("100 / (1 - shorter / 100) - 100").evaluate({"shorter": span_of("20")})
    assert gain.value == pytest.approx(25)
    assert gain.low == pytest.approx(100 / 0.805 - 100)
    assert gain.high == pytest.approx(100 / 0.795 - 100)


def test_arithmetic__signs_and_unbounded_ends() -> None:
    figures = {"a": PrintedRange(-1, -2, 3), "b": PrintedRange(4, 2, 5), "over": span_of("7", "over")}
    # corners of a * b: -4, -10, 6, 15; of a - b: -2 - 5 and 3 - 2
    assert ends(Expression("a * b").evaluate(figures)) == (-10, 15)
    assert ends(Expression("a - b").evaluate(figures)) == (-7, 1)
    assert ends(Expression("-b").evaluate(figures)) == (-5, -2)
    assert ends(Expression("1 / over").evaluate(figures)) == (0, pytest.approx(1 / 7))
    assert Expression("over / b").evaluate(figures).low == pytest.approx(7 / 5)
    assert Expression("over / b").evaluate(figures).high == math.inf


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').getcwd()",
        "a.real",
        "a ** 2",
        "[a]",
        "a if b else c",
        "lambda: a",
        "a; b",
        "'text'",
        "True + 1",
        "a @ b",
        "1e999",
        "a <",
        "",
        "(" * 300,
        "1" + " + 1" * 5000,
    ],
)
def test_arithmetic__refuses_anything_but_a_formula(text: str) -> None:
    with pytest.raises(ExpressionError):
        Expression(text)


def test_arithmetic__refuses_a_divisor_that_may_be_nothing() -> None:
    with pytest.raises(ExpressionError, match="may be 0"):
        Expression("1 / a").evaluate({"a": PrintedRange(0.2, -0.3, 0.7)})
    with pytest.raises(ExpressionError, match="no figure is called 'b'"):
        Expression("a + b").evaluate({"a": PrintedRange.exactly(1)})


def test_arithmetic__ranges_that_touch_at_one_point_do_not_meet() -> None:
    assert not equal(span_of("5", "almost"), span_of("5", "over"))
    assert not equal(span_of("60"), span_of("61"))
    assert equal(span_of("9", "about"), span_of("8.9"))
    # A number that is exact lies on an edge or off it.
    assert equal(PrintedRange.exactly(16), span_of("16 to 20", "range"))
    assert not equal(PrintedRange.exactly(15.9), span_of("16 to 20", "range"))
    # Sums of tenths are not what they are on paper: 0.1 + 0.2 = 0.30000000000000004.
    assert equal(PrintedRange.exactly(0.1 + 0.2), PrintedRange.exactly(0.3))


def test_arithmetic__orders_within_the_ranges() -> None:
    assert greater(span_of("20"), span_of("20"))
    assert not greater(span_of("14"), span_of("18"))
    assert not greater(PrintedRange.exactly(0), PrintedRange.exactly(0))
    assert at_least(PrintedRange.exactly(0), PrintedRange.exactly(0))
    assert not at_least(PrintedRange.exactly(1), PrintedRange.exactly(1.01))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (25.786, "25.79"),
        (10400, "10,400"),
        (51360.4, "51,360"),
        (0, "0"),
        (2, "2"),
        (-7.25, "−7.25"),
        (0.975, "0.975"),
    ],
)
def test_arithmetic__numbers_are_written_without_powers_of_ten(value: float, text: str) -> None:
    assert significant(value) == text
