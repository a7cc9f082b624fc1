"""What an ingest would leave out or doubt, and what the witnesses of a campaign contradict: for one gate.

It reads a raw campaign as `ingest` does, by the same functions.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd

from analysis.base.errors import BenchbookError, Fault
from analysis.base.files import RECORD
from analysis.datasets.campaign import Joined, cut, doubtful_labels, join, read_runs
from analysis.datasets.published import read_published
from analysis.datasets.run import RunFolder
from analysis.datasets.tables import sizes
from analysis.datasets.witnesses import examine, tables
from analysis.datasets.witnesses.hearing import Hearing, Testimony
from analysis.readers.run import succeeded
from analysis.schema.stated import IMPORTED

_NOTHING: Mapping[str, Any] = MappingProxyType({})
_LEFT = "the run does not count: correct its record, or put its files where they belong"


def doubts(
    raw: Path, declared: Mapping[str, Any] = _NOTHING, *, progress: bool = False
) -> tuple[list[Fault], list[Fault]]:
    """Read a raw campaign as `ingest` does; return what is contradicted, and what only looks odd.

    `declared` is the campaign's file. Of the first kind are runs that their own files or Slurm contradict,
    files that are damaged though the run ended well, and what witnesses contradict.
    Those of the second kind count as they are. The sources begin with ``data/raw/<campaign>``.
    """
    label = f"data/raw/{raw.name}"
    given = declared.get("power")
    power = given if isinstance(given, dict) else {}
    joined = join(raw, read_runs(raw, power, progress=progress, witnessed=True), power)
    wrong = [
        _in_runs(label, fault) for fault in (*_contradicted(joined), *_damaged(joined), *_excluded(joined))
    ]
    wrong += [replace(fault, source=f"{label}/{fault.source}") for fault in _accounts(joined)]
    micro = sizes(joined.runs)
    odd = [_in_runs(label, fault) for fault in doubtful_labels(joined.runs, micro)]
    imported = {str(run.row["run"]) for run in joined.runs if IMPORTED in run.extra}
    for fault in cut(joined.runs, micro):  # who imports does not know what sizes the options asked for
        (odd if fault.source.partition("/")[0] in imported else wrong).append(_in_runs(label, fault))
    odd += [_in_runs(label, fault) for fault in _impossible(joined)]
    for found in examine(_hearing(raw, label, joined, declared)):
        (wrong if found.grave else odd).append(found.fault)
    return list(dict.fromkeys(wrong)), list(dict.fromkeys(odd))


def doubts_of_tables(raw: Path, declaration: Path) -> tuple[list[Fault], pd.DataFrame]:
    """Read a campaign of tables as `ingest` does: what its rows state against themselves, and its runs.

    There are no runs if the tables cannot be read.
    """
    label = f"data/raw/{raw.name}"
    try:
        groups, faults = read_published(raw, declaration)
    except BenchbookError as error:
        unread = [replace(fault, source=fault.source.replace(str(raw), label)) for fault in error.faults]
        return unread, pd.DataFrame()
    damaged = [fault for text in faults if (fault := _parsed(text))]
    found = [replace(fault, source=f"{label}/{fault.source}") for fault in damaged]
    runs = groups["runs"].to_dataframe().reset_index()
    return [*found, *tables.of_rows(runs, label)], runs


def _in_runs(label: str, fault: Fault) -> Fault:
    return replace(fault, source=f"{label}/runs/{fault.source}")


def _contradicted(joined: Joined) -> Iterator[Fault]:
    """Give the runs whose record cannot be of the same run as its files or its job."""
    for run in joined.runs:
        if why := run.contradiction or joined.contradicted.get(run.row["run"], ""):
            yield Fault(f"{run.row['run']}/{RECORD}", 0, why, _LEFT)


def _damaged(joined: Joined) -> Iterator[Fault]:
    """Give the damage of files in runs that ended well; a run that failed may leave what it likes."""
    for fault in _read_faults(joined, imported=False):
        if not fault.source.endswith(RECORD):
            yield fault


def _impossible(joined: Joined) -> Iterator[Fault]:
    """Give the numbers of imported outputs that contradict each other; cut ones are usual there."""
    for fault in _read_faults(joined, imported=True):
        if fault.remedy.startswith("a number is damaged"):
            yield replace(fault, remedy="a number is wrong: the run does not count")


def _read_faults(joined: Joined, *, imported: bool) -> Iterator[Fault]:
    for run in joined.runs:
        if _ended(run) and (IMPORTED in run.extra) == imported:
            yield from filter(None, map(_parsed, dict.fromkeys(run.damage)))


def _accounts(joined: Joined) -> Iterator[Fault]:
    """Give the damage of Slurm's records."""
    whole = {str(row["path"]): bool(row["complete"]) for row in joined.files.to_dict("records")}
    for name in joined.accounts:
        for text in joined.faults if not whole[name] else ():
            if text.startswith(f"{name}:") and (fault := _parsed(text)):
                yield fault


def _parsed(text: str) -> Fault | None:
    """Return the fault that a line spells, None if it is none."""
    found = re.fullmatch(r"([^:]*)(?::(\d+))?: (.+); (.*)", text, re.DOTALL)
    return Fault(found[1], int(found[2] or 0), found[3], found[4]) if found else None


def _excluded(joined: Joined) -> Iterator[Fault]:
    """Give the runs that ended well and are left out for a reason that nothing else names."""
    for run in joined.runs:
        name, reason = run.row["run"], str(run.row["reason"])
        told = run.contradiction or name in joined.contradicted or run.damage or run.row["exit_code"] != 0
        if (
            reason
            and _ended(run)
            and not told
            and not reason.startswith(("Slurm says", RECORD, "no readable"))
        ):
            yield Fault(f"{name}/{RECORD}", 0, reason, "the run does not count")


def _ended(run: RunFolder) -> bool:
    return succeeded(int(run.row["exit_code"]), run.extra)


def _hearing(raw: Path, label: str, joined: Joined, declared: Mapping[str, Any]) -> Hearing:
    runs = [
        Testimony(
            run.row, run.extra, run.datasets.get("result"), run.datasets.get("profile"), run.sources,
            run.files, run.marks, run.logs,
        )
        for run in joined.runs
    ]  # fmt: skip
    counted = {name: joules for name, joules in joined.counted.items() if joules > 0}
    return Hearing(raw, label, runs, joined.accounts, joined.logs, counted, declared)
