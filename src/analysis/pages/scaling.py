"""Measures along a factor: scaling with the nodes, times, calls, data and memory; and their words."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from analysis.base.words import Level, attached, capitalised, exact, number, significant, stop
from analysis.estimates import groups, tables
from analysis.estimates.campaign import Campaign, NotCoveredError
from analysis.estimates.groups import strata
from analysis.estimates.measures import MEASURES, shown_unit
from analysis.estimates.numerals import in_fitting_bytes
from analysis.estimates.quantities import findings_of
from analysis.estimates.question import Comparison, Question
from analysis.estimates.selection import Select
from analysis.estimates.sentences import Statement, with_base
from analysis.estimates.spelling import display, stratum_names
from analysis.estimates.stats import Estimate
from analysis.schema.factors import FACTORS, FOLLOWS, at_level, level_name


def series(
    campaign: Campaign,
    variables: Mapping[str, str],
    *,
    along: str = "nodes",
    select: Select | None = None,
    members: Sequence[Level] = (),
    scale: float = 1.0,
) -> pd.DataFrame:
    """Follow measures along a factor: `variables` maps the name of a curve to its measure.

    Columns ``series``, along, ``median low high n``; `select`, `members` and `scale` are as in
    `analysis.estimates.groups.level_question`. Raises `NotCoveredError` if no run has any of the measures, or
    if a group would mix runs that differ in anything but `along`.
    """
    out = []
    for name, variable in variables.items():
        asked = groups.level_question(campaign, variable, select, members=members, scale=scale)
        frame = groups.measured(asked, campaign)
        pooled = campaign.pool if MEASURES[variable].profile else ()
        loose = {"ranks", *pooled, *FOLLOWS.get(along, ())}
        groups.refuse_mixtures(frame, [along], [f for f in FACTORS if f not in loose and f != along])
        out.append(tables.summary(frame, [along], "value", variable).assign(series=name))
    return tables.stacked(*out)


def series_sentences(table: pd.DataFrame, unit: str, *, along: str = "nodes") -> list[str]:
    """Say in one sentence a curve of `series` where it begins and ends, and whether it goes one way."""
    out = []
    for curve, rows in _curves(table, "series", along):
        name = capitalised(curve)
        ends_of, fitting = in_fitting_bytes(rows.iloc[[0, -1]], unit)
        first, last = (_spelt(ends_of.iloc[i], fitting) for i in (0, -1))
        ends = [at_level(along, rows[along].iloc[i]) for i in (0, -1)]
        if len(rows) == 1:
            out.append(f"{name}: {first} {ends[0]}.")
            continue
        steps = rows["median"].diff().dropna()
        way = "rising" if (steps > 0).all() else "falling" if (steps < 0).all() else ""
        at_each = f", {way} at every step" if way and len(rows) > 2 else ""
        at_each = at_each or ("" if way else ", not in one direction")
        out.append(f"{name}: {first} {ends[0]}, {last} {ends[1]}{at_each}.")
    return out


def scaling(
    campaign: Campaign,
    *,
    factor: str = "interconnect",
    along: str = "nodes",
    variable: str = "application_time",
    select: Select | None = None,
    varying: Sequence[str] = ("ranks",),
    threshold: float = 0.05,
) -> pd.DataFrame:
    """Say how far more nodes bring more speed, a curve for each level of a factor; arguments as in `compare`.

    Columns ``runs`` (what distinguishes a stratum), ``level``, along (a number), ``value`` (median),
    ``unit``, ``speedup low high n n_baseline confidence`` over the curve's least count, ``efficiency`` (%,
    speedup over the ratio of ranks, its ends ``efficiency_low efficiency_high``), ``stops`` (words: the last
    count before a gain below `threshold`), ``answer``, the curve in a sentence or two, and ``caveats``, what
    else may be the cause. Raises `NotCoveredError` if no level was run at two counts or more, or a group
    would mix different things.
    """
    asked = replace(groups.level_question(campaign, variable, select), threshold=threshold)
    frame = groups.measured(asked, campaign)
    compare = Comparison(along, varying=tuple(name for name in varying if name != along))
    found = []
    for stratum, values in strata(frame, (along, *varying), campaign, MEASURES[variable]):
        groups.refuse_mixtures(values, [along], varying)
        if values[along].nunique() > 1:
            found.append((stratum, values))
    if not found:
        raise NotCoveredError(
            f"{campaign.name} has no runs at two counts of {along} that are alike otherwise"
        )
    _, names = stratum_names(campaign, [_without(stratum, factor) for stratum, _ in found])
    said = _names(campaign, found, factor, varying)
    curves = []
    for name, words, (stratum, values) in zip(names, said, found, strict=True):
        level = display(campaign, factor, stratum[factor])
        called = ", ".join(filter(None, (level, words))) if len(found) > 1 else ""
        curves.append(_curve(asked, campaign, values, compare, called).assign(runs=name, level=level))
    return tables.stacked(*curves)


def named_by_base(part: pd.DataFrame, along: str) -> pd.DataFrame:
    """Add its base to the level of each curve of `scaling` that begins at a larger count than others."""
    first = part.groupby("level")[along].transform("min")
    later = first > part[along].min()
    over = [
        f"{one}, over {level_name(along, least)}" for one, least in zip(part["level"], first, strict=True)
    ]
    return part.assign(level=part["level"].where(~later, over))


def _without(stratum: Mapping[str, Any], factor: str) -> dict[str, Any]:
    return {name: level for name, level in stratum.items() if name != factor}


def _names(
    campaign: Campaign,
    found: Sequence[tuple[Mapping[str, Any], pd.DataFrame]],
    factor: str,
    varying: Sequence[str],
) -> list[str]:
    """Name what distinguishes curves, their program and problem too if these differ between curves only."""
    one_each = [
        {
            name: values[name].iloc[0]
            for name in ("application", "case")
            if name in varying and name != factor and values[name].nunique() == 1
        }
        for _, values in found
    ]
    programs = [one.pop("application", "") for one in one_each]
    others = [_without(stratum, factor) | one for (stratum, _), one in zip(found, one_each, strict=True)]
    _, names = stratum_names(campaign, others)
    if len(set(programs)) == 1:
        return names
    titles = [display(campaign, "application", one) if one else "" for one in programs]
    return [", ".join(filter(None, pair)) for pair in zip(titles, names, strict=True)]


def scaling_sentences(table: pd.DataFrame) -> list[str]:
    """Say in one sentence a curve of `scaling` how far it gets and where it stops, then what limits them.

    Of more than three curves, those of the highest and the lowest efficiency at their ends come first.
    """
    ends = table.groupby("answer", sort=False)["efficiency"].last()
    said = list(dict.fromkeys(table["answer"]))
    limits = list(dict.fromkeys(one for one in table["caveats"] if one))
    if len(said) <= 3:
        return [*said, *limits]
    most, least = ends.idxmax(), ends.idxmin()
    first = f"Of {len(said)} curves, first those of the highest and the lowest efficiency at the end."
    return [first, most, least, *(one for one in said if one not in (most, least)), *limits]


def _curve(
    asked: Question, campaign: Campaign, values: pd.DataFrame, compare: Comparison, called: str
) -> pd.DataFrame:
    """Ask for the speedup and the efficiency of each count over the least one, and for where it stops.

    The only curve of a page is not `called` anything; its sentence says where it holds.
    """
    own, along = campaign.own(), compare.factor
    least, *more = sorted(set(values[along]))
    one = Estimate(1.0, 1.0, 1.0, n := int((values[along] == least).sum()), n)
    rows = [_point(values, along, least, one, one.transformed(lambda ratio: 100.0 * ratio))]
    for count in more:
        pair = replace(asked, quantity="speedup", compare=replace(compare, levels=(count, least)))
        speedup = findings_of(pair, own, values)
        (share,) = findings_of(replace(pair, quantity="efficiency"), own, values)
        rows.append(_point(values, along, count, speedup[0].estimate, share.estimate))
    whole = replace(asked, quantity="saturation", compare=replace(compare, span=(least, more[-1])))
    stops = findings_of(whole, own, values)
    unit = shown_unit(asked.variable, values, asked.scale)
    base = f"{display(campaign, along, least)}: {attached(significant(rows[0]['value']), unit)}"
    said = Statement(pair, speedup, campaign, brief=bool(called))
    # What limits the curve is said once.
    stopped = [replace(one, session="") for one in stops] if speedup[0].session else stops
    where = Statement(whole, stopped, campaign, brief=True)
    told, limits = [with_base(said.clause, base)], []
    if said.confounded:  # as long as the answer itself, and often that of other curves too
        limits = list(dict.fromkeys([*said.caveats, *where.caveats]))
        told += [where.clause]
    else:
        told += [*said.caveats, where.sentence]
    name = f"{called}: " * bool(called)
    answer, caveats = (f"{name}{'. '.join(one)}." if one else "" for one in (told, limits))
    return pd.DataFrame(rows).assign(
        unit=unit, stops=stop(stops[0].estimate, along), answer=answer, caveats=caveats
    )


def _point(
    values: pd.DataFrame, along: str, count: Any, speedup: Estimate, share: Estimate
) -> dict[str, Any]:
    ends = {"speedup": speedup.value, "low": speedup.low, "high": speedup.high}
    shares = {"efficiency": share.value, "efficiency_low": share.low, "efficiency_high": share.high}
    middle = float(values.loc[values[along] == count, "value"].median())
    level = speedup.level if speedup.bounded else math.nan
    counts = {"n": speedup.n, "n_baseline": speedup.n_baseline, "confidence": level}
    return {along: count, "value": middle, "unit": "", **ends, **counts, **shares}


def _curves(table: pd.DataFrame, name: str, along: str) -> Iterator[tuple[str, pd.DataFrame]]:
    """Take the curves of a table apart by their names, each in the order of its axis."""
    for curve, rows in table.groupby(name, sort=False):
        yield str(curve), rows.sort_values(along)


def _spelt(row: Any, unit: str) -> str:
    estimate = tables.estimate_of(row)
    if estimate.low == estimate.high:  # the runs agree, as counts do
        return attached(exact(estimate.value), unit)
    return number(estimate, unit)


def sizes(
    campaign: Campaign, value: str, select: Select | None = None, by: Sequence[str] = ("interconnect",)
) -> pd.DataFrame:
    """Follow a table of a micro-benchmark, ``latency`` (us) or ``bandwidth`` (MB/s), along the message size.

    Columns ``series size median low high n``; there is one curve per level of the factors `by`. Raises
    `NotCoveredError` if runs differ in another factor, or if no run is selected.
    """
    runs = campaign.select(select, timing=True)
    groups.refuse_mixtures(runs, list(by), [factor for factor in FACTORS if factor not in by])
    names = [
        ", ".join(display(campaign, factor, level) for factor, level in zip(by, key, strict=True))
        for key in runs[list(by)].itertuples(index=False)
    ]
    table = campaign.frame("micro").merge(runs[["run"]].assign(series=names), on="run")
    return tables.summary(table[table["size"] > 0], ["series", "size"], value)


def size_sentence(table: pd.DataFrame, value: str, unit: str) -> str:
    """Name each curve's latency at its least, or its bandwidth at its largest message, from `sizes`."""
    listed = []
    for name, rows in _curves(table, "series", "size"):
        row = rows.iloc[0 if value == "latency" else -1]
        listed.append(f"{name} {_spelt(row, unit)} at {row['size']:,} B")
    return f"{capitalised(value)}: {'; '.join(listed)}."
