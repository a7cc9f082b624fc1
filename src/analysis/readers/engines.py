"""The readers as xarray engines, made from `ENGINES`: ``xr.open_dataset("app.mpiP", engine="mpip")``."""

import os
from collections.abc import Iterable
from dataclasses import fields
from functools import cache
from typing import Any, ClassVar

import xarray as xr
from xarray.backends import BackendEntrypoint

from analysis import readers
from analysis.readers.power.log import Options


class Engine(BackendEntrypoint):
    """Reads the whole file, which is what a text format needs; power logs take options."""

    engine: ClassVar[str]

    def open_dataset(
        self, filename_or_obj: Any, *, drop_variables: str | Iterable[str] | None = None, **options: Any
    ) -> xr.Dataset:
        """Open a file with this engine."""
        ds = readers.open(os.fspath(filename_or_obj), engine=self.engine, **options)
        dropped = [drop_variables] if isinstance(drop_variables, str) else list(drop_variables or ())
        return portable(ds.drop_vars(dropped, errors="ignore"))

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """Return False: sniffing costs a read of the file, and xarray asks every engine."""
        return False


def portable(ds: xr.Dataset) -> xr.Dataset:
    """Return a dataset that netCDF can hold: attributes are 1 or 0 for truth, lines of text for a list."""
    attrs = {name: int(on) if isinstance(on, bool) else on for name, on in ds.attrs.items()}
    texts = {name: "\n".join(map(str, some)) for name, some in attrs.items() if isinstance(some, list)}
    texts |= {name: some for name, some in attrs.items() if isinstance(some, str)}
    # A file that a crash left has bytes of zero.
    texts = {name: text.replace("\0", "") for name, text in texts.items()}
    # Without a value, an array of objects would be saved as one of numbers.
    empty = [name for name, one in ds.variables.items() if one.dtype == object and not one.size]
    return ds.assign_attrs(attrs | texts).assign({name: ds[name].astype(str) for name in empty})


@cache
def __getattr__(name: str) -> type[Engine]:
    if name not in readers.ENGINES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    description = readers.summary(name).rstrip(".")
    options = [field.name for field in fields(Options)] if readers.is_power(name) else []
    parameters = ("filename_or_obj", "drop_variables", *options)
    members = {"engine": name, "description": description, "open_dataset_parameters": parameters}
    return type(name, (Engine,), {**members, "__doc__": description})
