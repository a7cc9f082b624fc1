"""Slurm's own energy of jobs and steps: ``ConsumedEnergyRaw`` of sacct."""

from typing import Any
from zoneinfo import available_timezones

import numpy as np
import xarray as xr

from analysis.base.errors import ReadError
from analysis.readers.format import Format
from analysis.readers.power import clock
from analysis.readers.power.log import NAT, MeterLog
from analysis.readers.power.rows import spans

FORMAT = Format(engine="slurm_energy", kind="power")
# NO_VAL, INFINITE and their 64-bit forms: what Slurm writes where no plugin measured.
_NONE = (4294967294.0, 4294967295.0, 18446744073709551614.0, 18446744073709551615.0)
_MAX_RECORDS = 4000


def sniff(head: bytes, name: str) -> bool:
    """Return False: the accounting is read by `sacct`; this engine has to be asked for."""
    return False


def parse(data: bytes, source: str = "<memory>", **options: Any) -> xr.Dataset:
    """Parse sacct's output as energies, see `from_sacct`."""
    from analysis.readers import sacct

    return from_sacct(sacct.parse(data, source), source, **options)


def from_sacct(records: xr.Dataset, source: str = "sacct", **options: Any) -> xr.Dataset:
    """Turn accounting records into energy counters from start to end of each job or step."""
    log = MeterLog(b"", source, options)
    joules = records["energy"].to_numpy()
    both = np.stack([records[name].to_numpy() for name in ("start", "end")], axis=1)
    local = both.astype("datetime64[ns]").view(np.int64)
    ended = (local != NAT).all(axis=1) & (local[:, 1] > local[:, 0])
    keep = np.flatnonzero(ended & np.isfinite(joules) & ~np.isin(joules, _NONE) & (joules > 0))
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
    flat = local[keep].reshape(-1)
    utc = (flat if zone == "UTC" else clock.localise(log, flat, None, zone)).reshape(-1, 2).tolist()
    ids, steps = records["job_id"].values[keep], records["step"].values[keep]
    meters = [f"{j}.{s}" if s else str(j) for j, s in zip(ids, steps, strict=True)]
    rows = [(m, a, b, e) for m, (a, b), e in zip(meters, utc, joules[keep].tolist(), strict=True)]
    return log.dataset(
        spans(log, rows), tool="Slurm ConsumedEnergyRaw", location="nodes, as acct_gather_energy has it"
    )
