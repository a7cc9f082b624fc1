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
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.readers.ipm.records import Names, Rows, Total
from analysis.readers.ipm.tasks import Head

_PARTNER = re.compile(
    r"MPI_([ISBR]|I[sbr])?[Ss]end(_init|recv|recv_replace)?|MPI_(I|M|Im)?[Rr]ecv(_init)?|MPI_M?Probe"
)
_ROOTED = re.compile(r"MP[IE]_(I?bcast|I?reduce|I?gatherv?|I?scatterv?)", re.IGNORECASE)
_RECEIVE = re.compile(r"MPI_(I|M|Im)?[Rr]ecv|MPI_M?Probe")
_KEY = ("rank", "call", "size", "peer", "region", "site")
_PRINTED = 2e-4  # of two numbers with five digits
_NO_REGION = -2  # an id that the task's own list of regions does not have


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


def concatenate(parts: Sequence[Observations]) -> Observations:
    """Join observations in order."""
    columns = zip(*(vars(part).values() for part in parts), strict=True)
    return Observations(*(np.concatenate(column) for column in columns))


def is_receive(names: Names) -> np.ndarray:
    """Tell by code which calls receive from one partner, shape (names,)."""
    return np.array([bool(_RECEIVE.fullmatch(name)) for name in names.texts()], dtype=bool)


def region_codes(rows: Rows, heads: Sequence[Head], labels: Names) -> np.ndarray:
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


def longest_first(rows: Rows) -> np.ndarray:
    """Mark the records whose shortest call is said to be longer than all together: IPM begins with 1e15 s."""
    marked: np.ndarray = rows.time_min > rows.time * (1 + _PRINTED)
    return marked


def from_rows(rows: Rows, region: np.ndarray, ranks: np.ndarray, names: Names) -> Observations:
    """Turn records into observations."""
    texts = names.texts()
    partner = np.array([bool(_PARTNER.fullmatch(name)) for name in texts], dtype=bool)[rows.call]
    rooted = np.array([bool(_ROOTED.fullmatch(name)) for name in texts], dtype=bool)[rows.call]
    peer = np.where((partner | rooted) & ~rows.anyone, rows.orank, -1)
    nothing = rows.size == 0
    unknown = nothing & (rows.orank == 0) & is_receive(names)[rows.call]
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
    receives = np.array(
        [bool(_RECEIVE.fullmatch(entry[2].decode("iso-8859-1"))) for entry in totals], dtype=bool
    )
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
