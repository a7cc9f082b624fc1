"""Levels of a factor compared with a baseline: ratios along another factor, and their sentences."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

import pandas as pd

from analysis.base.words import Level, attached, capitalised, significant
from analysis.estimates import groups, spelling, tables
from analysis.estimates.campaign import Campaign, NotCoveredError
from analysis.estimates.groups import strata
from analysis.estimates.measures import MEASURES, shown_unit
from analysis.estimates.numerals import medians
from analysis.estimates.quantities import findings_of
from analysis.estimates.question import Comparison, Question
from analysis.estimates.ratios import side, upright
from analysis.estimates.selection import Select
from analysis.estimates.sentences import Statement, with_base
from analysis.estimates.spelling import display, measure_name, stratum_names
from analysis.schema.factors import BY_NAME, label


@dataclass(frozen=True)
class Stratum:
    """One stratum of a comparison: runs that differ in the factor and along the axis alone.

    `name` is empty for the only stratum. `values` has one row a run with the column ``value``, `medians` the
    columns along, factor, ``median low high n confidence``, both in `unit`; `ratios` has along, factor,
    ``ratio low high n n_baseline confidence base``, the last the baseline's median. `answers` has one for
    each of its rows.
    """

    name: str
    unit: str
    values: pd.DataFrame
    medians: pd.DataFrame
    ratios: pd.DataFrame
    answers: tuple[Statement, ...] = field(repr=False, default=())


@dataclass(frozen=True)
class Compared:
    """Levels of a factor compared with a baseline, along another factor; it has at least one part."""

    source: Campaign = field(repr=False)
    factor: str
    baseline: Level
    along: str
    variable: str
    parts: tuple[Stratum, ...]

    @property
    def phrase(self) -> str:
        """What follows "so many times": ``as fast as``."""
        return spelling.phrase(self.variable, self.factor)

    def display(self, level: Level, factor: str = "") -> str:
        """Name a level of the factor, or of another one."""
        return display(self.source, factor or self.factor, level)

    def what(self, part: Stratum) -> str:
        """Name the measure of a part; a figure of merit in seconds is a time."""
        timed = self.variable == "figure_of_merit" and part.unit in ("s", "µs")
        return "time" if timed else measure_name(self.variable)

    def description(self, part: Stratum) -> str:
        """Say what the figure of a part shows."""
        what, runs = self.what(part), f"{part.name}; " if part.name else ""
        tail = f"{runs}{medians(part.medians, part.ratios)}"
        if part.medians[self.along].nunique() == 1:
            return capitalised(f"{what} by {label(self.factor)}, every run; {tail}")
        base = self.display(self.baseline)
        return f"Times {self.phrase} {base} (above) and {what} (below) along {label(self.along)}; {tail}"

    @property
    def table(self) -> pd.DataFrame:
        """All ratios, the parts below each other."""
        named = [part.ratios.assign(runs=part.name, base_unit=part.unit) for part in self.parts]
        whole = tables.stacked(*named)
        return whole if whole["runs"].any() else whole.drop(columns="runs")

    @property
    def sentences(self) -> list[str]:
        """What the ratios say: for each stratum and level its last value and who is ahead where."""
        return [text for _, text in self.said]

    @property
    def said(self) -> list[tuple[float, str]]:
        """The sentences, each with how clear its last point is: the log ratio, 0 where that is not clear."""
        return [
            (self._clarity(part, rows), _sentence(self, part, rows))
            for part in self.parts
            for _, rows in part.ratios.groupby(self.factor, sort=False)
        ]

    def _clarity(self, part: Stratum, rows: pd.DataFrame) -> float:
        answer = part.answers[int(rows.sort_values(self.along).index[-1])]
        ratio = upright(answer.question.quantity, answer.found[0].estimate)
        return abs(math.log(ratio.value)) if side(ratio) else 0.0


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
    """Compare every level of a factor with a baseline, along another factor.

    Levels are spelt as in the report or as in the campaign; `variable`, `select`, `members` and `scale` are
    as in `analysis.estimates.groups.level_question`; `varying` names other factors that change with the two
    by nature, as ranks do with nodes. A part for each stratum in which the baseline meets another level;
    `NotCoveredError` without one, or if a group would mix different things.
    """
    asked = groups.level_question(campaign, variable, select, members=members, scale=scale)
    frame = groups.measured(asked, campaign)
    spec, base = MEASURES[variable], campaign.resolve(factor, baseline)[0]
    # Of speeds and energies it is asked how many times better one is, of all else how much more it takes.
    pairs = replace(asked, quantity="speedup" if spelling.wins(variable) else "reduction")
    found: list[tuple[Mapping[str, Level], Stratum]] = []
    for stratum, values in strata(frame, (factor, along, *varying), campaign, spec):
        groups.refuse_mixtures(values, [factor, along], varying)
        unit = shown_unit(asked.variable, values, asked.scale)
        ratios, answers = _ratios(pairs, campaign, values, Comparison(factor, (base,), tuple(varying)), along)
        if answers:
            medians = tables.summary(values, [along, factor], "value", variable)
            found.append((stratum, Stratum("", unit, values, medians, ratios, answers)))
    if not found:
        raise NotCoveredError(f"{campaign.name} has no comparable runs for {factor} {base} and another level")
    _, names = stratum_names(campaign, [stratum for stratum, _ in found])
    parts = tuple(replace(part, name=name) for name, (_, part) in zip(names, found, strict=True))
    return Compared(campaign, factor, base, along, variable, parts)


def _ratios(
    asked: Question, campaign: Campaign, values: pd.DataFrame, compare: Comparison, along: str
) -> tuple[pd.DataFrame, tuple[Statement, ...]]:
    """Compare every level of one stratum with the baseline, at each level of another factor."""
    factor, (base,) = compare.factor, compare.levels
    own = campaign.own()
    varying = tuple(name for name in compare.varying if name != along)
    met = values[values[along].isin(set(values.loc[values[factor] == base, along]))]
    rows: list[tuple[Any, ...]] = []
    for level in sorted(set(met[factor]) - {base}):
        pair = replace(asked, compare=Comparison(factor, (level, base), varying))
        for finding in findings_of(pair, own, met[met[factor].isin([level, base])]):
            one = finding.estimate
            if asked.quantity == "reduction":
                one = one.transformed(lambda less: 1.0 - less / 100.0)
            assert finding.base is not None
            level_at = one.level if one.bounded else float("nan")
            numbers = (one.value, one.low, one.high, one.n, one.n_baseline, level_at, finding.base[0])
            answer = Statement(pair, [finding], campaign)
            rows.append((finding.stratum[along], level, *numbers, answer))
    rows.sort(key=lambda row: row[:2])
    names = [along, factor, "ratio", "low", "high", "n", "n_baseline", "confidence", "base", "answer"]
    table = pd.DataFrame(rows, columns=names)
    return table.drop(columns="answer"), tuple(table["answer"])


def _sentence(compared: Compared, part: Stratum, rows: pd.DataFrame) -> str:
    """Give the answer at the last point of a curve, the baseline's value, and who is ahead where."""
    rows = rows.sort_values(compared.along)
    answers = [part.answers[int(at)] for at in rows.index]
    value = attached(significant(float(rows["base"].iloc[-1])), part.unit)
    base = f"{compared.display(compared.baseline)}: {value}"
    text = with_base(answers[-1].clause, base)
    notes = "".join(f" {one}." for one in answers[-1].caveats)
    estimates = [one.found[0].estimate for one in answers]
    few = [not one.settles for one in estimates]
    ordered = pd.api.types.is_numeric_dtype(rows[compared.along])
    if len(rows) > 1 and not ordered and all(few):
        return f"{_range(compared, rows)}.{notes}"
    if len(rows) == 1 or answers[-1].confounded or all(few):  # of which the sentence says that they are few
        return f"{text}.{notes}"
    signs = [
        side(upright(one.question.quantity, estimate))
        for one, estimate in zip(answers, estimates, strict=True)
    ]
    names = {1: compared.display(rows[compared.factor].iloc[0]), -1: compared.display(compared.baseline)}
    at = [compared.display(level, compared.along) for level in rows[compared.along]]
    unclear = text.startswith("There is no clear difference")
    return f"{text}; {_leads(names, at, signs, few, ordered=ordered, unclear=unclear)}.{notes}"


