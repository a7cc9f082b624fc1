"""What the integral of a part of a power record gives: estimate, bounds, coverage, variance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(slots=True)
class Part:
    """Energy of parts of a record; all arrays of shape (meter, part).

    Attributes
    ----------
    energy : ndarray of float
        J, best estimate; gaps by straight lines, ends held.
    low, high : ndarray of float
        J, bounds: gaps at the least and the greatest power.
    covered : ndarray of float
        s that readings cover.
    variance : ndarray of float
        J², of sampling.
    """

    energy: np.ndarray
    low: np.ndarray
    high: np.ndarray
    covered: np.ndarray
    variance: np.ndarray

    def __add__(self, other: Part) -> Part:
        return Part(
            self.energy + other.energy,
            self.low + other.low,
            self.high + other.high,
            self.covered + other.covered,
            self.variance + other.variance,
        )

    def where(self, condition: np.ndarray, other: Part) -> Part:
        """Take this part where a condition holds, else the other."""
        return Part(
            np.where(condition, self.energy, other.energy),
            np.where(condition, self.low, other.low),
            np.where(condition, self.high, other.high),
            np.where(condition, self.covered, other.covered),
            np.where(condition, self.variance, other.variance),
        )
