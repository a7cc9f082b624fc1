"""Which runs of two campaigns belong together: cells over the factors of both, and what replaced what.

An upgrade changes the levels of some factors throughout: the cluster, the version of a library. Such a level
of before and the one that replaced it are one cell, and that is listed. A factor of the job itself (case,
nodes, ranks) is never matched so: what ran on other nodes is another cell.
"""

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from analysis.base.errors import ConfigError
from analysis.base.models import known
from analysis.base.words import NOT_STATED, Level
from analysis.estimates.campaign import Campaign, load_campaign
from analysis.estimates.spelling import distinguishing
from analysis.findings.periods import LAST_WEEK, LATEST, period
from analysis.schema.factors import BY_NAME, FACTORS, SPELLINGS, TABLE, labelled

# Levels that a job does not have.
_NONE = ("", -1)
# In the name of every cell, also where most cells have the same level.
_IN_NAMES = ("application", "case", "interconnect", "nodes")


@dataclass(frozen=True, slots=True)
class Renamed:
    """A level of before and the one of after that replaced it."""

    factor: str
    before: Level
    after: Level

    def __str__(self) -> str:
        return f"{self.factor.replace('_', ' ')} {_spelt(self.before)} → {_spelt(self.after)}"


@dataclass(frozen=True)
class MatchedCell:
    """Runs of both sides that agree in every factor, `factors` as before has them; valid runs alone."""

    factors: Mapping[str, Level]
    before: pd.DataFrame
    after: pd.DataFrame


@dataclass(frozen=True, slots=True)
class LoneCell:
    """Runs that are not compared: their factors, which they are, and why nothing matches them."""

    factors: Mapping[str, Level]
    runs: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class Matching:
    """What can be compared of two campaigns, which levels were replaced, what each side has alone."""

    cells: tuple[MatchedCell, ...]
    renamed: tuple[Renamed, ...]
    only_before: tuple[LoneCell, ...]
    only_after: tuple[LoneCell, ...]

    def nearest(self, most: int) -> list[str]:
        """Name the factors in which the nearest two lone cells differ, among so many of each side."""
        pairs = itertools.product(self.only_before[:most], self.only_after[:most])
        differ = ([f for f in FACTORS if one.factors[f] != two.factors[f]] for one, two in pairs)
        return min(differ, key=len, default=[])


def side(text: str) -> Campaign:
    """Load a campaign ``NAME``, or a part of it: ``NAME:FACTOR=LEVEL``, ``NAME:latest``, ``NAME:last-week``.

    Raises `ConfigError` if there is no such campaign or factor, no run has the level, or the campaign is
    modelled or simulated; `ReadError` if its datasets have not been built.
    """
    name, _, part = text.partition(":")
    campaign = load_campaign(name)
    campaign.need_runs()
    if not part:
        return campaign
    if (word := part.replace(" ", "-")) in (LATEST, LAST_WEEK):
        return period(campaign, word)
    # A parameter of a notebook can hold no second equals sign: a colon will do too.
    factor, level = re.split("[=:]", f"{part}=", maxsplit=1)
    return campaign.only(factor, _level(campaign, factor, level.removesuffix("=")))


def level_pair(text: str, before: Campaign, after: Campaign) -> Renamed:
    """Read ``FACTOR=BEFORE:AFTER``: a level of before and the one of after that is to match it.

    Raises `ConfigError` as `side`, and if there are not two levels.
    """
    factor, _, levels = text.partition("=")
    words = levels.split(":")
    splits = [(":".join(words[:at]), ":".join(words[at:])) for at in range(1, len(words))]
    if not splits:
        raise ConfigError.at("--across", 0, f"{text!r} names no two levels", "write FACTOR=BEFORE:AFTER")
    there = [pair for pair in splits if pair[0] in map(str, _levels(before, factor))]
    one, other = (there or splits)[0]
    return Renamed(factor, _level(before, factor, one), _level(after, factor, other))


