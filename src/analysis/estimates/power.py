"""Power over time: the meters of single runs, what their energies rest on, and the levels they reach."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import xarray as xr

from analysis.base import project
from analysis.base.words import NOT_STATED
from analysis.energy.attribution import logs_behind, power_files
from analysis.energy.integral import GAP_INTERVALS
from analysis.energy.levels import MeteredMachine, methodology_levels
from analysis.energy.meters import declared_power, nodes_of
from analysis.energy.points import INPUT, point
from analysis.estimates.campaign import Campaign, NotCoveredError
from analysis.estimates.groups import measured_level
from analysis.schema.factors import level_name

# Of a log this share of the run is shown before and after it.
_AROUND = 0.25


def metered(campaign: Campaign, factor: str, select: Mapping[str, Any] | None = None) -> dict[str, str]:
    """Choose a metered run for each level of a factor, on the most nodes: ``level, N nodes`` -> run."""
    runs = measured_level(campaign, "energy", select)
    files = campaign.frame("files")
    own = set(power_files(files)["run"])
    fed = _fed(campaign)
    runs = runs[runs["run"].isin(own) | _on(runs, fed)]
    if runs.empty:
        raise NotCoveredError(f"no selected run of {campaign.name} has a power log")
    found = {}
    for level, part in runs.groupby(factor, sort=True):
        widest = part[part["nodes"] == part["nodes"].max()].sort_values("run").iloc[0]
        found[f"{level}, {level_name('nodes', widest['nodes'])}"] = str(widest["run"])
    return found


def power(campaign: Campaign, run: str, base: Path | None = None) -> pd.DataFrame:
    """Read the power logs of one run; `NotCoveredError` if it has none.

    Columns ``seconds`` (since the run's start), ``power`` (W, sum over the meters that feed the run's nodes,
    also where they feed others; NaN in a gap of one of them, as `analysis.energy` has gaps), and one column a
    meter as it read; attributes ``interval`` (s) and ``location``. `base` is the project's root.
    """
    found = logs_of(campaign, run, base)
    interval = max(float(ds.attrs["interval"]) for ds in found)
    row = run_of(campaign, run)
    began, ended = (pd.Timestamp(row[name]) for name in ("start", "end"))
    margin = _AROUND * (ended - began)
    found = [ds.sel(time=slice(began - margin, ended + margin)) for ds in found]
    table = _side_by_side(found, f"{interval * 1e3:.0f}ms")
    seconds = (pd.DatetimeIndex(table.index) - began).total_seconds()
    total = table.apply(_bridged).sum(axis=1, skipna=False)
    out: pd.DataFrame = table.assign(power=total, seconds=seconds).reset_index(drop=True)
    out.attrs = {"interval": interval, "location": str(found[0].attrs.get("location", ""))}
    return out


def logs_of(campaign: Campaign, run: str, base: Path | None = None) -> list[xr.Dataset]:
    """Read the power logs that a run's energy rests on (`analysis.energy.attribution.logs_behind`)."""
    power = declared_power(campaign.name, base)
    rows, files = _rows(campaign.runs), campaign.frame("files")
    found = logs_behind(project.raw(campaign.name, base), run, rows, files, power)
    if not found:
        why = str(run_of(campaign, run)["energy_reason"])
        raise NotCoveredError(f"run {run} of {campaign.name} has no power log" + (f": {why}" if why else ""))
    return found


