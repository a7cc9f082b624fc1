"""What an import would do: runs with names and factors, faults, files of no run; nothing is written."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any

from analysis.base.errors import Fault
from analysis.base.processes import in_parallel
from analysis.importing.additions import Addition, Earlier, addition, replacement
from analysis.importing.detect import Observation, detect
from analysis.importing.draft import Draft, cell
from analysis.importing.groups import Grouping, group
from analysis.importing.parsed import ParsedFiles
from analysis.importing.pattern import FACTORS, PathPattern
from analysis.importing.power import CampaignLog, place
from analysis.importing.repeats import CellDoubt, doubts
from analysis.importing.resolution import executed, resolve
from analysis.importing.runfiles import RunFiles, stem
from analysis.importing.table import FactTable
from analysis.importing.tree import display_name, walk
from analysis.importing.vocabulary import Value
from analysis.schema.applications import Application

_LONGEST = 90  # characters of a run's name
# Folders that name no run.
_PLAIN = set("results result output outputs logs log out data runs raw results-orig".split())  # noqa: SIM905


@dataclass
class ImportPlan:
    """What would be imported: new runs, those there already, faults, inferences, files of no run."""

    root: Path
    name: str
    files: int = 0
    runs: list[Draft] = field(default_factory=list)
    known: int = 0
    joined: list[Addition] = field(default_factory=list)
    guesses: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    unplaced: dict[str, str] = field(default_factory=dict)
    slurm: list[Observation] = field(default_factory=list)
    power: list[CampaignLog] = field(default_factory=list)
    shared: list[Observation] = field(default_factory=list)
    jobs: int = 0
    drafts: list[Draft] = field(default_factory=list)  # of all runs in the tree
    doubts: list[CellDoubt] = field(default_factory=list)
    parsed: ParsedFiles | None = None

    @property
    def new(self) -> bool:
        """Whether there is anything to write."""
        return bool(self.runs or self.joined or (self.known and (self.slurm or self.power or self.shared)))

    @property
    def placed(self) -> int:
        """How many files belong to a run, those of runs that are there already included."""
        return self.files - len(self.unplaced)


def make(
    root: Path,
    name: str,
    raw: Path,
    applications: Mapping[str, Application],
    *,
    pattern: PathPattern | None = None,
    given: Mapping[str, Value] = MappingProxyType({}),
    table: FactTable | None = None,
    progress: bool = False,
) -> ImportPlan:
    """Plan the import of a folder as the campaign `name`, whose runs are in `raw` as far as it exists."""
    files, refused = walk(root)
    parsed = ParsedFiles.temporary()
    tree = in_parallel(partial(detect, parsed=parsed), files, "files read:", progress=progress)
    earlier = Earlier(raw)
    work = partial(resolve, applications=applications, pattern=pattern, given=given, table=table)
    groups, drafts, guesses = _resolved([*earlier.observations(tree)], work)
    plan = ImportPlan(
        root, name, len(files) + len(refused), guesses=guesses, jobs=len(groups.jobs), parsed=parsed
    )
    plan.drafts, plan.notes = drafts, groups.notes
    names = {one.name for one in tree}
    plan.unplaced = refused | {one: why for one, why in groups.unplaced.items() if one in names}
    plan.slurm, plan.shared = (
        [one for one in found if not one.kept and one.digest not in earlier.shared]
        for found in (groups.slurm, groups.shared)
    )
    plan.power = [one for one in place(groups, drafts) if one.source.digest not in earlier.shared]
    tables = [one for one in (*groups.slurm, *groups.shared) if one.jobs]
    faulty = []
    for draft, run in zip(drafts, _names([one.run for one in drafts], set(earlier.names)), strict=True):
        draft.name = run
        if earlier.is_cut(draft.run):
            plan.known += 1
        elif known := earlier.find(draft.run, key(draft.run)):
            plan.known += not draft.run.main.kept
            _join(plan, addition(draft, known, earlier, tables, record(draft, name)))
        elif draft.faults:
            faulty.append(draft)
        elif begun := earlier.begun(draft.run):
            fault = replacement(draft, begun, tree)
            plan.faults += [fault] if fault else []
            plan.runs += [] if fault else [draft]
        else:
            if (which := cell_name(draft)) in earlier.repeats:  # numbers go on after those that are there
                earlier.repeats[which] += 1
                draft.facts["repeat"] = draft.facts["repeat"]._replace(value=earlier.repeats[which])
            plan.runs.append(draft)
    plan.faults += _faults(faulty)
    plan.doubts = doubts(plan.runs, applications)
    return plan


def _resolved(
    observed: Sequence[Observation], work: Callable[[Grouping], tuple[list[Draft], list[str]]]
) -> tuple[Grouping, list[Draft], list[str]]:
    """Group files and resolve their runs; a file whose name is contradicted gives way to its copies."""
    groups = group(observed)
    drafts, guesses = work(groups)
    copied = {one.removeprefix("is a copy of ") for one in groups.unplaced.values()}
    wrong = {draft.run.main.name: draft.faults[0].found for draft in drafts if draft.faults}
    misnamed = {name: why for name, why in wrong.items() if name in copied}
    if misnamed:
        groups = group(sorted(observed, key=lambda one: one.name in misnamed))
        drafts, guesses = work(groups)
        for name in misnamed.keys() & groups.unplaced.keys():
            groups.unplaced[name] = f"{misnamed[name]}; it {groups.unplaced[name]}"
    return groups, drafts, guesses


def _join(plan: ImportPlan, found: Addition | Fault | None) -> None:
    """Add what a run gains; one that a second draft is of gains it once."""
    if isinstance(found, Fault):
        plan.faults.append(found)
    elif found is not None and found.run.name not in {one.run.name for one in plan.joined}:
        plan.joined.append(found)


def _faults(drafts: Sequence[Draft]) -> Iterator[Fault]:
    """Give the first fault of each file, with how many of its results are at fault."""
    of_file: dict[str, list[Fault]] = {}
    for draft in drafts:
        if draft.faults:
            of_file.setdefault(draft.run.main.name, []).append(draft.faults[0])
    for name, faults in of_file.items():
        more = f" (and {len(faults) - 1} more results of the file)" if len(faults) > 1 else ""
        yield Fault(name, 0, faults[0].found + more, faults[0].remedy)


def key(run: RunFiles) -> str:
    """Return the identity of an execution: the digest of its file, and which of its results it is.

    Of a document with several cases it is that of the case: such documents grow.
    """
    if run.part is not None and run.part.identity:
        return run.part.identity
    return f"{run.main.digest}#{run.number}" if run.number else run.main.digest


def record(draft: Draft, campaign: str) -> dict[str, Any]:
    """Return what ``run.json`` states of a run, without its sources."""
    values: dict[str, Any] = {"run": draft.name, "campaign": campaign, "evidence": "measured"}
    values["application"] = draft.application
    known = {name: draft.value(name) for name in FACTORS if name not in ("application", "job_id")}
    values |= {name: value for name, value in known.items() if value is not None}
    values |= executed(draft)
    profilers = {
        one.facts["profiler"] for one in (draft.run.main, *draft.run.files) if "profiler" in one.facts
    }
    values["profiler"] = sorted(profilers)[0] if profilers else values.get("profiler")
    # A job of several programs is no run's own: its time and state are those of all of them.
    if draft.run.alone and draft.run.job:
        values["job_id"] = draft.run.job
    else:
        values.pop("job_id", None)
    values.setdefault("exit_code", None)
    return values


def cell_name(draft: Draft) -> str:
    """Return a short name of the factors that a run shares with its repeats."""
    return sha256(repr(cell(draft)).encode()).hexdigest()[:16]


def _names(runs: Sequence[RunFiles], used: set[str]) -> Iterator[str]:
    """Name runs after their paths, without what all have in common; stable while the tree grows."""
    files: dict[str, set[str]] = {}
    stems: dict[tuple[str, str], set[str]] = {}
    for run in runs:
        file = run.main.file
        files.setdefault(file.folder, set()).add(file.base)
        stems.setdefault((file.folder, stem(file.base)), set()).add(file.base)
    for run in runs:
        file = run.main.file
        parts = [part for part in file.folder.split("/") if part.lower() not in _PLAIN]
        if len(files[file.folder]) > 1 or not any(parts):
            parts.append(stem(file.base) if len(stems[file.folder, stem(file.base)]) == 1 else file.base)
        text = _slug("-".join(part for part in parts if part)) or "run"
        if len(text) > _LONGEST:
            text = f"{text[: _LONGEST - 9]}-{sha256(run.main.name.encode()).hexdigest()[:8]}"
        name = text = f"{text}-part{run.number}" if run.number else text
        number = 2
        while name in used:
            name, number = f"{text}-{number}", number + 1
        used.add(name)
        yield name


def _slug(text: str) -> str:
    """Return a text as the name of a folder: letters, digits, dots, dashes, underscores."""
    return re.sub(r"-{2,}", "-", re.sub(r"[^A-Za-z0-9._-]+", "-", display_name(text))).strip("-.")
