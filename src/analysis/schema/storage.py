"""Datasets on disk: checked, compressed, written in one step, and the same bytes every time.

Labels are stored as integer codes with their table in the attribute ``labels`` (a variable-length
string in HDF5 is neither compressed nor laid out reproducibly), attributes that netCDF has no type
for as JSON. `read` and `read_tree` undo both.
"""

import errno
import json
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from importlib.metadata import version
from itertools import count
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import xarray as xr

from analysis.base.errors import ReadError
from analysis.base.files import replacing
from analysis.schema import registry
from analysis.schema.registry import Column, is_lazy

_JSON = "json:"
_TIME = {"units": "nanoseconds since 1970-01-01", "dtype": "int64", "calendar": "proleptic_gregorian"}
# Compression pays from about a page of memory upwards; below it only costs time.
_COMPRESS_FROM = 4096
_AT_ONCE = 1 << 18  # values
_SPARE = 16 << 20  # B of a disk; with less left it is nearly full
_ERRNO = re.compile(r"\berrno = (\d+)")
_NETCDFS_OWN = {
    "CLASS", "DIMENSION_LIST", "NAME", "REFERENCE_LIST", "_NCProperties", "_Netcdf4Coordinates",
    "_Netcdf4Dimid", "_nc3_strict",
}  # fmt: skip
# Before the name of a variable that is not along the dimension of that name.
_BUILD = "make report"  # what makes a file that is not there
_OTHERWISE = "_nc4_non_coord_"
_NO_VARIABLE = b"This is a netCDF dimension but not a netCDF variable"


def write(ds: xr.Dataset, path: str | Path) -> None:
    """Write one dataset of a declared kind, checked; the file is replaced in one step."""
    write_tree({"/": ds}, path)


def write_tree(
    groups: Mapping[str, xr.Dataset], path: str | Path, attrs: Mapping[str, Any] | None = None
) -> None:
    """Write datasets of declared kinds as the groups of one file (``/`` is the root), with its `attrs`."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    for group, ds in groups.items():
        registry.check(ds, f"{path}:{group}")
    with replacing(path) as beside:
        write = partial(_write_groups, groups, str(beside), attrs)
        state = os.statvfs(path.parent)
        if state.f_bavail * state.f_frsize > _SPARE + 2 * sum(ds.nbytes for ds in groups.values()):
            write()
        else:
            _apart(write)


def _write_groups(groups: Mapping[str, xr.Dataset], name: str, attrs: Mapping[str, Any] | None) -> None:
    ids = count()
    if attrs:
        _append(name, "w", None, xr.Dataset(attrs=_encode_attrs(attrs)), ids)
    for i, (group, ds) in enumerate(groups.items()):
        _append(name, "a" if attrs or i else "w", group.strip("/") or None, _encode(ds), ids)


def _apart(write: Callable[[], None]) -> None:
    """Write in a process of its own: on a disk that fills HDF5 prints pages, or crashes, instead of an error.

    OSError if it does. The child ends with the number of the error.
    """
    if not (child := os.fork()):
        number = 0
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            write()
        except BaseException as error:
            found = _ERRNO.search(str(error))  # HDF5 raises one of several errors
            number = int(found[1]) if found else (error.errno if isinstance(error, OSError) else None) or 255
        finally:
            os._exit(number)
    number = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if number == 255:
        write()  # its error has more to say than a number
    elif number:
        number = max(number, 0) or errno.ENOSPC
        raise OSError(number, os.strerror(number))


def read(path: str | Path, group: str | None = None) -> xr.Dataset:
    """Read one dataset, by default the root's, into memory, checked; faults as of `read_tree`."""
    (ds,) = _stored(path, [group or "/"], _BUILD).values()
    registry.check(ds, str(path))
    return ds


def read_tree(path: str | Path, groups: Collection[str] | None = None, *, build: str = _BUILD) -> xr.DataTree:
    """Read a file of groups into memory as a DataTree, each group checked: ReadError, or SchemaError.

    `groups` that are named must be there; the root's attributes come with them. By default all are read.
    `build` is the command that makes the file.
    """
    nodes = _stored(path, None if groups is None else ["/", *groups], build)
    for name, ds in nodes.items():
        if ds.variables:
            registry.check(ds, f"{path}:{name}")
    return xr.DataTree.from_dict(nodes)


def _stored(path: str | Path, groups: Collection[str] | None, build: str) -> dict[str, xr.Dataset]:
    """Read groups, by default all: their paths, parents before children, and their datasets."""
    nodes: dict[str, xr.Dataset] = {}
    try:
        with h5py.File(path) as file:
            found = list(_groups(file)) if groups is None else [_group(file, name) for name in groups]
            for group in found:
                nodes[group.name] = _dataset(group, file)
    # What HDF5 says of damage comes as any of these.
    except (OSError, LookupError, ValueError, RuntimeError, TypeError, MemoryError) as error:
        if not Path(path).exists():
            raise ReadError.at(str(path), 0, "is not there", f"build it: {build}") from None
        raise ReadError.at(str(path), 0, f"cannot be read ({error})", f"rebuild it: {build}") from error
    return nodes


