"""The one registry of variables: every dataset is checked against it when written and when read.

A dataset has a *kind* (attribute ``kind``); within a kind a name has one meaning, one tuple of
dimensions, one type and one unit. `conform` brings a reader's dataset into that form, `to_dataset`
data frames; `check` refuses one that is not in it. The tables are in `analysis.schema.profiles`.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from xarray.backends import BackendArray
from xarray.core import indexing
from xarray.indexes import PandasIndex

from analysis.base.errors import Fault, SchemaError
from analysis.schema.profiles import REGISTRY, Variable

Columns = dict[str, np.ndarray]  # of a table, by variable
_SHORT = 1000  # labels of a dimension

# What a netCDF variable can be here, as numpy's dtype kinds: strings are object or fixed width.
_KINDS = {"f8": "f", "i4": "i", "i8": "i", "str": "OUT", "bool": "b", "datetime64[ns]": "M"}
# What a variable is where nothing is known.
_BLANK: dict[str, Any] = {
    "f8": np.nan, "i4": -1, "i8": -1, "str": "", "bool": False, "datetime64[ns]": np.datetime64("NaT", "ns"),
}  # fmt: skip


class Column(BackendArray):
    """A column as it was read, in a few bytes per row, that becomes numbers when it is asked for."""

    def __init__(self, parts: tuple[Any, ...], dtype: Any, read: Any) -> None:
        self.parts, self.dtype, self.read = parts, np.dtype(dtype), read
        self.shape = (len(parts[0]),)

    def __getitem__(self, key: Any) -> Any:
        """Return the numbers at some places."""
        support = indexing.IndexingSupport.OUTER
        return indexing.explicit_indexing_adapter(key, self.shape, support, self._at)

    def _at(self, key: tuple[Any, ...]) -> Any:
        one = isinstance(key[0], (int, np.integer))
        values = self.at(slice(key[0], key[0] + 1) if one else key[0])
        return values[0] if one else values

    def at(self, rows: Any) -> NDArray[Any]:
        """Return the numbers of some rows."""
        values: NDArray[Any] = self.read(*(part[rows] for part in self.parts))
        return values.astype(self.dtype, copy=False)

    def lazily(self) -> Any:
        """Return it as xarray takes it."""
        return indexing.LazilyIndexedArray(self)


def is_lazy(array: xr.Variable) -> bool:
    """Tell whether a variable's values are made when they are asked for."""
    return isinstance(array._data, indexing.LazilyIndexedArray)


def declared(kind: str) -> dict[str, Variable]:
    """Return the variables declared for a kind."""
    try:
        return REGISTRY[kind]
    except KeyError:
        known = ", ".join(sorted(REGISTRY))
        raise SchemaError.at(kind, 0, "is not a declared kind of dataset", f"known kinds: {known}") from None


def conform(ds: xr.Dataset, kind: str) -> xr.Dataset:
    """Give a dataset its kind, and its variables their declared type, unit and meaning.

    Values are in the declared units already: nothing is converted, only cast.
    """
    return dataset({str(name): array for name, array in ds.variables.items()}, kind, ds.attrs)


def dataset(variables: dict[str, xr.Variable], kind: str, attrs: Mapping[str, Any]) -> xr.Dataset:
    """Make a dataset of a kind from variables, as `conform` does of one that is made already."""
    table = declared(kind)
    # All variables at once: assigning them one by one costs a merge each, a millisecond apiece.
    for name, array in variables.items():
        if name in table:
            variables[name] = _conformed(array, table[name])
    coords = {name: array for name, array in variables.items() if name in table and table[name].coordinate}
    data = {name: array for name, array in variables.items() if name not in coords}
    indexes = {name: _index(name, array.values) for name, array in coords.items() if array.dims == (name,)}
    coords |= {name: index.create_variables({name: coords[name]})[name] for name, index in indexes.items()}
    out = _assembled(data, coords, indexes, {**attrs, "kind": kind})
    check(out)
    return out


def of_values(values: Mapping[str, Any], kind: str, attrs: Mapping[str, Any]) -> xr.Dataset:
    """Make a dataset of a kind from plain values, lists along a dimension, by the names of its variables."""
    variables = {}
    for name, variable in declared(kind).items():
        array = np.array(values[name], dtype=object if variable.dtype == "str" else variable.dtype)
        # Without its fast path xarray sends every single label through pandas and back.
        variables[name] = xr.Variable(variable.dims, array, fastpath=True)
    return dataset(variables, kind, attrs)


def _assembled(
    data: dict[str, xr.Variable],
    coords: dict[str, xr.Variable],
    indexes: dict[str, PandasIndex],
    attrs: dict[str, Any],
) -> xr.Dataset:
    """Put parts that fit each other together; `xr.Dataset` would merge and align them, as if they did not."""
    make = getattr(xr.Dataset, "_construct_direct", None)
    if make is None:  # it is xarray's own, which may go
        return xr.Dataset(data, xr.Coordinates(coords, indexes), attrs)
    # Sizes that do not fit are a ValueError there too.
    out: xr.Dataset = make({**data, **coords}, set(coords), None, attrs, dict(indexes))
    return out


