"""What Slurm's accounting says of a run's job, held against its record."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from analysis.base.errors import ConfigError
from analysis.base.slurm import node_names, short
from analysis.datasets.contradictions import SLACK

_QUARTER = 900.0  # s; sacct prints local times, and zones differ by multiples of it
_SUMMER = 4  # quarters of an hour
# Slurm counts whole seconds, and a run ends before its job.
_ROUNDING = 2.0  # s
# So many runs by another clock are one that was changed, to summer time; fewer are runs of another time.
_CHANGED = 3

Row = dict[str, Any]
Job = Mapping[Any, Any]


def against_slurm(joined: Sequence[tuple[Row, Job]]) -> Iterator[tuple[Row, str]]:
    """Yield the runs whose record cannot be of the job that it names, with what is wrong.

    `joined` has rows of the kind ``runs``, each with the row of its job, of the kind ``sacct``.
    """
    zones = _zones(joined)
    for row, job in joined:
        said = next(iter((*_sizes(row, job), *_times(row, job, zones))), "")
        if said:
            yield row, said


def _sizes(row: Row, job: Job) -> Iterator[str]:
    took, elapsed = float(job["elapsed"]), float(row["elapsed"])
    if elapsed > took + _ROUNDING:
        yield f"its record says {elapsed:.4g} s, Slurm {took:.4g} s of its whole job"
    if 0 < int(job["nodes"]) < row["nodes"]:
        yield f"its record is of {row['nodes']} nodes, its job had {job['nodes']}"
    try:
        nodes = {short(node) for node in node_names(str(job["node_list"]))}
    except ConfigError:  # "None assigned"
        return
    listed = {short(node) for node in str(row["node_list"]).split(",")} - {""}
    if nodes and not listed <= nodes:
        yield f"its record is of {', '.join(sorted(listed))}, its job ran on {', '.join(sorted(nodes))}"


def _zones(joined: Sequence[tuple[Row, Job]]) -> set[int]:
    """Find by how many quarters of an hour Slurm's clock is off, for most runs, and in summer."""
    found = Counter(zone for row, job in joined if (zone := _zone(row, job)) is not None)
    if not found:
        return set()
    most = max(found, key=lambda zone: (found[zone], -abs(zone)))
    shifted = {zone for zone in (most - _SUMMER, most + _SUMMER) if found[zone] >= _CHANGED}
    return {most} | shifted


def _zone(row: Row, job: Job) -> int | None:
    """Return the least shift, in quarters of an hour, with which the job ends no earlier than the run."""
    if any(np.isnat(np.datetime64(time, "ns")) for time in (row["end"], job["end"])):
        return None
    late = (np.datetime64(row["end"], "ns") - np.datetime64(job["end"], "ns")) / np.timedelta64(1, "s")
    return math.ceil((float(late) - SLACK) / _QUARTER)


def _times(row: Row, job: Job, zones: set[int]) -> Iterator[str]:
    zone = _zone(row, job)
    if zone is None or np.isnat(row["start"]) or np.isnat(np.datetime64(job["start"], "ns")):
        return
    start, end = (np.datetime64(job[name], "ns") for name in ("start", "end"))
    early = float((start - row["start"]) / np.timedelta64(1, "s"))
    if zone not in zones or early + zone * _QUARTER > SLACK:
        ran = f"its job ran from {str(start)[:19]} to {str(end)[:19]}"
        yield f"it began at {row['start'].astype('datetime64[s]')} UTC, {ran}"