def _levels(campaign: Campaign, factor: str) -> list[Level]:
    _check(factor, campaign.name)
    return sorted(_factors(campaign.runs)[factor].unique(), key=str)


def _level(campaign: Campaign, factor: str, text: str) -> Level:
    found = {_text(level): level for level in _levels(campaign, factor)}
    if text not in found:
        what = f"no run has {factor.replace('_', ' ')} {text!r}"
        raise ConfigError.at(campaign.name, 0, what, known(text, found))
    return found[text]


def _check(factor: str, place: str) -> None:
    if factor not in BY_NAME:
        raise ConfigError.at(
            place, 0, f"unknown factor {factor!r}", known(factor, FACTORS, spellings=SPELLINGS)
        )


def _text(level: Level) -> str:
    return f"{level:g}" if isinstance(level, float) else str(level)


def _spelt(level: Level) -> str:
    return _text(level) or NOT_STATED


def _factors(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the factors of runs; a time that was not asked for is no number, but unlike itself as NaN."""
    return runs[list(FACTORS)].astype(object).where(runs[list(FACTORS)].notna(), "")


def match(
    before: Campaign, after: Campaign, ignore: Sequence[str] = (), given: Iterable[Renamed] = ()
) -> Matching:
    """Match the runs of two campaigns cell by cell, over all factors but those to `ignore`.

    `given` are levels that match each other; levels that an upgrade replaced are detected. A cell is not
    compared if one of its sides would mix levels of an ignored or replaced factor.
    """
    for factor in ignore:
        _check(factor, "--ignore")
    sides = [_factors(one.runs) for one in (before, after)]
    keys = [side.copy() for side in sides]
    renamed = list(given)
    for one in renamed:
        # Runs of after that have the level of before are not what was asked for.
        same = (sides[1][one.factor] == one.before) & (keys[1][one.factor] == one.before)
        keys[1].loc[same, one.factor] = f"{_text(one.before)} of after"
        keys[1].loc[keys[1][one.factor] == one.after, one.factor] = one.before
    fixed = {*ignore, *(one.factor for one in renamed)}
    for application in sorted(set(sides[0]["application"]) & set(sides[1]["application"])):
        own = [side[side["application"] == application] for side in sides]
        for factor in (one.name for one in TABLE if one.upgrade and one.name not in fixed):
            for pair in replaced(factor, set(own[0][factor]), set(own[1][factor])):
                rows = own[1].index[own[1][factor] == pair[1]]
                keys[1].loc[rows, factor] = pair[0]
                renamed.append(Renamed(factor, *pair))
    for key in keys:
        key[list(ignore)] = ""
    return _matched((before.runs, after.runs), sides, keys, tuple(dict.fromkeys(renamed)))


def replaced(factor: str, before: set[Any], after: set[Any]) -> Iterator[tuple[Level, Level]]:
    """Find levels that replaced others: of those that one side alone has, where only one can be meant."""
    gone, new = before - after, after - before
    none_shared = not before & after
    if BY_NAME[factor].versioned:
        for stem in sorted({_stem(level) for level in gone} & {_stem(level) for level in new}):
            pair = [[level for level in side if _stem(level) == stem] for side in (gone, new)]
            if len(pair[0]) == len(pair[1]) == 1:
                gone, new = gone - set(pair[0]), new - set(pair[1])
                yield pair[0][0], pair[1][0]
    # A build is a line of options: that a single one is gone and a single one new is enough.
    if len(gone) == len(new) == 1 and (none_shared or factor in ("build", "version")):
        yield gone.pop(), new.pop()


def _stem(level: Level) -> str:
    """Return the name of what has a version: ``Open MPI`` of ``Open MPI 4.1.4``."""
    return re.sub(r"[\s_-]*v?\d.*", "", str(level)).casefold()


def _matched(
    runs: Sequence[pd.DataFrame],
    sides: Sequence[pd.DataFrame],
    keys: Sequence[pd.DataFrame],
    renamed: tuple[Renamed, ...],
) -> Matching:
    groups: list[dict[Any, Any]] = [dict(key.groupby(list(FACTORS)).indices) for key in keys]
    failed = [_failed(one, key) for one, key in zip(runs, keys, strict=True)]
    cells: list[MatchedCell] = []
    lone: tuple[list[LoneCell], list[LoneCell]] = ([], [])
    for key in sorted(groups[0].keys() | groups[1].keys(), key=_order):
        factors = dict(zip(FACTORS, key, strict=True))
        at = [side.get(key, []) for side in groups]
        mixed = [_mixed(side.iloc[rows]) for side, rows in zip(sides, at, strict=True)]
        valid = [one.iloc[rows][lambda part: part["valid"]] for one, rows in zip(runs, at, strict=True)]
        if all(map(len, valid)) and not any(mixed):
            cells.append(MatchedCell(factors, *valid))
            continue
        for number, own in enumerate(valid):
            if len(own):
                why = next(filter(None, mixed), "") or _missing(failed[1 - number].get(_recorded(key), []))
                lone[number].append(LoneCell(factors, tuple(own["run"]), why))
    return Matching(tuple(cells), renamed, tuple(lone[0]), tuple(lone[1]))


def _order(key: Sequence[Any]) -> list[tuple[bool, Any]]:
    return [(isinstance(level, str), level) for level in key]


def _mixed(levels: pd.DataFrame) -> str:
    for factor in FACTORS:
        found = sorted(set(levels[factor]), key=str)
        if len(found) > 1:
            word = factor.replace("_", " ")
            what = f"would mix {word} {', '.join(map(_spelt, found))}"
            return f"{what}: name one with --across, or compare a part NAME:{factor}=LEVEL"
    return ""


def _recorded(key: Sequence[Any]) -> tuple[Any, ...]:
    """Return the levels that a record has by itself: the others are of an output that a failed run lacks."""
    return tuple(level for factor, level in zip(TABLE, key, strict=True) if not factor.from_output)


def _failed(runs: pd.DataFrame, keys: pd.DataFrame) -> dict[tuple[Any, ...], list[str]]:
    """Return why runs count in no statistic, by what their records say."""
    out: dict[tuple[Any, ...], list[str]] = {}
    wrong = ~runs["valid"].to_numpy()
    rows = keys[wrong].itertuples(index=False, name=None)
    for key, reason in zip(rows, runs["reason"][wrong], strict=True):
        out.setdefault(_recorded(key), []).append(str(reason))
    return out


def _missing(reasons: Sequence[str]) -> str:
    """Say why nothing matches runs: no run, or none that counts, with the most frequent reason."""
    if not reasons:
        return "no such run on the other side"
    reason = Counter(reasons).most_common(1)[0][0]
    return f"none of {len(reasons)} such runs on the other side counts: {reason}"


def names(cells: Sequence[MatchedCell | LoneCell]) -> tuple[list[str], str]:
    """Name cells by the fewest factors that distinguish them, and by what most of them have in common.

    Of settings the level that most cells have is left out of their names and returned separately; case, link,
    and numbers of nodes are in every name.
    """
    strata = [cell.factors for cell in cells]
    # A factor that some runs do not state names a cell only where no other factor does.
    partly = {name for name in FACTORS for one in strata if one[name] in _NONE}
    chosen = distinguishing(strata, ("case", *sorted(FACTORS, key=partly.__contains__)))
    usual = {
        name: Counter(one[name] for one in strata).most_common(1)[0][0]
        for name in chosen
        if name not in _IN_NAMES
    }
    spelt = [
        ", ".join(_label(name, one[name]) for name in chosen if one[name] not in (usual.get(name), *_NONE))
        or str(one["case"] or one["application"])
        for one in strata
    ]
    return spelt, ", ".join(_label(*one) for one in usual.items() if one[1] not in _NONE)


def _label(factor: str, level: Level) -> str:
    return "no profiler" if (factor, level) == ("profiler", "none") else labelled(factor, level)
