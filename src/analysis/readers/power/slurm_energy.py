"""Slurm's own energy of jobs and steps: ``ConsumedEnergyRaw`` of sacct."""

from __future__ import annotations

from typing import Any
from zoneinfo import available_timezones

import numpy as np
import xarray as xr

from analysis.errors import ReadError
from analysis.readers.power import zones
from analysis.readers.power.base import NAT, PowerLog, readings_of

# NO_VAL, INFINITE and their 64-bit forms: what Slurm writes where no plugin measured.
_NONE = (4294967294.0, 4294967295.0, 18446744073709551614.0, 18446744073709551615.0)
_MAX_RECORDS = 4000


def sniff(head: bytes, name: str) -> bool:
    """Return False: the accounting is read by `sacct`; this engine has to be asked for."""
    return False


def parse(data: bytes, source: str = "<memory>", **options: Any) -> xr.Dataset:
    """Parse sacct's output as energies.

    Parameters
    ----------
    data : bytes
    source : str, optional
    **options
        See `analysis.readers.power.base.Options`.

    Returns
    -------
    Dataset
        See `from_sacct`.

    Raises
    ------
    ReadError
        If no record has an energy.
    """
    from analysis.readers import sacct

    return from_sacct(sacct.parse(data, source), source, **options)


def from_sacct(records: xr.Dataset, source: str = "sacct", **options: Any) -> xr.Dataset:
    """Turn accounting records into energy counters from start to end of each job or step.

    Parameters
    ----------
    records : Dataset
        Kind ``sacct``; its times are in the zone of the option ``tz``, or of its attribute
        ``time_zone`` if that names one.
    source : str, optional
    **options
        See `analysis.readers.power.base.Options`.

    Returns
    -------
    Dataset
        Kind ``power``; a meter ``job`` or ``job.step`` per record with an energy. Zero is what
        Slurm writes without a meter and is left out, with a warning.

    Raises
    ------
    ReadError
        If no record has an energy, or more than 4,000 have.
    """
    log = PowerLog(b"", source, options)
    joules = records["energy"].to_numpy()
    start, end = (
        records[name].to_numpy().astype("datetime64[ns]").view(np.int64) for name in ("start", "end")
    )
    ended = (start != NAT) & (end != NAT) & (end > start)
    metered = np.isfinite(joules) & ~np.isin(joules, _NONE) & (joules > 0)
    keep = np.flatnonzero(ended & metered)
    zeros = int(np.count_nonzero(joules == 0))
    if zeros:
        log.faults.note(0, f"{zeros} records consumed 0 J", "left out: Slurm writes 0 without a meter")
    if not keep.size:
        raise log.empty("record with ConsumedEnergyRaw, a start and an end")
    if keep.size > _MAX_RECORDS:
        found = f"{keep.size} records with an energy"
        raise ReadError.at(source, 0, found, f"select at most {_MAX_RECORDS} jobs first")
    stated = str(records.attrs.get("time_zone", ""))
    zone = log.options.tz or (stated if stated in available_timezones() else None)
    local = np.column_stack([start[keep], end[keep]]).reshape(-1)
    utc = local if zone == "UTC" else zones.localise(log, local, None, zone)
    steps = [
        f"{j}.{s}" if s else str(j)
        for j, s in zip(records["job_id"].values, records["step"].values, strict=True)
    ]
    readings = readings_of(utc, [steps[i] for i in keep for _ in range(2)], np.zeros(utc.size))
    readings.counter = np.column_stack([np.zeros(keep.size), joules[keep]]).reshape(-1)
    return log.dataset(
        readings, tool="Slurm ConsumedEnergyRaw", location="nodes, as acct_gather_energy has it"
    )
