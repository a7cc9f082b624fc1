"""Slides as plain content, before they become HTML or PowerPoint, and text that fits on them."""

import math
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import pandas as pd

from analysis.estimates.campaign import Campaign

_TABLES = 4  # slides of one table

Kind = Literal["title", "facts", "question", "summary", "method", "list"]

HEAD = 330  # letters of a headline
BESIDE, _BULLET = 600, 26  # letters of all bullets beside a figure, and what the space of one costs
_TABLE, _LETTER = 1160.0, 8.1  # px of a table and of a letter in it, on a slide of 1280 px
_LINES, _GAP = 18.6, 0.68  # lines of a table, and of a line what is between two rows
_CELL, _HIGHEST = 420, 10  # letters and lines of a cell
_WORD, _MIDDLE, _PADDING = 24, 90, 3  # letters of a column: of its longest word, of all, beside them


@dataclass(frozen=True)
class Slide:
    """One slide.

    `headline` is its sentence, `topic` the small line above it; `bullets` are next to the figure, or alone.
    `points` is the figure, rows of points with intervals as `findings.conclusion.Conclusion` has them
    (columns ``series x median low high n``; attrs ``unit xlabel ylabel``), None without one. `table` has its
    headings as the first row. `footnote` is what the numbers rest on, `label` the class of evidence, empty
    where nothing was measured.
    """

    kind: Kind
    headline: str
    topic: str = ""
    bullets: tuple[str, ...] = ()
    points: pd.DataFrame | None = field(default=None, repr=False)
    table: tuple[tuple[str, ...], ...] = ()
    footnote: str = ""
    label: str = ""


@dataclass(frozen=True)
class Deck:
    """Slides in their order; `title`, `subject` and `date` (ISO, of the last run) describe the file."""

    title: str
    subject: str
    date: str
    slides: tuple[Slide, ...]


def tabled(
    rows: Sequence[tuple[str, ...]],
    kind: Kind,
    headline: str,
    topic: str,
    *,
    footnote: str = "",
    label: str = "",
    most: int = 1000,
    more: str = "",
) -> Iterator[Slide]:
    """Split a table into as many slides as it needs, up to a limit; the first row has the headings.

    `more` says how to see the rows that are left out; their number comes before it.
    """
    parts = pages(rows) if len(rows) > 1 else []
    kept = parts[:most]
    missing = len(rows) - 1 - sum(len(part) - 1 for part in kept)
    note = f"{missing:,} more: {more}" if missing and more else footnote
    for at, part in enumerate(kept, 1):
        head = f"{headline} ({at} of {len(kept)})" if len(kept) > 1 and more else headline
        yield Slide(kind, head, topic, table=part, footnote=note, label=label)


def listed(rows: Sequence[tuple[str, ...]], headline: str, topic: str, campaign: Campaign) -> Iterator[Slide]:
    """Make slides of a table, and say how many rows of a very long one are left out."""
    more = f"benchbook findings {campaign.name} --json has all."
    yield from tabled(rows, "list", headline, topic, label=campaign.evidence, most=_TABLES, more=more)


# ---- text that fits


def head(text: str, most: int = HEAD) -> tuple[str, list[str]]:
    """Split a text into a headline and bullets that carry on with it."""
    if len(text) <= most:
        return text, []
    first, *rest = textwrap.wrap(text, most - 2)
    pieces = textwrap.wrap(" ".join(rest), BESIDE // 2 - _BULLET - 4)
    ends = ["" if at == len(pieces) else " …" for at in range(1, len(pieces) + 1)]
    return f"{first} …", [f"… {piece}{end}" for piece, end in zip(pieces, ends, strict=True)]


def fits(bullets: Sequence[str]) -> bool:
    """Tell whether bullets fit next to a figure."""
    return sum(len(one) + _BULLET for one in bullets) <= BESIDE


def bounded(bullets: Sequence[str]) -> list[str]:
    """Keep the bullets that fit; a first bullet that is too long is cut."""
    kept: list[str] = []
    for one in bullets:
        room = BESIDE - sum(len(one) + _BULLET for one in kept) - _BULLET
        if room < 20:
            break
        kept.append(cut(one, room))
    return kept


def cut(text: str, most: int) -> str:
    """Shorten a text at a space, with an ellipsis."""
    if len(text) <= most:
        return text
    return f"{textwrap.wrap(text, most - 2)[0].rstrip(',;:')} …"


def pages(rows: Sequence[tuple[str, ...]]) -> list[tuple[tuple[str, ...], ...]]:
    """Split a table, its headings first, into such as fit on a slide and are about as long; each has them."""
    wide = [_TABLE * one / _LETTER - _PADDING for one in shares(rows)]  # letters
    headings, *body = (
        tuple(
            cut(cell, min(_CELL, int(_HIGHEST * max(width, 1.0))))
            for cell, width in zip(row, wide, strict=True)
        )
        for row in rows
    )
    sizes = [_GAP + max(_lines(cell, width) for cell, width in zip(row, wide, strict=True)) for row in body]
    slides = max(1, len(_filled(sizes, _LINES)))
    even = sum(sizes) / slides
    while len(_filled(sizes, even)) > slides:
        even += _GAP
    parts = _filled(sizes, min(even, _LINES))
    return [(headings, *(body[at] for at in part)) for part in parts]


def _filled(sizes: Sequence[float], room: float) -> list[list[int]]:
    """Give the numbers of the rows that stand on each slide, in their order."""
    parts: list[list[int]] = []
    used = math.inf
    for at, size in enumerate(sizes):
        if used + size > room:
            parts.append([])
            used = 0.0
        parts[-1].append(at)
        used += size
    return parts


def shares(rows: Sequence[tuple[str, ...]]) -> list[float]:
    """Return the share of a table's width that each column needs for its content."""
    least, more = [], []
    for column in zip(*rows, strict=True):
        word = max((len(word) for cell in column for word in cell.split()), default=1)
        least.append(min(word, _WORD) + _PADDING)
        more.append(min(sum(map(len, column)) / len(column), _MIDDLE))
    room = max(_TABLE / _LETTER - sum(least), 0.0)
    needed = [own + room * part / (sum(more) or 1.0) for own, part in zip(least, more, strict=True)]
    return [one / sum(needed) for one in needed]


def _lines(text: str, letters: float) -> int:
    return max(1, len(textwrap.wrap(text, max(int(letters), 1))))
