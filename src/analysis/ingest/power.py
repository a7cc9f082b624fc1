"""Power logs of a run: what its sampler knew of the meters, and which of them make up the run's energy.

Meters that see the same watts are not added. A BMC holds the CPU packages that RAPL counts, and the
outlet holds the BMC's reading: of the types of meters that were sampled the outermost one that sees
every node of the job counts (`TYPES`), the others are for comparison. Meters of one type add up, as
the two power supplies of a node do. Of logs without a sampler's summary those of the outermost point
count (`analysis.energy_point`) and add up; beside a sampler's they do not count.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from analysis import readers
from analysis.energy import energy, total
from analysis.energy_point import GPU, PACKAGE, outermost_first, point
from analysis.energy_split import shared
from analysis.errors import Fault
from analysis.ingest.energy import sparse, summed

# Types of meters from the outermost inwards; CPU packages and GPUs of a node add up.
TYPES = (("snmp",), ("redfish",), ("ipmitool",), ("slurm",), ("powercap", "nvidia-smi"))
SUMMARY = ".summary.json"
RULE = "while several jobs of the run go on, each has an equal part of its meters"
_COMPRESSED = (".gz", ".xz", ".zst", ".bz2")


@dataclass
class PowerLogs:
    """The power logs of one run.

    Attributes
    ----------
    logs : list of Dataset
        Kind ``power``, the meters that add up to the run's power; accuracy and location are the
        meters' own. Empty where meters are missing: the sum of the others would be too low.
    jobs : list of (float or None, float or None)
        Start and end, s since 1970, of the jobs that share the logs; empty for a job of its own.
    job : int
        This run's position in `jobs`.
    sampled : bool
        Whether they are the sampler's.
    faults : list of Fault
    """

    logs: list[xr.Dataset] = field(default_factory=list)
    jobs: list[tuple[float | None, float | None]] = field(default_factory=list)
    job: int = 0
    sampled: bool = False
    faults: list[Fault] = field(default_factory=list)


@dataclass
class _Part:
    ds: xr.Dataset
    type: str
    nodes: set[str]


def select(folder: Path, found: Iterable[tuple[Path, xr.Dataset]], nodes: int = 1) -> PowerLogs:
    """Choose what makes up the energy of a run.

    Parameters
    ----------
    folder : Path
        The run's.
    found : iterable of (Path, Dataset)
        Power logs in it with their files, each once.
    nodes : int, optional
        Of the run.

    Returns
    -------
    PowerLogs
    """
    out = PowerLogs(faults=list(_failures(folder)))
    others: list[tuple[Path, xr.Dataset]] = []
    parts: list[_Part] = []
    names: set[str] = set()
    for path, ds in found:
        summary = _summary(path)
        if summary is None or not summary["meters"]:
            others.append((path, ds))
            continue
        names |= {_short(node) for node in summary.get("nodes", ())}
        parts += list(_parts(ds, summary))
        if "jobs" in summary:
            out.jobs = [(one["start"], one["end"]) for one in summary["jobs"]]
            out.job = int(summary["job"]) - 1
    out.sampled = bool(parts)
    if not parts:
        out.logs = _outer(others, nodes, folder.name, out.faults)
        return out
    for path, _ in others:
        source = f"{folder.name}/{path.name}"
        out.faults.append(Fault(source, 0, "a power log beside the sampler's", "not added to it: same watts"))
    out.logs = _outermost(parts, names, folder.name, out.faults)
    return out


def of_run(logs: PowerLogs, start: np.datetime64, end: np.datetime64) -> dict[str, Any]:
    """Integrate a run's power over its window.

    Parameters
    ----------
    logs : PowerLogs
    start, end : datetime64

    Returns
    -------
    dict
        From `analysis.ingest.energy.summed`. Without a log to go by only ``energy_reason``, if there is
        more to say than that.
    """
    if not logs.logs:
        return {"energy_reason": logs.faults[-1].found} if logs.faults else {}
    if any(None in window for window in logs.jobs):
        return {"energy_reason": "a job that shared the meters has no start or end"}
    if logs.jobs:
        edges = [
            np.array([round(t * 1e9) for t in ends], "datetime64[ns]")
            for ends in zip(*logs.jobs, strict=True)
        ]
        sums = [shared(log, *edges).isel(job=logs.job) for log in logs.logs]
    else:
        sums = [total(energy(log, start, end)) for log in logs.logs]
    columns = summed(sums, [log.attrs for log in logs.logs], [RULE] * len(sums))
    why = sparse(columns) if np.isfinite(columns["energy"]) else ""
    return {"energy_reason": why} if why else columns


def once(engines: Iterable[str]) -> Iterator[str]:
    """Pass engines on, of those that read power the first only: a file's energy counts once."""
    seen = False
    for engine in engines:
        if not (readers.is_power(engine) and seen):
            yield engine
        seen |= readers.is_power(engine)


