"""Runs that are like those of other factors than their own: named, and kept.

Labels that no output states, as of a link, can be wrong in a record. A run is held against the others of its
cell (the runs with all factors alike) by its launch line and by its figures.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from analysis.base.errors import Fault
from analysis.schema import registry

# What one execution of a cell has of its own, or does not change what is run.
_OWN = ("run", "campaign", "evidence", "question", "repeat", "order")
FACTORS = tuple(
    name for name, one in registry.declared("runs").items() if one.coordinate and name not in _OWN
)
# A cell of fewer runs has no scatter of its own, and a command of fewer no usage.
_FEWEST = 3
# Two cells are told apart where their medians are so many median deviations from each other.
FAR = 6.0
# And a run is of the other one that is so many times nearer to it.
NEARER = 3.0
# Where more of the other runs of its cell are so too, the cell has two kinds by itself.
_MIXED = 0.2

Labels = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Seen:
    """A run that counts: its row of the kind ``runs``, and the logarithms of its figures by message size."""

    row: Mapping[str, Any]
    figures: Mapping[int, float]

    @property
    def labels(self) -> Labels:
        """Its levels of `FACTORS`, as text."""
        return tuple(str(self.row[name]) for name in FACTORS)


def seen(row: Mapping[str, Any], table: pd.DataFrame | None = None) -> Seen:
    """Take a run's figures: its table of sizes, or its figure of merit."""
    if table is not None and len(table):
        name = "latency" if table["latency"].notna().any() else "bandwidth"
        values = dict(zip(map(int, table["size"]), table[name].astype(float), strict=True))
    else:
        values = {0: float(row["figure_of_merit"])}
    return Seen(row, {size: float(np.log(value)) for size, value in values.items() if value > 0})


def unlike(runs: Sequence[Seen]) -> Iterator[Fault]:
    """Name the runs whose launch line or whose figures are those of another level than their record's."""
    named: set[str] = set()
    for name, said in (*_by_command(runs), *_by_figures(runs)):
        if name not in named:
            named.add(name)
            remedy = "is its record of another run? it counts as it says"
            yield Fault(f"{name}/run.json", 0, said, remedy)


def _by_command(runs: Iterable[Seen]) -> Iterator[tuple[str, str]]:
    """Find runs with a level that no other run with their command has, while the others share theirs."""
    commands: dict[tuple[str, str], list[Seen]] = defaultdict(list)
    for one in runs:
        # A launch line may name the folder of its run.
        text = str(one.row["command"]).replace(str(one.row["run"]), "")
        if text:
            commands[str(one.row["application"]), re.sub(r"\s+", " ", text)].append(one)
    for alike in commands.values():
        for at, factor in enumerate(FACTORS):
            levels = Counter(one.labels[at] for one in alike)
            single = [one for one in alike if levels[one.labels[at]] == 1]
            if len(single) == 1 and len(alike) > _FEWEST:
                others = " or ".join(sorted(set(levels) - {single[0].labels[at]}))
                said = f"says {factor} {single[0].labels[at]!r}; all {len(alike) - 1} other runs"
                yield str(single[0].row["run"]), f"{said} with its command say {others}"


def _by_figures(runs: Iterable[Seen]) -> Iterator[tuple[str, str]]:
    """Find runs that are far from their own cell, and near to one that differs in a single factor."""
    cells: dict[Labels, list[Seen]] = defaultdict(list)
    for one in runs:
        if one.figures:
            cells[one.labels].append(one)
    whole = {labels: _Cell.of(members) for labels, members in cells.items() if len(members) >= _FEWEST}
    for labels, members in cells.items():
        near = {other: cell for other, cell in whole.items() if _apart(labels, other) == 1}
        for one in members:
            rest = [other for other in members if other is not one]
            if len(rest) >= _FEWEST - 1 and near:
                yield from _far(one, rest, near)


@dataclass(frozen=True, slots=True)
class _Cell:
    """Median of a cell's figures by size, and the median distance from it; logarithms."""

    middle: Mapping[int, float]
    scatter: Mapping[int, float]

    @classmethod
    def of(cls, members: Iterable[Seen]) -> _Cell:
        found = defaultdict(list)
        for one in members:
            for size, value in one.figures.items():
                found[size].append(value)
        middle = {size: float(np.median(values)) for size, values in found.items()}
        scatter = {
            size: float(np.median(np.abs(np.subtract(values, middle[size]))))
            for size, values in found.items()
        }
        return cls(middle, scatter)


def _far(one: Seen, rest: list[Seen], near: Mapping[Labels, _Cell]) -> Iterator[tuple[str, str]]:
    """Hold a run against the others of its cell and each near one, at the sizes that tell the two apart."""
    own = _Cell.of(rest)
    best: tuple[float, float, Labels] | None = None
    for labels, other in near.items():
        sizes = _telling(own, other, near.values())
        sizes = [size for size in sizes if size in one.figures]
        if len(sizes) < min(_FEWEST, len(own.middle)):
            continue
        away, there = (_distance(one.figures, cell.middle, sizes) for cell in (own, other))
        if away > NEARER * there and (best is None or there < best[1]) and _whole(rest, own, other, sizes):
            best = away, there, labels
    if best is not None:
        away, there, labels = best
        at = next(at for at, level in enumerate(labels) if level != one.labels[at])
        said = f"is off the other {len(rest)} runs of its factors by a factor of {np.exp(away):.3g}"
        where = f"off those with {FACTORS[at]} {labels[at]!r} by {np.exp(there):.3g}"
        yield str(one.row["run"]), f"{said}, {where}, where the two differ beyond their scatter"


def _whole(rest: list[Seen], own: _Cell, other: _Cell, sizes: list[int]) -> bool:
    """Tell whether a cell is of one kind, and not of two of which one is like the other cell."""
    like = 0
    for one in rest:
        common = [size for size in sizes if size in one.figures]
        if common:
            away, there = (_distance(one.figures, cell.middle, common) for cell in (own, other))
            like += away > there
    return like <= _MIXED * len(rest)


def _telling(own: _Cell, other: _Cell, near: Iterable[_Cell]) -> list[int]:
    """Return the sizes at which two cells are further apart than runs scatter."""
    found = []
    for size in sorted(own.middle.keys() & other.middle.keys()):
        # Three runs can lie close together by chance: the cells around them say how much is usual.
        usual = float(np.median([cell.scatter[size] for cell in near if size in cell.scatter]))
        scatter = max(own.scatter[size], other.scatter[size], usual)
        if abs(own.middle[size] - other.middle[size]) > FAR * scatter:
            found.append(size)
    return found


def _distance(figures: Mapping[int, float], middle: Mapping[int, float], sizes: Sequence[int]) -> float:
    return float(np.median([abs(figures[size] - middle[size]) for size in sizes]))


def _apart(one: Labels, other: Labels) -> int:
    return sum(a != b for a, b in zip(one, other, strict=True))
