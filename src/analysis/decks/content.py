"""What stands on the slides of a campaign: its conclusions in the order of the reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

import pandas as pd

from analysis.decks import facts, fitting, method, portrait
from analysis.decks.slide import Deck, Slide
from analysis.estimates.campaign import Campaign
from analysis.findings.conclusion import IS, SEEN, STANDING, TOPICS, UNKNOWN, Conclusion
from analysis.findings.search import LIMIT, conclusions

MOST = 3  # slides of a topic; what does not fit on them stands in the table at the end
_COMPARED, _LIKE = 4, 6  # conclusions on a slide, of a comparison and of shares and sizes
_ROWS = 12  # of clusters, or of values that were seen
_TABLES = 4  # slides of one table


def deck(campaign: Campaign, *, title: str = "", q: float = LIMIT) -> Deck:
    """Make the slides of a campaign, with `title` instead of its own.

    The order is that of the benchmark reports: the cluster under test, a slide a question, the summary; then
    what could not be decided, the method, and what had no room. `q` is the rate of false discoveries.
    """
    found = conclusions(campaign, q=q)
    sure = [one for one in found if one.word in STANDING]
    title = title or campaign.title or campaign.name
    last: list[Conclusion] = []
    slides = [_title(campaign, title, sure, found), *_cluster(campaign)]
    # Where nothing stands, what was seen is shown, and the slides say so.
    shown = sure or [one for one in found if one.word == SEEN]
    for topic in TOPICS:
        own, rest = _topic(topic, [one for one in shown if one.topic == topic], campaign)
        slides += own
        last += rest
    slides = _merged(slides)
    if not sure:
        slides += _as_seen(campaign)
    slides += _summary(campaign, sure)
    slides += _open(campaign, found, shown)
    slides += method.slides(campaign, q)
    slides += _rest(campaign, last)
    first, end = facts.dates(campaign.runs)
    return Deck(title, f"{campaign.name}, {campaign.evidence}", end or first, tuple(slides))


def _title(campaign: Campaign, title: str, sure: Sequence[Conclusion], found: Sequence[Conclusion]) -> Slide:
    runs = campaign.runs
    first, last = facts.dates(runs)
    when = "" if not first else f", {first}" if first == last else f", {first} to {last}"
    compared = sum(one.word != IS for one in sure)
    lines = [
        f"{int(runs['valid'].sum()):,} valid runs of {len(runs):,}{when}",
        f"{len(sure)} conclusion{'' if len(sure) == 1 else 's'}, {compared or 'none'} from a comparison"
        if sure
        else _nothing(found),
    ]
    if campaign.evidence == "synthetic":
        lines.append("Generated runs: a test of the pipeline, no evidence")
    head, rest = fitting.head(title, 110)
    topic = "Performance benchmark and profiling"
    return Slide("title", head, topic, (*rest, *lines), label=campaign.evidence)


def _nothing(found: Sequence[Conclusion]) -> str:
    if found:
        return "No conclusion: what was seen rests on too few runs, or is not clear"
    return "Nothing can be compared: no factor has two levels in runs that are alike otherwise"


def _cluster(campaign: Campaign) -> Iterator[Slide]:
    known = facts.under_test(campaign)
    note = f"No run states: {', '.join(known.unknown)}." if known.unknown else ""
    for part in fitting.pages([("Part", "As recorded"), *known.rows]):
        yield Slide(
            "facts", "Cluster under test", "Set-up", table=part, footnote=note, label=campaign.evidence
        )
    table = list(facts.clusters(campaign))
    if 3 <= len(table) <= _ROWS * 2 + 1:
        for part in fitting.pages(table):
            head = f"The {len(table) - 1} clusters"
            yield Slide("facts", head, "Set-up", table=part, label=campaign.evidence)


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
        alike = last and {last.kind, slide.kind} == {"question"} and last.shown is None is slide.shown
        if last and alike and len(texts) < _LIKE and fitting.fits(texts):
            topic = last.topic if slide.topic in last.topic else f"{last.topic}, {slide.topic}"
            merged[-1] = replace(last, topic=topic, bullets=texts)
        else:
            merged.append(slide)
    return merged


def _question(one: Conclusion) -> tuple[str, ...]:
    asked = one.question
    application = str((asked.select or {}).get("application", ""))
    if asked.compare is None:  # shares and sizes of a topic stand together
        return ("", application)
    return asked.compare.factor, application, asked.variable


def _by_rank(found: Sequence[Conclusion]) -> list[Conclusion]:
    """Keep the order of the ranking among questions and within them; what was compared comes first."""
    compared = [one for one in found if one.question.compare is not None]
    own = [*compared, *portrait.ordered([one for one in found if one.question.compare is None])]
    order: dict[tuple[str, ...], int] = {}
    for one in own:
        order.setdefault(_question(one), len(order))
    return sorted(own, key=lambda one: order[_question(one)])


def _sheets(
    topic: str, found: Sequence[Conclusion], campaign: Campaign
) -> Iterator[tuple[Slide, list[Conclusion]]]:
    """Lay the conclusions of a question on slides: the first speaks, those that fit stand beside it."""
    left = list(found)
    while left:
        first, *others = left
        most = _COMPARED if first.question.compare is not None else _LIKE
        head, bullets = fitting.head(first.sentence)
        taken = [first]
        for one in others[: most - 1]:
            if not fitting.fits([*bullets, one.sentence]):
                break
            bullets.append(one.sentence)
            taken.append(one)
        slide = Slide(
            "question", head, TOPICS[topic], tuple(fitting.bounded(bullets)),
            shown=_figure(taken, campaign), footnote=_note(first), label=campaign.evidence,
        )  # fmt: skip
        yield slide, taken
        left = left[len(taken) :]


def _figure(found: Sequence[Conclusion], campaign: Campaign) -> pd.DataFrame | None:
    """Return what is drawn: nothing where a single value stands in the sentence already."""
    own = found[0].shown[found[0].shown["median"].notna()]
    table = own if len(own) > 1 else portrait.joined(found, campaign)
    if table is None:
        return None
    if not pd.api.types.is_numeric_dtype(table["x"]):
        attrs = table.attrs
        table = table.sort_values("x", key=lambda names: names.map(portrait.natural), kind="stable")
        table.attrs = attrs
    return portrait.in_bytes(table.reset_index(drop=True))


def _note(one: Conclusion) -> str:
    chance = f"; q {one.q:.2g}" if one.q is not None else ""
    return fitting.cut(f"{one.footnote}{chance}", 480)


def _as_seen(campaign: Campaign) -> Iterator[Slide]:
    """Show the values of a campaign of which nothing can be concluded."""
    runs = campaign.runs
    own = runs[runs["valid"] & runs["figure_of_merit"].notna()]
    if own.empty:
        return
    note = "Values as they were seen; nothing is concluded from their differences."
    for part in fitting.pages(method.values(campaign, own)[: 1 + 3 * _ROWS]):
        yield Slide(
            "list", "Values as seen", "No conclusion", table=part, footnote=note, label=campaign.evidence
        )


def _summary(campaign: Campaign, sure: Sequence[Conclusion]) -> Iterator[Slide]:
    """Give the first conclusion of every topic."""
    rows = [("Question", "Finding")]
    for topic, name in TOPICS.items():
        rows += [(name, one.sentence) for one in _by_rank([one for one in sure if one.topic == topic])][:1]
    note = f"The first conclusion of each question, of {len(sure)} in all."
    for part in fitting.pages(rows) if sure else ():
        yield Slide(
            "summary", "Summary of findings", "Summary", table=part, footnote=note, label=campaign.evidence
        )


def _open(campaign: Campaign, found: Sequence[Conclusion], shown: Sequence[Conclusion]) -> Iterator[Slide]:
    """List what could not be decided, each with the reason."""
    undecided = [one for one in found if one.word in (UNKNOWN, SEEN) and one not in shown]
    rows = [("Not decided", "Why")] + [(one.sentence, method.reason(one)) for one in undecided]
    yield from _listed(campaign, rows, "What could not be decided", "Open")


def _rest(campaign: Campaign, last: Sequence[Conclusion]) -> Iterator[Slide]:
    rows = [("Question", "Finding")] + [(TOPICS[one.topic], one.sentence) for one in last]
    yield from _listed(campaign, rows, "More conclusions", "Appendix")


def _listed(campaign: Campaign, rows: list[tuple[str, str]], headline: str, topic: str) -> Iterator[Slide]:
    """Make slides of a table, and say how many rows of a very long one are left out."""
    if len(rows) < 2:
        return
    parts = fitting.pages(rows)
    kept = parts[:_TABLES]
    missing = len(rows) - 1 - sum(len(part) - 1 for part in kept)
    note = f"{missing:,} more: benchbook findings {campaign.name} --json has all." if missing else ""
    for at, part in enumerate(kept, 1):
        head = f"{headline} ({at} of {len(kept)})" if len(kept) > 1 else headline
        yield Slide("list", head, topic, table=part, footnote=note, label=campaign.evidence)
