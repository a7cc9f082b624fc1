"""Energies of a campaign's runs from its meters, and the table of these meters."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from analysis import readers
from analysis.base.errors import Fault
from analysis.energy.integral import GAP_INTERVALS, energy, total
from analysis.energy.jobs import idle_power, shared
from analysis.energy.meters import RULES, Log, nodes_of
from analysis.energy.points import GPU, PACKAGE, UNSAID, outermost_first, point

NO_LOG = "no power log"
SLURM = "nodes, as Slurm's acct_gather_energy has it"
_JOULES = ("energy", "energy_low", "energy_high")
_ACCURACY = "uncertainty_accuracy"
_NOISE = ("uncertainty_sampling", "uncertainty_clock")

# Share of a run. The bounds of what readings do not cover are the powers that the meter has shown; a few
# readings show none of what came later.
LEAST_COVERED = 0.1

# Jobs that follow each other may overlap by this much, as their records are written.
_TOUCH = np.timedelta64(1, "s")

Row = dict[str, Any]


def take(rows: Sequence[Row], logs: Sequence[Log]) -> pd.DataFrame:
    """Give every run its part of the campaign's meters.

    Parameters
    ----------
    rows : sequence of dict
        Rows of kind ``runs``; those with nodes that a log feeds get their energy from it, whatever they
        had before, unless it has none for them.
    logs : sequence of Log

    Returns
    -------
    DataFrame
        A row for each meter, of kind ``meters``.

    Notes
    -----
    Of the points of measurement (`analysis.energy.points`) the outermost one that meters all nodes of a
    run counts; logs of one point add up (`summed`) unless their places meter the same node twice.
    """
    timed = [row for row in rows if not (np.isnat(row["start"]) or np.isnat(row["end"])) and nodes_of(row)]
    found: dict[str, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    table = []
    for log in logs:
        own = [
            row for row in timed if {n for fed in log.nodes.values() for n in fed}.intersection(nodes_of(row))
        ]
        if not own:
            continue
        parts, idle = _split(log, own)
        table += _table(log, idle)
        for row, part in zip(own, parts, strict=True):
            found[row["run"]][point(str(log.ds.attrs["location"]))].append(part)
    for row in timed:
        if row["run"] in found:
            part = _energy(row, found[row["run"]])
            if np.isfinite(part["energy"]) or np.isnan(row["energy"]):
                row |= part
    return pd.DataFrame(table)


def finish(row: Row, together: bool) -> None:
    """Say why a run has no energy; refuse one that holds the whole of a node which it shared.

    Parameters
    ----------
    row : dict
    together : bool
        Whether another run was on one of its nodes at the same time.
    """
    if together and np.isfinite(row["energy"]) and not row["energy_rule"]:
        who = "Slurm" if row["energy_location"] == SLURM else "its own log"
        row |= _none(f"{who} counts a node whole for each of the jobs that share it")
    if np.isnan(row["energy"]) and not row["energy_reason"]:
        row["energy_reason"] = NO_LOG


def together(rows: Sequence[Row]) -> set[str]:
    """Return the runs that were on a node at the same time as another one."""
    spans = defaultdict(list)
    for row in rows:
        if not (np.isnat(row["start"]) or np.isnat(row["end"])):
            for node in nodes_of(row):
                spans[node].append((row["start"], row["end"], row["run"]))
    crowded = set()
    for span in spans.values():
        running: list[tuple[Any, str]] = []
        for start, end, run in sorted(span):
            running = [(stop, other) for stop, other in running if stop > start + _TOUCH]
            if running:
                crowded |= {run, *(other for _, other in running)}
            running.append((end, run))
    return crowded


def _split(log: Log, rows: Sequence[Row]) -> tuple[list[Row], xr.Dataset]:
    """Split a log between the runs on its nodes; one part a run, and the meters' idle power."""
    nodes = sorted({node for fed in log.nodes.values() for node in fed})
    meters = list(map(str, log.ds["meter"].values))
    feeds = np.array([[node in log.nodes[meter] for node in nodes] for meter in meters])
    weights = np.array([[_weight(row) if node in nodes_of(row) else 0.0 for node in nodes] for row in rows])
    start, end = (np.array([row[name] for row in rows]) for name in ("start", "end"))
    options = {"max_gap": log.declared.get("max_gap"), "power_range": log.declared.get("power_range")}
    found = shared(
        log.ds, start, end, weights=weights, feeds=feeds, spare=log.declared.get("spare", "to none"),
        clock_error=log.clock_error, **options,
    )  # fmt: skip
    on = (weights @ feeds.T) > 0
    idle = xr.concat(
        [idle_power(log.ds.isel(meter=[m]), start[on[:, m]], end[on[:, m]]) for m in range(len(meters))],
        "meter",
    )
    metered = {n for meter, fed in log.nodes.items() if meter not in log.switches for n in fed}
    parts = []
    for i, row in enumerate(rows):
        names = (*_JOULES, _ACCURACY, *_NOISE, "covered", "shared")
        part: Row = {name: float(found[name][i]) for name in names}
        share = found["part"].values[i]
        held = np.isfinite(share)
        part["idle"] = float((share[held] * idle["idle"].values[held]).sum())
        silent = [meter for meter, mine in zip(meters, on[i], strict=True) if mine]
        part |= {"log": log, "nodes": metered.intersection(nodes_of(row)), "meters": silent}
        parts.append(part)
    return parts, idle


