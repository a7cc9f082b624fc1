"""TAU's profiles: of one thread as text (`profile.0.0.0`), of all ranks as `tauprofile.xml`: MPI calls."""

import html
import math
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import xarray as xr

from analysis.base.errors import ReadError
from analysis.readers.base import Faults, observations, profile_dataset
from analysis.readers.format import Format
from analysis.readers.text import number, printable, real

FORMAT = Format(
    engine="tau", kind="profile", tool="TAU", of_ranks=r"profile\.(?P<rank>\d{1,7})\.\d{1,7}\.\d{1,7}"
)


def sniff(head: bytes, name: str) -> bool:
    """Tell whether some bytes begin as a profile of TAU."""
    return _FIRST_LINE.match(head) is not None or _is_merged(head)


def parse(data: bytes, source: str = "<memory>") -> xr.Dataset:
    """Read the timers: kind ``profile``.

    A text file has one thread; its rank is the node in the file's name. No file states the number of ranks:
    ``ranks_expected`` is -1, and the dataset ends with the rank, with blanks before it. Without a rank in
    the name there are only the totals. XML has all ranks. ``app_time_total`` and ``mpi_time_total`` are
    over the ranks of the file, ``start`` is in s of Unix time. A call's time is inclusive,
    ``exclusive_time`` lacks what it called in turn; the rank's time in MPI is the sum of the latter, its
    wall-clock time that of the whole process.
    """
    return _read_merged(data, source) if _is_merged(data[:256]) else _read_thread(data, source)


# Clocks of TAU that run on while a process waits; all count microseconds.
CLOCKS = ("", "TIME", "GET_TIME_OF_DAY", "P_WALL_CLOCK_TIME", "LINUX_TIMERS")
US = 1e-6
CALL = re.compile(r"(MPI_[A-Za-z0-9_]{1,60})\(\)")
THROTTLED = "[THROTTLED]"
ALL = ".TAU application"
# Rows of these groups repeat what other rows have: by call path, by sample, by parameter.
REPEATS = ("TAU_CALLPATH", "TAU_SAMPLE", "TAU_PARAM", "TAU_PHASE", "TAU_UNWIND")

Row = tuple[str, float, float, float, float]  # name, calls, calls of others, exclusive and inclusive time


@dataclass
class Rank:
    """The timers of a rank that repeat no others, each with its line, and the facts of its process."""

    rows: list[tuple[int, Row]] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)


def _check(rows: list[tuple[int, Row]], faults: Faults) -> None:
    """Compare the rows: what all timers took is what the program took."""
    whole = [(line, row) for line, row in rows if row[0] == ALL]
    throttled = [(line, row[0]) for line, row in rows if THROTTLED in row[0] and CALL.match(row[0])]
    for line, name in throttled:
        faults.note(
            line, f"{name} was measured for its first calls only", "its count and time are left blank"
        )
    if not whole or not faults.complete:
        return
    line, (_, _, _, _, inclusive) = whole[0]
    took = sum(row[3] for _, row in rows)
    # Each is a whole microsecond.
    if abs(took - inclusive) > US * len(rows) + 1e-9 * inclusive:
        found = f"all timers took {took:.6f} s, {ALL} {inclusive:.6f} s"
        faults.damage(line, found, "a number is damaged: copy the file again")
    callers, called = sum(row[2] for _, row in rows), sum(row[1] for _, row in rows) - whole[0][1][1]
    if callers != called and not any(THROTTLED in row[0] for _, row in rows):
        found = f"timers made {callers:.0f} calls and were called {called:.0f} times"
        faults.damage(line, found, "a number is damaged: copy the file again")


