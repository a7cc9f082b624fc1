"""The front page: a card for each question, contradictions inside the reports, the groups of the menu."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.base.errors import ConfigError, Fault
from analysis.base.words import capitalised
from analysis.claims.distance import LOOK_UP
from analysis.claims.verdict import Verdict
from analysis.site.board import Board, ClaimRow, rows, section
from analysis.site.page import PageContent
from analysis.site.words import EVIDENCE, VERDICTS

_NO_RUN = ("simulated", "modelled", "reported", "none")  # grounds on which no run tests a claim
_PLACES = {
    "same": "on the same hardware and software",
    "scaled": "at another scale",
    "analogue": "an analogue",
    LOOK_UP: "a source that prints it",
    "none": "out of reach of the claim",
    "synthetic": "a test of Benchbook",
}
# What a number is, by its quantity; that of any other quantity has its unit.
_AMOUNTS = {
    **{"speedup": "Speed-up", "gain": "Gain", "reduction": "Reduction", "efficiency": "Efficiency"},
    **{"equality": "Ratio", "interaction": "Ratio of speed-ups", "trend": "Kendall's tau", "cost": "Cost"},
}
_OWN = "Campaigns"
_REST = "Sources and checks"


@dataclass(frozen=True, slots=True)
class Card:
    """A question of the front page by its name: the row of its claim, how many claims it has, and a price.

    `row` is None if no report of this build has the claim `wanted`. `cost` is what a campaign that would test
    the claim costs, or why it has no price.
    """

    name: str
    question: str
    wanted: str
    row: ClaimRow | None
    topics: tuple[str, ...]
    total: int
    cost: str

    @property
    def lead(self) -> Verdict:
        """The verdict of the card."""
        assert self.row is not None
        return self.row.lead

    @property
    def untestable(self) -> bool:
        """Whether no run here tests the claim."""
        return self.row is not None and self.row.ground.name in _NO_RUN

    @property
    def rests(self) -> str:
        """What the verdict rests on, in a phrase."""
        assert self.row is not None
        lead = self.lead
        if not lead.tested or not lead.evidence:
            return "nothing"
        phrase = EVIDENCE[lead.evidence].phrase
        if lead.evidence not in ("measured", "published"):
            return phrase
        ran = [one for one in lead.distances if one["factor"] == "application" and one["distance"] != "same"]
        of = f" of {ran[0]['found']}" if ran else ""
        runs = len(lead.runs)  # of both sides; `n` counts those of one, or pairs, or groups
        count = f"{runs or 'no'} {phrase if runs != 1 else phrase.replace('runs', 'run', 1)}"
        return f"{count}{of}, {_PLACES[self.row.ground.name]}"

    @property
    def number(self) -> str:
        """The estimate with its range; empty without one."""
        return self.lead.estimate_text if self.lead.tested else ""

    @property
    def amount(self) -> str:
        """What the number is, in a word or two; empty if its unit says it."""
        return _AMOUNTS.get(self.lead.quantity, "") if self.number else ""

    @property
    def meaning(self) -> str:
        """The verdict in a plain sentence."""
        return VERDICTS[self.lead.verdict].meaning


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two statements of one report that cannot both be right, with their numbers and where these are."""

    row: ClaimRow
    verdict: Verdict

    @property
    def numbers(self) -> str:
        """The printed numbers, and what follows from them."""
        return (self.verdict.arithmetic.partition(";")[0] or self.verdict.estimate_text).strip()

    @property
    def note(self) -> str:
        """What makes the contradiction plain, without its full stop; empty if nothing is noted."""
        return capitalised(self.verdict.note)

    @property
    def place(self) -> str:
        """Where the report prints them."""
        lines = [str(line) for line in self.verdict.source.get("lines", ())]
        *first, last = lines or [""]
        of = f"line{'s' if first else ''} {', '.join(first)}{' and ' if first else ''}{last} of its text"
        parts = (self.verdict.report_title, section(self.verdict), of if lines else "")
        return ", ".join(filter(None, parts))


@dataclass(frozen=True, slots=True)
class MenuGroup:
    """Pages about one question, for the menu and the list of pages."""

    name: str
    pages: tuple[PageContent, ...]


def cards(entries: Iterable[Mapping[str, Any]], board: Board, prices: Mapping[str, str]) -> list[Card]:
    """Make a card for each question that names a claim; `prices` has what testing a claim would cost."""
    by_claim = {one.claim.claim: one for one in rows(board, every=True)}
    found = []
    for entry in entries:
        wanted, topics = entry.get("claim", ""), tuple(entry["topics"])
        if not wanted:
            continue
        about = [one for one in by_claim.values() if one.counted and one.claim.topic in topics]
        question = entry.get("question") or entry["name"]
        card = Card(
            entry["name"], question, wanted, by_claim.get(wanted), topics, len(about), prices.get(wanted, "")
        )
        found.append(card)
    return found


def contradictions(board: Board) -> list[Contradiction]:
    """List what the reports contradict themselves in, in the order of the scoreboard."""
    return [
        Contradiction(row, one)
        for row in rows(board, every=True)
        for one in row.verdicts
        if one.verdict == "inconsistent"
    ]


def menu(
    entries: Iterable[Mapping[str, Any]], pages: Sequence[PageContent], topics: Mapping[str, Sequence[str]]
) -> list[MenuGroup]:
    """Group pages by question: by the first of a page's `topics`, else by whether a campaign lists it."""
    entries = list(entries)
    named: dict[str, list[PageContent]] = {one["name"]: [] for one in entries}
    named |= {_OWN: [], _REST: []}
    for page in pages:
        about = next(iter(topics.get(page.name, ())), "")
        group = next(
            (one["name"] for one in entries if about in one["topics"]), _OWN if page.group else _REST
        )
        named[group].append(page)
    return [MenuGroup(name, tuple(found)) for name, found in named.items() if found]


def distinguish(pages: Sequence[PageContent]) -> None:
    """Give pages of one title the campaign too, so that each title is there once."""
    titles = [page.title for page in pages]
    for page in pages:
        if titles.count(page.title) > 1:
            page.title = f"{page.title} ({page.campaign or page.name})"
    faults = [
        Fault("pages", 0, f"two pages are titled {one.title!r}", "give one of them a title of its own")
        for at, one in enumerate(pages)
        if any(one.title == other.title for other in pages[:at])
    ]
    if faults:
        raise ConfigError(*faults)
