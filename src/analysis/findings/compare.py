"""A campaign before and after an upgrade, cell by cell: what became better, worse, or stayed the same."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.estimates import stats, uncertainty
from analysis.estimates.campaign import Campaign
from analysis.estimates.finding import days_said, measuring_days
from analysis.estimates.measures import MEASURES, TIMES, unit_of
from analysis.estimates.stats import NO_DAY, Estimate
from analysis.findings import relabelling
from analysis.findings.matching import LoneCell, MatchedCell, Matching, Renamed, match, names
from analysis.findings.relabelling import Array

MARGIN = 0.05
# Of the differences that are called better or worse, so many may be false.
RATE = 0.05
WORSE, BETTER, EQUAL, UNKNOWN = WORDS = ("worse", "better", "equal", "cannot tell")
# What is held against each other in every cell; of tables of sizes each size by itself.
WATCHED = (
    "figure_of_merit",
    "elapsed",
    "energy",
    "mean_power",
    "mpi_fraction",
    "rank_memory",
    "node_memory_slurm",
)
TABLES = ("latency", "bandwidth")
# False discoveries are counted in each by itself: forty sizes of a table must not drown one rating.
FAMILIES = (("figure_of_merit",), tuple(one for one in WATCHED if one != "figure_of_merit"), TABLES)
# Beside those whose unit is a time, and those that cost: where the job is the same, less of them is better.
LESS = ("mpi_fraction", "rank_memory", "node_memory_slurm")


# Values of runs by measure and message size, -1 for what is of no size.
Values = dict[tuple[str, int], pd.Series]


@dataclass(frozen=True)
class Difference:
    """A measure of one cell, before and after.

    `ratio` is after over before, whichever way is better; `harm` the logarithm of how many times worse it
    became. `p` and `q` are of "no difference", None where too few runs were made for a test. `size` is the
    message size in B of a table's row, -1 for other measures; `days` what is to be said of days.
    """

    cell: int
    name: str
    measure: str
    size: int
    unit: str
    less_is_better: bool
    before: float
    after: float
    ratio: Estimate
    p: float | None
    q: float | None
    word: str
    reason: str
    days: str
    runs: tuple[str, ...] = field(repr=False, default=())

    @property
    def harm(self) -> float:
        """Logarithm of how many times worse it became; negative where it became better."""
        return float(np.log(self.ratio.value)) * (1 if self.less_is_better else -1)


@dataclass(frozen=True)
class Differences:
    """Two campaigns held against each other: `rows` worst first; what was matched, and what was left over.

    `usual` is what goes without saying in the names of the cells.
    """

    before: str
    after: str
    margin: float
    rate: float
    usual: str
    rows: tuple[Difference, ...]
    matching: Matching
    notes: tuple[str, ...]

    @property
    def counts(self) -> Counter[str]:
        """Number of rows of each word."""
        return Counter(row.word for row in self.rows)

    @property
    def worse(self) -> bool:
        """Whether anything became worse."""
        return bool(self.counts[WORSE])

    @property
    def cells(self) -> tuple[MatchedCell, ...]:
        """The cells that both sides have."""
        return self.matching.cells

    @property
    def lone(self) -> tuple[tuple[str, tuple[LoneCell, ...]], ...]:
        """Each side's name with the cells that are not compared because the other side has nothing alike."""
        return ((self.before, self.matching.only_before), (self.after, self.matching.only_after))

    @property
    def summary(self) -> str:
        """The result in one line."""
        counted = (f"{self.counts[word]} {word}" for word in (WORSE, BETTER))
        equal = f"{self.counts[EQUAL]} equal within {100 * self.margin:g} %"
        many = f"{_counted(len(self.rows), 'comparison')} in {_counted(len(self.cells), 'cell')}"
        out = f"{', '.join(counted)}, {equal}, {self.counts[UNKNOWN]} cannot tell ({many})"
        left = [f"{_counted(len(cells), 'cell')} only in {name}" for name, cells in self.lone if cells]
        return "; ".join([out, *left])


