"""Several campaigns, or the days of one, in order: where a measure of a cell changed, from what to what."""

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pandas as pd
from scipy import stats as distributions

from analysis.base.errors import ConfigError
from analysis.base.words import counted
from analysis.estimates.campaign import Campaign
from analysis.estimates.differences import MARGIN, chances, of_parts, ratio_of, scaled
from analysis.estimates.intervals import Array
from analysis.estimates.measures import unit_of
from analysis.estimates.spelling import differing, within
from analysis.estimates.stats import Estimate, median
from analysis.findings.compare import (
    BETTER,
    EQUAL,
    LISTED,
    RATE,
    UNKNOWN,
    WORSE,
    Values,
    Watched,
    less_is_better,
    measured,
    measures_of,
)  # fmt: skip
from analysis.findings.matching import Matching, Renamed, match, names
from analysis.findings.periods import changed, periods, usual

# A step needs campaigns on two sides, and so many that one of them is not all that there is.
FEWEST = 3
# With fewer runs beyond one a campaign the scatter of some orders vanishes: chance makes steps of any size.
FREEDOM = 8


@dataclass(frozen=True)
class ChangePoint:
    """A change between two campaigns that have the cell, `at` the place of the later one, `last` the other's.

    `ratio` is that of the medians of the campaigns from there to the next change over those from the change
    before; `campaigns` how many those are, before and after. The word needs an interval without 1. `changed`
    lists what else the records state differently from the campaign before.
    """

    at: int
    last: int
    before: float
    after: float
    ratio: Estimate
    campaigns: tuple[int, int]
    word: str
    changed: tuple[str, ...] = ()


@dataclass(frozen=True)
class CellHistory(Watched):
    """A measure of one cell over all campaigns: medians (NaN where it was not measured), runs, its steps.

    `place` names the application and the place; `ranges` are the intervals of the medians, NaN if there is
    none. `p` and `q` test "no change in any place", None if there are too few runs for a test. `best`
    compares the campaigns since the last change with the best ones before, from `at` to `last`; None if no
    earlier ones were better.
    """

    medians: tuple[float, ...]
    counts: tuple[int, ...]
    ranges: tuple[tuple[float, float], ...] = ()
    place: str = ""
    p: float | None = None
    q: float | None = None
    steps: tuple[ChangePoint, ...] = ()
    best: ChangePoint | None = None

    @property
    def word(self) -> str:
        """What became of it in the end: the word of its last step."""
        if self.q is None:
            return UNKNOWN
        return self.steps[-1].word if self.steps else EQUAL

    @property
    def largest(self) -> float:
        """The log ratio of its largest step, either way."""
        return max((abs(float(np.log(step.ratio.value))) for step in self.steps), default=0.0)


@dataclass(frozen=True)
class History:
    """Campaigns in the order given: every measure of every cell that at least three of them have."""

    campaigns: tuple[str, ...]
    margin: float
    usual: str
    tracks: tuple[CellHistory, ...]
    renamed: tuple[Renamed, ...]
    notes: tuple[str, ...]

    @property
    def worse(self) -> bool:
        """Whether the last step of anything was for the worse."""
        return any(track.word == WORSE for track in self.tracks)

    @property
    def lost(self) -> bool:
        """Whether anything is worse than it was at its best."""
        return any(track.best is not None and track.best.word == WORSE for track in self.tracks)

    def best_date(self, best: ChangePoint) -> str:
        """Name the campaigns of a series at its best, the first and the last."""
        first, last = self.campaigns[best.at], self.campaigns[best.last]
        return first if first == last else f"{first} to {last}"

    @property
    def summary(self) -> str:
        """The result in one line."""
        words = Counter(step.word for track in self.tracks for step in track.steps)
        last = Counter(track.word for track in self.tracks)
        steps = f"{counted(words[WORSE], 'step')} for the worse, {words[BETTER]} for the better"
        end = f"{last[WORSE]} worse, {last[BETTER]} better, {last[EQUAL]} without a step"
        end += f", {last[UNKNOWN]} cannot tell"
        return f"{steps}; in the end {end} ({len(self.tracks)} series over {len(self.campaigns)} campaigns)"


