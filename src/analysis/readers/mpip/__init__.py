"""Reader of mpiP's text reports, versions 2.5 to 3.5, verbose and concise.

The observations come from the callsite statistics, never from the top-twenty lists unless a report
has nothing else: with address randomisation the twenty cover a fraction of the MPI time. See
`analysis.readers.mpip.meaning` for what a row means.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import xarray as xr

from analysis.base.errors import ReadError
from analysis.readers.base import Faults, profile_dataset
from analysis.readers.format import Format
from analysis.readers.mpip import checks
from analysis.readers.mpip import meaning as observations
from analysis.readers.mpip.callsites import read_callsites
from analysis.readers.mpip.meaning import Obs
from analysis.readers.mpip.report import Report, is_report, split
from analysis.readers.mpip.rows import Rows, read_rows
from analysis.readers.mpip.tables import Bin, Entry, Times, read_entries, read_histogram, read_times

FORMAT = Format(engine="mpip", kind="profile", tool="mpiP", marks=(b"@ mpiP",), near=r"(?i)\bmpip\b")
_FILE_NAME = re.compile(r"\.(\d{1,7})\.\d+\.\d+\.mpiP")
_PAYLOAD = ("sent", "io", "rma")
# More can only come out of a damaged number, and would only take memory.
_MOST_RANKS = 10_000_000


def sniff(head: bytes, name: str) -> bool:
    """Tell whether the beginning of a file is that of an mpiP report."""
    return is_report(head)


def parse(data: bytes, source: str = "<memory>") -> xr.Dataset:
    """Read an mpiP report: kind ``profile``, times in s, sizes in B.

    Attributes: ``command start stop mpip_options timer`` of the header (ISO 8601 without a zone);
    ``app_time_total mpi_time_total`` over all ranks, as printed; ``aggregate_share``, the fraction of MPI
    time in the list of the top twenty sites; ``flags``, the cross-checks that failed, which the warnings
    explain; and ``detail``, what an observation is: ``rank`` (a site on a rank; rank -1 is what its ``*``
    row has beyond the printed ranks), ``task`` (concise mode: a site over all ranks, rank -1, count -1 where
    its calls are not counted), ``top`` (option ``-d``: the top twenty sites over all ranks) or ``none``.
    """
    if not is_report(data):
        what = "is empty" if not data.strip() else "is no mpiP report: neither '@ mpiP' nor a section of one"
        raise ReadError.at(source, 0, what, "check the path")
    faults = Faults(source)
    report = split(data, faults)
    times = read_times(report, faults)
    sites = read_callsites(report, faults)
    top = {kind: read_entries(report, f"top_{kind}", faults) for kind in ("time", *_PAYLOAD)}
    bins = read_histogram(report, faults)
    rows = {
        kind: found
        for kind in ("time", *_PAYLOAD)
        if kind in report.sections and (found := read_rows(report, report.sections[kind], faults)) is not None
    }
    ranks = _ranks(report, times, rows, source)
    host, app, mpi = _rank_variables(report, times, ranks, faults)
    obs, detail = _observations(report, rows, top, ranks, faults)
    flags = _check(report, times, obs, detail, top["time"], bins, faults)
    return profile_dataset(
        obs=obs,
        ranks={"host": host, "app_time": app, "mpi_time": mpi, "memory": np.full(ranks, np.nan)},
        tool=FORMAT.tool,
        tool_version=report.header.get("Version", ""),
        ranks_expected=ranks,
        faults=faults,
        extra={name: (("callsite",), values) for name, values in sites.items()} | _histogram(bins),
        attrs=_attrs(report, times, top["time"]) | {"detail": detail, "flags": flags},
    )


def _ranks(report: Report, times: Times, rows: dict[str, Rows], source: str) -> int:
    """Return the number of ranks: from the report if it got that far, else from the file name."""
    rows_inside = times.rows if times.rows <= _MOST_RANKS else 0
    inside = max(len(report.assignment), rows_inside)
    named = _FILE_NAME.search(source)
    name = int(named[1]) if named else 0
    if "mpi_time" in report.sections and inside and not np.isnan(times.mpi_total):
        return inside
    if "task_time" in report.sections and inside:
        # The concise mode prints no number of ranks; total / mean gives it to the printed digits.
        return max(len(report.assignment), name if abs(name - inside) <= max(1, inside // 100) else inside)
    if inside or name:
        return max(inside, name)
    ranks = [found.columns["Rank"] for found in rows.values() if not found.concise]
    present = np.unique(np.concatenate(ranks)) if ranks else np.empty(0, dtype=np.int64)
    most = 1 + int(present.max(initial=-1))
    # A rank far beyond all others is a damaged number.
    return most if most <= 4 * len(present) else int((present >= 0).sum())


def _rank_variables(
    report: Report, times: Times, ranks: int, faults: Faults
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    host = np.full(ranks, "", dtype=object)
    for due, (line, value) in enumerate(report.assignment):
        number, _, name = value.partition(" ")
        if number == str(due):
            host[due] = name.strip()
        else:
            found = f"task assignment {value!r} where rank {due} is due"
            faults.damage(line, found, "the host of the rank is left empty")
    app, mpi = np.full(ranks, np.nan), np.full(ranks, np.nan)
    for array, values in ((app, times.app), (mpi, times.mpi)):
        for rank, seconds in values.items():
            array[rank] = seconds
    if "end" in report.sections and not times.line:
        faults.damage(0, "no section 'MPI Time' that can be read", "AppTime and MPITime are not known")
    return host, app, mpi


def _observations(
    report: Report, rows: dict[str, Rows], top: dict[str, list[Entry]], ranks: int, faults: Faults
) -> tuple[Obs, str]:
    time = rows.get("time")
    # A section that is cut or unreadable must not be taken for one that says nothing.
    payload = {kind: rows[kind] for kind in _PAYLOAD if kind in rows}
    if time is not None:
        payload = {kind: found for kind, found in payload.items() if found.concise == time.concise}
        if time.concise:
            obs = observations.from_tasks(time, payload, [e for entries in top.values() for e in entries])
            unknown = int((obs["count"] < 0).sum())
            if unknown:
                found = f"calls are not counted at {unknown} of {len(obs['count'])} sites"
                line = report.line(time.section.heading)
                faults.note(line, found, "count is -1 there: run mpiP without -c for counts")
            return obs, "task"
        threshold = bool(re.search(r"(^|\s)-t", report.header.get("MPIP env var", "")))
        return observations.from_ranks(report, time, payload, ranks, threshold, faults), "rank"
    if not faults.complete or not top["time"]:
        return observations.empty(), "none"
    lists = {kind: top[kind] for kind in _PAYLOAD if f"top_{kind}" in report.sections}
    line = report.line(report.sections["top_time"].heading)
    found = f"no callsite statistics (option -d): the top {len(top['time'])} sites are all there is"
    faults.note(line, found, "they stand for all ranks as rank -1")
    return observations.from_entries(top["time"], lists), "top"


def _check(
    report: Report, times: Times, obs: Obs, detail: str, top: list[Entry], bins: list[Bin], faults: Faults
) -> list[str]:
    flags = checks.check_ranks(report, times, faults) + checks.check_times(times, faults)
    # Of a damaged report the two sides of a check may have lost different rows.
    if not faults.complete or detail == "none":
        return flags
    flags += checks.check_sites(report, times, obs, detail, faults)
    if detail != "top":
        flags += checks.check_entries(top, obs, times, faults)
        flags += checks.check_collectives(bins, obs, times, faults)
    return flags


def _histogram(bins: list[Bin]) -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
    if not bins:
        return {}
    columns: dict[str, np.ndarray] = {
        "histogram_call": np.array([entry.call for entry in bins], dtype=object),
        "histogram_kind": np.array([entry.kind for entry in bins], dtype=object),
        "share": np.array([entry.share for entry in bins]),
    }
    edges = np.array([entry.edges for entry in bins], dtype=np.int64)
    for i, name in enumerate(("comm_low", "comm_high", "size_low", "size_high")):
        columns[name] = edges[:, i]
    return {name: (("histogram",), values) for name, values in columns.items()}


def _attrs(report: Report, times: Times, top: list[Entry]) -> dict[str, Any]:
    header = report.header
    env = header.get("MPIP env var", "")
    attrs: dict[str, Any] = {
        "command": header.get("Command", ""),
        "start": checks.timestamp(header.get("Start time", "")),
        "stop": checks.timestamp(header.get("Stop time", "")),
        "mpip_options": "" if env == "[null]" else env,
        "timer": header.get("Timer Used", ""),
    }
    if not np.isnan(times.app_total):
        attrs["app_time_total"] = times.app_total
    if not np.isnan(times.mpi_total):
        attrs["mpi_time_total"] = times.mpi_total
        if top and times.mpi_total > 0:
            listed = sum(entry.values.get("Time", 0.0) for entry in top) * 1e-3
            attrs["aggregate_share"] = listed / times.mpi_total
    return attrs
