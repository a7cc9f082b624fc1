"""What a campaign holds by the records of its runs alone, and which questions that answers.

Only ``run.json`` and the names of files are looked at: no reader is needed, and hundreds of runs take
milliseconds. Whether runs can be compared is found out here in the rough, and by the page's own estimates in
full.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue

from analysis.base.models import Maybe, Model, Name, Unique
from analysis.base.project import declaration, load_yaml, raw
from analysis.schema.factors import ALIASES, BY_NAME, FACTORS, FOLLOWS

# How a profile's file may be called where the record names no profiler.
_PROFILES = (".ipm.xml", ".mpip", "profile.0.0.0", ".cali", "experiment.xml")
_PACKED = (".gz", ".xz", ".zst")
_METERS = "power"  # a log in a run's own folder is called so

Row = Mapping[str, Any]


class Question(Model):
    """A question that a page answers of any campaign that can: its notebook, and what runs it needs."""

    kind: Name = Field(description="the page of a campaign is called <campaign>-<kind>")
    notebook: str = Field(description="the name of a notebook in notebooks/")
    title: str = Field(description="the question, asked of one campaign")
    topics: list[str] = Field([], description="topics of the claims that the page answers")
    varies: Maybe[str] = Field(
        None, description="factor of which runs that are alike otherwise must have two levels"
    )
    beside: Unique[str] = Field(
        [], description="factors that may differ with it where no runs differ in it alone; the page says so"
    )
    applications: Unique[Name] = Field([], description="applications whose runs it is about, all if empty")
    without: Unique[Name] = Field([], description="applications whose runs it is not about")
    unless: Unique[Name] = Field([], description="kinds whose page makes this one needless")
    needs: Unique[Literal["profiles", "meters", "repeats", "levels"]] = Field(
        [], description="what runs must have: MPI profiles, power logs, repeats, a factor with two levels"
    )
    times: bool = Field(True, description="false if runs whose times do not count will do")
    figure: bool = Field(True, description="false if the page has no figure")
    parameters: dict[str, JsonValue] = Field({}, description="parameters of the notebook")

    def page(self, campaign: str) -> str:
        """Name the page of a campaign, as an address: small letters, digits, dashes."""
        plain = "".join(one if one.isalnum() else "-" for one in campaign.lower()).strip("-")
        # An address that begins with report- is a report's.
        return f"{'campaign-' if plain.startswith('report') else ''}{plain}-{self.kind}"


class Questions(Model):
    """The questions, in the order of their pages."""

    questions: Annotated[
        list[Question], Field(description="a list of questions, each with kind and notebook")
    ]


@dataclass(frozen=True)
class Holdings:
    """A campaign's runs by their records: `rows` have the factors of those that may count, and ``timing``."""

    rows: Sequence[Row]
    records: int
    profiles: bool
    meters: bool

    @cached_property
    def repeats(self) -> bool:
        """Whether two runs whose times count are alike in all factors."""
        kinds = [tuple(row[factor] for factor in FACTORS) for row in self.rows if row["timing"]]
        return len(set(kinds)) < len(kinds)

    @cached_property
    def varying(self) -> list[str]:
        """Factors with two levels or more."""
        return [factor for factor in FACTORS if len({row[factor] for row in self.rows}) > 1]

    def levels(self, rows: Iterable[Row], factor: str, beside: Sequence[str]) -> int:
        """Count the levels of a factor, at most, among runs that are alike in all others.

        What follows from the factor may differ with it, and what is named `beside`.
        """
        free = {factor, *beside, *_loose(factor)}
        fixed = [name for name in FACTORS if name not in free]
        found: dict[tuple[Any, ...], set[Any]] = {}
        for row in rows:
            if row[factor] is not None:
                found.setdefault(tuple(row[name] for name in fixed), set()).add(row[factor])
        return max(map(len, found.values()), default=0)


def _loose(factor: str) -> set[str]:
    """Name the factors that go with one by nature: more nodes have more ranks, a case has its grid."""
    if factor in ("nodes", "ranks", "ranks_per_node", "placement", "concurrent_jobs"):
        return {"nodes", "ranks", "ranks_per_node", "placement"} - (
            {"ranks_per_node", "placement"} if factor in ("nodes", "ranks") else set()
        )
    return set(FOLLOWS.get(factor, ())) | {BY_NAME[factor].follows}


