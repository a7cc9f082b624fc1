"""Caliper's records (`.cali`): the MPI functions and regions of an aggregated profile with their times."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import xarray as xr

from analysis.base.errors import ReadError
from analysis.readers.base import Faults, profile_dataset
from analysis.readers.merits.output import Output, Row
from analysis.readers.text import integer, number, printable

_MARK = b"__rec="
_NAME_ATTR, _PROP_ATTR = 8, 10
_PROP = "cali.attribute.prop"
_NESTED = 256  # property of an attribute whose values are regions
_MPI, _RANK, _SIZE = "mpi.function", "mpi.rank", "mpi.world.size"
_MOST_RANKS = 1 << 20
_TIME = re.compile(r"(?:[a-z]+#)*time\.duration(?:\.ns)?")
_COUNTS = ("sum#sum#region.count", "sum#region.count", "region.count")
_TOKEN = re.compile(r"((?:[^\\,=]|\\.)*)([,=]|$)")


@dataclass(frozen=True, slots=True, eq=False)
class _Node:
    """A value of an attribute below another; those that it refers to stand before it in the file."""

    attribute: _Node | None
    data: str
    parent: _Node | None

    def up(self) -> Iterator[_Node]:
        """Give the node and all above it."""
        node: _Node | None = self
        while node is not None:
            yield node
            node = node.parent

    def nested(self) -> bool:
        """Tell whether an attribute's values are regions."""
        props = [
            node.data for node in self.up() if node.attribute is not None and node.attribute.data == _PROP
        ]
        return bool(props) and integer(props[0], blank=0) & _NESTED != 0


@dataclass
class _Record:
    """A row of the profile: where in the program, and its values by the names of their attributes."""

    line: int
    path: list[str] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)


def is_records(head: bytes) -> bool:
    """Tell whether some bytes begin as a file of Caliper."""
    return head.startswith(_MARK)


def read(data: bytes, source: str) -> xr.Dataset:
    """Read a profile: kind ``profile`` if it has MPI functions, else ``merits`` of its regions."""
    faults = Faults(source)
    records, facts = _records(data, faults)
    metric = _metric(records)
    if not metric:
        raise ReadError.at(source, 0, "no sum of time.duration", "give a profile, such as of runtime-profile")
    rows = [record for record in records if metric in record.values]
    times = np.array([_seconds(metric, record.values[metric]) for record in rows])
    for record, time in zip(rows, times, strict=True):
        _check(metric, record, time, faults)
    if any(_MPI in record.values for record in rows):
        return _profile(rows, times, metric, facts, faults)
    return _merits(rows, times, metric, facts, faults)


def _fields(line: str) -> dict[str, list[str]]:
    """Split ``key=value=value,key=value``; a backslash keeps what follows it from being a mark."""
    found: dict[str, list[str]] = {}
    entry: list[str] = []
    for text, mark in _TOKEN.findall(line):
        entry.append(re.sub(r"\\(.)", lambda one: "\n" if one[1] == "n" else one[1], text))
        if mark != "=":
            found.setdefault(entry[0], entry[1:])
            entry = []
    return found


def _bootstrap() -> dict[int, _Node]:
    types = ("usr", "int", "uint", "string", "addr", "double", "bool", "type")
    nodes = {at: _Node(None, name, None) for at, name in enumerate(types)}
    nodes[11] = _Node(None, "ptr", None)
    for at, name, kind in ((_NAME_ATTR, "name", 3), (9, "type", 7), (_PROP_ATTR, "prop", 1)):
        nodes[at] = _Node(nodes.get(_NAME_ATTR), f"cali.attribute.{name}", nodes[kind])
    return nodes


def _records(data: bytes, faults: Faults) -> tuple[list[_Record], dict[str, str]]:
    """Return the rows of a file, those of time series left out, and the facts of the run."""
    nodes, records, facts, ended = _bootstrap(), [], dict[str, str](), False
    lines = data.replace(b"\r\n", b"\n").split(b"\n")
    for at, raw in enumerate(lines[:-1], start=1):
        fields = _fields(raw.decode("utf-8", errors="replace"))
        kind = fields.get("__rec", [""])[:1]
        try:
            if kind == ["node"]:
                _add(nodes, fields)
            elif kind in (["ctx"], ["globals"]):
                record = _expanded(nodes, fields, at)
                ended = kind == ["globals"]
                if ended:
                    facts |= record.values
                elif record.values.get("spot.channel", "regionprofile") == "regionprofile":
                    records.append(record)
            elif raw.strip():
                raise ValueError
        except (ValueError, KeyError, IndexError):
            faults.damage(at, f"{printable(raw)[:40]!r} is no record, or of what is not known", "left out")
    if not ended:
        faults.damage(len(lines), "does not end with '__rec=globals'", "the file is cut; kept what is whole")
    series = sum("timeseries.snapshot" in record.values for record in records)
    if series:
        faults.note(0, f"{series} rows of a time series", "left out")
    return [one for one in records if "timeseries.snapshot" not in one.values], facts


def _add(nodes: dict[int, _Node], fields: dict[str, list[str]]) -> None:
    parent = nodes[int(fields["parent"][0])] if "parent" in fields else None
    data = fields.get("data", [""])
    nodes[int(fields["id"][0])] = _Node(nodes[int(fields["attr"][0])], data[0] if data else "", parent)


