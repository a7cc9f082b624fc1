"""Power records as tracks, and their integrals over windows: estimate, bounds, coverage, variance."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
import xarray as xr

from analysis.base.units import SECOND

NAT = np.iinfo(np.int64).min


def time_stamps(ds: xr.Dataset) -> np.ndarray:
    """Return the times of a power dataset in ns since 1970, `NAT` where there is none."""
    stamps: np.ndarray = ds["time"].values.astype("datetime64[ns]").view(np.int64)
    return stamps


@dataclass(slots=True)
class Integral:
    """Energy of parts of a record, arrays of shape (meter, part).

    In J the best estimate and its bounds: gaps by straight lines and at the least and the greatest power;
    ends held. In s the covered time; in J² the variance of sampling.
    """

    energy: np.ndarray
    low: np.ndarray
    high: np.ndarray
    covered: np.ndarray
    variance: np.ndarray

    def _with(self, other: Integral) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        return ((getattr(self, name), getattr(other, name)) for name in self.__slots__)

    def __add__(self, other: Integral) -> Integral:
        return Integral(*(one + more for one, more in self._with(other)))

    def where(self, condition: np.ndarray, other: Integral) -> Integral:
        """Take this part where a condition holds, else the other."""
        return Integral(*(np.where(condition, one, more) for one, more in self._with(other)))


_LARGE = 1_000_000  # readings; fewer are summed before threads have started


@dataclass(slots=True)
class PowerTrack:
    """Readings of meters with the same stamps; n readings make n - 1 intervals.

    `time` is in s from an origin, ascending; `left` and `right` are W at both ends of an interval, equal for
    meters of means, `before` and `after` W held outside the record, `rows` W as read. In a `gap` the energy
    is only bounded, by `span` (least and greatest W) or by the powers that each meter has shown; for a long
    interval that is `counted` a counter has the energy as a whole.
    """

    meters: np.ndarray
    time: np.ndarray
    left: np.ndarray
    right: np.ndarray
    gap: np.ndarray
    counted: np.ndarray
    before: np.ndarray
    after: np.ndarray
    rows: np.ndarray
    span: tuple[float, float] | None
    counter: bool
    _limits: tuple[np.ndarray, np.ndarray] | None = None

    def limits(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the least and the greatest power of each meter in W, shape (meter, 1)."""
        if self._limits is None:  # searching a whole day of a cluster takes long; often no bound is needed
            if self.span is not None:
                low, high = (np.full((self.meters.size, 1), float(limit)) for limit in self.span)
            else:
                # fmin and fmax pass blanks over; a row of blanks stays blank.
                low, high = np.fmin.reduce(self.rows, axis=1), np.fmax.reduce(self.rows, axis=1)
            self._limits = (low.reshape(-1, 1), high.reshape(-1, 1))
        return self._limits

    def between(self, start: np.ndarray, end: np.ndarray) -> Integral:
        """Integrate over windows given in s from the origin, ``start <= end``; of shape (meter, window)."""
        first = np.searchsorted(self.time, start, side="right") - 1
        last = np.searchsorted(self.time, end, side="right") - 1
        size = self.time.size
        inner = self._inner(np.minimum(first + 1, size - 1), np.clip(last, 0, size - 1))
        bounds = np.concatenate((self.time, [np.inf]))
        head = self._piece(first, start, np.minimum(bounds[first + 1], end))
        tail = self._piece(last, np.maximum(self.time[np.clip(last, 0, size - 1)], start), end)
        within = first == last
        if within.any():
            return self._piece(first, start, end).where(within, head + inner + tail)
        return head + inner + tail

    def power(self, at: np.ndarray) -> np.ndarray:
        """Return the power in W at some times, shape (meter, time); held outside the record."""
        index = np.searchsorted(self.time, at, side="right") - 1
        if self.time.size == 1:
            return np.where(index < 0, self.before, self.after)
        inside = np.clip(index, 0, self.time.size - 2)
        length = self.time[inside + 1] - self.time[inside]
        share = np.clip((at - self.time[inside]) / length, 0.0, 1.0)
        left = self.left[:, inside]
        value = left + (self.right[:, inside] - left) * share
        value = np.where(index < 0, self.before, value)
        return np.where(index >= self.time.size - 1, self.after, value)

    def _inner(self, first: np.ndarray, last: np.ndarray) -> Integral:
        """Sum whole intervals between two readings given by position."""
        length = np.diff(self.time)
        half, spread = 0.5 * length, length / np.sqrt(12)
        # Sums from knot to knot: only the readings at which some window begins or ends matter.
        knots, place = np.unique(np.concatenate((first, last)), return_inverse=True)
        starts, pairs = knots[knots < length.size], place.reshape(2, -1)
        covered = self.time[last] - self.time[first]
        one = partial(self._row, half=half, spread=spread, length=length, starts=starts, pairs=pairs)
        if self.left.size > _LARGE:
            with ThreadPoolExecutor(os.cpu_count()) as pool:  # numpy lets threads run side by side
                rows = list(pool.map(one, range(self.meters.size)))
        else:
            rows = [one(row) for row in range(self.meters.size)]
        energy, low, high, gaps, variance = (np.array(values) for values in zip(*rows, strict=True))
        return Integral(energy, low, high, covered - gaps, variance)

    def _row(
        self,
        row: int,
        half: np.ndarray,
        spread: np.ndarray,
        length: np.ndarray,
        starts: np.ndarray,
        pairs: np.ndarray,
    ) -> tuple[np.ndarray, ...]:
        """Sum whole intervals of one meter; row by row, since a row fits the cache."""
        left, right = np.ascontiguousarray(self.left[row]), np.ascontiguousarray(self.right[row])
        sums = np.zeros(starts.size + 1)

        def between(values: np.ndarray) -> np.ndarray:
            if starts.size:
                np.cumsum(np.add.reduceat(values, starts), out=sums[1:])
            part: np.ndarray = sums[pairs[1]] - sums[pairs[0]]
            return part

        trapezoids = left + right
        trapezoids *= half
        energy = between(trapezoids)
        none = np.zeros(energy.size)
        gap = self.gap[row if self.gap.shape[0] > 1 else 0]
        holes = bool(gap.any())
        variance = none
        if not self.counter:
            noise = right - left
            noise *= spread
            noise *= noise
            variance = between(np.where(gap, 0.0, noise) if holes else noise)
        if not holes:
            return energy, energy, energy, none, variance
        least, most = (limit[row] for limit in self.limits())
        low = between(np.where(gap, least * length, trapezoids))
        high = between(np.where(gap, most * length, trapezoids))
        return energy, low, high, between(np.where(gap, length, 0.0)), variance

    def _piece(self, index: np.ndarray, start: np.ndarray, end: np.ndarray) -> Integral:
        """Integrate over a part of one interval; -1 is before the record, n - 1 after it."""
        length = np.maximum(end - start, 0.0)
        outside = (index < 0) | (index >= self.time.size - 1)
        if outside.all():
            return self._beyond(index, length)
        at = np.clip(index, 0, self.time.size - 2)
        whole = self.time[at + 1] - self.time[at]
        left = self.left[:, at]
        rise = self.right[:, at] - left
        energy = (left + rise * ((0.5 * (start + end) - self.time[at]) / whole)) * length
        if self.counter:
            found = self._counted(at, whole, length, energy, left)
        else:
            covered = np.broadcast_to(length, energy.shape)
            found = Integral(energy, energy, energy, covered, (rise * length) ** 2 / 12)
        if self.gap.any():
            least, most = self.limits()
            none = np.zeros(energy.shape)
            found = Integral(energy, least * length, most * length, none, none).where(self.gap[:, at], found)
        return self._beyond(index, length).where(outside, found) if outside.any() else found

    def _beyond(self, index: np.ndarray, length: np.ndarray) -> Integral:
        """Hold the first reading before the record and the last after it."""
        held = np.where(index < 0, self.before, self.after)
        least, most = self.limits()
        none = np.zeros(held.shape)
        return Integral(held * length, least * length, most * length, none, none)

    def _counted(
        self, at: np.ndarray, whole: np.ndarray, length: np.ndarray, energy: np.ndarray, mean: np.ndarray
    ) -> Integral:
        """Cut a counter's interval: when in it the energy was used is not known."""
        share = np.clip(length / whole, 0.0, 1.0)
        total = mean * whole
        cut = self.counted[:, at] & (share < 1.0)
        rest = whole - length
        least, most = self.limits()
        low = np.clip(total - rest * most, least * length, energy)
        high = np.clip(total - rest * least, energy, most * length)
        variance = (total * np.minimum(share, 1.0 - share)) ** 2 / 3
        return Integral(
            energy, np.where(cut, low, energy), np.where(cut, high, energy), np.where(cut, 0.0, length),
            np.where(cut, 0.0, variance),
        )  # fmt: skip


