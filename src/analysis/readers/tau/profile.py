"""TAU's profile of one thread as text (`profile.<node>.<context>.<thread>`)."""

from __future__ import annotations

import html
import re

import xarray as xr

from analysis.base.errors import ReadError
from analysis.readers.base import Faults
from analysis.readers.tau.timers import CLOCKS, REPEATS, US, Rank, Row, check, dataset
from analysis.readers.text import printable, real

_MARK = b" templated_functions"
_FIRST = re.compile(rb"(\d{1,9}) templated_functions(?:_MULTI_([A-Z0-9_:]{1,80}))?")
_NAME = re.compile(r"profile\.(\d{1,7})\.(\d{1,7})\.(\d{1,7})(?!\d)")
_CUT = "the file is cut; kept what is whole"


def is_profile(head: bytes) -> bool:
    """Tell whether some bytes begin as a profile of one thread."""
    return _FIRST.match(head) is not None


def read(data: bytes, source: str) -> xr.Dataset:
    """Read the profile of a thread; its rank is the node in the file's name, their number is unknown."""
    first = _FIRST.match(data)
    if first is None:
        raise ReadError.at(source, 0, f"no number and '{_MARK.decode().strip()}'", "give a profile of TAU")
    metric = (first[2] or b"").decode()
    if metric not in CLOCKS:
        raise ReadError.at(
            source, 1, f"counts {metric}, no time", "give the profile in MULTI__TIME beside it"
        )
    faults = Faults(source)
    lines = data.replace(b"\r\n", b"\n").split(b"\n")[:-1]  # the last one has no end
    rows = _rows(lines, int(first[1]), faults)
    check(rows, faults)
    facts = _facts(lines[1] if len(lines) > 1 else b"")
    rank, thread = _place(source)
    if thread > 0:
        faults.note(0, f"profile of thread {thread}", "the rank's own is that of thread 0")
    return dataset({rank: Rank(rows, facts)}, -1, faults)


def _rows(lines: list[bytes], announced: int, faults: Faults) -> list[tuple[int, Row]]:
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
    """Hold that all rows of events are there, which are not read: TAU has no sizes by call."""
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
