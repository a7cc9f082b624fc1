"""The table of a micro-benchmark's run, the same for OSU's and Intel's programs."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import xarray as xr

from analysis.base.errors import Fault
from analysis.schema import registry
from analysis.schema.registry import Columns

ENGINES = ("osu", "imb", "proxy")
# As OSU's programs are asked for message sizes: -m 1048576, -m 4:1048576, --message-size=4:
_RANGE = re.compile(r"osu_\w+\b.*?\s(?:-m|--message-size)[ =]?(?:\d+:)?(\d+)(?=\s|$)")
# What differs between executions of a cell.
_OWN = ("run", "repeat", "order")


def micro(result: xr.Dataset, row: Mapping[str, Any]) -> tuple[Columns, list[str]]:
    """Make a run's columns of the kind ``micro``, a row for each message size, and list what is unclear.

    IMB repeats a benchmark with 2, 4, 8, ... of the job's processes. A run is its factors, so its table is
    that of the most processes; the others are in the run's own dataset.
    """
    faults: list[str] = []
    if "size" not in result:  # the proxy's other patterns have one size
        return {}, []
    if result.attrs["kind"] == "imb":
        result, faults = _chosen(result, row)
    held = result.variables
    count = len(held["size"])
    columns = {name: np.full(count, row[name], dtype=object) for name in ("run", "case")}
    for name in ("size", "latency", "latency_least", "bandwidth"):
        columns[name] = held[name].values if name in held else np.full(count, np.nan)
    return (columns if count else {}), faults


def _chosen(result: xr.Dataset, row: Mapping[str, Any]) -> tuple[xr.Dataset, list[str]]:
    """Return the rows of the benchmark that the case names, or of the only one, on the most processes."""
    benchmarks = result["benchmark"].values.astype(str)
    names = sorted(set(benchmarks))
    own = [name for name in names if name.casefold() == str(row["case"]).casefold()] or names
    none = result.isel(row=slice(0))
    if len(own) != 1:
        what = f"{row['run']}: IMB printed {', '.join(names) or 'nothing'} and the case is {row['case']!r}"
        return none, [f"{what}; name the case after one of them to have its table compared"]
    mine = result.isel(row=benchmarks == own[0])
    mine = mine.isel(row=mine["processes"].values == mine["processes"].values.max())
    if len(set(mine["size"].values.tolist())) < mine.sizes["row"]:
        what = f"{row['run']}: IMB printed {own[0]} for several groups or modes"
        return none, [f"{what}; run it without -multi 1 and in one mode to have its table compared"]
    return mine, []


def cut_tables(found: Iterable[tuple[Mapping[str, Any], Columns, str]]) -> Iterator[Fault]:
    """Find tables that have fewer sizes than their command asked for, or than others of the same cell.

    Such a table has no footer: cut at the end of a line it looks whole. `found` has the row of each run (kind
    ``runs``), its table and the name of the file.
    """
    factors = [name for name, one in registry.declared("runs").items() if one.coordinate and name not in _OWN]
    cells = defaultdict(list)
    for row, table, source in found:
        sizes = set(table["size"].tolist())
        if asked := _RANGE.search(row["command"]):
            most = int(asked[1])
            if sizes and 0 < 2 * max(sizes) <= most:  # from one size to the next they double
                yield _cut(source, sizes, (2 * max(sizes), most), "for which its command asked")
        else:
            cells[tuple(str(row[name]) for name in factors)].append((sizes, source))
    for members in cells.values():
        union = set().union(*(sizes for sizes, _ in members))
        for sizes, source in members:
            if lost := union - sizes:
                yield _cut(source, sizes, (min(lost), max(lost)), "which others of its cell have")


def _cut(source: str, sizes: set[int], lost: tuple[int, int], who: str) -> Fault:
    what = f"has {len(sizes)} sizes, and none from {lost[0]} to {lost[1]} B, {who}"
    return Fault(source, 0, what, "was it cut? What it has is used; measure it again for the rest")
