"""Local time to UTC: offsets and abbreviations as written, summer time's doubled and missing hours."""

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import pandas as pd

from analysis.base.errors import ReadError
from analysis.base.units import SECOND
from analysis.readers.power.log import NAT, MeterLog

_DAY = 86_400 * SECOND
_COARSE = 3000 * SECOND
_DISORDER = 5  # fewer jumps back may be of several meters, one after the other
_UTC_NAMES = frozenset(("Z", "UTC", "GMT"))
# Hours of abbreviations, as `date` prints them, that no other zone has; EST, IST or BST may be of two.
_HOURS = {"WET": 0, "WEST": 1, "CET": 1, "CEST": 2, "MEZ": 1, "MESZ": 2, "EET": 2, "EEST": 3}


def to_utc(
    log: MeterLog, local: np.ndarray, zone_of: list[str], lines: np.ndarray, zone: str | None
) -> np.ndarray:
    """Convert stamps in the order of the file to UTC, in ns; the least int64 where one is unreadable.

    `zone_of` is the text after each stamp: ``Z``, ``+01:00``, ``CEST`` or nothing; `zone` is the IANA
    zone of stamps with an abbreviation or nothing. `ReadError` if this is not enough.
    """
    utc = local.copy()
    naive = np.zeros(local.size, dtype=bool)
    named = np.zeros(local.size, dtype=bool)
    for i, text in enumerate(zone_of):
        if not text:
            naive[i] = local[i] != NAT
        elif text[0] in "+-":
            sign = 1 if text[0] == "-" else -1
            utc[i] += sign * (int(text[1:3]) * 3600 + int(text[-2:]) * 60) * SECOND
        elif zone is None and text in _HOURS:
            utc[i] -= _HOURS[text] * 3600 * SECOND if local[i] != NAT else 0
        elif text not in _UTC_NAMES:
            named[i] = True
    if named.any():
        _by_name(log, local, utc, zone_of, np.flatnonzero(named), lines, zone)
    if naive.any():
        utc[naive] = localise(log, local[naive], lines[naive], zone)
    return utc


def localise(log: MeterLog, local: np.ndarray, lines: np.ndarray | None, zone: str | None) -> np.ndarray:
    """Convert local stamps of one zone, in the order of the file, to UTC, in ns.

    Without a zone they are taken as UTC, and a warning says so. A stamp that does not exist in the zone
    and a clock of twelve hours without am and pm raise `ReadError`.
    """
    _no_half_days(log, local, lines)
    if zone is None:
        log.faults.note(0, "local times without a zone", "taken as UTC; pass tz= with the meter's zone")
        return local
    low, high = (pd.Timestamp(int(t)).tz_localize("UTC") for t in (local.min() - _DAY, local.max() + _DAY))
    week = pd.date_range(low, high + pd.Timedelta(days=1), freq="6h").tz_convert(zone)
    offsets = np.unique(week.tz_localize(None).as_unit("ns").asi8 - week.tz_convert("UTC").as_unit("ns").asi8)
    if offsets.size == 1:
        shifted: np.ndarray = local - offsets[0]
        return shifted
    index = pd.DatetimeIndex(local.view("datetime64[ns]"))
    summer, winter = (
        index.tz_localize(zone, ambiguous=np.full(local.size, fold), nonexistent="NaT").as_unit("ns").asi8
        for fold in (True, False)
    )
    missing = np.flatnonzero(summer == NAT)
    if missing.size:
        line = int(lines[missing[0]]) if lines is not None else 0
        found = f"{index[missing[0]]} does not exist in {zone}: summer time skips it"
        remedy = "the clock does not follow summer time; pass its own zone, like tz='Etc/GMT-1'"
        raise ReadError.at(log.source, line, found, remedy)
    double = summer != winter
    if not double.any():
        return np.asarray(summer)
    return np.where(_second_pass(log, local, double, lines, zone), winter, summer)


