"""A planned import is written: runs with their records, what lies beside them, declaration, manifest."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from analysis.base.errors import ConfigError
from analysis.base.files import read_bytes, replacing, write_json, write_text
from analysis.datasets.applications import load_applications
from analysis.datasets.run import read_run
from analysis.importing.draft import Draft
from analysis.importing.factors import executed
from analysis.importing.pattern import FACTORS
from analysis.importing.plan import PARALLEL_FROM, RECORD, Plan, cell_name, key, told
from analysis.importing.sight import Sight
from analysis.importing.tree import shown
from analysis.provenance import manifest
from analysis.schema.campaigns import Application

README = "README.md"
STAGED = ".import"  # where a run lies until it is whole
_APPLICATION = """\
title: {name}
# No reader knows what it prints: its runs are compared by their times and profiles.
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
what speaks for several runs: job scripts and descriptions of the hardware.
"""


def write(plan: Plan, raw: Path, declaration: Path, applications: Path) -> list[Path]:
    """Write what is new; return the files of the configuration that were made.

    A run is whole or not there: its folder gets its name last. What a run's record and its files contradict,
    as the ingest reads them, becomes a fault of the plan, and the run is taken out of it. `ConfigError` if
    the manifest cannot be extended.
    """
    made = []
    known = load_applications(applications)
    for name in sorted({draft.application for draft in plan.runs}):
        if name not in known:
            write_text(applications / f"{name}.yaml", _application(name))
            made.append(applications / f"{name}.yaml")
    _write_runs(plan, raw, load_applications(applications))
    renewed = {README, *_write_beside(plan, raw)}
    if not declaration.is_file():
        write_text(declaration, _declaration(plan))
        made.append(declaration)
    write_text(raw / README, _readme(plan, raw))
    faults = manifest.extend(raw, f"data/raw/{plan.name}", _again(renewed))
    if faults:
        raise ConfigError(*faults)
    return made


def _write_runs(plan: Plan, raw: Path, applications: Mapping[str, Application]) -> None:
    """Write all runs, many in several processes, and take out those that contradict themselves."""
    staged = raw / STAGED
    shutil.rmtree(staged, ignore_errors=True)
    (raw / "runs").mkdir(parents=True, exist_ok=True)
    work = partial(_write_run, raw=raw, campaign=plan.name, applications=applications)
    if len(plan.runs) < PARALLEL_FROM:
        said = list(told(map(work, plan.runs), len(plan.runs), "runs written:", True))
    else:
        with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            found = pool.map(work, plan.runs, chunksize=8)
            said = list(told(found, len(plan.runs), "runs written:", True))
    shutil.rmtree(staged, ignore_errors=True)
    for draft, wrong in zip(plan.runs, said, strict=True):
        if wrong:
            draft.fault(wrong)
            plan.faults.append(draft.faults[-1])
    plan.runs = [draft for draft in plan.runs if not draft.faults]


def _again(renewed: Collection[str]) -> Callable[[Collection[str]], Collection[str]]:
    return lambda known: [name for name in known if name in renewed]


def _write_run(draft: Draft, raw: Path, campaign: str, applications: Mapping[str, Application]) -> str:
    """Write a run, unless its record and its files contradict each other: then return how."""
    part = raw / STAGED / draft.name
    part.mkdir(parents=True)
    used: set[str] = {RECORD}
    sources = [_copied(draft.run.main, part, used, draft)]
    sources += [_copied(sight, part, used) for sight in draft.run.files]
    write_json(part / RECORD, record(draft, campaign) | {"imported": _note(draft, sources)})
    if found := read_run(part, applications).contradiction:
        return found
    part.replace(raw / "runs" / draft.name)
    return ""


def _copied(sight: Sight, folder: Path, used: set[str], cut: Draft | None = None) -> dict[str, Any]:
    """Copy a file, or the part of it that is the run's own; return where it is from."""
    name = _free(_safe(sight.file.base), used)
    source: dict[str, Any] = {"file": name, "from": sight.name, "sha256": sight.digest}
    path = folder / name
    part = cut.run.part if cut is not None and cut.run.number else None
    if part is None:
        _copy(sight, path)
        return source
    data = read_bytes(sight.file.path)
    name = re.sub(r"\.(?:gz|xz|zst)$", "", name)
    before = data.count(b"\n", 0, part.begin)
    inside = data[part.begin : part.end]
    (folder / name).write_bytes(inside)
    return source | {"file": name, "lines": [before + 1, before + inside.count(b"\n")]}


