"""The table of a micro-benchmark's run: what OSU's and Intel's programs have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

ENGINES = ("osu", "imb")


def micro(result: xr.Dataset, row: Mapping[str, Any]) -> tuple[pd.DataFrame, list[str]]:
    """Make a run's rows of the kind ``micro``, one for each message size, and say what is unclear.

    IMB repeats a benchmark with 2, 4, 8, ... of the job's processes. A run is its factors, so the table
    of the most processes is its own; the others stand in the run's own dataset.
    """
    faults: list[str] = []
    if result.attrs["kind"] == "imb":
        result, faults = _chosen(result, row)
    frame = pd.DataFrame({"size": result["size"].values})
    for name in ("latency", "bandwidth"):
        frame[name] = result[name].values if name in result else np.nan
    return frame.assign(run=row["run"], case=row["case"]), faults


def _chosen(result: xr.Dataset, row: Mapping[str, Any]) -> tuple[xr.Dataset, list[str]]:
    """Take the rows of the benchmark that the case names, or of the only one, on the most processes."""
    benchmarks = result["benchmark"].values.astype(str)
    names = sorted(set(benchmarks))
    own = [name for name in names if name.casefold() == str(row["case"]).casefold()] or names
    none = result.isel(row=slice(0))
    if len(own) != 1:
        what = f"{row['run']}:0: IMB printed {', '.join(names) or 'nothing'} and the case is {row['case']!r}"
        return none, [f"{what}; name the case after one of them to have its table compared"]
    mine = result.isel(row=benchmarks == own[0])
    mine = mine.isel(row=mine["processes"].values == mine["processes"].values.max())
    if len(set(mine["size"].values.tolist())) < mine.sizes["row"]:
        what = f"{row['run']}:0: IMB printed {own[0]} for several groups or modes"
        return none, [f"{what}; run it without -multi 1 and in one mode to have its table compared"]
    return mine, []
