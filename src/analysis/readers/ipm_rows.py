"""What the two ways of reading IPM's records share: names by code, and records as columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock

import numpy as np


@dataclass
class Names:
    """Codes of names, in the order in which they are met; safe to share between threads."""

    codes: dict[bytes, int] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)

    def code(self, name: bytes) -> int:
        """Return the code of `name`, a new one if it was never met."""
        with self.lock:
            return self.codes.setdefault(name, len(self.codes))

    def texts(self) -> list[str]:
        """Return the names by code."""
        with self.lock:
            return [name.decode("iso-8859-1") for name in self.codes]


@dataclass
class Rows:
    """Records as columns, each of shape (n,), values as the file gives them.

    Attributes
    ----------
    task : ndarray of int
        Position of the record's task in the list that was read.
    call : ndarray of int
        Code of the call's name.
    size, orank, region, site, count : ndarray of int
        `site` is -1 where the file has none.
    time, time_min, time_max : ndarray of float
        Seconds.
    anyone : ndarray of bool
        True where the key says that there is no single partner, whatever `orank` says.
    """

    task: np.ndarray
    call: np.ndarray
    size: np.ndarray
    orank: np.ndarray
    region: np.ndarray
    site: np.ndarray
    count: np.ndarray
    time: np.ndarray
    time_min: np.ndarray
    time_max: np.ndarray
    anyone: np.ndarray

    def take(self, index: np.ndarray) -> Rows:
        """Return the rows that a mask or an index selects."""
        return Rows(*(column[index] for column in vars(self).values()))


def concatenate(parts: Sequence[Rows]) -> Rows:
    """Join rows in order."""
    return Rows(
        *(np.concatenate(columns) for columns in zip(*(vars(p).values() for p in parts), strict=True))
    )
