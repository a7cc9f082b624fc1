"""Readings in long form, what every format makes of its log, and the table meter × time that they become."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from analysis.base.errors import ReadError
from analysis.base.units import SECOND
from analysis.readers.base import Faults

NAT = np.iinfo(np.int64).min


@dataclass(slots=True)
class MeterReadings:
    """Readings in long form, in the order of the file; of a full log also as a table.

    In a table all meters share `time`, and `meter` names the rows of `power` (or `counter`), of shape
    (meter, time).
    """

    time: np.ndarray  # ns since 1970 UTC; the least int64 where the stamp could not be read
    meter: np.ndarray  # position in `names`
    names: list[str]
    power: np.ndarray | None = None  # W
    counter: np.ndarray | None = None  # J as read; then `power` is not used
    wrap: Mapping[str, float] = field(default_factory=dict)  # J at which a meter's counter starts again
    mean: bool = False  # since the meter's reading before, not momentary
    # Of means: beyond this multiple of a meter's usual distance from the reading before, lines are missing.
    longest: float = float("inf")


def readings_of(
    time: Sequence[int] | np.ndarray, meter: Sequence[str], power: Sequence[float] | np.ndarray, **more: Any
) -> MeterReadings:
    """Make readings of plain lists with meters by name, which keep the order they appear in."""
    names = list(dict.fromkeys(meter))
    codes = {name: code for code, name in enumerate(names)}
    return MeterReadings(
        time=np.asarray(time, dtype=np.int64),
        meter=np.fromiter((codes[name] for name in meter), dtype=np.int32, count=len(meter)),
        names=names,
        power=np.asarray(power, dtype=float),
        **more,
    )


# Meters that stamp independently share few stamps, and a dense table grows with the square of the
# meters. Beyond this many cells per reading the stamps are rounded to a part of the interval.
_MAX_CELLS_PER_READING = 6
_FREE_CELLS = 2_000_000
_PARTS = 4


@dataclass(slots=True)
class Table:
    """Readings by meter and time."""

    time: np.ndarray  # ns, ascending, each once
    names: list[str]
    power: np.ndarray  # W, or the value of the counter; NaN without a value
    # Where the meter has a reading, with or without a value; None means everywhere.
    present: np.ndarray | None = None

    def rows(self) -> Iterator[np.ndarray]:
        """Give for each meter the mask over time of its readings."""
        for index in range(len(self.names)):
            if self.present is None:
                yield np.ones(self.time.size, dtype=bool)
                return  # all meters alike
            yield self.present[index]


def table(readings: MeterReadings, *, duplicates: str, faults: Faults) -> Table:
    """Order readings by meter and time; of doubled stamps counters always keep the last."""
    value = readings.power if readings.counter is None else readings.counter
    if value is None:
        raise TypeError("readings without power and without a counter")
    time, code, meters = readings.time, readings.meter, len(readings.names)
    if value.ndim == 2:
        if (time[1:] > time[:-1]).all():
            return Table(time, readings.names, value)
        time, code, value = np.tile(time, meters), np.repeat(code, time.size), value.reshape(-1)
    known = time != NAT
    if not known.all() and known.any():
        time, code, value = time[known], code[known], value[known]
    _note_disorder(time, code, meters, faults)
    stamps, column = _positions(time)
    rounded = _rounded(time, code, meters, stamps.size, faults)
    if rounded is not None:
        time = rounded
        stamps, column = _positions(time)
    cell = code * np.int64(stamps.size)
    cell += column
    present = np.zeros(meters * stamps.size, dtype=bool)
    present[cell] = True
    if np.count_nonzero(present) < time.size:
        order = np.lexsort((time, code))  # stable: equal stamps stay in the order of the file
        rule = "last" if readings.counter is not None else duplicates
        value = _merge(time[order], code[order], value[order], rule, faults)
        cell = np.flatnonzero(present)
    power = np.full(present.size, np.nan)
    power[cell] = value
    shape = (meters, stamps.size)
    return Table(stamps, readings.names, power.reshape(shape), present.reshape(shape))


def _positions(time: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the stamps, ascending, each once, and the position of each reading's among them."""
    new = time[1:] != time[:-1]
    if (time[1:][new] > time[:-1][new]).all():
        first = np.concatenate(([False], new))
        return np.concatenate((time[:1], time[first])), np.cumsum(first)
    codes, stamps = pd.factorize(time)  # by hash: millions of stamps are long to sort
    order = np.argsort(stamps)
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    return stamps[order], rank[codes]


def _note_disorder(time: np.ndarray, code: np.ndarray, meters: int, faults: Faults) -> None:
    if (time[1:] >= time[:-1]).all():
        return
    # Codes of 16 bits are sorted in linear time.
    order = np.argsort(code.astype(np.min_scalar_type(meters)), kind="stable")
    time, code = time[order], code[order]
    late = int(np.count_nonzero((time[1:] < time[:-1]) & (code[1:] == code[:-1])))
    if late:
        faults.note(0, f"{late} readings are before earlier ones", "sorted by time")


