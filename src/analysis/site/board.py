"""The scoreboard: verdicts gathered into one row a claim, rows into topics and reports, and counted."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from analysis.base import project
from analysis.base.errors import ConfigError, Fault
from analysis.base.words import NOT_KNOWN, capitalised, counted
from analysis.claims.distance import LOOK_UP
from analysis.claims.model import NOT_STATED, Claim, Report
from analysis.claims.needed import needed
from analysis.claims.verdict import Verdict
from analysis.claims.verdicts import described
from analysis.site import forest
from analysis.site.words import (
    CONTRADICTED,
    EVIDENCE,
    GROUNDS,
    LOOKED_UP,
    SCALES,
    VERDICTS,
    Ground,
    VerdictWord,
    ground_of,
    slug,
)

UNBUILT = "not built"
RECOVERED = ("recovered", "not recovered", "not tested")  # the words of a self-test
_WEIGHT = {name: i for i, name in enumerate(EVIDENCE)}
_NEARNESS = {name: i for i, name in enumerate(GROUNDS)}


@dataclass(frozen=True, slots=True)
class ClaimRow:
    """One claim on the scoreboard; the verdict that is nearest to it comes first, then by class.

    `counted` is true for a claim of a report, not for your own question or a relation without a claim.
    `anchor` is its HTML id, `plot` its marks (None without numbers), `members` the chips of a claim about a
    set. `recovered` is the word of the self-test, `UNBUILT` if it was not built, empty if it has no such
    claim. `needed` lists the runs that would test the claim; it is empty if runs on its kind of machine do.
    """

    anchor: str
    verdicts: tuple[Verdict, ...]
    plot: Markup | None
    members: list[tuple[str, str]]
    recovered: str = ""
    counted: bool = True
    needed: str = ""

    @property
    def lead(self) -> Verdict:
        """The verdict that represents the row."""
        return self.verdicts[0]

    @property
    def ground(self) -> Ground:
        """What it rests on."""
        return _ground(self.lead)

    @property
    def claim(self) -> Verdict:
        """The verdict that says what the claim is."""
        return _claim(self.verdicts)

    @property
    def topic(self) -> str:
        """Topic as a heading."""
        return capitalised(self.claim.topic) or "Other"

    @property
    def group(self) -> str:
        """HTML id of its topic, under which its details are stored."""
        return f"topic-{slug(self.topic)}"

    @property
    def shown(self) -> Sequence[Verdict]:
        """The verdicts that have a mark: those that were tested, or the one that says why none was."""
        return _shown(self.verdicts)

    @property
    def claimed_members(self) -> int:
        """Number of members of the claimed set."""
        return sum(state != "extra" for _, state in self.members)

    @property
    def evidence(self) -> str:
        """Evidence classes under which anything was tested, separated by blanks."""
        return " ".join(dict.fromkeys(r.evidence for r in self.verdicts if r.tested))

    @property
    def missing(self) -> list[str]:
        """What keeps the row from a plain answer: why no run tests it, what is open, what differs."""
        tested = [one for one in self.verdicts if one.tested]
        said = [one.reason for one in tested if VERDICTS[one.verdict].tone == "open"]
        if all(one.evidence == "reported" for one in tested):
            said += [one.reason for one in self.verdicts if not one.tested]
        said += [_apart(one) for one in tested if any(away["distance"] != "same" for away in one.distances)]
        return list(dict.fromkeys(said))


@dataclass(frozen=True, slots=True)
class Group:
    """The rows of one topic and the count of their verdicts."""

    topic: str
    anchor: str
    rows: tuple[ClaimRow, ...]
    counts: list[tuple[VerdictWord, int]]
    has_ratio: bool


@dataclass(frozen=True, slots=True)
class Tally:
    """The rows that rest on the same ground, counted by verdict."""

    ground: Ground
    words: list[tuple[VerdictWord, int]]

    @property
    def total(self) -> int:
        """Number of rows."""
        return sum(n for _, n in self.words)

    @property
    def said(self) -> str:
        """What came out, counted: ``3 shown, 2 shown in part``; the verdicts' own words are in `words`."""
        found = Counter[str]()
        for word, n in self.words:
            found[word.outcome] += n
        return ", ".join(f"{n} {outcome}" for outcome, n in found.items())


