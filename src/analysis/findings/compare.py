"""A campaign before and after an upgrade, cell by cell: what became better, worse, or stayed the same."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from analysis.base.errors import ConfigError
from analysis.base.units import JOULES_PER_WH
from analysis.base.words import binary_size, number, significant
from analysis.estimates import uncertainty
from analysis.estimates.campaign import Campaign
from analysis.estimates.differences import MARGIN, chances, clarity, equality, ratio_of
from analysis.estimates.finding import LIMITED, UNKNOWN_ORDER, days_said
from analysis.estimates.intervals import Array
from analysis.estimates.measures import MEASURES, TIMES, unit_of
from analysis.estimates.numerals import of_bytes
from analysis.estimates.ratios import in_margin
from analysis.estimates.sessions import not_in_turn
from analysis.estimates.stats import Estimate
from analysis.findings.changes import CellChange, cell_changes
from analysis.findings.matching import (
    LoneCell,
    MatchedCell,
    Matching,
    Renamed,
    level_pair,
    match,
    names,
    side,
)

# Of the differences that are called better or worse, so many may be false.
RATE = 0.05
WORSE, BETTER, EQUAL, UNKNOWN = WORDS = ("worse", "better", "equal", "cannot tell")
_NO_ORDER = LIMITED[UNKNOWN_ORDER][0]
LISTED = (WORSE, BETTER, UNKNOWN, EQUAL)
# What is compared in every cell; of tables of sizes each size by itself.
RATING, TABLES = "figure_of_merit", ("latency", "bandwidth")
WATCHED = (RATING, "elapsed", "energy", "mean_power", "mpi_fraction", "rank_memory", "node_memory_slurm")
# As of times and costs, less of these is better where the job is the same.
LESS = ("mpi_fraction", "rank_memory", "node_memory_slurm")
# Of so many cells a side that differ the nearest two are looked for.
_NEAREST_OF = 200

# Values of runs by measure and message size, -1 for what is of no size.
Values = dict[tuple[str, int], pd.Series]


@dataclass(frozen=True)
class Watched:
    """A measure of one cell; `size` is the message size in B of a table's row, -1 for other measures."""

    name: str
    measure: str
    size: int
    unit: str
    less_is_better: bool

    @property
    def family(self) -> str:
        """What its false discoveries are counted among: forty sizes of a table must not drown one rating."""
        return self.measure if self.measure == RATING else "tables" if self.measure in TABLES else "others"

    def direction(self, ratio: float) -> str:
        """Say what a ratio of after over before means: worse or better."""
        return WORSE if (ratio > 1) == self.less_is_better else BETTER

    def value_text(self, value: float, figures: int = 4) -> str:
        """Spell a value with its unit, bytes and joules as people read them."""
        unit, size = of_bytes(value) if self.unit == "B" else (self.unit, 1.0)
        unit, size = ("Wh", JOULES_PER_WH) if unit == "J" else (unit, size)
        return f"{significant(value / size, figures)} {unit}".strip()

    def measure_text(self, sizes: Sequence[int] = ()) -> str:
        """Spell the measure with its size, and the range of all sizes that it stands for."""
        word = self.measure.replace("_", " ")
        if self.size < 0:
            return word
        range_of = (
            f" (of {len(sizes)}: {binary_size(min(sizes))} to {binary_size(max(sizes))})"
            if len(sizes) > 1
            else ""
        )
        return f"{word} {binary_size(self.size)}{range_of}"


@dataclass(frozen=True)
class Difference(Watched):
    """A measure of one cell, before and after.

    `cell` is the cell's place among those that match. `ratio` is after over before, whichever way is better;
    `days` describes how far it covers days. `p` and `q` test "no difference", None if there are too few runs
    for a test. `judged` makes the word from `equal`, the result of two one-sided tests and the interval, and
    from `ways`, the clarity of the difference.
    """

    cell: int
    before: float
    after: float
    ratio: Estimate
    days: str
    runs: tuple[str, ...] = field(repr=False)
    equal: bool = False
    ways: Array | None = field(default=None, repr=False, compare=False)
    p: float | None = None
    q: float | None = None
    word: str = UNKNOWN
    reason: str = ""

    @property
    def rank(self) -> tuple[int, float]:
        """Its place in a list: the worst first."""
        return LISTED.index(self.word), -abs(float(np.log(self.ratio.value)))

    @property
    def texts(self) -> dict[str, str]:
        """The row of a table, by the titles of its columns."""
        return {
            "": self.word,
            "measure": self.measure_text(),
            "cell": self.name,
            "before": self.value_text(self.before),
            "after": self.value_text(self.after),
            "after / before": number(self.ratio, "×"),
            "q": "" if self.q is None else f"{self.q:.2g}",
            "n": f"{self.ratio.n_baseline}, {self.ratio.n}",
            "why": self.reason,
        }


