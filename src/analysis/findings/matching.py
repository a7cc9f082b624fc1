"""Which runs of two campaigns are alike: cells over the factors of both, and what changed between them.

An upgrade changes the levels of some factors throughout: the cluster, the version of a library. Such a level
of before and the one that took its place are one cell, and that is said. A factor of the job itself (case,
nodes, ranks) is never taken so: what ran on other nodes is another cell.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from analysis.base.errors import ConfigError
from analysis.base.models import known
from analysis.base.words import Level
from analysis.estimates.campaign import Campaign, load_campaign
from analysis.schema.factors import FACTORS, labelled

# What an upgrade changes: where all runs differ in one, that is the upgrade and no other cell.
UPGRADED = ("cluster", "cpu", "dimm", "interconnect", "mpi", "build", "tuning", "placement", "version")
# Names that carry a version: of several levels, the one that took the place of another is told by the name.
VERSIONED = ("mpi", "version")
# What a run's output says, and not its record alone.
_OF_OUTPUT = ("local_size", "version")
# A size or a time that a job does not have.
_UNSAID = ("", -1)
# What a cell is called by, however many have it.
_IN_NAMES = ("application", "case", "interconnect", "nodes")


@dataclass(frozen=True, slots=True)
class Renamed:
    """A level of before and the one of after that stands in its place."""

    factor: str
    before: Level
    after: Level

    def __str__(self) -> str:
        return f"{self.factor.replace('_', ' ')} {_shown(self.before)} → {_shown(self.after)}"


@dataclass(frozen=True)
class MatchedCell:
    """Runs of both sides that agree in every factor, `factors` as before has them; valid runs alone."""

    factors: Mapping[str, Level]
    before: pd.DataFrame
    after: pd.DataFrame


@dataclass(frozen=True, slots=True)
class LoneCell:
    """Runs that are not compared: their factors, how many they are, why they have nothing beside them."""

    factors: Mapping[str, Level]
    runs: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class Matching:
    """What can be compared of two campaigns, what took another's place, what each side has alone."""

    cells: tuple[MatchedCell, ...]
    renamed: tuple[Renamed, ...]
    only_before: tuple[LoneCell, ...]
    only_after: tuple[LoneCell, ...]


def side(text: str) -> Campaign:
    """Load a campaign ``NAME``, or the part ``NAME:FACTOR=LEVEL`` of it.

    Raises `ConfigError` if there is no such campaign or factor, no run has the level, or the campaign is
    modelled; `ReadError` if its datasets have not been built.
    """
    name, _, narrowed = text.partition(":")
    campaign = load_campaign(name)
    if campaign.evidence == "modelled":
        what = "is modelled: its runs are draws from ranges and no repeats"
        raise ConfigError.at(name, 0, what, "hold its bands against claims: benchbook verdicts")
    if not narrowed:
        return campaign
    # A parameter of a notebook can hold no second equals sign: a colon will do too.
    factor, level = re.split("[=:]", f"{narrowed}=", maxsplit=1)
    level = level.removesuffix("=")
    return campaign.only(factor, _level(campaign, factor, level))


def across(text: str, before: Campaign, after: Campaign) -> Renamed:
    """Read ``FACTOR=BEFORE:AFTER``: a level of before and the one of after that is to be taken for it.

    Raises `ConfigError` as `side`, and if there are not two levels.
    """
    factor, _, levels = text.partition("=")
    words = levels.split(":")
    splits = [(":".join(words[:at]), ":".join(words[at:])) for at in range(1, len(words))]
    if not splits:
        raise ConfigError.at("--across", 0, f"{text!r} names no two levels", "write FACTOR=BEFORE:AFTER")
    told = [pair for pair in splits if pair[0] in map(str, _levels(before, factor))]
    one, other = (told or splits)[0]
    return Renamed(factor, _level(before, factor, one), _level(after, factor, other))


def _levels(campaign: Campaign, factor: str) -> list[Level]:
    if factor not in FACTORS:
        raise ConfigError.at(campaign.name, 0, f"unknown factor {factor!r}", known(factor, FACTORS))
    return sorted(_plain(campaign.runs)[factor].unique(), key=str)


def _level(campaign: Campaign, factor: str, text: str) -> Level:
    found = {_text(level): level for level in _levels(campaign, factor)}
    if text not in found:
        what = f"no run has {factor.replace('_', ' ')} {text!r}"
        raise ConfigError.at(campaign.name, 0, what, known(text, found))
    return found[text]


def _text(level: Level) -> str:
    return f"{level:g}" if isinstance(level, float) else str(level)


def _shown(level: Level) -> str:
    return _text(level) or "not stated"


