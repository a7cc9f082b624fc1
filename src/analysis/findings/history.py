"""Several campaigns in order: where a measure of a cell changed, from what to what."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from scipy import stats as distributions

from analysis.estimates import stats, uncertainty
from analysis.estimates.campaign import Campaign
from analysis.estimates.finding import measuring_days
from analysis.estimates.measures import unit_of
from analysis.estimates.stats import NO_DAY, Estimate
from analysis.findings import relabelling
from analysis.findings.compare import (
    BETTER,
    EQUAL,
    FAMILIES,
    MARGIN,
    RATE,
    UNKNOWN,
    WORSE,
    Values,
    less_is_better,
    measured,
    measures_of,
)  # fmt: skip
from analysis.findings.matching import MatchedCell, Matching, Renamed, match, names
from analysis.findings.relabelling import Array

# A step needs campaigns on two sides, and so many that one of them is not all that there is.
FEWEST = 3
# With fewer runs beyond one a campaign the scatter of some orders vanishes: chance makes steps of any size.
FREEDOM = 8


@dataclass(frozen=True)
class Step:
    """A change between two campaigns, `at` the place of the later one in the order.

    `ratio` is that of the medians of the campaigns from there to the next step over those from the step
    before; `campaigns` how many those are, before and after. The word needs an interval without 1.
    """

    at: int
    before: float
    after: float
    ratio: Estimate
    campaigns: tuple[int, int]
    word: str


@dataclass(frozen=True)
class Track:
    """A measure of one cell over all campaigns: medians (NaN where it was not measured), runs, its steps.

    `p` and `q` are of "no change in any place", None where too few runs were made for a test.
    """

    name: str
    measure: str
    size: int
    unit: str
    less_is_better: bool
    medians: tuple[float, ...]
    counts: tuple[int, ...]
    p: float | None = None
    q: float | None = None
    steps: tuple[Step, ...] = ()

    @property
    def word(self) -> str:
        """What became of it in the end: the word of its last step."""
        if self.q is None:
            return UNKNOWN
        return self.steps[-1].word if self.steps else EQUAL


@dataclass(frozen=True)
class History:
    """Campaigns in the order given: every measure of every cell that at least three of them have."""

    campaigns: tuple[str, ...]
    margin: float
    usual: str
    tracks: tuple[Track, ...]
    renamed: tuple[Renamed, ...]
    notes: tuple[str, ...]

    @property
    def worse(self) -> bool:
        """Whether the last step of anything was for the worse."""
        return any(track.word == WORSE for track in self.tracks)

    @property
    def summary(self) -> str:
        """The result in one line."""
        words = Counter(step.word for track in self.tracks for step in track.steps)
        last = Counter(track.word for track in self.tracks)
        steps = f"{words[WORSE]} steps for the worse, {words[BETTER]} for the better"
        end = f"{last[WORSE]} worse, {last[BETTER]} better, {last[EQUAL]} without a step"
        end += f", {last[UNKNOWN]} cannot tell"
        return f"{steps}; in the end {end} ({len(self.tracks)} series over {len(self.campaigns)} campaigns)"


@dataclass(frozen=True)
class Series:
    """Runs of one measure of one cell, one frame a campaign that has it, with the campaigns' places."""

    track: Track
    places: tuple[int, ...]
    parts: tuple[pd.DataFrame, ...]

    @cached_property
    def ends(self) -> Array:
        """Number of runs up to each campaign."""
        return np.cumsum([len(part) for part in self.parts])

    @cached_property
    def values(self) -> Array:
        """Logarithms of all runs, campaign by campaign."""
        logs = np.log(np.concatenate([part["value"].to_numpy() for part in self.parts]))
        return np.asarray(np.round(logs - np.median(logs), 12))

    @property
    def freedom(self) -> int:
        """Runs beyond one for each campaign."""
        return len(self.values) - len(self.parts)


