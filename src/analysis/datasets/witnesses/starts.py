"""Witnesses of a whole start of a campaign that was removed: its jobs, its place in the order, the matrix."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd
import yaml

from analysis.base.errors import Fault
from analysis.datasets.witnesses.hearing import Hearing, Testimony, listed, witness
from analysis.schema.factors import BY_NAME
from analysis.schema.stated import IMPORTED

# The file that was measured, next to the runs: what it asks for was there once.
_MATRIX = "campaign.txt"
# Positions that a start had are in one block or two, each of so many; a run that is left has at most so many.
_BLOCKS, _FEWEST, _LEFT = 2, 3, 5
_REMOVED = "put back what was removed, or say in README.md why it is missing"


@witness("comment of a job", "names of runs")
def starts_without_runs(case: Hearing) -> Iterator[Fault]:
    """Find jobs of a start of Benchbook that has left no run, if their comment names one not there."""
    mark = f"_{case.folder.name}_"
    starts = {run.section("slurm").get("job_name") for run in case.runs} - {None}
    named = {run.account for run in case.runs}
    there = {run.name for run in case.runs} | {str(run.extra.get("attempt_at", "")) for run in case.runs}
    for name, row in case.jobs.items() if starts else ():
        given: Any = row.get("comment", "")
        missing = "" if pd.isna(given) else str(given).partition(mark)[2]
        gone = missing and missing not in there and name not in named
        if gone and row["state"] == "COMPLETED" and row.get("job_name") not in starts:
            what = f"lists job {name} of run {missing}, which no start that is left has measured"
            yield case.beside(row["file"], what, _REMOVED, text=f"{name}|")


@witness("order of the runs of one start", "order of the others")
def blocks_in_order(case: Hearing) -> Iterator[Fault]:
    """Find a block of positions in the order of execution that no run has: those of a start or a day."""
    have = {int(run.row["order"]) for run in case.runs if IMPORTED not in run.extra} - {-1}
    last = max(have, default=0)
    blocks = _blocks({*range(1, last)} - have)
    lacking = sum(len(block) for block in blocks)
    rest = len(have) < _FEWEST or lacking > _LEFT * len(have)
    # Single positions are another witness's, and scattered ones count nothing.
    if blocks and not rest and len(blocks) <= _BLOCKS and all(len(block) >= _FEWEST for block in blocks):
        gone = " and ".join(f"{block[0]} to {block[-1]}" for block in blocks)
        what = f"order goes up to {last}, and no run has {gone}"
        yield Fault(f"{case.label}/runs", 0, what, _REMOVED)


def _blocks(numbers: Collection[int]) -> list[range]:
    """Return numbers as ranges without a hole."""
    found: list[range] = []
    for one in sorted(numbers):
        if found and found[-1].stop == one:
            found[-1] = range(found[-1].start, one + 1)
        else:
            found.append(range(one, one + 1))
    return found


@witness("runs", "the matrix that was measured")
def runs_of_matrix(case: Hearing) -> Iterator[Fault]:
    """Find repetitions and levels that `campaign.txt` asks for, and that no run has."""
    for what in _lacking(case, _measured(case)):
        yield case.beside(_MATRIX, f"asks for {what}", _REMOVED, text="matrix:")


@witness("runs", "the matrix of the campaign", grave=False)
def runs_to_measure(case: Hearing) -> Iterator[Fault]:
    """Find repetitions and levels that the campaign's file asks for, and that no run has."""
    for what in _lacking(case, _section(case.declared, "matrix")) if not _measured(case) else ():
        name = f"config/campaigns/{case.folder.name}.yaml"
        yield Fault(name, 0, f"asks for {what}", "measure them; if they were there, put them back")


def _measured(case: Hearing) -> Mapping[str, Any]:
    """Return the matrix next to the runs, empty without one that can be read."""
    try:
        return _section(yaml.safe_load((case.folder / _MATRIX).read_text(encoding="utf-8")), "matrix")
    except (OSError, ValueError, yaml.YAMLError):
        return {}


def _section(content: Any, name: str) -> Mapping[str, Any]:
    found = content.get(name) if isinstance(content, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _lacking(case: Hearing, matrix: Mapping[str, Any]) -> Iterator[str]:
    """Say what runs of a matrix are not there, of each subset that some runs name as their question."""
    asked_of: dict[str, list[Testimony]] = defaultdict(list)
    for run in case.runs:
        asked_of[str(run.row["question"])].append(run)
    subsets = matrix.get("subsets")
    for subset in subsets if isinstance(subsets, list) else ():
        # Runs that two subsets ask for name one of them: another one may have none of its own.
        runs = asked_of.get(str(_plain(subset, "name")), [])
        name = runs[0].row["question"] if runs else ""
        repeats = _least(_plain(subset, "repeats") or matrix.get("repeats"))
        whole = [run for run in runs if not run.extra.get("reason")]  # others lack what their output states
        counts = [len({int(run.row["repeat"]) for run in cell} - {-1}) for cell in case.cells(whole)]
        short_of = [count for count in counts if 0 < count < repeats]
        if short_of:
            one = "its cell has" if len(counts) == 1 else f"{len(short_of)} of {len(counts)} cells have"
            yield f"{repeats} repetitions of {name}; {one} {listed(map(str, sorted({*short_of})))}"
        for factor, levels in _levels(matrix, subset).items() if runs else ():
            have = {run.row[factor] for run in case.runs}
            if gone := [level for level in levels if level not in have]:
                it = "it" if len(gone) == 1 else "them"
                yield f"{factor} {listed(map(str, gone))} in {name}, and no run has {it}"


def _plain(content: Any, name: str) -> Any:
    return content.get(name) if isinstance(content, Mapping) else None


def _least(repeats: Any) -> int:
    """Return how many repetitions are asked for at least: a number, or the least one of adaptive ones."""
    found = _plain(repeats, "least") if isinstance(repeats, Mapping) else repeats
    return found if isinstance(found, int) else 0


def _levels(matrix: Mapping[str, Any], subset: Any) -> dict[str, Sequence[int]]:
    """Return the numbers that a subset lists of a factor; none if some combinations are left out."""
    if any(key.startswith("exclu") for one in (matrix, subset) for key in one):
        return {}
    listed_ = {**_section(matrix, "factors"), **_section(subset, "factors")}
    return {
        name: levels
        for name, levels in listed_.items()
        if isinstance(levels, list) and name in BY_NAME and all(type(level) is int for level in levels)
    }
