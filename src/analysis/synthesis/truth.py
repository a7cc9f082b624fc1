"""The declared truth of a synthetic campaign: what takes how long, and what is run.

A file ``config/synthesis/<report>.yaml`` gives a base time (or rate) for each case, effects that
multiply it, profiles, meters and micro-benchmarks, and the cells of the campaign. Where a number
may depend on the nodes it is either a number or a mapping from node count to number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.base import project
from analysis.base.errors import ConfigError, Fault

Factors = Mapping[str, Any]

_REQUIRED = ("campaign", "seed", "start", "repeats", "noise", "hosts", "defaults", "base", "runs")
_OPTIONAL = ("effects", "profiles", "meters", "micro", "facts", "contradicted")


@dataclass(frozen=True)
class Truth:
    """What a synthetic campaign is made from."""

    source: str  # file that it was read from
    campaign: str
    seed: int
    start: Any  # begin of the campaign, UTC
    repeats: int  # of every cell
    noise: float  # standard deviation of the logarithm of a time between repeats
    hosts: Mapping[str, str]  # cluster -> prefix of its nodes' names
    defaults: Factors  # factors of a run unless a cell says otherwise
    base: Sequence[Mapping[str, Any]]  # entries with ``when``: the factors for which they speak
    runs: Sequence[Mapping[str, Any]]  # groups of cells: a list of levels makes a cell of each
    effects: Sequence[Mapping[str, Any]] = ()
    profiles: Sequence[Mapping[str, Any]] = ()
    meters: Sequence[Mapping[str, Any]] = ()
    micro: Sequence[Mapping[str, Any]] = ()
    facts: Sequence[Mapping[str, Any]] = ()
    # Claims that this truth cannot recover, with the reason: the report contradicts itself.
    contradicted: Mapping[str, str] | None = None

    def error(self, found: str, remedy: str) -> ConfigError:
        """Make the error for something that the file lacks."""
        return ConfigError(Fault(self.source, 0, found, remedy))

    def first(self, entries: Sequence[Mapping[str, Any]], factors: Factors) -> Mapping[str, Any] | None:
        """Return the first entry that speaks for a run."""
        return next((entry for entry in entries if matches(entry.get("when", {}), factors)), None)

    def slowdown(self, factors: Factors) -> float:
        """Multiply all effects that a run is under: how many times its base time it takes."""
        found = [entry["slower"] for entry in self.effects if matches(entry.get("when", {}), factors)]
        return math.prod(self.at(value, factors) for value in found)

    def at(self, value: Any, factors: Factors) -> float:
        """Return a number at the run's node count."""
        if not isinstance(value, Mapping):
            return float(value)
        nodes = factors["nodes"]
        if nodes not in value:
            known = ", ".join(map(str, value))
            raise self.error(f"no value for {nodes} nodes among those for {known}", "declare it")
        return float(value[nodes])


def matches(when: Factors, factors: Factors) -> bool:
    """Tell whether a run has the levels that `when` names, one or a list for each factor."""
    return all(
        factors.get(factor) in (wanted if isinstance(wanted, list) else [wanted])
        for factor, wanted in when.items()
    )


def load_truth(path: Path) -> Truth:
    """Load a declared truth."""
    content = project.load_yaml(path)
    if not isinstance(content, Mapping):
        raise ConfigError.at(str(path), 0, "is no mapping", "see the other files in config/synthesis")
    missing = [key for key in _REQUIRED if key not in content]
    unknown = [key for key in content if key not in (*_REQUIRED, *_OPTIONAL)]
    if missing or unknown:
        parts = [f"lacks {', '.join(missing)}"] * bool(missing)
        parts += [f"has unknown {', '.join(unknown)}"] * bool(unknown)
        raise ConfigError.at(str(path), 0, " and ".join(parts), "see analysis/synthesis/truth.py")
    return Truth(source=str(path), **content)
