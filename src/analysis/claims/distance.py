"""How far a comparison is from the conditions of its claim, and whether it could have shown the value.

The distance of each factor is that of the runs' own level from what the claim names:

- same: that level, or another spelling of it;
- scaled: the same kind of thing in another size, count or release. Counts are scaled unless declared
  otherwise, and so is a level that the report does not state;
- analogue: something else that a campaign declares as a substitute, with its reason.

The largest distance counts. A level that differs and has no declared distance makes the runs unusable for the
claim. Any machine can test a claim about software, so only factors that determine the work count for it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import pandas as pd

from analysis.base.models import one_or_more
from analysis.base.words import NOT_KNOWN, Level, in_order
from analysis.claims.model import NOT_STATED, Claim
from analysis.estimates.campaign import Campaign, NotCoveredError
from analysis.estimates.finding import Finding
from analysis.estimates.spelling import own_name
from analysis.schema.campaigns import Distance
from analysis.schema.factors import BY_NAME, TABLE, is_known

DISTANCES: tuple[str, ...] = get_args(Distance)  # from the nearest to the farthest
OUT_OF_REACH = "out of reach"
# Of what no run can test: checked against its source, and as near to the claim as that.
LOOK_UP = "looked-up"
# The profiler is how a run is seen, and the grid follows from the case.
_ASKED = tuple(one.name for one in TABLE if one.kind != "view" and one.name != "local_size")
_OF_SOFTWARE = tuple(one.name for one in TABLE if one.work)
_COUNTS = tuple(name for name in _ASKED if BY_NAME[name].numeric)
# What moves nothing but the time in MPI.
_OF_MPI = ("interconnect", "mpi", "tuning")


@dataclass(frozen=True, slots=True)
class LevelDistance:
    """The distance in one factor: what the claim names, what the runs had, and the reason.

    `effect` is what that alone does to the claimed value, ``smaller``, ``larger`` or ``either``, where it is
    declared.
    """

    factor: str
    wanted: str
    found: str
    distance: str
    why: str = ""
    effect: str = ""

    def explains(self, way: str) -> bool:
        """Tell whether the distance alone can put a value on that side, ``smaller`` or ``larger``."""
        return bool(way) and not {way, "either"}.isdisjoint(self.effect.split(", "))


@dataclass(frozen=True, slots=True)
class _Level:
    """A level that a claim names for a factor, and one that runs have."""

    factor: str
    wanted: Any
    own: Any

    @property
    def named(self) -> bool:
        """Whether the claim allows the runs' level by name, in a list or a range."""
        if isinstance(self.wanted, Mapping):
            low, high = self.wanted.get("min", float("-inf")), self.wanted.get("max", float("inf"))
            return bool(low <= self.own <= high)
        return bool(self.own == self.wanted)

    def distance(self, campaign: Campaign) -> LevelDistance:
        """Return how far the two are from each other; `NotCoveredError` if this is not declared."""
        distance, why, effect = self._declared(campaign)
        found = own_name(campaign, self.factor, self.own) if is_known(self.own) else NOT_KNOWN
        wanted = _spelt(self.wanted)
        if self.factor == "application":
            wanted, found = campaign.application_name(wanted), campaign.application_name(found)
        return LevelDistance(self.factor, wanted, found, distance, why, effect)

    def _declared(self, campaign: Campaign) -> tuple[str, str, str]:
        stand_in = campaign.stand_ins.get(self.factor, {}).get(str(self.wanted))
        if stand_in is not None and self.own in one_or_more(stand_in.is_):
            return stand_in.distance, stand_in.differs, stand_in.effect
        if self.wanted == NOT_STATED:
            return "scaled", "the report does not state it", ""
        if self.named:
            return "same", "", ""
        if declared := campaign.apart.get(self.factor):
            return declared.distance, declared.why, declared.effect
        if self.factor in _COUNTS and is_known(self.own):
            return "scaled", "", ""
        name = self.factor.replace("_", " ")
        raise NotCoveredError(
            f"nothing declares how far {name} {_spelt(self.own) or 'unknown'} of {campaign.name} is from "
            f"{_spelt(self.wanted)}: declare it under `apart` or `levels` of the campaign"
        )


def distances(claim: Claim, campaign: Campaign, found: Sequence[Finding]) -> list[LevelDistance]:
    """Return, for each factor of a claim's conditions, how far the runs of its findings are from them.

    Raises `NotCoveredError` if a level differs and no distance is declared for it.
    """
    named = {run for finding in found for run in finding.runs}
    runs = campaign.runs[campaign.runs["run"].isin(named)]
    out = [_farthest(pairs) for pairs in _compared(claim, campaign, runs)]
    counted = _OF_SOFTWARE if claim.about == "software" else _ASKED
    out.append(_reach(claim, campaign, runs))
    conditions = _conditions(claim)
    for factor in (one for one in counted if one in conditions):
        wanted = one_or_more(conditions[factor])
        out.append(_farthest(_nearest(factor, own, wanted, campaign) for own in _own(runs, factor)))
    return [one for one in out if one is not None]


