"""What can be asked of a campaign: which factors its runs can be compared in, and which pages they can fill.

What is compared follows from the table of factors alone, so that a page, a finding and a plan ask the same.
Whether runs can be compared is found out here from their records, ``run.json`` and the names of files: no
reader is needed, and hundreds of runs take milliseconds. The estimates of a page find it out in full.
Snakemake reads this module at every start: nothing slow is imported.
"""

from __future__ import annotations

import contextlib
import csv
import functools
import hashlib
import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue

from analysis.base.files import RECORD, plain_name, read_json, write_json
from analysis.base.models import Maybe, Model, Name, Unique
from analysis.base.project import PACKAGE, code_digest, declaration, document, own_table, raw
from analysis.schema.factors import ALIASES, BY_NAME, FACTORS, TABLE, FactorName, label
from analysis.schema.stated import imported_files

# How a profile's file may be called where the record names no profiler.
_PROFILES = (".ipm.xml", ".mpip", "profile.0.0.0", ".cali", "experiment.xml")
# What a record can hold as a level of a factor; the ingest refuses another one.
_KINDS = {one.name: (type(None), int, *((float,) if one.numeric else (str, list))) for one in TABLE}
_UNKNOWN = dict.fromkeys(FACTORS)  # in the order in which rows are compared
_DAY, _DAYS = 86_400, 3  # s, and the fewest days of a history
_LAST = 1e11  # s; what follows is no time
_METERS = "power"  # a log in a run's own folder begins so, or import notes it as one
_CODE = ("base", "schema", "estimates/asking.py")  # what the answers follow from; a test compares the imports

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Ask:
    """A factor whose levels are compared: for which topic, and what changes with it by nature."""

    factor: str
    topic: str
    varying: tuple[str, ...]


ASKS: tuple[Ask, ...] = tuple(
    Ask(one.name, topic, varying) for one in TABLE for topic, varying in one.topics.items()
)


def compared(factor: str) -> str:
    """Return the factor that a search compares for the page of this one: itself, or what it follows."""
    one = BY_NAME[factor]
    return factor if one.topics or not one.follows else one.follows


class FactorPage(Model):
    """What is different on the page of one factor; by default its address is the factor's name."""

    kind: Maybe[Name] = None
    title: Maybe[str] = None
    about: str = ""
    method: str = ""


class PageQuestion(Model):
    """A question that a page answers of any campaign that can: its notebook, and what runs it needs."""

    kind: Name = Field(description="the page of a campaign is called <campaign>-<kind>")
    notebook: str = Field(description="the name of a notebook in notebooks/")
    title: str = Field(description="the question, asked of one campaign; {label} is the name of a factor")
    about: str = Field("", description="what to know before the answer; a parameter of the notebook")
    method: str = Field("", description="what its method has of its own; a parameter of the notebook")
    topics: list[str] = Field([], description="topics of the claims that the page answers")
    varies: Maybe[FactorName] = Field(
        None, description="factor that must have two levels in runs that agree otherwise"
    )
    factors: Maybe[dict[FactorName, FactorPage]] = Field(
        None,
        description="for a question that every factor is asked that is compared and that no other question "
        "varies: what is different for single factors, in the order of their pages",
    )
    applications: Unique[Name] = Field([], description="applications whose runs it is about, all if empty")
    without: Unique[Name] = Field([], description="applications whose runs it is not about")
    unless: Unique[Name] = Field([], description="kinds whose page makes this one needless")
    needs: Unique[Literal["profiles", "meters", "repeats", "levels", "days"]] = Field(
        [],
        description="what runs must have: MPI profiles, power logs, repeats, a factor with two levels, "
        "the same runs on three days",
    )
    times: bool = Field(True, description="false if runs whose times do not count will do")
    figure: bool = Field(True, description="false if the page has no figure")
    parameters: dict[str, JsonValue] = Field({}, description="parameters of the notebook")

    def page(self, campaign: str) -> str:
        """Name the page of a campaign, as an address: small letters, digits, dashes."""
        plain = "".join(one if one.isalnum() else "-" for one in campaign.lower()).strip("-")
        # An address that begins with report- is a report's.
        return f"{'campaign-' if plain.startswith('report') else ''}{plain}-{self.kind}"

    @property
    def given(self) -> dict[str, JsonValue]:
        """The parameters of the notebook, with the words of a question that has some of its own."""
        words = {"question": self.title, "about": self.about, "method": self.method}
        return {**self.parameters, **(words if self.about or self.method else {})}

    def of(self, factor: str, others: Collection[str]) -> PageQuestion:
        """Ask it for one factor; its topics are those that no other question is about."""
        page = (self.factors or {}).get(factor, FactorPage())
        return self.model_copy(
            update={
                "kind": page.kind or factor.replace("_", "-"),
                "title": page.title or self.title.format(label=label(factor)),
                "about": page.about or self.about,
                "method": page.method or self.method,
                "topics": [topic for topic in BY_NAME[compared(factor)].topics if topic not in others],
                "varies": factor,
                "factors": None,
                "parameters": {**self.parameters, "factor": factor},
            }
        )


