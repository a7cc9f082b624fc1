"""A built campaign: its runs, which of its levels stand for a report's, and the machine they ran on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from analysis.base import models, project
from analysis.base.errors import LOST, MAX_FAULTS, ConfigError, Fault, ReadError
from analysis.base.models import OF_DRAWS, known, one_or_more
from analysis.base.words import Level, counted, in_order
from analysis.base.yaml import Where, from_here
from analysis.datasets.applications import application_name, own_titles
from analysis.datasets.published import references
from analysis.estimates import mixture
from analysis.estimates.finding import DAY
from analysis.schema import storage
from analysis.schema.campaigns import CampaignFile, FactorDistance, RunsAlike, StandIn, View
from analysis.schema.factors import FACTORS, SPELLINGS, label
from analysis.schema.registry import to_dataset
from analysis.schema.stated import count_of, node_facts

# In a campaign's `hardware`, stands for what the runs say.
MACHINE = "${machine}"
# Tables that say more of runs, for the gate before repeats.
_BESIDE = ("micro", "files", "facts")
_SAID = 2  # cells in doubt that one line names
# What a run solves: no median is of unlike problems.
_PROBLEM = ("application", "case", "local_size")
_UNLIKE = "medians over unlike problems say nothing"
KIB_PER_GIB = 2**20


def hardware(text: str, runs: Path) -> str:
    """Put what the runs in a folder say into a campaign's line about its hardware.

    ``${machine}`` in the text is replaced by `machines`; the result is one line.
    """
    line = " ".join(text.split())
    return line.replace(MACHINE, machines(runs)) if MACHINE in line else line


def machines(runs: Path) -> str:
    """Name the machines of the runs in a folder, each with its ``run.json``.

    Like ``2 cores of an AMD EPYC 9654, 24 GiB``; of several machines all, in the order of their names. GiB
    are those of the system, whole.
    """
    found = set()
    for path in runs.glob("*/run.json"):
        found.add(_machine(node_facts(path)))
    return " and ".join(sorted(found - {""})) or "a machine that its runs do not name"


def _machine(values: dict[str, Any]) -> str:
    model, memory = values.get("cpu.Model name"), values.get("memory.total")  # KiB
    threads, each = count_of(values.get("cpu.CPU(s)")), count_of(values.get("cpu.Thread(s) per core") or 1)
    if not model or min(threads, each) < 1:
        return ""
    # lscpu counts what can run at once; with two threads per core that is twice the cores.
    cores = threads // each
    size = f", {memory / KIB_PER_GIB:.0f} GiB" if isinstance(memory, (int, float)) else ""
    return f"{cores} core{'s' if cores > 1 else ''} of {model}{size}"


_LISTED = 8  # levels of a factor that an overview lists
_LEFT = ' style="text-align: left"'


class NotCoveredError(Exception):
    """A campaign cannot test a claim; the message gives the reason."""


@dataclass(frozen=True)
class Campaign:
    """Datasets of one campaign with its declaration.

    `tree` has the groups ``runs calls messages ranks matrix micro files``. `stand_ins` maps a factor and a
    level of the report to the campaign's own levels for it; `apart` is the distance to all other levels.
    Shares of time come from runs of `profiler`, or from any run if it is empty. `pool` are factors whose
    levels are pooled in quantities of profiles. With views, the runs test only the claims of a view, with
    the levels that it declares; `matched` are the factors over whose cells it takes a median.
    `references` are the title and address of each source of published figures, `widening` is the relative
    error of modelled ratios by link, and `names` are the names of levels in sentences, by factor. `repeats`
    states which runs are repeats although they do not look so; the times of all other such cells are not used
    (`doubts`).
    """

    name: str
    tree: xr.DataTree
    title: str
    evidence: str
    hardware: str
    stand_ins: Mapping[str, Mapping[str, StandIn]] = field(default_factory=dict)
    apart: Mapping[str, FactorDistance] = field(default_factory=dict)
    profiler: str = ""
    pool: tuple[str, ...] = ()
    views: tuple[View, ...] = ()
    matched: tuple[str, ...] = ()
    references: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    widening: Mapping[str, float] = field(default_factory=dict)
    names: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    repeats: RunsAlike | None = None
    # Parts and views of a campaign share what was found of the whole.
    _doubts: dict[str, tuple[mixture.Doubt, ...]] = field(default_factory=dict, repr=False, compare=False)
    # Every claim asks for the same few tables.
    _frames: dict[str, pd.DataFrame] = field(default_factory=dict, init=False, repr=False, compare=False)
    _sources: list[dict[str, str]] = field(default_factory=list, init=False, repr=False, compare=False)
    _parts: dict[tuple[str, Level], Campaign] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    judged: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    _present: dict[str, frozenset[Level]] = field(default_factory=dict, init=False, repr=False, compare=False)
    _places: dict[str, Mapping[Any, Any]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def overview(self) -> dict[str, str]:
        """What it is in a few lines: runs, hardware, and the levels of each factor that varies."""
        runs = self.runs
        counted = int(runs["valid"].sum())
        text = str(len(runs)) if counted == len(runs) else f"{len(runs)} ({counted} of them count)"
        lines = {"runs": text, "hardware": self.hardware}
        for factor in FACTORS:
            stated = (
                runs[factor][runs[factor].notna() & ~runs[factor].isin(["", -1])] if factor in runs else ()
            )
            levels = in_order(set(stated))
            if len(levels) > 1:
                more = f", … ({len(levels)})" if len(levels) > _LISTED else ""
                lines[label(factor)] = ", ".join(map(str, levels[:_LISTED])) + more
        return lines

    def __repr__(self) -> str:
        """Return name, title and overview, a line each."""
        rows = [f"  {name}: {text}" for name, text in self.overview.items()]
        return "\n".join([f"{self.name}: {self.title} ({self.evidence})", *rows])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th{_LEFT}>{escape(name)}</th><td{_LEFT}>{escape(text)}</td></tr>"
            for name, text in self.overview.items()
        )
        title = f"<strong>{escape(self.name)}</strong>: {escape(self.title)} ({escape(self.evidence)})"
        return f"<p>{title}</p><table>{rows}</table>"

    @property
    def lost(self) -> str:
        """How many lines of its tables could not be read, and what is wrong with the first; or nothing."""
        faults = np.atleast_1d(self.tree.attrs.get("faults", ())).tolist()
        lines = [one.removesuffix(f"; {LOST}") for one in faults if one.endswith(LOST)]
        count = f"{'at least ' if len(lines) >= MAX_FAULTS else ''}{counted(len(lines), 'line')}"
        return f"{count} of its tables left out, the first: {lines[0]}" if lines else ""

    def application_name(self, name: str) -> str:
        """Return what a sentence calls an application: by `names`, or as its format has it."""
        return self.own_name("application", name) or application_name(name)

    def own_name(self, factor: str, level: Level) -> str:
        """Return what the campaign itself calls a level, empty where it gives it no name."""
        return self.names.get(factor, {}).get(str(level), "")

    def only(self, factor: str, level: Level) -> Campaign:
        """Show the campaign with the runs of one level alone, made once: many questions ask for the same."""
        key = (factor, level)
        if key not in self._parts:
            part = replace(self)
            runs = self.runs
            part._frames["runs"] = runs[runs[factor] == level].reset_index(drop=True)
            self._parts[key] = part
        return self._parts[key]

    def own(self, runs: pd.DataFrame | None = None) -> Campaign:
        """Show the campaign by its own levels, whatever a report calls so; with `runs`, with these alone.

        A case keeps the report's spelling.
        """
        same = {
            str(one.is_): name
            for name, one in self.stand_ins.get("case", {}).items()
            if one.distance == "same" and isinstance(one.is_, str)
        }
        part = replace(
            self, stand_ins={}, names={**self.names, "case": {**same, **self.names.get("case", {})}}
        )
        part._frames.update(self._frames)
        if runs is not None:
            part._frames["runs"] = runs.reset_index(drop=True)
        return part

    def frame(self, group: str) -> pd.DataFrame:
        """Return one of the tree's tables as a frame, coordinates as columns.

        Columns can be added to it, its values belong to the campaign. Raises ConfigError if it has no such
        table.
        """
        if group not in self._frames:
            if group not in self.tree.children:
                raise ConfigError.at(
                    self.name, 0, f"has no table {group!r}", known(group, self.tree.children)
                )
            ds = self.tree[group].to_dataset()
            # Labels as objects lie in one block; as pandas' strings each column is chosen from by itself.
            frame = pd.DataFrame(
                {
                    str(name): pd.Series(array.values, dtype=array.dtype)
                    for name, array in ds.variables.items()
                }
            )
            frame.columns = frame.columns.astype(object)  # so is a column found in half the time
            # Copied, as a copy has one block a type: each block more is chosen from by itself.
            self._frames[group] = self._gated(frame).copy() if group == "runs" else frame
        return self._frames[group].copy(deep=False)

    def _gated(self, runs: pd.DataFrame) -> pd.DataFrame:
        """Let the times of doubted cells enter no statistic, and make what is declared so a factor."""
        if self.evidence in OF_DRAWS:
            return runs
        if "of the whole" not in self._doubts:
            tables = {name: self.frame(name) for name in _BESIDE if name in self.tree.children}
            runs = mixture.within(runs, tables, self.repeats)
            found = mixture.doubts(runs, tables, self.repeats)
            self._doubts["of the whole"] = tuple(replace(one, names=self.names) for one in found)
        doubted = {run for one in self._doubts["of the whole"] for run in one.runs}
        return runs.assign(timing=runs["timing"] & ~runs["run"].isin(doubted)) if doubted else runs

    def need_runs(self) -> None:
        """Raise `ConfigError` for a modelled or simulated campaign: its runs are draws from ranges."""
        if self.evidence in OF_DRAWS:
            remedy = "compare its bands with claims: benchbook verdicts"
            raise ConfigError.at(self.name, 0, f"is {self.evidence}: its draws are no runs", remedy)

    def ungated(self) -> Campaign:
        """Show the campaign with the times of cells in doubt: a change over time may be what divides them."""
        doubted = {run for one in self.doubts for run in one.runs}
        if not doubted:
            return self
        whole = self.tree["runs"].to_dataset()
        timed = dict(zip(whole["run"].values, whole["timing"].values, strict=True))
        part, runs = replace(self), self.runs
        part._frames.update(self._frames)
        part._frames["runs"] = runs.assign(timing=[bool(timed.get(run, True)) for run in runs["run"]])
        return part

    @property
    def doubts(self) -> tuple[mixture.Doubt, ...]:
        """Cells whose runs may be no repeats, each an open question: nothing is concluded from them."""
        runs = self.runs  # reading them finds the doubts
        whole = self._doubts.get("of the whole", ())
        own = set(runs["run"]) if whole else set[str]()
        return tuple(one for one in whole if own & set(one.runs))

    def doubted(self, runs: pd.DataFrame) -> str:
        """Say which of some runs are left out, of cells in doubt; empty if none is."""
        names = set(runs["run"])
        found = [one.question for one in self.doubts if names & set(one.runs)]
        more = f"; and {counted(len(found) - _SAID, 'more cell')}" if len(found) > _SAID else ""
        return f"left out: {'; '.join(found[:_SAID])}{more}" if found else ""

    def sources(self) -> tuple[dict[str, str], dict[str, str]]:
        """Return the checksum of each run's files, and the file of each checksum that many runs are from."""
        if not self._sources:
            runs, files = self.runs, self.frame("files")
            shared = files[files["run"] == ""]
            self._sources.append(dict(zip(runs["run"], runs["checksum"], strict=True)))
            self._sources.append(dict(zip(shared["checksum"], shared["path"], strict=True)))
        return self._sources[0], self._sources[1]

    def files_read(self) -> list[dict[str, str]]:
        """Return path and checksum of every file that the campaign follows from."""
        files = self.frame("files")
        pairs = zip(files["path"], files["checksum"], strict=True)
        return [{"path": path, "sha256": checksum} for path, checksum in pairs]

    def cited(self, runs: Iterable[str]) -> list[dict[str, str]]:
        """Return title and address of the sources that published runs name."""
        if not self.references:
            return []
        table = self.frame("figures" if "figures" in self.tree.children else "runs")
        names = sorted(set(table.loc[table["run"].isin(set(runs)), "source"]) - {""})
        return [dict(zip(("title", "address"), self.references[name], strict=True)) for name in names]

    @property
    def runs(self) -> pd.DataFrame:
        """All runs, failed ones included."""
        return self.frame("runs")

    @property
    def on_one_node(self) -> bool:
        """Whether every run had one node."""
        return bool((self.runs["nodes"] == 1).all())

    def valid_of(self, *applications: Level) -> pd.DataFrame:
        """All valid runs of some applications; every conclusion asks for those of its own."""
        key = ("valid of", applications)
        if key not in self.judged:
            runs = self.runs
            places = np.flatnonzero(runs["valid"].to_numpy() & self._has("application", applications))
            self.judged[key] = runs.iloc[places]
        found: pd.DataFrame = self.judged[key]
        return found

    def view_for(self, report: str, topic: str, claim: str = "") -> View | None:
        """Return the view that answers a claim of a report, one that names it before one of its topic."""
        fitting = [one for one in self.views if one.report == report and topic in one.topics]
        named = [one for one in fitting if claim in one.claims]
        return next(iter(named or [one for one in fitting if not one.claims]), None)

    def seen(self, view: View) -> Campaign:
        """Show the campaign as a view has it.

        The result has the runs that the view selects. A factor whose levels are pooled is blank in all of
        them, and every level that the view declares for it means the blank.
        """
        runs = self.runs
        for name, wanted in view.select.items():
            runs = runs[runs[name].isin(wanted if isinstance(wanted, list) else [wanted])]
        stand_ins = dict(view.levels)
        for factor in view.together:
            declared = view.levels.get(factor, {})
            own = [level for one in declared.values() for level in np.atleast_1d(one.is_).tolist()]
            runs = runs[runs[factor].isin(own)] if own else runs
            nothing: str | int = "" if pd.api.types.is_string_dtype(runs[factor].dtype) else -1
            runs = runs.assign(**{factor: nothing})
            stand_ins[factor] = {
                name: one.model_copy(update={"is_": nothing}) for name, one in declared.items()
            }
        groups = {str(name): node.to_dataset() for name, node in self.tree.children.items()}
        groups["runs"] = to_dataset([runs], "runs")
        return replace(
            self, tree=xr.DataTree.from_dict(groups), stand_ins=stand_ins, apart={**self.apart, **view.apart},
            views=(), matched=tuple(view.cells.factors if view.cells else ()),
        )  # fmt: skip

    def resolve(self, factor: str, level: Level) -> list[Level]:
        """Say which of this campaign's levels stand for a level of the report, spelt as in a claim.

        Raises `NotCoveredError` if none does.
        """
        declared = self.stand_ins.get(factor, {}).get(str(level))
        if declared is not None:
            return one_or_more(declared.is_)
        if factor not in self._present:
            self._present[factor] = frozenset(self.frame("runs")[factor])
        if level in self._present[factor]:
            return [level]
        raise NotCoveredError(f"no run of {self.name} stands for {factor.replace('_', ' ')} {level}")

    def require(self, wanted: Iterable[tuple[str, Level]], *, timing: bool = False) -> None:
        """Raise `NotCoveredError` with all levels of the report that nothing stands for, by factor.

        With `timing` it says too if the times of no run may be used: no further level would help then.
        """
        missing: dict[str, list[str]] = {}
        for factor, level in wanted:
            try:
                self.resolve(factor, level)
            except NotCoveredError:
                missing.setdefault(factor.replace("_", " "), []).append(str(level))
        if missing:
            listed = (f"{factor} {', '.join(dict.fromkeys(levels))}" for factor, levels in missing.items())
            reason = f"no run of {self.name} stands for {'; '.join(listed)}"
            if timing and not (self.runs["valid"] & self.runs["timing"]).any():
                reason += ", and the times of its runs may not be used"
            raise NotCoveredError(reason)

    def select(self, selection: Mapping[str, Any] | None, *, timing: bool) -> pd.DataFrame:
        """Return the valid runs of a selection, with `timing` only runs whose times may be used.

        Raises `NotCoveredError` if a level has no substitute or no valid run is left.
        """
        runs = self.runs
        # Places of runs, as most questions are about few of many runs.
        timed, chosen = runs["timing"].to_numpy() | (not timing), np.flatnonzero(runs["valid"])
        for factor, wanted in (selection or {}).items():
            if isinstance(wanted, Mapping):
                low, high = wanted.get("min", float("-inf")), wanted.get("max", float("inf"))
                chosen = chosen[runs[factor].iloc[chosen].between(low, high)]
                text = " and ".join(
                    f"{'at least' if k == 'min' else 'at most'} {v}" for k, v in wanted.items()
                )
            else:
                levels = wanted if isinstance(wanted, (list, tuple)) else [wanted]
                own = [mine for level in levels for mine in self.resolve(factor, level)]
                chosen = chosen[self._has(factor, own)[chosen]]
                text = " or ".join(map(str, own))
            if not timed[chosen].any():
                why = "" if not timing else " whose times may be used"
                left_out = self.doubted(runs.iloc[chosen]) if timing else ""
                raise NotCoveredError(
                    f"{self.name} has no valid run{why} with {factor.replace('_', ' ')} {text}"
                    f"{': ' if left_out else ''}{left_out}"
                )
        return runs.iloc[chosen[timed[chosen]]]  # once, as a frame of many runs is large

    def _has(self, factor: str, levels: Sequence[Level]) -> NDArray[np.bool_]:
        """Tell which runs have one of some levels; where each level is, is looked up once."""
        if factor not in self._places:
            self._places[factor] = self.frame("runs").groupby(factor, sort=False).indices
        found = np.zeros(len(self.frame("runs")), dtype=bool)
        for level in levels:
            found[self._places[factor].get(level, [])] = True
        return found


