"""One run's folder: read every file in it, decide whether the run counts, make its tables."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from analysis import readers
from analysis.base.campaigns import Application
from analysis.base.errors import Fault, ReadError
from analysis.base.files import unpacked
from analysis.datasets import micro
from analysis.datasets import profile as metrics
from analysis.datasets.applications import facts
from analysis.energy.attribution import RunEnergy, first_power_engine, own_energy
from analysis.readers.run import records
from analysis.schema.frames import blank

RECORD = "run.json"
# Clocks of the nodes and of the host that wrote the record may differ by this much.
_SLACK = np.timedelta64(60, "s")


@dataclass
class RunFolder:
    """What one run's folder holds.

    `row` is of kind ``runs``, but for its energy; `energy` what the power logs in the folder give; `frames`
    the tables ``calls messages ranks matrix micro files``; `datasets` the long forms as read, ``profile`` and
    ``result`` where there are any; `repeats` what differs in the rows of further executions in the same job;
    `faults` all that was wrong with a file, one line each.
    """

    row: dict[str, Any]
    energy: RunEnergy = field(default_factory=RunEnergy)
    frames: dict[str, pd.DataFrame] = field(default_factory=dict)
    datasets: dict[str, xr.Dataset] = field(default_factory=dict)
    repeats: list[dict[str, Any]] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def read_run(
    folder: Path, applications: Mapping[str, Application], power: Mapping[str, Any] = MappingProxyType({})
) -> RunFolder:
    """Read one run, ``data/raw/<campaign>/runs/<run>``; a bad file costs only itself.

    `power` is what the campaign declares of its meters. The row says by ``valid`` and ``reason`` whether the
    run may enter a statistic.
    """
    out = RunFolder(blank("runs") | {"run": folder.name, "timing": True})
    files: list[dict[str, Any]] = []
    found: list[xr.Dataset] = []
    meters: list[tuple[Path, xr.Dataset]] = []
    refused: list[Fault] = []  # logs of power
    record: bool | None = None  # none, damaged or whole
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        if path.name == RECORD and path.parent == folder:
            record, entry = _read_record(path, out)
        else:
            datasets, entry = _read_file(path, folder, out.faults, refused)
            found += datasets
            meters += [(path, ds) for ds in datasets if ds.attrs["kind"] == "power"]
        files.append(entry)
    if out.row["run"] != folder.name:  # the folder is what joins the tables, and is a safe file name
        out.faults.append(f"{folder.name}/{RECORD}:0: says run {out.row['run']!r}; the folder's name is used")
        out.row["run"] = folder.name
    application = applications.get(out.row["application"])
    results = _results(found, application)
    result = results[0] if results else None
    profile = _best_profile(found)
    out.row["checksum"] = _checksum(files)
    out.frames["files"] = pd.DataFrame(files)
    if result is not None and application is not None:
        out.datasets["result"] = result
        out.row |= facts(application, result, case=out.row["case"], reason=out.row["reason"])
        if application.engine in micro.ENGINES:
            out.frames["micro"], unclear = micro.micro(result, out.row)
            out.faults += unclear
    if profile is not None:
        out.datasets["profile"] = profile
        _take_profile(out, profile)
    out.energy, faults = own_energy(folder, meters, out.row, refused=refused, power=power)
    out.faults += map(str, faults)
    for other in results[1:]:
        reason = _reason(out.row, record, application, other, profile)
        out.repeats.append({**(facts(application, other) if application else {}), "reason": reason})
    out.row["reason"] = _reason(out.row, record, application, result, profile)
    return out


def _results(found: list[xr.Dataset], application: Application | None) -> list[xr.Dataset]:
    """Return the results of the run, the first one alone where its reader knows no others.

    A program that ran several times in the job left several; a job that printed the file has each twice.
    """
    own = [ds for ds in found if application and readers.engine_of(ds) == application.engine]
    if not (application and hasattr(readers.reader(application.engine), "parse_each")):
        return own[:1]
    distinct: list[xr.Dataset] = []
    for ds in own:
        numbers = ds[[name for name in ds.data_vars if "entry" not in ds[name].dims]]
        if not any(numbers.equals(other[list(numbers.data_vars)]) for other in distinct):
            distinct.append(ds)
    return distinct


def _read_record(path: Path, out: RunFolder) -> tuple[bool | None, dict[str, Any]]:
    """Take the record's values into the row; return whether it is whole, None if it is unreadable."""
    entry, stored = _entry(path, path.parent)
    entry["engine"] = "run"
    try:
        record, faults = records(unpacked(stored, path), f"{path.parent.name}/{path.name}")
    except ReadError as error:
        out.faults += [str(fault) for fault in error.faults]
        return None, entry | {"complete": False}
    out.faults += faults.attrs()["warnings"]
    out.row |= {name: value for name, value in record.items() if name in out.row}
    if isinstance(why := json.loads(record["extra"]).get("reason"), str):
        out.row["reason"] = why
    return faults.complete, entry | {"complete": faults.complete}