def _expanded(nodes: dict[int, _Node], fields: dict[str, list[str]], at: int) -> _Record:
    record = _Record(at)
    for ref in fields.get("ref", ()):
        for node in reversed(list(nodes[int(ref)].up())):
            if node.attribute is not None:
                record.values[node.attribute.data] = node.data
                if node.attribute.nested():
                    record.path.append(node.data)
    for key, value in zip(fields.get("attr", ()), fields.get("data", ()), strict=True):
        record.values[nodes[int(key)].data] = value
    return record


def _metric(records: list[_Record]) -> str:
    """Choose the time that is summed over calls and ranks, best one that includes inner regions."""
    names = sorted({name for record in records for name in record.values if _TIME.fullmatch(name)})
    sums = [name for name in names if name.split("#")[0] in ("sum", "inclusive", "scale", "iscale", "isum")]
    # Over ranks before over calls: the names of the former are the longer ones.
    return max(sums, key=lambda name: (_inclusive(name), name.count("#")), default="")


def _inclusive(metric: str) -> bool:
    return bool({"inclusive", "iscale", "isum"} & set(metric.split("#")))


def _seconds(metric: str, text: str) -> float:
    scaled = {"scale", "iscale"} & set(metric.split("#"))
    return number(text) * (1e-9 if metric.endswith(".ns") and not scaled else 1.0)


def _check(metric: str, record: _Record, time: float, faults: Faults) -> None:
    """Hold a sum against the extremes over ranks beside it, six digits behind the point as printed."""
    head, _, rest = metric.partition("#")
    low, high = (_seconds(metric, record.values.get(f"{one}#{rest}", "")) for one in ("min", "max"))
    if not math.isfinite(time) or time < 0:
        faults.damage(record.line, f"time is {record.values[metric][:40]!r}", "left blank")
    elif head == "sum" and (low > high + 1e-6 or high > time + 1e-6):
        found = f"sum {time:g} s, smallest {low:g} s, largest {high:g} s"
        faults.damage(record.line, found, "a number is damaged: copy the file again")


def _total(rows: list[_Record], times: np.ndarray, metric: str) -> float:
    """Add up what is not part of another row."""
    own = [i for i, row in enumerate(rows) if not _inclusive(metric) or len(row.path) < 2]
    return float(times[own].sum()) if own else math.nan


def _profile(
    rows: list[_Record], times: np.ndarray, metric: str, facts: dict[str, str], faults: Faults
) -> xr.Dataset:
    given = max([integer(one.values.get(_SIZE, "")) for one in rows] + [integer(facts.get(_SIZE, ""))])
    expected = given if given <= _MOST_RANKS else -1
    rank = np.array([integer(row.values.get(_RANK, ""), bits=32) for row in rows], dtype=np.int64)
    rank[(rank < 0) | (rank >= max(expected, 0))] = -1
    at = np.array([i for i, row in enumerate(rows) if _MPI in row.values])
    ranks = {name: np.full(max(expected, 0), np.nan) for name in ("app_time", "mpi_time", "memory")}
    for one in sorted(set(rank.tolist()) - {-1}):
        mine = np.flatnonzero(rank == one)
        ranks["app_time"][one] = _total([rows[i] for i in mine], times[mine], metric)
        ranks["mpi_time"][one] = times[np.intersect1d(mine, at)].sum()
    totals = {"app_time_total": _total(rows, times, metric), "mpi_time_total": float(times[at].sum())}
    n = len(at)
    counts = [next((number(rows[i].values[c]) for c in _COUNTS if c in rows[i].values), -1.0) for i in at]
    known = [int(count) if 0 <= count < 1 << 53 and count % 1 == 0 else -1 for count in counts]
    return profile_dataset(
        obs={
            "rank": rank[at].astype(np.int32),
            "call": np.array([rows[i].values[_MPI] for i in at], dtype=object),
            "size": np.full(n, -1, dtype=np.int64),
            "peer": np.full(n, -1, dtype=np.int32),
            "region": np.array(["/".join(rows[i].path[:-1]) for i in at], dtype=object),
            "site": np.full(n, -1, dtype=np.int32),
            "count": np.array(known, dtype=np.int64),
            "time": np.where(times[at] >= 0, times[at], np.nan),
            "bytes": np.full(n, np.nan),
        },
        ranks={**ranks, "host": np.full(max(expected, 0), "", dtype=object)},
        tool="Caliper",
        tool_version=facts.get("cali.caliper.version", ""),
        ranks_expected=expected,
        faults=faults,
        attrs={name: value for name, value in totals.items() if math.isfinite(value)},
    )


def _merits(
    rows: list[_Record], times: np.ndarray, metric: str, facts: dict[str, str], faults: Faults
) -> xr.Dataset:
    """Make a figure of each region's time: of the slowest rank where the file says that."""
    output = Output(b"", faults.source)
    output.faults = faults
    output.facts["ranks"] = facts.get(_SIZE, facts.get("jobsize", ""))
    slowest = f"max#{metric.partition('#')[2]}" if metric.startswith(("sum#inclusive#", "sum#sum#")) else ""
    for row, time in zip(rows, times, strict=True):
        if row.path:
            name = "/".join(row.path) if _inclusive(metric) else f"{'/'.join(row.path)} alone"
            value = _seconds(slowest, row.values[slowest]) if slowest in row.values else float(time)
            value = value if math.isfinite(time) and time >= 0 else math.nan
            output.rows.append(Row(name, value, "s", math.nan, row.line))
    version = facts.get("cali.caliper.version", "")
    return output.dataset("caliper", "Caliper", version, main="main", which="largest")
