"""Several campaigns in order: where a measure of a cell changed, from what to what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy import stats as distributions

from analysis.estimates.campaign import Campaign
from analysis.estimates.differences import chances, of_parts, ratio_of, scaled
from analysis.estimates.intervals import Array
from analysis.estimates.measures import unit_of
from analysis.estimates.stats import Estimate
from analysis.findings.compare import (
    BETTER,
    EQUAL,
    LISTED,
    MARGIN,
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

# A step needs campaigns on two sides, and so many that one of them is not all that there is.
FEWEST = 3
# With fewer runs beyond one a campaign the scatter of some orders vanishes: chance makes steps of any size.
FREEDOM = 8


@dataclass(frozen=True)
class ChangePoint:
    """A change between two campaigns, `at` the place of the later one in the order.

    `ratio` is that of the medians of the campaigns from there to the next change over those from the change
    before; `campaigns` how many those are, before and after. The word needs an interval without 1.
    """

    at: int
    before: float
    after: float
    ratio: Estimate
    campaigns: tuple[int, int]
    word: str


@dataclass(frozen=True)
class CellHistory(Watched):
    """A measure of one cell over all campaigns: medians (NaN where it was not measured), runs, its steps.

    `p` and `q` test "no change in any place", None if there are too few runs for a test.
    """

    medians: tuple[float, ...]
    counts: tuple[int, ...]
    p: float | None = None
    q: float | None = None
    steps: tuple[ChangePoint, ...] = ()

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
    def summary(self) -> str:
        """The result in one line."""
        words = Counter(step.word for track in self.tracks for step in track.steps)
        last = Counter(track.word for track in self.tracks)
        steps = f"{words[WORSE]} steps for the worse, {words[BETTER]} for the better"
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
    rate: float = RATE,
    ignore: Sequence[str] = (),
) -> History:
    """Find where the measures of campaigns, three or more in their order, changed.

    Cells are those of the first campaign. A step is found where it is clear among all series at a `rate` of
    false discoveries, and listed where the medians on its sides differ by more than the `margin`.
    """
    called = tuple(called or (one.name for one in campaigns))
    matched = [match(campaigns[0], one, ignore) for one in campaigns]
    tracks = judged(list(_samples(campaigns, matched)), margin, rate)
    tracks.sort(key=lambda one: (LISTED.index(one.word), -one.largest))
    renamed = tuple(dict.fromkeys(one for each in matched for one in each.renamed))
    usual = names(matched[0].cells)[1]
    return History(called, margin, usual, tuple(tracks), renamed, tuple(_notes(campaigns, called, matched)))


def judged(samples: Sequence[Samples], margin: float, rate: float) -> list[CellHistory]:
    """Find the steps of every series, among all of its family that could be tested."""
    found = chances([one.clarity() for one in samples], [one.track.family for one in samples], rate)
    tracks = []
    for one, own in zip(samples, found, strict=True):
        track = replace(one.track, p=own.p, q=own.q) if own else one.track
        # A further step must pass where the first one did.
        steps = _steps(one, own.least, margin) if own and own.q <= rate else ()
        tracks.append(replace(track, steps=tuple(steps)))
    return tracks


def _samples(campaigns: Sequence[Campaign], matched: Sequence[Matching]) -> Iterator[Samples]:
    values = [measures_of(one) for one in campaigns]
    cells = [{tuple(cell.factors.items()): cell for cell in one.cells} for one in matched]
    spelt, _ = names(matched[0].cells)
    for name, key in zip(spelt, cells[0], strict=True):
        row = [one.get(key) for one in cells]
        for asked in values[0]:
            parts = [
                measured(cell.after, own, asked) if cell and asked in own else pd.DataFrame({"value": []})
                for cell, own in zip(row, values, strict=True)
            ]
            places = [at for at, part in enumerate(parts) if len(part)]
            if len(places) >= FEWEST and places[0] == 0:
                yield _sample(name, asked, places, parts, values)


def _sample(
    name: str,
    asked: tuple[str, int],
    places: Sequence[int],
    parts: Sequence[pd.DataFrame],
    values: Sequence[Values],
) -> Samples:
    unit = unit_of(asked[0], parts[0])
    medians = tuple(float(part["value"].median()) for part in parts)
    counts = tuple(map(len, parts))
    track = CellHistory(name, *asked, unit, less_is_better(asked[0], unit), medians, counts)
    return Samples(track, places, [parts[at] for at in places])


def _steps(samples: Samples, least: float, margin: float) -> Iterator[ChangePoint]:
    """Estimate the steps of a series that are larger than the margin."""
    bounds = [0, *samples.split(least), len(samples.parts)]
    for first, at, end in zip(bounds, bounds[1:], bounds[2:], strict=False):
        bottom, top = (pd.concat(samples.parts[a:b], ignore_index=True) for a, b in ((first, at), (at, end)))
        ratio, _ = ratio_of(samples.track.measure, top, bottom, between_days=True)
        if 1 / (1 + margin) <= ratio.value <= 1 + margin:
            continue
        clear = ratio.settles and (ratio.low > 1 or ratio.high < 1)
        word = samples.track.direction(ratio.value) if clear else UNKNOWN
        medians = float(bottom["value"].median()), float(top["value"].median())
        yield ChangePoint(samples.places[at], *medians, ratio, (at - first, end - at), word)


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