def levels(
    campaign: Campaign, run: str, *, core: tuple[Any, Any] | None = None, base: Path | None = None
) -> pd.DataFrame:
    """State the level of the EE HPC WG's methodology that each aspect of a run's measurement reaches.

    `core` is the core phase, else the whole run; the campaign's declaration says under ``power.machine`` what
    data do not. As `analysis.energy.levels.methodology_levels`, spelt out; of several logs the least level.
    """
    row, runs = run_of(campaign, run), campaign.runs
    declared = declared_power(campaign.name, base)
    fed = _fed(campaign) or set(nodes_of(row))
    near = runs[runs["start"].notna() & runs["end"].notna()]
    near = near[_on(near, fed)]
    given = declared.get("machine", {})
    jobs, tables = (near["start"].to_numpy(), near["end"].to_numpy()), []
    for ds in logs_of(campaign, run, base):
        machine = MeteredMachine(
            given.get("nodes"), len(fed), given.get("subsystems"), _conversion(ds, declared)
        )
        if not fed:  # without the name of a node, no reading is known to be of an idle one
            jobs = (ds["time"].values[:1], ds["time"].values[-1:])
        tables.append(methodology_levels(ds, row["start"], row["end"], core=core, machine=machine, jobs=jobs))
    whole = pd.concat(tables).reset_index(names="row")
    # An aspect that one log does not tell is not told.
    worst = whole.assign(rank=whole["level"].astype("Float64").fillna(-1)).sort_values(["row", "rank"])
    out = worst.drop_duplicates("row")[["aspect", "level", "found"]].reset_index(drop=True)
    spelt = out["level"].map({0: "none", 1: "L1", 2: "L2", 3: "L3"}, na_action="ignore")
    return out.assign(level=spelt.astype(object).where(out["level"].notna(), NOT_STATED))


def _conversion(ds: xr.Dataset, declared: Mapping[str, Any]) -> str | None:
    """Say how the loss of the power supply is accounted for; None where the place is not known."""
    location = str(ds.attrs["location"])
    if point(location) == NOT_STATED:
        return None
    if point(location) != INPUT:
        return "ignored"
    sources = (log.get("efficiency", {}).get("source", "") for log in declared.get("logs", ()))
    return next((source for source in sources if source and location.endswith(f"({source})")), "upstream")


def run_of(campaign: Campaign, run: str) -> dict[str, Any]:
    """Return what is known of one run."""
    return _rows(campaign.runs[campaign.runs["run"] == run])[0]


def _on(runs: pd.DataFrame, nodes: set[str]) -> pd.Series:
    """Tell which runs were on one of some nodes, given by their short names."""
    return pd.Series([bool(nodes.intersection(nodes_of(row))) for row in _rows(runs)], runs.index, dtype=bool)


def _rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]


def _fed(campaign: Campaign) -> set[str]:
    """Return the nodes that meters beside the runs feed; datasets of older builds have no such table."""
    if "meters" not in campaign.tree:
        return set()
    table = campaign.frame("meters")
    return {node for nodes in table.loc[table["kind"] == "nodes", "nodes"] for node in str(nodes).split(",")}


def meters(logs: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """List what the logs of `power`, by the names of their runs, rest on."""
    rows = []
    for name, log in logs.items():
        columns = log.drop(columns=["seconds", "power"])
        missing = 100 * float(columns.isna().to_numpy().mean())
        where = log.attrs["location"] or NOT_STATED
        rows.append((name, columns.shape[1], log.attrs["interval"], len(log), missing, where))
    return pd.DataFrame(
        rows, columns=["run", "meters", "interval_s", "readings", "missing_percent", "location"]
    )


def _side_by_side(found: Sequence[xr.Dataset], step: str) -> pd.DataFrame:
    """Put the meters of several logs into one table over time, with a row for every step."""
    meters, origin = [], min(pd.Timestamp(ds["time"].values[0]) for ds in found)
    for ds in found:
        # Logs of several nodes are sampled at different moments: one row an interval. Each is counted from
        # its own first reading, as readings at .500 and .501 s would be rounded to different seconds.
        times, one = pd.DatetimeIndex(ds["time"].values), pd.Timedelta(step)
        stamps = origin + (times - times[0]).round(step) + round((times[0] - origin) / one) * one
        values = pd.DataFrame(ds["power"].values.T, index=stamps, columns=list(map(str, ds["meter"].values)))
        meters.append(values.groupby(values.index).mean())
    table = pd.concat(meters, axis="columns")
    # A missing row is a gap as well, so that no line is drawn across it.
    return table.reindex(table.index.union(pd.date_range(table.index[0], table.index[-1], freq=step)))


def _bridged(readings: pd.Series) -> pd.Series:
    """Fill missing readings by a straight line, unless they make a gap."""
    missing = readings.isna()
    lengths = missing.groupby((~missing).cumsum()).transform("sum")
    return readings.interpolate(limit_area="inside").mask(missing & (lengths >= GAP_INTERVALS))