@dataclass(frozen=True)
class Differences:
    """Two campaigns compared: `rows` worst first; what was matched, what else changed, what was left over.

    `usual` is what goes without saying in the names of the cells; `evidence` is the class of each side.
    """

    before: str
    after: str
    margin: float
    usual: str
    rows: tuple[Difference, ...]
    matching: Matching
    changes: tuple[CellChange, ...]
    evidence: tuple[str, str]
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
        """Each side's name with the cells that are not compared: the other side has no such cell."""
        return ((self.before, self.matching.only_before), (self.after, self.matching.only_after))

    @property
    def summary(self) -> str:
        """The result in one line."""
        counted = (f"{self.counts[word]} {word}" for word in (WORSE, BETTER))
        equal = f"{self.counts[EQUAL]} equal within {100 * self.margin:g} %"
        many = f"{_counted(len(self.rows), 'comparison')} in {_counted(len(self.cells), 'cell')}"
        out = f"{', '.join(counted)}, {equal}, {self.counts[UNKNOWN]} cannot tell ({many})"
        left = [f"{_counted(len(cells), 'cell')} only in {name}" for name, cells in self.lone if cells]
        unordered = [_NO_ORDER] if any(row.reason == _NO_ORDER for row in self.rows) else []
        return "; ".join([out, *unordered, *left])


def _counted(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


def upgrade(
    before: str, after: str, *, margin: float = MARGIN, ignore: Sequence[str] = (), across: Sequence[str] = ()
) -> Differences:
    """Compare two campaigns, or parts ``NAME:FACTOR=LEVEL`` of campaigns, by their names.

    `across` are ``FACTOR=BEFORE:AFTER``. Raises `ConfigError` if a name is unknown, or no runs of both agree
    in all factors; `ReadError` if datasets have not been built.
    """
    sides = side(before), side(after)
    pairs = [level_pair(text, *sides) for text in across]
    found = compare(*sides, names_of_sides=(before, after), margin=margin, ignore=ignore, across=pairs)
    if not found.cells:
        nearest = found.matching.nearest(_NEAREST_OF)
        lone = (*found.matching.only_before, *found.matching.only_after)
        why = next((f": {cell.reason}" for cell in lone), "")
        why = f": the nearest differ in {', '.join(nearest)}" if nearest else why
        what = f"no run of {after} is alike in all factors to one of {before}{why}"
        jobs = {"application", "case"} & set(nearest)
        remedy = "measure the same jobs" if jobs else "name what changed with --across or --ignore"
        raise ConfigError.at(after, 0, what, remedy)
    if not found.rows:
        what = f"no measure is known of runs of both {after} and {before}"
        raise ConfigError.at(after, 0, what, "see `benchbook inspect` for what their files hold")
    return found


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
    """Compare two campaigns in every cell that both have, by all measures of `WATCHED`.

    A measure became better or worse if the interval of its ratio excludes one, if it is significant within
    its family at a `rate` of false discoveries, and if the ratio lies outside the `margin`. It is equal if
    two one-sided tests and the whole interval show it. Anything else is not clear. `names_of_sides` names
    the two sides if they are parts of one campaign.
    """
    before, after = before.ungated(), after.ungated()
    matching = match(before, after, ignore, across)
    spelt, usual = names(matching.cells)
    values = [measures_of(one) for one in (before, after)]
    found = [
        row for at, cell in enumerate(matching.cells) for row in _cell(at, spelt[at], cell, values, margin)
    ]
    rows = judged(found, margin, rate)
    if "=" in "".join(names_of_sides or ()):  # campaigns, and periods of one, are before and after by nature
        rows = [_limited(row, matching.cells[row.cell]) for row in rows]
    rows.sort(key=lambda row: (*row.rank, row.cell, row.measure, row.size))
    sides = names_of_sides or (before.name, after.name)
    changed = dict.fromkeys(row.cell for row in rows if row.word in (WORSE, BETTER))
    return Differences(
        *sides, margin, usual, tuple(rows), matching,
        tuple(cell_changes(matching.cells, changed, before, after)), (before.evidence, after.evidence),
        tuple(_notes(before, after, matching, rows, sides)),
    )  # fmt: skip


def judged(found: Sequence[Difference], margin: float, rate: float) -> list[Difference]:
    """Give each difference its word, among all of its family that could be tested."""
    known = chances([row.ways for row in found], [row.family for row in found])
    out = []
    for row, one in zip(found, known, strict=True):
        p, q = (one.p, one.q) if one else (None, None)
        word, reason = _word(row, q, margin, rate)
        out.append(replace(row, ways=None, p=p, q=q, word=word, reason=reason))
    return out


def _limited(row: Difference, cell: MatchedCell) -> Difference:
    """Take back the word of parts of a campaign that were not run in turn; limit it if nobody knows."""
    limit = "" if MEASURES[row.measure].exact else not_in_turn(cell.before, cell.after)
    if row.word == UNKNOWN or not limit:
        return row
    if limit == UNKNOWN_ORDER:
        return replace(row, reason=_NO_ORDER)
    return replace(row, word=UNKNOWN, reason=f"{LIMITED[limit][0]}: {limit}")


def _word(row: Difference, q: float | None, margin: float, rate: float) -> tuple[str, str]:
    ratio = row.ratio
    if not ratio.settles:
        return UNKNOWN, "too few: four runs on each side are needed"
    clear = ratio.low > 1 or ratio.high < 1
    if row.equal:
        return EQUAL, "differs, and by no more than the margin" if clear else ""
    if not clear:
        return UNKNOWN, "the interval holds 1 and leaves the margin"
    if q is None or q > rate:
        return UNKNOWN, "not significant among all that were tested"
    if 1 / (1 + margin) <= ratio.value <= 1 + margin:
        return UNKNOWN, "differs, but perhaps by less than the margin"
    return row.direction(ratio.value), ""


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
) -> Iterator[Difference]:
    """Compare one cell's sides by everything that both have."""
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
    metered = point not in top or len({*top[point], *bottom[point]}) == 1
    return metered and unit_of(variable, top) == unit_of(variable, bottom)