def _read_file(
    path: Path, folder: Path, faults: list[str], refused: list[Fault]
) -> tuple[list[xr.Dataset], dict[str, Any]]:
    entry, stored = _entry(path, folder)
    datasets = []
    engine = ""
    try:
        data = unpacked(stored, path)
        for engine in first_power_engine(readers.engines_of(data, path.name)):
            each = readers.parse_each(data, entry["path"].removeprefix("runs/"), engine=engine)
            entry["engine"] = entry["engine"] or engine
            entry["complete"] &= all(bool(ds.attrs.get("complete", True)) for ds in each)
            faults += [warning for ds in each for warning in ds.attrs.get("warnings", [])]
            datasets += each
    except ReadError as error:
        entry["complete"] = False
        faults += [str(fault) for fault in error.faults]
        if engine and readers.is_power(engine):
            refused += error.faults
    return datasets, entry


def _entry(path: Path, folder: Path) -> tuple[dict[str, Any], bytes]:
    return file_entry(path, f"runs/{folder.name}/{path.relative_to(folder)}", folder.name)


def file_entry(path: Path, name: str, run: str = "") -> tuple[dict[str, Any], bytes]:
    """Read a file once: its row of kind ``files``, with the SHA-256 of what is stored, and that itself."""
    stored = path.read_bytes()
    checksum = hashlib.sha256(stored).hexdigest()
    row = {"path": name, "run": run, "engine": "", "complete": True, "bytes": len(stored)}
    return row | {"checksum": checksum}, stored


def _checksum(files: list[dict[str, Any]]) -> str:
    text = "".join(f"{entry['checksum']}  {entry['path']}\n" for entry in files)
    return hashlib.sha256(text.encode()).hexdigest()


def _best_profile(found: list[xr.Dataset]) -> xr.Dataset | None:
    """Prefer a file to the banner of the same run, which can have as many observations and knows no ranks."""

    def rank(ds: xr.Dataset) -> tuple[bool, int]:
        return ds.attrs.get("source_form") != "banner", ds.sizes["obs"]

    return max((ds for ds in found if ds.attrs["kind"] == "profile"), key=rank, default=None)


def _take_profile(out: RunFolder, profile: xr.Dataset) -> None:
    name = out.row["run"]
    for table in (metrics.calls, metrics.messages, metrics.ranks, metrics.matrix):
        out.frames[table.__name__] = table(profile).assign(run=name)
    out.row["mpi_fraction"] = metrics.mpi_fraction(profile)
    out.row["imbalance"] = metrics.imbalance(profile)
    out.row["rank_memory"], out.row["node_memory"] = metrics.memory(profile)


def _reason(
    row: Mapping[str, Any],
    record: bool | None,
    application: Application | None,
    result: xr.Dataset | None,
    profile: xr.Dataset | None,
) -> str:
    """Say why a run may not enter a statistic; empty if it may."""
    if record is None:
        return f"no readable {RECORD}"
    if not record:
        return f"{RECORD} is incomplete"
    if row["reason"]:  # who watched the job knows more than its files: one of a pair can end well in vain
        return str(row["reason"])
    if application is None:
        return f"unknown application {row['application']!r}: no config/applications/{row['application']}.yaml"
    if row["exit_code"] != 0:
        return "no exit code was recorded" if row["exit_code"] < 0 else f"exit code {row['exit_code']}"
    if result is None:
        return f"left no {application.engine} result"
    if not result.attrs["complete"]:
        return f"its {application.engine} result is cut or damaged"
    if "valid" in result and not bool(result["valid"]):
        return f"{application.engine} calls its result invalid"
    if row["profiler"] not in ("", "none") and profile is None:
        return f"left no {row['profiler']} profile"
    if profile is not None and not profile.attrs["complete"]:
        return "its profile is cut or damaged"
    return _contradiction(row, result, profile)


def _contradiction(row: Mapping[str, Any], result: xr.Dataset, profile: xr.Dataset | None) -> str:
    """Say where record, result and profile cannot be of the same run, as after files were swapped."""
    ranks = int(result["ranks"] if "ranks" in result else result.attrs.get("ranks", -1))
    if 0 <= ranks != row["ranks"]:
        return f"its result is of {ranks} ranks, its record of {row['ranks']}"
    if "local_size" in result and row["local_size"] > 0:
        grid = sorted(set(map(int, result["local_size"].values)))
        if grid != [row["local_size"]]:
            return f"its result is of a local grid of {grid}, its record of {row['local_size']}"
    if profile is None:
        return ""
    if profile.attrs["ranks_expected"] != row["ranks"]:
        return f"its profile is of {profile.attrs['ranks_expected']} ranks, its record of {row['ranks']}"
    started = profile.attrs.get("start")
    if isinstance(started, float) and not np.isnat(row["start"]) and not np.isnat(row["end"]):
        at = np.datetime64(int(started * 1e9), "ns")
        if not row["start"] - _SLACK <= at <= row["end"] + _SLACK:
            return f"its profile began at {at.astype('datetime64[s]')} UTC, outside the run"
    return ""
