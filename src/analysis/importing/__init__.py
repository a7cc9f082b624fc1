"""A folder of other people's output becomes a raw campaign: recognised, grouped into runs, factors found."""

from analysis.importing.plan import ImportPlan, make
from analysis.importing.writing import write

__all__ = ["ImportPlan", "make", "write"]