def _dataset(found: Mapping[int, Rank], expected: int, faults: Faults) -> xr.Dataset:
    """Make a profile of ranks; a rank of -1 has no name, and only its totals are known."""
    size = max([0, expected, *(rank + 1 for rank in found)])
    ranks = {name: np.full(size, np.nan) for name in ("app_time", "mpi_time", "memory")}
    ranks["host"] = np.full(size, "", dtype=object)
    obs = [_observations([], -1)]
    app, mpi, start = [], [], math.nan
    for rank, one in sorted(found.items()):
        calls = [(call[1], row) for _, row in one.rows if (call := CALL.match(row[0]))]
        app.append(_whole(one.rows))
        mpi.append(_inside([row for _, row in calls]))
        obs.append(_observations(calls, rank))
        begun = number(one.facts.get("Starting Timestamp", "")) * US
        start = begun if math.isnan(start) else min(start, begun) if begun == begun else start
        if rank >= 0:
            ranks["app_time"][rank], ranks["mpi_time"][rank] = app[-1], mpi[-1]
            ranks["host"][rank] = one.facts.get("MPI Processor Name", one.facts.get("Hostname", ""))
    totals = {"app_time_total": math.fsum(app), "mpi_time_total": math.fsum(mpi), "start": start}
    facts = next(iter(one.facts for _, one in sorted(found.items())), {})
    return profile_dataset(
        obs={name: np.concatenate([one[name] for one in obs]) for name in obs[0]},
        ranks=ranks,
        tool=FORMAT.tool,
        tool_version=facts.get("TAU Version", ""),
        ranks_expected=expected,
        faults=faults,
        attrs={"command": facts.get("Command Line", "")}
        | {name: value for name, value in totals.items() if math.isfinite(value)},
    )


def _whole(rows: list[tuple[int, Row]]) -> float:
    """Return the time of the whole program, or of the longest timer where TAU has no timer of that."""
    named = [row[4] for _, row in rows if row[0] == ALL]
    return named[0] if named else max((row[4] for _, row in rows), default=math.nan)


def _inside(calls: list[Row]) -> float:
    """Return the time inside MPI, NaN where a call was not measured to the end."""
    if not calls or any(THROTTLED in row[0] for row in calls):
        return math.nan
    return math.fsum(row[3] for row in calls)


def _observations(calls: list[tuple[str, Row]], rank: int) -> dict[str, np.ndarray]:
    blank = np.array([THROTTLED in row[0] for _, row in calls], dtype=bool)
    numbers = np.array([row[1:] for _, row in calls], dtype=np.float64).reshape(len(calls), 4)
    return observations(
        [name for name, _ in calls],
        np.where(blank, np.nan, numbers[:, 3]),
        rank=rank,
        count=np.where(blank, -1, numbers[:, 0]),
        exclusive_time=np.where(blank, np.nan, numbers[:, 2]),
    )


# ---- a thread as text

_TITLE = b" templated_functions"
_FIRST_LINE = re.compile(rb"(\d{1,9}) templated_functions(?:_MULTI_([A-Z0-9_:]{1,80}))?")
_NAME = re.compile(r"profile\.(\d{1,7})\.(\d{1,7})\.(\d{1,7})(?!\d)")
_CUT = "the file is cut; kept what is whole"


def _read_thread(data: bytes, source: str) -> xr.Dataset:
    """Read the profile of a thread; its rank is the node in the file's name, their number is unknown."""
    first = _FIRST_LINE.match(data)
    if first is None:
        raise ReadError.at(source, 0, f"no number and '{_TITLE.decode().strip()}'", "give a profile of TAU")
    metric = (first[2] or b"").decode()
    if metric not in CLOCKS:
        raise ReadError.at(
            source, 1, f"counts {metric}, no time", "give the profile in the folder MULTI__TIME"
        )
    faults = Faults(source)
    lines = data.replace(b"\r\n", b"\n").split(b"\n")[:-1]  # the last one has no end
    rows = _timers(lines, int(first[1]), faults)
    _check(rows, faults)
    facts = _facts(lines[1] if len(lines) > 1 else b"")
    rank, thread = _place(source)
    if thread > 0:
        faults.note(0, f"profile of thread {thread}", "the rank's own is that of thread 0")
    return _dataset({rank: Rank(rows, facts)}, -1, faults)


def _timers(lines: list[bytes], announced: int, faults: Faults) -> list[tuple[int, Row]]:
    """Read the rows of timers that repeat no others, each with its line."""
    rows = []
    for at, line in enumerate(lines[2 : 2 + announced], start=3):
        head, _, group = line.rpartition(b" GROUP=")
        quoted, _, columns = head.rpartition(b'" ')
        try:
            calls, subrs, exclusive, inclusive, _ = (real(token) for token in columns.split())
            if not quoted.startswith(b'"') or min(calls, subrs, inclusive) < 0 or calls % 1:
                raise ValueError
        except ValueError:
            faults.damage(at, f"{printable(line)[:40]!r} is no row of a timer", "left out")
            continue
        name = printable(quoted[1:])
        if not any(mark in printable(group) for mark in REPEATS) and " => " not in name:
            rows.append((at, (name, calls, subrs, exclusive * US, inclusive * US)))
    if len(lines) < 2 + announced or not any(b" aggregates" in line for line in lines[2 + announced :][:1]):
        found = f"{announced} timers announced, no line 'aggregates' behind them"
        faults.damage(len(lines), found, _CUT)
    _check_events(lines[3 + announced :], 4 + announced, faults)
    return rows


