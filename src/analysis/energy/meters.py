"""A campaign's power logs, declared or found: on the cluster's clock, with the nodes that meters feed."""

import fnmatch
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from analysis import readers
from analysis.base import models, project
from analysis.base.errors import BenchbookError, Fault, sparing
from analysis.base.files import read_bytes
from analysis.base.slurm import listed, named
from analysis.base.units import SECOND, amount
from analysis.base.words import SIMULATED
from analysis.energy.integral import GAP_INTERVALS
from analysis.energy.jobs import clock_offset
from analysis.energy.points import INPUT, layers, outermost, point
from analysis.schema.campaigns import CampaignFile


def declared_power(campaign: str, base: Path | None = None, path: Path | None = None) -> dict[str, Any]:
    """Load ``power`` of a campaign's declaration, which need not be there; ConfigError if it is wrong."""
    base = base or project.root()
    place = path or project.declaration(campaign, base)
    if path is None and not place.is_file():
        return {}
    declared = models.load(CampaignFile, place).power
    return declared.model_dump(by_alias=True, exclude_unset=True) if declared else {}


def with_declared(ds: xr.Dataset, power: Mapping[str, Any]) -> xr.Dataset:
    """Add what the declaration has and a log in a run's folder lacks: its location and accuracy."""
    given = power.get("runs", {})
    location = ds.attrs.get("location") or given.get("location", "")
    accuracy = float(ds.attrs.get("accuracy", np.nan))
    if np.isnan(accuracy) and "accuracy" in given:
        accuracy = amount(given["accuracy"], "1")
    return ds.assign_attrs(location=location, accuracy=accuracy)


def without_overlaps(ds: xr.Dataset) -> xr.Dataset:
    """Leave out of a log the meters whose watts others of it include, or that include those of others."""
    overlapping = ds.attrs.get("apart", ())
    return ds.sel(meter=[name for name in ds["meter"].values if name not in overlapping])


def measured(ds: xr.Dataset, source: str) -> tuple[xr.Dataset, list[Fault]]:
    """Leave out of a log the meters of a simulator, and say so: their watts were drawn by nothing."""
    names = list(map(str, ds["meter"].values))
    ends = re.compile(rf"(^|[:/]){SIMULATED}$")
    # A meter's blanks have its own name, until its first reading has told what it is.
    simulated = {part for name in names if ends.search(name) for part in (name, ends.sub("", name))}
    if not simulated:
        return ds, []
    what = f"the power of {', '.join(sorted(simulated & set(names)))} is simulated"
    kept = ds.sel(meter=[name for name in names if name not in simulated])
    return kept, [Fault(source, 0, what, "no energy is made of it; read a meter")]


_BY_RANKS = "a node's to the jobs on it by ranks"
RULES = {
    "to none": f"a meter's energy goes to its nodes in equal parts, {_BY_RANKS}",
    "to jobs": f"a meter's energy goes to those of its nodes that are in use, {_BY_RANKS}",
}
ALL = "all"
_EDGES = ("start", "end")

Row = Mapping[str, Any]


@dataclass
class Log:
    """A power log, in the cluster's time and after a declared efficiency at the input; what its meters feed.

    `nodes` has meter -> nodes, an empty name standing for all of the run's; `switches` are meters of devices
    that are no nodes: they add to the energy, but meter no node. `rule` says how energy is split, `kind` is
    the type of the sampler's meters, `declared` the entry under ``power.logs``. `clock` is ``declared`` or
    ``estimated``, with a standard `clock_error` in s; `fault` says why no energy may be taken from it.
    """

    name: str
    ds: xr.Dataset
    nodes: dict[str, list[str]]
    rule: str = ""
    kind: str = ""
    switches: set[str] = field(default_factory=set)
    declared: Mapping[str, Any] = field(default_factory=dict)
    clock: str = ""
    clock_error: float = 0.0
    fault: str = ""

    @property
    def location(self) -> str:
        """Where its meters measure, in words."""
        return str(self.ds.attrs.get("location", ""))

    @property
    def at(self) -> str:
        """What its meters are in `analysis.energy.points.LAYERS`."""
        return self.kind or point(self.location)

    @property
    def meters(self) -> list[str]:
        """Names of its meters, in the dataset's order."""
        return list(map(str, self.ds["meter"].values))

    @property
    def max_gap(self) -> float:
        """The longest time between readings, in s, that is no gap; NaN where nothing gives one."""
        return float(self.declared.get("max_gap") or GAP_INTERVALS * self.ds.attrs.get("interval", np.nan))

    def feeds(self) -> set[str]:
        """Return all nodes that a meter or a switch serves."""
        return {node for fed in self.nodes.values() for node in fed}

    def users(self, rows: Iterable[Row]) -> list[Row]:
        """Return the runs on its nodes."""
        return [row for row in rows if self.feeds().intersection(nodes_of(row))]

    def metered(self) -> set[str]:
        """Return the nodes whose power it has."""
        return {node for meter, fed in self.nodes.items() if meter not in self.switches for node in fed}