def _conditions(claim: Claim) -> dict[str, Any]:
    """Return a claim's conditions but the compared ones, with the number of ranks where it follows."""
    found, compare = dict(claim.conditions), claim.question.compare
    nodes, each = found.get("nodes"), found.get("ranks_per_node")
    if "ranks" not in found and isinstance(nodes, int) and isinstance(each, int):
        found["ranks"] = nodes * each
    for factor in (compare.factor, *(compare.along or ())[:1]) if compare else ():
        found.pop(str(factor), None)
    return found


def worst(found: Iterable[LevelDistance]) -> str:
    """Return the distance that counts: the farthest of all factors."""
    return max((one.distance for one in found), key=DISTANCES.index, default="same")


def _compared(claim: Claim, campaign: Campaign, runs: pd.DataFrame) -> Iterator[list[LevelDistance]]:
    """Compare every level that a claim compares with those of the runs that stand for it."""
    question = claim.question
    asked = dict.fromkeys(question.levels())
    if question.compare is None:
        return
    sides = {question.compare.factor, *((question.compare.along or ())[:1])}
    sides |= {factor for where in question.compare.where for factor in where}
    for factor in (one for one in _ASKED if one in sides):
        pairs = []
        for wanted in (level for name, level in asked if name == factor):
            own = set(campaign.resolve(factor, wanted)) & set(_own(runs, factor))
            pairs += [_Level(factor, wanted, level).distance(campaign) for level in in_order(own)]
        yield pairs


def _reach(claim: Claim, campaign: Campaign, runs: pd.DataFrame) -> LevelDistance | None:
    """Compare the end of the range of a trend with how far the runs go; None if they reach it.

    Where scaling stops is a level that the runs reach or do not: the range is where it is looked for.
    """
    compare = claim.question.compare
    if compare is None or compare.span is None or claim.question.quantity != "trend" or runs.empty:
        return None
    last, end = float(runs[compare.factor].max()), compare.span[1]
    if last >= end:
        return None
    wanted, found = (own_name(campaign, compare.factor, one) for one in (end, last))
    return LevelDistance(compare.factor, f"up to {wanted}", f"up to {found}", "scaled", "the runs end before")


def _nearest(factor: str, own: Level, wanted: Sequence[Any], campaign: Campaign) -> LevelDistance:
    """Compare a run's level with the nearest of those that a claim allows."""
    found = []
    for level in wanted:
        try:
            found.append(_Level(factor, level, own).distance(campaign))
        except NotCoveredError:
            if level is wanted[-1] and not found:
                raise
    return min(found, key=_rank)


def _farthest(found: Iterable[LevelDistance]) -> LevelDistance | None:
    """Return the distance that counts, with all levels that are as far as that."""
    every = list(found)
    far = [one for one in every if _rank(one) == max(map(_rank, every))]
    if not far:
        return None
    return replace(
        far[0], wanted=_each(one.wanted for one in far), found=_each(one.found for one in far),
        why=_each((one.why for one in far), "; "), effect=_each(one.effect for one in far),
    )  # fmt: skip


def _each(words: Iterable[str], between: str = ", ") -> str:
    return between.join(dict.fromkeys(word for word in words if word))


def _rank(one: LevelDistance) -> int:
    return DISTANCES.index(one.distance)


def _own(runs: pd.DataFrame, factor: str) -> list[Level]:
    return in_order({"" if pd.isna(level) else level for level in runs[factor]})


def _spelt(level: Any) -> str:
    if isinstance(level, Mapping):
        return " and ".join(f"{'at least' if end == 'min' else 'at most'} {level[end]:g}" for end in level)
    return f"{level:g}" if isinstance(level, float) else str(level)


def bound(claim: Claim, campaign: Campaign, finding: Finding) -> float | None:
    """Compute the greatest speed-up that a set-up could have shown, None where none is known.

    A link, a library or its settings move the time in MPI alone: without any of it a run would be
    1 / (1 - f) times as fast. f is the largest share of MPI in profiled runs that agree with the compared
    ones in work and nodes, of the campaign's own profiler if it names one.
    """
    compare = claim.question.compare
    if compare is None or compare.factor not in _OF_MPI or claim.question.quantity not in SPEEDUPS:
        return None
    runs = campaign.runs
    alike = runs["valid"] & runs["mpi_fraction"].notna()
    for factor in (*_OF_SOFTWARE, "nodes"):
        alike &= runs[factor].isin(runs.loc[runs["run"].isin(finding.runs), factor])
    if campaign.profiler:
        alike &= runs["profiler"] == campaign.profiler
    shares = runs.loc[alike, "mpi_fraction"]
    return None if shares.empty or shares.max() >= 1 else float(1 / (1 - shares.max()))


# Quantity -> the speed-up that a value of it is.
SPEEDUPS: Mapping[str, Any] = {
    "speedup": lambda value: value,
    "gain": lambda value: 1 + value / 100,
    "reduction": lambda value: 1 / (1 - value / 100) if value < 100 else float("inf"),
}


def reaches(claim: Claim, limit: float | None) -> bool:
    """Tell whether a set-up with a greatest speed-up could have shown the least that a claim allows."""
    least = claim.expect.band[0]
    return limit is None or least == float("-inf") or SPEEDUPS[claim.question.quantity](least) <= limit