def _check_events(lines: list[bytes], at: int, faults: Faults) -> None:
    """Check that all rows of events are there, which are not read: TAU has no sizes by call."""
    announced = re.match(rb"(\d{1,9}) userevents", lines[0]) if lines else None
    if lines and (announced is None or len(lines) < 2 + int(announced[1])):
        faults.damage(at, f"{len(lines)} lines of events, not as many as announced", _CUT)


def _facts(line: bytes) -> dict[str, str]:
    pairs = re.findall(rb"<name>([^<]*)</name><value>([^<]*)</value>", line)
    return {printable(name): html.unescape(printable(value)) for name, value in pairs}


def _place(source: str) -> tuple[int, int]:
    """Return rank and thread by the file's name, -1 for both if it has none; TAU writes them nowhere else."""
    named = _NAME.search(source.replace("\\", "/").rpartition("/")[2])
    return (int(named[1]), int(named[3])) if named else (-1, -1)


# ---- all ranks as XML

_FIRST_TAG = re.compile(rb"\s{0,9}<profile_xml>")
_DEFINITIONS = re.compile(r'<definitions thread="([^"]*)">')
_METRIC = re.compile(r'<metric id="(\d{1,3})"><name>(.*?)</name>')
_EVENT = re.compile(r'<event id="(\d{1,7})"><name>(.*)</name><group>(.*)</group></event>')
_THREAD = re.compile(r'<thread id="([^"]*)" node="(\d{1,7})" context="(\d{1,7})" thread="(\d{1,7})">')
_CELL = re.compile(r"<(name|value)>(.*)</\1>")
_PROFILE = re.compile(r'<(?:profile thread|derivedprofile derivedentity)="([^"]*)">')
_DATA = re.compile(r'<(?:derived)?interval_data metrics="([\d ]*)">')
_END = ("</interval_data>", "</derivedinterval_data>")
_EVERYONE = "*"
_TOTAL = "total"

_Event = tuple[str, str]  # name and group


def _is_merged(head: bytes) -> bool:
    """Tell whether some bytes begin as TAU's XML."""
    return _FIRST_TAG.match(head) is not None


class _Reader:
    """Takes the XML apart line by line: TAU writes each entry on one, and text that no XML parser takes."""

    def __init__(self, faults: Faults) -> None:
        self.faults = faults
        self.metrics: dict[str, str] = {}
        self.events: defaultdict[str, dict[int, _Event]] = defaultdict(dict)
        self.threads: dict[str, tuple[int, int, int]] = {}
        self.facts: defaultdict[str, dict[str, str]] = defaultdict(dict)
        self.profiles: dict[str, list[tuple[int, Row]]] = {}
        self.scope = self.thread = self.profile = self.name = ""
        self.column = -1
        self.within = False

    def read(self, lines: list[str]) -> None:
        for at, raw in enumerate(lines, start=1):
            line = raw.strip()
            if self.within and line not in _END:
                self._row(line, at)
            elif line in _END:
                self.within = False
            elif line[:1] == "<":
                self._tag(line, at)

    def _tag(self, line: str, at: int) -> None:
        if found := _EVENT.match(line):
            self.events[self.scope][int(found[1])] = (_plain(found[2]), found[3])
        elif line.startswith("<event "):
            self.faults.damage(at, f"{line[:40]!r} is no event", "its calls are left out")
        elif found := _CELL.match(line):
            if found[1] == "name":
                self.name = found[2]
            elif self.thread:
                self.facts[self.thread].setdefault(self.name, _plain(found[2]))
        elif found := _METRIC.match(line):
            self.metrics.setdefault(found[1], found[2])
        elif found := _DEFINITIONS.match(line):
            self.scope = found[1]
        elif found := _THREAD.match(line):
            self.thread = found[1]
            self.threads[found[1]] = (int(found[2]), int(found[3]), int(found[4]))
        elif line == "</thread>":
            self.thread = ""
        elif found := _PROFILE.match(line):
            # A later snapshot of a thread contains what the ones before it have.
            self.profile = found[1]
            self.profiles[self.profile] = []
        elif found := _DATA.match(line):
            columns = [self.metrics.get(one, "?") for one in found[1].split()]
            self.column = next((i for i, one in enumerate(columns) if one in CLOCKS), -1)
            self.within = True

    def _row(self, line: str, at: int) -> None:
        # Extremes and deviations have their own marks around the same data.
        mine = self.profile in self.threads or self.profile == _TOTAL
        if not mine or self.column < 0 or not line:
            return
        cells = line.split()
        try:
            number, calls, subrs = (int(cell) for cell in cells[:3])
            exclusive, inclusive = (real(cells[3 + 2 * self.column + i].encode()) for i in (0, 1))
            name, group = self.events[self.profile].get(number) or self.events[_EVERYONE][number]
            if min(calls, subrs) < 0 or inclusive < 0 or len(cells) % 2 == 0:
                raise ValueError
        except (ValueError, IndexError, KeyError):
            self.faults.damage(at, f"{line[:40]!r} is no row of an event that is known", "left out")
            return
        if " => " not in name and not any(mark in group for mark in REPEATS):
            row = (name, float(calls), float(subrs), exclusive * US, inclusive * US)
            self.profiles[self.profile].append((at, row))


