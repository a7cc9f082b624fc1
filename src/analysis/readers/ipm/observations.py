"""From IPM's records to observations: what `size` and `peer` mean, regions by label, sums.

Decisions where the records leave room:

- ``peer`` is the partner of point-to-point calls and the root of rooted collectives, both ranks
  in MPI_COMM_WORLD; -1 for all other calls, for which IPM prints 0. IPM also prints 0 for
  MPI_ANY_SOURCE and MPI_PROC_NULL; the key of a record tells them, and they become -1.
- A receive of 0 bytes from rank 0 is what IPM prints where the status was ignored: its size and
  its partner are unknown (-1, and NaN bytes). A true empty message from rank 0 looks the same.
  MPI_Irecv carries the size of the buffer that was posted.
- Records that differ in nothing that the dataset keeps (inner regions folded into their parent,
  threads) are summed.

What must agree within a profile is compared below: times with records, sends with receives, sizes with
precision. A disagreement costs no data; it is a warning of the dataset, for it can also come from the program
(MPI calls before a killed rank's partner answered) or from IPM itself.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.readers.base import Faults
from analysis.readers.ipm.records import Head, Names, Records
from analysis.readers.ipm.totals import Total

_PARTNER = re.compile(
    r"MPI_([ISBR]|I[sbr])?[Ss]end(_init|recv|recv_replace)?|MPI_(I|M|Im)?[Rr]ecv(_init)?|MPI_M?Probe"
)
_ROOTED = re.compile(r"MP[IE]_(I?bcast|I?reduce|I?gatherv?|I?scatterv?)", re.IGNORECASE)
_RECEIVE = re.compile(r"MPI_(I|M|Im)?[Rr]ecv|MPI_M?Probe")
_KEY = ("rank", "call", "size", "peer", "region", "site")
_PRINTED = 2e-4  # of two numbers with five digits
_NO_REGION = -2  # an id that the task's own list of regions does not have


CAVEATS = (
    "MPI-IO and one-sided calls are not recorded; <module time> repeats rank 0 and is not used; "
    "sizes of MPI_Wait* and MPI_Test* are 0 where the status was ignored"
)


@dataclass
class Observations:
    """Columns of the dimension ``obs``; `call` and `region` are codes of names."""

    rank: np.ndarray
    call: np.ndarray
    size: np.ndarray
    peer: np.ndarray
    region: np.ndarray
    site: np.ndarray
    count: np.ndarray
    bytes: np.ndarray
    time: np.ndarray
    time_min: np.ndarray
    time_max: np.ndarray


def empty() -> Observations:
    """Return observations of length 0."""
    return from_totals([], Names(), Names())


def _matching(pattern: re.Pattern[str], texts: Sequence[str]) -> np.ndarray:
    """Tell which texts match a pattern as a whole."""
    return np.array([bool(pattern.fullmatch(text)) for text in texts], dtype=bool)


def region_codes(rows: Records, heads: Sequence[Head], labels: Names) -> np.ndarray:
    """Join the region ids of records with the labels in their own task's list: codes, or `_NO_REGION`.

    Id -1, IPM's mark of no region, is the empty label.
    """
    used = np.unique(rows.task)
    lists: dict[tuple[tuple[int, bytes], ...], int] = {}
    which = np.zeros(len(heads), dtype=np.intp)
    for task in used:
        which[task] = lists.setdefault(heads[task].regions, len(lists))
    width = 2 + max((number for regions in lists for number, _ in regions), default=-1)
    table = np.full((len(lists), width + 1), _NO_REGION, dtype=np.int16)
    table[:, 0] = labels.code(b"")
    for regions, at in lists.items():
        for number, label in regions:
            if number >= 0:
                table[at, number + 1] = labels.code(label)
    column = np.minimum(rows.region + 1, width)
    column[column < 0] = width
    codes: np.ndarray = table[0][column] if len(lists) == 1 else table[which[rows.task], column]
    return codes


def unlisted(codes: np.ndarray) -> np.ndarray:
    """Mark the records whose region the task does not list."""
    marked: np.ndarray = codes == _NO_REGION
    return marked


def longest_first(rows: Records) -> np.ndarray:
    """Mark the records whose shortest call is longer than their total; IPM's initial value is 1e15 s."""
    marked: np.ndarray = rows.time_min > rows.time * (1 + _PRINTED)
    return marked


