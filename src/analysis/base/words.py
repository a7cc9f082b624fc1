"""Numbers and levels as words: as many digits as an interval supports, "32 nodes", "at 16³"."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

Level = str | int | float
Spellings = Mapping[str, str]
_NONE: Spellings = MappingProxyType({})

NOT_STATED = "not stated"  # a level, a place or a power that nobody has given
NOT_KNOWN = "not known"  # a level that no run states
SIMULATED = "simulated"  # ends the name of each meter that is none

# Dates and times in names.
STAMPS = re.compile(
    r"(?<!\d)(?:19|20)\d\d[-_:.]?[01]\d[-_:.]?[0-3]\d(?:[-_T.]+[0-2]\d[-_:.h]?[0-5]\d(?:[-_:.]?[0-5]\d)?|\d{4,6})?(?!\d)"
    r"|(?<!\d)[0-2]\d[-:_h][0-5]\d[-:_m][0-5]\d(?!\d)"
)

# Words of verdicts as data -> as people read them, on the site, in notebooks and on a terminal.
_DISPLAYED = {
    "inside the band": "possible, not confirmed",
    "outside the band": "implausible by the model",
    "could not fail": "untestable by arithmetic",
}

# An interval of synthetic values can be as narrow as their rounding; more digits than these tell nobody more.
FIGURES = 4
# So alike, a name is meant before one that has the word as a part; a part has so many letters.
_ALIKE, _PART = 0.8, 3
# Intervals hold the truth at 95 % unless they say otherwise; what is nearer than rounding is that.
FULL = 0.95 - 1e-9


class Interval(Protocol):
    """A value with the ends of its interval; NaN or infinite where there is none."""

    @property
    def value(self) -> float:
        """The value itself."""

    @property
    def low(self) -> float:
        """Lower end."""

    @property
    def high(self) -> float:
        """Upper end."""

    @property
    def level(self) -> float:
        """The probability that the interval holds the truth, as a fraction."""


def decimals(estimate: Interval) -> int:
    """Return how many decimals an interval supports, two figures of its half width; below 0 for tens.

    Without an interval as many as make three significant figures of the value. However
    narrow it is, no more than make `FIGURES` significant figures of its larger end. An end
    near 0 has one more if that shows on which side of 0 it lies. A last figure that is 0 in the value and in
    both ends is left out: what was printed to 0.01 has no third decimal.
    """
    width = (estimate.high - estimate.low) / 2 if _bounded(estimate) else 0.0
    if width > 0:
        most = FIGURES - 1 - math.floor(math.log10(max(abs(estimate.low), abs(estimate.high))))
        ends = (estimate.low, estimate.high)
        places = min(1 - math.floor(math.log10(width)), max(most, 0))
        places += any(end and not round(end, places) and round(end, places + 1) for end in ends)
        told = (estimate.value, *ends)
        while (
            places > 0
            and all(round(one, places) == round(one, places - 1) for one in told)
            and round(ends[0], places - 1) != round(ends[1], places - 1)
        ):
            places -= 1
        return places
    size = abs(estimate.value)
    return 2 - math.floor(math.log10(size)) if size > 0 else 0


def number(estimate: Interval, unit: str) -> str:
    """Spell an estimate: ``1.36× (1.22 to 1.54)``; empty if there is no value."""
    if not math.isfinite(estimate.value):
        return ""
    places = decimals(estimate)
    value = attached(rounded(estimate.value, places), unit)
    level = "" if estimate.level >= FULL else f", {percent(estimate.level)} interval"
    if not _bounded(estimate):
        for word, end, other in (
            ("least", estimate.low, estimate.high),
            ("most", estimate.high, estimate.low),
        ):
            if math.isfinite(end) and math.isinf(other):
                return f"{value} (at {word} {rounded(end, places)}{level})"
        return f"{value} (no interval)"
    if estimate.low == estimate.high:
        text = attached(exact(estimate.value), unit)
        return f"{text} (exact)" if not level else f"{text} (all alike{level})"
    low, high = (rounded(end, places) for end in (estimate.low, estimate.high))
    if low == high:  # narrower than the last figure
        return f"{value} (within {significant(10.0**-places)}{level})"
    return f"{value} ({low} to {high}{level})"


def stop(estimate: Interval, unit: str) -> str:
    """Spell the level at which scaling stops: ``8 nodes (4 to 16)``, ``not before 32 nodes``."""
    if estimate.low == estimate.high:
        return attached(f"{estimate.low:g}", unit)
    if estimate.value == estimate.low and math.isinf(estimate.high):
        return f"not before {attached(f'{estimate.low:g}', unit)}"
    end = "or more" if math.isinf(estimate.high) else f"to {estimate.high:g}"
    return f"{attached(f'{estimate.value:g}', unit)} ({estimate.low:g} {end})"


def displayed(word: str) -> str:
    """Return the word of a verdict as people read it; the data keep their own."""
    return _DISPLAYED.get(word, word)


def nearest(word: str, known: Iterable[object], alike: float = 0.6, spellings: Spellings = _NONE) -> str:
    """Return the name that a wrong word may mean; empty if none is near.

    Capitals, blanks, hyphens and underscores do not count. A part that one name alone has means that name,
    as ``lulesh`` does among campaigns, unless much likeness is asked for.

    Parameters
    ----------
    word : str
        What was written.
    known : iterable
        The names that there are.
    alike : float
        The least share of letters in common, 0 to 1.
    spellings : mapping
        Other words for these names.

    Examples
    --------
    >>> nearest("VM_HPGC", ["vm-hpcg", "vm-lulesh"])
    'vm-hpcg'
    >>> nearest("lulesh", ["vm-hpcg", "vm-lulesh"])
    'vm-lulesh'
    """
    from difflib import get_close_matches  # of use only where a word is wrong

    names = {_plain(one): name for one, name in spellings.items()}
    names |= {_plain(name): name for name in reversed([str(one) for one in known])}
    asked = _plain(word)
    near = get_close_matches(asked, names, 1, max(alike, _ALIKE))
    parts = [one for one in names if alike < _ALIKE and len(asked) >= _PART and asked in one]
    near = near or (parts if len(parts) == 1 else get_close_matches(asked, names, 1, alike))
    return names[near[0]] if near else ""


def meant(word: str, known: Iterable[object], alike: float = 0.6, spellings: Spellings = _NONE) -> str:
    """Ask whether the nearest name is meant: ``is 'nodes' meant?``; empty if none is so `alike`."""
    near = nearest(word, known, alike, spellings)
    return f"is {near!r} meant?" if near else ""


def _plain(word: str) -> str:
    return re.sub(r"[\s_-]+", "", word).lower()


def capitalised(text: str) -> str:
    """Begin a text with a capital letter, and leave the rest as it is."""
    return text[:1].upper() + text[1:]


def attached(value: str, unit: str) -> str:
    """Put a unit behind a number: a multiplication sign close, other units after a space."""
    return f"{value}{unit}" if unit in ("", "×") else f"{value} {unit}"


def percent(share: float, digits: int = 0) -> str:
    """Spell a share as every sentence does: ``94 %`` of 0.94."""
    return f"{share:.{digits}%}".replace("%", " %")


def general(value: float, form: str = "g") -> str:
    """Spell a number by a format, with a true minus sign."""
    return format(value, form).replace("-", "−")


def significant(value: float, figures: int = 4) -> str:
    """Spell a number with some significant figures and never a power of ten: ``11,910``."""
    if not math.isfinite(value) or value == 0:
        return f"{value:g}"
    text = rounded(value, figures - 1 - math.floor(math.log10(abs(value))))
    return text.rstrip("0").rstrip(".") if "." in text else text


def exact(value: float) -> str:
    """Spell a number that has no uncertainty, a count in full: ``11,656``, ``0.3829``.

    What is below 1,000 and not whole does not look whole: 99.999 is not 100.
    """
    if value == round(value):
        return general(value, ",.0f")
    spelt = (significant(value, figures) for figures in (FIGURES, FIGURES + 1, FIGURES + 2))
    return next((one for one in spelt if "." in one and abs(value) < 1000), significant(value))


def counted(count: int, name: str) -> str:
    """Count things: ``1 conclusion``, ``2 conclusions``."""
    return f"{count:,} {name}{'' if count == 1 else 's'}"


def in_order(levels: Iterable[Level]) -> list[Level]:
    """Sort levels: numbers by size, then words, with the numbers in them by size."""
    return sorted(levels, key=lambda level: (isinstance(level, str), _natural(level), level))


def _natural(level: Level) -> Sequence[tuple[float, str]]:
    parts = re.findall(r"(\d+)|(\D+)", level) if isinstance(level, str) else []
    return [(float(number or "inf"), word) for number, word in parts]


def _bounded(estimate: Interval) -> bool:
    return math.isfinite(estimate.low) and math.isfinite(estimate.high)


def rounded(value: float, places: int) -> str:
    """Spell a number with so many decimals; below 0 for tens."""
    return general(round(value, places), f",.{max(places, 0)}f")


def binary_size(size: int) -> str:
    """Spell a number of bytes in the largest unit that divides it: ``4 MiB``, ``12 B``."""
    for step, unit in ((2**20, "MiB"), (2**10, "KiB")):
        if size >= step and size % step == 0:
            return f"{size // step} {unit}"
    return f"{size} B"


def table(rows: Sequence[Sequence[str]], right: Sequence[bool] = ()) -> str:
    """Lay rows out in columns as wide as they need, those that are `right` with their ends aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    sides = right or [False] * len(widths)
    lines = (
        "  ".join(
            cell.rjust(width) if end else cell.ljust(width)
            for cell, width, end in zip(row, widths, sides, strict=True)
        )
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)
