"""Power becomes energy: of a window, a job, a run."""

from analysis.energy.integral import energy, total

__all__ = ["energy", "total"]
