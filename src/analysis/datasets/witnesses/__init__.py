"""The registry of witnesses, filled: a module with witnesses is listed here, and nowhere else."""

from analysis.datasets.witnesses import clocks, layout, likeness, names, sequence, watts
from analysis.datasets.witnesses.hearing import REGISTRY, examine

MODULES = (sequence, clocks, layout, names, likeness, watts)

__all__ = ["MODULES", "REGISTRY", "examine"]
