"""Readings in long form: what every format makes of its log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

NAT = np.iinfo(np.int64).min
SECOND = 1_000_000_000


@dataclass(slots=True)
class Readings:
    """Readings in long form, in the order of the file; of a full log also as a table.

    In a table all meters share `time`, and `meter` names the rows of `power` (or `counter`), of shape
    (meter, time).

    Attributes
    ----------
    time : ndarray of int64, shape (n,)
        ns since 1970 UTC; the least int64 where the stamp could not be read.
    meter : ndarray of int, shape (n,)
        Position in `names`.
    names : list of str
    power : ndarray of float, shape (n,), optional
        W.
    counter : ndarray of float, shape (n,), optional
        Energy counter in J as read; then `power` is not used.
    wrap : mapping of str to float
        J at which a meter's counter starts again from zero.
    mean : bool
        True if `power` is the mean since the meter's reading before, not a momentary value.
    longest : float
        Of means: longest distance from the reading before, in multiples of the meter's usual one, of
        which the mean tells; beyond it lines of the log are missing.
    """

    time: np.ndarray
    meter: np.ndarray
    names: list[str]
    power: np.ndarray | None = None
    counter: np.ndarray | None = None
    wrap: Mapping[str, float] = field(default_factory=dict)
    mean: bool = False
    longest: float = float("inf")


def readings_of(
    time: Sequence[int] | np.ndarray, meter: Sequence[str], power: Sequence[float] | np.ndarray, **more: Any
) -> Readings:
    """Make readings of plain lists with meters by name, which keep the order they appear in."""
    names = list(dict.fromkeys(meter))
    codes = {name: code for code, name in enumerate(names)}
    return Readings(
        time=np.asarray(time, dtype=np.int64),
        meter=np.fromiter((codes[name] for name in meter), dtype=np.int32, count=len(meter)),
        names=names,
        power=np.asarray(power, dtype=float),
        **more,
    )
