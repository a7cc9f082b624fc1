"""What must agree within an IPM profile: times with records, sends with receives, sizes with precision.

A disagreement costs no data; it is a warning of the dataset, for it can also come from the program
(MPI calls before a killed rank's partner answered) or from IPM itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from analysis.readers.base import Faults
from analysis.readers.ipm.meaning import Observations
from analysis.readers.ipm.records import Names
from analysis.readers.ipm.tasks import Head

_SEND = re.compile(r"MPI_I?[sbr]?send", re.IGNORECASE)
_RECEIVE = re.compile(r"MPI_(I|M|Im)?recv", re.IGNORECASE)
# IPM prints mtime with 6 digits and each record with 5.
_TOLERANCE = 1e-4
_MICROSECOND = 1e-6
_STAMP = 3e-6  # two stamps in whole microseconds


def mpi_time(
    obs: Observations, calls: Names, heads: Sequence[Head], line: Callable[[int], int], faults: Faults
) -> None:
    """Compare each rank's own MPI time with the sum of its records: one note, at the first that differs."""
    if not heads:
        return
    # MPI-IO is a module of its own in IPM and no part of mtime.
    counted = np.array(
        [n.startswith("MPI_") and not n.startswith("MPI_File_") for n in calls.texts()] or [False]
    )
    weight = np.where(counted[obs.call], obs.time, 0.0)
    ranks = np.array([head.rank for head in heads])
    summed = np.bincount(obs.rank, weights=weight, minlength=int(ranks.max()) + 1)[ranks]
    stated = np.array([head.mpi_time for head in heads])
    off = np.flatnonzero(np.abs(summed - stated) > _TOLERANCE * np.maximum(summed, stated) + _MICROSECOND)
    if off.size:
        at = off[0]
        faults.note(
            line(int(at)),
            f"rank {ranks[at]} states {stated[at]:.5g} s in MPI, its calls sum to {summed[at]:.5g} s "
            f"({off.size} of {ranks.size} ranks differ)",
            "both are kept: mpi_time as stated, time as recorded",
        )


def clock(heads: Sequence[Head], line: Callable[[int], int], faults: Faults) -> None:
    """Compare each rank's wall time with its stamps: one note, at the first that differs."""
    wall = np.array([head.wall_time for head in heads])
    span = np.array([head.stop - head.start for head in heads])
    off = np.flatnonzero(np.abs(wall - span) > _TOLERANCE * np.maximum(wall, span) + _STAMP)
    if off.size:
        at = int(off[0])
        faults.note(
            line(at),
            f"rank {heads[at].rank} states {wall[at]:.6g} s of wall time, its stamps are {span[at]:.6g} s "
            f"apart ({off.size} of {len(heads)} ranks differ)",
            "one of the numbers is damaged; get the file again",
        )


def totals(
    obs: Observations,
    calls: Names,
    stated: Sequence[tuple[int, int, Mapping[bytes, tuple[int, float, float]]]],
    line: Callable[[int], int],
    faults: Faults,
) -> None:
    """Compare the sums by call in the head of a rank with its records: one note, at the first that differs.

    `stated` holds position and rank of each task that has such sums, and the sums: count, B and s by call.
    """
    codes = {name.encode("iso-8859-1"): code for code, name in enumerate(calls.texts())}
    shape = (1 + int(obs.rank.max(initial=-1)), max(len(codes), 1))
    cell = obs.rank.astype(np.int64) * shape[1] + obs.call
    # Sizes that are not known are printed as 0 in either place.
    columns = (obs.count, np.nan_to_num(obs.bytes), obs.time)
    recorded = np.stack([np.bincount(cell, column, shape[0] * shape[1]).reshape(shape) for column in columns])
    for at, rank, sums in stated:
        own = recorded[:, rank].T.tolist() if rank < shape[0] else []
        for name, (count, size, time) in sums.items():
            counts, sizes, times = own[codes[name]] if own and name in codes else (0, 0.0, 0.0)
            slack = _TOLERANCE * max(time, times) + _MICROSECOND
            if count == counts and abs(size - sizes) <= _TOLERANCE * size and abs(time - times) <= slack:
                continue
            faults.note(
                line(at),
                f"rank {rank} states {count} calls of {name.decode('iso-8859-1')} with {size:.5g} B in "
                f"{time:.5g} s, its records {counts:.0f} with {sizes:.5g} B in {times:.5g} s",
                "the records were used; one of the numbers is damaged, get the file again",
            )
            return


