"""What formats gather line by line, made into readings: stamped rows, spans, means of intervals."""

import functools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from analysis.base.errors import ReadError
from analysis.base.units import SECOND
from analysis.readers.power.clock import Stamps
from analysis.readers.power.log import NAT, MeterLog, MeterReadings, readings_of

Parse = Callable[..., xr.Dataset]

# perf and turbostat keep their interval; twice as long is a line that is missing.
_LATE = 1.5
_DISORDER = 3  # so many stamps that go back may be of logs behind each other


def reads(tool: str, location: str, *, accuracy: float = float("nan"), **attrs: str) -> Callable[..., Parse]:
    """Make the ``parse(data, source, **options)`` of a format from a function log → readings.

    `location` and `accuracy` (limit of error as a fraction of the reading) are what the format implies,
    `attrs` further attributes. The reader takes bytes, or the path of a file that is not compressed, with
    `analysis.readers.power.log.Options`, and raises ReadError where they are not of the format.
    """

    def make(readings: Callable[[MeterLog], MeterReadings]) -> Parse:
        def parse(data: bytes | Path, source: str = "<memory>", **options: Any) -> xr.Dataset:
            log = MeterLog(data, source, options)
            try:
                made = readings(log)
            except OverflowError:
                found = "a time is longer than a clock can count"
                raise ReadError.at(source, 0, found, "a number is damaged; get the log again") from None
            return log.dataset(made, tool=tool, location=location, accuracy=accuracy, attrs=attrs)

        functools.update_wrapper(parse, readings)
        del parse.__dict__["__wrapped__"]  # its signature is another
        parse.__dict__["takes_file"] = True
        return parse

    return make


class Rows:
    """Readings with their stamps, in the order of the file; a format may fix the `order` of numeric dates."""

    def __init__(self, log: MeterLog, *, order: str | None = None) -> None:
        self.log = log
        self.clock = Stamps(log, order=order)
        self.stamp, self.stamp_line = "", 0
        self._rows: list[tuple[str, int, str, float]] = []
        self._loose = False

    def lines(self) -> Iterator[tuple[int, str]]:
        """Give the lines with their numbers; a line with a stamp only is the logger's and kept as `stamp`."""
        for number, line in enumerate(self.log.lines(), 1):
            if self.clock.is_stamp(line):
                self.stamp, self.stamp_line = line.strip(), number
            else:
                yield number, line

    def add(self, line: int, meter: str, value: float, *, stamp: str | None = None) -> None:
        """Add a reading with its own stamp, or with the logger's last."""
        own = (self.stamp, self.stamp_line or line) if stamp is None else (stamp, line)
        self._loose |= stamp is None
        self._rows.append((*own, meter, value))

    def __len__(self) -> int:
        return len(self._rows)

    def drop(self) -> None:
        """Take the last reading back."""
        self._rows.pop()

    def readings(
        self, what: str, *, counter: bool = False, mean: bool = False, step: float = 0.0, loose: bool = False
    ) -> MeterReadings:
        """Make readings of the rows; `what` names them in the message if there are none.

        The values are energy counters in J (`counter`) or means since the reading before (`mean`). `step`
        is the time in s between readings of a log without stamps, unless the option ``interval`` gives it.
        With `loose`, stamps and readings are on separate lines, as in the logger's files. ReadError without
        a row, or if shuffled lines have separated stamps from their readings.
        """
        if not self._rows:
            raise self.log.empty(what)
        stamps, lines, meters, values = zip(*self._rows, strict=True)
        readings = readings_of(self._times(stamps, lines, meters, step), meters, values, mean=mean)
        if loose or self._loose:
            refuse_torn(self.log, readings, lines)
        if counter:
            readings.counter = readings.power
        return readings

    def _times(
        self, stamps: Sequence[str], lines: Sequence[int], meters: Sequence[str], step: float
    ) -> np.ndarray:
        stamped = np.array([bool(stamp) for stamp in stamps])
        if stamped.all():
            return self.clock.utc(stamps, lines)
        interval, seen = self.log.options.interval, Counter[str]()
        turn = []  # how often the row's meter was read before
        for meter in meters:
            turn.append(seen[meter])
            seen[meter] += 1
        step = interval if interval > 0 and (step or self.log.options.start) else step
        if not stamped.any() and (step or (max(turn) == 0 and self.log.options.start)):
            return self.clock.start() + np.round(np.array(turn) * step * SECOND).astype(np.int64)
        first = lines[int(np.flatnonzero(~stamped)[0])]
        if not stamped.any() and max(turn) == 0:
            # A snapshot is whole; it only cannot be put on a time axis.
            self.log.faults.note(first, "the reading has no time", "pass start= with it")
        else:
            remedy = "log the time before each, or pass start= and interval="
            self.log.faults.damage(first, "the reading has no time", remedy)
        time = np.full(len(stamps), NAT)
        at = [i for i, stamp in enumerate(stamps) if stamp]
        if at:
            time[at] = self.clock.utc([stamps[i] for i in at], [lines[i] for i in at])
        return time


