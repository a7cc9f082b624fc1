"""From readings in long form to the table meter × time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from analysis.errors import ReadError
from analysis.readers.base import Faults

if TYPE_CHECKING:
    from analysis.readers.power.base import Readings

_NAT = np.iinfo(np.int64).min

# Meters that stamp independently share few stamps, and a dense table grows with the square of the
# meters. Beyond this many cells per reading the stamps are rounded to a part of the interval.
_MAX_CELLS_PER_READING = 6
_FREE_CELLS = 2_000_000
_PARTS = 4
_BLOCK = 2048


@dataclass(slots=True)
class Table:
    """Readings by meter and time.

    Attributes
    ----------
    time : ndarray of int64, shape (time,)
        ns, ascending, each once.
    names : list of str
    power : ndarray of float, shape (meter, time)
        W, or the value of the counter; NaN without a value.
    present : ndarray of bool, shape (meter, time), or None
        Where the meter has a reading, with or without a value; None means everywhere.
    """

    time: np.ndarray
    names: list[str]
    power: np.ndarray
    present: np.ndarray | None = None

    def rows(self) -> Iterator[np.ndarray]:
        """Give for each meter the mask over time of its readings."""
        for index in range(len(self.names)):
            if self.present is None:
                yield np.ones(self.time.size, dtype=bool)
                return  # all meters alike
            yield self.present[index]


def table(readings: Readings, *, duplicates: str, faults: Faults) -> Table:
    """Order readings by meter and time.

    Parameters
    ----------
    readings : Readings
    duplicates : str
        ``mean``, ``first``, ``last`` or ``refuse``; counters keep the last in any case.
    faults : Faults
        Gets a note on rows out of order, doubled and rounded stamps.

    Returns
    -------
    Table

    Raises
    ------
    ReadError
        For doubled stamps under ``refuse``.
    """
    value = readings.power if readings.counter is None else readings.counter
    if value is None:
        raise TypeError("readings without power and without a counter")
    regular = _regular(readings, value)
    if regular is not None:
        return regular
    time, code = readings.time, readings.meter
    known = time != _NAT
    if not known.all() and known.any():
        time, code, value = time[known], code[known], value[known]
    _note_disorder(time, code, len(readings.names), faults)
    time = _rounded(time, code, len(readings.names), faults)
    order = np.lexsort((time, code))  # stable: equal stamps stay in the order of the file
    time, code, value = time[order], code[order], value[order]
    rule = "last" if readings.counter is not None else duplicates
    time, code, value = _merge(time, code, value, rule, faults)
    stamps, column = np.unique(time, return_inverse=True)
    power = np.full((len(readings.names), stamps.size), np.nan)
    power[code, column] = value
    present = np.zeros(power.shape, dtype=bool)
    present[code, column] = True
    return Table(stamps, readings.names, power, present)


def _regular(readings: Readings, value: np.ndarray) -> Table | None:
    """Take the short way for a full log, time by time or meter by meter."""
    time, code, meters = readings.time, readings.meter, len(readings.names)
    if not meters or not time.size or time.size % meters:
        return None
    count = time.size // meters
    for shape, by_meter in (((count, meters), False), ((meters, count), True)):
        times, codes = time.reshape(shape), code.reshape(shape)
        if by_meter:
            times, codes = times.T, codes.T
        stamps = times[:, 0]
        ascending = stamps[0] != _NAT and bool(
            (stamps[1:] > stamps[:-1]).all()
        )  # no difference: it may overflow
        if not ascending or not (codes == np.arange(meters, dtype=codes.dtype)).all():
            continue
        if (times == stamps[:, None]).all():
            values = value.reshape(shape)
            return Table(stamps, readings.names, values if by_meter else _by_meter(values))
    return None


def _by_meter(values: np.ndarray) -> np.ndarray:
    """Return the transpose with each meter's readings side by side; block by block, which fits the cache."""
    turned = np.empty(values.shape[::-1])
    for begin in range(0, values.shape[0], _BLOCK):
        turned[:, begin : begin + _BLOCK] = values[begin : begin + _BLOCK].T
    return turned


def _note_disorder(time: np.ndarray, code: np.ndarray, meters: int, faults: Faults) -> None:
    late = 0
    for meter in range(meters):
        own = time if meters == 1 else time[code == meter]
        late += int(np.count_nonzero(np.diff(own) < 0))
    if late:
        faults.note(0, f"{late} readings stand before earlier ones", "sorted by time")


def _rounded(time: np.ndarray, code: np.ndarray, meters: int, faults: Faults) -> np.ndarray:
    cells = np.unique(time).size * meters
    if meters == 1 or cells <= max(_FREE_CELLS, _MAX_CELLS_PER_READING * time.size):
        return time
    gaps = np.diff(np.sort(time[code == code[0]]))
    step = max(int(np.median(gaps)) // _PARTS, 1)
    faults.note(
        0,
        f"{meters} meters share few stamps; a table of them all has {cells} cells",
        f"stamps are rounded to {step / 1e9:g} s",
    )
    rounded: np.ndarray = (time + step // 2) // step * step
    return rounded


def _merge(
    time: np.ndarray, code: np.ndarray, value: np.ndarray, rule: str, faults: Faults
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Leave one reading per meter and stamp; the input is sorted by meter, then time."""
    first = np.ones(time.size, dtype=bool)
    first[1:] = (np.diff(time) != 0) | (np.diff(code) != 0)
    doubled = int(time.size - np.count_nonzero(first))
    if not doubled:
        return time, code, value
    if rule == "refuse":
        raise ReadError.at(faults.source, 0, f"{doubled} doubled time stamps", "allow duplicates='mean'")
    words = {"mean": "averaged", "first": "the first is kept", "last": "the last is kept"}
    faults.note(0, f"{doubled} readings repeat the time stamp of the one before", words[rule])
    starts = np.flatnonzero(first)
    if rule == "mean":
        good = ~np.isnan(value)
        counts = np.add.reduceat(good.astype(float), starts)
        totals = np.add.reduceat(np.where(good, value, 0.0), starts)
        merged = np.divide(totals, counts, out=np.full(starts.size, np.nan), where=counts > 0)
    else:
        merged = value[starts if rule == "first" else np.append(starts[1:], time.size) - 1]
    return time[starts], code[starts], merged
