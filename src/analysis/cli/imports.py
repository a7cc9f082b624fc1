"""``benchbook import``: print what a folder of job output would become, ask, and write it."""

import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import redirect_stdout
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from analysis.base import project
from analysis.base.errors import ConfigError, Fault
from analysis.base.files import RECORD, read_json
from analysis.base.words import counted
from analysis.cli import BAD_INPUT, CAMPAIGN, FINE, pasteable
from analysis.datasets.applications import load_applications
from analysis.importing import make, write
from analysis.importing.draft import Draft
from analysis.importing.pattern import FACTORS, compile_pattern, parse_settings
from analysis.importing.plan import ImportPlan, record
from analysis.importing.resolution import NEEDED, lacks, missing
from analysis.importing.table import read_table
from analysis.importing.words import first_of
from analysis.importing.writing import README, power_entries
from analysis.provenance import manifest
from analysis.schema.stated import IMPORTED

_ROWS = 30  # runs, files and faults that are listed
_ALIKE = 3  # other files with a fault, from which on one line says it
_LEVELS = 8  # of a factor, on its line
_WIDEST = 36  # characters of a cell


def import_folder(
    folder: str, name: str, pattern: str, given: Sequence[str], table: str, *, yes: bool, as_json: bool
) -> int:
    """Import a folder as a raw campaign, with `yes` or one on the terminal; return 1 for runs at fault."""
    if not CAMPAIGN.fullmatch(name):
        raise ConfigError.at(
            name, 0, "is no name for a campaign", "use letters, digits, dots, dashes, underscores"
        )
    base = project.here()
    raw, declaration = project.raw(name, base), project.declaration(name, base)
    _check_target(raw, declaration, base)
    applications = base / "config" / "applications"
    plan = make(
        Path(folder), name, raw, load_applications(applications),
        pattern=compile_pattern(pattern) if pattern else None, given=parse_settings(list(given)),
        table=read_table(table) if table else None, progress=True,
    )  # fmt: skip
    try:
        if as_json:
            print(json.dumps(as_object(plan), indent=1, ensure_ascii=False))
        else:
            _print_plan(plan, patterned=bool(pattern))
        sys.stdout.flush()
    except BrokenPipeError:  # as of `| head`: what --yes asks for is still done
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    _print_faults(plan.faults)
    printed = len(plan.faults)
    status = BAD_INPUT if plan.faults else FINE
    if not plan.new and not (plan.known and _is_cut_short(raw, declaration)):
        if plan.faults:
            return status
        if not plan.known and not (plan.placed and any(raw.glob(f"runs/*/{RECORD}"))):
            raise ConfigError.at(
                folder, 0, "holds no output that a reader recognises", "docs/formats.md says what is read"
            )
        print(f"nothing new: {plan.known} runs are in data/raw/{name}", file=sys.stderr)
        return status
    _answer(plan, yes=yes)
    if not (yes or _confirm(plan)):
        return status
    made = write(plan, raw, declaration, applications)
    _print_faults(plan.faults[printed:])
    with redirect_stdout(sys.stderr if as_json else sys.stdout):  # the object is all of the output
        _print_written(plan, [path.relative_to(base) for path in made])
    return BAD_INPUT if plan.faults else FINE


def _check_target(raw: Path, declaration: Path, base: Path) -> None:
    runs, found = list(raw.glob(f"runs/*/{RECORD}")), ""
    if runs and not any(IMPORTED in read_json(path) for path in runs):
        found = "has runs that were not imported"
    elif declaration.is_file() and not runs and raw.is_dir() and any(raw.iterdir()) and not _is_ours(raw):
        found = "is declared, and its folder has files that were not imported"
    if found:
        raise ConfigError.at(str(raw.relative_to(base)), 0, found, "choose another name with --as")


def _is_ours(raw: Path) -> bool:
    """Tell whether a folder is of an import, all runs of which may have been removed."""
    page = raw / README
    return page.is_file() and b"imported by `benchbook import`" in page.read_bytes()


def _is_cut_short(raw: Path, declaration: Path) -> bool:
    """Tell whether an import ended after it wrote runs and before it declared and listed them."""
    listed = raw / manifest.NAME
    text = listed.read_text(encoding="utf-8", errors="replace") if listed.is_file() else ""
    records = (path.relative_to(raw).as_posix() for path in raw.glob(f"runs/*/{RECORD}"))
    return not declaration.is_file() or any(f"  {name}\n" not in text for name in records)