def _no_half_days(log: MeterLog, local: np.ndarray, lines: np.ndarray | None) -> None:
    """Refuse a twelve-hour clock without am and pm: it falls from 12 to 1 and knows no hour 0."""
    back = np.flatnonzero(local[1:] < local[:-1])
    hours = local // (3600 * SECOND) % 24 if back.size else local
    falls = back[(hours[back] == 12) & (hours[back + 1] == 1) & (local[back] - local[back + 1] < _DAY // 2)]
    if falls.size and hours.min() > 0 and hours.max() < 13:
        at = int(falls[0]) + 1
        found = (
            f"{str(local[at : at + 1].view('datetime64[ns]')[0])[11:19]} after hour 12: a twelve-hour clock"
        )
        line = int(lines[at]) if lines is not None else 0
        raise ReadError.at(log.source, line, f"{found} without am and pm", "log am and pm, or 24 hours")


def _second_pass(
    log: MeterLog, local: np.ndarray, double: np.ndarray, lines: np.ndarray | None, zone: str
) -> np.ndarray:
    """Tell which stamps of a doubled hour belong to its second pass.

    The file's order decides: within a doubled hour the clock jumps back once. Several meters may
    stand one after the other in a file; a jump back by more than two hours starts a new one.
    """
    step = np.diff(local, prepend=local[:1])
    jump = (step < -600 * SECOND) & (step > -7200 * SECOND) & double
    jump[1:] &= double[:-1]
    restart = (step <= -7200 * SECOND) | ~double
    _in_order(log, step, jump, restart, lines, zone)
    forward = step[step > 0]
    if forward.size and np.median(forward) >= _COARSE and (step[1:][~(double[1:] & double[:-1])] > 0).all():
        jump |= (step <= 0) & double & np.roll(double, 1)  # a reading an hour: the clock does not go back
    last_jump = np.maximum.accumulate(np.where(jump, np.arange(local.size), -1))
    last_restart = np.maximum.accumulate(np.where(restart, np.arange(local.size), -1))
    second: np.ndarray = double & (last_jump > last_restart)
    first = int(np.flatnonzero(double)[0])
    if not jump.any():
        # No jump: the log saw one pass only. What stands before the hour says that it was the first.
        only_second = first == 0 and not double.all()
        which = "second" if only_second else "first"
        log.faults.note(
            0, "the hour doubled by the end of summer time is logged once", f"taken as the {which} pass"
        )
        return double if only_second else second
    log.faults.note(0, "the clock goes back at the end of summer time", "their order separates the two")
    return second


def _in_order(
    log: MeterLog,
    step: np.ndarray,
    jump: np.ndarray,
    restart: np.ndarray,
    lines: np.ndarray | None,
    zone: str,
) -> None:
    """Refuse stamps of a doubled hour whose order cannot tell its passes apart."""
    run = np.cumsum(restart)[jump]  # a clock goes back once a run
    wild = np.count_nonzero(step < -600 * SECOND)
    if np.unique(run).size == run.size and (wild < _DISORDER or 10 * wild < step.size):
        return
    at = int(np.flatnonzero(jump if jump.any() else step < -600 * SECOND)[-1])
    found = f"stamps out of order around the hour doubled by the end of summer time in {zone}"
    remedy = "take the log as it was written, a file a meter, or log UTC"
    raise ReadError.at(log.source, int(lines[at]) if lines is not None else 0, found, remedy)


def _by_name(
    log: MeterLog,
    local: np.ndarray,
    utc: np.ndarray,
    zone_of: list[str],
    at: np.ndarray,
    lines: np.ndarray,
    zone: str | None,
) -> None:
    """Convert stamps with an abbreviation like CEST in place; it tells summer from winter."""
    first = int(lines[at[0]])
    if zone is None:
        found = f"the abbreviation {zone_of[at[0]]!r} names no zone"
        raise ReadError.at(log.source, first, found, "pass tz=, like tz='America/New_York'")
    index = pd.DatetimeIndex(local[at].view("datetime64[ns]"))
    wanted = np.array([zone_of[i] for i in at])
    done = np.zeros(at.size, dtype=bool)
    for summer in (True, False):
        stamps = index.tz_localize(zone, ambiguous=np.full(at.size, summer), nonexistent="NaT")
        names = stamps.strftime("%Z").to_numpy(dtype=object)
        fits = names == wanted
        utc[at[fits]] = stamps.as_unit("ns").asi8[fits]
        done |= fits
    if not done.all():
        bad = int(np.flatnonzero(~done)[0])
        found = f"{str(wanted[bad])!r} is not what {zone} calls its time on {index[bad]}"
        raise ReadError.at(
            log.source, int(lines[at[bad]]), found, "pass the zone that the log was written in"
        )


_MONTHS = {"jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6}
_MONTHS |= {"jul": 7, "aug": 8, "sep": 9, "oct": 10, "nov": 11, "dec": 12}

_TIME = (
    r"(?P<hour>\d{1,2}):(?P<minute>\d{1,2})(?::(?P<second>\d{1,2})(?:[.,:](?P<part>\d{1,9}))?)?"
    r"(?:\s*(?P<half>[AaPp])\.?[Mm]\.?)?"
)
_ZONE = r"(?:\s*(?P<zone>Z|[+-]\d{2}:?\d{2}|[A-Z]{3,5}))?"
_NAMED = r"(?:[A-Za-z]{3,9},?\s+)?"  # a day of the week goes before
_MONTH, _YEAR = r"(?P<name>[A-Za-z]{3})[a-z]*", r"(?P<year>\d{4})"
_PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        _YEAR + r"[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})(?:[T\s_,-]+" + _TIME + r")?" + _ZONE,
        r"(?P<a>\d{1,2})(?P<mark>[-/.])(?P<b>\d{1,2})[-/.](?P<year>\d{4}|\d{2})[\s,T-]+" + _TIME + _ZONE,
        _NAMED + _MONTH + r"\s+(?P<day>\d{1,2}),?\s+" + _TIME + _ZONE + r"\s+" + _YEAR,
        _NAMED + _MONTH + r"\s+(?P<day>\d{1,2}),?\s+" + _YEAR + r"[\s,]+" + _TIME + _ZONE,
        _NAMED + r"(?P<day>\d{1,2})[\s-]" + _MONTH + r"[\s-]" + _YEAR + r"[\s,]+" + _TIME + _ZONE,
        _TIME + _ZONE,
    )
)
# Digits before the point of an epoch stamp tell its unit, as ns per unit.
_EPOCH = re.compile(r"(\d{9,10}|\d{12,13}|\d{15,16}|\d{18,19})(?:[.,](\d+))?")
_EPOCH_UNIT = {10: SECOND, 13: 1_000_000, 16: 1_000, 19: 1}
# No log is of another time; a year with a damaged digit may be too far for an int64 in ns.
_FIRST_YEAR, _LAST_YEAR = 1970, 2200
_END = (date(_LAST_YEAR, 1, 1) - date(1970, 1, 1)).days * _DAY


class Stamps:
    """Reads the time stamps of one log, in the order of the file; the log's options go before the format's.

    A format may fix the `order` of numeric dates (``mdy``, ``dmy``, ``ymd``) and the IANA `zone` of stamps
    without one.
    """

    def __init__(self, log: MeterLog, *, order: str | None = None, zone: str | None = None) -> None:
        self.log = log
        self.order = log.options.date_order or order
        self.zone = log.options.tz or zone
        if self.zone is not None:
            try:
                ZoneInfo(self.zone)
            except (ZoneInfoNotFoundError, ValueError):
                found = f"no time zone is called {self.zone!r}"
                raise ReadError.at(log.source, 0, found, "use an IANA name like Europe/Berlin") from None

    def utc(self, stamps: Iterable[str], lines: Iterable[int], *, report: bool = True) -> np.ndarray:
        """Read stamps: ns since 1970 UTC, the least int64 for one that cannot be read (a fault, if `report`).

        What only the reader can tell raises `ReadError`: the order of day and month, a zone abbreviation, a
        local time that does not exist in the zone.
        """
        stamps, lines = list(stamps), np.fromiter(lines, dtype=np.int64)
        self._find_order(stamps, lines)
        local = np.full(len(stamps), NAT)
        zone_of: list[str] = [""] * len(stamps)
        timed = np.zeros(len(stamps), dtype=bool)
        seen: dict[str, tuple[int, str, bool]] = {}  # many meters share a stamp
        for i, text in enumerate(stamps):
            if text not in seen:
                seen[text] = self._stamp(text.strip().strip('"'))
            local[i], zone_of[i], timed[i] = seen[text]
            if local[i] == NAT and report:
                self.log.faults.damage(int(lines[i]), f"no time stamp: {text.strip()[:40]!r}", "row not used")
        if timed.any():
            local = self._dated(local, timed, lines)
        return to_utc(self.log, local, zone_of, lines, self.zone)

    def is_stamp(self, text: str) -> bool:
        """Tell whether a whole line is a time stamp, as a logger writes before each reading."""
        text = text.strip()
        return 8 <= len(text) <= 50 and self._stamp(text)[0] != NAT

    def start(self) -> int:
        """Return where elapsed seconds count from, in ns since 1970 UTC.

        Without the option ``start`` that is 1970 itself, and a warning says so.
        """
        given = self.log.options.start
        if given is None:
            self.log.faults.note(0, "the log has no date", "times count from 1970; pass start= with a date")
            return 0
        (value,) = Stamps(self.log, order=self.order, zone=self.zone).utc([str(given)], [0], report=False)
        if value == NAT:
            found = f"option start={given!r} is no date and time"
            raise ReadError.at(self.log.source, 0, found, "write it like 2026-03-01T12:00:00+01:00")
        return int(value)

    def _find_order(self, stamps: list[str], lines: np.ndarray) -> None:
        """Find out whether day or month comes first in dates like 03/04/2026."""
        if self.order is not None:
            return
        first = None
        for text, line in zip(stamps, lines, strict=True):
            match = _PATTERNS[1].match(text.strip().strip('"'))
            if match is None:
                if first is None and len(text) > 5:
                    return  # the log writes its dates in another way
                continue
            a, b = int(match["a"]), int(match["b"])
            if match["mark"] == "." or (a > 12 and len(match["year"]) == 4):
                self.order = "dmy"
                return
            if a > 12:
                found = f"{text.strip()!r} may be day or year first"
                raise ReadError.at(self.log.source, int(line), found, "pass date_order='dmy' or 'ymd'")
            if b > 12:
                self.order = "mdy"
                return
            first = first or (text, int(line))
        if first is not None:
            found = f"{first[0].strip()!r} may be day or month first"
            raise ReadError.at(self.log.source, first[1], found, "pass date_order='dmy' or 'mdy'")

    def _stamp(self, text: str) -> tuple[int, str, bool]:
        """Read one stamp: ns of local time, its zone as written, and whether it lacks a date."""
        epoch = _EPOCH.fullmatch(text)
        if epoch:
            digits = len(epoch[1])
            unit = _EPOCH_UNIT[digits + (digits in (9, 12, 15, 18))]
            fraction = int((epoch[2] or "0")[:9].ljust(9, "0"))
            since = int(epoch[1]) * unit + fraction * unit // SECOND
            return since if since < _END else NAT, "Z", False
        for pattern in _PATTERNS:
            match = pattern.fullmatch(text)
            if match:
                part = match.groupdict()
                try:
                    day = self._day(part)
                    return day + _time_of_day(part), part["zone"] or "", "year" not in part
                except (ValueError, KeyError):
                    return NAT, "", False
        return NAT, "", False

    def _day(self, part: dict[str, str | None]) -> int:
        """Return the start of the stamp's day in ns; 0 for a stamp without a date."""
        if "year" not in part:
            return 0
        year = int(part["year"] or 0)
        year += 2000 if year < 100 else 0
        if "a" in part:
            a, b = int(part["a"] or 0), int(part["b"] or 0)
            if self.order == "ymd":
                year, a, b = 2000 + a, b, int(part["year"] or 0)
            month, day = (b, a) if self.order == "dmy" else (a, b)
        else:
            name = part.get("name")
            month = _MONTHS[name[:3].lower()] if name else int(part["month"] or 0)
            day = int(part["day"] or 0)
        if not _FIRST_YEAR <= year < _LAST_YEAR:
            raise ValueError(f"year {year}")
        return (date(year, month, day).toordinal() - date(1970, 1, 1).toordinal()) * _DAY

    def _dated(self, local: np.ndarray, timed: np.ndarray, lines: np.ndarray) -> np.ndarray:
        """Give stamps without a date their day; a jump back by half a day or more is midnight."""
        given = self.log.options.date or (self.log.options.start or "")[:10]
        if not given:
            found = "the log has times of day without a date"
            self.log.faults.note(0, found, "the first day is taken as 1970-01-01; pass date='YYYY-MM-DD'")
            given = "1970-01-01"
        try:
            first = datetime.strptime(given, "%Y-%m-%d").replace(tzinfo=UTC)
        except ValueError:
            found = f"option date={given!r} is no date"
            raise ReadError.at(self.log.source, 0, found, "write it YYYY-MM-DD") from None
        at = np.flatnonzero(timed)
        steps = np.diff(local[at], prepend=local[at[0]])
        ahead = np.flatnonzero(steps > _DAY // 2)
        if ahead.size and ((steps < 0) & (steps >= -_DAY // 2)).any():
            found = "times of day without a date are out of order over midnight"
            remedy = "log the date, or take the log as it was written"
            raise ReadError.at(self.log.source, int(lines[at[ahead[0]]]), found, remedy)
        days = np.cumsum(steps < -_DAY // 2)
        dated = local.copy()
        dated[at] += int(first.timestamp()) * SECOND + days * _DAY
        return dated


def _time_of_day(part: dict[str, str | None]) -> int:
    """Return ns since midnight; twelve-hour clocks end in am or pm."""
    hour, minute, second = (int(part[name] or 0) for name in ("hour", "minute", "second"))
    half = part.get("half")
    if half:
        if not 1 <= hour <= 12:
            raise ValueError("a twelve-hour clock has no such hour")
        hour = hour % 12 + (12 if half in "pP" else 0)
    if hour > 24 or minute > 59 or second > 60:
        raise ValueError("no such time of day")
    return ((hour * 60 + minute) * 60 + second) * SECOND + int((part["part"] or "0").ljust(9, "0"))
