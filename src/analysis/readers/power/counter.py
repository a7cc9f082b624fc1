"""Energy counters: wraps, resets, and the mean power between readings."""

import numpy as np

from analysis.base.errors import ReadError
from analysis.base.units import SECOND
from analysis.readers.base import Faults
from analysis.readers.power.table import MeterReadings, Table

_MANY = 5  # so many resets in a short log are none
_JUMP = 1000.0  # times the usual power: digits were lost or gained


def energies(
    table: Table, readings: MeterReadings, max_power: float, faults: Faults
) -> tuple[np.ndarray, np.ndarray]:
    """Turn counters in J, or means in W, into mean powers in W and cumulated energies in J (meter, time).

    If the interval of a reading is unknown (the first one, a reset, a blank), its power is NaN and the
    energy does not grow. A column that falls as often as energies of single intervals is not a counter.
    """
    power = np.full(table.power.shape, np.nan)
    energy = np.full(table.power.shape, np.nan)
    everywhere = np.ones(table.time.size, dtype=bool)
    for index, name in enumerate(table.names):
        own = everywhere if table.present is None else table.present[index]
        value = table.power[index]
        if readings.counter is not None:
            own = own & ~np.isnan(value)  # a blank counter is no reading: the next one spans it
        at = np.flatnonzero(own)
        if not at.size:
            continue
        seconds = np.diff(table.time[at]) / SECOND
        if readings.counter is None:
            mean = _stated(value[at][1:], seconds, readings.longest, name, faults)
        else:
            joules = _steps(value[at], seconds, readings.wrap.get(name), max_power, name, faults)
            mean = joules / seconds
        power[index, at[1:]] = mean
        energy[index, at] = np.concatenate(([0.0], np.nancumsum(mean * seconds)))
    return power, energy


def _stated(mean: np.ndarray, seconds: np.ndarray, longest: float, name: str, faults: Faults) -> np.ndarray:
    """Leave out the means after missing lines: they tell of the last part of the interval only."""
    usual = float(np.sort(seconds)[(seconds.size - 1) // 2]) if seconds.size else np.nan
    long = (seconds > longest * usual) & ~np.isnan(mean)
    if not long.any():
        return mean
    found = f"{name}: {int(long.sum())} readings come over {longest:g} times later than usual ({usual:g} s)"
    faults.damage(0, f"{found}; lines are missing", "the energy of these intervals is not known")
    return np.where(long, np.nan, mean)


def _without_jumps(steps: np.ndarray, seconds: np.ndarray, name: str, faults: Faults) -> np.ndarray:
    """Leave out steps upwards that no meter makes, as where a line lost the first digits of its counter."""
    pace = steps / seconds
    usual = float(np.median(pace[pace > 0])) if (pace > 0).any() else np.inf
    jumps = pace > _JUMP * usual
    if not jumps.any():
        return steps
    found = f"{name}: the counter jumps {int(jumps.sum())} times, by up to {np.max(pace[jumps]):.3g} W"
    faults.damage(0, f"{found} where {usual:.3g} W is usual", "the energy of these intervals is not known")
    return np.where(jumps, np.nan, steps)


def _steps(
    value: np.ndarray, seconds: np.ndarray, wrap: float | None, max_power: float, name: str, faults: Faults
) -> np.ndarray:
    """Return the energy of each interval in J; NaN where the counter cannot tell."""
    steps = _without_jumps(np.diff(value), seconds, name, faults)
    back = steps < 0
    if not np.isnan(max_power) and wrap:
        blind = seconds * max_power >= wrap
        if blind.any():
            found = f"{name}: {int(blind.sum())} intervals are longer than the counter's {wrap:g} J last"
            faults.note(0, f"{found} at {max_power:g} W", "their energy is not known")
            steps = np.where(blind, np.nan, steps)
            back &= ~blind
    if not back.any():
        return steps
    wrapped = np.zeros(back.shape, dtype=bool)
    if wrap:
        # A wrap continues at the pace of the other intervals; a reset would need a far higher one.
        forward = (steps[~back] / seconds[~back])[~np.isnan(steps[~back])]
        pace = max_power if not np.isnan(max_power) else 10 * float(forward.max(initial=0.0))
        wrapped = back & ((steps + wrap) / seconds <= (pace or np.inf)) & (steps + wrap >= 0)
    if wrapped.any():
        faults.note(0, f"{name}: the counter wrapped {int(wrapped.sum())} times at {wrap:g} J", "unwrapped")
        steps = np.where(wrapped, steps + (wrap or 0.0), steps)
    reset = back & ~wrapped
    if reset.sum() >= _MANY and 4 * reset.sum() > np.count_nonzero(steps > 0):
        found = f"{name}: the energy falls in {int(reset.sum())} of {steps.size} intervals; it is no counter"
        raise ReadError.at(
            faults.source, 0, found, "pass counter_range= if it wraps, else map a column of power"
        )
    if reset.any():
        why = "it was reset" if wrap else "it was reset or wrapped, its range is not known"
        faults.damage(
            0,
            f"{name}: the counter goes back {int(reset.sum())} times; {why}",
            "the energy of these intervals is not known",
        )
    return np.where(reset, np.nan, steps)
