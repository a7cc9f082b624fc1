"""``benchbook verify`` and ``export``: check a raw campaign; write it as an RO-Crate."""

import json
import re
import sys
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from analysis.base import project
from analysis.base.errors import ConfigError, Fault
from analysis.base.files import attempted, read_json
from analysis.base.models import known
from analysis.base.words import counted
from analysis.cli import BAD_INPUT, CAMPAIGN, FINE
from analysis.provenance import manifest, records
from analysis.provenance.facts import SECRET_NAME, SECRET_VALUE


def verify(campaigns: Sequence[str], *, write: bool, force: bool, as_json: bool = False) -> int:
    """Verify campaigns: one line for each fault, a summary for each campaign; return 1 if there is a fault.

    `as_json` prints a list of objects instead, one a campaign, with the same faults and notes. `write` writes
    the manifest first, `force` replaces one that is there. Raises `ConfigError` if there is no such campaign,
    or its manifest cannot be written.
    """
    verified = []
    for name in campaigns:
        folder, label = locate(name)
        if write:
            wrote = manifest.write(folder, label, force=force)
            print(f"{label}/{manifest.NAME}: wrote {wrote} files", file=sys.stderr if as_json else sys.stdout)
        files, runs, faults, notes = _checked(name, folder, label)
        lists = {"faults": [asdict(one) for one in faults], "notes": [asdict(one) for one in notes]}
        verified.append({"campaign": name, "files": files, "runs": runs, **lists})
        if not as_json:
            print(*(*faults, *_grouped(notes)), sep="\n", end="\n" * bool(faults or notes), file=sys.stderr)
            counts = ((files, "file"), (runs, "run"), (len(faults), "fault"), (len(notes), "note"))
            print(f"{name}: " + ", ".join(counted(count, what) for count, what in counts))
    if as_json:
        print(json.dumps(verified, indent=1, ensure_ascii=False))
    return BAD_INPUT if any(one["faults"] for one in verified) else FINE


def _grouped(notes: Sequence[Fault]) -> list[str]:
    """Write notes: of more than three that differ only in words with digits, such as runs, the first."""
    alike: dict[str, list[str]] = {}
    for note in notes:
        alike.setdefault(re.sub(r"\S*\d\S*", "0", f"{note.found}; {note.remedy}"), []).append(str(note))
    lines: list[str] = []
    for found in alike.values():
        more = f" ({len(found) - 1} more like this: --json lists them)"
        lines += found if len(found) <= 3 else [found[0] + more]
    return lines


def _checked(name: str, folder: Path, label: str) -> tuple[int, int, list[Fault], list[Fault]]:
    """Return the files and the runs of a campaign, what is wrong with them, and what only looks odd."""
    files, faults = manifest.check(folder, label)
    declared = declaration(name)
    found = records.check(folder, label, evidence=str(declared.get("evidence", "")))
    count = found.runs
    levels: Mapping[str, Collection[Any]] = found.levels
    if found.runs:
        wrong, odd = against_outputs(folder, declared)
    else:
        wrong, odd, count, levels = against_tables(folder, name)
    missing, more = against_matrix(name, declared, folder)
    claimed = against_claims(name, {} if missing else levels)
    return (
        files,
        count,
        list(dict.fromkeys([*faults, *found.faults, *wrong, *missing, *claimed])),  # each once
        [*found.notes, *odd, *more],
    )


def locate(campaign: str) -> tuple[Path, str]:
    """Return the raw folder of a campaign, and what faults call it."""
    base = project.root()
    folder = project.raw(campaign, base)
    if not CAMPAIGN.fullmatch(campaign) or not folder.is_dir():
        there = sorted(path.name for path in (base / "data" / "raw").glob("[!.]*") if path.is_dir())
        remedy = known(campaign, there)
        raise ConfigError.at(f"data/raw/{campaign}", 0, "is no raw campaign", remedy)
    return folder, f"data/raw/{campaign}"


def declaration(campaign: str) -> dict[str, Any]:
    """Return what ``config/campaigns/<name>.yaml`` says; empty without one."""
    return project.document(project.declaration(campaign))


def against_outputs(folder: Path, declared: dict[str, Any]) -> tuple[list[Fault], list[Fault]]:
    """Check runs against what they printed, and ask the witnesses; return contradictions, and oddities."""
    from analysis.datasets import doubts

    return doubts(folder, declared, progress=sys.stderr.isatty())


