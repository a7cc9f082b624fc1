"""Claims compared with a model: the band of what the hardware permits, over draws of the unknowns.

Each draw answers a claim's question by itself, from the same draw on both sides. The band holds the central
95 % of the answers and is widened by the error of the model as far as it was compared with runs.

- inside the band: clearly 2.5 % of the draws or more reach what the claim allows, and the band excludes no
  effect; that confirms nothing;
- too wide to tell: fewer draws reach it, or the band has no effect too, an order both ways, or half of the
  claimed effect and twice of it;
- outside the band: nothing that the claim allows is permitted.
"""

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from analysis.base.words import attached, percent
from analysis.claims import unknowns
from analysis.claims.answers import DrawAnswers, answers, sweeps
from analysis.claims.model import Claim
from analysis.estimates.campaign import Campaign
from analysis.estimates.finding import Finding
from analysis.estimates.stats import Estimate
from analysis.model.draws import CENTRAL

INSIDE, OUTSIDE, TOO_WIDE = "inside the band", "outside the band", "too wide to tell"
REACHED = 0.025  # of the draws at least: what fewer reach is permitted by the ends of the ranges alone


@dataclass(frozen=True)
class Judged:
    """A claim compared with a model: the comparison that settles it, the word, and what it takes.

    `low` and `high` are the ends of what the claim allows, `reaching` the draws that reach it; `needed` has
    the value of each unknown that reaches the claim by itself, `shares` by unknown the share of the spread of
    the draws that is due to it, `units` the unknowns' units, and `hangs` the assumed end of a range on which
    nearly all draws rest that reach the claim.
    """

    answers: DrawAnswers
    word: str
    why: str
    low: float
    high: float
    reaching: NDArray[np.bool_]
    needed: dict[str, float] | None
    shares: Mapping[str, float]
    units: Mapping[str, str]
    hangs: str = ""

    @property
    def reached(self) -> float:
        """The share of draws that reach the claim."""
        return float(np.mean(self.reaching))

    @property
    def reason(self) -> str:
        """Why the word is that, with the share of draws and what it takes."""
        text = f"{self.why}; {_percent(self.reached)} of {len(self.answers.values)} draws {self._reach}"
        text = f"assumed structure: {text}" if self.answers.assumed else text
        if self.needed is None:
            text += ", also that with everything in the middle" if self.reached < 1 else ""
        elif not self.needed:
            text += "; no unknown by itself reaches it within ten times its range"
        else:
            values = (
                f"{name} {attached(f'{value:.2g}', self.units[name])}" for name, value in self.needed.items()
            )
            text += f"; by itself it takes {' or '.join(values)}"
        hangs = f"hangs on one assumed end: {self.hangs}" if self.hangs else ""
        return "; ".join(filter(None, (text, hangs, self.dominated)))

    @property
    def _reach(self) -> str:
        inside = (self.answers.values >= self.low) & (self.answers.values <= self.high)
        if (inside == self.reaching).all():
            return "reach it"
        return f"are as {'high' if np.median(self.answers.values) < self.high else 'low'}"

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
    reached = float(np.mean(_reaching(claim, one)))
    if reached < REACHED:
        return TOO_WIDE, f"permitted, but by less than {_percent(REACHED)} of the draws"
    if _open(claim, one):
        effect = "both orders" if _ordered(claim) else "half of the claimed effect and twice of it"
        effect = "the first level to the last" if one.levels else effect
        return TOO_WIDE, f"{effect} are permitted"
    neutral = _neutral(claim)
    if neutral is not None and least <= neutral <= most and not low < neutral < high:
        return TOO_WIDE, "no effect is permitted too"
    # Draws of another seed differ by two standard errors of a share.
    if reached < REACHED + 2 * (REACHED * (1 - REACHED) / one.drawn.sum()) ** 0.5:
        return TOO_WIDE, f"whether {_percent(REACHED)} of the draws reach it depends on chance"
    return INSIDE, "permitted, which confirms nothing"


def settled(claim: Claim, campaign: Campaign) -> tuple[DrawAnswers, float, float]:
    """Return the comparison that settles a claim, and the ends of what the claim allows."""
    return _settling(claim, answers(claim, campaign)), *_allowed(claim)


def _judged(claim: Claim, campaign: Campaign) -> Judged:
    one, low, high = settled(claim, campaign)
    word, why = _word(claim, one)
    known, drawn = unknowns.drawn(campaign), one.ratios[one.drawn]
    asked = sweeps(tuple(one.asked[~one.drawn]))  # what changes no cell has no sweep
    shares = unknowns.shares(drawn, asked, known)
    units = {name: each.unit for name, each in known.items()}
    found = Judged(one, word, why, low, high, _reaching(claim, one), one.needed(low, high), shares, units)
    numbers = drawn.index.to_numpy()[found.reaching]
    return replace(found, hangs=unknowns.hanging(numbers, shares, known))


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
    if claim.question.aggregate in ("max", "min"):
        # Of equal medians the one whose band reaches farther.
        if claim.question.aggregate == "max":
            return max(found, key=lambda one: (np.median(one.values), one.band[1]))
        return min(found, key=lambda one: (np.median(one.values), one.band[0]))
    return min(found, key=lambda one: float(np.mean(_reaching(claim, one))))


def _reaching(claim: Claim, one: DrawAnswers) -> NDArray[np.bool_]:
    """Tell which draws reach what a claim allows, from the side on which fewer of them lie.

    How many lie between two ends near each other would say how exactly the claim is printed; the margin of
    an equality is meant.
    """
    low, high = _allowed(claim)
    above, below = one.values >= low, one.values <= high
    if claim.question.quantity == "equality":
        return above & below
    return above if np.mean(above) < np.mean(below) else below


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
