"""The words of verdicts and evidence classes: their signs, tones and order, and how numbers are written."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal

SCALES = ("ratio", "share", "level", "set", "word")
Tone = Literal["stands", "partly", "fails", "open", "none", "pipeline"]


@dataclass(frozen=True, slots=True)
class VerdictWord:
    """A verdict's word and how it is drawn.

    `one` and `many` are the same in a sentence about one conclusion and about several, around the number; the
    sign stands beside the word, so that colour is never the only carrier; tone ``pipeline`` is a test of
    Benchbook itself.
    """

    word: str
    one: str
    many: str
    sign: str
    tone: Tone


def _is(word: str, sign: str, tone: Tone, tail: str = "") -> VerdictWord:
    return VerdictWord(word, f"{{}} is {word}{tail}", f"{{}} are {word}{tail}", sign, tone)


_VERDICTS = (
    VerdictWord("holds", "{} holds", "{} hold", "✓", "stands"),
    VerdictWord("holds in direction", "{} holds in direction", "{} hold in direction", "↗", "partly"),
    VerdictWord("does not hold", "{} does not hold", "{} do not hold", "✕", "fails"),
    VerdictWord("cannot tell", "on {} the data cannot tell", "on {} the data cannot tell", "?", "open"),
    VerdictWord(
        "inside the band",
        "{} is inside its modelled band",
        "{} are inside their modelled band",
        "✓",
        "stands",
    ),
    VerdictWord(
        "outside the band",
        "{} is outside its modelled band",
        "{} are outside their modelled band",
        "✕",
        "fails",
    ),
    _is("consistent", "✓", "stands"),
    _is("inconsistent", "✕", "fails"),
    _is("not checkable", "?", "open"),
    _is("recovered", "◇", "pipeline", " from synthetic files"),
    _is("not recovered", "✕", "pipeline", " from synthetic files"),
    _is("not tested", "–", "none"),
)
VERDICTS: dict[str, VerdictWord] = {v.word: v for v in _VERDICTS}


@dataclass(frozen=True, slots=True)
class Evidence:
    """An evidence class: its meaning in a few words, and the verdict words that it may use."""

    name: str
    meaning: str
    words: frozenset[str]


_TESTED = frozenset({"holds", "holds in direction", "does not hold", "cannot tell", "not tested"})
# In order of weight: the first class that was tested speaks for the row.
_EVIDENCE = (
    Evidence("measured", "jobs that we ran, raw output and job record kept", _TESTED),
    Evidence("published", "other people's numbers, each with its source", _TESTED),
    Evidence(
        "modelled",
        "a what-if with fixed hardware facts; a parameter sweep gives the band",
        frozenset({"inside the band", "outside the band", "not tested"}),
    ),
    Evidence(
        "reported",
        "arithmetic between a report's own statements",
        frozenset({"consistent", "inconsistent", "not checkable", "not tested"}),
    ),
    Evidence(
        "synthetic",
        "raw files generated around a report's own printed numbers: "
        "a test of the pipeline, never evidence for the claim",
        frozenset({"recovered", "not recovered", "not tested"}),
    ),
)
EVIDENCE: dict[str, Evidence] = {e.name: e for e in _EVIDENCE}


def digits(value: float, low: float | None = None, high: float | None = None) -> str:
    """Write a number with the digits that its interval supports, else three: ``1.11`` in [1.08, 1.14]."""
    half = (high - low) / 2 if low is not None and high is not None else 0.0
    if not math.isfinite(value):
        return "no number" if math.isnan(value) else "∞" if value > 0 else "−∞"
    if half > 0 and math.isfinite(half):
        # One digit of the half-width, two where it begins with 1, so that rounding costs at most a third.
        decimals = -math.floor(math.log10(half))
        decimals += half * 10**decimals < 2
    elif value:
        decimals = 2 - math.floor(math.log10(abs(value)))
    else:
        decimals = 0
    rounded = round(value, min(decimals, 12))
    return f"{rounded:,.{max(decimals, 0)}f}".replace(",", " ").replace("-", "−")


def slug(text: str) -> str:
    """Turn a claim's identifier into an HTML id: letters, digits, ``-`` and ``_``."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", text).strip("-") or "claim"
