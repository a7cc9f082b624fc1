"""The tables behind the figures: medians with intervals, shares, throughput; tidy frames in and out."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from analysis.base.units import DAY, JOULES_PER_WH
from analysis.base.words import Level
from analysis.datasets.profile import HOUSEKEEPING
from analysis.estimates import cost
from analysis.estimates.campaign import Campaign, NotCoveredError
from analysis.estimates.differences import ratio_of
from analysis.estimates.finding import measuring_days
from analysis.estimates.groups import level_question, measured, measured_level, refuse_mixtures, strata
from analysis.estimates.measures import MEASURES, SENDING, shown_unit
from analysis.estimates.question import Question, Tariff
from analysis.estimates.ratios import median_of
from analysis.estimates.spelling import display, strata_names, stratum_names
from analysis.estimates.stats import Estimate, median
from analysis.estimates.uncertainty import POINT
from analysis.schema.factors import FACTORS

# Columns of a table of yearly costs.
_YEARLY = (
    *("time_s", "time_low", "time_high", "energy_Wh", "energy_low", "energy_high", "jobs_a_day"),
    *("cost_a_year", "low", "high", "n", "confidence", "kg_CO2e_a_year", "pareto", "metered_at"),
)


def counted(campaign: Campaign, **factors: object) -> pd.DataFrame:
    """Return the runs that may enter a statistic of time, narrowed by a value or a list of each factor.

    One row a run, all variables of kind ``runs`` as columns. Raises `NotCoveredError` if there is none.
    """
    runs = campaign.runs
    runs = runs[runs["valid"] & runs["timing"]]
    for factor, wanted in factors.items():
        runs = runs[runs[factor].isin(wanted if isinstance(wanted, (list, tuple)) else [wanted])]
    if runs.empty:
        listed = ", ".join(f"{factor.replace('_', ' ')} {wanted}" for factor, wanted in factors.items())
        raise NotCoveredError(f"{campaign.name} has no valid run with {listed or 'times that may be used'}")
    return runs


def named(campaign: Campaign, frame: pd.DataFrame, factor: str) -> pd.DataFrame:
    """Give the levels of a factor the names that sentences give them."""
    return frame.assign(**{factor: [display(campaign, factor, level) for level in frame[factor]]})


def summary(
    frame: pd.DataFrame, by: Sequence[str], value: str = "figure_of_merit", variable: str = ""
) -> pd.DataFrame:
    """Estimate the median of a column in each group, as `ratios.median_of` does for a verdict.

    A frame has one row a repeat. Columns of the result: `by` and ``median low high n confidence``, the last
    the level of the interval, as a fraction; ends and level are NaN where there is none, as of a single
    repeat. `variable` is the measure that the column holds, by default the one of its name: what its meters
    or its rounding leave open is in the intervals.
    """
    frame = frame if value == "value" else frame.assign(value=frame[value])
    groups: dict[tuple[Any, ...], list[int]] = {}
    for at, key in enumerate(zip(*(frame[name].tolist() for name in by), strict=True)):
        groups.setdefault(key, []).append(at)
    rows = []
    for key in sorted(key for key in groups if not any(map(pd.isna, key))):
        part = frame.iloc[groups[key]]  # pandas' groupby takes longer for few runs than all that follows
        estimate, _ = median_of(variable or value, part)
        level = estimate.level if estimate.bounded else np.nan
        rows.append((*key, estimate.value, estimate.low, estimate.high, len(part), level))
    return pd.DataFrame(rows, columns=[*by, "median", "low", "high", "n", "confidence"])


def estimate_of(row: pd.Series) -> Estimate:
    """Return a row of `summary` as the estimate that it was."""
    return Estimate(row["median"], row["low"], row["high"], int(row["n"]), level=row["confidence"])


def ratios(
    frame: pd.DataFrame, factor: str, baseline: object, by: Sequence[str] = (), value: str = "figure_of_merit"
) -> pd.DataFrame:
    """Relate every level of a factor to a baseline, within each group, as `differences.ratio_of` does.

    Frame, groups and column as in `summary`; the column is named by its measure. Columns of the result:
    `by`, `factor` and ``ratio low high n n_baseline confidence base``, the last being the
    baseline's median in the unit of `value`. Groups without the baseline are left out.
    """
    frame = frame.assign(value=frame[value])
    rows = []
    for key, part in frame.groupby(list(by), sort=True) if by else [((), frame)]:
        base = part[part[factor] == baseline]
        if base.empty:
            continue
        for level, one in part[part[factor] != baseline].groupby(factor, sort=True):
            r = ratio_of(value, one, base)[0]
            ends = (r.value, r.low, r.high, len(one), len(base), r.level if r.bounded else np.nan)
            rows.append((*key, level, *ends, float(base["value"].median())))
    columns = ["ratio", "low", "high", "n", "n_baseline", "confidence", "base"]
    return pd.DataFrame(rows, columns=[*by, factor, *columns])


def repeats(
    campaign: Campaign, variable: str = "figure_of_merit", select: Mapping[str, Any] | None = None
) -> pd.DataFrame:
    """Compare every run with the median of its kind, the runs that agree in all factors.

    One row per run: ``runs`` (factors that identify the kind), ``value``, ``unit``, ``deviation`` (% of the
    median of its kind) and ``load_before`` (of the machine, NaN if unknown). Raises `NotCoveredError` if no
    selected run has a value.
    """
    frame = measured_level(campaign, variable, select)
    kinds = [part for _, part in frame.groupby(list(FACTORS), sort=True, dropna=False)]
    factors = [{factor: part[factor].iloc[0] for factor in FACTORS} for part in kinds]
    _, names = stratum_names(campaign, factors)
    if len(set(names)) < len(names):  # what distinguishes them has no name
        names = strata_names(factors, campaign)
    parts = []
    for name, part in zip(names, kinds, strict=True):
        middle = median(part["value"]).value
        parts.append(
            part[["value", "load_before"]].assign(
                runs=name or "all runs",
                unit=shown_unit(variable, part),
                deviation=100.0 * (part["value"] / middle - 1.0),
            )
        )
    return stacked(*parts)


def spread(table: pd.DataFrame) -> pd.DataFrame:
    """Sum up the `repeats` of each kind of run.

    Columns ``runs unit median low high n confidence`` (interval of the median), ``lowest`` and ``highest``
    (run, % of the median).
    """
    ends = table.groupby("runs", sort=False)["deviation"].agg(["min", "max"])
    found = summary(table, ["runs", "unit"], "value")
    return found.assign(lowest=found["runs"].map(ends["min"]), highest=found["runs"].map(ends["max"]))


def call_shares(
    campaign: Campaign, runs: pd.DataFrame, least: float = 1.0, *, of: str = "time"
) -> pd.DataFrame:
    """Share of each call in a run's MPI time, or (`of` ``count``) in the number of its calls.

    The columns of `runs` and ``call share count time``; shares in percent, summing to 100 in each run. Runs
    without a profile are left out. Calls whose share is below `least`, in percent, in every run are combined
    as ``other``. The number of calls that only look up or manage is not counted.
    """
    table = campaign.frame("calls").merge(runs, on="run", suffixes=("", "_run"))
    if of == "count":
        table = table[~table["call"].isin(HOUSEKEEPING)]
    table["share"] = 100 * table[of] / table.groupby("run")[of].transform("sum")
    small = table.groupby("call")["share"].transform("max") < least
    table["call"] = table["call"].mask(small, "other")
    keys = [*runs.columns, "call"]
    return table.groupby(keys, sort=False, dropna=False, as_index=False)[["share", "count", "time"]].sum()


def _of_one_kind(campaign: Campaign, select: Mapping[str, Any] | None) -> pd.DataFrame:
    """Select profiled runs; `NotCoveredError` if there is none, or they differ in a factor."""
    runs = measured_level(campaign, "distinct_calls", select).drop(columns="value")
    factors = [factor for factor in FACTORS if factor not in campaign.pool]
    refuse_mixtures(runs, (), factors)
    return runs


def mean_shares(campaign: Campaign, of: str, select: Mapping[str, Any] | None = None) -> pd.DataFrame:
    """Share of each call in MPI ``time``, or in the ``count`` of calls, of runs of one kind.

    Columns ``call median low high n``, in percent, the largest first; calls as in `call_shares`. No row if
    it is the ``time`` of runs whose times may not be used. Raises `NotCoveredError` if no profiled run is
    selected, or the runs differ in a factor.
    """
    runs = _of_one_kind(campaign, select)
    found = call_shares(campaign, runs[runs["timing"]] if of == "time" else runs, of=of)
    # A run that never makes a call has a share of 0, which is no missing value.
    full = found.pivot(index="run", columns="call", values="share").fillna(0.0)
    table = summary(full.melt(value_name="share"), ["call"], "share")
    return table.sort_values("median", ascending=False, ignore_index=True)


def messages(campaign: Campaign, select: Mapping[str, Any] | None = None) -> pd.DataFrame:
    """Count messages handed to MPI over all ranks, mean over runs of one kind: ``call size count``, in B."""
    runs = _of_one_kind(campaign, select)
    found = campaign.frame("messages").merge(runs[["run"]], on="run")
    total = found[found["call"].isin(SENDING)].groupby(["call", "size"])[["count"]].sum() / len(runs)
    return total.reset_index()


def size_shares(
    campaign: Campaign, bounds: Sequence[int], select: Mapping[str, Any] | None = None
) -> pd.DataFrame:
    """Share of the messages that have at most a given size in B, by call and over all calls.

    Columns ``call messages`` and one a bound, ``up to 64 B``, in percent; the last row is ``all``.
    """
    found = messages(campaign, select)
    rows = []
    for call, part in [*found.groupby("call"), ("all", found)]:
        total = part["count"].sum()
        below = [100 * part.loc[part["size"] <= bound, "count"].sum() / total for bound in bounds]
        rows.append((call, round(float(total)), *map(float, below)))
    return pd.DataFrame(rows, columns=["call", "messages", *(f"up to {bound} B" for bound in bounds)])


def pareto_front(frame: pd.DataFrame, time: str, energy: str) -> pd.Series:
    """Tell which rows are on the Pareto front of the columns time to solution and energy.

    Of one row a configuration (medians, not single runs): True if no other row is at least as good (as
    small) in both and better in one. A row without one of the two values is on no front.
    """
    seconds, joules = frame[time].to_numpy(dtype=float), frame[energy].to_numpy(dtype=float)
    no_worse = (seconds[None, :] <= seconds[:, None]) & (joules[None, :] <= joules[:, None])
    better = (seconds[None, :] < seconds[:, None]) | (joules[None, :] < joules[:, None])
    front = ~(no_worse & better).any(axis=1) & np.isfinite(seconds) & np.isfinite(joules)
    return pd.Series(front, index=frame.index, name="pareto")


def yearly_costs(
    campaign: Campaign,
    factor: str,
    *,
    select: Mapping[str, Any] | None = None,
    varying: Sequence[str] = (),
    price: float,
    pue: float = 1.0,
    jobs_of: Level | None = None,
    carbon: float = 0.0,
) -> pd.DataFrame:
    """Cost of a year of jobs per level of a factor: jobs per year x energy of a job x `price` of a kWh x PUE.

    Every level does as many jobs as `jobs_of`, by default as many as it can (365 x 86400 s / time of a job).
    Columns: ``runs`` (factors that identify the stratum), factor, ``time_s time_low time_high energy_Wh
    energy_low energy_high jobs_a_day`` (medians), ``cost_a_year low high n confidence`` in the price's
    currency, with `carbon` (kg CO2e per kWh) ``kg_CO2e_a_year``, ``pareto`` (no level of the stratum is as
    good in time and energy and better in one) and ``metered_at``. Intervals include the meters' uncertainty
    where it is known. A level with a single run carries no money and has no row. Raises `NotCoveredError` if
    no selected run has an energy, if all are single, or if a group would mix different things.
    """
    tariff = Tariff(price=price, pue=pue)
    asked = replace(level_question(campaign, "energy", select), quantity="cost", tariff=tariff)
    frame = cost.with_time(measured(asked, campaign), campaign)
    found = list(strata(frame, (factor, *varying), campaign, MEASURES["energy"]))
    reference = campaign.resolve(factor, jobs_of)[0] if jobs_of is not None else None
    tables = [pd.DataFrame(columns=["runs", factor, *_YEARLY])]
    for name, (_, values) in zip(strata_names([stratum for stratum, _ in found]), found, strict=True):
        refuse_mixtures(values, [factor], varying)
        pace = None if reference is None else values[values[factor] == reference]
        if pace is not None and len(pace) < 2:
            continue
        levels = [one for one in values.groupby(factor, sort=True, observed=True) if len(one[1]) > 1]
        if not levels:
            continue
        rows = [{"runs": name, factor: level, **_yearly(asked, part, pace, carbon)} for level, part in levels]
        table = pd.DataFrame(rows).assign(metered_at=values[POINT].iloc[0])
        tables.append(table.assign(pareto=pareto_front(table, time="time_s", energy="energy_Wh")))
    if not tables[1:]:
        raise NotCoveredError(f"single runs of {campaign.name} carry no money: repeat them")
    whole = stacked(*tables[1:])
    return whole[[column for column in tables[0] if carbon or column != "kg_CO2e_a_year"]]


def _yearly(
    asked: Question, part: pd.DataFrame, pace: pd.DataFrame | None, carbon: float
) -> dict[str, float]:
    """Ask for time, energy and cost of one level, done as often as the jobs of `pace` follow each other."""
    pace = part if pace is None else pace
    time = median(part["seconds"], measuring_days(part))
    energy, _ = median_of("energy_per_job", part.assign(value=part["energy"] / JOULES_PER_WH))
    year = cost.level(asked, part, pace).estimate
    jobs = cost.YEAR / float(pace["seconds"].median())
    pue = asked.tariff.pue if asked.tariff else 1.0
    emitted = cost.emissions(energy.value * JOULES_PER_WH, carbon, pue=pue, jobs=jobs)
    medians = (time.value, time.low, time.high, energy.value, energy.low, energy.high, DAY / time.value)
    costs = (year.value, year.low, year.high, year.n, year.level if year.bounded else np.nan, emitted)
    return dict(zip(_YEARLY, (*medians, *costs), strict=False))


def throughput(campaign: Campaign, runs: pd.DataFrame) -> pd.DataFrame:
    """Work done by jobs that ran at once: one row a set of them, with the columns of its first run.

    ``rate`` is the figures of merit added up, in their unit, ``jobs_per_day`` how often a day this rate does
    the work of one job that runs alone on all the set's ranks, the median of the sets with one job. An
    application that runs for a time given to it has no time to solution: its work is rate times rated time,
    so jobs per day = 86,400 s x rate / work of a job.
    """
    rate = MEASURES["throughput"].compute(campaign, runs, ())
    sets = runs[runs["run"].isin(rate.index)].assign(rate=runs["run"].map(rate))
    alone = sets[sets["concurrent_jobs"] == 1]
    alone = alone[alone["ranks"] == alone["ranks"].max()]
    work = float((alone["rate"] * alone["benchmark_time"]).median())
    return sets.assign(jobs_per_day=DAY * sets["rate"] / work)


def micro(campaign: Campaign, case: str, value: str) -> pd.DataFrame:
    """Summarise the table of one of OSU's micro-benchmarks over its repeats.

    Columns ``interconnect size median low high n``.
    """
    runs = counted(campaign, application="osu", case=case)
    table = campaign.frame("micro").merge(runs[["run", "interconnect"]], on="run")
    return summary(table, ["interconnect", "size"], value)


def matrix(campaign: Campaign, run: str) -> pd.DataFrame:
    """Return the communication matrix of one run: sender by receiver, payload in B, 0 where none."""
    table = campaign.frame("matrix")
    table = table[table["run"] == run]
    runs = campaign.runs
    size = int(runs["ranks"].to_numpy()[runs["run"] == run][0])
    square = table.pivot(index="rank", columns="peer", values="bytes")
    return square.reindex(index=range(size), columns=range(size)).fillna(0.0)


def sent(campaign: Campaign, runs: Sequence[str]) -> pd.DataFrame:
    """Return the messages that some runs sent, by rank, call and size in B.

    Raises `NotCoveredError` if a run has no profile with sizes of messages.
    """
    table = campaign.frame("messages")
    table = table[table["call"].isin(SENDING) & table["run"].isin(runs)]
    for run in runs:
        if not (table["run"].eq(run) & table["size"].gt(0)).any():
            raise NotCoveredError(f"{campaign.name} has no run {run} with the sizes of its messages")
    return table


def failed(campaign: Campaign) -> pd.DataFrame:
    """List the runs that enter no statistic, with the reason; levels have the campaign's own names."""
    runs = campaign.runs
    found = runs.loc[~runs["valid"], ["run", "question", "case", "interconnect", "reason"]]
    named = {
        factor: [campaign.own_name(factor, level) or level for level in found[factor]]
        for factor in ("case", "interconnect")
    }
    return found.assign(**named).reset_index(drop=True)


def stacked(*frames: pd.DataFrame) -> pd.DataFrame:
    """Put tables of the same columns below each other."""
    return pd.concat(frames, ignore_index=True)
