"""From the table of published figures to a campaign's datasets."""

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
from analysis.readers.published import SOURCES, load_sources
from analysis.schema.campaigns import CampaignFile
from analysis.schema.frames import blank, to_dataset

FIGURES = "figures.csv"

# Columns of the table of figures that are factors of a run under another name.
_FACTORS = {"environment": "build", "transport": "tuning"}
_SAME = ("application", "version", "case", "cluster", "cpu", "interconnect", "mpi", "nodes", "ranks")
# Metrics that the table of runs holds.
_METRICS = ("target_time", "benchmark_time", "elapsed", "official_time")
# Metrics that are a run's figure of merit: HPCG's rate, the time of a step of OpenFOAM.
_MERITS = ("rating", "step_time")
# Metrics that it holds under another name.
_NAMED = {"reduction_time": "allreduce_time"}


def read_figures(raw: Path, declaration: Path) -> tuple[dict[str, xr.Dataset], list[str]]:
    """Read published figures as a campaign: one row of ``runs`` for each run that is named.

    `declaration` is the campaign's file: it says what holds where the sources are silent.
    """
    figures = readers.open(raw / FIGURES, engine="published")
    table = figures.to_dataframe().reset_index()
    _check(raw, table)
    declared = models.load(CampaignFile, declaration)
    files = _files(raw, bool(figures.attrs["complete"]))
    checksum = str(files.loc[files["path"] == FIGURES, "checksum"].iloc[0])
    whole = table[(table["run"] != "") & (table["qualifier"] != "suspect")]
    rows = [
        _run(str(name), part, declared.assumed, checksum, raw.name)
        for name, part in whole.groupby("run", sort=True)
    ]
    groups = {
        "runs": to_dataset([_repeats(pd.DataFrame(rows))], "runs"),
        "micro": to_dataset([_micro(whole)], "micro"),
        "files": to_dataset([files], "files"),
        "figures": figures.drop_attrs(deep=False).assign_attrs(kind="published"),
    }
    return groups, list(figures.attrs["warnings"])


def _check(raw: Path, table: pd.DataFrame) -> None:
    """Refuse figures without a source and runs that have one figure twice."""
    known = set(load_sources(raw)["source"])
    faults = [
        Fault(str(raw / FIGURES), 0, f"figure {figure} names source {name!r}", f"add it to {SOURCES}")
        for figure, name in zip(table["figure"], table["source"], strict=True)
        if name not in known
    ]
    named = table[table["run"] != ""]
    twice = named[named.duplicated(["run", "metric", "size"])]
    faults += [
        Fault(str(raw / FIGURES), 0, f"figure {figure}: run {run} has its {metric} twice", "name another run")
        for figure, run, metric in zip(twice["figure"], twice["run"], twice["metric"], strict=True)
    ]
    if faults:
        raise ConfigError(*faults)


def _files(raw: Path, complete: bool) -> pd.DataFrame:
    rows = []
    for path in sorted(one for one in raw.iterdir() if one.is_file()):
        entry, _ = file_entry(path, path.name)
        rows.append(entry | ({"engine": "published", "complete": complete} if path.name == FIGURES else {}))
    return pd.DataFrame(rows)


def _run(
    name: str, part: pd.DataFrame, silent: Mapping[str, Any], checksum: str, campaign: str
) -> dict[str, Any]:
    """Make the row of one run from its figures; what the source does not say stays blank."""
    first = part.iloc[0]
    values = dict(zip(part["metric"], part["value"], strict=True))
    units = dict(zip(part["metric"], part["unit"], strict=True))
    row = blank("runs") | dict(silent)
    row |= {"run": name, "campaign": campaign, "evidence": "published", "valid": True, "timing": True}
    row |= {factor: first[factor] for factor in _SAME}
    row |= {factor: first[column] for column, factor in _FACTORS.items()}
    row |= {metric: values.get(metric, row[metric]) for metric in _METRICS}
    row |= {column: values.get(metric, np.nan) for column, metric in _NAMED.items()}
    row["question"] = f"{first['application']} {first['version']}".strip()
    whole = first["nodes"] > 0 and first["ranks"] > 0 and first["ranks"] % first["nodes"] == 0
    row["ranks_per_node"] = first["ranks"] // first["nodes"] if whole else -1
    edge = first["case"].removesuffix("³")
    row["local_size"] = int(edge) if first["application"] == "hpcg" and edge.isdecimal() else -1
    for metric in _MERITS:
        if metric in values:
            row |= {"figure_of_merit": values[metric], "figure_of_merit_unit": units[metric]}
    return row | {"checksum": checksum, "exit_code": 0}


def _repeats(runs: pd.DataFrame) -> pd.DataFrame:
    """Count the repeats among runs that agree in every factor."""
    factors = [*_SAME, *_FACTORS.values(), "question", "target_time"]
    return runs.assign(repeat=runs.groupby(factors, dropna=False).cumcount() + 1)


def _micro(whole: pd.DataFrame) -> pd.DataFrame:
    table = whole[whole["size"] >= 0]
    wide = table.pivot_table(index=["run", "case", "size"], columns="metric", values="value")
    return wide.reset_index().rename_axis(columns=None)
