"""The readers of power logs as xarray engines; their options are keywords of ``xr.open_dataset``."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import fields
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


class Ipmitool(_PowerEngine):
    """ipmitool dcmi power reading."""

    engine = "ipmitool"
    description = "ipmitool dcmi power reading"


class FreeIpmi(_PowerEngine):
    """FreeIPMI: ipmi-dcmi, ipmi-sensors."""

    engine = "freeipmi"
    description = "FreeIPMI: ipmi-dcmi, ipmi-sensors"


class Perf(_PowerEngine):
    """perf stat -I with energy events."""

    engine = "perf"
    description = "perf stat -I with energy events"


class Rapl(_PowerEngine):
    """RAPL counters of powercap."""

    engine = "rapl"
    description = "RAPL counters of powercap"


class Turbostat(_PowerEngine):
    """turbostat."""

    engine = "turbostat"
    description = "turbostat"


class Powerstat(_PowerEngine):
    """powerstat."""

    engine = "powerstat"
    description = "powerstat"


class NvidiaSmi(_PowerEngine):
    """nvidia-smi, CSV or XML."""

    engine = "nvidia_smi"
    description = "nvidia-smi, CSV or XML"


class RocmSmi(_PowerEngine):
    """rocm-smi --json."""

    engine = "rocm_smi"
    description = "rocm-smi --json"


class Redfish(_PowerEngine):
    """Redfish resources about power."""

    engine = "redfish"
    description = "Redfish resources about power"


class PtDaemon(_PowerEngine):
    """SPEC PTDaemon log."""

    engine = "ptdaemon"
    description = "SPEC PTDaemon log"


class WattsUp(_PowerEngine):
    """Watts up? records."""

    engine = "wattsup"
    description = "Watts up? records"


class Yokogawa(_PowerEngine):
    """Yokogawa WT analyser CSV."""

    engine = "yokogawa"
    description = "Yokogawa WT analyser CSV"


class Ear(_PowerEngine):
    """EAR CSV of loops or applications."""

    engine = "ear"
    description = "EAR CSV of loops or applications"


class Geopm(_PowerEngine):
    """GEOPM report."""

    engine = "geopm"
    description = "GEOPM report"


class Cray(_PowerEngine):
    """Cray pm_counters."""

    engine = "cray"
    description = "Cray pm_counters"


class SlurmProfile(_PowerEngine):
    """Slurm HDF5 profile."""

    engine = "slurm_profile"
    description = "Slurm HDF5 profile"


class SlurmEnergy(_PowerEngine):
    """Slurm ConsumedEnergyRaw of sacct."""

    engine = "slurm_energy"
    description = "Slurm ConsumedEnergyRaw of sacct"


class PowerCsv(_PowerEngine):
    """CSV of powers, columns found or declared."""

    engine = "power_csv"
    description = "CSV of powers, columns found or declared"
