"""Text that fits on a slide: split where it is too long, so that nothing runs over an edge."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence

HEAD = 230  # letters of a headline
BESIDE = 640  # letters of all bullets beside a figure
_LETTER = 7.6  # px of a letter in a table, on a slide of 1280 px
_LINES = 17  # of a table
_GAP = 0.6  # of a line, between two rows
_CELL = 420  # letters of a cell


def head(text: str, most: int = HEAD) -> tuple[str, list[str]]:
    """Split a text into a headline and bullets that carry on with it."""
    if len(text) <= most:
        return text, []
    first, *rest = textwrap.wrap(text, most - 2)
    pieces = textwrap.wrap(" ".join(rest), BESIDE // 2 - 4)
    ends = ["" if at == len(pieces) else " …" for at in range(1, len(pieces) + 1)]
    return f"{first} …", [f"… {piece}{end}" for piece, end in zip(pieces, ends, strict=True)]


def fits(bullets: Sequence[str]) -> bool:
    """Tell whether bullets have room beside a figure."""
    return sum(map(len, bullets)) <= BESIDE


def bounded(bullets: Sequence[str]) -> list[str]:
    """Keep the bullets that have room, the last of them cut if none of it would stand otherwise."""
    kept: list[str] = []
    for one in bullets:
        room = BESIDE - sum(map(len, kept))
        if room < 20:
            break
        kept.append(cut(one, room))
    return kept


def cut(text: str, most: int) -> str:
    """Shorten a text at a space, with an ellipsis."""
    if len(text) <= most:
        return text
    return f"{textwrap.wrap(text, most - 2)[0]} …"


def pages(rows: Sequence[tuple[str, ...]], widths: Sequence[int]) -> list[tuple[tuple[str, ...], ...]]:
    """Split a table, its headings first, into such as fit on a slide; each has the headings.

    `widths` are those of its columns, in px on a slide of 1280 px.
    """
    headings, *body = (tuple(cut(cell, _CELL) for cell in row) for row in rows)
    parts: list[list[tuple[str, ...]]] = [[]]
    used = 0.0
    for row in body:
        lines = max(_lines(cell, width) for cell, width in zip(row, widths, strict=True)) + _GAP
        if parts[-1] and used + lines > _LINES:
            parts.append([])
            used = 0.0
        parts[-1].append(row)
        used += lines
    return [(headings, *part) for part in parts if part]


def _lines(text: str, width: float) -> int:
    return max(1, math.ceil(len(text) * _LETTER / width))