def _plain(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the factors of runs; a time that was not asked for is no number, but unlike itself as NaN."""
    return runs[list(FACTORS)].astype(object).where(runs[list(FACTORS)].notna(), "")


def match(
    before: Campaign, after: Campaign, ignore: Sequence[str] = (), given: Iterable[Renamed] = ()
) -> Matching:
    """Match the runs of two campaigns cell by cell, over all factors but those to `ignore`.

    `given` are levels that are to be taken for each other; those that an upgrade changed are found. A cell
    of which one side would mix levels of an ignored or renamed factor is not compared.
    """
    for factor in ignore:
        if factor not in FACTORS:
            raise ConfigError.at("--ignore", 0, f"unknown factor {factor!r}", known(factor, FACTORS))
    sides = [_plain(one.runs) for one in (before, after)]
    keys = [side.copy() for side in sides]
    renamed = [(one, None) for one in given]
    fixed = {*ignore, *(one.factor for one, _ in renamed)}
    for application in set(sides[0]["application"]) & set(sides[1]["application"]):
        own = [side[side["application"] == application] for side in sides]
        for factor in (name for name in UPGRADED if name not in fixed):
            found = _taken(factor, set(own[0][factor]), set(own[1][factor]))
            renamed += [(Renamed(factor, *pair), application) for pair in found]
    for one, application in renamed:
        if application is None:  # after's own runs of that level are not what was asked for
            asked = (sides[1][one.factor] == one.before) & (keys[1][one.factor] == one.before)
            keys[1].loc[asked, one.factor] = f"{_text(one.before)} of after"
        rows = keys[1][one.factor] == one.after
        if application is not None:
            rows &= keys[1]["application"] == application
        keys[1].loc[rows, one.factor] = one.before
    for key in keys:
        key[list(ignore)] = ""
    told = tuple(dict.fromkeys(one for one, _ in renamed))
    return _cells((before.runs, after.runs), sides, keys, told)


def _taken(factor: str, before: set[Any], after: set[Any]) -> Iterator[tuple[Level, Level]]:
    """Find levels that took the place of others: those of one side alone, where only one can be meant."""
    gone, new = before - after, after - before
    apart = not before & after
    if factor in VERSIONED:
        for stem in sorted({_stem(level) for level in gone} & {_stem(level) for level in new}):
            pair = [[level for level in side if _stem(level) == stem] for side in (gone, new)]
            if len(pair[0]) == len(pair[1]) == 1:
                gone, new = gone - set(pair[0]), new - set(pair[1])
                yield pair[0][0], pair[1][0]
    # A build is a line of options: that a single one is gone and a single one new tells enough.
    if len(gone) == len(new) == 1 and (apart or factor in ("build", "version")):
        yield gone.pop(), new.pop()


def _stem(level: Level) -> str:
    """Return the name of what has a version: ``Open MPI`` of ``Open MPI 4.1.4``."""
    return re.sub(r"[\s_-]*v?\d.*", "", str(level)).casefold()


def _cells(
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
        for side, mine in enumerate(valid):
            if len(mine):
                why = next(filter(None, mixed), "") or _missing(failed[1 - side].get(_recorded(key), []))
                lone[side].append(LoneCell(factors, tuple(mine["run"]), why))
    return Matching(tuple(cells), renamed, tuple(lone[0]), tuple(lone[1]))


def _order(key: Sequence[Any]) -> list[tuple[bool, Any]]:
    return [(isinstance(level, str), level) for level in key]


def _mixed(levels: pd.DataFrame) -> str:
    for factor in FACTORS:
        found = sorted(set(levels[factor]), key=str)
        if len(found) > 1:
            names = ", ".join(map(_shown, found))
            word = factor.replace("_", " ")
            return f"would mix {word} {names}: name one with --across, or compare a part NAME:{factor}=LEVEL"
    return ""


def _recorded(key: Sequence[Any]) -> tuple[Any, ...]:
    """Return the levels that a record has by itself: the others are of an output that a failed run lacks."""
    return tuple(level for factor, level in zip(FACTORS, key, strict=True) if factor not in _OF_OUTPUT)


def _failed(runs: pd.DataFrame, keys: pd.DataFrame) -> dict[tuple[Any, ...], list[str]]:
    """Return why runs count in no statistic, by what their records say."""
    out: dict[tuple[Any, ...], list[str]] = {}
    wrong = ~runs["valid"].to_numpy()
    rows = keys[wrong].itertuples(index=False, name=None)
    for key, reason in zip(rows, runs["reason"][wrong], strict=True):
        out.setdefault(_recorded(key), []).append(str(reason))
    return out


def _missing(reasons: Sequence[str]) -> str:
    """Say why there is nothing beside runs: no run, or none that counts, with the most frequent reason."""
    if not reasons:
        return "no such run on the other side"
    reason = Counter(reasons).most_common(1)[0][0]
    return f"none of {len(reasons)} such runs on the other side counts: {reason}"


def names(cells: Sequence[MatchedCell | LoneCell]) -> tuple[list[str], str]:
    """Name cells by the fewest factors that tell them apart, and what goes without saying in the names.

    Of settings the level that most cells have is left out of their names, and told by itself; the case, the
    link and the numbers of nodes and ranks stand in every name.
    """
    strata = [cell.factors for cell in cells]
    chosen: list[str] = []
    for factor in ("case", *FACTORS):
        told = {tuple(str(one[name]) for name in chosen) for one in strata}
        if len({tuple(str(one[name]) for name in (*chosen, factor)) for one in strata}) > len(told):
            chosen.append(factor)
    usual = {
        name: Counter(one[name] for one in strata).most_common(1)[0][0]
        for name in chosen
        if name not in _IN_NAMES
    }
    spelt = [
        ", ".join(_named(name, one[name]) for name in chosen if one[name] not in (usual.get(name), *_UNSAID))
        or str(one["case"] or one["application"])
        for one in strata
    ]
    return spelt, ", ".join(_named(*one) for one in usual.items())


def _named(factor: str, level: Level) -> str:
    return "no profiler" if (factor, level) == ("profiler", "none") else labelled(factor, level)