def read_logs(
    raw: Path, files: pd.DataFrame, power: Mapping[str, Any], rows: Sequence[Row]
) -> tuple[list[Log], list[str]]:
    """Read the power logs next to a campaign's runs, and list what is wrong with them.

    `files` (kind ``files``) are the files under `raw`; files of runs are ignored. `power` is the campaign's
    declaration, `rows` has its runs.
    """
    found = _LogFolder(raw, files, sorted({node for row in rows for node in nodes_of(row)}))
    faults, logs = found.faults, list[Log]()
    for entry in power.get("logs", ()):
        with sparing(entry["files"]) as refused:
            logs += found.declared(entry)
        faults += refused
    for name, engine in found.others():
        logs += found.undeclared(name, engine)
    for log in logs:
        with sparing(log.name) as refused:
            _set_clock(log, rows, faults)
            _correct(log)
            edges = [[row[edge] for row in log.users(rows) if not np.isnat(row[edge])] for edge in _EDGES]
            if all(edges):
                faults += not_covered(log, min(edges[0]), max(edges[1]))
        log.fault = log.fault or "; ".join(f"{fault.source} {fault.found}" for fault in refused)
        faults += refused
    return logs, list(map(str, faults))


def not_covered(log: Log, start: np.datetime64, end: np.datetime64) -> Iterator[Fault]:
    """Yield which readings a log lacks in a window: without a footer nothing else shows that it is cut.

    Readings may be as late as the longest time between readings that is no gap.
    """
    values = log.ds["energy_counter" if "energy_counter" in log.ds else "power"]
    stamps = log.ds["time"].values[np.isfinite(values.values).any(axis=values.get_axis_num("meter"))]
    stamps = stamps[~np.isnat(stamps)]
    if not stamps.size or np.isnat(start) or np.isnat(end):
        return
    limit = log.max_gap
    for what, late in (
        ("first reading is {} after the start", stamps[0] - start),
        ("last reading is {} before the end", end - stamps[-1]),
    ):
        seconds = float(late / np.timedelta64(1, "s"))
        if seconds > (limit if limit > 0 else 0.0):
            found = f"its {what.format(f'{seconds:.0f} s')}"
            yield Fault(log.name, 0, found, "was it cut? What it has is used, and the rest is bounded")


def nodes_of(row: Row) -> list[str]:
    """Return the nodes of a run by their short names."""
    return listed(str(row["node_list"]))


def chosen(logs: Sequence[Log], nodes: set[str]) -> tuple[list[Log], str]:
    """Choose the logs whose meters make up a run's power, or say why there are none."""
    metered: dict[str, set[str]] = defaultdict(set)
    for log in logs:
        metered[log.at] |= log.metered()
    # A meter of a whole job may feed more than the job: meters of its nodes by name come first.
    layer = outermost(metered, lambda at: nodes <= metered[at] - {""})
    layer = layer or outermost(metered, lambda at: "" in metered[at])
    if not layer:
        names = [at for one in layers(metered) for at in one]
        best = max(names, key=lambda at: len(metered[at] & nodes), default="")
        return [], f"no meter of {', '.join(sorted(nodes - metered[best]))}" if names else ""
    counting = []
    for at in layer:
        here = [log for log in logs if log.at == at]
        kept = here if here[0].kind else _without_doubles(here, nodes)
        if not kept:
            why = "logs of several places meter the same nodes, and none of them all"
            return [], f"{why}: declare one of them"
        counting += kept
    return [log for log in logs if any(log is one for one in counting)], ""


