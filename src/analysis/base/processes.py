"""The same work on many things: in this process, in one for each core, or by workers of Dask on Slurm."""

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TypeVar

from analysis.base.workers import CHUNK, PARALLEL_FROM, by_dask, declared

Thing = TypeVar("Thing")
Result = TypeVar("Result")
# `slurm`, `local`, or a cluster's name; ``--config dask=`` of the workflow sets it.
VARIABLE = "BENCHBOOK_DASK"
_PROGRESS = 2.0  # s between lines


def in_parallel(
    work: Callable[[Thing], Result],
    things: Sequence[Thing],
    what: str,
    *,
    progress: bool,
    cores: int | None = None,
    chunk: int = CHUNK,
) -> list[Result]:
    """Do the same work on many things; return the results in their order.

    Processes are forked, so that they import nothing anew, and a script needs no main guard. Where `VARIABLE`
    is set the workers are Dask's.

    Parameters
    ----------
    work : callable
        For one thing its result; it depends on nothing else.
    things : sequence
    what : str
        What the lines of `progress` call the things that are done.
    progress : bool
        Whether lines on standard error say how many are done.
    cores : int, optional
        So many processes at most, if the workers are not Dask's; by default one for each core.
    chunk : int, optional
        So many things a process takes at a time: few of those that take long.
    """
    cores = cores or len(os.sched_getaffinity(0))
    done = _by_workers(work, things) or _by_processes(work, things, cores, chunk)
    return list(_with_progress(done, len(things), what, progress))


def _by_workers(work: Callable[[Thing], Result], things: Sequence[Thing]) -> Iterator[Result] | None:
    """Let workers of Dask do it, where they are wanted and there is enough of it for them."""
    if not (wanted := os.environ.get(VARIABLE, "")):
        return None
    workers = declared(wanted)
    return by_dask(work, things, workers, wanted) if len(things) >= workers.least_work else None


def by_dask_wanted() -> bool:
    """Tell whether much work goes to workers of Dask."""
    return bool(os.environ.get(VARIABLE, ""))


def _by_processes(
    work: Callable[[Thing], Result], things: Sequence[Thing], cores: int, chunk: int
) -> Iterator[Result]:
    """Do it in a process for each core; in this one if there is only one, or little to do."""
    if len(things) * CHUNK < PARALLEL_FROM * chunk or cores < 2:
        yield from map(work, things)
        return
    with ProcessPoolExecutor(cores, mp_context=get_context("fork")) as pool:
        yield from pool.map(work, things, chunksize=chunk)


def _with_progress(results: Iterator[Result], total: int, what: str, progress: bool) -> Iterator[Result]:
    began = last = time.monotonic()
    for at, result in enumerate(results, 1):
        yield result
        if progress and time.monotonic() - last > _PROGRESS:
            last = time.monotonic()
            print(f"{what} {at} of {total}, {last - began:.0f} s", file=sys.stderr)
