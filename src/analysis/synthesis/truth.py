"""The declared truth of a synthetic campaign, ``config/synthesis/<report>.yaml``: what takes how long.

A number that may depend on the nodes is a number or a mapping from node count to number.
"""

import datetime
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, PrivateAttr

from analysis.base import models
from analysis.base.errors import ConfigError, Fault
from analysis.base.models import Model, Name

Factors = Mapping[str, Any]
# ``when`` and the factors that it is about, and what holds for them.
Entries = list[dict[str, Any]]


class Truth(Model):
    """The declared truth that a synthetic campaign is made from."""

    campaign: Name
    seed: int
    start: datetime.datetime = Field(description="begin of the campaign, UTC")
    repeats: Annotated[int, Field(ge=1)] = Field(description="of every cell")
    noise: Annotated[float, Field(ge=0)] = Field(
        description="standard deviation of the logarithm of a time between repeats"
    )
    nightly: Annotated[int, Field(ge=0)] = Field(
        0, description="repeats of every cell a night; `when` may then have a `night`, from 1"
    )
    changes: Entries = Field([], description="levels that are `set` in some nights, with `when`")
    hosts: dict[str, str] = Field(description="cluster -> prefix of its nodes' names")
    defaults: dict[str, Any] = Field(description="factors of a run unless a cell says otherwise")
    base: Entries = Field(description="time or rate of each case, with `when`: the factors it applies to")
    runs: Entries = Field(description="groups of cells: a list of levels makes a cell of each")
    effects: Entries = Field([], description="how many times slower a run is, with `when`")
    profiles: Entries = Field([], description="shares of calls and messages, with `when`")
    meters: Entries = Field([], description="power of the nodes, with `when`")
    micro: Entries = Field([], description="micro-benchmarks, with `when`")
    facts: Entries = Field([], description="facts of the hardware, each with what, value and source")
    contradicted: dict[str, str] = Field(
        {}, description="claims that this truth cannot recover, with how the report contradicts itself"
    )

    _source: str = PrivateAttr("<memory>")

    @property
    def source(self) -> str:
        """File that it was read from."""
        return self._source

    def error(self, found: str, remedy: str) -> ConfigError:
        """Make the error for something that the file lacks."""
        return ConfigError(Fault(self._source, 0, found, remedy))

    def first(self, entries: Sequence[Mapping[str, Any]], factors: Factors) -> Mapping[str, Any] | None:
        """Return the first entry that applies to a run."""
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
    """Load a declared truth; ConfigError if the file does not follow the model."""
    truth = models.load(Truth, path)
    truth._source = str(path)
    return truth
