"""Runs whose labels look wrong: they resemble the runs of another level. They are listed, and kept.

Labels that no output states, such as a link, can be wrong in a record. A run is compared with the others of
its cell (the runs with equal factors) by its launch line and by its figures.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median  # of few numbers many times faster than numpy's
from types import MappingProxyType
from typing import Any

import numpy as np

from analysis.base.errors import Fault
from analysis.schema import registry
from analysis.schema.registry import Columns
from analysis.schema.stated import IMPORTED, section, source_of

# What differs between executions of a cell, or does not change what is run.
_OWN = ("run", "campaign", "evidence", "question", "repeat", "order")
FACTORS = tuple(
    name for name, one in registry.declared("runs").items() if one.coordinate and name not in _OWN
)
_UNKNOWN = ("", "-1")  # levels, as text
_JOINED = ("case", "tuning", "build")  # of several words, or of a path and a file
_COUNTS = ("nodes", "ranks", "ranks_per_node")
# A cell of fewer runs has no scatter of its own, and a command of fewer no usage.
_FEWEST = 3
# Two cells differ where their medians are so many median deviations from each other,
FAR = 6.0
# and a run is of the other one if it is so many times nearer to that.
NEARER = 3.0
# If a larger share of the other runs of its cell is nearer to that too, the cell itself is of two kinds.
_MIXED = 0.2
# One run of more than these does not move their median: it need not be left out.
_MANY = 50

Labels = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LabelledRun:
    """A run that counts: its row of the kind ``runs``, and the logarithms of its figures by message size."""

    row: Mapping[str, Any]
    figures: Mapping[int, float]
    origins: Mapping[str, str] = field(default_factory=dict)  # of an imported run, where a factor comes from
    source: str = ""  # of an imported run, the file that has it as a part
    labels: Labels = field(init=False)  # its levels of `FACTORS`, as text

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", tuple(str(self.row[name]) for name in FACTORS))

    @classmethod
    def of(
        cls,
        row: Mapping[str, Any],
        table: Columns | None = None,
        extra: Mapping[str, Any] = MappingProxyType({}),
    ) -> LabelledRun:
        """Use a table of sizes as figures, or the figure of merit; `extra` is the rest of the record."""
        sizes, values = np.zeros(1, "i8"), np.array([row["figure_of_merit"]], "f8")
        if table is not None:
            name = "latency" if np.isfinite(table["latency"]).any() else "bandwidth"
            sizes, values = table["size"], table[name]
        good = values > 0
        figures = dict(zip(sizes[good].tolist(), np.log(values[good]).tolist(), strict=True))
        origins = {name: str(where) for name, where in section(extra, IMPORTED, "factors").items()}
        return cls(row, figures, origins, source_of(extra))

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.row["run"])

    def is_of_place(self, factor: str) -> bool:
        """Tell whether its level is that of the place where it lay: a folder, the name of its file."""
        return self.origins.get(factor, "").startswith("path")

    def is_printed(self, factor: str) -> bool:
        """Tell whether its own output states the level."""
        return self.origins.get(factor) == "output"


def doubtful(runs: Sequence[LabelledRun]) -> Iterator[Fault]:
    """Yield a fault for each run whose launch line or figures are those of a level that is not its own."""
    found: dict[str, str] = {}
    for name, what in (*_by_command(runs), *_by_path(runs), *_by_figures(runs)):
        found.setdefault(name, what)
    for name, what in found.items():
        yield Fault(f"{name}/run.json", 0, what, "is its record of another run? it counts as it says")


def _by_command(runs: Iterable[LabelledRun]) -> Iterator[tuple[str, str]]:
    """Find runs with a level that no other run with their command has, where the others agree on theirs.

    Programs on two machines, or in two folders of one tree, may well be started alike: an imported run whose
    level its path states was not mixed up in a record.
    """
    commands: dict[tuple[str, str], list[LabelledRun]] = defaultdict(list)
    for one in runs:
        # A launch line may name the folder of its run.
        text = str(one.row["command"]).replace(one.name, "")
        if text:
            commands[str(one.row["application"]), re.sub(r"\s+", " ", text)].append(one)
    for (_, command), same in commands.items():
        for at, factor in enumerate(FACTORS) if len(same) > _FEWEST else ():
            levels = Counter(one.labels[at] for one in same).most_common()
            if len(levels) != 2 or levels[1][1] > 1:
                continue
            (other, many), (own, _) = levels
            if other not in _UNKNOWN and (factor not in _COUNTS or _is_given(other, command)):
                odd = next(one for one in same if one.labels[at] == own)
                if not odd.is_of_place(factor) and not odd.is_printed(factor):
                    what = f"says {factor} {own!r}; all {many} other runs with its command say {other}"
                    yield odd.name, what


def _by_path(runs: Iterable[LabelledRun]) -> Iterator[tuple[str, str]]:
    """Find imported runs with another level than most that have it of the same word of their path."""
    words: dict[tuple[int, str], list[LabelledRun]] = defaultdict(list)
    for one in runs:
        for at, factor in enumerate(FACTORS):
            if one.is_of_place(factor) and factor not in _JOINED:
                words[at, one.origins[factor]].append(one)
    for (at, origin), same in words.items():
        (usual, many), *_ = Counter(one.labels[at] for one in same).most_common(1)
        for one in same:
            if (own := one.labels[at]) != usual:
                word = origin.partition(": ")[2]
                what = (
                    f"says {FACTORS[at]} {own!r}, of {word!r} in its path, which is {usual} in {many} others"
                )
                yield one.name, what


def _is_given(count: str, command: str) -> bool:
    """Tell whether an option of a launch line has a number as its value; without one, any run may differ."""
    return re.search(rf"(?:(?<!\S)--?[A-Za-z][\w-]*[ =]?|ppr:){count}\b", command) is not None


def _by_figures(runs: Iterable[LabelledRun]) -> Iterator[tuple[str, str]]:
    """Find runs that are far from their own cell, and near to one that differs in a single factor.

    A wrong record leaves its cell with a run too many, and the other with one too few; or two were exchanged.
    """
    cells: dict[Labels, list[LabelledRun]] = defaultdict(list)
    for one in runs:
        if one.figures:
            cells[one.labels].append(one)
    found: list[tuple[Labels, Labels, str, str]] = []
    whole = {labels: _Cell.of(members) for labels, members in cells.items() if len(members) >= _FEWEST}
    for labels, near in _neighbours(cells, whole).items():
        members = cells[labels]
        if labels not in whole:
            continue
        around, many = _Around.of(near), len(members) - 1 > _MANY
        own = whole[labels]
        beyond = around.beyond(own) if many else {}
        for one in members:
            if not many:
                own = _Cell.of(each for each in members if each is not one)
                beyond = around.beyond(own)
            found += [(labels, *each) for each in _far(one, members, own, beyond, near)]
    pairs = {(own, other) for own, other, *_ in found}
    for labels, other, name, what in found:
        if len(cells[labels]) > len(cells[other]) or (other, labels) in pairs:
            yield name, what


def _neighbours(cells: Iterable[Labels], whole: Mapping[Labels, _Cell]) -> dict[Labels, dict[Labels, _Cell]]:
    """Return for each cell the whole ones that differ from it in a single factor, in their order."""
    cells = list(cells)
    varying = [at for at in range(len(FACTORS)) if len({labels[at] for labels in cells}) > 1]
    rest: dict[tuple[int, Labels], list[Labels]] = defaultdict(list)
    for labels in whole:
        for at in varying:
            rest[at, _without(labels, at)].append(labels)
    order = {labels: position for position, labels in enumerate(whole)}
    out = {}
    for labels in cells:
        near = {other for at in varying for other in rest.get((at, _without(labels, at)), ())} - {labels}
        if near:
            out[labels] = {other: whole[other] for other in sorted(near, key=order.__getitem__)}
    return out


def _without(labels: Labels, at: int) -> Labels:
    return labels[:at] + labels[at + 1 :]


@dataclass(frozen=True, slots=True)
class _Cell:
    """Median of a cell's figures by size, and the median distance from it; logarithms."""

    middle: Mapping[int, float]
    scatter: Mapping[int, float]

    @classmethod
    def of(cls, members: Iterable[LabelledRun]) -> _Cell:
        found = defaultdict(list)
        for one in members:
            for size, value in one.figures.items():
                found[size].append(value)
        middle = {size: median(values) for size, values in found.items()}
        scatter = {
            size: median([abs(value - middle[size]) for value in values]) for size, values in found.items()
        }
        return cls(middle, scatter)


