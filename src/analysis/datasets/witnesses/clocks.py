"""Witnesses of when: dates that outputs, profiles and power logs print, on clocks of unknown time zones."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

import numpy as np

from analysis.base.errors import Fault
from analysis.datasets.witnesses.hearing import Hearing, Testimony, typical, witness
from analysis.energy.meters import Log

# Time zones differ by quarters of an hour, summer time by four; clocks of one cluster by this much, s.
_QUARTER, _SUMMER, _SLACK = 900, 4, 60.0
_CHANGED = 3
_FEWEST, _RULE = 4, 0.8
# A program prints its start as late after the job's as it does in other runs, to so many s and distances.
_LATE, _FAR = 5.0, 20.0
_IN_NAME = re.compile(r"(20\d\d)-?(\d\d)-?(\d\d)[_T](\d\d)[-:]?(\d\d)[-:]?(\d\d)(?!\d)")
_BEGINS = ("start", "began", "begin", "launch")
_ENDS = ("stop", "end", "finish", "complet", "terminat")
_READINGS = 5
# The readings are tried in other zones, of at most so many hours.
_ZONES = 14


@dataclass(frozen=True, slots=True)
class Stamp:
    """A printed time: its clock, its subject, the file, and s since the run's start by that clock."""

    clock: str
    word: str
    file: str
    at: np.datetime64
    late: float

    def zones(self, elapsed: float) -> set[int]:
        """Return the shifts, in quarters of an hour, with which it lies in the run."""
        first = int(np.ceil((self.late - elapsed - _SLACK) / _QUARTER))
        last = int(np.floor((self.late + _SLACK) / _QUARTER))
        return set(range(first, last + 1))


def stamps(run: Testimony) -> Iterator[Stamp]:
    """Give the times that a run's files print, and that their names have."""
    if not run.dated:
        return
    for file in run.files:
        name = PurePosixPath(str(file["path"])).name
        if (found := _IN_NAME.search(name)) and file["engine"] != "run":
            year, month, day, *clock = found.groups()
            kind = re.sub(r"\d+", "#", name)
            text = f"{year}-{month}-{day}T{':'.join(clock)}"
            yield from _stamp(run, f"name {kind}", "name", name, text)
    for file_name, mark in run.marks.items():
        for word, text in mark.stamps:
            yield from _stamp(run, f"{re.sub(r'[0-9]+', '#', file_name)} {word}", word, file_name, text)
    attrs: Mapping[str, object] = run.profile.attrs if run.profile is not None else {}
    for word in ("start", "stop"):
        file_name = str(run.sources.get("profile", "")).removeprefix(f"{run.name}/")
        given = attrs.get(word)
        if isinstance(given, float) and np.isfinite(given):  # s since 1970
            given = str(np.datetime64(int(given * 1e3), "ms"))
        if isinstance(given, str) and given:
            yield from _stamp(run, f"{attrs.get('tool', '')} {word}", word, file_name, given)


def _stamp(run: Testimony, clock: str, word: str, file: str, text: str) -> Iterator[Stamp]:
    try:
        at = np.datetime64(text.replace(" ", "T"), "ns")
    except ValueError:
        return
    if not np.isnat(at):
        yield Stamp(clock, word, file, at, float((at - run.row["start"]) / np.timedelta64(1, "s")))


Read = list[tuple[Testimony, Stamp]]


def _by_clock(case: Hearing) -> Mapping[tuple[str, str], Read]:
    found: dict[tuple[str, str], Read] = defaultdict(list)
    for run in case.ended:
        for stamp in stamps(run):
            found[str(run.row["cluster"]), stamp.clock].append((run, stamp))
    return found


def _zones(read: Read) -> set[int]:
    """Return the shifts of a clock that most runs have, and those of summer time; empty without a rule."""
    counts: Counter[int] = Counter()
    for run, stamp in read:
        counts.update(stamp.zones(float(run.row["elapsed"])))
    if len({run.name for run, _ in read}) < _FEWEST or not counts:
        return set()
    most = max(counts, key=lambda zone: (counts[zone], -abs(zone)))
    shifted = {zone for zone in (most - _SUMMER, most + _SUMMER) if counts[zone] >= _CHANGED}
    zones = {most} | shifted
    fit = sum(bool(stamp.zones(float(run.row["elapsed"])) & zones) for run, stamp in read)
    return zones if fit >= _RULE * len(read) else set()