def difference(
    at: int, name: str, asked: tuple[str, int], bottom: pd.DataFrame, top: pd.DataFrame, margin: float
) -> Difference:
    """Compare the runs of two sides, from `measured`; `judged` gives the word."""
    variable, size = asked
    ratio, _ = ratio_of(variable, top, bottom, between_days=True)
    near = ratio.settles and in_margin(ratio, margin)
    unit = unit_of(variable, top)
    return Difference(
        name, variable, size, unit, less_is_better(variable, unit), at,
        before=float(bottom["value"].median()),
        after=float(top["value"].median()),
        ratio=ratio,
        days=days_said(ratio),
        runs=(*bottom["run"], *top["run"]),
        equal=bool(near and equality(variable, margin, top, bottom).equivalent),
        ways=clarity(ratio, top, bottom) if ratio.settles else None,
    )  # fmt: skip


def _notes(
    before: Campaign, after: Campaign, matching: Matching, rows: Sequence[Difference], sides: tuple[str, str]
) -> Iterable[str]:
    """Say what a reader must know of the numbers."""
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
        yield from in_doubt(one, name)
    for text, count in Counter(row.days for row in rows if row.days).most_common():
        yield f"{text} ({count} of {len(rows)} comparisons)"


def in_doubt(campaign: Campaign, name: str) -> Iterator[str]:
    """Say how many cells may be no repeats; they are compared, for a change may be what divides them."""
    if campaign.doubts:
        what = f"{_counted(len(campaign.doubts), 'cell')} of {name} may be no repeats"
        yield f"{what}, and {'is' if len(campaign.doubts) == 1 else 'are'} compared all the same"


def _same_files(matching: Matching, shared: Mapping[str, str]) -> int:
    """Count runs of after whose files are those of a run of before, files of many runs left out."""
    before, after = (
        Counter(text for cell in matching.cells for text in getattr(cell, which)["checksum"])
        for which in ("before", "after")
    )
    return sum(count for text, count in after.items() if text and text in before and text not in shared)
