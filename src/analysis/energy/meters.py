"""What a campaign's declaration says about its power meters."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from analysis import readers
from analysis.base import models, project
from analysis.base.campaigns import CampaignFile
from analysis.base.errors import BenchbookError, Fault, ReadError
from analysis.base.units import amount
from analysis.energy.jobs import clock_offset
from analysis.energy.points import INPUT, UNSAID
from analysis.readers.base import read_bytes


def declared_power(campaign: str, base: Path | None = None, path: Path | None = None) -> dict[str, Any]:
    """Load the part ``power`` of a campaign's declaration.

    Parameters
    ----------
    campaign : str
    base : Path, optional
        Root of the project.
    path : Path, optional
        By default ``config/campaigns/<campaign>.yaml``, which need not be there.

    Returns
    -------
    dict
        Empty without a declaration.

    Raises
    ------
    ConfigError
        If it cannot be used.
    """
    base = base or project.root()
    place = path or base / "config" / "campaigns" / f"{campaign}.yaml"
    if path is None and not place.is_file():
        return {}
    declared = models.load(CampaignFile, place).power
    return declared.model_dump(by_alias=True, exclude_unset=True) if declared else {}


def state(ds: xr.Dataset, power: Mapping[str, Any]) -> xr.Dataset:
    """Say of a log in a run's folder what it does not say itself: where it measures, how exactly."""
    given = power.get("runs", {})
    location = ds.attrs.get("location") or given.get("location", "")
    accuracy = float(ds.attrs.get("accuracy", np.nan))
    if np.isnan(accuracy) and "accuracy" in given:
        accuracy = amount(given["accuracy"], "1")
    return ds.assign_attrs(location=location, accuracy=accuracy)


def state_row(row: dict[str, Any], power: Mapping[str, Any]) -> None:
    """Say the same of a run whose own log has given its energy."""
    given = power.get("runs", {})
    if np.isnan(row["energy"]):
        return
    if "location" in given:
        parts = row["energy_location"].split(" + ")
        named = (given["location"] if part in ("", UNSAID) else part for part in parts)
        row["energy_location"] = " + ".join(dict.fromkeys(named))
    if "accuracy" in given and np.isnan(row["energy_accuracy"]):
        row["energy_accuracy"] = amount(given["accuracy"], "1")
        limit = row["energy_accuracy"] * row["energy"] / np.sqrt(3)
        row["energy_uncertainty"] = float(np.hypot(np.nan_to_num(row["energy_uncertainty"]), limit))


_BY_RANKS = "a node's to the jobs on it by ranks"
RULES = {
    "to none": f"a meter's energy goes to its nodes in equal parts, {_BY_RANKS}",
    "to jobs": f"a meter's energy goes to those of its nodes that are in use, {_BY_RANKS}",
}
ALL = "all"


@dataclass
class Log:
    """A log that feeds nodes of the campaign.

    Attributes
    ----------
    name : str
        Path of its file, or pattern of its files, within the campaign.
    ds : Dataset
        Kind ``power``, in the cluster's time and, after a declared efficiency, at the input.
    nodes : dict of str to list of str
        Meter -> nodes that it feeds.
    switches : set of str
        Meters of what is no node: they add to the energy, but meter no node.
    declared : mapping
        The log's entry under ``power.logs``.
    clock : str
        Where its offset comes from: ``declared``, ``estimated``, or empty.
    clock_error : float
        s, standard.
    fault : str
        Why no energy may rest on it; empty if it may.
    """

    name: str
    ds: xr.Dataset
    nodes: dict[str, list[str]]
    switches: set[str] = field(default_factory=set)
    declared: Mapping[str, Any] = field(default_factory=dict)
    clock: str = ""
    clock_error: float = 0.0
    fault: str = ""


def read_logs(
    raw: Path, files: Sequence[tuple[str, str]], power: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]
) -> tuple[list[Log], list[str]]:
    """Read the campaign's power logs.

    Parameters
    ----------
    raw : Path
        ``data/raw/<campaign>``.
    files : sequence of (str, str)
        Paths of the files beside the runs, within the campaign, each with the power engine that
        knows it or an empty text.
    power : mapping
        The declaration's ``power``; empty without one.
    rows : sequence of mapping
        The campaign's runs.

    Returns
    -------
    logs : list of Log
    faults : list of str
    """
    nodes = sorted({node for row in rows for node in nodes_of(row)})
    entries = power.get("logs", ())
    faults: list[str] = []
    logs = [log for entry in entries for log in _declared(raw, entry, files, nodes, faults)]
    taken = {name for entry in entries for name, _ in _matching(entry, files)}
    for name, engine in files:
        if engine and name not in taken:
            logs += _undeclared(raw, name, engine, nodes, faults)
    for log in logs:
        _set_clock(log, rows, faults)
        _correct(log)
    return logs, faults


def nodes_of(row: Mapping[str, Any]) -> list[str]:
    """Return the nodes of a run by their short names."""
    return [node.strip().partition(".")[0] for node in str(row["node_list"]).split(",") if node.strip()]