def _weight(row: Row) -> float:
    if row["ranks_per_node"] > 0:
        return float(row["ranks_per_node"])
    return max(float(row["ranks"]) / max(len(nodes_of(row)), 1), 1.0)


def _energy(row: Row, found: dict[str, list[Row]]) -> Row:
    """Return the energy columns of a run from its parts by point of measurement."""
    nodes = set(nodes_of(row))
    order = outermost_first(found)
    whole = [p for p in order if nodes <= set().union(*(part["nodes"] for part in found[p]))]
    if not whole:
        fed = set().union(*(part["nodes"] for part in found[order[0]]))
        return _none(f"no meter of {', '.join(sorted(nodes - fed))}")
    parts = _once(found[whole[0]], nodes)
    if not parts:
        return _none("logs of several places meter the same nodes, and none of them all: declare one of them")
    fault = next((part["log"].fault for part in parts if part["log"].fault), "")
    if fault:
        return _none(fault)
    blind = [part for part in parts if np.isnan(part["energy"])]
    if blind:
        return _none(
            f"{blind[0]['log'].name} has no reading of one of {', '.join(blind[0]['meters'])} in the run"
        )
    rules = [RULES[part["log"].declared.get("spare", "to none")] for part in parts]
    columns = summed(parts, [part["log"].ds.attrs for part in parts], rules)
    if not all("power_range" in part["log"].declared for part in parts) and (why := sparse(columns)):
        return _none(f"{why}, and no power_range is declared")
    seconds = float((row["end"] - row["start"]) / np.timedelta64(1, "s"))
    return columns | {
        "energy_reason": "",
        "idle_power": sum(part["idle"] for part in parts),
        "mean_power": columns["energy"] / seconds if seconds > 0 else np.nan,
    }


def _once(parts: list[Row], nodes: set[str]) -> list[Row]:
    """Leave out what would count watts twice: an outlet and the controller of a node behind it.

    Logs of one place add up, as two supplies of a node do. Of several places that meter the same node one
    that sees all nodes of the run counts, the most accurate; logs of switches alone stay.
    """
    places: dict[str, list[Row]] = defaultdict(list)
    for part in parts:
        if part["nodes"]:
            places[str(part["log"].ds.attrs["location"])].append(part)
    seen = {place: set().union(*(part["nodes"] for part in own)) for place, own in places.items()}
    if sum(map(len, seen.values())) == len(set().union(*seen.values())):
        return parts
    whole = [place for place in sorted(seen) if nodes <= seen[place]]
    if not whole:
        return []
    errors = {
        place: max(float(part["log"].ds.attrs["accuracy"]) for part in places[place]) for place in whole
    }
    best = min(whole, key=lambda place: np.inf if np.isnan(errors[place]) else errors[place])
    return [part for part in parts if not part["nodes"]] + places[best]