@dataclass(frozen=True, slots=True)
class Board:
    """What the index shows: topics as they first appear, the reports' claims counted by what they rest on."""

    groups: tuple[Group, ...]
    counts: list[tuple[VerdictWord, int]]
    tallies: list[Tally]
    axis: forest.Axis
    sentence: str

    @property
    def total(self) -> int:
        """Number of rows."""
        return sum(n for _, n in self.counts)

    @property
    def rest(self) -> str:
        """Say which rows are not counted: ``6 questions of our own and 19 checks ...``; empty without any."""
        left = [row for group in self.groups for row in group.rows if not row.counted]
        checks = sum(all(one.evidence == "reported" for one in row.verdicts) for row in left)
        own = len(left) - checks
        parts = (
            f"{counted(own, 'question')} of our own" if own else "",
            f"{counted(checks, 'check')} of printed numbers that belong to no such claim" if checks else "",
        )
        return " and ".join(filter(None, parts))

    def values(self, name: str) -> list[str]:
        """Return the different values of a verdict's field, for a filter, in order of appearance."""
        if name == "topic":
            return [g.topic for g in self.groups]
        if name == "ground":
            return [one.ground.label for one in tally([row for group in self.groups for row in group.rows])]
        rows = [row for group in self.groups for row in group.rows]
        if name == "evidence":
            verdicts = [verdict for row in rows for verdict in row.shown if verdict.tested]
        else:
            verdicts = [row.claim for row in rows]
        return list(dict.fromkeys(str(getattr(r, name)) for r in verdicts if getattr(r, name)))


def board(
    verdicts: Sequence[Verdict],
    reports: Sequence[Report] = (),
    recovered: Sequence[Verdict] = (),
    selftest: Collection[str] = (),
) -> Board:
    """Gather verdicts into rows, one per claim; each evidence class and campaign of a claim is one mark.

    Every claim of the reports has a row, even if nothing tests it. `recovered` has the verdicts of the
    self-test, which covers the reports in `selftest` whether it was built or not.
    """
    by_claim: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        by_claim.setdefault(verdict.claim, []).append(verdict)
    for one in (_untested(report, claim) for report in reports for claim in report.claims):
        by_claim.setdefault(one.claim, [one])
    axis = forest.ratio_axis(verdicts)
    words = {claim.id: UNBUILT for report in reports if report.name in selftest for claim in report.claims}
    words |= {one.claim: one.verdict for one in recovered}
    judged = {claim.id for report in reports if not report.own for claim in report.claims}
    wanted = {claim.id: needed(claim).line for report in reports for claim in report.claims}
    found = [
        replace(
            row,
            counted=not reports or row.claim.claim in judged,
            needed=""
            if row.ground.name in ("same", "scaled", "looked-up")
            else wanted.get(row.claim.claim, ""),
        )
        for row in _rows(by_claim, axis, words)
    ]
    tallies = tally([row for row in found if row.counted])
    return Board(grouped(found), count(found), tallies, axis, sentence(tallies, _judged(reports)))


def _judged(reports: Sequence[Report]) -> str:
    number = sum(not report.own for report in reports)
    return f" of {number} reports" if number > 1 else ""


def check(verdicts: Sequence[Verdict], pages: frozenset[str]) -> None:
    """Raise `ConfigError` for each word, class, scale or page that cannot be drawn."""
    faults = [
        Fault("verdicts", position, f"{one.claim}: {what}", remedy)
        for position, one in enumerate(verdicts, start=1)
        for what, remedy in _wrong(one, pages)
    ]
    if faults:
        raise ConfigError(*faults)


def _wrong(one: Verdict, pages: frozenset[str]) -> Iterator[tuple[str, str]]:
    if one.verdict not in VERDICTS:
        yield f"verdict {one.verdict!r} is not a word of verdicts", "use " + ", ".join(VERDICTS)
    elif one.evidence not in EVIDENCE:
        yield f"evidence {one.evidence!r} is not a class", "use " + ", ".join(EVIDENCE)
    elif one.verdict not in EVIDENCE[one.evidence].words:
        words = ", ".join(sorted(EVIDENCE[one.evidence].words))
        yield f"verdict {one.verdict!r} is not a word for {one.evidence} evidence", f"use {words}"
    if one.tested and one.evidence in ("measured", "published") and not one.distance:
        yield "no distance from the conditions of the claim", "make the verdicts again: `make datasets`"
    if one.scale not in SCALES:
        yield f"scale {one.scale!r} is not known", "use " + ", ".join(SCALES)
    if one.page and one.page not in pages:
        remedy = "name it under 'pages' of the configuration and build again"
        yield f"page {one.page!r} is not built", f"{remedy}; pages are {', '.join(sorted(pages)) or 'none'}"


def count(rows: Sequence[ClaimRow]) -> list[tuple[VerdictWord, int]]:
    """Count rows by verdict, in the fixed order, without zeros."""
    found = Counter(row.lead.verdict for row in rows)
    return [(v, found[word]) for word, v in VERDICTS.items() if found[word]]