def held(campaign: str, base: Path) -> Holdings:
    """Look at the records of a campaign's runs; what is no record is the ingest's to complain of."""
    rows, records, profiles, meters = [], 0, False, "power" in _declared(campaign, base)
    for folder in sorted((raw(campaign, base) / "runs").glob("*")):
        row = _row(folder / "run.json")
        records += (folder / "run.json").is_file()
        if row is None:
            continue
        if not (profiles and meters):
            names = [_plain(path.name) for path in folder.iterdir()]
            profiles = profiles or row["profiler"] != "none" or any(map(_is_profile, names))
            meters = meters or any(name.startswith(_METERS) for name in names)
        rows.append(row)
    return Holdings(rows, records, profiles, meters)


def _declared(campaign: str, base: Path) -> Mapping[str, Any]:
    path = declaration(campaign, base)
    found = load_yaml(path) if path.is_file() else None
    return found if isinstance(found, Mapping) else {}


def _row(path: Path) -> Row | None:
    """Read the factors of a run; None if there is no record, or the run has failed."""
    try:
        record = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    if not isinstance(record, dict) or record.get("exit_code") or record.get("reason"):
        return None
    record = {ALIASES.get(key, key): value for key, value in record.items()}
    row = {factor: _level(record.get(factor)) for factor in FACTORS}
    timing = record.get("timing") is not False
    return {
        **row,
        "profiler": row["profiler"] or "none",
        "tuning": row["tuning"] or "untuned",
        "timing": timing,
    }


def _level(value: Any) -> Any:
    """Take a level as it compares: nothing, an empty text and -1 are unknown."""
    if isinstance(value, (list, dict)) or value in ("", -1):
        return None
    return value


def _plain(name: str) -> str:
    name = name.lower()
    return name.rpartition(".")[0] if name.endswith(_PACKED) else name


def _is_profile(name: str) -> bool:
    return name.endswith(_PROFILES)


def answerable(table: Sequence[Question], campaign: str, base: Path) -> Iterator[tuple[Question, str]]:
    """Go through the questions: each with the reason why a campaign cannot answer it, empty if it can.

    Of factors whose levels divide the runs in the same way only the first has a page.
    """
    runs = held(campaign, base)
    told: dict[frozenset[frozenset[int]], str] = {}
    made: set[str] = set()
    for question in table:
        why = _missing(question, runs)
        if not why and (better := made.intersection(question.unless)):
            why = f"the page {min(better)} answers it"
        if not why and question.varies:
            division = _division(runs.rows, question.varies)
            same = told.setdefault(division, question.varies)
            if same != question.varies:
                why = f"{_said(question.varies)} and {_said(same)} divide the runs alike: one page for both"
        made |= set() if why else {question.kind}
        yield question, why


def _missing(question: Question, runs: Holdings) -> str:
    """Say what a campaign lacks for a question; empty if it lacks nothing."""
    if not runs.rows:
        any_will_do = not (question.times or question.needs or question.varies or question.applications)
        return "" if any_will_do and runs.records else "no run with a record has ended well"
    lacks = {
        "profiles": "" if runs.profiles else "no run has an MPI profile",
        "meters": "" if runs.meters else "no run has a power log",
        "repeats": "" if runs.repeats else "no two runs are alike: nothing was repeated",
        "levels": "" if runs.varying else "all runs are alike in every factor",
    }
    for need in question.needs:
        if lacks[need]:
            return lacks[need]
    rows = [row for row in runs.rows if _counts(question, row["application"])]
    if not rows:
        return f"no run of {' or '.join(question.applications) or 'an application with a speed of its own'}"
    rows = [row for row in rows if row["timing"] or not question.times]
    if not rows:
        return "the times of its runs may not be used"
    factor = question.varies
    if factor is None:
        return ""
    levels = {row[factor] for row in rows} - {None}
    if len(levels) < 2:
        return f"one {_said(factor)}: {next(iter(levels))}" if levels else f"no run names its {_said(factor)}"
    if runs.levels(rows, factor, question.beside) < 2:
        return f"no two runs differ in {_said(factor)} and are alike otherwise"
    return ""


def _counts(question: Question, application: Any) -> bool:
    named = question.applications
    return application in named if named else application not in question.without


def _division(rows: Sequence[Row], factor: str) -> frozenset[frozenset[int]]:
    parts: dict[Any, set[int]] = {}
    for at, row in enumerate(rows):
        parts.setdefault(row[factor], set()).add(at)
    return frozenset(map(frozenset, parts.values()))


def _said(factor: str) -> str:
    return factor.replace("_", " ")
