"""A page for each question of the front page: what each campaign says, for and against."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.claims.verdict import Verdict
from analysis.site.board import Board, ClaimRow, Tally, nearness, rows, sentence, tally
from analysis.site.front import Card, MenuGroup
from analysis.site.page import PageContent
from analysis.site.words import GROUNDS, VERDICTS, VerdictWord, slug

_ARITHMETIC = list(GROUNDS).index("reported")
_SPOKEN = 4  # sentences of a campaign; all are in its rows


@dataclass(frozen=True, slots=True)
class Voice:
    """What one campaign says on a question: its verdicts, the nearest to its claim first."""

    verdicts: tuple[Verdict, ...]

    @property
    def lead(self) -> Verdict:
        """The verdict that is nearest to its claim."""
        return self.verdicts[0]

    @property
    def claims(self) -> int:
        """How many claims it has a verdict on."""
        return len({one.claim for one in self.verdicts})

    @property
    def words(self) -> list[tuple[VerdictWord, int]]:
        """Its verdicts counted by word, in the fixed order."""
        found = [one.verdict for one in self.verdicts]
        return [(word, found.count(name)) for name, word in VERDICTS.items() if name in found]

    @property
    def spoken(self) -> list[Verdict]:
        """The verdicts whose sentences are shown: one of each word first, so that what is against is seen."""
        said = [one for one in self.verdicts if one.sentence]
        firsts = {one.verdict: one for one in reversed(said)}
        ordered = [one for one in said if firsts[one.verdict] is one]
        once = {
            one.sentence: one for one in reversed([*ordered, *(one for one in said if one not in ordered)])
        }
        return list(reversed(once.values()))[:_SPOKEN]


@dataclass(frozen=True, slots=True)
class QuestionPage:
    """A question with its claims, what they rest on, what each campaign says, and pages about it.

    `page` is the name of its page, `sentence` the count of its claims in words. `card` is its card of the
    front page, with the answer; None if it has none there.
    """

    name: str
    question: str
    page: str
    rows: tuple[ClaimRow, ...]
    tallies: list[Tally]
    sentence: str
    voices: tuple[Voice, ...]
    pages: tuple[PageContent, ...]
    card: Card | None


def question_pages(
    entries: Iterable[Mapping[str, Any]],
    board: Board,
    menu: Sequence[MenuGroup],
    answers: Iterable[Card] = (),
) -> list[QuestionPage]:
    """Make a page for each entry of the front page about which the reports have a claim.

    `answers` are the cards of the front page.
    """
    pages = {group.name: group.pages for group in menu}
    answered = {card.name: card for card in answers if card.row is not None}
    every = rows(board, every=True)
    found = []
    for entry in entries:
        name, topics = entry["name"], entry["topics"]
        about = tuple(row for row in every if row.claim.topic in topics)
        counted = tally([row for row in about if row.counted])
        if counted:
            question = entry.get("question") or name
            page = f"question-{slug(name).lower()}"
            found.append(
                QuestionPage(
                    name,
                    question,
                    page,
                    about,
                    counted,
                    sentence(counted),
                    _voices(about),
                    pages.get(name, ()),
                    answered.get(name),
                )
            )
    return found


def _voices(about: Iterable[ClaimRow]) -> tuple[Voice, ...]:
    """Gather verdicts by campaign; campaigns that are nearest to a claim first."""
    said: dict[tuple[str, str], list[Verdict]] = {}
    for row in about:
        for one in row.verdicts:
            if one.tested and one.campaign:
                said.setdefault((one.evidence, one.campaign), []).append(one)
    found = [Voice(tuple(sorted(verdicts, key=_distance))) for verdicts in said.values()]
    return tuple(sorted(found, key=lambda one: (_distance(one.lead), -one.claims)))


def _distance(verdict: Verdict) -> int:
    # A report's contradiction of itself comes with its arithmetic, not before the runs.
    return _ARITHMETIC if verdict.evidence == "reported" else nearness(verdict)
