"""TAU's profiles: of one thread as text (`profile.0.0.0`), of all ranks as `tauprofile.xml`: MPI calls."""

from __future__ import annotations

import xarray as xr

from analysis.readers.format import Format
from analysis.readers.tau import merged, profile

FORMAT = Format(engine="tau", kind="profile", tool="TAU")


def sniff(head: bytes, name: str) -> bool:
    """Tell whether some bytes begin as a profile of TAU."""
    return profile.is_profile(head) or merged.is_merged(head)


def parse(data: bytes, source: str = "<memory>") -> xr.Dataset:
    """Read the timers: kind ``profile``.

    Text is of one thread, its rank the node in the file's name, and how many ranks there were no file says:
    ``ranks_expected`` is -1, and the dataset ends with the rank, all before it blank. Without a rank in the
    name there are only the totals. XML is of all ranks. Attributes ``app_time_total`` and ``mpi_time_total``
    are over the ranks of the file, ``start`` is in s of Unix time. A call's time is inclusive,
    ``exclusive_time`` lacks what it called in turn; the rank's time in MPI is the sum of the latter, its
    wall-clock time that of the whole process.
    """
    return merged.read(data, source) if merged.is_merged(data[:256]) else profile.read(data, source)