def _counted(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


@dataclass(frozen=True)
class Measured:
    """A difference before it is judged among all others, and the statistics of its relabelled runs."""

    row: Difference
    equal: bool
    ways: Array | None


def compare(
    before: Campaign,
    after: Campaign,
    *,
    names_of_sides: tuple[str, str] | None = None,
    margin: float = MARGIN,
    rate: float = RATE,
    ignore: Sequence[str] = (),
    across: Iterable[Renamed] = (),
) -> Differences:
    """Hold two campaigns against each other in every cell that both have, by all measures of `WATCHED`.

    A measure became better or worse if its ratio differs from one, by the interval and among all of its
    family that were tested at a `rate` of false discoveries, and lies outside the `margin`; it is equal if
    two one-sided tests and the whole interval say so. Anything else cannot be told. `names_of_sides` are what
    to call the two, where they are parts of one campaign.
    """
    matching = match(before, after, ignore, across)
    spelt, usual = names(matching.cells)
    values = [measures_of(one) for one in (before, after)]
    found = [
        one for at, cell in enumerate(matching.cells) for one in _cell(at, spelt[at], cell, values, margin)
    ]
    rows = judged(found, margin, rate)
    order = {word: at for at, word in enumerate((WORSE, BETTER, UNKNOWN, EQUAL))}
    rows.sort(key=lambda row: (order[row.word], -abs(row.harm), row.cell, row.measure, row.size))
    sides = names_of_sides or (before.name, after.name)
    return Differences(
        *sides,
        margin,
        rate,
        usual,
        tuple(rows),
        matching,
        tuple(_notes(before, after, matching, rows, sides)),
    )


def judged(found: Sequence[Measured], margin: float, rate: float) -> list[Difference]:
    """Give each difference its word, among all of its family that could be tested."""
    rows = [one.row for one in found]
    for family in FAMILIES:
        tested = [at for at, one in enumerate(found) if one.ways is not None and one.row.measure in family]
        chances = relabelling.chances([ways for at in tested if (ways := found[at].ways) is not None])
        for at, (p, q) in zip(tested, chances, strict=True):
            rows[at] = replace(rows[at], p=p, q=q)
    return [
        replace(row, word=word, reason=reason)
        for row, (word, reason) in zip(
            rows,
            (_word(row, one.equal, margin, rate) for row, one in zip(rows, found, strict=True)),
            strict=True,
        )
    ]


def _word(row: Difference, equal: bool, margin: float, rate: float) -> tuple[str, str]:
    ratio = row.ratio
    if not ratio.settles:
        return UNKNOWN, "too few: four runs on each side are needed"
    clear = ratio.low > 1 or ratio.high < 1
    if equal:
        return EQUAL, "differs, and by no more than the margin" if clear else ""
    if not clear:
        return UNKNOWN, "the interval holds 1 and leaves the margin"
    if row.q is None or row.q > rate:
        return UNKNOWN, "would not stand among all that were tested"
    if 1 / (1 + margin) <= ratio.value <= 1 + margin:
        return UNKNOWN, "differs, but whether by more than the margin cannot be told"
    return (WORSE if row.harm > 0 else BETTER), ""


def less_is_better(variable: str, unit: str) -> bool:
    """Tell which way a measure of the same job becomes better; a figure of merit that is a time is a cost."""
    return variable in LESS or unit in TIMES or not MEASURES[variable].higher_is_better


def measures_of(campaign: Campaign) -> Values:
    """Measure the valid runs of a campaign by everything that is watched, sizes of tables each by itself.

    What is no positive number has no ratio and is left out.
    """
    runs = campaign.runs
    runs = runs[runs["valid"]]
    table = campaign.frame("micro")
    sizes = sorted(map(int, table.loc[table["run"].isin(runs["run"]), "size"].unique()))
    out: Values = {}
    for variable, size in [(one, -1) for one in WATCHED] + [(one, size) for size in sizes for one in TABLES]:
        spec = MEASURES[variable]
        used = runs[runs["timing"]] if spec.timing else runs
        values = spec.compute(campaign, used, () if size < 0 else (size,))
        values = values[np.isfinite(values) & (values > 0)]
        if len(values):
            out[variable, size] = values
    return out


def measured(runs: pd.DataFrame, values: Values, asked: tuple[str, int]) -> pd.DataFrame:
    """Return the runs that have a measure, with it as ``value``; see `measures_of`."""
    found = values[asked]
    used = runs[runs["run"].isin(found.index)]
    return uncertainty.with_point(used.assign(value=used["run"].map(found)), asked[0])


def _cell(
    at: int, name: str, cell: MatchedCell, sides: Sequence[Values], margin: float
) -> Iterator[Measured]:
    """Hold one cell's sides against each other by everything that both have."""
    for asked in (one for one in sides[0] if one in sides[1]):
        bottom, top = (
            measured(runs, values, asked)
            for runs, values in zip((cell.before, cell.after), sides, strict=True)
        )
        if len(top) and len(bottom) and _comparable(top, bottom, asked[0]):
            yield difference(at, name, asked, bottom, top, margin)


def _comparable(top: pd.DataFrame, bottom: pd.DataFrame, variable: str) -> bool:
    """Tell whether two groups have the same unit and were metered at one point."""
    point = uncertainty.POINT
    alike = point not in top or len({*top[point], *bottom[point]}) == 1
    return alike and unit_of(variable, top) == unit_of(variable, bottom)


def difference(
    at: int, name: str, asked: tuple[str, int], bottom: pd.DataFrame, top: pd.DataFrame, margin: float
) -> Measured:
    """Hold the runs of two sides, from `measured`, against each other; `judged` gives the word."""
    variable, size = asked
    days = measuring_days(top), measuring_days(bottom)
    known = all((of != NO_DAY).all() for of in days)
    values = top["value"].to_numpy(), bottom["value"].to_numpy()
    ratio = stats.ratio_between_days(*values, days) if known else stats.ratio_of_medians(*values)
    ratio, _ = uncertainty.widened_for(variable, ratio, operator.truediv, top, bottom)
    left = uncertainty.margin_left(variable, margin, top, bottom)
    within = ratio.settles and ratio.low >= 1 / (1 + margin) and ratio.high <= 1 + margin
    equal = bool(within and stats.equivalence(*values, left).equivalent)
    unit = unit_of(variable, top)
    less = less_is_better(variable, unit)
    row = Difference(
        at, name, variable, size, unit, less, float(np.median(values[1])), float(np.median(values[0])),
        ratio, None, None, UNKNOWN, "", days_said(ratio), (*bottom["run"], *top["run"]),
    )  # fmt: skip
    return Measured(row, equal, ways(ratio, values, days) if ratio.settles else None)


def ways(
    ratio: Estimate, values: tuple[Array, Array], days: tuple[NDArray[np.int64], NDArray[np.int64]]
) -> Array:
    """Return the statistics of relabelled runs, or days where a day stands for a run in the estimate."""
    after, before = (np.log(one) for one in values)
    if not ratio.by_days:
        return relabelling.of_sides(after, before)
    medians = [
        {day: float(np.median(one[of == day])) for day in sorted(set(of.tolist()))}
        for one, of in zip((after, before), days, strict=True)
    ]
    if len(ratio.days) == 1:
        common = [day for day in medians[0] if day in medians[1]]
        return relabelling.of_days(np.array([medians[0][day] - medians[1][day] for day in common]))
    return relabelling.of_sides(*(np.array(list(one.values())) for one in medians))


def _notes(
    before: Campaign, after: Campaign, matching: Matching, rows: Sequence[Difference], sides: tuple[str, str]
) -> Iterable[str]:
    """Say what a reader must know beside the numbers."""
    if before.evidence != after.evidence:
        yield f"{sides[0]} is {before.evidence}, {sides[1]} {after.evidence}: not the same evidence"
    if before.hardware != after.hardware:
        yield f"{sides[0]} ran on {before.hardware}; {sides[1]} on {after.hardware}"
    same = _same_files(matching, {**before.sources()[1], **after.sources()[1]})
    if same:
        yield f"{same} runs of {sides[1]} are the same files as runs of {sides[0]}"
    for name, one in zip(sides, (before, after), strict=True):
        failed = int((~one.runs["valid"]).sum())
        if failed:
            yield f"{failed} of {len(one.runs)} runs of {name} count in no statistic"
    said = Counter(row.days for row in rows if row.days)
    for text, count in said.most_common():
        yield f"{text} ({count} of {len(rows)} comparisons)"


def _same_files(matching: Matching, shared: Mapping[str, str]) -> int:
    """Count runs of after whose files are those of a run of before, files of many runs apart."""
    sums = [
        Counter(
            text
            for cell in matching.cells
            for text in getattr(cell, side)["checksum"]
            if text and text not in shared
        )
        for side in ("before", "after")
    ]
    return sum(count for text, count in sums[1].items() if text in sums[0])
