"""Published campaigns: other people's table of figures, or their tables of runs, become datasets."""

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from analysis import readers
from analysis.base import models, project
from analysis.base.errors import BenchbookError, ConfigError, Fault
from analysis.base.models import OF_DRAWS
from analysis.datasets.run import file_entry
from analysis.model import DRAWN
from analysis.readers import table
from analysis.readers.published import COLUMNS, SOURCES, load_sources
from analysis.schema import registry
from analysis.schema.campaigns import CampaignFile
from analysis.schema.factors import FACTORS

FIGURES = "figures.csv"

# Columns of the table of figures that are factors of a run under another name.
_FACTORS = {"environment": "build", "transport": "tuning"}
_SAME = tuple(name for name in FACTORS if name in COLUMNS)
# Metrics that the table of runs holds.
_METRICS = ("target_time", "benchmark_time", "elapsed", "official_time")
# Metrics that are a run's figure of merit: HPCG's rate, the time of a step of OpenFOAM.
_MERITS = ("rating", "step_time")
# Metrics that it holds under another name.
_RENAMED = {"reduction_time": "allreduce_time"}

Groups = tuple[dict[str, xr.Dataset], list[str]]


def is_published(raw: Path) -> bool:
    """Tell whether a raw campaign has tables instead of runs: of others, or one of its own."""
    others = any((raw / name).is_file() for name in (FIGURES, SOURCES)) and not (raw / "runs").exists()
    return others or project.own_table(raw) is not None


def references(raw: Path) -> dict[str, tuple[str, str]]:
    """Return title and address of each source of a published campaign."""
    if not (raw / SOURCES).is_file():
        return {}
    found = load_sources(raw).itertuples(index=False)
    return {str(one.source): (str(one.title), str(one.address)) for one in found}


def read_published(raw: Path, declaration: Path) -> Groups:
    """Read published tables as a campaign: one row of ``runs`` for each run that they name.

    `declaration` is the campaign's file: it says what holds where a table has no column or no entry.
    """
    read = _read_figures if (raw / FIGURES).is_file() else _read_tables
    declared = models.load(CampaignFile, declaration)
    groups, faults = read(raw, declared.assumed)
    return (_of_draws(groups) if declared.evidence in OF_DRAWS else groups), faults


def _files(raw: Path) -> Iterator[tuple[Path, dict[str, Any], Callable[[], bytes]]]:
    for path in sorted(one for one in raw.iterdir() if one.is_file()):
        yield path, *file_entry(path, path.name)


def _unknown_sources(raw: Path, source: str, found: Iterable[tuple[str, str]]) -> Iterator[Fault]:
    """Yield a fault for each thing whose source is not in the table of sources."""
    known = {""} if project.own_table(raw) else set(load_sources(raw)["source"])
    for what, name in found:
        if name not in known:
            yield Fault(source, 0, f"{what} names source {name!r}", f"add it to {SOURCES}")


def _completed(runs: pd.DataFrame, raw: Path) -> pd.DataFrame:
    """Add what all runs of tables have in common, and count the repeats among equal factors."""
    factors = [name for name, one in registry.declared("runs").items() if one.coordinate]
    same = [name for name in factors if name in runs and name not in ("run", "repeat", "order")]
    return runs.assign(
        campaign=raw.name,
        evidence="measured" if project.own_table(raw) else "published",
        valid=runs["reason"] == "",
        timing=True,
        exit_code=0,
        repeat=runs.groupby(same, dropna=False).cumcount() + 1,
    )


def _of_draws(groups: dict[str, xr.Dataset]) -> dict[str, xr.Dataset]:
    """Make draws of a simulation of the runs of tables: `repeat` is the number of the draw, from 0."""
    runs = groups["runs"].to_dataframe().reset_index()
    runs = runs.assign(evidence="simulated", repeat=runs["repeat"] - 1, question=DRAWN)
    return groups | {"runs": registry.to_dataset([runs], "runs")}


# ---- a table of figures: a row is one number of a run


def _read_figures(raw: Path, assumed: Mapping[str, Any]) -> Groups:
    figures = readers.open(raw / FIGURES, engine="published")
    found = figures.to_dataframe().reset_index()
    _check_figures(raw, found)
    files = pd.DataFrame([entry for _, entry, _ in _files(raw)])
    own = files["path"] == FIGURES
    files.loc[own, ["engine", "complete"]] = "published", bool(figures.attrs["complete"])
    used = found[(found["run"] != "") & (found["qualifier"] != "suspect")]
    rows = [_run(str(name), part, assumed) for name, part in used.groupby("run", sort=True)]
    runs = pd.DataFrame(rows).assign(checksum=files.loc[own, "checksum"].iloc[0])
    groups = {
        "runs": registry.to_dataset([_completed(runs, raw)], "runs"),
        "micro": registry.to_dataset([_sizes(used)], "micro"),
        "files": registry.to_dataset([files], "files"),
        "figures": figures.drop_attrs(deep=False).assign_attrs(kind="published"),
    }
    return groups, list(figures.attrs["warnings"])