class Samples:
    """Runs of one measure of one cell, one frame a campaign that has it, with the campaigns' places."""

    def __init__(self, track: CellHistory, places: Sequence[int], parts: Sequence[pd.DataFrame]) -> None:
        self.track, self.places, self.parts = track, tuple(places), tuple(parts)
        self.counts = np.array([len(part) for part in parts])
        self.logs = [np.log(part["value"].to_numpy()) for part in parts]
        # Runs beyond one for each campaign.
        self.freedom = int((self.counts - 1).sum())

    def clarity(self) -> Array | None:
        """How clear the largest step is, as runs are and as they change campaigns; None of too few runs."""
        if len(self.parts) < FEWEST or self.freedom < FREEDOM:
            return None
        return of_parts(self._largest_step, self.logs)

    def _largest_step(self, parts: Sequence[Array]) -> Array:
        each = np.stack([part.sum(axis=1) for part in parts], axis=1)
        squares = sum((part**2).sum(axis=1) for part in parts)
        scatter = np.clip(squares - (each**2 / self.counts).sum(axis=1), 0.0, None)
        sums, left, n = np.cumsum(each, axis=1), np.cumsum(self.counts)[:-1], self.counts.sum()
        difference = (sums[:, -1:] - sums[:, :-1]) / (n - left) - sums[:, :-1] / left
        steps = scaled(difference, scatter[:, None], 1 / left + 1 / (n - left), self.freedom)
        return np.asarray(steps.max(axis=1))

    def split(self, least: float) -> list[int]:
        """Split where that lowers the squares by more than a step that is just clear enough does.

        The best of all splits, by dynamic programming (Jackson et al. 2005, IEEE Signal Processing Letters
        12), of every campaign's mean of logarithms weighted by its runs, over the scatter within campaigns.
        """
        means = np.array([one.mean() for one in self.logs])
        scatter = max(sum(float(((one - one.mean()) ** 2).sum()) for one in self.logs) / self.freedom, 1e-24)
        # From the scale that all series share to the square of this one's t.
        t = float(distributions.t.isf(distributions.norm.sf(least), self.freedom))
        penalty = t**2 * (1 - 1e-9)

        def cost(start: int, end: int) -> float:
            n, y = self.counts[start:end], means[start:end]
            return float((n * (y - np.average(y, weights=n)) ** 2).sum() / scatter)

        best, splits = [-penalty], [[0]]
        for end in range(1, len(means) + 1):
            costs = [best[start] + penalty + cost(start, end) for start in range(end)]
            start = int(np.argmin(costs))
            best.append(costs[start])
            splits.append([*splits[start], end])
        return splits[-1][1:-1]


def history(
    campaigns: Sequence[Campaign],
    *,
    called: Sequence[str] | None = None,
    margin: float = MARGIN,
    ignore: Sequence[str] = (),
) -> History:
    """Find where the measures of campaigns, three or more in their order, changed.

    Cells are those of the first campaign. A step is found where it is clear among all series at 5 % of
    false discoveries, and listed where the medians on its sides differ by more than the `margin`.
    """
    called = tuple(called or (one.name for one in campaigns))
    campaigns = [one.ungated() for one in campaigns]
    matched = [match(campaigns[0], one, ignore) for one in campaigns]
    samples = list(_samples(campaigns, matched, [measures_of(one) for one in campaigns]))
    notes = list(_notes(campaigns, called, matched))
    return _history(campaigns, called, samples, matched, notes, margin)


def over_time(
    campaign: Campaign, unit: str = "", *, margin: float = MARGIN, ignore: Sequence[str] = ()
) -> History:
    """Find where the measures of one campaign changed, from day to day, week to week or month to month.

    `unit` is ``day``, ``week`` or ``month``, by default the shortest that makes 60 parts at most. As
    `history`, but a cell may begin later: its series then begins there. Raises `ConfigError` of fewer than
    three parts.
    """
    unit = unit or usual(campaign)
    parts = periods(campaign.ungated(), unit)
    if len(parts) < FEWEST:
        what = f"its runs started on {counted(len(parts), unit)}; a history needs {FEWEST}"
        raise ConfigError.at(campaign.name, 0, what, "compare two campaigns, or two parts of it")
    campaigns = list(parts.values())
    values = [measures_of(one) for one in campaigns]
    every: list[Matching] = []
    samples: list[Samples] = []
    used: set[str] = set()
    for start in range(len(campaigns) - FEWEST + 1):
        left = campaigns[start].runs[~campaigns[start].runs["run"].isin(used)]
        # Invalid runs are in no cell, and so are never used.
        if not left["valid"].any():
            continue
        rest = [campaigns[start].own(left.reset_index(drop=True)), *campaigns[start + 1 :]]
        matched = [match(rest[0], one, ignore) for one in rest]
        used |= {run for one in matched for cell in one.cells for run in cell.after["run"]}
        samples += _samples(campaigns, matched, values, start)
        every = every or matched
    lone = int((~campaign.runs["valid"]).sum())
    notes = [f"{lone} of {len(campaign.runs)} runs count in no statistic"] if lone else []
    notes += [f"runs of a {unit} share it: what it did to its runs alone is a step too"]
    return _history(campaigns, tuple(parts), samples, every, notes, margin)


def _history(
    campaigns: Sequence[Campaign],
    called: tuple[str, ...],
    samples: Sequence[Samples],
    matched: Sequence[Matching],
    notes: Sequence[str],
    margin: float,
) -> History:

    @cache
    def what_changed(before: int, after: int) -> tuple[str, ...]:
        sides = campaigns[before], campaigns[after]
        return *map(str, match(*sides).renamed), *changed(*sides)

    tracks = [_explained(one, what_changed) for one in judged(samples, margin)]
    tracks.sort(key=lambda one: (LISTED.index(one.word), -one.largest))
    renamed = tuple(dict.fromkeys(one for each in matched for one in each.renamed))
    shared = names(matched[0].cells)[1] if matched else ""  # none of a campaign whose dated runs do not count
    return History(called, margin, shared, tuple(tracks), renamed, tuple(notes))