class QuestionsFile(Model):
    """The questions, in the order of their pages."""

    questions: Annotated[
        list[PageQuestion], Field(description="a list of questions, each with kind and notebook")
    ]

    def table(self) -> list[PageQuestion]:
        """List the questions, one that every factor is asked once for each."""
        found: list[PageQuestion] = []
        own = {one.varies for one in self.questions if one.varies}
        others = {topic for one in self.questions if one.varies for topic in one.topics}
        for one in self.questions:
            if one.factors is None:
                found.append(one)
                continue
            asked = {compared(factor) for factor in {*own, *one.factors}}
            more = (ask.factor for ask in ASKS if ask.factor not in asked)
            every = dict.fromkeys([*one.factors, *more])
            found += [one.of(factor, others) for factor in every if factor not in own]
        return found


@dataclass(frozen=True)
class CampaignRecords:
    """A campaign's runs by their records: `rows` have the factors of those that may count, and ``timing``.

    Runs whose rows are equal have one; `twice` tells whether any did whose times count.
    """

    rows: Sequence[Row]
    number: int
    profiles: bool
    meters: bool
    twice: bool

    @cached_property
    def repeats(self) -> bool:
        """Whether two runs whose times count are alike in all factors."""
        kinds = [tuple(row[factor] for factor in FACTORS) for row in self.rows if row["timing"]]
        return self.twice or len(set(kinds)) < len(kinds)

    @cached_property
    def days(self) -> bool:
        """Whether runs whose times count, alike in all that no upgrade changes, started on three days."""
        fixed = [one.name for one in TABLE if not one.upgrade]
        found: dict[tuple[Any, ...], set[int]] = {}
        for row in self.rows:
            if row["timing"] and row["day"] is not None:
                found.setdefault(tuple(row[name] for name in fixed), set()).add(row["day"])
        return max(map(len, found.values()), default=0) >= _DAYS

    @cached_property
    def varying(self) -> list[str]:
        """Factors with two levels or more."""
        return [factor for factor in FACTORS if len({row[factor] for row in self.rows}) > 1]


def records(campaign: str, base: Path) -> CampaignRecords:
    """Look at the records of a campaign's runs; what is no record is the ingest's to complain of."""
    rows, twice = dict[tuple[Any, ...], Row](), False
    number, profiles, meters = 0, False, "power" in document(declaration(campaign, base))
    runs = raw(campaign, base) / "runs"
    folders: list[str] = []
    with contextlib.suppress(OSError):  # not there, or not to be listed
        folders = sorted(os.listdir(runs))  # noqa: PTH208 (of thousands)
    for name in folders:
        folder = f"{runs}/{name}"
        path = f"{folder}/{RECORD}"
        record = read_json(path)
        row = _row(record)
        number += row is not None or os.path.isfile(path)  # noqa: PTH113
        if row is None:
            continue
        if not (profiles and meters):
            names = [plain_name(name.lower()) for name in os.listdir(folder)]  # noqa: PTH208
            profiles = profiles or row["profiler"] != "none" or any(n.endswith(_PROFILES) for n in names)
            meters = meters or any(name.startswith(_METERS) for name in names) or _metered(record)
        first = rows.setdefault(tuple(row.values()), row)
        twice = twice or (first is not row and row["timing"])
    for record in () if folders else _of_table(raw(campaign, base)):
        number += 1
        if row := _row(record):
            twice = (rows.setdefault(tuple(row.values()), row) is not row and row["timing"]) or twice
    return CampaignRecords(list(rows.values()), number, profiles, meters, twice)


