"""Datasets on disk: checked, compressed, written in one step, and the same bytes every time.

Labels are stored as integer codes with their table in the attribute ``labels`` (a variable-length
string in HDF5 is neither compressed nor laid out reproducibly), attributes that netCDF has no type
for as JSON. `read` and `read_tree` undo both.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from analysis import schema
from analysis.base.errors import ReadError

_JSON = "json:"
_TIME = {"units": "nanoseconds since 1970-01-01", "dtype": "int64", "calendar": "proleptic_gregorian"}
# Compression pays from about a page of memory upwards; below it only costs time.
_COMPRESS_FROM = 4096


def write(ds: xr.Dataset, path: str | Path) -> None:
    """Write one dataset.

    Parameters
    ----------
    ds : Dataset
        Of a declared kind; checked against the registry.
    path : path
        Replaced in one step once the new file is whole.

    Raises
    ------
    SchemaError
        If the dataset does not follow the registry.
    """
    write_tree({"/": ds}, path)


def write_tree(
    groups: Mapping[str, xr.Dataset], path: str | Path, attrs: Mapping[str, Any] | None = None
) -> None:
    """Write several datasets as the groups of one file.

    Parameters
    ----------
    groups : mapping of str to Dataset
        Group name -> dataset of a declared kind; ``/`` is the root.
    path : path
    attrs : mapping, optional
        Attributes of the root.

    Raises
    ------
    SchemaError
        If a dataset does not follow the registry.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    os.close(handle)
    try:
        if attrs:
            xr.Dataset(attrs=_encode_attrs(attrs)).to_netcdf(name, mode="w", engine="h5netcdf")
        for i, (group, ds) in enumerate(groups.items()):
            schema.check(ds, f"{path}:{group}")
            encoded = _encode(ds)
            mode: Any = "a" if attrs or i else "w"
            encoded.to_netcdf(
                name,
                mode=mode,
                group=group.strip("/") or None,
                engine="h5netcdf",
                encoding=_encoding(encoded),
            )
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read(path: str | Path, group: str | None = None) -> xr.Dataset:
    """Read one dataset back, checked.

    Parameters
    ----------
    path : path
    group : str, optional

    Returns
    -------
    Dataset
        In memory; the file is closed.

    Raises
    ------
    ReadError
        If the file cannot be read.
    SchemaError
        If it does not follow the registry.
    """
    try:
        with xr.open_dataset(path, group=group, engine="h5netcdf") as stored:
            ds = _decode(stored.load())
    except (OSError, KeyError, ValueError) as error:
        raise ReadError.at(str(path), 0, f"cannot be read ({error})", "rebuild it: make report") from error
    schema.check(ds, str(path))
    return ds


def read_tree(path: str | Path) -> xr.DataTree:
    """Read a file of groups as a DataTree, each group checked.

    Parameters
    ----------
    path : path

    Returns
    -------
    DataTree
        One child a group; in memory.

    Raises
    ------
    ReadError, SchemaError
        As `read`.
    """
    try:
        with xr.open_datatree(path, engine="h5netcdf") as stored:
            nodes = {node.path: _decode(node.to_dataset(inherit=False).load()) for node in stored.subtree}
    except (OSError, KeyError, ValueError) as error:
        raise ReadError.at(str(path), 0, f"cannot be read ({error})", "rebuild it: make report") from error
    for name, ds in nodes.items():
        if ds.variables:
            schema.check(ds, f"{path}:{name}")
    return xr.DataTree.from_dict(nodes)


def _encode(ds: xr.Dataset) -> xr.Dataset:
    return _rebuilt(
        ds, {str(name): _coded(array) for name, array in ds.variables.items()}, _encode_attrs(ds.attrs)
    )


def _coded(array: xr.Variable) -> xr.Variable:
    if array.dtype.kind not in "OUT":
        return array
    codes, table = pd.factorize(np.asarray(array.values, dtype=object).ravel(), sort=True)
    attrs = {**array.attrs, "labels": _JSON + json.dumps(list(map(str, table)))}
    return xr.Variable(array.dims, codes.astype("int32").reshape(array.shape), attrs)


def _decode(ds: xr.Dataset) -> xr.Dataset:
    attrs = {
        key: json.loads(value[len(_JSON) :]) if isinstance(value, str) and value.startswith(_JSON) else value
        for key, value in ds.attrs.items()
    }
    return _rebuilt(ds, {str(name): _spelt(array) for name, array in ds.variables.items()}, attrs)


def _spelt(array: xr.Variable) -> xr.Variable:
    if "labels" not in array.attrs:
        return array
    names = json.loads(array.attrs["labels"].removeprefix(_JSON))
    # A code of -1 (a missing label) reads the empty one at the end.
    table = np.array([*names, ""], dtype=object)
    attrs = {key: value for key, value in array.attrs.items() if key != "labels"}
    return xr.Variable(array.dims, table[array.values], attrs)


def _rebuilt(ds: xr.Dataset, variables: Mapping[str, xr.Variable], attrs: Mapping[Any, Any]) -> xr.Dataset:
    coords = {name: array for name, array in variables.items() if name in ds.coords}
    data = {name: array for name, array in variables.items() if name not in ds.coords}
    return xr.Dataset(data, coords, attrs)


def _encode_attrs(attrs: Mapping[Any, Any]) -> dict[str, Any]:
    """Spell what netCDF cannot hold (truth, lists, None) as JSON; numbers and text stay."""
    out: dict[str, Any] = {}
    for key, value in attrs.items():
        if isinstance(value, np.generic):
            value = value.item()
        plain = isinstance(value, (str, int, float)) and not isinstance(value, bool)
        out[str(key)] = value if plain else _JSON + json.dumps(value, sort_keys=True)
    return out


def _encoding(ds: xr.Dataset) -> dict[str, dict[str, Any]]:
    encoding: dict[str, dict[str, Any]] = {}
    for name, array in ds.variables.items():
        settings: dict[str, Any] = dict(_TIME) if array.dtype.kind == "M" else {}
        if array.nbytes >= _COMPRESS_FROM:
            settings |= {"zlib": True, "complevel": 4, "shuffle": True}
        encoding[str(name)] = settings
    return encoding