def _failures(folder: Path) -> Iterator[Fault]:
    """Yield what samplers say of themselves in their summaries: not started, killed, meters lost."""
    for path in sorted(folder.glob(f"*{SUMMARY}")):
        summary, source = _read(path) or {}, f"{folder.name}/{path.name}"
        if summary.get("error"):
            found = f"the sampler did not start: {summary['error']}"
            yield Fault(source, 0, found, "the run has no energy")
        elif "ended" in summary and summary["ended"] is None:
            yield Fault(source, 0, "the sampler was killed", "its readings up to then are used")
        for meter in summary.get("meters", ()):
            if gaps := meter.get("gaps"):
                found = f"{meter['name']} was lost, gaps: {len(gaps)}, first at {gaps[0]['start']}"
                lost = f"{found}: {gaps[0]['reason']}"
                yield Fault(
                    source, 0, lost, f"{meter['blank']} readings are blank, {meter['readings']} are not"
                )


def _summary(path: Path) -> dict[str, Any] | None:
    """Return what a sampler has left beside its log; None for logs of others."""
    stem = path.name
    for suffix in (*_COMPRESSED, ".csv", ".energy"):
        stem = stem.removesuffix(suffix)
    return _read(path.parent / f"{stem}{SUMMARY}")


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and isinstance(found.get("meters"), list) else None


def _parts(ds: xr.Dataset, summary: Mapping[str, Any]) -> Iterator[_Part]:
    """Take a log apart by what its meters are; each part has their accuracy and location."""
    names = list(map(str, ds["meter"].values))
    groups: dict[tuple[str, str, float], dict[int, str]] = defaultdict(dict)
    for position, name in enumerate(names):
        meter = _meter(name, summary)
        if meter is None or name in meter["apart"]:
            continue
        if name == meter["name"] and any(other.startswith(f"{name}:") for other in names):
            continue  # blanks of a meter before it had said what it is made of
        node = _short(meter["feeds"].get(name, meter["node"]))
        accuracy = float("nan") if meter["accuracy"] is None else float(meter["accuracy"])
        groups[meter["type"], str(meter["location"]), accuracy][position] = node
    for (kind, location, accuracy), members in groups.items():
        part = ds.isel(meter=list(members))
        part.attrs = {**ds.attrs, "location": location, "accuracy": accuracy}
        yield _Part(part, kind, set(members.values()))


def _meter(name: str, summary: Mapping[str, Any]) -> Mapping[str, Any] | None:
    own = [m for m in summary["meters"] if name == m["name"] or name.startswith(f"{m['name']}:")]
    return max(own, key=lambda meter: len(meter["name"]), default=None)


def _outer(
    found: list[tuple[Path, xr.Dataset]], nodes: int, source: str, faults: list[Fault]
) -> list[xr.Dataset]:
    """Return the logs of the outermost point with a meter for each node; a node holds its packages."""
    points: dict[str, list[tuple[Path, xr.Dataset]]] = defaultdict(list)
    for path, ds in found:
        points[point(str(ds.attrs.get("location", "")))].append((path, ds))
    if set(points) <= {PACKAGE, GPU} or len(points) == 1:  # they add up
        return [ds for _, ds in found]
    order = outermost_first(points)
    # Which node a foreign meter is of is not known: one for each is the least that a whole needs.
    whole = (name for name in order if sum(ds.sizes["meter"] for _, ds in points[name]) >= nodes)
    chosen = next(whole, None)
    if chosen is None:
        what = f"its power logs measure at several points ({', '.join(order)}), none with {nodes} meters"
        faults.append(Fault(source, 0, what, "the run has no energy; leave the logs of one point"))
        return []
    for path, _ in (one for name in order if name != chosen for one in points[name]):
        what = f"a power log beside those of the point {chosen!r}"
        faults.append(Fault(f"{source}/{path.name}", 0, what, "not added to them: same watts"))
    return [ds for _, ds in points[chosen]]


def _outermost(parts: list[_Part], nodes: set[str], source: str, faults: list[Fault]) -> list[xr.Dataset]:
    """Return the logs of the outermost type that sees all nodes, else of one that feeds the whole job."""
    fed: dict[str, set[str]] = defaultdict(set)
    for part in parts:
        fed[part.type] |= part.nodes
    # Packages of one node and GPUs of another are no sum: one type of a group has to see all nodes.
    whole = (group for group in TYPES if any(kind in fed and nodes <= fed[kind] - {""} for kind in group))
    chosen = next(whole, None) or next((group for group in TYPES if any("" in fed[k] for k in group)), None)
    if chosen is None:
        best = max(fed.values(), key=lambda seen: len(seen & nodes))
        found = f"no meter of {', '.join(sorted(nodes - best))}, of {len(nodes)} nodes"
        faults.append(Fault(f"{source}/power.csv", 0, found, "the run has no energy; see the sampler's log"))
        return []
    return [part.ds for part in parts if part.type in chosen]


def _short(node: str) -> str:
    return node.partition(".")[0]
