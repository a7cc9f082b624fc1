"""Which runs would test a claim: application, cases, counts, levels, repeats."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.base.words import Level
from analysis.claims.model import NOT_STATED, Claim
from analysis.estimates.measures import MEASURES
from analysis.estimates.stats import MIN_REPEATS
from analysis.schema.factors import BY_NAME, SPOKEN

# What the sentence has already, or what only the report's own machine is called.
_ELSEWHERE = ("nodes", "ranks", "ranks_per_node", "cluster")
# Levels that say nothing to who reads the sentence.
_PLAIN = {"placement": ("all-cores",), "concurrent_jobs": (1,), "target_time": ("standard",)}
_MOST_NODES = 1024


@dataclass(frozen=True, slots=True)
class Needed:
    """The runs that would test a claim.

    `levels` has for each factor the levels, spelt as in the report, that its conditions and its comparison
    name; of a range of node counts the doublings. A factor that the report is silent on is not there. Those
    `varying` go with a `compared` one, so that not every level of one meets every level of the other. What is
    `looked_up` needs no run.
    """

    application: str
    cases: tuple[str, ...]
    levels: Mapping[str, tuple[Level, ...]]
    compared: tuple[str, ...]
    varying: tuple[str, ...]
    repeats: int
    profile: bool
    energy: bool
    looked_up: bool = False

    @property
    def line(self) -> str:
        """All of it in one line."""
        if self.looked_up:
            return "a specification or a list that prints it; no run does"
        levels = self.levels
        case = f"{self.application} {_and(self.cases) if self.cases else 'of any case'}"
        nodes = _and(levels["nodes"]) if "nodes" in levels else "any number of"
        where = f"on {nodes} node{'' if nodes == '1' else 's'}"
        if "ranks_per_node" in levels:
            ranks = _and(levels["ranks_per_node"])
            where += f" with {ranks} rank{'' if ranks == '1' else 's'} on each"
        elif "ranks" in levels:
            where += f" with {_and(levels['ranks'])} ranks"
        named = [
            _named(factor, levels[factor])
            for factor in SPOKEN
            if factor in levels and factor not in _ELSEWHERE
            if factor in self.compared or levels[factor] != _PLAIN.get(factor)
        ]
        repeats = "once" if self.repeats == 1 else f"{self.repeats} repeats of each"
        more = ["under IPM or mpiP"] * self.profile + ["with a power meter on each node"] * self.energy
        return ", ".join([case, where, *named, repeats, *more])


def needed(claim: Claim) -> Needed:
    """Say which runs would test a claim under the conditions that it names."""
    asked, compare = claim.question, claim.question.compare
    found: dict[str, list[Level]] = {}
    for factor, given in claim.conditions.items():
        found[factor] = list(_levels(factor, given))
    compared = [
        *((compare.factor,) if compare else ()),
        *(compare.along[:1] if compare and compare.along else ()),
    ]
    for factor in compared:
        found[factor] = []
    if compare and compare.span:
        found[compare.factor] += _doublings(*compare.span)
    for factor, level in asked.levels():
        if factor in compared or factor not in claim.conditions:
            found.setdefault(factor, []).append(level)
    levels = {
        factor: tuple(dict.fromkeys(level for level in all_of if level != NOT_STATED))
        for factor, all_of in found.items()
    }
    spec = MEASURES.get(asked.variable)
    once = asked.quantity == "set" or (spec is not None and spec.exact)
    return Needed(
        " and ".join(map(str, levels.pop("application", ()))),
        tuple(map(str, levels.pop("case", ()))),
        {
            factor: every
            for factor, every in levels.items()
            if every and factor not in ("version", "profiler")
        },
        tuple(compared),
        compare.varying if compare else (),
        1 if once else MIN_REPEATS,
        asked.quantity == "set" or (spec is not None and spec.profile),
        asked.tariff is not None or asked.variable in ("energy", "energy_per_job", "mean_power"),
        claim.looked_up,
    )


def _levels(factor: str, given: Any) -> Iterable[Level]:
    if isinstance(given, Mapping):
        least, most = given.get("min"), given.get("max")
        if factor in ("nodes", "ranks"):
            return _doublings(float(least or most or 1), float(most or least or 1))
        return [level for level in (least, most) if level is not None]
    return given if isinstance(given, list | tuple) else [given]


def _doublings(least: float, most: float) -> list[Level]:
    """Return the numbers from one to another that double, both ends with them."""
    steps = int(math.log2(max(min(most, _MOST_NODES) / max(least, 1), 1)))
    return sorted({*(int(least) * 2**step for step in range(steps + 1)), int(most)})


def _named(factor: str, levels: Sequence[Level]) -> str:
    """Name levels in a list: ``tuning tuned and untuned``, ``2 and 4 jobs at once``."""
    one = BY_NAME[factor]
    if one.numeric and any(isinstance(level, str) for level in levels):
        return f"{factor.replace('_', ' ')} {_and(levels)}"
    single, _, several = one.level.partition("|")
    return (single if levels == (1,) else several or single).format(_and(levels))


def _and(levels: Iterable[Level]) -> str:
    *first, last = map(str, levels)
    return f"{', '.join(first)} and {last}" if first else last
