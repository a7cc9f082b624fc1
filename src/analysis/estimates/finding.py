"""What was found for a question in one stratum, and how it is put into words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from analysis.base.words import Level, labelled, level_name
from analysis.estimates import stats
from analysis.estimates.stats import Estimate


@dataclass(frozen=True)
class Finding:
    """An estimate, in the unit of the question, with what it rests on.

    `compared` says what was held against what and what both had in common, `arithmetic` the numbers as they
    were put together, `base` value, unit and name of the baseline. `steps` are the ratios of an order's or a
    saturation's steps, or of a crossover's strata; `members` is a set that was found, `unequal` names the
    runs that have another one than claimed; `stratum` has the factors in which all runs agree.
    """

    estimate: Estimate
    compared: str
    arithmetic: str
    runs: tuple[str, ...]
    base: tuple[float, str, str] | None = None
    equivalence: stats.Equivalence | None = None
    steps: tuple[Estimate, ...] = ()
    members: frozenset[Level] | None = None
    unequal: tuple[str, ...] = field(default=())
    stratum: Mapping[str, Level] = field(default_factory=dict)


def group_name(factor: str, part: pd.DataFrame) -> str:
    """Name the level of `factor` that the runs of a group have."""
    return labelled(factor, part[factor].iloc[0])


def common(*parts: pd.DataFrame) -> str:
    """Name the factors in which all the runs agree, the uninteresting ones left out."""
    words = []
    for factor in ("case", "nodes", "ranks", "interconnect", "mpi", "profiler", "target_time"):
        values = sorted({value for part in parts for value in part[factor].dropna()})
        if len(values) == 1 and values[0] not in ("", "none", -1, 0):  # 0 s: no time was given to the run
            words.append(_phrase(factor, values[0]))
        elif len(values) > 1 and factor in ("interconnect", "nodes", "ranks"):
            words.append(f"{factor} {', '.join(map(str, values))}")
    return ", ".join(words)


def _phrase(factor: str, value: Any) -> str:
    return f"under {value}" if factor == "profiler" else level_name(factor, value)


def median_text(values: pd.Series) -> str:
    """Spell a median with the number of values behind it."""
    return f"{np.median(values):.4g} (n {len(values)})"


def listed(values: pd.Series) -> str:
    """Spell out values in ascending order, or their range if they are many."""
    ordered = sorted(values)
    if len(ordered) <= 12:
        return ", ".join(f"{value:.4g}" for value in ordered)
    return f"{len(ordered)} values from {ordered[0]:.4g} to {ordered[-1]:.4g}"


def runs_of(*parts: pd.DataFrame) -> tuple[str, ...]:
    """Return the names of the runs of several groups."""
    return tuple(run for part in parts for run in part["run"])
