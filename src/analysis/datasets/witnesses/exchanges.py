"""Witnesses of outputs that were exchanged between cells: each is like the runs of the other's cell."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median

import numpy as np

from analysis.base.errors import Fault
from analysis.datasets.witnesses.hearing import Hearing, Testimony, witness

# An output is off its cell by such a factor, and so many median distances, and is so many times nearer to
# the other cell.
_OFF, _FAR, _NEARER = float(np.log(1.5)), 6.0, 3.0
# A cell of fewer runs has no middle that one of them leaves where it is; fewer figures are near by chance.
_FEWEST, _FIGURES = 3, 4
# Outputs of a declared truth are drawn, not measured.
_DRAWN = "synthetic"

Figures = Mapping[Hashable, float]  # logarithms, by message size or by place


@dataclass(frozen=True, slots=True)
class _Cell:
    """Runs of equal factors with their figures, the median of each figure, and the usual distance from it."""

    members: Sequence[tuple[Testimony, Figures]]
    middle: Figures
    scatter: float

    @classmethod
    def of(cls, members: Sequence[tuple[Testimony, Figures]]) -> _Cell:
        found = defaultdict(list)
        for _, figures in members:
            for key, value in figures.items():
                found[key].append(value)
        middle = {key: median(values) for key, values in found.items()}
        away = [known for _, figures in members if (known := _distance(figures, middle)) is not None]
        return cls(members, middle, median(away) if away else np.inf)


def _distance(figures: Figures, middle: Figures) -> float | None:
    """Return how far figures usually are from those of a cell; None if too few have a counterpart."""
    apart = [abs(value - middle[key]) for key, value in figures.items() if key in middle]
    return median(apart) if len(apart) >= _FIGURES else None


@witness("outputs of two runs", "outputs of the other runs of their cells")
def exchanged_outputs(case: Hearing) -> Iterator[Fault]:
    """Find two runs each of whose outputs is like those of the other's cell, and not of its own."""
    for cells in _by_case(case).values():
        for one, other in combinations(_away(cells), 2):
            if one[1] is not other[1] and _nearer(one, other[1]) and _nearer(other, one[1]):
                for (run, cell, off), (their, *_) in ((one, other), (other, one)):
                    what = f"its output is off the {len(cell.members) - 1} other runs of its factors by a"
                    what = f"{what} factor of {np.exp(off):.3g}, and that of run {their.name} is like them"
                    remedy = "were the two exchanged? put back the run's own file"
                    yield case.of_run(run, what, remedy, file=run.file("result"))


def _by_case(case: Hearing) -> Mapping[tuple[str, str], Sequence[_Cell]]:
    """Return the cells that are large enough, by application and case."""
    known = [run for run in case.ended if run.result is not None and run.row["evidence"] != _DRAWN]
    found: dict[tuple[str, str], list[_Cell]] = defaultdict(list)
    for cell in case.cells(known):
        members = [(run, figures) for run in cell if len(figures := _figures(run)) >= _FIGURES]
        if len(members) >= _FEWEST:
            found[str(cell[0].row["application"]), str(cell[0].row["case"])].append(_Cell.of(members))
    return found


def _figures(run: Testimony) -> Figures:
    """Return a table by its sizes, of another result all that it has measured."""
    assert run.result is not None  # the caller has asked
    if "size" not in run.result.dims:
        return {(run.figures.size, at): value for at, value in enumerate(np.log(run.figures).tolist())}
    values = run.table().ravel()
    sizes = run.result["size"].values.tolist()
    pairs = zip(sizes, values.tolist(), strict=True) if values.size == len(sizes) else ()
    return {size: float(np.log(value)) for size, value in pairs if value > 0}


Away = tuple[Testimony, _Cell, float]


def _away(cells: Sequence[_Cell]) -> Iterator[Away]:
    """Give the runs that are off their own cell, with it and the distance."""
    for cell in cells if len(cells) > 1 else ():
        for run, figures in cell.members:
            off = _distance(figures, cell.middle)
            if off is not None and off > max(_OFF, _FAR * cell.scatter):
                yield run, cell, off


def _nearer(one: Away, cell: _Cell) -> bool:
    run, _, off = one
    there = _distance(_figures(run), cell.middle)
    return there is not None and _NEARER * there < off
