"""Claims compared with a model: the band of what the hardware permits, over draws of the unknowns.

Each draw answers a claim's question by itself, from the same draw on both sides. The band holds the central
95 % of the answers and is widened by the error of the model as far as it was compared with runs.

- inside the band: at least 2.5 % of the draws reach what the claim allows, and the band excludes no effect;
  that confirms nothing;
- too wide to tell: fewer draws reach it, or the band has no effect too, an order both ways, or half of the
  claimed effect and twice of it;
- outside the band: nothing that the claim allows is permitted.
"""

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
from analysis.base.words import Level, percent
from analysis.claims import unknowns
from analysis.claims.model import NOT_STATED, Claim
from analysis.estimates import cost
from analysis.estimates.campaign import Campaign, NotCoveredError
from analysis.estimates.finding import Finding, common, group_name
from analysis.estimates.groups import Groups, Pair, cells, groups, measured
from analysis.estimates.intervals import Array
from analysis.estimates.measures import MEASURES
from analysis.estimates.quantities import better_is_more
from analysis.estimates.question import Comparison, Question
from analysis.estimates.stats import Estimate
from analysis.model import ASSUMED, DRAWN
from analysis.model.draws import CENTRAL, central
from analysis.schema.campaigns import widened_by
from analysis.schema.factors import FACTORS

INSIDE, OUTSIDE, TOO_WIDE = "inside the band", "outside the band", "too wide to tell"
REACHED = 0.025  # of the draws at least: what fewer reach is permitted by the ends of the ranges alone
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
        for name, (rows, at) in _sweeps(tuple(swept)).items():
            answers = self.of(self.ratios[swept.index[rows]]).to_numpy(dtype="f8")
            away = np.abs(np.log(at / np.sqrt(at.min() * at.max())))
            fits = (answers >= low) & (answers <= high)
            if fits[np.argmin(away)]:
                return None
            if fits.any() and np.ptp(answers) > 1e-3 * np.abs(answers).max():
                found[name] = float(at[fits][np.argmin(away[fits])])
        return found


@cache
def _sweeps(asked: tuple[str, ...]) -> dict[str, tuple[NDArray[np.intp], Array]]:
    """Return the places and the values of each unknown's sweep: all cells of an application have the same."""
    parts = [one.split(" ") for one in asked]
    names = np.array([part[1] for part in parts], dtype=object)
    values = np.array([part[2] for part in parts], dtype="f8")
    found = {str(name): np.flatnonzero(names == name) for name in sorted(set(names))}
    return {name: (rows, values[rows]) for name, rows in found.items()}


@dataclass(frozen=True)
class Judged:
    """A claim compared with a model: the comparison that settles it, the word, and what it takes.

    `low` and `high` are the ends of what the claim allows; `needed` has the value of each unknown that
    reaches the claim by itself, `shares` by unknown the share of the spread of the draws that is due to it,
    and `hangs` the assumed end of a range on which nearly all draws rest that reach the claim.
    """

    answers: DrawAnswers
    word: str
    why: str
    low: float
    high: float
    needed: dict[str, float] | None
    shares: Mapping[str, float]
    hangs: str = ""

    @property
    def reaching(self) -> NDArray[np.bool_]:
        """Which draws the claim allows."""
        return (self.answers.values >= self.low) & (self.answers.values <= self.high)

    @property
    def reached(self) -> float:
        """The share of draws that the claim allows."""
        return float(np.mean(self.reaching))

    @property
    def reason(self) -> str:
        """Why the word is that, with the share of draws and what it takes."""
        text = f"{self.why}; {_percent(self.reached)} of {len(self.answers.values)} draws reach it"
        text = f"assumed structure: {text}" if self.answers.assumed else text
        if self.needed is None:
            text += ", also that with everything in the middle" if self.reached < 1 else ""
        elif not self.needed:
            text += "; no unknown by itself reaches it within ten times its range"
        else:
            text += "; by itself it takes " + " or ".join(f"{k} {v:.2g}" for k, v in self.needed.items())
        hangs = f"hangs on one assumed end: {self.hangs}" if self.hangs else ""
        return "; ".join(filter(None, (text, hangs, self.dominated)))

    @property
    def dominated(self) -> str:
        """Which unknown the spread of the draws is due to most, and how much narrower it would be without."""
        if not self.shares:
            return ""
        name, share = max(self.shares.items(), key=operator.itemgetter(1))
        narrower = 1 - np.sqrt(1 - min(share, 1.0))
        knowing = f"knowing that would narrow it by {_percent(float(narrower))}"
        return f"{_percent(share)} of the spread is due to {name}, and {knowing}"

    @property
    def finding(self) -> Finding:
        """The band as what was found: the median, and its widened ends as the interval."""
        one, values, (low, high) = self.answers, self.answers.values, self.answers.band
        arithmetic = (
            f"draws from {values.min():.4g} to {values.max():.4g}, median {np.median(values):.4g}; "
            f"the central {percent(CENTRAL)} widened by {percent(one.error)} to {low:.4g} to {high:.4g}"
        )
        return Finding(
            Estimate(float(np.median(values)), low, high, len(values)), one.compared, arithmetic, ()
        )