def _read_merged(data: bytes, source: str) -> xr.Dataset:
    """Read the profiles of all ranks; a rank's is that of its thread 0."""
    faults = Faults(source)
    reader = _Reader(faults)
    lines = data.replace(b"\r\n", b"\n").decode("utf-8", "replace").split("\n")
    reader.read(lines)
    if not any(one in CLOCKS for one in reader.metrics.values()):
        found = f"counts {', '.join(sorted(set(reader.metrics.values()))) or 'nothing'}, no time"
        raise ReadError.at(source, 1, found, "measure with TAU_METRICS=TIME")
    if not data.rstrip().endswith(b"</profile_xml>"):
        faults.damage(len(lines), "no '</profile_xml>' at the end", _CUT)
    ranks = {
        reader.threads[name][0]: Rank(rows, reader.facts[name])
        for name, rows in sorted(reader.profiles.items())
        if name in reader.threads and reader.threads[name][1:] == (0, 0)
    }
    for rank in ranks.values():
        _check(rank.rows, faults)
    if any(name in reader.profiles and place[2] for name, place in reader.threads.items()):
        faults.note(0, "more than one thread per rank", "the rank's time is that of its first thread")
    _check_total(reader, faults)
    merged = _EVERYONE in reader.events
    size = 1 + max(ranks, default=-1)
    if merged and size > len(ranks):
        faults.damage(
            0, f"{len(ranks)} ranks, the last is {size - 1}", "ranks are missing; kept what is there"
        )
    return _dataset(ranks, size if merged else -1, faults)


def _check_total(reader: _Reader, faults: Faults) -> None:
    """Compare the sums over all threads, which TAU writes too, with the threads."""
    stated = {row[0]: (line, row) for line, row in reader.profiles.get(_TOTAL, ())}
    if not stated or not faults.complete:
        return
    sums: defaultdict[str, list[float]] = defaultdict(lambda: [0.0] * 4)
    for name, rows in reader.profiles.items():
        for _, row in rows if name != _TOTAL else ():
            sums[row[0]] = [a + b for a, b in zip(sums[row[0]], row[1:], strict=True)]
    for name, (line, row) in stated.items():
        off = [abs(a - b) > 1e-9 * max(abs(a), abs(b)) + US for a, b in zip(sums[name], row[1:], strict=True)]
        if any(off) and CALL.match(name) and THROTTLED not in name:
            found = (
                f"{sums[name][0]:.0f} calls, {sums[name][3]:.6f} s, all in all {row[1]:.0f}, {row[4]:.6f} s"
            )
            faults.damage(
                line, printable(f"{name}: {found}".encode()), "a number is damaged: copy the file again"
            )
            return


def _plain(text: str) -> str:
    if text.startswith("<![CDATA["):
        return text.removeprefix("<![CDATA[").removesuffix("]]>")
    return html.unescape(text)