def _of_table(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a campaign's own table as records; the ingest names cells that are no level."""
    path = own_table(folder)
    if path is None:
        return
    with path.open(newline="", encoding="utf-8", errors="replace") as lines:
        for cells in csv.DictReader(lines):
            record: dict[str, Any] = {"reason": cells.get("reason")}
            for name, cell in cells.items():
                if cell and name in BY_NAME:
                    with contextlib.suppress(ValueError):
                        record[name] = _number(cell) if BY_NAME[name].numeric else cell
            with contextlib.suppress(ValueError):
                record["start"] = (
                    datetime.fromisoformat(cells.get("start") or "").replace(tzinfo=UTC).timestamp()
                )
            yield record


def _number(cell: str) -> float | int:
    value = float(cell)
    return int(value) if value.is_integer() else value


def _metered(record: dict[str, Any]) -> bool:
    """Tell whether import took one of the run's files for a power log, whatever its name."""
    return any(one.get("role") == _METERS for one in imported_files(record))


def _row(record: dict[str, Any]) -> Row | None:
    """Take the factors of a run from its record; None if there is none, or the run has failed."""
    record |= {name: record[alias] for alias, name in ALIASES.items() if alias in record}
    stated = {name: value for name, value in record.items() if name in _KINDS}
    damaged = any(type(value) not in _KINDS[name] for name, value in stated.items())
    if not record or damaged or record.get("exit_code") or record.get("reason"):
        return None
    row = _UNKNOWN | {name: _level(value) for name, value in stated.items()}
    plain = {"profiler": row["profiler"] or "none", "tuning": row["tuning"] or "untuned"}
    start = record.get("start")
    day = int(start // _DAY) if isinstance(start, (int, float)) and 0 <= start < _LAST else None
    return {**row, **plain, "timing": record.get("timing") is not False, "day": day}


def _level(value: Any) -> Any:
    """Take a level as it compares: nothing, an empty text and -1 are unknown."""
    return None if isinstance(value, list) or value in ("", -1) or value != value else value


def answerable(
    table: Sequence[PageQuestion], campaign: str, base: Path
) -> Iterator[tuple[PageQuestion, str]]:
    """Go through the questions: each with the reason why a campaign cannot answer it, empty if it can.

    Of factors whose levels divide the runs in the same way only the first has a page.
    """
    runs = records(campaign, base)
    first: dict[frozenset[frozenset[int]], str] = {}
    made: set[str] = set()
    for question in table:
        why = _missing(question, runs)
        if not why and (better := made.intersection(question.unless)):
            why = f"the page {min(better)} answers it"
        if not why and question.varies:
            same = first.setdefault(_division(runs.rows, question.varies), question.varies)
            if same != question.varies:
                names = f"{_name(question.varies)} and {_name(same)}"
                why = f"{names} divide the runs alike: one page for both"
        made |= set() if why else {question.kind}
        yield question, why


def kept_answers(
    table: Sequence[PageQuestion], campaign: str, base: Path, stamp: str
) -> list[tuple[PageQuestion, str]]:
    """List what `answerable` gives, worked out again only if something that it follows from has changed.

    That is the raw folder, whose `stamp` is given, the code, the questions, and whether the campaign declares
    meters. A file of the project keeps the answers; one that is damaged or of something else is replaced.
    """
    names = _names(raw(campaign, base) / "runs")
    if not names:
        return list(answerable(table, campaign, base))
    questions = [question.model_dump(mode="json") for question in table]
    parts = (stamp, names, _code(), questions, "power" in document(declaration(campaign, base)))
    key = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
    path = base / ".snakemake/answers" / f"{campaign}.json"
    match read_json(path):
        case {"key": str(old), "answers": [*reasons]} if (
            old == key and len(reasons) == len(table) and all(isinstance(why, str) for why in reasons)
        ):
            return list(zip(table, reasons, strict=True))
    found = list(answerable(table, campaign, base))
    # Where nothing can be written, and of a level that is no text in UTF-8, nothing is kept.
    with contextlib.suppress(OSError, UnicodeError):
        write_json(path, {"key": key, "answers": [why for _, why in found]})
    return found


def _names(runs: Path) -> str:
    """Digest all names in the folders of runs: a stamp has those of files only.

    Empty if a run is a link, since a stamp does not enter it.
    """
    digest = hashlib.sha256()
    entries = sorted(os.scandir(runs), key=lambda entry: entry.name)
    if runs.is_symlink() or any(entry.is_symlink() for entry in entries):
        return ""
    for entry in entries:
        try:
            inside = sorted(one.name for one in os.scandir(entry.path))
        except OSError:  # a file, or a folder that cannot be listed
            inside = []
        digest.update("/".join([entry.name, *inside, "\n"]).encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


@functools.cache
def _code() -> str:
    """Digest the modules that tell what a campaign can answer."""
    return b"".join(code_digest(PACKAGE, room) for room in _CODE).hex()


def _missing(question: PageQuestion, runs: CampaignRecords) -> str:
    """Say what a campaign lacks for a question; empty if it lacks nothing."""
    if not runs.rows:
        any_will_do = not (question.times or question.needs or question.varies or question.applications)
        return "" if any_will_do and runs.number else "no run with a record has ended well"
    lacks = {
        "profiles": "" if runs.profiles else "no run has an MPI profile",
        "meters": "" if runs.meters else "no run has a power log",
        "repeats": "" if runs.repeats else "no two runs are alike: nothing was repeated",
        "levels": "" if runs.varying else "all runs are alike in every factor",
        "days": "" if runs.days else f"no runs are alike on {_DAYS} days",
    }
    if missing := [lacks[need] for need in question.needs if lacks[need]]:
        return missing[0]
    named = question.applications
    rows = [
        row
        for row in runs.rows
        if (row["application"] in named if named else row["application"] not in question.without)
    ]
    if not rows:
        return f"no run of {' or '.join(named) or 'an application with a speed of its own'}"
    rows = [row for row in rows if row["timing"] or not question.times]
    if not rows:
        return "the times of its runs may not be used"
    return incomparable(rows, question.varies) if question.varies else ""


def incomparable(rows: Sequence[Row], factor: str) -> str:
    """Say why runs cannot be compared in a factor; empty if two levels meet, all else alike.

    What changes with the factor by nature may differ too, and what is tied to it.
    """
    levels = {row[factor] for row in rows} - {None}
    if len(levels) < 2:
        return f"one {_name(factor)}: {next(iter(levels))}" if levels else f"no run names its {_name(factor)}"
    one = BY_NAME[factor]
    if factor == "interconnect" and len({row[factor] for row in rows if row["nodes"] == 1} - {None}) > 1:
        rows = [row for row in rows if row["nodes"] != 1]
        if not rows:
            return "on one node no link is used"
    if _meeting(rows, factor, (*one.changes_with_it, *one.tied)) > 1:
        return ""
    if factor == "nodes" and _meeting(rows, factor, (*one.changes_with_it, "interconnect")) > 1:
        return "nodes and interconnect change together: the findings compare each link with one node"
    return f"no two runs differ in {_name(factor)} and are alike otherwise"


def _meeting(rows: Iterable[Row], factor: str, loose: Sequence[str]) -> int:
    """Count the levels of a factor, at most, among runs that agree in all others but those that are loose."""
    fixed = [name for name in FACTORS if name != factor and name not in loose]
    found: dict[tuple[Any, ...], set[Any]] = {}
    for row in rows:
        if row[factor] is not None:
            found.setdefault(tuple(row[name] for name in fixed), set()).add(row[factor])
    return max(map(len, found.values()), default=0)


def _division(rows: Sequence[Row], factor: str) -> frozenset[frozenset[int]]:
    parts: dict[Any, set[int]] = {}
    for at, row in enumerate(rows):
        parts.setdefault(row[factor], set()).add(at)
    return frozenset(map(frozenset, parts.values()))


def _name(factor: str) -> str:
    return factor.replace("_", " ")
