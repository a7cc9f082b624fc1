"""Local time to UTC: offsets and abbreviations as written, summer time's doubled and missing hours."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.errors import ReadError
from analysis.readers.power.base import NAT, SECOND, PowerLog

_DAY = 86_400 * SECOND
_COARSE = 3000 * SECOND
_DISORDER = 5  # fewer jumps back may be of several meters, one after the other
_UTC_NAMES = frozenset(("Z", "UTC", "GMT"))


def to_utc(
    log: PowerLog, local: np.ndarray, zone_of: list[str], lines: np.ndarray, zone: str | None
) -> np.ndarray:
    """Convert stamps to UTC.

    Parameters
    ----------
    log : PowerLog
    local : ndarray of int64, shape (n,)
        ns of the stamps as written, in the order of the file; the least int64 where unreadable.
    zone_of : list of str
        What stands behind each stamp: ``Z``, ``+01:00``, ``CEST`` or nothing.
    lines : ndarray of int, shape (n,)
    zone : str or None
        IANA zone of stamps with an abbreviation or nothing.

    Returns
    -------
    ndarray of int64, shape (n,)

    Raises
    ------
    ReadError
        If an abbreviation is met without a zone, or a stamp does not exist in the zone.
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
        elif text not in _UTC_NAMES:
            named[i] = True
    if named.any():
        _by_name(log, local, utc, zone_of, np.flatnonzero(named), lines, zone)
    if naive.any():
        utc[naive] = localise(log, local[naive], lines[naive], zone)
    return utc


def localise(log: PowerLog, local: np.ndarray, lines: np.ndarray | None, zone: str | None) -> np.ndarray:
    """Convert local stamps of one zone, in the order of the file, to UTC.

    Parameters
    ----------
    log : PowerLog
    local : ndarray of int64, shape (n,)
        ns; none missing.
    lines : ndarray of int, optional
    zone : str or None
        None is UTC, and a warning says that this was assumed.

    Returns
    -------
    ndarray of int64, shape (n,)

    Raises
    ------
    ReadError
        If a stamp does not exist in the zone, or the clock has twelve hours without am and pm.
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


def _no_half_days(log: PowerLog, local: np.ndarray, lines: np.ndarray | None) -> None:
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
    log: PowerLog, local: np.ndarray, double: np.ndarray, lines: np.ndarray | None, zone: str
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
    log.faults.note(0, "the clock goes back at the end of summer time", "both passes are told apart by order")
    return second


def _in_order(
    log: PowerLog,
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
    log: PowerLog,
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