def _groups(group: h5py.Group) -> Iterator[h5py.Group]:
    yield group
    for item in group.values():
        if isinstance(item, h5py.Group):
            yield from _groups(item)


def _group(file: h5py.File, name: str) -> h5py.Group:
    group = file[name]
    if not isinstance(group, h5py.Group):
        raise KeyError(f"{name} is no group")
    return group


def _dataset(group: h5py.Group, file: h5py.File) -> xr.Dataset:
    """Read a group as xarray does, but in one pass: its own way asks HDF5 ninety times a variable.

    A dimension is an array that others refer to, a variable too unless its name says that it is none.
    """
    arrays = {name: item for name, item in group.items() if isinstance(item, h5py.Dataset)}
    scales = {_address(array.id): name for name, array in arrays.items() if array.is_scale}
    variables = {}
    for name, array in arrays.items():
        attrs = array.attrs
        if array.is_scale and bytes(attrs["NAME"]).startswith(_NO_VARIABLE):
            continue
        dims = [name] if array.is_scale and array.ndim else []
        if "DIMENSION_LIST" in attrs:
            dims = [
                scales[_address(h5py.h5r.dereference(refs[0], file.id))] for refs in attrs["DIMENSION_LIST"]
            ]
        # What has a dimension's name but other dimensions.
        variables[name.removeprefix(_OTHERWISE)] = xr.Variable(dims, array[()], _attrs(attrs))
    found, attrs, named = xr.conventions.decode_cf_variables(
        variables, _attrs(group.attrs), decode_timedelta=False
    )
    spelt = {name: _spelt(array) for name, array in found.items()}
    coords = {name: array for name, array in spelt.items() if name in named or array.dims == (name,)}
    data = {name: array for name, array in spelt.items() if name not in coords}
    return xr.Dataset(data, coords, _decode_attrs(attrs))


def _address(item: Any) -> int:
    return int(h5py.h5o.get_info(item).addr)


def _attrs(stored: h5py.AttributeManager) -> dict[str, Any]:
    """Return attributes without those by which netCDF notes dimensions; a list of one is what is in it."""
    out = {}
    for name in stored:
        if name not in _NETCDFS_OWN:
            value = stored[name]
            out[name] = value[0] if isinstance(value, np.ndarray) and value.size == 1 else value
    return out


def _encode(ds: xr.Dataset) -> xr.Dataset:
    variables = {str(name): _coded(array) for name, array in ds.variables.items()}
    coords = {name: array for name, array in variables.items() if name in ds.coords}
    data = {name: array for name, array in variables.items() if name not in ds.coords}
    return xr.Dataset(data, coords, _encode_attrs(ds.attrs))


def _coded(array: xr.Variable) -> xr.Variable:
    if array.dtype.kind not in "OUT":
        return array
    codes: Any
    names: Any
    if is_lazy(array):
        names = sorted({name for at in _blocks(array) for name in pd.unique(array[at].values)})
        places = {name: place for place, name in enumerate(names)}
        codes = Column((array,), "int32", partial(_codes, places)).lazily()
    else:
        codes, names = pd.factorize(np.asarray(array.values, dtype=object).ravel(), sort=True)
        codes = codes.astype("int32").reshape(array.shape)
    attrs = {**array.attrs, "labels": _JSON + json.dumps(list(map(str, names)))}
    return xr.Variable(array.dims, codes, attrs)


def _codes(places: dict[str, int], part: xr.Variable) -> Any:
    codes, own = pd.factorize(part.values)
    return np.array([places[name] for name in own], "int32")[codes]


