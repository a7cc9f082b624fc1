"""The words of verdicts and evidence classes: their signs, tones and order."""

import re
from dataclasses import dataclass
from typing import Literal

from analysis.base.words import displayed
from analysis.claims.distance import LOOK_UP
from analysis.claims.rules import FAILS, HOLDS
from analysis.claims.simulated import FORBIDS, PERMITS
from analysis.claims.verdicts import AGREES, DIRECTED, DISAGREES, SOURCE_WORDS
from analysis.estimates.finding import LIMITED, directed

SCALES = ("ratio", "share", "level", "set", "word")
Tone = Literal[
    "stands", "partly", "fails", "seen", "unseen", "like", "unlike", "agrees", "odds", "open", "none",
    "pipeline",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class VerdictWord:
    """A verdict's word and how it is drawn.

    `word` is the word of the data, `shown` what people read. `one` and `many` are the forms in a sentence
    about one conclusion and about several, around the number. The sign is next to the word, so that nothing
    is shown by colour alone. Tone ``pipeline`` is a test of Benchbook itself.
    """

    word: str
    one: str
    many: str
    sign: str
    tone: Tone

    @property
    def shown(self) -> str:
        """The word as people read it."""
        return displayed(self.word)

    @property
    def meaning(self) -> str:
        """What the word says, in a sentence."""
        return MEANINGS[self.tone if self.word not in MEANINGS else self.word]

    @property
    def outcome(self) -> str:
        """What came out, in a word or two that many verdicts share: a sentence that counts has no room."""
        return _OUTCOMES.get(self.word) or _OUTCOMES.get(self.tone) or self.one.removeprefix("{} ")


def _is(word: str, sign: str, tone: Tone, said: str = "", many: str = "") -> VerdictWord:
    one = f"{{}} {said or displayed(word)}"
    return VerdictWord(word, one, f"{{}} {many}" if many else one, sign, tone)


# What is said of the size where only the direction is shown.
_DIRECTED = {
    "": "but not the size",
    ", smaller": "but less than is claimed",
    ", larger": "but more than is claimed",
}
# What a verdict says, by its word or else by its tone.
MEANINGS = {
    "stands": "The runs show what the report claims.",
    "partly": "The runs show the claimed direction, with another size.",
    "fails": "The runs do not show what the report claims.",
    "seen at this scale": "Runs near the claim's conditions show it.",
    "seen": "Runs near the claim's conditions show the direction, but not the size.",
    "seen, size open": "Runs near the claim's conditions show the direction. The size is open.",
    "unseen": "Runs near the claim's conditions do not show it.",
    **{
        f"an analogue shows the direction{size}": f"Something similar shows the direction, {said}. "
        "This neither confirms nor refutes the claim."
        for size, said in _DIRECTED.items()
    },
    "like": "Something similar shows it. This neither confirms nor refutes the claim.",
    "unlike": "Something similar does not show it. This neither confirms nor refutes the claim.",
    "consistent": "The report's own statements agree. This confirms nothing.",
    PERMITS: "Runs of a real code over a simulated network permit it. This confirms nothing.",
    FORBIDS: "Runs of a real code over a simulated network do not permit it.",
    "inside the band": "The model permits it. This confirms nothing.",
    "outside the band": "The model of the hardware does not permit it.",
    "inconsistent": "The report's own statements contradict each other.",
    "too wide to tell": "The model's range is too wide to tell.",
    "out of reach here": "What ran here could not have shown the claimed value.",
    "cannot tell": "The evidence is too weak to tell.",
    "not checkable": "The report prints too little to check it.",
    "could not fail": "No printed number would have contradicted it.",
    "agrees": "A source that prints it agrees. No run was made.",
    "odds": "A source that prints it says otherwise. No run was made.",
    **{
        word: f"Runs {what}, {link} the way they were run weakens that."
        for _, agrees, disagrees in LIMITED.values()
        for word, what, link in (
            (agrees, "show it", "but"),
            *(
                (directed(agrees, size), f"show the direction, {said}", "and")
                for size, said in _DIRECTED.items()
            ),
            (disagrees, "do not show it", "but"),
        )
    },
    "none": "Nothing here tests it.",
    "pipeline": "A test of Benchbook itself, and no evidence.",
}

# What came out, by a verdict's word or else by its tone. A direction, and what the way of running limits, is
# shown in part.
_OUTCOMES = {
    **dict.fromkeys(("holds", "seen at this scale", "an analogue shows it"), "shown"),
    **dict.fromkeys(("partly", "seen", "like"), "shown in part"),
    **dict.fromkeys(("fails", "unseen", "unlike"), "not shown"),
    **dict.fromkeys((PERMITS, "inside the band"), "permitted"),
    **dict.fromkeys((FORBIDS, "outside the band"), "not permitted"),
    **dict.fromkeys(("cannot tell", "too wide to tell"), "not clear"),
}

# How a direction's size ends its word, and how it is said in a sentence that lists by commas.
_SIZES = {
    "": "",
    ", larger": " but larger",
    ", size open": " with its size open",
    ", smaller": " but smaller",
}
_VERDICTS = (
    _is("holds", "✓", "stands", "holds", "hold"),
    *(_is(f"holds in direction{size}", "↗", "partly", f"in direction{_SIZES[size]}") for size in _SIZES),
    _is("does not hold", "✕", "fails", "does not hold", "do not hold"),
    _is("seen at this scale", "◐", "seen", "seen"),
    *(_is(f"seen{size}", "↗", "seen", f"seen in direction{said}") for size, said in _SIZES.items()),
    _is("not seen at this scale", "◌", "unseen", "not seen"),
    _is("an analogue shows it", "∼", "like", "shown"),
    *(
        _is(f"an analogue shows the direction{size}", "∼", "like", f"shown in direction{_SIZES[size]}")
        for size in _DIRECTED
    ),
    _is("an analogue does not show it", "≁", "unlike", "not shown"),
    *(_is(agrees, "◔", "seen") for _, agrees, _ in LIMITED.values()),
    *(
        _is(directed(agrees, size), "↗", "seen", f"{directed(agrees)}{_SIZES[size]}")
        for _, agrees, _ in LIMITED.values()
        for size in _DIRECTED
    ),
    *(_is(disagrees, "◌", "unseen") for _, _, disagrees in LIMITED.values()),
    *(_is(word, "=", "agrees", f"confirmed by {word.split(' confirms')[0]}") for word in SOURCE_WORDS[HOLDS]),
    *(
        _is(word, "≠", "odds", f"contradicted by {word.split(' contradicts')[0]}")
        for word in SOURCE_WORDS[FAILS]
    ),
    _is("cannot tell", "?", "open", "not clear"),
    _is(PERMITS, "⊂", "agrees"),
    _is(FORBIDS, "⊄", "odds"),
    _is("inside the band", "⊂", "agrees"),
    _is("outside the band", "⊄", "odds"),
    _is("too wide to tell", "?", "open"),
    _is("inconsistent", "≠", "odds"),
    _is("consistent", "=", "agrees"),
    _is("could not fail", "–", "none"),
    _is("not checkable", "?", "open"),
    _is("out of reach here", "↛", "open", "out of reach of what ran"),
    _is("recovered", "◇", "pipeline"),
    _is("not recovered", "✕", "pipeline"),
    _is("not tested", "–", "none"),
)
VERDICTS: dict[str, VerdictWord] = {v.word: v for v in _VERDICTS}


@dataclass(frozen=True, slots=True)
class Evidence:
    """An evidence class: its meaning in a few words, in a phrase, and the verdict words that it may use."""

    name: str
    meaning: str
    phrase: str
    words: frozenset[str]


_TESTED = frozenset(
    {"holds", "does not hold", "cannot tell", "not tested", "out of reach here"}
    | {f"{word}{size}" for word in ("holds in direction", "seen") for size in _SIZES}
    | {"seen at this scale", "not seen at this scale"}
    | {*AGREES, *DISAGREES, *DIRECTED}
    | {word for word in VERDICTS if word.startswith("an analogue")}
    | {word for words in SOURCE_WORDS.values() for word in words}
)
# In order of weight: of classes that are as near to the claim, the first that was tested speaks for the row.
_EVIDENCE = (
    Evidence("measured", "jobs whose raw output, or a table of them, is kept here", "measured runs", _TESTED),
    Evidence("published", "other people's numbers, each with its source", "published runs", _TESTED),
    Evidence(
        "simulated",
        "messages of a real code over a simulated network; draws of what is not known give the band",
        "a real code over a simulated network",
        frozenset({PERMITS, FORBIDS, "too wide to tell", "not tested"}),
    ),
    Evidence(
        "modelled",
        "a what-if with fixed hardware facts; a parameter sweep gives the band",
        "a model of what the hardware permits",
        frozenset({"inside the band", "outside the band", "too wide to tell", "not tested"}),
    ),
    Evidence(
        "reported",
        "arithmetic between a report's own statements",
        "the report's own numbers",
        frozenset({"consistent", "could not fail", "inconsistent", "not checkable", "not tested"}),
    ),
    Evidence(
        "synthetic",
        "raw files generated around a report's own printed numbers: "
        "a test of the pipeline, never evidence for the claim",
        "files generated from the report",
        frozenset({"recovered", "not recovered", "not tested"}),
    ),
)
EVIDENCE: dict[str, Evidence] = {e.name: e for e in _EVIDENCE}


@dataclass(frozen=True, slots=True)
class Ground:
    """The nearest evidence for a claim, on which its row rests; `said` is its phrase on the front page."""

    name: str
    label: str
    said: str
    meaning: str


CONTRADICTED = "contradicted"
# From the nearest to nothing.
_GROUNDS = (
    Ground(CONTRADICTED, "its own contradiction", "{} contradicted by the report's own figures",
           "its statements cannot all be right, whatever ran"),
    Ground("same", "same hardware and software", "{} on the same hardware and software",
           "what the claim names is what ran"),
    Ground("scaled", "another scale", "{} at another scale",
           "the same kind of machine, application and link in another size, count or release"),
    Ground("analogue", "an analogue", "{} by an analogue",
           "a declared substitute, with its reason: never shown as confirmed or refuted"),
    Ground("simulated", "a simulation", "{} by a simulation", "what the messages of a real code permit"),
    Ground("modelled", "a model", "{} by a model", "what the hardware permits"),
    Ground(LOOK_UP, "looked up", "{} looked up",
           "a specification, a list or a price of its time, with its source: nothing was run"),
    Ground("reported", "arithmetic only", "{} by the report's own arithmetic only",
           "its statements compared with each other: consistent confirms nothing"),
    Ground("synthetic", "synthetic files", "{} on synthetic files", "a test of the pipeline"),
    Ground("none", "not tested", "{} not tested", "nothing here tests it"),
)  # fmt: skip
GROUNDS: dict[str, Ground] = {ground.name: ground for ground in _GROUNDS}


# The application of claims that need no run, which no self-test can give back.
LOOKED_UP = ("specification",)
# Verdicts that neither support nor contradict: nothing could be compared.
_SILENT = ("not tested", "not checkable", "could not fail", "out of reach here")


def ground_of(evidence: str, distance: str, verdict: str) -> str:
    """Say what a verdict rests on, a name of `GROUNDS`."""
    if verdict in _SILENT:
        return "none"
    if verdict == "inconsistent":
        return CONTRADICTED
    return distance if evidence in ("measured", "published") else evidence


def slug(text: str) -> str:
    """Turn a claim's identifier into an HTML id: letters, digits, ``-`` and ``_``."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", text).strip("-") or "claim"
