"""Cells whose runs may be no repeats: what speaks against it, and the question that is then open.

A cell is the runs that agree in every factor. Before its runs are repeats they pass a gate
(`analysis.base.modes`): no groups, no run far from the rest, no trend along time, and nothing that is stated
of the runs and is no factor that they follow. Of a cell that fails nothing is concluded until the campaign's
file answers, under ``repeats``: its times enter no statistic.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from analysis.base.errors import ConfigError
from analysis.base.facts import WORD, differing, stated, told
from analysis.base.models import known, one_or_more
from analysis.base.modes import FEWEST, Split, scatter_beside, split
from analysis.base.words import Level
from analysis.estimates.finding import parts, places_in_time
from analysis.schema.campaigns import Pooled, RunsAlike
from analysis.schema.factors import FACTORS, FOLLOWS, display_name, is_known, label

# Tables of a campaign that say more of runs, by kind; those that it has.
Tables = Mapping[str, pd.DataFrame]
_NEARLY_ALL = 0.9
_SMALL = 8  # B, the size at which latencies are compared
_DIGITS = 12  # of a checksum, which a question names
# What a run states beside its factors, by column.
_STATED = ("node_list", "source", "question")


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
        return told(self.split, len(self.split.labels), self.levels)

    @property
    def question(self) -> str:
        """What is asked of the user, in one line with the cell."""
        return f"{self.name}: {self.found}"


def _named(name: str, level: Level) -> str:
    text = display_name(name, level)
    return f"{label(name)} {text}" if isinstance(level, str) else text


def doubts(runs: pd.DataFrame, tables: Tables, answers: RunsAlike | None) -> Iterator[Doubt]:
    """Find the cells of a campaign whose runs may be no repeats, those that are answered left out.

    `runs` and `tables` are the campaign's; runs whose times count are looked at.
    """
    runs = runs[runs["valid"] & runs["timing"] & ~answered(runs, answers.pooled if answers else ())]
    said, seen = _Said(runs, tables), set()
    for values in _measured(runs, tables.get("micro")):
        for doubt in _of_values(runs, values, said):
            if doubt.runs not in seen:
                seen.add(doubt.runs)
                yield doubt


def answered(runs: pd.DataFrame, cells: Iterable[Pooled]) -> pd.Series:
    """Tell which runs lie in some of the cells that the campaign's file calls repeats."""
    found = pd.Series(False, runs.index)
    for each in cells:
        there = pd.Series(True, runs.index)
        for name, levels in each.when.items():
            there &= runs[name].astype(str).isin(map(str, one_or_more(levels)))
        found |= there
    return found


def within(runs: pd.DataFrame, tables: Tables, answers: RunsAlike | None) -> pd.DataFrame:
    """Make facts that the campaign's file calls factors a part of the options of runs.

    A fact counts in the cells in which it differs, where a question names it. Raises `ConfigError` for one
    that differs in no cell, with those that do.
    """
    if answers is None or not answers.within:
        return runs
    said, found = _Said(runs, tables), set[str]()
    options = dict(zip(runs["run"], runs["options"].astype(str), strict=True))
    for part in _cells(runs):
        facts = said.of(part)
        found |= set(facts)
        for name in (name for name in answers.within if name in facts):
            for run, level in zip(part["run"], facts[name], strict=True):
                options[run] = f"{options[run]} {name}={level}".strip()
    if unknown := [name for name in answers.within if name not in found]:
        what = f"within: no run states {unknown[0]!r}, or none differs in it from its repeats"
        raise ConfigError.at("repeats", 0, what, known(unknown[0], found))
    return runs.assign(options=runs["run"].map(options).astype(object))


