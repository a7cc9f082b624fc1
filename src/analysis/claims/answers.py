"""What the draws of a model answer to a question: a ratio of speed, a level or a saving, draw by draw."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial, reduce

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.base.models import one_or_more
from analysis.base.words import Level
from analysis.claims.model import NOT_STATED, Claim
from analysis.estimates import cost
from analysis.estimates.campaign import Campaign, NotCoveredError
from analysis.estimates.finding import common, group_name
from analysis.estimates.groups import Groups, Pair, cells, groups, measured
from analysis.estimates.intervals import Array
from analysis.estimates.measures import MEASURES
from analysis.estimates.question import Comparison, Question
from analysis.estimates.ratios import better_is_more
from analysis.model import ASSUMED, DRAWN
from analysis.model.draws import central
from analysis.schema.campaigns import widened_by
from analysis.schema.factors import FACTORS

FIRST = 0  # the number of the first draw
_ALONG = ("trend", "saturation")  # quantities that are read off from step to step
CELLS = object()  # under which a campaign keeps its runs by cell
DEFAULT = "default"  # widening of a link that has none of its own
# Widening where no network is used, and where one link is on both sides, ranks placed alike: what the model
# has wrong about messages it has wrong twice. A link that congests has one of its own, ``same-link.1gbe``.
ONE_NODE, SAME_LINK = "one-node", "same-link"
# Widenings along counts of nodes on one link, where caches and networks that break down come in: from each
# count to the next, which orders and stops rest on, and from any to any. A kind of link can have its own.
NEXT, NODES = "next", "nodes"


@dataclass(frozen=True)
class DrawAnswers:
    """Ratios of speed that draws and sweeps give for one comparison, by the number of the draw.

    `of` turns ratios into the unit of the claim, rising or falling; `error` is the model's relative error;
    `levels` are the least and the greatest level, where the answer is a level; `runs` the compared ones.
    """

    ratios: pd.Series
    asked: pd.Series
    compared: str
    error: float
    of: Callable[[pd.Series], pd.Series]
    levels: tuple[float, float] | None = None
    runs: tuple[str, ...] = ()

    @cached_property
    def drawn(self) -> pd.Series:
        """Which answers come from draws, not from sweeps."""
        return self.asked.isin((DRAWN, ASSUMED))

    @cached_property
    def assumed(self) -> bool:
        """Whether the structure of the messages is assumed."""
        return bool((self.asked == ASSUMED).any())

    @cached_property
    def values(self) -> Array:
        """What the random draws answer, in the unit of the claim."""
        return self.of(self.ratios[self.drawn]).to_numpy(dtype="f8")

    @cached_property
    def band(self) -> tuple[float, float]:
        """The ends of the central answers, widened."""
        drawn = self.ratios[self.drawn]
        off = [self.of(drawn / (1 + self.error)), self.of(drawn * (1 + self.error))]
        lows, highs = zip(*(central(one.to_numpy(dtype="f8")) for one in off), strict=True)
        return min(lows), max(highs)

    def needed(self, low: float, high: float) -> dict[str, float] | None:
        """Say for each unknown the value nearest to the middle of its range with which the claim is reached.

        The others are in the middle of theirs. None where the claim is reached with all in the middle; an
        unknown that cannot do it, or changes nothing, is left out.
        """
        found = {}
        swept = self.asked[~self.drawn]
        for name, (rows, at) in sweeps(tuple(swept)).items():
            answers = self.of(self.ratios[swept.index[rows]]).to_numpy(dtype="f8")
            away = np.abs(np.log(at / np.sqrt(at.min() * at.max())))
            fits = (answers >= low) & (answers <= high)
            if fits[np.argmin(away)]:
                return None
            if fits.any() and np.ptp(answers) > 1e-3 * np.abs(answers).max():
                found[name] = float(at[fits][np.argmin(away[fits])])
        return found


@cache
def sweeps(asked: tuple[str, ...]) -> dict[str, tuple[NDArray[np.intp], Array]]:
    """Return the places and the values of each unknown's sweep: all cells of an application have the same."""
    parts = [one.split(" ") for one in asked]
    names = np.array([part[1] for part in parts], dtype=object)
    values = np.array([part[2] for part in parts], dtype="f8")
    found = {str(name): np.flatnonzero(names == name) for name in sorted(set(names))}
    return {name: (rows, values[rows]) for name, rows in found.items()}