def unknown_factors(declared: CampaignFile, path: Path, source: str) -> list[Fault]:
    """Find what a campaign's file calls a factor and none is, each with the nearest that there is."""
    named: dict[Where, str] = {("levels", factor): factor for factor in declared.levels}
    named |= {("names", factor): factor for factor in declared.names}
    pooled = declared.pool.factors if declared.pool else ()
    named |= {("pool", "factors", at): factor for at, factor in enumerate(pooled)}
    for number, cell in enumerate(declared.repeats.pooled if declared.repeats else ()):
        named |= {("repeats", "pooled", number, "when", factor): factor for factor in cell.when}
    for number, view in enumerate(declared.views):
        named |= {("views", number, "levels", factor): factor for factor in view.levels}
        for name, one in (("alike", view.alike), ("cells", view.cells)):
            factors = enumerate(one.factors if one else ())
            named |= {("views", number, name, "factors", at): factor for at, factor in factors}
    faults = [
        Fault(
            source,
            project.line_of(path, where),
            f"{where[0]}: unknown factor {factor!r}",
            known(factor, FACTORS, spellings=SPELLINGS),
        )
        for where, factor in named.items()
        if factor not in (FACTORS if "cells" not in where else (*FACTORS, DAY))
    ]
    mixed = [where for where, factor in named.items() if "alike" in where and factor in _PROBLEM]
    return faults + [
        Fault(source, project.line_of(path, where), f"{named[where]} is pooled", f"{_UNLIKE}; use `cells`")
        for where in mixed
    ]