def _explained(track: CellHistory, what_changed: Callable[[int, int], tuple[str, ...]]) -> CellHistory:
    """Add to each step what else changed then: settings that were replaced, and what records state."""
    steps = tuple(replace(step, changed=what_changed(step.last, step.at)) for step in track.steps)
    return replace(track, steps=steps)


def judged(samples: Sequence[Samples], margin: float, rate: float = RATE) -> list[CellHistory]:
    """Find the steps of every series, among all of its family that could be tested."""
    found = chances([one.clarity() for one in samples], [one.track.family for one in samples], rate)
    tracks = []
    for one, own in zip(samples, found, strict=True):
        track = replace(one.track, p=own.p, q=own.q) if own else one.track
        # A further step must pass where the first one did.
        bounds = [0, *one.split(own.least), len(one.parts)] if own and own.q <= rate else [0, len(one.parts)]
        steps = tuple(_steps(one, bounds, margin))
        tracks.append(replace(track, steps=steps, best=_best(one, bounds, margin)))
    return tracks


def _samples(
    campaigns: Sequence[Campaign], matched: Sequence[Matching], values: Sequence[Values], start: int = 0
) -> Iterator[Samples]:
    """Make the series of the cells of the first of some campaigns, which are at `start` in the order."""
    cells = [{tuple(cell.factors.items()): cell for cell in one.cells} for one in matched]
    spelt, _ = names(matched[0].cells)
    strata = [dict(cell.factors) for cell in matched[0].cells]
    spoken = {"application", *(differing(strata) or ["case"])}
    places_of = [within(campaigns[start], stratum, spoken) for stratum in strata]
    for name, place, key in zip(spelt, places_of, cells[0], strict=True):
        row = [one.get(key) for one in cells]
        for asked in values[start]:
            parts = [
                measured(cell.after, own, asked) if cell and asked in own else pd.DataFrame({"value": []})
                for cell, own in zip(row, values[start:], strict=True)
            ]
            parts = [pd.DataFrame({"value": []}) for _ in campaigns[:start]] + parts
            places = [at for at, part in enumerate(parts) if len(part)]
            if len(places) >= FEWEST and places[0] == start:
                yield _sample((name, place), asked, places, parts)


def _sample(
    names_of_cell: tuple[str, str],
    asked: tuple[str, int],
    places: Sequence[int],
    parts: Sequence[pd.DataFrame],
) -> Samples:
    unit = unit_of(asked[0], parts[places[0]])
    middles = [median(part["value"].astype(float)) if len(part) else None for part in parts]
    medians = tuple(one.value if one else np.nan for one in middles)
    ranges = tuple((one.low, one.high) if one else (np.nan, np.nan) for one in middles)
    counts = tuple(map(len, parts))
    name, place = names_of_cell
    track = CellHistory(
        name, *asked, unit, less_is_better(asked[0], unit), medians, counts, ranges=ranges, place=place
    )
    return Samples(track, places, [parts[at] for at in places])


def _steps(samples: Samples, bounds: Sequence[int], margin: float) -> Iterator[ChangePoint]:
    """Estimate the steps of a series that are larger than the margin."""
    for first, at, end in zip(bounds, bounds[1:], bounds[2:], strict=False):
        step = _change(samples, at, (first, at), (at, end))
        if not _within(step, margin):
            yield step


def _best(samples: Samples, bounds: Sequence[int], margin: float) -> ChangePoint | None:
    """Compare the part of a series after its last change with the best part before."""
    *earlier, last = itertools.pairwise(bounds)
    if not earlier:
        return None
    sign = 1 if samples.track.less_is_better else -1
    best = min(earlier, key=lambda ends: sign * float(np.concatenate(samples.logs[slice(*ends)]).mean()))
    found = _change(samples, best[0], best, last)
    lost = samples.track.direction(found.ratio.value) == WORSE
    return found if lost and not _within(found, margin) else None


def _change(samples: Samples, at: int, before: tuple[int, int], after: tuple[int, int]) -> ChangePoint:
    """Compare two parts of a series, each from its first campaign to before its end."""
    bottom, top = (pd.concat(samples.parts[slice(*ends)], ignore_index=True) for ends in (before, after))
    ratio, _ = ratio_of(samples.track.measure, top, bottom, between_days=True)
    clear = ratio.settles and (ratio.low > 1 or ratio.high < 1)
    word = samples.track.direction(ratio.value) if clear else UNKNOWN
    medians = float(bottom["value"].median()), float(top["value"].median())
    counts = before[1] - before[0], after[1] - after[0]
    return ChangePoint(samples.places[at], samples.places[before[1] - 1], *medians, ratio, counts, word)


def _within(step: ChangePoint, margin: float) -> bool:
    return 1 / (1 + margin) <= step.ratio.value <= 1 + margin


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