def rows(scoreboard: Board, *, page: str = "", report: str = "", every: bool = False) -> list[ClaimRow]:
    """Return the rows that a page computed, those of a report's claims, or every one."""
    found = [row for group in scoreboard.groups for row in group.rows]
    if every:
        return found
    if report:
        return [row for row in found if row.claim.report == report]
    return [row for row in found if any(one.page == page for one in row.verdicts)]


def grouped(rows: Sequence[ClaimRow]) -> tuple[Group, ...]:
    """Put rows under their topics, in the order in which these first appear."""
    by_topic: dict[str, list[ClaimRow]] = {}
    for row in rows:
        by_topic.setdefault(row.topic, []).append(row)
    groups = []
    for topic, found in by_topic.items():
        has_ratio = any(row.claim.scale == "ratio" and row.plot for row in found)
        groups.append(Group(topic, found[0].group, tuple(found), count(found), has_ratio))
    return tuple(groups)


def tally(rows: Sequence[ClaimRow]) -> list[Tally]:
    """Count rows by what they rest on, from the nearest to nothing, without zeros."""
    by_ground = {name: [row for row in rows if row.ground.name == name] for name in GROUNDS}
    return [Tally(GROUNDS[name], count(found)) for name, found in by_ground.items() if found]


# What is said of one claim and of several, where it is not that they were tested.
_VERBS = {CONTRADICTED: ("is", "are"), "none": ("was", "were")}


def sentence(tallies: Sequence[Tally], judged: str = "") -> str:
    """Say: ``Of 9 claims, 1 is contradicted ...; 2 were tested by a model ...; 7 were not tested``.

    Look-ups are counted in a sentence of their own.
    """
    apart = [one for one in tallies if one.ground.name == LOOK_UP]
    asked = [one for one in tallies if one.ground.name != LOOK_UP]
    total = sum(one.total for one in asked)
    parts = [_counted(one) for one in asked]
    verbs = [_VERBS.get(one.ground.name, ("was tested", "were tested")) for one in asked]
    for at, (one, verb) in enumerate(zip(asked, verbs, strict=True)):
        if at == 0 or verb != verbs[at - 1]:
            parts[at] = parts[at].replace(" ", f" {verb[one.total != 1]} ", 1)
    text = f"Of {counted(total, 'claim')}{judged}, {'; '.join(parts)}." if parts else ""
    if total == 1 and not apart:
        text = f"The only claim{judged} {parts[0].removeprefix('1 ')}."
    if apart:
        be = "was" if apart[0].total == 1 else "were"
        text += f" {_counted(apart[0]).replace(' ', f' more {be} ', 1)}."
    return text.strip() or "There are no claims yet."


def _counted(one: Tally) -> str:
    more = one.ground.name not in ("none", CONTRADICTED)
    return one.ground.said.format(one.total) + f" ({one.said})" * more


def nearness(verdict: Verdict) -> int:
    """Return the place of what a verdict rests on: 0 is the nearest to its claim."""
    return _NEARNESS[_ground(verdict).name]


def _ground(verdict: Verdict) -> Ground:
    return GROUNDS[ground_of(verdict.evidence, verdict.distance, verdict.verdict)]


def _rows(
    by_claim: dict[str, list[Verdict]], axis: forest.Axis, recovered: Mapping[str, str]
) -> list[ClaimRow]:
    out: list[ClaimRow] = []
    taken: set[str] = set()
    for claim, unordered in by_claim.items():
        verdicts = sorted(unordered, key=_order)
        anchor = slug(claim)
        while anchor in taken:
            anchor += "-2"
        taken.add(anchor)
        plot, members = _plot(verdicts, axis), forest.chips(_claim(verdicts))
        out.append(ClaimRow(anchor, tuple(verdicts), plot, members, recovered.get(claim, "")))
    return out


def _untested(report: Report, claim: Claim) -> Verdict:
    """Return the verdict of a claim that nothing was compared with."""
    nothing = dict.fromkeys(("estimate", "low", "high", "expected", "n"))
    return Verdict(
        **described(claim, report),
        **nothing,  # type: ignore[arg-type]
        evidence="",
        verdict="not tested",
        unit="",
        campaign="",
        source={"section": claim.source.section},
        reason="nothing here tests it",
    )


def _apart(one: Verdict) -> str:
    """Name what one campaign had otherwise than the report, and what the report leaves open."""
    away = [record for record in one.distances if record["distance"] != "same"]
    other = [_other(record) for record in away if record["wanted"] != NOT_STATED]
    silent = [_factor(record) for record in away if record["wanted"] == NOT_STATED]
    said = [f"not as in the report: {', '.join(other)}"] if other else []
    said += [f"the report does not give {', '.join(silent)}"] if silent else []
    return f"{one.campaign}: " * bool(one.campaign) + "; ".join(said)


