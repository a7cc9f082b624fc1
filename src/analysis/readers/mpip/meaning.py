"""Observations of an mpiP report: callsite statistics joined with the payload of the same rows.

A row is a call site on a rank. Rank -1 stands for "over the ranks": the part of a site's ``*`` row
that no printed rank row holds, and every row where a report has no rows by rank at all. A ``*`` row
itself is never an observation, so that a sum over the observations counts each call once.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from analysis.readers.base import Faults, labels
from analysis.readers.mpip.report import Report
from analysis.readers.mpip.rows import Rows
from analysis.readers.mpip.sites import check_bytes, settle
from analysis.readers.mpip.tables import Entry

# One-sided calls that move data. mpiP 3.5 does not record Get: not listed is not zero for them.
_ONE_SIDED = frozenset(
    f"MPI_{name}"
    for name in (
        *("Put", "Get", "Accumulate", "Get_accumulate", "Fetch_and_op", "Compare_and_swap"),
        *("Rput", "Rget", "Raccumulate", "Rget_accumulate"),
    )
)
_MS = 1e-3

Obs = dict[str, np.ndarray]


def from_ranks(
    report: Report, time: Rows, payload: Mapping[str, Rows], ranks: int, threshold: bool, faults: Faults
) -> Obs:
    """Build observations from rows by rank, and from the sections of bytes that the report has.

    Time is count × mean, each as printed: three digits, so within 0.5 % of the truth. Bytes are the
    printed sum (four digits): bytes sent, for MPI-IO bytes read or written, for one-sided calls bytes at
    the origin. They are 0 where the section says that a site sent nothing, NaN where it is absent,
    damaged or does not record the call. Rows of more than `ranks` ranks (0: not known) are refused;
    `threshold` says that rows may be left out on purpose (option ``-t``).
    """
    rows, rest = settle(report, time, ranks, threshold, faults)
    by_rank = rows["Rank"] >= 0
    columns = {name: values[by_rank] for name, values in rows.items()}
    obs = _frame(
        call=labels(np.concatenate([columns["Name"], rest["Name"]]), time.names),
        rank=np.concatenate([columns["Rank"], np.full(len(rest["Site"]), -1)]),
        site=np.concatenate([columns["Site"], rest["Site"]]),
        count=np.concatenate([columns["Count"], rest["Count"]]),
        time=np.concatenate([columns["Count"] * columns["Mean"] * _MS, rest["Time"] * _MS]),
    )
    unknown = np.full(len(rest["Site"]), np.nan)
    obs["time_min"] = np.concatenate([columns["Min"] * _MS, unknown])
    obs["time_max"] = np.concatenate([columns["Max"] * _MS, unknown])
    names = np.concatenate([columns["Name"], rest["Name"]])
    obs["bytes"] = _absent_bytes(names, time.names, payload)
    for rows_of in payload.values():
        check_bytes(report, rows_of, threshold, faults)
        _add_bytes(obs, rows_of, len(rest["Site"]))
    return obs


def _frame(
    *, call: np.ndarray, rank: np.ndarray, site: np.ndarray, count: np.ndarray, time: np.ndarray
) -> Obs:
    n = len(call)
    return {
        "rank": rank.astype(np.int32),
        "call": call,
        # A mean over all calls of a site is no message size.
        "size": np.full(n, -1, dtype=np.int64),
        "peer": np.full(n, -1, dtype=np.int32),
        "region": np.full(n, "", dtype=object),
        "site": site.astype(np.int32),
        "count": count.astype(np.int64),
        "time": time.astype(np.float64),
        "time_min": np.full(n, np.nan),
        "time_max": np.full(n, np.nan),
        "bytes": np.full(n, np.nan),
    }


def _kind_of(call: str) -> str:
    return "io" if call.startswith("MPI_File_") else "rma" if call in _ONE_SIDED else "sent"


def _absent_bytes(codes: np.ndarray, names: list[str], payload: Mapping[str, Rows]) -> np.ndarray:
    """Return what it means for a row not to be listed: 0 B, or unknown."""
    known = [kind != "rma" and kind in payload and payload[kind].whole for kind in map(_kind_of, names)]
    absent = np.where(known, 0.0, np.nan) if names else np.empty(0)
    spread: np.ndarray = absent[codes]
    return spread


def _add_bytes(obs: Obs, rows: Rows, rests: int) -> None:
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


def from_tasks(time: Rows, payload: Mapping[str, Rows], top: list[Entry]) -> Obs:
    """Build observations from concise rows, which hold statistics over tasks: one row a site, rank -1.

    Time and bytes are tasks × mean over tasks (bytes as a top-twenty list has them where their section is
    missing). Only the top-twenty lists count calls: count -1 where none has the site.
    """
    columns = time.columns
    counts = {entry.site: round(entry.values["Count"]) for entry in top if "Count" in entry.values}
    count = np.array([counts.get(int(site), -1) for site in columns["Site"]], dtype=np.int64)
    obs = _frame(
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
    obs = _frame(
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