def _rounded(
    time: np.ndarray, code: np.ndarray, meters: int, stamps: int, faults: Faults
) -> np.ndarray | None:
    """Return stamps rounded to a part of the interval; None if a table of them all is not too large."""
    cells = stamps * meters
    if meters == 1 or cells <= max(_FREE_CELLS, _MAX_CELLS_PER_READING * time.size):
        return None
    gaps = np.diff(np.sort(time[code == code[0]]))
    step = max(int(np.median(gaps)) // _PARTS, 1)
    faults.note(
        0,
        f"{meters} meters share few stamps; a table of them all has {cells} cells",
        f"stamps are rounded to {step / SECOND:g} s",
    )
    rounded: np.ndarray = (time + step // 2) // step * step
    return rounded


def _merge(time: np.ndarray, code: np.ndarray, value: np.ndarray, rule: str, faults: Faults) -> np.ndarray:
    """Leave one value per meter and stamp; the input is sorted by meter, then time."""
    first = np.ones(time.size, dtype=bool)
    first[1:] = (np.diff(time) != 0) | (np.diff(code) != 0)
    doubled = int(time.size - np.count_nonzero(first))
    if rule == "refuse":
        raise ReadError.at(faults.source, 0, f"{doubled} doubled time stamps", "allow duplicates='mean'")
    words = {"mean": "averaged", "first": "the first is kept", "last": "the last is kept"}
    faults.note(0, f"{doubled} readings repeat the time stamp of the one before", words[rule])
    starts = np.flatnonzero(first)
    if rule == "mean":
        good = ~np.isnan(value)
        counts = np.add.reduceat(good.astype(float), starts)
        totals = np.add.reduceat(np.where(good, value, 0.0), starts)
        return np.asarray(np.divide(totals, counts, out=np.full(starts.size, np.nan), where=counts > 0))
    chosen: np.ndarray = value[starts if rule == "first" else np.append(starts[1:], time.size) - 1]
    return chosen


Blocks = Sequence[np.ndarray]

_ROWS = 2048  # fit the cache while they are turned


def fold(
    time: Blocks, code: Blocks, values: Sequence[Blocks], meters: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """Fold columns of a full log, whose rows go time by time or meter by meter; None for any other order.

    All columns come in the same blocks; meters count from 0 in the order of the file. Returns ascending
    stamps, and values (meter × column, time): the columns of the first meter, of the second, and so on.
    """
    rows = sum(block.size for block in time)
    if not rows or not meters or rows % meters:
        return None
    size = rows // meters
    folded = _by_time(time, code, values, meters, size) if meters > 1 else None
    return folded or _by_meter(time, code, values, meters, size)


def _by_meter(
    time: Blocks, code: Blocks, values: Sequence[Blocks], meters: int, size: int
) -> tuple[np.ndarray, np.ndarray] | None:
    stamps = np.concatenate(time).reshape(meters, size)
    if not _ascending(stamps[0]):
        return None
    codes = np.concatenate(code).reshape(meters, size)
    for meter in range(meters):
        if not (codes[meter] == meter).all() or not (stamps[meter] == stamps[0]).all():
            return None
    if len(values) == 1:
        return stamps[0], np.concatenate(values[0]).reshape(meters, size)
    table = np.empty((meters, len(values), size))
    for column, blocks in enumerate(values):
        table[:, column] = np.concatenate(blocks).reshape(meters, size)
    return stamps[0], table.reshape(-1, size)


def _by_time(
    time: Blocks, code: Blocks, values: Sequence[Blocks], meters: int, size: int
) -> tuple[np.ndarray, np.ndarray] | None:
    stamps = np.empty(size, dtype=time[0].dtype)
    table = np.empty((meters, len(values), size))
    order = np.arange(meters, dtype=code[0].dtype)
    begin = 0
    for own, codes, *columns in _whole((time, code, *values), meters):
        end = begin + own.shape[0]
        first = own[:, 0]
        if not (codes == order).all() or not (own == first[:, None]).all():
            return None
        stamps[begin:end] = first
        for column, block in enumerate(columns):
            table[:, column, begin:end] = block.T
        begin = end
    return (stamps, table.reshape(-1, size)) if _ascending(stamps) else None


def _whole(columns: Sequence[Blocks], meters: int) -> Iterator[list[np.ndarray]]:
    """Give all columns in pieces of whole stamps, shape (time, meter)."""
    rest = [blocks[0][:0] for blocks in columns]
    for blocks in zip(*columns, strict=True):
        lead = -rest[0].size % meters
        if lead:  # the block before ended between two meters of a stamp
            joined = [np.concatenate((last, block[:lead])) for last, block in zip(rest, blocks, strict=True)]
            if joined[0].size < meters:
                rest = joined
                continue
            yield [block.reshape(1, meters) for block in joined]
        end = lead + (blocks[0].size - lead) // meters * meters
        for begin in range(lead, end, _ROWS * meters):
            stop = min(begin + _ROWS * meters, end)
            yield [block[begin:stop].reshape(-1, meters) for block in blocks]
        rest = [block[end:] for block in blocks]


def _ascending(stamps: np.ndarray) -> bool:
    return bool((stamps[1:] > stamps[:-1]).all())  # no difference: it may overflow
