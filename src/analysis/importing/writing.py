"""Writes a planned import: runs with their records, files of the whole campaign, declaration, manifest."""

import json
import re
import shutil
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from analysis.base.errors import ConfigError, Fault
from analysis.base.files import RECORD, naming, plain_name, read_bytes, replacing, write_json, write_text
from analysis.base.processes import in_parallel
from analysis.datasets.applications import load_applications
from analysis.datasets.run import Known, read_run, unknown
from analysis.importing.additions import Addition, merged
from analysis.importing.detect import Observation, detect
from analysis.importing.draft import Draft
from analysis.importing.pattern import FACTORS
from analysis.importing.plan import ImportPlan, cell_name, key, record
from analysis.importing.runfiles import RunFiles
from analysis.importing.tree import File, display_name
from analysis.provenance import manifest
from analysis.schema.applications import Application

README = "README.md"
_KEPT = (
    *("job_name", "queue", "feature", "state", "slots", "walltime", "cpu_time", "memory", "settings"),
    *("directives", "directory", "modules"),
)
STAGED = ".import"  # where a run is until it is complete
_APPLICATION = """\
title: {name}
# No reader recognises its output: its runs are compared by their times and profiles.
engine: ""
figure_of_merit: ""
unit: ""
higher_is_better: false
fixed_time: false
"""
_README = """\
# {name}

{count} runs imported by `benchbook import` from a folder of job output. The outputs are copies; nothing in
them was changed. A part of a file with several results is in its run, the whole file in `beside/`.

Each `runs/<run>/run.json` has under `imported` the files that it was made from with their SHA-256, and for
each factor where it comes from. `sacct.txt` has Slurm's records, `power/` logs of power meters, `beside/`
files that describe several runs: job scripts and descriptions of the hardware.
"""


def write(plan: ImportPlan, raw: Path, declaration: Path, applications: Path) -> list[Path]:
    """Write what is new; return the files of the configuration that were written.

    A run is complete or not there: its folder gets its name last. A run whose record contradicts its files,
    as the ingest reads them, becomes a fault of the plan. Raises `ConfigError` if the manifest cannot be
    extended.
    """
    made = []
    known = load_applications(applications)
    drafts = [*plan.runs, *(one.draft for one in plan.joined)]
    for name in sorted({*(draft.application for draft in drafts)}):
        if name not in known:
            write_text(applications / f"{name}.yaml", _application(name, drafts))
            made.append(applications / f"{name}.yaml")
    known = load_applications(applications)
    _write_runs(plan, raw, known)
    _write_joined(plan, raw, known)
    renewed = {README, *_write_shared(plan, raw), *(f"runs/{one.run.name}/{RECORD}" for one in plan.joined)}
    replaced = tuple(f"runs/{draft.name}/" for draft in plan.runs)  # one of that name may have been removed
    if not declaration.is_file():
        write_text(declaration, _declaration(plan) + power_entries(plan))
        made.append(declaration)
    count = sum(1 for _ in raw.glob(f"runs/*/{RECORD}"))
    write_text(raw / README, _README.format(name=plan.name, count=count))

    def written(known: Collection[str]) -> list[str]:
        return [name for name in known if name in renewed or name.startswith(replaced)]

    if faults := manifest.extend(raw, f"data/raw/{plan.name}", written):
        raise ConfigError(*faults)
    return made


def _write_runs(plan: ImportPlan, raw: Path, applications: Mapping[str, Application]) -> None:
    """Write all runs, and remove those that contradict themselves from the plan."""
    staged = raw / STAGED
    shutil.rmtree(staged, ignore_errors=True)
    (raw / "runs").mkdir(parents=True, exist_ok=True)
    known = plan.parsed.get if plan.parsed else unknown
    work = partial(_write_run, raw=raw, campaign=plan.name, applications=applications, known=known)
    found = in_parallel(work, plan.runs, "runs written:", progress=True)
    shutil.rmtree(staged, ignore_errors=True)
    for draft, wrong in zip(plan.runs, found, strict=True):
        if wrong:
            draft.fault(wrong)
            plan.faults.append(draft.faults[-1])
    plan.runs = [draft for draft in plan.runs if not draft.faults]


