"""The words of verdicts and evidence classes: their signs, tones and order."""

from __future__ import annotations

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
    VerdictWord(
        "could not fail",
        "{} has only a relation that could not fail",
        "{} have only a relation that could not fail",
        "–",
        "none",
    ),
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
        frozenset({"consistent", "could not fail", "inconsistent", "not checkable", "not tested"}),
    ),
    Evidence(
        "synthetic",
        "raw files generated around a report's own printed numbers: "
        "a test of the pipeline, never evidence for the claim",
        frozenset({"recovered", "not recovered", "not tested"}),
    ),
)
EVIDENCE: dict[str, Evidence] = {e.name: e for e in _EVIDENCE}


def slug(text: str) -> str:
    """Turn a claim's identifier into an HTML id: letters, digits, ``-`` and ``_``."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", text).strip("-") or "claim"
