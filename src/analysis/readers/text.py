"""What the readers of plain text share: whole lines and tolerant numbers."""

import math
import re
from decimal import Decimal

import numpy as np
import pyarrow.compute as pc

# One comma may be the decimal mark of a locale; Python's own `1_000` is no number here.
_NUMBER = re.compile(r"[+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_PRINTED = re.compile(rb"-?\d+(?:[.,]\d*)?(?:[eE][+-]?\d+)?")
_INTEGER = re.compile(r"[+-]?\d{1,19}", re.ASCII)
_INFINITE = re.compile(r"[+-]?inf(?:inity)?", re.IGNORECASE)
_NOT_A_NUMBER = re.compile(r"[+-]?nan(?:\(\w*\))?", re.IGNORECASE)
# What a meter writes where it has no reading.
BLANK = frozenset(
    text.lower()
    for text in (
        *("", "-", "--", "_", "n/a", "na", "[n/a]", "nan", "null", "none", "nil", "inf", "unknown", "error"),
        *("[not supported]", "not supported", "[unknown error]", "<not counted>", "<not supported>", "ns"),
        *("no reading", "noreading", "disabled", "unavailable", "not available"),
        "[insufficient permissions]",
    )
)
_CELL = re.compile(r"([+-]?[\d.,' \u00a0]*\d[.,]?(?:[eE][+-]?\d+)?)\s*+([^\d\s.,+-]\D*)?")
_LONG = 8192
# `mpirun --tag-output` and `srun --label` put the rank before each line.
TAG = r"(?:\[\d+,\d+\](?:<\w+>)?:? ?|\d+: )"
_TAGGED = re.compile(TAG)


def decode(data: bytes) -> str:
    r"""Decode a text: what is not UTF-8 becomes U+FFFD, a byte order mark goes, line ends are ``\n``."""
    text = data.decode("utf-8-sig", errors="replace")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def contains(head: bytes, pattern: re.Pattern[bytes], *marks: bytes) -> bool:
    """Tell whether a line of some bytes matches a pattern; each of its matches contains one of the marks."""
    # Marks are found ten times as fast as patterns: only their lines are searched.
    for mark in marks:
        at = head.find(mark)
        while at >= 0:
            begin, end = head.rfind(b"\n", 0, at) + 1, head.find(b"\n", at)
            if pattern.search(head, begin, end if end >= 0 else len(head)):
                return True
            at = head.find(mark, end) if end >= 0 else -1
    return False


def may_match(pattern: str, text: str) -> bool:
    """Return false if a long text has no match of a pattern of RE2; short ones are not searched.

    RE2 takes the same time for any number of alternatives, but a tenth of a millisecond to compile them.
    """
    return len(text) < _LONG or bool(pc.match_substring_regex(text, pattern).as_py())


def whole_lines(data: bytes) -> tuple[list[str], str]:
    r"""Split a text into its whole lines and the unterminated last one, which may have lost digits.

    Only ``\n`` and ``\r`` end a line, so that line numbers are those an editor shows.
    """
    lines = decode(data).split("\n")
    return lines[:-1], lines[-1]


class Lines:
    """Counts lines; offsets asked for before spare counting from the beginning, long in a large file."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._known = {0: 1}

    def of(self, offset: int) -> int:
        """Return the 1-based line of an offset."""
        known = max(at for at in self._known if at <= offset)
        line = self._known[known] + self.data.count(b"\n", known, offset)
        self._known[offset] = line
        return line


def untagged(line: str) -> str:
    """Take the rank off that a launcher may have put before a line."""
    tag = _TAGGED.match(line)
    return line[tag.end() :] if tag else line


def is_number(text: str) -> bool:
    """Tell whether a text is a number that C can print, ``nan`` and ``inf`` included."""
    return bool(_NUMBER.fullmatch(text) or _INFINITE.fullmatch(text) or _NOT_A_NUMBER.fullmatch(text))


def number(text: str | bytes) -> float:
    """Read a number with a decimal point or comma; NaN if the text is not one."""
    text = (text if isinstance(text, str) else text.decode("iso-8859-1")).strip()
    if _NUMBER.fullmatch(text):
        return float(text.replace(",", "."))
    if _INFINITE.fullmatch(text):
        return -math.inf if text.startswith("-") else math.inf
    return math.nan


def printable(raw: bytes) -> str:
    """Decode bytes for messages and attributes; what cannot be printed becomes U+FFFD."""
    text = raw.decode("utf-8", "replace")
    if not text.isprintable():
        text = "".join(c if c.isprintable() else "\ufffd" for c in text)
    return text.strip()


def real(token: bytes) -> float:
    """Read a number as C's printf writes it; `ValueError` if it is not one, or not finite."""
    value = number(token) if _PRINTED.fullmatch(token) else math.nan
    if not math.isfinite(value):
        raise ValueError(f"{printable(token)!r} is no {'' if math.isnan(value) else 'finite '}number")
    return value


def headless(text: bytes) -> bool:
    """Tell whether a number begins with its point: `real` refuses that, Arrow does not."""
    # Its first digit is lost: it would be another number.
    letters = np.frombuffer(text, dtype=np.uint8)
    for at in range(0, letters.size, 1 << 18):
        part = letters[at : at + (1 << 18)]
        points = np.flatnonzero((part == ord(".")) | (part == ord(","))) + at
        if (letters[points - 1] < ord("0")).any():
            return True
    return False


def scaled(text: str, exponent: int) -> float:
    """Read a number times a power of ten, in decimal: ``scaled("0.0058685", 9)`` is 5868500 exactly."""
    text = text.strip()
    if not _NUMBER.fullmatch(text):
        return number(text)
    return float(Decimal(text.replace(",", ".")).scaleb(exponent))


def integer(text: str, *, bits: int = 64) -> int:
    """Read a whole number that fits a signed type of `bits`; -1 if the text is not one."""
    text = text.strip()
    if not _INTEGER.fullmatch(text):
        return -1
    value = int(text)
    return value if -(1 << (bits - 1)) <= value < 1 << (bits - 1) else -1


def plain(text: str, *, decimal_comma: bool = False) -> float:
    """Read a number with thousands separators; NaN if it is not one.

    ``1,234.5`` and ``1.234,5`` are both 1234.5, ``12,5`` is 12.5; ``1,234`` is 1234 unless `decimal_comma`.
    """
    text = text.strip().replace(" ", "").replace("\u00a0", "").replace("'", "")
    point, comma = text.rfind("."), text.rfind(",")
    if point >= 0 and comma >= 0:
        mark, other = (",", ".") if comma > point else (".", ",")
        return number(text.replace(other, "").replace(mark, "."))
    if text.count(",") > 1:
        return number(text.replace(",", ""))
    thousands = comma > 0 and not decimal_comma and len(text) - comma == 4 and text[comma + 1 :].isdigit()
    return number(text.replace(",", "") if thousands and text.lstrip("+-")[0] != "0" else text)


def quantity(cell: str, *, decimal_comma: bool = False) -> tuple[float, str]:
    """Split a cell like ``12 W`` or ``0,00 Joules`` into number and unit as printed.

    The number is NaN for a blank; the unit is ``?`` if the cell is neither blank nor a number.
    """
    text = cell.strip().strip('"').strip()
    if text.lower() in BLANK:
        return math.nan, ""
    match = _CELL.fullmatch(text)
    if match is None:
        return math.nan, "?"
    value = plain(match[1], decimal_comma=decimal_comma)
    return (value, match[2] or "") if not math.isnan(value) else (math.nan, "?")