@dataclass(frozen=True, slots=True)
class _Around:
    """The cells near one, and by size how much they usually scatter.

    Three runs can be close by chance: the cells around them show how much scatter is usual.
    """

    near: Mapping[Labels, _Cell]
    usual: Mapping[int, float]

    @classmethod
    def of(cls, near: Mapping[Labels, _Cell]) -> _Around:
        found = defaultdict(list)
        for cell in near.values():
            for size, scatter in cell.scatter.items():
                found[size].append(scatter)
        return cls(near, {size: median(scatters) for size, scatters in found.items()})

    def beyond(self, own: _Cell) -> dict[Labels, list[int]]:
        """Return the sizes at which a cell and each near one are further apart than runs scatter."""
        return {labels: list(self._beyond(own, other)) for labels, other in self.near.items()}

    def _beyond(self, own: _Cell, other: _Cell) -> Iterator[int]:
        for size in sorted(own.middle.keys() & other.middle.keys()):
            scatter = max(own.scatter[size], other.scatter[size], self.usual[size])
            if abs(own.middle[size] - other.middle[size]) > FAR * scatter:
                yield size


def _far(
    one: LabelledRun,
    members: list[LabelledRun],
    own: _Cell,
    beyond: Mapping[Labels, list[int]],
    near: Mapping[Labels, _Cell],
) -> Iterator[tuple[Labels, str, str]]:
    """Compare a run with the others of its cell and each near one, at the sizes where the two differ.

    Yields the cell that it is near, its name and what was found.
    """
    best: tuple[float, float, Labels] | None = None
    for labels, other in near.items():
        sizes = [size for size in beyond[labels] if size in one.figures]
        if len(sizes) < min(_FEWEST, len(own.middle)):
            continue
        away, there = (_distance(one.figures, cell.middle, sizes) for cell in (own, other))
        if away > NEARER * there and (best is None or there < best[1]):
            rest = [each for each in members if each is not one]
            best = (away, there, labels) if _one_kind(rest, own, other, sizes) else best
    if best is not None:
        away, there, labels = best
        at = next(at for at, level in enumerate(labels) if level != one.labels[at])
        if one.is_printed(FACTORS[at]) or (one.is_of_place(FACTORS[at]) and _lies_with(one, members)):
            return
        what = f"is off the other {len(members) - 1} runs of its factors by a factor of {np.exp(away):.3g}"
        where = f"off those with {FACTORS[at]} {labels[at]!r} by {np.exp(there):.3g}"
        yield labels, one.name, f"{what}, {where}, where the two differ beyond their scatter"


def _lies_with(one: LabelledRun, members: Iterable[LabelledRun]) -> bool:
    """Tell whether a run is a part of the file of another run: its place cannot be wrong for it alone."""
    return one.source != "" and any(other.source == one.source for other in members if other is not one)


def _one_kind(rest: list[LabelledRun], own: _Cell, other: _Cell, sizes: list[int]) -> bool:
    """Tell whether a cell is of one kind, and not of two of which one resembles the other cell."""
    nearer = 0
    for one in rest:
        common = [size for size in sizes if size in one.figures]
        if common:
            away, there = (_distance(one.figures, cell.middle, common) for cell in (own, other))
            nearer += away > there
    return nearer <= _MIXED * len(rest)


def _distance(figures: Mapping[int, float], middle: Mapping[int, float], sizes: Sequence[int]) -> float:
    return median([abs(figures[size] - middle[size]) for size in sizes])