def history(
    campaigns: Sequence[Campaign],
    *,
    called: Sequence[str] | None = None,
    margin: float = MARGIN,
    rate: float = RATE,
    ignore: Sequence[str] = (),
) -> History:
    """Find where the measures of campaigns, three or more in their order, changed.

    Cells are those of the first campaign; a step is found where it stands among all series at a `rate` of
    false discoveries, and told where the medians on its sides differ by more than the `margin`.
    """
    called = tuple(called or (one.name for one in campaigns))
    matched = [match(campaigns[0], one, ignore) for one in campaigns]
    series = list(_series(campaigns, matched))
    tracks = judged(series, margin, rate)
    order = (WORSE, BETTER, UNKNOWN, EQUAL)
    tracks.sort(key=lambda one: (order.index(one.word), -_largest(one)))
    renamed = tuple(dict.fromkeys(one for each in matched for one in each.renamed))
    usual = names(matched[0].cells)[1]
    return History(called, margin, usual, tuple(tracks), renamed, tuple(_notes(campaigns, called, matched)))


def judged(series: Sequence[Series], margin: float, rate: float) -> list[Track]:
    """Find the steps of every series, among all of its family that could be tested."""
    tracks = [one.track for one in series]
    for family in FAMILIES:
        tested = [
            at
            for at, one in enumerate(series)
            if one.track.measure in family and len(one.parts) >= FEWEST and one.freedom >= FREEDOM
        ]
        tried = [_ways(series[at]) for at in tested]
        found = relabelling.chances(tried)
        # Where Benjamini and Hochberg draw the line: a further step must pass it as the first one did.
        stand = sum(q <= rate for _, q in found)
        penalty = relabelling.quantile(tried, rate * stand / len(found)) if stand else np.inf
        for at, (p, q) in zip(tested, found, strict=True):
            track = replace(tracks[at], p=p, q=q)
            tracks[at] = _stepped(series[at], track, penalty, margin) if q <= rate else track
    return tracks


def _largest(track: Track) -> float:
    return max((abs(float(np.log(step.ratio.value))) for step in track.steps), default=0.0)


def _series(campaigns: Sequence[Campaign], matched: Sequence[Matching]) -> Iterator[Series]:
    values = [measures_of(one) for one in campaigns]
    cells = [{tuple(cell.factors.items()): cell for cell in one.cells} for one in matched]
    spelt, _ = names(matched[0].cells)
    for name, key in zip(spelt, cells[0], strict=True):
        row = [one.get(key) for one in cells]
        for asked in values[0]:
            parts = [_part(cell, own, asked) for cell, own in zip(row, values, strict=True)]
            places = tuple(at for at, part in enumerate(parts) if len(part))
            if len(places) >= FEWEST and places[0] == 0:
                yield _one(name, asked, places, parts)


def _part(cell: MatchedCell | None, values: Values, asked: tuple[str, int]) -> pd.DataFrame:
    if cell is None or asked not in values:
        return pd.DataFrame({"value": []})
    return measured(cell.after, values, asked)


def _one(name: str, asked: tuple[str, int], places: tuple[int, ...], parts: Sequence[pd.DataFrame]) -> Series:
    kept = tuple(parts[at] for at in places)
    unit = unit_of(asked[0], kept[0])
    medians = tuple(float(part["value"].median()) if len(part) else np.nan for part in parts)
    counts = tuple(len(part) for part in parts)
    track = Track(name, *asked, unit, less_is_better(asked[0], unit), medians, counts)
    return Series(track, places, kept)


def _ways(series: Series) -> Array:
    """Return the largest step's statistic of the true order, and of runs that changed their campaigns."""
    values = relabelling.shuffled(series.values)
    sums = np.cumsum(values, axis=1)[:, series.ends - 1]
    squares = float((series.values**2).sum())
    each = np.diff(sums, prepend=0.0, axis=1)
    counts = np.diff(series.ends, prepend=0)
    scatter = np.clip(squares - (each**2 / counts).sum(axis=1), 0.0, None)
    left, n = series.ends[:-1], len(series.values)
    difference = (sums[:, -1:] - sums[:, :-1]) / (n - left) - sums[:, :-1] / left
    share = 1 / left + 1 / (n - left)
    steps = relabelling.scaled(difference, scatter[:, None], share, series.freedom)
    return np.asarray(steps.max(axis=1))


