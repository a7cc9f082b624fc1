"""Where a conclusion holds: strata described by a selection that fits them and no others."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from analysis.base.words import Level, in_order
from analysis.findings.naming import PLACES

Stratum = Mapping[str, Level]


def regions(universe: Sequence[Stratum], chosen: Sequence[int]) -> Iterator[tuple[dict[str, Any], list[int]]]:
    """Describe chosen strata of all by selections: each with the positions of the strata that it fits.

    A selection has a level, or a list of them, of each factor in which the strata differ. Where the levels of
    the chosen strata would fit others as well, these are split along the first factor that tells them apart.
    What no selection can name, a blank, is left out.
    """
    names = differing(universe)
    for select, fits in _split(universe, list(chosen), names):
        yield {name: one[0] if len(one) == 1 else one for name, one in select.items()}, fits


def differing(universe: Sequence[Stratum]) -> list[str]:
    """Return factors that tell strata apart, in the order in which they are said; none that adds nothing."""
    chosen: list[str] = []
    keys = 1
    for name in (name for name in PLACES if name in universe[0]):
        more = len({tuple(stratum[each] for each in (*chosen, name)) for stratum in universe})
        if more > keys:
            chosen, keys = [*chosen, name], more
    return chosen


def _split(
    universe: Sequence[Stratum], chosen: list[int], names: Sequence[str]
) -> Iterator[tuple[dict[str, list[Level]], list[int]]]:
    select = {name: in_order({plain(universe[at][name]) for at in chosen}) for name in names}
    select = {name: levels for name, levels in select.items() if all(map(_nameable, levels))}
    fits = [at for at, one in enumerate(universe) if all(one[name] in own for name, own in select.items())]
    if sorted(fits) == sorted(chosen):
        yield select, chosen
        return
    by = next((name for name, levels in select.items() if len(levels) > 1), None)
    for level in select[by] if by else ():
        yield from _split(universe, [at for at in chosen if universe[at][by or ""] == level], names)


def _nameable(level: Level) -> bool:
    return level not in ("", -1) and level == level


def plain(level: Any) -> Level:
    """Return a level as YAML has it: no number of numpy's, and whole where it is."""
    value: Level = level.item() if isinstance(level, np.generic) else level
    return int(value) if isinstance(value, float) and value.is_integer() else value


def pinned(runs: pd.DataFrame, strata: Sequence[Stratum], apart: Collection[str]) -> dict[str, Level]:
    """Select the levels that all strata share of factors that runs vary: a claim says what it is of.

    `apart` are factors that are compared, or change with them.
    """
    found: dict[str, Level] = {}
    for name in PLACES:
        levels = {plain(stratum[name]) for stratum in strata if name in stratum}
        if name in apart or len(levels) != 1 or not all(map(_nameable, levels)):
            continue
        # As many ranks on as many nodes have as many ranks a node.
        if runs[name].nunique(dropna=False) > 1 and not (name == "ranks_per_node" and "ranks" in found):
            found[name] = next(iter(levels))
    return found
