"""Energies of a campaign's runs from its meters, and the table of these meters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from analysis.energy import GAP_INTERVALS
from analysis.energy_jobs import idle_power, shared
from analysis.energy_point import UNSAID, outermost_first, point
from analysis.ingest.meters import RULES, Log, nodes_of

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
    Of the points of measurement (`analysis.energy_point`) the outermost one that meters all nodes of a
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
