"""The rule that gives a run its energy, and the table of the meters that were used.

1. *The campaign's logs* (`analysis.energy.meters`) come first: every run on a node that one of them feeds
   gets its part of them, unless they have no energy for it.
2. *Logs in the run's folder* come next. Logs of others are not added to a log of the sampler's: they have the
   same watts. If a log of others is refused, the run has no energy from its folder, since the sum of the
   rest would be too low; the log is named.
3. *Slurm's counter* is the last resort: it is coarser than any log.

Within 1 and within 2 the outermost point of measurement (`analysis.energy.points`) counts that meters all
nodes of a run; points further in have the same watts. Logs of one point add up. Logs of the campaign from
several places that meter the same node do not: the most accurate counts of those that see all nodes of the
run. For a foreign log in a run's folder the node of a meter is not known: where there are several points, a
whole needs at least one meter for each node.

A run has no energy if a meter that counts read nothing in it; if readings cover less than `LEAST_COVERED` of
it, unless a declared range of power bounds the rest; or if its own log or Slurm's counter gives it the whole
of a node that another run used at the same time. `RunEnergy.reason` then says so.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from analysis import readers
from analysis.base.errors import Fault
from analysis.base.units import SECOND
from analysis.base.words import NOT_STATED
from analysis.energy.integral import energy, total
from analysis.energy.jobs import idle_power, shared
from analysis.energy.meters import Log, Row, chosen, nodes_of, not_covered, read_logs
from analysis.energy.own import RunLogs, own_logs
from analysis.energy.points import point

NO_LOG = "no power log"
SLURM = "nodes, as Slurm's acct_gather_energy has it"

# Share of a run. The powers that the meter has read bound the time that readings do not cover; a few readings
# cannot bound what came later.
LEAST_COVERED = 0.1

# Jobs that follow each other may overlap by this much, as their records are written.
_TOUCH = np.timedelta64(1, "s")
_NOISE = ("uncertainty_sampling", "uncertainty_clock")
_VALUES = ("energy", "energy_low", "energy_high", "uncertainty_accuracy", *_NOISE, "covered")


@dataclass(frozen=True, slots=True)
class RunEnergy:
    """The energy of a run, or why it is not known.

    In J: `energy` (NaN without) with its bounds where logs have gaps and its standard `uncertainty`, without
    the accuracy of meters that do not state any. `accuracy` is the limit of error as a share of the reading.
    In W: means over the run, and of its part of the meters while no job ran. `covered` is the share of the
    run that has readings, `shared` that in which it had less than a whole meter.
    """

    energy: float = np.nan
    low: float = np.nan
    high: float = np.nan
    uncertainty: float = np.nan
    accuracy: float = np.nan
    mean_power: float = np.nan
    idle_power: float = np.nan
    covered: float = np.nan
    shared: float = np.nan
    location: str = ""
    rule: str = ""
    reason: str = ""

    @property
    def known(self) -> bool:
        """Whether there is an energy."""
        return bool(np.isfinite(self.energy))

    def columns(self) -> dict[str, Any]:
        """Return the columns of the kind ``runs``."""
        return {column: getattr(self, name) for name, column in _columns().items()}


@cache
def _columns() -> dict[str, str]:
    """Return the columns of the kind ``runs`` by the fields of an energy."""
    whole = ("energy", "mean_power", "idle_power")
    return {name: name if name in whole else f"energy_{name}" for name in RunEnergy.__slots__}


@dataclass(frozen=True, slots=True)
class _Part:
    """The part of one log in one run: `_VALUES` of `analysis.energy.integral`, ``shared``, ``idle`` (W)."""

    log: Log
    values: Mapping[str, float]
    meters: Sequence[str]


def attribute(
    rows: Sequence[Row], own: Sequence[RunEnergy], counted: Sequence[float], logs: Sequence[Log]
) -> tuple[list[RunEnergy], pd.DataFrame]:
    """Give every run its energy, by the rule of this module; with the table of meters (kind ``meters``).

    `rows` are of kind ``runs``; of each, `own` has the energy by `own_energy`, `counted` the J by Slurm's
    counter, NaN without. `logs` are the campaign's.
    """
    timed = [row for row in rows if not _undated(row) and nodes_of(row)]
    parts: dict[str, list[_Part]] = defaultdict(list)
    table = []
    for log in logs:
        if users := log.users(timed):
            split, idle = _split(log, users)
            table += _meter_rows(log, idle)
            for row, part in zip(users, split, strict=True):
                parts[row["run"]].append(part)
    crowded = _crowded(rows)
    out = []
    for row, mine, joules in zip(rows, own, counted, strict=True):
        found = mine
        if not mine.known and np.isfinite(joules):
            found = counted_by_slurm({"energy_slurm": joules}, row)
        if row["run"] in parts:
            measured = _of_campaign(row, parts[row["run"]])
            found = measured if measured.known or not found.known else found
        if found.known and not found.rule and row["run"] in crowded:
            who = "Slurm" if found.location == SLURM else "its own log"
            found = RunEnergy(reason=f"{who} counts a node whole for each of the jobs that share it")
        out.append(found if found.known or found.reason else RunEnergy(reason=NO_LOG))
    return out, pd.DataFrame(table)


def counted_by_slurm(attrs: Mapping[str, Any], row: Row) -> RunEnergy:
    """Return the energy that Slurm counted for a job by the attributes of its result, or the reason."""
    joules = float(attrs.get("energy_slurm", np.nan))
    if np.isnan(joules):
        return RunEnergy(reason=str(attrs.get("energy_reason", "")))
    return RunEnergy(joules, mean_power=_mean_power(joules, row), location=SLURM)


def own_energy(
    folder: Path,
    found: Iterable[tuple[Path, xr.Dataset]],
    row: Row,
    *,
    refused: Sequence[Fault] = (),
    power: Mapping[str, Any] = MappingProxyType({}),
) -> tuple[RunEnergy, list[Fault]]:
    """Integrate the power logs in a run's folder over the run: its energy, and the faults of the logs.

    `found` has each log once, with its file; `row` is of kind ``runs``; `refused` are faults of logs that
    cannot be read; `power` is the campaign's declaration. No energy and no reason mean that there is no log.
    """
    logs = own_logs(folder, found, row["nodes"], power, row["node_list"])
    for log in logs.logs:
        logs.faults += not_covered(log, row["start"], row["end"])
    if refused and not logs.sampled:
        return RunEnergy(reason=f"{refused[0].source}: {refused[0].found}"), logs.faults
    if _undated(row):
        return RunEnergy(reason="it has a power log, but no start and end" if logs.logs else ""), logs.faults
    return integrated(logs, row), logs.faults


def integrated(own: RunLogs, row: Row) -> RunEnergy:
    """Integrate a run's own logs between its ``start`` and ``end``."""
    if not own.logs:
        return RunEnergy(reason=own.faults[-1].found if own.faults else "")
    if any(None in window for window in own.jobs):
        return RunEnergy(reason="a job that shared the meters has no start or end")
    parts = []
    for log in own.logs:
        if own.jobs:
            ends = zip(*own.jobs, strict=True)
            edges = [np.array([round(t * SECOND) for t in times], "datetime64[ns]") for times in ends]
            found = shared(log.ds, *edges).isel(job=own.job)
        else:
            found = total(energy(log.ds, row["start"], row["end"]))
        names = (*_VALUES, "shared") if own.jobs else _VALUES
        parts.append(_Part(log, {name: float(found[name]) for name in names}, log.meters))
    return _summed(parts, row)