def _without_doubles(logs: list[Log], nodes: set[str]) -> list[Log]:
    """Leave out logs that would count watts twice: an outlet and the controller of a node behind it.

    Logs of one place add up, as two supplies of a node do. Of several places that meter the same node the
    most accurate counts that sees all nodes of the run; logs of switches alone stay.
    """
    places: dict[str, list[Log]] = defaultdict(list)
    for log in logs:
        if log.metered() & nodes:
            places[log.location].append(log)
    seen = {place: set().union(*(log.metered() & nodes for log in own)) for place, own in places.items()}
    if sum(map(len, seen.values())) == len(set().union(*seen.values())):
        return logs
    whole = [place for place in sorted(seen) if nodes <= seen[place]]
    if not whole:
        return []
    errors = {place: max(float(log.ds.attrs["accuracy"]) for log in places[place]) for place in whole}
    best = min(whole, key=lambda place: np.inf if np.isnan(errors[place]) else errors[place])
    return [log for log in logs if not log.metered() & nodes] + places[best]


class _LogFolder:
    """The files next to a campaign's runs, which can be power logs, and the nodes of its runs."""

    def __init__(self, raw: Path, files: pd.DataFrame, nodes: list[str]) -> None:
        self.raw, self.nodes = raw, nodes
        self.files = {
            str(one["path"]): str(one["engine"]) if readers.is_power(one["engine"]) else ""
            for one in files.to_dict("records")
            if one["run"] == ""
        }
        self.used: set[str] = set()
        self.faults: list[Fault | str] = []

    def others(self) -> list[tuple[str, str]]:
        """Return the power logs that no entry declares, each with its engine."""
        return [(name, engine) for name, engine in self.files.items() if engine and name not in self.used]

    def declared(self, entry: Mapping[str, Any]) -> list[Log]:
        """Read the files of an entry as one log."""
        source = entry["files"]
        found = [name for name in self.files if fnmatch.fnmatchcase(name, source)]
        self.used.update(found)
        if not found:
            what = f"no file next to the runs is called {source!r}"
            remedy = "correct files under power.logs in the campaign's file"
            self.faults.append(Fault(self.raw.name, 0, what, remedy))
        options = entry.get("options", {})
        read = (self._read(name, entry.get("engine", self.files[name]), options) for name in found)
        parts = [ds for ds in read if ds is not None]
        if not parts:
            return []
        ds = _joined(parts, source, self.faults)
        known = set(map(str, ds["meter"].values))
        switches = entry.get("switches", {})
        feeds = entry["meters"] | switches
        for meter in sorted(set(feeds) - known):
            what = f"has no meter {meter!r}"
            self.faults.append(Fault(source, 0, what, f"it has {', '.join(sorted(known))}"))
        nodes = {meter: self.nodes if fed == ALL else list(fed) for meter, fed in feeds.items()}
        nodes = {meter: fed for meter, fed in nodes.items() if meter in known and fed}
        rule = RULES[entry.get("spare", "to none")]
        return [Log(source, ds.sel(meter=list(nodes)), nodes, rule, switches=set(switches), declared=entry)]

    def undeclared(self, name: str, engine: str) -> list[Log]:
        """Read a log whose meters have the names of nodes, one each; any other must be declared."""
        ds = self._read(name, engine, {})
        if ds is None:
            return []
        ds = without_overlaps(ds)
        feeds = {meter: named(meter, self.nodes) for meter in map(str, ds["meter"].values)}
        single = [fed[0] for fed in feeds.values() if len(fed) == 1]
        if len(single) < len(feeds) or len(set(single)) < len(single):
            what = f"does not say which meter feeds which node ({', '.join(list(feeds)[:4])})"
            self.faults.append(Fault(name, 0, what, "say so under power.logs in the campaign's file"))
            return []
        return [Log(name, ds, feeds, RULES["to none"])]

    def _read(self, name: str, engine: str, options: Mapping[str, Any]) -> xr.Dataset | None:
        ds = None
        with sparing(name) as refused:
            ds = readers.parse(read_bytes(self.raw / name), name, engine=engine or None, **options)
        if ds is None:
            self.faults += refused
            return None
        self.faults += ds.attrs.get("warnings", [])
        if ds.attrs["kind"] == "power":
            ds, faults = measured(ds, name)
            self.faults += faults
            return ds if ds.sizes["meter"] else None
        what = f"is of kind {ds.attrs['kind']}"
        self.faults.append(Fault(name, 0, what, "name the engine of the power log"))
        return None