def summed(
    parts: Sequence[Mapping[Any, Any]], attrs: Sequence[Mapping[Any, Any]], rules: Sequence[str]
) -> Row:
    """Add up what several logs give a run.

    Parameters
    ----------
    parts : sequence of mapping
        One a log, of numbers or scalar arrays: ``energy energy_low energy_high uncertainty_accuracy
        uncertainty_sampling uncertainty_clock`` (J), ``covered`` and, where the log is split, ``shared``.
    attrs : sequence of mapping
        ``accuracy location`` of each log.
    rules : sequence of str
        By which each log is split.

    Returns
    -------
    dict
        Columns of kind ``runs``: ``energy energy_low energy_high energy_uncertainty`` (J; the last
        standard, without the accuracy of a meter that nobody stated), ``energy_accuracy``,
        ``energy_covered``, ``energy_location``, ``energy_shared`` and, where that is not 0, the rule.

    Notes
    -----
    Meters of one make err alike, so that their accuracies add linearly; sampling and clock are noise of
    each and add in squares. What gaps leave open is in the bounds and not in the uncertainty.
    """
    alike = sum(np.nan_to_num(float(part[_ACCURACY])) for part in parts)
    noise = [float(part[name]) for part in parts for name in _NOISE]
    shared_by = [float(part.get("shared", 0.0)) for part in parts]
    split = dict.fromkeys(rule for rule, crowd in zip(rules, shared_by, strict=True) if crowd > 0)
    accuracies = [float(one["accuracy"]) for one in attrs]
    return {
        **{name: sum(float(part[name]) for part in parts) for name in _JOULES},
        "energy_uncertainty": float(np.sqrt(alike**2 + sum(np.square(noise)))),
        "energy_accuracy": max(accuracies) if np.isfinite(accuracies).all() else np.nan,
        "energy_covered": float(np.mean([float(part["covered"]) for part in parts])),
        "energy_shared": max(shared_by),
        "energy_rule": "; ".join(split),
        "energy_location": " + ".join(dict.fromkeys(str(one["location"]) or UNSAID for one in attrs)),
    }


def sparse(columns: Mapping[str, Any]) -> str:
    """Say that readings cover too little of a run for bounds to rest on them; empty if they do not."""
    if columns["energy_covered"] >= LEAST_COVERED:
        return ""
    share, least = (100 * part for part in (columns["energy_covered"], LEAST_COVERED))
    return f"readings cover {share:.2g} % of the run, less than {least:g} %"


def _none(reason: str) -> Row:
    blank = dict.fromkeys(("energy", "energy_low", "energy_high", "energy_uncertainty", "mean_power"), np.nan)
    return {**blank, "energy_covered": 0.0, "energy_location": "", "energy_reason": reason}


def _table(log: Log, idle: xr.Dataset) -> list[Row]:
    attrs = log.ds.attrs
    limit = log.declared.get("max_gap") or GAP_INTERVALS * float(attrs["interval"])
    rows = []
    for position, meter in enumerate(map(str, log.ds["meter"].values)):
        read = np.isfinite(log.ds["power"].values[position])
        stamps = log.ds["time"].values[read]
        ends = (stamps[0], stamps[-1]) if stamps.size else (np.datetime64("NaT", "ns"),) * 2
        rows.append(
            {
                "log": log.name,
                "meter": meter,
                "nodes": ",".join(log.nodes[meter]),
                "kind": "switch" if meter in log.switches else "nodes",
                "location": attrs["location"],
                "interval": float(attrs["interval"]),
                "max_gap": float(limit),
                "accuracy": float(attrs["accuracy"]),
                "clock_offset": float(attrs.get("clock_offset", 0.0)),
                "clock_error": log.clock_error,
                "clock": log.clock,
                "rule": RULES[log.declared.get("spare", "to none")],
                "readings": int(read.sum()),
                "first": ends[0],
                "last": ends[1],
                "idle": float(idle["idle"].values[position]),
                "idle_readings": int(idle["readings"].values[position]),
            }
        )
    return rows


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
        From `analysis.energy.attribution.summed`. Without a log to go by only ``energy_reason``, if there is
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