def power_files(files: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of kind ``files`` that are power logs."""
    return files[files["engine"].map(readers.is_power).astype(bool)]


def logs_behind(
    raw: Path, run: str, rows: Sequence[Row], files: pd.DataFrame, power: Mapping[str, Any]
) -> list[xr.Dataset]:
    """Read the logs that the energy of one run of a built campaign is from; empty where it has none.

    `rows` and `files` are of kinds ``runs`` and ``files``, `power` is the declaration. The datasets have the
    meters that feed the run's nodes.
    """
    row = next(one for one in rows if one["run"] == run)
    nodes = set(nodes_of(row))
    feeding = [log for log in read_logs(raw, files, power, rows)[0] if log.feeds() & nodes]
    logs, _ = chosen(feeding, nodes)
    if {log.at for log in logs} & set(point(str(row["energy_location"])).split(" + ")):
        return [log.ds.sel(meter=[m for m, fed in log.nodes.items() if nodes & set(fed)]) for log in logs]
    own = power_files(files[files["run"] == run])
    pairs = zip(own["path"], own["engine"], strict=True)
    found = ((raw / path, readers.open(raw / path, engine=engine)) for path, engine in pairs)
    return [log.ds for log in own_logs(raw / "runs" / run, found, row["nodes"], power, row["node_list"]).logs]


def _split(log: Log, rows: Sequence[Row]) -> tuple[list[_Part], xr.Dataset]:
    """Split a log between the runs on its nodes; one part a run, and the meters' idle power."""
    nodes = sorted(log.feeds())
    meters = log.meters
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
    parts = []
    for i in range(len(rows)):
        values = {name: float(found[name][i]) for name in (*_VALUES, "shared")}
        share = found["part"].values[i]
        has = np.isfinite(share)
        values["idle"] = float((share[has] * idle["idle"].values[has]).sum())
        parts.append(_Part(log, values, [meter for meter, mine in zip(meters, on[i], strict=True) if mine]))
    return parts, idle


def _weight(row: Row) -> float:
    if row["ranks_per_node"] > 0:
        return float(row["ranks_per_node"])
    return max(float(row["ranks"]) / max(len(nodes_of(row)), 1), 1.0)


def _of_campaign(row: Row, parts: Sequence[_Part]) -> RunEnergy:
    """Return a run's energy from its parts of the campaign's logs."""
    logs, reason = chosen([part.log for part in parts], set(nodes_of(row)))
    reason = reason or next((log.fault for log in logs if log.fault), "")
    if reason:
        return RunEnergy(reason=reason)
    counting = [part for part in parts if any(part.log is log for log in logs)]
    found = _summed(counting, row, ", and no power_range is declared")
    return replace(found, idle_power=sum(part.values["idle"] for part in counting)) if found.known else found


def _summed(parts: Sequence[_Part], row: Row, remedy: str = "") -> RunEnergy:
    """Add up what several logs give a run.

    Meters of one make have the same error, so their accuracies add linearly; sampling and clock are noise of
    each and add in squares. Gaps are in the bounds and not in the uncertainty.
    """
    blind = next((part for part in parts if np.isnan(part.values["energy"])), None)
    if blind is not None:
        meters = ", ".join(map(str, blind.meters))
        return RunEnergy(reason=f"{blind.log.name} has no reading of one of {meters} in the run")
    joules, low, high = (
        sum(part.values[name] for part in parts) for name in ("energy", "energy_low", "energy_high")
    )
    covered = float(np.mean([part.values["covered"] for part in parts]))
    if covered < LEAST_COVERED and not all("power_range" in part.log.declared for part in parts):
        share, least = 100 * covered, 100 * LEAST_COVERED
        return RunEnergy(reason=f"readings cover {share:.2g} % of the run, less than {least:g} %{remedy}")
    linear = sum(np.nan_to_num(part.values["uncertainty_accuracy"]) for part in parts)
    noise = [part.values[name] for part in parts for name in _NOISE]
    accuracies = [float(part.log.ds.attrs["accuracy"]) for part in parts]
    crowds = [part.values.get("shared", 0.0) for part in parts]
    return RunEnergy(
        joules,
        low,
        high,
        uncertainty=float(np.sqrt(linear**2 + sum(np.square(noise)))),
        accuracy=max(accuracies) if np.isfinite(accuracies).all() else np.nan,
        mean_power=_mean_power(joules, row),
        covered=covered,
        shared=max(crowds),
        location=" + ".join(dict.fromkeys(part.log.location or NOT_STATED for part in parts)),
        rule="; ".join(
            dict.fromkeys(part.log.rule for part, crowd in zip(parts, crowds, strict=True) if crowd > 0)
        ),
    )


def _mean_power(joules: float, row: Row) -> float:
    seconds = float(row.get("elapsed", np.nan))
    if np.isnan(seconds) and not _undated(row):
        seconds = float((row["end"] - row["start"]) / np.timedelta64(1, "s"))
    return joules / seconds if seconds > 0 else np.nan


def _undated(row: Row) -> bool:
    return bool(np.isnat(row["start"]) or np.isnat(row["end"]))


def _crowded(rows: Sequence[Row]) -> set[str]:
    """Return the runs that were on a node at the same time as another one."""
    on = defaultdict(list)
    for row in rows:
        if not _undated(row):
            for node in nodes_of(row):
                on[node].append(row)
    crowded = set()
    for same in on.values():
        start, end = (np.array([row[name] for row in same], "datetime64[ns]") for name in ("start", "end"))
        order = np.lexsort((end, start))
        soon, end = start[order][1:] + _TOUCH, end[order]
        # One that was still running when the next one started, and one that started while any was.
        both = np.zeros(len(same), bool)
        both[:-1] = end[:-1] > soon
        both[1:] |= np.maximum.accumulate(end)[:-1] > soon
        crowded |= {same[at]["run"] for at in order[both]}
    return crowded


def _meter_rows(log: Log, idle: xr.Dataset) -> list[dict[str, Any]]:
    attrs = log.ds.attrs
    rows = []
    for position, meter in enumerate(log.meters):
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
                "max_gap": log.max_gap,
                "accuracy": float(attrs["accuracy"]),
                "clock_offset": float(attrs.get("clock_offset", 0.0)),
                "clock_error": log.clock_error,
                "clock": log.clock,
                "rule": log.rule,
                "readings": int(read.sum()),
                "first": ends[0],
                "last": ends[1],
                "idle": float(idle["idle"].values[position]),
                "idle_readings": int(idle["readings"].values[position]),
            }
        )
    return rows
