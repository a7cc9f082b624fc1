"""Caliper: profiles (`.cali`) with MPI functions and regions, or the text of `runtime-report`: times."""

from __future__ import annotations

import xarray as xr

from analysis.base.errors import ReadError
from analysis.readers.format import Format
from analysis.readers.caliper import records, report


FORMAT = Format(engine="caliper", kind="profile", tool="Caliper")


def sniff(head: bytes, name: str) -> bool:
    """Tell whether some bytes begin as a file of Caliper, or have the headings of its report."""
    return records.is_records(head) or report.is_report(head)


def parse(data: bytes, source: str = "<memory>") -> xr.Dataset:
    """Read a profile: kind ``profile`` if it has MPI functions, else ``merits`` of its regions.

    Where the file has sums over all ranks only, they are of rank -1; attributes ``app_time_total`` and
    ``mpi_time_total`` are over all ranks. ``region`` is the path of regions down to the call. Calls are not
    counted (-1) unless the profile has ``region.count``. The text of a report is of kind ``merits``: it has
    the slowest rank's time in each region and MPI function, and does not say how many ranks there were.
    """
    if records.is_records(data):
        return records.read(data, source)
    if report.is_report(data):
        return report.read(data, source)
    found = "neither begins with '__rec=' nor has the headings of a runtime-report"
    raise ReadError.at(source, 1, found, "give a .cali file of Caliper or the text of its report")
