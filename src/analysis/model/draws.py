"""Draws of what is not known: the same for every network, cluster and node count, seeded."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from analysis.model.inputs import Range

Array = NDArray[np.float64]
STEPS = 13  # of a sweep of one unknown
CENTRAL = 0.95  # of the draws make a band: its ends must not depend on the luck, or the number, of draws
REACH = 10.0  # how far beyond its range a sweep goes, as a factor


@dataclass(frozen=True)
class Draws:
    """Values of each unknown: `values` has arrays of one length, the random draws first, then the sweeps.

    `swept` names the unknown of each entry that is moved alone with the others in the middle of their
    ranges; it is empty for the random ones.
    """

    values: Mapping[str, Array]
    swept: tuple[str, ...]
    # Unknowns that were asked for: what nobody asks for needs no sweep.
    asked: set[str] = field(default_factory=set, compare=False, repr=False)

    def __getitem__(self, name: str) -> Array:
        self.asked.add(name)
        return self.values[name]

    def __len__(self) -> int:
        return len(self.swept)


def central(values: Array) -> tuple[float, float]:
    """Return the ends of a band of drawn values, each of them one of the values."""
    low, high = np.quantile(values, ((1 - CENTRAL) / 2, (1 + CENTRAL) / 2), method="inverted_cdf")
    return float(low), float(high)


def draw(unknowns: Mapping[str, Range], count: int, seed: int, *, sweep: bool = True) -> Draws:
    """Draw `count` values of each unknown by a Latin hypercube, even in the logarithm; then sweep each.

    Each unknown has its own stream, from the seed and its name: another unknown, or another range of one,
    leaves the others as they are. A range of no width is drawn as its value and not swept.
    """
    names = sorted(unknowns)
    lows, highs = (np.log([getattr(unknowns[name], end) for name in names]) for end in ("low", "high"))
    cube = np.column_stack([_stratified(count, seed, name) for name in names])
    random = np.exp(lows + cube * (highs - lows))
    parts, swept = [random], [""] * count
    middle = np.exp((lows + highs) / 2)
    for at, name in enumerate(names):
        if lows[at] == highs[at] or not sweep:
            continue
        part = np.tile(middle, (STEPS, 1))
        part[:, at] = np.geomspace(np.exp(lows[at]) / REACH, np.exp(highs[at]) * REACH, STEPS)
        parts.append(part)
        swept += [name] * STEPS
    whole = np.vstack(parts)
    return Draws({name: whole[:, at] for at, name in enumerate(names)}, tuple(swept))


def _stratified(count: int, seed: int, name: str) -> Array:
    """Return one value from each of `count` equal parts of 0 to 1, in random order."""
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    found: Array = (rng.permutation(count) + rng.random(count)) / count
    return found
