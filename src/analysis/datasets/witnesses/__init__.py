"""The registry of witnesses, filled: a module with witnesses is listed here, and nowhere else."""

from analysis.datasets.witnesses import (
    accounts,
    clocks,
    durations,
    exchanges,
    layout,
    likeness,
    limits,
    names,
    sequence,
    starts,
    watts,
)
from analysis.datasets.witnesses.hearing import REGISTRY, examine

MODULES = (sequence, starts, accounts, clocks, durations, layout, names, likeness, exchanges, watts, limits)

__all__ = ["MODULES", "REGISTRY", "examine"]
