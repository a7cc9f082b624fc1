"""The runs of a campaign in columns: what is kept of them, and what the campaign's tables are made of.

A document or a frame for each of ten thousand runs costs more than reading the runs that are new.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.ipc as ipc

from analysis.datasets.run import RunFolder
from analysis.energy.attribution import RunEnergy
from analysis.schema import registry
from analysis.schema.registry import Columns

_OF_PROFILES = ("calls", "messages", "ranks", "matrix")
OF_RUNS = (*_OF_PROFILES, "micro")  # the tables that a run's folder has
# What a run has that is no table.
_REST = ("sources", "repeats", "faults", "extra")
_LABELS = b"labels"


@dataclass(frozen=True)
class RunTables:
    """Runs in their order: `columns` by kind (``runs files`` and `OF_RUNS`), `rest` a mapping for each run.

    A row of ``runs`` has the energy by the logs in the run's folder.
    """

    columns: Mapping[str, Columns]
    rest: Sequence[Mapping[str, Any]]

    @classmethod
    def of(cls, runs: Sequence[RunFolder]) -> RunTables:
        """Put the tables of runs below each other."""
        found = {kind: _below(runs, kind) for kind in _OF_PROFILES} | {"micro": _sizes(runs)}
        found["runs"] = registry.columns_of([run.row | run.energy.columns() for run in runs], "runs")
        found["files"] = registry.columns_of([file for run in runs for file in run.files], "files")
        return cls(found, [{name: getattr(run, name) for name in _REST} for run in runs])

    @cached_property
    def names(self) -> list[str]:
        """The names of the runs."""
        return list(self.columns["runs"]["run"])

    def only(self, names: Collection[str]) -> RunTables:
        """Return some of the runs."""
        if len(names) == len(self.names):
            return self
        kept = pd.Index(sorted(names))
        chosen = {kind: kept.get_indexer(pd.Index(table["run"])) >= 0 for kind, table in self.columns.items()}
        columns = {
            kind: {name: column[chosen[kind]] for name, column in table.items()}
            for kind, table in self.columns.items()
        }
        rest = [one for one, wanted in zip(self.rest, chosen["runs"], strict=True) if wanted]
        return RunTables(columns, rest)

    def joined(self, other: RunTables, names: Sequence[str]) -> RunTables:
        """Add other runs; the order is that of `names`, which has each run once."""
        if not other.names or not self.names:
            return self if self.names else other
        columns, place = {}, pd.Index(names)
        for kind in self.columns:
            mine, theirs = self.columns[kind], other.columns[kind]
            order = np.argsort(
                place.get_indexer(pd.Index(np.concatenate([mine["run"], theirs["run"]]))), kind="stable"
            )
            columns[kind] = {name: np.concatenate([mine[name], theirs[name]])[order] for name in mine}
        rest = dict(zip((*self.names, *other.names), (*self.rest, *other.rest), strict=True))
        return RunTables(columns, [rest[name] for name in names])

    def runs(self) -> list[RunFolder]:
        """Return the runs with rows that may be changed, without their tables."""
        table = {name: list(column) if column.dtype.kind == "M" else column.tolist()
                 for name, column in self.columns["runs"].items()}  # fmt: skip
        rows = [dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)]
        # The columns of an energy are its fields in their order.
        energies = map(RunEnergy, *(table[name] for name in RunEnergy().columns()))
        found = zip(rows, energies, self.rest, strict=True)
        return [RunFolder(row, energy, **rest) for row, energy, rest in found]

    def micro(self) -> dict[str, Columns]:
        """Return the table of sizes of each run that has one."""
        return dict(_by_run(self.columns["micro"]))

    def encoded(self) -> dict[str, bytes]:
        """Spell each table as an Arrow stream, and the rest as JSON; ValueError if that cannot hold it."""
        rest = json.dumps(self.rest, default=_plain).encode()
        return {kind: _encoded(table) for kind, table in self.columns.items()} | {"rest": rest}

    @classmethod
    def decoded(cls, parts: Mapping[str, bytes]) -> RunTables:
        """Undo `encoded`."""
        found = {kind: _decoded(parts[kind]) for kind in ("runs", "files", *OF_RUNS)}
        return cls(found, json.loads(parts["rest"]))


def sizes(runs: Sequence[RunFolder]) -> dict[str, Columns]:
    """Return the table of sizes of each run that has one."""
    return dict(_by_run(_sizes(runs)))


def _sizes(runs: Sequence[RunFolder]) -> Columns:
    found = [run.sizes for run in runs if run.sizes]
    if not found:
        return registry.columns([], "micro")
    return {name: np.concatenate([one[name] for one in found]) for name in registry.declared("micro")}


def _below(runs: Sequence[RunFolder], kind: str) -> Columns:
    return registry.columns([run.frames[kind] for run in runs if kind in run.frames], kind)


def _by_run(table: Columns) -> Iterator[tuple[str, Columns]]:
    """Cut a table whose rows are in the order of their runs into one for each run."""
    runs = table["run"]
    if not runs.size:
        return
    edges = [0, *(np.flatnonzero(runs[1:] != runs[:-1]) + 1).tolist(), runs.size]
    for start, end in pairwise(edges):
        yield str(runs[start]), {name: column[start:end] for name, column in table.items()}


def _encoded(table: Columns) -> bytes:
    """Labels become numbers, with their list as JSON: it holds those that are no UTF-8."""
    arrays, labels = {}, {}
    for name, column in table.items():
        if column.dtype == object:
            codes, names = pd.factorize(column)
            arrays[name], labels[name] = codes.astype("i4"), list(map(str, names))
        else:
            arrays[name] = column
    whole = pa.table(arrays, metadata={_LABELS: json.dumps(labels).encode()})
    out = pa.BufferOutputStream()
    with ipc.new_stream(out, whole.schema, options=ipc.IpcWriteOptions(compression="lz4")) as stream:
        stream.write_table(whole)
    return bytes(out.getvalue())


def _decoded(content: bytes) -> Columns:
    whole = ipc.open_stream(content).read_all()
    labels = json.loads(whole.schema.metadata[_LABELS])
    found = {name: whole[name].to_numpy() for name in whole.column_names}
    for name, names in labels.items():
        found[name] = np.array([*names, ""], dtype=object)[found[name]]
    return found


def _plain(value: Any) -> Any:
    """Return a number of numpy as one of Python."""
    if isinstance(value, np.generic) and value.dtype.kind != "M":
        return value.item()
    raise ValueError(f"{type(value).__name__} in a fragment")