def answers(claim: Claim, campaign: Campaign) -> list[DrawAnswers]:
    """Answer a claim's question from each draw and each step of the sweeps, one item per comparison.

    A model can have the claim's own conditions: only cells of these counts are used.
    """
    question = claim.question
    campaign.require(question.levels())
    compare = question.compare
    if compare is None or question.quantity not in _FORMS:
        raise NotCoveredError(f"the model gives no band for a {question.quantity} without a comparison")
    application = (question.select or {}).get("application", "")
    if isinstance(application, str) and application:
        (application,) = campaign.resolve("application", application)
        campaign = campaign.only("application", application)
    first = campaign.only("repeat", FIRST)
    frame = _under_conditions(claim, compare, measured(question, first), campaign.apart)
    return list(_FORMS[question.quantity](DrawnCells.of(question, compare, campaign, frame)))


@dataclass(frozen=True)
class DrawnCells:
    """The cells that a question asks for: one run of each, and all runs of it with their values.

    Cells are chosen and grouped by their first runs; all of their draws and sweeps are compared.
    """

    question: Question
    compare: Comparison
    campaign: Campaign
    first: pd.DataFrame
    runs: Mapping[str, pd.DataFrame]

    @classmethod
    def of(
        cls, question: Question, compare: Comparison, campaign: Campaign, first: pd.DataFrame
    ) -> DrawnCells:
        """Measure all runs of the cells in `first`, which has one run per cell."""
        if CELLS not in campaign.judged:
            runs = campaign.runs
            # Most columns are of what no model gives.
            blank = [name for name in runs if name not in FACTORS and runs[name].isna().all()]
            runs = runs.drop(columns=blank)
            campaign.judged[CELLS] = dict(iter(runs.groupby(_cell(runs), sort=False)))
        asked = (question.variable, question.members, question.scale)
        valued = {name: _valued(campaign, name, asked) for name in _cell(first).unique()}
        return cls(question, compare, campaign, first, valued)

    def groups(self, *, ordered: bool = False) -> list[Groups]:
        """Return the groups that are compared, of all draws."""
        found = groups(self.question, self.compare, self.campaign, self.first, ordered=ordered)
        return [self._filled(one) for one in found]

    def both(self) -> list[tuple[Groups, Groups]]:
        """Return the comparisons at both ends of an interaction, of all draws."""
        found = cells(self.question, self.compare, self.campaign, self.first)
        return [(self._filled(top), self._filled(bottom)) for top, bottom in found]

    def _filled(self, one: Groups) -> Groups:
        reference = None if one.reference is None else self._all(one.reference)
        pairs = tuple((self._all(x), self._all(y)) for x, y in one.pairs)
        return replace(one, ordered=tuple(map(self._all, one.ordered)), pairs=pairs, reference=reference)

    def _all(self, part: pd.DataFrame) -> pd.DataFrame:
        names = _cell(part).unique()
        return self.runs[names[0]] if len(names) == 1 else pd.concat([self.runs[one] for one in names])

    def answers(
        self,
        ratios: pd.Series,
        parts: Sequence[pd.DataFrame],
        compared: str,
        of: Callable[[pd.Series], pd.Series] = lambda ratios: ratios,
        levels: tuple[float, float] | None = None,
    ) -> DrawAnswers:
        """Return what draws and sweeps answer for groups of runs."""
        asked = _by_draw(parts[0], "question")
        runs = tuple(str(run) for part in parts for run in part["run"])
        return DrawAnswers(ratios, asked, compared, self.error(parts), of, levels, runs)

    def along(
        self, parts: Sequence[pd.DataFrame], of: Callable[[pd.Series], pd.Series], ends: tuple[float, float]
    ) -> DrawAnswers:
        """Answer from all levels at once: `of` takes the factor by which each step is off."""
        exact = pd.Series(1.0, index=parts[0]["repeat"].to_numpy())
        compared = f"along {', '.join(self.names(parts))}; {common(*parts)}"
        return self.answers(exact, parts, compared, of, ends)

    def names(self, parts: Sequence[pd.DataFrame]) -> list[str]:
        """Name the level of each group."""
        return [group_name(self.compare.factor, part) for part in parts]

    def speed(self, treatment: pd.DataFrame, baseline: pd.DataFrame) -> pd.Series:
        """Return how many times as fast one group is as another, by draw."""
        x, y = (_by_draw(part) for part in (treatment, baseline))
        return x / y if better_is_more(self.question, treatment) else y / x

    def yearly(self, one: Groups, part: pd.DataFrame) -> pd.Series:
        """Return what a year of the jobs costs with the energy of these runs."""
        tariff = self.question.tariff
        assert tariff is not None  # the schema sees to it
        pace = part if one.reference is None else one.reference
        seconds = _by_draw(cost.with_time(pace, self.campaign), "seconds")
        found: pd.Series = cost.yearly_cost(_by_draw(part), seconds, tariff.price, pue=tariff.pue)
        return found

    def error(self, parts: Sequence[pd.DataFrame]) -> float:
        """Return the model's relative error: of a measure, on one node, on one link, between links."""
        widening, question = self.campaign.widening, self.question
        links, nodes, placement = (
            {part[name].iloc[0] for part in parts} for name in ("interconnect", "nodes", "placement")
        )
        if question.variable in widening:
            return widening[question.variable]
        if nodes == {1}:
            return widening.get(ONE_NODE, 0.0)
        (link,) = links if len(links) == 1 else ("",)
        if link and "nodes" in self.compare.moving:
            kind = NEXT if question.quantity in _ALONG else NODES
            return widening.get(f"{kind}.{link}", widening.get(kind, widening.get(DEFAULT, 0.0)))
        if link and len(placement) == 1:
            return widening.get(f"{SAME_LINK}.{link}", widening.get(SAME_LINK, 0.0))
        return widened_by(widening, links)


