"""Claims held against a model: the band of what the hardware permits, over draws of what is not known.

Each draw answers a claim's question by itself, from the same draw on both sides. The band holds the central
95 % of the answers and is widened by the error of the model where it could be held against runs.

- inside the band: something that the claim allows is permitted; that confirms nothing;
- too wide to tell: half of the claimed effect and twice of it are permitted too, or an order both ways;
- outside the band: nothing that the claim allows is permitted.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, reduce

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.base.models import one_or_more
from analysis.base.words import Level
from analysis.claims.model import NOT_SAID, Claim
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
from analysis.schema.factors import FACTORS

INSIDE, OUTSIDE, TOO_WIDE = "inside the band", "outside the band", "too wide to tell"
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
class Answers:
    """Ratios of speed that draws and sweeps give for one comparison, by the number of the draw.

    `of` turns ratios into the unit of the claim, rising or falling; `error` is the model's relative error;
    `levels`, of what has levels for an answer, are the least and the greatest that there are.
    """

    ratios: pd.Series
    asked: pd.Series
    compared: str
    error: float
    of: Callable[[pd.Series], pd.Series]
    levels: tuple[float, float] | None = None

    @cached_property
    def drawn(self) -> pd.Series:
        """Which answers are of draws, not of sweeps."""
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
    """A claim held against a model: the comparison that settles it, the word, and what it takes.

    `reached` is the share of draws that the claim allows, `low` and `high` what it allows, `needed` the
    value of each unknown with which the claim is reached by it alone.
    """

    answers: Answers
    word: str
    why: str
    low: float
    high: float
    reached: float
    needed: dict[str, float] | None

    @property
    def reason(self) -> str:
        """Why the word is that, with the share of draws and what it takes."""
        said = f"{self.why}; {_percent(self.reached)} of {len(self.answers.values)} draws reach it"
        said = f"assumed structure: {said}" if self.answers.assumed else said
        if self.needed is None:
            return f"{said}, also that with everything in the middle" if self.reached < 1 else said
        if not self.needed:
            return f"{said}; no unknown by itself reaches it within ten times its range"
        return f"{said}; by itself it takes " + " or ".join(f"{k} {v:.2g}" for k, v in self.needed.items())

    @property
    def finding(self) -> Finding:
        """The band as what was found: the median, and its widened ends as the interval."""
        one, values, (low, high) = self.answers, self.answers.values, self.answers.band
        arithmetic = (
            f"draws from {values.min():.4g} to {values.max():.4g}, median {np.median(values):.4g}; "
            f"the central {CENTRAL:.0%} widened by {one.error:.0%} to {low:.4g} to {high:.4g}"
        )
        return Finding(
            Estimate(float(np.median(values)), low, high, len(values)), one.compared, arithmetic, ()
        )


def judge(claim: Claim, campaign: Campaign) -> Judged:
    """Hold a claim against a modelled campaign, once: a page asks for the same several times.

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


def _word(claim: Claim, one: Answers) -> tuple[str, str]:
    """Return the word for a band and why it is that."""
    low, high = _allowed(claim)
    least, most = one.band
    if most < low or least > high:
        return OUTSIDE, "the claim allows nothing of the band"
    if _open(claim, one):
        effect = "both orders" if _ordered(claim) else "half of the claimed effect and twice of it"
        effect = "the first level to the last" if one.levels else effect
        return TOO_WIDE, f"{effect} are permitted"
    return INSIDE, "permitted, which confirms nothing"


def _judged(claim: Claim, campaign: Campaign) -> Judged:
    one = _settling(claim, answers(claim, campaign))
    low, high = _allowed(claim)
    word, why = _word(claim, one)
    reached = float(np.mean((one.values >= low) & (one.values <= high)))
    if word == INSIDE and not reached:
        why = "permitted by the model's own error alone"
    return Judged(one, word, why, low, high, reached, one.needed(low, high))


def answers(claim: Claim, campaign: Campaign) -> list[Answers]:
    """Answer a claim's question from each draw and each step of the sweeps, one `Answers` a comparison.

    A model can take the claim's own conditions: only cells of these counts are asked.
    """
    question = claim.question
    campaign.require(question.levels())
    compare = question.compare
    if compare is None or question.quantity not in _FORMS:
        raise NotCoveredError(f"the model gives no band for a {question.quantity} without a comparison")
    application = (question.select or {}).get("application", "")
    if isinstance(application, str) and application:
        campaign = campaign.only("application", application)
    first = campaign.only("repeat", FIRST)
    frame = _under_conditions(claim, compare, measured(question, first))
    return _FORMS[question.quantity](question, compare, campaign, Cells.of(question, campaign, frame))


