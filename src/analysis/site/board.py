"""The scoreboard: verdict records gathered into one row a claim, rows into topics, and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from analysis.site import forest
from analysis.site.records import Record
from analysis.site.words import EVIDENCE, VERDICTS, Verdict, digits, slug

_WEIGHT = {name: i for i, name in enumerate(EVIDENCE)}


@dataclass(frozen=True, slots=True)
class Row:
    """One claim on the scoreboard.

    Attributes
    ----------
    anchor : str
        HTML id, unique on the page.
    records : tuple of Record
        Tested ones first, by weight of evidence; synthetic last.
    plot : Markup or None
        The marks; None for a claim without numbers.
    members : list of (str, str)
        The chips of a claim about a set.
    """

    anchor: str
    records: tuple[Record, ...]
    plot: Markup | None
    members: list[tuple[str, str]]

    @property
    def lead(self) -> Record:
        """The record that speaks for the row."""
        return self.records[0]

    @property
    def claim(self) -> Record:
        """The record that says what the claim is."""
        return _claim(self.records)

    @property
    def topic(self) -> str:
        """Topic as a heading."""
        return self.claim.topic[:1].upper() + self.claim.topic[1:] or "Other"

    @property
    def shown(self) -> Sequence[Record]:
        """The records that have a mark: those that were tested, or the one that says why none was."""
        return _shown(self.records)

    @property
    def claimed_members(self) -> int:
        """Number of members of the claimed set."""
        return sum(state != "extra" for _, state in self.members)

    @property
    def search(self) -> str:
        """Everything that the text search looks at, in lower case."""
        first = self.claim
        said = [*first.ids, first.statement, first.report_title, first.section, first.quantity, self.topic]
        said += [w for r in self.records for w in (r.evidence, r.verdict, r.campaign, r.cluster, r.compared)]
        return " ".join(dict.fromkeys(w for w in said if w)).lower()

    @property
    def evidence(self) -> str:
        """Evidence classes under which anything was tested, separated by blanks."""
        return " ".join(dict.fromkeys(r.evidence for r in self.records if r.tested))


@dataclass(frozen=True, slots=True)
class Group:
    """The rows of one topic and the count of their verdicts."""

    topic: str
    anchor: str
    rows: tuple[Row, ...]
    counts: list[tuple[Verdict, int]]
    has_ratio: bool


@dataclass(frozen=True, slots=True)
class Board:
    """Everything that the index shows.

    Attributes
    ----------
    groups : tuple of Group
        In the order in which topics first appear.
    counts : list of (Verdict, int)
        Claims by the verdict that speaks for them, in the fixed order of verdicts.
    axis : Axis
        The common ratio axis.
    sentence : str
        The counts as one sentence.
    """

    groups: tuple[Group, ...]
    counts: list[tuple[Verdict, int]]
    axis: forest.Axis
    sentence: str

    @property
    def total(self) -> int:
        """Number of claims."""
        return sum(n for _, n in self.counts)

    def values(self, name: str) -> list[str]:
        """Return the different values of a record's field, for a filter, in order of appearance."""
        if name == "topic":
            return [g.topic for g in self.groups]
        rows = [row for group in self.groups for row in group.rows]
        if name == "evidence":
            records = [record for row in rows for record in row.shown if record.tested]
        else:
            records = [row.claim for row in rows]
        return list(dict.fromkeys(str(getattr(r, name)) for r in records if getattr(r, name)))


def board(records: Sequence[Record]) -> Board:
    """Gather records into the scoreboard.

    Parameters
    ----------
    records : sequence of Record
        Several of one claim (evidence classes, campaigns) become one row with one mark each.

    Returns
    -------
    Board
    """
    by_claim: dict[str, list[Record]] = {}
    for record in records:
        by_claim.setdefault(record.claim, []).append(record)
    axis = forest.ratio_axis(records)
    rows = list(_rows(by_claim, axis))
    by_topic: dict[str, list[Row]] = {}
    for row in rows:
        by_topic.setdefault(row.topic, []).append(row)
    groups = tuple(
        Group(
            topic,
            f"topic-{slug(topic)}",
            tuple(members),
            count(members),
            any(r.claim.scale == "ratio" and r.plot for r in members),
        )
        for topic, members in by_topic.items()
    )
    counts = count(rows)
    return Board(groups, counts, axis, sentence(counts))


