"""The banner that IPM prints at the end of a run, anywhere in a program's standard output.

It is a summary over all ranks: its observations have rank -1 and neither sizes nor partners, and the
variables of the ranks are NaN. The attributes have the least, mean and largest values over ranks.
Both layouts are read: IPM 2 (``# wallclock : total avg min max``, calls by ``[time] [count]``) and
IPM 0.9x (no colons in the table, calls by ``[time] [calls] <%mpi> <%wall>``).
"""

import math
import re
from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np
import xarray as xr

from analysis.base.units import GIB
from analysis.readers.base import Faults, observations, profile_dataset
from analysis.readers.ipm.records import MAX_RANKS, refuse
from analysis.readers.text import number

_START = re.compile(rb"##IPM\w{0,20}?v(\d[^#\s]{0,40})#{4}")
_RULE = re.compile(r"#{20,}\s*")
_KEYS = (
    r"command|start|stop|host|wallclock|mpi_tasks|%comm|"
    r"omp_thrds|%omp|files|%i/o|mem \[GB\]|gbytes|gflop/sec"
)
# Lines come without blanks at their ends. No pattern may try the same blanks twice.
_PAIR = re.compile(rf"(?:(?<=\s)|(?<=^#))({_KEYS})\s*+:(?:\s|$)")
_COMMAND = re.compile(r"# command\s*+:\s?(.*)")
_REGION = re.compile(r"# region\s*+:\s*+(.*)")
_TASKS = re.compile(r"\s*+(\d{1,9})")
_VALUE = r"-?(?:[\d.,]++(?:e[+-]?\d+)?|nan)"
_NUMBER = re.compile(_VALUE)
# 0.9x prints counts with %g: 1234567 calls are 1.23457e+06.
_COUNT = r"\d{1,15}|\d(?:[.,]\d{1,5})?e\+(?:0\d|1[0-7])"
_CALL = re.compile(rf"# (\w+)\s+({_VALUE})\s+({_COUNT})\s+{_VALUE}(?:\s+{_VALUE})?")
_TABLE = re.compile(r"#\s+\[time\]\s+\[(?:count|calls)\]")
_HEADING = re.compile(r"# (%wall|#calls)\s*+:")
# Rows of the table that become attributes: name, and what their unit is worth in ours.
_STATISTICS = {
    "wallclock": ("wall_time", 1.0), "MPI": ("mpi_time", 1.0), "mpi": ("mpi_time", 1.0),
    "I/O": ("io_time", 1.0), "mem [GB]": ("memory", GIB), "gbytes": ("memory", GIB),
}  # fmt: skip
ROUNDED = "; counts of a million and more have six digits"
CAVEATS = (
    "a summary over all ranks (rank -1): no sizes, no partners, no values of single ranks; "
    "IPM 2 prints times with two decimals"
)


@dataclass
class _Section:
    """One table of the banner: that of the whole run or that of a region."""

    region: str | None = None
    line: int = 0
    calls: dict[str, tuple[float, int]] = field(default_factory=dict)
    statistics: dict[str, list[float]] = field(default_factory=dict)
    heading: str = ""
    rounded: bool = False


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
    for section in banner.sections:
        _check_means(section, banner.version, _ranks(banner)[0], first, faults)
        _check(section, banner.version, faults)
    _check_regions(banner, faults)
    return _dataset(banner, first, faults)


def _check_regions(banner: _Banner, faults: Faults) -> None:
    """Compare the calls of the regions with those of the run: the last regions of a cut banner are missing.

    Nested regions hold calls twice; what they have more of than the run is theirs.
    """
    whole, regions = _tables(banner)
    counted = _counted(regions)
    found, total = sum(counted.values()), sum(count for _, count in whole.calls.values())
    nested = any(count > whole.calls.get(call, (0.0, 0))[1] * (1 + 1e-5) for call, count in counted.items())
    if regions and not nested and found < total * (1 - 1e-5):
        what = f"the regions hold {found} of {total} calls"
        remedy = "a region is damaged or missing; the calls are kept without regions"
        faults.damage(regions[-1].line or whole.line, what, remedy)


