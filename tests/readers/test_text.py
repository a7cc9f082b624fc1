from __future__ import annotations

import math

import pytest

from analysis.readers import text as textio


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("4.51", 4.51),
        ("4,51", 4.51),
        (" -1e-3 ", -0.001),
        ("+7", 7.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("-inf", -math.inf),
    ],
)
def test_textio__reads_numbers(text: str, value: float) -> None:
    assert textio.number(text) == value


@pytest.mark.parametrize("text", ["", "nan", "-nan", "1_000", "1,2,3", "1.2.3", "0x10", "12 s", "1e", "٣"])
def test_textio__what_is_no_number_is_nan(text: str) -> None:
    assert math.isnan(textio.number(text))


def test_textio__scales_in_decimal() -> None:
    # In binary, 0.0000077 x 1e9 is 7700.000000000001.
    assert 0.0000077 * 1e9 != 7700.0
    assert textio.scaled("0.0000077", 9) == 7700.0
    assert textio.scaled("6e-05", 9) == 60000.0
    assert math.isnan(textio.scaled("?", 9))


@pytest.mark.parametrize(
    ("text", "bits", "value"),
    [
        ("12", 64, 12),
        ("-3", 64, -3),
        ("2147483647", 32, 2**31 - 1),
        ("2147483648", 32, -1),
        ("9223372036854775808", 64, -1),
        ("9" * 5000, 64, -1),
        ("1.5", 64, -1),
        ("", 64, -1),
    ],
)
def test_textio__reads_whole_numbers_that_fit(text: str, bits: int, value: int) -> None:
    assert textio.integer(text, bits=bits) == value


def test_textio__numbers_lines_as_an_editor_does() -> None:
    # The form feed and the Unicode separator end no line.
    lines, rest = textio.whole_lines("\ufeffa\r\nb\fc\u2028d\r\re\nf".encode())
    assert lines == ["a", "b\fc\u2028d", "", "e"]
    assert rest == "f"


def test_textio__decodes_what_is_not_utf8() -> None:
    assert textio.decode(b"n\xe9v=1\n") == "n\ufffdv=1\n"
