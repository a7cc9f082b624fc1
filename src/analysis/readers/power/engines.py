"""The readers of power logs as xarray engines; their options are keywords of ``xr.open_dataset``.

There is an engine for each name in `analysis.readers.ENGINES`, made when asked for:
``xr.open_dataset(path, engine=engines.turbostat)``. With a line in ``pyproject.toml`` its name does too.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import fields
from functools import cache
from typing import Any, ClassVar

import xarray as xr

from analysis import readers
from analysis.readers.engines import _Engine
from analysis.readers.power.base import Options


class _PowerEngine(_Engine):
    """Base: passes the options of `analysis.readers.power.base.Options` to the reader."""

    open_dataset_parameters: ClassVar[tuple[str, ...]] = (
        "filename_or_obj",
        "drop_variables",
        *(field.name for field in fields(Options)),
    )

    def open_dataset(
        self, filename_or_obj: Any, *, drop_variables: str | Iterable[str] | None = None, **options: Any
    ) -> xr.Dataset:
        ds = readers.open(os.fspath(filename_or_obj), engine=self.engine, **options)
        dropped = [drop_variables] if isinstance(drop_variables, str) else list(drop_variables or ())
        return ds.drop_vars(dropped, errors="ignore")


@cache
def __getattr__(name: str) -> type[_PowerEngine]:
    if name not in readers.ENGINES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    description = (readers.reader(name).__doc__ or name).splitlines()[0].rstrip(".")
    return type(name, (_PowerEngine,), {"engine": name, "description": description, "__doc__": description})
