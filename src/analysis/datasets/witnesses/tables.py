"""Witnesses of tables of runs that others published: what a row states twice."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from analysis.base.errors import Fault
from analysis.datasets.witnesses.hearing import FACTORS, typical
from analysis.schema.factors import TABLE

# Counts in the names of outputs: `f0978-1ranks-18threads`, `size-8 hpcg-iter-2`.
_RANKS = re.compile(r"(?<![a-z0-9])(\d+)[-_]?ranks(?![a-z])")
_THREADS = re.compile(r"(?<![a-z0-9])(\d+)[-_]?threads(?![a-z])")
_SIZE = re.compile(r"(?:^|[/ ])size-(\d+)(?![\d])")
_VERSION = re.compile(r"Benchmark_(\d+\.\d+)_")
_TUNED = re.compile(r"(\d+) threads (?:a|per) rank")
# A rate by its repeats: noise makes them differ, and a wrong unit or digit by more than this.
_FAR, _APART, _FEWEST = 12.0, np.log(2.0), 6
_DIGITS = 0.02  # of a mean power and a time, each rounded
# A folder of so many rows has one machine, but for so small a share of them.
_MANY, _FEW = 20, 0.05
_MACHINE = tuple(one.name for one in TABLE if one.kind == "machine")
_CUBE = re.compile(r"(\d+)³")

Row = Mapping[str, Any]


def of_rows(runs: pd.DataFrame, source: str) -> Iterator[Fault]:
    """Yield where rows of kind ``runs`` contradict themselves, their name, or other rows."""
    for row in runs.to_dict("records"):
        known = {str(key): value for key, value in row.items()}
        for what in (*_of_names(known), *_of_counts(known), *_of_shares(known)):
            yield Fault(source, 0, f"run {row['run']}: {what}", "compare the row with its source")
    yield from _doubled(runs, source)
    yield from _of_folders(runs, source)
    yield from _far(runs, source)


def _of_names(row: Row) -> Iterator[str]:
    """Compare a row with the counts in its name, which is that of its output."""
    name = str(row["run"])
    threads = _TUNED.search(str(row["tuning"]))
    version = _VERSION.search(name)
    if version and row["version"] not in ("", version[1]):
        yield f"has version {version[1]} by its name, its row says {row['version']}"
    stated = {"ranks": row["ranks"], "nodes": row["nodes"], "threads": int(threads[1]) if threads else -1}
    for key, pattern in (("ranks", _RANKS), ("threads", _THREADS), ("nodes", _SIZE)):
        found = pattern.search(name)
        if found and 0 < stated[key] != int(found[1]):
            yield f"has {found[1]} {key} by its name, its row says {stated[key]}"


def _of_counts(row: Row) -> Iterator[str]:
    ranks, nodes, each = (int(row[key]) for key in ("ranks", "nodes", "ranks_per_node"))
    if min(ranks, nodes, each) > 0 and not each * (nodes - 1) < ranks <= each * nodes:
        yield f"says {ranks} ranks on {nodes} nodes with {each} ranks per node"
    cube = _CUBE.fullmatch(str(row["case"]))
    if cube and 0 < row["local_size"] != int(cube[1]):
        yield f"says case {row['case']} and {row['local_size']} grid points a side"


def _of_shares(row: Row) -> Iterator[str]:
    """Compare parts with their whole."""
    pairs = (
        ("reduction_time", "benchmark_time"),
        ("benchmark_time", "elapsed"),
        ("idle_power", "mean_power"),
    )
    for part, whole in pairs:
        if part in row and whole in row and row[part] > row[whole] * 1.02:
            yield f"has a {part} of {row[part]:.6g}, more than its {whole} of {row[whole]:.6g}"
    drawn = row.get("mean_power", np.nan) * row.get("elapsed", np.nan)
    if abs(row.get("energy", np.nan) - drawn) > _DIGITS * drawn:
        yield f"has an energy of {row['energy']:.6g} J, its mean power and time make {drawn:.6g} J"
    if row.get("peak_share", 0) > 1.0 and str(row["application"]) == "hpl":
        yield f"reaches {row['peak_share']:.3g} of its peak"


def _doubled(runs: pd.DataFrame, source: str) -> Iterator[Fault]:
    """Find rows with the figures of another row, to the last digit of so many."""
    names = [name for name in ("figure_of_merit", "benchmark_time", "reduction_time") if name in runs]
    whole = runs[runs["figure_of_merit"].notna() & runs["benchmark_time"].notna()]
    for _, same in whole[whole.duplicated(names, keep=False)].groupby(names, dropna=False):
        first, *rest = same["run"]
        for other in rest:
            what = f"run {other}: has to the last digit the figures of run {first}"
            yield Fault(source, 0, what, "remove the copy, or compare the row with its source")


def _of_folders(runs: pd.DataFrame, source: str) -> Iterator[Fault]:
    """Find rows whose machine, library or source is not that of nearly all other rows of their folder."""
    folders = runs["run"].astype(str).str.partition("/")
    inside = runs[folders[1] == "/"].assign(folder=folders[0])
    for name in (*_MACHINE, "mpi", "source"):
        for folder, rows in inside.groupby("folder") if name in inside else ():
            counts = rows[name].value_counts()
            few = rows[rows[name].map(counts) <= _FEW * len(rows)]
            if len(rows) >= _MANY and counts.size and counts.iloc[0] >= (1 - _FEW) * len(rows):
                for run, level in zip(few["run"], few[name], strict=True):
                    what = f"run {run}: says {name} {level!r}, {counts.iloc[0]} other rows of {folder}"
                    yield Fault(source, 0, f"{what} {counts.index[0]!r}", "compare the row with its source")


def _far(runs: pd.DataFrame, source: str) -> Iterator[Fault]:
    """Find rates that are faster than all of their many repeats by a factor: noise makes runs slower."""
    factors = [name for name in FACTORS if name in runs and name != "question"]
    timed = runs[(runs["figure_of_merit"] > 0) & runs["benchmark_time"].notna()]
    for _, cell in timed.groupby(factors, dropna=False):
        logs = np.log(cell["figure_of_merit"].to_numpy(dtype=float))
        middle, scatter = typical(logs)
        for at in np.flatnonzero(np.abs(logs - middle) > max(_APART, _FAR * scatter)):
            if len(cell) >= _FEWEST and np.sort(logs)[-1] == logs[at]:
                row = cell.iloc[int(at)]
                what = f"run {row['run']}: its figure is {np.exp(logs[at] - middle):.3g} times that of its"
                what = f"{what} {len(cell) - 1} repeats"
                yield Fault(source, 0, what, "compare the row with its source")
