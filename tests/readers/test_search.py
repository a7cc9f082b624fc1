"""Matches found by a text that each contains are those of `re.finditer`."""

from __future__ import annotations

import re

import pytest

from analysis import readers
from analysis.readers import search
from analysis.readers.merits.output import TextFormat

from .merits.texts import SAMPLES


def spans(pattern: str, text: str) -> list[tuple[tuple[int, int], tuple[str | None, ...]]]:
    return [(one.span(), one.groups()) for one in re.finditer(pattern, text, re.MULTILINE)]


def found(pattern: str, text: str) -> list[tuple[tuple[int, int], tuple[str | None, ...]]]:
    return [(one.span(), one.groups()) for one in search.matches(pattern, text)]


def patterns() -> list[str]:
    """Return the patterns of all formats of figures of merit."""
    formats = [row for row in readers.rows() if isinstance(row, TextFormat)]
    each = [[*(merit.pattern for merit in row.merits), *row.facts.values()] for row in formats]
    lines = [(row.closing, row.starts, row.passed, row.failed, row.first_line) for row in formats]
    return sorted({one for some in (*each, *lines) for one in some if one})


def test_matches__of_every_format_in_every_sample() -> None:
    known = patterns()
    assert len(known) > 200
    text = "\n".join(SAMPLES.values())
    cut = text[: len(text) - 1]  # the last line without its end
    assert sum(len(spans(one, cut)) for one in known) > 250
    for pattern in known:
        assert found(pattern, cut) == spans(pattern, cut), pattern
        assert [one.span() for one in search.matches(pattern.encode(), cut.encode())] == [
            one.span() for one in re.finditer(pattern.encode(), cut.encode(), re.MULTILINE)
        ], pattern


TEXT = "time = 1 s\n\n  time = 2 s, time = 3 s\ntime =\n 4 s\nTIME = 5 s\n time = 6 s"


@pytest.mark.parametrize(
    ("pattern", "needed", "within"),
    [
        (r"^ *time = (\d)", ["time = "], True),
        (r"time = (\d) s$", ["time = "], True),
        (r"^time = .*\n", ["time = "], True),
        (r"^time =\s+(\d)", ["time ="], False),  # of which the second match is in two lines
        (r"\s+time = (\d)", ["time = "], False),
        (r"time = (?!\s)(\d)", ["time = "], False),
        (r"time =[^,]* s", ["time ="], False),
        (r"(?:time = 2|TIME = 5)", ["time = 2", "TIME = 5"], False),
        (r"(?:lapse|rime = )\d", ["lapse", "rime = "], False),
        (r"(?i)time = (\d)", [], False),
        (r"^(?:extra )?(\d) s", [], False),
        (r"(?:time = ){0,2}(\d)", [], False),
        (r"time = (\d)|(?:^ 4) s", ["time = ", " 4 s"], False),
        (r"time = 9", ["time = 9"], True),
    ],
)
def test_matches__within_a_line_or_beyond(pattern: str, needed: list[str], within: bool) -> None:
    assert found(pattern, TEXT) == spans(pattern, TEXT)
    assert (search._prepared(pattern)[1:]) == (needed or (), within)


def test_first__is_the_first_match_or_none() -> None:
    match = search.first(r"^ *time = (\d)", "a\n time = 7\ntime = 8\n")
    assert match is not None
    assert (match[1], match.start()) == ("7", 2)
    assert search.first(r"^time = (\d)", "rime = 7\n") is None
