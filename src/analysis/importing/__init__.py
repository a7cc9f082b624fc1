"""A folder of other people's output becomes a raw campaign: recognised, grouped into runs, factors taken."""

from analysis.importing.plan import Plan, make
from analysis.importing.writing import write

__all__ = ["Plan", "make", "write"]