def rows_of(scoreboard: Board, page: str) -> list[Row]:
    """Return the rows that a page computed."""
    rows = [row for group in scoreboard.groups for row in group.rows]
    return [row for row in rows if any(r.page == page for r in row.records)]


def count(rows: Sequence[Row]) -> list[tuple[Verdict, int]]:
    """Count rows by verdict, in the fixed order, without zeros."""
    found = Counter(row.lead.verdict for row in rows)
    return [(v, found[word]) for word, v in VERDICTS.items() if found[word]]


def sentence(counts: Sequence[tuple[Verdict, int]]) -> str:
    """Say the counts in words.

    Returns
    -------
    str
        For example ``Of 37 conclusions, 21 could be tested: 9 hold, 1 does not hold; 16 are not tested.``
    """
    total = sum(n for _, n in counts)
    noun = "conclusion" if total == 1 else "conclusions"
    said = [(v.tone in ("none", "pipeline"), n, (v.one if n == 1 else v.many).format(n)) for v, n in counts]
    tested = [text for aside, _, text in said if not aside]
    parts = [text for aside, _, text in said if aside]
    if tested:
        number = sum(n for aside, n, _ in said if not aside)
        parts.insert(0, f"Of {total} {noun}, {number} could be tested: {', '.join(tested)}")
    else:
        parts = [f"None of {total} {noun} could be tested yet"] + [t for t in parts if "not tested" not in t]
    return "; ".join(parts) + "."


def _rows(by_claim: dict[str, list[Record]], axis: forest.Axis) -> list[Row]:
    out: list[Row] = []
    taken: set[str] = set()
    for claim, unordered in by_claim.items():
        records = sorted(unordered, key=_order)
        anchor = slug(claim)
        while anchor in taken:
            anchor += "-2"
        taken.add(anchor)
        out.append(Row(anchor, tuple(records), _plot(records, axis), forest.chips(_claim(records))))
    return out


def _shown(records: Sequence[Record]) -> Sequence[Record]:
    return [r for r in records if r.tested] or records[:1]


def _claim(records: Sequence[Record]) -> Record:
    # A relation between a report's statements expects something else than the claim that it is about.
    return next((r for r in records if r.evidence != "reported"), records[0])


def _order(record: Record) -> tuple[bool, bool, int]:
    # Synthetic recovery never speaks for a claim that has any other record, tested or not.
    return (
        record.evidence == "synthetic",
        not record.tested,
        _WEIGHT.get(record.evidence, len(_WEIGHT)),
    )


def _plot(records: Sequence[Record], axis: forest.Axis) -> Markup | None:
    claim = _claim(records)
    if claim.scale not in ("ratio", "share", "level"):
        return None
    alike = [forest.as_ratio(r) for r in _shown(records) if forest.comparable(r, claim)]
    alike = alike or [forest.as_ratio(claim)]
    own = axis if claim.scale == "ratio" else forest.own_axis(alike)
    if own is None or not any(forest.has_numbers(r) for r in alike):
        return None
    return forest.draw(_shown(records), own, claim)


def number_text(record: Record) -> str:
    """Return the estimate as text, made from the numbers where the engine wrote none."""
    if record.estimate_text or record.estimate is None:
        return record.estimate_text
    text = digits(record.estimate, record.low, record.high)
    if record.low is not None and record.high is not None:
        ends = (digits(e, record.low, record.high) for e in (record.low, record.high))
        text += f" [{', '.join(ends)}]"
    return f"{text} {record.unit}".strip()
