"""How runs were made in time: sessions, blocks of one side, and whether the sides of a comparison alternate.

What happens to a machine between two times of day happens to all runs of one side if these were made in one
go. A ratio of such sides holds in that session, however many runs it rests on.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import binomtest

from analysis.base.models import OF_DRAWS
from analysis.estimates.campaign import Campaign
from analysis.estimates.differences import in_pairs, pair_names
from analysis.estimates.finding import (
    AT_ONCE,
    DAY,
    IN_ORDER,
    ONE_AFTER_ANOTHER,
    OTHER_HOURS,
    OTHER_SYSTEMS,
    SAME_FIRST,
    UNKNOWN_ORDER,
    Finding,
    at_once,
    measuring_days,
    places_in_time,
)
from analysis.estimates.groups import strata
from analysis.estimates.measures import MEASURES
from analysis.estimates.mixture import answered
from analysis.estimates.question import Comparison, Question
from analysis.schema.factors import FACTORS

Array = NDArray[np.float64]
Codes = NDArray[np.intp]
# A pause between runs of two days that begins a session, in s; runs of one day are of one session.
PAUSE = 2 * 3600.0
# In a shuffled order so few blocks, or sides so far apart in time, are seen in one of so many cases.
_SELDOM, _NEVER = 0.05, 0.01
_HOURS = 0.03  # so seldom do shuffled runs of some days keep their sides so far apart in the day
_DAY = 86_400  # s
_APART = 2 * np.sin(np.pi / 24)  # of a clock's radius: sides less than an hour apart are of one time of day
_SIDES = 2  # of a comparison
_CELLS = 4  # that show whether a campaign was shuffled
_BLOCKS = 2  # of each side, if it has the runs for it
_MANY = 6  # runs per side
_PAIRS = 4  # jobs; the same side is first in all of fewer by chance
_LONGER = 2.0  # times as long as any pause within a round is each between rounds
_ROUNDS = 6  # days that are counted each by itself
_DRAWS, _SEED = 2_000, 20_261_124


def confined(question: Question, campaign: Campaign, finding: Finding) -> str:
    """Say why a comparison has no full word (`finding.LIMITED`); empty if its sides were interleaved.

    So is what depends on no time, such as a count of messages.
    """
    spec, compare = MEASURES.get(question.variable), question.compare
    if compare is None or spec is None or spec.exact or not spec.timing or campaign.evidence in OF_DRAWS:
        return ""
    runs, places = _ordered(campaign)
    own = runs.iloc[sorted({places[run] for run in finding.runs if run in places})]
    systems = [one for one in campaign.repeats.pooled if one.systems] if campaign.repeats else []
    if systems and answered(own, systems).all():
        return OTHER_SYSTEMS
    if np.isnan(own["when"].to_numpy()).any():
        return OTHER_SYSTEMS if _on_other_clusters(own, compare) else UNKNOWN_ORDER
    by_day = DAY in campaign.matched
    if by_day or _are_pairs(own, compare):
        first = own.assign(day=measuring_days(own)).sort_values("when")
        first = first.drop_duplicates(DAY) if by_day else first[~pair_names(first).duplicated()]
        if _one_first(first[compare.factor]):
            return SAME_FIRST
    if by_day:
        return ""
    if _starts_of_rounds(own, compare).nunique() == 1:
        return SAME_FIRST
    # Places in time are those among the runs of an application.
    by = ["application", *([] if compare.along is None else compare.along[:1])]
    parts = [part for _, part in own.groupby(by, sort=True)]
    kept = all(_in_turn(part, compare, campaign, finding) for part in parts)
    if not kept:
        return _one_after_another(own, _codes(own[compare.factor]))
    return "" if _at_all_hours(own, compare, campaign) else OTHER_HOURS


def _on_other_clusters(runs: pd.DataFrame, compare: Comparison) -> bool:
    """Tell whether the two sides ran on known clusters and share none, where something else is compared."""
    sides = [set(part["cluster"]) for _, part in runs.groupby(compare.factor, sort=True)]
    known = compare.factor != "cluster" and len(sides) == _SIDES and not any("" in one for one in sides)
    return known and sides[0].isdisjoint(sides[1])


def _are_pairs(runs: pd.DataFrame, compare: Comparison) -> bool:
    """Tell whether two sides were measured in pairs that shared a job, four or more."""
    sides = [part for _, part in runs.groupby(compare.factor, sort=True)]
    return len(sides) == _SIDES and len(sides[0]) >= _PAIRS and in_pairs(*sides) is not None


def _starts_of_rounds(runs: pd.DataFrame, compare: Comparison) -> pd.Series:
    """Return the side that was first in each of four rounds or more, empty if pauses part no such rounds.

    A round has a block of each of two sides, as a pair that is run each hour; the first may be slow by that.
    """
    runs = runs.sort_values("start", kind="stable")
    sides, starts = runs[compare.factor], runs["start"].to_numpy("datetime64[s]")
    none = sides.iloc[:0]
    if np.isnat(starts).any() or sides.nunique() != _SIDES or len(runs) < _SIDES * _PAIRS:
        return none
    if len(set(starts.tolist())) < len(starts):  # of those that began at once none was first
        return none
    ends = starts.astype("f8") + runs["elapsed"].fillna(0.0).to_numpy("f8")
    pauses = np.maximum(starts.astype("f8")[1:] - ends[:-1], 1.0)
    falling = np.sort(pauses)[::-1][_PAIRS - 2 : len(runs) // _SIDES]
    steps = falling[:-1] / falling[1:]
    if steps.max() < _LONGER:
        return none
    rounds = np.concatenate([[0], np.cumsum(pauses >= falling[int(np.argmax(steps))])])
    each = [part for _, part in sides.groupby(rounds)]
    whole = all(np.count_nonzero(part[1:].to_numpy() != part[:-1].to_numpy()) == 1 for part in each)
    return pd.Series([part.iloc[0] for part in each]) if whole else none


def _one_first(firsts: pd.Series) -> bool:
    """Tell whether one side was first in all pairs, or in as many as are as seldom as all of `_PAIRS`."""
    most, pairs = int(firsts.value_counts().max()), len(firsts)
    return most == pairs or bool(binomtest(most, pairs).pvalue <= 2 * 0.5**_PAIRS)


def _one_after_another(runs: pd.DataFrame, sides: Codes) -> str:
    """Name the limit of sides that did not alternate: only clocks tell that they were one session."""
    if at_once(runs, sides):
        return AT_ONCE
    one = runs["session"].nunique() == 1 and not runs["start"].isna().any()
    return ONE_AFTER_ANOTHER if one else IN_ORDER


def _ordered(campaign: Campaign) -> tuple[pd.DataFrame, Mapping[str, int]]:
    """Return the runs whose times count with ``when``, NaN if not known, and the number of their session.

    And the place of each by its name.
    """
    if "sessions" not in campaign.judged:
        runs = campaign.runs
        runs = runs[runs["valid"] & runs["timing"]]
        places = {run: at for at, run in enumerate(runs["run"].tolist())}
        campaign.judged["sessions"] = runs.assign(**times(runs)), places
    found: tuple[pd.DataFrame, Mapping[str, int]] = campaign.judged["sessions"]
    return found


def times(runs: pd.DataFrame) -> Mapping[str, Array]:
    """Return when each run was made, NaN where nobody knows, and the number of its session.

    Both among the runs of its application.
    """
    when, session = np.full(len(runs), np.nan), np.zeros(len(runs))
    for rows in runs.reset_index(drop=True).groupby("application", sort=False).indices.values():
        part = runs.iloc[rows]
        when[rows] = places_in_time(part)
        start = part["start"].to_numpy("datetime64[s]")
        if not np.isnat(start).any():
            session[rows] = _sessions(start.astype("f8"))
    return {"when": when, "session": session}


def _sessions(seconds: Array) -> Array:
    """Return the number of the session of each run, from their starts in s."""
    order = np.argsort(seconds, kind="stable")
    ordered = seconds[order]
    new = (np.diff(ordered) > PAUSE) & (np.diff(ordered // _DAY) > 0)
    out = np.empty(len(seconds))
    out[order] = np.concatenate([[0], np.cumsum(new)])
    return out


def _in_turn(part: pd.DataFrame, compare: Comparison, campaign: Campaign, finding: Finding) -> bool:
    """Tell whether the levels of some runs alternate, by themselves or as a part of a shuffled campaign."""
    levels, when = _codes(part[compare.factor]), part["when"].to_numpy()
    order = _by_time(part["run"].to_numpy(), when, levels)
    codes, sessions = levels[order], part["session"].to_numpy()[order]
    if len(np.unique(codes)) < 2:
        return True
    if alternate(codes, sessions, by_days=finding.estimate.by_days):
        return True
    # Of a shuffled campaign few runs lie in blocks now and then, but not all of them.
    apart = blocks(codes, sessions).max() == 1 or not shuffled(codes, _NEVER / 2)
    return not apart and _all_shuffled(part, campaign) and _levels_shuffled(part, compare, campaign)


def _by_time(names: NDArray[np.object_], when: Array, sides: Codes) -> list[int]:
    """Sort runs by time; of those that began at once one of each side after another, as none was first.

    Their names, times and sides have shape (n,), so has the order.
    """
    moments, levels = when.tolist(), sides.tolist()
    by_name = sorted(range(len(names)), key=lambda at: names[at])
    seen: dict[tuple[float, int], int] = {}
    turns = [0] * len(names)
    for at in by_name:
        turns[at] = seen.get(key := (moments[at], levels[at]), 0)
        seen[key] = turns[at] + 1
    return sorted(by_name, key=lambda at: (moments[at], turns[at], names[at]))


def not_in_turn(*sides: pd.DataFrame) -> str:
    """Say why two groups of runs were not run in turn (a key of `LIMITED`), empty if they were."""
    runs = pd.concat(sides)
    codes, found = np.repeat(range(len(sides)), [len(one) for one in sides]), times(runs)
    if np.isnan(found["when"]).any():
        return UNKNOWN_ORDER
    order = _by_time(runs["run"].to_numpy(), found["when"], codes)
    kept = alternate(codes[order], found["session"][order])
    return "" if kept else _one_after_another(runs.assign(**found), codes)


def _at_all_hours(runs: pd.DataFrame, compare: Comparison, campaign: Campaign) -> bool:
    """Tell whether runs of several days have their levels in any order by the time of day.

    In turn, but one side in each morning and the other in each evening, they show what a day does. In a
    shuffled campaign some of many comparisons lie so by chance.
    """
    starts = runs["start"].to_numpy("datetime64[s]")
    if np.isnat(starts).any() or runs[compare.factor].nunique() < 2:
        return True
    seconds, codes = starts.astype("f8"), _codes(runs[compare.factor])
    hours = seconds % _DAY
    around = np.exp(2j * np.pi * hours / _DAY)  # a clock has no end
    usual = np.array([around[codes == level].mean() for level in range(codes.max() + 1)])
    if np.ptp(seconds) < _DAY or np.abs(usual[:, None] - usual).max() < _APART:
        return True
    limit = _NEVER / 2 if _all_shuffled(runs, campaign) else _HOURS
    return shuffled(codes[np.argsort(hours, kind="stable")], limit)


def _all_shuffled(part: pd.DataFrame, campaign: Campaign) -> bool:
    """Tell whether all runs of an application were made in a shuffled order of their cells."""
    application = str(part["application"].iloc[0])
    key = ("all shuffled", application)
    if key not in campaign.judged:
        runs = campaign.valid_of(application)
        runs = runs.assign(**times(runs)).sort_values(["when", "run"], kind="stable")
        cells = runs.groupby(list(FACTORS), dropna=False, sort=False).ngroup()
        # Jobs that ran at once are one position of the order.
        runs = runs.assign(cell=cells).drop_duplicates(
            ["cell", "order"] if (runs["order"] >= 0).all() else None
        )
        codes = np.unique(runs["cell"], return_inverse=True)[1]
        enough = codes.max() >= _CELLS - 1 and not runs["when"].isna().any()
        campaign.judged[key] = enough and shuffled(codes, _NEVER)
    return bool(campaign.judged[key])


def _levels_shuffled(part: pd.DataFrame, compare: Comparison, campaign: Campaign) -> bool:
    """Tell whether the levels of a comparison were shuffled over all strata that have several of them."""
    levels, application = sorted(set(part[compare.factor])), str(part["application"].iloc[0])
    key = ("levels shuffled", compare.factor, compare.moving, str(levels), application)
    if key not in campaign.judged:
        runs, _ = _ordered(campaign)
        runs = runs[(runs["application"] == application) & runs[compare.factor].isin(levels)]
        found = strata(runs, compare.moving, campaign, MEASURES["elapsed"])
        parts = [one for _, one in found if one[compare.factor].nunique() > 1]
        whole = pd.concat(parts).dropna(subset=["when"]).sort_values(["when", "run"], kind="stable")
        codes = _codes(whole[compare.factor])
        campaign.judged[key] = len(parts) < 2 or shuffled(codes, _NEVER)
    return bool(campaign.judged[key])


def _codes(levels: pd.Series) -> Codes:
    codes: Codes = np.unique(list(map(str, levels.tolist())), return_inverse=True)[1]
    return codes


def blocks(codes: Codes, sessions: Array) -> NDArray[np.int64]:
    """Count the blocks of each level: runs of one level after another within a session, in order of time."""
    new = np.concatenate([[True], (np.diff(codes) != 0) | (np.diff(sessions) != 0)])
    found: NDArray[np.int64] = np.bincount(codes[new], minlength=int(codes.max()) + 1)
    return found


def alternate(codes: Codes, sessions: Array, *, by_days: bool = False) -> bool:
    """Tell whether levels, in the order of time, alternate as in a shuffled order.

    With `by_days` a day counts once in the estimate, and a block a day of each is enough if they do not
    always come in the same order.
    """
    counts, each = np.bincount(codes), blocks(codes, sessions)
    if each.min() >= _ROUNDS and len(np.unique(sessions)) >= _ROUNDS:
        firsts = {int(codes[sessions == one][0]) for one in np.unique(sessions)}
        if by_days or len(firsts) == 1:  # the first of a day may be slow by that
            return len(firsts) > 1
    least = np.minimum(_BLOCKS, np.maximum(counts - 1, 1))
    # Two blocks of each side are a shuffled order now and then; of many runs they are rather a plan.
    enough = bool((each >= least).all()) and not (counts.min() >= _MANY and each.max() <= _BLOCKS)
    return enough and shuffled(codes, _SELDOM) and _shuffled_within(codes, sessions, _SELDOM)


def _shuffled_within(codes: Codes, sessions: Array, limit: float) -> bool:
    """Tell whether orders shuffled within each session would have as few changes of level in them.

    One block of each side a session is no shuffled order, however many sessions there are.
    """
    parts = [codes[sessions == one] for one in np.unique(sessions)]
    if len(parts) == 1:
        return True
    few, changes = np.zeros(_DRAWS), 0
    rng = np.random.default_rng([_SEED, len(codes), len(parts)])
    for part in parts:
        counts = np.bincount(part)
        # The changes of sessions alike are of one store, drawn from anew for each.
        few += rng.choice(_chances(tuple(np.sort(counts[counts > 0]).tolist()))[0], _DRAWS)
        changes += int(np.count_nonzero(np.diff(part)))
    return bool(np.mean(few <= changes) >= limit)


def shuffled(codes: Codes, limit: float) -> bool:
    """Tell whether a shuffled order would have as few changes of level, and levels as distant in time.

    In a share `limit` of shuffled orders at least for the former, in a fifth of that for the latter.
    """
    few, far = _chances(tuple(np.bincount(codes).tolist()))
    changes = int(np.count_nonzero(np.diff(codes)))
    return bool(
        np.mean(few <= changes) >= limit and np.mean(far >= _distance(codes[None])[0] - 1e-9) >= limit / 5
    )


def _distance(rows: Codes) -> Array:
    """Return how far the levels' mean places in time lie apart, one number a row of codes."""
    places = np.arange(rows.shape[1]) - (rows.shape[1] - 1) / 2
    out = np.zeros(len(rows))
    for level in range(int(rows.max()) + 1):
        there = rows == level
        count = np.maximum(there.sum(axis=1), 1)
        out += (there @ places) ** 2 / count
    return out


@lru_cache(maxsize=512)
def _chances(counts: Sequence[int]) -> tuple[Array, Array]:
    """Return changes of level and distances of levels over shuffled orders of so many runs per level."""
    rng = np.random.default_rng([_SEED, *counts])
    codes = np.repeat(np.arange(len(counts)), counts)
    draws = max(min(_DRAWS, 2_000_000 // len(codes)), 200)
    rows = rng.permuted(np.tile(codes, (draws, 1)), axis=1)
    return np.count_nonzero(np.diff(rows, axis=1), axis=1).astype("f8"), _distance(rows)
