"""The registry of witnesses, filled: a module with witnesses is listed here, and nowhere else."""

from analysis.provenance import clocks, labels, layout, likeness, sequence, watts
from analysis.provenance.witnesses import REGISTRY, examine

MODULES = (sequence, clocks, layout, labels, likeness, watts)

__all__ = ["MODULES", "REGISTRY", "examine"]