def _stepped(series: Series, track: Track, penalty: float, margin: float) -> Track:
    bounds = [0, *_places(series, penalty), len(series.parts)]
    steps = (
        _step(series, bounds[at - 1], bounds[at], bounds[at + 1], margin) for at in range(1, len(bounds) - 1)
    )
    return replace(track, steps=tuple(step for step in steps if step is not None))


def _places(series: Series, penalty: float) -> list[int]:
    """Split a series where that lowers its squares by more than the penalty, a value of `_ways`.

    PELT (Killick, Fearnhead and Eckley 2012, JASA 107) of ruptures, with every campaign's mean of logarithms
    weighted by its runs, over the scatter within campaigns.
    """
    from ruptures import Pelt
    from ruptures.base import BaseCost

    counts = np.array([len(part) for part in series.parts], dtype=float)
    means = np.add.reduceat(series.values, np.r_[0, series.ends[:-1]]) / counts
    within = series.values - np.repeat(means, counts.astype(int))
    scatter = max(float((within**2).sum()) / series.freedom, 1e-24)

    class Weighted(BaseCost):  # type: ignore[misc]
        """Squares of the campaigns' means about their own, weighted, in units of the scatter within."""

        model = ""
        min_size = 1

        def fit(self, signal: Array) -> Weighted:
            self.signal = signal
            return self

        def error(self, start: int, end: int) -> float:
            n, y = counts[start:end], means[start:end]
            return float((n * (y - np.average(y, weights=n)) ** 2).sum() / scatter)

    # From the scale that all series share to the square of this one's t.
    t = float(distributions.t.isf(distributions.norm.sf(penalty), series.freedom))
    found = Pelt(custom_cost=Weighted(), min_size=1, jump=1).fit(means[:, None])
    places: list[int] = found.predict(pen=t**2 * (1 - 1e-9))[:-1]
    return places


def _step(series: Series, first: int, at: int, end: int, margin: float) -> Step | None:
    """Estimate a step between the campaigns before and from it on; None if it is within the margin."""
    bottom, top = (pd.concat(series.parts[a:b], ignore_index=True) for a, b in ((first, at), (at, end)))
    days = measuring_days(top), measuring_days(bottom)
    values = top["value"].to_numpy(), bottom["value"].to_numpy()
    known = all((of != NO_DAY).all() for of in days)
    ratio = stats.ratio_between_days(*values, days) if known else stats.ratio_of_medians(*values)
    ratio, _ = uncertainty.widened_for(series.track.measure, ratio, operator.truediv, top, bottom)
    if 1 / (1 + margin) <= ratio.value <= 1 + margin:
        return None
    word = WORSE if (ratio.value > 1) == series.track.less_is_better else BETTER
    if not (ratio.settles and (ratio.low > 1 or ratio.high < 1)):
        word = UNKNOWN
    medians = float(np.median(values[1])), float(np.median(values[0]))
    return Step(series.places[at], *medians, ratio, (at - first, end - at), word)


def _notes(
    campaigns: Sequence[Campaign], called: Sequence[str], matched: Sequence[Matching]
) -> Iterator[str]:
    starts = [one.runs["start"].min() for one in campaigns]
    dated = [(start, name) for start, name in zip(starts, called, strict=True) if not pd.isna(start)]
    if [start for start, _ in dated] != sorted(start for start, _ in dated):
        by_date = " ".join(name for _, name in sorted(dated))
        yield f"the order given is not that of the dates of their first runs, which is {by_date}"
    if len({one.evidence for one in campaigns}) > 1:
        classes = ", ".join(f"{n} {one.evidence}" for n, one in zip(called, campaigns, strict=True))
        yield f"not the same evidence: {classes}"
    for name, one in zip(called[1:], matched[1:], strict=True):
        lone = len(one.only_before), len(one.only_after)
        if any(lone):
            yield f"{name} lacks {lone[0]} cells of {called[0]}, and has {lone[1]} that {called[0]} has not"
    yield "runs of a campaign share its days: what a day did to one campaign alone is a step too"
