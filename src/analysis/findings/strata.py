"""Where a conclusion holds: strata described by a selection that fits them and no others."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import pandas as pd

from analysis.base.words import Level, in_order
from analysis.estimates.sentences import Stratum, differing, nameable, plain
from analysis.schema.factors import SPOKEN


def regions(universe: Sequence[Stratum], chosen: Sequence[int]) -> Iterator[tuple[dict[str, Any], list[int]]]:
    """Describe chosen strata of all by selections: each with the positions of the strata that it fits.

    A selection has a level, or a list of them, of each factor in which the strata differ. Where the levels of
    the chosen strata would fit others as well, these are split along the first factor in which they
    differ. What no selection can name, a blank, is left out.
    """
    yield from _split(universe, list(chosen), differing(universe))


def _split(
    universe: Sequence[Stratum], chosen: list[int], names: Sequence[str]
) -> Iterator[tuple[dict[str, Any], list[int]]]:
    select = {name: in_order({plain(universe[at][name]) for at in chosen}) for name in names}
    select = {name: levels for name, levels in select.items() if all(map(nameable, levels))}
    fits = [at for at, one in enumerate(universe) if all(one[name] in own for name, own in select.items())]
    if sorted(fits) == sorted(chosen):
        yield {name: one[0] if len(one) == 1 else one for name, one in select.items()}, chosen
        return
    by = next((name for name, levels in select.items() if len(levels) > 1), "")
    for level in select.get(by, ()):
        yield from _split(universe, [at for at in chosen if universe[at][by] == level], names)


def pinned(runs: pd.DataFrame, strata: Sequence[Stratum], moving: Collection[str]) -> dict[str, Level]:
    """Select the levels that all strata share of factors that runs vary: a claim says what it is of.

    `moving` are factors that are compared, or change with them.
    """
    found: dict[str, Level] = {}
    for name in SPOKEN:
        levels = {plain(stratum[name]) for stratum in strata if name in stratum}
        if name in moving or len(levels) != 1 or not all(map(nameable, levels)):
            continue
        # As many ranks on as many nodes have as many ranks a node.
        if runs[name].nunique(dropna=False) > 1 and not (name == "ranks_per_node" and "ranks" in found):
            found[name] = next(iter(levels))
    return found