@dataclass(frozen=True)
class Cells:
    """The cells that a question asks for: one run of each, and with its values every draw and sweep of it.

    Cells are chosen and put together by their first runs; what is held against what are all of their runs.
    """

    first: pd.DataFrame
    runs: Mapping[str, pd.DataFrame]

    @classmethod
    def of(cls, question: Question, campaign: Campaign, first: pd.DataFrame) -> Cells:
        """Measure all runs of the cells of which `first` has one each."""
        if CELLS not in campaign.judged:
            runs = campaign.runs
            # Most columns are of what no model gives.
            blank = [name for name in runs if name not in FACTORS and runs[name].isna().all()]
            runs = runs.drop(columns=blank)
            campaign.judged[CELLS] = dict(iter(runs.groupby(_cell(runs), sort=False)))
        asked = (question.variable, question.members, question.scale)
        return cls(first, {name: _valued(campaign, name, asked) for name in _cell(first).unique()})

    def _all(self, part: pd.DataFrame) -> pd.DataFrame:
        names = _cell(part).unique()
        return self.runs[names[0]] if len(names) == 1 else pd.concat([self.runs[one] for one in names])

    def _filled(self, one: Groups) -> Groups:
        reference = None if one.reference is None else self._all(one.reference)
        pairs = tuple((self._all(x), self._all(y)) for x, y in one.pairs)
        return replace(one, ordered=tuple(map(self._all, one.ordered)), pairs=pairs, reference=reference)

    def groups(
        self, question: Question, compare: Comparison, campaign: Campaign, *, ordered: bool
    ) -> list[Groups]:
        """Return the groups that are held against each other, of all draws."""
        found = groups(question, compare, campaign, self.first, ordered=ordered)
        return [self._filled(one) for one in found]

    def both(
        self, question: Question, compare: Comparison, campaign: Campaign
    ) -> list[tuple[Groups, Groups]]:
        """Return the comparisons at both ends of an interaction, of all draws."""
        found = cells(question, compare, campaign, self.first)
        return [(self._filled(top), self._filled(bottom)) for top, bottom in found]


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


def _under_conditions(claim: Claim, compare: Comparison, frame: pd.DataFrame) -> pd.DataFrame:
    moving = {*compare.moving, *(compare.along or ())[:1]}
    for factor in ("nodes", "ranks_per_node"):
        wanted = claim.conditions.get(factor, NOT_SAID)
        if factor in moving or wanted == NOT_SAID:
            continue
        if isinstance(wanted, dict):
            low, high = wanted.get("min", -np.inf), wanted.get("max", np.inf)
            frame = frame[frame[factor].between(low, high)]
        else:
            frame = frame[frame[factor].isin(one_or_more(wanted))]
        if frame.empty:
            raise NotCoveredError(f"no cell was modelled with {factor.replace('_', ' ')} {wanted}")
    return frame


def _by_draw(part: pd.DataFrame, column: str = "value") -> pd.Series:
    """Return a column of a group by the number of the draw; `set_index` would copy all the others."""
    return pd.Series(part[column].to_numpy(), index=part["repeat"].to_numpy())


def _speed(question: Question, treatment: pd.DataFrame, baseline: pd.DataFrame) -> pd.Series:
    """Return how many times as fast one group is as another, by draw."""
    x, y = (_by_draw(part) for part in (treatment, baseline))
    return x / y if better_is_more(question, treatment) else y / x


def _answers(
    question: Question,
    campaign: Campaign,
    ratios: pd.Series,
    parts: Sequence[pd.DataFrame],
    told: str,
    more: float = 1,
) -> Answers:
    forms: dict[str, Callable[[pd.Series], pd.Series]] = {
        "gain": lambda ratio: 100 * (ratio - 1),
        "reduction": lambda ratio: 100 * (1 - 1 / ratio),
        "efficiency": lambda ratio: 100 * ratio / more,
    }
    of = forms.get(question.quantity, lambda ratio: ratio)
    return Answers(ratios, _asked(parts), told, _error(question, campaign, parts), of)


def _asked(parts: Sequence[pd.DataFrame]) -> pd.Series:
    return _by_draw(parts[0], "question")