def from_rows(rows: Records, region: np.ndarray, ranks: np.ndarray, names: Names) -> Observations:
    """Turn records into observations."""
    texts = names.texts()
    partner, rooted, receives = (
        _matching(pattern, texts)[rows.call] for pattern in (_PARTNER, _ROOTED, _RECEIVE)
    )
    peer = np.where((partner | rooted) & ~rows.anyone, rows.orank, -1)
    nothing = rows.size == 0
    unknown = nothing & (rows.orank == 0) & receives
    unknown |= nothing & rows.anyone & partner
    size = np.where(unknown, -1, rows.size)
    peer[unknown] = -1
    obs = Observations(
        rank=ranks[rows.task].astype(np.int32),
        call=rows.call,
        size=size,
        peer=peer.astype(np.int32),
        region=region,
        site=rows.site.astype(np.int32),
        count=rows.count,
        bytes=rows.count * size.astype(np.float64),
        time=rows.time,
        time_min=np.where(longest_first(rows), np.nan, rows.time_min),
        time_max=rows.time_max,
    )
    obs.bytes[size < 0] = np.nan
    return _summed(obs) if _repeats(obs) else obs


def _repeats(obs: Observations) -> bool:
    """Tell, cheaply and from hashes, whether two observations may be of one key; never a false no."""
    factor = np.uint64(0x9E3779B97F4A7C15)
    names = obs.call.astype(np.uint64) << np.uint64(16) | obs.region.astype(np.uint64)
    mixed = (names ^ obs.site.astype(np.uint64) << np.uint64(32)) * factor
    mixed = (mixed ^ mixed >> np.uint64(29) ^ obs.size.astype(np.uint64)) * factor
    partners = obs.rank.astype(np.uint64) << np.uint64(32) ^ obs.peer.astype(np.uint64)
    mixed = (mixed ^ mixed >> np.uint64(29) ^ partners) * factor
    return bool(pd.unique(mixed).size != mixed.size)


def _summed(obs: Observations) -> Observations:
    grouped = pd.DataFrame(vars(obs)).groupby(list(_KEY), sort=False)
    table = grouped.agg({"count": "sum", "time": "sum", "time_min": "min", "time_max": "max"}).reset_index()
    table["bytes"] = np.where(table["size"] < 0, np.nan, table["size"] * table["count"].astype(float))
    return Observations(**{name: table[name].to_numpy(getattr(obs, name).dtype) for name in vars(obs)})


def from_totals(
    totals: Sequence[tuple[int, bytes, bytes, Total]], calls: Names, labels: Names
) -> Observations:
    """Turn the sums of tasks without records into observations of unknown size and partner."""
    n = len(totals)
    total = [entry[3] for entry in totals]
    size = np.array([t.size for t in total], dtype=np.float64)
    receives = _matching(_RECEIVE, [entry[2].decode("iso-8859-1") for entry in totals])
    nothing = np.full(n, np.nan)
    return Observations(
        rank=np.array([entry[0] for entry in totals], dtype=np.int32),
        call=np.array([calls.code(entry[2]) for entry in totals], dtype=np.int16),
        size=np.full(n, -1, dtype=np.int64),
        peer=np.full(n, -1, dtype=np.int32),
        region=np.array([labels.code(entry[1]) for entry in totals], dtype=np.int16),
        site=np.full(n, -1, dtype=np.int32),
        count=np.array([t.count for t in total], dtype=np.int64),
        # A receive whose status was ignored counts as 0 bytes; whether it was is not to be seen here.
        bytes=np.where(receives & (size == 0), np.nan, size),
        time=np.array([t.time for t in total], dtype=np.float64),
        time_min=nothing,
        time_max=nothing.copy(),
    )


_SEND = re.compile(r"MPI_I?[sbr]?send", re.IGNORECASE)
_RECEIVES = re.compile(r"MPI_(I|M|Im)?recv", re.IGNORECASE)
COUNTED = 32


