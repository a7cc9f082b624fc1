"""IPM: the XML profile, or the banner that it prints at the end of a run's standard output."""

from __future__ import annotations

import xarray as xr

from analysis.readers.format import Format
from analysis.readers.ipm import banner, xml
from analysis.readers.ipm.tasks import refuse

FORMAT = Format(
    engine="ipm",
    kind="profile",
    tool="IPM",
    marks=((b"##IPM", b"<ipm_job_profile>"),),
    near=r"(?i)\bIPM(?:v|_|\b)",
)
_MARKS = (b"<ipm_job_profile", b"<task ipm_version=")


def sniff(head: bytes, name: str) -> bool:
    """Tell whether a file is IPM's."""
    return any(mark in head for mark in _MARKS) or banner.find(head) >= 0


def parse(data: bytes, source: str = "<memory>") -> xr.Dataset:
    """Parse an IPM XML profile or a text with an IPM banner in it: kind ``profile``.

    Its attribute ``source_form`` is ``xml`` or ``banner``: see `xml.parse` and `banner.parse` beside this.
    """
    if any(mark in data[: 1 << 20] for mark in _MARKS):
        return xml.parse(data, source)
    if banner.find(data) >= 0:
        return banner.parse(data, source)
    raise refuse(source)