def _error(question: Question, campaign: Campaign, parts: Sequence[pd.DataFrame]) -> float:
    """Return the relative error of what is compared: of a measure, of one node, of one link, of several."""
    widening = campaign.widening
    found = {name: {part[name].iloc[0] for part in parts} for name in ("interconnect", "nodes", "placement")}
    links = found["interconnect"]
    if question.variable in widening:
        return widening[question.variable]
    if found["nodes"] == {1}:
        return widening.get(ONE_NODE, 0.0)
    (link,) = links if len(links) == 1 else ("",)
    if link and question.compare is not None and "nodes" in question.compare.moving:
        kind = NEXT if question.quantity in _ALONG else NODES
        return widening.get(f"{kind}.{link}", widening.get(kind, widening.get(DEFAULT, 0.0)))
    if link and len(found["placement"]) == 1:
        return widening.get(f"{SAME_LINK}.{link}", widening.get(SAME_LINK, 0.0))
    return max((widening.get(link, widening.get(DEFAULT, 0.0)) for link in links), default=0.0)


def _pairs(question: Question, compare: Comparison, campaign: Campaign, frame: Cells) -> list[Answers]:
    out = []
    found = frame.groups(question, compare, campaign, ordered=False)
    if question.aggregate == "mean":
        return [_mean(question, compare, campaign, [pair for one in found for pair in one.pairs])]
    for one in found:
        for x, y in one.pairs:
            names = [group_name(compare.factor, part) for part in (x, y)]
            told = f"{names[0]} against {names[1]}; {common(x, y)}"
            more = float(x["ranks"].iloc[0] / y["ranks"].iloc[0])
            out.append(_answers(question, campaign, _speed(question, x, y), (x, y), told, more))
    return out


def _order(question: Question, compare: Comparison, campaign: Campaign, frame: Cells) -> list[Answers]:
    out = []
    for one in frame.groups(question, compare, campaign, ordered=True):
        steps = [_speed(question, a, b) for a, b in itertools.pairwise(one.ordered)]
        names = " > ".join(group_name(compare.factor, part) for part in one.ordered)
        weakest = pd.concat(steps, axis=1).min(axis=1)
        out.append(_answers(question, campaign, weakest, one.ordered, f"{names}; {common(*one.ordered)}"))
    return out


def _mean(question: Question, compare: Comparison, campaign: Campaign, pairs: Sequence[Pair]) -> Answers:
    """Compare the sums of costs over all pairs, a step of each case counting once."""
    sides = [reduce(operator.add, map(_by_draw, side)) for side in zip(*pairs, strict=True)]
    parts = [part for pair in pairs for part in pair]
    names = [group_name(compare.factor, part) for part in pairs[0]]
    told = f"{names[0]} against {names[1]}, mean of {len(pairs)}; {common(*parts)}"
    return _answers(question, campaign, sides[1] / sides[0], parts, told)


def _trend(question: Question, compare: Comparison, campaign: Campaign, frame: Cells) -> list[Answers]:
    """Find for each draw Kendall's tau along the levels, 1 where each is ahead of all before."""
    out = []
    for one in frame.groups(question, compare, campaign, ordered=True):
        values = list(map(_by_draw, one.ordered))
        pairs = pd.concat([b / a for a, b in itertools.combinations(values, 2)], axis=1)

        def tau(off: pd.Series, pairs: pd.DataFrame = pairs) -> pd.Series:
            ahead: pd.Series = np.sign(pairs.loc[off.index].mul(off, axis=0) - 1).mean(axis=1)
            return ahead

        out.append(_of_levels(question, compare, campaign, one.ordered, tau, (-1.0, 1.0)))
    return out


def _of_levels(
    question: Question,
    compare: Comparison,
    campaign: Campaign,
    parts: Sequence[pd.DataFrame],
    of: Callable[[pd.Series], pd.Series],
    ends: tuple[float, float],
) -> Answers:
    """Answer from all levels at once: `of` takes the factor by which each step is off."""
    told = f"along {', '.join(group_name(compare.factor, part) for part in parts)}; {common(*parts)}"
    exact = pd.Series(1.0, index=parts[0]["repeat"].to_numpy())
    return Answers(exact, _asked(parts), told, _error(question, campaign, parts), of, ends)


