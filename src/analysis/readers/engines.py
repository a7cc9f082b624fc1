"""The readers as xarray engines: ``xr.open_dataset("app.mpiP", engine="mpip")``."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import fields
from functools import cache
from typing import Any, ClassVar

import xarray as xr
from xarray.backends import BackendEntrypoint

from analysis import readers
from analysis.readers.power.log import Options


class _Engine(BackendEntrypoint):
    """Base of the engines: reads the whole file, which is what a text format needs."""

    engine: ClassVar[str]
    open_dataset_parameters: ClassVar[tuple[str, ...]] = ("filename_or_obj", "drop_variables")

    def open_dataset(
        self, filename_or_obj: Any, *, drop_variables: str | Iterable[str] | None = None
    ) -> xr.Dataset:
        ds = readers.open(os.fspath(filename_or_obj), engine=self.engine)
        dropped = [drop_variables] if isinstance(drop_variables, str) else list(drop_variables or ())
        return ds.drop_vars(dropped, errors="ignore")

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        # Sniffing costs a read of the file; xarray asks every engine, so only names decide.
        return False


class Ipm(_Engine):
    """IPM: XML profile or banner."""

    engine = "ipm"
    description = "IPM profile (XML) or banner"


class Mpip(_Engine):
    """mpiP text report."""

    engine = "mpip"
    description = "mpiP text report"


class Hpcg(_Engine):
    """HPCG result file."""

    engine = "hpcg"
    description = "HPCG result file"


class Hpcc(_Engine):
    """HPCC summary."""

    engine = "hpcc"
    description = "HPCC output"


class Osu(_Engine):
    """OSU micro-benchmark table."""

    engine = "osu"
    description = "OSU micro-benchmark output"


class Imb(_Engine):
    """Tables of the Intel MPI Benchmarks."""

    engine = "imb"
    description = "Intel MPI Benchmarks output"


class LsDyna(_Engine):
    """LS-DYNA's account of a run."""

    engine = "lsdyna"
    description = "LS-DYNA d3hsp, mes0000 or standard output"


class OpenAtom(_Engine):
    """OpenAtom's standard output."""

    engine = "openatom"
    description = "OpenAtom standard output"


class Proxy(_Engine):
    """Benchbook's own MPI program."""

    engine = "proxy"
    description = "output of src/proxy"


class Published(_Engine):
    """Table of published figures."""

    engine = "published"
    description = "figures.csv, other people's figures with their sources"


class Sacct(_Engine):
    """Slurm accounting, ``--parsable2`` or ``--json``."""

    engine = "sacct"
    description = "Slurm sacct output"


class Run(_Engine):
    """Benchbook's own record of one run."""

    engine = "run"
    description = "run.json of one run"


class _PowerEngine(_Engine):
    """Base: passes the options of `analysis.readers.power.log.Options` to the reader."""

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