def load_campaign(name: str, base: Path | None = None) -> Campaign:
    """Load a campaign's datasets and declaration, ``config/campaigns/<name>.yaml``, of a project.

    Raises ReadError if the datasets have not been built (``make datasets``) or cannot be read, ConfigError
    if the declaration cannot be used.
    """
    base = base or project.root()
    if (found := _KEPT.get((name, base.resolve()))) and found[0] == _state(name, base):
        return found[1]
    path = project.declaration(name, base)
    declared = models.load(CampaignFile, path)
    if faults := unknown_factors(declared, path, from_here(path)):
        raise ConfigError(*faults)
    tree = project.processed(name, base) / "campaign.nc"
    build = "make datasets" if declared.evidence == "synthetic" else "make report"
    if declared.matrix and not tree.is_file() and not project.raw(name, base).is_dir():
        raise ReadError.at(
            from_here(path), 0, "has no runs yet", f"`benchbook plan {name}` says how to start"
        )
    return Campaign(
        name=name,
        tree=storage.read_tree(tree, build=build),
        title=declared.title,
        evidence=declared.evidence,
        hardware=hardware(declared.hardware, project.raw(name, base) / "runs"),
        stand_ins=declared.levels,
        apart=declared.apart,
        profiler=declared.profiler,
        pool=tuple(declared.pool.factors if declared.pool else ()),
        views=tuple(declared.views),
        widening=declared.widening,
        references=references(project.raw(name, base)),
        names={
            **declared.names,
            "application": own_titles(base) | dict(declared.names.get("application", {})),
        },
        repeats=declared.repeats,
    )


# Campaigns for processes that are forked from this one, by name and project, each with its files' state.
_KEPT: dict[tuple[str, Path], tuple[Any, Campaign]] = {}
_MOST_KEPT = 10**6  # bytes of a file: each fork copies the table of all memory, which larger ones double


def keep(name: str, base: Path) -> None:
    """Load a campaign, with the doubts about its repeats, for this process and those forked from it.

    They see it as it is now; a change of its dataset or its declaration is seen by `load_campaign`. Faults
    are those of `load_campaign`. A large campaign is not kept.
    """
    state = _state(name, base)
    if sum(size for *_, size in state) <= _MOST_KEPT:
        found = load_campaign(name, base)
        len(found.runs)  # asks for the doubts, too
        _KEPT[name, base.resolve()] = (state, found)


def _state(name: str, base: Path) -> tuple[tuple[int, int, int], ...]:
    """Return inode, time and size of the files that a campaign is loaded from."""
    files = (project.declaration(name, base), project.processed(name, base) / "campaign.nc")
    found = (path.stat() for path in files if path.exists())
    return tuple((one.st_ino, one.st_mtime_ns, one.st_size) for one in found)
