"""Frames to datasets: tables of a declared kind, empty ones included."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from analysis.schema import registry

_BLANK: dict[str, Any] = {
    "f8": np.nan,
    "i4": -1,
    "i8": -1,
    "str": "",
    "bool": False,
    "datetime64[ns]": np.datetime64("NaT", "ns"),
}


def blank(kind: str) -> dict[str, Any]:
    """Return a row of `kind` in which nothing is known: NaN, -1, empty, false, NaT."""
    return {name: _BLANK[variable.dtype] for name, variable in registry.declared(kind).items()}


def to_dataset(frames: Sequence[pd.DataFrame], kind: str) -> xr.Dataset:
    """Put frames of one kind, which has a single dimension, below each other and make them a dataset.

    Columns are named as the kind's variables; a missing one is blank, one that is not declared is left
    out. No frame at all gives an empty dataset.
    """
    table = registry.declared(kind)
    dim = next(iter(table.values())).dims[0]
    filled = [frame for frame in frames if len(frame)]
    whole = pd.concat(filled, ignore_index=True) if filled else pd.DataFrame()
    columns = {name: _column(whole, name, variable.dtype) for name, variable in table.items()}
    variables = {name: xr.Variable((dim,), column) for name, column in columns.items()}
    return registry.dataset(variables, kind, {})


def _column(frame: pd.DataFrame, name: str, dtype: str) -> np.ndarray:
    if name not in frame:
        values = np.full(len(frame), _BLANK[dtype])
        return values.astype(object) if dtype == "str" else values
    column = frame[name]
    if dtype == "str":
        return np.asarray(column.to_numpy(dtype=object, na_value=""), dtype=object)
    return np.asarray(column.to_numpy(), dtype=dtype)