def tracks(
    ds: xr.Dataset, origin: int, max_gap: float, span: tuple[float, float] | None
) -> Iterator[PowerTrack]:
    """Make the tracks of a power dataset, in s from an origin in ns; meters without a reading are in none."""
    stamps = time_stamps(ds)
    power = ds["power"].values
    counter = "energy_counter" in ds
    have = np.isfinite(ds["energy_counter"].values if counter else power)
    dated = stamps != NAT
    if not dated.all():
        have &= dated
    full = have.all(axis=1)
    complete = np.flatnonzero(full)
    groups = [complete] if complete.size else []
    groups += [np.array([meter]) for meter in np.flatnonzero(~full & have.any(axis=1))]
    for group in groups:
        own = have[group[0]]
        if group.size == power.shape[0] and own.all():
            rows, time = power, stamps  # no copy of a whole day
        else:
            at = np.flatnonzero(own)
            rows, time = (power[group], stamps) if own.all() else (power[group[0], at][None], stamps[at])
        seconds = (time - origin) / SECOND
        yield (_means if counter else _readings)(group, seconds, rows, max_gap, span)


def _readings(
    group: np.ndarray, time: np.ndarray, rows: np.ndarray, max_gap: float, span: tuple[float, float] | None
) -> PowerTrack:
    gap = np.diff(time)[None, :] > max_gap
    never = np.zeros(gap.shape, dtype=bool)
    ends = rows[:, :1], rows[:, -1:]
    return PowerTrack(group, time, rows[:, :-1], rows[:, 1:], gap, never, *ends, rows, span, False)


def _means(
    group: np.ndarray, time: np.ndarray, rows: np.ndarray, max_gap: float, span: tuple[float, float] | None
) -> PowerTrack:
    mean = rows[:, 1:].copy()
    gap = np.isnan(mean)
    for row, blank in zip(mean, gap, strict=True):
        at = np.flatnonzero(~blank)
        # An interval without a known energy is drawn between its neighbours.
        row[:] = np.interp(np.arange(row.size), at, row[at]) if at.size else np.nan
    counted = ~gap & (np.diff(time) > max_gap)
    ends = (mean[:, :1], mean[:, -1:]) if mean.shape[1] else (rows[:, :1], rows[:, :1])
    return PowerTrack(group, time, mean, mean, gap, counted, *ends, rows, span, True)