def _matching(entry: Mapping[str, Any], files: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    return [one for one in files if fnmatch.fnmatchcase(one[0], entry["files"])]


def _declared(
    raw: Path, entry: Mapping[str, Any], files: Sequence[tuple[str, str]], nodes: list[str], faults: list[str]
) -> list[Log]:
    found = _matching(entry, files)
    if not found:
        what = f"no file beside the runs is called {entry['files']!r}"
        faults.append(str(Fault(raw.name, 0, what, "correct files under power.logs in the campaign's file")))
        return []
    parts = []
    for name, engine in found:
        ds = _read(raw, name, entry.get("engine", engine), entry.get("options", {}), faults)
        parts += [ds] if ds is not None else []
    if not parts:
        return []
    ds = _joined(parts, entry["files"], faults)
    known = set(map(str, ds["meter"].values))
    switches = entry.get("switches", {})
    feeds = {meter: nodes if fed == ALL else list(fed) for meter, fed in (entry["meters"] | switches).items()}
    for meter in sorted(set(feeds) - known):
        listed = ", ".join(sorted(known))
        faults.append(str(Fault(entry["files"], 0, f"has no meter {meter!r}", f"it has {listed}")))
    feeds = {meter: fed for meter, fed in feeds.items() if meter in known and fed}
    return [Log(entry["files"], ds.sel(meter=list(feeds)), feeds, set(switches), entry)]


def _undeclared(raw: Path, name: str, engine: str, nodes: list[str], faults: list[str]) -> list[Log]:
    """Take a log whose meters have the names of nodes, one each; anything else must be declared."""
    ds = _read(raw, name, engine, {}, faults)
    if ds is None:
        return []
    feeds = {}
    for meter in map(str, ds["meter"].values):
        words = meter.replace(":", " ").replace("/", " ").split()
        feeds[meter] = [node for node in nodes if node in words or node == meter.partition(".")[0]]
    single = [fed[0] for fed in feeds.values() if len(fed) == 1]
    if len(single) < len(feeds) or len(set(single)) < len(single):
        what = f"does not say which meter feeds which node ({', '.join(list(feeds)[:4])})"
        faults.append(str(Fault(name, 0, what, "say so under power.logs in the campaign's file")))
        return []
    return [Log(name, ds, feeds)]


def _read(
    raw: Path, name: str, engine: str, options: Mapping[str, Any], faults: list[str]
) -> xr.Dataset | None:
    try:
        ds = readers.parse(read_bytes(raw / name), name, engine=engine or None, **options)
    except ReadError as error:
        faults += [str(fault) for fault in error.faults]
        return None
    faults += ds.attrs.get("warnings", [])
    if ds.attrs["kind"] == "power":
        return ds
    faults.append(str(Fault(name, 0, f"is of kind {ds.attrs['kind']}", "name the engine of the power log")))
    return None


def _joined(parts: list[xr.Dataset], name: str, faults: list[str]) -> xr.Dataset:
    """Put the files of one log behind each other."""
    if len(parts) == 1:
        return parts[0]
    if any("energy_counter" in ds for ds in parts):
        what = "are several files of counters, which do not go on from one to the next"
        faults.append(str(Fault(name, 0, what, "declare each by itself; only the first is used")))
        return parts[0]
    whole = xr.concat(parts, dim="time", join="outer", combine_attrs="override").sortby("time")
    return whole.drop_duplicates("time")


def _set_clock(log: Log, rows: Sequence[Mapping[str, Any]], faults: list[str]) -> None:
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
            faults.append(str(Fault(log.name, 0, error.faults[0].found, "declare power.logs.clock.offset")))
            return
    shift = np.timedelta64(round(offset * 1e9), "ns")
    log.ds = log.ds.assign_coords(time=log.ds["time"] + shift)
    log.ds.attrs["clock_offset"] = float(log.ds.attrs.get("clock_offset", 0.0)) + offset


def _estimated(log: Log, rows: Sequence[Mapping[str, Any]], reach: float) -> tuple[float, float]:
    """Return offset and standard uncertainty in s, from the runs that lie well within the log."""
    ds = log.ds
    margin = np.timedelta64(round(reach * 1e9), "ns")
    lasting = ds["power"].notnull().values
    alive = [m for m in range(ds.sizes["meter"]) if lasting[m].any()]
    first = max((ds["time"].values[lasting[m]].min() for m in alive), default=np.datetime64("NaT"))
    last = min((ds["time"].values[lasting[m]].max() for m in alive), default=np.datetime64("NaT"))
    fed = {node for meter in ds["meter"].values for node in log.nodes[str(meter)]}
    inside = [
        row
        for row in rows
        if fed.intersection(nodes_of(row)) and row["start"] - margin >= first and row["end"] + margin <= last
    ]
    if not inside:
        what = f"no run lies {reach:g} s within the log"
        raise BenchbookError.at(log.name, 0, what, "declare the offset")
    ends = (np.array([row[name] for row in inside]) for name in ("start", "end"))
    found = clock_offset(ds.isel(meter=alive), *ends, reach=reach)
    # The resolution is half a width: uniform within it.
    return float(found["offset"]), float(found["resolution"]) / np.sqrt(3)


def _correct(log: Log) -> None:
    """Bring a meter behind a power supply to the input, with the efficiency that is declared."""
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