def refuse_torn(log: MeterLog, readings: MeterReadings, lines: Sequence[int]) -> None:
    """Refuse a log whose lines were shuffled, so that stamps are separated from the readings below them.

    Complete records may be in any order. But if stamps often go back, and some have two readings of a
    meter or some readings have no stamp, then stamps and readings do not belong together.
    """
    known = np.flatnonzero(readings.time != NAT)
    order = known[np.argsort(readings.meter[known], kind="stable")]
    time, meter = readings.time[order], readings.meter[order]
    own = meter[1:] == meter[:-1]
    back = np.flatnonzero(own & (time[1:] < time[:-1]))
    if back.size < _DISORDER or 4 * back.size < np.count_nonzero(own & (time[1:] != time[:-1])):
        return
    pairs = np.unique(np.stack((meter, time), axis=1), axis=0)
    if pairs.shape[0] < readings.time.size:
        found = f"{back.size} time stamps go back, and not each is followed by one reading of a meter"
        remedy = "the lines are out of order; take the log as it was written"
        raise ReadError.at(log.source, int(lines[order[back[0] + 1]]), found, remedy)


def spans(log: MeterLog, rows: Sequence[tuple[str, int, int, float]]) -> MeterReadings:
    """Make means of energies known for a span only: meter, begin and end in ns since 1970 UTC, J.

    What a meter shows between two spans is not known. Several results in a file may not say when each
    began: ReadError if two spans of one meter overlap.
    """
    readings: list[tuple[int, str, float]] = []
    last: dict[str, int] = {}
    for meter, begin, end, joules in sorted(dict.fromkeys(rows), key=lambda row: row[1]):
        if begin < last.get(meter, begin):
            several = sum(row[0] == meter for row in rows)
            found = f"{several} energies of {meter}, of times that overlap or are not known"
            raise ReadError.at(log.source, 0, found, "put each result into a file of its own")
        if last.get(meter) != begin:
            readings.append((begin, meter, float("nan")))
        readings.append((end, meter, joules * SECOND / max(1, end - begin)))  # not 0 of a damaged time
        last[meter] = end
    return readings_of(*map(list, zip(*readings, strict=True)), mean=True)


def intervals(begin: int, rows: Sequence[tuple[int, str, float, bool]]) -> MeterReadings:
    """Make means of intervals, each of which ends the one before of its meter; the first begins at `begin`.

    A row is its end in ns since 1970 UTC, the meter, the value, and whether that is in J instead of W.
    """
    time: list[int] = []
    meters: list[str] = []
    power: list[float] = []
    last: dict[str, int] = {}
    for end, meter, value, energy in sorted(rows, key=lambda row: row[0]):
        if meter not in last:
            time, meters, power = [*time, begin], [*meters, meter], [*power, float("nan")]
        seconds = (end - last.get(meter, begin)) / SECOND
        watts = value if not energy else value / seconds if seconds > 0 else float("nan")
        time.append(end)
        meters.append(meter)
        power.append(watts)
        last[meter] = end
    return readings_of(time, meters, power, mean=True, longest=_LATE)


def ends(log: MeterLog, seconds: Sequence[float], step: float, default: float) -> tuple[int, np.ndarray]:
    """Place intervals that follow each other: begin of the first and all ends, in ns since 1970 UTC.

    `seconds` are ends in s since 1970, NaN where the log has no times; `step` is the length of the first
    interval in s if the log says so, else NaN. Options of the log go before, `default` (s) comes last.
    """
    stamps, given = np.array(seconds), log.options.interval
    step = given if given > 0 else step
    if not np.isnan(stamps).any():
        step = step if step > 0 else float(np.median(np.diff(stamps))) if stamps.size > 1 else default
        found = np.round(stamps * 1e6).astype(np.int64) * 1000
    else:
        if not step > 0:
            step = default
            log.faults.note(0, "the log has no interval", f"taken as {step:g} s; pass interval=")
        found = Stamps(log).start() + np.round(np.arange(1, stamps.size + 1) * step * SECOND).astype(np.int64)
    return int(found[0]) - round(step * SECOND), found
