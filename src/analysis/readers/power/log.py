"""What all readers of power logs share: options, readings in long form, the dataset.

A format is one small module with ``sniff(head, name)`` and ``parse(data, source, **options)``. It
turns its text into `MeterReadings` (one row per reading: time, meter, watts) and hands them to
`MeterLog.dataset`, which does what every log needs: order, doubled stamps, clock offset, the
meter × time table, energy counters, attributes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from analysis.base.errors import BenchbookError, ReadError
from analysis.base.files import plain_head, read_bytes
from analysis.base.units import SECOND
from analysis.readers.base import Faults, as_utf8, is_utf16
from analysis.readers.power import counter
from analysis.readers.power import table as pivot
from analysis.readers.power.table import NAT, MeterReadings, Table, readings_of
from analysis.readers.text import whole_lines
from analysis.schema import registry

# What a format works with.
__all__ = ["NAT", "MeterLog", "MeterReadings", "Options", "readings_of"]

_DUPLICATES = ("mean", "first", "last", "refuse")


# Tool -> patterns of meters that lie within others, or hold them, the innermost first.
_OVERLAPPING: dict[str, tuple[str, ...]] = {
    # Cores and graphics are in the package, and the platform contains it.
    "turbostat": ("^(cores|graphics|system)$",),
    "perf stat": ("energy-(cores|gpu|psys)$",),
    # A zone within a package that has no name is memory on some machines and cores on others.
    "powercap": (r"(?<![^\W_])(core|uncore|psys)(?![^\W\d_])", r"^intel-rapl(-mmio)?:\d+:\d+$"),
    "Cray pm_counters": (r"(^|/)(cpu|memory|accel\d*)$",),
    "GEOPM": ("/board$",),
    # Parts of a node, and its supplies where a sensor is of all of it.
    "ipmitool": (r"(?i)cpu|mem|dimm|gpu|fan|hdd|pci", r"(?i)out", r"(?i)^ps|psu|supply"),
    # Parts of a system; resources within others; a supply's output, its consumption, its input.
    "Redfish": (
        r"(?i)\b(cpu|memory|fan|storage|gpu|fpga)\b.*\bsub-?system|(^|[/ ])Total(?!Power)\w+Power$",
        "/.* (Input|Output)?PowerWatts$",
        " OutputPowerWatts$|(^|[/ ])SystemOutputPower$",
        "(^|[/ ])SystemPowerConsumption$",
    ),
}


@dataclass(frozen=True, slots=True)
class Options:
    """What a log does not say about itself, declared by whoever reads it."""

    tz: str | None = None  # IANA zone of local stamps without an offset; UTC with a warning without it
    date: str | None = None  # of the first reading, YYYY-MM-DD, for logs with only a time of day
    start: str | None = None  # first instant, ISO 8601, for logs with only elapsed seconds or no time
    date_order: str | None = None  # dmy or mdy for dates like 03/04/2026, ymd for 26-04-03
    # Of several readings with one stamp: mean (meters that stamp whole seconds but read faster), first, last
    # or refuse; a counter always keeps the last.
    duplicates: str = "mean"
    offset: float = 0.0  # s to add to the meter's clock to get the cluster's
    interval: float = float("nan")  # s between readings; NaN takes the median of the log
    accuracy: float = float("nan")  # limit of error as a fraction of the reading; NaN where not known
    location: str = ""  # point of measurement; by default what the format implies
    meter: str = ""  # its name where the log names none
    columns: Mapping[str, Any] | None = None  # of a CSV file, see `analysis.readers.power.headings`
    max_power: float = float(
        "nan"
    )  # W that the meter can show at most; tells a counter's wrap from its reset
    counter_range: float = float("nan")  # J at which a counter starts again, where the log does not say

    @classmethod
    def of(cls, source: str, given: Mapping[str, Any]) -> Options:
        """Check and take the options of a reader; `ReadError` names those that are known."""
        known = [f.name for f in fields(cls)]
        for name in given:
            if name not in known:
                raise ReadError.at(source, 0, f"unknown option {name!r}", f"known: {', '.join(known)}")
        options = cls(**given)
        for name, allowed in (("duplicates", _DUPLICATES), ("date_order", (None, "dmy", "mdy", "ymd"))):
            if getattr(options, name) not in allowed:
                wanted = ", ".join(str(a) for a in allowed if a)
                found = f"option {name}={getattr(options, name)!r} has no meaning"
                raise ReadError.at(source, 0, found, f"use one of {wanted}")
        return options


class MeterLog:
    """One power log while it is read, with the reader's options: bytes, or a file that is not compressed."""

    def __init__(self, given: bytes | Path, source: str, options: Mapping[str, Any]) -> None:
        self.given = given
        self.source = source
        self.options = Options.of(source, options)
        self.faults = Faults(source)

    @cached_property
    def data(self) -> bytes:
        """The whole log; a file is read when this is first asked for."""
        return as_utf8(self.given if isinstance(self.given, bytes) else read_bytes(self.given))

    def head(self, size: int) -> bytes:
        """Return the first bytes without reading the rest."""
        start = self.data if isinstance(self.given, bytes) else plain_head(self.given, size)
        return self.data[:size] if is_utf16(start) else as_utf8(start[:size])

    def file(self) -> Path | None:
        """Return the log's file if it can be parsed from the disk: UTF-8, and its last line ends."""
        if isinstance(self.given, bytes) or "data" in self.__dict__ or is_utf16(plain_head(self.given, 2)):
            return None
        with self.given.open("rb") as file:
            return self.given if file.seek(0, 2) and file.seek(-1, 2) and file.read(1) == b"\n" else None

    def lines(self, *, end: str = "") -> list[str]:
        """Return the whole lines; an unterminated last one is dropped and named, unless it is `end`."""
        data, holes = self.data, self.data.count(b"\0")
        if holes:
            line = data.count(b"\n", 0, data.index(b"\0")) + 1
            self.faults.damage(line, f"{holes} NUL bytes", "the writer crashed; lines may be missing")
            data = data.replace(b"\0", b"")
        lines, rest = whole_lines(data)
        if rest.strip() and rest.strip() != end:
            self.cut(len(lines) + 1)
        return lines

    def cut(self, line: int) -> None:
        """Name the fault of a last line that does not end."""
        self.faults.damage(line, "the last line does not end", "the file is cut; the line is not used")

    def empty(self, what: str) -> BenchbookError:
        """Make the error of a log in which nothing of its format was found."""
        if self.faults.faults:
            fault = self.faults.faults[0]
            return ReadError.at(self.source, fault.line, fault.found, f"no {what} is left")
        found = f"no {what} found"
        return ReadError.at(self.source, 0, found, "check that the file is whole and of this format")

    def dataset(
        self,
        readings: MeterReadings,
        *,
        tool: str,
        location: str,
        accuracy: float = float("nan"),
        attrs: Mapping[str, Any] | None = None,
    ) -> xr.Dataset:
        """Make the dataset of kind ``power``: W (meter, time); of counters and means J as well.

        `location` and `accuracy` (limit of error as a fraction of the reading) are what the format implies;
        the options of the same names go first. ReadError if of several readings of a meter none has a time.
        """
        options = self.options
        if readings.time.size > len(readings.names) and (readings.time == NAT).all():
            raise self.empty("reading with a time")
        table = pivot.table(readings, duplicates=options.duplicates, faults=self.faults)
        if readings.counter is None:
            _blank_negative(table, self.faults)
        variables = {"power": (("meter", "time"), table.power)}
        mean = readings.mean or readings.counter is not None
        if mean:
            power, energy = counter.energies(table, readings, options.max_power, self.faults)
            variables = {"power": (("meter", "time"), power), "energy_counter": (("meter", "time"), energy)}
        time = np.where(table.time == NAT, NAT, table.time + round(options.offset * SECOND))
        watts = variables["power"][1]
        if np.isnan(watts[:, -1:]).all() and np.isnan(watts).all():  # the last first: a day is long to search
            self.faults.damage(0, "no reading with a value in the whole log", "check the meter")
        given = options.accuracy
        zone = options.tz or "UTC"
        ds = xr.Dataset(
            variables,
            coords={"meter": np.array(table.names, dtype=object), "time": time.view("datetime64[ns]")},
            attrs={
                "tool": tool,
                "location": options.location or location,
                "reading": "interval mean" if mean else "instantaneous",
                "interval": options.interval if options.interval > 0 else _interval(table),
                "accuracy": accuracy if np.isnan(given) else float(given),
                "apart": overlapping(tool, table.names),
                "clock_offset": float(options.offset),
                "time_zone": zone,
                **dict(attrs or {}),
                **self.faults.attrs(),
            },
        )
        return registry.conform(ds, "power")


