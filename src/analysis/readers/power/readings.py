"""Readings in long form: what every format makes of its log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

NAT = np.iinfo(np.int64).min


@dataclass(slots=True)
class Readings:
    """Readings in long form, in the order of the file; of a full log also as a table.

    In a table all meters share `time`, and `meter` names the rows of `power` (or `counter`), of shape
    (meter, time).
    """

    time: np.ndarray  # ns since 1970 UTC; the least int64 where the stamp could not be read
    meter: np.ndarray  # position in `names`
    names: list[str]
    power: np.ndarray | None = None  # W
    counter: np.ndarray | None = None  # J as read; then `power` is not used
    wrap: Mapping[str, float] = field(default_factory=dict)  # J at which a meter's counter starts again
    mean: bool = False  # since the meter's reading before, not momentary
    # Of means: beyond this multiple of a meter's usual distance from the reading before, lines are missing.
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
