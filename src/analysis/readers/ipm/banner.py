"""The banner that IPM prints at the end of a run, anywhere in a program's standard output.

It is a summary over all ranks: its observations have rank -1, neither sizes nor partners, and the
variables of the ranks are NaN; least, mean and largest values over ranks stand in the attributes.
Both layouts are read: IPM 2 (``# wallclock : total avg min max``, calls by ``[time] [count]``) and
IPM 0.9x (no colons in the table, calls by ``[time] [calls] <%mpi> <%wall>``).
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np
import xarray as xr

from analysis.base.units import GIB
from analysis.readers.base import Faults, profile_dataset
from analysis.readers.ipm.tasks import MAX_RANKS, refuse
from analysis.readers.text import number

_START = re.compile(rb"##IPM\w*?v(\d[^#\s]*)#{4,}")
_RULE = re.compile(r"#{20,}\s*")
_KEYS = (
    r"command|start|stop|host|wallclock|mpi_tasks|%comm|"
    r"omp_thrds|%omp|files|%i/o|mem \[GB\]|gbytes|gflop/sec"
)
_PAIR = re.compile(rf"(?:^#|\s)\s*({_KEYS})\s*:\s(.*?)(?=\s+(?:{_KEYS})\s*:\s|\s*$)")
_COMMAND = re.compile(r"# command\s*:\s?(.*?)\s*$")
_REGION = re.compile(r"# region\s*:\s*(?:'(.*)'|(.*?))\s*(?:\[ntasks\] =\s*(\d{1,9})\s*)?$")
_VALUE = r"-?(?:[\d.,]+(?:e[+-]?\d+)?|nan)"
_ROW = re.compile(rf"#\s+(\S.*?)\s*(?::\s+|\s{{2,}})({_VALUE}(?:\s+{_VALUE}){{2,3}})\s*$")
_CALL = re.compile(rf"# (\w+)\s+({_VALUE})\s+(\d{{1,15}})\s+{_VALUE}(?:\s+{_VALUE})?\s*$")
_TABLE = re.compile(r"#\s+\[time\]\s+\[(?:count|calls)\]")
# Rows of the table that become attributes: name, and what their unit is worth in ours.
_STATISTICS = {
    "wallclock": ("wall_time", 1.0),
    "MPI": ("mpi_time", 1.0),
    "mpi": ("mpi_time", 1.0),
    "I/O": ("io_time", 1.0),
    "mem [GB]": ("memory", GIB),
    "gbytes": ("memory", GIB),
}
CAVEATS = (
    "a summary over all ranks (rank -1): no sizes, no partners, no values of single ranks; "
    "IPM 2 prints times with two decimals"
)


@dataclass
class _Section:
    """One table of the banner: that of the whole run or that of a region."""

    region: str | None = None
    calls: dict[str, tuple[float, int]] = field(default_factory=dict)
    statistics: dict[str, list[float]] = field(default_factory=dict)


@dataclass
class _Banner:
    version: str
    keys: dict[str, str] = field(default_factory=dict)
    sections: list[_Section] = field(default_factory=lambda: [_Section()])
    closed: bool = False


def find(data: bytes) -> int:
    """Return where a banner begins, -1 without one."""
    match = _START.search(data)
    return match.start() if match else -1


def parse(data: bytes, source: str = "<memory>") -> xr.Dataset:
    """Parse the first IPM banner in a text: one observation per region and call, s summed over ranks.

    Attributes: ``source_form`` (``banner``), ``command``, ``started`` and ``stopped`` as printed (local
    time), ``nodes``, ``comm_percent``, and for ``wall_time``, ``mpi_time`` (s), ``memory`` (B) the values
    ``_total _mean _min _max`` over ranks.
    """
    match = _START.search(data)
    if match is None:
        raise refuse(source)
    faults = Faults(source)
    first = data.count(b"\n", 0, match.start()) + 1
    lines = data[match.start() :].decode("iso-8859-1").splitlines()
    banner = _read(lines, match[1].decode("iso-8859-1"), first, faults)
    if not banner.closed:
        faults.damage(first + len(lines) - 1, "the banner is cut short", "what is whole was kept")
    if _START.search(data, match.end()):
        faults.note(first, "more than one banner", "the first one was read; split the output by runs")
    return _dataset(banner, first, faults)


def _read(lines: list[str], version: str, first: int, faults: Faults) -> _Banner:
    banner = _Banner(version)
    table = False
    for at, line in enumerate(lines[1:], start=1):
        if not line.lstrip().startswith("#"):
            continue  # the program's own output may run into the banner
        text = line.strip()
        if _RULE.fullmatch(text):
            table = False
            if not _goes_on(lines, at):
                banner.closed = True
                break
        elif region := _REGION.fullmatch(text):
            banner.sections.append(_Section(region[1] or region[2] or ""))
            banner.keys.setdefault("ntasks", region[3] or "")
        elif _TABLE.match(text):
            table = True
        elif not _read_line(text, banner, table):
            faults.note(first + at, f"no line of a banner: {text[:60]!a}", "it was left out")
    return banner


def _goes_on(lines: list[str], at: int) -> bool:
    following = [line.strip() for line in lines[at + 1 : at + 3]]
    if following and _RULE.fullmatch(following[0]):
        following = following[1:]
    return bool(following) and following[0].startswith("# region")


def _read_line(text: str, banner: _Banner, table: bool) -> bool:
    """Read one line into the banner; False if it is of no known form."""
    section = banner.sections[-1]
    if table:
        if call := _CALL.fullmatch(text):
            time, count = section.calls.get(call[1], (0.0, 0))
            section.calls[call[1]] = (time + number(call[2]), count + int(call[3]))
        return call is not None or text == "#"
    if command := _COMMAND.fullmatch(text):
        banner.keys["command"] = command[1]
        return True
    if row := _ROW.fullmatch(text):
        # "MPI" has three rows: seconds, % of wall and calls; the seconds come first.
        section.statistics.setdefault(row[1].rstrip(" :"), [number(value) for value in row[2].split()])
        return True
    pairs = _PAIR.findall(text) if section.region is None else []
    for key, value in pairs:
        banner.keys.setdefault(key, value)
    return bool(pairs) or not re.search(r"\w+\s+\d", text) or text.startswith(("# nesting", "# region"))


def _calls(banner: _Banner) -> list[tuple[str, str, float, int]]:
    """Choose the tables that add up: those of the regions where they hold all, else the run's."""
    whole, *regions = banner.sections
    if regions and not whole.calls and regions[0].region in ("", "*"):
        whole, *regions = regions  # IPM 0.9x: the first region is the whole run
    counted: defaultdict[str, int] = defaultdict(int)
    for section in regions:
        for call, (_, count) in section.calls.items():
            counted[call] += count
    if regions and counted == {call: count for call, (_, count) in whole.calls.items()}:
        chosen = regions
    else:
        chosen = [_Section("", whole.calls)]
    return [
        (section.region or "", call, *values) for section in chosen for call, values in section.calls.items()
    ]