def _fits(values: list[float], ranks: int, old: bool) -> bool:
    """Tell whether a mean is the total by ranks and lies between its bounds, as printed."""
    total, mean, least, largest = values
    digits, decimals = (2e-5, 0.0) if old else (1e-9, 0.0101)
    return not (
        (ranks > 0 and abs(mean * ranks - total) > digits * abs(total) + decimals * (ranks + 1) / 2)
        or mean < least - digits * abs(least) - decimals
        or mean > largest + digits * abs(largest) + decimals
    )


def _check_means(section: _Section, version: str, ranks: int, first: int, faults: Faults) -> None:
    """Compare the means of a table with its totals and bounds."""
    old = version.startswith("0.")
    if old and section.region not in (None, "", "*"):
        ranks = 0  # how 0.9x averages a region that some ranks never enter was seen in no banner
    for name, values in section.statistics.items():
        if len(values) == 4 and name in _STATISTICS and not _fits(values, ranks, old):
            found = (
                f"{name}: {values[1]:g} is no mean of {values[0]:g} in all, {values[2]:g} to {values[3]:g}"
            )
            faults.damage(section.line or first, found, "one of the numbers is damaged; get the whole banner")


def _check(section: _Section, version: str, faults: Faults) -> None:
    """Compare the calls of a table with the totals above it: a row that cannot be read is missing."""
    old = version.startswith("0.")
    own = [values for call, values in section.calls.items() if call.startswith("MPI")]
    if not own:
        return
    # Six digits, or two decimals in each row and in the total.
    for what, found, name, rounding in (
        ("s", sum(time for time, _ in own), "mpi" if old else "MPI", 0.0 if old else 0.005 * (len(own) + 1)),
        ("calls", sum(count for _, count in own), "#calls MPI", 0.0),
    ):
        total = section.statistics.get(name, [math.nan])[0]
        if abs(found - total) > rounding + (1e-5 * total if old else 1e-9):
            where = f" of region {section.region!r}" if section.region else ""
            remedy = "a row is damaged or missing; get the whole banner"
            faults.damage(
                section.line, f"the calls{where} add up to {found:.6g} of {total:.6g} {what}", remedy
            )


def _read(lines: list[str], version: str, first: int, faults: Faults) -> _Banner:
    banner = _Banner(version)
    table = False
    shortest = len(lines[0].strip()) - 1
    for at, line in enumerate(lines[1:], start=1):
        if not line.lstrip().startswith("#"):
            continue  # the program's own output may run into the banner
        text = line.strip()
        if _RULE.fullmatch(text):
            table = False
            if at == len(lines) - 1 and len(text) < shortest:
                break  # half a rule at the end of the file
            if not _RULE.fullmatch(lines[at - 1].strip()) and not _goes_on(lines, at):
                banner.closed = True
                break
        elif region := _REGION.fullmatch(text):
            name, _, tasks = region[1].partition("[ntasks] =")
            name = name.strip()
            quoted = len(name) > 1 and name[0] == name[-1] == "'"
            banner.sections.append(_Section(name[1:-1] if quoted else name))
            count = _TASKS.fullmatch(tasks)
            banner.keys.setdefault("ntasks", count[1] if count else "")
        elif _TABLE.match(text):
            table = True
            banner.sections[-1].line = first + at
        elif not _read_line(text, banner, table):
            say = faults.damage if table else faults.note
            say(first + at, f"no line of a banner: {text[:60]!a}", "it was left out")
    return banner


def _goes_on(lines: list[str], at: int) -> bool:
    following = [line.strip() for line in lines[at + 1 : at + 3]]
    if following and _RULE.fullmatch(following[0]):
        # IPM 2 rules off each region twice: nothing behind the second rule is a cut.
        following = following[1:] or ["# region"]
    return bool(following) and following[0].startswith("# region")


