"""From the tables of runs that other people published to a campaign's datasets."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from analysis import readers
from analysis.base import models
from analysis.base.errors import ConfigError, Fault
from analysis.datasets.run import file_entry
from analysis.readers import table
from analysis.readers.published import SOURCES, load_sources
from analysis.schema import registry
from analysis.schema.campaigns import CampaignFile
from analysis.schema.frames import blank, to_dataset


def has_tables(raw: Path) -> bool:
    """Tell whether a raw campaign is tables of runs with their sources, instead of runs."""
    return (raw / SOURCES).is_file() and not (raw / "runs").exists()


def read_tables(raw: Path, declaration: Path) -> tuple[dict[str, xr.Dataset], list[str]]:
    """Read a campaign's tables of runs, and of message sizes if there are any.

    `declaration` is the campaign's file: it says what holds where a table has no column or no entry.
    """
    declared = models.load(CampaignFile, declaration)
    files, frames, faults = [], {"runs": list[pd.DataFrame](), "micro": list[pd.DataFrame]()}, list[str]()
    for path in sorted(one for one in raw.iterdir() if one.is_file()):
        entry, content = file_entry(path, path.name)
        if ".csv" in path.suffixes and table.sniff(data := content()):
            ds = readers.parse(data, path.name, engine="table")
            entry |= {"engine": "table", "complete": bool(ds.attrs["complete"])}
            faults += ds.attrs["warnings"]
            frames[str(ds.attrs["kind"])].append(_frame(ds, str(entry["checksum"])))
        files.append(entry)
    if not frames["runs"]:
        raise ConfigError.at(str(raw), 0, "holds no table of runs", "add one, or runs/ with measured runs")
    runs = _runs(pd.concat(frames["runs"], ignore_index=True), declared.assumed, raw)
    micro = [one[one["run"].isin(runs["run"])] for one in frames["micro"]]
    groups = {"runs": to_dataset([runs], "runs"), "micro": to_dataset(micro, "micro")}
    return groups | {"files": to_dataset([pd.DataFrame(files)], "files")}, faults


def _frame(ds: xr.Dataset, checksum: str) -> pd.DataFrame:
    columns = {str(name): array.values for name, array in ds.variables.items()}
    return pd.DataFrame(columns).assign(checksum=checksum)


def _runs(runs: pd.DataFrame, silent: Mapping[str, Any], raw: Path) -> pd.DataFrame:
    """Complete the rows of the tables; refuse a run of two tables and one of an unknown source."""
    nothing = blank("runs")
    for name, value in silent.items():
        unknown = runs[name].isna() if nothing[name] != nothing[name] else runs[name] == nothing[name]
        runs[name] = np.where(unknown, value, runs[name])
    known = set(load_sources(raw)["source"])
    faults = [
        Fault(str(raw), 0, f"run {run} names source {source!r}", f"add it to {SOURCES}")
        for run, source in runs.loc[~runs["source"].isin(known), ["run", "source"]].head(5).to_numpy()
    ]
    faults += [
        Fault(str(raw), 0, f"run {run} stands in two tables", "name another")
        for run in runs.loc[runs["run"].duplicated(), "run"]
    ]
    if faults:
        raise ConfigError(*faults)
    factors = [name for name, one in registry.declared("runs").items() if one.coordinate]
    alike = [name for name in factors if name not in ("run", "repeat", "order")]
    return runs.assign(
        campaign=raw.name,
        evidence="published",
        valid=runs["reason"] == "",
        timing=True,
        exit_code=0,
        repeat=runs.groupby(alike, dropna=False).cumcount() + 1,
    )
