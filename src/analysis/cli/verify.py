"""``benchbook verify``: check a raw campaign against its manifest, its records and its declaration."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from analysis.base import project
from analysis.base.errors import ConfigError, Fault
from analysis.cli import BAD_INPUT, CAMPAIGN, FINE
from analysis.provenance import manifest, records


def verify(campaigns: Sequence[str], *, write: bool, force: bool) -> int:
    """Verify campaigns: one line for each fault, a summary for each campaign; return 1 if there is a fault.

    `write` writes the manifest first, `force` replaces one that is there. Raises `ConfigError` if there is no
    such campaign, or its manifest cannot be written.
    """
    faulty = 0
    for name in campaigns:
        folder, label = locate(name)
        if write:
            print(f"{label}/{manifest.NAME}: wrote {manifest.write(folder, label, force=force)} files")
        files, faults = manifest.check(folder, label)
        declared = declaration(name)
        found = records.check(folder, label, evidence=str(declared.get("evidence", "")))
        faults += found.faults
        wrong, odd = against_outputs(folder, declared) if found.runs else (against_tables(folder, name), [])
        faults += wrong
        found.notes.extend(odd)
        missing, more = against_matrix(name, declared, folder)
        faults += missing
        faults += against_claims(name, {} if missing else found.levels)
        found.notes.extend(more)
        for fault in (*faults, *found.notes):
            print(fault, file=sys.stderr)
        faulty += len(faults)
        counts = ((files, "file"), (found.runs, "run"), (len(faults), "fault"), (len(found.notes), "note"))
        print(f"{name}: " + ", ".join(f"{count} {what}{'' if count == 1 else 's'}" for count, what in counts))
    return BAD_INPUT if faulty else FINE


def locate(campaign: str) -> tuple[Path, str]:
    """Return the raw folder of a campaign, and what faults call it."""
    base = project.root()
    folder = project.raw(campaign, base)
    if not CAMPAIGN.fullmatch(campaign) or not folder.is_dir():
        known = sorted(path.name for path in (base / "data" / "raw").glob("[!.]*") if path.is_dir())
        remedy = f"known: {', '.join(known) or 'none'}"
        raise ConfigError.at(f"data/raw/{campaign}", 0, "is no raw campaign", remedy)
    return folder, f"data/raw/{campaign}"


def declaration(campaign: str) -> dict[str, Any]:
    """Return what ``config/campaigns/<name>.yaml`` says; empty without one."""
    return document(project.declaration(campaign))


def document(path: Path) -> dict[str, Any]:
    """Return what a YAML file says; empty without one, or if it is no mapping."""
    found = project.load_yaml(path) if path.is_file() else {}
    return found if isinstance(found, dict) else {}


def against_outputs(folder: Path, declared: dict[str, Any]) -> tuple[list[Fault], list[Fault]]:
    """Check runs against what they printed, and ask the witnesses; return contradictions, and oddities."""
    from analysis.datasets import doubts

    return doubts(folder, declared, progress=sys.stderr.isatty())


def against_tables(folder: Path, campaign: str) -> list[Fault]:
    """Check the tables of a campaign that others published, each row against itself and its repeats."""
    from analysis.datasets import doubts_of_tables
    from analysis.datasets.published import is_published

    return doubts_of_tables(folder, project.declaration(campaign)) if is_published(folder) else []


def against_claims(campaign: str, own: Mapping[str, Collection[Any]]) -> list[Fault]:
    """Check the levels that a campaign declares for those of reports, by their claims and by its own runs."""
    base = project.root()
    path = base / "config" / "campaigns" / f"{campaign}.yaml"
    if not path.is_file():
        return []
    from analysis.claims.levels import misspelt, reports_of

    try:
        return misspelt(path, f"config/campaigns/{campaign}.yaml", reports_of(campaign, base), own)
    except ConfigError as error:
        return list(error.faults)


def against_matrix(campaign: str, declared: dict[str, Any], folder: Path) -> tuple[list[Fault], list[Fault]]:
    """Check the runs that are there against those that a campaign's matrix declares."""
    if "matrix" not in declared:
        return [], []
    from analysis.measure.workflow import all_runs

    names = {name for run in all_runs(campaign, project.root()) for name in run.records}
    there = {path.name for path in (folder / "runs").glob("*")}
    failed = Counter(name.rpartition(".failed-")[0] for name in there)
    missing = []
    for name in sorted(names - there):
        tried = f" ({failed[name]} failed)" if failed[name] else ""
        what = f"is missing{tried}: the matrix declares it"
        remedy = "measure the campaign again: only what is missing will run"
        missing.append(Fault(f"data/raw/{campaign}/runs/{name}", 0, what, remedy))
    more = sorted(name for name in there - names if ".failed-" not in name)
    if not more:
        return missing, []
    found = f"{len(more)} runs are not in the matrix, {more[0]} the first"
    remedy = "they count like the others: move them to a campaign of their own if they should not"
    return missing, [Fault(f"config/campaigns/{campaign}.yaml", 0, found, remedy)]
