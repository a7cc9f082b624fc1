"""Files that come later: profiles, accounting and scripts join the run that was imported before them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.base.errors import Fault
from analysis.base.files import RECORD, read_json, sha256, stored
from analysis.importing.detect import Observation, detect
from analysis.importing.draft import COUNTS, Draft, Sourced
from analysis.importing.runfiles import RunFiles
from analysis.importing.tree import File

# What can belong to a run whose output is not in the tree.
_LATER = ("profile", "power", "sacct", "record", "beside", "text")
# What a run keeps even if a result comes later.
_BY_HAND = ("--set", "--table")


@dataclass(frozen=True)
class ImportedRun:
    """A run that was imported before: its folder and its record."""

    folder: Path
    record: dict[str, Any]

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.folder.name

    @property
    def note(self) -> dict[str, Any]:
        """What the import wrote down: key, cell, files, source of each factor."""
        return dict(self.record["imported"])

    @property
    def main(self) -> dict[str, Any]:
        """What was noted of its main file: its name here and in the tree, digest, lines if it is a part."""
        return dict(self.note["files"][0])

    def output(self) -> bytes:
        """Return the bytes of its main file, none if it is gone."""
        path = self.folder / str(self.main["file"])
        return stored(path) if path.is_file() else b"\0"

    @property
    def digests(self) -> set[str]:
        """SHA-256 of the files that it was made from."""
        return {str(one["sha256"]) for one in self.note.get("files", ())}


def _is_whole(note: Any) -> bool:
    """Tell whether a record's note of its import has what is asked of it here."""
    if not isinstance(note, dict) or "key" not in note or not isinstance(note.get("factors", {}), dict):
        return False
    files = note.get("files")
    if not isinstance(files, list) or not files or not all(isinstance(one, dict) for one in files):
        return False
    if not all(isinstance(one.get(key), str) for one in files for key in ("from", "sha256")):
        return False
    inside = Path(str(files[0].get("file", "..")))
    return not inside.is_absolute() and ".." not in inside.parts


@dataclass
class Addition:
    """New files of an imported run, and its record with what they state."""

    run: ImportedRun
    draft: Draft
    files: list[Observation]
    record: dict[str, Any]
    stated: dict[str, str]  # new fact -> where it comes from
    source: str  # the first of its files, or the file of the campaign that states the new facts


class Earlier:
    """The runs of a campaign, by what identifies them, and the digests of the files of the whole campaign."""

    def __init__(self, raw: Path) -> None:
        self.raw = raw
        self.known: dict[str, ImportedRun] = {}  # by key
        self.repeats: dict[str, int] = {}  # the last of each cell
        self.names: set[str] = set()
        self._from: dict[str, list[ImportedRun]] = defaultdict(list)  # by the name of their file
        for path in sorted(raw.glob(f"runs/*/{RECORD}")):
            self._add(ImportedRun(path.parent, read_json(path)))
        shared = [*raw.glob("sacct*.txt"), *raw.glob("beside/*"), *raw.glob("power/*")]
        self.shared = {sha256(path) for path in shared if path.is_file()}
        self.digests = self.shared.union(*(run.digests for run in self.known.values()))

    def _add(self, run: ImportedRun) -> None:
        self.names.add(run.name)
        if not _is_whole(run.record.get("imported")):
            return  # measured, or of another hand
        self.known[str(run.note["key"])] = run
        if isinstance(repeat := run.record.get("repeat"), int):
            which = str(run.note.get("cell", ""))
            self.repeats[which] = max(self.repeats.get(which, 0), repeat)
        self._from[str(run.main["from"])].append(run)

    def find(self, run: RunFiles, key: str) -> ImportedRun | None:
        """Return the run that an execution was imported as, None if it is new.

        A profile that was imported alone is the same execution as the result that it now belongs to. So is
        a part of a file to which later jobs appended.
        """
        case = run.part is not None and bool(run.part.identity)  # of a document
        if run.number and not case and key not in self.known:
            inside = _output(run)
            return next((one for one in self._of_file(run) if one.output().rstrip() == inside.rstrip()), None)
        keys = (key, *(one.digest for one in run.files if one.role in ("result", "profile", "text")))
        return next((self.known[one] for one in keys if one in self.known), None)

    def is_cut(self, run: RunFiles) -> bool:
        """Tell whether an imported output begins with all of this one: a copy of it was cut short."""
        if run.part is None or run.part.complete or run.main.file.path.is_dir():
            return False
        outputs = [one.output() for one in self._of_file(run)]
        inside = _output(run) if outputs else b""
        return any(len(inside) < len(whole) and whole.startswith(inside) for whole in outputs)

    def begun(self, run: RunFiles) -> ImportedRun | None:
        """Return the run whose output is the beginning of this one: its job was still running."""
        if run.main.file.path.is_dir() or not (runs := self._of_file(run)):
            return None
        whole = _output(run)
        return next((one for one in runs if whole.startswith(one.output())), None)

    def _of_file(self, run: RunFiles) -> list[ImportedRun]:
        """Return the runs that were imported from a file of the same name, as a whole or as parts of it."""
        return [one for one in self._from[run.main.name] if ("lines" in one.main) == bool(run.number)]

    def observations(self, tree: Sequence[Observation]) -> list[Observation]:
        """Return the files of a tree, with those of the campaign that files of the tree may belong to."""
        digests = {one.digest for one in tree}
        files = {
            File(path, path.name, path.stat().st_size): "" for path in sorted(self.raw.glob("sacct*.txt"))
        }
        if any(one.role in _LATER and one.digest not in self.digests for one in tree):
            files |= self._mains(tree, digests)
        kept = []
        for file, job in files.items():
            one = detect(file)
            one.kept, one.job = True, job or one.job
            kept += [one] if one.digest not in digests else []
        mains = [one for one in kept if one.role != "sacct"]
        return [
            *sorted([*tree, *mains], key=lambda one: one.file.name.encode("utf-8", "surrogateescape")),
            *(one for one in kept if one.role == "sacct"),
        ]

    def _mains(self, tree: Sequence[Observation], digests: set[str]) -> dict[File, str]:
        """Find the outputs of runs that the tree does not have, each with its job.

        The tree is another one if it has other files of their names.
        """
        names = {one.name for one in tree}
        found = {}
        for run in self.known.values():
            main = run.main
            path = run.folder / main["file"]
            there = main["sha256"] in digests or main["from"] in names
            if not there and "lines" not in main and path.is_file():
                job = str(run.record.get("job_id") or "")
                found[File(path, main["from"], path.stat().st_size)] = job
        return found


