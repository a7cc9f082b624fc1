"""Reader of mpiP's text reports, versions 2.5 to 3.5, verbose and concise.

The observations come from the callsite statistics, never from the top-twenty lists unless a report
has nothing else: with address randomisation the twenty cover a fraction of the MPI time.

A row is a call site on a rank. Rank -1 stands for "over the ranks": the part of a site's ``*`` row
that no printed rank row contains, and every row where a report has no rows by rank at all. A ``*`` row
itself is never an observation, so that a sum over the observations counts each call once.
"""

import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
import xarray as xr

from analysis.base import files
from analysis.base.errors import ReadError
from analysis.readers import core
from analysis.readers.base import Faults, labels, profile_dataset
from analysis.readers.format import Format
from analysis.readers.mpip import fast
from analysis.readers.mpip.checks import (
    Obs,
    check_collectives,
    check_entries,
    check_ranks,
    check_sites,
    check_times,
    timestamp,
)
from analysis.readers.mpip.report import (
    Bin,
    Entry,
    ReportText,
    Times,
    UncutError,
    is_report,
    read_callsites,
    read_entries,
    read_histogram,
    read_times,
    split,
)
from analysis.readers.mpip.rows import SiteRows, check_bytes, rank_rows, read_rows
from analysis.schema.registry import Column

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
    if len(data) >= core.LEAST and (ds := _fast(io.BytesIO(data), source)) is not None:
        return ds
    if not is_report(data):
        what = "is empty" if not data.strip() else "is no mpiP report: neither '@ mpiP' nor a section of one"
        raise ReadError.at(source, 0, what, "check the path")
    faults = Faults(source)
    return _dataset(split(data, faults), faults)


def stream(path: str | Path, source: str) -> xr.Dataset | None:
    """Read a large report of the usual form from its file, plain or compressed; None for any other."""
    try:
        with files.opened(path) as file:
            return _fast(file, source)
    except (OSError, ValueError):
        return None


def _fast(file: IO[bytes], source: str) -> xr.Dataset | None:
    found = fast.cut(file)
    if found is None or not is_report(bytes(found.text)):
        return None
    faults = Faults(source)
    try:
        return _dataset(split(bytes(found.text), faults, found), faults)
    except UncutError:
        return None


def _dataset(report: ReportText, faults: Faults) -> xr.Dataset:
    times = read_times(report, faults)
    sites = read_callsites(report, faults)
    top = {kind: read_entries(report, f"top_{kind}", faults) for kind in ("time", *_PAYLOAD)}
    bins = read_histogram(report, faults)
    rows = {
        kind: found
        for kind in ("time", *_PAYLOAD)
        if kind in report.sections and (found := read_rows(report, report.sections[kind], faults)) is not None
    }
    ranks = _ranks(report, times, rows, faults.source)
    host, app, mpi = _rank_variables(report, times, ranks, faults)
    obs, detail = _observations(report, rows, top, ranks, faults)
    flags = _check(report, times, obs, detail, top["time"], bins, faults)
    as_it_is = _filled if report.cut is None else _lazy
    obs, sites = ({name: as_it_is(values) for name, values in each.items()} for each in (obs, sites))
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


def _filled(values: np.ndarray) -> np.ndarray:
    """Give each entry of a column its own memory."""
    return values if values.flags.writeable else values.copy()


def _lazy(values: np.ndarray) -> Any:
    """Leave a column of one value as short as it is; and labels, which xarray would spell out once more."""
    if values.dtype == object or not values.flags.writeable:
        return Column((values,), values.dtype, np.asarray).lazily()
    return values


def _ranks(report: ReportText, times: Times, rows: dict[str, SiteRows], source: str) -> int:
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
    report: ReportText, times: Times, ranks: int, faults: Faults
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
    report: ReportText, rows: dict[str, SiteRows], top: dict[str, list[Entry]], ranks: int, faults: Faults
) -> tuple[Obs, str]:
    time = rows.get("time")
    # A section that is cut or unreadable must not be taken for one that says nothing.
    payload = {kind: rows[kind] for kind in _PAYLOAD if kind in rows}
    if time is not None:
        payload = {kind: found for kind, found in payload.items() if found.concise == time.concise}
        if time.concise:
            obs = from_tasks(time, payload, [e for entries in top.values() for e in entries])
            unknown = int((obs["count"] < 0).sum())
            if unknown:
                found = f"calls are not counted at {unknown} of {len(obs['count'])} sites"
                line = report.line(time.section.heading)
                faults.note(line, found, "count is -1 there: run mpiP without -c for counts")
            return obs, "task"
        threshold = bool(re.search(r"(^|\s)-t", report.header.get("MPIP env var", "")))
        return from_ranks(report, time, payload, ranks, threshold, faults), "rank"
    if not faults.complete or not top["time"]:
        return empty(), "none"
    lists = {kind: top[kind] for kind in _PAYLOAD if f"top_{kind}" in report.sections}
    line = report.line(report.sections["top_time"].heading)
    found = f"no callsite statistics (option -d): the top {len(top['time'])} sites are all there is"
    faults.note(line, found, "they stand for all ranks as rank -1")
    return from_entries(top["time"], lists), "top"