def _answer(plan: ImportPlan, *, yes: bool) -> None:
    """Ask whether what the groups of a cell follow is a factor; with `yes` it is."""
    for doubt in plan.doubts:
        if not doubt.split.fact:
            continue
        asked = sys.stdin.isatty() and sys.stdout.isatty() and not yes
        if yes or (asked and input(f"{doubt.question} a factor [y/N] ").strip().lower() in ("y", "yes")):
            doubt.take()
            print(f"taken as a factor: {doubt.split.fact} of {len(doubt.drafts)} runs", file=sys.stderr)


def _confirm(plan: ImportPlan) -> bool:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        print(f"nothing was written; to write data/raw/{plan.name}, give --yes", file=sys.stderr)
        return False
    more = f", and add to {len(plan.joined)}" if plan.joined else ""
    answer = input(f"write {len(plan.runs)} runs to data/raw/{plan.name}{more}? [y/N] ")
    return answer.strip().lower() in ("y", "yes")


def as_object(plan: ImportPlan) -> dict[str, Any]:
    """Return a plan as plain values, the runs with their records and where each factor comes from."""
    runs = [
        record(draft, plan.name)
        | {
            "files": [draft.run.main.name, *(one.name for one in draft.run.files)],
            "where": {name: fact.where for name, fact in draft.facts.items() if name in FACTORS},
            "missing": list(missing(draft)),
        }
        for draft in plan.runs
    ]
    return {
        "campaign": plan.name,
        "files": plan.files,
        "placed": plan.placed,
        "known": plan.known,
        "runs": runs,
        "joined": [
            {"run": one.run.name, "files": [file.name for file in one.files], "where": one.stated}
            for one in plan.joined
        ],
        "guessed": plan.guesses,
        "notes": plan.notes,
        "questions": [doubt.question for doubt in plan.doubts],
        "faults": [str(fault) for fault in plan.faults],
        "unplaced": plan.unplaced,
    }


def _print_faults(faults: Sequence[Fault]) -> None:
    """Print a line for each fault; of a fault of many files, as of a wrong --pattern, one line for all."""
    alike: dict[tuple[str, str], list[Fault]] = {}
    for one in faults:
        alike.setdefault((one.found, one.remedy), []).append(one)
    for first, *others in alike.values():
        if len(others) < _ALIKE:
            print(first, *others, sep="\n", file=sys.stderr)
        else:
            print(f"{first} ({len(others)} more files have the same fault)", file=sys.stderr)


def _print_plan(plan: ImportPlan, *, patterned: bool) -> None:
    """Print what would be written: runs, where their factors come from, files of no run.

    Unless `patterned`, say how to name the parts of a path that were not understood.
    """
    whole = f"{counted(plan.files, 'file')}, {plan.placed} with a place; {counted(len(plan.runs), 'new run')}"
    known = f", {plan.known} imported before" if plan.known else ""
    known += f", {len(plan.joined)} with new files or facts" if plan.joined else ""
    print(f"{whole}{known}, {counted(len(plan.faults), 'fault')} in reading")
    for line in plan.guesses:
        print(f"guessed: {line}")
    for line in plan.notes:
        print(f"note: {line}")
    if not patterned and any("not understood" in line for line in plan.guesses):
        print("to say what each folder means, give --pattern, such as --pattern '{interconnect}/{}'")
    for doubt in plan.doubts:
        print(f"question: {doubt.question}")
    if plan.runs:
        print()
        _table(_factor_rows(plan.runs))
        print()
        _table(_run_rows(plan.runs))
        _more(len(plan.runs), "runs")
        print(f"\ndates: {_dates(plan.runs)}")
    if plan.joined:
        print(f"\nruns imported before that gain files or facts: {len(plan.joined)}")
        for one in plan.joined[:_ROWS]:
            files = ", ".join(file.name for file in one.files)
            facts = ", ".join(f"{name} ({where})" for name, where in one.stated.items())
            print(f"  {one.run.name}: {'; '.join(filter(None, [files, facts]))}")
        _more(len(plan.joined), "runs")
    if plan.slurm:
        print(f"\nSlurm: {plan.jobs} jobs in {', '.join(one.name for one in plan.slurm)}")
    for log in plan.power:
        print(f"\npower log of several runs: {log.source.name} {log.text}")
        if log.feeds:
            print(f"guessed: power.logs: meters: {json.dumps(log.feeds)}")
    if plan.unplaced:
        print(f"\nwithout a place: {len(plan.unplaced)}")
        for reason, names in _by_reason(plan.unplaced):
            print(f"  {first_of(names)}: {reason}")