@witness("dates that outputs print", "start and end of the record")
def dates_of_outputs(case: Hearing) -> Iterator[Fault]:
    """Find outputs of another day or hour than the run, by the clock that those of the other runs keep."""
    named = set()
    for read in _by_clock(case).values():
        zones = _zones(read)
        for run, stamp in read if zones else ():
            if not stamp.zones(float(run.row["elapsed"])) & zones and run.name not in named:
                named.add(run.name)
                zone = min(zones, key=abs)
                off = stamp.late - zone * _QUARTER
                what = f"{stamp.file} says {stamp.word} {str(stamp.at)[:19]}, {_spelt(off)} its run began"
                what = f"{what}, by the clock of the other runs' outputs"
                yield case.of_run(run, what, "start and end, or the file, belong to another run", key="start")


@witness("start that outputs print", "start of the record")
def starts_of_outputs(case: Hearing) -> Iterator[Fault]:
    """Find outputs that began before their run or ended after it, by what other runs do to the second."""
    named = set()
    for read in _by_clock(case).values():
        zones = _zones(read)
        if not zones or not read[0][1].word.startswith((*_BEGINS, *_ENDS)):
            continue
        ends = read[0][1].word.startswith(_ENDS)
        rest = {id(stamp): _rest(run, stamp, zones, ends=ends) for run, stamp in read}
        middle, scatter = typical(rest.values())
        for run, stamp in read:
            off = rest[id(stamp)] - middle
            if abs(off) > max(_LATE, _FAR * scatter) and (off > 0) == ends and run.name not in named:
                named.add(run.name)
                what = f"{stamp.file} {'ended' if ends else 'began'} {_spelt(off)} its run"
                what = f"{what} {'ended' if ends else 'began'}, those of other runs within {_LATE:.0f} s"
                yield case.of_run(run, what, "is it the file of another run?", key="start")


def _rest(run: Testimony, stamp: Stamp, zones: set[int], *, ends: bool) -> float:
    late = stamp.late - (float(run.row["elapsed"]) if ends else 0.0)
    return min((late - zone * _QUARTER for zone in zones), key=abs)


def _spelt(seconds: float) -> str:
    size, side = abs(seconds), "before" if seconds < 0 else "after"
    if size >= 2 * 86_400:
        return f"{size / 86_400:.1f} days {side}"
    return f"{size / 3600:.1f} h {side}" if size >= 3600 else f"{size:.0f} s {side}"


# ---- power logs


@witness("readings of a campaign's power log", "start and end of runs")
def zones_of_logs(case: Hearing) -> Iterator[Fault]:
    """Find power logs that fit the runs on their nodes if they are moved by whole hours."""
    for log in case.logs:
        users = [run for run in case.ended if run.dated and (run.nodes & log.feeds() or "" in log.feeds())]
        if not users or log.declared.get("clock"):
            continue
        stamps_ = log.ds["time"].values[~np.isnat(log.ds["time"].values)]
        hours = _best_zone(log, users)
        if not hours and stamps_.size and not any(_overlaps(run, stamps_) for run in users):
            span = f"from {str(stamps_.min())[:19]} to {str(stamps_.max())[:19]} UTC"
            what = f"was read {span}, while none of the {len(users)} runs on its nodes ran"
            yield case.beside(log.name, what, "is it the log of another day or campaign?")
        if hours:
            zone = (4 * hours).is_integer()
            moved = f"{hours:+g} h" if zone else f"{60 * hours:+.0f} min"
            what = f"its readings fit the {len(users)} runs on its nodes if they are moved by {moved}"
            remedy = "a time zone: name it in power.logs.options, or" if zone else "a wrong clock:"
            remedy += " declare power.logs.clock.offset"
            yield case.beside(log.name, what, remedy)


@witness("readings during one run", "readings during the others", grave=False)
def gaps_in_logs(case: Hearing) -> Iterator[Fault]:
    """Find runs in which a power log has less than half of the readings that its interval gives."""
    for log in case.logs:
        read = np.isfinite(log.ds["power"].values).any(axis=0) & ~np.isnat(log.ds["time"].values)
        times = np.unique(log.ds["time"].values[read].astype("datetime64[ns]"))
        users = [run for run in case.ended if run.dated and (run.nodes & log.feeds() or "" in log.feeds())]
        interval = np.median(np.diff(times)) if times.size > 1 else np.timedelta64(0, "ns")
        inside = [
            run for run in users if times.size and times[0] < run.row["start"] < run.row["end"] < times[-1]
        ]
        short_of = []
        for run in inside if interval > np.timedelta64(0, "ns") else ():
            first, last = np.searchsorted(times, [run.row["start"], run.row["end"]])
            wanted = int((run.row["end"] - run.row["start"]) / interval)
            if wanted >= _READINGS and last - first < wanted / 2:
                short_of.append((run, int(last - first), wanted))
        for run, found, wanted in short_of if len(short_of) <= (1 - _RULE) * len(inside) + 1 else ():
            what = f"has {found} readings while run {run.name} ran, its interval gives {wanted}"
            yield case.beside(log.name, what, "was a part removed? get the whole log")