def against_tables(
    folder: Path, campaign: str
) -> tuple[list[Fault], list[Fault], int, Mapping[str, Collection[Any]]]:
    """Check the tables of a campaign that has no folders of runs, each row against itself and its repeats.

    Returns faults, oddities (none), the number of runs, and their levels by factor.
    """
    from analysis.datasets import doubts_of_tables
    from analysis.datasets.published import is_published
    from analysis.schema.factors import FACTORS

    if not is_published(folder):
        return [], [], 0, {}
    faults, runs = doubts_of_tables(folder, project.declaration(campaign))
    return faults, [], len(runs), {name: set(runs[name]) for name in FACTORS if name in runs}


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
    failed = Counter(map(attempted, there))
    missing = []
    for name in sorted(names - there):
        tried = f" ({failed[name]} failed)" if failed[name] else ""
        what = f"is missing{tried}: the matrix declares it"
        remedy = "measure the campaign again: only what is missing will run"
        missing.append(Fault(f"data/raw/{campaign}/runs/{name}", 0, what, remedy))
    more = sorted(name for name in there - names if not attempted(name))
    if not more:
        return missing, []
    found = f"{len(more)} runs are not in the matrix, {more[0]} the first"
    remedy = "they count like the others: move them to a campaign of their own if they should not"
    return missing, [Fault(f"config/campaigns/{campaign}.yaml", 0, found, remedy)]


def export(campaign: str, out: str, *, licence: str, published: str, force: bool) -> int:
    """Write a campaign that agrees with its manifest as an RO-Crate.

    An empty licence (SPDX) is that of ``CITATION.cff``, an empty day the one on which the last run ended.
    Raises `ConfigError` if the campaign does not agree with its manifest, or the archive cannot be written.
    """
    from analysis.datasets.applications import load_applications
    from analysis.estimates.campaign import hardware
    from analysis.provenance import crate

    folder, label = locate(campaign)
    base = project.root()
    declared = declaration(campaign)
    measured_on = hardware(str(declared.get("hardware", "")), folder / "runs")
    texts = [measured_on, *(" ".join(str(note).split()) for note in declared.get("notes", ()))]
    listed = load_applications(base / "config" / "applications")
    about = crate.About(
        name=campaign,
        title=str(declared.get("title", campaign)),
        description=" ".join(text if text.endswith(".") else f"{text}." for text in texts if text),
        evidence=str(declared.get("evidence", "")),
        licence=licence or str(project.document(base / "CITATION.cff").get("license", "")),
        published=published,
        hardware=measured_on,
        clusters={path.stem: project.document(path).get("facts", ()) for path in _files(base, "clusters")},
        applications={name: one.title for name, one in listed.items()},
        sources=_sources(base, campaign, declared, folder),
        version=project.version(),
    )
    files, runs = crate.export(folder, label, Path(out), about, force=force)
    print(f"{out}: {files} files, {runs} runs")
    return FINE


def _sources(base: Path, campaign: str, declared: dict[str, Any], folder: Path) -> dict[str, Path]:
    """Return the files by which a campaign was measured, by their paths in the project.

    Without a matrix it was measured otherwise: its own declaration and its applications' remain.
    """
    found = [read_json(path) for path in sorted((folder / "runs").glob("*/run.json"))]
    names = [f"config/campaigns/{campaign}.yaml"]
    names += [f"config/applications/{name}.yaml" for name in {str(one.get("application")) for one in found}]
    if "matrix" in declared:
        names.append(f"config/clusters/{declared['matrix'].get('cluster')}.yaml")
        for name in (names[0], names[-1]):
            if secret := _secret(project.document(base / name)):
                print(f"{name}: not in the crate: {secret!r} looks like a secret", file=sys.stderr)
                names.remove(name)
        names += [str(path.relative_to(base)) for path in base.glob("workflow/Snakefile")]
        names += [str(path.relative_to(base)) for path in base.glob("workflow/rules/*.smk")]
    return {name: base / name for name in sorted(names) if (base / name).is_file()}


def _secret(content: Any, *, variables: bool = False) -> str:
    """Return the first variable of an ``environment`` anywhere in a file that looks like a secret."""
    if isinstance(content, list):
        return next(filter(None, map(_secret, content)), "")
    if not isinstance(content, dict):
        return ""
    for name, value in content.items():
        if variables and (SECRET_NAME.search(str(name)) or SECRET_VALUE.search(str(value))):
            return str(name)
        if inner := _secret(value, variables=name == "environment"):
            return inner
    return ""


def _files(base: Path, kind: str) -> list[Path]:
    return sorted((base / "config" / kind).glob("*.yaml"))