def _index(name: str, labels: NDArray[Any]) -> PandasIndex:
    """Index the labels of a dimension; short ones are those of many files, and an index is never changed."""
    if labels.dtype != object or len(labels) > _SHORT:
        return PandasIndex(labels, name)
    return _shared_index(name, tuple(labels))


@lru_cache(maxsize=1024)
def _shared_index(name: str, labels: tuple[Any, ...]) -> PandasIndex:
    return PandasIndex(np.array(labels, dtype=object), name)


def _conformed(array: xr.Variable, variable: Variable) -> xr.Variable:
    # The values themselves are cast: a variable's own cast is a call of a universal function.
    # What is read only when it is asked for has its type already.
    values: Any = (
        array._data
        if is_lazy(array)
        else array.data
        if variable.dtype == "str"
        else array.data.astype(variable.dtype, copy=False)
    )
    attrs = {"long_name": variable.meaning}
    if variable.unit and variable.dtype != "datetime64[ns]":  # the encoding of time owns that attribute
        attrs["units"] = variable.unit
    # Numbers and labels stay as they are: xarray would send every object through pandas and back.
    plain = type(values) is np.ndarray and values.dtype.kind not in "mM"
    return xr.Variable(array.dims, values, attrs, fastpath=plain)


def check(ds: xr.Dataset, source: str = "dataset") -> None:
    """Check a dataset against the registry.

    SchemaError has one fault for each variable that is undeclared, missing, or differs in dimensions, type
    or unit.
    """
    kind = str(ds.attrs.get("kind", ""))
    table = declared(kind)
    faults = [
        Fault(source, 0, f"{name!r} is not declared for kind {kind!r}", "declare it in analysis/schema")
        for name in map(str, ds.variables)
        if name not in table
    ]
    for name, variable in table.items():
        if name in ds.variables:
            faults += _compare(ds.variables[name], variable, source)
        elif variable.required:
            faults.append(
                Fault(source, 0, f"{name!r} is missing from kind {kind!r}", "the reader must set it")
            )
    if faults:
        raise SchemaError(*faults)


def _compare(array: xr.Variable, variable: Variable, source: str) -> list[Fault]:
    faults = []
    if array.dims != variable.dims:
        faults.append((f"dimensions {array.dims}", f"{variable.dims}"))
    kind = array.dtype.kind
    if kind not in _KINDS[variable.dtype] or (kind in "fi" and array.dtype != np.dtype(variable.dtype)):
        faults.append((f"type {array.dtype}", variable.dtype))
    unit = array.attrs.get("units", "")
    if variable.dtype != "datetime64[ns]" and unit != variable.unit:
        faults.append((f"unit {unit!r}", repr(variable.unit)))
    return [
        Fault(source, 0, f"{variable.name!r} has {found}", f"the registry wants {wanted}")
        for found, wanted in faults
    ]


def blank(kind: str) -> dict[str, Any]:
    """Return a row of `kind` in which nothing is known: NaN, -1, empty, false, NaT."""
    return {name: _BLANK[variable.dtype] for name, variable in declared(kind).items()}


def to_dataset(frames: Sequence[pd.DataFrame], kind: str) -> xr.Dataset:
    """Put frames of one kind, which has a single dimension, below each other and make them a dataset.

    Columns are named as the kind's variables; a missing one is blank, one that is not declared is left
    out. No frame at all gives an empty dataset.
    """
    return of_columns(columns(frames, kind), kind)


def columns(frames: Sequence[pd.DataFrame], kind: str) -> Columns:
    """Put frames below each other, as `to_dataset` does; return the columns, each of its declared type."""
    filled = [frame for frame in frames if len(frame)]
    whole = pd.concat(filled, ignore_index=True) if filled else pd.DataFrame()
    return {name: _column(whole, name, variable.dtype) for name, variable in declared(kind).items()}


def columns_of(rows: Sequence[Mapping[str, Any]], kind: str) -> Columns:
    """Return the columns of rows that are mappings: pandas would guess the type of each value."""
    found: Columns = {}
    table, without = declared(kind), blank(kind)
    values_of = itemgetter(*table)
    # Row by row: thousands of rows are more than a processor's cache holds.
    whole = (values_of(row if row.keys() >= table.keys() else {**without, **row}) for row in rows)
    columns = zip(*whole, strict=True) if rows else ((),) * len(table)
    for (name, variable), values in zip(table.items(), columns, strict=True):
        if variable.dtype == "str":
            found[name] = np.empty(len(values), dtype=object)
            found[name][:] = ["" if one is None or one != one else one for one in values]
        else:
            found[name] = np.array(values, dtype=variable.dtype)
    return found


def of_columns(found: Columns, kind: str) -> xr.Dataset:
    """Make the columns of a kind, which has a single dimension, a dataset."""
    dim = next(iter(declared(kind).values())).dims[0]
    return dataset({name: xr.Variable((dim,), column) for name, column in found.items()}, kind, {})


def _column(frame: pd.DataFrame, name: str, dtype: str) -> np.ndarray:
    if name not in frame:
        values = np.full(len(frame), _BLANK[dtype])
        return values.astype(object) if dtype == "str" else values
    column = frame[name]
    if dtype == "str":
        return np.asarray(column.to_numpy(dtype=object, na_value=""), dtype=object)
    return np.asarray(column.to_numpy(), dtype=dtype)