def judge(claim: Claim, campaign: Campaign) -> Judged:
    """Compare a claim with a modelled campaign, once: a page asks for the same several times.

    Raises `NotCoveredError` if the campaign has no cells for it or its quantity has no band.
    """
    kept: tuple[Claim, Judged] | None = campaign.judged.get(claim.id)
    if kept is None or kept[0] != claim:
        kept = campaign.judged[claim.id] = claim, _judged(claim, campaign)
    return kept[1]


def simulated(claim: Claim, campaign: Campaign, off: Sequence[float]) -> tuple[str, tuple[float, float]]:
    """Return the word, and the band, that a claim would have with simulated ratios.

    `off` is by how much these are more than the modelled ones, relative, at the least, the middle and the
    greatest; between them it is taken along the logarithm.
    """
    one = judge(claim, campaign).answers
    at = np.log([one.ratios[one.drawn].quantile(share) for share in (0, 0.5, 1)])
    ratios = one.ratios * (1 + np.interp(np.log(one.ratios), at, off))
    moved = replace(one, ratios=ratios)
    return _word(claim, moved)[0], moved.band


def _word(claim: Claim, one: DrawAnswers) -> tuple[str, str]:
    """Return the word for a band and why it is that."""
    low, high = _allowed(claim)
    least, most = one.band
    if most < low or least > high:
        return OUTSIDE, "the claim allows nothing of the band"
    reached = float(np.mean((one.values >= low) & (one.values <= high)))
    if reached < REACHED:
        return TOO_WIDE, f"permitted, but by less than {_percent(REACHED)} of the draws"
    if _open(claim, one):
        effect = "both orders" if _ordered(claim) else "half of the claimed effect and twice of it"
        effect = "the first level to the last" if one.levels else effect
        return TOO_WIDE, f"{effect} are permitted"
    neutral = _neutral(claim)
    if neutral is not None and least <= neutral <= most and not low < neutral < high:
        return TOO_WIDE, "no effect is permitted too"
    return INSIDE, "permitted, which confirms nothing"


def settled(claim: Claim, campaign: Campaign) -> tuple[DrawAnswers, float, float]:
    """Return the comparison that settles a claim, and the ends of what the claim allows."""
    return _settling(claim, answers(claim, campaign)), *_allowed(claim)


def _judged(claim: Claim, campaign: Campaign) -> Judged:
    one, low, high = settled(claim, campaign)
    word, why = _word(claim, one)
    known, drawn = unknowns.drawn(campaign), one.ratios[one.drawn]
    asked = _sweeps(tuple(one.asked[~one.drawn]))  # what changes no cell has no sweep
    shares = unknowns.shares(drawn, asked, known)
    found = Judged(one, word, why, low, high, one.needed(low, high), shares)
    numbers = drawn.index.to_numpy()[found.reaching]
    return replace(found, hangs=unknowns.hanging(numbers, shares, known))


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


# ---- one way to answer for each kind of quantity ----------------------------------------------------------


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


# Answers that mean no effect.
_NO_EFFECT = {"gain": 0.0, "reduction": 0.0, "cost": 0.0, "trend": 0.0} | dict.fromkeys(
    ("speedup", "ordering", "interaction"), 1.0
)


def _allowed(claim: Claim) -> tuple[float, float]:
    """Return what a claim allows, in the unit of its answers."""
    if claim.question.quantity == "equality":
        margin = 1 + claim.question.margin
        return 1 / margin, margin
    if claim.question.quantity == "trend":  # every level ahead of all before, or behind
        return (1.0, 1.0) if claim.expect.relation == "rising" else (-1.0, -1.0)
    return (1.0, np.inf) if claim.question.quantity == "ordering" else claim.expect.band


def _settling(claim: Claim, found: Sequence[DrawAnswers]) -> DrawAnswers:
    """Return the comparison that settles the claim: of "up to" the greatest, else the hardest to reach."""
    if len(found) == 1:
        return found[0]
    low, high = _allowed(claim)
    if claim.question.aggregate in ("max", "min"):
        # Of equal medians the one whose band reaches farther.
        if claim.question.aggregate == "max":
            return max(found, key=lambda one: (np.median(one.values), one.band[1]))
        return min(found, key=lambda one: (np.median(one.values), one.band[0]))
    return min(found, key=lambda one: float(np.mean((one.values >= low) & (one.values <= high))))


def _ordered(claim: Claim) -> bool:
    return claim.question.quantity == "ordering" or claim.expect.value == _neutral(claim)


def _neutral(claim: Claim) -> float | None:
    """Return the answer that means no effect; None of a quantity that is no effect."""
    return _NO_EFFECT.get(claim.question.quantity)


def _open(claim: Claim, one: DrawAnswers) -> bool:
    """Tell whether a band decides nothing: half and twice the claimed effect lie in it too."""
    low, high = one.band
    if one.levels is not None:
        return (low, high) == one.levels
    if claim.question.quantity == "equality":
        margin = 2 * claim.question.margin
        return low < 1 / (1 + margin) and high > 1 + margin
    if _ordered(claim) and (neutral := _neutral(claim)) is not None:
        return low < neutral < high
    claimed = claim.expect.value if claim.expect.value is not None else np.mean(claim.expect.band)
    return bool(low <= claimed / 2 and high >= 2 * claimed)


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if 0 < share < 0.995 else f"{100 * share:.0f} %"