def _joined(parts: list[xr.Dataset], name: str, faults: list[Fault | str]) -> xr.Dataset:
    """Join the files of one log in time."""
    if len(parts) == 1:
        return parts[0]
    if any("energy_counter" in ds for ds in parts):
        what = "are several files of counters, which do not go on from one to the next"
        faults.append(Fault(name, 0, what, "declare each by itself; only the first is used"))
        return parts[0]
    whole = xr.concat(parts, dim="time", join="outer", combine_attrs="override").sortby("time")
    return whole.drop_duplicates("time")


def _set_clock(log: Log, rows: Sequence[Row], faults: list[Fault | str]) -> None:
    """Shift a log to the cluster's time, by a declared offset or by one found from edges."""
    declared = log.declared.get("clock", {})
    if not declared:
        return
    log.clock, log.clock_error = "declared", float(declared.get("error", 0.0))
    offset = float(declared.get("offset", 0.0))
    if declared.get("estimate"):
        log.clock = "estimated"
        try:
            offset, log.clock_error = _estimated(log, rows, float(declared.get("reach", 120.0)))
        except BenchbookError as error:
            log.fault = f"the clock offset of {log.name} could not be estimated"
            faults.append(Fault(log.name, 0, error.faults[0].found, "declare power.logs.clock.offset"))
            return
    shift = np.timedelta64(round(offset * SECOND), "ns")
    log.ds = log.ds.assign_coords(time=log.ds["time"] + shift)
    log.ds.attrs["clock_offset"] = float(log.ds.attrs.get("clock_offset", 0.0)) + offset


def _estimated(log: Log, rows: Sequence[Row], reach: float) -> tuple[float, float]:
    """Return offset and standard uncertainty in s, from the runs that lie well within the log."""
    ds = log.ds
    margin = np.timedelta64(round(reach * SECOND), "ns")
    readings = ds["power"].notnull().values
    alive = [m for m in range(ds.sizes["meter"]) if readings[m].any()]
    first = max((ds["time"].values[readings[m]].min() for m in alive), default=np.datetime64("NaT"))
    last = min((ds["time"].values[readings[m]].max() for m in alive), default=np.datetime64("NaT"))
    inside = [
        row for row in log.users(rows) if row["start"] - margin >= first and row["end"] + margin <= last
    ]
    if not inside:
        what = f"no run lies {reach:g} s within the log"
        raise BenchbookError.at(log.name, 0, what, "declare the offset")
    ends = (np.array([row[name] for row in inside]) for name in _EDGES)
    found = clock_offset(ds.isel(meter=alive), *ends, reach=reach)
    # The resolution is half a width: uniform within it.
    return float(found["offset"]), float(found["resolution"]) / np.sqrt(3)


def _correct(log: Log) -> None:
    """Convert a meter behind a power supply to the input, with the declared efficiency."""
    entry = log.declared.get("efficiency")
    attrs = log.ds.attrs
    if "accuracy" in log.declared:
        attrs["accuracy"] = amount(log.declared["accuracy"], "1")
    if "location" in log.declared:
        attrs["location"] = log.declared["location"]
    if entry is None:
        return
    value, limit = float(entry["value"]), float(entry.get("limit", 0.0)) / float(entry["value"])
    scaled = [name for name in ("power", "energy_counter") if name in log.ds]
    log.ds = log.ds.assign({name: log.ds[name] / value for name in scaled})
    for name in scaled:
        log.ds[name].attrs["units"] = "W" if name == "power" else "J"
    where = attrs["location"] or "behind the power supply"
    attrs |= {
        "location": f"{INPUT}, from {where} at an efficiency of {value:g} ({entry['source']})",
        "accuracy": float(np.hypot(attrs["accuracy"], limit)),
    }
    log.ds.attrs = attrs