def _saturation(question: Question, compare: Comparison, campaign: Campaign, frame: Cells) -> list[Answers]:
    """Find for each draw the first level after which the next one brings less than the threshold."""
    out = []
    for one in frame.groups(question, compare, campaign, ordered=True):
        levels = np.array([float(part[compare.factor].iloc[0]) for part in one.ordered])
        steps = pd.concat([_speed(question, b, a) for a, b in itertools.pairwise(one.ordered)], axis=1)

        def stops(off: pd.Series, steps: pd.DataFrame = steps, levels: Array = levels) -> pd.Series:
            short = steps.loc[off.index].mul(off, axis=0).to_numpy() < 1 + question.threshold
            return pd.Series(levels[np.where(short.any(axis=1), short.argmax(axis=1), -1)], index=off.index)

        ends = (float(levels[0]), float(levels[-1]))
        out.append(_of_levels(question, compare, campaign, one.ordered, stops, ends))
    return out


def _cost(question: Question, compare: Comparison, campaign: Campaign, frame: Cells) -> list[Answers]:
    """Say what the treatment saves in a year, of the jobs that the tariff's level does."""
    out = []
    for one in frame.groups(question, compare, campaign, ordered=False):
        for x, y in one.pairs:
            base, ratios = _yearly(question, campaign, one, y), _speed(question, x, y)

            def saved(ratio: pd.Series, base: pd.Series = base) -> pd.Series:
                return base.loc[ratio.index] * (1 - 1 / ratio)

            names = [group_name(compare.factor, part) for part in (x, y)]
            told = f"{names[0]} against {names[1]}; {common(x, y)}"
            error = _error(question, campaign, (x, y))
            out.append(Answers(ratios, _asked((x,)), told, error, saved))
    return out


def _yearly(question: Question, campaign: Campaign, one: Groups, part: pd.DataFrame) -> pd.Series:
    """Return what a year of the jobs costs with the energy of these runs."""
    assert question.tariff is not None  # the schema sees to it
    pace = part if one.reference is None else one.reference
    seconds = _by_draw(cost.with_time(pace, campaign), "seconds")
    joules = _by_draw(part)
    found: pd.Series = cost.yearly_cost(joules, seconds, question.tariff.price, pue=question.tariff.pue)
    return found


def _growth(question: Question, compare: Comparison, campaign: Campaign, frame: Cells) -> list[Answers]:
    out = []
    for top, bottom in frame.both(question, compare, campaign):
        for above, below in zip(top.pairs, bottom.pairs, strict=True):
            ratios = _speed(question, *above) / _speed(question, *below)
            if question.tariff is not None:
                ratios = _saving(question, campaign, top, above) / _saving(question, campaign, bottom, below)
            told = f"{common(*above)} against {common(*below)}"
            out.append(_answers(question, campaign, ratios, (*above, *below), told))
    return out


def _saving(question: Question, campaign: Campaign, one: Groups, pair: Pair) -> pd.Series:
    saved = _yearly(question, campaign, one, pair[1]) - _yearly(question, campaign, one, pair[0])
    if (saved <= 0).any():
        raise NotCoveredError("some draws save nothing at one of the counts, so that savings have no ratio")
    return saved


_FORMS = {
    "trend": _trend,
    "saturation": _saturation,
    "cost": _cost,
    **dict.fromkeys(("speedup", "gain", "reduction", "efficiency", "equality"), _pairs),
    "ordering": _order,
    "interaction": _growth,
}


def _allowed(claim: Claim) -> tuple[float, float]:
    """Return what a claim allows, in the unit of its answers."""
    if claim.question.quantity == "equality":
        margin = 1 + claim.question.margin
        return 1 / margin, margin
    if claim.question.quantity == "trend":  # every level ahead of all before, or behind
        return (1.0, 1.0) if claim.expect.relation == "rising" else (-1.0, -1.0)
    return (1.0, np.inf) if claim.question.quantity == "ordering" else claim.expect.band


def _settling(claim: Claim, found: Sequence[Answers]) -> Answers:
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


def _neutral(claim: Claim) -> float:
    return {"gain": 0.0, "reduction": 0.0}.get(claim.question.quantity, 1.0)


def _open(claim: Claim, one: Answers) -> bool:
    """Tell whether a band says nothing: half and twice the claimed effect lie in it too."""
    low, high = one.band
    if one.levels is not None:
        return (low, high) == one.levels
    if claim.question.quantity == "equality":
        margin = 2 * claim.question.margin
        return low < 1 / (1 + margin) and high > 1 + margin
    if _ordered(claim):
        return low < _neutral(claim) < high
    claimed = claim.expect.value if claim.expect.value is not None else np.mean(claim.expect.band)
    return bool(low <= claimed / 2 and high >= 2 * claimed)


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if 0 < share < 0.995 else f"{100 * share:.0f} %"
