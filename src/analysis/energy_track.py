"""One meter's record as intervals between readings, and the integral of any part of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr

SECOND = 1e9


@dataclass(slots=True)
class Part:
    """Energy of parts of a record; all arrays of shape (part,).

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


@dataclass(slots=True)
class Track:
    """Readings of one meter; n readings make n - 1 intervals.

    Attributes
    ----------
    time : ndarray of float, shape (n,)
        s from an origin, ascending.
    left, right : ndarray of float, shape (n - 1,)
        W at both ends of an interval; equal for a meter of means.
    gap : ndarray of bool, shape (n - 1,)
        Intervals whose energy is only bounded.
    counted : ndarray of bool, shape (n - 1,)
        Long intervals whose energy as a whole a counter tells.
    ends : (float, float)
        W held before the first and after the last reading.
    span : (float, float)
        Least and greatest power in W, for bounds.
    counter : bool
    """

    time: np.ndarray
    left: np.ndarray
    right: np.ndarray
    gap: np.ndarray
    counted: np.ndarray
    ends: tuple[float, float]
    span: tuple[float, float]
    counter: bool

    def between(self, start: np.ndarray, end: np.ndarray) -> Part:
        """Integrate over windows.

        Parameters
        ----------
        start, end : ndarray of float, shape (window,)
            s from the origin; ``start <= end``.

        Returns
        -------
        Part
        """
        first = np.searchsorted(self.time, start, side="right") - 1
        last = np.searchsorted(self.time, end, side="right") - 1
        size = self.time.size
        inner = self._inner(np.minimum(first + 1, size - 1), np.clip(last, 0, size - 1))
        bounds = np.concatenate((self.time, [np.inf]))
        head = self._piece(first, start, np.minimum(bounds[first + 1], end))
        tail = self._piece(last, np.maximum(self.time[np.clip(last, 0, size - 1)], start), end)
        return self._piece(first, start, end).where(first == last, head + inner + tail)

    def power(self, at: np.ndarray) -> np.ndarray:
        """Return the power in W at some times; the held value outside the record."""
        index = np.searchsorted(self.time, at, side="right") - 1
        inside = np.clip(index, 0, self.left.size - 1) if self.left.size else np.zeros(at.size, dtype=int)
        if not self.left.size:
            return np.full(at.size, self.ends[0])
        length = self.time[inside + 1] - self.time[inside]
        share = np.clip((at - self.time[inside]) / length, 0.0, 1.0)
        value = self.left[inside] + (self.right[inside] - self.left[inside]) * share
        value = np.where(index < 0, self.ends[0], value)
        return np.where(index >= self.left.size, self.ends[1], value)

    def _inner(self, first: np.ndarray, last: np.ndarray) -> Part:
        """Sum whole intervals between two readings given by position."""
        length = np.diff(self.time)

        def between(values: np.ndarray) -> np.ndarray:
            sums = np.concatenate(([0.0], np.cumsum(values)))
            part: np.ndarray = sums[last] - sums[first]
            return part

        energy = between(0.5 * (self.left + self.right) * length)
        low = high = energy
        if self.gap.any():
            trapezoids = 0.5 * (self.left + self.right) * length
            low = between(np.where(self.gap, self.span[0] * length, trapezoids))
            high = between(np.where(self.gap, self.span[1] * length, trapezoids))
            covered = between(np.where(self.gap, 0.0, length))
        else:
            covered = self.time[last] - self.time[first]
        if self.counter:
            variance = np.zeros(first.size)
        else:
            variance = between(np.where(self.gap, 0.0, ((self.right - self.left) * length) ** 2 / 12))
        return Part(energy, low, high, covered, variance)

    def _piece(self, index: np.ndarray, start: np.ndarray, end: np.ndarray) -> Part:
        """Integrate over a part of one interval; -1 is before the record, n - 1 after it."""
        length = np.maximum(end - start, 0.0)
        outside = (index < 0) | (index >= self.left.size)
        held = np.where(index < 0, self.ends[0], self.ends[1])
        low, high = self.span[0] * length, self.span[1] * length
        none = np.zeros(length.size)
        beyond = Part(held * length, low, high, none, none)
        if not self.left.size:
            return beyond
        at = np.clip(index, 0, self.left.size - 1)
        whole = self.time[at + 1] - self.time[at]
        slope = (self.right[at] - self.left[at]) / whole
        middle = 0.5 * (start + end) - self.time[at]
        energy = (self.left[at] + slope * middle) * length
        share = np.clip(length / whole, 0.0, 1.0)
        total = self.left[at] * whole
        if self.counter:
            # Where in the interval the counter's energy fell is not known.
            variance = (total * np.minimum(share, 1.0 - share)) ** 2 / 3
        else:
            variance = (slope * whole * length) ** 2 / 12
        inside = Part(energy, energy, energy, length, variance)
        cut = self.counted[at] & (share < 1.0)
        rest = whole - length
        counted = Part(
            energy,
            np.where(cut, np.clip(total - rest * self.span[1], low, energy), energy),
            np.where(cut, np.clip(total - rest * self.span[0], energy, high), energy),
            np.where(cut, 0.0, length),
            np.where(cut, 0.0, variance),
        )
        gap = Part(energy, low, high, none, none)
        return beyond.where(outside, gap.where(self.gap[at], counted.where(self.counted[at], inside)))


def track(
    ds: xr.Dataset, meter: int, origin: int, max_gap: float, span: tuple[float, float] | None
) -> Track | None:
    """Make the track of one meter of a power dataset; None if it has no reading.

    Parameters
    ----------
    ds : Dataset
        Kind ``power``.
    meter : int
        Position.
    origin : int
        ns since 1970 from which seconds count.
    max_gap : float
        s; longer intervals are gaps.
    span : (float, float), optional
        Least and greatest power in W; by default those that the meter has shown.
    """
    stamps = ds["time"].values.astype("datetime64[ns]").view(np.int64)
    power = np.ascontiguousarray(ds["power"].values[meter])
    counter = "energy_counter" in ds
    have = np.isfinite(ds["energy_counter"].values[meter] if counter else power)
    have &= stamps != np.iinfo(np.int64).min
    if not have.all():
        stamps, power = stamps[have], power[have]
    known = power[np.isfinite(power)]
    if not known.size:
        return None
    time = (stamps - origin) / SECOND
    if not counter:
        gap = np.diff(time) > max_gap
        left, right, counted = power[:-1], power[1:], np.zeros(gap.size, dtype=bool)
    else:
        mean = power[1:]
        gap = np.isnan(mean)
        at = np.flatnonzero(~gap)
        # An interval without a known energy is drawn between its neighbours.
        left = right = np.interp(np.arange(mean.size), at, mean[at])
        counted = ~gap & (np.diff(time) > max_gap)
    limits = span or (float(known.min()), float(known.max()))
    return Track(time, left, right, gap, counted, (float(known[0]), float(known[-1])), limits, counter)