def _write_run(
    draft: Draft, raw: Path, campaign: str, applications: Mapping[str, Application], known: Known
) -> str:
    """Write a run; if its record and its files contradict each other return how.

    A worker of Dask may be lost in the middle of it or right after it: then another does it again.
    """
    part, target = raw / STAGED / draft.name, raw / "runs" / draft.name
    before = part.with_name(f"{draft.name}.before")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    used: set[str] = {RECORD}
    sources = [_copy(draft.run.main, part, used, draft)]
    sources += [_copy(source, part, used) for source in draft.run.files]
    write_json(part / RECORD, record(draft, campaign) | {"imported": _note(draft, sources)})
    if found := read_run(part, applications, known=known).contradiction:
        return found
    if target.is_dir() and (target / RECORD).read_bytes() == (part / RECORD).read_bytes():
        return ""  # a worker that was lost has written it
    if draft.replaces and not before.exists():
        target.replace(before)
    part.replace(target)
    return ""


def _write_joined(plan: ImportPlan, raw: Path, applications: Mapping[str, Application]) -> None:
    """Add later files to their runs, and remove from the plan those that contradict their run."""
    kept = []
    for one in plan.joined:
        if wrong := _write_addition(one, raw, applications):
            remedy = f"it is not joined to run {one.run.name}: correct the file or its name"
            plan.faults.append(Fault(one.source, 0, wrong, remedy))
        else:
            kept.append(one)
    plan.joined = kept


def _write_addition(one: Addition, raw: Path, applications: Mapping[str, Application]) -> str:
    """Add files and facts to a run; if they contradict each other return how, and leave the run as it was."""
    part = raw / STAGED / one.run.name
    shutil.copytree(one.run.folder, part)
    # A file that no record names is left from an import that was cut short: it is replaced.
    used = {RECORD, *(str(file["file"]) for file in one.run.note["files"])}
    sources = [_copy(source, part, used) for source in one.files]
    factors = [name for name in FACTORS if name not in ("application", "job_id")]
    cell = cell_name(merged(one.draft, one.record, factors))
    note = one.run.note | {"files": [*one.run.note["files"], *sources], "cell": cell}
    note["factors"] = one.run.note.get("factors", {}) | one.stated
    write_json(part / RECORD, one.record | {"imported": note})
    found = read_run(part, applications).contradiction
    if not found:
        # The record comes last: if this is cut short, the run is what it was.
        for name in (*(str(source["file"]) for source in sources), RECORD):
            (part / name).replace(one.run.folder / name)
    shutil.rmtree(raw / STAGED)
    return found


def _copy(source: Observation, folder: Path, used: set[str], cut: Draft | None = None) -> dict[str, Any]:
    """Copy a file, or the part of it that is the run's own; return where it is from."""
    name = _free(_safe(source.file.base), used)
    note: dict[str, Any] = {"file": name, "from": source.name, "sha256": source.digest}
    note |= {"role": source.role} if source.role == "power" else {}
    path = folder / name
    part = cut.run.part if cut is not None and cut.run.number else None
    if part is None:
        _put(source, path)
        return note
    if part.content:
        with naming(path):
            path.write_bytes(part.content)
        return note
    data = read_bytes(source.file.path)
    name = plain_name(name)
    before = data.count(b"\n", 0, part.begin)
    inside = data[part.begin : part.end]
    with naming(folder / name):
        (folder / name).write_bytes(inside)
    return note | {"file": name, "lines": [before + 1, before + inside.count(b"\n")]}


def _safe(name: str) -> str:
    return re.sub(r"[\x00-\x1f\x7f\\]", "_", display_name(name)).replace("\\", "_")


def _free(name: str, used: set[str]) -> str:
    """Return a name that no other file of the folder has; `name` with a number if it has to be."""
    head, dot, tail = name.partition(".")
    free, number = name, 2
    while free in used:
        free, number = f"{head}-{number}{dot}{tail}", number + 1
    used.add(free)
    return free