def _output(run: RunFiles) -> bytes:
    """Return the bytes of a result: of its file, or of its part of it."""
    if run.part is None or not run.number:
        return run.main.file.content()
    return run.main.file.content()[run.part.begin : run.part.end if run.part.end >= 0 else None]


def addition(
    draft: Draft, run: ImportedRun, earlier: Earlier, tables: Iterable[Observation], stated: Mapping[str, Any]
) -> Addition | Fault | None:
    """Return what a tree adds to an imported run, a fault if it contradicts the run's record, or None.

    `tables` are the batch systems' records of jobs in the tree, `stated` is the record that a new run would
    get.
    """
    own = [one for one in (draft.run.main, *draft.run.files) if not one.kept]
    files = [one for one in own if one.digest not in run.digests]
    files = [] if draft.run.number else files
    others = [one for one in draft.run.shared if one.digest not in earlier.shared]
    others += [one for one in tables if draft.run.job in one.jobs and one.digest not in earlier.shared]
    if not files and not others:
        return None
    source = (*files, *others)[0].name
    remedy = f"it is not joined to run {run.name}: correct the file, or remove the run and import it again"
    found = draft.faults[0].found if draft.faults else _contradiction(draft, run)
    if found:
        return Fault(source, 0, found, remedy)
    result = any(one.role == "result" for one in files) and run.main["sha256"] not in {
        one.digest for one in own if one.role == "result"
    }
    new = _new_facts(draft, run, stated, result=result)
    if not files and not new:
        return None
    where = {name: draft.facts[name].where for name in new if name in draft.facts}
    return Addition(run, draft, files, run.record | new, where, source)


def _contradiction(draft: Draft, run: ImportedRun) -> str:
    """Return how what files state contradicts a count of the run's record, empty if it does not."""
    where = run.note.get("factors", {})
    for name in COUNTS:
        known, value = run.record.get(name), draft.certain(name)
        if known is not None and value is not None and known != value and where.get(name) not in _BY_HAND:
            what = name.replace("_", " ")
            return f"run {run.name} has {what} {known} ({where.get(name, 'its record')}), this says {value}"
    return ""


def _new_facts(draft: Draft, run: ImportedRun, stated: Mapping[str, Any], *, result: bool) -> dict[str, Any]:
    """Return the facts that the record lacks; with a result, also those that only a profile had stated."""
    where = run.note.get("factors", {})
    new = {}
    for name, value in stated.items():
        known = run.record.get(name)
        guessed = name in draft.facts and draft.facts[name].where.startswith("path")
        lacking = known in (None, "") or (name == "profiler" and known == "none")
        better = result and name not in ("run", "repeat") and where.get(name) not in _BY_HAND
        if value is not None and value != known and ((lacking and not guessed) or better):
            new[name] = value
    return new


def replacement(draft: Draft, run: ImportedRun, tree: Iterable[Observation]) -> Fault | None:
    """Let a draft replace the run whose output it continues; a fault if that has files that it would lose."""
    lost = run.digests - {one.digest for one in tree} - {str(run.main["sha256"])}
    if lost:
        names = ", ".join(str(one["from"]) for one in run.note["files"] if one["sha256"] in lost)
        found = f"goes on where run {run.name} ends, and {names} of that run is not in the folder"
        return Fault(
            draft.run.main.name, 0, found, f"import a folder that has both, or remove run {run.name}"
        )
    draft.name, draft.replaces = run.name, True
    if isinstance(repeat := run.record.get("repeat"), int):
        draft.facts["repeat"] = Sourced(repeat, RECORD)
    return None


def merged(draft: Draft, record: Mapping[str, Any], factors: Iterable[str]) -> Draft:
    """Return a draft with the factors of a record, for the cell that it is in."""
    facts = {name: fact for name, fact in draft.facts.items() if name not in factors}
    facts |= {name: Sourced(record[name], RECORD) for name in factors if record.get(name) is not None}
    return Draft(draft.run, str(record["application"]), facts)
