"""Energy as a question: bills of a year by level, and the power of single runs over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from analysis import project, readers, stats
from analysis.claims.campaign import Campaign, NotCoveredError
from analysis.claims.cost import YEAR, with_time, yearly
from analysis.claims.measure_runs import JOULES_PER_WH, SECONDS_A_DAY
from analysis.claims.measures import MEASURES
from analysis.claims.model import Level, Tariff
from analysis.claims.strata import strata
from analysis.energy import GAP_INTERVALS
from analysis.questions.runs import Select, apart, measured, place, plain, refuse_mixture

_POWER = "analysis.readers.power."


def bills(
    campaign: Campaign,
    factor: str,
    *,
    select: Select | None = None,
    varying: Sequence[str] = (),
    price: float,
    pue: float = 1.0,
    jobs_of: Level | None = None,
    carbon: float = 0.0,
) -> pd.DataFrame:
    """Cost of a year of jobs, by level of a factor.

    Parameters
    ----------
    campaign : Campaign
    factor : str
    select, varying
        As in `analysis.questions.compare`.
    price : float
        Of a kWh.
    pue : float, optional
        Energy of the site over that of the machine.
    jobs_of : level, optional
        Every level does as many jobs as this one does in a year; by default as many as it can.
    carbon : float, optional
        kg CO2e a kWh; adds the column ``kg_CO2e_a_year``.

    Returns
    -------
    DataFrame
        Columns ``runs`` (what sets a stratum apart), factor, ``time_s energy_Wh energy_low
        energy_high jobs_a_day`` (medians; jobs that the level could do), ``cost_a_year low high n``
        in the price's currency.

    Raises
    ------
    NotCoveredError
        If no selected run has an energy.
    ConfigError
        If a group would mix different things.

    Notes
    -----
    cost = jobs a year x energy of a job x price x PUE, jobs = 365 x 86400 s / time of a job.
    """
    frame = with_time(measured(campaign, "energy", select), campaign)
    found = list(strata(frame, (factor, *varying), campaign, MEASURES["energy"]))
    tariff = Tariff(price, pue)
    reference = campaign.resolve(factor, jobs_of)[0] if jobs_of is not None else None
    rows = []
    for name, (_, values) in zip(apart([stratum for stratum, _ in found]), found, strict=True):
        refuse_mixture(values, [factor], varying)
        for level, part in values.groupby(factor, sort=True):
            pace = part if reference is None else values[values[factor] == reference]
            if pace.empty:
                continue
            cost = stats.of_medians(partial(yearly, tariff=tariff), part["value"], pace["seconds"])
            wh = stats.median(part["value"] / JOULES_PER_WH)
            seconds = float(part["seconds"].median())
            kwh = YEAR / float(pace["seconds"].median()) * wh.value / 1e3 * pue
            row = (name, level, seconds, wh.value, wh.low, wh.high, SECONDS_A_DAY / seconds)
            rows.append((*row, cost.value, cost.low, cost.high, len(part), carbon * kwh))
    columns = ["runs", factor, "time_s", "energy_Wh", "energy_low", "energy_high", "jobs_a_day"]
    columns += ["cost_a_year", "low", "high", "n"]
    table = pd.DataFrame(rows, columns=[*columns, "kg_CO2e_a_year"])
    return table if carbon else table.drop(columns="kg_CO2e_a_year")


def metered(campaign: Campaign, factor: str, select: Select | None = None) -> dict[str, str]:
    """Choose one run with a power log for each level of a factor, on the most nodes there are.

    Parameters
    ----------
    campaign : Campaign
    factor : str
    select : mapping, optional
        As in `analysis.questions.measured`.

    Returns
    -------
    dict of str to str
        ``level, N nodes`` -> run.

    Raises
    ------
    NotCoveredError
        If no selected run has a power log.
    """
    runs = measured(campaign, "energy", select)
    files = campaign.frame("files")
    runs = runs[runs["run"].isin(set(files.loc[files["engine"].map(_is_power), "run"]))]
    if runs.empty:
        raise NotCoveredError(f"no selected run of {campaign.name} has a power log")
    found = {}
    for level, part in runs.groupby(factor, sort=True):
        widest = part[part["nodes"] == part["nodes"].max()].sort_values("run").iloc[0]
        found[f"{level}, {place('nodes', widest['nodes']).removeprefix('at ')}"] = str(widest["run"])
    return found


def power(campaign: Campaign, run: str, base: Path | None = None) -> pd.DataFrame:
    """Read the power logs of one run.

    Parameters
    ----------
    campaign : Campaign
    run : str
    base : Path, optional
        Root of the project.

    Returns
    -------
    DataFrame
        Columns ``seconds`` (since the run's start), ``power`` (W, sum over the run's meters; NaN in
        a gap of one of them, as `analysis.energy` has gaps), and one column a meter as it read;
        attributes ``interval`` (s) and ``location``.

    Raises
    ------
    NotCoveredError
        If the run has no power log.
    """
    files = campaign.frame("files")
    logs = files[(files["run"] == run) & files["engine"].map(_is_power)]
    if logs.empty:
        raise NotCoveredError(f"run {run} of {campaign.name} has no power log")
    raw = project.raw(campaign.name, base)
    from analysis.ingest.power import select as add_up  # with it comes dask, which few need

    paths = zip(map(str, logs["path"]), map(str, logs["engine"]), strict=True)
    read = ((raw / path, readers.open(raw / path, engine=engine)) for path, engine in paths)
    found = add_up(raw / "runs" / run, read).logs
    if not found:
        raise NotCoveredError(f"run {run} of {campaign.name} has no meters of all its nodes")
    interval = max(float(ds.attrs["interval"]) for ds in found)
    table = _side_by_side(found, f"{interval * 1e3:.0f}ms")
    began = np.datetime64(campaign.runs.loc[campaign.runs["run"] == run, "start"].iloc[0], "ns")
    seconds = (table.index.to_numpy() - began) / np.timedelta64(1, "s")
    total = table.apply(_bridged).sum(axis=1, skipna=False)
    out: pd.DataFrame = table.assign(power=total, seconds=seconds).reset_index(drop=True)
    out.attrs = {"interval": interval, "location": str(found[0].attrs.get("location", ""))}
    return out


def power_sentences(campaign: Campaign, runs: Mapping[str, str]) -> list[str]:
    """Say what the runs' energies are and how much of them the meters saw, one sentence a run.

    Parameters
    ----------
    campaign : Campaign
    runs : mapping of str to str
        Name -> run, as from `metered`.

    Returns
    -------
    list of str
    """
    table = campaign.runs
    out = []
    for name, run in runs.items():
        row = table[table["run"] == run].to_dict("records")[0]
        wh, low, high = (float(row[key]) / JOULES_PER_WH for key in ("energy", "energy_low", "energy_high"))
        bounds = f" (gaps leave {plain(low)} to {plain(high)} open)" if low < high else ""
        took = f"in {plain(float(row['elapsed']))} s, {plain(float(row['mean_power']))} W on average"
        seen = f"readings cover {100 * float(row['energy_covered']):.1f} %"
        out.append(f"{name}: {plain(wh)} Wh{bounds} {took}; {seen}.")
    return out


def bill_sentences(table: pd.DataFrame, factor: str, baseline: Level, currency: str) -> list[str]:
    """Say what each level saves over the baseline in a year, one sentence a stratum.

    Parameters
    ----------
    table : DataFrame
        From `bills`.
    factor : str
    baseline : level
    currency : str

    Returns
    -------
    list of str
    """
    out = []
    for stratum, part in table.groupby("runs", sort=False):
        name = str(stratum)
        base = part[part[factor] == baseline]["cost_a_year"]
        if base.empty:
            continue
        others = part[part[factor] != baseline]
        pairs = zip(map(str, others[factor]), others["cost_a_year"], strict=True)
        saved = ", ".join(f"{level} {plain(float(base.iloc[0]) - float(cost), 3)}" for level, cost in pairs)
        head = f"{name}: a" if name else "A"
        whole = f"{plain(float(base.iloc[0]), 3)} {currency} a year with {baseline}"
        out.append(f"{head}s many jobs cost {whole}; saved with {saved} {currency}.")
    return out


def meters(logs: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """List what the logs of `power` rest on.

    Parameters
    ----------
    logs : mapping of str to DataFrame
        Name of a run -> its log.

    Returns
    -------
    DataFrame
        Columns ``run meters interval_s readings missing_percent location``.
    """
    rows = []
    for name, log in logs.items():
        columns = log.drop(columns=["seconds", "power"])
        missing = 100 * float(columns.isna().to_numpy().mean())
        where = log.attrs["location"] or "not said"
        rows.append((name, columns.shape[1], log.attrs["interval"], len(log), missing, where))
    return pd.DataFrame(
        rows, columns=["run", "meters", "interval_s", "readings", "missing_percent", "location"]
    )


def _side_by_side(found: Sequence[xr.Dataset], step: str) -> pd.DataFrame:
    """Put the meters of several logs into one table over time, with a row for every step."""
    meters = []
    for ds in found:
        # Logs of several nodes are sampled at different moments: one row an interval.
        stamps = pd.DatetimeIndex(ds["time"].values).round(step)
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


def _is_power(engine: str) -> bool:
    return readers.ENGINES.get(engine, "").startswith(_POWER)
