"""Cells whose runs may be no repeats: what speaks against it, and the question that is then open.

A cell is the runs that agree in every factor. Before its runs are repeats they pass a gate
(`analysis.base.modes`): no groups, no run far from the rest, no trend along time, and nothing that is stated
of the runs and is no factor that they follow. Of a cell that fails nothing is concluded until the campaign's
file answers, under ``repeats``: its times enter no statistic.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from analysis.base.errors import ConfigError
from analysis.base.models import known, one_or_more
from analysis.base.modes import FEWEST, Split, differing, scatter_beside, split, told
from analysis.base.words import Level
from analysis.estimates.finding import places_in_time
from analysis.schema.campaigns import RunsAlike
from analysis.schema.factors import FACTORS, FOLLOWS, display_name, is_known, label

Table = pd.DataFrame | None
_NEARLY_ALL = 0.9
# What a run states beside its factors, by column.
_STATED = ("node_list", "source", "question")
_WORD = re.compile(r"[^\s=,;:/]+")
_PART = re.compile(r"[A-Za-z]+|\d+(?:\.\d+)?")
# A fact of each run, by its name.
Facts = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Doubt:
    """A cell whose runs may be no repeats: its factors, its runs, and how they fail to be.

    `levels` are those of the fact that its groups follow, if there is one; `names` what sentences call a
    level.
    """

    cell: Mapping[str, Level] = field(repr=False)
    runs: tuple[str, ...] = field(repr=False)
    split: Split
    levels: tuple[str, ...] = ()
    names: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        """The cell with all factors that its runs state, without what follows from another."""
        known = {
            name: level for name, level in self.cell.items() if is_known(level) and level not in (0, "none")
        }
        follow = {one for name in known for one in FOLLOWS.get(name, ())} - {"version"}
        own = {name: self.names.get(name, {}).get(str(level), level) for name, level in known.items()}
        return ", ".join(_named(name, level) for name, level in own.items() if name not in follow)

    @property
    def found(self) -> str:
        """How its runs fail to be repeats, and what is asked of that."""
        return told(self.split, len(self.runs), self.levels)

    @property
    def question(self) -> str:
        """What is asked of the user, in one line with the cell."""
        return f"{self.name}: {self.found}"


def _named(name: str, level: Level) -> str:
    text = display_name(name, level)
    return f"{label(name)} {text}" if isinstance(level, str) else text


def doubts(runs: pd.DataFrame, micro: Table, files: Table, answers: RunsAlike | None) -> Iterator[Doubt]:
    """Find the cells of a campaign whose runs may be no repeats, those that are answered left out.

    `runs`, `micro` and `files` are the campaign's tables, the latter two None where it has none; runs whose
    times count are looked at.
    """
    runs = runs[runs["valid"] & runs["timing"] & ~_answered(runs, answers)]
    words, seen = _words(runs, files), set()
    for values in _measured(runs, micro):
        for doubt in _of_values(runs, values, words):
            if doubt.runs not in seen:
                seen.add(doubt.runs)
                yield doubt


def _answered(runs: pd.DataFrame, answers: RunsAlike | None) -> pd.Series:
    """Tell of which runs the campaign's file says that they are repeats."""
    found = pd.Series(False, runs.index)
    for each in answers.pooled if answers is not None else ():
        there = pd.Series(True, runs.index)
        for name, levels in each.when.items():
            there &= runs[name].astype(str).isin(map(str, one_or_more(levels)))
        found |= there
    return found


def within(runs: pd.DataFrame, files: Table, answers: RunsAlike | None) -> pd.DataFrame:
    """Make facts that the campaign's file calls factors a part of the options of runs.

    Raises `ConfigError` for a fact that no run states, with those that they do.
    """
    if answers is None or not answers.within:
        return runs
    facts = _facts(runs, _words(runs, files))
    options = runs["options"].astype(object)
    for name in answers.within:
        if name not in facts:
            raise ConfigError.at("repeats", 0, f"within: no run states {name!r}", known(name, facts))
        options = options + np.where(options == "", "", " ") + [f"{name}={level}" for level in facts[name]]
    return runs.assign(options=options)


def _measured(runs: pd.DataFrame, micro: Table) -> Iterator[pd.Series]:
    """Give what is measured of runs, by run: the figure of merit, tables of messages, or the time; energy."""
    names = runs["run"].to_numpy()
    rated = runs["figure_of_merit"].notna().to_numpy()
    yield pd.Series(runs["figure_of_merit"].to_numpy()[rated], names[rated])
    tables = pd.DataFrame({"run": []}) if micro is None else micro[micro["run"].isin(names[~rated])]
    for column in ("latency", "bandwidth") if len(tables) else ():
        part = tables[tables[column] > 0]
        if len(part):  # of the sizes that nearly all runs have: a longer table is no slower one
            logs = part.assign(value=np.log(part[column].to_numpy()))
            wide = logs.pivot_table(index="run", columns="size", values="value")
            yield np.exp(wide.loc[:, wide.notna().mean() > _NEARLY_ALL].dropna().mean(axis=1))
    plain = ~rated & ~runs["run"].isin(tables["run"]).to_numpy() & ~(runs["target_time"] > 0).to_numpy()
    for column, rows in (("elapsed", plain), ("energy", np.ones(len(runs), dtype=bool))):
        values = runs[column].to_numpy("f8")
        known_ones = rows & np.isfinite(values)
        yield pd.Series(values[known_ones], names[known_ones])


def _of_values(runs: pd.DataFrame, values: pd.Series, words: Facts) -> Iterator[Doubt]:
    frame = runs[runs["run"].isin(values.index)]
    frame = frame.assign(value=frame["run"].map(values))
    names = [name for name in FACTORS if name in frame]
    cells = [part for _, part in frame.groupby(names, sort=True, dropna=False) if len(part) >= FEWEST]
    kinds = [str(part["application"].iloc[0]) for part in cells]
    beside = scatter_beside([part["value"] for part in cells], kinds)
    for part, scatter in zip(cells, beside, strict=True):
        facts = _facts(part, words)
        places = places_in_time(part)
        found = split(part["value"], None if np.isnan(places).any() else places, facts, scatter)
        if found is not None:
            row = part.iloc[0]
            levels = tuple(dict.fromkeys(facts.get(found.fact, ())))
            yield Doubt({name: row[name] for name in names}, tuple(part["run"]), found, levels)


def _facts(part: pd.DataFrame, words: Facts) -> dict[str, Sequence[str]]:
    """Return what is stated of runs and is no factor: a level of each run, by the name of the fact."""
    facts: dict[str, Sequence[str]] = {
        name: part[name].astype(str).tolist() for name in _STATED if name in part
    }
    if part["start"].notna().all() and not (part["evidence"] == "synthetic").any():
        facts["date"] = part["start"].dt.strftime("%Y-%m-%d").tolist()
    facts |= differing("launch word", [_WORD.findall(str(line)) for line in part["command"]])
    return facts | differing("name word", [words[run] for run in part["run"]])


def _words(runs: pd.DataFrame, files: Table) -> Facts:
    """Return the words in the names of each run and of the files that were read of it."""
    paths: dict[str, str] = {}
    if files is not None:
        read = files[files["run"].isin(set(runs["run"])) & (files["engine"] != "")]
        for run, path in zip(read["run"], read["path"], strict=True):
            paths[run] = f"{paths.get(run, '')} {str(path).replace(str(run), '')}"
    return {run: _PART.findall(f"{run} {paths.get(run, '')}") for run in runs["run"]}