def _cells(runs: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Go through the cells of runs: those that agree in every factor."""
    yield from parts(runs, [name for name in FACTORS if name in runs])


def _measured(runs: pd.DataFrame, micro: pd.DataFrame | None) -> Iterator[pd.Series]:
    """Give what is measured of runs, by run: the figure of merit, tables of messages, or the time; energy."""
    names = runs["run"].to_numpy()
    rated = runs["figure_of_merit"].notna().to_numpy()
    yield pd.Series(runs["figure_of_merit"].to_numpy()[rated], names[rated])
    tables = pd.DataFrame({"run": []}) if micro is None else micro[micro["run"].isin(names[~rated])]
    for column in ("latency", "bandwidth") if len(tables) else ():
        part = tables[tables[column] > 0]
        if len(part):
            own = runs.set_index("run")  # each benchmark has sizes of its own
            kinds = [part["run"].map(own[name]) for name in ("application", "case")]
            each = [_of_sizes(rows, column) for _, rows in part.groupby(kinds, sort=False)]
            yield from (pd.concat(values) for values in zip(*each, strict=True))
    plain = ~rated & ~runs["run"].isin(tables["run"]).to_numpy() & ~(runs["target_time"] > 0).to_numpy()
    for column, rows in (("elapsed", plain), ("energy", np.ones(len(runs), dtype=bool))):
        values = runs[column].to_numpy("f8")
        known_ones = rows & np.isfinite(values)
        yield pd.Series(values[known_ones], names[known_ones])


def _of_sizes(part: pd.DataFrame, column: str) -> list[pd.Series]:
    """Return by run the mean over sizes that nearly all runs have, and values of small and large messages.

    A longer table is no slower one. Small messages and large ones can have modes of their own.
    """
    logs = part.assign(value=np.log(part[column].to_numpy()))
    wide = logs.pivot_table(index="run", columns="size", values="value")
    wide = wide.loc[:, wide.notna().mean() > _NEARLY_ALL].dropna()
    if wide.columns.empty:
        return [pd.Series(dtype="f8")] * 3
    ends = [size for size in wide.columns.to_numpy() if size >= _SMALL] or list(wide.columns)
    return [np.exp(one) for one in (wide.mean(axis=1), wide[ends[0]], wide[ends[-1]])]


def _of_values(runs: pd.DataFrame, values: pd.Series, said: _Said) -> Iterator[Doubt]:
    frame = runs[runs["run"].isin(values.index)]
    frame = frame.assign(value=frame["run"].map(values))
    cells = [(once, cell) for cell in _cells(frame) if len(once := _once(cell)) >= FEWEST]
    kinds = [str(part["application"].iloc[0]) for part, _ in cells]
    beside = scatter_beside([part["value"] for part, _ in cells], kinds)
    for (part, whole), scatter in zip(cells, beside, strict=True):
        facts = said.of(part)
        places = places_in_time(part)
        found = split(part["value"], None if np.isnan(places).any() else places, facts, scatter)
        if found is not None:
            row = part.iloc[0]
            levels = tuple(dict.fromkeys(facts.get(found.fact, ())))
            cell = {name: row[name] for name in FACTORS if name in part}
            yield Doubt(cell, tuple(whole["run"]), found, levels)


def _once(cell: pd.DataFrame) -> pd.DataFrame:
    """Leave one run of the jobs that ran at once, with their mean: they share a moment and are no group."""
    if (cell["concurrent_jobs"] <= 1).any() or (cell["order"] < 0).any():
        return cell
    means = cell.groupby("order")["value"].transform("mean")
    return cell.assign(value=means)[~cell["order"].duplicated()]


class _Said:
    """What is stated of each run beside its factors: columns, its record, names of its files."""

    def __init__(self, runs: pd.DataFrame, tables: Tables) -> None:
        self._paths: dict[str, str] = defaultdict(str)
        self._facts: dict[str, dict[str, str]] = defaultdict(dict)
        own = {name: table[table["run"].isin(set(runs["run"]))] for name, table in tables.items()}
        if (files := own.get("files")) is not None:
            for run, path, engine, checksum in files[["run", "path", "engine", "checksum"]].itertuples(
                index=False
            ):
                name = str(path).replace(str(run), "")
                self._facts[run][f"file {name.rpartition('/')[2]}"] = str(checksum)[:_DIGITS]
                self._paths[run] += f" {name}" if engine else ""
        if (facts := own.get("facts")) is not None:
            for run, fact, level in zip(facts["run"], facts["fact"], facts["level"], strict=True):
                self._facts[run][fact] = level

    def of(self, part: pd.DataFrame) -> dict[str, Sequence[str]]:
        """Return what is stated of runs and differs: a level of each run, by the name of the fact."""
        levels: dict[str, Sequence[str]] = {
            name: list(map(str, part[name].tolist())) for name in _STATED if name in part
        }
        each = [self._facts[run] for run in part["run"]]
        counts = Counter(name for one in each for name in one)  # one of a single run is its output
        levels |= {name: [one.get(name, "") for one in each] for name in sorted(counts) if counts[name] > 1}
        levels |= differing("launch word", [WORD.findall(str(line)) for line in part["command"]])
        dated = part["start"].notna().all() and not (part["evidence"] == "synthetic").any()
        starts = part["start"].to_numpy("datetime64[s]") if dated else None
        return stated(levels, [f"{run} {self._paths[run]}" for run in part["run"]], starts)