def _blocks(array: xr.Variable, step: int = 1) -> Iterator[Any]:
    """Give the places of all values, so many at a time that they need little memory, in whole steps."""
    step *= max(1, _AT_ONCE // step)
    return (slice(at, at + step) for at in range(0, array.shape[0], step)) if array.dims else iter([...])


def _spelt(array: xr.Variable) -> xr.Variable:
    if "labels" not in array.attrs:
        return array
    names = json.loads(array.attrs["labels"].removeprefix(_JSON))
    # A code of -1 (a missing label) reads the empty one at the end.
    table = np.array([*names, ""], dtype=object)
    attrs = {key: value for key, value in array.attrs.items() if key != "labels"}
    # Without its fast path xarray sends every single label through pandas and back.
    return xr.Variable(array.dims, table[array.values], attrs, fastpath=bool(array.dims))


def _encode_attrs(attrs: Mapping[Any, Any]) -> dict[str, Any]:
    """Spell what netCDF cannot hold (truth, lists, None) as JSON; numbers and text stay."""
    out: dict[str, Any] = {}
    for key, value in attrs.items():
        if isinstance(value, np.generic):
            value = value.item()
        plain = isinstance(value, (str, int, float)) and not isinstance(value, bool)
        out[str(key)] = value if plain else _JSON + json.dumps(value, sort_keys=True)
    return out


def _decode_attrs(attrs: Mapping[Any, Any]) -> dict[Any, Any]:
    return {
        key: json.loads(value[len(_JSON) :]) if isinstance(value, str) and value.startswith(_JSON) else value
        for key, value in attrs.items()
    }


def _append(name: str, mode: str, group: str | None, ds: xr.Dataset, ids: Iterator[int]) -> None:
    """Write a group as h5netcdf does, to the byte; but through it each variable costs a hundred look-ups.

    Every group gets a file handle of its own: where HDF5 puts things depends on when a file is closed.
    """
    encoding = {str(key): _encoding(array) for key, array in ds.variables.items()}
    variables, attrs = xr.conventions.encode_dataset_coordinates(ds)
    for key, array in variables.items():
        array.encoding = encoding[str(key)]
    # Of a lazy column the encoder would make all values; they are as they are stored.
    lazy = {key: array._data for key, array in variables.items() if is_lazy(array)}
    variables = {key: array[:0] if key in lazy else array for key, array in variables.items()}
    variables, attrs = xr.conventions.cf_encoder(variables, attrs)
    variables |= {key: variables[key]._replace(data=data) for key, data in lazy.items()}
    with h5py.File(name, mode, track_order=True) as file:
        place = file.create_group(group, track_order=True) if group else file
        for key, value in attrs.items():
            _set(place, str(key), value)
        sizes = {str(dim): size for array in variables.values() for dim, size in array.sizes.items()}
        places = {dim: next(ids) for dim in sizes}
        for dim, size in sizes.items():
            _write_dimension(place, dim, size, places[dim])
        for key, array in variables.items():
            _write_variable(place, str(key), array, places)
        if mode == "w":
            made = f"version=2,h5netcdf={version('h5netcdf')},"
            made += f"hdf5={h5py.version.hdf5_version},h5py={h5py.__version__}"
            file.attrs["_NCProperties"] = np.array(made, h5py.string_dtype("ascii", len(made)))


def _write_dimension(place: h5py.Group, name: str, size: int, number: int) -> None:
    more = {} if size else {"maxshape": (None,)}
    scale = place.create_dataset(name, (size,), ">f4", track_order=True, **more)
    scale.attrs["_Netcdf4Dimid"] = np.array(number, np.int32)
    scale.make_scale(_NO_VARIABLE + b".%10d" % size)


def _write_variable(place: h5py.Group, name: str, array: xr.Variable, places: Mapping[str, int]) -> None:
    """Write a variable; one with the name of its dimension takes the place of what stood for that alone."""
    attrs, dims = dict(array.attrs), [str(dim) for dim in array.dims]
    fill = attrs.pop("_FillValue", None)
    if name in places and name not in dims:
        name = _OTHERWISE + name
    referring = _unscaled(place, name) if name in dims else []
    stored = place.create_dataset(name, array.shape, array.dtype, **_layout(array), fillvalue=fill)
    numbers = np.array([places[dim] for dim in dims], np.int32)
    if name in dims:
        stored.attrs["_Netcdf4Dimid"] = np.array(places[name], np.int32)
        stored.make_scale(name)
        for one, axis in referring:
            one.dims[axis].attach_scale(stored)
    else:
        if name.startswith(_OTHERWISE):
            stored.attrs["_Netcdf4Coordinates"] = numbers
        for axis, dim in enumerate(dims):
            stored.dims[axis].attach_scale(place[dim])
    if dims:
        stored.attrs["_Netcdf4Coordinates"] = numbers
        # A dimension of no length is unlimited: its variables get no number then.
        if 0 not in array.shape and not stored.attrs.get("_Netcdf4Dimid", False):
            stored.attrs["_Netcdf4Dimid"] = numbers[0]
    if fill is not None:
        stored.attrs["_FillValue"] = np.atleast_1d(array.dtype.type(fill))
    for key, value in attrs.items():
        _set(stored, key, value)
    for at in _blocks(array, stored.chunks[0] if stored.chunks else 1):
        stored[at] = array[at].values


def _layout(array: xr.Variable) -> dict[str, Any]:
    settings: dict[str, Any] = {"track_order": True}
    if 0 in array.shape:
        settings |= {"maxshape": tuple(size or None for size in array.shape)}
        settings |= {"chunks": tuple(size or 1024 for size in array.shape)}
    if array.encoding.get("zlib"):
        settings |= {"compression": "gzip", "compression_opts": array.encoding["complevel"], "shuffle": True}
    return settings


def _unscaled(place: h5py.Group, name: str) -> list[tuple[h5py.Dataset, int]]:
    """Take out what stands for a dimension; return what referred to it, by axis."""
    scale = place[name]
    referring = [(place.file[one], axis) for one, axis in scale.attrs.get("REFERENCE_LIST", ())]
    for one, axis in referring:
        one.dims[axis].detach_scale(scale)
    del place[name]
    return referring


def _set(place: h5py.Group | h5py.Dataset, name: str, value: Any) -> None:
    place.attrs[name] = value if isinstance(value, str) else np.atleast_1d(value)


def _encoding(array: xr.Variable) -> dict[str, Any]:
    settings: dict[str, Any] = dict(_TIME) if array.dtype.kind == "M" else {}
    if array.nbytes >= _COMPRESS_FROM:
        settings |= {"zlib": True, "complevel": 4, "shuffle": True}
    return settings