def _check(
    report: ReportText, times: Times, obs: Obs, detail: str, top: list[Entry], bins: list[Bin], faults: Faults
) -> list[str]:
    flags = check_ranks(report, times, faults) + check_times(times, faults)
    # Of a damaged report the two sides of a check may have lost different rows.
    if not faults.complete or detail == "none":
        return flags
    flags += check_sites(report, times, obs, detail, faults)
    if detail != "top":
        flags += check_entries(top, obs, times, faults)
        flags += check_collectives(bins, obs, times, faults)
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


def _attrs(report: ReportText, times: Times, top: list[Entry]) -> dict[str, Any]:
    header = report.header
    env = header.get("MPIP env var", "")
    attrs: dict[str, Any] = {
        "command": header.get("Command", ""),
        "start": timestamp(header.get("Start time", "")),
        "stop": timestamp(header.get("Stop time", "")),
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


# One-sided calls that move data. mpiP 3.5 does not record Get: not listed is not zero for them.
_ONE_SIDED = frozenset(
    f"MPI_{name}"
    for name in (
        *("Put", "Get", "Accumulate", "Get_accumulate", "Fetch_and_op", "Compare_and_swap"),
        *("Rput", "Rget", "Raccumulate", "Rget_accumulate"),
    )
)
_MS = 1e-3


def from_ranks(
    report: ReportText,
    time: SiteRows,
    payload: Mapping[str, SiteRows],
    ranks: int,
    threshold: bool,
    faults: Faults,
) -> Obs:
    """Build observations from rows by rank, and from the sections of bytes that the report has.

    Time is count × mean, each as printed: three digits, so within 0.5 % of the truth. Bytes are the
    printed sum (four digits): bytes sent, for MPI-IO bytes read or written, for one-sided calls bytes at
    the origin. They are 0 where the section says that a site sent nothing, NaN where it is absent,
    damaged or does not record the call. SiteRows of more than `ranks` ranks (0: not known) are refused;
    `threshold` says that rows may be left out on purpose (option ``-t``).
    """
    rows, rest = rank_rows(report, time, ranks, threshold, faults)
    by_rank, rests = rows["Rank"] >= 0, len(rest["Site"])

    def take(name: str) -> np.ndarray:
        """Give a column of the rows of ranks, and free it of the section: together they would need more."""
        return rows.pop(name)[by_rank]

    names = np.concatenate([take("Name"), rest["Name"]])
    count, mean, unknown = take("Count"), take("Mean"), np.full(rests, np.nan)
    obs = _obs(
        call=labels(names, time.names),
        rank=np.concatenate([take("Rank"), np.full(rests, -1, np.int32)]),
        site=np.concatenate([take("Site"), rest["Site"]]),
        count=np.concatenate([count, rest["Count"]]),
        time=np.concatenate([count * mean * _MS, rest["Time"] * _MS]),
        time_min=np.concatenate([take("Min") * _MS, unknown]),
        time_max=np.concatenate([take("Max") * _MS, unknown]),
        bytes=_absent_bytes(names, time.names, payload),
    )
    for rows_of in payload.values():
        check_bytes(report, rows_of, threshold, faults)
        _add_bytes(obs, rows_of, rests)
    return obs


def _obs(
    *,
    call: np.ndarray,
    rank: np.ndarray,
    site: np.ndarray,
    count: np.ndarray,
    time: np.ndarray,
    **known: np.ndarray,
) -> Obs:
    n = len(call)
    return {
        "rank": rank.astype(np.int32, copy=False),
        "call": call,
        # A mean over all calls of a site is no message size.
        "size": np.broadcast_to(np.int64(-1), n),
        "peer": np.broadcast_to(np.int32(-1), n),
        "region": np.broadcast_to(np.array("", dtype=object), n),
        "site": site.astype(np.int32, copy=False),
        "count": count.astype(np.int64, copy=False),
        "time": time.astype(np.float64, copy=False),
    } | {
        name: known[name] if name in known else np.full(n, np.nan)
        for name in ("time_min", "time_max", "bytes")
    }


def _kind_of(call: str) -> str:
    return "io" if call.startswith("MPI_File_") else "rma" if call in _ONE_SIDED else "sent"


def _absent_bytes(codes: np.ndarray, names: list[str], payload: Mapping[str, SiteRows]) -> np.ndarray:
    """Return what it means for a row not to be listed: 0 B, or unknown."""
    known = [kind != "rma" and kind in payload and payload[kind].whole for kind in map(_kind_of, names)]
    absent = np.where(known, 0.0, np.nan) if names else np.empty(0)
    spread: np.ndarray = absent[codes]
    return spread


def _add_bytes(obs: Obs, rows: SiteRows, rests: int) -> None:
    """Put the sums of one section into the observations of the same site and rank, in place."""
    site, rank = rows.columns["Site"], rows.columns["Rank"]
    listed = rank >= 0
    site, rank, amount = site[listed], rank[listed], rows.columns["Sum"][listed]
    width = 1 + max(int(rank.max(initial=0)), int(obs["rank"].max(initial=0)))
    own = len(obs["site"]) - rests
    keys = obs["site"][:own].astype(np.int64) * width + obs["rank"][:own]
    order = np.argsort(keys, kind="stable")
    at = np.searchsorted(keys, site * width + rank, sorter=order)
    hit = np.minimum(at, max(own - 1, 0))
    where = order[hit] if own else hit
    found = (keys[where] == site * width + rank) if own else np.zeros(len(site), dtype=bool)
    obs["bytes"][where[found]] = amount[found]
    if rests:  # what belongs to rank rows that were left out belongs to the rest of their site
        order = np.argsort(obs["site"][own:], kind="stable")
        sites = obs["site"][own:][order]
        slot = np.minimum(np.searchsorted(sites, site[~found]), rests - 1)
        mine = sites[slot] == site[~found]
        total = np.bincount(slot[mine], amount[~found][mine], minlength=rests)
        listed = np.bincount(slot[mine], minlength=rests) > 0
        obs["bytes"][own + order[listed]] = total[listed]


def from_tasks(time: SiteRows, payload: Mapping[str, SiteRows], top: list[Entry]) -> Obs:
    """Build observations from concise rows, which hold statistics over tasks: one row a site, rank -1.

    Time and bytes are tasks × mean over tasks (bytes as a top-twenty list has them where their section is
    missing). Only the top-twenty lists count calls: count -1 where none has the site.
    """
    columns = time.columns
    counts = {entry.site: round(entry.values["Count"]) for entry in top if "Count" in entry.values}
    count = np.array([counts.get(int(site), -1) for site in columns["Site"]], dtype=np.int64)
    obs = _obs(
        call=labels(columns["Name"], time.names),
        rank=np.full(len(count), -1),
        site=columns["Site"],
        count=count,
        time=columns["Tasks"] * columns["Mean"] * _MS,
    )
    obs["bytes"] = _absent_bytes(columns["Name"], time.names, payload)
    # mpiP leaves out a section that would have a single site; its top-twenty list has it still.
    totals = {entry.site: entry.values["Total"] for entry in top if "Total" in entry.values}
    for rows in payload.values():
        totals |= dict(zip(rows.columns["Site"], rows.columns["Tasks"] * rows.columns["Mean"], strict=True))
    obs["bytes"] = np.array(
        [totals.get(int(site), absent) for site, absent in zip(obs["site"], obs["bytes"], strict=True)],
        dtype=np.float64,
    )
    return obs


def from_entries(times: list[Entry], payload: Mapping[str, list[Entry]]) -> Obs:
    """Build observations from the top-twenty lists, all that option ``-d`` leaves: one row a site, rank -1.

    Bytes are NaN where a full list may have dropped the site.
    """
    call = np.array([entry.call for entry in times], dtype=object)
    counts = {e.site: e.values.get("Count", -1) for entries in payload.values() for e in entries}
    obs = _obs(
        call=call,
        rank=np.full(len(call), -1),
        site=np.array([entry.site for entry in times], dtype=np.int64),
        count=np.array([e.values.get("Count", counts.get(e.site, -1)) for e in times], dtype=np.float64),
        time=np.array([entry.values.get("Time", np.nan) for entry in times], dtype=np.float64) * _MS,
    )
    sums = {e.site: e.values.get("Total", np.nan) for entries in payload.values() for e in entries}
    for i, entry in enumerate(times):
        kind = _kind_of(entry.call)
        known = kind != "rma" and kind in payload and len(payload[kind]) < 20
        obs["bytes"][i] = sums.get(entry.site, 0.0 if known else np.nan)
    return obs


def empty() -> Obs:
    """Return no observations."""
    return from_entries([], {})
