"""What the readers of plain text share: whole lines and tolerant numbers."""

from __future__ import annotations

import math
import re
from decimal import Decimal

# One comma may be the decimal mark of a locale; Python's own `1_000` is no number here.
_NUMBER = re.compile(r"[+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d{1,19}", re.ASCII)
_INFINITE = re.compile(r"[+-]?inf(?:inity)?", re.IGNORECASE)
_NOT_A_NUMBER = re.compile(r"[+-]?nan(?:\(\w*\))?", re.IGNORECASE)
# `mpirun --tag-output` and `srun --label` put the rank before each line.
TAG = r"(?:\[\d+,\d+\](?:<\w+>)?:? ?|\d+: )"
_TAGGED = re.compile(TAG)


def decode(data: bytes) -> str:
    r"""Decode a text file of unknown origin.

    Parameters
    ----------
    data : bytes

    Returns
    -------
    str
        Bytes that are not UTF-8 become U+FFFD, a byte order mark goes, line ends are ``\n``.
    """
    text = data.decode("utf-8-sig", errors="replace")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def holds(head: bytes, pattern: re.Pattern[bytes], *marks: bytes) -> bool:
    """Tell whether a pattern is in some bytes, looking first for plain text that is part of any match.

    Parameters
    ----------
    head : bytes
    pattern : pattern of bytes
    *marks : bytes
        Each match holds one of them. They are found ten times as fast, and most files have none.
    """
    return any(mark in head for mark in marks) and pattern.search(head) is not None


def whole_lines(data: bytes) -> tuple[list[str], str]:
    r"""Split a text into its whole lines and what follows the last line end.

    Parameters
    ----------
    data : bytes

    Returns
    -------
    lines : list of str
        Line ``i`` of the file is ``lines[i - 1]``. Only ``\n`` and ``\r`` end a line, so that line
        numbers are those an editor shows.
    rest : str
        The unterminated last line, empty in a whole file: a number in it may have lost digits.
    """
    lines = decode(data).split("\n")
    return lines[:-1], lines[-1]


def untagged(line: str) -> str:
    """Take the rank off that a launcher may have put before a line."""
    tag = _TAGGED.match(line)
    return line[tag.end() :] if tag else line


def is_number(text: str) -> bool:
    """Tell whether a text is a number that C can print, ``nan`` and ``inf`` included."""
    return bool(_NUMBER.fullmatch(text) or _INFINITE.fullmatch(text) or _NOT_A_NUMBER.fullmatch(text))


def number(text: str) -> float:
    """Read a number with a decimal point or comma.

    Parameters
    ----------
    text : str

    Returns
    -------
    float
        NaN if the text is not a number.
    """
    text = text.strip()
    if _NUMBER.fullmatch(text):
        return float(text.replace(",", "."))
    if _INFINITE.fullmatch(text):
        return -math.inf if text.startswith("-") else math.inf
    return math.nan


def scaled(text: str, exponent: int) -> float:
    """Read a number and multiply it by a power of ten in decimal, so that no digit is added.

    Parameters
    ----------
    text : str
    exponent : int

    Returns
    -------
    float
        ``scaled("0.0058685", 9)`` is 5868500.0 exactly; NaN if the text is not a number.
    """
    text = text.strip()
    if not _NUMBER.fullmatch(text):
        return number(text)
    return float(Decimal(text.replace(",", ".")).scaleb(exponent))


def integer(text: str, *, bits: int = 64, blank: int = -1) -> int:
    """Read a whole number.

    Parameters
    ----------
    text : str
    bits : int, optional
        Width of the signed type it has to fit into.
    blank : int, optional
        Returned where the text is not a whole number or does not fit.

    Returns
    -------
    int
    """
    text = text.strip()
    if not _INTEGER.fullmatch(text):
        return blank
    value = int(text)
    return value if -(1 << (bits - 1)) <= value < 1 << (bits - 1) else blank
