"""Two campaigns by their names, before and after: loaded, held against each other, and what moved with it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from analysis.base.errors import ConfigError
from analysis.findings.compare import MARGIN, Differences, compare
from analysis.findings.matching import across as level_pair
from analysis.findings.matching import side
from analysis.findings.moved import Moved, moved

# Of so many cells a side that differ the nearest two are looked for.
_TRIED = 200


@dataclass(frozen=True)
class Upgrade:
    """What became of a campaign: its differences, what moved with them, the evidence class of each side."""

    found: Differences
    moved: tuple[Moved, ...]
    evidence: tuple[str, str]


def upgrade(
    before: str,
    after: str,
    *,
    margin: float = MARGIN,
    ignore: Sequence[str] = (),
    across: Sequence[str] = (),
) -> Upgrade:
    """Hold two campaigns, or parts ``NAME:FACTOR=LEVEL`` of campaigns, against each other.

    `across` are ``FACTOR=BEFORE:AFTER``. Raises `ConfigError` if a name is unknown, or no runs of both are
    alike in all factors; `ReadError` if datasets have not been built.
    """
    sides = side(before), side(after)
    pairs = [level_pair(text, *sides) for text in across]
    found = compare(*sides, names_of_sides=(before, after), margin=margin, ignore=ignore, across=pairs)
    if not found.cells:
        nearest = _nearest(found)
        what = f"no run of {after} is alike in all factors to one of {before}{_said(found, nearest)}"
        jobs = {"application", "case"} & set(nearest)
        remedy = "measure the same jobs" if jobs else "name what changed with --across or --ignore"
        raise ConfigError.at(after, 0, what, remedy)
    if not found.rows:
        what = f"no measure is known of runs of both {after} and {before}"
        raise ConfigError.at(after, 0, what, "see `benchbook inspect` for what their files hold")
    return Upgrade(found, tuple(moved(found, *sides)), (sides[0].evidence, sides[1].evidence))


def _nearest(found: Differences) -> list[str]:
    """Name the factors in which the nearest two cells of both sides differ."""
    lone = found.matching.only_before, found.matching.only_after
    pairs = itertools.product(lone[0][:_TRIED], lone[1][:_TRIED])
    apart = [[f for f in one.factors if one.factors[f] != two.factors[f]] for one, two in pairs]
    return min(apart, key=lambda factors: len(factors), default=[])


def _said(found: Differences, nearest: Sequence[str]) -> str:
    """Say in what the nearest cells differ, or why cells that do not are left out."""
    if nearest:
        return f": the nearest differ in {', '.join(nearest)}"
    lone = (*found.matching.only_before, *found.matching.only_after)
    return next((f": {cell.reason}" for cell in lone), "")