def _check_figures(raw: Path, found: pd.DataFrame) -> None:
    """Refuse figures without a source and runs that have one figure twice."""
    source = str(raw / FIGURES)
    names = (f"figure {figure}" for figure in found["figure"])
    faults = list(_unknown_sources(raw, source, zip(names, found["source"], strict=True)))
    runs = found[found["run"] != ""]
    for one in runs[runs.duplicated(["run", "metric", "size"])].itertuples():
        what = f"figure {one.figure}: run {one.run} has its {one.metric} twice"
        faults.append(Fault(source, 0, what, "name another run"))
    if faults:
        raise ConfigError(*faults)


def _run(name: str, part: pd.DataFrame, assumed: Mapping[str, Any]) -> dict[str, Any]:
    """Make the row of one run from its figures; what the source does not give stays blank."""
    first = part.iloc[0]
    values = dict(zip(part["metric"], part["value"], strict=True))
    units = dict(zip(part["metric"], part["unit"], strict=True))
    row = registry.blank("runs") | dict(assumed) | {"run": name}
    row |= {factor: first[factor] for factor in _SAME}
    row |= {factor: first[column] for column, factor in _FACTORS.items()}
    row |= {metric: values.get(metric, row[metric]) for metric in _METRICS}
    row |= {column: values.get(metric, np.nan) for column, metric in _RENAMED.items()}
    row["question"] = f"{first['application']} {first['version']}".strip()
    even = first["nodes"] > 0 and first["ranks"] > 0 and first["ranks"] % first["nodes"] == 0
    row["ranks_per_node"] = first["ranks"] // first["nodes"] if even else -1
    edge = first["case"].removesuffix("³")
    row["local_size"] = int(edge) if first["application"] == "hpcg" and edge.isdecimal() else -1
    for metric in _MERITS:
        if metric in values:
            row |= {"figure_of_merit": values[metric], "figure_of_merit_unit": units[metric]}
    return row


def _sizes(used: pd.DataFrame) -> pd.DataFrame:
    """Make the tables over message sizes."""
    table = used[used["size"] >= 0]
    wide = table.pivot_table(index=["run", "case", "size"], columns="metric", values="value")
    return wide.reset_index().rename_axis(columns=None)


# ---- tables of runs: a row is a run, or a message size of a run


def _read_tables(raw: Path, assumed: Mapping[str, Any]) -> Groups:
    files, frames, faults = [], {"runs": list[pd.DataFrame](), "micro": list[pd.DataFrame]()}, list[str]()
    for path, entry, content in _files(raw):
        if ".csv" in path.suffixes and table.sniff(data := content()):
            ds = readers.parse(data, path.name, engine="table")
            entry |= {"engine": "table", "complete": bool(ds.attrs["complete"])}
            faults += ds.attrs["warnings"]
            columns = {str(name): array.values for name, array in ds.variables.items()}
            frames[str(ds.attrs["kind"])].append(pd.DataFrame(columns).assign(checksum=entry["checksum"]))
        files.append(entry)
    if not frames["runs"]:
        raise _no_table(raw)
    runs = _checked_runs(pd.concat(frames["runs"], ignore_index=True), assumed, raw)
    micro = [one[one["run"].isin(runs["run"])] for one in frames["micro"]]
    groups = {"runs": registry.to_dataset([runs], "runs"), "micro": registry.to_dataset(micro, "micro")}
    return groups | {"files": registry.to_dataset([pd.DataFrame(files)], "files")}, faults


def _no_table(raw: Path) -> BenchbookError:
    """Say what is wrong with the headings of a campaign's own table; of others' that there is none."""
    own = project.own_table(raw)
    if own is None:
        return ConfigError.at(str(raw), 0, "holds no table of runs", "add one, or runs/ with measured runs")
    first = own.read_text(encoding="utf-8", errors="replace").partition("\n")[0]
    headings = [one.strip() for one in next(csv.reader([first]), [])]
    names = list(registry.declared("runs"))
    wrong = [one for one in headings if one not in names]
    if not wrong:
        return ConfigError.at(str(own), 1, "has no column run first", "name each run there")
    if ";" in wrong[0] or "\t" in wrong[0]:
        what, remedy = ("its columns are not separated by commas", "save it with commas and decimal points")
        return ConfigError.at(str(own), 1, what, remedy)
    return ConfigError.at(str(own), 1, f"{wrong[0]!r} is no variable of a run", models.known(wrong[0], names))


def _checked_runs(runs: pd.DataFrame, assumed: Mapping[str, Any], raw: Path) -> pd.DataFrame:
    """Complete the rows of the tables; refuse a run of two tables and one of an unknown source."""
    nothing = registry.blank("runs")
    for name, value in assumed.items():
        unknown = runs[name].isna() if nothing[name] != nothing[name] else runs[name] == nothing[name]
        runs[name] = np.where(unknown, value, runs[name])
    names = (f"run {run}" for run in runs["run"])
    faults = list(_unknown_sources(raw, str(raw), zip(names, runs["source"], strict=True)))[:5]
    faults += [
        Fault(str(raw), 0, f"run {run} is in two tables", "name another")
        for run in runs.loc[runs["run"].duplicated(), "run"]
    ]
    if faults:
        raise ConfigError(*faults)
    return _completed(runs, raw)