def _valued(campaign: Campaign, cell: str, asked: tuple[str, tuple[Level, ...], float]) -> pd.DataFrame:
    """Return all runs of a cell with a measure's values, made once; of jobs at once those that have it."""
    if (cell, asked) not in campaign.judged:
        runs, (variable, members, scale) = campaign.judged[CELLS][cell], asked
        found = MEASURES[variable].compute(campaign, runs, members) * scale
        valued = runs.assign(value=runs["run"].map(found)).dropna(subset=["value"])
        campaign.judged[cell, asked] = valued
    kept: pd.DataFrame = campaign.judged[cell, asked]
    return kept


def _cell(runs: pd.DataFrame) -> pd.Series:
    """Return the cell of each run, the first part of its name ``cell-draw-job``."""
    return pd.Series([name.partition("-")[0] for name in runs["run"]], index=runs.index)


def _by_draw(part: pd.DataFrame, column: str = "value") -> pd.Series:
    """Return a column of a group by the number of the draw; `set_index` would copy all the others."""
    return pd.Series(part[column].to_numpy(), index=part["repeat"].to_numpy())


def _under_conditions(
    claim: Claim, compare: Comparison, frame: pd.DataFrame, apart: Collection[str]
) -> pd.DataFrame:
    moving = {*compare.moving, *(compare.along or ())[:1]}
    for factor in ("nodes", "ranks_per_node"):
        wanted = claim.conditions.get(factor, NOT_STATED)
        if factor in moving or factor in apart or wanted == NOT_STATED:
            continue
        if isinstance(wanted, dict):
            low, high = wanted.get("min", -np.inf), wanted.get("max", np.inf)
            frame = frame[frame[factor].between(low, high)]
        else:
            frame = frame[frame[factor].isin(one_or_more(wanted))]
        if frame.empty:
            raise NotCoveredError(f"no cell was modelled with {factor.replace('_', ' ')} {wanted}")
    return frame


def _pairs(found: DrawnCells) -> Iterator[DrawAnswers]:
    pairs = [pair for one in found.groups() for pair in one.pairs]
    if found.question.aggregate == "mean":
        yield _mean(found, pairs)
        return
    for x, y in pairs:
        more = float(x["ranks"].iloc[0] / y["ranks"].iloc[0])
        compared = f"{' against '.join(found.names((x, y)))}; {common(x, y)}"
        of = _in_percent(found.question.quantity, more)
        yield found.answers(found.speed(x, y), (x, y), compared, of)


def _in_percent(quantity: str, more: float = 1.0) -> Callable[[pd.Series], pd.Series]:
    """Return the quantity of a ratio of speeds; `more` is how many times as many ranks that took."""
    forms: dict[str, Callable[[pd.Series], pd.Series]] = {
        "gain": lambda ratio: 100 * (ratio - 1),
        "reduction": lambda ratio: 100 * (1 - 1 / ratio),
        "efficiency": lambda ratio: 100 * ratio / more,
    }
    return forms.get(quantity, lambda ratio: ratio)