def bounds(obs: Observations, calls: Names, faults: Faults) -> None:
    """Compare the shortest and the longest call of each record with its time: one note for all."""
    time, shortest, longest = obs.time, obs.count * np.nan_to_num(obs.time_min), obs.count * obs.time_max
    most = (time * (1 + _TOLERANCE)) + _MICROSECOND
    off = np.flatnonzero(
        (obs.time_max > most) | (shortest > most) | (time > longest * (1 + _TOLERANCE) + _MICROSECOND)
    )
    if off.size:
        at = off[0]
        name = calls.texts()[obs.call[at]]
        found = (
            f"rank {obs.rank[at]}: {obs.count[at]} calls of {name} in {time[at]:.5g} s, the longest "
            f"{obs.time_max[at]:.5g} s, the shortest {obs.time_min[at]:.5g} s ({off.size} such records)"
        )
        faults.note(0, found, "one of the numbers is damaged; get the file again")


def partners(obs: Observations, calls: Names, present: np.ndarray, faults: Faults) -> None:
    """Compare what was sent between ranks that the file holds with what was received."""
    texts = calls.texts()
    sends, receives = (
        np.array([bool(pattern.fullmatch(name)) for name in texts] or [False])[obs.call]
        for pattern in (_SEND, _RECEIVE)
    )
    if (receives & (obs.peer < 0)).any() or not receives.any():
        # Whom it came from is not recorded; the numbers of messages can still be compared.
        sent = sends & ((obs.peer >= 0) | (obs.size < 0))  # a known size without a partner: MPI_PROC_NULL
        count = [int(obs.count[mask].sum()) for mask in (sent, receives)]
        if present.all() and receives.any() and count[0] != count[1]:
            faults.note(0, f"{count[0]} messages sent, {count[1]} received", _remedy(texts))
        return
    known = (obs.peer >= 0) & (obs.peer < present.size)
    known &= present[np.where(known, obs.peer, 0)]
    sends &= known
    receives &= known
    if _fingerprint(obs.rank, obs.peer, obs, sends) != _fingerprint(obs.peer, obs.rank, obs, receives):
        _name_partners(obs, sends, receives, texts, faults)


def _fingerprint(
    source: np.ndarray, target: np.ndarray, obs: Observations, rows: np.ndarray
) -> tuple[int, int]:
    """Sum messages and bytes with a weight for each pair of ranks: equal sums, equal matrices."""
    # Sorting a hundred thousand pairs would cost more than reading them.
    weight = source[rows].astype(np.uint64) << np.uint64(32) | target[rows].astype(np.uint64)
    weight = (weight ^ (weight >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    weight = (weight ^ (weight >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    weight ^= weight >> np.uint64(31)
    count = obs.count[rows].astype(np.uint64)
    size = obs.size[rows].astype(np.uint64)
    return int((count * weight).sum()), int((count * size * weight).sum())


def _name_partners(
    obs: Observations, sends: np.ndarray, receives: np.ndarray, texts: list[str], faults: Faults
) -> None:
    def matrix(source: np.ndarray, target: np.ndarray, rows: np.ndarray) -> pd.DataFrame:
        columns = {"source": source, "target": target, "count": obs.count, "bytes": obs.bytes}
        table = pd.DataFrame({name: column[rows] for name, column in columns.items()})
        return table.groupby(["source", "target"])[["count", "bytes"]].sum()

    sent, received = matrix(obs.rank, obs.peer, sends), matrix(obs.peer, obs.rank, receives)
    table = pd.concat([sent.add_suffix("_sent"), received.add_suffix("_received")], axis=1).fillna(0)
    # A buffer that was posted may be larger than the message in it.
    off = table["count_sent"] != table["count_received"]
    off |= table["bytes_sent"] > table["bytes_received"]
    if off.any():
        row = table[off].reset_index().iloc[0]
        faults.note(
            0,
            f"rank {row['source']:.0f} sent {row['count_sent']:.0f} messages of {row['bytes_sent']:.0f} B "
            f"in all to rank {row['target']:.0f}, which received {row['count_received']:.0f} of "
            f"{row['bytes_received']:.0f} B ({int(off.sum())} of {len(table)} pairs differ)",
            _remedy(texts),
        )


def _remedy(texts: list[str]) -> str:
    hidden = sorted(n for n in texts if re.fullmatch(r"MPI_(Sendrecv.*|Start.*|.*_init|Cancel)", n))
    why = f"{hidden[0]} can be the reason" if hidden else "look for a damaged record or a lost message"
    return f"both are kept; {why}"


def rounding(obs: Observations, version: str) -> str:
    """Say how precise the message sizes are.

    By default IPM 2 keeps three significant bits of a size; a size that has more shows a build that keeps
    them all.
    """
    if obs.size.size == 0 or (obs.size < 8).all():
        return "unknown: no recorded size has more than 3 significant bits to show it"
    lowest = obs.size & -obs.size
    if ((obs.size > 0) & (obs.size >= 8 * lowest)).any():
        return "exact: sizes with more than 3 significant bits occur"
    bug = "; from 64 MiB to 128 MiB the top bit is lost too" if version.startswith("2") else ""
    return f"down to 3 significant bits, bytes up to 20 % low{bug}"
