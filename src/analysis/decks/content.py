"""The slides of a campaign: its conclusions in the order of the reports, its machine and its method."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from analysis.base.words import counted
from analysis.decks import facts, method, points
from analysis.decks.slide import Deck, Slide, bounded, cut, fits, head, listed, tabled
from analysis.estimates.campaign import Campaign
from analysis.findings.conclusion import (
    DIFFERS,
    IS,
    OPEN,
    ORDERED,
    SEEN,
    SESSION,
    STANDING,
    TOPICS,
    UNORDERED,
    Conclusion,
)
from analysis.findings.history import FEWEST, CellHistory, ChangePoint, over_time
from analysis.findings.plans import nothing
from analysis.findings.search import LIMIT, conclusions
from analysis.pages import history

MOST = 3  # slides of a topic; what does not fit on them is in the table at the end
# What is shown where nothing can be concluded, and why it is no conclusion.
_SEEN = {
    UNORDERED: "is from runs whose order is not known",
    SESSION: "is from runs that were not mixed",
    SEEN: "rests on too few runs",
}
_COMPARED, _LIKE = 4, 6  # conclusions on a slide, of a comparison and of shares and sizes
# The order of what is asked of runs; of one kind the largest comes first.
_ASPECTS = (
    "mpi_fraction", "imbalance", "call_share", "count_share", "distinct_calls", "size_share",
    "bytes_per_call", "message_sizes", "node_memory_slurm", "rank_memory", "energy_per_job", "jobs_per_day",
)  # fmt: skip


def deck(campaign: Campaign, *, title: str = "", q: float = LIMIT) -> Deck:
    """Make the slides of a campaign, with `title` instead of its own.

    The order is that of the benchmark reports: the cluster under test, a slide a question, the summary; then
    what could not be decided, the method, and what had no room. `q` is the rate of false discoveries.
    """
    found = conclusions(campaign, q=q)
    sure = [one for one in found if one.word in STANDING]
    title = title or campaign.title or campaign.name
    last: list[Conclusion] = []
    first, end = facts.dates(campaign.runs)
    slides = list(facts.opening(campaign, title, _counts(sure, found, campaign)))
    # Where nothing is concluded, what was seen is given, and the slides say so.
    chosen = sure or [one for one in found if one.word in _SEEN]
    last += (repeated := _repeated(chosen))
    for topic in TOPICS:
        own, rest = _topic(
            topic, [one for one in chosen if one.topic == topic and one not in repeated], campaign
        )
        slides += own
        last += rest
    slides = _merged(slides)
    slides += _over_time(campaign)
    slides += [] if sure else method.seen(campaign)
    slides += _summary(campaign, sure)
    undecided = [one for one in found if one.word in OPEN and one not in chosen]
    slides += method.method_slides(campaign, q, undecided)
    rows = [("Question", "Finding"), *((TOPICS[one.topic], one.sentence) for one in last)]
    slides += listed(rows, "More conclusions", "Appendix", campaign)
    return Deck(title, f"{campaign.name}, {campaign.evidence}", end or first, tuple(slides))


def _repeated(found: Sequence[Conclusion]) -> list[Conclusion]:
    """Return the orders of levels each of whose runs is in a comparison of two of them: those say as much."""

    def asked(one: Conclusion) -> tuple[object, ...]:
        compare = one.question.compare
        return compare.factor if compare else "", one.question.variable, one.question.members

    pairs: dict[object, set[str]] = {}
    for one in found:
        if one.word == DIFFERS:
            pairs.setdefault(asked(one), set()).update(one.finding.runs)
    return [
        one for one in found if one.word == ORDERED and pairs.get(asked(one), set()) >= {*one.finding.runs}
    ]


def _counts(sure: Sequence[Conclusion], found: Sequence[Conclusion], campaign: Campaign) -> str:
    """Say for the title how many conclusions there are."""
    if sure:
        compared = sum(one.word != IS for one in sure)
        return f"{counted(len(sure), 'conclusion')}, {compared or 'none'} from a comparison"
    for word, why in _SEEN.items():
        if any(one.word == word for one in found):
            return f"No conclusion: what was seen {why}"
    if found:
        return "No conclusion: what was seen is not clear"
    return nothing(campaign).partition(";")[0]


def _topic(
    topic: str, found: Sequence[Conclusion], campaign: Campaign
) -> tuple[list[Slide], list[Conclusion]]:
    """Make the slides of a topic, and give the conclusions that had no room."""
    by_question = [list(group) for _, group in groupby(_by_rank(found), _question)]
    queues = [list(_sheets(topic, one, campaign)) for one in by_question]
    # The first slide of every question, then the second of each.
    longest = max(map(len, queues), default=0)
    sheets = [queue[at] for at in range(longest) for queue in queues if at < len(queue)]
    rest = [one for _, of_slide in sheets[MOST:] for one in of_slide]
    return [slide for slide, _ in sheets[:MOST]], rest


def _merged(slides: Sequence[Slide]) -> list[Slide]:
    """Put neighbours that are only text, shares and sizes without a figure, on one slide where they fit."""
    merged: list[Slide] = []
    for slide in slides:
        last = merged[-1] if merged else None
        texts = (*last.bullets, slide.headline, *slide.bullets) if last else ()
        plain = last and {last.kind, slide.kind} == {"question"} and last.points is None is slide.points
        if last and plain and len(texts) < _LIKE and fits(texts):
            topic = last.topic if slide.topic in last.topic else f"{last.topic}, {slide.topic}"
            merged[-1] = replace(last, topic=topic, bullets=texts)
        else:
            merged.append(slide)
    return merged


def _question(one: Conclusion) -> tuple[str, ...]:
    asked = one.question
    application = str((asked.select or {}).get("application", ""))
    if asked.compare is None:  # shares and sizes of a topic are on one slide
        return ("", application)
    return asked.compare.factor, application, asked.variable


def _by_rank(found: Sequence[Conclusion]) -> list[Conclusion]:
    """Keep the order of the ranking among questions and within them; what was compared comes first."""
    compared = [one for one in found if one.question.compare is not None]
    own = [*compared, *_ordered([one for one in found if one.question.compare is None])]
    order: dict[tuple[str, ...], int] = {}
    for one in own:
        order.setdefault(_question(one), len(order))
    return sorted(own, key=lambda one: order[_question(one)])


def _ordered(found: Sequence[Conclusion]) -> list[Conclusion]:
    """Sort what was not compared: by what is asked, then the largest first."""

    def place(one: Conclusion) -> tuple[int, float, str]:
        variable = one.question.variable
        at = _ASPECTS.index(variable) if variable in _ASPECTS else len(_ASPECTS)
        value = one.finding.estimate.value
        return at, -value if value == value else 0.0, one.id

    return sorted(found, key=place)


def _sheets(
    topic: str, found: Sequence[Conclusion], campaign: Campaign
) -> Iterator[tuple[Slide, list[Conclusion]]]:
    """Lay the conclusions of a question on slides: the first is the headline, those that fit are below."""
    left = list(found)
    while left:
        first, *others = left
        most = _COMPARED if first.question.compare is not None else _LIKE
        headline, bullets = head(first.sentence)
        chosen = [first]
        for one in others[: most - 1]:
            if not fits([*bullets, one.sentence]):
                break
            bullets.append(one.sentence)
            chosen.append(one)
        chance = f"; q {first.q:.2g}" if first.q is not None else ""
        slide = Slide(
            "question", headline, TOPICS[topic], tuple(bounded(bullets)),
            points=points.figure_of(chosen, campaign), footnote=cut(f"{first.footnote}{chance}", 480),
            label=campaign.evidence,
        )  # fmt: skip
        yield slide, chosen
        left = left[len(chosen) :]


def _over_time(campaign: Campaign) -> Iterator[Slide]:
    """Show where a campaign of many days changed: a slide for each date, the largest steps first."""
    days = campaign.runs["start"].dt.floor("D").nunique()
    found = over_time(campaign) if days >= FEWEST else None
    if found is None or not found.tracks:
        return
    whole, *_ = history.history_sentences(found)
    dates: dict[int, list[tuple[CellHistory, ChangePoint]]] = {}
    for track, step in history.clear_steps(found):
        dates.setdefault(step.at, []).append((track, step))
    for (track, step), *others in list(dates.values())[:MOST]:
        same = [one for one, _ in others if (one.measure, one.unit) == (track.measure, track.unit)]
        bullets = [history.change_sentence(step)]
        more = [history.best_sentence(found, track, track.best)] if track.best else []
        for text in (*more, *(history.also_sentence(*one) for one in others)):
            bullets += [text] if fits([*bullets, text]) else []
        yield Slide(
            "question", history.step_sentence(found, track, step), "Over time", tuple(bounded(bullets)),
            points=history.history_points(found, [track, *same[: _COMPARED - 1]]), footnote=whole,
            label=campaign.evidence,
        )  # fmt: skip
    if not dates:
        points = history.history_points(found, history.drawn(found)[:1])
        yield Slide("question", whole, "Over time", points=points, label=campaign.evidence)


def _summary(campaign: Campaign, sure: Sequence[Conclusion]) -> Iterator[Slide]:
    """Give the first conclusion of every topic."""
    rows = [("Question", "Finding")]
    for topic, name in TOPICS.items():
        rows += [(name, one.sentence) for one in _by_rank([one for one in sure if one.topic == topic])][:1]
    note = f"The first conclusion of each question, of {len(sure)} in all."
    yield from tabled(
        rows, "summary", "Summary of findings", "Summary", footnote=note, label=campaign.evidence
    )