def _blank_negative(table: Table, faults: Faults) -> None:
    """Name and blank readings below zero, and those without end: no meter of a consumer shows them."""
    with np.errstate(invalid="ignore"):
        wrong = (table.power < 0) | np.isinf(table.power)
    for meter in np.flatnonzero(wrong.any(axis=1)):
        at = np.flatnonzero(wrong[meter])
        first = np.datetime_as_string(table.time[at[:1]].view("datetime64[ns]"), unit="s")[0]
        what = f"{table.names[meter]} shows {table.power[meter, at[0]]:g} W at {first}"
        more = f" and {at.size - 1} more such readings" if at.size > 1 else ""
        faults.damage(0, f"{what}{more}", "left blank: look at the meter")
    table.power = np.where(wrong, np.nan, table.power) if wrong.any() else table.power


def _interval(table: Table) -> float:
    """Return the median distance of a meter's readings in s; NaN for a single reading."""
    medians = [_median(np.diff(table.time[row])) for row in table.rows() if np.count_nonzero(row) > 1]
    return float(np.median(medians)) / SECOND if medians else float("nan")


def _median(steps: np.ndarray) -> float:
    usual = steps[steps.size // 2]
    most = 2 * np.count_nonzero(steps == usual) > steps.size  # what more than half are, is the median
    return float(usual if most else np.median(steps))


def overlapping(tool: str, names: Sequence[str]) -> list[str]:
    """Name the meters of a tool's log that are not to be added to the others; never all of them."""
    found: list[str] = []
    for pattern in _OVERLAPPING.get(tool, ()):
        more = [name for name in names if name in found or re.search(pattern, name)]
        found = more if len(more) < len(names) else found
    return found