def _other(record: Mapping[str, str]) -> str:
    """Say what was found instead of what the report has, or that it is not known."""
    if record["found"] == NOT_KNOWN:
        return f"{_found(record)} ({record['wanted']} in the report)"
    return f"{_found(record)} instead of {record['wanted']}"


def _found(record: Mapping[str, str]) -> str:
    """Name what was found with its factor, which a count like ``4 nodes`` has already."""
    factor, found = _factor(record), record["found"]
    return found if factor.removesuffix("s") in found else f"{factor} {found}"


def _factor(record: Mapping[str, str]) -> str:
    return record["factor"].replace("_", " ")


def section(verdict: Verdict) -> str:
    """Return the part of the report that contains a claim."""
    return str(verdict.source.get("section") or verdict.source.get("slide") or "")


def _shown(verdicts: Sequence[Verdict]) -> Sequence[Verdict]:
    return [r for r in verdicts if r.tested] or verdicts[:1]


def _claim(verdicts: Sequence[Verdict]) -> Verdict:
    # A relation between a report's statements expects something else than the claim that it is about.
    return next((r for r in verdicts if r.evidence != "reported"), verdicts[0])


def _order(verdict: Verdict) -> tuple[int, bool, int]:
    # A contradiction within the report is the surest evidence, and the nearest ground.
    weight = _WEIGHT.get(verdict.evidence, len(_WEIGHT))
    return nearness(verdict), not verdict.tested, weight


def _plot(verdicts: Sequence[Verdict], axis: forest.Axis) -> Markup | None:
    claim = _claim(verdicts)
    if claim.scale not in ("ratio", "share", "level"):
        return None
    alike = [forest.as_ratio(r) for r in _shown(verdicts) if forest.comparable(r, claim)]
    alike = alike or [forest.as_ratio(claim)]
    own = axis if claim.scale == "ratio" else forest.own_axis(alike)
    if own is None or not any(forest.has_numbers(r) for r in alike):
        return None
    return forest.draw(_shown(verdicts), own, claim)


def recovered_table(verdicts: Sequence[Verdict], known: Mapping[str, str]) -> str:
    """Count claims by report and word; below, the claims that were not recovered, each with the reason."""
    lines = [f"{'report':16}" + "".join(f"{word:>15}" for word in RECOVERED)]
    for report in dict.fromkeys(one.report for one in verdicts):
        lines.append(_recovered_line(report, [one for one in verdicts if one.report == report]))
    lines.append(_recovered_line("all", verdicts))
    lost = (one for one in verdicts if one.verdict != RECOVERED[0])
    lines += [f"{one.verdict}: {one.claim}: {_reason_lost(one, known)}" for one in lost]
    return "\n".join(lines) + "\n"


def _reason_lost(one: Verdict, known: Mapping[str, str]) -> str:
    # What a source states of a product is in no run, so no synthetic run can give it back.
    looked_up = "looked up" if one.application in LOOKED_UP else ""
    return known.get(one.claim) or looked_up or f"UNEXPECTED: {one.reason}"


def _recovered_line(name: str, verdicts: Sequence[Verdict]) -> str:
    counts = Counter(one.verdict for one in verdicts)
    return f"{name:16}" + "".join(f"{counts[word]:15}" for word in RECOVERED)


def check_recovered(verdicts: Sequence[Verdict], known: Mapping[str, str], config: str) -> None:
    """Raise `ConfigError` for a claim that is not recovered and not declared, and for one that is both."""
    if faults := list(_recovery_faults(verdicts, known, config)):
        raise ConfigError(*faults)


def _recovery_faults(verdicts: Sequence[Verdict], known: Mapping[str, str], config: str) -> Iterator[Fault]:
    verdicts = [one for one in verdicts if one.application not in LOOKED_UP]
    lost = {one.claim for one in verdicts if one.verdict != RECOVERED[0]}
    for one in verdicts:
        if one.verdict != RECOVERED[0] and one.claim not in known:
            what = f"{one.claim} is {one.verdict} from {one.campaign}: {one.reason}"
            yield Fault(
                config, 0, what, "correct the pipeline or the truth, or declare why under contradictions"
            )
    for claim in known:
        if claim not in lost:
            line = project.line_of(config, ("contradictions", claim))
            yield Fault(config, line, f"{claim} is declared a contradiction and was recovered", "remove it")