def _read_line(text: str, banner: _Banner, table: bool) -> bool:
    """Read one line into the banner; False if it is of no known form."""
    section = banner.sections[-1]
    if table:
        if call := _CALL.fullmatch(text):
            time, count = section.calls.get(call[1], (0.0, 0))
            section.calls[call[1]] = (time + number(call[2]), count + int(number(call[3])))
            section.rounded |= "e" in call[3]
        return call is not None or text == "#"
    if command := _COMMAND.fullmatch(text):
        banner.keys["command"] = command[1]
        return True
    if heading := _HEADING.fullmatch(text):
        section.heading = heading[1]
        return True
    if row := _row(text):
        # "MPI" has three rows: seconds, and below their headings % of wall and calls.
        name = row[0] if text[2:3] != " " or not section.heading else f"{section.heading} {row[0]}"
        section.statistics.setdefault(name, row[1])
        return True
    pairs = list(_PAIR.finditer(text)) if section.region is None else []
    ends = [pair.start() for pair in pairs[1:]] + [len(text)]
    for pair, end in zip(pairs, ends, strict=False):
        banner.keys.setdefault(pair[1], text[pair.end() : end].strip())
    return (
        bool(pairs) or not re.search(r"(?<!\w)\w++\s++\d", text) or text.startswith(("# nesting", "# region"))
    )


def _row(text: str) -> tuple[str, list[float]] | None:
    """Read a row of three or four statistics: its name ends with a colon or two blanks."""
    for columns in (4, 3):
        name, *values = text[1:].rsplit(None, columns) or [""]
        rest = text[1 + len(name) :]
        apart = name.endswith(":") or len(rest) - len(rest.lstrip()) > 1
        named = name[:1].isspace() and name.strip(" :") and text.startswith("#")
        if len(values) == columns and named and apart and all(map(_NUMBER.fullmatch, values)):
            return name.strip().rstrip(" :"), [number(value) for value in values]
    return None


def _tables(banner: _Banner) -> tuple[_Section, list[_Section]]:
    """Return the table of the run and those of its regions."""
    whole, *regions = banner.sections
    if regions and not whole.calls and regions[0].region in ("", "*"):
        whole, *regions = regions  # IPM 0.9x: the first region is the whole run
    return whole, regions


def _counted(regions: list[_Section]) -> dict[str, int]:
    counted: defaultdict[str, int] = defaultdict(int)
    for section in regions:
        for call, (_, count) in section.calls.items():
            counted[call] += count
    return dict(counted)


def _calls(banner: _Banner) -> list[tuple[str, str, float, int]]:
    """Choose the tables that add up: those of the regions where they hold all, else the run's."""
    whole, regions = _tables(banner)
    if regions and _counted(regions) == {call: count for call, (_, count) in whole.calls.items()}:
        chosen = regions
    else:
        chosen = [_Section("", calls=whole.calls)]
    return [
        (section.region or "", call, *values) for section in chosen for call, values in section.calls.items()
    ]


def _ranks(banner: _Banner) -> tuple[int, int]:
    """Return the numbers of ranks and nodes, 0 and -1 where they are not stated."""
    tasks = re.match(r"(\d{1,9}) on (\d{1,9}) (?:nodes|hosts)", banner.keys.get("mpi_tasks", ""))
    return (int(tasks[1]), int(tasks[2])) if tasks else (int(banner.keys.get("ntasks") or 0), -1)


def _dataset(banner: _Banner, first: int, faults: Faults) -> xr.Dataset:
    rows = _calls(banner)
    if not rows:
        faults.note(first, "no table of calls", "set IPM_REPORT=full to have it printed")
    ranks, nodes = _ranks(banner)
    if not 0 < ranks <= MAX_RANKS:
        faults.damage(first, "no number of mpi_tasks", "get the whole banner")
        ranks = 0
    unknown = np.full(ranks, np.nan)
    regions, calls, times, counts = zip(*rows, strict=True) if rows else ((), (), (), ())
    obs = observations(calls, times, region=regions, count=counts)
    return profile_dataset(
        obs=obs,
        ranks={"host": np.full(ranks, "", dtype=object)}
        | {name: unknown.copy() for name in ("app_time", "mpi_time", "memory")},
        tool="IPM",
        tool_version=banner.version,
        ranks_expected=ranks,
        faults=faults,
        attrs=_attrs(banner, nodes),
    )


def _attrs(banner: _Banner, nodes: int) -> dict[str, str | float | int | bool]:
    keys = banner.keys
    attrs: dict[str, str | float | int | bool] = {
        "source_form": "banner",
        "has_sizes": False,
        "size_rounding": "unknown: a banner has no sizes",
        "caveats": CAVEATS + (ROUNDED if any(section.rounded for section in banner.sections) else ""),
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
