"""TAU's profile of all ranks as XML (`tauprofile.xml`, ``TAU_PROFILE_FORMAT=merged``), and snapshots."""

from __future__ import annotations

import html
import re
from collections import defaultdict

import xarray as xr

from analysis.base.errors import ReadError
from analysis.readers.base import Faults
from analysis.readers.tau.timers import CALL, CLOCKS, REPEATS, THROTTLED, US, Rank, Row, check, dataset
from analysis.readers.text import printable, real

_FIRST = re.compile(rb"\s{0,9}<profile_xml>")
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
_CUT = "the file is cut; kept what is whole"

_Event = tuple[str, str]  # name and group


def is_merged(head: bytes) -> bool:
    """Tell whether some bytes begin as TAU's XML."""
    return _FIRST.match(head) is not None


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
            # A later snapshot of a thread holds what the ones before it have.
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


def read(data: bytes, source: str) -> xr.Dataset:
    """Read the profiles of all ranks; a rank's is that of its thread 0."""
    if not is_merged(data[:256]):
        raise ReadError.at(source, 0, "no <profile_xml>", "give tauprofile.xml")
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
        check(rank.rows, faults)
    if any(name in reader.profiles and place[2] for name, place in reader.threads.items()):
        faults.note(0, "threads beside each rank's first", "only that is the rank's")
    _check_total(reader, faults)
    merged = _EVERYONE in reader.events
    size = 1 + max(ranks, default=-1)
    if merged and size > len(ranks):
        faults.damage(
            0, f"{len(ranks)} ranks, the last is {size - 1}", "ranks are missing; kept what is there"
        )
    return dataset(ranks, size if merged else -1, faults)


def _check_total(reader: _Reader, faults: Faults) -> None:
    """Hold the sums over all threads that TAU writes beside them against the threads."""
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
