"""Formats that show the present power once per document: Redfish, rocm-smi, nvidia-smi's XML."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analysis.readers.power.base import NAT, PowerLog, Readings, readings_of
from analysis.readers.power.clock import Clock


def readings(log: PowerLog, clock: Clock, rows: Sequence[tuple[str, int, str, float]], what: str) -> Readings:
    """Make readings of rows (stamp, line, meter, W).

    A document without a time gets the option ``start`` if it is the only one; else its time is
    not known, and a fault says so.

    Raises
    ------
    ReadError
        If there is no row.
    """
    if not rows:
        raise log.empty(what)
    stamped = [bool(row[0]) for row in rows]
    time = np.full(len(rows), NAT)
    if any(stamped):
        at = [int(i) for i in np.flatnonzero(stamped)]
        time[at] = clock.utc([rows[i][0] for i in at], [rows[i][1] for i in at])
    if not all(stamped):
        single = len({row[1] for row in rows}) == 1
        if single and log.options.start:
            time[:] = clock.start()
        else:
            first = rows[stamped.index(False)][1]
            remedy = "pass start= for a single document; log the time before each of several"
            log.faults.damage(first, "the reading has no time", remedy)
    return readings_of(time, [row[2] for row in rows], [row[3] for row in rows])