def _dates(runs: Sequence[Draft]) -> str:
    """Return the first and the last day of runs, how many have no date, and by what those are ordered."""
    starts = sorted(float(draft.value("start")) for draft in runs if draft.value("start"))
    days = [f"{datetime.fromtimestamp(one, UTC):%Y-%m-%d}" for one in (starts[:1] + starts[-1:])]
    lone = [draft for draft in runs if not draft.value("start")]
    timed = sum(draft.value("order") is not None for draft in lone)
    by_name = len(lone) - timed
    parts = [
        " to ".join(dict.fromkeys(days)),
        f"{counted(timed, 'run')} ordered by the times in the names of their files" if timed else "",
        f"{counted(by_name, 'run')} without a date, ordered by their names" if by_name else "",
    ]
    return "; ".join(filter(None, parts))


def _factor_rows(runs: Sequence[Draft]) -> list[list[str]]:
    """Make a row for each factor: its levels, their sources, how many runs have none."""
    rows = [["factor", "levels", "from", "missing"]]
    names = ["application", *(name for name in FACTORS if name not in ("application", "repeat", "version"))]
    for name in names:
        values = [draft.application if name == "application" else draft.value(name) for draft in runs]
        levels = Counter(str(value) for value in values if value is not None)
        lacking = sum(lacks(draft, name) for draft in runs) if name != "application" else 0
        if not levels:
            if name in NEEDED and lacking:
                some = f"all {lacking}" if lacking == len(runs) else str(lacking)
                rows.append([name, "-", f"not known: give --set {name}=...", some])
            continue
        order = sorted(
            levels,
            key=lambda text: (not text.replace(".", "").isdigit(), len(text) if text.isdigit() else 0, text),
        )
        listed = ", ".join(order[:_LEVELS])
        listed += f" and {len(order) - _LEVELS} more" if len(order) > _LEVELS else ""
        remedy = f": --set {name}=... or --table" if name in NEEDED else ""
        rows.append([name, listed, _sources(name, runs), f"{lacking}{remedy}" if lacking else ""])
    return rows


def _sources(name: str, runs: Sequence[Draft]) -> str:
    if name == "application":
        return "output"
    found = Counter(draft.facts[name].where.partition(":")[0] for draft in runs if name in draft.facts)
    return ", ".join(source for source, _ in found.most_common(3))


def _run_rows(runs: Sequence[Draft]) -> list[list[str]]:
    """Make a row for each run: what varies between runs, and what is missing."""
    varying = [
        name
        for name in FACTORS
        if name not in ("application", "job_id") and len({str(draft.value(name)) for draft in runs}) > 1
    ]
    rows = [["run", "application", *varying, "missing"]]
    for draft in runs[:_ROWS]:
        values = ("" if draft.value(name) is None else str(draft.value(name)) for name in varying)
        rows.append([draft.name, draft.application, *values, " ".join(missing(draft))])
    return rows


def _table(rows: Sequence[Sequence[str]]) -> None:
    cut = [[_cut(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cut, strict=True)]
    for row in cut:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 2 * _WIDEST else f"{line[:_WIDEST]}...{line[-_WIDEST:]}"


def _more(count: int, what: str) -> None:
    if count > _ROWS:
        print(f"... and {count - _ROWS} more {what}; --json shows all")


def _by_reason(unplaced: dict[str, str]) -> Iterable[tuple[str, list[str]]]:
    """Group files by reason, the most frequent first."""
    found: dict[str, list[str]] = {}
    for name, why in unplaced.items():
        short = why.partition("; docs/formats.md")[0]
        short = "has no known format" if short.startswith("has no known format") else short
        short = "is a copy" if short.startswith("is a copy") else short
        found.setdefault(short, []).append(name)
    return sorted(found.items(), key=lambda item: -len(item[1]))[:_ROWS]


def _print_written(plan: ImportPlan, made: Sequence[Path]) -> None:
    more = f", and added to {len(plan.joined)}" if plan.joined else ""
    print(f"\nwrote {len(plan.runs)} runs to data/raw/{plan.name}{more}")
    for path in made:
        print(f"wrote {path}")
    declaration = Path("config") / "campaigns" / f"{plan.name}.yaml"
    if declaration not in made and (entries := power_entries(plan)):
        print(f"add to {declaration}, so that energy is computed from the new power logs:\n{entries}", end="")
    print(pasteable(f"next: benchbook verify {plan.name}  # says which runs do not count, and why"))