def _dataset(banner: _Banner, first: int, faults: Faults) -> xr.Dataset:
    rows = _calls(banner)
    if not rows:
        faults.note(first, "no table of calls", "set IPM_REPORT=full to have it printed")
    tasks = re.match(r"(\d{1,9}) on (\d{1,9}) (?:nodes|hosts)", banner.keys.get("mpi_tasks", ""))
    ranks = int(tasks[1]) if tasks else int(banner.keys.get("ntasks") or 0)
    if not 0 < ranks <= MAX_RANKS:
        faults.damage(first, "no number of mpi_tasks", "get the whole banner")
        ranks = 0
    n = len(rows)
    unknown = np.full(ranks, np.nan)
    obs = {
        "rank": np.full(n, -1),
        "call": np.array([row[1] for row in rows], dtype=object),
        "size": np.full(n, -1),
        "peer": np.full(n, -1),
        "region": np.array([row[0] for row in rows], dtype=object),
        "site": np.full(n, -1),
        "count": np.array([row[3] for row in rows], dtype=np.int64),
        "time": np.array([row[2] for row in rows], dtype=np.float64),
        "bytes": np.full(n, np.nan),
    }
    return profile_dataset(
        obs=obs,
        ranks={"host": np.full(ranks, "", dtype=object)}
        | {name: unknown.copy() for name in ("app_time", "mpi_time", "memory")},
        tool="IPM",
        tool_version=banner.version,
        ranks_expected=ranks,
        faults=faults,
        attrs=_attrs(banner, int(tasks[2]) if tasks else -1),
    )


def _attrs(banner: _Banner, nodes: int) -> dict[str, str | float | int | bool]:
    keys = banner.keys
    attrs: dict[str, str | float | int | bool] = {
        "source_form": "banner",
        "has_sizes": False,
        "size_rounding": "unknown: a banner has no sizes",
        "caveats": CAVEATS,
        "command": keys.get("command", ""),
        "started": keys.get("start", ""),
        "stopped": keys.get("stop", ""),
        "nodes": nodes,
        "comm_percent": number(keys.get("%comm", "nan")),
    }
    for section in banner.sections[:2]:
        if section.region not in (None, "", "*"):
            continue
        for row, values in section.statistics.items():
            if row in _STATISTICS and len(values) == 4:
                name, unit = _STATISTICS[row]
                for statistic, value in zip(("total", "mean", "min", "max"), values, strict=True):
                    attrs.setdefault(f"{name}_{statistic}", value * unit)
    return attrs