def _mean(found: DrawnCells, pairs: Sequence[Pair]) -> DrawAnswers:
    """Compare the sums of costs over all pairs, a step of each case counting once."""
    sides = [reduce(operator.add, map(_by_draw, side)) for side in zip(*pairs, strict=True)]
    parts = [part for pair in pairs for part in pair]
    compared = f"{' against '.join(found.names(pairs[0]))}, mean of {len(pairs)}; {common(*parts)}"
    return found.answers(sides[1] / sides[0], parts, compared, _in_percent(found.question.quantity))


def _order(found: DrawnCells) -> Iterator[DrawAnswers]:
    for one in found.groups(ordered=True):
        steps = [found.speed(a, b) for a, b in itertools.pairwise(one.ordered)]
        weakest = pd.concat(steps, axis=1).min(axis=1)
        compared = f"{' > '.join(found.names(one.ordered))}; {common(*one.ordered)}"
        yield found.answers(weakest, one.ordered, compared)


def _trend(found: DrawnCells) -> Iterator[DrawAnswers]:
    """Find for each draw Kendall's tau along the levels, 1 where each is ahead of all before."""
    for one in found.groups(ordered=True):
        values = list(map(_by_draw, one.ordered))
        pairs = pd.concat([b / a for a, b in itertools.combinations(values, 2)], axis=1)
        yield found.along(one.ordered, partial(_tau, pairs), (-1.0, 1.0))


def _tau(pairs: pd.DataFrame, off: pd.Series) -> pd.Series:
    ahead: pd.Series = np.sign(pairs.loc[off.index].mul(off, axis=0) - 1).mean(axis=1)
    return ahead


def _saturation(found: DrawnCells) -> Iterator[DrawAnswers]:
    """Find for each draw the first level after which the next one brings less than the threshold."""
    for one in found.groups(ordered=True):
        levels = np.array([float(part[found.compare.factor].iloc[0]) for part in one.ordered])
        steps = pd.concat([found.speed(b, a) for a, b in itertools.pairwise(one.ordered)], axis=1)
        of = partial(_stop, steps, levels, found.question.threshold)
        yield found.along(one.ordered, of, (float(levels[0]), float(levels[-1])))


def _stop(steps: pd.DataFrame, levels: Array, threshold: float, off: pd.Series) -> pd.Series:
    short = steps.loc[off.index].mul(off, axis=0).to_numpy() < 1 + threshold
    return pd.Series(levels[np.where(short.any(axis=1), short.argmax(axis=1), -1)], index=off.index)


def _cost(found: DrawnCells) -> Iterator[DrawAnswers]:
    """Find what the treatment saves in a year, of the jobs that the tariff's level does."""
    for one in found.groups():
        for x, y in one.pairs:
            compared = f"{' against '.join(found.names((x, y)))}; {common(x, y)}"
            of = partial(_saved, found.yearly(one, y))
            yield found.answers(found.speed(x, y), (x, y), compared, of)


def _saved(base: pd.Series, ratio: pd.Series) -> pd.Series:
    return base.loc[ratio.index] * (1 - 1 / ratio)


def _growth(found: DrawnCells) -> Iterator[DrawAnswers]:
    """Compare the treatment's effect, or saving, at both levels of another factor."""
    for top, bottom in found.both():
        for above, below in zip(top.pairs, bottom.pairs, strict=True):
            if found.question.tariff is None:
                ratios = found.speed(*above) / found.speed(*below)
            else:
                ratios = _saving(found, top, above) / _saving(found, bottom, below)
            compared = f"{common(*above)} against {common(*below)}"
            yield found.answers(ratios, (*above, *below), compared)


def _saving(found: DrawnCells, one: Groups, pair: Pair) -> pd.Series:
    saved = found.yearly(one, pair[1]) - found.yearly(one, pair[0])
    if (saved <= 0).any():
        raise NotCoveredError("some draws save nothing at one of the counts, so that savings have no ratio")
    return saved


_FORMS: Mapping[str, Callable[[DrawnCells], Iterator[DrawAnswers]]] = {
    "trend": _trend,
    "saturation": _saturation,
    "cost": _cost,
    **dict.fromkeys(("speedup", "gain", "reduction", "efficiency", "equality"), _pairs),
    "ordering": _order,
    "interaction": _growth,
}
