"""Full logs, where every meter has a reading at every stamp: the table meter × time without sorting.

A day of a cluster is some gigabytes of memory traffic if each step makes columns of its own. Here
it goes once from the blocks in which it was parsed, which fit the cache, to its place in the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

Blocks = Sequence[np.ndarray]

_ROWS = 2048  # fit the cache while they are turned


def fold(
    time: Blocks, code: Blocks, values: Sequence[Blocks], meters: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """Fold columns of a full log, whose rows go time by time or meter by meter.

    Parameters
    ----------
    time : sequence of ndarray
        Stamps of the rows as numbers, block by block.
    code : sequence of ndarray of int
        Meter of each row, in the same blocks; meters count from 0 in the order of the file.
    values : sequence of sequences of ndarray of float
        Columns of values, in the same blocks.
    meters : int

    Returns
    -------
    stamps : ndarray, shape (time,)
        Ascending.
    values : ndarray of float, shape (meter × column, time)
        The columns of the first meter, of the second, and so on.
    None
        If a reading is missing or doubled, or the rows are in another order.
    """
    rows = sum(block.size for block in time)
    if not rows or not meters or rows % meters:
        return None
    size = rows // meters
    folded = _by_time(time, code, values, meters, size) if meters > 1 else None
    return folded or _by_meter(time, code, values, meters, size)


def _by_meter(
    time: Blocks, code: Blocks, values: Sequence[Blocks], meters: int, size: int
) -> tuple[np.ndarray, np.ndarray] | None:
    stamps = np.concatenate(time).reshape(meters, size)
    if not _ascending(stamps[0]):
        return None
    codes = np.concatenate(code).reshape(meters, size)
    for meter in range(meters):
        if not (codes[meter] == meter).all() or not (stamps[meter] == stamps[0]).all():
            return None
    if len(values) == 1:
        return stamps[0], np.concatenate(values[0]).reshape(meters, size)
    table = np.empty((meters, len(values), size))
    for column, blocks in enumerate(values):
        table[:, column] = np.concatenate(blocks).reshape(meters, size)
    return stamps[0], table.reshape(-1, size)


def _by_time(
    time: Blocks, code: Blocks, values: Sequence[Blocks], meters: int, size: int
) -> tuple[np.ndarray, np.ndarray] | None:
    stamps = np.empty(size, dtype=time[0].dtype)
    table = np.empty((meters, len(values), size))
    order = np.arange(meters, dtype=code[0].dtype)
    begin = 0
    for own, codes, *columns in _whole((time, code, *values), meters):
        end = begin + own.shape[0]
        first = own[:, 0]
        if not (codes == order).all() or not (own == first[:, None]).all():
            return None
        stamps[begin:end] = first
        for column, block in enumerate(columns):
            table[:, column, begin:end] = block.T
        begin = end
    return (stamps, table.reshape(-1, size)) if _ascending(stamps) else None


def _whole(columns: Sequence[Blocks], meters: int) -> Iterator[list[np.ndarray]]:
    """Give all columns in pieces of whole stamps, shape (time, meter)."""
    rest = [blocks[0][:0] for blocks in columns]
    for blocks in zip(*columns, strict=True):
        lead = -rest[0].size % meters
        if lead:  # the block before ended between two meters of a stamp
            joined = [np.concatenate((last, block[:lead])) for last, block in zip(rest, blocks, strict=True)]
            if joined[0].size < meters:
                rest = joined
                continue
            yield [block.reshape(1, meters) for block in joined]
        end = lead + (blocks[0].size - lead) // meters * meters
        for begin in range(lead, end, _ROWS * meters):
            stop = min(begin + _ROWS * meters, end)
            yield [block[begin:stop].reshape(-1, meters) for block in blocks]
        rest = [block[end:] for block in blocks]


def _ascending(stamps: np.ndarray) -> bool:
    return bool((stamps[1:] > stamps[:-1]).all())  # no difference: it may overflow
