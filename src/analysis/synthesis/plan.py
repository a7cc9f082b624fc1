"""From a declared truth to jobs: cells, repeats, a shuffled order, times with their noise."""

import itertools
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from analysis.synthesis.truth import Truth, matches

# Between two jobs the queue needs some time, and a program some before it starts its own clock.
PAUSE = 40.0
LAUNCH = 2.5
FIRST_JOB = 1000
_DAY = 86_400.0


def utc(seconds: float) -> datetime:
    """Return a time of epoch seconds."""
    return datetime.fromtimestamp(seconds, UTC)


@dataclass(frozen=True)
class PlannedRun:
    """One execution."""

    name: str  # runs at once share the number and have a letter
    factors: Mapping[str, Any]  # levels of all factors
    repeat: int
    order: int
    job_id: int
    hosts: tuple[str, ...]
    start: float  # epoch seconds, and s from launch to exit
    seconds: float
    value: float  # the application's own time in s or rate in Gflop/s
    failed: bool  # true for the one run of a campaign that ends with an error
    seed: tuple[int, ...]  # of everything else that is random in it

    @property
    def end(self) -> float:
        """Epoch seconds."""
        return self.start + self.seconds

    @property
    def running(self) -> float:
        """Seconds on the program's own clock."""
        return self.seconds - LAUNCH

    @property
    def began(self) -> datetime:
        """When the program started its own clock."""
        return utc(self.start + LAUNCH)

    def random(self, purpose: str) -> np.random.Generator:
        """Return the generator for one purpose, whatever else was drawn before."""
        return np.random.default_rng([*self.seed, zlib.crc32(purpose.encode())])


def cells(truth: Truth) -> list[dict[str, Any]]:
    """Expand the groups of runs to cells, each once."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for group in truth.runs:
        lists = {name: level if isinstance(level, list) else [level] for name, level in group.items()}
        for levels in itertools.product(*lists.values()):
            factors = {**truth.defaults, **dict(zip(lists, levels, strict=True))}
            factors["ranks"] = factors["nodes"] * factors["ranks_per_node"]
            key = tuple((k, v) for k, v in sorted(factors.items()) if k != "question")
            found.setdefault(key, factors)
    return list(found.values())


def runs(truth: Truth) -> list[PlannedRun]:
    """Lay out all runs of a campaign in the order of execution.

    Each repeat of all cells comes before the next one, in a shuffled order, one run after the other in time;
    runs that share the nodes start at once.
    """
    plan = [(cell, repeat) for repeat in range(1, truth.repeats + 1) for cell in cells(truth)]
    shuffled = [plan[i] for i in np.random.default_rng(truth.seed).permutation(len(plan))]
    shuffled.sort(key=lambda one: one[1])
    # One more execution of the first cell ends with an error, as happens.
    shuffled.insert(len(shuffled) if truth.nightly else len(shuffled) // 2, (plan[0][0], truth.repeats + 1))
    out: list[PlannedRun] = []
    clock = truth.start.timestamp()
    for order, (cell, repeat) in enumerate(shuffled, 1):
        clock = max(clock, truth.start.timestamp() + (night(truth, repeat) - 1) * _DAY)
        at_once = list(_at_once(truth, cell, repeat, order, FIRST_JOB + len(out), clock))
        out += at_once
        clock = max(run.end for run in at_once) + PAUSE
    return out


def night(truth: Truth, repeat: int) -> int:
    """Return the night in which a repeat is executed, from 1; one beyond the last repeat is in the last."""
    last = min(repeat, truth.repeats)
    return (last - 1) // truth.nightly + 1 if truth.nightly else 1


def _at_once(
    truth: Truth, cell: dict[str, Any], repeat: int, order: int, job_id: int, clock: float
) -> Iterator[PlannedRun]:
    count = cell["concurrent_jobs"]
    hosts = tuple(f"{truth.hosts[cell['cluster']]}{i:02d}" for i in range(1, cell["nodes"] + 1))
    levels = sorted((k, str(v)) for k, v in cell.items() if k != "question")
    key = zlib.crc32(repr(levels).encode())
    failed = repeat > truth.repeats
    for part in range(count):
        seed = (truth.seed, key, repeat, part)
        noise = float(np.exp(truth.noise * np.random.default_rng(seed).standard_normal()))
        own = {**cell, "night": night(truth, repeat)}
        value = _value(truth, own, noise)
        seconds = cell.get("target_time", value)
        # A run that fails does so on its way.
        seconds = LAUNCH + (0.4 * seconds if failed else seconds)
        letter = chr(ord("a") + part) if count > 1 else ""
        yield PlannedRun(
            name=f"{order:03d}{letter}",
            factors=_changed(truth, cell, own),
            repeat=repeat,
            order=order,
            job_id=job_id + part,
            hosts=hosts,
            start=round(clock + 0.25 * part, 3),
            seconds=round(seconds, 3),
            value=value,
            failed=failed,
            seed=seed,
        )


def _changed(truth: Truth, cell: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return the levels of a run with those that were changed by its night."""
    changes = [entry["set"] for entry in truth.changes if matches(entry.get("when", {}), own)]
    return {name: level for one in (cell, *changes) for name, level in one.items()}


def _value(truth: Truth, cell: Mapping[str, Any], noise: float) -> float:
    """Return the application's own time, or its rate where the base is one."""
    base = truth.first(truth.base, cell)
    if base is None:
        if truth.first(truth.micro, cell) is not None:
            return 20.0 * noise  # a micro-benchmark says nothing by its length
        raise truth.error(f"no base for {cell['application']} {cell['case']}", "declare one")
    if "rate" in base:
        return truth.at(base["rate"], cell) / truth.slowdown(cell) / noise
    if "seconds" in base:
        seconds = truth.at(base["seconds"], cell)
    else:
        # Work per node, or per what a node of the reference has in ranks.
        share = cell["ranks"] / base["ranks"] if "ranks" in base else cell["nodes"]
        seconds = base["serial"] + base["parallel"] / share
    return float(seconds * truth.slowdown(cell) * noise)
