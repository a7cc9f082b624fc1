"""A campaign: all its runs, joined with Slurm's records, as one tree."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dask
import dask.bag
import numpy as np
import pandas as pd
import xarray as xr
from dask.diagnostics.progress import ProgressBar

from analysis import readers
from analysis.base import project
from analysis.base.errors import ConfigError, ReadError
from analysis.base.files import read_bytes
from analysis.datasets.applications import load_applications
from analysis.datasets.run import RunFolder, fingerprint, read_run
from analysis.energy import attribution
from analysis.energy.meters import declared_power, read_logs, state_row
from analysis.schema import storage
from analysis.schema.frames import to_dataset

TABLES = ("calls", "messages", "ranks", "matrix", "micro", "files", "meters")
# Starting worker processes costs seconds; below this many runs one process is faster.
PARALLEL_FROM = 500


@dataclass(frozen=True, slots=True)
class Summary:
    """What an ingest did."""

    campaign: str
    runs: int
    valid: int
    faults: int

    def __str__(self) -> str:
        return f"{self.campaign}: {self.runs} runs, {self.valid} valid, {self.faults} faults in their files"


def ingest(raw: Path, processed: Path, *, progress: bool = False, declaration: Path | None = None) -> Summary:
    """Read a raw campaign and write its datasets.

    Parameters
    ----------
    raw : Path
        ``data/raw/<campaign>`` with ``runs/<run>/run.json`` and, beside it, Slurm's records.
    processed : Path
        ``data/processed/<campaign>``; gets ``campaign.nc`` (groups ``runs calls messages ranks
        matrix micro files meters``) and ``runs/<run>.nc`` (groups ``profile result``) for each profiled run.
    progress : bool
        Show a bar on standard error.
    declaration : Path, optional
        What says under ``power`` which meter of the campaign's logs feeds which node; by default
        ``config/campaigns/<campaign>.yaml``, if there is one.

    Returns
    -------
    Summary

    Raises
    ------
    ConfigError
        If there is no run at all, or the declaration cannot be used.
    """
    folders = sorted(path for path in (raw / "runs").glob("*") if path.is_dir())
    if not folders:
        raise ConfigError.at(f"{raw}/runs", 0, "holds no run", "each run is a folder with a run.json")
    power = declared_power(raw.name, path=declaration)
    found = _read_runs(folders, progress)
    records, files, faults = _read_records(raw)
    for run in found:
        _join_record(run.row, records)
        run.row["campaign"] = run.row["campaign"] or raw.name
        run.row["reason"] = run.row["reason"] or _slurm_reason(run.row)
        run.row["valid"] = not run.row["reason"]
    more = {"files": files, "meters": _take_energy(raw, [run.row for run in found], files, power, faults)}
    groups = {"runs": to_dataset([pd.DataFrame([run.row for run in found])], "runs")}
    for kind in TABLES:
        frames = [run.frames[kind] for run in found if kind in run.frames]
        groups[kind] = to_dataset([*frames, *([more[kind]] if kind in more else [])], kind)
    faults = [fault for run in found for fault in run.faults] + faults
    _write_runs(found, processed / "runs")
    attrs = {"campaign": raw.name, "faults": faults}
    storage.write_tree(groups, processed / "campaign.nc", attrs)
    return Summary(raw.name, len(found), int(groups["runs"]["valid"].sum()), len(faults))


def _take_energy(
    raw: Path, rows: list[dict[str, Any]], files: pd.DataFrame, power: dict[str, Any], faults: list[str]
) -> pd.DataFrame:
    """Give the runs their part of the logs beside them, and those without an energy a reason."""
    known = [
        (str(path), str(engine) if readers.is_power(engine) else "")
        for path, engine in zip(files.get("path", ()), files.get("engine", ()), strict=True)
    ]
    logs, more = read_logs(raw, known, power, rows)
    faults += more
    for row in rows:
        if row["energy_location"] != attribution.SLURM:
            state_row(row, power)
    table = attribution.take(rows, logs)
    crowded = attribution.together(rows)
    for row in rows:
        attribution.finish(row, row["run"] in crowded)
    return table


def _read_runs(folders: list[Path], progress: bool) -> list[RunFolder]:
    applications = load_applications(project.root() / "config" / "applications")
    parallel = len(folders) >= PARALLEL_FROM
    workers = os.cpu_count() or 1
    bag = dask.bag.from_sequence(folders, npartitions=min(len(folders), 16 * workers))
    scheduler = "processes" if parallel else "synchronous"
    with dask.config.set(scheduler=scheduler, num_workers=workers):
        if not progress:
            return list(bag.map(read_run, applications).compute())
        with ProgressBar(out=sys.stderr, minimum=2.0):
            return list(bag.map(read_run, applications).compute())


def _read_records(raw: Path) -> tuple[pd.DataFrame, pd.DataFrame, list[str]]:
    """Read Slurm's records and fingerprint every file that lies beside the runs."""
    frames, files, faults = [], [], []
    beside = (p for p in raw.rglob("*") if p.is_file() and p.relative_to(raw).parts[0] != "runs")
    for path in sorted(beside):
        name = str(path.relative_to(raw))
        entry: dict[str, Any] = {"path": name, "run": "", "engine": "", "complete": True}
        entry |= fingerprint(path)
        try:
            data = read_bytes(path)
            engines = readers.engines_of(data, path.name)
            entry["engine"] = next(filter(readers.is_power, engines), "")
            if "sacct" in engines:
                ds = readers.parse(data, path.name, engine="sacct")
                entry |= {"engine": "sacct", "complete": bool(ds.attrs["complete"])}
                faults += ds.attrs["warnings"]
                frames.append(ds.to_dataframe())
        except ReadError as error:
            faults += [str(fault) for fault in error.faults]
            entry["complete"] = False
        files.append(entry)
    records = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
    if len(records):
        records = records.drop_duplicates(["job_id", "step"])
        # A cluster without a meter accounts 0 J to every job; that is no measurement.
        if not (records["energy"] > 0).any():
            records["energy"] = np.nan
    return records, pd.DataFrame(files), faults


