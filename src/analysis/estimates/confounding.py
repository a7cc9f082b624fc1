"""What was changed together: effects that a campaign's runs cannot give to one cause, and runs that could.

Two causes are aliased, as books on the design of experiments have it, if no pair of runs differs in one of
them alone. Columns of the design are the factors and, of the execution, the day, the order and the hosts.
What changes with a factor by nature is no cause of its own (`schema.factors`): more nodes have more ranks.
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

from analysis.base.words import Level
from analysis.estimates import uncertainty
from analysis.estimates.asking import ASKS
from analysis.estimates.conditions import conditions, generated
from analysis.estimates.finding import HOST, Cell, Confounded, first_levels, parts, varying
from analysis.estimates.question import Comparison
from analysis.estimates.spelling import plain
from analysis.estimates.stats import FEWEST, MIN_REPEATS
from analysis.schema.factors import BY_NAME, FACTORS, FOLLOWS, TABLE, is_known

MOST = 3  # factors that an effect is said to be of; what differs in more is not compared
_MOST_REPEATS = 1000  # that a matrix can have
_MOST_STEPS = 400  # that are tried from all cells of several effects
# 1.96 for an interval at 95 %, 1.64 to have nine of ten clear of no effect: intervals of ranks are wide.
_SURE = 1.96 + 1.64
_WORK = tuple(one.name for one in TABLE if one.kind == "problem")


# ---- causes


@lru_cache(maxsize=4096)
def causes(changed: frozenset[str], first: str = "") -> tuple[str, ...]:
    """Return the fewest factors from which a set of factors that differ follows by nature, in their order.

    Of several such choices the one with `first`, then the one with which the least else may change.
    """
    names = [name for name in FACTORS if name in changed]
    for count in range(1, len(names) + 1):
        fitting = [
            (first not in chosen, size, chosen)
            for chosen in itertools.combinations(names, count)
            if (size := _explained(chosen, changed)) is not None
        ]
        if fitting:
            return min(fitting)[2]
    return ()


def _explained(chosen: Sequence[str], changed: frozenset[str]) -> int | None:
    """Return how much changes with some factors by nature at least, None if others have changed too."""
    sets = itertools.product(*(_natural(name) for name in chosen))
    return min((sum(map(len, one)) for one in sets if changed <= frozenset().union(*one)), default=None)


@lru_cache(maxsize=64)
def _natural(factor: str) -> tuple[frozenset[str], ...]:
    """Return the sets of factors that change together by nature where a factor is compared."""
    ways = [ask.varying for ask in ASKS if ask.factor == factor] or [()]
    also = (factor, *BY_NAME[factor].also, *FOLLOWS.get(factor, ()))
    whole = [(*also, *way, *(name for one in way for name in FOLLOWS.get(one, ()))) for way in ways]
    return tuple(map(frozenset, whole))


def confounded(compare: Comparison, top: pd.DataFrame, bottom: pd.DataFrame) -> Confounded | None:
    """Find what else differs throughout between two sides of a comparison, None if it is the factor alone.

    Both are frames of runs with ``value``, start, order and hosts; where those are not known, or were made
    up, they are no causes. Neither is what the question is about: the levels that it selects for each side,
    and whatever may change with a cluster, or in generated runs, whose truth is declared.
    """
    factor, sides = compare.factor, (_cell(top), _cell(bottom))
    differ = {name for name in FACTORS if sides[0][name] != sides[1][name]}
    differ = {name for name in differ if not set(top[name]) & set(bottom[name])} | {factor}
    asked = {name for where in compare.where for name in where}
    asked |= set(compare.varying if factor == "cluster" or generated(top, bottom) else ())
    changed = differ - (asked - set(compare.mixed) - {factor})
    if 1 in (sides[0]["nodes"], sides[1]["nodes"]) and factor != "interconnect":
        changed.discard("interconnect")  # on one node no link is used
    found = causes(frozenset(changed), factor)
    unlike = "interconnect" in changed and not _known("cpu", top, bottom)  # nothing says that nodes are alike
    if found == ("interconnect",) and "cluster" in changed and unlike:
        found = ("cluster", "interconnect")
    if len(found) == 1:
        found = (factor,)
    known = "interconnect" not in changed or unlike
    found = (*found, *(one for one in conditions(differ, top, bottom) if one != HOST or known))
    if len(found) == 1:
        return None
    factors = [name for name in found if name in BY_NAME and name != factor]
    missing = tuple(_between(sides, factor, factors, differ))
    return Confounded(factor, found, sides, missing, repeats(top, bottom))


def _known(factor: str, *parts: pd.DataFrame) -> bool:
    return all(map(is_known, {level for part in parts for level in part[factor]}))


def _cell(part: pd.DataFrame) -> Cell:
    """Return the levels of all factors as YAML has them, blank where a number is none."""
    levels = first_levels(part, FACTORS)
    return {name: "" if pd.isna(one) else plain(one) for name, one in levels.items()}


# ---- pairs of cells that differ in nothing alone


@dataclass(frozen=True)
class AliasedPair:
    """Levels that meet only where something else changes too: of `factor`, one and other.

    `one` and `other` have the levels of all factors that differ, `rows` are the runs of the problems in which
    they do.
    """

    factor: str
    one: Cell
    other: Cell
    rows: pd.DataFrame


def aliased(frame: pd.DataFrame, problems: bool = False) -> list[AliasedPair]:
    """Find the pairs of levels that no runs compare alone, the fewest that name all; four runs per side.

    A level that a chain of comparisons joins with another needs none. Runs of unlike problems are compared
    only if `problems` are rates of one kind.
    """
    work = [name for name in (*_WORK, uncertainty.POINT) if name in frame]
    work = [name for name in work if not (problems and name in ("case", *FOLLOWS["case"]))]
    found: dict[Any, tuple[str, Cell, Cell, list[pd.DataFrame]]] = {}
    for part in parts(frame, work):
        for factor, one, other in _in_problem(part):
            key = (factor, *sorted(one.items()), *sorted(other.items()))
            found.setdefault(key, (factor, one, other, []))[3].append(part)
    return [
        AliasedPair(factor, one, other, pd.concat(parts).sort_index())
        for factor, one, other, parts in found.values()
    ]


def _in_problem(part: pd.DataFrame) -> Iterator[tuple[str, Cell, Cell]]:
    """Go through the aliased pairs of one problem: the factor that is compared and the levels that differ."""
    if len(varying(part, FACTORS)) < 2:
        return  # what differs alone is compared alone
    grouped = [one for one in parts(part, FACTORS) if len(one) >= FEWEST]
    if len(grouped) < 2:
        return
    cells, counts = [_cell(one) for one in grouped], [len(one) for one in grouped]
    codes = np.array([_numbered(cell[name] for cell in cells) for name in FACTORS]).T
    known = np.array([[is_known(cell[name]) or name == "tuning" for name in FACTORS] for cell in cells])
    joined = _Joined(codes)
    open_pairs = []
    for i, j, changed in _differing(codes, [cell["nodes"] == 1 for cell in cells]):
        found = causes(changed)
        if len(found) == 1:
            joined.join(i, j, changed)
        elif len(found) <= MOST and all(known[i, at] and known[j, at] for at in _places(changed)):
            open_pairs.append((len(found), -min(counts[i], counts[j]), i, j, found, changed))
    for _, _, i, j, found, changed in sorted(open_pairs, key=lambda one: one[:4]):
        if joined.apart(i, j, found):
            joined.join(i, j, frozenset(found))
            yield _pair_of(found, changed, [(cells[at], counts[at]) for at in (i, j)])


def _numbered(levels: Iterable[Level]) -> list[int]:
    """Return a number for each level; equal ones have the same."""
    seen: dict[Level, int] = {}
    return [seen.setdefault(level, len(seen)) for level in levels]


def _places(changed: Iterable[str]) -> list[int]:
    return [FACTORS.index(name) for name in changed]


def _differing(codes: NDArray[np.intp], single: Sequence[bool]) -> Iterator[tuple[int, int, frozenset[str]]]:
    """Go through all pairs of cells with the factors in which they differ; on one node no link is used."""
    link, alone = FACTORS.index("interconnect"), np.array(single)
    bits = 1 << np.arange(len(FACTORS), dtype="i8")
    sets: dict[int, frozenset[str]] = {}
    for i in range(len(codes) - 1):
        differ = codes[i + 1 :] != codes[i]
        differ[:, link] &= ~(alone[i + 1 :] | alone[i])
        for at, pattern in enumerate((differ @ bits).tolist(), i + 1):
            if pattern not in sets:
                sets[pattern] = frozenset(n for n, bit in zip(FACTORS, bits, strict=True) if pattern & bit)
            if pattern:
                yield i, at, sets[pattern]


class _Joined:
    """Which levels of each factor are joined by comparisons, by the number of the group that they are in."""

    def __init__(self, codes: NDArray[np.intp]) -> None:
        self._codes = codes
        self._group = [list(range(int(codes[:, at].max()) + 1)) for at in range(codes.shape[1])]

    def join(self, i: int, j: int, changed: Iterable[str]) -> None:
        """Join the levels of two cells, of the factors that have changed."""
        for at in _places(changed):
            group = self._group[at]
            one, other = group[self._codes[i, at]], group[self._codes[j, at]]
            if one != other:
                self._group[at] = [one if own == other else own for own in group]

    def apart(self, i: int, j: int, found: Iterable[str]) -> bool:
        """Tell whether the levels of two cells are not joined in one of some factors."""
        return any(
            self._group[at][self._codes[i, at]] != self._group[at][self._codes[j, at]]
            for at in _places(found)
        )


def _pair_of(
    found: Sequence[str], changed: Iterable[str], ends: Sequence[tuple[Cell, int]]
) -> tuple[str, Cell, Cell]:
    """Choose the factor that is compared, software first, and the baseline: the least, or the most run.

    `ends` are two cells with their numbers of runs.
    """
    factor = min(found, key=lambda name: (BY_NAME[name].kind != "software", FACTORS.index(name)))

    def place(end: tuple[Cell, int]) -> tuple[Any, ...]:
        level = end[0][factor]
        return (-end[1], level) if isinstance(level, str) else (level,)

    names, ordered = set(changed), sorted(ends, key=place)
    other, one = ({name: end[0][name] for name in FACTORS if name in names} for end in ordered)
    return factor, one, other


# ---- runs that would tell


def repeats(top: pd.DataFrame, bottom: pd.DataFrame) -> int:
    """Return how many runs each cell needs for an effect as large as seen, given how its runs scatter.

    From the variance π s² / 2n of a median of n: n = π ((1.96 + 1.64) s / d)², d and s the logarithms of the
    effect and of the scatter (1.48 times the median deviation), six at least.
    """
    sides = [np.log(part["value"].to_numpy("f8")) for part in (top, bottom) if (part["value"] > 0).all()]
    if len(sides) < 2:
        return MIN_REPEATS
    middles = [float(np.median(one)) for one in sides]
    away = np.concatenate([one - middle for one, middle in zip(sides, middles, strict=True)])
    scatter, effect = 1.4826 * float(np.median(np.abs(away))), abs(middles[0] - middles[1])
    if effect <= 0:
        return _MOST_REPEATS if scatter > 0 else MIN_REPEATS
    return min(max(math.ceil(math.pi * (_SURE * scatter / effect) ** 2), MIN_REPEATS), _MOST_REPEATS)


def _between(
    sides: tuple[Cell, Cell], factor: str, factors: Sequence[str], changed: Iterable[str]
) -> Iterator[Cell]:
    """Go from the baseline to the treatment in steps of one cause, the compared factor last; without ends."""
    cell, follow = sides[1], set(changed) - {*factors, factor}
    for name in factors:
        cell = _moved(cell, sides[0], name, follow)
        yield cell


def _moved(cell: Cell, towards: Cell, cause: str, follow: Iterable[str]) -> Cell:
    """Change one cause of a cell, with those of some factors that follow from it by nature."""
    follow = set(follow)
    follows = max((one & follow for one in _natural(cause)), key=len)
    moved = {**cell, **{name: towards[name] for name in (cause, *follows)}}
    nodes, each = moved["nodes"], moved["ranks_per_node"]
    if (
        "ranks" in follow
        and not isinstance(nodes, str)
        and not isinstance(each, str)
        and min(nodes, each) > 0
    ):
        moved["ranks"] = nodes * each
    return moved


def to_tell(found: Sequence[Confounded]) -> list[tuple[Cell, int]]:
    """Return the fewest cells, with their repeats, in which each cause is compared alone in one session.

    Exact, as an integer program over all combinations of the causes' levels, those of all effects unless
    they are very many: for each cause two of the chosen cells differ in its two levels alone. Among equally
    small choices it prefers cells that were run already, then those that sentences name. Of no effect, or of
    effects whose causes are the execution alone, it needs none.
    """
    cells: dict[tuple[Level, ...], int] = {}
    named: set[tuple[Level, ...]] = set()
    run: set[tuple[Level, ...]] = set()
    needs: set[tuple[Any, ...]] = set()
    steps: list[_Step] = []
    for one in found:
        top, bottom = one.sides
        factors = [name for name in one.causes if name in BY_NAME]
        follow = {name for name in FACTORS if top[name] != bottom[name]} - set(factors)
        for count in range(len(factors) + 1):
            for chosen in itertools.combinations(factors, count):
                cell = bottom
                for name in chosen:
                    cell = _moved(cell, top, name, follow)
                cells[_key(cell)] = max(one.repeats, cells.get(_key(cell), 0))
        run |= {_key(top), _key(bottom)}
        named |= set(map(_key, one.missing))
        needs |= {_need(bottom, _moved(bottom, top, name, follow), name) for name in factors}
        steps += [
            (*ends, name, follow, one.repeats) for ends in (one.sides, one.sides[::-1]) for name in factors
        ]
    if len(found) > 1 and len(cells) * len(steps) <= _MOST_STEPS:
        _shared(cells, steps)
    if not needs:
        return []
    keys = list(cells)
    cost = np.array([1.0 + 1e-3 * (key not in run) - 1e-5 * (key in named) for key in keys])
    each = [(dict(zip(FACTORS, key, strict=True)), cells[key]) for key in keys]
    return [each[at] for at in _covering(keys, cost, needs)]


# From a cell with the level of the second side of a cause to that of the first, with what follows; repeats.
_Step = tuple[Cell, Cell, str, set[str], int]


def _shared(cells: dict[tuple[Level, ...], int], steps: Sequence[_Step]) -> None:
    """Add the cells in which the cause of one effect is compared with a cell of another effect."""
    for key, repeats in list(cells.items()):
        cell = dict(zip(FACTORS, key, strict=True))
        for end, other, name, follow, count in steps:
            if cell[name] == other[name] and repeats == count:
                cells.setdefault(_key(_moved(cell, end, name, follow)), count)


def _key(cell: Cell) -> tuple[Level, ...]:
    return tuple(cell[name] for name in FACTORS)


def _need(one: Cell, other: Cell, cause: str) -> tuple[Any, ...]:
    """Return what a pair of cells tells: of which problem, which cause, which two levels."""
    levels = frozenset((one[cause], other[cause]))
    return (*(one[name] for name in _WORK if name != cause), cause, levels)


def _covering(
    keys: Sequence[tuple[Level, ...]], cost: NDArray[np.float64], needs: Iterable[tuple[Any, ...]]
) -> list[int]:
    """Choose the cheapest cells among which every need is met by a pair."""
    pairs: list[tuple[int, int]] = []
    meets: dict[tuple[Any, ...], list[int]] = {need: [] for need in sorted(needs, key=repr)}
    for i, j in itertools.combinations(range(len(keys)), 2):
        one, other = (dict(zip(FACTORS, keys[at], strict=True)) for at in (i, j))
        found = causes(frozenset(name for name in FACTORS if one[name] != other[name]))
        if len(found) == 1 and (need := _need(one, other, found[0])) in meets:
            meets[need].append(len(pairs))
            pairs.append((i, j))
    width = len(keys) + len(pairs)
    rows: list[NDArray[np.float64]] = []
    least: list[float] = []
    for at, pair in enumerate(pairs):  # a pair is there if both cells are
        for end in pair:
            row = np.zeros(width)
            row[end], row[len(keys) + at] = 1, -1
            rows, least = [*rows, row], [*least, 0.0]
    for met in meets.values():
        row = np.zeros(width)
        row[[len(keys) + at for at in met]] = 1
        rows, least = [*rows, row], [*least, 1.0]
    weights = np.concatenate([cost, np.zeros(len(pairs))])
    whole = np.concatenate([np.ones(len(keys)), np.zeros(len(pairs))])
    solved = milp(weights, integrality=whole, bounds=Bounds(0, 1), constraints=LinearConstraint(rows, least))
    assert solved.x is not None  # every need has a pair: its own sides and what is between them
    return [at for at in range(len(keys)) if solved.x[at] > 0.5]
