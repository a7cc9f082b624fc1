"""What both formats of ``perf stat`` share: the parts and events of a row, and when it was started."""

from __future__ import annotations

import re

from analysis.readers.power.clock import Clock
from analysis.readers.power.log import PowerLog

# Optionally socket (die, core, node) and its CPUs; a value; an event.
PART = r"(?:(?P<part>(?:[SND]\d|CPU\d)[\w-]*+)[,;|\s]++(?:\d++[,;|\s])?)?+"
VALUE = r"(?P<value><not \w+>|\d++(?:[.,]\d++)*+)[,;|\s]++"
EVENT = r"(?P<event>power/[\w-]++/)"
_STARTED = re.compile(r"^# started on (.+)$", re.MULTILINE)


def meter(row: re.Match[str]) -> str:
    """Name the meter of a row: its part, if it has one, and its event."""
    return "/".join(part for part in (row["part"], row["event"].split("/")[1]) if part)


def begin(log: PowerLog) -> int:
    """Return when perf was started, ns since 1970: by the option ``start`` or as ``-o`` writes it, else 0."""
    clock = Clock(log)
    started = [found[1] for line in log.lines() if (found := _STARTED.match(line))]
    return int(clock.utc(started[:1], [1])[0]) if started and not log.options.start else clock.start()