def _overlaps(run: Testimony, stamps_: np.ndarray) -> bool:
    return bool(stamps_.min() <= run.row["end"] and run.row["start"] <= stamps_.max())


def _best_zone(log: Log, users: Sequence[Testimony]) -> float:
    """Return the hours by which a log has to be moved to fit the runs, 0 if it fits as it is."""
    stamps_ = log.ds["time"].values
    power = np.nansum(log.ds["power"].values, axis=0)
    good = ~np.isnat(stamps_) & np.isfinite(power)
    time, power = stamps_[good].astype("datetime64[ns]").astype(np.int64) / 1e9, power[good]
    if time.size < 2:
        return 0.0
    begin, stop = (
        np.array([run.row[edge].astype(np.int64) / 1e9 for run in users]) for edge in ("start", "end")
    )
    shifts = sorted((at / 4 for at in range(-4 * _ZONES, 4 * _ZONES + 1)), key=abs)
    held = [_held(time + 3600 * shift, power, begin, stop) for shift in shifts]
    covered, level = held[0]
    quiet, busy = np.quantile(power, (0.1, 0.9))

    def nearest(shift: float) -> float:
        """Move on by minutes if that fits the runs clearly better: then it is no time zone."""
        near = [shift + minutes / 60 for minutes in range(-7, 8)]
        levels = [_held(time + 3600 * one, power, begin, stop)[1] for one in near]
        at = int(np.argmax(levels))
        return near[at] if abs(at - 7) > 1 and levels[at] - levels[7] > 0.1 * (busy - quiet) else shift

    best = max(range(len(shifts)), key=lambda at: (round(held[at][0], 2), held[at][1], -at))
    if covered < 0.5 and held[best][0] > 0.9:
        return nearest(shifts[best])
    # Covered either way: in its own zone the runs are where the power is high.
    whole = [at for at, (share, _) in enumerate(held) if share > 0.9]
    if not whole or not busy > 1.2 * quiet:
        return 0.0
    best = max(whole, key=lambda at: held[at][1])
    rise = (held[best][1] - level) / (busy - quiet)
    clear = held[best][1] > quiet + 0.8 * (busy - quiet) and rise > 0.5
    return nearest(shifts[best]) if clear else 0.0


def _held(time: np.ndarray, power: np.ndarray, begin: np.ndarray, stop: np.ndarray) -> tuple[float, float]:
    """Return the share of runs that lie in a log, and its mean power while they ran."""
    inside = (begin >= time[0] - _SLACK) & (stop <= time[-1] + _SLACK)
    first, last = np.searchsorted(time, begin), np.searchsorted(time, stop)
    sums = np.concatenate(([0.0], np.cumsum(power)))
    count = (last - first)[inside].sum()
    total = (sums[last] - sums[first])[inside].sum()
    return float(inside.mean()), float(total / count) if count else -np.inf


@witness("readings of a run's power log", "start and end of the run")
def zones_of_own_logs(case: Hearing) -> Iterator[Fault]:
    """Find power logs in a run's folder that were read at another time, or in another time zone."""
    for run in case.ended:
        for log in run.logs if run.dated else ():
            if np.isnat(log.first):
                continue
            early, late = (
                float((run.row["start"] - log.first) / np.timedelta64(1, "s")),
                float((run.row["end"] - log.last) / np.timedelta64(1, "s")),
            )
            if log.first <= run.row["end"] and log.last >= run.row["start"]:
                continue
            hours = round((early + late) / 2 / _QUARTER) * _QUARTER / 3600
            room = max(_SLACK, float((log.last - log.first) / np.timedelta64(1, "s")))
            zone = abs((early + late) / 2 - 3600 * hours) <= room and 0 < abs(hours) <= _ZONES
            what = f"was read from {str(log.first)[:19]} to {str(log.last)[:19]} UTC, outside the run"
            if zone:
                what = f"{what}; moved by {hours:+g} h it fits: a time zone"
            file = log.source.partition("/")[2]
            yield case.of_run(run, what, "is it the log of another run, or of another clock?", file=file)