def kind_of(name: str) -> int:
    """Say what kind of call it is: the marks of the core, PARTNER to COUNTED."""
    patterns = (_PARTNER, _ROOTED, _RECEIVE, _SEND, _RECEIVES)
    found = sum(1 << bit for bit, pattern in enumerate(patterns) if pattern.fullmatch(name))
    # MPI-IO is a module of its own in IPM and no part of its MPI time.
    return found | (COUNTED if name.startswith("MPI_") and not name.startswith("MPI_File_") else 0)


# IPM prints mtime with 6 digits and each record with 5.
_TOLERANCE = 1e-4
_MICROSECOND = 1e-6
_STAMP = 3e-6  # two stamps in whole microseconds


def summed_time(obs: Observations, calls: Names, ranks: np.ndarray) -> np.ndarray:
    """Return the MPI time of the records of some ranks, in s."""
    counted = np.array([bool(kind_of(name) & COUNTED) for name in calls.texts()] or [False])
    weight = np.where(counted[obs.call], obs.time, 0.0)
    summed: np.ndarray = np.bincount(obs.rank, weights=weight, minlength=int(ranks.max()) + 1)[ranks]
    return summed


def check_mpi_time(
    ranks: np.ndarray, summed: np.ndarray, stated: np.ndarray, line: Callable[[int], int], faults: Faults
) -> None:
    """Compare each rank's own MPI time with the sum of its records: one note, at the first that differs."""
    off = np.flatnonzero(np.abs(summed - stated) > _TOLERANCE * np.maximum(summed, stated) + _MICROSECOND)
    if off.size:
        at = off[0]
        faults.note(
            line(int(at)),
            f"rank {ranks[at]} states {stated[at]:.5g} s in MPI, its calls sum to {summed[at]:.5g} s "
            f"({off.size} of {ranks.size} ranks differ)",
            "both are kept: mpi_time as stated, time as recorded",
        )


def check_clock(
    ranks: np.ndarray, wall: np.ndarray, span: np.ndarray, line: Callable[[int], int], faults: Faults
) -> None:
    """Compare each rank's wall time with its stamps: one note, at the first that differs."""
    off = np.flatnonzero(np.abs(wall - span) > _TOLERANCE * np.maximum(wall, span) + _STAMP)
    if off.size:
        at = int(off[0])
        faults.note(
            line(at),
            f"rank {ranks[at]} states {wall[at]:.6g} s of wall time, its stamps span {span[at]:.6g} s "
            f"({off.size} of {ranks.size} ranks differ)",
            "one of the numbers is damaged; get the file again",
        )


def check_totals(
    obs: Observations,
    calls: Names,
    stated: Sequence[tuple[int, int, Mapping[bytes, tuple[int, float, float]]]],
    line: Callable[[int], int],
    faults: Faults,
) -> None:
    """Compare the sums by call in the head of a rank with its records: one note, at the first that differs.

    `stated` contains position and rank of each task that has such sums, and the sums: count, B and s by call.
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


def check_bounds(obs: Observations, calls: Names, faults: Faults) -> None:
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


def check_partners(obs: Observations, calls: Names, present: np.ndarray, faults: Faults) -> None:
    """Compare what was sent between ranks that the file contains with what was received."""
    texts = calls.texts()
    sends, receives = (_matching(pattern, texts or [""])[obs.call] for pattern in (_SEND, _RECEIVES))
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
    lowest = obs.size & -obs.size
    exact = bool(((obs.size > 0) & (obs.size >= 8 * lowest)).any())
    return spelt_rounding(version, large=bool((obs.size >= 8).any()), exact=exact)


def spelt_rounding(version: str, *, large: bool, exact: bool) -> str:
    """Say it by whether a size has more than three bits, and whether one has that many significant."""
    if not large:
        return "unknown: no recorded size has more than 3 significant bits to show it"
    if exact:
        return "exact: sizes with more than 3 significant bits occur"
    bug = "; from 64 MiB to 128 MiB the top bit is lost too" if version.startswith("2") else ""
    return f"down to 3 significant bits, bytes up to 20 % low{bug}"