def _note(draft: Draft, sources: Iterable[dict[str, Any]]) -> dict[str, Any]:
    recorded = (*FACTORS, "start", "end", "exit_code")
    where = {name: fact.where for name, fact in draft.facts.items() if name in recorded}
    note: dict[str, Any] = {
        "key": key(draft.run),
        "cell": cell_name(draft),
        "files": list(sources),
        "factors": where,
    }
    if draft.run.shared:
        note["beside"] = [one.name for one in draft.run.shared]
    if draft.run.job and not draft.run.alone:
        note["job"] = draft.run.job
    # What else is stated of the run: how its job was queued, all its options and settings, its memory.
    if facts := {name: draft.value(name) for name in _KEPT if draft.value(name)}:
        note["facts"] = facts
    return note


def _own(run: RunFiles) -> bool:
    """Tell whether a run has a document of its own, so that the whole need not be kept."""
    return run.part is not None and bool(run.part.content)


def _write_shared(plan: ImportPlan, raw: Path) -> list[str]:
    """Write the files of the whole campaign; return the names of those that were replaced."""
    renewed = []
    for source in plan.slurm:
        name, replaced = _table_name(source, raw)
        _write(source, raw / name)
        renewed += [name] if replaced else []
    whole = {id(one): one for one in plan.shared}
    whole |= {id(one.run.main): one.run.main for one in plan.runs if one.run.number and not _own(one.run)}
    logs = {one.source.name: one for one in plan.power}
    for folder, observations in (
        ("power", [one.source for one in plan.power]),
        ("beside", [*whole.values()]),
    ):
        used = {path.name for path in raw.glob(f"{folder}/*")}
        for source in observations:
            name = f"{folder}/{_free(_safe(source.name.replace('/', '--')), used)}"
            _write(source, raw / name)
            if source.name in logs:
                logs[source.name].file = name
    return renewed


def _table_name(source: Observation, raw: Path) -> tuple[str, bool]:
    """Name Slurm's table in the campaign: that of a table whose jobs it has all, else a free one."""
    tables = sorted(raw.glob("sacct*.txt"), key=lambda path: (len(path.name), path.name))
    for path in tables:
        if detect(File(path, path.name, path.stat().st_size)).jobs.keys() <= source.jobs.keys():
            return path.name, True
    return _free("sacct.txt", {path.name for path in tables}), False


def _write(source: Observation, path: Path) -> None:
    """Copy a file into a folder that is made if need be; a file of that name is replaced at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        _put(source, temporary)


def _put(source: Observation, path: Path) -> None:
    """Copy a file as it is, a database's folder as a tar."""
    if source.file.path.is_dir():
        content = source.file.content()
        with naming(path):
            path.write_bytes(content)
    else:
        shutil.copyfile(source.file.path, path)


def _application(name: str, runs: Sequence[Draft]) -> str:
    """Declare an application: with the figure of a document's case, or without a reader."""
    cases = (draft for draft in runs if draft.application == name and draft.value("figure"))
    if (case := next(cases, None)) is None:
        return _APPLICATION.format(name=name)
    figure = case.value("figure") | {"title": name, "engine": case.run.engine, "fixed_time": False}
    return "".join(f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in figure.items())


def power_entries(plan: ImportPlan) -> str:
    """Return the YAML that declares the logs whose meters are known to feed certain nodes."""
    entries = [log.entry for log in plan.power if log.feeds]
    return yaml.safe_dump({"power": {"logs": entries}}, sort_keys=False) if entries else ""


def _declaration(plan: ImportPlan) -> str:
    runs = plan.runs or plan.drafts
    nodes = [draft.value("nodes") for draft in runs if draft.value("nodes")]
    most = max(nodes, default=0)
    known = [f"up to {most} nodes" if most > 1 else "1 node"] if most else []
    words = {"cpu": "CPU", "interconnect": "network"}
    for name, word in list(words.items())[: 1 if most == 1 else 2]:  # on one node no link is used
        levels = sorted({str(draft.value(name)) for draft in runs if draft.value(name)})
        known.append(f"{word} {', '.join(levels[:4]) or 'unknown'}")
    applications = sorted({draft.application for draft in runs})
    title = f"{plan.name}: {', '.join(applications[:4])}{' and more' if len(applications) > 4 else ''}"
    quoted = [text.replace("\\", "\\\\").replace('"', '\\"') for text in (title, "; ".join(known))]
    return (
        f'title: "{quoted[0]}"\nevidence: measured\nhardware: "{quoted[1]}"\nnotes:\n'
        "  - Imported from the output of jobs; each record says where its factors come from.\nlevels: {}\n"
    )
