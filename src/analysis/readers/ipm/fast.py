"""IPM's XML by the core: whole files of the usual form; None for any other, which `ipm.parse_xml` reads."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import IO, Any

import numpy as np
import xarray as xr

from analysis.base.units import GIB
from analysis.readers import core
from analysis.readers.base import Faults, profile_dataset
from analysis.readers.core import Array, Blocks, Core, decoded
from analysis.readers.ipm import observations, records, totals
from analysis.readers.ipm.observations import Observations
from analysis.readers.ipm.records import Names, Segment
from analysis.schema.registry import Column

_ROWS = {"call": "u1", "region": "u1"} | dict.fromkeys(
    ("size", "peer", "site", "count", "time", "least", "most"), "i4"
)
_TASKS = dict.fromkeys(("rank", "nodes", "host", "version", "rows", "at"), "i4") | dict.fromkeys(
    ("start", "stop", "wall", "user", "system", "mpi", "memory", "summed"), "f8"
)
_END = b"</ipm_job_profile>"


@dataclass
class _Read:
    """What was read of one file: columns, and where the first task is whose sums differ."""

    core: Core
    prefix: bytes = b""
    first: bytes = b""  # task
    odd: bytes = b""
    rows: dict[str, Blocks] = field(
        default_factory=lambda: {n: Blocks(t, narrow=t == "i4") for n, t in _ROWS.items()}
    )
    tasks: dict[str, Blocks] = field(
        default_factory=lambda: {n: Blocks("i8" if n == "at" else t) for n, t in _TASKS.items()}
    )
    extra: Blocks = field(default_factory=lambda: Blocks("f8"))  # times that are sums
    names: list[str] = field(default_factory=list)
    offset: int = 0  # of the window in the file

    def harvest(self) -> None:
        """Take over what the core has found in the window, and move the window on."""
        n, m = self.core.value("tasks"), self.core.value("rows")
        for name, dtype in _ROWS.items():
            self.rows[name].add(self.core.array(f"row_{name}", dtype, m))
        for name, dtype in _TASKS.items():
            values = self.core.array(f"task_{name}", dtype, n)
            self.tasks[name].add(values if name != "at" else values + np.int64(self.offset))
        self.extra.add(self.core.array("extra", "f8", self.core.value("extras")))
        start, stop, used = (self.core.value(name) for name in ("odd_start", "odd_stop", "consumed"))
        if start >= 0:
            self.odd = self.core.window[start:stop].tobytes()
        if n and not self.first:
            self.first = self.core.window[: min(used, 1 << 20)].tobytes()
        self.core.drop(used)
        self.offset += used

    def register(self) -> None:
        """Give the core the call that it met first, with what kind of call it is."""
        name, code = self.core.wanted(), len(self.names)
        self.names.append(name.decode())
        self.core.array("name_kind", "u1", code + 1)[code] = observations.kind_of(name.decode())
        self.core.register(code, name)


def parse(stream: IO[bytes], faults: Faults, line: Callable[[int], int]) -> xr.Dataset | None:
    """Read a file; `line` counts the lines before an offset when a fault needs it."""
    instance = core.instance()
    if instance is None:
        return None
    read = _Read(instance)
    if not _tasks(read, stream):
        return None
    return _dataset(read, faults, line)


def _tasks(read: _Read, stream: IO[bytes]) -> bool:
    """Read all tasks; whether the file has nothing unusual."""
    file = read.core
    file.fill(stream, core.STEP)
    head = file.window[: file.filled].tobytes()
    start = head.find(b"\n<task ") + 1
    if b"\r\n" in head[:4096] or not start:
        return False
    read.prefix = head[:start]
    read.offset = start
    file.drop(start)
    more = True
    while True:
        found = file.call("ipm", file.filled)
        wanted = found == core.NAME and len(read.names) < 250
        if found != core.MORE and not wanted:
            return False
        if wanted:
            read.register()
        moved = file.value("consumed") > 0
        read.harvest()
        if wanted:
            continue
        if not more:
            end = file.window[: file.filled].tobytes()
            return not moved and len(end) <= 4096 and end.rstrip(b"\n") == _END
        more = file.fill(stream, core.STEP if moved else core.WINDOW)
        if not more and file.filled == core.WINDOW:
            return False


def _dataset(read: _Read, faults: Faults, line: Callable[[int], int]) -> xr.Dataset | None:
    tasks = {name: blocks.joined() for name, blocks in read.tasks.items()}
    expected = read.core.value("ranks", "i8")
    stated = re.search(rb'mpi_size="(\d{1,9})"', read.first)
    present = np.zeros(expected, dtype=bool)
    present[tasks["rank"]] = True
    if not stated or len(tasks["rank"]) != expected or not present.all():
        return None
    texts = [text.decode("iso-8859-1") for text in read.core.texts()]
    whole = {name: blocks.joined() for name, blocks in read.rows.items()}
    large, exact = read.core.array("total", "i8", 10)[8:].tolist()
    names = np.array(read.names, dtype=object)
    extra = read.extra.joined()
    columns = _columns(whole, tasks, (names, np.array(texts, dtype=object)), extra)
    _check(read, faults, line, tasks, columns)
    version = texts[tasks["version"][0]]
    first = Segment(0, len(read.first), read.first.find(b"\n<hash ") + 1, None, whole=True)
    nodes = int(tasks["nodes"].max())
    return profile_dataset(
        obs={name: column.lazily() for name, column in columns.items()},
        ranks=_ranks(tasks, texts),
        tool="IPM",
        tool_version=version,
        ranks_expected=expected,
        faults=faults,
        attrs={
            "source_form": "xml",
            "has_sizes": True,
            "command": records.command(read.first, first),
            "start": float(tasks["start"].min()),
            "stop": float(tasks["stop"].max()),
            "nodes": nodes if nodes > 0 else len(set(tasks["host"].tolist())),
            "caveats": observations.CAVEATS,
            "size_rounding": observations.spelt_rounding(version, large=large > 0, exact=exact > 0),
        },
    )


@dataclass
class _Ranks:
    """The rank of each observation: those of the tasks, and where the observations of each end."""

    ranks: Array
    ends: Array

    def __len__(self) -> int:
        return int(self.ends[-1])

    def __getitem__(self, rows: Any) -> Array:
        if not isinstance(rows, slice):
            return self.ranks[np.searchsorted(self.ends, np.asarray(rows) % len(self), "right")]
        start, stop, step = rows.indices(len(self))
        counts = np.diff(np.clip(self.ends, start, max(start, stop)), prepend=start)
        return np.repeat(self.ranks, counts)[::step]


def _amount(count: Array, size: Array) -> Array:
    return np.where(size < 0, np.nan, count * size.astype("f8"))


def _columns(
    whole: dict[str, Array], tasks: dict[str, Array], texts: tuple[Array, Array], extra: Array
) -> dict[str, Column]:
    """Return the observations; `texts` are those of calls and of regions."""
    names, labels = texts
    ranks = _Ranks(tasks["rank"], np.cumsum(tasks["rows"]))
    return {
        "rank": Column((ranks,), "i4", np.asarray),
        "call": Column((whole["call"],), object, names.take),
        "size": Column((whole["size"],), "i8", np.asarray),
        "peer": Column((whole["peer"],), "i4", np.asarray),
        "region": Column((whole["region"],), object, labels.take),
        "site": Column((whole["site"],), "i4", np.asarray),
        "count": Column((whole["count"],), "i8", np.asarray),
        "bytes": Column((whole["count"], whole["size"]), "f8", _amount),
        "time": Column((whole["time"],), "f8", partial(decoded, extra=extra)),
        "time_min": Column((whole["least"],), "f8", decoded),
        "time_max": Column((whole["most"],), "f8", decoded),
    }


def _observations(columns: dict[str, Column], rows: slice) -> Observations:
    """Return some observations as the checks of the reference take them: calls and regions as codes."""
    coded = ("call", "region")
    return Observations(
        **{
            name: column.parts[0][rows].astype("i2") if name in coded else column.at(rows)
            for name, column in columns.items()
        }
    )


def _check(
    read: _Read,
    faults: Faults,
    line: Callable[[int], int],
    tasks: dict[str, Array],
    columns: dict[str, Column],
) -> None:
    """Compare what must agree, in the reference's order; most sums are the core's."""
    used = read.core.array("name_used", "u1", len(read.names))
    calls = Names({name.encode(): code for code, name in enumerate(read.names)})
    met = [name for name, one in zip(read.names, used, strict=True) if one]

    def of_task(at: int) -> int:
        return line(int(tasks["at"][at]))

    records.check_names(read.prefix, [name.encode() for name in met], line, faults)
    ranks, version = tasks["rank"], read.core.texts()[tasks["version"][0]]
    observations.check_mpi_time(ranks, tasks["summed"], tasks["mpi"], of_task, faults)
    if version.startswith(b"2"):
        observations.check_clock(ranks, tasks["wall"], tasks["stop"] - tasks["start"], of_task, faults)
        if read.odd:
            at, ends = read.core.value("odd_task"), np.cumsum(tasks["rows"])
            rows = slice(int(ends[at] - tasks["rows"][at]), int(ends[at]))
            segment = Segment(0, len(read.odd), read.odd.find(b"\n<hash ") + 1, None, whole=True)
            sums = totals.summed_totals(read.odd, segment) or {}
            stated = [(at, int(ranks[at]), sums)]
            observations.check_totals(_observations(columns, rows), calls, stated, of_task, faults)
    sent, received = (read.core.array("total", "u8", 4)[at : at + 2].tolist() for at in (0, 2))
    counts = read.core.array("total", "i8", 8)[4:].tolist()
    hidden = counts[3] or not counts[2]  # whom a message came from is not known of all
    if (counts[2] and counts[0] != counts[1]) if hidden else sent != received:
        whole, present = _observations(columns, slice(None)), np.ones(len(ranks), dtype=bool)
        observations.check_partners(whole, calls, present, faults)


def _ranks(tasks: dict[str, Array], texts: list[str]) -> dict[str, Array]:
    hosts = np.array([text.strip() for text in texts], dtype=object)
    columns = {"host": hosts[tasks["host"]], "app_time": tasks["wall"], "mpi_time": tasks["mpi"]}
    columns |= {"memory": tasks["memory"] * GIB, "user_time": tasks["user"], "system_time": tasks["system"]}
    order = np.argsort(tasks["rank"])
    return {name: column[order] for name, column in columns.items()}
