"""Logs of power meters: a CSV of all nodes, or blocks of ``ipmitool dcmi power reading``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np

from analysis.synthesis.plan import PAUSE, Job
from analysis.synthesis.truth import Truth

_BLOCK = """\
{host}:     Instantaneous power reading:              {watts:8d} Watts
{host}:     Minimum during sampling period:           {least:8d} Watts
{host}:     Maximum during sampling period:           {most:8d} Watts
{host}:     Average power reading over sample period: {watts:8d} Watts
{host}:     IPMI timestamp:                           {stamp}
{host}:     Sampling period:                          {period:08d} Seconds.
{host}:     Power reading state is:                   activated
{host}:
"""
# What a node draws that has nothing to do, as a share of what it draws at work.
_IDLE = 0.6
# Readings scatter by this share of the power.
_SCATTER = 0.01


def energy(truth: Truth, job: Job) -> float | None:
    """Return the energy of a job in J, None without a meter."""
    meter = truth.first(truth.meters, job.factors)
    if meter is None:
        return None
    scatter = 1 + truth.noise * float(job.random("energy").standard_normal())
    return float(meter["watts"]) * len(job.hosts) * job.seconds * scatter


def files(truth: Truth, job: Job) -> dict[str, str]:
    """Write the log of a job's meters, from a reading before it to one after it; nothing without a meter."""
    meter = truth.first(truth.meters, job.factors)
    if meter is None:
        return {}
    times, watts = _readings(meter, job)
    if meter.get("format") == "ipmitool":
        return {"power.ipmitool.txt": "".join(_blocks(times, watts, job.hosts, meter["interval"]))}
    return {"power.csv": "\n".join([*_table(times, watts, job.hosts), ""])}


def _readings(meter: Mapping[str, Any], job: Job) -> tuple[np.ndarray, np.ndarray]:
    """Return times (reading) in epoch s and powers (reading, node) in W, NaN where one is missing."""
    random = job.random("power")
    interval = meter["interval"]
    before = min(interval, PAUSE / 2)
    times = np.arange(job.start - before, job.end + before + interval, interval).round()
    busy = (times >= job.start) & (times <= job.end)
    level = np.where(busy, meter["watts"], _IDLE * meter["watts"])[:, np.newaxis]
    watts = level * (1 + _SCATTER * random.standard_normal((times.size, len(job.hosts))))
    lost = random.random(watts.shape) < meter["gaps"]
    return times, np.where(lost, np.nan, watts)


def _table(times: np.ndarray, watts: np.ndarray, hosts: tuple[str, ...]) -> Iterator[str]:
    yield ",".join(["timestamp", *(f"{host} power (W)" for host in hosts)])
    for time, row in zip(times.tolist(), watts.tolist(), strict=True):
        stamp = datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        # A reading that differs from itself is none.
        yield ",".join([stamp, *("" if value != value else f"{value:.1f}" for value in row)])


def _blocks(times: np.ndarray, watts: np.ndarray, hosts: tuple[str, ...], period: int) -> Iterator[str]:
    for time, row in zip(times.tolist(), watts.tolist(), strict=True):
        stamp = datetime.fromtimestamp(time, UTC).strftime("%a %b %d %H:%M:%S %Y")
        for host, value in zip(hosts, row, strict=True):
            if value == value:
                whole = round(value)
                yield _BLOCK.format(
                    host=host, watts=whole, least=whole - 3, most=whole + 3, stamp=stamp, period=period
                )