def _range(compared: Compared, rows: pd.DataFrame) -> str:
    """Give the least and the largest ratio of points without an interval, none of which stands for all.

    Problems have no common median, so of them the middle is not given.
    """
    ratios, name = sorted(rows["ratio"]), compared.display(rows[compared.factor].iloc[0])
    low, high, middle = (f"{one:#.3g}".rstrip(".") for one in (ratios[0], ratios[-1], median(ratios)))
    than = f"{low} to {high} times {compared.phrase} {compared.display(compared.baseline)}"
    problems = BY_NAME[compared.along].kind == "problem"
    among = "" if problems or len(ratios) < 3 else f" ({middle} in the middle)"
    by = f"in {len(ratios)} comparisons by {label(compared.along)}{among}"
    return f"{capitalised(name)} is {than} {by}; each has too few runs for an interval"


def _leads(
    names: Mapping[int, str],
    at: Sequence[str],
    signs: Sequence[int],
    few: Sequence[bool],
    *,
    ordered: bool,
    unclear: bool,
) -> str:
    """Say who is ahead at which points of an axis, and from where on; `few` are points with too few runs.

    `unclear` says that the sentence before ends with "no clear difference" at the last point.
    """
    since = len(signs) - len(list(next(group for _, group in itertools.groupby(reversed(signs)))))
    keeps = ordered and signs[-1] != 0  # a side that is ahead to the end
    since = since if keeps else len(signs)
    parts = [f"{names[signs[-1]]} is ahead from {at[since]} on"] if keeps else []
    none = "no clear difference"
    if not any(signs):  # the sentence is of the last point: equal, not clear, or too few runs
        since, none = since - 1, "nor is there one" if unclear else none
    before = list(zip(at[:since], signs[:since], few[:since], strict=True))
    for text, meant in (
        *((f"{names[sign]} is ahead", (sign, False)) for sign in (1, -1)),
        (none, (0, False)),
        ("too few runs", (0, True)),
    ):
        where = ", ".join(name for name, *one in before if tuple(one) == meant)
        # No clear difference before the lead begins needs no mention.
        if where and not (keeps and meant == (0, False)):
            parts.append(f"{text} at {where}")
    return ", ".join(parts)
