"""Levels of a factor held against a baseline: ratios along another factor, and their words."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from analysis.base.words import Level, attached, decimals, significant
from analysis.estimates import groups, tables
from analysis.estimates.campaign import Campaign, NotCoveredError
from analysis.estimates.groups import strata, strata_names
from analysis.estimates.measures import MEASURES, TIMES
from analysis.estimates.measures import unit_of as unit_of_measure
from analysis.estimates.quantities import findings_of
from analysis.estimates.question import Comparison, Question
from analysis.estimates.stats import Estimate
from analysis.pages.runs import Select, question, refuse_mixture, unit_of
from analysis.schema.factors import at_level, level_name

# How a ratio is said; what is not listed is "the <variable> of".
_PHRASES = {
    "application_time": "as fast as",
    "elapsed": "as fast as",
    "benchmark_time": "as fast as",
    "latency": "as fast as",
    "jobs_per_day": "as many jobs a day as",
    "figure_of_merit": "the rate of",
    "throughput": "the rate of",
    "energy_per_job": "the energy of",
    "energy": "the energy of",
    "mean_power": "the power of",
}


@dataclass(frozen=True)
class Stratum:
    """One stratum of a comparison: runs that differ in the factor and along the axis alone.

    `name` is empty for the only stratum. `values` has one row a run with the column ``value``, `medians`
    the columns along, factor, ``median low high n``, both in `unit`; `ratios` has along, factor, ``ratio low
    high n n_baseline base``, the last the baseline's median.
    """

    name: str
    unit: str
    values: pd.DataFrame
    medians: pd.DataFrame
    ratios: pd.DataFrame


@dataclass(frozen=True)
class Compared:
    """Levels of a factor held against a baseline, along another factor; it has at least one part.

    It is `inverted` where a ratio is baseline over level, so that more is faster: for times.
    """

    campaign: str
    evidence: str
    factor: str
    baseline: Level
    along: str
    variable: str
    inverted: bool
    parts: tuple[Stratum, ...]

    @property
    def phrase(self) -> str:
        """How a ratio is said: ``as fast as``."""
        return _PHRASES.get(self.variable, f"the {self.variable.replace('_', ' ')} of")

    def description(self, part: Stratum) -> str:
        """Say what the figure of a part shows."""
        what, base = self.variable.replace("_", " "), level_name(self.factor, self.baseline)
        runs = f"{part.name}; " if part.name else ""
        counts = sorted(set(part.medians["n"]))
        n = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        tail = f"{runs}medians of {n} runs with 95 % intervals"
        if part.medians[self.along].nunique() == 1:
            return f"{what} by {self.factor.replace('_', ' ')}, every run; {tail}".capitalize()
        return f"Times {self.phrase} {base} (above) and {what} (below) along {self.along}; {tail}"

    @property
    def table(self) -> pd.DataFrame:
        """All ratios, the parts below each other."""
        named = [part.ratios.assign(runs=part.name, base_unit=part.unit) for part in self.parts]
        whole = tables.stacked(*named)
        return whole if whole["runs"].any() else whole.drop(columns="runs")

    @property
    def sentences(self) -> list[str]:
        """What the ratios say: for each stratum and level its last value and where it is clear."""
        return [
            _ratio_sentence(self, part, level, rows)
            for part in self.parts
            for level, rows in part.ratios.groupby(self.factor, sort=False)
        ]


def compare(
    campaign: Campaign,
    factor: str,
    baseline: Level,
    *,
    along: str = "nodes",
    variable: str = "application_time",
    select: Select | None = None,
    varying: Sequence[str] = ("ranks",),
    members: Sequence[Level] = (),
    scale: float = 1.0,
) -> Compared:
    """Hold every level of a factor against a baseline, along another factor.

    Levels are spelt as in the report or as in the campaign; `variable`, `select`, `members` and `scale` are
    as in `analysis.pages.runs.question`; `varying` names other factors that change with the two by nature,
    as ranks do with nodes. A part for each stratum in which the baseline meets another level;
    `NotCoveredError` without one, or if a group would mix different things.
    """
    asked = question(campaign, variable, select, members=members, scale=scale)
    frame = groups.measured(asked, campaign)
    spec, base = MEASURES[variable], campaign.resolve(factor, baseline)[0]
    inverted = False
    found: list[tuple[Mapping[str, Level], Stratum]] = []
    for stratum, values in strata(frame, (factor, along, *varying), campaign, spec):
        refuse_mixture(values, [factor, along], varying)
        unit = unit_of(asked, values)
        inverted = unit_of_measure(variable, values) in TIMES
        # Of times and rates it is asked how many times faster one is, of energies how much less it takes.
        faster = inverted or spec.higher_is_better
        pairs = replace(asked, quantity="speedup" if faster else "reduction")
        ratios = _ratios(pairs, campaign, values, Comparison(factor, (base,), tuple(varying)), along)
        if len(ratios):
            medians = tables.summary(values, [along, factor], "value", variable)
            found.append((stratum, Stratum("", unit, values, medians, ratios)))
    if not found:
        raise NotCoveredError(f"{campaign.name} has no comparable runs for {factor} {base} and another level")
    names = strata_names([stratum for stratum, _ in found])
    parts = tuple(replace(part, name=name) for name, (_, part) in zip(names, found, strict=True))
    return Compared(campaign.name, campaign.evidence, factor, base, along, variable, inverted, parts)


def _ratios(
    asked: Question, campaign: Campaign, values: pd.DataFrame, compare: Comparison, along: str
) -> pd.DataFrame:
    """Hold every level of one stratum against the baseline, at each level of another factor."""
    factor, (base,) = compare.factor, compare.levels
    own = campaign.own()
    varying = tuple(name for name in compare.varying if name != along)
    met = values[values[along].isin(set(values.loc[values[factor] == base, along]))]
    rows = []
    for level in sorted(set(met[factor]) - {base}):
        pair = replace(asked, compare=Comparison(factor, (level, base), varying))
        for finding in findings_of(pair, own, met[met[factor].isin([level, base])]):
            ratio = finding.estimate
            if asked.quantity == "reduction":
                ratio = ratio.transformed(lambda less: 1.0 - less / 100.0)
            assert finding.base is not None
            shown = ratio.shown
            ends = (shown.value, shown.low, shown.high, shown.n, shown.n_baseline)
            rows.append((finding.stratum[along], level, *ends, finding.base[0]))
    columns = [along, factor, "ratio", "low", "high", "n", "n_baseline", "base"]
    table = pd.DataFrame(rows, columns=columns)
    return table.sort_values([along, factor], ignore_index=True)


def _ratio_sentence(compared: Compared, part: Stratum, level: Any, rows: pd.DataFrame) -> str:
    rows = rows.sort_values(compared.along)
    last = rows.iloc[-1]
    estimate = Estimate(float(last["ratio"]), float(last["low"]), float(last["high"]), int(last["n"]))
    places = max(decimals(estimate, 1), 0) if estimate.bounded else 2
    interval = (
        f"interval {estimate.low:.{places}f} to {estimate.high:.{places}f}"
        if estimate.bounded
        else f"no interval, n = {estimate.n}"
    )
    base = attached(significant(float(last["base"])), part.unit)
    names = [level_name(compared.factor, one) for one in (level, compared.baseline)]
    verb = "is" if compared.phrase.startswith("as fast") else "has"
    if not isinstance(level, str) and level != 1:
        verb = {"is": "are", "has": "have"}[verb]
    where = at_level(compared.along, last[compared.along])
    head = f"{part.name}: {where}" if part.name else f"A{where[1:]}"
    return (
        f"{head} {names[0]} {verb} {estimate.value:.{places}f} times {compared.phrase} {names[1]} "
        f"({interval}; {names[1]}: {base}); {_where_clear(compared, rows, names[1])}."
    )


def _where_clear(compared: Compared, rows: pd.DataFrame, baseline: str) -> str:
    """Say on which side of the baseline a curve is, and from where on."""
    words = {1: "ahead of it", -1: "behind it"} if compared.inverted else {1: "above it", -1: "below it"}
    ends = zip(rows["low"].to_numpy(float), rows["high"].to_numpy(float), strict=True)
    signs = [1 if low > 1 else -1 if high < 1 else 0 for low, high in ends]
    at = [level_name(compared.along, value) for value in rows[compared.along]]
    if not rows["low"].notna().any():
        return "too few runs to tell them apart"
    if not any(signs):
        return f"not clearly apart from {baseline}" + (" anywhere" if len(rows) > 1 else "")
    if len(rows) == 1:
        return f"clearly {words[signs[0]]}"
    ordered = pd.api.types.is_numeric_dtype(rows[compared.along])
    since = len(signs) - len(list(next(group for _, group in itertools.groupby(reversed(signs)))))
    if not ordered or signs[-1] == 0:
        since = len(signs)  # no side that it keeps to the end
    keeps = since < len(signs)
    parts = [f"{words[signs[-1]]} from {at[since]} on"] if keeps else []
    for sign in (1, -1, 0):
        where = [name for name, one in zip(at[:since], signs[:since], strict=True) if one == sign]
        # Not being told apart before the lead begins needs no mention.
        if where and (sign or not keeps):
            parts.append(f"{words.get(sign, 'not clearly apart from it')} at {', '.join(where)}")
    return ", ".join(parts)