def _join_record(row: dict[str, Any], records: pd.DataFrame) -> None:
    if records.empty or not row["job_id"]:
        return
    mine = records[records["job_id"] == row["job_id"]]
    steps = mine[mine["step"] != ""]
    job = mine[mine["step"] == ""]
    if len(job):
        row["elapsed_slurm"] = job["elapsed"].iloc[0]
        row["state"] = job["state"].iloc[0]
        if np.isnan(row["energy"]):  # a power log of the run's own is finer than Slurm's counter
            row["energy"] = job["energy"].iloc[0]
            row["mean_power"] = row["energy"] / row["elapsed"]
            row["energy_location"] = "" if np.isnan(row["energy"]) else attribution.SLURM
    if steps["memory_max"].notna().any():
        row["node_memory_slurm"] = steps.groupby("node_list")["memory_max"].sum().max()


def _slurm_reason(row: dict[str, Any]) -> str:
    return "" if row["state"] in ("", "COMPLETED") else f"Slurm says {row['state']}"


def _write_runs(found: Iterable[RunFolder], folder: Path) -> None:
    """Write one file for each profiled run, and remove those of runs that are gone.

    Of other runs the campaign's tables hold all there is; a file each would cost more than reading
    the raw one again.
    """
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {f"{run.row['run']}.nc": run.datasets for run in found if "profile" in run.datasets}
    for stale in {p.name for p in folder.iterdir()} - set(wanted):
        path = folder / stale
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name, datasets in wanted.items():
        groups: dict[str, xr.Dataset] = {key: datasets[key] for key in sorted(datasets)}
        storage.write_tree(groups, folder / name)