def _safe(name: str) -> str:
    return re.sub(r"[\x00-\x1f\x7f\\]", "_", shown(name)).replace("\\", "_")


def _free(name: str, used: set[str]) -> str:
    """Return a name that no other file of the folder has; `name` with a number if it has to be."""
    head, dot, tail = name.partition(".")
    free, number = name, 2
    while free in used:
        free, number = f"{head}-{number}{dot}{tail}", number + 1
    used.add(free)
    return free


def record(draft: Draft, campaign: str) -> dict[str, Any]:
    """Return what ``run.json`` says of a run, but where it is from."""
    values: dict[str, Any] = {"run": draft.name, "campaign": campaign, "evidence": "measured"}
    values["application"] = draft.application
    known = {name: draft.value(name) for name in FACTORS if name not in ("application", "job_id")}
    values |= {name: value for name, value in known.items() if value is not None}
    values |= executed(draft)
    profilers = {
        one.facts["profiler"] for one in (draft.run.main, *draft.run.files) if "profiler" in one.facts
    }
    values["profiler"] = sorted(profilers)[0] if profilers else values.get("profiler")
    # A job that ran several programs is no one run's: its time and state are of all of them.
    if draft.run.alone and draft.run.job:
        values["job_id"] = draft.run.job
    else:
        values.pop("job_id", None)
    values.setdefault("exit_code", None)
    return values


def _note(draft: Draft, sources: Iterable[dict[str, Any]]) -> dict[str, Any]:
    where = {
        name: fact.where
        for name, fact in draft.facts.items()
        if name in (*FACTORS, "start", "end", "exit_code")
    }
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
    if problem := draft.value("problem"):
        note["problem"] = problem
    return note


def _write_beside(plan: Plan, raw: Path) -> list[str]:
    """Put what is of the whole campaign beside the runs; return the names of what was written anew."""
    for at, sight in enumerate(plan.slurm):
        _beside(sight, raw / ("sacct.txt" if not at else f"sacct-{at + 1}.txt"))
    for folder, sights in (("power", plan.power), ("beside", plan.shared)):
        for sight in sights:
            _beside(sight, raw / folder / _safe(sight.name.replace("/", "--")))
    for sight in {id(one.run.main): one.run.main for one in plan.runs if one.run.number}.values():
        _beside(sight, raw / "beside" / _safe(sight.name.replace("/", "--")))
    return [f"sacct{'' if not at else f'-{at + 1}'}.txt" for at in range(len(plan.slurm))]


def _beside(sight: Sight, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as beside:
        _copy(sight, beside)


def _copy(sight: Sight, path: Path) -> None:
    """Copy a file as it is, a database's folder as a tar."""
    if sight.file.path.is_dir():
        path.write_bytes(sight.file.content())
    else:
        shutil.copyfile(sight.file.path, path)


def _declaration(plan: Plan) -> str:
    cpus = sorted({str(draft.value("cpu")) for draft in plan.runs if draft.value("cpu")})
    links = sorted({str(draft.value("interconnect")) for draft in plan.runs if draft.value("interconnect")})
    nodes = [draft.value("nodes") for draft in plan.runs if draft.value("nodes")]
    known = [f"up to {max(nodes)} nodes"] if nodes else []
    known += [f"CPU {', '.join(cpus[:4])}"] if cpus else ["CPU unknown"]
    known += [f"network {', '.join(links[:4])}"] if links else ["network unknown"]
    applications = sorted({draft.application for draft in plan.runs})
    title = f"{plan.name}: {', '.join(applications[:4])}{' and more' if len(applications) > 4 else ''}"
    quoted = [text.replace("\\", "\\\\").replace('"', '\\"') for text in (title, "; ".join(known))]
    return (
        f'title: "{quoted[0]}"\nevidence: measured\nhardware: "{quoted[1]}"\nnotes:\n'
        "  - Imported from the output of jobs; each record says where its factors come from.\nlevels: {}\n"
    )


def _application(name: str) -> str:
    return _APPLICATION.format(name=name)


def _readme(plan: Plan, raw: Path) -> str:
    return _README.format(name=plan.name, count=sum(1 for _ in raw.glob(f"runs/*/{RECORD}")))
